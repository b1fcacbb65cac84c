//! What the network reports, sometimes about nothing.

use mac_core::pool::config::STREAMS_PATIENCE;
use mac_core::{CloseReason, ConnId, DialError, Protocol, Protocols};

use super::super::input::Input;
use super::super::model::{Conn, State};
use super::World;

impl World {
    /// Answers a dial, sometimes one that was given up.
    pub(super) fn answer(&mut self, input: &mut Input<'_>) {
        let dials: Vec<ConnId> = self
            .model
            .conns
            .iter()
            .filter(|(_, conn)| matches!(conn.state, State::Dialing | State::Cancelled))
            .map(|(id, _)| *id)
            .collect();
        let Some(conn) = input.pick_any(&dials) else { return };
        if input.below(4) == 0 {
            self.dial_failed(conn);
        } else {
            let protocols = self.model.origins[&self.model.conns[&conn].origin].config.protocols;
            let protocol = match protocols {
                Protocols::Http1 => Protocol::Http1,
                Protocols::Http2 => Protocol::Http2,
                Protocols::Negotiated => input.pick(&[Protocol::Http1, Protocol::Http2]),
            };
            let streams = input.pick(&[None, None, Some(0), Some(1), Some(2), Some(100)]);
            self.dialed(conn, protocol, streams);
        }
    }

    pub(super) fn dial_failed(&mut self, conn: ConnId) {
        self.log(format!("handle_dial_failed({conn:?})"));
        let Conn { origin, state, .. } = self.model.conns.remove(&conn).expect("a dial");
        self.gone_conns.push(conn);
        if state == State::Dialing {
            self.model.failures += 1;
            self.model.failed.push(origin);
            self.expected_failures = self.model.fails_by_dial(origin);
        }
        self.pool.handle_dial_failed(conn, DialError::new("refused"), self.model.now);
    }

    pub(super) fn dialed(&mut self, id: ConnId, protocol: Protocol, streams: Option<u32>) {
        self.log(format!("handle_dialed({id:?}, {protocol:?}, {streams:?})"));
        let now = self.model.now;
        self.model.order += 1;
        let order = self.model.order;
        let conn = self.model.conns.get_mut(&id).expect("a dial");
        if conn.state == State::Dialing {
            let origin = self.model.origins.get_mut(&conn.origin).expect("known");
            origin.learned = Some(protocol);
            conn.state = State::Open;
            conn.protocol = protocol;
            conn.opened = now;
            conn.idle_since = now;
            conn.idle_order = order;
            conn.idle_until = origin.config.idle_timeout.map(|timeout| now + timeout);
            let initial = origin.config.initial_streams;
            let is_http2 = protocol == Protocol::Http2;
            conn.streams = if is_http2 { streams.unwrap_or(initial) } else { 1 };
            let waits = is_http2 && streams.is_none_or(|streams| streams == 0);
            conn.patience = waits.then_some(now + STREAMS_PATIENCE);
            match protocol {
                Protocol::Http2 if waits => {}
                Protocol::Http1 | Protocol::Http1Proxy | Protocol::Http2 => {
                    origin.expected = conn.streams;
                }
            }
        }
        self.pool.handle_dialed(id, protocol, streams, now);
    }

    pub(super) fn fact(&mut self, input: &mut Input<'_>) {
        let conns: Vec<ConnId> = self.model.conns.keys().copied().collect();
        let Some(conn) = input.pick_any(&conns) else { return };
        match input.below(6) {
            0 => self.streams(conn, 0),
            1 => self.streams(conn, 1),
            2 => self.streams(conn, u32::from(input.byte() % 8)),
            3 => self.goaway(conn),
            4 => self.closed(conn),
            _ => self.pool.handle_dial_progress(conn, self.model.now),
        }
    }

    pub(super) fn streams(&mut self, id: ConnId, streams: u32) {
        self.log(format!("handle_streams({id:?}, {streams})"));
        let now = self.model.now;
        if let Some(conn) = self.model.conns.get_mut(&id)
            && conn.state == State::Open
            && conn.protocol == Protocol::Http2
        {
            let was_none = conn.patience.is_some() && conn.streams == 0;
            if conn.is_pending() {
                conn.idle_since = now;
                let timeout = self.model.origins[&conn.origin].config.idle_timeout;
                conn.idle_until = timeout.map(|timeout| now + timeout);
                conn.hinted = false;
            }
            conn.patience = match (streams, was_none) {
                (0, true) => conn.patience,
                (0, false) => Some(now + STREAMS_PATIENCE),
                (_, _) => None,
            };
            conn.streams = streams;
            let origin = self.model.origins.get_mut(&conn.origin).expect("known");
            origin.expected = if streams == 0 { origin.expected } else { streams };
        }
        self.pool.handle_streams(id, streams, now);
    }

    pub(super) fn goaway(&mut self, conn: ConnId) {
        self.log(format!("handle_goaway({conn:?})"));
        self.unusable(conn);
        self.drain(conn, CloseReason::GoAway);
        self.pool.handle_goaway(conn, self.model.now);
    }

    /// A connection that ends before it allowed a stream fails callers.
    pub(super) fn unusable(&mut self, conn: ConnId) {
        let is_open = |c: &Conn| c.state == State::Open && c.leases == 0 && c.patience.is_some();
        if self.model.conns.get(&conn).is_some_and(is_open) {
            self.model.fails(conn);
        }
    }

    pub(super) fn closed(&mut self, id: ConnId) {
        self.log(format!("handle_closed({id:?})"));
        self.unusable(id);
        if let Some(conn) = self.model.conns.get_mut(&id)
            && !matches!(conn.state, State::Dialing | State::Cancelled)
        {
            conn.state = State::Closed;
        }
        self.forget_closed(id);
        self.pool.handle_closed(id, self.model.now);
    }

    pub(super) fn close_answer(&mut self, input: &mut Input<'_>) {
        let closing = self.model.conns.iter().filter(|(_, conn)| conn.state == State::Closing);
        let closing: Vec<ConnId> = closing.map(|(id, _)| *id).collect();
        if let Some(conn) = input.pick_any(&closing) {
            self.closed(conn);
        }
    }

    pub(super) fn fact_about_nothing(&mut self, input: &mut Input<'_>) {
        let Some(conn) = input.pick_any(&self.gone_conns) else { return };
        let (now, stats) = (self.model.now, self.pool.stats());
        match input.below(6) {
            0 => self.pool.handle_dialed(conn, Protocol::Http1, None, now),
            1 => self.pool.handle_dial_failed(conn, DialError::new("late"), now),
            2 => self.pool.handle_streams(conn, 3, now),
            3 => self.pool.handle_goaway(conn, now),
            4 => self.pool.handle_dial_progress(conn, now),
            _ => self.pool.handle_closed(conn, now),
        }
        assert_eq!(self.pool.stats().ignored_facts, stats.ignored_facts + 1);
        assert_eq!(self.pool.stats().all, stats.all);
    }
}
