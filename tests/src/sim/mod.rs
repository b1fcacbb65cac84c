//! A virtual world around a [`ClientState`](mac_core::ClientState): names, addresses, servers that
//! misbehave, callers that give up. One seed replays a run.
//!
//! The world has its own clock and a queue of what happens when. Nothing in it is real, so that a
//! minute passes in microseconds.
#![expect(clippy::indexing_slicing, reason = "the world's indices are its own")]

mod random;
mod server;
mod world;

pub use world::{Outcome, run};
