//! Pools for the benches: with much beside that is not touched, and the floor.
//!
//! Each function makes a pool and returns the operation on it that is measured. Time stands still in it.

use std::collections::HashMap;
use std::hash::Hash;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mac_core::{
    Action, Checkout, Lease, OriginConfig, OriginId, Pool, PoolConfig, Protocol, Reuse, WaiterId,
};

/// How many there are beside that are not touched.
pub(crate) const MANY: [usize; 3] = [1, 1_000, 100_000];
const KEEP: Reuse = Reuse::Keep { hint: None };
/// As many streams as HTTP/2 servers commonly allow.
const STREAMS: u32 = 100;
/// How many streams are in use beside the one that is measured.
pub(crate) const STREAMS_BESIDE: [usize; 2] = [0, 98];

/// A checkout and checkin at an origin with this many idle connections.
pub(crate) fn beside_idle_connections(many: usize) -> impl FnMut() {
    let mut world = World::new();
    let origin = world.warm(many, Protocol::Http1);
    move || world.exchange(black_box(origin))
}

/// The same, where the adapter takes actions and asks for the next deadline after each call.
pub(crate) fn beside_idle_connections_polled(many: usize) -> impl FnMut() {
    let mut world = World::new();
    let origin = world.warm(many, Protocol::Http1);
    move || world.exchange_polled(black_box(origin))
}

/// A checkout and checkin while this many callers wait at another origin.
pub(crate) fn beside_callers_elsewhere(many: usize) -> impl FnMut() {
    let mut world = World::new();
    let origin = world.warm(1, Protocol::Http1);
    let busy = world.busy(many);
    move || {
        let _ = &busy;
        world.exchange(black_box(origin));
    }
}

/// A checkout and checkin at one after another of this many origins with an idle connection each.
pub(crate) fn at_origins_in_order(many: usize) -> impl FnMut() {
    let mut world = World::new();
    let origins = world.warm_origins(many);
    let mut turns = (0..origins.len()).cycle();
    move || world.exchange(next(&origins, &mut turns))
}

/// The same in random order.
pub(crate) fn at_origins_in_no_order(many: usize) -> impl FnMut() {
    let mut world = World::new();
    let mut origins = world.warm_origins(many);
    shuffle(&mut origins);
    let mut turns = (0..origins.len()).cycle();
    move || world.exchange(next(&origins, &mut turns))
}

/// A checkout and checkin of a stream on an HTTP/2 connection that has this many others in use.
pub(crate) fn beside_streams(many: usize) -> impl FnMut() {
    let mut world = World::new();
    let origin = world.warm(1, Protocol::Http2);
    let leases = world.lease(origin, many);
    move || {
        let _ = &leases;
        world.exchange(black_box(origin));
    }
}

/// A checkin whose connection goes to the first of this many callers, and another caller behind them.
pub(crate) fn handover(many: usize) -> impl FnMut() {
    let mut world = World::new();
    let Busy { origin, lease, .. } = world.busy(many);
    let mut lease = Some(lease);
    move || {
        world.pool.checkin(lease.take().expect("one"), KEEP, world.now);
        let Some(Action::Grant { lease: next, .. }) = world.pool.poll_action() else {
            unreachable!("handed over")
        };
        lease = Some(next);
        let checkout = world.pool.checkout(origin, false, world.now);
        assert!(matches!(black_box(checkout), Ok(Checkout::Waiting(_))));
    }
}

