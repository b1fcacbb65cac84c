//! How a selected request is written for each protocol: one named case a line.
//!
//! Where no Host is sent, `-` stands for it.
#![expect(clippy::panic, reason = "a test reports by panicking")]

use std::time::Instant;

use http::header::{HOST, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Uri, Version};
use mac_core::{
    ApplyError, AsteriskForm, Protocol, RequestTarget, Selector, SelectorConfig, uri_from_url,
};
use url::Url;

const PROTOCOLS: [Protocol; 3] = [Protocol::Http1, Protocol::Http1Proxy, Protocol::Http2];

/// The greatest length of a URI that `http` takes.
const MAX_URI_LEN: usize = 65_534;

fn parts(method: &str, url: &str) -> Parts {
    let uri: Uri = url.parse().unwrap_or_else(|error| panic!("{url}: {error}"));
    Request::builder().method(method).uri(uri).body(()).expect("valid").into_parts().0
}

fn with_host(mut request: Parts, host: &str) -> Parts {
    request.headers.insert(HOST, HeaderValue::from_str(host).expect("a value"));
    request
}

fn asterisk(url: &str) -> Parts {
    let mut request = parts("OPTIONS", url);
    request.extensions.insert(AsteriskForm);
    request
}

fn version(mut request: Parts, version: Version) -> Parts {
    request.version = version;
    request
}

fn target(request: &Parts) -> RequestTarget {
    let mut selector: Selector<()> = Selector::new(SelectorConfig::default());
    selector.select(request, |_| (), Instant::now()).expect("a valid URL").target
}

/// Request target and Host as they are sent.
fn sent(request: &Parts) -> (String, Option<&str>) {
    let hosts: Vec<&HeaderValue> = request.headers.get_all(HOST).iter().collect();
    assert!(hosts.len() <= 1, "{hosts:?}");
    let host = hosts.first().map(|host| host.to_str().expect("in ASCII"));
    (request.uri.to_string(), host)
}

struct Case {
    name: &'static str,
    request: Parts,
    protocol: Protocol,
    expected: Result<(&'static str, Option<&'static str>), ApplyError>,
}

