//! Every store passes the whole conformance suite.

use corkboard_testing::Harness;

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

mod memory {
    use super::*;

    corkboard_testing::conformance_suite!(Harness::memory());

    #[test]
    fn cases_that_do_not_apply_have_a_reason() {
        for (case, reason) in corkboard_testing::conformance::NOT_FOR_MEMORY {
            println!("memory: {case} does not apply: {reason}");
        }
        assert_eq!(corkboard_testing::conformance::NOT_FOR_MEMORY.len(), 6);
    }
}

mod file {
    use super::*;

    corkboard_testing::conformance_suite!(durable: Harness::file(WORKER));

    #[test]
    fn cases_that_do_not_apply_have_a_reason() {
        for (case, reason) in corkboard_testing::conformance::NOT_FOR_FILE {
            println!("file: {case} does not apply: {reason}");
        }
        assert_eq!(corkboard_testing::conformance::NOT_FOR_FILE.len(), 5);
    }
}

mod sqlite {
    use super::*;

    corkboard_testing::conformance_suite!(processes: Harness::sqlite(WORKER));
}

mod redis {
    use super::*;

    corkboard_testing::conformance_suite!(processes: Harness::redis(WORKER));
}

/// The fault-injecting wrapper changes nothing while it injects no faults.
mod faulty_memory {
    use super::*;

    corkboard_testing::conformance_suite!(Harness::faulty(Harness::memory()));
}

mod faulty_file {
    use super::*;

    corkboard_testing::conformance_suite!(durable: Harness::faulty(Harness::file(WORKER)));
}

mod faulty_sqlite {
    use super::*;

    corkboard_testing::conformance_suite!(processes: Harness::faulty(Harness::sqlite(WORKER)));
}

mod postgres {
    use super::*;

    corkboard_testing::conformance_suite!(processes: Harness::postgres(WORKER));
}

mod faulty_postgres {
    use super::*;

    corkboard_testing::conformance_suite!(processes: Harness::faulty(Harness::postgres(WORKER)));
}

mod faulty_redis {
    use super::*;

    corkboard_testing::conformance_suite!(processes: Harness::faulty(Harness::redis(WORKER)));
}
