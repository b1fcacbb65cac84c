//! The end of the pool, of an origin, and of what is idle.

use alloc::vec::Vec;

use super::Pool;
use super::action::{CheckoutError, CloseReason};
use super::conn::Kind;
use crate::id::{ConnId, OriginId, WaiterId};
use crate::time::Instant;

/// What a drain does with the callers that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainWaiters {
    /// They are served, until the deadline.
    Serve,
    /// They are failed at once.
    Fail,
}

/// A drain that is going on.
#[derive(Debug)]
pub(super) struct Draining {
    /// When what is left is closed. None: it has been.
    pub(super) deadline: Option<Instant>,
    waiters: DrainWaiters,
}

impl<K> Pool<K> {
    /// Ends gracefully: new callers are refused, connections end as their streams do, dials that nobody
    /// waits for are given up, and at `deadline` what is left is closed.
    ///
    /// During a drain the earlier deadline counts, and waiters once given up stay so.
    pub fn drain(&mut self, deadline: Instant, waiters: DrainWaiters, now: Instant) {
        let now = self.begin(now);
        let (deadline, waiters) = match &self.draining {
            None => (Some(deadline), waiters),
            Some(before) => (
                before.deadline.map(|other| other.min(deadline)),
                if before.waiters == DrainWaiters::Fail { DrainWaiters::Fail } else { waiters },
            ),
        };
        self.draining = Some(Draining { deadline, waiters });
        self.deadlines.note(deadline);
        if waiters == DrainWaiters::Fail {
            self.fail_all();
        }
        for origin in self.origins() {
            self.finish(origin, now);
        }
        self.fire(now);
    }

    /// Ends at once: callers are failed, dials given up, connections closed whatever runs on them.
    pub fn drain_now(&mut self, now: Instant) {
        let now = self.begin(now);
        self.force_drain(now);
    }

    /// Whether a drain has come to its end: every dial was answered, every connection is closed.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.draining.is_some() && self.is_quiet()
    }

    /// Lets the connections to an origin end as their streams do. Later callers are served by new ones.
    pub fn drain_origin(&mut self, origin: OriginId, now: Instant) {
        let now = self.begin(now);
        for conn in self.members(origin) {
            self.drain_conn(conn, CloseReason::Drain);
        }
        self.finish(origin, now);
    }

    /// Closes all that is idle: for a change of network, or before a suspend.
    pub fn close_idle(&mut self, now: Instant) {
        let now = self.begin(now);
        for conn in self.conns_where(|kind| kind == Kind::Idle) {
            self.close(conn, CloseReason::Drain);
        }
        for origin in self.origins() {
            self.finish(origin, now);
        }
    }

    /// Whether what was left of a drain was closed.
    pub(super) fn is_forced(&self) -> bool {
        self.draining.as_ref().is_some_and(|draining| draining.deadline.is_none())
    }

    pub(super) fn force_drain(&mut self, now: Instant) {
        self.draining = Some(Draining { deadline: None, waiters: DrainWaiters::Fail });
        self.fail_all();
        let is_left = |kind| match kind {
            Kind::Pending
            | Kind::Idle
            | Kind::InUse
            | Kind::Draining
            | Kind::GoingAway
            | Kind::MakingRoom => true,
            Kind::Dialing | Kind::Cancelled | Kind::Closing | Kind::Closed => false,
        };
        for conn in self.conns_where(is_left) {
            self.close(conn, CloseReason::DrainDeadline);
        }
        // Nobody waits for the dials that are left.
        for origin in self.origins() {
            self.finish(origin, now);
        }
    }

    /// During a drain, lets the connections of an origin end for which nobody waits.
    pub(super) fn drain_if_quiet(&mut self, origin: OriginId) {
        let Some(group) = self.group(origin).filter(|_| self.draining.is_some()) else { return };
        let left = group.tally.open() + group.tally.of(Kind::Dialing);
        if group.waiters() > 0 || left == 0 {
            return;
        }
        for conn in self.members(origin) {
            match self.kind(conn) {
                Some(Kind::Dialing) => self.cancel_dial(conn),
                Some(_) | None => self.drain_conn(conn, CloseReason::Drain),
            }
        }
    }

    fn fail_all(&mut self) {
        let waiters: Vec<WaiterId> = self.waiters.iter().map(|(id, _)| WaiterId(id)).collect();
        for waiter in waiters {
            self.fail(waiter, CheckoutError::Draining);
        }
    }

    fn origins(&self) -> Vec<OriginId> {
        self.groups.iter().map(|(id, _)| OriginId(id)).collect()
    }

    fn conns_where(&self, is_meant: impl Fn(Kind) -> bool) -> Vec<ConnId> {
        let meant = self.conns.iter().filter(|(_, conn)| is_meant(conn.facets().kind));
        meant.map(|(id, _)| ConnId(id)).collect()
    }
}
