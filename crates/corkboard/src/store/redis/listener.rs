//! Wake-ups: one connection, open while there are subscribers, receives the server's messages about other processes'
//! appends.
//!
//! Messages published while that connection is down are lost, so they are never relied on. After subscribing to a
//! channel, and every [`LOOK`], this reads the heads of all subscribed spaces in one round trip.

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

/// How often to read the heads, even if messages arrive.
const LOOK: Duration = Duration::from_secs(1);
/// How often to read the heads of all spaces while there are global subscribers and messages arrive. Without messages:
/// every [`LOOK`].
const LOOK_AT_ALL: Duration = Duration::from_secs(5);
/// How long the server may take to confirm a subscription.
const ANSWER: Duration = Duration::from_secs(3);

/// Whether the listener task is running, and a signal that subscribers changed.
#[derive(Default)]
pub(super) struct Listening {
    running: AtomicBool,
    changed: Notify,
}

impl Listening {
    /// Makes the listener task check its subscribers again.
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
    /// Starts the listener task if it is not running, and makes it pick up new subscribers.
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
                // A new subscriber may have arrived in between.
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
            // Messages from before the subscription were not received.
            let is_due = hears_all && !heard_all || looked_at_all.is_none_or(|at| at.elapsed() >= every);
            if listened.all && is_due {
                self.look_at_all().await;
                looked_at_all = Some(Instant::now());
            }
            // Handle many messages before checking the subscribers again.
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

    /// Updates the server's subscriptions to match the subscribers. Returns the new spaces, which may have changed
    /// before.
    async fn subscribe(&self, held: &mut Option<Subscription>, listened: &Listened) -> Vec<SpaceId> {
        if held.is_none() {
            let (sender, pushes) = unbounded_channel();
            let pushed = move |push| {
                let _ = sender.send(push);
            };
            match connect(self.address.clone(), ANSWER, pushed).await {
                Ok(live) => *held = Some(Subscription { live, pushes, subscribed: HashSet::new(), hears_all: false }),
                // Polling continues, and so do attempts to connect, once a second.
                Err(failure) => {
                    tracing::debug!(?failure, "cannot connect to listen for changes");
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
                tracing::debug!(%error, "subscription failed; reconnecting");
                *held = None;
                Vec::new()
            }
        }
    }

    fn wake(&self, push: PushInfo) {
        // For a pattern subscription, the pattern precedes the channel.
        let mut data = push.data.into_iter().rev();
        let (Some(rev), Some(channel)) = (data.next(), data.next()) else { return };
        let channel = text(channel);
        let rev = std::str::from_utf8(&bytes(rev)).ok().and_then(|rev| rev.parse().ok());
        if let (Some((space, "wake")), Some(rev)) = (self.keys.space_of(&channel), rev) {
            self.notifier.notify(&space, rev);
        }
    }

    /// The current subscribers, if there are any.
    fn listened(&self) -> Option<Listened> {
        let listened =
            Listened { spaces: self.notifier.subscribed_spaces(), all: self.notifier.has_global_subscribers() };
        (listened.all || !listened.spaces.is_empty()).then_some(listened)
    }

    async fn look_at_all(&self) {
        for kind in SpaceKind::ALL {
            match self.list(*kind, None, usize::MAX).await {
                Ok(listed) => listed.iter().for_each(|listed| self.notifier.notify(&listed.space, listed.head.rev)),
                Err(error) => tracing::debug!(%error, "failed to read the heads of watched spaces"),
            }
        }
    }

    async fn look(&self, spaces: &[SpaceId]) {
        if spaces.is_empty() {
            return;
        }
        match self.heads(spaces).await {
            Ok(heads) => spaces.iter().zip(heads).for_each(|(space, head)| self.notifier.notify(space, head.rev)),
            Err(error) => tracing::debug!(%error, "failed to read the heads of watched spaces"),
        }
    }
}

impl Subscription {
    /// A connection that was cut silently would stay silent forever, so ping the server.
    async fn is_lost(&mut self) -> bool {
        self.live.connection.send_packed_command(&redis::cmd("PING")).await.is_err()
    }

    /// Subscribes to all spaces, or unsubscribes. If the server refuses, all spaces are polled and the next call tries
    /// again.
    async fn follow_all(&mut self, inner: &RedisShared, all: bool) {
        let told = match (self.hears_all, all) {
            (false, true) => self.live.connection.psubscribe(inner.keys.channels()).await,
            (true, false) => self.live.connection.punsubscribe(inner.keys.channels()).await,
            _ => return,
        };
        match told {
            Ok(()) => self.hears_all = all,
            Err(error) => tracing::debug!(%error, "cannot change the subscription to all spaces"),
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
