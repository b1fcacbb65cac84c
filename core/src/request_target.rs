//! How a request is sent to its origin: request target and `Host`, by the protocol of the connection.
//!
//! | connection | request target | host |
//! |---|---|---|
//! | HTTP/1.x | origin-form: `/path?query` (RFC 9112 s3.2.1) | `Host` (RFC 9112 s3.2) |
//! | HTTP/1.x proxy, `http` | absolute-form (RFC 9112 s3.2.2) | `Host` |
//! | HTTP/2 | `:path` (RFC 9113 s8.3.1); the URI stays absolute for hyper | `:authority`, no `Host` |
//!
//! CONNECT has the authority-form everywhere (RFC 9112 s3.2.3, RFC 9113 s8.5), OPTIONS the
//! asterisk-form on request ([`AsteriskForm`]).

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt::{self, Write as _};

use bytes::Bytes;
use http::header::{HOST, HeaderValue};
use http::request::Parts;
use http::uri::{self, Authority, PathAndQuery};
use http::{HeaderMap, Method, Uri, Version};

use crate::protocol::Protocol;
use crate::url_key::{Scheme, UrlKeyRef};

/// Extension of an OPTIONS request that is about the server as a whole: its target is `*`
/// (RFC 9112 s3.2.4). `http::Uri` cannot tell a URL without a path from one with the path `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AsteriskForm;

/// Why a request cannot be sent over a connection of this protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyError {
    /// The `Host` that the caller set is no authority, or has a userinfo, and HTTP/2 needs one.
    InvalidHost,
    /// The request target is too long once it is percent-encoded.
    TargetTooLong,
    /// The origin is an `https` one, which a proxy must not read: it needs a tunnel.
    TunnelNeeded,
    /// The asterisk-form was asked for, which has no equivalent for a proxy in `http::Uri`.
    AsteriskThroughProxy,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidHost => "the Host header of the request is no authority",
            Self::TargetTooLong => "the request target is too long",
            Self::TunnelNeeded => "a request to an https origin needs a tunnel through the proxy",
            Self::AsteriskThroughProxy => "the asterisk-form cannot be sent through a proxy",
        })
    }
}

impl core::error::Error for ApplyError {}

/// How to send one request to its origin. Comes from [`Selector::select`](crate::Selector::select).
#[derive(Debug, Clone)]
pub struct RequestTarget {
    scheme: Scheme,
    port: u16,
    host: Arc<HostField>,
    /// The `Host` that the caller set: it is sent instead of ours.
    caller_host: Option<HeaderValue>,
}

impl RequestTarget {
    pub(crate) fn new(
        key: &UrlKeyRef<'_>,
        host: Arc<HostField>,
        caller_host: Option<HeaderValue>,
    ) -> Self {
        Self { scheme: key.scheme(), port: key.port(), host, caller_host }
    }

    /// Writes request target and `Host` for a connection that speaks `protocol`.
    ///
    /// Can be applied again to the same request for another attempt, over any protocol: path and query
    /// are taken from the request as it is. An HTTP/1.0 request gets no `Host` of ours.
    ///
    /// # Errors
    ///
    /// [`ApplyError`] where this protocol cannot carry the request, which is then unchanged.
    pub fn apply(&self, parts: &mut Parts, protocol: Protocol) -> Result<(), ApplyError> {
        let uri = match form_of(parts) {
            Form::Authority => Uri::from(self.authority_form().ok_or(ApplyError::InvalidHost)?),
            Form::Asterisk => match protocol {
                Protocol::Http1 => Uri::from(asterisk()),
                Protocol::Http1Proxy => return Err(ApplyError::AsteriskThroughProxy),
                Protocol::Http2 => self.absolute(self.authority()?, asterisk())?,
            },
            Form::Path => match protocol {
                Protocol::Http1 => Uri::from(path_and_query(&parts.uri)?),
                Protocol::Http1Proxy => match self.scheme {
                    Scheme::Http => {
                        self.absolute(self.proxy_authority()?, path_and_query(&parts.uri)?)?
                    }
                    Scheme::Https => return Err(ApplyError::TunnelNeeded),
                },
                Protocol::Http2 => self.absolute(self.authority()?, path_and_query(&parts.uri)?)?,
            },
        };
        parts.uri = uri;
        match protocol {
            Protocol::Http1 | Protocol::Http1Proxy => self.set_host(parts),
            Protocol::Http2 => {
                parts.headers.remove(HOST);
            }
        }
        Ok(())
    }

    /// Host and port of the origin, both always there: what CONNECT asks a proxy for (RFC 9110
    /// s9.3.6).
    fn authority_form(&self) -> Option<Authority> {
        let mut text = String::from(self.host.text());
        write!(text, ":{}", self.port).ok()?;
        Authority::from_maybe_shared(Bytes::from(text)).ok()
    }

    /// The authority that a proxy is told: it knows the registered default port alone.
    fn proxy_authority(&self) -> Result<Authority, ApplyError> {
        const REGISTERED: u16 = 80;
        if self.host.port.is_none() && self.port != REGISTERED {
            return self.authority_form().ok_or(ApplyError::InvalidHost);
        }
        Ok(self.host.authority.clone())
    }

