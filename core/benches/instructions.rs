//! Instructions of one hit, counted by callgrind: they repeat where time is noisy.
//!
//! `cargo bench -p mac-core --bench instructions` needs valgrind on the path. The program runs itself
//! under callgrind, once with `ROUNDS` operations and once with twice as many, for each case; the
//! difference is what the operations took.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a bench is no part of the core: it reads clocks, and shows what it found"
)]

mod callgrind;
mod origins;

use std::env;
use std::hint::black_box;

use callgrind::count;
use origins::{Alternative, Floor, HOSTS, KNOWN, Known, Request};

const ROUNDS: usize = 2_000;
const OPERATIONS: [&str; 6] =
    ["key", "key_alternative", "key_floor", "key_floor_authority", "full", "full_alternative"];

fn main() {
    let arguments: Vec<String> = env::args().collect();
    match &arguments[..] {
        [_, operation, host, rounds] if OPERATIONS.contains(&operation.as_str()) => {
            run(operation, host, rounds.parse().expect("a number"));
        }
        _ => measure(),
    }
}

fn measure() {
    println!("{:20} {:>12}  host", "operation", "instructions");
    for host in HOSTS {
        for operation in OPERATIONS {
            let once = count(&[operation, host, &ROUNDS.to_string()]);
            let twice = count(&[operation, host, &(2 * ROUNDS).to_string()]);
            println!("{operation:20} {:12}  {host}", (twice - once) / ROUNDS);
        }
    }
}

fn run(operation: &str, host: &str, rounds: usize) {
    let mut known = Known::new(KNOWN[2], host);
    let alternative = Alternative::new(&known);
    let floor = Floor::new(&known);
    let uri = known.uris().next().expect("one at least").clone();
    let (hash, _) = *Floor::uris(&known).first().expect("one at least");
    let mut request = Request::new(&uri);
    let repeat = |operation: &mut dyn FnMut()| (0..rounds).for_each(|_| operation());
    match operation {
        "key" => repeat(&mut || assert!(known.find(black_box(Some(&uri))).is_some())),
        "key_alternative" => {
            repeat(&mut || assert!(alternative.find(black_box(Some(&uri))).is_some()));
        }
        "key_floor" => {
            repeat(&mut || assert!(floor.find(black_box(Some((hash, &uri)))).is_some()));
        }
        "key_floor_authority" => {
            repeat(&mut || assert!(floor.find_authority(black_box(Some((hash, &uri)))).is_some()));
        }
        "full" => repeat(&mut || request.send_over_http1(&mut known)),
        _ => repeat(&mut || request.send_by_alternative(&alternative)),
    }
}
