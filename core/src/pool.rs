//! The bookkeeping of all connections and of the callers that wait for them.
//!
//! The pool holds ids, never connections: the adapter keeps the map from [`ConnId`](crate::ConnId) to socket.
//!
//! # Contract
//!
//! - Bare verbs are commands of the application, `handle_*` report facts of the world, `poll_*` take
//!   outputs. Every order of calls is legal; a fact about something gone is ignored, and counted.
//! - After each call, take actions with [`poll_action`](Pool::poll_action) until there is none, and call
//!   [`handle_timeout`](Pool::handle_timeout) no later than at [`poll_timeout`](Pool::poll_timeout).
//!   Lateness costs latency, never correctness.
//! - `now` is the last parameter; a smaller one than seen before counts as the greatest seen.
//! - The same configuration, seed and calls give the same actions.
//! - A [`Lease`] is given back by value, in every case.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::sync::Arc;

pub use self::action::{
    Action, Checkout, CheckoutError, CloseReason, DialError, Lease, Reuse, WaitedFor,
};
pub use self::config::{DialBackoff, OriginConfig, PoolConfig, Protocols};
pub use self::drain::DrainWaiters;
pub use self::event::Event;
pub use self::stats::{Counts, PoolStats, Stats};
pub use self::views::{ConnState, ConnView};

use self::action::Claim;
use self::conn::{Conn, Kind};
use self::deadlines::Deadlines;
use self::dials::Fault;
use self::drain::Draining;
use self::group::Group;
use self::stats::Tally;
use self::waiters::Waiter;
use crate::id::{OriginId, Slab, WaiterId};
use crate::memory::Memory;
use crate::random::Random;
use crate::time::{Clock, Duration, Instant};

mod action;
pub mod config;
mod conn;
mod deadlines;
mod dials;
mod drain;
mod event;
mod facts;
mod group;
#[cfg(debug_assertions)]
mod recount;
mod serve;
mod stats;
mod timeouts;
mod update;
mod views;
mod waiters;

/// Connections and callers of many origins. `K` is what the application keeps of an origin.
#[derive(Debug)]
pub struct Pool<K> {
    config: PoolConfig,
    clock: Clock,
    random: Random,
    groups: Memory<Group<K>>,
    conns: Slab<Conn>,
    waiters: Slab<Waiter>,
    deadlines: Deadlines,
    /// Origins that only the total limit keeps from a dial, by the ticket of their first caller.
    starved: BTreeSet<(u64, OriginId)>,
    draining: Option<Draining>,
    tickets: u64,
    tally: Tally,
    stats: PoolStats,
    actions: VecDeque<Action<K>>,
    events: VecDeque<Event>,
}

impl<K> Pool<K> {
    /// A pool that knows no origin yet.
    #[must_use]
    pub fn new(config: PoolConfig) -> Self {
        let most = usize::try_from(config.max_origins).unwrap_or(usize::MAX);
        Self {
            random: Random::new(config.seed),
            // What becomes known outlives the step in which it does.
            groups: Memory::new(most, config.origin_ttl.max(Duration::from_millis(1))),
            clock: Clock::default(),
            conns: Slab::default(),
            waiters: Slab::default(),
            deadlines: Deadlines::new(),
            starved: BTreeSet::new(),
            draining: None,
            tickets: 0,
            tally: Tally::default(),
            stats: PoolStats::default(),
            actions: VecDeque::new(),
            events: VecDeque::new(),
            config,
        }
    }

    /// What the application keeps of an origin.
    #[must_use]
    pub fn key(&self, origin: OriginId) -> Option<&K> {
        self.group(origin).map(|group| &group.key)
    }

    /// Makes an origin known.
    ///
    /// # Errors
    ///
    /// Gives `key` back where as many origins as are allowed are busy.
    pub fn insert_origin(
        &mut self,
        key: K,
        config: Arc<OriginConfig>,
        now: Instant,
    ) -> Result<OriginId, K> {
        let now = self.begin(now);
        if self.groups.is_full() {
            match self.groups.oldest_idle() {
                Some(oldest) => self.vacate(OriginId(oldest)),
                None => return Err(key),
            }
        }
        let waiter_list = self.deadlines.waiters.index(config.checkout_timeout);
        let idle_list = self.deadlines.idle.index(config.idle_timeout);
        let group = Group::new(key, config, waiter_list, idle_list);
        let origin = OriginId(self.groups.insert(group, now));
        self.finish(origin, now);
        Ok(origin)
    }

    /// Says that an origin is about to be used, so that others give way before it. Says whether it is
    /// known still.
    pub fn touch(&mut self, origin: OriginId, now: Instant) -> bool {
        let now = self.begin(now);
        self.groups.touch(origin.0, now);
        self.groups.get(origin.0).is_some()
    }

