//! What the pool costs: allocations, memory, and what is left behind.
#![expect(clippy::panic, clippy::print_stdout, reason = "a test reports what it measured")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use http::Request;
use mac_core::{
    Action, Checkout, ClientState, ConnId, Lease, OriginConfig, OriginId, Pool, PoolConfig,
    Protocol, Reuse, SelectorConfig, UrlKeyConfig, WaiterId,
};

const KEEP: Reuse = Reuse::Keep { hint: None };

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
        pool.handle_dialed(conn, protocol, Some(100), now);
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

#[test]
fn a_warm_checkout_and_checkin_allocates_nothing() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let now = Instant::now();
        let mut pool = pool();
        let origin = warm(&mut pool, 3, protocol, now);
        let info = measure(|| {
            for _ in 0..100 {
                let Ok(Checkout::Ready(lease)) = pool.checkout(origin, false, now) else {
                    panic!("a warm origin")
                };
                pool.checkin(lease, KEEP, now);
                assert!(pool.poll_action().is_none());
                assert!(pool.poll_timeout().is_some());
            }
        });
        assert_eq!(info.count_total, 0, "{protocol:?}");
    }
}

#[test]
fn handing_a_connection_over_to_a_caller_in_the_queue_allocates_nothing() {
    let now = Instant::now();
    let mut pool = pool();
    let config = OriginConfig { max_connections: 1, ..config() };
    let origin = pool.insert_origin(0, Arc::new(config), now).expect("room");
    // The queues have been as long before as they will be.
    for _ in 0..3 {
        let _ = waiter(pool.checkout(origin, false, now).expect("room"));
    }
    let mut lease = run(&mut pool, Protocol::Http1, now).pop();
    let info = measure(|| {
        for _ in 0..100 {
            pool.checkin(lease.take().expect("one"), KEEP, now);
            let Some(Action::Grant { lease: next, .. }) = pool.poll_action() else {
                panic!("handed over")
            };
            lease = Some(next);
            let _ = waiter(pool.checkout(origin, false, now).expect("room"));
        }
    });
    assert_eq!(info.count_total, 0);
}

#[test]
fn an_idle_connection_takes_at_most_200_bytes() {
    let now = Instant::now();
    // As many as fill the tables, which double: their spare room is no connection's.
    let count = 16_384;
    let mut pool = pool();
    let one = pool.insert_origin(0, Arc::new(config()), now).expect("room");
    let info = measure(|| {
        for _ in 0..count {
            let _ = pool.checkout(one, false, now);
        }
        for lease in run(&mut pool, Protocol::Http1, now) {
            pool.checkin(lease, KEEP, now);
        }
        while pool.poll_action().is_some() {}
    });
    assert_eq!(pool.stats().all.idle, count);
    let bytes = info.bytes_current / i64::from(count);
    println!("{bytes} bytes for an idle connection");
    assert!(bytes <= 200, "{bytes} bytes");
}

#[test]
fn an_idle_origin_takes_at_most_400_bytes_of_the_pool() {
    let now = Instant::now();
    // As many as fill the tables, which double: their spare room is no origin's.
    let count = 16_384_u32;
    let mut pool = pool();
    let config = Arc::new(config());
    let info = measure(|| {
        for n in 0..count {
            pool.insert_origin(n, Arc::clone(&config), now).expect("room");
        }
    });
    let bytes = info.bytes_current / i64::from(count);
    println!("{bytes} bytes of the pool for an idle origin");
    assert!(bytes <= 400, "{bytes} bytes");
}

