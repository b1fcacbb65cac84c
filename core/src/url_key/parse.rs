//! From an authority as written to host and port. No allocation, no panic.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::fold::{self, HashSeed, TOPS};
use super::{Host, UrlKeyError};

/// The most octets in a registered name, its final dot apart (RFC 1035 s2.3.4).
const MAX_NAME_LEN: usize = 253;
/// The most octets in a label of a registered name (RFC 1035 s2.3.4).
const MAX_LABEL_LEN: usize = 63;

/// An authority (RFC 3986 s3.2) taken apart; none of it is validated yet but what splitting needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split<'a> {
    /// The host as written, IPv6 in its brackets.
    pub(super) host: &'a str,
    /// What stands behind the colon, if there is one: maybe empty, maybe no number.
    pub(super) port: Option<&'a str>,
}

impl<'a> Split<'a> {
    #[inline]
    pub(super) fn new(authority: &'a str) -> Result<Self, UrlKeyError> {
        match first_delimiter(authority.as_bytes()) {
            None => Ok(Self { host: authority, port: None }),
            Some(index) => Self::at_delimiter(authority, index),
        }
    }

    /// Splits where `authority` is more than a name; `index` is its first `:`, `@` or bracket.
    fn at_delimiter(authority: &'a str, index: usize) -> Result<Self, UrlKeyError> {
        let (name, rest) = authority.split_at_checked(index).ok_or(UrlKeyError::InvalidHost)?;
        // The usual case of more than a name: a port in plain digits.
        if let Some(port) = rest.strip_prefix(':')
            && port.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Ok(Self { host: name, port: Some(port) });
        }
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
            None if host_port.contains('[') => return Err(UrlKeyError::InvalidHost),
            None => host_port.find(':').unwrap_or(host_port.len()),
        };
        let (host, rest) = host_port.split_at_checked(host_len).ok_or(UrlKeyError::InvalidHost)?;
        if rest.is_empty() {
            return Ok(Self { host, port: None });
        }
        let port = rest.strip_prefix(':').ok_or(UrlKeyError::InvalidHost)?;
        Ok(Self { host, port: Some(port) })
    }
}

/// The place of the first `:`, `@`, `[` or `]`.
#[inline]
fn first_delimiter(bytes: &[u8]) -> Option<usize> {
    fold::words(bytes)
        .position(|word| {
            fold::find(word, b':') | fold::find(word, b'@') | fold::find(word, b'[') != 0
        })
        .and_then(|word| {
            let rest = bytes.get(8 * word..)?;
            Some(8 * word + rest.iter().position(|byte| matches!(byte, b':' | b'@' | b'['))?)
        })
}

/// A host that passed, and the state of its hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hashed<'a> {
    pub(super) host: Host<&'a str>,
    pub(super) state: u64,
}

/// Checks `text` as a host and hashes its canonical form in the same pass.
#[inline]
pub(super) fn host<'a>(text: &'a str, seed: &HashSeed) -> Result<Hashed<'a>, UrlKeyError> {
    if let Some(literal) = text.strip_prefix('[') {
        let literal = literal.strip_suffix(']').ok_or(UrlKeyError::InvalidHost)?;
        // Refuses zone ids and IPvFuture, which have characters that no address has.
        let address: Ipv6Addr = literal.parse().map_err(|_| UrlKeyError::InvalidHost)?;
        return Ok(hashed_ipv6(address, seed));
    }
    let state = scan_name(text.as_bytes(), seed)?;
    match ends_in_number(text) {
        false => Ok(Hashed { host: Host::Name(text), state }),
        true => {
            // The parser of `Ipv4Addr` takes plain decimal without leading zeros only, as RFC 3986
            // s3.2.2 does; what else resolvers read as an address (s7.4) is refused.
            let address: Ipv4Addr = text.parse().map_err(|_| UrlKeyError::InvalidHost)?;
            Ok(Hashed { host: Host::Ipv4(address), state })
        }
    }
}

/// The hash state of an IPv6 address, whatever its spelling.
pub(super) fn hashed_ipv6<'a>(address: Ipv6Addr, seed: &HashSeed) -> Hashed<'a> {
    let octets = address.octets();
    let state = fold::words(&octets).fold(seed.start(), |state, word| seed.add(state, word));
    Hashed { host: Host::Ipv6(address), state }
}

/// Checks the labels of a registered name or IPv4 address, and returns its hash state.
#[inline]
fn scan_name(name: &[u8], seed: &HashSeed) -> Result<u64, UrlKeyError> {
    // The top bit of an octet of `empty` says that a dot stands where a label should begin.
    let (mut empty, mut any, mut before) = (0, 0, TOPS >> 56);
    let mut state = seed.start();
    for word in fold::words(name) {
        let dots = fold::find(word, b'.');
        empty |= dots & (dots << 8 | before);
        before = dots >> 56;
        any |= word;
        state = seed.add(state, fold::fold(word));
    }
    if empty != 0 || any & TOPS != 0 || name.is_empty() {
        return Err(UrlKeyError::InvalidHost);
    }
    if name.len() > MAX_LABEL_LEN {
        check_lengths(name)?;
    }
    Ok(state)
}

#[cold]
fn check_lengths(name: &[u8]) -> Result<(), UrlKeyError> {
    let name = name.strip_suffix(b".").unwrap_or(name);
    if name.len() > MAX_NAME_LEN
        || name.split(|byte| *byte == b'.').any(|label| label.len() > MAX_LABEL_LEN)
    {
        return Err(UrlKeyError::InvalidHost);
    }
    Ok(())
}

/// Whether the last label of `name`, a final dot apart, is a number: all digits, or `0x` and hex
/// digits or none (URL Standard, "ends in a number checker").
#[inline]
fn ends_in_number(name: &str) -> bool {
    let bytes = name.as_bytes();
    let bytes = bytes.strip_suffix(b".").unwrap_or(bytes);
    match bytes.last() {
        Some(last) if last.is_ascii_hexdigit() || matches!(last, b'x' | b'X') => {}
        Some(_) | None => return false,
    }
    let label = bytes.rsplit(|byte| *byte == b'.').next().unwrap_or(bytes);
    match label {
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