    /// Asks for a stream on a connection to `origin`.
    ///
    /// A caller with `fresh` is given only a connection that has never served.
    ///
    /// # Errors
    ///
    /// [`CheckoutError`], at once, where the caller may not even wait.
    pub fn checkout(
        &mut self,
        origin: OriginId,
        fresh: bool,
        now: Instant,
    ) -> Result<Checkout, CheckoutError> {
        let now = self.begin(now);
        let Some(group) = self.group(origin) else { return Err(CheckoutError::UnknownOrigin) };
        let timeout = group.config.checkout_timeout;
        if self.draining.is_some() {
            self.count(origin, |counts| counts.refusals += 1);
            return Err(CheckoutError::Draining);
        }
        self.tickets += 1;
        let deadline = timeout.and_then(|timeout| now.checked_add(timeout));
        let claim = Claim { ticket: self.tickets, deadline, since: now, fresh };
        if let Some(lease) = self.lease_at_once(origin, claim, now) {
            if self.group(origin).is_some_and(|group| group.config.min_idle > 0) {
                // What it took from the minimum is replaced.
                self.finish(origin, now);
            }
            return Ok(Checkout::Ready(lease));
        }
        if let Some(error) = self.refusal(origin) {
            self.count(origin, |counts| counts.refusals += 1);
            return Err(error);
        }
        let waiter = self.wait(origin, claim, false);
        self.finish(origin, now);
        Ok(Checkout::Waiting(waiter))
    }

    /// Gives up waiting. Says whether that came in time: if not, the caller is granted a lease, or was
    /// failed, by an action that it has not seen yet.
    pub fn cancel(&mut self, waiter: WaiterId, now: Instant) -> bool {
        let now = self.begin(now);
        let Some(Waiter { origin, .. }) = self.forget_waiter(waiter) else { return false };
        self.count(origin, |counts| counts.cancels += 1);
        self.finish(origin, now);
        true
    }

    /// Gives a lease back.
    #[expect(clippy::needless_pass_by_value, reason = "a lease is linear: it ends here")]
    pub fn checkin(&mut self, lease: Lease, reuse: Reuse, now: Instant) {
        let now = self.begin(now);
        let leases = self.conns.get(lease.conn.0).map_or(0, Conn::leases);
        if self.release(&lease, reuse, now) {
            // The dial would have served those who hold a lease: they know already.
            self.dial_failed(
                lease.origin,
                &DialError::ended_unused(),
                Fault::Ended { leases },
                now,
            );
        }
        self.finish(lease.origin, now);
    }

    /// Gives a lease back as [`Reuse::Unusable`] and asks for another, at the place in the queue and
    /// with the deadline of the first checkout. Neither the bounds of the queue nor a drain refuse it.
    ///
    /// Where the connection had never served, that was a failed dial, and the caller may be the one that
    /// it fails: a server that closes what it accepts would keep it waiting for ever.
    #[expect(clippy::needless_pass_by_value, reason = "a lease is linear: it ends here")]
    pub fn checkout_again(&mut self, lease: Lease, now: Instant) -> Checkout {
        let now = self.begin(now);
        let Lease { origin, claim, .. } = lease;
        let leases = self.conns.get(lease.conn.0).map_or(0, Conn::leases).saturating_sub(1);
        let failed = self.release(&lease, Reuse::Unusable, now);
        let is_over = claim.deadline.is_some_and(|deadline| deadline <= now);
        if !failed
            && !is_over
            && let Some(lease) = self.lease_at_once(origin, claim, now)
        {
            self.finish(origin, now);
            return Checkout::Ready(lease);
        }
        let waiter = self.wait(origin, claim, true);
        if self.group(origin).is_none() {
            self.fail(waiter, CheckoutError::UnknownOrigin);
        } else if self.is_forced() {
            self.fail(waiter, CheckoutError::Draining);
        }
        if is_over {
            // Its deadline passed while it had the lease.
            self.fire(now);
        }
        // A stream may be free for it.
        self.grant(origin, now);
        if failed {
            // The caller, if it waits still, is the first that this fails, as the oldest.
            let fault = Fault::Ended { leases: leases.saturating_add(u32::from(is_over)) };
            self.dial_failed(origin, &DialError::ended_unused(), fault, now);
        }
        self.finish(origin, now);
        Checkout::Waiting(waiter)
    }

    /// Has `count` connections to `origin` established and kept, as far as the limits allow without
    /// closing others; for HTTP/2 one. It is done once: what is used or closed later is not replaced.
    pub fn prewarm(&mut self, origin: OriginId, count: u32, now: Instant) {
        let now = self.begin(now);
        if self.draining.is_none()
            && let Some(group) = self.groups.get_mut(origin.0)
        {
            let ready = group.tally.of(Kind::Idle) + group.tally.of(Kind::Dialing);
            group.prewarm = count.min(group.config.max_idle).saturating_sub(ready);
        }
        self.finish(origin, now);
    }