/// A checkin under the total limit of one connection, with one caller at each of this many other origins:
/// the connection is closed, the origin of the oldest caller is dialed, and the one that had it asks again.
pub(crate) fn pass_on(many: usize) -> impl FnMut() {
    let mut world = World::with(Some(1));
    let config = Arc::clone(&world.config);
    let origins: Vec<OriginId> = (0..=many).map(|_| world.origin(&config)).collect();
    for origin in origins {
        world.queue(origin, 1);
    }
    let mut lease = world.dial(Protocol::Http1).pop();
    move || {
        let before = lease.take().expect("one");
        let origin = before.origin();
        world.pool.checkin(before, KEEP, world.now);
        let Some(Action::Close { conn, .. }) = world.pool.poll_action() else {
            unreachable!("it makes room")
        };
        world.pool.handle_closed(conn, world.now);
        let Some(Action::Dial { conn, .. }) = world.pool.poll_action() else {
            unreachable!("there is room")
        };
        world.pool.handle_dialed(conn, Protocol::Http1, None, world.now);
        let Some(Action::Grant { lease: next, .. }) = world.pool.poll_action() else {
            unreachable!("passed on")
        };
        lease = Some(next);
        let checkout = world.pool.checkout(origin, false, world.now);
        assert!(matches!(black_box(checkout), Ok(Checkout::Waiting(_))));
    }
}

/// So many idle connections, whose time is over all at once.
pub(crate) struct Idle(World);

impl Idle {
    pub(crate) fn new(many: usize) -> Self {
        let mut world = World::new();
        world.warm(many, Protocol::Http1);
        Self(world)
    }

    /// They time out and are closed.
    pub(crate) fn time_out(&mut self) {
        let Self(World { pool, now, .. }) = self;
        *now += Duration::from_secs(100);
        pool.handle_timeout(*now);
        while let Some(action) = pool.poll_action() {
            if let Action::Close { conn, .. } = action {
                pool.handle_closed(conn, *now);
            }
        }
        assert_eq!(pool.stats().all.idle, 0);
    }
}

/// So many callers, who give up one after another in random order.
pub(crate) struct Callers {
    world: World,
    _lease: Lease,
    waiters: Vec<WaiterId>,
}

impl Callers {
    pub(crate) fn new(many: usize) -> Self {
        let mut world = World::new();
        let Busy { lease, mut waiters, .. } = world.busy(many);
        shuffle(&mut waiters);
        Self { world, _lease: lease, waiters }
    }

    /// The next so many of them give up.
    pub(crate) fn cancel(&mut self, count: usize) {
        for waiter in self.waiters.drain(..count) {
            assert!(self.world.pool.cancel(black_box(waiter), self.world.now));
        }
    }
}

/// The floor of a checkout and checkin, with this many origins known by number.
pub(crate) fn floor_by_number(many: usize) -> impl FnMut() {
    floor((7..).take(many).collect::<Vec<u64>>())
}

/// The same, by authority.
pub(crate) fn floor_by_authority(many: usize) -> impl FnMut() {
    floor((0..many).map(|n| format!("shard-{n}.eu-central-1.example.com:443")).collect::<Vec<_>>())
}

fn floor<K: Hash + Eq + Clone>(mut keys: Vec<K>) -> impl FnMut() {
    let pool: Mutex<HashMap<K, Vec<u64>>> =
        Mutex::new(keys.iter().map(|key| (key.clone(), vec![1, 2, 3])).collect());
    shuffle(&mut keys);
    let mut turns = (0..keys.len()).cycle();
    move || {
        let key = turns.next().and_then(|turn| keys.get(turn)).expect("endless");
        let conn = pool.lock().expect("whole").get_mut(black_box(key)).and_then(Vec::pop);
        let conn = black_box(conn).expect("an idle one");
        if let Some(idle) = pool.lock().expect("whole").get_mut(black_box(key)) {
            idle.push(conn);
        }
    }
}

/// A pool with its limits out of the way.
struct World {
    pool: Pool<usize>,
    config: Arc<OriginConfig>,
    now: Instant,
}

/// An origin with one connection, in use, and callers that wait for it.
struct Busy {
    origin: OriginId,
    lease: Lease,
    waiters: Vec<WaiterId>,
}

impl World {
    fn new() -> Self {
        Self::with(None)
    }

