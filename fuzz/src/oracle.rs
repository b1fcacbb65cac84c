//! Slow and obvious: what a URL's origin, `Host` and path are, from its text alone.

use std::net::{Ipv4Addr, Ipv6Addr};

use http::Uri;
use mac_core::UrlKeyError;

/// An origin and how its URL wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub scheme: String,
    /// Canonical; IPv6 without brackets.
    pub host: String,
    pub port: u32,
    /// What `Host` is for this URL.
    pub host_field: String,
}

impl Origin {
    /// Whether two URLs have one origin.
    pub fn same(&self, other: &Self) -> bool {
        (&self.scheme, &self.host, self.port) == (&other.scheme, &other.host, other.port)
    }

    /// Host in brackets where needed, and port.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

/// The origin of `uri` with these default ports.
pub fn origin(uri: &Uri, http_port: u16, https_port: u16) -> Result<Origin, UrlKeyError> {
    let scheme = uri.scheme_str().ok_or(UrlKeyError::NotAbsolute)?.to_lowercase();
    let default_port = match scheme.as_str() {
        "http" => http_port,
        "https" => https_port,
        _ => return Err(UrlKeyError::UnsupportedScheme),
    };
    let authority = uri.authority().expect("an absolute URI has one").as_str();

    let parts: Vec<&str> = authority.split('@').collect();
    let host_port = match parts[..] {
        [host_port] => host_port,
        [userinfo, host_port] if !userinfo.contains('[') => host_port,
        _ => return Err(UrlKeyError::InvalidHost),
    };
    let colon = match host_port.rfind(']') {
        Some(bracket) => host_port[bracket..].find(':').map(|colon| bracket + colon),
        None => host_port.find(':'),
    };
    let (written, port) = match colon {
        Some(colon) => (&host_port[..colon], &host_port[colon + 1..]),
        None => (host_port, ""),
    };
    let host = host(written).ok_or(UrlKeyError::InvalidHost)?;
    if port.is_empty() {
        let host_field = written.to_owned();
        return Ok(Origin { scheme, host, port: default_port.into(), host_field });
    }
    if !port.chars().all(|char| char.is_ascii_digit()) {
        return Err(UrlKeyError::InvalidPort);
    }
    match port.trim_start_matches('0').parse::<u32>() {
        Ok(port @ 1..=65535) => {
            Ok(Origin { scheme, host, port, host_field: format!("{written}:{port}") })
        }
        Ok(_) | Err(_) => Err(UrlKeyError::InvalidPort),
    }
}

fn host(written: &str) -> Option<String> {
    if written.contains(['[', ']']) {
        let inner = written.strip_prefix('[')?.strip_suffix(']')?;
        return inner.parse::<Ipv6Addr>().ok().map(|address| address.to_string());
    }
    let lower = written.to_ascii_lowercase();
    let undotted = lower.strip_suffix('.').unwrap_or(&lower);
    let labels: Vec<&str> = undotted.split('.').collect();
    if !lower.is_ascii()
        || undotted.len() > 253
        || labels.iter().any(|label| label.is_empty() || label.len() > 63)
    {
        return None;
    }
    let last = labels.last()?;
    let is_number = last.chars().all(|char| char.is_ascii_digit())
        || last
            .strip_prefix("0x")
            .is_some_and(|hex| hex.chars().all(|char| char.is_ascii_hexdigit()));
    if is_number && lower.parse::<Ipv4Addr>().is_err() {
        return None;
    }
    Some(lower)
}

/// Path and query as they are sent in origin-form.
pub fn origin_form(uri: &Uri) -> String {
    let text = uri.path_and_query().map_or("/", |path| path.as_str());
    let text = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
    text.bytes().fold(String::new(), |mut sent, byte| {
        match byte.is_ascii() {
            true => sent.push(char::from(byte)),
            false => sent.push_str(&format!("%{byte:02X}")),
        }
        sent
    })
}
