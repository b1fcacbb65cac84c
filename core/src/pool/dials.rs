//! Which dials begin and end, and what a failed one does.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Pool;
use super::action::{Action, CheckoutError, CloseReason, DialError};
use super::config::{PROBE_LIMIT, PROBE_PATIENCE};
use super::conn::Kind;
use super::deadlines::Timer;
use super::event::Event;
use super::group::Probe;
use crate::id::{ConnId, OriginId};
use crate::time::{self, Instant};

/// How a dial came to nothing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// It failed.
    Dial { was_probe: bool },
    /// Its connection ended before it served anything. So many callers had a stream of it: they are
    /// among those that the dial would have served.
    Ended { leases: u32 },
}

impl<K> Pool<K> {
    /// Begins the dials that an origin's callers ask for.
    pub(super) fn dial_wanted(&mut self, origin: OriginId, now: Instant) {
        // Its place in the order is that of its first caller now.
        self.unstarve(origin);
        loop {
            let Some(group) = self.group(origin) else { return };
            let wanted = group.wanted();
            let own_idle = match group.fresh.len() {
                0 => None,
                // What has served serves none of these: its place does.
                _ => group.oldest_idle(&self.conns),
            };
            if wanted.dials == 0 {
                match own_idle {
                    Some(idle) if wanted.limited => self.close(idle, CloseReason::MakeRoom),
                    Some(_) | None => return,
                }
            } else if self.is_behind(origin) {
                return self.starve(origin);
            } else if self.room() == 0 {
                match own_idle.or_else(|| self.deadlines.oldest_idle(&self.conns)) {
                    Some(idle) => self.close(idle, CloseReason::MakeRoom),
                    None => return self.starve(origin),
                }
            } else {
                self.dial(origin, wanted.probe, now);
            }
        }
    }

    /// Whether a caller of another origin has waited for room for longer.
    fn is_behind(&self, origin: OriginId) -> bool {
        let Some((ticket, other)) = self.starved.first() else { return false };
        let first = self.group(origin).and_then(|group| group.first_waiter(&self.waiters));
        *other != origin && first.is_some_and(|(own, _)| *ticket < own)
    }

    /// Gives room under the total limit to those who wait for it, oldest caller first.
    pub(super) fn serve_starved(&mut self, now: Instant) {
        while let Some((_, origin)) = self.starved.first().copied() {
            if self.room() == 0 && self.tally.of(Kind::Idle) == 0 {
                return;
            }
            self.dial_wanted(origin, now);
            if self.group(origin).is_some_and(|group| group.starved.is_some()) {
                return;
            }
        }
    }

    fn starve(&mut self, origin: OriginId) {
        if let Some(group) = self.groups.get_mut(origin.0)
            && let Some((ticket, _)) = group.first_waiter(&self.waiters)
        {
            group.starved = Some(ticket);
            self.starved.insert((ticket, origin));
        }
    }

    fn unstarve(&mut self, origin: OriginId) {
        if let Some(ticket) = self.groups.get_mut(origin.0).and_then(|group| group.starved.take()) {
            self.starved.remove(&(ticket, origin));
        }
    }

    /// Begins dials for the minimum and a prewarm. They close nothing, and wait for all callers.
    pub(super) fn dial_spare(&mut self, origin: OriginId, now: Instant) {
        while self.draining.is_none()
            && self.starved.is_empty()
            && self.room() > 0
            && self.tally.of(Kind::Idle) + self.tally.of(Kind::Dialing) < self.config.max_idle
            && let Some(group) = self.groups.get_mut(origin.0)
            && group.wanted_spare() > 0
        {
            group.prewarm = group.prewarm.saturating_sub(1);
            let probe =
                group.may_be_http2() && group.tally.open() + group.tally.of(Kind::Dialing) == 0;
            self.dial(origin, probe, now);
        }
        if let Some(group) = self.groups.get_mut(origin.0)
            && group.tally.of(Kind::Dialing) == 0
        {
            // What could not begin by now is given up: a prewarm is done once.
            group.prewarm = 0;
        }
    }

    fn dial(&mut self, origin: OriginId, probe: bool, now: Instant) {
        let conn = self.insert_conn(origin);
        self.count(origin, |counts| counts.dials += 1);
        if probe && let Some(group) = self.groups.get_mut(origin.0) {
            let until = now.checked_add(PROBE_PATIENCE);
            let limit = now.checked_add(PROBE_LIMIT);
            group.probe = Some(Box::new(Probe { conn, until, limit }));
            self.deadlines.set(until, Timer::Probe(origin));
        }
        self.actions.push_back(Action::Dial { origin, conn });
        self.event(|| Event::Dialing { origin, conn });
    }

