//! When something is due: lists for the durations that many share, and an ordered set for the rest.
//!
//! What begins later with the same duration ends later, so that a list for each duration is born
//! sorted. Only so many durations have a list; others, and deadlines of no common duration (a server's
//! hint, a jittered lifetime, a caller that came back), are kept in order.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::conn::Conn;
use super::waiters::Waiter;
use crate::id::{ConnId, OriginId, RawId, Slab, WaiterId};
use crate::list::List;
use crate::time::{Duration, Instant};

/// How many durations have a list: more would make finding the next deadline slow.
const MAX_LISTS: usize = 8;

/// What an irregular deadline is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A caller's time to wait.
    Waiter(WaiterId),
    /// An idle connection.
    Idle(ConnId),
    /// A connection's lifetime.
    Lifetime(ConnId),
    /// The patience with a connection that allows no streams.
    Streams(ConnId),
    /// The patience with a protocol probe.
    Probe(OriginId),
    /// The pause before another dial for callers.
    Backoff(OriginId),
    /// The pause before another dial for the minimum.
    Refill(OriginId),
}

/// Lists of one kind of thing, by duration.
#[derive(Debug)]
pub(crate) struct Lists {
    lists: Vec<(Option<Duration>, List)>,
}

impl Lists {
    pub(crate) fn new() -> Self {
        // The first list is for what never ends by itself, or has its deadline elsewhere.
        Self { lists: Vec::from([(None, List::default())]) }
    }

    /// The list of `duration`, or the first one if there are too many durations.
    pub(crate) fn index(&mut self, duration: Option<Duration>) -> u8 {
        let found = self.lists.iter().position(|(other, _)| *other == duration);
        let index = found.unwrap_or_else(|| {
            if self.lists.len() >= MAX_LISTS {
                return 0;
            }
            self.lists.push((duration, List::default()));
            self.lists.len() - 1
        });
        u8::try_from(index).unwrap_or(0)
    }

    pub(crate) fn get_mut(&mut self, index: u8) -> Option<&mut List> {
        self.lists.get_mut(usize::from(index)).map(|(_, list)| list)
    }

    /// The earliest deadline of all lists, where `begin` tells when something's time began.
    pub(crate) fn next(
        &self,
        begin: impl Fn(RawId) -> Option<Instant>,
    ) -> Option<(Instant, RawId)> {
        let fronts = self.lists.iter().filter_map(|(duration, list)| {
            let id = list.front()?;
            Some((begin(id)?.checked_add((*duration)?)?, id))
        });
        fronts.min()
    }

    /// What has been in one of the lists for the longest.
    pub(crate) fn oldest(&self, begin: impl Fn(RawId) -> Option<Instant>) -> Option<RawId> {
        let fronts = self.lists.iter().filter_map(|(_, list)| list.front());
        fronts.filter_map(|id| Some((begin(id)?, id))).min().map(|(_, id)| id)
    }
}

/// All deadlines of a pool.
#[derive(Debug)]
pub(crate) struct Deadlines {
    pub(crate) waiters: Lists,
    pub(crate) idle: Lists,
    others: BTreeSet<(Instant, Timer)>,
    /// Nothing is due before: so that most calls need not look for what is.
    pub(crate) soonest: Option<Instant>,
}

impl Deadlines {
    pub(crate) fn new() -> Self {
        Self { waiters: Lists::new(), idle: Lists::new(), others: BTreeSet::new(), soonest: None }
    }

    /// Sets a deadline; one that is never is none.
    pub(crate) fn set(&mut self, deadline: Option<Instant>, timer: Timer) {
        if let Some(deadline) = deadline {
            self.others.insert((deadline, timer));
        }
        self.note(deadline);
    }

    /// Something is due at `deadline`.
    #[inline]
    pub(crate) fn note(&mut self, deadline: Option<Instant>) {
        self.soonest = match (self.soonest, deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, None) | (None, one) => one,
        };
    }

    /// Puts a connection that is idle since `since` into the list `index`.
    pub(crate) fn push_idle(
        &mut self,
        conns: &mut Slab<Conn>,
        id: ConnId,
        index: u8,
        since: Instant,
    ) {
        let Some((duration, list)) = self.idle.lists.get_mut(usize::from(index)) else { return };
        // Behind others it is not the first to be due.
        let is_first = list.front().is_none();
        list.push_back(conns, id.0, |conn| &mut conn.timeout);
        if is_first {
            let deadline = duration.and_then(|duration| since.checked_add(duration));
            self.note(deadline);
        }
    }

    pub(crate) fn unset(&mut self, deadline: Option<Instant>, timer: Timer) {
        if let Some(deadline) = deadline {
            self.others.remove(&(deadline, timer));
        }
    }

    /// The next deadline, and what it is about.
    #[inline]
    pub(crate) fn next(
        &self,
        conns: &Slab<Conn>,
        waiters: &Slab<Waiter>,
    ) -> Option<(Instant, Timer)> {
        let waiter = self.waiters.next(|id| waiters.get(id).map(|waiter| waiter.claim.since));
        let idle = self.idle.next(|id| conns.get(id)?.facets().idle.map(|idle| idle.since));
        let other = self.others.first().copied();
        [
            waiter.map(|(deadline, id)| (deadline, Timer::Waiter(WaiterId(id)))),
            idle.map(|(deadline, id)| (deadline, Timer::Idle(ConnId(id)))),
            other,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The connection that has been idle for the longest.
    pub(crate) fn oldest_idle(&self, conns: &Slab<Conn>) -> Option<ConnId> {
        self.idle.oldest(|id| conns.get(id)?.facets().idle.map(|idle| idle.since)).map(ConnId)
    }
}