    fn with(max_connections: Option<u32>) -> Self {
        let config = PoolConfig {
            max_connections,
            max_idle: u32::MAX,
            max_origins: u32::MAX,
            ..PoolConfig::default()
        };
        let origin = OriginConfig {
            max_connections: u32::MAX,
            max_idle: u32::MAX,
            max_dialing: u32::MAX,
            max_waiters: u32::MAX,
            checkout_timeout: Some(Duration::from_secs(3600)),
            ..OriginConfig::default()
        };
        Self { pool: Pool::new(config), config: Arc::new(origin), now: Instant::now() }
    }

    fn origin(&mut self, config: &Arc<OriginConfig>) -> OriginId {
        self.pool.insert_origin(0, Arc::clone(config), self.now).expect("room")
    }

    /// An origin with this many idle connections that have served.
    fn warm(&mut self, idle: usize, protocol: Protocol) -> OriginId {
        let config = Arc::clone(&self.config);
        let origin = self.origin(&config);
        self.queue(origin, idle);
        for lease in self.dial(protocol) {
            self.pool.checkin(lease, KEEP, self.now);
        }
        // Not the first exchange: buffers are there.
        self.exchange_polled(origin);
        origin
    }

    /// This many origins with one idle connection each, in the order in which they became known.
    fn warm_origins(&mut self, many: usize) -> Vec<OriginId> {
        (0..many).map(|_| self.warm(1, Protocol::Http1)).collect()
    }

    fn busy(&mut self, callers: usize) -> Busy {
        let config = OriginConfig { max_connections: 1, ..(*self.config).clone() };
        let origin = self.origin(&Arc::new(config));
        self.queue(origin, 1);
        let lease = self.dial(Protocol::Http1).pop().expect("granted");
        Busy { origin, lease, waiters: self.queue(origin, callers) }
    }

    fn queue(&mut self, origin: OriginId, callers: usize) -> Vec<WaiterId> {
        (0..callers)
            .map(|_| match self.pool.checkout(origin, false, self.now) {
                Ok(Checkout::Waiting(waiter)) => waiter,
                other => unreachable!("{other:?}"),
            })
            .collect()
    }

    fn lease(&mut self, origin: OriginId, count: usize) -> Vec<Lease> {
        (0..count)
            .map(|_| match self.pool.checkout(origin, false, self.now) {
                Ok(Checkout::Ready(lease)) => lease,
                other => unreachable!("{other:?}"),
            })
            .collect()
    }

    /// All dials succeed. Returns what was granted.
    fn dial(&mut self, protocol: Protocol) -> Vec<Lease> {
        let (mut dials, mut leases) = (Vec::new(), Vec::new());
        while let Some(action) = self.pool.poll_action() {
            if let Action::Dial { conn, .. } = action {
                dials.push(conn);
            }
        }
        for conn in dials {
            self.pool.handle_dialed(conn, protocol, Some(STREAMS), self.now);
        }
        while let Some(action) = self.pool.poll_action() {
            if let Action::Grant { lease, .. } = action {
                leases.push(lease);
            }
        }
        leases
    }

    #[inline]
    fn exchange(&mut self, origin: OriginId) {
        let Ok(Checkout::Ready(lease)) = self.pool.checkout(origin, false, self.now) else {
            unreachable!("a warm origin")
        };
        self.pool.checkin(black_box(lease), KEEP, self.now);
    }

    #[inline]
    fn exchange_polled(&mut self, origin: OriginId) {
        let Ok(Checkout::Ready(lease)) = self.pool.checkout(origin, false, self.now) else {
            unreachable!("a warm origin")
        };
        self.poll();
        self.pool.checkin(black_box(lease), KEEP, self.now);
        self.poll();
    }

    #[inline]
    fn poll(&mut self) {
        assert!(self.pool.poll_action().is_none());
        black_box(self.pool.poll_timeout());
    }
}

#[inline]
fn next(origins: &[OriginId], turns: &mut impl Iterator<Item = usize>) -> OriginId {
    black_box(turns.next().and_then(|turn| origins.get(turn)).copied().expect("endless"))
}

fn shuffle<T>(values: &mut [T]) {
    let mut state: usize = 0x9e37_79b9;
    for n in (1..values.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values.swap(n, (state >> 33) % (n + 1));
    }
}
