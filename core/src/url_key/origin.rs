//! What makes an origin: scheme, host, port and partition, with the one equality and hash of all keys.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::net::{Ipv4Addr, Ipv6Addr};

use super::{fold, parse};

/// The two schemes that name an origin of this client (RFC 9110 s4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// `http`, RFC 9110 s4.2.1.
    Http,
    /// `https`, RFC 9110 s4.2.2.
    Https,
}

impl Scheme {
    /// The scheme in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Scheme> for http::uri::Scheme {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Http => Self::HTTP,
            Scheme::Https => Self::HTTPS,
        }
    }
}

/// A host (RFC 3986 s3.2.2). Displays without brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Host<S> {
    /// A registered name, in ASCII; with its final dot if it has one.
    Name(S),
    /// An IPv4 address, written as four decimal numbers.
    Ipv4(Ipv4Addr),
    /// An IPv6 address, written in brackets in a URL.
    Ipv6(Ipv6Addr),
}

impl<S: fmt::Display> fmt::Display for Host<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Ipv4(address) => address.fmt(f),
            Self::Ipv6(address) => address.fmt(f),
        }
    }
}

/// A tag that keeps requests to one origin apart: with another tag they share no connection.
///
/// A caller puts it into a request's extensions. The number means nothing here; give each of your
/// tenants, profiles or top-level sites one (Fetch Standard, "connections").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub u64);

/// What makes two keys the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<S> {
    pub(super) scheme: Scheme,
    /// A name, an IPv4 address in its only spelling, or an IPv6 address in any, in brackets.
    pub(super) host: S,
    pub(super) port: u16,
    pub(super) partition: Option<Partition>,
}

impl<'a> Origin<&'a str> {
    pub(super) fn host(&self) -> Host<&'a str> {
        match (parse::ipv6(self.host), parse::ipv4(self.host)) {
            (Some(address), _) => Host::Ipv6(address),
            (None, Some(address)) => Host::Ipv4(address),
            (None, None) => Host::Name(self.host),
        }
    }
}

impl PartialEq for Origin<&str> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        // The host as it is written decides for all but an IPv6 address.
        let same_host = fold::eq_ignore_case(self.host.as_bytes(), other.host.as_bytes())
            || self.host.starts_with('[') && same_ipv6(self.host, other.host);
        same_host
            && self.port == other.port
            && self.scheme == other.scheme
            && self.partition == other.partition
    }
}

#[inline(never)]
fn same_ipv6(a: &str, b: &str) -> bool {
    matches!((parse::ipv6(a), parse::ipv6(b)), (Some(a), Some(b)) if a == b)
}

/// Feeds what equality compares, so that keys of different [`HashSeed`](super::HashSeed)s hash alike
/// too.
impl Hash for Origin<&str> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match parse::ipv6(self.host) {
            Some(address) => address.hash(state),
            None => fold::for_each_word(self.host.as_bytes(), |word| {
                state.write_u64(fold::fold(word));
            }),
        }
        (self.scheme, self.port, self.partition).hash(state);
    }
}
