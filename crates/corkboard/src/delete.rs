//! Deletions of agents, boards and memory cores.

use std::fmt;
use std::pin::Pin;

use crate::Result;
use crate::engine::Deletion;

type Running = Pin<Box<dyn Future<Output = Result<bool>> + Send>>;

/// A deletion that runs when awaited. Returns whether there was anything to delete.
#[must_use = "nothing is deleted until this is awaited"]
pub struct Delete {
    deletion: Deletion,
    run: Box<dyn FnOnce(Deletion) -> Running + Send>,
}

impl Delete {
    pub(crate) fn new<F>(run: impl FnOnce(Deletion) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<bool>> + Send + 'static,
    {
        Self { deletion: Deletion::WithLog, run: Box::new(move |deletion| Box::pin(run(deletion))) }
    }

    /// Deletes for good: removes all traces from the store's files, tables and keys, too. This can take long. It also
    /// removes what an earlier deletion left there. See [`Corkboard::scrub`](crate::Corkboard::scrub).
    pub fn hard(self) -> Self {
        Self { deletion: Deletion::Hard, ..self }
    }
}

impl IntoFuture for Delete {
    type Output = Result<bool>;
    type IntoFuture = Running;

    fn into_future(self) -> Running {
        (self.run)(self.deletion)
    }
}

impl fmt::Debug for Delete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delete").field("deletion", &self.deletion).finish_non_exhaustive()
    }
}
