//! The pool under random commands and facts, late, doubled and out of order, against a model.
//!
//! The bytes are read as a configuration and a list of operations. After each, every action is applied
//! to the model, which rejects illegal ones, and the invariants are checked. In the end the world
//! behaves, and everything has to come to its end.

mod input;
mod model;
mod world;

use self::input::Input;
use self::world::World;

/// Runs what `data` says. Panics with the list of operations where the pool is wrong.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let mut world = World::new(&mut input);
    while !input.is_empty() {
        world.step(&mut input);
    }
    world.come_to_rest();
}
