//! How random tests are run: how many cases, and how a failure is replayed.

use std::env;

use proptest::test_runner::{Config, RngSeed};

/// `cases` cases, or as many as `MAC_CASES` says, from a seed that is new in each run or that
/// `MAC_SEED` gives. A failing test prints the smallest input that it found.
///
/// # Panics
///
/// Where one of the two variables is no number.
#[must_use]
pub fn config(cases: u32) -> Config {
    Config {
        cases: number("MAC_CASES").unwrap_or(cases),
        rng_seed: number("MAC_SEED").map_or(RngSeed::Random, RngSeed::Fixed),
        failure_persistence: None,
        ..Config::default()
    }
}

/// The number in the environment variable `name`, if it is set.
///
/// # Panics
///
/// Where it is no number.
#[must_use]
pub fn number<N: std::str::FromStr>(name: &str) -> Option<N> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}
