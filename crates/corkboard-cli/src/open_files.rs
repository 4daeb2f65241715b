//! The limit of open files: a server needs one file per connection.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files besides served connections: the store, the log, and connections that the server refuses.
const OTHERS: usize = 256;

/// Raises the soft limit to the hard limit. Returns the number of connections that it allows.
pub(crate) fn raise() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    // None means no limit.
    let allowed = if raised { maximum } else { current }.and_then(|files| usize::try_from(files).ok());
    allowed.map_or(usize::MAX, |files| files.saturating_sub(OTHERS).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_limit() {
        let room = raise();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, maximum);
        assert_eq!(maximum.is_none(), room == usize::MAX);
    }
}
