//! One connection: the states it goes through.
//!
//! ```text
//! Dialing ──► Open ──► Draining ──► Closing ──► (gone)
//!    │         │ └───────────────────▲ ▲           ▲
//!    └► Cancelled ───────────────────┼─┘           │
//!              └─────────────────────┴── closed ───┘
//! ```
//!
//! Transitions are made here and nowhere else. A connection that was closed while streams were leased
//! is [`State::Closed`] until the leases are back, and counts no more.

use super::action::CloseReason;
use crate::id::OriginId;
use crate::list::Links;
use crate::protocol::Protocol;
use crate::time::Instant;

/// A connection, from its dial on.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) origin: OriginId,
    pub(crate) state: State,
    /// Whether a lease came back after use.
    pub(crate) served: bool,
    /// Whether its end is accounted for: counted as a failed dial, or known to be none.
    pub(crate) accounted: bool,
    /// Exchanges granted.
    pub(crate) grants: u32,
    /// Until when its server keeps it while it is idle, as far as the server has told.
    pub(crate) hint: Option<Instant>,
    /// The end of its lifetime.
    pub(crate) expires: Option<Instant>,
    /// Its place among the connections of its origin.
    pub(crate) member: Links,
    /// Its place among the idle HTTP/1.1 connections of its origin.
    pub(crate) idle: Links,
    /// Its place among the idle connections of all origins with the same idle timeout.
    pub(crate) timeout: Links,
}

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy)]
pub(crate) enum State {
    Dialing,
    /// Given up; its answer is awaited.
    Cancelled,
    Open(Open),
    /// No new streams; closes when the running ones have ended.
    Draining {
        leases: u32,
        reason: CloseReason,
    },
    /// To be closed by the adapter, whose answer is awaited.
    Closing {
        leases: u32,
    },
    /// Closed, with leases that have not come back.
    Closed {
        leases: u32,
    },
}

/// A connection that can be used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) protocol: Protocol,
    /// How many streams may be used at once.
    pub(crate) streams: u32,
    pub(crate) patience: Patience,
    pub(crate) load: Load,
}

/// What is expected of an HTTP/2 connection's stream limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// The peer has told its limit, or there is none to tell.
    Told,
    /// The peer's first SETTINGS are awaited until then.
    FirstSettings { until: Option<Instant> },
    /// The peer allows no streams, and may change that until then.
    NoStreams { until: Option<Instant> },
}

/// Whether streams are in use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Load {
    Idle(Idle),
    /// At least one.
    InUse(u32),
}

/// What is kept of an idle connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle {
    pub(crate) since: Instant,
    /// The list of idle connections in which it is.
    pub(crate) list: u8,
    /// A deadline of its own, apart from that list's duration.
    pub(crate) until: Option<Instant>,
    /// Whether that deadline is the server's, which nothing extends.
    pub(crate) hinted: bool,
    /// Whether its time is over, and it is kept since the minimum asks for it.
    pub(crate) overdue: bool,
}

/// What is counted of a connection. All counters and lists follow from the difference of two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facets {
    pub(crate) kind: Kind,
    pub(crate) leases: u32,
    pub(crate) idle: Option<Idle>,
    pub(crate) waits: Waits,
    /// Whether it is an open HTTP/2 connection.
    pub(crate) shared: bool,
}

/// The states as they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Dialing,
    Cancelled,
    /// Open, but its peer allows no streams: as good as dialing.
    Pending,
    Idle,
    InUse,
    Draining,
    /// Draining because of GOAWAY.
    GoingAway,
    /// Draining to make room for another origin.
    MakingRoom,
    Closing,
    Closed,
}

/// How many [`Kind`]s there are.
pub(crate) const KINDS: usize = 10;

/// [`Patience`] as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    No,
    ForSettings,
    ForStreams,
}

impl Conn {
    pub(crate) fn dialing(origin: OriginId) -> Self {
        let (member, idle, timeout) = Default::default();
        Self {
            origin,
            state: State::Dialing,
            served: false,
            accounted: false,
            grants: 0,
            hint: None,
            expires: None,
            member,
            idle,
            timeout,
        }
    }

