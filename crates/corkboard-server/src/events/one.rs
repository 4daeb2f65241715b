//! The events of one space.

use corkboard::store::StoreError;
use corkboard::{Error, Followed, LogWatch, RevisionDocument, SpaceLog};
use serde_json::json;

use super::{Source, Step, compacted, event};

/// What happens in one space. The place to resume from is the revision.
pub(crate) struct OneSpace {
    log: SpaceLog,
    /// None: to be begun anew, after that revision.
    watch: Option<LogWatch>,
    from_rev: Option<u64>,
    /// To be told before anything else.
    compacted: Option<u64>,
}

impl OneSpace {
    /// From the last revision that was seen; 0 stands for the beginning, none for what comes from now on.
    pub(crate) async fn begin(log: SpaceLog, from_rev: Option<u64>) -> Result<Self, Error> {
        let mut one = Self { log, watch: None, from_rev, compacted: None };
        one.watch().await?;
        Ok(one)
    }

    /// Watches, from the oldest revision that is held if those asked for are not.
    async fn watch(&mut self) -> Result<(), Error> {
        loop {
            match self.log.watch(self.from_rev).await {
                Err(Error::Store(StoreError::Compacted { oldest })) => self.pass_over(oldest),
                watch => {
                    self.watch = Some(watch?);
                    return Ok(());
                }
            }
        }
    }

    fn pass_over(&mut self, oldest: u64) {
        self.watch = None;
        self.from_rev = Some(oldest.saturating_sub(1));
        self.compacted = Some(oldest);
    }
}

impl Source for OneSpace {
    async fn next(&mut self) -> Option<Step> {
        loop {
            if let Some(oldest) = self.compacted.take() {
                return Some(Step::Event(compacted(self.log.id(), &oldest.saturating_sub(1), oldest)));
            }
            let Some(watch) = &mut self.watch else {
                if let Err(error) = self.watch().await {
                    return Some(Step::problem(&error));
                }
                continue;
            };
            return match watch.next().await {
                Ok(Followed::Record(record)) => {
                    let rev = record.rev;
                    match RevisionDocument::new(self.log.id(), record) {
                        Ok(revision) => Some(Step::Event(event("revision", Some(&rev), &revision))),
                        Err(error) => Some(Step::problem(&error)),
                    }
                }
                Ok(Followed::Bookmark { rev }) => {
                    Some(Step::Event(event("bookmark", Some(&rev), &json!({ "rev": rev }))))
                }
                Err(Error::Store(StoreError::Compacted { oldest })) => {
                    self.pass_over(oldest);
                    continue;
                }
                Err(Error::Lagged { resume_from }) => {
                    let data = json!({ "resume_from": resume_from });
                    Some(Step::Last(event("lagged", Some(&resume_from), &data)))
                }
                Err(Error::Closed) => None,
                Err(error) => Some(Step::problem(&error)),
            };
        }
    }
}
