//! The pool: a checkout and checkin, a handover, a cancel, beside much that is not touched.
//!
//! `cargo bench -p mac-core --bench pool`; instructions: `cargo bench -p mac-core --bench pool_instructions`
//!
//! `floor` is the least that a pool can be: a `Mutex` around a `HashMap` from origin to idle connections, by
//! number and by authority. hyper-util's legacy pool takes live sockets, so that it has no place here.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a bench is no part of the core: it reads clocks, and compares with what the core bans"
)]

mod pools;

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher};

use pools::{Callers, Idle, MANY, STREAMS_BESIDE};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

#[divan::bench(args = MANY)]
fn exchange_beside_idle_connections(bencher: Bencher<'_, '_>, many: usize) {
    bencher.bench_local(pools::beside_idle_connections(many));
}

#[divan::bench(args = MANY)]
fn exchange_polled_beside_idle_connections(bencher: Bencher<'_, '_>, many: usize) {
    bencher.bench_local(pools::beside_idle_connections_polled(many));
}

#[divan::bench(args = MANY)]
fn exchange_beside_callers_elsewhere(bencher: Bencher<'_, '_>, many: usize) {
    bencher.bench_local(pools::beside_callers_elsewhere(many));
}

#[divan::bench(args = MANY)]
fn exchange_at_origins_in_order(bencher: Bencher<'_, '_>, many: usize) {
    bencher.bench_local(pools::at_origins_in_order(many));
}

#[divan::bench(args = MANY)]
fn exchange_at_origins_in_no_order(bencher: Bencher<'_, '_>, many: usize) {
    bencher.bench_local(pools::at_origins_in_no_order(many));
}

#[divan::bench(args = STREAMS_BESIDE)]
fn exchange_beside_streams(bencher: Bencher<'_, '_>, many: usize) {
    bencher.bench_local(pools::beside_streams(many));
}

#[divan::bench(args = MANY)]
fn handover_to_the_first_of_many_callers(bencher: Bencher<'_, '_>, many: usize) {
    bencher.bench_local(pools::handover(many));
}

#[divan::bench(args = MANY)]
fn pass_on_beside_starving_origins(bencher: Bencher<'_, '_>, many: usize) {
    bencher.bench_local(pools::pass_on(many));
}

#[divan::bench(args = MANY, sample_count = 10)]
fn time_out_of_all_idle_connections(bencher: Bencher<'_, '_>, many: usize) {
    bencher.counter(ItemsCount::new(many)).with_inputs(|| Idle::new(many)).bench_local_values(
        |mut idle| {
            idle.time_out();
            idle
        },
    );
}

#[divan::bench(args = MANY, sample_count = 10)]
fn cancel_of_all_in_no_order(bencher: Bencher<'_, '_>, many: usize) {
    bencher.counter(ItemsCount::new(many)).with_inputs(|| Callers::new(many)).bench_local_values(
        |mut callers| {
            callers.cancel(many);
            callers
        },
    );
}

#[divan::bench(args = MANY)]
fn floor_by_number(bencher: Bencher<'_, '_>, many: usize) {
    bencher.bench_local(pools::floor_by_number(many));
}

#[divan::bench(args = MANY)]
fn floor_by_authority(bencher: Bencher<'_, '_>, many: usize) {
    bencher.bench_local(pools::floor_by_authority(many));
}
