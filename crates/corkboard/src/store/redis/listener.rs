//! Wake-ups: the server tells what others append, to one connection that is there while someone listens.
//!
//! What is published while that connection is away is lost, so messages are never relied on: whenever a channel was
//! subscribed to, and every [`LOOK`] anyway, the heads of what is listened to are asked for, in one go.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corkboard_core::{SpaceId, SpaceKind};
use redis::{PushInfo, PushKind};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::RedisShared;
use super::answer::{bytes, text};
use super::connection::{OpenConnection, connect};

/// How often heads are looked at, whatever was published.
const LOOK: Duration = Duration::from_secs(1);
/// How often all spaces are looked at while someone listens to all of them and the server tells. While it does not: every
/// [`LOOK`].
const LOOK_AT_ALL: Duration = Duration::from_secs(5);
/// How long the server may take to confirm that it will tell.
const ANSWER: Duration = Duration::from_secs(3);

/// Whether someone listens, and word that it is someone new.
#[derive(Default)]
pub(super) struct Listening {
    running: AtomicBool,
    changed: Notify,
}

impl Listening {
    /// Has it looked at again whether someone listens.
    pub(super) fn wake(&self) {
        self.changed.notify_one();
    }
}

struct Subscription {
    live: OpenConnection,
    pushes: UnboundedReceiver<PushInfo>,
    subscribed: HashSet<SpaceId>,
    hears_all: bool,
}

struct Listened {
    spaces: Vec<SpaceId>,
    all: bool,
}

impl RedisShared {
    /// Sees to it that what is listened to is heard of.
    pub(super) fn listen(self: &Arc<Self>) {
        self.listening.wake();
        if !self.listening.running.swap(true, Ordering::SeqCst) {
            self.runtime.spawn(self.clone().hear());
        }
    }

    async fn hear(self: Arc<Self>) {
        let mut subscription: Option<Subscription> = None;
        let mut looked_at_all: Option<Instant> = None;
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let Some(listened) = self.listened().filter(|_| !self.is_closed()) else {
                drop(subscription.take());
                self.listening.running.store(false, Ordering::SeqCst);
                // Someone may have begun to listen in between.
                if self.is_closed() || self.listened().is_none() || self.listening.running.swap(true, Ordering::SeqCst)
                {
                    return;
                }
                continue;
            };
            let heard_all = subscription.as_ref().is_some_and(|subscription| subscription.hears_all);
            let news = self.subscribe(&mut subscription, &listened).await;
            self.look(&news).await;
            let hears_all = subscription.as_ref().is_some_and(|subscription| subscription.hears_all);
            let every = if hears_all { LOOK_AT_ALL } else { LOOK };
            // What was told before they were subscribed to was told to nobody.
            let is_due = hears_all && !heard_all || looked_at_all.is_none_or(|at| at.elapsed() >= every);
            if listened.all && is_due {
                self.look_at_all().await;
                looked_at_all = Some(Instant::now());
            }
            // Messages come thick and fast; who listens is looked up when that may have changed.
            while let Some(subscribed) = &mut subscription {
                tokio::select! {
                    push = subscribed.pushes.recv() => match push {
                        Some(push) if matches!(push.kind, PushKind::Message | PushKind::PMessage) => self.wake(push),
                        Some(push) if push.kind != PushKind::Disconnection => {}
                        Some(_) | None => subscription = None,
                    },
                    () = self.listening.changed.notified() => break,
                    _ = look.tick() => {
                        self.look(&self.notifier.subscribed_spaces()).await;
                        if subscribed.is_lost().await {
                            subscription = None;
                        }
                        break;
                    }
                }
            }
            if subscription.is_none() {
                look.tick().await;
                self.look(&self.notifier.subscribed_spaces()).await;
            }
        }
    }

    /// Brings what is subscribed to in line with what is listened to. Returns what is new: it may have moved before.
    async fn subscribe(&self, held: &mut Option<Subscription>, listened: &Listened) -> Vec<SpaceId> {
        if held.is_none() {
            let (sender, pushes) = unbounded_channel();
            let pushed = move |push| {
                let _ = sender.send(push);
            };
            match connect(self.address.clone(), ANSWER, pushed).await {
                Ok(live) => *held = Some(Subscription { live, pushes, subscribed: HashSet::new(), hears_all: false }),
                // Looking goes on, and so does trying, once a second.
                Err(failure) => {
                    tracing::debug!(?failure, "no connection to listen on");
                    return Vec::new();
                }
            }
        }
        let Some(subscription) = held else { return Vec::new() };
        match subscription.follow(self, &listened.spaces).await {
            Ok(news) => {
                subscription.follow_all(self, listened.all).await;
                news
            }
            Err(error) => {
                tracing::debug!(%error, "listening is begun anew");
                *held = None;
                Vec::new()
            }
        }
    }

    fn wake(&self, push: PushInfo) {
        // Where a pattern was subscribed to, it stands before the channel.
        let mut data = push.data.into_iter().rev();
        let (Some(rev), Some(channel)) = (data.next(), data.next()) else { return };
        let channel = text(channel);
        let rev = std::str::from_utf8(&bytes(rev)).ok().and_then(|rev| rev.parse().ok());
        if let (Some((space, "wake")), Some(rev)) = (self.keys.space_of(&channel), rev) {
            self.notifier.notify(&space, rev);
        }
    }

    /// What is listened to, if anything is.
    fn listened(&self) -> Option<Listened> {
        let listened =
            Listened { spaces: self.notifier.subscribed_spaces(), all: self.notifier.has_global_subscribers() };
        (listened.all || !listened.spaces.is_empty()).then_some(listened)
    }

    async fn look_at_all(&self) {
        for kind in SpaceKind::ALL {
            match self.list(*kind, None, usize::MAX).await {
                Ok(listed) => listed.iter().for_each(|listed| self.notifier.notify(&listed.space, listed.head.rev)),
                Err(error) => tracing::debug!(%error, "what is listened to could not be looked at"),
            }
        }
    }

    async fn look(&self, spaces: &[SpaceId]) {
        if spaces.is_empty() {
            return;
        }
        match self.heads(spaces).await {
            Ok(heads) => spaces.iter().zip(heads).for_each(|(space, head)| self.notifier.notify(space, head.rev)),
            Err(error) => tracing::debug!(%error, "what is listened to could not be looked at"),
        }
    }
}

