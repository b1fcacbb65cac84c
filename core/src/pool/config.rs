//! The limits and times of a pool, each with its default and the reason for it.

use crate::backoff::Backoff;
use crate::time::Duration;

/// What holds for a pool as a whole. A limit of 0 connections counts as 1: callers would wait for ever.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// The most connections in all. Default: none, since each origin has its own limit.
    pub max_connections: Option<u32>,
    /// The most idle connections in all; the least recently used one goes first.
    pub max_idle: u32,
    /// The most callers that wait in all. Default: none, since each origin has its own bound.
    pub max_waiters: Option<u32>,
    /// The most origins it knows at a time.
    pub max_origins: u32,
    /// How long an origin is remembered that has neither connections nor callers. At least 1 ms, so that
    /// it outlives the step in which it becomes known.
    pub origin_ttl: Duration,
    /// Where the jitter comes from. The same seed and inputs give the same actions.
    pub seed: u64,
    /// Whether steps are told by [`Pool::poll_event`](crate::Pool::poll_event). Default: not.
    pub events: bool,
}

/// 1 024 idle connections: file descriptors are commonly limited to as many for a process.
pub const DEFAULT_MAX_IDLE: u32 = 1024;
/// 65 536 origins: some 45 MB at the most, with the selector's part.
pub const DEFAULT_MAX_ORIGINS: u32 = 65_536;
/// 5 min: what was learned about an origin outlives its idle connections.
pub const DEFAULT_ORIGIN_TTL: Duration = Duration::from_secs(300);

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            max_connections: None,
            max_idle: DEFAULT_MAX_IDLE,
            max_waiters: None,
            max_origins: DEFAULT_MAX_ORIGINS,
            origin_ttl: DEFAULT_ORIGIN_TTL,
            seed: 0,
            events: false,
        }
    }
}

/// What holds for one origin. A limit of 0 connections or dials counts as 1: callers would wait for ever.
#[derive(Debug, Clone)]
pub struct OriginConfig {
    /// Which protocols a dial may bring.
    pub protocols: Protocols,
    /// The most connections, draining ones among them. Each that the peer sends away (GOAWAY) may have a
    /// replacement above it. What is being closed does not count: it is closed before the next dial.
    pub max_connections: u32,
    /// The most connections once the origin is known to speak HTTP/2, if this is fewer.
    pub max_http2_connections: u32,
    /// The most idle connections; the least recently used one goes first.
    pub max_idle: u32,
    /// How many connections are kept idle, for HTTP/2 at most one, but no more than `max_idle`. They
    /// outlive the idle timeout, not a server's hint, and their origin is never forgotten. What was closed
    /// to make room for others is replaced at the origin's next turn, not when there is room. Default: none.
    pub min_idle: u32,
    /// The most dials at a time.
    pub max_dialing: u32,
    /// The most callers that wait. With 0 only a connection that is there already is ever used.
    pub max_waiters: u32,
    /// How long a caller waits at most.
    pub checkout_timeout: Option<Duration>,
    /// How long a connection may be idle.
    pub idle_timeout: Option<Duration>,
    /// How old a connection may become, give or take a tenth. Default: no limit.
    pub max_lifetime: Option<Duration>,
    /// How many exchanges a connection may carry. Default: no limit.
    pub max_requests: Option<u32>,
    /// How many streams an HTTP/2 connection may carry before its peer has told its limit.
    pub initial_streams: u32,
    /// What to do when dials keep failing. Default: nothing, a failed dial fails who waited for it.
    pub backoff: Option<DialBackoff>,
}

/// The protocols that a dial to an origin may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocols {
    /// HTTP/1.1 alone.
    #[default]
    Http1,
    /// HTTP/2 alone.
    Http2,
    /// Either, as the handshake comes to say.
    Negotiated,
}

/// How an origin is dialed that cannot be reached.
#[derive(Debug, Clone, Copy)]
pub struct DialBackoff {
    /// After how many failures in a row it begins.
    pub after: u32,
    /// The pauses.
    pub pauses: Backoff,
    /// Whether callers fail at once during a pause, instead of waiting for their deadline.
    pub fail_fast: bool,
}

/// 256: as many as a load test of one server needs, and few enough to spare a server.
pub const DEFAULT_MAX_CONNECTIONS: u32 = 256;
/// 4: one is the rule (RFC 9113 s9.1), some more help where a server allows few streams.
pub const DEFAULT_MAX_HTTP2_CONNECTIONS: u32 = 4;
/// 256: all of an origin's connections may be kept.
pub const DEFAULT_MAX_IDLE_PER_ORIGIN: u32 = 256;
/// 32: handshakes cost the server most.
pub const DEFAULT_MAX_DIALING: u32 = 32;
/// 10 000: more callers than that would time out before their turn.
pub const DEFAULT_MAX_WAITERS: u32 = 10_000;
/// 30 s: longer than a dial may take.
pub const DEFAULT_CHECKOUT_TIMEOUT: Duration = Duration::from_secs(30);
/// 90 s: most servers keep connections for 60 to 120 s.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// 1: the fewest that can be tried; a server that allows none says so first.
pub const DEFAULT_INITIAL_STREAMS: u32 = 1;

/// A server's hint is shortened by this much: the request must reach it before it closes.
pub const HINT_MARGIN: Duration = Duration::from_secs(1);
/// How long a protocol probe may stay without progress before others are dialed beside it.
pub const PROBE_PATIENCE: Duration = Duration::from_millis(300);
/// How long a protocol probe holds other dials back at the most.
pub const PROBE_LIMIT: Duration = Duration::from_secs(2);
/// How long an HTTP/2 connection may tell no stream limit, before what it allows is all that is expected,
/// or one of 0, before it drains.
pub const STREAMS_PATIENCE: Duration = Duration::from_secs(5);

impl Default for OriginConfig {
    fn default() -> Self {
        Self {
            protocols: Protocols::default(),
            max_connections: DEFAULT_MAX_CONNECTIONS,
            max_http2_connections: DEFAULT_MAX_HTTP2_CONNECTIONS,
            max_idle: DEFAULT_MAX_IDLE_PER_ORIGIN,
            min_idle: 0,
            max_dialing: DEFAULT_MAX_DIALING,
            max_waiters: DEFAULT_MAX_WAITERS,
            checkout_timeout: Some(DEFAULT_CHECKOUT_TIMEOUT),
            idle_timeout: Some(DEFAULT_IDLE_TIMEOUT),
            max_lifetime: None,
            max_requests: None,
            initial_streams: DEFAULT_INITIAL_STREAMS,
            backoff: None,
        }
    }
}
