//! The world: what happens, in the order of its clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use http::request::Parts;
use mac_core::pool::DialBackoff;
use mac_core::{
    Action, Backoff, Checkout, ClientState, ConnId, DialError, Lease, OriginConfig, OriginId,
    PoolConfig, Protocol, Protocols, Reuse, UrlKeyConfig, WaiterId,
};

use super::random::Random;
use super::server::{Accepts, Server};

const MS: Duration = Duration::from_millis(1);
/// How often a caller tries again after an exchange that died.
const RETRIES: u32 = 3;
/// More would be a loop without end.
const MOST_EVENTS: usize = 200_000;

/// How a run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Callers that got an answer.
    pub answered: u32,
    /// Callers that got an error.
    pub failed: u32,
    /// Callers that gave up.
    pub gave_up: u32,
    /// All actions of the client, with their times.
    pub trace: u64,
}

/// Runs the world of `seed` until all is quiet.
///
/// # Panics
///
/// Where a caller is left, a limit is broken, or something does not come to its end.
#[must_use]
pub fn run(seed: u64) -> Outcome {
    let mut world = World::new(seed);
    let mut events = 0;
    while world.happen() {
        events += 1;
        assert!(events < MOST_EVENTS, "a loop without end");
    }
    world.check_end();
    world.outcome
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives(usize),
    GivesUp(usize),
    Connected(ConnId),
    Refused(ConnId),
    Closes(ConnId),
    IdleEnds(ConnId, u32),
    Settings(ConnId, u32),
    Answered(usize, u32),
    Drain,
}

enum Caller {
    ToCome,
    Waits { waiter: WaiterId, attempt: u32 },
    Talks { lease: Lease, attempt: u32 },
    Ended,
}

struct Conn {
    server: usize,
    origin: OriginId,
    /// Whether the server's end is open.
    alive: bool,
    dialed: bool,
    exchanges: u32,
    streams: u32,
    limit: u32,
}

