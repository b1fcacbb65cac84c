//! Counters of a pool and of its origins.

use super::action::CLOSE_REASONS;
use super::conn::{Facets, KINDS, Kind, Waits};

/// Connections by state, streams and callers: what is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    kinds: [u32; KINDS],
    pub(crate) leases: u32,
    pub(crate) for_settings: u32,
    pub(crate) for_streams: u32,
}

impl Tally {
    pub(crate) fn of(&self, kind: Kind) -> u32 {
        let index = index(kind);
        self.kinds.get(index).copied().unwrap_or(0)
    }

    /// Connections that count against the limits: all that have, or will have, a socket of their own.
    /// What is being closed is not among them: it is closed before the next dial begins.
    pub(crate) fn counted(&self) -> u32 {
        self.of(Kind::Dialing) + self.open() + self.draining()
    }

    pub(crate) fn open(&self) -> u32 {
        self.of(Kind::Pending) + self.of(Kind::Idle) + self.of(Kind::InUse)
    }

    pub(crate) fn draining(&self) -> u32 {
        self.of(Kind::Draining) + self.of(Kind::GoingAway) + self.of(Kind::MakingRoom)
    }

    /// Whether no connection is left but such as were reported closed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.counted() + self.of(Kind::Cancelled) + self.of(Kind::Closing) == 0
    }

    pub(crate) fn add(&mut self, facets: &Facets) {
        if let Some(count) = self.kinds.get_mut(index(facets.kind)) {
            *count += 1;
        }
        self.leases += facets.leases;
        match facets.waits {
            Waits::No => {}
            Waits::ForSettings => self.for_settings += 1,
            Waits::ForStreams => self.for_streams += 1,
        }
    }

    pub(crate) fn subtract(&mut self, facets: &Facets) {
        if let Some(count) = self.kinds.get_mut(index(facets.kind)) {
            *count -= 1;
        }
        self.leases -= facets.leases;
        match facets.waits {
            Waits::No => {}
            Waits::ForSettings => self.for_settings -= 1,
            Waits::ForStreams => self.for_streams -= 1,
        }
    }
}

fn index(kind: Kind) -> usize {
    match kind {
        Kind::Dialing => 0,
        Kind::Cancelled => 1,
        Kind::Pending => 2,
        Kind::Idle => 3,
        Kind::InUse => 4,
        Kind::Draining => 5,
        Kind::GoingAway => 6,
        Kind::MakingRoom => 7,
        Kind::Closing => 8,
        Kind::Closed => 9,
    }
}

/// What has happened since the beginning, of one origin or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Dials begun.
    pub dials: u64,
    /// Dials that failed, and connections that ended before they served anything.
    pub failed_dials: u64,
    /// Leases granted.
    pub grants: u64,
    /// Of these, on connections that had served before.
    pub reuses: u64,
    /// Callers that had to wait.
    pub waits: u64,
    /// Callers that were refused at once.
    pub refusals: u64,
    /// Callers that waited until their deadline.
    pub timeouts: u64,
    /// Callers that gave up.
    pub cancels: u64,
}

/// What is there now, and what has happened since the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Connections being established, among them HTTP/2 ones that allow no streams yet.
    pub dialing: u32,
    /// Connections without a stream in use.
    pub idle: u32,
    /// Connections with streams in use.
    pub in_use: u32,
    /// Connections that take no new streams.
    pub draining: u32,
    /// Connections being closed, and dials that were given up.
    pub closing: u32,
    /// Streams in use.
    pub streams: u32,
    /// Callers that wait.
    pub waiters: u32,
    /// What has happened.
    pub counts: Counts,
}

impl Stats {
    pub(crate) fn new(tally: &Tally, waiters: u32, counts: Counts) -> Self {
        Self {
            dialing: tally.of(Kind::Dialing) + tally.of(Kind::Pending),
            idle: tally.of(Kind::Idle),
            in_use: tally.of(Kind::InUse),
            draining: tally.draining(),
            closing: tally.of(Kind::Closing) + tally.of(Kind::Cancelled),
            streams: tally.leases,
            waiters,
            counts,
        }
    }
}

/// [`Stats`] of a whole pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// All origins together.
    pub all: Stats,
    /// Origins known.
    pub origins: usize,
    /// Closed connections by reason, in the order of [`CloseReason::ALL`](super::CloseReason::ALL).
    pub closes: [u64; CLOSE_REASONS],
    /// Connections that their peers closed, or that broke.
    pub closes_by_peer: u64,
    /// Facts about connections that were gone, or that did not fit their state.
    pub ignored_facts: u64,
}
