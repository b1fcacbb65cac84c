//! What follows from each change: who is granted what, and what comes back.

use super::Pool;
use super::action::{Action, CheckoutError, Claim, CloseReason, Lease, Reuse};
use super::config::HINT_MARGIN;
use super::conn::{Conn, Idle, Kind, State};
use super::deadlines::Timer;
use super::event::Event;
use super::group::Group;
use super::waiters::Waiter;
use crate::id::{ConnId, OriginId, WaiterId};
use crate::protocol::Protocol;
use crate::time::{Duration, Instant};

impl<K> Pool<K> {
    /// Ends each call about an origin: serves its callers, keeps the limits of what is idle, then dials
    /// for its callers and for those of others that wait for room.
    pub(super) fn finish(&mut self, origin: OriginId, now: Instant) {
        let has_callers =
            self.group(origin).is_some_and(|group| group.waiters() > 0 || group.starved.is_some());
        if has_callers {
            self.grant(origin, now);
        }
        self.limit_idle(origin);
        if has_callers {
            self.dial_wanted(origin, now);
        }
        if self.draining.is_some() {
            self.drain_if_quiet(origin);
        }
        self.serve_starved(now);
        self.dial_spare(origin, now);
        self.settle(origin, now);
        #[cfg(debug_assertions)]
        self.recount(origin);
    }

    /// Gives free streams to callers, in the order of tickets. What has not served goes to the first of
    /// all, what has served to the first that takes it.
    pub(super) fn grant(&mut self, origin: OriginId, now: Instant) {
        while let Some((waiter, conn)) = self.next_grant(origin) {
            let Some(Waiter { claim, .. }) = self.forget_waiter(waiter) else { return };
            let lease = self.lease(conn, origin, claim, now);
            self.actions.push_back(Action::Grant { waiter, lease });
        }
    }

    fn next_grant(&self, origin: OriginId) -> Option<(WaiterId, ConnId)> {
        let group = self.group(origin)?;
        if group.waiters() == 0 {
            return None;
        }
        let fresh = group.fresh.front(&self.waiters);
        let any = group.queue.front(&self.waiters);
        if let Some((ticket, waiter)) = fresh
            && any.is_none_or(|(other, _)| ticket < other)
            && let Some(conn) = group.pick(&self.conns, true)
        {
            return Some((waiter, conn));
        }
        if let Some((_, waiter)) = any
            && let Some(conn) = group.pick(&self.conns, false)
        {
            return Some((waiter, conn));
        }
        let (_, waiter) = fresh?;
        Some((waiter, group.pick(&self.conns, true)?))
    }

    /// Leases a stream of `conn`, which has a free one.
    pub(super) fn lease(
        &mut self,
        conn: ConnId,
        origin: OriginId,
        claim: Claim,
        now: Instant,
    ) -> Lease {
        let max_requests = self.group(origin).and_then(|group| group.config.max_requests);
        let (protocol, patience) = match self.conns.get(conn.0).and_then(Conn::as_open) {
            Some(open) => (open.protocol, Some(open.patience)),
            None => (Protocol::Http1, None),
        };
        let (reused, drains) = self
            .update(conn, |conn| {
                conn.lease(max_requests);
                (conn.served, conn.as_open().is_none())
            })
            .unwrap_or_default();
        if let Some(patience) = patience
            && drains
        {
            self.forget_patience(conn, patience);
        }
        self.count(origin, |counts| {
            counts.grants += 1;
            counts.reuses += u64::from(reused);
        });
        self.event(|| {
            let waited = now.saturating_duration_since(claim.since);
            Event::Granted { conn, waited, reused }
        });
        Lease { conn, origin, protocol, reused, claim }
    }

