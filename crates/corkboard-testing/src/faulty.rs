//! A store that fails on purpose: errors, delays, lost answers. It also counts reads.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};

use corkboard::Retention;
use corkboard::store::{
    Append, Appended, Appending, Cursor, Import, ListedSpace, Loaded, Page, Record, Rewrite, Snapshot, Store,
    StoreError, StoreFuture, StoreInfo, Trim,
};

/// Fault rates in percent of calls. A seed makes a run repeatable as far as the scheduler allows.
#[derive(Debug, Clone)]
pub struct FaultPlan {
    pub seed: u64,
    /// A call fails before it does anything.
    pub refuse: u8,
    /// An append is done, but its answer is lost.
    pub cut_after: u8,
    /// An append is not done, and its answer is lost.
    pub cut_before: u8,
    /// An append's answer is lost, and the append is done later.
    pub land_later: u8,
    /// A call is delayed.
    pub delay: u8,
}

impl FaultPlan {
    pub fn none() -> Self {
        Self { seed: 0, refuse: 0, cut_after: 0, cut_before: 0, land_later: 0, delay: 0 }
    }

    /// Every kind of fault happens sometimes.
    pub fn everything(seed: u64) -> Self {
        Self { seed, refuse: 5, cut_after: 10, cut_before: 10, land_later: 10, delay: 20 }
    }
}

/// A fault of one append or import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Pass,
    /// It fails before it does anything.
    Refuse,
    /// It is done, but its answer is lost.
    CutAfter,
    /// It is not done, and its answer is lost.
    CutBefore,
    /// Its answer is lost, and it is done later.
    LandLater,
}

/// Whether calls are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    Off,
    /// The call after this many more is held.
    After(u64),
    /// A call is held, and so is every later one.
    On,
}

pub struct FaultyStore {
    inner: Arc<dyn Store>,
    plan: Mutex<FaultPlan>,
    dice: Mutex<fastrand::Rng>,
    /// The faults of the next appends and imports, before random faults resume.
    script: Mutex<VecDeque<Fault>>,
    /// Number of log reads that still fail.
    refused_reads: Mutex<u64>,
    /// Number of calls that still pass; None for all.
    calls_left: Mutex<Option<u64>>,
    hold: watch::Sender<Hold>,
    /// Whether every write fails, as on a full disk.
    full: AtomicBool,
    /// Number of reads of each space.
    reads: Mutex<HashMap<SpaceId, u64>>,
    /// Appends that are still to be done.
    late: Arc<Mutex<Vec<tokio::task::JoinHandle<()>>>>,
}

/// A started append and its fault.
struct FaultyAppending {
    inner: Box<dyn Appending>,
    fault: Result<Option<Fault>, StoreError>,
    late: Arc<Mutex<Vec<tokio::task::JoinHandle<()>>>>,
}

impl FaultyStore {
    pub fn new(inner: Arc<dyn Store>, plan: FaultPlan) -> Self {
        let dice = Mutex::new(fastrand::Rng::with_seed(plan.seed));
        let (script, calls_left, late) = (Mutex::default(), Mutex::default(), Arc::default());
        let (hold, refused_reads) = (watch::Sender::new(Hold::Off), Mutex::default());
        let (plan, reads) = (Mutex::new(plan), Mutex::default());
        let full = AtomicBool::new(false);
        Self { inner, plan, dice, script, refused_reads, calls_left, hold, full, reads, late }
    }

    /// Number of reads of a space's head, state or log.
    pub fn reads(&self, space: &SpaceId) -> u64 {
        self.reads.lock().get(space).copied().unwrap_or_default()
    }

    fn count_read(&self, space: &SpaceId) {
        *self.reads.lock().entry(space.clone()).or_default() += 1;
    }

    /// Waits until all late appends are done.
    pub async fn settle(&self) {
        let late = std::mem::take(&mut *self.late.lock());
        for append in late {
            let _ = append.await;
        }
    }

    /// Sets the faults of the next appends and imports, in order.
    pub fn next_appends(&self, faults: impl IntoIterator<Item = Fault>) {
        self.script.lock().extend(faults);
    }

    /// Makes the next `count` reads of logs fail, as if the store were briefly unavailable.
    pub fn refuse_reads(&self, count: u64) {
        *self.refused_reads.lock() = count;
    }

    /// Number of log reads that still fail.
    pub fn reads_to_refuse(&self) -> u64 {
        *self.refused_reads.lock()
    }

    fn refuse_read(&self) -> Result<(), StoreError> {
        let mut left = self.refused_reads.lock();
        if *left == 0 {
            return Ok(());
        }
        *left -= 1;
        Err(StoreError::Unavailable("injected: the log cannot be read".into()))
    }

