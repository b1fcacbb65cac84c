//! How random tests are run: how many cases, and how a failure is replayed.

use std::env;
use std::hash::{BuildHasher, RandomState};

use proptest::test_runner::{Config, RngSeed};

/// `cases` cases, or as many as `MAC_CASES` says, from the seed that `MAC_SEED` gives or from a new one,
/// which a failing test prints.
///
/// # Panics
///
/// Where one of the two variables is no number.
#[must_use]
#[expect(clippy::print_stdout, reason = "shown where the test fails, and only there")]
pub fn config(cases: u32) -> Config {
    let cases = number("MAC_CASES").unwrap_or(cases);
    let seed = number("MAC_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("replay all cases with: MAC_SEED={seed} MAC_CASES={cases} cargo test --workspace");
    Config { cases, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() }
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
