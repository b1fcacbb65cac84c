//! The one place that names `std`: time as values that the caller passes in.
//!
//! Nothing in this crate reads a clock. [`Instant`] is `std`'s, so that callers pass what they have;
//! [`Clock`] makes an untrusted sequence of instants monotonic.

extern crate std;

pub(crate) use core::time::Duration;
pub(crate) use std::time::Instant;

/// The greatest instant that a machine was ever given.
///
/// Clocks of different threads are read before the lock that orders their calls, so `now` can step
/// back. A smaller `now` counts as the greatest seen: elapsed time saturates at zero.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    greatest: Option<Instant>,
}

impl Clock {
    /// Takes `now` in and returns the instant that counts.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) -> Instant {
        let now = self.greatest.map_or(now, |greatest| greatest.max(now));
        self.greatest = Some(now);
        now
    }
}

/// The instant `after` later, or `None` (never) when that is beyond what an [`Instant`] can hold.
#[inline]
pub(crate) fn deadline(now: Instant, after: Duration) -> Option<Instant> {
    now.checked_add(after)
}

/// The same where it has to be an instant: never is then a long way off.
pub(crate) fn far_deadline(now: Instant, after: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(365 * 24 * 3600);
    deadline(now, after).or_else(|| deadline(now, FAR)).unwrap_or(now)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs some instant to begin with")]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_now_counts_as_the_greatest_seen() {
        let start = Instant::now();
        let mut clock = Clock::default();
        let later = start + Duration::from_secs(7200);

        assert_eq!(clock.advance(later), later);
        assert_eq!(clock.advance(start), later);
        assert_eq!(clock.advance(later + Duration::from_secs(1)), later + Duration::from_secs(1));
    }

    #[test]
    fn an_overflowing_deadline_is_never() {
        let now = Instant::now();
        assert_eq!(deadline(now, Duration::MAX), None);
        assert!(far_deadline(now, Duration::MAX) > now + Duration::from_secs(3600));
    }
}
