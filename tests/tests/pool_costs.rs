//! What the pool costs: allocations, memory, and what is left behind.
#![expect(clippy::panic, clippy::print_stdout, reason = "a test reports what it measured")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use http::Request;
use mac_core::{
    Action, Checkout, ClientState, Lease, OriginConfig, OriginId, Pool, PoolConfig, Protocol,
    Reuse, SelectorConfig, UrlKeyConfig, WaiterId,
};

const KEEP: Reuse = Reuse::Keep { hint: None };
/// As many streams as HTTP/2 servers commonly allow.
const STREAMS: u32 = 100;
/// A table that doubles is full with so many places: its spare room is nobody's.
const FULL: u32 = 16_384;
/// Somewhere between: what there is bears the spare room too.
const BETWEEN: u32 = 10_000;

fn pool() -> Pool<u32> {
    let config = PoolConfig { max_idle: u32::MAX, max_origins: u32::MAX, ..PoolConfig::default() };
    Pool::new(config)
}

fn config() -> OriginConfig {
    OriginConfig {
        max_connections: u32::MAX,
        max_idle: u32::MAX,
        max_dialing: u32::MAX,
        max_waiters: u32::MAX,
        ..OriginConfig::default()
    }
}

/// Does what the pool asks for: dials succeed at once. Returns what was granted.
fn run(pool: &mut Pool<u32>, protocol: Protocol, now: Instant) -> Vec<Lease> {
    run_with(pool, protocol, STREAMS, now)
}

fn run_with(pool: &mut Pool<u32>, protocol: Protocol, streams: u32, now: Instant) -> Vec<Lease> {
    let (mut leases, mut dials) = (Vec::new(), Vec::new());
    loop {
        while let Some(action) = pool.poll_action() {
            match action {
                Action::Dial { conn, .. } => dials.push(conn),
                Action::Grant { lease, .. } => leases.push(lease),
                Action::Close { conn, .. } => pool.handle_closed(conn, now),
                Action::CancelDial { .. } | Action::Fail { .. } | Action::Vacate { .. } => {}
            }
        }
        let Some(conn) = dials.pop() else { return leases };
        pool.handle_dialed(conn, protocol, Some(streams), now);
    }
}

fn waiter(checkout: Checkout) -> WaiterId {
    match checkout {
        Checkout::Waiting(waiter) => waiter,
        Checkout::Ready(lease) => panic!("{lease:?} at once"),
    }
}

/// Leaves `count` idle connections to a new origin.
fn warm(pool: &mut Pool<u32>, count: u32, protocol: Protocol, now: Instant) -> OriginId {
    let origin = pool.insert_origin(0, Arc::new(config()), now).expect("room");
    for _ in 0..count {
        let _ = waiter(pool.checkout(origin, false, now).expect("room"));
    }
    for lease in run(pool, protocol, now) {
        pool.checkin(lease, KEEP, now);
    }
    let _ = run(pool, protocol, now);
    origin
}

fn ready(pool: &mut Pool<u32>, origin: OriginId, now: Instant) -> Lease {
    match pool.checkout(origin, false, now) {
        Ok(Checkout::Ready(lease)) => lease,
        other => panic!("{other:?} at a warm origin"),
    }
}

/// What an adapter does after each call that leaves nothing to do.
fn poll(pool: &mut Pool<u32>) {
    assert!(pool.poll_action().is_none());
    black_box(pool.poll_timeout());
}

/// Allocations of 100 times a checkout that is served at once, a checkin, and after each of both what an
/// adapter does, one `poll_action` and one `poll_timeout`; at an origin that has so many idle connections.
fn allocations_of_exchanges(protocol: Protocol, idle: u32, reuse: Reuse) -> u64 {
    let mut now = Instant::now();
    let mut pool = pool();
    let origin = pool.insert_origin(0, Arc::new(config()), now).expect("room");
    for _ in 0..idle {
        let _ = waiter(pool.checkout(origin, false, now).expect("room"));
    }
    for lease in run(&mut pool, protocol, now) {
        pool.checkin(lease, reuse, now);
    }
    let _ = run(&mut pool, protocol, now);
    let before = pool.stats().all.counts.reuses;
    let info = measure(|| {
        for _ in 0..100 {
            now += Duration::from_millis(1);
            let lease = ready(&mut pool, origin, now);
            poll(&mut pool);
            pool.checkin(lease, reuse, now);
            poll(&mut pool);
        }
    });
    assert_eq!(pool.stats().all.counts.reuses - before, 100);
    info.count_total
}