/// Panics with every case that differs, and checks what holds for all of them.
fn check(cases: impl IntoIterator<Item = Case>) {
    let failures: Vec<String> = cases.into_iter().filter_map(differs).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn differs(case: Case) -> Option<String> {
    let Case { name, request, protocol, expected } = case;
    let target = target(&request);
    let mut applied = request.clone();
    let result = target.apply(&mut applied, protocol);
    let given = result.map(|()| sent(&applied));
    if given != expected.map(|(target, host)| (target.to_owned(), host)) {
        return Some(format!("{name} over {protocol:?}: {given:?} instead of {expected:?}"));
    }
    // RFC 9110 s7.1: nothing but target and Host depends on the connection.
    let others = |request: &Parts| {
        let mut headers = request.headers.clone();
        headers.remove(HOST);
        (request.method.clone(), request.version, headers)
    };
    assert_eq!(others(&applied), others(&request), "{name}");
    if result.is_err() {
        assert_eq!(sent(&applied), sent(&request), "{name}: changed, but refused");
    }
    None
}

/// The three protocols in the order of [`PROTOCOLS`], each with target and Host.
type Sent = Result<(&'static str, &'static str), ApplyError>;

fn over_all(name: &'static str, request: Parts, sent: [Sent; 3]) -> impl Iterator<Item = Case> {
    PROTOCOLS.into_iter().zip(sent).map(move |(protocol, sent)| Case {
        name,
        request: request.clone(),
        protocol,
        expected: sent.map(|(target, host)| (target, (host != "-").then_some(host))),
    })
}

fn check_all(cases: impl IntoIterator<Item = (&'static str, Parts, [Sent; 3])>) {
    check(cases.into_iter().flat_map(|(name, request, sent)| over_all(name, request, sent)));
}

// RFC 9112 s3.2.1: origin-form to the origin, an empty path is `/`. RFC 9112 s3.2.2: absolute-form to a
// proxy. RFC 9113 s8.3.1: over HTTP/2 :scheme, :authority and :path, which hyper takes from an absolute
// URI, and no Host. RFC 9110 s7.1: the fragment is not sent.
#[test]
fn path_and_query_are_sent_as_they_are_written() {
    let get = |url| parts("GET", url);
    check_all([
        (
            "path and query",
            get("http://h/a?b=c"),
            [Ok(("/a?b=c", "h")), Ok(("http://h/a?b=c", "h")), Ok(("http://h/a?b=c", "-"))],
        ),
        (
            "empty path",
            get("http://h"),
            [Ok(("/", "h")), Ok(("http://h/", "h")), Ok(("http://h/", "-"))],
        ),
        (
            "query without path",
            get("http://h?a/b"),
            [Ok(("/?a/b", "h")), Ok(("http://h/?a/b", "h")), Ok(("http://h/?a/b", "-"))],
        ),
        (
            "empty query",
            get("http://h/?"),
            [Ok(("/?", "h")), Ok(("http://h/?", "h")), Ok(("http://h/?", "-"))],
        ),
        (
            "empty query without path",
            get("http://h?"),
            [Ok(("/?", "h")), Ok(("http://h/?", "h")), Ok(("http://h/?", "-"))],
        ),
        (
            "fragment",
            get("http://h/a#f?g"),
            [Ok(("/a", "h")), Ok(("http://h/a", "h")), Ok(("http://h/a", "-"))],
        ),
        (
            "fragment without path",
            get("http://h#f/g"),
            [Ok(("/", "h")), Ok(("http://h/", "h")), Ok(("http://h/", "-"))],
        ),
        (
            "dot segments and slashes",
            get("http://h//a/../b/."),
            [
                Ok(("//a/../b/.", "h")),
                Ok(("http://h//a/../b/.", "h")),
                Ok(("http://h//a/../b/.", "-")),
            ],
        ),
    ]);
}

// RFC 9110 s4.2.3, RFC 3986 s6.2.2: who compares escapes may normalize them, who sends them does not.
// RFC 9112 s3.2: a target has no octets beyond ASCII; RFC 3986 s2.1: upper-case hex.
#[test]
fn escapes_stay_and_what_is_not_ascii_is_escaped() {
    let get = |url| parts("GET", url);
    check_all([
        (
            "escapes",
            get("http://h/%7Ea%2f%zz?%c3"),
            [
                Ok(("/%7Ea%2f%zz?%c3", "h")),
                Ok(("http://h/%7Ea%2f%zz?%c3", "h")),
                Ok(("http://h/%7Ea%2f%zz?%c3", "-")),
            ],
        ),
        (
            "path beyond ASCII",
            get("http://h/é?ü=😀"),
            [
                Ok(("/%C3%A9?%C3%BC=%F0%9F%98%80", "h")),
                Ok(("http://h/%C3%A9?%C3%BC=%F0%9F%98%80", "h")),
                Ok(("http://h/%C3%A9?%C3%BC=%F0%9F%98%80", "-")),
            ],
        ),
        (
            "query beyond ASCII without path",
            get("http://h?é"),
            [Ok(("/?%C3%A9", "h")), Ok(("http://h/?%C3%A9", "h")), Ok(("http://h/?%C3%A9", "-"))],
        ),
    ]);
}

// RFC 9112 s3.2, RFC 9110 s7.2: Host is the authority without userinfo, port included if written.
// RFC 9110 s4.2.4: userinfo is never generated.
#[test]
fn host_is_the_authority_as_written_without_userinfo() {
    let get = |url| parts("GET", url);
    check_all([
        (
            "port",
            get("http://h:8080/"),
            [Ok(("/", "h:8080")), Ok(("http://h:8080/", "h:8080")), Ok(("http://h:8080/", "-"))],
        ),
        (
            "port with zeros",
            get("http://h:0080/"),
            [Ok(("/", "h:80")), Ok(("http://h:80/", "h:80")), Ok(("http://h:80/", "-"))],
        ),
        (
            "empty port",
            get("http://h:/"),
            [Ok(("/", "h")), Ok(("http://h/", "h")), Ok(("http://h/", "-"))],
        ),
        (
            "mixed case",
            get("http://H.Example/A"),
            [
                Ok(("/A", "H.Example")),
                Ok(("http://H.Example/A", "H.Example")),
                Ok(("http://H.Example/A", "-")),
            ],
        ),
        (
            "final dot",
            get("http://h./"),
            [Ok(("/", "h.")), Ok(("http://h./", "h.")), Ok(("http://h./", "-"))],
        ),
        (
            "userinfo",
            get("http://user:p%40ss@h:81/a"),
            [Ok(("/a", "h:81")), Ok(("http://h:81/a", "h:81")), Ok(("http://h:81/a", "-"))],
        ),
        (
            "userinfo without path",
            get("http://u@h?q"),
            [Ok(("/?q", "h")), Ok(("http://h/?q", "h")), Ok(("http://h/?q", "-"))],
        ),
        (
            "IPv6",
            get("http://[2001:DB8::1]:081/p"),
            [
                Ok(("/p", "[2001:DB8::1]:81")),
                Ok(("http://[2001:DB8::1]:81/p", "[2001:DB8::1]:81")),
                Ok(("http://[2001:DB8::1]:81/p", "-")),
            ],
        ),
        (
            "IPv6 with userinfo like a host",
            get("http://h:80@[::1]:/"),
            [Ok(("/", "[::1]")), Ok(("http://[::1]/", "[::1]")), Ok(("http://[::1]/", "-"))],
        ),
    ]);
}

// RFC 9112 s3.2.2: only what a proxy may read is sent to it in absolute-form.
#[test]
fn an_https_request_goes_through_a_proxy_in_a_tunnel_only() {
    check_all([(
        "https",
        parts("GET", "https://h/a"),
        [Ok(("/a", "h")), Err(ApplyError::TunnelNeeded), Ok(("https://h/a", "-"))],
    )]);
}

// RFC 9112 s3.2.3, RFC 9110 s9.3.6: host and port, both always. RFC 9113 s8.5: :authority alone.
#[test]
fn connect_has_the_authority_form_with_host_and_port() {
    let connect = |url| parts("CONNECT", url);
    check_all([
        (
            "default port of https",
            connect("https://h/a?b"),
            [Ok(("h:443", "h")), Ok(("h:443", "h")), Ok(("h:443", "-"))],
        ),
        (
            "default port of http",
            connect("http://H"),
            [Ok(("H:80", "H")), Ok(("H:80", "H")), Ok(("H:80", "-"))],
        ),
        (
            "port with zeros",
            connect("http://h:00081/"),
            [Ok(("h:81", "h:81")), Ok(("h:81", "h:81")), Ok(("h:81", "-"))],
        ),
        (
            "IPv6 and userinfo",
            connect("https://u:p@[::1]/"),
            [Ok(("[::1]:443", "[::1]")), Ok(("[::1]:443", "[::1]")), Ok(("[::1]:443", "-"))],
        ),
        (
            "a Host of the caller's that is no authority",
            with_host(connect("https://h/"), "not one"),
            [Ok(("h:443", "not one")), Ok(("h:443", "not one")), Ok(("h:443", "-"))],
        ),
    ]);
}

// RFC 9112 s3.2.4: the asterisk-form is for OPTIONS, on request. RFC 9113 s8.3.1: `:path` is `*`.
#[test]
fn options_has_the_asterisk_form_only_on_request() {
    let mut get = parts("GET", "http://h/");
    get.extensions.insert(AsteriskForm);
    check_all([
        (
            "asked for",
            asterisk("http://h"),
            [Ok(("*", "h")), Err(ApplyError::AsteriskThroughProxy), Ok(("http://h*", "-"))],
        ),
        (
            "asked for, with path and query",
            asterisk("https://h:81/a?b"),
            [Ok(("*", "h:81")), Err(ApplyError::AsteriskThroughProxy), Ok(("https://h:81*", "-"))],
        ),
        (
            "not asked for",
            parts("OPTIONS", "http://h"),
            [Ok(("/", "h")), Ok(("http://h/", "h")), Ok(("http://h/", "-"))],
        ),
        (
            "a path that is an asterisk",
            parts("OPTIONS", "http://h/*"),
            [Ok(("/*", "h")), Ok(("http://h/*", "h")), Ok(("http://h/*", "-"))],
        ),
        (
            "of another method",
            get,
            [Ok(("/", "h")), Ok(("http://h/", "h")), Ok(("http://h/", "-"))],
        ),
    ]);
}

#[test]
fn the_asterisk_is_the_whole_path_of_an_http2_request() {
    let mut request = asterisk("http://h/a?b");
    target(&request).apply(&mut request, Protocol::Http2).expect("HTTP/2 carries it");
    assert_eq!(request.uri.path(), "*");
    assert_eq!(request.uri.query(), None);
    assert_eq!(request.uri.authority().map(|authority| authority.as_str()), Some("h"));
}

// RFC 9112 s3.2: HTTP/1.1 asks for Host, HTTP/1.0 (RFC 1945) knows none.
#[test]
fn a_request_of_http_1_0_gets_no_host_of_ours() {
    let old = |request| version(request, Version::HTTP_10);
    check_all([
        (
            "no Host",
            old(parts("GET", "http://h:81/a")),
            [Ok(("/a", "-")), Ok(("http://h:81/a", "-")), Ok(("http://h:81/a", "-"))],
        ),
        (
            "the caller's Host",
            old(with_host(parts("GET", "http://h/"), "i")),
            [Ok(("/", "i")), Ok(("http://h/", "i")), Ok(("http://i/", "-"))],
        ),
        (
            "CONNECT",
            old(parts("CONNECT", "http://h/")),
            [Ok(("h:80", "-")), Ok(("h:80", "-")), Ok(("h:80", "-"))],
        ),
    ]);
}

#[test]
fn a_request_made_for_http_2_gets_a_host_over_http_1() {
    check_all([(
        "HTTP/2",
        version(parts("GET", "http://h/a"), Version::HTTP_2),
        [Ok(("/a", "h")), Ok(("http://h/a", "h")), Ok(("http://h/a", "-"))],
    )]);
}

// RFC 9112 s3.2.2: a proxy takes the host from the target. RFC 9113 s8.3.1: one value for both.
#[test]
fn a_host_that_the_caller_set_is_sent_and_the_target_of_a_proxy_stays() {
    let with = |host| with_host(parts("GET", "http://h:81/a"), host);
    check_all([
        (
            "another name",
            with("Kept.Example"),
            [
                Ok(("/a", "Kept.Example")),
                Ok(("http://h:81/a", "Kept.Example")),
                Ok(("http://Kept.Example/a", "-")),
            ],
        ),
        (
            "IPv6 and port",
            with("[::1]:1"),
            [
                Ok(("/a", "[::1]:1")),
                Ok(("http://h:81/a", "[::1]:1")),
                Ok(("http://[::1]:1/a", "-")),
            ],
        ),
    ]);
}

// RFC 9113 s8.3.1: `:authority` is an authority, without userinfo.
#[test]
fn a_host_that_is_no_authority_is_refused_over_http_2() {
    for host in ["", "a b", "a/b", "http://i", "u@i", "u:p@i:1", "i:1:2", "[::1", "i?q", "é"] {
        let request = with_host(parts("GET", "http://h/"), host);
        let mut applied = request.clone();
        let result = target(&request).apply(&mut applied, Protocol::Http2);
        assert_eq!(result, Err(ApplyError::InvalidHost), "{host:?}");
        assert_eq!((applied.uri, applied.headers), (request.uri, request.headers), "{host:?}");
    }
}

// RFC 9112 s3.2: it is the caller's to say, and goes as he said it.
#[test]
fn a_host_that_is_no_authority_is_sent_over_http_1() {
    let request = with_host(parts("GET", "http://h/"), "");
    check_all([(
        "empty",
        request,
        [Ok(("/", "")), Ok(("http://h/", "")), Err(ApplyError::InvalidHost)],
    )]);
}

#[test]
fn another_attempt_is_sent_as_if_it_were_the_only_one() {
    let requests = [
        parts("GET", "http://u@H:081?q=é#f"),
        parts("GET", "https://h/a"),
        parts("CONNECT", "http://[::1]/"),
        asterisk("http://h/a"),
        parts("OPTIONS", "http://h"),
        version(parts("GET", "http://h/"), Version::HTTP_10),
        with_host(parts("GET", "http://h/"), "i:1"),
        version(with_host(parts("GET", "http://h/"), "i"), Version::HTTP_10),
        with_host(parts("GET", "http://h/"), "no authority"),
    ];
    for request in &requests {
        let target = target(request);
        let once = |protocol| {
            let mut applied = request.clone();
            target.apply(&mut applied, protocol).map(|()| (applied.uri, applied.headers))
        };
        // h2, h1, proxy; and each other order.
        for first in PROTOCOLS {
            for second in PROTOCOLS {
                for third in PROTOCOLS {
                    let mut applied = request.clone();
                    for protocol in [first, second, third] {
                        let before = (applied.uri.clone(), applied.headers.clone());
                        let result = target.apply(&mut applied, protocol);
                        let after = (applied.uri.clone(), applied.headers.clone());
                        let order = format!("{first:?}, {second:?}, {third:?}: {}", request.uri);
                        match result {
                            Ok(()) => assert_eq!(Ok(after), once(protocol), "{order}"),
                            Err(error) => {
                                assert_eq!(Err(error), once(protocol), "{order}");
                                assert_eq!(after, before, "{order}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_target_that_is_too_long_once_it_is_escaped_is_refused() {
    // Each of these grows threefold.
    let path = "é".repeat(MAX_URI_LEN / 6);
    let fits = parts("GET", &format!("http://h/{}", &path[..path.len() - 2 * "é".len()]));
    let request = parts("GET", &format!("http://h/{path}é"));
    for protocol in PROTOCOLS {
        target(&fits).apply(&mut fits.clone(), protocol).expect("it fits");

        let mut applied = request.clone();
        let result = target(&request).apply(&mut applied, protocol);
        assert_eq!(result, Err(ApplyError::TargetTooLong), "{protocol:?}");
        assert_eq!((&applied.uri, &applied.headers), (&request.uri, &HeaderMap::new()));
    }
}

#[test]
fn a_target_that_is_longer_as_a_url_than_as_a_path_is_sent_where_it_fits() {
    // The caller's Host takes the place of a short one.
    let url = format!("http://h/{}", "a".repeat(MAX_URI_LEN - "http://h/".len()));
    let request = with_host(parts("GET", &url), &"i".repeat(64));
    let (mut over_http1, mut over_http2) = (request.clone(), request.clone());
    target(&request).apply(&mut over_http1, Protocol::Http1).expect("it fits");
    // Assembled from parts, a URI may be longer than a parsed one: hyper sends the parts apart.
    target(&request).apply(&mut over_http2, Protocol::Http2).expect("its parts fit");
    assert_eq!(over_http2.uri.path().len(), MAX_URI_LEN - "http://h".len());
}

#[test]
fn errors_say_what_is_wrong_and_never_show_the_request() {
    for (error, word) in [
        (ApplyError::InvalidHost, "Host"),
        (ApplyError::TargetTooLong, "long"),
        (ApplyError::TunnelNeeded, "tunnel"),
        (ApplyError::AsteriskThroughProxy, "asterisk"),
    ] {
        assert!(error.to_string().contains(word), "{error}");
    }
    let secret = "hunter2";
    let request = with_host(parts("GET", "http://h/"), &format!("u:{secret}@h"));
    let error = target(&request).apply(&mut request.clone(), Protocol::Http2).expect_err("bad");
    assert!(!format!("{error} {error:?}").contains(secret));
}

// URL Standard; RFC 9110 s4.2.4, s7.1: userinfo and fragment are not sent.
#[test]
fn a_url_of_the_url_crate_becomes_the_uri_of_a_request() {
    for (url, uri) in [
        ("HTTPS://u:p@Bücher.example:443/a/../b?é#f", "https://xn--bcher-kva.example/b?%C3%A9"),
        ("http://h", "http://h/"),
        ("http://127.1:8080/?", "http://127.0.0.1:8080/?"),
        ("http://[0:0::1]:80/ ", "http://[::1]/"),
        ("http:\\\\h\\@i", "http://h/@i"),
    ] {
        let given = uri_from_url(&Url::parse(url).expect("valid")).expect("valid");
        assert_eq!(given.to_string(), uri, "{url}");
    }
    let long = Url::parse(&format!("http://h/{}", "a".repeat(MAX_URI_LEN))).expect("valid");
    uri_from_url(&long).expect_err("too long");
}

#[test]
fn a_method_in_another_case_is_another_method() {
    // RFC 9110 s9.1: methods are case-sensitive.
    let mut request = parts("connect", "http://h/a");
    request.extensions.insert(AsteriskForm);
    assert_ne!(request.method, Method::CONNECT);
    check_all([(
        "connect",
        request,
        [Ok(("/a", "h")), Ok(("http://h/a", "h")), Ok(("http://h/a", "-"))],
    )]);
}

/// RFC 9110 s4.2.1: a proxy takes an absent port for 80, whatever this client is told to.
#[test]
fn a_proxy_is_told_a_default_port_that_it_does_not_know() {
    let keys = mac_core::UrlKeyConfig {
        default_http_port: std::num::NonZeroU16::new(8080).expect("not zero"),
        ..mac_core::UrlKeyConfig::default()
    };
    let config = SelectorConfig { keys, ..SelectorConfig::default() };
    for (url, sent) in [
        ("http://h/a", "http://h:8080/a"),
        ("http://h:8080/a", "http://h:8080/a"),
        ("http://[::1]/a", "http://[::1]:8080/a"),
        ("http://h:80/a", "http://h:80/a"),
    ] {
        let mut selector = Selector::new(config);
        let (mut parts, ()) = Request::get(url).body(()).expect("valid").into_parts();
        let now = Instant::now();
        let selection = selector.select(&parts, |_| (), now).expect("valid");
        selection.target.apply(&mut parts, Protocol::Http1Proxy).expect("it goes");
        assert_eq!(parts.uri.to_string(), sent);
    }
}

#[test]
fn a_url_without_a_host_becomes_no_uri() {
    for url in ["mailto:u:secret@x", "data:secret", "blob:http://h/"] {
        let url = Url::parse(url).expect("valid");
        assert!(uri_from_url(&url).is_err(), "{url}");
    }
}
