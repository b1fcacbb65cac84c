//! Random callers and a random network around a pool.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mac_core::pool::config::{HINT_MARGIN, STREAMS_PATIENCE};
use mac_core::pool::{ConnState, DialBackoff, DrainWaiters};
use mac_core::{
    Action, Backoff, Checkout, CheckoutError, CloseReason, ConnId, DialError, Lease, OriginConfig,
    OriginId, Pool, PoolConfig, Protocol, Protocols, Reuse, WaiterId,
};

use super::input::Input;
use super::model::{Claim, Conn, Model, Origin, State, Waiter};

/// A pool, what a model knows of it, and what happened.
pub struct World {
    pool: Pool<usize>,
    model: Model,
    leases: Vec<Lease>,
    gone_conns: Vec<ConnId>,
    gone_waiters: Vec<WaiterId>,
    configs: Vec<Arc<OriginConfig>>,
    max_idle: u32,
    max_waiters: Option<u32>,
    /// How many callers this step must fail by a dial, where that is known.
    expected_failures: Option<u32>,
    log: Log,
}

/// Printed where a check fails, if `MAC_TRACE` is set.
#[derive(Default)]
struct Log(Vec<String>);

impl Drop for Log {
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("MAC_TRACE").is_some() {
            eprintln!("{}", self.0.join("\n"));
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);

impl World {
    pub fn new(input: &mut Input<'_>) -> Self {
        let config = PoolConfig {
            max_connections: input.pick(&[None, None, Some(1), Some(2), Some(3), Some(5)]),
            max_idle: input.pick(&[1024, 1024, 0, 1, 2]),
            max_waiters: input.pick(&[None, None, None, Some(4)]),
            max_origins: input.pick(&[64, 64, 2]),
            origin_ttl: 20 * SECOND,
            seed: u64::from(input.byte()),
            events: true,
        };
        let configs: Vec<_> =
            (0..=input.below(3)).map(|_| Arc::new(origin_config(input))).collect();
        let now = Instant::now();
        let model = Model {
            now,
            origins: BTreeMap::new(),
            conns: BTreeMap::new(),
            seen: Vec::new(),
            waiters: BTreeMap::new(),
            claims: BTreeMap::new(),
            max_connections: config.max_connections,
            draining: false,
            tickets: 0,
            order: 0,
            failed: Vec::new(),
            failures: 0,
            doubtful: 0,
            failed_callers: 0,
            drained: Vec::new(),
        };
        let log = Log(vec![format!("{config:?}"), format!("{configs:#?}")]);
        Self {
            max_idle: config.max_idle,
            max_waiters: config.max_waiters,
            pool: Pool::new(config),
            model,
            leases: Vec::new(),
            gone_conns: Vec::new(),
            gone_waiters: Vec::new(),
            configs,
            expected_failures: None,
            log,
        }
    }

    fn log(&mut self, what: String) {
        self.log.0.push(what);
    }

    pub fn step(&mut self, input: &mut Input<'_>) {
        self.begin();
        match input.below(32) {
            0..=7 => self.checkout(input),
            8 => self.cancel(input),
            9..=13 => self.checkin(input),
            14 => self.checkout_again(input),
            15..=20 => self.answer(input),
            21..=24 => self.time(input),
            25..=27 => self.fact(input),
            28 => self.close_answer(input),
            29 => self.fact_about_nothing(input),
            30 => self.command(input),
            _ => self.rare(input),
        }
        self.apply();
        self.check();
    }

    fn begin(&mut self) {
        self.model.failed.clear();
        self.model.failed_callers = 0;
        self.expected_failures = None;
        self.model.drained.clear();
    }

    /// What may fail callers because patience ends, when time comes to be `now`.
    fn impatient(&mut self) {
        let now = self.model.now;
        let is_over = |conn: &Conn| conn.patience.is_some_and(|until| until <= now);
        let ended = self.model.conns.iter().filter(|(_, conn)| conn.is_pending() && is_over(conn));
        let ended: Vec<ConnId> = ended.map(|(id, _)| *id).collect();
        for id in ended {
            let before = self.model.failures;
            self.model.fails(id);
            let origin = &self.model.origins[&self.model.conns[&id].origin];
            if self.model.draining || origin.config.max_lifetime.is_some() {
                self.model.doubtful += self.model.failures - before;
            }
        }
        for conn in self.model.conns.values_mut() {
            if conn.streams > 0 && conn.patience.is_some_and(|until| until <= now) {
                conn.patience = None;
            }
        }
    }

