//! The pure half of a multi-address HTTP client: which origin a request belongs to, which connection
//! carries it, when one is dialed or closed, and how the request is sent.
//!
//! No socket, clock, lock, thread or random source: all that happens outside comes in as a parameter,
//! time as `now: Instant`, randomness as a seed. The same inputs give the same outputs, so that every
//! decision can be replayed and tested.
//!
//! Out of scope: I/O, TLS, DNS, framing of messages. Who drives the core brings them along.
//!
//! # Contract
//!
//! - Bare verbs are commands of the application (`checkout`, `cancel`, `checkin`, `drain`), `handle_*`
//!   report facts of the world, `poll_*` take outputs.
//! - Every order of calls is legal. A fact about something gone is ignored. No call from the network's
//!   side panics.
//! - After each call, take actions until there is none; call `handle_timeout` no later than at
//!   `poll_timeout`. Lateness costs latency, never correctness.
//! - A [`Lease`] is given back by value.
//!
//! # Run loop
//!
//! ```
//! use std::sync::Arc;
//! use std::time::{Duration, Instant};
//! use http::{Request, header::HOST};
//! use mac_core::{Action, Checkout, ClientState, OriginConfig, PoolConfig, Protocol, Reuse, UrlKeyConfig};
//!
//! let mut client = ClientState::new(UrlKeyConfig::default(), PoolConfig::default());
//! let mut now = Instant::now();
//! let (mut parts, _body) = Request::get("http://Example.com:8080?q=1").body(())?.into_parts();
//!
//! // Where does it go? And may it go there?
//! let route = client.route_with(&parts, |_key| Arc::new(OriginConfig::default()), now)?;
//! let Checkout::Waiting(caller) = client.checkout(route.origin, false, now)? else {
//!     unreachable!("no connection is there yet");
//! };
//!
//! // The loop: actions out, facts in.
//! let mut lease = None;
//! while let Some(action) = client.poll_action() {
//!     match action {
//!         // Here a socket would be opened; it is, at once.
//!         Action::Dial { conn, .. } => client.handle_dialed(conn, Protocol::Http1, None, now),
//!         Action::Grant { waiter, lease: granted } if waiter == caller => lease = Some(granted),
//!         action => unreachable!("{action:?}"),
//!     }
//! }
//!
//! // The form of the request depends on the connection that was granted.
//! let lease = lease.expect("the dial succeeded");
//! route.target.apply(&mut parts, lease.protocol())?;
//! assert_eq!(parts.uri, "/?q=1");
//! assert_eq!(parts.headers[HOST], "Example.com:8080");
//!
//! // The exchange is over: the connection is kept, until its time is over.
//! client.checkin(lease, Reuse::Keep { hint: None }, now);
//! assert_eq!(client.stats().all.idle, 1);
//! assert_eq!(client.poll_timeout(), Some(now + Duration::from_secs(90)));
//! now += Duration::from_secs(90);
//! client.handle_timeout(now);
//! let Some(Action::Close { conn, .. }) = client.poll_action() else { unreachable!() };
//! client.handle_closed(conn, now);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map
//!
//! | module | decides |
//! |---|---|
//! | [`client`] | all of it together |
//! | [`pool`] | who gets which connection, when to dial and to close |
//! | [`url_key`] | which URLs name the same origin (RFC 9110 s4.3) |
//! | [`selector`] | where the entry of an origin is, and when it is forgotten |
//! | [`request_target`] | request target and `Host` for a protocol (RFC 9112 s3.2, RFC 9113 s8.3.1) |
#![no_std]
#![cfg_attr(doctest, doc = include_str!("../../README.md"))]

extern crate alloc;

mod backoff;
pub mod client;
mod id;
mod list;
mod memory;
pub mod pool;
mod protocol;
mod random;
pub mod request_target;
pub mod selector;
mod time;
pub mod url_key;

pub use backoff::Backoff;
pub use client::{ClientState, Route};
pub use id::{ConnId, OriginId, WaiterId};
pub use pool::{
    Action, Checkout, CheckoutError, CloseReason, ConnState, ConnView, Counts, DialBackoff,
    DialError, DrainWaiters, Event, Lease, OriginConfig, Pool, PoolConfig, PoolStats, Protocols,
    Reuse, Stats, WaitedFor,
};
pub use protocol::Protocol;
pub use request_target::{ApplyError, AsteriskForm, RequestTarget, uri_from_url};
pub use selector::{SelectError, Selection, Selector, SelectorConfig};
pub use url_key::{
    HashSeed, Host, Partition, Scheme, UrlKey, UrlKeyConfig, UrlKeyError, UrlKeyRef,
};
