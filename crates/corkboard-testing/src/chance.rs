//! Reproducible random choices.

/// The seed of a random test: the same in every run, unless `CORK_TEST_SEED` is set. `make soak` picks a new one.
pub fn seed() -> u64 {
    let seed =
        std::env::var("CORK_TEST_SEED").map_or(17, |seed| seed.parse().expect("CORK_TEST_SEED should be a number"));
    println!("CORK_TEST_SEED={seed}");
    seed
}

pub fn dice() -> fastrand::Rng {
    fastrand::Rng::with_seed(seed())
}