    /// If true, every write fails from now on for lack of space. Reads still work.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    fn check_space(&self) -> Result<(), StoreError> {
        match self.full.load(Ordering::SeqCst) {
            true => Err(StoreError::NoSpace("injected".into())),
            false => Ok(()),
        }
    }

    /// Lets this many calls pass. Then every call fails, as if the process had ended there.
    pub fn end_after(&self, calls: u64) {
        *self.calls_left.lock() = Some(calls);
    }

    /// Lets this many calls pass. The next one waits until [`let_go`](Self::let_go), as if the process had been stopped
    /// there.
    pub fn hold_after(&self, calls: u64) {
        self.hold.send_replace(Hold::After(calls));
    }

    /// Waits until a call is held.
    pub async fn held(&self) {
        // `self` keeps the sender, so waiting cannot fail.
        let _ = self.hold.subscribe().wait_for(|hold| *hold == Hold::On).await;
    }

    /// Releases held calls and holds no more.
    pub fn let_go(&self) {
        self.hold.send_replace(Hold::Off);
    }

    /// Removes the scripted faults, so that random faults resume.
    pub fn clear_script(&self) {
        self.script.lock().clear();
    }

    pub fn set_plan(&self, plan: FaultPlan) {
        *self.dice.lock() = fastrand::Rng::with_seed(plan.seed);
        *self.plan.lock() = plan;
    }

    fn happens(&self, percent: impl Fn(&FaultPlan) -> u8) -> bool {
        let percent = percent(&self.plan.lock());
        percent > 0 && self.dice.lock().u8(0..100) < percent
    }

    /// The fault of the next append, from the script or random.
    async fn next_fault(&self) -> Result<Option<Fault>, StoreError> {
        self.check_space()?;
        self.wait_if_held().await;
        self.spend_call()?;
        let scripted = self.script.lock().pop_front();
        if scripted.is_some() {
            return Ok(scripted);
        }
        self.roll().await?;
        Ok(self.lost_answer())
    }

    /// Like `next_fault`, for a started append. It never delays, because others wait while the append is open.
    fn next_fault_at_once(&self) -> Result<Option<Fault>, StoreError> {
        self.check_space()?;
        self.spend_call()?;
        let scripted = self.script.lock().pop_front();
        if scripted.is_some() {
            return Ok(scripted);
        }
        let refused = self.happens(|plan| plan.refuse).then_some(Fault::Refuse);
        Ok(refused.or_else(|| self.lost_answer()))
    }

    fn lost_answer(&self) -> Option<Fault> {
        if self.happens(|plan| plan.cut_before) {
            Some(Fault::CutBefore)
        } else if self.happens(|plan| plan.land_later) {
            Some(Fault::LandLater)
        } else {
            self.happens(|plan| plan.cut_after).then_some(Fault::CutAfter)
        }
    }

    /// Performs a write with its fault.
    async fn meet<F>(&self, write: impl FnOnce(Arc<dyn Store>) -> F) -> Result<Appended, StoreError>
    where
        F: Future<Output = Result<Appended, StoreError>> + Send + 'static,
    {
        let fault = self.next_fault().await?;
        let lost = |how: &str| Err(StoreError::OutcomeUnknown(format!("injected: {how}")));
        let writing = write(self.inner.clone());
        match fault {
            None | Some(Fault::Pass) => writing.await,
            Some(Fault::Refuse) => Err(StoreError::Unavailable("injected".into())),
            Some(Fault::CutBefore) => lost("not done"),
            Some(Fault::CutAfter) => {
                writing.await?;
                lost("done")
            }
            Some(Fault::LandLater) => {
                let micros = self.dice.lock().u64(0..20_000);
                let late = tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_micros(micros)).await;
                    let _ = writing.await;
                });
                self.late.lock().push(late);
                lost("on its way")
            }
        }
    }

    async fn dawdle(&self) {
        if self.happens(|plan| plan.delay) {
            let micros = self.dice.lock().u64(0..2000);
            tokio::time::sleep(Duration::from_micros(micros)).await;
        }
    }

    async fn pass(&self) -> Result<(), StoreError> {
        self.wait_if_held().await;
        self.spend_call()?;
        self.roll().await
    }

    async fn wait_if_held(&self) {
        self.hold.send_if_modified(|hold| match hold {
            Hold::After(0) => {
                *hold = Hold::On;
                true
            }
            Hold::After(left) => {
                *left -= 1;
                false
            }
            Hold::Off | Hold::On => false,
        });
        let _ = self.hold.subscribe().wait_for(|hold| *hold != Hold::On).await;
    }

    fn spend_call(&self) -> Result<(), StoreError> {
        match &mut *self.calls_left.lock() {
            Some(0) => return Err(StoreError::Unavailable("injected: it has ended".into())),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(())
    }

    async fn roll(&self) -> Result<(), StoreError> {
        self.dawdle().await;
        if self.happens(|plan| plan.refuse) {
            return Err(StoreError::Unavailable("injected".into()));
        }
        Ok(())
    }
}