struct World {
    random: Random,
    start: Instant,
    now: Instant,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    order: u64,
    client: ClientState,
    configs: Vec<Arc<OriginConfig>>,
    max_connections: Option<u32>,
    servers: Vec<Vec<Server>>,
    origins: HashMap<OriginId, usize>,
    conns: BTreeMap<ConnId, Conn>,
    callers: Vec<Caller>,
    waiting: HashMap<WaiterId, usize>,
    draining: bool,
    trace: DefaultHasher,
    outcome: Outcome,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let max_connections = random.pick(&[None, None, Some(3), Some(8)]);
        let names = 1 + random.below(5);
        let (mut configs, mut servers) = (Vec::new(), Vec::new());
        for _ in 0..names {
            let protocols =
                random.pick(&[Protocols::Http1, Protocols::Http2, Protocols::Negotiated]);
            let protocol = match protocols {
                Protocols::Http1 => Protocol::Http1,
                Protocols::Http2 => Protocol::Http2,
                Protocols::Negotiated => random.pick(&[Protocol::Http1, Protocol::Http2]),
            };
            let addresses = 1 + random.below(3);
            servers.push((0..addresses).map(|_| Server::new(&mut random, protocol)).collect());
            configs.push(Arc::new(config(&mut random, protocols)));
        }
        let pool = PoolConfig { max_connections, seed, ..PoolConfig::default() };
        let now = Instant::now();
        let callers = 20 + random.below(180);
        let mut world = Self {
            random,
            start: now,
            now,
            events: BinaryHeap::new(),
            order: 0,
            client: ClientState::new(UrlKeyConfig::default(), pool),
            configs,
            max_connections,
            servers,
            origins: HashMap::new(),
            conns: BTreeMap::new(),
            callers: (0..callers).map(|_| Caller::ToCome).collect(),
            waiting: HashMap::new(),
            draining: false,
            trace: DefaultHasher::new(),
            outcome: Outcome { answered: 0, failed: 0, gave_up: 0, trace: 0 },
        };
        let spread = world.random.pick(&[1, 100, 10_000]) * MS;
        for caller in 0..world.callers.len() {
            let after = world.random.up_to(spread);
            world.later(after, Event::Arrives(caller));
        }
        if world.random.once_in(5) {
            world.later(spread, Event::Drain);
        }
        world
    }

    fn later(&mut self, after: Duration, event: Event) {
        self.order += 1;
        self.events.push(Reverse((self.now + after, self.order, event)));
    }

    /// Lets the next thing happen: the world's or the client's.
    fn happen(&mut self) -> bool {
        let next = self.events.peek().map(|Reverse((at, ..))| *at);
        match (next, self.client.poll_timeout()) {
            (None, None) => return false,
            (Some(at), due) if due.is_none_or(|due| at <= due) => {
                let Some(Reverse((_, _, event))) = self.events.pop() else { return false };
                self.now = self.now.max(at);
                self.do_event(event);
            }
            (_, Some(due)) => {
                assert!(due > self.now || next.is_some_and(|at| at >= due), "is due still");
                self.now = self.now.max(due);
                self.client.handle_timeout(self.now);
            }
            (Some(_), None) => {}
        }
        self.execute();
        self.check_limits();
        true
    }

    fn do_event(&mut self, event: Event) {
        match event {
            Event::Arrives(caller) => self.arrive(caller),
            Event::GivesUp(caller) => self.give_up(caller),
            Event::Connected(conn) => self.connected(conn),
            Event::Refused(conn) => {
                if self.conns.remove(&conn).is_some() {
                    let error = DialError::new("refused");
                    self.client.handle_dial_failed(conn, error, self.now);
                }
            }
            Event::Closes(conn) => self.server_closes(conn),
            Event::IdleEnds(id, exchanges) => {
                let is_idle = self
                    .conns
                    .get(&id)
                    .is_some_and(|conn| conn.streams == 0 && conn.exchanges == exchanges);
                if is_idle {
                    self.server_closes(id);
                }
            }
            Event::Settings(id, streams) => {
                if let Some(conn) = self.conns.get_mut(&id)
                    && conn.alive
                {
                    conn.limit = streams;
                    self.client.handle_streams(id, streams, self.now);
                }
            }
            Event::Answered(caller, attempt) => self.answered(caller, attempt),
            Event::Drain => {
                self.draining = true;
                let waiters = self.random.pick(&[
                    mac_core::pool::DrainWaiters::Serve,
                    mac_core::pool::DrainWaiters::Fail,
                ]);
                self.client.drain(self.now + 5000 * MS, waiters, self.now);
            }
        }
    }

    fn arrive(&mut self, caller: usize) {
        let name = usize::try_from(self.random.below(1000)).expect("small") % self.servers.len();
        let request = request(&format!("https://name-{name}.example/{caller}"));
        let config = Arc::clone(&self.configs[name]);
        let route = self.client.route_with(&request, |_| config, self.now).expect("room");
        self.origins.insert(route.origin, name);
        let patience = self.random.pick(&[20, 2_000, 60_000]) * MS;
        self.later(patience, Event::GivesUp(caller));
        match self.client.checkout(route.origin, false, self.now) {
            Ok(Checkout::Ready(lease)) => self.talk(caller, lease, 0),
            Ok(Checkout::Waiting(waiter)) => self.wait(caller, waiter, 0),
            Err(_) => self.end(caller, |outcome| &mut outcome.failed),
        }
    }

    fn wait(&mut self, caller: usize, waiter: WaiterId, attempt: u32) {
        assert!(self.waiting.insert(waiter, caller).is_none());
        self.callers[caller] = Caller::Waits { waiter, attempt };
    }

    fn end(&mut self, caller: usize, count: impl Fn(&mut Outcome) -> &mut u32) {
        *count(&mut self.outcome) += 1;
        self.callers[caller] = Caller::Ended;
    }

    fn give_up(&mut self, caller: usize) {
        match std::mem::replace(&mut self.callers[caller], Caller::Ended) {
            Caller::Ended => {}
            Caller::ToCome => unreachable!("it came before it set its patience"),
            Caller::Waits { waiter, .. } => {
                assert!(self.client.cancel(waiter, self.now), "actions are taken at once");
                self.waiting.remove(&waiter);
                self.outcome.gave_up += 1;
            }
            Caller::Talks { lease, .. } => {
                // HTTP/1.1 cannot be used further, HTTP/2 resets the stream.
                let reuse = match lease.protocol() {
                    Protocol::Http2 => Reuse::Keep { hint: None },
                    Protocol::Http1 | Protocol::Http1Proxy => Reuse::Close,
                };
                self.give_back(lease, reuse);
                self.outcome.gave_up += 1;
            }
        }
    }

    fn give_back(&mut self, lease: Lease, reuse: Reuse) {
        self.stream_ends(lease.conn());
        self.client.checkin(lease, reuse, self.now);
    }

    fn stream_ends(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        conn.streams -= 1;
        let (name, exchanges) = (self.origins[&conn.origin], conn.exchanges);
        if conn.streams == 0
            && let Some(idle) = self.servers[name][conn.server].idle
        {
            self.later(idle, Event::IdleEnds(id, exchanges));
        }
    }

    /// A caller has a lease: it finds the connection dead, or talks to the server.
    fn talk(&mut self, caller: usize, lease: Lease, attempt: u32) {
        let id = lease.conn();
        let conn = self.conns.get_mut(&id);
        let Some(conn) = conn.filter(|conn| conn.alive) else {
            return match self.client.checkout_again(lease, self.now) {
                Checkout::Ready(lease) => self.talk(caller, lease, attempt),
                Checkout::Waiting(waiter) => self.wait(caller, waiter, attempt),
            };
        };
        conn.streams += 1;
        conn.exchanges += 1;
        let server = self.servers[self.origins[&conn.origin]][conn.server].clone();
        let closes = server.closes_after.is_some_and(|after| conn.exchanges >= after);
        let after = self.random.up_to(server.service);
        if closes && server.protocol == Protocol::Http2 {
            self.client.handle_goaway(id, self.now);
        } else if closes {
            self.later(after / 2, Event::Closes(id));
        } else if self.random.once_in(server.changes_once_in) {
            let streams = self.random.pick(&[0, 1, 5]);
            self.later(after / 2, Event::Settings(id, streams));
        }
        if !self.random.once_in(server.silent_once_in) {
            self.later(after, Event::Answered(caller, attempt));
        }
        self.callers[caller] = Caller::Talks { lease, attempt };
    }

    fn answered(&mut self, caller: usize, of_attempt: u32) {
        let Caller::Talks { attempt, .. } = &self.callers[caller] else { return };
        if *attempt != of_attempt {
            return;
        }
        let talks = std::mem::replace(&mut self.callers[caller], Caller::Ended);
        let Caller::Talks { lease, .. } = talks else { return };
        self.give_back(lease, Reuse::Keep { hint: None });
        self.outcome.answered += 1;
    }

    /// The server ends a connection: the client sees it, and so does who talks over it.
    fn server_closes(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        if !conn.alive || !conn.dialed {
            return;
        }
        conn.alive = false;
        let origin = conn.origin;
        let talks =
            |caller: &Caller| matches!(caller, Caller::Talks { lease, .. } if lease.conn() == id);
        let callers: Vec<usize> =
            (0..self.callers.len()).filter(|caller| talks(&self.callers[*caller])).collect();
        // Half of the time those who talk see it first.
        let client_first = self.random.once_in(2);
        if client_first {
            self.conns.remove(&id);
            self.client.handle_closed(id, self.now);
        }
        for caller in callers {
            let talks = std::mem::replace(&mut self.callers[caller], Caller::Ended);
            let Caller::Talks { lease, attempt } = talks else { continue };
            if let Some(conn) = self.conns.get_mut(&id) {
                conn.streams -= 1;
            }
            self.client.checkin(lease, Reuse::Close, self.now);
            let again = self.client.checkout(origin, true, self.now);
            match again {
                _ if attempt == RETRIES => {
                    self.end(caller, |outcome| &mut outcome.failed);
                    match again {
                        Ok(Checkout::Ready(lease)) => {
                            self.client.checkin(lease, Reuse::Keep { hint: None }, self.now);
                        }
                        Ok(Checkout::Waiting(waiter)) => {
                            self.client.cancel(waiter, self.now);
                        }
                        Err(_) => {}
                    }
                }
                Ok(Checkout::Ready(lease)) => self.talk(caller, lease, attempt + 1),
                Ok(Checkout::Waiting(waiter)) => self.wait(caller, waiter, attempt + 1),
                Err(_) => self.end(caller, |outcome| &mut outcome.failed),
            }
        }
        if !client_first && self.conns.remove(&id).is_some() {
            self.client.handle_closed(id, self.now);
        }
    }

    fn dial(&mut self, origin: OriginId, id: ConnId) {
        let name = self.origins[&origin];
        // The resolver answers after a while, or not.
        let resolved = self.random.up_to(30 * MS);
        let count = u32::try_from(self.servers[name].len()).expect("few");
        let server = usize::try_from(self.random.below(count)).expect("few");
        let conn =
            Conn { server, origin, alive: true, dialed: false, exchanges: 0, streams: 0, limit: 0 };
        assert!(self.conns.insert(id, conn).is_none(), "an id is used again");
        if self.random.once_in(50) {
            return self.later(resolved, Event::Refused(id));
        }
        match self.servers[name][server].accepts {
            Accepts::After(after) => self.later(resolved + after, Event::Connected(id)),
            Accepts::ThenCloses => self.later(resolved, Event::Connected(id)),
            Accepts::Refuses(after) => self.later(resolved + after, Event::Refused(id)),
            // The adapter's own timeout ends such a dial.
            Accepts::Stalls => self.later(20_000 * MS, Event::Refused(id)),
        }
    }

    fn connected(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        conn.dialed = true;
        let server = self.servers[self.origins[&conn.origin]][conn.server].clone();
        let told = server.settings_after.filter(Duration::is_zero).map(|_| server.streams);
        conn.limit = match server.protocol {
            Protocol::Http2 => told.unwrap_or(1),
            Protocol::Http1 | Protocol::Http1Proxy => 1,
        };
        self.client.handle_dialed(id, server.protocol, told, self.now);
        if server.protocol == Protocol::Http2
            && told.is_none()
            && let Some(after) = server.settings_after
        {
            self.later(after, Event::Settings(id, server.streams));
        }
        if let Accepts::ThenCloses = server.accepts {
            self.later(Duration::ZERO, Event::Closes(id));
        }
    }

    /// Does what the client asks for.
    fn execute(&mut self) {
        while let Some(action) = self.client.poll_action() {
            let at = self.now.duration_since(self.start);
            (at, format!("{action:?}").split("deadline").next()).hash(&mut self.trace);
            match action {
                Action::Dial { origin, conn } => self.dial(origin, conn),
                Action::CancelDial { conn } => {
                    if self.random.once_in(2) && self.conns.remove(&conn).is_some() {
                        let error = DialError::new("given up");
                        self.client.handle_dial_failed(conn, error, self.now);
                    }
                }
                Action::Grant { waiter, lease } => {
                    let caller = self.waiting.remove(&waiter).expect("grants who waits");
                    let Caller::Waits { attempt, .. } = self.callers[caller] else {
                        panic!("granted to a caller that does not wait")
                    };
                    self.talk(caller, lease, attempt);
                }
                Action::Fail { waiter, .. } => {
                    let caller = self.waiting.remove(&waiter).expect("fails who waits");
                    self.end(caller, |outcome| &mut outcome.failed);
                }
                Action::Close { conn, .. } => {
                    if let Some(conn) = self.conns.get(&conn) {
                        assert!(conn.streams == 0 || self.draining, "closed while in use");
                    }
                    self.close(conn);
                }
                Action::Vacate { origin, .. } => {
                    self.origins.remove(&origin);
                }
            }
        }
        self.outcome.trace = self.trace.finish();
    }

    /// The client closes a connection: who still talks over it sees it end.
    fn close(&mut self, id: ConnId) {
        self.conns.remove(&id);
        self.client.handle_closed(id, self.now);
        for caller in 0..self.callers.len() {
            if matches!(&self.callers[caller], Caller::Talks { lease, .. } if lease.conn() == id) {
                let talks = std::mem::replace(&mut self.callers[caller], Caller::Ended);
                let Caller::Talks { lease, .. } = talks else { continue };
                self.client.checkin(lease, Reuse::Close, self.now);
                self.outcome.failed += 1;
            }
        }
    }

    fn check_limits(&self) {
        let stats = self.client.stats().all;
        let sockets = u32::try_from(self.conns.len()).expect("few");
        assert_eq!(
            sockets,
            stats.dialing + stats.idle + stats.in_use + stats.draining + stats.closing
        );
        if let Some(most) = self.max_connections {
            assert!(sockets - stats.closing <= most, "above the limit in all");
        }
        for (origin, name) in &self.origins {
            let Some(stats) = self.client.origin_stats(*origin) else { continue };
            let most = self.configs[*name].max_connections;
            let count = stats.dialing + stats.idle + stats.in_use;
            assert!(count <= 2 * most, "above the limit of an origin");
        }
    }

    fn check_end(&self) {
        for (caller, state) in self.callers.iter().enumerate() {
            assert!(matches!(state, Caller::Ended), "caller {caller} is left");
        }
        let Outcome { answered, failed, gave_up, .. } = self.outcome;
        let ended = usize::try_from(answered + failed + gave_up).expect("few");
        assert_eq!(ended, self.callers.len(), "each caller ends once");
        assert!(self.conns.is_empty(), "connections are left");
        assert_eq!(self.client.stats().origins, 0, "origins are left");
        assert_eq!(self.client.is_drained(), self.draining);
    }
}

fn config(random: &mut Random, protocols: Protocols) -> OriginConfig {
    let backoff =
        DialBackoff { after: 2, pauses: Backoff::default(), fail_fast: random.once_in(2) };
    OriginConfig {
        protocols,
        max_connections: random.pick(&[1, 4, 20]),
        max_http2_connections: random.pick(&[1, 2]),
        max_idle: random.pick(&[0, 2, 20]),
        max_dialing: random.pick(&[1, 4, 32]),
        max_waiters: random.pick(&[20, 1000]),
        checkout_timeout: Some(random.pick(&[500, 5_000, 30_000]) * MS),
        idle_timeout: Some(random.pick(&[100, 10_000]) * MS),
        max_lifetime: random.pick(&[None, Some(3_000 * MS)]),
        max_requests: random.pick(&[None, None, Some(5)]),
        backoff: random.once_in(3).then_some(backoff),
        ..OriginConfig::default()
    }
}

fn request(url: &str) -> Parts {
    Request::get(url).body(()).expect("a valid URL").into_parts().0
}
