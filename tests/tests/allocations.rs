//! How often the steps from a request to its origin allocate. The numbers are exact.

use std::time::Instant;

use allocation_counter::{AllocationInfo, measure};
use http::header::{HOST, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Request, Uri};
use mac_core::{AsteriskForm, Protocol, Selector, SelectorConfig, UrlKeyConfig, UrlKeyRef};

const PROTOCOLS: [Protocol; 3] = [Protocol::Http1, Protocol::Http1Proxy, Protocol::Http2];

/// Short and long, in lower and mixed case, with port and userinfo, and addresses.
const URLS: [&str; 9] = [
    "http://example.com/path?query",
    "http://ExAmple.COM/",
    "http://shard-7.eu-central-1.storage.example.com/a",
    "http://Shard-7.Eu-Central-1.Storage.Example.Com:8080/a",
    "http://user:pass@example.com:080/?",
    "http://h",
    "http://1.2.3.4:81/",
    "http://[2001:DB8::1]/a?b",
    "http://[2001:db8:0:0:0:0:0:1]:8080",
];

struct World {
    selector: Selector<()>,
    now: Instant,
}

impl World {
    fn new() -> Self {
        Self { selector: Selector::new(SelectorConfig::default()), now: Instant::now() }
    }

    fn send(&mut self, request: &mut Parts, protocol: Protocol) {
        let selection = self.selector.select(request, |_| (), self.now).expect("valid");
        selection.target.apply(request, protocol).expect("the protocol carries it");
    }

    /// Counts what sending `request` allocates when its URL was the last one of its origin.
    fn count(&mut self, request: &Parts, protocol: Protocol) -> u64 {
        self.send(&mut request.clone(), protocol);
        let mut request = with_room(request);
        count(|| self.send(&mut request, protocol))
    }
}

fn count(run: impl FnOnce()) -> u64 {
    let AllocationInfo { count_total, .. } = measure(run);
    count_total
}

fn uri(url: &str) -> Uri {
    url.parse().expect("valid")
}

fn get(url: &str) -> Parts {
    Request::get(uri(url)).body(()).expect("valid").into_parts().0
}

/// The same request with a header map that has room: `http` allocates at the first insertion, which is
/// not ours to avoid.
fn with_room(request: &Parts) -> Parts {
    let mut request = request.clone();
    let mut headers = HeaderMap::with_capacity(8);
    headers.extend(request.headers.drain().map(|(name, value)| (name.expect("one each"), value)));
    request.headers = headers;
    request
}

#[test]
fn the_counter_counts() {
    assert_eq!(count(|| drop(vec![0_u8; 8])), 1);
}

#[test]
fn finding_an_origin_by_its_uri_allocates_nothing() {
    let mut world = World::new();
    for url in URLS {
        let (known, upper) = (uri(url), uri(&url.to_ascii_uppercase()));
        world.selector.select(&get(url), |_| (), world.now).expect("valid");
        for uri in [&known, &upper] {
            let mut found = None;
            assert_eq!(count(|| found = world.selector.find_uri(uri).expect("valid")), 0, "{url}");
            assert!(found.is_some(), "{url}");
        }
    }
}

#[test]
fn not_finding_an_origin_allocates_nothing() {
    let world = World::new();
    for url in URLS.iter().copied().chain(["ftp://h/", "http://h../", "http://h:0/", "/"]) {
        let uri = uri(url);
        let mut found = Ok(None);
        assert_eq!(count(|| found = world.selector.find_uri(&uri)), 0, "{url}");
        assert!(!matches!(found, Ok(Some(_))), "{url}");
    }
}

#[test]
fn selecting_and_writing_a_request_to_a_known_origin_allocates_nothing() {
    for url in URLS {
        // A path of its own; without one, as in the last of the URLs, `/` is no memory of ours.
        let request = get(url);
        for protocol in PROTOCOLS {
            assert_eq!(World::new().count(&request, protocol), 0, "{url} over {protocol:?}");
        }
    }
}

