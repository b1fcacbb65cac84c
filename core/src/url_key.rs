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
use alloc::format;
use core::fmt;
use core::hash::{Hash, Hasher};

use http::Uri;
use url::Url;

use self::origin::Origin;
use self::parse::Scanned;

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
    origin: Origin<&'a str>,
    /// The hash without the partition.
    hash: u64,
    /// Whether the URL wrote a port.
    port_is_written: bool,
}

/// An origin as a key, in its own memory and canonical: names are in lower case.
#[derive(Debug, Clone)]
pub struct UrlKey {
    origin: Origin<Box<str>>,
    hash: u64,
}

impl<'a> UrlKeyRef<'a> {
    /// The key of an absolute URI.
    ///
    /// # Errors
    ///
    /// [`UrlKeyError`] where the URI names no origin. The port is read from the text: the one that
    /// [`Uri::port_u16`] gives is wrong for some.
    pub fn new(uri: &'a Uri, config: &UrlKeyConfig) -> Result<Self, UrlKeyError> {
        let key = Self::unchecked(uri, config)?;
        key.check()?;
        Ok(key)
    }

    /// The key of an absolute URI whose host may be no valid name. It equals no valid key then, so
    /// that only what is not found has to be [checked](Self::check).
    #[inline]
    pub(crate) fn unchecked(uri: &'a Uri, config: &UrlKeyConfig) -> Result<Self, UrlKeyError> {
        if let Some(key) = Self::of_name_alone(uri, config) {
            return Ok(key);
        }
        let scheme = scheme_of(uri)?;
        let authority = uri.authority().ok_or(UrlKeyError::NotAbsolute)?;
        let scanned = parse::authority(authority.as_str(), &config.hash_seed)?;
        Ok(Self::from_scanned(scheme, scanned, config))
    }

    /// The same for most URIs, whose authority is a name and no more, and for no others.
    #[inline(always)]
    pub(crate) fn of_name_alone(uri: &'a Uri, config: &UrlKeyConfig) -> Option<Self> {
        let scheme = scheme_of(uri).ok()?;
        let host = uri.authority()?.as_str();
        let state = parse::hash_name_alone(host, &config.hash_seed)?;
        Some(Self::from_scanned(scheme, Scanned { host, port: None, state }, config))
    }

    /// Checks what [`unchecked`](Self::unchecked) left out.
    pub(crate) fn check(&self) -> Result<(), UrlKeyError> {
        parse::check_host(self.origin.host)
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
        let host = url.host_str().ok_or(UrlKeyError::InvalidHost)?;
        // The URL Standard allows some characters in a host that `http::Uri` does not.
        if !host.bytes().all(is_host_byte) {
            return Err(UrlKeyError::InvalidHost);
        }
        parse::check_host(host)?;
        if url.port() == Some(0) {
            return Err(UrlKeyError::InvalidPort);
        }
        let state = parse::hash_host(host, &config.hash_seed);
        Ok(Self::from_scanned(scheme, Scanned { host, port: url.port(), state }, config))
    }

    #[inline(always)]
    fn from_scanned(scheme: Scheme, scanned: Scanned<'a>, config: &UrlKeyConfig) -> Self {
        let Scanned { host, port, state } = scanned;
        let port_is_written = port.is_some();
        let port = port.unwrap_or_else(|| config.default_port(scheme));
        let rest = u64::from(port) | u64::from(scheme == Scheme::Https) << 16;
        Self {
            origin: Origin { scheme, host, port, partition: None },
            hash: config.hash_seed.finish(state, rest),
            port_is_written,
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
        let host = match parse::ipv6(self.origin.host) {
            None => self.origin.host.to_ascii_lowercase(),
            Some(address) => format!("[{address}]"),
        };
        let Origin { scheme, port, partition, .. } = self.origin;
        let host = host.into_boxed_str();
        UrlKey { origin: Origin { scheme, host, port, partition }, hash: self.hash_value() }
    }

    /// The scheme.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.origin.scheme
    }

    /// The host; a name in the case in which the URL wrote it.
    #[must_use]
    pub fn host(&self) -> Host<&'a str> {
        self.origin.host()
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

    /// The host as the URL wrote it, IPv6 in its brackets.
    pub(crate) const fn written_host(&self) -> &'a str {
        self.origin.host
    }

    /// The port, if the URL wrote one.
    pub(crate) fn written_port(&self) -> Option<u16> {
        self.port_is_written.then_some(self.origin.port)
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
        self.origin().host()
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

    #[inline(always)]
    fn origin(&self) -> Origin<&str> {
        let Origin { scheme, port, partition, .. } = self.origin;
        Origin { scheme, host: &self.origin.host, port, partition }
    }
}

/// The origin as a URL with its port, without path. The partition is not shown.
impl fmt::Display for UrlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { scheme, host, port, .. } = self.origin();
        write!(f, "{scheme}://{host}:{port}")
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
    match uri.scheme_str() {
        Some("http") => Ok(Scheme::Http),
        Some("https") => Ok(Scheme::Https),
        // Parsing folds the two known ones, assembling from parts does not.
        Some(scheme) if scheme.eq_ignore_ascii_case("http") => Ok(Scheme::Http),
        Some(scheme) if scheme.eq_ignore_ascii_case("https") => Ok(Scheme::Https),
        Some(_) => Err(UrlKeyError::UnsupportedScheme),
        None => Err(UrlKeyError::NotAbsolute),
    }
}

/// Whether `http::Uri` allows `byte` in a host (unreserved and sub-delims of RFC 3986 s2, and what an
/// IPv6 address in brackets needs).
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!$&'()*+,-.;=_~[]:".contains(&byte)
}

#[cfg(test)]
mod tests;