#[test]
fn an_idle_origin_takes_at_most_700_bytes_with_its_key_and_host_field() {
    let now = Instant::now();
    // As many as fill the selector's table.
    let count = 14_336_u32;
    let pool = PoolConfig { max_origins: u32::MAX, ..PoolConfig::default() };
    let mut client = ClientState::new(UrlKeyConfig::default(), pool);
    let config = Arc::new(OriginConfig::default());
    let info = measure(|| {
        for n in 0..count {
            let url = format!("http://h{n}.example/");
            let (request, ()) = Request::get(url).body(()).expect("valid").into_parts();
            client.route_with(&request, |_| Arc::clone(&config), now).expect("room");
        }
    });
    let bytes = info.bytes_current / i64::from(count);
    println!("{bytes} bytes for an idle origin");
    assert!(bytes <= 700, "{bytes} bytes");
}

#[test]
fn an_idle_pool_asks_for_no_wake_up_but_its_deadlines() {
    let now = Instant::now();
    let mut pool = pool();
    assert_eq!(pool.poll_timeout(), None);
    let origin = warm(&mut pool, 1, Protocol::Http1, now);
    assert_eq!(pool.poll_timeout(), Some(now + Duration::from_secs(90)));

    let closed = now + Duration::from_secs(90);
    pool.handle_timeout(closed);
    let _ = run(&mut pool, Protocol::Http1, closed);
    // Nothing is left but to forget the origin.
    assert_eq!(pool.poll_timeout(), Some(closed + Duration::from_secs(300)));
    pool.handle_timeout(closed + Duration::from_secs(300));
    assert!(matches!(pool.poll_action(), Some(Action::Vacate { origin: id, .. }) if id == origin));
    assert_eq!(pool.poll_timeout(), None);
}

#[test]
fn callers_that_gave_up_in_any_order_leave_nothing_behind() {
    let now = Instant::now();
    let mut pool = pool();
    let origin = pool.insert_origin(0, Arc::new(config()), now).expect("room");
    let mut dials: Vec<ConnId> = Vec::new();
    let info = measure(|| {
        let mut waiters: Vec<WaiterId> = (0..100_000)
            .map(|_| waiter(pool.checkout(origin, false, now).expect("room")))
            .collect();
        // A walk in steps that have no divisor with the number of callers visits all.
        let mut at = 0;
        for _ in 0..waiters.len() {
            at = (at + 38_183) % waiters.len();
            assert!(pool.cancel(waiters[at], now));
        }
        waiters.clear();
        while let Some(action) = pool.poll_action() {
            if let Action::Dial { conn, .. } = action
                && dials.is_empty()
            {
                dials.push(conn);
            }
        }
    });
    let stats = pool.stats().all;
    assert_eq!((stats.waiters, stats.counts.cancels), (0, 100_000));
    // What is left are the dials that nobody waits for any more.
    let left = info.bytes_current - i64::from(stats.dialing) * 250;
    assert!(left < 4_000_000, "{left} bytes");
}

#[test]
fn two_hundred_thousand_origins_leave_nothing_behind() {
    let start = Instant::now();
    let mut client = ClientState::new(UrlKeyConfig::default(), PoolConfig::default());
    let config = Arc::new(OriginConfig::default());
    let mut now = start;
    let info = measure(|| {
        for n in 0..200_000 {
            now += Duration::from_millis(1);
            let url = format!("http://h{n}.example/");
            let (request, ()) = Request::get(url).body(()).expect("valid").into_parts();
            let route = client.route_with(&request, |_| Arc::clone(&config), now).expect("room");
            let _ = client.checkout(route.origin, false, now).expect("room");
            settle(&mut client, now);
        }
        while let Some(due) = client.poll_timeout() {
            now = now.max(due);
            client.handle_timeout(now);
            settle(&mut client, now);
        }
    });
    let stats = client.stats();
    assert_eq!((stats.origins, stats.all.counts.grants), (0, 200_000));
    assert!(client.poll_action().is_none());
    println!("{} bytes left of 200 000 origins", info.bytes_current);
    assert!(info.bytes_current < 100_000, "{} bytes", info.bytes_current);
    assert!(now - start < Duration::from_secs(200 + 90 + 300 + 1));
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
