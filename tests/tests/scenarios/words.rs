//! The words of scenarios: options, times and names in, errors, reasons and counters out.

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use mac_core::pool::{Counts, DialBackoff, PoolStats, Protocols, WaitedFor};
use mac_core::{
    CheckoutError, CloseReason, DialError, Lease, OriginConfig, PoolConfig, Protocol, Reuse, Stats,
};

pub(crate) fn number<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("no number: {text}"))
}

/// `R3` or `R3..R7`, counted from 0.
pub(crate) fn list(letter: char, text: &str) -> Result<Range<usize>, String> {
    let index = |name: &str| {
        let number: Option<usize> = name.strip_prefix(letter).and_then(|n| n.parse().ok());
        number.and_then(|n| n.checked_sub(1)).ok_or_else(|| format!("no {letter}1: {name}"))
    };
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    Ok(index(first)?..index(last)? + 1)
}

/// `199ms`, `4.1s`, `5min`, `2h`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("no time: {text}")),
    };
    let value: f64 = number(text.strip_suffix(unit).unwrap_or_default())?;
    Duration::try_from_secs_f64(value * seconds).map_err(|_| format!("no time: {text}"))
}

/// A value, or `none`.
fn option<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    if text == "none" { Ok(None) } else { read(text).map(Some) }
}

fn pair(text: &str) -> Result<(&str, &str), String> {
    text.split_once('=').ok_or_else(|| format!("no option: {text}"))
}

/// Options of the pool as a whole, by the names of their fields.
pub(crate) fn pool_config(options: &[&str]) -> Result<PoolConfig, String> {
    let mut config = PoolConfig::default();
    for option_ in options {
        match pair(option_)? {
            ("max_connections", value) => config.max_connections = option(value, number)?,
            ("max_idle", value) => config.max_idle = number(value)?,
            ("max_waiters", value) => config.max_waiters = option(value, number)?,
            ("max_origins", value) => config.max_origins = number(value)?,
            ("origin_ttl", value) => config.origin_ttl = time(value)?,
            ("seed", value) => config.seed = number(value)?,
            _ => return Err(format!("no option of a pool: {option_}")),
        }
    }
    Ok(config)
}

/// Options of an origin, by the names of their fields.
pub(crate) fn origin_config(options: &[&str]) -> Result<OriginConfig, String> {
    let mut config = OriginConfig::default();
    let mut backoff =
        DialBackoff { after: 1, pauses: mac_core::Backoff::default(), fail_fast: false };
    for option_ in options {
        match pair(option_)? {
            ("protocols", "http1") => config.protocols = Protocols::Http1,
            ("protocols", "http2") => config.protocols = Protocols::Http2,
            ("protocols", "negotiated") => config.protocols = Protocols::Negotiated,
            ("max_connections", value) => config.max_connections = number(value)?,
            ("max_http2_connections", value) => config.max_http2_connections = number(value)?,
            ("max_idle", value) => config.max_idle = number(value)?,
            ("min_idle", value) => config.min_idle = number(value)?,
            ("max_dialing", value) => config.max_dialing = number(value)?,
            ("max_waiters", value) => config.max_waiters = number(value)?,
            ("checkout_timeout", value) => config.checkout_timeout = option(value, time)?,
            ("idle_timeout", value) => config.idle_timeout = option(value, time)?,
            ("max_lifetime", value) => config.max_lifetime = option(value, time)?,
            ("max_requests", value) => config.max_requests = option(value, number)?,
            ("initial_streams", value) => config.initial_streams = number(value)?,
            ("backoff", value) => {
                // A pause of at most this at first.
                backoff.pauses.first = time(value)?;
                config.backoff = Some(backoff);
            }
            ("backoff_after", value) => {
                backoff.after = number(value)?;
                config.backoff = Some(backoff);
            }
            ("fail_fast", value) => {
                backoff.fail_fast = number(value)?;
                config.backoff = Some(backoff);
            }
            _ => return Err(format!("no option of an origin: {option_}")),
        }
    }
    Ok(config)
}

