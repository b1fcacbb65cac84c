//! The one way in which a connection changes: all counters and lists follow from what differs.

use super::Pool;
use super::action::{Action, CloseReason};
use super::conn::{Conn, Facets, Idle, Kind, Load, Patience, State};
use super::deadlines::Timer;
use super::event::Event;
use crate::id::{ConnId, OriginId};
use crate::protocol::Protocol;

impl<K> Pool<K> {
    /// A new connection, dialing.
    pub(super) fn insert_conn(&mut self, origin: OriginId) -> ConnId {
        let conn = Conn::dialing(origin);
        let facets = conn.facets();
        let id = ConnId(self.conns.insert(conn));
        self.tally.add(&facets);
        if let Some(group) = self.groups.get_mut(origin.0) {
            group.tally.add(&facets);
            group.members.push_back(&mut self.conns, id.0, |conn| &mut conn.member);
        }
        id
    }

    /// Changes a connection, and moves what is counted of it.
    pub(super) fn update<R>(
        &mut self,
        id: ConnId,
        change: impl FnOnce(&mut Conn) -> R,
    ) -> Option<R> {
        let conn = self.conns.get_mut(id.0)?;
        let before = conn.facets();
        let result = change(conn);
        let after = conn.facets();
        let (origin, served) = (conn.origin, conn.served);
        self.tally.subtract(&before);
        self.tally.add(&after);
        if let Some(group) = self.groups.get_mut(origin.0) {
            group.tally.subtract(&before);
            group.tally.add(&after);
            match (before.shared, after.shared) {
                (false, true) => group.shared.push(id),
                (true, false) => group.shared.retain(|other| *other != id),
                (false, false) | (true, true) => {}
            }
        }
        self.move_idle(id, origin, &before, &after, served);
        Some(result)
    }

    /// Takes a connection out of, or into, the lists of idle ones.
    fn move_idle(
        &mut self,
        id: ConnId,
        origin: OriginId,
        before: &Facets,
        after: &Facets,
        served: bool,
    ) {
        match (before.idle, after.idle) {
            (None, Some(idle)) => {
                self.deadlines.push_idle(&mut self.conns, id, idle.list, idle.since);
                self.deadlines.set(idle.until, Timer::Idle(id));
                if !after.shared
                    && let Some(group) = self.groups.get_mut(origin.0)
                {
                    let list = if served { &mut group.idle } else { &mut group.unused };
                    list.push_back(&mut self.conns, id.0, |conn| &mut conn.idle);
                }
            }
            (Some(idle), None) => {
                if let Some(list) = self.deadlines.idle.get_mut(idle.list) {
                    list.remove(&mut self.conns, id.0, |conn| &mut conn.timeout);
                }
                self.deadlines.unset(idle.until, Timer::Idle(id));
                if !before.shared
                    && let Some(group) = self.groups.get_mut(origin.0)
                {
                    let list = if served { &mut group.idle } else { &mut group.unused };
                    list.remove(&mut self.conns, id.0, |conn| &mut conn.idle);
                }
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
    }

    /// Keeps an idle connection although its time is over.
    pub(super) fn mark_overdue(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(id.0) else { return };
        let State::Open(open) = &mut conn.state else { return };
        let Load::Idle(idle) = &mut open.load else { return };
        let since = idle.since;
        // The server's hint still holds.
        let until = if idle.hinted { idle.until } else { None };
        let kept = Idle { list: 0, until, overdue: true, ..*idle };
        let before = core::mem::replace(idle, kept);
        if let Some(list) = self.deadlines.idle.get_mut(before.list) {
            list.remove(&mut self.conns, id.0, |conn| &mut conn.timeout);
        }
        if !before.hinted {
            self.deadlines.unset(before.until, Timer::Idle(id));
        }
        self.deadlines.push_idle(&mut self.conns, id, 0, since);
    }

    /// No new streams: closes at once if none is in use. Nothing happens to one that is not open.
    pub(super) fn drain_conn(&mut self, id: ConnId, reason: CloseReason) {
        let Some(open) = self.conns.get(id.0).and_then(Conn::as_open) else { return };
        self.forget_patience(id, open.patience);
        self.update(id, |conn| conn.drain(reason));
        self.close_if_ended(id);
    }

    /// Closes a draining connection without streams in use.
    pub(super) fn close_if_ended(&mut self, id: ConnId) {
        if let Some(Conn { state: State::Draining { leases: 0, reason }, .. }) =
            self.conns.get(id.0)
        {
            self.close(id, *reason);
        }
    }

    /// Has a connection closed, whatever runs on it.
    pub(super) fn close(&mut self, id: ConnId, reason: CloseReason) {
        let Some(conn) = self.conns.get(id.0) else { return };
        if let Some(open) = conn.as_open() {
            self.forget_patience(id, open.patience);
        }
        self.update(id, Conn::close);
        if let Some(count) = CloseReason::ALL
            .iter()
            .position(|other| *other == reason)
            .and_then(|index| self.stats.closes.get_mut(index))
        {
            *count += 1;
        }
        self.actions.push_back(Action::Close { conn: id, reason });
        self.event(|| Event::Closed { conn: id, reason });
    }

    /// Forgets a connection that is no more.
    pub(super) fn remove_conn(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get(id.0) else { return };
        let (origin, expires) = (conn.origin, conn.expires);
        self.deadlines.unset(expires, Timer::Lifetime(id));
        // Closed, it is in no list but its group's.
        self.update(id, Conn::closed);
        let facets = match self.conns.get(id.0) {
            Some(conn) => conn.facets(),
            None => return,
        };
        self.tally.subtract(&facets);
        if let Some(group) = self.groups.get_mut(origin.0) {
            group.tally.subtract(&facets);
            group.members.remove(&mut self.conns, id.0, |conn| &mut conn.member);
        }
        self.conns.remove(id.0);
    }

    pub(super) fn forget_patience(&mut self, id: ConnId, patience: Patience) {
        match patience {
            Patience::Told => {}
            Patience::FirstSettings { until } | Patience::NoStreams { until } => {
                self.deadlines.unset(until, Timer::Streams(id));
            }
        }
    }

    /// The kind of a connection, if it is there.
    pub(super) fn kind(&self, id: ConnId) -> Option<Kind> {
        self.conns.get(id.0).map(|conn| conn.facets().kind)
    }

    /// What an origin's connections speak, as far as it is known.
    pub(super) fn learn(&mut self, origin: OriginId, protocol: Protocol) {
        if let Some(group) = self.groups.get_mut(origin.0) {
            group.learned = Some(protocol);
            match protocol {
                Protocol::Http1 | Protocol::Http1Proxy => group.expected = 1,
                Protocol::Http2 => {}
            }
        }
    }
}
