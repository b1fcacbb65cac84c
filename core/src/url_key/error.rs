//! Why a URL names no origin.

use core::fmt;

/// Why a URL names no origin. Names the part that is wrong and never repeats the URL, which may hold
/// a password. Where several parts are wrong, the first in this order is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlKeyError {
    /// The URL has no scheme or no authority.
    NotAbsolute,
    /// The scheme is neither `http` nor `https`.
    UnsupportedScheme,
    /// The host is no registered name of proper length and no IP address in its plain form.
    InvalidHost,
    /// The port is not a decimal number from 1 to 65535.
    InvalidPort,
}

impl fmt::Display for UrlKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAbsolute => "the URL is not absolute",
            Self::UnsupportedScheme => "the scheme of the URL is neither http nor https",
            Self::InvalidHost => "the host of the URL is invalid",
            Self::InvalidPort => "the port of the URL is invalid",
        })
    }
}

impl core::error::Error for UrlKeyError {}
