//! Case tables: the files in `tests/cases`, and in the folder that `MAC_CASES_DIR` names.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::de::DeserializeOwned;

/// Every `*.json` file of the form `T`, with its path. Files of another form are passed over, but not
/// `own`, the one of this repository.
///
/// # Panics
///
/// Where a file cannot be read, or `own` is not of the form `T`.
#[must_use]
pub fn tables<T: DeserializeOwned>(own: &str) -> Vec<(PathBuf, T)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut tables = vec![(folder.join(own), read(&folder.join(own)).unwrap_or_else(fail))];
    for path in env::var_os("MAC_CASES_DIR").iter().flat_map(|folder| json_files(Path::new(folder)))
    {
        if let Ok(table) = read(&path) {
            tables.push((path, table));
        }
    }
    tables
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap_or_else(fail).path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, serde_json::Error> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text)
}

fn fail<T>(error: impl std::fmt::Display) -> T {
    panic!("{error}")
}

/// Panics with every case that differs, if one does.
///
/// # Panics
///
/// Where `failures` is not empty.
pub fn report(path: &Path, ran: usize, failures: &[String]) {
    assert!(
        failures.is_empty(),
        "{}: {} of {ran} cases differ:\n{}",
        path.display(),
        failures.len(),
        failures.join("\n"),
    );
}