    /// Takes a lease back. Says whether the end of its connection counts as a failed dial.
    pub(super) fn release(&mut self, lease: &Lease, reuse: Reuse, now: Instant) -> bool {
        let id = lease.conn;
        let yields = self.must_yield(lease);
        let idle = self.idle(lease.origin, now);
        let failed = match reuse {
            Reuse::Keep { hint } => {
                self.mark_served(id, lease.origin);
                self.remember_hint(lease, hint, now);
                self.keep(lease, idle, yields, now);
                false
            }
            Reuse::Unused => {
                self.keep(lease, idle, yields, now);
                false
            }
            Reuse::Close => {
                self.mark_served(id, lease.origin);
                self.drain_conn(id, CloseReason::NotReusable);
                self.update(id, |conn| conn.release(idle));
                false
            }
            Reuse::Unusable => {
                self.drain_conn(id, CloseReason::Unusable);
                self.update(id, |conn| {
                    conn.release(idle);
                    let failed = !conn.served && !conn.accounted;
                    conn.accounted |= failed;
                    failed
                })
                .unwrap_or(false)
            }
        };
        self.close_if_ended(id);
        if let Some(Conn { state: State::Closed { leases: 0 }, .. }) = self.conns.get(id.0) {
            self.remove_conn(id);
        }
        failed
    }

    /// Remembers until when the server keeps a connection that has served.
    fn remember_hint(&mut self, lease: &Lease, hint: Option<Duration>, now: Instant) {
        let Some(conn) = self.conns.get_mut(lease.conn.0) else { return };
        conn.hint = match (lease.protocol, hint) {
            (Protocol::Http1 | Protocol::Http1Proxy, Some(hint)) => {
                now.checked_add(hint.saturating_sub(HINT_MARGIN))
            }
            (Protocol::Http1 | Protocol::Http1Proxy, None) | (Protocol::Http2, _) => None,
        };
    }

    fn keep(&mut self, lease: &Lease, mut idle: Idle, yields: bool, now: Instant) {
        let id = lease.conn;
        if let Some(until) = self.conns.get(id.0).and_then(|conn| conn.hint) {
            if until <= now {
                self.drain_conn(id, CloseReason::IdleTimeout);
                self.update(id, |conn| conn.release(idle));
                return;
            }
            idle.until = Some(idle.until.map_or(until, |other| other.min(until)));
            idle.hinted = true;
        }
        if yields {
            let least = match lease.protocol {
                Protocol::Http1 | Protocol::Http1Proxy => Some(id),
                // It would end no sooner than the one with the fewest streams.
                Protocol::Http2 => {
                    self.group(lease.origin).and_then(|group| group.least_used(&self.conns))
                }
            };
            if let Some(least) = least {
                self.drain_conn(least, CloseReason::MakeRoom);
            }
        }
        self.update(id, |conn| conn.release(idle));
    }

    fn mark_served(&mut self, id: ConnId, origin: OriginId) {
        if self.conns.get(id.0).is_some_and(|conn| !conn.served) {
            // It has leases out, so that it is in none of the lists that `served` tells apart.
            self.update(id, |conn| conn.served = true);
            // Once for each connection: old ones say nothing about how dials go.
            self.forgive(origin);
        }
    }

    /// Forgets what went wrong: the origin serves.
    fn forgive(&mut self, origin: OriginId) {
        if let Some(trouble) = self.groups.get_mut(origin.0).and_then(|group| group.trouble.take())
        {
            self.deadlines.unset(trouble.backoff, Timer::Backoff(origin));
            self.deadlines.unset(trouble.refill, Timer::Refill(origin));
        }
    }

    /// How a connection of `origin` is idle from now on.
    pub(super) fn idle(&self, origin: OriginId, now: Instant) -> Idle {
        let list = self.group(origin).map_or(0, |group| group.idle_list);
        let until = match self.group(origin).and_then(|group| group.config.idle_timeout) {
            // There is no list for this duration.
            Some(timeout) if list == 0 => now.checked_add(timeout),
            Some(_) | None => None,
        };
        Idle { since: now, list, until, hinted: false, overdue: false }
    }

