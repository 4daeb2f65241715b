//! How many files the process may have open: a server needs one for each connection.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a server has open besides its connections: its store, its log, those whom it refuses.
const OTHERS: usize = 256;

/// Raises what is allowed as far as this process may. Returns how many connections that leaves room for.
pub(crate) fn raise() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    // None: without a limit.
    let allowed = if raised { maximum } else { current }.and_then(|files| usize::try_from(files).ok());
    allowed.map_or(usize::MAX, |files| files.saturating_sub(OTHERS).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_may_be_had_is_had() {
        let room = raise();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, maximum);
        assert_eq!(maximum.is_none(), room == usize::MAX);
    }
}
