//! Finding an origin's entry: ours, the obvious alternative, and the floor.
//!
//! `cargo bench -p mac-core --bench select`
//!
//! - `key`: from a parsed URI to the entry.
//! - `full`: the same, with `Host` and request target written into the request.
//! - `alternative`: `HashMap<(Scheme, Authority), _>`, as hyper-util's legacy client keys its pool.
//! - `floor`: a hashbrown lookup of a hash computed beforehand, and one reading of the host's bytes;
//!   `floor_authority` is told that the authority is a host and no more.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    reason = "a bench is no part of the core: it reads clocks, and compares with what the core bans"
)]

mod origins;

use divan::{Bencher, black_box};

use origins::{Alternative, Floor, HOSTS, KNOWN, Known, Request};

fn main() {
    divan::main();
}

#[divan::bench(args = KNOWN)]
fn key(bencher: Bencher<'_, '_>, known: usize) {
    let known = Known::new(known, HOSTS[0]);
    let mut next = known.uris().cycle();
    bencher.bench_local(|| known.find(black_box(next.next())));
}

#[divan::bench(args = KNOWN)]
fn key_alternative(bencher: Bencher<'_, '_>, known: usize) {
    let known = Known::new(known, HOSTS[0]);
    let alternative = Alternative::new(&known);
    let mut next = known.uris().cycle();
    bencher.bench_local(|| alternative.find(black_box(next.next())));
}

#[divan::bench(args = KNOWN)]
fn key_floor(bencher: Bencher<'_, '_>, known: usize) {
    let known = Known::new(known, HOSTS[0]);
    let floor = Floor::new(&known);
    let uris = Floor::uris(&known);
    let mut next = uris.iter().copied().cycle();
    bencher.bench_local(|| floor.find(black_box(next.next())));
}

#[divan::bench(args = KNOWN)]
fn key_floor_authority(bencher: Bencher<'_, '_>, known: usize) {
    let known = Known::new(known, HOSTS[0]);
    let floor = Floor::new(&known);
    let uris = Floor::uris(&known);
    let mut next = uris.iter().copied().cycle();
    bencher.bench_local(|| floor.find_authority(black_box(next.next())));
}

#[divan::bench(args = HOSTS)]
fn host(bencher: Bencher<'_, '_>, host: &str) {
    let known = Known::new(1024, host);
    let mut next = known.uris().cycle();
    bencher.bench_local(|| known.find(black_box(next.next())));
}

#[divan::bench(args = HOSTS)]
fn host_alternative(bencher: Bencher<'_, '_>, host: &str) {
    let known = Known::new(1024, host);
    let alternative = Alternative::new(&known);
    let mut next = known.uris().cycle();
    bencher.bench_local(|| alternative.find(black_box(next.next())));
}

#[divan::bench(args = HOSTS)]
fn host_floor(bencher: Bencher<'_, '_>, host: &str) {
    let known = Known::new(1024, host);
    let floor = Floor::new(&known);
    let uris = Floor::uris(&known);
    let mut next = uris.iter().copied().cycle();
    bencher.bench_local(|| floor.find(black_box(next.next())));
}

#[divan::bench(args = KNOWN)]
fn full(bencher: Bencher<'_, '_>, known: usize) {
    let mut known = Known::new(known, HOSTS[0]);
    let mut requests: Vec<Request> = known.uris().map(Request::new).collect();
    let mut next = (0..requests.len()).cycle();
    bencher.bench_local(|| {
        let index = next.next().expect("endless");
        requests[index].send_over_http1(&mut known);
    });
}

#[divan::bench(args = KNOWN)]
fn full_alternative(bencher: Bencher<'_, '_>, known: usize) {
    let known = Known::new(known, HOSTS[0]);
    let alternative = Alternative::new(&known);
    let mut requests: Vec<Request> = known.uris().map(Request::new).collect();
    let mut next = (0..requests.len()).cycle();
    bencher.bench_local(|| {
        let index = next.next().expect("endless");
        requests[index].send_by_alternative(&alternative);
    });
}

#[divan::bench]
fn miss(bencher: Bencher<'_, '_>) {
    let known = Known::new(1024, HOSTS[0]);
    let others = Known::new(1024, "other.invalid");
    let mut next = others.uris().cycle();
    bencher.bench_local(|| assert!(known.find(black_box(next.next())).is_none()));
}

#[divan::bench]
fn miss_alternative(bencher: Bencher<'_, '_>) {
    let alternative = Alternative::new(&Known::new(1024, HOSTS[0]));
    let others = Known::new(1024, "other.invalid");
    let mut next = others.uris().cycle();
    bencher.bench_local(|| assert!(alternative.find(black_box(next.next())).is_none()));
}
