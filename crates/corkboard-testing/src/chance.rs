//! Random choices that can be repeated.

/// The seed of a random test: the same in every run unless `CORK_TEST_SEED` gives another. `make soak` draws a new one.
pub fn seed() -> u64 {
    let seed = std::env::var("CORK_TEST_SEED").map_or(17, |seed| seed.parse().expect("CORK_TEST_SEED is a number"));
    println!("CORK_TEST_SEED={seed}");
    seed
}

pub fn dice() -> fastrand::Rng {
    fastrand::Rng::with_seed(seed())
}
