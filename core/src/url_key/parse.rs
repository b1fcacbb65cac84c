//! From an authority as written to host and port. No allocation, no panic.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::error::UrlKeyError;
use super::fold::{self, HashSeed};

/// The most octets in a registered name, its final dot apart (RFC 1035 s2.3.4).
const MAX_NAME_LEN: usize = 253;
/// The most octets in a label of a registered name (RFC 1035 s2.3.4).
const MAX_LABEL_LEN: usize = 63;

/// An authority (RFC 3986 s3.2) taken apart. The host is not checked, which [`check_host`] does:
/// what equals a host that passed needs no check.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scanned<'a> {
    /// The host as written, IPv6 in its brackets.
    pub(super) host: &'a str,
    /// The port that is written, if one is.
    pub(super) port: Option<u16>,
    /// The hash of the canonical host, to be finished.
    pub(super) state: u64,
}

/// The hash state of an authority that is a host name and no more, as most are. One pass.
#[inline(always)]
pub(super) fn hash_name_alone(authority: &str, seed: &HashSeed) -> Option<u64> {
    let (mut state, mut delimiters) = (seed.start(), 0);
    fold::for_each_word(authority.as_bytes(), |word| {
        delimiters |= fold::colon_to_at(word);
        state = seed.add(state, fold::fold(word));
    });
    (fold::top_bits(delimiters) == 0).then_some(state)
}

/// Takes any authority apart.
#[inline(never)]
pub(super) fn authority<'a>(text: &'a str, seed: &HashSeed) -> Result<Scanned<'a>, UrlKeyError> {
    let (host, port) = split(text)?;
    let port = match port {
        None | Some("") => None,
        // What is wrong with the host is told first.
        Some(digits) => Some(self::port(digits).or_else(|error| check_host(host).and(Err(error)))?),
    };
    Ok(Scanned { host, port, state: hash_host(host, seed) })
}

/// Splits an authority into the host as written and what stands behind the colon, if there is one:
/// maybe empty, maybe no number.
fn split(authority: &str) -> Result<(&str, Option<&str>), UrlKeyError> {
    let host_port = match authority.split_once('@') {
        None => authority,
        Some((userinfo, host_port)) => {
            // RFC 3986 s3.2.1 has neither in a userinfo; parsers disagree on where it then ends.
            if host_port.contains('@') || userinfo.contains(['[', ']']) {
                return Err(UrlKeyError::InvalidHost);
            }
            host_port
        }
    };
    let host_len = match host_port.strip_prefix('[') {
        Some(literal) => literal.find(']').ok_or(UrlKeyError::InvalidHost)? + "[]".len(),
        None => host_port.find(':').unwrap_or(host_port.len()),
    };
    let (host, rest) = host_port.split_at_checked(host_len).ok_or(UrlKeyError::InvalidHost)?;
    if rest.is_empty() {
        return Ok((host, None));
    }
    let port = rest.strip_prefix(':').ok_or(UrlKeyError::InvalidHost)?;
    // Text around the brackets is wrong with the host, wherever it stands.
    if port.contains(['[', ']']) {
        return Err(UrlKeyError::InvalidHost);
    }
    Ok((host, Some(port)))
}

/// The hash state of a host that stands alone.
pub(super) fn hash_host(host: &str, seed: &HashSeed) -> u64 {
    let mut state = seed.start();
    let mut add = |bytes: &[u8]| {
        fold::for_each_word(bytes, |word| state = seed.add(state, fold::fold(word)));
    };
    match ipv6(host) {
        None => add(host.as_bytes()),
        Some(address) => {
            fold::for_each_word(&address.octets(), |word| state = seed.add(state, word));
        }
    }
    state
}

/// Checks a host: an IPv6 address in brackets, an IPv4 address or a registered name.
pub(super) fn check_host(host: &str) -> Result<(), UrlKeyError> {
    let undotted = host.strip_suffix('.').unwrap_or(host);
    let is_label = |label: &str| (1..=MAX_LABEL_LEN).contains(&label.len());
    let is_valid = if host.contains(['[', ']']) {
        ipv6(host).is_some()
    } else if ends_in_number(undotted) {
        ipv4(host).is_some()
    } else {
        undotted.len() <= MAX_NAME_LEN && host.is_ascii() && undotted.split('.').all(is_label)
    };
    if is_valid { Ok(()) } else { Err(UrlKeyError::InvalidHost) }
}

/// The host as an IPv6 address in brackets. Zone ids and IPvFuture are none.
#[inline(always)]
pub(super) fn ipv6(host: &str) -> Option<Ipv6Addr> {
    if !host.starts_with('[') {
        return None;
    }
    host.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// The host as an IPv4 address. Takes plain decimal without leading zeros only, as RFC 3986 s3.2.2
/// does; what else resolvers read as an address (s7.4) is none.
pub(super) fn ipv4(host: &str) -> Option<Ipv4Addr> {
    host.parse().ok()
}

/// Whether the last label is a number: all digits, or `0x` and hex digits or none (URL Standard,
/// "ends in a number checker").
fn ends_in_number(undotted: &str) -> bool {
    let label = undotted.rsplit('.').next().unwrap_or(undotted);
    match label.as_bytes() {
        [b'0', b'x' | b'X', hex @ ..] => hex.iter().all(u8::is_ascii_hexdigit),
        digits => digits.iter().all(u8::is_ascii_digit),
    }
}

/// The port as a number: decimal digits only, 1 to 65535, checked before it can wrap.
#[inline]
pub(super) fn port(digits: &str) -> Result<u16, UrlKeyError> {
    let mut port: u16 = 0;
    for byte in digits.bytes() {
        let digit = u16::from(byte.wrapping_sub(b'0'));
        if digit > 9 {
            return Err(UrlKeyError::InvalidPort);
        }
        port = port
            .checked_mul(10)
            .and_then(|port| port.checked_add(digit))
            .ok_or(UrlKeyError::InvalidPort)?;
    }
    match port {
        0 => Err(UrlKeyError::InvalidPort),
        port => Ok(port),
    }
}
