//! A pool that is slow and obvious: what is there, and which actions are legal.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mac_core::pool::config::PROBE_PATIENCE;
use mac_core::pool::{CheckoutError, WaitedFor};
use mac_core::{CloseReason, ConnId, Lease, OriginConfig, OriginId, Protocol, Protocols, WaiterId};

/// A caller that waits.
#[derive(Debug, Clone)]
pub struct Waiter {
    pub origin: OriginId,
    pub ticket: u64,
    pub fresh: bool,
    pub deadline: Option<Instant>,
}

/// What a lease remembers of its caller.
#[derive(Debug, Clone)]
pub struct Claim {
    pub ticket: u64,
    pub fresh: bool,
    pub deadline: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Dialing,
    Cancelled,
    Open,
    Draining(CloseReason),
    Closing,
    /// Closed, with leases out.
    Closed,
}

#[derive(Debug, Clone)]
pub struct Conn {
    pub origin: OriginId,
    pub state: State,
    pub protocol: Protocol,
    pub streams: u32,
    /// An HTTP/2 connection that has told no limit, or none but 0, may be waited for until then.
    pub patience: Option<Instant>,
    /// Whether it was dialed alone where the protocol could be HTTP/2.
    pub probe: bool,
    pub leases: u32,
    pub served: bool,
    /// Whether its end is accounted for: counted as a failed dial, or known to be none.
    pub failed: bool,
    pub grants: u32,
    pub opened: Instant,
    pub idle_since: Instant,
    /// The server's hint and the idle timeout, whichever ends first.
    pub idle_until: Option<Instant>,
    pub hinted: bool,
    /// The server's hint, which outlasts a lease that was not used.
    pub hint: Option<Instant>,
    /// Orders what became idle at the same time.
    pub idle_order: u64,
}

#[derive(Debug, Clone)]
pub struct Origin {
    pub config: Arc<OriginConfig>,
    pub learned: Option<Protocol>,
    /// Streams to expect of a new connection.
    pub expected: u32,
    /// Whether somebody asked for connections without waiting for one.
    pub prewarmed: bool,
}

/// The model.
#[derive(Debug)]
pub struct Model {
    pub now: Instant,
    pub origins: BTreeMap<OriginId, Origin>,
    pub conns: BTreeMap<ConnId, Conn>,
    pub seen: Vec<ConnId>,
    pub waiters: BTreeMap<WaiterId, Waiter>,
    pub claims: BTreeMap<u64, Claim>,
    pub max_connections: Option<u32>,
    pub draining: bool,
    pub tickets: u64,
    pub order: u64,
    /// Origins at which, in this step, a dial failed or a connection ended unused.
    pub failed: Vec<OriginId>,
    /// How often that was in all.
    pub failures: u64,
    /// How many of these may have ended otherwise before: by a lifetime, by a drain.
    pub doubtful: u64,
    /// How many callers were failed by that, in this step.
    pub failed_callers: u32,
    /// Connections that began to drain in this step.
    pub drained: Vec<ConnId>,
}

impl Conn {
    pub fn counts(&self) -> bool {
        matches!(self.state, State::Dialing | State::Open | State::Draining(_))
    }

    pub fn free(&self) -> u32 {
        match self.state {
            State::Open => self.streams.saturating_sub(self.leases),
            _ => 0,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.state == State::Open && self.leases == 0 && self.streams > 0
    }

    pub fn is_pending(&self) -> bool {
        self.state == State::Open && self.leases == 0 && self.streams == 0
    }
}

impl Model {
    pub fn of(&self, origin: OriginId) -> impl Iterator<Item = (&ConnId, &Conn)> {
        self.conns.iter().filter(move |(_, conn)| conn.origin == origin)
    }

    pub fn waiting(&self, origin: OriginId) -> Vec<(&WaiterId, &Waiter)> {
        let mut waiting: Vec<_> =
            self.waiters.iter().filter(|(_, waiter)| waiter.origin == origin).collect();
        waiting.sort_by_key(|(_, waiter)| waiter.ticket);
        waiting
    }

    fn is_http2(&self, origin: OriginId) -> bool {
        let origin = &self.origins[&origin];
        match origin.config.protocols {
            Protocols::Http1 => false,
            Protocols::Http2 => true,
            Protocols::Negotiated => origin.learned == Some(Protocol::Http2),
        }
    }

    /// The most connections that count, at this origin.
    pub fn limit(&self, origin: OriginId) -> u32 {
        let going = State::Draining(CloseReason::GoAway);
        let going = self.of(origin).filter(|(_, conn)| conn.state == going).count() as u32;
        let config = &self.origins[&origin].config;
        let limit = |limit: u32| limit + going.min(limit);
        match self.is_http2(origin) {
            true => limit(config.max_connections).min(limit(config.max_http2_connections)),
            false => limit(config.max_connections),
        }
    }

