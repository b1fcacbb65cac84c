//! Which module of the core may name what: imports go down, and the world stays out.
//!
//! Reads the source as tokens, without comments, literals and tests, and looks at every path in it.

use std::fs;
use std::path::{Path, PathBuf};

/// The floors, lowest first. A module imports from lower ones, and from its own family: the modules
/// under one at the top level. A module that is not named is on the floor of its parent.
const FLOORS: &[&[&str]] = &[
    &["id", "random", "time"],
    &["backoff", "list", "protocol", "url_key"],
    &[
        "dial/order",
        "memory",
        "pool/action",
        "pool/config",
        "pool/deadlines",
        "pool/stats",
        "pool/waiters",
        "redirect",
        "request_target",
        "retry",
    ],
    &["dial", "pool/conn", "pool/group", "resolve", "selector"],
    &["pool"],
    &["client"],
];

/// What may be named in some modules only, and in which.
const CONFINED: &[(&str, &[&str])] = &[
    // Sockets, threads, locks and files cannot be named elsewhere.
    ("std", &["time"]),
    // One table, so that nothing can depend on the order of another.
    ("hashbrown", &["selector"]),
    ("http", &["url_key", "request_target", "selector", "redirect", "retry", "client"]),
];

/// A file that is longer has two subjects.
const MAX_LINES: usize = 400;

#[test]
fn the_core_keeps_to_its_floors() {
    let sources = sources();
    // An empty answer of the checker would be no answer.
    let selector = sources.iter().find(|(path, _)| path == "selector.rs").expect("it is there");
    let imports = paths(&tokens(&selector.1));
    for import in [&["crate", "url_key", "UrlKeyRef"][..], &["hashbrown", "HashTable"]] {
        assert!(imports.iter().any(|path| path == import), "{import:?} is not seen");
    }

    let faults: Vec<String> = sources.iter().flat_map(|(path, text)| faults(path, text)).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Every file of the core that is no test, by its path from `core/src`.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src");
    let (mut folders, mut sources) = (vec![PathBuf::new()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).expect("a folder") {
            let entry = entry.expect("readable");
            let path = folder.join(entry.file_name());
            if entry.file_type().expect("readable").is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(entry.path()).expect("UTF-8");
                sources.push((path.to_str().expect("UTF-8").replace('\\', "/"), text));
            }
        }
    }
    sources.retain(|(path, _)| path.ends_with(".rs") && !is_test(path));
    sources.sort();
    sources
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// What is wrong with a file.
fn faults(file: &str, text: &str) -> Vec<String> {
    let module: Vec<&str> = match file {
        "lib.rs" => Vec::new(),
        file => file.trim_end_matches(".rs").split('/').collect(),
    };
    let tokens = tokens(text);
    let mut faults = Vec::new();
    if text.lines().count() > MAX_LINES {
        faults.push(format!("has more than {MAX_LINES} lines"));
    }
    if tokens.windows(3).any(|three| matches!(three, [m, _, brace] if m == "mod" && brace == "{")) {
        faults.push("has a module in braces: a module is a file".to_owned());
    }
    if !module.is_empty() && floor(&module).is_none() {
        faults.push("has no floor: give it one in FLOORS".to_owned());
    }
    for path in paths(&tokens) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        faults
            .extend(fault_of(&module, &path).map(|fault| format!("{}: {fault}", path.join("::"))));
    }
    faults.into_iter().map(|fault| format!("{file}: {fault}")).collect()
}

/// What is wrong with naming `path` in `module`.
fn fault_of(module: &[&str], path: &[&str]) -> Option<String> {
    let top = module.first().copied().unwrap_or("lib");
    if let Some((_, places)) = CONFINED.iter().find(|(name, _)| path.first() == Some(name))
        && !places.contains(&top)
    {
        return Some(format!("is named in {} only", places.join(", ")));
    }
    if matches!(path, [.., clock, now] if clock.ends_with("Instant") && *now == "now") {
        return Some("reads a clock".to_owned());
    }
    // The root names all modules, to show them.
    if module.is_empty() {
        return None;
    }
    let target = resolve(module, path)?;
    if target.first() == module.first() {
        return None;
    }
    let Some(of_target) = floor(&target) else {
        return Some("is imported from the root: name the module that has it".to_owned());
    };
    let own = floor(module)?;
    (own <= of_target).then(|| format!("is on floor {of_target}, this module on {own}"))
}