    fn origin(&mut self, input: &mut Input<'_>) -> Option<OriginId> {
        let known: Vec<OriginId> = self.model.origins.keys().copied().collect();
        if known.len() < self.configs.len() || input.below(16) == 0 {
            let key = known.len() % self.configs.len();
            let config = Arc::clone(&self.configs[key]);
            if let Ok(origin) = self.pool.insert_origin(key, Arc::clone(&config), self.model.now) {
                self.log(format!("insert_origin({key}) = {origin:?}"));
                let entry = Origin { config, learned: None, expected: 1, prewarmed: false };
                assert!(self.model.origins.insert(origin, entry).is_none(), "an id is used again");
            }
            self.apply();
        }
        let known: Vec<OriginId> = self.model.origins.keys().copied().collect();
        input.pick_any(&known)
    }

    fn checkout(&mut self, input: &mut Input<'_>) {
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

    fn cancel(&mut self, input: &mut Input<'_>) {
        let mut waiters: Vec<WaiterId> = self.model.waiters.keys().copied().collect();
        waiters.extend(&self.gone_waiters);
        let Some(waiter) = input.pick_any(&waiters) else { return };
        let won = self.pool.cancel(waiter, self.model.now);
        self.log(format!("cancel({waiter:?}) = {won}"));
        assert_eq!(won, self.model.waiters.remove(&waiter).is_some());
        self.gone_waiters.push(waiter);
    }

    fn take_lease(&mut self, input: &mut Input<'_>) -> Option<Lease> {
        let index = input.below(self.leases.len());
        (!self.leases.is_empty()).then(|| self.leases.swap_remove(index))
    }

    fn checkin(&mut self, input: &mut Input<'_>) {
        let Some(lease) = self.take_lease(input) else { return };
        let reuse = match input.below(8) {
            0 => Reuse::Close,
            1 => Reuse::Unusable,
            2 => Reuse::Keep { hint: Some(input.pick(&[0, 1, 2, 3, 100]) * SECOND) },
            _ => Reuse::Keep { hint: None },
        };
        self.checkin_as(lease, reuse);
    }

    fn checkin_as(&mut self, lease: Lease, reuse: Reuse) {
        self.log(format!("checkin({:?}, {reuse:?})", lease.conn()));
        let (conn, ticket) = (lease.conn(), lease.ticket());
        self.model.release(&lease, ticket);
        self.pool.checkin(lease, reuse, self.model.now);
        self.released(conn, reuse);
    }

    /// What a lease that came back does to its connection.
    fn released(&mut self, id: ConnId, reuse: Reuse) {
        self.model.order += 1;
        let (now, order) = (self.model.now, self.model.order);
        let Some(conn) = self.model.conns.get_mut(&id) else { return };
        let timeout = self.model.origins[&conn.origin].config.idle_timeout;
        match reuse {
            Reuse::Keep { hint } => {
                conn.served = true;
                conn.idle_since = now;
                conn.idle_order = order;
                conn.idle_until = timeout.map(|timeout| now + timeout);
                conn.hinted = false;
                if let Some(hint) = hint
                    && conn.protocol != Protocol::Http2
                {
                    let until = now + hint.saturating_sub(HINT_MARGIN);
                    conn.idle_until = Some(conn.idle_until.map_or(until, |other| other.min(until)));
                    conn.hinted = true;
                    if until == now {
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
                    self.expected_failures = self.model.fails_by_dial(origin);
                }
                self.drain(id, CloseReason::Unusable);
            }
        }
        self.forget_closed(id);
    }

    fn drain(&mut self, id: ConnId, reason: CloseReason) {
        if let Some(conn) = self.model.conns.get_mut(&id)
            && conn.state == State::Open
        {
            conn.state = State::Draining(reason);
            conn.failed |= reason != CloseReason::Unusable;
        }
    }

    fn forget_closed(&mut self, id: ConnId) {
        if self.model.conns.get(&id).is_some_and(|c| c.state == State::Closed && c.leases == 0) {
            self.model.conns.remove(&id);
            self.gone_conns.push(id);
        }
    }

    fn checkout_again(&mut self, input: &mut Input<'_>) {
        let Some(lease) = self.take_lease(input) else { return };
        let (conn, origin, ticket) = (lease.conn(), lease.origin(), lease.ticket());
        let claim = self.model.release(&lease, ticket);
        self.released(conn, Reuse::Unusable);
        if self.expected_failures.is_some() {
            // The caller itself waits again, and is the first to fail, unless its time is over.
            let is_over = claim.deadline.is_some_and(|deadline| deadline <= self.model.now);
            let waiting = self.model.waiting(origin).len() as u32 + 1;
            let fails = u32::from(waiting > self.model.dialing(origin));
            self.expected_failures = (!is_over && !self.model.draining).then_some(fails);
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

    /// Answers a dial, sometimes one that was given up.
    fn answer(&mut self, input: &mut Input<'_>) {
        let dials: Vec<ConnId> = self
            .model
            .conns
            .iter()
            .filter(|(_, conn)| matches!(conn.state, State::Dialing | State::Cancelled))
            .map(|(id, _)| *id)
            .collect();
        let Some(conn) = input.pick_any(&dials) else { return };
        if input.below(4) == 0 {
            self.dial_failed(conn);
        } else {
            let protocols = self.model.origins[&self.model.conns[&conn].origin].config.protocols;
            let protocol = match protocols {
                Protocols::Http1 => Protocol::Http1,
                Protocols::Http2 => Protocol::Http2,
                Protocols::Negotiated => input.pick(&[Protocol::Http1, Protocol::Http2]),
            };
            let streams = input.pick(&[None, None, Some(0), Some(1), Some(2), Some(100)]);
            self.dialed(conn, protocol, streams);
        }
    }

    fn dial_failed(&mut self, conn: ConnId) {
        self.log(format!("handle_dial_failed({conn:?})"));
        let Conn { origin, state, .. } = self.model.conns.remove(&conn).expect("a dial");
        self.gone_conns.push(conn);
        if state == State::Dialing {
            self.model.failures += 1;
            self.model.failed.push(origin);
            self.expected_failures = self.model.fails_by_dial(origin);
        }
        self.pool.handle_dial_failed(conn, DialError::new("refused"), self.model.now);
    }

    fn dialed(&mut self, id: ConnId, protocol: Protocol, streams: Option<u32>) {
        self.log(format!("handle_dialed({id:?}, {protocol:?}, {streams:?})"));
        let now = self.model.now;
        self.model.order += 1;
        let order = self.model.order;
        let conn = self.model.conns.get_mut(&id).expect("a dial");
        if conn.state == State::Dialing {
            let origin = self.model.origins.get_mut(&conn.origin).expect("known");
            origin.learned = Some(protocol);
            conn.state = State::Open;
            conn.protocol = protocol;
            conn.opened = now;
            conn.idle_since = now;
            conn.idle_order = order;
            conn.idle_until = origin.config.idle_timeout.map(|timeout| now + timeout);
            let initial = origin.config.initial_streams;
            let is_http2 = protocol == Protocol::Http2;
            conn.streams = if is_http2 { streams.unwrap_or(initial) } else { 1 };
            let waits = is_http2 && streams.is_none_or(|streams| streams == 0);
            conn.patience = waits.then_some(now + STREAMS_PATIENCE);
            match protocol {
                Protocol::Http2 if waits => {}
                Protocol::Http1 | Protocol::Http1Proxy | Protocol::Http2 => {
                    origin.expected = conn.streams;
                }
            }
        }
        self.pool.handle_dialed(id, protocol, streams, now);
    }

    fn time(&mut self, input: &mut Input<'_>) {
        let before = self.model.now;
        let deadline = self.pool.poll_timeout();
        let now = match input.below(6) {
            0 => before.checked_sub(SECOND).unwrap_or(before),
            1 => before + Duration::from_millis(1),
            2 => before + Duration::from_millis(350),
            3 => before + Duration::from_millis(1100),
            4 => before + u32::from(input.byte()) * Duration::from_millis(100),
            _ => deadline.unwrap_or(before),
        };
        self.log(format!("handle_timeout(+{:?})", now.saturating_duration_since(before)));
        self.model.now = before.max(now);
        self.impatient();
        self.pool.handle_timeout(now);
        if deadline.is_some_and(|deadline| deadline > now) && now >= before {
            let idle = self.pool.poll_timeout() == deadline;
            assert!(idle, "a deadline moves although nothing was due");
        }
        let next = self.pool.poll_timeout();
        assert!(next.is_none_or(|next| next > self.model.now), "what was due is due still");
    }

    fn fact(&mut self, input: &mut Input<'_>) {
        let conns: Vec<ConnId> = self.model.conns.keys().copied().collect();
        let Some(conn) = input.pick_any(&conns) else { return };
        match input.below(6) {
            0 => self.streams(conn, 0),
            1 => self.streams(conn, 1),
            2 => self.streams(conn, u32::from(input.byte() % 8)),
            3 => self.goaway(conn),
            4 => self.closed(conn),
            _ => self.pool.handle_dial_progress(conn, self.model.now),
        }
    }

    fn streams(&mut self, id: ConnId, streams: u32) {
        self.log(format!("handle_streams({id:?}, {streams})"));
        let now = self.model.now;
        if let Some(conn) = self.model.conns.get_mut(&id)
            && conn.state == State::Open
            && conn.protocol == Protocol::Http2
        {
            let was_none = conn.patience.is_some() && conn.streams == 0;
            if conn.is_pending() {
                conn.idle_since = now;
                let timeout = self.model.origins[&conn.origin].config.idle_timeout;
                conn.idle_until = timeout.map(|timeout| now + timeout);
                conn.hinted = false;
            }
            conn.patience = match (streams, was_none) {
                (0, true) => conn.patience,
                (0, false) => Some(now + STREAMS_PATIENCE),
                (_, _) => None,
            };
            conn.streams = streams;
            let origin = self.model.origins.get_mut(&conn.origin).expect("known");
            origin.expected = streams.max(1);
        }
        self.pool.handle_streams(id, streams, now);
    }

    fn goaway(&mut self, conn: ConnId) {
        self.log(format!("handle_goaway({conn:?})"));
        self.unusable(conn);
        self.drain(conn, CloseReason::GoAway);
        self.pool.handle_goaway(conn, self.model.now);
    }

    /// A connection that ends before it allowed a stream fails callers.
    fn unusable(&mut self, conn: ConnId) {
        let is_open = |c: &Conn| c.state == State::Open && c.leases == 0 && c.patience.is_some();
        if self.model.conns.get(&conn).is_some_and(is_open) {
            self.model.fails(conn);
        }
    }

    fn closed(&mut self, id: ConnId) {
        self.log(format!("handle_closed({id:?})"));
        self.unusable(id);
        if let Some(conn) = self.model.conns.get_mut(&id)
            && !matches!(conn.state, State::Dialing | State::Cancelled)
        {
            conn.state = State::Closed;
        }
        self.forget_closed(id);
        self.pool.handle_closed(id, self.model.now);
    }

    fn close_answer(&mut self, input: &mut Input<'_>) {
        let closing = self.model.conns.iter().filter(|(_, conn)| conn.state == State::Closing);
        let closing: Vec<ConnId> = closing.map(|(id, _)| *id).collect();
        if let Some(conn) = input.pick_any(&closing) {
            self.closed(conn);
        }
    }

    fn fact_about_nothing(&mut self, input: &mut Input<'_>) {
        let Some(conn) = input.pick_any(&self.gone_conns) else { return };
        let (now, stats) = (self.model.now, self.pool.stats());
        match input.below(6) {
            0 => self.pool.handle_dialed(conn, Protocol::Http1, None, now),
            1 => self.pool.handle_dial_failed(conn, DialError::new("late"), now),
            2 => self.pool.handle_streams(conn, 3, now),
            3 => self.pool.handle_goaway(conn, now),
            4 => self.pool.handle_dial_progress(conn, now),
            _ => self.pool.handle_closed(conn, now),
        }
        assert_eq!(self.pool.stats().ignored_facts, stats.ignored_facts + 1);
        assert_eq!(self.pool.stats().all, stats.all);
    }

    fn command(&mut self, input: &mut Input<'_>) {
        let Some(origin) = self.origin(input) else { return };
        let now = self.model.now;
        match input.below(4) {
            0 => {
                let count = u32::from(input.byte() % 4);
                self.log(format!("prewarm({origin:?}, {count})"));
                self.model.origins.get_mut(&origin).expect("known").prewarmed = true;
                self.pool.prewarm(origin, count, now);
            }
            1 => {
                self.log(format!("drain_origin({origin:?})"));
                let conns: Vec<ConnId> = self.model.of(origin).map(|(id, _)| *id).collect();
                conns.into_iter().for_each(|conn| self.drain(conn, CloseReason::Drain));
                self.pool.drain_origin(origin, now);
            }
            2 => {
                self.log("close_idle".to_owned());
                self.pool.close_idle(now);
            }
            _ => {
                let most = input.pick(&[None, Some(1), Some(2), Some(4)]);
                self.log(format!("set_limits({most:?})"));
                self.model.max_connections = most;
                self.pool.set_limits(most, self.max_idle, self.max_waiters, now);
            }
        }
    }

    /// What ends everything, so that it must not come often.
    fn rare(&mut self, input: &mut Input<'_>) {
        if input.below(8) != 0 {
            return;
        }
        let now = self.model.now;
        self.model.draining = true;
        if input.below(3) == 0 {
            self.log("drain_now".to_owned());
            self.pool.drain_now(now);
        } else {
            let waiters = input.pick(&[DrainWaiters::Serve, DrainWaiters::Fail]);
            let after = u32::from(input.byte() % 8) * SECOND;
            self.log(format!("drain(+{after:?}, {waiters:?})"));
            self.pool.drain(now + after, waiters, now);
        }
    }

    /// Sees which connections drain, then does what the pool asks for.
    fn apply(&mut self) {
        self.see_drained();
        while let Some(action) = self.pool.poll_action() {
            self.log(format!("    {action:?}"));
            match action {
                Action::Dial { origin, conn } => self.model.dial(origin, conn),
                Action::CancelDial { conn } => self.model.cancel_dial(conn),
                Action::Grant { waiter, lease } => {
                    let waiter = self.model.waiters.remove(&waiter).expect("grants who waits");
                    let Waiter { ticket, fresh, deadline, .. } = waiter;
                    assert_eq!(lease.ticket(), ticket);
                    assert!(deadline.is_none_or(|deadline| deadline > self.model.now), "too late");
                    self.model.lease(&lease, Claim { ticket, fresh, deadline });
                    self.leases.push(lease);
                }
                Action::Fail { waiter, error } => self.model.fail(waiter, &error),
                Action::Close { conn, reason } => {
                    let origin = self.model.conns[&conn].origin;
                    let timeout = self.model.origins[&origin].config.idle_timeout;
                    self.model.close(conn, reason, timeout);
                }
                Action::Vacate { origin, .. } => {
                    assert_eq!(self.model.of(origin).count(), 0, "it has connections");
                    assert_eq!(self.model.waiting(origin).len(), 0, "it has callers");
                    assert!(self.model.origins.remove(&origin).is_some(), "vacated twice");
                }
            }
        }
        if let Some(expected) = self.expected_failures.take() {
            assert_eq!(self.model.failed_callers, expected, "callers failed by a dial");
        }
        while self.pool.poll_event().is_some() {}
    }

    /// Connections begin to drain without an action.
    fn see_drained(&mut self) {
        let origins: Vec<OriginId> = self.model.origins.keys().copied().collect();
        for (id, view) in origins.into_iter().flat_map(|origin| self.pool.connections(origin)) {
            let ConnState::Draining { reason } = view.state else { continue };
            let Some(conn) = self.model.conns.get_mut(&id) else { continue };
            if conn.state != State::Open || reason == CloseReason::MaxRequests {
                continue;
            }
            let config = &self.model.origins[&conn.origin].config;
            let age = self.model.now - conn.opened;
            let lives = config.max_lifetime.is_none_or(|lifetime| age < lifetime * 9 / 10);
            match reason {
                CloseReason::Lifetime => assert!(!lives, "too young"),
                CloseReason::MakeRoom => assert!(self.model.max_connections.is_some()),
                CloseReason::NoStreams => assert_eq!(conn.streams, 0),
                CloseReason::Drain => assert!(self.model.draining),
                reason => panic!("{id:?} drains because of {reason:?}"),
            }
            conn.state = State::Draining(reason);
            conn.failed = true;
            self.model.drained.push(id);
        }
    }

    /// What holds after every step.
    fn check(&self) {
        let model = &self.model;
        let stats = self.pool.stats();
        let all: Vec<&Conn> = model.conns.values().collect();
        check_stats(&stats.all, &all, model.waiters.len());
        assert_eq!(stats.origins, model.origins.len());
        let certain = model.failures - model.doubtful;
        let failures = certain..=model.failures;
        assert!(failures.contains(&stats.all.counts.failed_dials), "failed dials: {failures:?}");
        for (id, origin) in &model.origins {
            let conns: Vec<&Conn> = model.of(*id).map(|(_, conn)| conn).collect();
            let stats = self.pool.origin_stats(*id).expect("known");
            check_stats(&stats, &conns, model.waiting(*id).len());
            assert!(stats.idle <= origin.config.max_idle, "too many idle");
            let is_over = model.draining && model.waiting(*id).is_empty();
            let left = stats.dialing + stats.idle;
            assert!(!is_over || left == 0, "a drain leaves what nobody waits for");
            self.check_waiting(*id, origin);
            if let Some(lifetime) = origin.config.max_lifetime {
                let is_old = |c: &&Conn| {
                    c.state == State::Open && c.opened + lifetime * 11 / 10 <= model.now
                };
                assert_eq!(conns.iter().copied().find(is_old).map(|_| ()), None, "too old");
            }
        }
        assert!(stats.all.idle <= self.max_idle, "too many idle in all");
        if self.pool.is_drained() {
            assert!(model.waiters.is_empty() && all.iter().all(|c| c.state == State::Closed));
        }
        let deadlines = model.waiters.values().filter_map(|waiter| waiter.deadline);
        let hints = all.iter().filter(|conn| conn.is_idle() && conn.hinted);
        let hints = hints.filter_map(|conn| conn.idle_until);
        let patience = all.iter().filter(|conn| conn.state == State::Open);
        let patience = patience.filter_map(|conn| conn.patience);
        let first = deadlines.chain(hints).chain(patience).min();
        let timeout = self.pool.poll_timeout();
        assert!(first.is_none_or(|first| timeout.is_some_and(|timeout| timeout <= first)), "late");
    }

    /// Nobody waits without reason.
    fn check_waiting(&self, id: OriginId, origin: &Origin) {
        let model = &self.model;
        let waiting = model.waiting(id);
        for (_, waiter) in &waiting {
            let mut free = model.of(id).filter(|(_, conn)| conn.free() > 0);
            let usable = free.find(|(_, conn)| !(waiter.fresh && conn.served));
            assert!(usable.is_none(), "{waiter:?} waits although there is {usable:?}");
        }
        if waiting.is_empty() {
            return;
        }
        let dialing = model.dialing(id);
        let is_patient =
            model.of(id).any(|(_, conn)| conn.state == State::Open && conn.patience.is_some());
        let counted = model.counted(id);
        let at_limit = counted >= model.limit(id) && counted > 0;
        let at_total = model.max_connections.is_some_and(|most| model.counted_in_all() >= most);
        let may_back_off = origin.config.backoff.is_some() && self.pool.poll_timeout().is_some();
        assert!(
            dialing > 0 || is_patient || at_limit || at_total || may_back_off,
            "stranded: {waiting:?}"
        );
        // No idle connection stands in the way of a dial.
        if at_total && dialing == 0 && !is_patient && !at_limit && !may_back_off {
            assert!(!model.conns.values().any(Conn::is_idle), "idle ones keep a caller waiting");
        }
        let fans_out = origin.config.protocols == Protocols::Http1
            && origin.config.backoff.is_none()
            && !at_limit
            && !at_total;
        if fans_out {
            let wanted = (waiting.len() as u32).min(origin.config.max_dialing);
            assert!(dialing >= wanted, "too few dials for those who wait");
        }
    }

    /// The world behaves: everything must come to its end.
    pub fn come_to_rest(mut self) {
        self.log("come to rest".to_owned());
        let mut is_quiet = false;
        for _ in 0..2000 {
            self.begin();
            if let Some(lease) = self.leases.pop() {
                self.checkin_as(lease, Reuse::Keep { hint: None });
            } else if let Some((id, state)) = self.to_answer() {
                match state {
                    State::Closing => self.closed(id),
                    _ => {
                        let config = &self.model.origins[&self.model.conns[&id].origin].config;
                        let protocol = match config.protocols {
                            Protocols::Http1 => Protocol::Http1,
                            Protocols::Http2 | Protocols::Negotiated => Protocol::Http2,
                        };
                        self.dialed(id, protocol, Some(5));
                    }
                }
            } else if let Some(id) = self.to_raise() {
                self.streams(id, 3);
            } else if let Some(deadline) = self.pool.poll_timeout() {
                self.model.now = self.model.now.max(deadline);
                self.log("handle_timeout".to_owned());
                self.impatient();
                self.pool.handle_timeout(self.model.now);
            } else {
                is_quiet = true;
                break;
            }
            self.apply();
            self.check();
        }
        assert_eq!(self.model.waiters.len(), 0, "callers wait for ever");
        let is_unlimited = self.model.max_connections.is_none() && self.max_idle > 100;
        for (id, origin) in &self.model.origins {
            let config = &origin.config;
            let minimum = config.min_idle.min(config.max_idle);
            if is_quiet
                && is_unlimited
                && !self.model.draining
                && config.protocols == Protocols::Http1
            {
                let idle = self.pool.origin_stats(*id).expect("known").idle;
                assert!(idle >= minimum.min(config.max_connections), "below the minimum");
            }
        }
        let keeps =
            self.configs.iter().any(|config| config.min_idle > 0 || config.idle_timeout.is_none());
        if !keeps {
            assert_eq!(self.pool.stats().all.idle, 0);
            assert_eq!(self.model.conns.len(), 0);
            assert_eq!(self.pool.stats().origins, 0, "origins are left");
            assert_eq!(self.pool.poll_timeout(), None, "wakes for nothing");
        }
    }

    fn to_answer(&self) -> Option<(ConnId, State)> {
        let mut open = self.model.conns.iter().filter(|(_, conn)| {
            matches!(conn.state, State::Dialing | State::Cancelled | State::Closing)
        });
        open.next().map(|(id, conn)| (*id, conn.state))
    }

    /// A connection whose peer owes it a limit of streams.
    fn to_raise(&self) -> Option<ConnId> {
        let mut open = self
            .model
            .conns
            .iter()
            .filter(|(_, conn)| conn.state == State::Open && conn.patience.is_some());
        open.next().map(|(id, _)| *id)
    }
}

fn check_stats(stats: &mac_core::Stats, conns: &[&Conn], waiters: usize) {
    let count = |is: &dyn Fn(&Conn) -> bool| conns.iter().filter(|conn| is(conn)).count() as u32;
    assert_eq!(
        stats.dialing,
        count(&|conn| conn.state == State::Dialing || conn.is_pending()),
        "dialing"
    );
    assert_eq!(stats.idle, count(&|conn| conn.is_idle()), "idle");
    let in_use = count(&|conn| conn.state == State::Open && conn.leases > 0);
    assert_eq!(stats.in_use, in_use, "in use");
    let draining = count(&|conn| matches!(conn.state, State::Draining(_)));
    assert_eq!(stats.draining, draining, "draining");
    let closing = count(&|conn| matches!(conn.state, State::Closing | State::Cancelled));
    assert_eq!(stats.closing, closing, "closing");
    assert_eq!(stats.streams, conns.iter().map(|conn| conn.leases).sum::<u32>(), "streams");
    assert_eq!(stats.waiters as usize, waiters, "waiters");
}

fn origin_config(input: &mut Input<'_>) -> OriginConfig {
    OriginConfig {
        protocols: input.pick(&[Protocols::Http1, Protocols::Http2, Protocols::Negotiated]),
        max_connections: input.pick(&[1, 2, 3, 5]),
        max_http2_connections: input.pick(&[1, 2, 4]),
        max_idle: input.pick(&[0, 1, 2, 8, 8]),
        min_idle: input.pick(&[0, 0, 0, 0, 1, 2]),
        max_dialing: input.pick(&[1, 2, 8]),
        max_waiters: input.pick(&[2, 8, 100]),
        checkout_timeout: input.pick(&[None, Some(SECOND), Some(5 * SECOND)]),
        idle_timeout: input.pick(&[None, Some(SECOND), Some(3 * SECOND)]),
        max_lifetime: input.pick(&[None, None, Some(10 * SECOND)]),
        max_requests: input.pick(&[None, None, Some(1), Some(3)]),
        initial_streams: input.pick(&[1, 1, 2]),
        backoff: input
            .pick(&[None, None, Some((1, false)), Some((2, true))])
            .map(|(after, fail_fast)| DialBackoff { after, pauses: Backoff::default(), fail_fast }),
    }
}