    pub fn counted(&self, origin: OriginId) -> u32 {
        self.of(origin).filter(|(_, conn)| conn.counts()).count() as u32
    }

    pub fn counted_in_all(&self) -> u32 {
        self.conns.values().filter(|conn| conn.counts()).count() as u32
    }

    pub fn dialing(&self, origin: OriginId) -> u32 {
        self.of(origin).filter(|(_, conn)| conn.state == State::Dialing).count() as u32
    }

    pub fn dial(&mut self, origin: OriginId, conn: ConnId) {
        assert!(!self.seen.contains(&conn), "an id is used again");
        self.seen.push(conn);
        assert!(self.counted(origin) < self.limit(origin), "above the limit of the origin");
        assert!(
            self.max_connections.is_none_or(|most| self.counted_in_all() < most),
            "above the limit in all"
        );
        let config = &self.origins[&origin].config;
        assert!(self.dialing(origin) < config.max_dialing.max(1), "above the limit of dials");
        let waiting = self.waiting(origin).len();
        let expected = self.origins[&origin].expected;
        let for_callers = self.dialing(origin) < (waiting as u32).div_ceil(expected);
        assert!(
            for_callers || config.min_idle > 0 || self.origins[&origin].prewarmed,
            "a dial for nobody"
        );
        self.check_turn(origin);
        let probe = self.check_alone(origin);
        let dialing = Conn {
            origin,
            state: State::Dialing,
            protocol: Protocol::Http1,
            streams: 0,
            patience: None,
            probe,
            leases: 0,
            served: false,
            failed: false,
            grants: 0,
            opened: self.now,
            idle_since: self.now,
            idle_until: None,
            hinted: false,
            hint: None,
            idle_order: 0,
        };
        self.conns.insert(conn, dialing);
    }

    /// A dial that may bring HTTP/2 goes alone, and no dial begins while SETTINGS are awaited. Says
    /// whether the dial that begins is such a probe.
    fn check_alone(&self, origin: OriginId) -> bool {
        let config = &self.origins[&origin].config;
        let learned = self.origins[&origin].learned;
        let may_be_http2 = match config.protocols {
            Protocols::Http1 => false,
            Protocols::Http2 => true,
            Protocols::Negotiated => learned.is_none_or(|learned| learned == Protocol::Http2),
        };
        for (_, conn) in self.of(origin) {
            let is_probe = may_be_http2 && conn.probe && conn.state == State::Dialing;
            let is_patient = conn.opened + PROBE_PATIENCE > self.now;
            assert!(!(is_probe && is_patient), "a dial beside a probe");
            let awaits_settings = conn.state == State::Open
                && conn.patience.is_some()
                && conn.streams > 0
                && !conn.served;
            assert!(!awaits_settings, "a dial although SETTINGS are awaited");
        }
        // What drained in this step may have been open when the dial was decided.
        let is_alone = |(id, conn): (&ConnId, &Conn)| {
            !matches!(conn.state, State::Open | State::Dialing) && !self.drained.contains(id)
        };
        may_be_http2 && self.of(origin).all(is_alone)
    }

    /// Under the total limit the oldest caller of all origins is dialed for first.
    fn check_turn(&self, origin: OriginId) {
        let Some((_, first)) = self.waiting(origin).first().copied() else { return };
        if self.max_connections.is_none() {
            return;
        }
        for (id, other) in self.origins.iter().filter(|(id, _)| **id != origin) {
            let waiting = self.waiting(*id);
            let wants = waiting.len() > self.dialing(*id) as usize
                && self.dialing(*id) < other.config.max_dialing
                && self.counted(*id) < self.limit(*id)
                && other.config.protocols == Protocols::Http1
                && other.config.backoff.is_none();
            assert!(!wants || waiting[0].1.ticket > first.ticket, "{id:?} waits for longer");
        }
    }

    /// A connection ended before it served: a failed dial, once.
    pub fn fails(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(&id)
            && !conn.served
            && !conn.failed
        {
            conn.failed = true;
            self.failures += 1;
            self.failed.push(conn.origin);
        }
    }

    /// How many callers a failed dial fails at an origin that speaks HTTP/1.1 and has no backoff.
    pub fn fails_by_dial(&self, origin: OriginId) -> Option<u32> {
        let config = &self.origins[&origin].config;
        let is_plain = config.protocols == Protocols::Http1 && config.backoff.is_none();
        is_plain.then(|| u32::from(self.waiting(origin).len() > self.dialing(origin) as usize))
    }

