//! The pool: a checkout and checkin, a handover, a cancel, beside much that is not touched.
//!
//! `cargo bench -p mac-core --bench pool`
//!
//! `floor` is the least that a pool can be: a `Mutex` around a `HashMap` from origin to idle connections, by
//! number and by authority. hyper-util's legacy pool takes live sockets, so that it has no place here.
#![expect(clippy::disallowed_types, reason = "the floor is what others use")]
#![expect(clippy::print_stdout, reason = "a bench may say what it measured")]
#![expect(clippy::disallowed_methods, reason = "a bench has a clock")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use divan::{Bencher, black_box};
use mac_core::{
    Action, Checkout, Lease, OriginConfig, OriginId, Pool, PoolConfig, Protocol, Reuse, WaiterId,
};

const MANY: [usize; 3] = [1, 1_000, 100_000];
const KEEP: Reuse = Reuse::Keep { hint: None };

fn main() {
    println!("each beside this many that are not touched");
    divan::main();
}

/// A pool with its limits out of the way.
struct World {
    pool: Pool<usize>,
    config: Arc<OriginConfig>,
    now: Instant,
}

impl World {
    fn new() -> Self {
        let config =
            PoolConfig { max_idle: u32::MAX, max_origins: u32::MAX, ..PoolConfig::default() };
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

    /// An origin with this many idle connections.
    fn warm(&mut self, idle: usize) -> OriginId {
        let config = Arc::clone(&self.config);
        let origin = self.origin(&config);
        self.queue(origin, idle);
        for lease in self.dial() {
            self.pool.checkin(lease, KEEP, self.now);
        }
        origin
    }

    fn queue(&mut self, origin: OriginId, callers: usize) -> Vec<WaiterId> {
        (0..callers)
            .map(|_| match self.pool.checkout(origin, false, self.now) {
                Ok(Checkout::Waiting(waiter)) => waiter,
                other => unreachable!("{other:?}"),
            })
            .collect()
    }

    /// All dials succeed. Returns what was granted.
    fn dial(&mut self) -> Vec<Lease> {
        let (mut dials, mut leases) = (Vec::new(), Vec::new());
        while let Some(action) = self.pool.poll_action() {
            if let Action::Dial { conn, .. } = action {
                dials.push(conn);
            }
        }
        for conn in dials {
            self.pool.handle_dialed(conn, Protocol::Http1, None, self.now);
        }
        while let Some(action) = self.pool.poll_action() {
            if let Action::Grant { lease, .. } = action {
                leases.push(lease);
            }
        }
        leases
    }

    /// An origin with one connection, in use, and this many callers that wait for it.
    fn busy(&mut self, callers: usize) -> (OriginId, Lease, Vec<WaiterId>) {
        let config = OriginConfig { max_connections: 1, ..(*self.config).clone() };
        let origin = self.origin(&Arc::new(config));
        self.queue(origin, 1);
        let lease = self.dial().pop().expect("granted");
        let waiters = self.queue(origin, callers);
        (origin, lease, waiters)
    }

    #[inline]
    fn exchange(&mut self, origin: OriginId) {
        let Ok(Checkout::Ready(lease)) = self.pool.checkout(origin, false, self.now) else {
            unreachable!("a warm origin")
        };
        self.pool.checkin(black_box(lease), KEEP, self.now);
        assert!(self.pool.poll_action().is_none());
    }
}

#[divan::bench(args = MANY)]
fn exchange_beside_idle_connections(bencher: Bencher<'_, '_>, many: usize) {
    let mut world = World::new();
    let origin = world.warm(many);
    bencher.bench_local(|| world.exchange(black_box(origin)));
}

#[divan::bench(args = MANY)]
fn exchange_beside_callers_elsewhere(bencher: Bencher<'_, '_>, many: usize) {
    let mut world = World::new();
    let origin = world.warm(1);
    let _busy = world.busy(many);
    bencher.bench_local(|| world.exchange(black_box(origin)));
}

#[divan::bench(args = MANY)]
fn exchange_at_one_of_many_origins(bencher: Bencher<'_, '_>, many: usize) {
    let mut world = World::new();
    let origins: Vec<OriginId> = (0..many).map(|_| world.warm(1)).collect();
    // Steps without a divisor in common with the number of origins visit all, in no order.
    let mut at = 0;
    bencher.bench_local(|| {
        at = (at + 38_183) % origins.len();
        let origin = origins.get(at).copied().expect("one of them");
        world.exchange(black_box(origin));
    });
}

#[divan::bench(args = MANY)]
fn handover_to_the_first_of_many_callers(bencher: Bencher<'_, '_>, many: usize) {
    let mut world = World::new();
    let (origin, lease, _waiters) = world.busy(many);
    let mut lease = Some(lease);
    bencher.bench_local(|| {
        world.pool.checkin(lease.take().expect("one"), KEEP, world.now);
        let Some(Action::Grant { lease: next, .. }) = world.pool.poll_action() else {
            unreachable!("handed over")
        };
        lease = Some(next);
        let _ = black_box(world.pool.checkout(origin, false, world.now));
    });
}

#[divan::bench(args = MANY, sample_count = 10)]
fn cancel_of_all_in_no_order(bencher: Bencher<'_, '_>, many: usize) {
    bencher
        .counter(divan::counter::ItemsCount::new(many))
        .with_inputs(|| {
            let mut world = World::new();
            let (_, lease, waiters) = world.busy(many);
            (world, lease, waiters)
        })
        .bench_local_values(|(mut world, _lease, waiters)| {
            let mut at = 0;
            for _ in 0..waiters.len() {
                at = (at + 38_183) % waiters.len();
                let waiter = waiters.get(at).copied().expect("one of them");
                assert!(world.pool.cancel(waiter, world.now));
            }
            world
        });
}

#[divan::bench]
fn floor_by_number(bencher: Bencher<'_, '_>) {
    floor(bencher, &7_u64);
}

#[divan::bench]
fn floor_by_authority(bencher: Bencher<'_, '_>) {
    floor(bencher, &"shard-7.eu-central-1.example.com:443".to_owned());
}

fn floor<K: std::hash::Hash + Eq + Clone + Sync>(bencher: Bencher<'_, '_>, key: &K) {
    let pool = Mutex::new(HashMap::from([(key.clone(), vec![1_u64, 2, 3])]));
    bencher.bench_local(|| {
        let conn = pool.lock().expect("whole").get_mut(black_box(key)).and_then(Vec::pop);
        let conn = black_box(conn).expect("an idle one");
        if let Some(idle) = pool.lock().expect("whole").get_mut(black_box(key)) {
            idle.push(conn);
        }
    });
}