    /// Lets others be dialed beside the probe.
    pub(super) fn end_probe(&mut self, origin: OriginId) {
        if let Some(probe) = self.groups.get_mut(origin.0).and_then(|group| group.probe.take()) {
            self.deadlines.unset(probe.until, Timer::Probe(origin));
        }
    }

    /// Gives up dials above the number that the callers still ask for, the latest first.
    pub(super) fn cancel_surplus(&mut self, origin: OriginId) {
        let Some(group) = self.group(origin) else { return };
        let open = group.tally.open();
        let wanted = match group.tally.for_settings {
            0 => group.waiters().div_ceil(group.expected).saturating_sub(group.tally.for_streams),
            _ => 0,
        };
        let wanted = wanted.min(group.config.max_http2_connections.saturating_sub(open));
        let surplus = group.tally.of(Kind::Dialing).saturating_sub(wanted);
        if surplus == 0 {
            return;
        }
        let mut dials = self.members(origin);
        dials.retain(|conn| self.kind(*conn) == Some(Kind::Dialing));
        for conn in dials.into_iter().rev().take(usize::try_from(surplus).unwrap_or(usize::MAX)) {
            self.cancel_dial(conn);
        }
    }

    pub(super) fn cancel_dial(&mut self, conn: ConnId) {
        let origin = self.update(conn, |conn| {
            conn.cancel();
            conn.origin
        });
        self.actions.push_back(Action::CancelDial { conn });
        if let Some(origin) = origin
            && self.is_probe(origin, conn)
        {
            self.end_probe(origin);
        }
    }

    pub(super) fn is_probe(&self, origin: OriginId, conn: ConnId) -> bool {
        let probe = self.group(origin).and_then(|group| group.probe.as_ref());
        probe.is_some_and(|probe| probe.conn == conn)
    }

    /// All connections of an origin, the oldest first.
    pub(super) fn members(&self, origin: OriginId) -> Vec<ConnId> {
        let Some(group) = self.group(origin) else { return Vec::new() };
        group.members.ids(&self.conns, |conn| &conn.member).map(ConnId).collect()
    }

    /// What a failed dial does to those who wait: nothing while it is backed off, else it fails some.
    pub(super) fn dial_failed(
        &mut self,
        origin: OriginId,
        error: &DialError,
        fault: Fault,
        now: Instant,
    ) {
        self.count(origin, |counts| counts.failed_dials += 1);
        self.pause_refill(origin, now);
        let (room, roll) = (self.room(), self.random.roll());
        let Some(group) = self.groups.get_mut(origin.0) else { return };
        group.prewarm = 0;
        let trouble = group.trouble.get_or_insert_default();
        trouble.failures = trouble.failures.max(trouble.doubtful).saturating_add(1);
        trouble.error = Some(error.clone());
        let failures = trouble.failures;
        let fails = match group.config.backoff {
            Some(backoff) if failures >= backoff.after.max(1) => {
                let nth = failures - backoff.after.max(1) + 1;
                let until = Some(time::far_deadline(now, backoff.pauses.pause(nth, roll)));
                let before = core::mem::replace(&mut trouble.backoff, until);
                self.deadlines.unset(before, Timer::Backoff(origin));
                self.deadlines.set(until, Timer::Backoff(origin));
                if backoff.fail_fast { group.waiters() } else { 0 }
            }
            Some(_) | None => match fault {
                Fault::Dial { was_probe } => group.failed_by_dial(was_probe, room),
                Fault::Ended { leases } => group.failed_by_dial(false, room).saturating_sub(leases),
            },
        };
        for _ in 0..fails {
            let first = self.group(origin).and_then(|group| group.first_waiter(&self.waiters));
            let Some((_, waiter)) = first else { return };
            self.fail(waiter, CheckoutError::Dial(error.clone()));
        }
    }

    /// Lets time pass before another dial for the minimum.
    pub(super) fn pause_refill(&mut self, origin: OriginId, now: Instant) {
        let Some(group) = self.groups.get_mut(origin.0) else { return };
        if group.config.min_idle == 0 {
            return;
        }
        let roll = self.random.roll();
        let pauses = group.config.backoff.map_or_else(Default::default, |backoff| backoff.pauses);
        let trouble = group.trouble.get_or_insert_default();
        trouble.refills = trouble.refills.saturating_add(1);
        let until = Some(time::far_deadline(now, pauses.pause(trouble.refills, roll)));
        let before = core::mem::replace(&mut trouble.refill, until);
        self.deadlines.unset(before, Timer::Refill(origin));
        self.deadlines.set(until, Timer::Refill(origin));
    }
}