#[test]
fn a_warm_checkout_and_checkin_allocates_nothing() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for idle in [1, 3, 12, 100] {
            let allocations = allocations_of_exchanges(protocol, idle, KEEP);
            assert_eq!(allocations, 0, "{protocol:?}, {idle} idle");
        }
    }
}

/// Hints are kept in an ordered set: where a node of it is just full, each exchange splits and merges it.
#[test]
fn a_servers_hint_costs_at_most_two_allocations_and_commonly_none() {
    let hinted = Reuse::Keep { hint: Some(Duration::from_secs(60)) };
    let all = (1..=100).map(|idle| allocations_of_exchanges(Protocol::Http1, idle, hinted));
    let all: Vec<u64> = all.collect();
    let none = all.iter().filter(|allocations| **allocations == 0).count();
    println!("a hint allocates nothing beside {none} of 100 numbers of idle connections");
    assert!(all.iter().all(|allocations| *allocations <= 2 * 100), "{all:?}");
    assert!(none >= 80, "{all:?}");
}

/// Counted: 100 times a checkin with callers in the queue, the `poll_action` that grants, one that finds
/// nothing, a `poll_timeout`, and the checkout of another caller, who waits. The queue has been as long
/// before.
#[test]
fn handing_a_connection_over_to_a_caller_in_the_queue_allocates_nothing() {
    let one = OriginConfig { max_connections: 1, max_http2_connections: 1, ..config() };
    let any = config();
    for (protocol, streams, config, max_connections) in [
        (Protocol::Http1, 1, &one, None),
        (Protocol::Http2, 1, &one, None),
        (Protocol::Http2, STREAMS, &one, None),
        (Protocol::Http1, 1, &any, Some(1)),
        (Protocol::Http2, 1, &any, Some(1)),
    ] {
        let now = Instant::now();
        let mut pool = Pool::new(PoolConfig { max_connections, ..PoolConfig::default() });
        let origin = pool.insert_origin(0, Arc::new(config.clone()), now).expect("room");
        for _ in 0..streams + 3 {
            let _ = waiter(pool.checkout(origin, false, now).expect("room"));
        }
        let mut leases = VecDeque::from(run_with(&mut pool, protocol, streams, now));
        assert_eq!(pool.stats().all.waiters, 3);
        let mut hand_over = || {
            pool.checkin(leases.pop_front().expect("one"), KEEP, now);
            let Some(Action::Grant { lease, .. }) = pool.poll_action() else {
                panic!("handed over")
            };
            leases.push_back(lease);
            poll(&mut pool);
            let _ = waiter(pool.checkout(origin, false, now).expect("room"));
        };
        // The first one makes room in the queue of actions.
        hand_over();
        let info = measure(|| (0..100).for_each(|_| hand_over()));
        assert_eq!(info.count_total, 0, "{protocol:?}, {streams} streams, {max_connections:?}");
    }
}

/// Bytes of heap for each of `count` idle HTTP/1.1 connections of one origin.
fn bytes_of_idle_connection(count: u32) -> i64 {
    let now = Instant::now();
    let mut pool = pool();
    let origin = pool.insert_origin(0, Arc::new(config()), now).expect("room");
    let info = measure(|| {
        for _ in 0..count {
            let _ = waiter(pool.checkout(origin, false, now).expect("room"));
        }
        for lease in run(&mut pool, Protocol::Http1, now) {
            pool.checkin(lease, KEEP, now);
        }
        assert!(pool.poll_action().is_none());
    });
    assert_eq!(pool.stats().all.idle, count);
    let bytes = info.bytes_current / i64::from(count);
    println!("{bytes} bytes for each of {count} idle connections");
    bytes
}

#[test]
fn an_idle_connection_takes_at_most_200_bytes() {
    let bytes = bytes_of_idle_connection(FULL);
    assert!(bytes <= 200, "{bytes} bytes");
    // What a table that has just doubled may keep beside, 2 places for each at the most.
    let bytes = bytes_of_idle_connection(BETWEEN);
    assert!(bytes <= 2 * 200, "{bytes} bytes");
}

/// Bytes of heap for each of `count` idle origins, in the pool alone.
fn bytes_of_idle_origin_in_pool(count: u32) -> i64 {
    let now = Instant::now();
    let mut pool = pool();
    let config = Arc::new(config());
    let info = measure(|| {
        for n in 0..count {
            pool.insert_origin(n, Arc::clone(&config), now).expect("room");
        }
    });
    assert_eq!(pool.stats().origins, usize::try_from(count).expect("small"));
    let bytes = info.bytes_current / i64::from(count);
    println!("{bytes} bytes in the pool for each of {count} idle origins");
    bytes
}

