//! The connections and callers of one origin, and how many dials they ask for.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::action::DialError;
use super::config::{OriginConfig, Protocols};
use super::conn::{Conn, Kind};
use super::stats::{Counts, Tally};
use super::waiters::{Queue, Waiter};
use crate::id::{ConnId, Slab, WaiterId};
use crate::list::List;
use crate::protocol::Protocol;
use crate::time::Instant;

/// The bookkeeping of one origin.
#[derive(Debug)]
pub(crate) struct Group<K> {
    pub(crate) key: K,
    pub(crate) config: Arc<OriginConfig>,
    pub(crate) tally: Tally,
    pub(crate) counts: Counts,
    /// All its connections.
    pub(crate) members: List,
    /// Idle HTTP/1.1 connections that have served, the least recently used one at the front.
    pub(crate) idle: List,
    /// Idle HTTP/1.1 connections that have not served, the oldest at the front.
    pub(crate) unused: List,
    /// Open HTTP/2 connections: few, by `max_http2_connections`.
    pub(crate) shared: Vec<ConnId>,
    /// Callers that take any connection.
    pub(crate) queue: Queue,
    /// Callers that take none that has served.
    pub(crate) fresh: Queue,
    /// The protocol that the last connection spoke.
    pub(crate) learned: Option<Protocol>,
    /// Streams to expect of a new connection: what the last one gave, at least 1.
    pub(crate) expected: u32,
    pub(crate) probe: Option<Box<Probe>>,
    pub(crate) trouble: Option<Box<Trouble>>,
    /// Dials that a prewarm has still to begin.
    pub(crate) prewarm: u32,
    /// Its place in the order of waiting for room under the total limit: the ticket of its first
    /// caller.
    pub(crate) starved: Option<u64>,
    /// The lists of its callers' deadlines and of its idle connections.
    pub(crate) waiter_list: u8,
    pub(crate) idle_list: u8,
}

/// A dial that goes alone, to learn the protocol.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) conn: ConnId,
    /// When others may be dialed beside it: after a time without progress, and at the latest at `limit`.
    pub(crate) until: Option<Instant>,
    pub(crate) limit: Option<Instant>,
}

/// What is known of an origin that failed of late.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    /// Failed dials in a row.
    pub(crate) failures: u32,
    /// Failures before a dial that succeeded, until its connection has served.
    pub(crate) doubtful: u32,
    /// Dials for the minimum that came to nothing.
    pub(crate) refills: u32,
    pub(crate) error: Option<DialError>,
    /// Until when no caller's dial begins.
    pub(crate) backoff: Option<Instant>,
    /// Until when no dial for the minimum begins.
    pub(crate) refill: Option<Instant>,
}

/// How many dials are wanted, and what stands against more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) dials: u32,
    /// Whether the dial is a protocol probe.
    pub(crate) probe: bool,
    /// Whether the limit of the origin's connections stands against more.
    pub(crate) limited: bool,
}

impl<K> Group<K> {
    pub(crate) fn new(key: K, config: Arc<OriginConfig>, waiter_list: u8, idle_list: u8) -> Self {
        Self {
            key,
            config,
            tally: Tally::default(),
            counts: Counts::default(),
            members: List::default(),
            idle: List::default(),
            unused: List::default(),
            shared: Vec::new(),
            queue: Queue::default(),
            fresh: Queue::default(),
            learned: None,
            expected: 1,
            probe: None,
            trouble: None,
            prewarm: 0,
            starved: None,
            waiter_list,
            idle_list,
        }
    }

    pub(crate) fn waiters(&self) -> u32 {
        self.queue.len() + self.fresh.len()
    }