/// Where `path` leads within the crate, or `None` if it leads outside.
fn resolve<'a>(module: &[&'a str], path: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut at = match path.first()? {
        &"crate" => Vec::new(),
        &"self" | &"super" => module.to_vec(),
        _ => return None,
    };
    for part in path {
        match *part {
            "crate" | "self" => {}
            "super" => {
                at.pop();
            }
            part => at.push(part),
        }
    }
    Some(at)
}

/// The floor of a module or of something in it.
fn floor(path: &[&str]) -> Option<usize> {
    (1..=path.len()).rev().find_map(|len| {
        let name = path.get(..len)?.join("/");
        FLOORS.iter().position(|floor| floor.contains(&name.as_str()))
    })
}

/// Every path of two parts or more, and those of `use` and `extern crate` in full.
fn paths(tokens: &[String]) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut rest = tokens;
    while let [token, tail @ ..] = rest {
        rest = match token.as_str() {
            "use" => use_tree(&[], tail, &mut paths),
            "extern" if tail.first().is_some_and(|token| token == "crate") => {
                paths.extend(tail.get(1).map(|name| vec![name.clone()]));
                tail
            }
            name if is_name(name) => {
                let (path, tail) = path(rest);
                if path.len() > 1 {
                    paths.push(path);
                }
                tail
            }
            // What follows belongs to a path of which this is the end, as in `<T as Trait>::name`.
            "::" | "." => tail.get(1..).unwrap_or_default(),
            _ => tail,
        };
    }
    paths
}

/// The path at the head of `tokens`, and what follows it.
fn path(tokens: &[String]) -> (Vec<String>, &[String]) {
    let mut path = Vec::new();
    let mut rest = tokens;
    while let [name, tail @ ..] = rest
        && is_name(name)
    {
        path.push(name.clone());
        rest = tail;
        match rest {
            [colons, tail @ ..] if colons == "::" => rest = tail,
            _ => break,
        }
    }
    (path, rest)
}

/// Adds the paths of a `use` tree under `prefix`, and returns what follows it.
fn use_tree<'a>(
    prefix: &[String],
    tokens: &'a [String],
    paths: &mut Vec<Vec<String>>,
) -> &'a [String] {
    let tokens = match tokens {
        [colons, tail @ ..] if colons == "::" => tail,
        tokens => tokens,
    };
    let (names, mut rest) = path(tokens);
    let prefix = [prefix, &names].concat();
    match rest {
        [brace, tail @ ..] if brace == "{" => {
            rest = tail;
            while let [token, tail @ ..] = rest {
                rest = match token.as_str() {
                    "}" => return tail,
                    "," => tail,
                    _ => use_tree(&prefix, rest, paths),
                };
            }
            rest
        }
        [name, _, tail @ ..] if name == "as" => {
            paths.push(prefix);
            tail
        }
        [star, tail @ ..] if star == "*" => {
            paths.push(prefix);
            tail
        }
        rest => {
            paths.push(prefix);
            rest
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && !["as", "in", "mod", "pub", "where"].contains(&token)
}

/// The tokens of a file without comments, literals, and what is compiled for tests only.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = token_len(rest);
        let (token, tail) = rest.split_at(len.max(first.len_utf8()));
        rest = tail;
        let is_comment = token.starts_with("//") || token.starts_with("/*");
        // A lifetime is no name of anything here.
        let is_literal = token.len() > 1 && token.contains(['"', '\''])
            || token.starts_with(|first: char| first.is_ascii_digit() || first == '\'');
        if !token.trim().is_empty() && !is_comment && !is_literal {
            tokens.push(token.to_owned());
        }
    }
    without_tests(&tokens)
}