#[test]
fn a_host_that_the_caller_set_is_sent_without_allocating_over_http_1() {
    let mut request = get("http://h/a");
    request.headers.insert(HOST, HeaderValue::from_static("kept.example"));
    assert_eq!(World::new().count(&request, Protocol::Http1), 0);
    assert_eq!(World::new().count(&request, Protocol::Http1Proxy), 0);
    // It has to be read as an authority, which has memory of its own.
    assert_eq!(World::new().count(&request, Protocol::Http2), 1);
}

#[test]
fn the_asterisk_form_allocates_nothing() {
    let mut request = get("http://h/a");
    request.method = http::Method::OPTIONS;
    request.extensions.insert(AsteriskForm);
    assert_eq!(World::new().count(&request, Protocol::Http1), 0);
    assert_eq!(World::new().count(&request, Protocol::Http2), 0);
}

#[test]
fn a_borrowed_key_allocates_nothing_and_an_owned_one_once() {
    let config = UrlKeyConfig::default();
    for url in URLS.map(uri) {
        let mut key = None;
        assert_eq!(count(|| key = UrlKeyRef::new(&url, &config).ok()), 0, "{url}");
        let key = key.expect("valid");
        let is_name = !key.host().to_string().contains(':');
        if is_name {
            assert_eq!(count(|| drop(key.to_key())), 1, "{url}");
        }
    }
}

/// What allocates, and how often, over HTTP/1.1, through a proxy and over HTTP/2.
fn costs(request: &Parts) -> [u64; 3] {
    PROTOCOLS.map(|protocol| World::new().count(request, protocol))
}

#[test]
fn a_target_that_has_to_be_mended_is_written_anew() {
    assert_eq!(costs(&get("http://h?query")), [1, 1, 1], "a path is put before the query");
    // The text, its growth, and what `bytes` needs to share text with room left.
    assert_eq!(costs(&get("http://h/é")), [3, 3, 3], "escaped");
    assert_eq!(costs(&get("http://h?é")), [2, 2, 2], "both, which fits");
}

#[test]
fn connect_writes_host_and_port_anew() {
    let mut request = get("https://h/");
    request.method = http::Method::CONNECT;
    // The text, its growth by the port, and what `bytes` needs to share text with room left.
    assert_eq!(costs(&request), [3, 3, 3]);
}

#[test]
fn another_spelling_of_the_host_than_the_last_one_is_written_anew() {
    // The text, what `bytes` needs to share it between value and authority, and the field itself.
    for (url, other, times) in [
        ("http://h/", "http://H/", 3),
        ("http://h/", "http://h:80/", 3),
        ("http://[::1]/", "http://[0::1]/", 3),
        // The text grows by the port.
        ("http://h:80/", "http://h/", 4),
    ] {
        let mut world = World::new();
        world.send(&mut get(other), Protocol::Http1);
        let mut request = with_room(&get(url));
        assert_eq!(count(|| world.send(&mut request, Protocol::Http1)), times, "{url}");
        let mut request = with_room(&get(url));
        assert_eq!(count(|| world.send(&mut request, Protocol::Http1)), 0, "{url} again");
    }
}

#[test]
fn the_same_host_field_in_another_url_is_not_written_anew() {
    let mut world = World::new();
    world.send(&mut get("http://h:80/"), Protocol::Http1);
    for url in ["http://h:080/", "http://u@h:80/", "http://h:0080?"] {
        let request = get(url);
        let mut select = || world.selector.select(&request, |_| (), world.now).map(drop);
        assert_eq!(count(|| select().expect("valid")), 0, "{url}");
    }
}

#[test]
fn the_first_field_of_a_request_makes_http_allocate() {
    let mut world = World::new();
    world.send(&mut get("http://h/"), Protocol::Http1);
    let mut request = get("http://h/");
    assert_eq!(request.headers.capacity(), 0);
    assert_eq!(count(|| world.send(&mut request, Protocol::Http1)), 2);
    let mut request = get("http://h/");
    assert_eq!(count(|| world.send(&mut request, Protocol::Http2)), 0, "no Host is inserted");
}
