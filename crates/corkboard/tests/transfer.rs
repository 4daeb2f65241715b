//! Whole logs move between any two stores, and through files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "in a test, helpers included, a panic is the way to fail"
)]

use corkboard::testing::Harness;

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

mod memory_to_memory {
    use super::*;

    corkboard::transfer_suite!(Harness::memory(), Harness::memory());
}

mod memory_to_sqlite {
    use super::*;

    corkboard::transfer_suite!(Harness::memory(), Harness::sqlite(WORKER));
}

mod sqlite_to_memory {
    use super::*;

    corkboard::transfer_suite!(Harness::sqlite(WORKER), Harness::memory());
}

mod sqlite_to_sqlite {
    use super::*;

    corkboard::transfer_suite!(Harness::sqlite(WORKER), Harness::sqlite(WORKER));
}
