//! What is due.

use super::Pool;
use super::action::{Action, CheckoutError, CloseReason, DialError, WaitedFor};
use super::conn::{Conn, Kind, Patience};
use super::deadlines::Timer;
use super::dials::Fault;
use crate::id::{ConnId, OriginId};
use crate::time::Instant;

/// What a deadline is about.
enum Due {
    Timer(Timer),
    Origin(OriginId),
    Drain,
}

impl<K> Pool<K> {
    /// When the next thing is due: the one deadline of the pool. None is asked for without need.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_due().map(|(deadline, _)| deadline)
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.begin(now);
    }

    pub(super) fn fire(&mut self, now: Instant) {
        while let Some((deadline, due)) = self.next_due()
            && deadline <= now
        {
            match due {
                Due::Timer(timer) => self.fire_timer(deadline, timer, now),
                Due::Origin(origin) => self.vacate(origin),
                Due::Drain => self.force_drain(now),
            }
        }
        self.deadlines.soonest = self.poll_timeout();
    }

    #[inline]
    fn next_due(&self) -> Option<(Instant, Due)> {
        let timer = self.deadlines.next(&self.conns, &self.waiters);
        let mut next = timer.map(|(deadline, timer)| (deadline, Due::Timer(timer)));
        let mut sooner = |deadline: Instant, due: Due| {
            if next.as_ref().is_none_or(|(other, _)| deadline < *other) {
                next = Some((deadline, due));
            }
        };
        if let (Some(deadline), Some(origin)) =
            (self.groups.poll_timeout(), self.groups.oldest_idle())
        {
            sooner(deadline, Due::Origin(OriginId(origin)));
        }
        if let Some(deadline) = self.draining.as_ref().and_then(|draining| draining.deadline) {
            sooner(deadline, Due::Drain);
        }
        next
    }

    fn fire_timer(&mut self, deadline: Instant, timer: Timer, now: Instant) {
        self.deadlines.unset(Some(deadline), timer);
        let origin = match timer {
            Timer::Waiter(waiter) => {
                let Some(origin) = self.waiters.get(waiter.0).map(|waiter| waiter.origin) else {
                    return;
                };
                let waited_for = self.waited_for(origin);
                self.fail(waiter, CheckoutError::Timeout(waited_for));
                self.count(origin, |counts| counts.timeouts += 1);
                origin
            }
            Timer::Idle(conn) => self.idle_timed_out(conn, deadline),
            Timer::Lifetime(conn) => {
                let origin = self.origin_of(conn);
                if self.conns.get(conn.0).is_some_and(|conn| !conn.served) {
                    // Too short a lifetime must not fill the minimum again and again.
                    self.pause_refill(origin, now);
                }
                self.drain_conn(conn, CloseReason::Lifetime);
                origin
            }
            Timer::Streams(conn) => self.lose_patience(conn, now),
            Timer::Probe(origin) => {
                self.end_probe(origin);
                origin
            }
            Timer::Backoff(origin) => {
                if let Some(trouble) =
                    self.groups.get_mut(origin.0).and_then(|group| group.trouble.as_mut())
                {
                    trouble.backoff = None;
                }
                origin
            }
            Timer::Refill(origin) => {
                if let Some(trouble) =
                    self.groups.get_mut(origin.0).and_then(|group| group.trouble.as_mut())
                {
                    trouble.refill = None;
                }
                origin
            }
        };
        self.finish(origin, now);
    }

    fn idle_timed_out(&mut self, conn: ConnId, deadline: Instant) -> OriginId {
        let origin = self.origin_of(conn);
        let is_hinted = self
            .conns
            .get(conn.0)
            .and_then(|conn| conn.facets().idle)
            .is_some_and(|idle| idle.hinted && idle.until == Some(deadline));
        let is_kept =
            self.group(origin).is_some_and(|group| group.tally.of(Kind::Idle) <= group.min_idle());
        if is_kept && !is_hinted {
            self.mark_overdue(conn);
        } else {
            self.close(conn, CloseReason::IdleTimeout);
        }
        origin
    }

    /// The peer has told no limit of streams for long: what it allows so far counts. One that allows
    /// none is not waited for.
    fn lose_patience(&mut self, conn: ConnId, now: Instant) -> OriginId {
        let origin = self.origin_of(conn);
        let Some(open) = self.conns.get(conn.0).and_then(Conn::as_open).copied() else {
            return origin;
        };
        if open.streams > 0 {
            self.update(conn, |conn| {
                conn.allow(open.streams, Patience::Told);
            });
            return origin;
        }
        let failed = self.ended_unusable(conn);
        self.drain_conn(conn, CloseReason::NoStreams);
        if failed {
            self.dial_failed(origin, &DialError::ended_unused(), Fault::Ended { leases: 0 }, now);
        }
        origin
    }

    fn origin_of(&self, conn: ConnId) -> OriginId {
        // A timer of a connection is unset with it, so that it is there.
        self.conns.get(conn.0).map_or(OriginId(conn.0), |conn| conn.origin)
    }

    /// What the callers of an origin wait for.
    fn waited_for(&self, origin: OriginId) -> WaitedFor {
        let Some(group) = self.group(origin) else { return WaitedFor::Connection };
        let tally = &group.tally;
        let is_backing_off =
            group.trouble.as_ref().is_some_and(|trouble| trouble.backoff.is_some());
        let dials = tally.of(Kind::Dialing) + tally.for_settings + tally.for_streams;
        if group.starved.is_some() {
            WaitedFor::TotalLimit
        } else if dials > 0 || is_backing_off || tally.open() + tally.draining() == 0 {
            WaitedFor::Dial(group.last_error().cloned())
        } else {
            WaitedFor::Connection
        }
    }

    /// Forgets an origin that holds nothing.
    pub(super) fn vacate(&mut self, origin: OriginId) {
        if let Some(group) = self.groups.remove(origin.0) {
            if let Some(trouble) = group.trouble {
                self.deadlines.unset(trouble.backoff, Timer::Backoff(origin));
                self.deadlines.unset(trouble.refill, Timer::Refill(origin));
            }
            self.actions.push_back(Action::Vacate { origin, key: group.key });
        }
    }
}
