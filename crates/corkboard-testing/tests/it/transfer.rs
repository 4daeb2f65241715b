//! Whole logs move between any two stores, and through files.

use corkboard_testing::Harness;

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

mod memory_to_memory {
    use super::*;

    corkboard_testing::transfer_suite!(Harness::memory(), Harness::memory());
}

// Round all stores: each is once what is read from, and once what is written to.

mod memory_to_file {
    use super::*;

    corkboard_testing::transfer_suite!(Harness::memory(), Harness::file(WORKER));
}

mod file_to_sqlite {
    use super::*;

    corkboard_testing::transfer_suite!(Harness::file(WORKER), Harness::sqlite(WORKER));
}

mod sqlite_to_redis {
    use super::*;

    corkboard_testing::transfer_suite!(Harness::sqlite(WORKER), Harness::redis(WORKER));
}

mod redis_to_postgres {
    use super::*;

    corkboard_testing::transfer_suite!(Harness::redis(WORKER), Harness::postgres(WORKER));
}

mod postgres_to_memory {
    use super::*;

    corkboard_testing::transfer_suite!(Harness::postgres(WORKER), Harness::memory());
}

mod sqlite_to_sqlite {
    use super::*;

    corkboard_testing::transfer_suite!(Harness::sqlite(WORKER), Harness::sqlite(WORKER));
}