    pub(crate) fn facets(&self) -> Facets {
        let kind = match &self.state {
            State::Dialing => Kind::Dialing,
            State::Cancelled => Kind::Cancelled,
            State::Open(Open { load: Load::Idle(_), streams: 0, .. }) => Kind::Pending,
            State::Open(Open { load: Load::Idle(_), .. }) => Kind::Idle,
            State::Open(Open { load: Load::InUse(_), .. }) => Kind::InUse,
            State::Draining { reason: CloseReason::GoAway, .. } => Kind::GoingAway,
            State::Draining { reason: CloseReason::MakeRoom, .. } => Kind::MakingRoom,
            State::Draining { .. } => Kind::Draining,
            State::Closing { .. } => Kind::Closing,
            State::Closed { .. } => Kind::Closed,
        };
        let (idle, waits, shared) = match &self.state {
            State::Open(open) => (
                match open.load {
                    Load::Idle(idle) if open.streams > 0 => Some(idle),
                    Load::Idle(_) | Load::InUse(_) => None,
                },
                match open.patience {
                    Patience::Told => Waits::No,
                    // One that has served tells no more than it has shown.
                    Patience::FirstSettings { .. } if self.served => Waits::No,
                    Patience::FirstSettings { .. } => Waits::ForSettings,
                    Patience::NoStreams { .. } => Waits::ForStreams,
                },
                open.protocol == Protocol::Http2,
            ),
            State::Dialing
            | State::Cancelled
            | State::Draining { .. }
            | State::Closing { .. }
            | State::Closed { .. } => (None, Waits::No, false),
        };
        Facets { kind, leases: self.leases(), idle, waits, shared }
    }

    /// How many streams are leased.
    pub(crate) fn leases(&self) -> u32 {
        match self.state {
            State::Dialing | State::Cancelled => 0,
            State::Open(Open { load: Load::Idle(_), .. }) => 0,
            State::Open(Open { load: Load::InUse(leases), .. })
            | State::Draining { leases, .. }
            | State::Closing { leases }
            | State::Closed { leases } => leases,
        }
    }

    /// How many more streams may be leased.
    #[inline]
    pub(crate) fn free_streams(&self) -> u32 {
        match &self.state {
            State::Open(open) => match open.load {
                Load::Idle(_) => open.streams,
                Load::InUse(leases) => open.streams.saturating_sub(leases),
            },
            State::Dialing
            | State::Cancelled
            | State::Draining { .. }
            | State::Closing { .. }
            | State::Closed { .. } => 0,
        }
    }

    pub(crate) fn as_open(&self) -> Option<&Open> {
        match &self.state {
            State::Open(open) => Some(open),
            State::Dialing
            | State::Cancelled
            | State::Draining { .. }
            | State::Closing { .. }
            | State::Closed { .. } => None,
        }
    }

    /// Leases a stream, of which one must be free. With `max_requests` reached it drains.
    pub(crate) fn lease(&mut self, max_requests: Option<u32>) {
        let leases = self.leases().saturating_add(1);
        self.grants = self.grants.saturating_add(1);
        if max_requests.is_some_and(|most| self.grants >= most) {
            self.state = State::Draining { leases, reason: CloseReason::MaxRequests };
        } else if let State::Open(open) = &mut self.state {
            open.load = Load::InUse(leases);
        }
    }

    /// Takes a lease back, in whatever state. An open connection without others is idle as `idle` says.
    pub(crate) fn release(&mut self, idle: Idle) {
        match &mut self.state {
            State::Open(Open { load, .. }) => {
                *load = match *load {
                    Load::InUse(leases) if leases > 1 => Load::InUse(leases - 1),
                    Load::InUse(_) => Load::Idle(idle),
                    already @ Load::Idle(_) => already,
                };
            }
            State::Draining { leases, .. }
            | State::Closing { leases }
            | State::Closed { leases } => {
                *leases = leases.saturating_sub(1);
            }
            State::Dialing | State::Cancelled => {}
        }
    }

    /// Is given up before it was established.
    pub(crate) fn cancel(&mut self) {
        if let State::Dialing = self.state {
            self.state = State::Cancelled;
        }
    }

    /// Is established.
    pub(crate) fn open(&mut self, open: Open) {
        if let State::Dialing = self.state {
            self.state = State::Open(open);
        }
    }

    /// May be used for this many streams.
    pub(crate) fn allow(&mut self, streams: u32, patience: Patience) {
        if let State::Open(open) = &mut self.state {
            open.streams = streams;
            open.patience = patience;
        }
    }

    /// One that allowed no stream is idle only from now on.
    pub(crate) fn begin_idle(&mut self, from_now: Idle) {
        if let State::Open(Open { load: Load::Idle(idle), streams: 0, .. }) = &mut self.state {
            *idle = from_now;
        }
    }

    /// Is closed.
    pub(crate) fn closed(&mut self) {
        self.state = State::Closed { leases: self.leases() };
    }

    /// Takes no new streams from now on.
    pub(crate) fn drain(&mut self, reason: CloseReason) {
        if let State::Open(_) = self.state {
            self.accounted |= reason != CloseReason::Unusable;
            self.state = State::Draining { leases: self.leases(), reason };
        }
    }

    /// Is to be closed by the adapter.
    pub(crate) fn close(&mut self) {
        self.accounted = true;
        self.state = State::Closing { leases: self.leases() };
    }
}
