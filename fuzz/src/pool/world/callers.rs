//! What callers do: ask, give up, give back.

use mac_core::pool::config::HINT_MARGIN;
use mac_core::{Checkout, CheckoutError, CloseReason, ConnId, Lease, Protocol, Reuse, WaiterId};

use super::super::input::Input;
use super::super::model::{Claim, State, Waiter};
use super::{SECOND, World};

impl World {
    pub(super) fn checkout(&mut self, input: &mut Input<'_>) {
        let Some(origin) = self.origin(input) else { return };
        let fresh = input.below(6) == 0;
        let result = self.pool.checkout(origin, fresh, self.model.now);
        self.log(format!("checkout({origin:?}, fresh: {fresh}) = {result:?}"));
        let deadline = self.model.origins[&origin]
            .config
            .checkout_timeout
            .map(|timeout| self.model.now + timeout);
        match result {
            Ok(Checkout::Ready(lease)) => {
                self.model.tickets = lease.ticket();
                let claim = Claim { ticket: lease.ticket(), fresh, deadline };
                self.model.lease(&lease, claim);
                self.leases.push(lease);
            }
            Ok(Checkout::Waiting(id)) => {
                self.model.tickets += 1;
                let ticket = self.model.tickets;
                let waiter = Waiter { origin, ticket, fresh, deadline };
                let waiting = self.model.waiting(origin).len();
                assert!(waiting < self.model.origins[&origin].config.max_waiters as usize);
                let all = self.model.waiters.len();
                assert!(self.max_waiters.is_none_or(|most| all < most as usize));
                assert!(self.model.waiters.insert(id, waiter).is_none());
            }
            Err(CheckoutError::Draining) => assert!(self.model.draining),
            Err(CheckoutError::QueueFull) => {
                self.model.tickets += 1;
                let full = self.model.waiting(origin).len()
                    >= self.model.origins[&origin].config.max_waiters as usize;
                let all = self.model.waiters.len();
                assert!(full || self.max_waiters.is_some_and(|most| all >= most as usize));
            }
            Err(CheckoutError::Dial(_)) => {
                self.model.tickets += 1;
                let backoff = self.model.origins[&origin].config.backoff;
                assert!(backoff.is_some_and(|backoff| backoff.fail_fast));
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) fn cancel(&mut self, input: &mut Input<'_>) {
        let mut waiters: Vec<WaiterId> = self.model.waiters.keys().copied().collect();
        waiters.extend(&self.gone_waiters);
        let Some(waiter) = input.pick_any(&waiters) else { return };
        let won = self.pool.cancel(waiter, self.model.now);
        self.log(format!("cancel({waiter:?}) = {won}"));
        assert_eq!(won, self.model.waiters.remove(&waiter).is_some());
        self.gone_waiters.push(waiter);
    }

    pub(super) fn take_lease(&mut self, input: &mut Input<'_>) -> Option<Lease> {
        let index = input.below(self.leases.len());
        (!self.leases.is_empty()).then(|| self.leases.swap_remove(index))
    }

    pub(super) fn checkin(&mut self, input: &mut Input<'_>) {
        let Some(lease) = self.take_lease(input) else { return };
        let reuse = match input.below(8) {
            0 => Reuse::Close,
            1 => Reuse::Unusable,
            3 => Reuse::Unused,
            2 => Reuse::Keep { hint: Some(input.pick(&[0, 1, 2, 3, 100]) * SECOND) },
            _ => Reuse::Keep { hint: None },
        };
        self.checkin_as(lease, reuse);
    }

    pub(super) fn checkin_as(&mut self, lease: Lease, reuse: Reuse) {
        self.log(format!("checkin({:?}, {reuse:?})", lease.conn()));
        let (conn, ticket) = (lease.conn(), lease.ticket());
        self.model.release(&lease, ticket);
        self.pool.checkin(lease, reuse, self.model.now);
        self.released(conn, reuse);
    }

    /// What a lease that came back does to its connection.
    pub(super) fn released(&mut self, id: ConnId, reuse: Reuse) {
        self.model.order += 1;
        let (now, order) = (self.model.now, self.model.order);
        let Some(conn) = self.model.conns.get_mut(&id) else { return };
        let timeout = self.model.origins[&conn.origin].config.idle_timeout;
        match reuse {
            Reuse::Keep { .. } | Reuse::Unused => {
                if let Reuse::Keep { hint } = reuse {
                    conn.served = true;
                    let hint = hint.filter(|_| conn.protocol != Protocol::Http2);
                    conn.hint = hint.map(|hint| now + hint.saturating_sub(HINT_MARGIN));
                }
                conn.idle_since = now;
                conn.idle_order = order;
                conn.idle_until = timeout.map(|timeout| now + timeout);
                conn.hinted = false;
                if let Some(until) = conn.hint {
                    // A hint that outlasts the idle timeout ends nothing, but for the minimum.
                    conn.hinted = conn.idle_until.is_none_or(|other| until <= other);
                    conn.idle_until = Some(conn.idle_until.map_or(until, |other| other.min(until)));
                    if until <= now {
                        self.drain(id, CloseReason::IdleTimeout);
                    }
                }
            }
            Reuse::Close => {
                conn.served = true;
                self.drain(id, CloseReason::NotReusable);
            }
            Reuse::Unusable => {
                let (origin, fails) = (conn.origin, !conn.served && !conn.failed);
                self.model.fails(id);
                if fails {
                    // The caller that had it is the one that the dial would have served.
                    let fails = self.model.fails_by_dial(origin);
                    self.expected_failures = fails.map(|fails| fails.saturating_sub(1));
                }
                self.drain(id, CloseReason::Unusable);
            }
        }
        self.forget_closed(id);
    }

    pub(super) fn drain(&mut self, id: ConnId, reason: CloseReason) {
        if let Some(conn) = self.model.conns.get_mut(&id)
            && conn.state == State::Open
        {
            conn.state = State::Draining(reason);
            conn.failed |= reason != CloseReason::Unusable;
        }
    }

    pub(super) fn forget_closed(&mut self, id: ConnId) {
        if self.model.conns.get(&id).is_some_and(|c| c.state == State::Closed && c.leases == 0) {
            self.model.conns.remove(&id);
            self.gone_conns.push(id);
        }
    }

    pub(super) fn checkout_again(&mut self, input: &mut Input<'_>) {
        let Some(lease) = self.take_lease(input) else { return };
        let (conn, origin, ticket) = (lease.conn(), lease.origin(), lease.ticket());
        let claim = self.model.release(&lease, ticket);
        self.released(conn, Reuse::Unusable);
        if self.expected_failures.is_some() {
            // The caller itself waits again, and is the first to fail, unless its time is over.
            let is_over = claim.deadline.is_some_and(|deadline| deadline <= self.model.now);
            let waiting = self.model.waiting(origin).len() as u32 + 1;
            let fails = u32::from(waiting > self.model.dialing(origin));
            // It may find a stream that is free.
            let mut free = self.model.of(origin).filter(|(_, conn)| conn.free() > 0);
            let is_known = !is_over && !self.model.draining && free.next().is_none();
            drop(free);
            self.expected_failures = is_known.then_some(fails);
        }
        let checkout = self.pool.checkout_again(lease, self.model.now);
        self.log(format!("checkout_again({conn:?}) = {checkout:?}"));
        match checkout {
            Checkout::Ready(lease) => {
                assert_eq!(lease.ticket(), ticket, "lost its place");
                self.model.lease(&lease, claim);
                self.leases.push(lease);
            }
            Checkout::Waiting(id) => {
                let Claim { ticket, fresh, deadline } = claim;
                self.model.waiters.insert(id, Waiter { origin, ticket, fresh, deadline });
            }
        }
    }
}