impl Subscription {
    /// A connection that was cut without a word would be silent for ever.
    async fn is_lost(&mut self) -> bool {
        self.live.connection.send_packed_command(&redis::cmd("PING")).await.is_err()
    }

    /// Has the server tell of all spaces, or no longer. One that may not is asked again, and looked at meanwhile.
    async fn follow_all(&mut self, inner: &RedisShared, all: bool) {
        let told = match (self.hears_all, all) {
            (false, true) => self.live.connection.psubscribe(inner.keys.channels()).await,
            (true, false) => self.live.connection.punsubscribe(inner.keys.channels()).await,
            _ => return,
        };
        match told {
            Ok(()) => self.hears_all = all,
            Err(error) => tracing::debug!(%error, "the server does not tell of all spaces"),
        }
    }

    async fn follow(&mut self, inner: &RedisShared, listened: &[SpaceId]) -> redis::RedisResult<Vec<SpaceId>> {
        let listened: HashSet<&SpaceId> = listened.iter().collect();
        let news: Vec<SpaceId> =
            listened.iter().filter(|space| !self.subscribed.contains(**space)).map(|space| (*space).clone()).collect();
        if !news.is_empty() {
            let channels: Vec<String> = news.iter().map(|space| inner.keys.channel(space)).collect();
            self.live.connection.subscribe(channels).await?;
            self.subscribed.extend(news.iter().cloned());
        }
        let gone: Vec<SpaceId> = self.subscribed.iter().filter(|space| !listened.contains(space)).cloned().collect();
        if !gone.is_empty() {
            let channels: Vec<String> = gone.iter().map(|space| inner.keys.channel(space)).collect();
            self.live.connection.unsubscribe(channels).await?;
            gone.iter().for_each(|space| {
                self.subscribed.remove(space);
            });
        }
        Ok(news)
    }
}