/// The same in selector and pool together, besides the text of the keys.
fn bytes_of_idle_origin(count: u32) -> i64 {
    let now = Instant::now();
    let pool = PoolConfig { max_origins: u32::MAX, ..PoolConfig::default() };
    let mut client = ClientState::new(UrlKeyConfig::default(), pool);
    let config = Arc::new(OriginConfig::default());
    let mut text = 0;
    let info = measure(|| {
        for n in 0..count {
            let host = format!("h{n}.example");
            text += host.len();
            let url = format!("http://{host}/");
            let (request, ()) = Request::get(url).body(()).expect("valid").into_parts();
            client.route_with(&request, |_| Arc::clone(&config), now).expect("room");
        }
    });
    let bytes = info.bytes_current - i64::try_from(text).expect("small");
    let bytes = bytes / i64::from(count);
    println!("{bytes} bytes for each of {count} idle origins, besides the keys' text");
    bytes
}

#[test]
fn an_idle_origin_takes_at_most_400_bytes_in_the_pool() {
    let bytes = bytes_of_idle_origin_in_pool(FULL);
    assert!(bytes <= 400, "{bytes} bytes");
    let bytes = bytes_of_idle_origin_in_pool(BETWEEN);
    assert!(bytes <= 2 * 400, "{bytes} bytes");
}

#[test]
fn an_idle_origin_takes_at_most_700_bytes_besides_its_keys_text() {
    // As many as fill the hash table, 7 of 8 places.
    let bytes = bytes_of_idle_origin(FULL / 8 * 7);
    assert!(bytes <= 700, "{bytes} bytes");
    let bytes = bytes_of_idle_origin(BETWEEN);
    assert!(bytes <= 2 * 700, "{bytes} bytes");
}

#[test]
fn an_idle_pool_asks_for_no_wake_up_but_its_deadlines() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let now = Instant::now();
        let mut pool = pool();
        assert_eq!(pool.poll_timeout(), None);
        let origin = warm(&mut pool, 1, protocol, now);
        assert_eq!(pool.poll_timeout(), Some(now + Duration::from_secs(90)));

        // In use it has no deadline; afterwards its time begins anew.
        let lease = ready(&mut pool, origin, now);
        assert_eq!(pool.poll_timeout(), None);
        let used = now + Duration::from_secs(7);
        pool.checkin(lease, KEEP, used);
        let closed = used + Duration::from_secs(90);
        assert_eq!(pool.poll_timeout(), Some(closed));
        pool.handle_timeout(closed - Duration::from_nanos(1));
        assert!(pool.poll_action().is_none());

        pool.handle_timeout(closed);
        let _ = run(&mut pool, protocol, closed);
        assert_eq!(pool.stats().all.idle, 0);
        // Nothing is left but to forget the origin.
        assert_eq!(pool.poll_timeout(), Some(closed + Duration::from_secs(300)));
        pool.handle_timeout(closed + Duration::from_secs(300));
        let action = pool.poll_action();
        assert!(matches!(action, Some(Action::Vacate { origin: id, .. }) if id == origin));
        assert_eq!(pool.poll_timeout(), None);
    }
}

/// A walk in random order.
fn shuffle<T>(values: &mut [T]) {
    let mut state: usize = 0x9e37_79b9;
    for n in (1..values.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values.swap(n, (state >> 33) % (n + 1));
    }
}

#[test]
fn callers_that_gave_up_in_any_order_leave_nothing_behind() {
    let now = Instant::now();
    let mut pool = pool();
    let config = OriginConfig { max_connections: 1, ..config() };
    let origin = pool.insert_origin(0, Arc::new(config), now).expect("room");
    let _ = waiter(pool.checkout(origin, false, now).expect("room"));
    let lease = run(&mut pool, Protocol::Http1, now).pop().expect("granted");
    assert_eq!(pool.poll_timeout(), None);
    let info = measure(|| {
        let mut waiters: Vec<WaiterId> = (0..100_000)
            .map(|_| waiter(pool.checkout(origin, false, now).expect("room")))
            .collect();
        assert_eq!(pool.poll_timeout(), Some(now + Duration::from_secs(30)));
        shuffle(&mut waiters);
        for waiter in &waiters {
            assert!(pool.cancel(*waiter, now));
        }
        for waiter in waiters {
            assert!(!pool.cancel(waiter, now), "once");
        }
        assert!(pool.poll_action().is_none());
    });
    let stats = pool.stats().all;
    assert_eq!((stats.waiters, stats.counts.cancels), (0, 100_000));
    assert_eq!(pool.poll_timeout(), None);
    println!("{} bytes left of 100 000 callers", info.bytes_current);
    assert!(info.bytes_current < 1_000, "{} bytes", info.bytes_current);

    // The connection is nobody's but the next caller's.
    pool.checkin(lease, KEEP, now);
    assert!(pool.poll_action().is_none());
    let lease = ready(&mut pool, origin, now);
    pool.checkin(lease, Reuse::Close, now);
    let _ = run(&mut pool, Protocol::Http1, now);
    assert_eq!(pool.stats().all.idle, 0);
}

