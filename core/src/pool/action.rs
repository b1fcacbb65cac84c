//! What goes out of the pool: leases, actions, errors, and the reasons for them.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::error::Error;
use core::fmt;

use crate::id::{ConnId, OriginId, WaiterId};
use crate::protocol::Protocol;
use crate::time::{Duration, Instant};

/// What a checkout came to.
#[derive(Debug)]
#[must_use = "a lease has to be given back, a waiter to be awaited or cancelled"]
pub enum Checkout {
    /// A stream was free.
    Ready(Lease),
    /// The caller waits: a [`Grant`](Action::Grant) or a [`Fail`](Action::Fail) will name it, unless
    /// it is cancelled before.
    Waiting(WaiterId),
}

/// The right to one exchange on a connection. Linear: given back by value, with
/// [`Pool::checkin`](crate::Pool::checkin) or [`Pool::checkout_again`](crate::Pool::checkout_again), to the
/// pool that it came from, also after its connection was closed. One that is dropped occupies its stream
/// for ever, and its origin is never forgotten: where a task can be cancelled, keep the lease in a guard.
#[derive(Debug)]
#[must_use = "a lease that is not given back occupies its stream for ever"]
pub struct Lease {
    pub(crate) conn: ConnId,
    pub(crate) origin: OriginId,
    pub(crate) protocol: Protocol,
    pub(crate) reused: bool,
    pub(crate) claim: Claim,
}

/// What a caller keeps from its checkout to the end of its lease: its place in the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    /// Checkouts are counted; a smaller ticket is served first.
    pub(crate) ticket: u64,
    /// When the caller stops to wait.
    pub(crate) deadline: Option<Instant>,
    pub(crate) since: Instant,
    /// Whether only a connection that never served will do.
    pub(crate) fresh: bool,
}

impl Lease {
    /// The connection.
    #[must_use]
    pub fn conn(&self) -> ConnId {
        self.conn
    }

    /// The origin that the connection goes to.
    #[must_use]
    pub fn origin(&self) -> OriginId {
        self.origin
    }

    /// The number of the checkout, in the order of which callers of an origin are served.
    #[must_use]
    pub fn ticket(&self) -> u64 {
        self.claim.ticket
    }

    /// What the connection speaks.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether the connection had served an exchange before.
    #[must_use]
    pub fn is_reused(&self) -> bool {
        self.reused
    }
}

/// What may become of a connection when a lease is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// The exchange ended properly, or was reset on HTTP/2.
    Keep {
        /// The server's `Keep-Alive: timeout`: for how long the connection may be used once idle.
        hint: Option<Duration>,
    },
    /// The exchange never began, and nothing was written: the connection is as it was before.
    Unused,
    /// The connection must not be used again: new streams are not begun on it.
    Close,
    /// The connection turned out dead before anything was written.
    Unusable,
}

/// What the pool wants done, in this order. `K` is what the application keeps of an origin.
#[derive(Debug)]
pub enum Action<K> {
    /// Establish a connection. To be answered once, by `handle_dialed` or `handle_dial_failed`.
    Dial {
        /// Where to.
        origin: OriginId,
        /// The connection's id from now on.
        conn: ConnId,
    },
    /// Give up a dial. It is still to be answered.
    CancelDial {
        /// The connection to be.
        conn: ConnId,
    },
    /// A waiter's turn has come.
    Grant {
        /// Who waited.
        waiter: WaiterId,
        /// The stream.
        lease: Lease,
    },
    /// A waiter has waited in vain.
    Fail {
        /// Who waited.
        waiter: WaiterId,
        /// Why.
        error: CheckoutError,
    },
    /// Close a connection. To be answered by `handle_closed`.
    Close {
        /// Which one.
        conn: ConnId,
        /// Why.
        reason: CloseReason,
    },
    /// The pool's last word about an origin: its id finds nothing any more.
    Vacate {
        /// Which one.
        origin: OriginId,
        /// What the application kept of it.
        key: K,
    },
}

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloseReason {
    /// It was idle for as long as is allowed, or as the server's hint says.
    IdleTimeout,
    /// More connections were idle than are kept.
    IdleLimit,
    /// Its place was needed for another connection.
    MakeRoom,
    /// It reached its lifetime.
    Lifetime,
    /// It carried as many requests as it may.
    MaxRequests,
    /// The lease said so: `Connection: close`, an error, an upgrade that ended.
    NotReusable,
    /// It was dead before anything was written.
    Unusable,
    /// The peer sent GOAWAY.
    GoAway,
    /// The peer allows no streams.
    NoStreams,
    /// Its dial came to its end when it was needed no more.
    Surplus,
    /// Its origin, or the whole pool, drains, or idle connections were to be closed.
    Drain,
    /// The drain's deadline passed.
    DrainDeadline,
}