/// How long the token at the head of `text` is.
fn token_len(text: &str) -> usize {
    let name_len = |text: &str| {
        text.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(text.len())
    };
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment_len(text);
    }
    if text.starts_with("::") {
        return 2;
    }
    let word = name_len(text);
    let (prefix, after) = text.split_at(word);
    if matches!(prefix, "" | "b" | "c") && after.starts_with('"') {
        return word + 1 + end_of_quoted(after.get(1..).unwrap_or_default(), '"');
    }
    if matches!(prefix, "r" | "br" | "cr") && after.starts_with(['"', '#']) {
        let hashes = "#".repeat(after.len() - after.trim_start_matches('#').len());
        let end = format!("\"{hashes}");
        let open = word + end.len();
        let body = text.get(open..).unwrap_or_default();
        return body.find(&end).map_or(text.len(), |at| open + at + end.len());
    }
    if matches!(prefix, "" | "b")
        && let Some(quoted) = after.strip_prefix('\'')
    {
        // A quote one character on, or an escape, makes it a character; else it is a lifetime.
        let is_char = quoted.starts_with('\\') || quoted.chars().nth(1) == Some('\'');
        return word + 1 + if is_char { end_of_quoted(quoted, '\'') } else { name_len(quoted) };
    }
    word
}

