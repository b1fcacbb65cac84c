//! The end: the world behaves, and everything has to come to rest.

use mac_core::{ConnId, Protocol, Protocols, Reuse};

use super::super::model::State;
use super::World;

impl World {
    /// The world behaves: everything must come to its end.
    pub(in super::super) fn come_to_rest(mut self) {
        self.log("come to rest".to_owned());
        let mut is_quiet = false;
        for _ in 0..2000 {
            self.begin();
            if let Some(lease) = self.leases.pop() {
                self.checkin_as(lease, Reuse::Keep { hint: None });
            } else if let Some((id, state)) = self.to_answer() {
                match state {
                    State::Closing => self.closed(id),
                    _ => {
                        let config = &self.model.origins[&self.model.conns[&id].origin].config;
                        let protocol = match config.protocols {
                            Protocols::Http1 => Protocol::Http1,
                            Protocols::Http2 | Protocols::Negotiated => Protocol::Http2,
                        };
                        self.dialed(id, protocol, Some(5));
                    }
                }
            } else if let Some(id) = self.to_raise() {
                self.streams(id, 3);
            } else if let Some(deadline) = self.pool.poll_timeout() {
                self.model.now = self.model.now.max(deadline);
                self.log("handle_timeout".to_owned());
                self.impatient();
                self.pool.handle_timeout(self.model.now);
            } else {
                is_quiet = true;
                break;
            }
            self.apply();
            self.check();
        }
        assert_eq!(self.model.waiters.len(), 0, "callers wait for ever");
        let is_unlimited = self.model.max_connections.is_none() && self.max_idle > 100;
        for (id, origin) in &self.model.origins {
            let config = &origin.config;
            let minimum = config.min_idle.min(config.max_idle);
            if is_quiet
                && is_unlimited
                && !self.model.draining
                && config.protocols == Protocols::Http1
            {
                let idle = self.pool.origin_stats(*id).expect("known").idle;
                assert!(idle >= minimum.min(config.max_connections), "below the minimum");
            }
        }
        let keeps =
            self.configs.iter().any(|config| config.min_idle > 0 || config.idle_timeout.is_none());
        if !keeps {
            assert_eq!(self.pool.stats().all.idle, 0);
            assert_eq!(self.model.conns.len(), 0);
            assert_eq!(self.pool.stats().origins, 0, "origins are left");
            assert_eq!(self.pool.poll_timeout(), None, "wakes for nothing");
        }
    }

    pub(super) fn to_answer(&self) -> Option<(ConnId, State)> {
        let mut open = self.model.conns.iter().filter(|(_, conn)| {
            matches!(conn.state, State::Dialing | State::Cancelled | State::Closing)
        });
        open.next().map(|(id, conn)| (*id, conn.state))
    }

    /// A connection whose peer owes it a limit of streams.
    pub(super) fn to_raise(&self) -> Option<ConnId> {
        let mut open = self
            .model
            .conns
            .iter()
            .filter(|(_, conn)| conn.state == State::Open && conn.patience.is_some());
        open.next().map(|(id, _)| *id)
    }
}
