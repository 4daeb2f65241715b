//! Transfers of whole logs between any two stores, and through files.

use corkboard_testing::Harness;

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

mod memory_to_memory {
    use super::*;

    corkboard_testing::transfer_suite!(Harness::memory(), Harness::memory());
}

// A ring through all stores: each is once the source and once the target.

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
