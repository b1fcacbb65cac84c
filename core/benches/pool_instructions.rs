//! Instructions of the pool's operations, counted by callgrind, and what they are to the floor.
//!
//! `cargo bench -p mac-core --bench pool_instructions` needs valgrind on the path, and some minutes. The
//! program runs itself under callgrind, with fewer and with more operations, for each case; the difference
//! is what the operations took. The cases are those of the bench `pool`.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a bench is no part of the core: it reads clocks, and shows what it found"
)]

mod callgrind;
mod pools;

use std::env;

use callgrind::count;
use pools::{Callers, Idle, MANY, STREAMS_BESIDE};

const ROUNDS: usize = 2_000;
/// The first is the floor of all.
const OPERATIONS: [(&str, &[usize]); 12] = [
    ("floor_by_number", &MANY),
    ("floor_by_authority", &MANY),
    ("beside_idle_connections", &MANY),
    ("beside_idle_connections_polled", &MANY),
    ("beside_callers_elsewhere", &MANY),
    ("at_origins_in_order", &MANY),
    ("at_origins_in_no_order", &MANY),
    ("beside_streams", &STREAMS_BESIDE),
    ("handover", &MANY),
    ("pass_on", &MANY),
    ("time_out", &MANY),
    ("cancel", &MANY),
];

fn main() {
    let arguments: Vec<String> = env::args().collect();
    match &arguments[..] {
        [_, operation, many, rounds] => {
            let number = |text: &String| text.parse().expect("a number");
            run(operation, number(many), number(rounds));
        }
        _ => measure(),
    }
}

fn measure() {
    println!("{:32} {:>8} {:>12} {:>9}", "operation", "size", "instructions", "of floor");
    let mut floor = None;
    for (operation, sizes) in OPERATIONS {
        for &many in sizes {
            let once = instructions(operation, many);
            let floor = *floor.get_or_insert(once);
            let percent = 100 * once / floor;
            println!("{operation:32} {many:8} {once:12} {percent:7} %");
        }
    }
}

/// Instructions of one operation.
fn instructions(operation: &str, many: usize) -> usize {
    let (fewer, more) = match operation {
        // All of them, and what is left behind.
        "cancel" | "time_out" => (0, many),
        _ => (ROUNDS, 2 * ROUNDS),
    };
    let run = |rounds: usize| count(&[operation, &many.to_string(), &rounds.to_string()]);
    (run(more) - run(fewer)) / (more - fewer)
}

fn run(operation: &str, many: usize, rounds: usize) {
    match operation {
        "floor_by_number" => repeat(rounds, pools::floor_by_number(many)),
        "floor_by_authority" => repeat(rounds, pools::floor_by_authority(many)),
        "beside_idle_connections" => repeat(rounds, pools::beside_idle_connections(many)),
        "beside_idle_connections_polled" => {
            repeat(rounds, pools::beside_idle_connections_polled(many));
        }
        "beside_callers_elsewhere" => repeat(rounds, pools::beside_callers_elsewhere(many)),
        "at_origins_in_order" => repeat(rounds, pools::at_origins_in_order(many)),
        "at_origins_in_no_order" => repeat(rounds, pools::at_origins_in_no_order(many)),
        "beside_streams" => repeat(rounds, pools::beside_streams(many)),
        "handover" => repeat(rounds, pools::handover(many)),
        "pass_on" => repeat(rounds, pools::pass_on(many)),
        "time_out" => {
            let mut idle = Idle::new(many);
            if rounds > 0 {
                idle.time_out();
            }
        }
        "cancel" => Callers::new(many).cancel(rounds),
        other => unreachable!("{other}: cargo passes --bench alone"),
    }
}

fn repeat(rounds: usize, mut operation: impl FnMut()) {
    (0..rounds).for_each(|_| operation());
}