#[test]
fn dials_that_nobody_waits_for_any_more_leave_nothing_behind() {
    let now = Instant::now();
    let mut pool = pool();
    let origin = pool.insert_origin(0, Arc::new(config()), now).expect("room");
    let later = now + Duration::from_secs(90);
    let info = measure(|| {
        let mut waiters: Vec<WaiterId> =
            (0..20_000).map(|_| waiter(pool.checkout(origin, false, now).expect("room"))).collect();
        shuffle(&mut waiters);
        for waiter in waiters {
            assert!(pool.cancel(waiter, now));
        }
        // They succeed, and time out.
        assert!(run(&mut pool, Protocol::Http1, now).is_empty());
        assert_eq!(pool.stats().all.idle, 20_000);
        pool.handle_timeout(later);
        let _ = run(&mut pool, Protocol::Http1, later);
    });
    let stats = pool.stats().all;
    assert_eq!((stats.dialing, stats.idle, stats.closing), (0, 0, 0));
    assert_eq!(pool.poll_timeout(), Some(later + Duration::from_secs(300)));
    println!("{} bytes left of 20 000 dials", info.bytes_current);
    assert!(info.bytes_current < 1_000, "{} bytes", info.bytes_current);
}

#[test]
fn two_hundred_thousand_origins_leave_nothing_behind() {
    // The first forgets most of them for want of room, the second after the grace period alone.
    for max_origins in [PoolConfig::default().max_origins, u32::MAX] {
        let start = Instant::now();
        let config = PoolConfig { max_origins, ..PoolConfig::default() };
        let mut client = ClientState::new(UrlKeyConfig::default(), config);
        let config = Arc::new(OriginConfig::default());
        let mut now = start;
        let mut most = 0;
        let info = measure(|| {
            for n in 0..200_000 {
                now += Duration::from_millis(1);
                let url = format!("http://h{n}.example/");
                let (request, ()) = Request::get(url).body(()).expect("valid").into_parts();
                let route =
                    client.route_with(&request, |_| Arc::clone(&config), now).expect("room");
                let _ = client.checkout(route.origin, false, now).expect("room");
                settle(&mut client, now);
            }
            most = client.stats().origins;
            while let Some(due) = client.poll_timeout() {
                now = now.max(due);
                client.handle_timeout(now);
                settle(&mut client, now);
            }
        });
        assert_eq!(most, 200_000.min(usize::try_from(max_origins).expect("small")));
        let stats = client.stats();
        assert_eq!((stats.origins, stats.all.counts.grants), (0, 200_000));
        assert_eq!(stats.closes.iter().sum::<u64>(), 200_000);
        assert!(client.poll_action().is_none());
        assert_eq!(client.poll_timeout(), None);
        println!("{} bytes left of 200 000 origins", info.bytes_current);
        assert!(info.bytes_current < 100_000, "{} bytes", info.bytes_current);
        assert!(now - start <= Duration::from_secs(200 + 90 + 300));
    }
}

/// Dials succeed, exchanges end, connections close, all at once.
fn settle(client: &mut ClientState, now: Instant) {
    while let Some(action) = client.poll_action() {
        match action {
            Action::Dial { conn, .. } => client.handle_dialed(conn, Protocol::Http1, None, now),
            Action::Grant { lease, .. } => client.checkin(lease, KEEP, now),
            Action::Close { conn, .. } => client.handle_closed(conn, now),
            Action::CancelDial { .. } | Action::Fail { .. } | Action::Vacate { .. } => {}
        }
    }
}

#[test]
fn an_unbounded_time_to_live_is_no_deadline() {
    let now = Instant::now();
    let config = PoolConfig { origin_ttl: Duration::MAX, ..PoolConfig::default() };
    let mut pool: Pool<u32> = Pool::new(config);
    let _ = pool.insert_origin(0, Arc::new(OriginConfig::default()), now);
    assert_eq!(pool.poll_timeout(), None);
    assert_eq!(SelectorConfig::default().max_origins, 65_536);
}
