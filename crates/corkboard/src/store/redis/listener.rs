//! Wake-ups: the server tells what others append, to one connection that is there while someone listens.
//!
//! What is published while that connection is away is lost, so messages are never relied on: whenever a channel was
//! subscribed to, and every [`LOOK`] anyway, the heads of what is listened to are asked for, in one go.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corkboard_core::SpaceId;
use redis::{PushInfo, PushKind};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Inner;
use super::answer::{bytes, text};
use super::link::{Live, connect};

/// How often heads are looked at, whatever was published.
const LOOK: Duration = Duration::from_secs(1);
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

/// A connection that is subscribed to channels.
struct Subscription {
    live: Live,
    pushes: UnboundedReceiver<PushInfo>,
    subscribed: HashSet<SpaceId>,
}

impl Inner {
    /// Sees to it that what is listened to is heard of.
    pub(super) fn listen(self: &Arc<Self>) {
        self.listening.wake();
        if !self.listening.running.swap(true, Ordering::SeqCst) {
            self.runtime.spawn(self.clone().hear());
        }
    }

    async fn hear(self: Arc<Self>) {
        let mut subscription: Option<Subscription> = None;
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let listened = self.wakes.listened();
            if listened.is_empty() || self.is_closed() {
                drop(subscription.take());
                self.listening.running.store(false, Ordering::SeqCst);
                // Someone may have begun to listen in between.
                if self.is_closed()
                    || self.wakes.listened().is_empty()
                    || self.listening.running.swap(true, Ordering::SeqCst)
                {
                    return;
                }
                continue;
            }
            let news = self.subscribe(&mut subscription, &listened).await;
            self.look(&news).await;
            // Messages come thick and fast; who listens is looked up when that may have changed.
            while let Some(subscribed) = &mut subscription {
                tokio::select! {
                    push = subscribed.pushes.recv() => match push {
                        Some(push) if push.kind == PushKind::Message => self.wake(push),
                        Some(push) if push.kind != PushKind::Disconnection => {}
                        Some(_) | None => subscription = None,
                    },
                    () = self.listening.changed.notified() => break,
                    _ = look.tick() => {
                        self.look(&self.wakes.listened()).await;
                        if subscribed.is_lost().await {
                            subscription = None;
                        }
                        break;
                    }
                }
            }
            if subscription.is_none() {
                look.tick().await;
                self.look(&self.wakes.listened()).await;
            }
        }
    }

    /// Brings what is subscribed to in line with what is listened to. Returns what is new: it may have moved before.
    async fn subscribe(&self, held: &mut Option<Subscription>, listened: &[SpaceId]) -> Vec<SpaceId> {
        if held.is_none() {
            let (sender, pushes) = unbounded_channel();
            let pushed = move |push| {
                let _ = sender.send(push);
            };
            match connect(self.address.clone(), ANSWER, pushed).await {
                Ok(live) => *held = Some(Subscription { live, pushes, subscribed: HashSet::new() }),
                // Looking goes on, and so does trying, once a second.
                Err(failure) => {
                    tracing::debug!(?failure, "no connection to listen on");
                    return Vec::new();
                }
            }
        }
        let Some(subscription) = held else { return Vec::new() };
        match subscription.follow(self, listened).await {
            Ok(news) => news,
            Err(error) => {
                tracing::debug!(%error, "listening is begun anew");
                *held = None;
                Vec::new()
            }
        }
    }

    fn wake(&self, push: PushInfo) {
        let mut data = push.data.into_iter();
        let (Some(channel), Some(rev)) = (data.next(), data.next()) else { return };
        let channel = text(channel);
        let rev = std::str::from_utf8(&bytes(rev)).ok().and_then(|rev| rev.parse().ok());
        if let (Some((space, _)), Some(rev)) = (self.keys.space_of(&channel), rev) {
            self.wakes.wake(&space, rev);
        }
    }

    async fn look(&self, spaces: &[SpaceId]) {
        match self.heads(spaces).await {
            Ok(heads) => spaces.iter().zip(heads).for_each(|(space, head)| self.wakes.wake(space, head.rev)),
            Err(error) => tracing::debug!(%error, "what is listened to could not be looked at"),
        }
    }
}

impl Subscription {
    /// A connection that was cut without a word would be silent for ever.
    async fn is_lost(&mut self) -> bool {
        self.live.connection.send_packed_command(&redis::cmd("PING")).await.is_err()
    }

    async fn follow(&mut self, inner: &Inner, listened: &[SpaceId]) -> redis::RedisResult<Vec<SpaceId>> {
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
