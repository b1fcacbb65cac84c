//! Facts of the world about connections.

use super::Pool;
use super::action::{CloseReason, DialError};
use super::config::STREAMS_PATIENCE;
use super::conn::{Conn, Kind, Load, Open, Patience, State};
use super::deadlines::Timer;
use super::dials::Fault;
use super::event::Event;
use crate::backoff::scale;
use crate::id::{ConnId, OriginId};
use crate::protocol::Protocol;
use crate::time::{Duration, Instant};

impl<K> Pool<K> {
    /// A dial succeeded. `streams` is how many the peer of an HTTP/2 connection allows, if it has told;
    /// with HTTP/1.1 it means nothing.
    pub fn handle_dialed(
        &mut self,
        conn: ConnId,
        protocol: Protocol,
        streams: Option<u32>,
        now: Instant,
    ) {
        let now = self.begin(now);
        let Some(Conn { origin, state, .. }) = self.conns.get(conn.0) else {
            return self.ignore();
        };
        let origin = *origin;
        match state {
            State::Dialing => self.opened(conn, origin, protocol, streams, now),
            State::Cancelled => self.close(conn, CloseReason::Surplus),
            State::Open(_)
            | State::Draining { .. }
            | State::Closing { .. }
            | State::Closed { .. } => {
                return self.ignore();
            }
        }
        self.finish(origin, now);
    }

    fn opened(
        &mut self,
        conn: ConnId,
        origin: OriginId,
        protocol: Protocol,
        streams: Option<u32>,
        now: Instant,
    ) {
        if self.is_probe(origin, conn) {
            self.end_probe(origin);
        }
        self.learn(origin, protocol);
        self.doubt(origin);
        let initial = self.group(origin).map_or(1, |group| group.config.initial_streams);
        let patience = now.checked_add(STREAMS_PATIENCE);
        let (streams, patience) = match (protocol, streams) {
            (Protocol::Http1 | Protocol::Http1Proxy, _) => (1, Patience::Told),
            (Protocol::Http2, None) => (initial, Patience::FirstSettings { until: patience }),
            (Protocol::Http2, Some(0)) => (0, Patience::NoStreams { until: patience }),
            (Protocol::Http2, Some(streams)) => (streams, Patience::Told),
        };
        self.expect_patience(conn, patience);
        if protocol == Protocol::Http2
            && patience == Patience::Told
            && let Some(group) = self.groups.get_mut(origin.0)
        {
            group.expected = streams;
        }
        let expires = self.lifetime(origin).and_then(|lifetime| now.checked_add(lifetime));
        self.deadlines.set(expires, Timer::Lifetime(conn));
        let load = Load::Idle(self.idle(origin, now));
        self.update(conn, |conn| {
            conn.expires = expires;
            conn.open(Open { protocol, streams, patience, load });
        });
        self.event(|| Event::Dialed { conn, protocol });
        if protocol == Protocol::Http2 {
            self.grant(origin, now);
            self.cancel_surplus(origin);
        }
    }

    /// A dial failed, of its own accord or because it was given up.
    #[expect(clippy::needless_pass_by_value, reason = "an answer ends with its error")]
    pub fn handle_dial_failed(&mut self, conn: ConnId, error: DialError, now: Instant) {
        let now = self.begin(now);
        let Some(Conn { origin, .. }) = self.conns.get(conn.0) else { return self.ignore() };
        let origin = *origin;
        match self.kind(conn) {
            Some(Kind::Dialing) => {
                let was_probe = self.is_probe(origin, conn);
                if was_probe {
                    self.end_probe(origin);
                }
                self.remove_conn(conn);
                self.event(|| Event::DialFailed { conn });
                self.dial_failed(origin, &error, Fault::Dial { was_probe }, now);
            }
            Some(Kind::Cancelled) => self.remove_conn(conn),
            Some(_) | None => return self.ignore(),
        }
        self.finish(origin, now);
    }

    /// A dial made progress: the name is resolved, a connection is established, a handshake goes on.
    pub fn handle_dial_progress(&mut self, conn: ConnId, now: Instant) {
        let now = self.begin(now);
        let dialing = self.conns.get(conn.0).filter(|conn| matches!(conn.state, State::Dialing));
        let Some(Conn { origin, .. }) = dialing else { return self.ignore() };
        let origin = *origin;
        let Some(probe) = self.groups.get_mut(origin.0).and_then(|group| group.probe.as_mut())
        else {
            return;
        };
        if probe.conn == conn {
            let until = now.checked_add(super::config::PROBE_PATIENCE).min(probe.limit);
            let before = core::mem::replace(&mut probe.until, until);
            self.deadlines.unset(before, Timer::Probe(origin));
            self.deadlines.set(until, Timer::Probe(origin));
        }
    }