    /// Changes the limits of the pool as a whole. What is above a lowered one ends as it comes back.
    pub fn set_limits(
        &mut self,
        max_connections: Option<u32>,
        max_idle: u32,
        max_waiters: Option<u32>,
        now: Instant,
    ) {
        let now = self.begin(now);
        self.config.max_connections = max_connections;
        self.config.max_idle = max_idle;
        self.config.max_waiters = max_waiters;
        self.serve_starved(now);
        self.limit_idle_in_all();
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action<K>> {
        take(&mut self.actions)
    }

    /// The next thing that was done, if [`PoolConfig::events`] asks for it.
    pub fn poll_event(&mut self) -> Option<Event> {
        take(&mut self.events)
    }

    fn group(&self, origin: OriginId) -> Option<&Group<K>> {
        self.groups.get(origin.0)
    }

    /// Begins each call: time goes on, and what is due is done first.
    fn begin(&mut self, now: Instant) -> Instant {
        let now = self.clock.advance(now);
        if self.deadlines.soonest.is_some_and(|soonest| soonest <= now) {
            self.fire(now);
        }
        now
    }

    /// A lease without waiting.
    fn lease_at_once(&mut self, origin: OriginId, claim: Claim, now: Instant) -> Option<Lease> {
        // Whoever waits has found no stream that it takes, so that nobody is overtaken.
        let conn = self.group(origin)?.pick(&self.conns, claim.fresh)?;
        Some(self.lease(conn, origin, claim, now))
    }

    /// Why a caller may not wait.
    fn refusal(&self, origin: OriginId) -> Option<CheckoutError> {
        let group = self.group(origin)?;
        let in_all = self.config.max_waiters.is_some_and(|most| {
            u32::try_from(self.waiters.len()).map_or(true, |waiting| waiting >= most)
        });
        if in_all || group.waiters() >= group.config.max_waiters {
            return Some(CheckoutError::QueueFull);
        }
        let trouble = group.trouble.as_ref()?;
        let fail_fast = group.config.backoff.is_some_and(|backoff| backoff.fail_fast);
        match (&trouble.backoff, &trouble.error) {
            (Some(_), Some(error)) if fail_fast => Some(CheckoutError::Dial(error.clone())),
            (Some(_) | None, _) => None,
        }
    }

    fn count(&mut self, origin: OriginId, count: impl Fn(&mut Counts)) {
        count(&mut self.stats.all.counts);
        if let Some(group) = self.groups.get_mut(origin.0) {
            count(&mut group.counts);
        }
    }

    #[inline]
    fn event(&mut self, event: impl FnOnce() -> Event) {
        if self.config.events {
            self.events.push_back(event());
        }
    }

    /// How many connections the total limit leaves.
    fn room(&self) -> u32 {
        self.config
            .max_connections
            .map_or(u32::MAX, |most| most.max(1).saturating_sub(self.tally.counted()))
    }

    /// Whether nothing is left that could ask for more: no caller, no connection that its adapter has not
    /// reported closed, and no lease whose caller may come back.
    fn is_quiet(&self) -> bool {
        let is_quiet = self.conns.len() == 0 || self.is_forced() && self.tally.is_quiet();
        is_quiet && self.waiters.len() == 0
    }

    /// Whether there are more connections than are allowed, besides those that drain for that.
    fn is_over_limit(&self) -> bool {
        let staying = self.tally.counted() - self.tally.of(Kind::MakingRoom);
        self.config.max_connections.is_some_and(|most| staying > most.max(1))
    }

    /// Whether a connection has to end for room under the total limit, when a lease comes back: since
    /// there are more than are allowed, or for an older caller of another origin.
    fn must_yield(&self, lease: &Lease) -> bool {
        if self.is_over_limit() {
            return true;
        }
        let Some((ticket, other)) = self.starved.first() else { return false };
        let first = self.group(lease.origin).and_then(|group| group.first_waiter(&self.waiters));
        let coming = usize::try_from(self.tally.of(Kind::MakingRoom)).unwrap_or(usize::MAX);
        *other != lease.origin
            && self.room() == 0
            && self.tally.of(Kind::Idle) == 0
            && coming < self.starved.len()
            && first.is_none_or(|(own, _)| ticket < &own)
    }
}

/// An empty queue keeps room for this many: what a burst took is given back.
const KEPT_ROOM: usize = 1024;

fn take<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let next = queue.pop_front();
    if next.is_none() && queue.capacity() > KEPT_ROOM {
        *queue = VecDeque::new();
    }
    next
}
