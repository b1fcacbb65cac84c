//! How long to pause before another attempt: exponential, capped, with full jitter.

use crate::time::Duration;

/// Pauses that double from attempt to attempt. What is waited is a random part of the pause ("full
/// jitter"), so that clients that failed together do not come back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first pause, at the most. Default: 100 ms.
    pub first: Duration,
    /// The longest pause. Default: 60 s.
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(100), longest: Duration::from_secs(60) }
    }
}

impl Backoff {
    /// The pause after the `nth` failure in a row (the first is 1), for a random number `roll`.
    #[must_use]
    pub fn pause(&self, nth: u32, roll: u64) -> Duration {
        scale(self.bound(nth), roll)
    }

    /// The longest that the pause after the `nth` failure can be.
    #[must_use]
    pub fn bound(&self, nth: u32) -> Duration {
        let doublings = nth.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }
}

/// `roll` out of 2⁶⁴ parts of `whole`.
pub(crate) fn scale(whole: Duration, roll: u64) -> Duration {
    let nanos = u128::from(whole.as_secs()) * 1_000_000_000 + u128::from(whole.subsec_nanos());
    // The upper half of the product of two 64-bit numbers, in two steps for a wide `nanos`.
    let (high, low) = (nanos >> 64, nanos & u128::from(u64::MAX));
    let part = high * u128::from(roll) + ((low * u128::from(roll)) >> 64);
    let secs = u64::try_from(part / 1_000_000_000).unwrap_or(u64::MAX);
    let nanos = u32::try_from(part % 1_000_000_000).unwrap_or(0);
    Duration::new(secs, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_jitter_takes_a_part() {
        let backoff = Backoff::default();
        assert_eq!(backoff.bound(1), Duration::from_millis(100));
        assert_eq!(backoff.bound(2), Duration::from_millis(200));
        assert_eq!(backoff.bound(10), Duration::from_millis(51_200));
        assert_eq!(backoff.bound(11), Duration::from_secs(60));
        assert_eq!(backoff.bound(u32::MAX), Duration::from_secs(60));

        assert_eq!(backoff.pause(1, 0), Duration::ZERO);
        assert_eq!(backoff.pause(1, 1 << 63), Duration::from_millis(50));
        assert!(backoff.pause(1, u64::MAX) < Duration::from_millis(100));
    }

    #[test]
    fn a_part_of_the_longest_duration_does_not_overflow() {
        assert!(scale(Duration::MAX, u64::MAX) < Duration::MAX);
        assert!(scale(Duration::MAX, u64::MAX) > Duration::MAX / 2);
    }
}