/// How long what stands in quotes is, with the quote at its end.
fn end_of_quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, char) in text.char_indices() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            char if char == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn block_comment_len(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Leaves out every item under `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const CFG_TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut left = Vec::new();
    let mut rest = tokens;
    while let [token, tail @ ..] = rest {
        match rest.split_at_checked(CFG_TEST.len()) {
            Some((head, tail)) if head == CFG_TEST => rest = after_item(tail),
            _ => {
                left.push(token.clone());
                rest = tail;
            }
        }
    }
    left
}

/// What follows the item at the head of `tokens`: it ends with a semicolon or its closing brace.
fn after_item(tokens: &[String]) -> &[String] {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(token.as_str(), ";" | "}") {
            return tokens.get(at + 1..).unwrap_or_default();
        }
    }
    &[]
}

// The checker itself.

#[track_caller]
fn assert_fault(file: &str, text: &str, fault: &str) {
    let found = faults(file, text);
    let is_found = matches!(&found[..], [only] if only.contains(fault));
    assert!(is_found, "{file}: {text}\n{found:?}");
}

#[track_caller]
fn assert_sound(file: &str, text: &str) {
    assert_eq!(faults(file, text), [""; 0], "{file}: {text}");
}

#[test]
fn an_import_goes_down_only() {
    assert_sound("selector.rs", "use crate::url_key::UrlKey;");
    assert_sound("list.rs", "use crate::id::{RawId, Slab};");
    assert_sound("pool/waiters.rs", "use crate::list::List;");
    assert_fault("url_key.rs", "use crate::selector::Selector;", "is on floor 3");
    assert_fault("url_key.rs", "use crate::list::List;", "is on floor 1, this module on 1");
    assert_fault("url_key/fold.rs", "use crate::request_target;", "is on floor 2");
    assert_fault("id.rs", "use super::list::Links;", "super::list::Links: is on floor 1");
    assert_fault("retry.rs", "use crate::pool::action::Action;", "is on floor 2");
    assert_fault("retry.rs", "use crate::pool::Pool;", "is on floor 4");
}

#[test]
fn an_import_within_a_family_is_free() {
    assert_sound("url_key.rs", "use self::parse::Scanned;");
    assert_sound("url_key/origin.rs", "use super::{fold, parse}; use crate::url_key::UrlKey;");
    assert_sound("pool/action.rs", "use super::conn::Conn; use super::Pool;");
    assert_fault("url_key/origin.rs", "use super::super::pool::Pool;", "is on floor 4");
}

#[test]
fn every_way_to_write_an_import_is_seen() {
    for text in [
        "pub(crate) use crate::pool::Pool as P;",
        "use crate::pool::*;",
        "use crate::{id::RawId, pool::{Pool}};",
        "use crate::{\n    id::RawId,\n    pool::{self},\n};",
        "use {crate::pool};",
        "use self::super::pool::Pool;",
        "fn f() { use crate::pool::Pool; }",
        "fn f(pool: &crate::pool::Pool) {}",
        "fn f() -> Vec<crate::pool::Pool> {}",
        "fn f() { let a = b'\"'; crate::pool::f(a) }",
        "fn f<'a>(_: &'a str) { crate::pool::f(r#\"\"\"#) }",
        "#[cfg(test)] mod tests; use crate::pool::Pool;",
        "#[cfg(test)] mod tests { fn f() { [0; 2] } } use crate::pool::Pool;",
        "#[cfg(test)] use crate::selector::X; use crate::pool::Pool;",
    ] {
        assert_fault("selector.rs", text, "is on floor 4, this module on 3");
    }
}

#[test]
fn what_is_no_code_is_not_looked_at() {
    for text in [
        "//! [`Pool`]: crate::pool::Pool",
        "/// use std::time::Instant; Instant::now()",
        "/* a /* std::net */ http::Uri */",
        "const A: &str = \"\\\"crate::pool::Pool\"; const B: char = '\"';",
        "const A: &str = r#\"\"crate::pool::Pool\"#;",
        "#[cfg(test)]\nmod tests {\n use std::time::Instant; fn f() { Instant::now() } }",
        "#[cfg(test)]\n#[expect(clippy::panic, reason = \"a test\")]\nmod tests { use std::net; }",
        "fn f(std: u8, http: u8) -> u8 { std + http }",
        "fn f<'std>(_: &'std str) {}",
    ] {
        assert_sound("list.rs", text);
    }
}

#[test]
fn an_import_from_the_root_names_no_module() {
    assert_fault("selector.rs", "use crate::UrlKey;", "is imported from the root");
    assert_fault("selector.rs", "use super::*;", "is imported from the root");
    assert_sound("lib.rs", "pub use crate::pool::Pool; mod pool;");
}

#[test]
fn a_module_has_a_floor_and_a_file() {
    assert_fault("other.rs", "", "has no floor");
    assert_fault("other/more.rs", "", "has no floor");
    assert_fault("id.rs", "mod more { }", "a module in braces");
    assert_sound("pool/more.rs", "");
}

#[test]
fn the_world_is_named_in_one_place() {
    assert_sound("time.rs", "extern crate std; pub(crate) use std::time::Instant;");
    assert_fault("id.rs", "extern crate std;", "is named in time only");
    assert_fault("id.rs", "fn f() { std::thread::yield_now() }", "is named in time only");
    assert_fault("lib.rs", "use ::std::sync::Mutex;", "is named in time only");
    assert_sound("selector.rs", "use hashbrown::HashTable;");
    assert_fault("pool.rs", "use hashbrown::HashMap;", "is named in selector only");
    assert_sound("url_key/origin.rs", "fn f() -> http::Uri { http::Uri::default() }");
    assert_fault("pool/action.rs", "use http::{Uri};", "is named in url_key, request_target");
    assert_fault("backoff.rs", "fn f() -> http::Uri {}", "is named in url_key, request_target");
}

#[test]
fn no_module_reads_a_clock() {
    assert_fault("time.rs", "fn f() { Instant::now() }", "reads a clock");
    assert_fault("pool.rs", "fn f() { time::Instant::now() }", "reads a clock");
    assert_fault("pool.rs", "fn f() { start.map_or_else(Instant::now, g) }", "reads a clock");
    assert_sound("time.rs", "fn f() { self.now(); now.max(Instant::next()) }");
}

#[test]
fn a_file_has_an_end() {
    assert_sound("id.rs", &"\n".repeat(MAX_LINES));
    assert_fault("id.rs", &"\n".repeat(MAX_LINES + 1), "has more than 400 lines");
}

#[test]
fn a_test_file_is_told_by_its_name() {
    assert!(is_test("url_key/tests.rs") && is_test("pool/tests/drain.rs"));
    assert!(!is_test("url_key/fold.rs") && !is_test("contests.rs"));
}
