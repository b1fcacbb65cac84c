//! What the tests of the workspace share.
#![expect(clippy::panic, reason = "a test reports by panicking")]

pub mod cases;
pub mod corpus;
pub mod random;
pub mod scenario;
pub mod sim;
pub mod urls;
