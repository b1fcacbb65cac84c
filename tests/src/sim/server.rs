//! Servers: how the addresses of a name behave.

use std::time::Duration;

use mac_core::Protocol;

use super::random::Random;

/// What becomes of a connection to an address.
#[derive(Debug, Clone, Copy)]
pub(super) enum Accepts {
    /// It is established after this time.
    After(Duration),
    /// It is refused after this time.
    Refuses(Duration),
    /// Nothing ever comes back.
    Stalls,
    /// It is established and closed at once.
    ThenCloses,
}

/// A server, behind one of a name's addresses.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) accepts: Accepts,
    pub(super) protocol: Protocol,
    /// Streams allowed, and when its SETTINGS tell.
    pub(super) streams: u32,
    pub(super) settings_after: Option<Duration>,
    /// How long a response takes at most.
    pub(super) service: Duration,
    /// Once in so many exchanges no answer comes.
    pub(super) silent_once_in: u32,
    /// It closes, or goes away, after so many exchanges.
    pub(super) closes_after: Option<u32>,
    /// It closes idle connections after this time, without telling.
    pub(super) idle: Option<Duration>,
    /// Once in so many exchanges its limit of streams changes.
    pub(super) changes_once_in: u32,
}

impl Server {
    pub(super) fn new(random: &mut Random, protocol: Protocol) -> Self {
        let ms = Duration::from_millis;
        let accepts = match random.below(12) {
            0 => Accepts::Refuses(random.up_to(ms(50))),
            1 => Accepts::Stalls,
            2 => Accepts::ThenCloses,
            _ => Accepts::After(random.up_to(ms(400))),
        };
        let closes_after = random.pick(&[None, None, Some(1), Some(3), Some(20)]);
        let idle = random.pick(&[None, None, Some(ms(300)), Some(ms(5000))]);
        Self {
            accepts,
            protocol,
            streams: random.pick(&[1, 2, 10, 100]),
            settings_after: random.pick(&[Some(ms(0)), Some(ms(5)), Some(ms(5)), None]),
            service: random.pick(&[ms(5), ms(50), ms(1000)]),
            silent_once_in: random.pick(&[10, 100, 1000]),
            closes_after,
            idle,
            changes_once_in: random.pick(&[10, 1000, 1000]),
        }
    }
}
