//! The pure half of a multi-address HTTP client: which origin a request belongs to, how it is sent
//! there, and (as the project grows) which connection carries it.
//!
//! No socket, clock, lock, thread or random source: all that happens outside comes in as a parameter,
//! time as `now: Instant`, randomness as a seed. The same inputs give the same outputs, so that every
//! decision can be replayed and tested.
//!
//! # From a request to its origin
//!
//! ```
//! use std::time::Instant;
//! use http::{Request, header::HOST};
//! use mac_core::{Protocol, Selector, SelectorConfig};
//!
//! // One value for each origin: here a name, in a client its connections.
//! let mut selector: Selector<String> = Selector::new(SelectorConfig::default());
//! let request = Request::get("http://Example.com:8080?q=1").body(())?;
//! let (mut parts, _body) = request.into_parts();
//!
//! let selection = selector.select(&parts, |key| key.to_string(), Instant::now())?;
//! assert_eq!(selector.get(selection.origin).unwrap(), "http://example.com:8080");
//!
//! // The form of the target depends on the connection, so it is written when one is there.
//! selection.target.apply(&mut parts, Protocol::Http1)?;
//! assert_eq!(parts.uri, "/?q=1");
//! assert_eq!(parts.headers[HOST], "Example.com:8080");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map
//!
//! | module | decides |
//! |---|---|
//! | [`url_key`] | which URLs name the same origin (RFC 9110 s4.3) |
//! | [`selector`] | where the entry of an origin is, and when it is forgotten |
//! | [`request_target`] | request target and `Host` for a protocol (RFC 9112 s3.2, RFC 9113 s8.3.1) |
#![no_std]

extern crate alloc;

mod backoff;
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
pub use id::{ConnId, OriginId, WaiterId};
pub use pool::{
    Action, Checkout, CheckoutError, CloseReason, DialError, Lease, OriginConfig, Pool, PoolConfig,
    PoolStats, Protocols, Reuse, Stats,
};
pub use protocol::Protocol;
pub use request_target::{ApplyError, AsteriskForm, RequestTarget, uri_from_url};
pub use selector::{SelectError, Selection, Selector, SelectorConfig};
pub use url_key::{
    HashSeed, Host, Partition, Scheme, UrlKey, UrlKeyConfig, UrlKeyError, UrlKeyRef,
};
