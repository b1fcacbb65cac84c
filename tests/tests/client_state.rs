//! Selector and pool together: what neither shows alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use http::request::Parts;
use mac_core::{
    Action, Checkout, ClientState, OriginConfig, PoolConfig, Protocol, Reuse, SelectError,
    UrlKeyConfig,
};

fn request(url: &str) -> Parts {
    Request::get(url).body(()).expect("a valid URL").into_parts().0
}

fn client(config: PoolConfig) -> ClientState {
    ClientState::new(UrlKeyConfig::default(), config)
}

/// One exchange, after which the connection is closed.
fn exchange(client: &mut ClientState, url: &str, now: Instant) {
    let route = client.route_with(&request(url), |_| Arc::default(), now).expect("room");
    let checkout = client.checkout(route.origin, false, now).expect("known");
    assert!(matches!(checkout, Checkout::Waiting(_)));
    let mut vacated = 0;
    while let Some(action) = client.poll_action() {
        match action {
            Action::Dial { conn, .. } => client.handle_dialed(conn, Protocol::Http1, None, now),
            Action::Grant { lease, .. } => client.checkin(lease, Reuse::Close, now),
            Action::Close { conn, .. } => client.handle_closed(conn, now),
            Action::Vacate { .. } => vacated += 1,
            Action::CancelDial { .. } | Action::Fail { .. } => {}
        }
    }
    assert!(vacated <= 1);
    assert_eq!(client.stats().all.idle, 0);
}

#[test]
fn an_origin_that_is_due_to_be_forgotten_is_served_all_the_same() {
    for ttl in [Duration::from_secs(300), Duration::ZERO, Duration::MAX] {
        for after in [0, 1, 299, 300, 301, 100_000] {
            let mut now = Instant::now();
            let mut client = client(PoolConfig { origin_ttl: ttl, ..PoolConfig::default() });
            // The driver is told the time only when it is asked for something.
            for _ in 0..3 {
                exchange(&mut client, "http://a.example/", now);
                now += Duration::from_secs(after);
            }
            assert_eq!(client.stats().all.counts.grants, 3, "{ttl:?} {after}");
        }
    }
}

#[test]
fn an_origin_that_gives_way_to_another_is_known_again_when_it_is_used_again() {
    let now = Instant::now();
    let mut client = client(PoolConfig { max_origins: 1, ..PoolConfig::default() });
    for _ in 0..3 {
        exchange(&mut client, "http://a.example/", now);
        exchange(&mut client, "http://b.example/", now);
    }
    assert_eq!(client.stats().origins, 1);
    assert_eq!(
        client.snapshot().map(|(key, _)| key.to_string()).next().unwrap(),
        "http://b.example:80"
    );
}

#[test]
fn a_request_for_one_origin_more_than_may_be_busy_is_refused_and_changes_nothing() {
    let now = Instant::now();
    let mut client = client(PoolConfig { max_origins: 1, ..PoolConfig::default() });
    let route = client
        .route_with(&request("http://a.example/"), |_| Arc::new(OriginConfig::default()), now)
        .expect("room");
    let _waiting = client.checkout(route.origin, false, now).expect("known");
    let refused = client.route_with(&request("http://b.example/"), |_| Arc::default(), now);
    assert_eq!(refused.map(|route| route.origin).unwrap_err(), SelectError::TooManyOrigins);
    assert!(client.route(&request("http://b.example/"), now).unwrap().is_none());
    assert_eq!(
        client.route(&request("HTTP://A.example:80"), now).unwrap().unwrap().origin,
        route.origin
    );
}

#[test]
fn a_vacated_origin_comes_with_its_key() {
    let mut now = Instant::now();
    let mut client = client(PoolConfig::default());
    exchange(&mut client, "http://a.example/", now);
    now += Duration::from_secs(300);
    client.handle_timeout(now);
    let Some(Action::Vacate { key: Some(key), .. }) = client.poll_action() else {
        panic!("it is forgotten")
    };
    assert_eq!(key.to_string(), "http://a.example:80");
    assert_eq!((client.stats().origins, client.poll_timeout()), (0, None));
}