/// `http1`, `http2` (its stream limit is not told yet), `http2 streams=5`.
pub(crate) fn protocol(words: &[&str]) -> Result<(Protocol, Option<u32>), String> {
    match *words {
        ["http1"] => Ok((Protocol::Http1, None)),
        ["http2"] => Ok((Protocol::Http2, None)),
        ["http2", streams] => match pair(streams)? {
            ("streams", streams) => Ok((Protocol::Http2, Some(number(streams)?))),
            _ => Err(format!("no option of a connection: {streams}")),
        },
        _ => Err(format!("no protocol: {}", words.join(" "))),
    }
}

/// `keep`, `keep hint=5s`, `close`, `unusable`.
pub(crate) fn reuse(words: &[&str]) -> Result<Reuse, String> {
    match *words {
        ["keep"] => Ok(Reuse::Keep { hint: None }),
        ["unused"] => Ok(Reuse::Unused),
        ["keep", hint] => match pair(hint)? {
            ("hint", hint) => Ok(Reuse::Keep { hint: Some(time(hint)?) }),
            _ => Err(format!("no option of a lease: {hint}")),
        },
        ["close"] => Ok(Reuse::Close),
        ["unusable"] => Ok(Reuse::Unusable),
        _ => Err(format!("nothing a connection may become: {}", words.join(" "))),
    }
}

pub(crate) fn use_of(lease: &Lease) -> &'static str {
    if lease.is_reused() { "reused" } else { "new" }
}

pub(crate) fn why(error: &CheckoutError) -> String {
    match error {
        CheckoutError::Draining => "draining".to_owned(),
        CheckoutError::UnknownOrigin => "unknown origin".to_owned(),
        CheckoutError::QueueFull => "queue full".to_owned(),
        CheckoutError::Dial(error) => format!("dial failed: {}", cause(error)),
        CheckoutError::Timeout(waited_for) => format!("timeout waiting for {}", what(waited_for)),
        other => other.to_string(),
    }
}

fn what(waited_for: &WaitedFor) -> String {
    match waited_for {
        WaitedFor::Connection => "a connection".to_owned(),
        WaitedFor::Dial(None) => "a dial".to_owned(),
        WaitedFor::Dial(Some(error)) => format!("a dial, the last one failed: {}", cause(error)),
        WaitedFor::TotalLimit => "the total limit".to_owned(),
    }
}

/// What `dial-failed` gave, or that the connection ended before it served.
fn cause(error: &DialError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

pub(crate) fn close_reason(reason: CloseReason) -> String {
    match reason {
        CloseReason::IdleTimeout => "idle timeout".to_owned(),
        CloseReason::IdleLimit => "idle limit".to_owned(),
        CloseReason::MakeRoom => "make room".to_owned(),
        CloseReason::Lifetime => "lifetime".to_owned(),
        CloseReason::MaxRequests => "max requests".to_owned(),
        CloseReason::NotReusable => "not reusable".to_owned(),
        CloseReason::Unusable => "unusable".to_owned(),
        CloseReason::GoAway => "goaway".to_owned(),
        CloseReason::NoStreams => "no streams".to_owned(),
        CloseReason::Surplus => "surplus".to_owned(),
        CloseReason::Drain => "drain".to_owned(),
        CloseReason::DrainDeadline => "drain deadline".to_owned(),
        other => format!("{other:?}"),
    }
}

/// What is there now, without zeros.
pub(crate) fn stats(stats: &Stats) -> String {
    without_zeros(&[
        ("dialing", stats.dialing),
        ("idle", stats.idle),
        ("in use", stats.in_use),
        ("draining", stats.draining),
        ("closing", stats.closing),
        ("streams", stats.streams),
        ("waiters", stats.waiters),
    ])
}

/// What has happened, without zeros.
pub(crate) fn counts(stats: &PoolStats) -> String {
    let Counts { dials, failed_dials, grants, reuses, waits, refusals, timeouts, cancels, .. } =
        stats.all.counts;
    without_zeros(&[
        ("dials", dials),
        ("failed dials", failed_dials),
        ("grants", grants),
        ("reuses", reuses),
        ("waits", waits),
        ("refusals", refusals),
        ("timeouts", timeouts),
        ("cancels", cancels),
        ("closed by peer", stats.closes_by_peer),
        ("ignored", stats.ignored_facts),
    ])
}

fn without_zeros<N: Display + Default + PartialEq>(counts: &[(&str, N)]) -> String {
    let some: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count != N::default())
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if some.is_empty() { "nothing".to_owned() } else { some.join(", ") }
}