    /// Puts a caller into its queue.
    pub(super) fn wait(&mut self, origin: OriginId, claim: Claim, returned: bool) -> WaiterId {
        let id = self.waiters.insert(Waiter::new(origin, claim, returned));
        let waiter = WaiterId(id);
        let list = self.group(origin).map_or(0, |group| group.waiter_list);
        if returned || list == 0 {
            self.deadlines.set(claim.deadline, Timer::Waiter(waiter));
        } else if let Some(list) = self.deadlines.waiters.get_mut(list) {
            list.push_back(&mut self.waiters, id, |waiter| &mut waiter.deadline);
            self.deadlines.note(claim.deadline);
        }
        if let Some(group) = self.groups.get_mut(origin.0) {
            group.queue_mut(claim.fresh).push(&mut self.waiters, id);
        }
        self.count(origin, |counts| counts.waits += 1);
        self.event(|| Event::Waiting { waiter });
        waiter
    }

    pub(super) fn fail(&mut self, waiter: WaiterId, error: CheckoutError) {
        if self.forget_waiter(waiter).is_some() {
            self.actions.push_back(Action::Fail { waiter, error });
        }
    }

    /// Takes a caller out of all that it is in.
    pub(super) fn forget_waiter(&mut self, waiter: WaiterId) -> Option<Waiter> {
        let Waiter { origin, claim, returned, .. } = *self.waiters.get(waiter.0)?;
        let mut list = 0;
        if let Some(group) = self.groups.get_mut(origin.0) {
            list = group.waiter_list;
            group.queue_mut(claim.fresh).remove(&mut self.waiters, waiter.0);
        }
        if returned || list == 0 {
            self.deadlines.unset(claim.deadline, Timer::Waiter(waiter));
        } else if let Some(list) = self.deadlines.waiters.get_mut(list) {
            list.remove(&mut self.waiters, waiter.0, |waiter| &mut waiter.deadline);
        }
        self.waiters.remove(waiter.0)
    }

    /// Closes what is idle above the limits, the least recently used first.
    fn limit_idle(&mut self, origin: OriginId) {
        while let Some(group) = self.group(origin)
            && let Some(reason) = self.surplus_idle(group)
            && let Some(idle) = group.oldest_idle(&self.conns)
        {
            self.close(idle, reason);
        }
        self.limit_idle_in_all();
    }

    /// Why an idle connection of an origin is one too many, if one is.
    fn surplus_idle(&self, group: &Group<K>) -> Option<CloseReason> {
        let idle = group.tally.of(Kind::Idle);
        if idle > group.config.max_idle {
            return Some(CloseReason::IdleLimit);
        }
        if group.config.min_idle == 0 || idle <= group.min_idle() {
            return None;
        }
        let oldest = self.conns.get(group.oldest_idle(&self.conns)?.0)?;
        oldest.facets().idle?.overdue.then_some(CloseReason::IdleTimeout)
    }

    pub(super) fn limit_idle_in_all(&mut self) {
        // The limit in all may have been lowered.
        while self.is_over_limit()
            && let Some(idle) = self.deadlines.oldest_idle(&self.conns)
        {
            self.close(idle, CloseReason::MakeRoom);
        }
        while self.tally.of(Kind::Idle) > self.config.max_idle
            && let Some(idle) = self.deadlines.oldest_idle(&self.conns)
        {
            self.close(idle, CloseReason::IdleLimit);
        }
    }

    /// Lets an origin be forgotten, or not.
    pub(super) fn settle(&mut self, origin: OriginId, now: Instant) {
        match self.group(origin).map(Group::is_empty) {
            Some(true) => {
                self.groups.settle_idle(origin.0, now);
                self.deadlines.note(self.groups.poll_timeout());
            }
            Some(false) => self.groups.mark_busy(origin.0),
            None => {}
        }
    }
}