/// How many [`CloseReason`]s there are.
pub(crate) const CLOSE_REASONS: usize = 12;

impl CloseReason {
    /// All reasons, in the order of [`PoolStats::closes`](crate::PoolStats::closes).
    pub const ALL: [Self; CLOSE_REASONS] = [
        Self::IdleTimeout,
        Self::IdleLimit,
        Self::MakeRoom,
        Self::Lifetime,
        Self::MaxRequests,
        Self::NotReusable,
        Self::Unusable,
        Self::GoAway,
        Self::NoStreams,
        Self::Surplus,
        Self::Drain,
        Self::DrainDeadline,
    ];
}

/// Why a caller got no stream.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CheckoutError {
    /// The pool drains and takes no new callers, or gave up those who waited.
    Draining,
    /// The pool knows no such origin (any more): the request has to be routed again.
    UnknownOrigin,
    /// As many callers wait as are allowed to.
    QueueFull,
    /// The dial that the caller would have been served by failed.
    Dial(DialError),
    /// The caller waited for as long as it may.
    Timeout(WaitedFor),
}

/// What a caller waited for until its time was over.
#[derive(Debug, Clone)]
pub enum WaitedFor {
    /// For one of the origin's connections, all of which were in use.
    Connection,
    /// For a dial; with what the origin's last dial failed of, if one did.
    Dial(Option<DialError>),
    /// For room under the limit of connections in all.
    TotalLimit,
}

/// Why a dial failed: the application's error, shared by all who waited for it.
#[derive(Clone)]
pub struct DialError(Option<Arc<dyn Error + Send + Sync>>);

impl DialError {
    /// A dial that failed of `error`.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Some(Arc::from(error.into())))
    }

    /// A connection that ended before it served anything.
    pub(crate) const fn ended_unused() -> Self {
        Self(None)
    }
}

impl fmt::Debug for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(error) => f.debug_tuple("DialError").field(error).finish(),
            None => f.write_str("DialError(EndedUnused)"),
        }
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Some(_) => "the connection could not be established",
            None => "the connection was closed before it was used",
        })
    }
}

impl Error for DialError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Some(error) => Some(&**error),
            None => None,
        }
    }
}

impl fmt::Display for CheckoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Draining => "the pool is draining",
            Self::UnknownOrigin => "the pool does not know the origin",
            Self::QueueFull => "too many callers wait for a connection",
            Self::Dial(_) => "no connection could be had",
            Self::Timeout(WaitedFor::Connection) => "timed out waiting for a free connection",
            Self::Timeout(WaitedFor::Dial(_)) => "timed out waiting for a new connection",
            Self::Timeout(WaitedFor::TotalLimit) => {
                "timed out waiting for room under the limit of connections"
            }
        })
    }
}

impl Error for CheckoutError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Dial(error) | Self::Timeout(WaitedFor::Dial(Some(error))) => Some(error),
            Self::Draining
            | Self::UnknownOrigin
            | Self::QueueFull
            | Self::Timeout(
                WaitedFor::Connection | WaitedFor::Dial(None) | WaitedFor::TotalLimit,
            ) => None,
        }
    }
}
