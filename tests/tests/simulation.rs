//! The client's state in a virtual world of servers that misbehave.

use std::panic;

use mac_tests::{random, sim};

#[test]
fn every_caller_comes_to_its_end_in_every_world() {
    let first = random::number("MAC_SEED").unwrap_or(0_u64);
    let seeds = random::number("MAC_SEEDS").unwrap_or(200_u64);
    let mut answered = 0;
    for seed in first..first + seeds {
        let outcome = panic::catch_unwind(|| sim::run(seed)).unwrap_or_else(|_| {
            panic!(
                "seed {seed} fails; replay it with: \
                 MAC_SEED={seed} MAC_SEEDS=1 cargo test -p mac-tests --test simulation"
            )
        });
        answered += outcome.answered;
    }
    // The worlds are hard, but not hopeless.
    assert!(u64::from(answered) > 20 * seeds, "{answered} answers in {seeds} worlds");
}

#[test]
fn one_seed_gives_one_run() {
    for seed in 0..20 {
        assert_eq!(sim::run(seed), sim::run(seed));
    }
}