    /// Whether it holds nothing that must not be forgotten.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiters() == 0 && self.members.front().is_none()
    }

    pub(crate) fn queue_mut(&mut self, fresh: bool) -> &mut Queue {
        if fresh { &mut self.fresh } else { &mut self.queue }
    }

    /// The caller that has waited for the longest.
    pub(crate) fn first_waiter(&self, waiters: &Slab<Waiter>) -> Option<(u64, WaiterId)> {
        match (self.queue.front(waiters), self.fresh.front(waiters)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, None) | (None, one) => one,
        }
    }

    /// The connection that a caller is given: of HTTP/2 the busiest with a free stream, of HTTP/1.1 the
    /// most recently used.
    #[inline]
    pub(crate) fn pick(&self, conns: &Slab<Conn>, fresh: bool) -> Option<ConnId> {
        let mut busiest: Option<(u32, ConnId)> = None;
        for id in &self.shared {
            if let Some(conn) = conns.get(id.0)
                && conn.free_streams() > 0
                && !(fresh && conn.served)
                && busiest.is_none_or(|(leases, _)| leases < conn.leases())
            {
                busiest = Some((conn.leases(), *id));
            }
        }
        if let Some((_, id)) = busiest {
            return Some(id);
        }
        let served = if fresh { None } else { self.idle.back() };
        served.or_else(|| self.unused.back()).map(ConnId)
    }

    /// The connection that has been idle for the longest.
    pub(crate) fn oldest_idle(&self, conns: &Slab<Conn>) -> Option<ConnId> {
        let lists = [self.idle.front().map(ConnId), self.unused.front().map(ConnId)];
        let all = lists.into_iter().flatten().chain(self.shared.iter().copied());
        all.filter_map(|id| Some((conns.get(id.0)?.facets().idle?.since, id)))
            .min()
            .map(|(_, id)| id)
    }

    /// The open HTTP/2 connection in use with the fewest streams in use.
    pub(crate) fn least_used(&self, conns: &Slab<Conn>) -> Option<ConnId> {
        let used = self.shared.iter().filter_map(|id| Some((conns.get(id.0)?.leases(), *id)));
        used.filter(|(leases, _)| *leases > 0).min().map(|(_, id)| id)
    }

    pub(crate) fn may_be_http2(&self) -> bool {
        match self.config.protocols {
            Protocols::Http1 => false,
            Protocols::Http2 => true,
            Protocols::Negotiated => match self.learned {
                None | Some(Protocol::Http2) => true,
                Some(Protocol::Http1 | Protocol::Http1Proxy) => false,
            },
        }
    }

    pub(crate) fn is_http2(&self) -> bool {
        match self.config.protocols {
            Protocols::Http1 => false,
            Protocols::Http2 => true,
            Protocols::Negotiated => self.learned == Some(Protocol::Http2),
        }
    }

    /// How many more connections the origin's limits allow. Each that goes away may be replaced.
    pub(crate) fn headroom(&self) -> u32 {
        let going = self.tally.of(Kind::GoingAway);
        let room = |limit: u32| {
            let limit = limit.max(1);
            limit.saturating_add(going.min(limit)).saturating_sub(self.tally.counted())
        };
        let http1 = room(self.config.max_connections);
        if self.is_http2() { http1.min(room(self.config.max_http2_connections)) } else { http1 }
    }

    /// Dials under way for callers: connections that allow no streams yet are among them.
    fn under_way(&self) -> u32 {
        self.tally.of(Kind::Dialing) + self.tally.for_streams
    }

    /// Whether dials fail, so that one at a time is tried.
    pub(crate) fn is_failing(&self) -> bool {
        match (&self.config.backoff, &self.trouble) {
            (Some(backoff), Some(trouble)) => trouble.failures >= backoff.after.max(1),
            (None, _) | (_, None) => false,
        }
    }

    /// How many dials the callers ask for beyond those under way.
    pub(crate) fn wanted(&self) -> Wanted {
        let none = Wanted { dials: 0, probe: false, limited: false };
        let is_backing_off = self.trouble.as_ref().is_some_and(|trouble| trouble.backoff.is_some());
        if self.waiters() == 0
            || self.probe.is_some()
            || self.tally.for_settings > 0
            || is_backing_off
        {
            return none;
        }
        let mut dials = self.waiters().div_ceil(self.expected).saturating_sub(self.under_way());
        dials =
            dials.min(self.config.max_dialing.max(1).saturating_sub(self.tally.of(Kind::Dialing)));
        if self.is_failing() {
            dials = dials.min(1_u32.saturating_sub(self.tally.of(Kind::Dialing)));
        }
        let probe =
            self.may_be_http2() && self.tally.open() == 0 && self.tally.of(Kind::Dialing) == 0;
        if probe {
            dials = dials.min(1);
        }
        let headroom = self.headroom();
        Wanted { dials: dials.min(headroom), probe, limited: dials > headroom }
    }

    /// How many dials the minimum and a prewarm ask for. They never count while callers wait.
    pub(crate) fn wanted_spare(&self) -> u32 {
        if self.config.min_idle == 0 && self.prewarm == 0 {
            return 0;
        }
        let is_pausing = self
            .trouble
            .as_ref()
            .is_some_and(|trouble| trouble.refill.is_some() || trouble.backoff.is_some());
        if self.waiters() > 0 || is_pausing {
            return 0;
        }
        let dialing = self.tally.of(Kind::Dialing);
        let spare = if self.is_http2() {
            // One HTTP/2 connection serves many, also while it is in use.
            let minimum = self.min_idle().max(self.prewarm.min(1));
            minimum.saturating_sub(self.tally.open() + dialing)
        } else {
            let minimum = self.min_idle().saturating_sub(self.tally.of(Kind::Idle) + dialing);
            minimum.max(self.prewarm)
        };
        // The first dial goes alone while it may bring HTTP/2.
        let alone = self.may_be_http2() && self.learned.is_none();
        let spare = if alone {
            spare.min(1_u32.saturating_sub(self.tally.open() + dialing))
        } else {
            spare
        };
        let at_once = if self.is_failing() { 1 } else { self.config.max_dialing.max(1) };
        spare.min(at_once.saturating_sub(dialing)).min(self.headroom())
    }

    /// How many idle connections are exempt from the idle timeout.
    pub(crate) fn min_idle(&self) -> u32 {
        let minimum = self.config.min_idle.min(self.config.max_idle);
        if self.is_http2() { minimum.min(1) } else { minimum }
    }

    /// How many callers a failed dial fails, once it counts no more; `room` is what the total limit
    /// leaves. A probe fails those whose dials it held back.
    pub(crate) fn failed_by_dial(&self, was_probe: bool, room: u32) -> u32 {
        if was_probe {
            let dials = self.waiters().div_ceil(self.expected);
            let held = dials.min(self.config.max_dialing).min(self.headroom()).min(room).max(1);
            return held.saturating_mul(self.expected).min(self.waiters());
        }
        let served = self.under_way().saturating_mul(self.expected);
        self.waiters().saturating_sub(served).min(self.expected)
    }

    pub(crate) fn last_error(&self) -> Option<&DialError> {
        self.trouble.as_ref().and_then(|trouble| trouble.error.as_ref())
    }
}
