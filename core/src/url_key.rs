//! The origin of a URL as a map key: [`UrlKey`], and [`UrlKeyRef`] that borrows from the URL.
//!
//! An origin is scheme, host and port (RFC 9110 s4.3). Scheme and host ignore ASCII case, an absent
//! or empty port is the scheme's default (RFC 9110 s4.2.3), all spellings of an IPv6 address are one,
//! and userinfo, path, query and fragment have no part in it. A final dot of the host has.
//!
//! Both forms carry a seeded hash that is computed once, when they are made; they are equal and hash
//! alike whichever of them is compared with which.
//!
//! ```
//! use http::Uri;
//! use mac_core::{UrlKeyConfig, UrlKeyRef};
//!
//! let config = UrlKeyConfig::default();
//! let plain = Uri::from_static("http://example.com/a");
//! let odd = Uri::from_static("HTTP://user@EXAMPLE.com:080/b");
//! let plain = UrlKeyRef::new(&plain, &config)?;
//! let odd = UrlKeyRef::new(&odd, &config)?;
//!
//! assert_eq!(plain, odd);
//! assert_eq!(plain.hash_value(), odd.to_key().hash_value());
//! assert_eq!(odd.to_key().to_string(), "http://example.com:80");
//! # Ok::<_, mac_core::UrlKeyError>(())
//! ```

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use http::Uri;
use url::Url;

use self::origin::Origin;
use self::parse::Split;

mod config;
mod error;
mod fold;
mod origin;
mod parse;

pub use self::config::UrlKeyConfig;
pub use self::error::UrlKeyError;
pub use self::fold::HashSeed;
pub use self::origin::{Host, Partition, Scheme};

/// An origin as a key, borrowed from the URL that names it. Making one allocates nothing.
#[derive(Debug, Clone, Copy)]
pub struct UrlKeyRef<'a> {
    origin: Origin<Host<&'a str>>,
    /// The hash without the partition.
    hash: u64,
    written: Written<'a>,
}

/// An origin as a key, in its own memory and canonical: names are in lower case.
#[derive(Debug, Clone)]
pub struct UrlKey {
    origin: Origin<Host<Box<str>>>,
    hash: u64,
}

/// How the URL wrote its host, and whether it wrote a port: what `Host` repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: bool,
}

impl<'a> UrlKeyRef<'a> {
    /// The key of an absolute URI.
    ///
    /// # Errors
    ///
    /// [`UrlKeyError`] where the URI names no origin. The port is read from the text: the one that
    /// [`Uri::port_u16`] gives is wrong for some.
    #[inline]
    pub fn new(uri: &'a Uri, config: &UrlKeyConfig) -> Result<Self, UrlKeyError> {
        let scheme = scheme_of(uri)?;
        let authority = uri.authority().ok_or(UrlKeyError::NotAbsolute)?;
        let split = Split::new(authority.as_str())?;
        let host = parse::host(split.host, &config.hash_seed)?;
        let port = match split.port {
            None | Some("") => None,
            Some(digits) => Some(parse::port(digits)?),
        };
        Ok(Self::from_parts(scheme, host, port, split.host, config))
    }

    /// The key of a URL that the `url` crate parsed. Names in Unicode come in this way.
    ///
    /// [`Url`] forgets a port that is the scheme's registered one: with another default port configured,
    /// `http://h:80/` and `http://h/` are one key here, and two in [`UrlKeyRef::new`].
    ///
    /// # Errors
    ///
    /// [`UrlKeyError`] where the URL names no origin.
    pub fn from_url(url: &'a Url, config: &UrlKeyConfig) -> Result<Self, UrlKeyError> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(UrlKeyError::UnsupportedScheme),
        };
        let text = url.host_str().ok_or(UrlKeyError::InvalidHost)?;
        // The URL Standard allows some characters in a host that `http::Uri` does not.
        if !text.bytes().all(is_host_byte) {
            return Err(UrlKeyError::InvalidHost);
        }
        let host = parse::host(text, &config.hash_seed)?;
        let port = match url.port() {
            Some(0) => return Err(UrlKeyError::InvalidPort),
            port => port,
        };
        Ok(Self::from_parts(scheme, host, port, text, config))
    }

    #[inline]
    fn from_parts(
        scheme: Scheme,
        host: parse::Hashed<'a>,
        written_port: Option<u16>,
        written_host: &'a str,
        config: &UrlKeyConfig,
    ) -> Self {
        let port = written_port.unwrap_or_else(|| config.default_port(scheme));
        let kind = match (scheme, host.host) {
            (Scheme::Http, Host::Name(_) | Host::Ipv4(_)) => 0,
            (Scheme::Https, Host::Name(_) | Host::Ipv4(_)) => 1,
            (Scheme::Http, Host::Ipv6(_)) => 2,
            (Scheme::Https, Host::Ipv6(_)) => 3,
        };
        Self {
            origin: Origin { scheme, host: host.host, port, partition: None },
            hash: config.hash_seed.finish(host.state, u64::from(port) | kind << 16),
            written: Written { host: written_host, port: written_port.is_some() },
        }
    }

    /// The same origin under `partition`, which is another key.
    #[inline]
    #[must_use]
    pub fn with_partition(mut self, partition: Partition) -> Self {
        self.origin.partition = Some(partition);
        self
    }

    /// The key in its own memory and canonical form.
    #[must_use]
    pub fn to_key(&self) -> UrlKey {
        let host = match self.origin.host {
            Host::Name(name) => Host::Name(name.to_ascii_lowercase().into_boxed_str()),
            Host::Ipv4(address) => Host::Ipv4(address),
            Host::Ipv6(address) => Host::Ipv6(address),
        };
        let Origin { scheme, port, partition, .. } = self.origin;
        UrlKey { origin: Origin { scheme, host, port, partition }, hash: self.hash_value() }
    }

    /// The scheme.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.origin.scheme
    }

    /// The host; a name in the case in which the URL wrote it.
    #[must_use]
    pub const fn host(&self) -> Host<&'a str> {
        self.origin.host
    }

    /// The port that connections go to: the URL's or the default one.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.origin.port
    }

    /// The partition, if the request named one.
    #[must_use]
    pub const fn partition(&self) -> Option<Partition> {
        self.origin.partition
    }

    /// The seeded hash. Equal keys that were made with one [`HashSeed`] have equal ones.
    #[must_use]
    pub fn hash_value(&self) -> u64 {
        match self.origin.partition {
            None => self.hash,
            // The hash so far is as secret as the seed, so that it serves as one.
            Some(partition) => fold::multiply_fold(self.hash ^ partition.0, self.hash | 1),
        }
    }

    pub(crate) const fn written(&self) -> Written<'a> {
        self.written
    }
}

