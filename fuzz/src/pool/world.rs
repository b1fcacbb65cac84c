//! Random callers and a random network around a pool.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mac_core::pool::{ConnState, DialBackoff, DrainWaiters};
use mac_core::{
    Action, Backoff, CloseReason, ConnId, Lease, OriginConfig, OriginId, Pool, PoolConfig,
    Protocols, WaiterId,
};

use super::input::Input;
use super::model::{Claim, Conn, Model, Origin, State, Waiter};

mod callers;
mod checks;
mod facts;
mod rest;

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