impl Appending for FaultyAppending {
    fn add(&mut self, records: Vec<Record>) {
        self.inner.add(records);
    }

    fn finish(self: Box<Self>, last: Append) -> StoreFuture<'static, Appended> {
        let lost = |how: &str| Err(StoreError::OutcomeUnknown(format!("injected: {how}")));
        Box::pin(async move {
            match self.fault? {
                None | Some(Fault::Pass) => self.inner.finish(last).await,
                Some(Fault::Refuse) => Err(StoreError::Unavailable("injected".into())),
                Some(Fault::CutBefore) => lost("not done"),
                Some(Fault::CutAfter) => {
                    self.inner.finish(last).await?;
                    lost("done")
                }
                Some(Fault::LandLater) => {
                    let writing = self.inner.finish(last);
                    self.late.lock().push(tokio::spawn(async move { drop(writing.await) }));
                    lost("on its way")
                }
            }
        })
    }
}

impl Store for FaultyStore {
    fn info(&self) -> StoreInfo {
        self.inner.info()
    }

    fn append(&self, append: Append) -> StoreFuture<'_, Appended> {
        Box::pin(self.meet(move |inner| async move { inner.append(append).await }))
    }

    fn begin_append(&self, space: &SpaceId, expected: Head) -> Option<Box<dyn Appending>> {
        // Calls that may be held are sent as a whole, because only there can they be held.
        if *self.hold.borrow() != Hold::Off {
            return None;
        }
        let inner = self.inner.begin_append(space, expected)?;
        Some(Box::new(FaultyAppending { inner, fault: self.next_fault_at_once(), late: self.late.clone() }))
    }

    fn head<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Head> {
        Box::pin(async move {
            self.count_read(space);
            self.pass().await?;
            self.inner.head(space).await
        })
    }

    fn load<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Loaded> {
        Box::pin(async move {
            self.count_read(space);
            self.pass().await?;
            self.inner.load(space).await
        })
    }

    fn read_after<'a>(&'a self, space: &'a SpaceId, cursor: Cursor, limit: usize) -> StoreFuture<'a, Page> {
        Box::pin(async move {
            self.count_read(space);
            self.pass().await?;
            self.refuse_read()?;
            let page = self.inner.read_after(space, cursor, limit).await;
            // The data may be outdated when it arrives.
            self.dawdle().await;
            page
        })
    }

    fn write_snapshot<'a>(&'a self, space: &'a SpaceId, snapshot: Snapshot) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.check_space()?;
            self.pass().await?;
            self.inner.write_snapshot(space, snapshot).await
        })
    }

    fn trim<'a>(&'a self, space: &'a SpaceId, trim: Trim) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            self.check_space()?;
            self.pass().await?;
            self.inner.trim(space, trim).await
        })
    }

    fn list<'a>(
        &'a self,
        kind: SpaceKind,
        after: Option<&'a SpaceId>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<ListedSpace>> {
        Box::pin(async move {
            self.pass().await?;
            self.inner.list(kind, after, limit).await
        })
    }

    fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> StoreFuture<'_, Vec<SpaceId>> {
        Box::pin(async move {
            self.pass().await?;
            self.inner.due(kind, now, limit).await
        })
    }

    fn delete<'a>(&'a self, space: &'a SpaceId, expected: Head, tombstone: CommitId) -> StoreFuture<'a, Appended> {
        Box::pin(async move {
            self.check_space()?;
            self.pass().await?;
            self.inner.delete(space, expected, tombstone).await
        })
    }

    fn import(&self, import: Import) -> StoreFuture<'_, Appended> {
        Box::pin(self.meet(move |inner| async move { inner.import(import).await }))
    }

    fn rewrite(&self, rewrite: Rewrite) -> StoreFuture<'_, Appended> {
        Box::pin(async move {
            self.check_space()?;
            self.pass().await?;
            self.inner.rewrite(rewrite).await
        })
    }

    fn scrub(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.pass().await?;
            self.inner.scrub().await
        })
    }

    fn now(&self) -> Option<Timestamp> {
        self.inner.now()
    }

    fn default_retention(&self) -> Retention {
        self.inner.default_retention()
    }

    fn changes(&self, space: &SpaceId) -> watch::Receiver<u64> {
        self.inner.changes(space)
    }

    fn all_changes(&self) -> broadcast::Receiver<(SpaceId, u64)> {
        self.inner.all_changes()
    }

    fn check(&self) -> StoreFuture<'_, Vec<String>> {
        self.inner.check()
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.inner.close()
    }
}