impl UrlKey {
    /// The scheme.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.origin.scheme
    }

    /// The host; a name in lower case.
    #[must_use]
    pub fn host(&self) -> Host<&str> {
        self.origin().host
    }

    /// The port that connections go to.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.origin.port
    }

    /// The partition, if the request named one.
    #[must_use]
    pub const fn partition(&self) -> Option<Partition> {
        self.origin.partition
    }

    /// The seeded hash. Equal keys that were made with one [`HashSeed`] have equal ones.
    #[must_use]
    pub fn hash_value(&self) -> u64 {
        self.hash
    }

    #[inline]
    fn origin(&self) -> Origin<Host<&str>> {
        let host = match &self.origin.host {
            Host::Name(name) => Host::Name(&**name),
            Host::Ipv4(address) => Host::Ipv4(*address),
            Host::Ipv6(address) => Host::Ipv6(*address),
        };
        let Origin { scheme, port, partition, .. } = self.origin;
        Origin { scheme, host, port, partition }
    }
}

/// The origin as a URL with its port, without path. The partition is not shown.
impl fmt::Display for UrlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { scheme, host, port, .. } = self.origin();
        match host {
            Host::Name(_) | Host::Ipv4(_) => write!(f, "{scheme}://{host}:{port}"),
            Host::Ipv6(_) => write!(f, "{scheme}://[{host}]:{port}"),
        }
    }
}

impl Eq for UrlKey {}
impl Eq for UrlKeyRef<'_> {}

impl PartialEq for UrlKey {
    fn eq(&self, other: &Self) -> bool {
        self.origin() == other.origin()
    }
}

impl PartialEq for UrlKeyRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.origin == other.origin
    }
}

impl PartialEq<UrlKeyRef<'_>> for UrlKey {
    #[inline]
    fn eq(&self, other: &UrlKeyRef<'_>) -> bool {
        self.origin() == other.origin
    }
}

impl PartialEq<UrlKey> for UrlKeyRef<'_> {
    #[inline]
    fn eq(&self, other: &UrlKey) -> bool {
        self.origin == other.origin()
    }
}

impl Hash for UrlKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.origin().hash(state);
    }
}

impl Hash for UrlKeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.origin.hash(state);
    }
}

#[inline]
fn scheme_of(uri: &Uri) -> Result<Scheme, UrlKeyError> {
    let scheme = uri.scheme().ok_or(UrlKeyError::NotAbsolute)?;
    if *scheme == http::uri::Scheme::HTTP {
        Ok(Scheme::Http)
    } else if *scheme == http::uri::Scheme::HTTPS {
        Ok(Scheme::Https)
    } else if scheme.as_str().eq_ignore_ascii_case("http") {
        // Parsing folds the two known ones, assembling from parts does not.
        Ok(Scheme::Http)
    } else if scheme.as_str().eq_ignore_ascii_case("https") {
        Ok(Scheme::Https)
    } else {
        Err(UrlKeyError::UnsupportedScheme)
    }
}

/// Whether `http::Uri` allows `byte` in a host (unreserved and sub-delims of RFC 3986 s2, and what an
/// IPv6 address in brackets needs).
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!$&'()*+,-.;=_~[]:".contains(&byte)
}

#[cfg(test)]
mod tests;
