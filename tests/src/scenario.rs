//! Scenarios: text files of steps and, indented under each step, what is to come of it.
//!
//! What the steps mean is for the caller to say. `MAC_BLESS=1` rewrites the indented lines.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::{env, fs, mem};

/// What comes of a step, a line each, or what is wrong with the step itself.
pub type Outcome = Result<Vec<String>, String>;

const INDENT: &str = "    ";

/// Fewer lines alike are easier to read in full.
const MIN_RUN: usize = 3;

/// The folder of this repository's scenarios.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

/// The `*.txt` files of a folder, by name.
///
/// # Panics
///
/// Where the folder cannot be read.
#[must_use]
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "txt")).collect();
    files.sort();
    files
}

/// Runs every file of `folder`, each in a new world, and panics with the first difference of each that
/// differs. With `MAC_BLESS` set, differences go into the files instead.
///
/// # Panics
///
/// Where a file differs, cannot be read or holds a step that means nothing.
pub fn check<W>(folder: &Path, new: impl Fn() -> W, step: impl Fn(&mut W, &str) -> Outcome) {
    let bless = env::var_os("MAC_BLESS").is_some_and(|value| value == "1");
    let files = files(folder);
    assert!(!files.is_empty(), "{}: no scenario is there", folder.display());
    let mut faults = Vec::new();
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(file).expect("UTF-8");
        let mut world = new();
        match play(&text, |text| step(&mut world, text)) {
            Err((line, fault)) => faults.push(format!("{name}:{line}: {fault}")),
            Ok(played) if bless && played.text != text => {
                fs::write(file, played.text).expect("writable");
            }
            Ok(Played { difference: Some((line, difference)), .. }) if !bless => {
                faults.push(format!("{name}:{line}: {difference}"));
            }
            Ok(_) => {}
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {} scenarios differ (MAC_BLESS=1 accepts what is given):\n\n{}",
        faults.len(),
        files.len(),
        faults.join("\n"),
    );
}

/// What a scenario came to.
#[derive(Debug)]
pub struct Played {
    /// The scenario with what is given in place of what was expected.
    pub text: String,
    /// The first difference, with the line of its step. What follows a difference often follows from
    /// it.
    pub difference: Option<(usize, String)>,
}

/// Plays the scenario in `text`.
///
/// # Errors
///
/// The line, and what is wrong with the step there.
pub fn play(text: &str, mut step: impl FnMut(&str) -> Outcome) -> Result<Played, (usize, String)> {
    let mut played = Played { text: String::new(), difference: None };
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        played.text.push_str(line.trim_end());
        played.text.push('\n');
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with(char::is_whitespace) {
            return Err((number, "an expectation without a step above it".to_owned()));
        }
        let mut expected = Vec::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| is_expectation(line)) {
            expected.push(line.trim().to_owned());
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| step(line.trim())));
        let given = match outcome.unwrap_or_else(|_| Err("panics".to_owned())) {
            Ok(given) => given,
            Err(fault) => {
                // It may come of an earlier difference.
                let fault = (number, format!("{}: {fault}\n", line.trim()));
                return Err(played.difference.unwrap_or(fault));
            }
        };
        for line in &given {
            played.text.push_str(&format!("{INDENT}{line}\n"));
        }
        if given != expected && played.difference.is_none() {
            let difference = format!(
                "{}\n  expected:\n{}  given:\n{}",
                line.trim(),
                block(&expected),
                block(&given),
            );
            played.difference = Some((number, difference));
        }
    }
    Ok(played)
}

fn is_expectation(line: &str) -> bool {
    line.starts_with(char::is_whitespace) && !line.trim().is_empty()
}

fn block(lines: &[String]) -> String {
    match lines {
        [] => format!("{INDENT}(nothing)\n"),
        lines => lines.iter().map(|line| format!("{INDENT}{line}\n")).collect(),
    }
}

/// A line with names in it, such as `R12`: what is the same in lines alike, and what counts up.
#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    words: Vec<String>,
    numbers: Vec<u64>,
}

impl Pattern {
    /// A number is taken out of its word, and put back by `show`.
    fn new(line: &str) -> Self {
        let (mut words, mut numbers) = (Vec::new(), Vec::new());
        for word in line.split(' ') {
            let letter = word.chars().next().filter(|letter| matches!(letter, 'R' | 'C'));
            let rest = letter.and_then(|letter| word.strip_prefix(letter)).unwrap_or_default();
            let digits = rest.trim_end_matches(|c: char| !c.is_ascii_digit());
            match (letter, digits.parse()) {
                (Some(letter), Ok(number)) => {
                    words.push(format!("{letter}\0{}", rest.trim_start_matches(digits)));
                    numbers.push(number);
                }
                (None | Some(_), _) => words.push(word.to_owned()),
            }
        }
        Self { words, numbers }
    }

