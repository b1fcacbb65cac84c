//! What people and metrics see of a pool.

use super::action::CloseReason;
use super::conn::{Conn, Load, State};
use super::{Pool, PoolStats, Stats};
use crate::id::{ConnId, OriginId};
use crate::protocol::Protocol;
use crate::time::Instant;

/// A connection as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnView {
    /// Where it is in its life.
    pub state: ConnState,
    /// Streams in use.
    pub streams_in_use: u32,
    /// Exchanges that were granted on it.
    pub grants: u32,
}

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnState {
    /// It is being established.
    Dialing,
    /// Its dial was given up.
    Cancelled,
    /// It can be used.
    Open {
        /// What it speaks.
        protocol: Protocol,
        /// How many streams may be used at once.
        streams: u32,
        /// Since when no stream is in use, if none is.
        idle_since: Option<Instant>,
    },
    /// It takes no new streams.
    Draining {
        /// Why.
        reason: CloseReason,
    },
    /// It is being closed.
    Closing,
    /// It is closed, but for leases that are still out.
    Closed,
}

impl<K> Pool<K> {
    /// What is there now in all, and what has happened since the beginning.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        let waiters = u32::try_from(self.waiters.len()).unwrap_or(u32::MAX);
        PoolStats {
            all: Stats::new(&self.tally, waiters, self.stats.all.counts),
            origins: self.groups.len(),
            ..self.stats
        }
    }

    /// The same of one origin.
    #[must_use]
    pub fn origin_stats(&self, origin: OriginId) -> Option<Stats> {
        let group = self.group(origin)?;
        Some(Stats::new(&group.tally, group.waiters(), group.counts))
    }

    /// All origins, with their statistics. It looks at each: for people and metrics.
    pub fn snapshot(&self) -> impl Iterator<Item = (OriginId, &K, Stats)> {
        self.groups.iter().map(|(id, group)| {
            let stats = Stats::new(&group.tally, group.waiters(), group.counts);
            (OriginId(id), &group.key, stats)
        })
    }

    /// All connections of an origin, the oldest first. It looks at each: for people and metrics.
    pub fn connections(&self, origin: OriginId) -> impl Iterator<Item = (ConnId, ConnView)> {
        let members = self.members(origin).into_iter();
        members.filter_map(|id| Some((id, view(self.conns.get(id.0)?))))
    }
}

fn view(conn: &Conn) -> ConnView {
    let state = match conn.state {
        State::Dialing => ConnState::Dialing,
        State::Cancelled => ConnState::Cancelled,
        State::Open(open) => ConnState::Open {
            protocol: open.protocol,
            streams: open.streams,
            idle_since: match open.load {
                Load::Idle(idle) => Some(idle.since),
                Load::InUse(_) => None,
            },
        },
        State::Draining { reason, .. } => ConnState::Draining { reason },
        State::Closing { .. } => ConnState::Closing,
        State::Closed { .. } => ConnState::Closed,
    };
    ConnView { state, streams_in_use: conn.leases(), grants: conn.grants }
}
