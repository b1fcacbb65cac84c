//! Counters and lists, counted again: in debug builds, while there is little to count.

use super::Pool;
use super::conn::Conn;
use super::stats::Tally;
use crate::id::{ConnId, OriginId};

/// With more connections or callers, counting at each step would make debug builds useless.
const FEW: usize = 64;

impl<K> Pool<K> {
    /// # Panics
    ///
    /// Where a counter or a list is wrong.
    pub(super) fn recount(&self, origin: OriginId) {
        if self.conns.len() > FEW || self.waiters.len() > FEW {
            return;
        }
        assert_eq!(
            self.tally,
            tally(&mut self.conns.iter().map(|(_, conn)| conn)),
            "of all origins"
        );
        let Some(group) = self.group(origin) else { return };
        let own = || self.conns.iter().filter(|(_, conn)| conn.origin == origin);
        assert_eq!(group.tally, tally(&mut own().map(|(_, conn)| conn)), "of an origin");
        let shared = own().filter(|(_, conn)| conn.facets().shared).count();
        assert_eq!(group.shared.len(), shared, "open HTTP/2 connections");
        assert!(group.shared.iter().all(|id| self.is_shared(*id)), "one that is not open");
        let members = group.members.ids(&self.conns, |conn| &conn.member);
        assert_eq!(members.count(), own().count(), "members");
        let waiters = self.waiters.iter().filter(|(_, waiter)| waiter.origin == origin).count();
        assert_eq!(usize::try_from(group.waiters()), Ok(waiters), "callers");
        let starved = group.starved.map(|ticket| (ticket, origin));
        assert!(starved.is_none_or(|starved| self.starved.contains(&starved)), "its turn is lost");
        assert!(self.starved.iter().filter(|(_, other)| *other == origin).count() <= 1);
    }

    fn is_shared(&self, id: ConnId) -> bool {
        self.conns.get(id.0).is_some_and(|conn| conn.facets().shared)
    }
}

fn tally(conns: &mut dyn Iterator<Item = &Conn>) -> Tally {
    let mut tally = Tally::default();
    conns.for_each(|conn| tally.add(&conn.facets()));
    tally
}
