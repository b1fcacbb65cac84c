//! What each fuzz target checks, as functions of bytes that panic on a finding.
//!
//! The ordinary tests replay the corpora and random inputs through the same functions.

pub mod oracle;
pub mod pool;
pub mod request_target;
pub mod url_key;
