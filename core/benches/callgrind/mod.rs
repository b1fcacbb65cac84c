//! Instructions of a run of the bench itself.

use std::process::Command;
use std::{env, fs};

/// Instructions of this whole program, run with `arguments`.
pub(crate) fn count(arguments: &[&str]) -> usize {
    let out = env::temp_dir().join(format!("callgrind.{}", std::process::id()));
    let result = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env::current_exe().expect("this program"))
        .args(arguments)
        .output()
        .expect("valgrind is installed");
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let profile = fs::read_to_string(&out).expect("callgrind wrote its profile");
    fs::remove_file(&out).expect("it is ours");
    let totals = profile.lines().find_map(|line| line.strip_prefix("totals: "));
    totals.expect("a total").trim().parse().expect("a number")
}