    /// `:authority` of an HTTP/2 request (RFC 9113 s8.3.1).
    fn authority(&self) -> Result<Authority, ApplyError> {
        match &self.caller_host {
            None => Ok(self.host.authority.clone()),
            Some(value) => match Authority::try_from(value.as_bytes()) {
                Ok(authority) if !authority.as_str().contains('@') => Ok(authority),
                Ok(_) | Err(_) => Err(ApplyError::InvalidHost),
            },
        }
    }

    fn absolute(&self, authority: Authority, path: PathAndQuery) -> Result<Uri, ApplyError> {
        let mut parts = uri::Parts::default();
        parts.scheme = Some(self.scheme.into());
        parts.authority = Some(authority);
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).map_err(|_| ApplyError::TargetTooLong)
    }

    fn set_host(&self, parts: &mut Parts) {
        if parts.headers.contains_key(HOST) {
            return;
        }
        if let Some(value) = &self.caller_host {
            parts.headers.insert(HOST, value.clone());
        } else if parts.version >= Version::HTTP_11 {
            parts.headers.insert(HOST, self.host.value.clone());
        }
    }
}

/// The request carries more than one `Host` (RFC 9112 s3.2).
#[derive(Debug)]
pub(crate) struct DuplicateHost;

/// The `Host` that the caller set, if there is one.
pub(crate) fn caller_host(headers: &HeaderMap) -> Result<Option<HeaderValue>, DuplicateHost> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (host, None) => Ok(host.cloned()),
        (_, Some(_)) => Err(DuplicateHost),
    }
}

/// Host and port as a URL wrote them, ready to be sent; userinfo is not among them.
#[derive(Debug)]
pub(crate) struct HostField {
    value: HeaderValue,
    authority: Authority,
    host_len: usize,
    port: Option<u16>,
}

impl HostField {
    /// What `Host` is for the URL of `key` (RFC 9110 s7.2), or `None` where `http` takes it for
    /// invalid.
    pub(crate) fn new(key: &UrlKeyRef<'_>) -> Option<Self> {
        let (host, port) = (key.written_host(), key.written_port());
        let mut text = String::from(host);
        if let Some(port) = port {
            write!(text, ":{port}").ok()?;
        }
        let text = Bytes::from(text);
        Some(Self {
            value: HeaderValue::from_maybe_shared(text.clone()).ok()?,
            authority: Authority::from_maybe_shared(text).ok()?,
            host_len: host.len(),
            port,
        })
    }

    /// Whether this is what the URL of `key` wrote, to the letter.
    #[inline]
    pub(crate) fn is_of(&self, key: &UrlKeyRef<'_>) -> bool {
        key.written_host() == self.text() && key.written_port() == self.port
    }

    /// The host alone, IPv6 in its brackets.
    #[inline]
    fn text(&self) -> &str {
        let text = self.authority.as_str();
        text.get(..self.host_len).unwrap_or(text)
    }
}

/// The request target of a URL that the `url` crate parsed, as the absolute URI of a request. Userinfo
/// and fragment, which are never sent, are left out.
///
/// # Errors
///
/// Where the URL has no host, and where `http::Uri` refuses what the URL Standard allows: a too long
/// URL, some characters in a host.
pub fn uri_from_url(url: &url::Url) -> Result<Uri, uri::InvalidUri> {
    let Some(host) = url.host_str() else {
        // No URI is empty: this is the error.
        return Uri::from_maybe_shared(Bytes::new());
    };
    let mut text = String::with_capacity(url.as_str().len());
    text.push_str(url.scheme());
    text.push_str("://");
    text.push_str(host);
    if let Some(port) = url.port() {
        // Writing to a string does not fail.
        let _ = write!(text, ":{port}");
    }
    text.push_str(url.path());
    if let Some(query) = url.query() {
        text.push('?');
        text.push_str(query);
    }
    Uri::from_maybe_shared(Bytes::from(text))
}

/// The forms that do not depend on the protocol alone.
enum Form {
    Path,
    Authority,
    Asterisk,
}

fn form_of(parts: &Parts) -> Form {
    match parts.method {
        Method::CONNECT => Form::Authority,
        Method::OPTIONS
            if parts.uri.path() == "*" || parts.extensions.get::<AsteriskForm>().is_some() =>
        {
            Form::Asterisk
        }
        _ => Form::Path,
    }
}

fn asterisk() -> PathAndQuery {
    PathAndQuery::from_static("*")
}

/// Path and query as they are sent: with a path, in ASCII. The bytes are shared with `uri` unless one
/// of the two has to be mended.
fn path_and_query(uri: &Uri) -> Result<PathAndQuery, ApplyError> {
    let (sent, text) = match uri.path_and_query() {
        Some(sent) if sent.as_str() != "/" => (sent, sent.as_str()),
        // An empty one reads as `/` too, but is written as nothing.
        Some(_) | None => return Ok(PathAndQuery::from_static("/")),
    };
    if text.starts_with('/') && text.is_ascii() {
        return Ok(sent.clone());
    }
    let mut mended = String::with_capacity(text.len() + 1);
    if !text.starts_with('/') {
        mended.push('/');
    }
    for char in text.chars() {
        if char.is_ascii() {
            mended.push(char);
        } else {
            for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(mended, "%{byte:02X}");
            }
        }
    }
    PathAndQuery::from_maybe_shared(Bytes::from(mended)).map_err(|_| ApplyError::TargetTooLong)
}
