//! The fuzzers' corpora, as ordinary tests.

use std::fs;
use std::path::Path;

/// Runs `check` on each input of the corpus of `target`.
///
/// # Panics
///
/// Where the corpus is missing or empty, and where `check` does.
pub fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut ran = 0;
    for entry in fs::read_dir(folder).expect("the corpus is committed") {
        check(&fs::read(entry.expect("readable").path()).expect("readable"));
        ran += 1;
    }
    assert!(ran > 0, "an empty corpus");
}
