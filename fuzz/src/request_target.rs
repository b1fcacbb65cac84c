//! A request, one part a line (URL, method, version, a `Host` of the caller's or nothing): what is
//! written for each protocol, against the oracle.

use std::time::Instant;

use http::header::{HOST, HeaderValue};
use http::request::Parts;
use http::uri::Authority;
use http::{Method, Request, Uri, Version};
use mac_core::{AsteriskForm, Protocol, RequestTarget, Selector, SelectorConfig};

use crate::oracle::{self, Origin};

const PROTOCOLS: [Protocol; 3] = [Protocol::Http1, Protocol::Http1Proxy, Protocol::Http2];

/// Checks the request that the lines of `data` describe.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Some(request) = request(text) else { return };
    let mut selector = Selector::new(SelectorConfig::default());
    let now = Instant::now();
    let selected = selector.select(&request, |_| (), now);
    let origin = oracle::origin(&request.uri, 80, 443);
    assert_eq!(selected.is_ok(), origin.is_ok(), "{}", request.uri);
    let (Ok(selected), Ok(origin)) = (selected, origin) else { return };

    // A known origin is sent the same, also after a request that wrote its host in another way.
    let mut other = request.clone();
    other.uri = Uri::try_from(format!("{}://{}/", origin.scheme, origin.authority()))
        .expect("an origin is a URI");
    assert_eq!(selector.select(&other, |_| (), now).expect("known").origin, selected.origin);
    let again = selector.select(&request, |_| (), now).expect("known");
    assert_eq!(again.origin, selected.origin);

    for first in PROTOCOLS {
        let once = applied(&request, &selected.target, first);
        same(once.as_ref(), applied(&request, &again.target, first).as_ref());
        check_refusal(&request, once.is_none(), first, &origin);
        let Some(once) = once else { continue };
        check_sent(&request, &once, first, &origin);
        for second in PROTOCOLS {
            // Another attempt is sent as if it were the only one.
            same(
                applied(&once, &selected.target, second).as_ref(),
                applied(&request, &selected.target, second).as_ref(),
            );
        }
    }
}

fn request(text: &str) -> Option<Parts> {
    let mut lines = text.split('\n');
    let uri = Uri::try_from(lines.next()?).ok()?;
    let method = Method::from_bytes(lines.next().unwrap_or("GET").as_bytes()).ok()?;
    let version = match lines.next().unwrap_or("") {
        "1.0" => Version::HTTP_10,
        "2" => Version::HTTP_2,
        _ => Version::HTTP_11,
    };
    let mut request = Request::builder().uri(uri).method(method).version(version);
    match lines.next() {
        None | Some("") => {}
        Some("*") => request = request.extension(AsteriskForm),
        Some(host) => request = request.header(HOST, HeaderValue::from_str(host).ok()?),
    }
    Some(request.body(()).ok()?.into_parts().0)
}

/// The request as it is sent, or nothing if this protocol cannot carry it.
fn applied(request: &Parts, target: &RequestTarget, protocol: Protocol) -> Option<Parts> {
    let mut sent = request.clone();
    match target.apply(&mut sent, protocol) {
        Ok(()) => Some(sent),
        Err(_) => {
            same(Some(&sent), Some(request));
            None
        }
    }
}

fn same(a: Option<&Parts>, b: Option<&Parts>) {
    let text = |parts: &Parts| (parts.uri.to_string(), parts.headers.clone());
    assert_eq!(a.map(text), b.map(text));
}

fn is_asterisk(request: &Parts) -> bool {
    request.method == Method::OPTIONS && request.extensions.get::<AsteriskForm>().is_some()
}

/// A request is refused where the protocol has no way to say it, and nowhere else.
fn check_refusal(request: &Parts, refused: bool, protocol: Protocol, origin: &Origin) {
    let expected = match protocol {
        _ if request.method == Method::CONNECT => false,
        Protocol::Http1 => false,
        Protocol::Http1Proxy => is_asterisk(request) || origin.scheme == "https",
        Protocol::Http2 => request.headers.get(HOST).is_some_and(|host| {
            let authority = Authority::try_from(host.as_bytes());
            authority.is_err() || host.as_bytes().contains(&b'@')
        }),
    };
    assert_eq!(refused, expected, "{} {protocol:?}", request.uri);
}

fn check_sent(request: &Parts, sent: &Parts, protocol: Protocol, origin: &Origin) {
    let target = sent.uri.to_string();
    assert!(target.bytes().all(|byte| byte.is_ascii_graphic()), "{target}");
    let authority = sent.uri.authority().map(|authority| authority.as_str().as_bytes());
    assert!(authority.is_none_or(|authority| !authority.contains(&b'@')));
    let callers = request.headers.get(HOST).map(|host| host.as_bytes());
    let ours = origin.host_field.as_bytes();
    let path = match is_asterisk(request) {
        true => "*".to_owned(),
        false => oracle::origin_form(&request.uri),
    };
    if request.method == Method::CONNECT {
        let without_port = origin.host_field.trim_end_matches(|char: char| char.is_ascii_digit());
        let host = without_port.strip_suffix(':').unwrap_or(&origin.host_field);
        assert_eq!(target, format!("{host}:{}", origin.port));
    } else if protocol == Protocol::Http1 {
        assert_eq!(target, path);
    } else {
        assert_eq!(sent.uri.scheme_str(), Some(origin.scheme.as_str()));
        assert_eq!(sent.uri.path_and_query().map(|path| path.as_str()), Some(path.as_str()));
        let expected = match protocol {
            Protocol::Http2 => callers.unwrap_or(ours),
            Protocol::Http1 | Protocol::Http1Proxy => ours,
        };
        assert_eq!(authority, Some(expected));
    }

    let hosts: Vec<&[u8]> = sent.headers.get_all(HOST).iter().map(|host| host.as_bytes()).collect();
    let expected = match protocol {
        Protocol::Http2 => None,
        Protocol::Http1 | Protocol::Http1Proxy => match callers {
            None if request.version == Version::HTTP_10 => None,
            None => Some(ours),
            callers => callers,
        },
    };
    assert_eq!(hosts, Vec::from_iter(expected));
}
