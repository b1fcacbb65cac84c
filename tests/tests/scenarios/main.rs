//! `tests/scenarios`: what the pool does, one scenario a file, in words.

use std::collections::BTreeSet;
use std::fs;

use mac_tests::scenario;

use self::world::World;

mod words;
mod world;

#[test]
fn every_scenario_goes_as_written() {
    scenario::check(&scenario::folder(), World::new, World::step);
}

#[test]
fn the_table_names_every_scenario_and_no_other() {
    let table = fs::read_to_string(scenario::folder().join("README.md")).expect("a table");
    let names: BTreeSet<String> = scenario::files(&scenario::folder())
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    let named: BTreeSet<String> = table
        .lines()
        .filter(|line| line.starts_with('|'))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter_map(|name| Some(name.strip_suffix(".txt")?.to_owned()))
        .collect();
    let differ: Vec<_> = names.symmetric_difference(&named).collect();
    assert!(differ.is_empty(), "in the folder or in the table only: {differ:?}");
}