    pub fn cancel_dial(&mut self, conn: ConnId) {
        let conn = self.conns.get_mut(&conn).expect("a dial");
        assert_eq!(conn.state, State::Dialing, "gives up what is no dial");
        conn.state = State::Cancelled;
    }

    /// A lease that was granted, to the claim with `ticket`.
    pub fn lease(&mut self, lease: &Lease, claim: Claim) {
        let id = lease.conn();
        let conn = &self.conns[&id];
        assert_eq!(conn.origin, lease.origin());
        assert!(conn.state == State::Open || self.drained.contains(&id), "not open");
        assert!(conn.leases < conn.streams, "no free stream");
        assert_eq!(lease.is_reused(), conn.served);
        assert_eq!(lease.protocol(), conn.protocol);
        assert!(!(claim.fresh && conn.served), "not fresh");
        // The minimum is exempt from the idle timeout, not from the server's hint.
        let is_exempt = !conn.hinted && self.origins[&conn.origin].config.min_idle > 0;
        let is_over = conn.idle_until.is_some_and(|until| until <= self.now);
        assert!(conn.leases > 0 || is_exempt || !is_over, "used past its time");
        for (_, waiter) in self.waiting(conn.origin) {
            let takes = !(waiter.fresh && conn.served);
            assert!(!takes || waiter.ticket > claim.ticket, "overtakes {waiter:?}");
        }
        self.check_choice(id, claim.fresh);
        let max_requests = self.origins[&conn.origin].config.max_requests;
        let conn = self.conns.get_mut(&id).expect("there");
        conn.leases += 1;
        conn.grants += 1;
        if max_requests.is_some_and(|most| conn.grants >= most) {
            conn.state = State::Draining(CloseReason::MaxRequests);
        }
        assert!(self.claims.insert(claim.ticket, claim).is_none(), "two leases for one");
    }

    /// HTTP/2: the busiest; HTTP/1.1: the most recently used.
    fn check_choice(&self, id: ConnId, fresh: bool) {
        let chosen = &self.conns[&id];
        for (_, other) in self.of(chosen.origin) {
            if other.free() == 0 || fresh && other.served {
                continue;
            }
            match (chosen.protocol, other.protocol) {
                (Protocol::Http2, Protocol::Http2) => assert!(other.leases <= chosen.leases),
                (Protocol::Http2, _) => {}
                (_, Protocol::Http2) => panic!("HTTP/1.1 although HTTP/2 is there"),
                (_, _) if chosen.served == other.served => {
                    assert!(other.idle_order <= chosen.idle_order, "not the most recently used");
                }
                (_, _) => assert!(chosen.served, "an unused one although a used one is there"),
            }
        }
    }

    pub fn fail(&mut self, id: WaiterId, error: &CheckoutError) {
        let waiter = self.waiters.get(&id).expect("fails somebody who waits").clone();
        match error {
            CheckoutError::Timeout(waited_for) => {
                assert!(waiter.deadline.is_some_and(|deadline| deadline <= self.now), "too early");
                if let WaitedFor::TotalLimit = waited_for {
                    assert!(self.max_connections.is_some());
                }
            }
            CheckoutError::Dial(_) => {
                assert!(self.failed.contains(&waiter.origin), "no dial failed");
                let first = self.waiting(waiter.origin)[0].0;
                assert_eq!(*first, id, "not the oldest");
                self.failed_callers += 1;
            }
            CheckoutError::Draining => assert!(self.draining),
            CheckoutError::UnknownOrigin => assert!(!self.origins.contains_key(&waiter.origin)),
            error => panic!("{error}"),
        }
        self.waiters.remove(&id);
    }

    pub fn close(&mut self, id: ConnId, reason: CloseReason, idle_timeout: Option<Duration>) {
        let conn = self.conns.get_mut(&id).expect("there");
        let idle = conn.is_idle();
        match reason {
            CloseReason::DrainDeadline => assert!(self.draining),
            CloseReason::Surplus => assert_eq!(conn.state, State::Cancelled),
            _ => assert_eq!(conn.leases, 0, "closed while in use"),
        }
        if reason == CloseReason::IdleTimeout && idle {
            let timed_out =
                idle_timeout.is_some_and(|timeout| conn.idle_since + timeout <= self.now);
            assert!(
                timed_out || conn.idle_until.is_some_and(|until| until <= self.now),
                "its time is not over"
            );
        }
        assert_ne!(conn.state, State::Closing, "closed twice");
        conn.state = State::Closing;
        conn.failed = true;
    }

    /// Takes a claim out, and the lease off its connection.
    pub fn release(&mut self, lease: &Lease, ticket: u64) -> Claim {
        if let Some(conn) = self.conns.get_mut(&lease.conn()) {
            conn.leases -= 1;
        }
        self.claims.remove(&ticket).expect("a lease has a claim")
    }
}