    /// The peer of an HTTP/2 connection told how many streams it allows at once (RFC 9113 s5.1.2).
    pub fn handle_streams(&mut self, conn: ConnId, streams: u32, now: Instant) {
        let now = self.begin(now);
        let open = self.conns.get(conn.0).and_then(|conn| Some((conn.origin, *conn.as_open()?)));
        let Some((origin, open)) = open.filter(|(_, open)| open.protocol == Protocol::Http2) else {
            return self.ignore();
        };
        let patience = match (streams, open.patience) {
            (0, already @ Patience::NoStreams { .. }) => already,
            (0, Patience::Told | Patience::FirstSettings { .. }) => {
                Patience::NoStreams { until: now.checked_add(STREAMS_PATIENCE) }
            }
            (_, _) => Patience::Told,
        };
        self.forget_patience(conn, open.patience);
        self.expect_patience(conn, patience);
        if let Some(group) = self.groups.get_mut(origin.0) {
            group.expected = if streams == 0 { group.expected } else { streams };
        }
        let idle = self.idle(origin, now);
        self.update(conn, |conn| {
            conn.begin_idle(idle);
            conn.allow(streams, patience);
        });
        self.finish(origin, now);
    }

    /// The peer of an HTTP/2 connection takes no new streams (RFC 9113 s6.8).
    pub fn handle_goaway(&mut self, conn: ConnId, now: Instant) {
        let now = self.begin(now);
        let open = self.conns.get(conn.0).filter(|conn| conn.as_open().is_some());
        let Some(Conn { origin, .. }) = open else { return self.ignore() };
        let origin = *origin;
        let failed = self.ended_unusable(conn);
        self.drain_conn(conn, CloseReason::GoAway);
        if failed {
            self.dial_failed(origin, &DialError::ended_unused(), Fault::Ended { leases: 0 }, now);
        }
        self.finish(origin, now);
    }

    /// A connection is closed, asked for or not.
    pub fn handle_closed(&mut self, conn: ConnId, now: Instant) {
        let now = self.begin(now);
        let Some(Conn { origin, state, served, .. }) = self.conns.get(conn.0) else {
            return self.ignore();
        };
        let (origin, served) = (*origin, *served);
        let by_peer = match state {
            // A dial has one answer, which is not this.
            State::Dialing | State::Cancelled | State::Closed { .. } => return self.ignore(),
            State::Open(open) => {
                let patience = open.patience;
                self.forget_patience(conn, patience);
                true
            }
            State::Draining { .. } => true,
            State::Closing { .. } => false,
        };
        let failed = self.ended_unusable(conn);
        let leases = self.conns.get(conn.0).map_or(0, Conn::leases);
        match leases {
            0 => self.remove_conn(conn),
            _ => {
                self.update(conn, Conn::closed);
            }
        }
        if by_peer {
            self.stats.closes_by_peer += 1;
            if !served {
                self.pause_refill(origin, now);
            }
        }
        if failed {
            self.dial_failed(origin, &DialError::ended_unused(), Fault::Ended { leases: 0 }, now);
        }
        self.finish(origin, now);
    }

    /// Whether an open connection that ends now never allowed a stream: then it was a failed dial.
    pub(super) fn ended_unusable(&mut self, conn: ConnId) -> bool {
        let Some(conn) = self.conns.get_mut(conn.0) else { return false };
        let Some(open) = conn.as_open() else { return false };
        let ended = open.patience != Patience::Told
            && conn.leases() == 0
            && !conn.served
            && !conn.accounted;
        conn.accounted |= ended;
        ended
    }

    fn expect_patience(&mut self, conn: ConnId, patience: Patience) {
        match patience {
            Patience::Told => {}
            Patience::FirstSettings { until } | Patience::NoStreams { until } => {
                self.deadlines.set(until, Timer::Streams(conn));
            }
        }
    }

    /// A dial succeeded: failures are in doubt until the connection has served.
    fn doubt(&mut self, origin: OriginId) {
        let Some(trouble) = self.groups.get_mut(origin.0).and_then(|group| group.trouble.as_mut())
        else {
            return;
        };
        trouble.doubtful = trouble.doubtful.max(trouble.failures);
        trouble.failures = 0;
        let before = trouble.backoff.take();
        self.deadlines.unset(before, Timer::Backoff(origin));
    }

    /// The lifetime of a new connection, with a jitter of a tenth, so that those that begin together do
    /// not end together.
    fn lifetime(&mut self, origin: OriginId) -> Option<Duration> {
        let lifetime = self.group(origin)?.config.max_lifetime?;
        let spread = scale(lifetime / 5, self.random.roll());
        Some((lifetime - lifetime / 10).saturating_add(spread))
    }

    /// A fact that says nothing.
    fn ignore(&mut self) {
        self.stats.ignored_facts += 1;
    }
}