    /// The line with something else in place of each number.
    fn show(&self, numbers: impl IntoIterator<Item = String>) -> String {
        let mut numbers = numbers.into_iter();
        let words = self.words.iter().map(|word| match word.split_once('\0') {
            Some((before, after)) => {
                format!("{before}{}{after}", numbers.next().unwrap_or_default())
            }
            None => word.clone(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// By how much each name is ahead of the same one in `before`, if that is 0 or 1, and 1 for one.
    fn step_from(&self, before: &Self) -> Option<Vec<u64>> {
        let pairs = self.numbers.iter().zip(&before.numbers);
        let steps: Vec<u64> = pairs.filter_map(|(a, b)| a.checked_sub(*b)).collect();
        let counts_up = steps.contains(&1) && steps.iter().all(|step| *step <= 1);
        (self.words == before.words && steps.len() == self.numbers.len() && counts_up)
            .then_some(steps)
    }
}

/// Writes lines in which names count up as one: `R1..R50 wait`.
#[must_use]
pub fn runs(lines: Vec<String>) -> Vec<String> {
    let (mut written, mut run, mut steps) = (Vec::new(), Vec::<Pattern>::new(), None);
    for line in lines {
        let pattern = Pattern::new(&line);
        let step = run.last().and_then(|last| pattern.step_from(last));
        if step.is_none() || steps.is_some() && steps != step {
            write_run(&mem::take(&mut run), &mut written);
            steps = None;
        } else {
            steps = step;
        }
        run.push(pattern);
    }
    write_run(&run, &mut written);
    written
}

fn write_run(run: &[Pattern], written: &mut Vec<String>) {
    match run {
        [first, .., last] if run.len() >= MIN_RUN => {
            // The letter of the second name of a range.
            let letters = first.words.iter().filter_map(|word| Some(word.split_once('\0')?.0));
            let numbers = first.numbers.iter().zip(&last.numbers).zip(letters);
            let line = first.show(numbers.map(|((first, last), letter)| {
                if first == last { first.to_string() } else { format!("{first}..{letter}{last}") }
            }));
            written.push(line.replace(" waits", " wait").replace(" gets ", " get "));
        }
        few => written.extend(few.iter().map(|line| line.show(numbers_of(line)))),
    }
}

fn numbers_of(line: &Pattern) -> impl Iterator<Item = String> {
    line.numbers.iter().map(u64::to_string)
}

/// Counts lines that differ only in names: `50 times: dial C to a`.
#[must_use]
pub fn tally(lines: &[String]) -> Vec<String> {
    let mut counts: Vec<(String, u32)> = Vec::new();
    for line in lines {
        let line = Pattern::new(line).show([]);
        match counts.iter_mut().find(|(other, _)| *other == line) {
            Some((_, count)) => *count += 1,
            None => counts.push((line, 1)),
        }
    }
    counts.into_iter().map(|(line, count)| format!("{count} times: {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "# A title.\norigin a\n\ncheckout a\n    R1 waits\ncancel R1\n";

    fn answer(step: &str) -> Outcome {
        match step {
            "checkout a" => Ok(vec!["R1 waits".to_owned()]),
            "fall" => panic!("as a pool might"),
            "fly" => Err("means nothing".to_owned()),
            _ => Ok(Vec::new()),
        }
    }

    #[test]
    fn what_goes_as_written_is_no_difference() {
        let played = play(SCENARIO, answer).unwrap();
        assert_eq!(played.difference, None);
        assert_eq!(played.text, SCENARIO);
    }

    #[test]
    fn each_difference_is_found_and_what_is_given_replaces_it() {
        for wrong in [
            SCENARIO.replace("R1 waits", "R2 waits"),
            SCENARIO.replace("    R1 waits\n", ""),
            SCENARIO.replace("R1 waits\n", "R1 waits\n    dial C1 to a\n"),
            SCENARIO.replace("cancel R1\n", "cancel R1\n    too late\n"),
        ] {
            let played = play(&wrong, answer).unwrap();
            let (line, difference) = played.difference.unwrap();
            let cancel = wrong.lines().position(|line| line == "cancel R1").unwrap() + 1;
            assert_eq!(line, if wrong.contains("too late") { cancel } else { 4 });
            assert!(difference.contains("expected") && difference.contains("given"));
            assert_eq!(played.text, SCENARIO);
        }
    }

    #[test]
    fn what_cannot_be_played_is_never_accepted() {
        for (text, line) in [("fly\n", 1), ("# A title.\n\nfall\n", 3), ("    R1 waits\n", 1)] {
            assert_eq!(play(text, answer).unwrap_err().0, line);
        }
        // Most likely for an earlier difference, which is told instead.
        let wrong = SCENARIO.replace("R1 waits", "R2 waits") + "fly\n";
        assert_eq!(play(&wrong, answer).unwrap_err().0, 4);
    }

    #[test]
    fn lines_in_which_names_count_up_become_one() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let runs = |text: &str| runs(lines(text)).join("\n");
        assert_eq!(runs("R1 waits\nR2 waits\nR3 waits\ndial C1 to a"), "R1..R3 wait\ndial C1 to a");
        assert_eq!(
            runs("grant R8 on C1 (new)\ngrant R9 on C1 (new)\ngrant R10 on C1 (new)"),
            "grant R8..R10 on C1 (new)",
        );
        assert_eq!(
            runs("fail R1: draining\nfail R2: draining\nfail R3: draining\nfail R5: draining"),
            "fail R1..R3: draining\nfail R5: draining",
        );
        for apart in [
            "R1 waits\nR2 waits",
            "R1 waits\nR3 waits\nR5 waits",
            "ignored\nignored\nignored",
            "grant R1 on C1 (new)\ngrant R2 on C1 (reused)\ngrant R3 on C1 (new)",
            "grant R1 on C1 (new)\ngrant R2 on C1 (new)\ngrant R3 on C2 (new)",
        ] {
            assert_eq!(runs(apart), apart);
        }
        assert_eq!(tally(&lines("dial C1 to a\ndial C5 to a")), ["2 times: dial C to a"]);
    }
}
