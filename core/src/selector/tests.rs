#![expect(clippy::disallowed_methods, reason = "a test needs some instant to begin with")]

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use http::Request;
use http::header::HOST;

use super::*;
use crate::Protocol;
use crate::url_key::HashSeed;

const TTL: Duration = Duration::from_secs(300);
const TICK: Duration = Duration::from_nanos(1);

/// A selector whose values are the URLs that were selected first.
struct World {
    selector: Selector<String>,
    start: Instant,
}

impl World {
    fn new(max_origins: usize) -> Self {
        Self::with(SelectorConfig { max_origins, origin_ttl: TTL, ..SelectorConfig::default() })
    }

    fn with(config: SelectorConfig) -> Self {
        Self { selector: Selector::new(config), start: Instant::now() }
    }

    fn try_select(&mut self, url: &str, at: Duration) -> Result<OriginId, SelectError> {
        let now = self.start + at;
        self.selector.select(&parts(url), |_| url.into(), now).map(|selection| selection.origin)
    }

    #[track_caller]
    fn select(&mut self, url: &str, at: Duration) -> OriginId {
        self.try_select(url, at).unwrap()
    }

    /// Lets time pass and returns what was forgotten then, in order.
    fn forgotten_at(&mut self, at: Duration) -> Vec<String> {
        self.selector.handle_timeout(self.start + at);
        self.forgotten()
    }

    fn forgotten(&mut self) -> Vec<String> {
        let mut values = Vec::new();
        while let Some(Forgotten { origin, value, .. }) = self.selector.poll_forgotten() {
            assert_eq!(self.selector.get(origin), None);
            values.push(value);
        }
        values
    }

    fn timeout(&self) -> Option<Duration> {
        self.selector.poll_timeout().map(|deadline| deadline - self.start)
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn uri(text: &str) -> Uri {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn parts(url: &str) -> Parts {
    Request::get(uri(url)).body(()).unwrap().into_parts().0
}

const NONE: [&str; 0] = [];

#[test]
fn an_idle_origin_is_forgotten_when_its_grace_period_ends_and_not_before() {
    let mut world = World::new(8);
    let origin = world.select("http://a/", secs(1));
    assert_eq!(world.timeout(), Some(secs(1) + TTL));

    assert_eq!(world.forgotten_at(secs(1) + TTL - TICK), NONE);
    assert!(world.selector.get(origin).is_some());
    assert_eq!(world.forgotten_at(secs(1) + TTL), ["http://a/"]);
    assert_eq!(world.selector.find_uri(&uri("http://a/")), Ok(None));
    assert!(world.selector.is_empty());
    assert_eq!(world.timeout(), None);
}

#[test]
fn the_timeout_is_that_of_the_origin_which_is_due_next() {
    let mut world = World::new(8);
    assert_eq!(world.timeout(), None);
    let a = world.select("http://a/", secs(1));
    let b = world.select("http://b/", secs(2));
    world.select("http://c/", secs(3));
    assert_eq!(world.timeout(), Some(secs(1) + TTL));

    world.selector.mark_busy(a);
    assert_eq!(world.timeout(), Some(secs(2) + TTL));
    world.selector.mark_idle(a, world.start + secs(4));
    assert_eq!(world.timeout(), Some(secs(2) + TTL));
    world.selector.remove(b).unwrap();
    assert_eq!(world.timeout(), Some(secs(3) + TTL));
    assert_eq!(world.forgotten_at(secs(3) + TTL), ["http://c/"]);
    assert_eq!(world.timeout(), Some(secs(4) + TTL));
    world.selector.mark_busy(a);
    assert_eq!(world.timeout(), None);
}

#[test]
fn a_late_timeout_forgets_all_that_are_due_oldest_first() {
    let mut world = World::new(8);
    for (n, url) in (1..).zip(["http://c/", "http://a/", "http://b/"]) {
        world.select(url, secs(n));
    }
    assert_eq!(world.forgotten_at(secs(2) + TTL), ["http://c/", "http://a/"]);
    assert_eq!(world.forgotten_at(secs(3) + TTL), ["http://b/"]);
}

#[test]
fn a_hit_lets_the_grace_period_begin_anew() {
    let mut world = World::new(8);
    let origin = world.select("http://a/", secs(0));
    assert_eq!(world.select("http://A:80/x", secs(200)), origin);
    assert_eq!(world.timeout(), Some(secs(200) + TTL));
    assert_eq!(world.forgotten_at(secs(200) + TTL - TICK), NONE);
    assert_eq!(world.forgotten_at(secs(200) + TTL), ["http://a/"]);
}

#[test]
fn the_grace_period_begins_when_an_origin_was_last_busy() {
    let mut world = World::new(8);
    let origin = world.select("http://a/", secs(0));
    world.selector.mark_busy(origin);
    assert_eq!(world.forgotten_at(secs(10_000)), NONE);
    world.selector.mark_idle(origin, world.start + secs(10_000));
    assert_eq!(world.timeout(), Some(secs(10_000) + TTL));
    assert_eq!(world.forgotten_at(secs(10_000) + TTL), ["http://a/"]);
}

#[test]
fn a_hit_on_a_busy_origin_leaves_it_busy() {
    let mut world = World::new(8);
    let origin = world.select("http://a/", secs(0));
    world.selector.mark_busy(origin);
    assert_eq!(world.select("http://a/", secs(1)), origin);
    assert_eq!(world.timeout(), None);
    assert_eq!(world.forgotten_at(secs(10_000)), NONE);
}

#[test]
fn the_least_recently_used_idle_origin_makes_room_for_another() {
    let mut world = World::new(3);
    let a = world.select("http://a/", secs(1));
    let b = world.select("http://b/", secs(2));
    world.select("http://c/", secs(3));
    world.select("http://a/", secs(4));
    world.selector.mark_busy(b);

    let d = world.select("http://d/", secs(5));
    assert_eq!(world.forgotten(), ["http://c/"]);
    assert_eq!(world.selector.len(), 3);
    let e = world.select("http://e/", secs(6));
    assert_eq!(world.forgotten(), ["http://a/"]);
    assert_eq!(world.selector.get(a), None);
    for kept in [b, d, e] {
        assert!(world.selector.get(kept).is_some());
    }
}

#[test]
fn of_origins_used_in_one_instant_the_first_gives_way() {
    let mut world = World::new(2);
    world.select("http://a/", secs(1));
    world.select("http://b/", secs(1));
    world.select("http://c/", secs(1));
    assert_eq!(world.forgotten(), ["http://a/"]);
}

#[test]
fn a_known_origin_makes_no_other_give_way() {
    let mut world = World::new(2);
    let a = world.select("http://a/", secs(1));
    world.select("http://b/", secs(2));
    assert_eq!(world.select("http://a/", secs(3)), a);
    assert_eq!(world.forgotten(), NONE);
}

#[test]
fn busy_origins_are_never_forgotten_and_refuse_others_when_all_are() {
    let mut world = World::new(2);
    let a = world.select("http://a/", secs(1));
    let b = world.select("http://b/", secs(1));
    world.selector.mark_busy(a);
    world.selector.mark_busy(b);

    assert_eq!(world.try_select("http://c/", secs(9999)), Err(SelectError::TooManyOrigins));
    assert_eq!(world.forgotten_at(secs(9999)), NONE);
    assert_eq!(world.select("http://a/", secs(9999)), a, "known ones are served");
    let invalid = SelectError::Url(UrlKeyError::InvalidHost);
    assert_eq!(world.try_select("http://c../", secs(9999)), Err(invalid));

    world.selector.mark_idle(b, world.start + secs(9999));
    world.select("http://c/", secs(9999));
    assert_eq!(world.forgotten(), ["http://b/"]);
}

#[test]
fn an_invalid_url_makes_no_known_origin_give_way() {
    let mut world = World::new(1);
    let a = world.select("http://a/", secs(1));
    for url in ["http://a../", "http://a:0/", "ftp://a/", "/a"] {
        world.try_select(url, secs(2)).unwrap_err();
    }
    assert_eq!(world.forgotten(), NONE);
    assert!(world.selector.get(a).is_some());
}

#[test]
fn no_origin_fits_where_none_is_allowed() {
    let mut world = World::new(0);
    assert_eq!(world.try_select("http://a/", secs(0)), Err(SelectError::TooManyOrigins));
    assert!(world.selector.is_empty());
}

#[test]
fn a_removed_origin_is_gone_busy_or_idle() {
    for busy in [false, true] {
        let mut world = World::new(8);
        let origin = world.select("http://A/", secs(0));
        let other = world.select("http://b/", secs(0));
        if busy {
            world.selector.mark_busy(origin);
        }
        let removed = world.selector.remove(origin).unwrap();
        assert_eq!((removed.origin, &*removed.value), (origin, "http://A/"));
        assert_eq!(removed.key.to_string(), "http://a:80");

        assert!(world.selector.remove(origin).is_none());
        assert_eq!(world.selector.find_uri(&uri("http://a/")), Ok(None));
        assert_eq!(world.selector.key(origin), None);
        assert_eq!(world.selector.len(), 1);
        assert_eq!(world.forgotten(), NONE, "who removes it need not be told");
        assert_eq!(world.forgotten_at(TTL), ["http://b/"]);
        assert_eq!(world.selector.get(other), None);
    }
}

#[test]
fn late_and_double_calls_about_origins_that_are_gone_are_ignored() {
    let mut world = World::new(8);
    let gone = world.select("http://a/", secs(0));
    world.selector.remove(gone).unwrap();
    // In the place of the one that is gone.
    let other = world.select("http://b/", secs(1));
    let deadline = world.timeout();

    for _ in 0..2 {
        world.selector.mark_busy(gone);
        world.selector.mark_idle(gone, world.start + secs(1));
        assert!(world.selector.remove(gone).is_none());
        assert_eq!(world.selector.get_mut(gone), None);
    }
    assert_eq!(world.timeout(), deadline);
    assert_eq!(world.selector.len(), 1);
    assert!(world.selector.get(other).is_some());
    assert_eq!(world.forgotten_at(secs(1) + TTL), ["http://b/"]);
}

#[test]
fn marking_twice_is_marking_once() {
    let mut world = World::new(8);
    let a = world.select("http://a/", secs(0));
    let b = world.select("http://b/", secs(1));
    world.selector.mark_idle(a, world.start + secs(2));
    world.selector.mark_idle(a, world.start + secs(3));
    assert_eq!(world.timeout(), Some(secs(1) + TTL));
    world.selector.mark_busy(b);
    world.selector.mark_busy(b);
    assert_eq!(world.timeout(), Some(secs(3) + TTL));
    world.selector.mark_idle(b, world.start + secs(4));
    assert_eq!(world.forgotten_at(secs(9999)), ["http://a/", "http://b/"]);
    assert_eq!(world.timeout(), None);
}

#[test]
fn a_smaller_now_counts_as_the_greatest_seen() {
    let mut world = World::new(2);
    let a = world.select("http://a/", secs(100));
    // Neither an earlier deadline than that of `a`, nor a place before it in the order of use.
    world.select("http://b/", secs(50));
    assert_eq!(world.timeout(), Some(secs(100) + TTL));
    world.select("http://c/", secs(0));
    assert_eq!(world.forgotten(), ["http://a/"]);
    assert_eq!(world.selector.get(a), None);

    assert_eq!(world.forgotten_at(TTL), NONE);
    assert_eq!(world.forgotten_at(secs(100) + TTL), ["http://b/", "http://c/"]);
    assert_eq!(world.forgotten_at(secs(0)), NONE);
}

#[test]
fn a_hit_with_a_smaller_now_does_not_shorten_the_grace_period() {
    let mut world = World::new(8);
    world.select("http://a/", secs(100));
    world.select("http://a/", secs(10));
    assert_eq!(world.timeout(), Some(secs(100) + TTL));
}

#[test]
fn a_grace_period_beyond_all_instants_never_ends() {
    let config = SelectorConfig { origin_ttl: Duration::MAX, ..SelectorConfig::default() };
    let mut world = World::with(config);
    let origin = world.select("http://a/", secs(0));
    assert_eq!(world.timeout(), None);
    assert_eq!(world.forgotten_at(secs(u64::from(u32::MAX))), NONE);
    assert!(world.selector.get(origin).is_some());
}

#[test]
fn without_a_grace_period_an_idle_origin_is_due_at_once() {
    let config = SelectorConfig { origin_ttl: Duration::ZERO, ..SelectorConfig::default() };
    let mut world = World::with(config);
    world.select("http://a/", secs(1));
    assert_eq!(world.timeout(), Some(secs(1)));
    assert_eq!(world.forgotten_at(secs(1)), ["http://a/"]);
}

#[test]
fn many_origins_of_one_request_each_leave_an_empty_selector() {
    const ORIGINS: usize = 200_000;
    const KNOWN: usize = 65_536;
    let mut world = World::new(KNOWN);
    let mut forgotten = 0;
    for n in 0..ORIGINS {
        world.select(&format!("http://h{n}.example/"), Duration::ZERO);
        forgotten += world.forgotten().len();
        assert!(world.selector.len() <= KNOWN);
    }
    assert_eq!((world.selector.len(), forgotten), (KNOWN, ORIGINS - KNOWN));
    forgotten += world.forgotten_at(TTL).len();
    assert_eq!((world.selector.len(), forgotten), (0, ORIGINS));
    assert_eq!(world.timeout(), None);
    assert!(world.selector.table.capacity() <= 2 * KEPT_ROOM, "the table's memory is returned");
}

// Fetch Standard, "connections": the network partition key.
#[test]
fn a_partition_in_the_extensions_keeps_requests_to_one_origin_apart() {
    let mut world = World::new(8);
    let select = |world: &mut World, partition: Option<u64>| {
        let mut request = parts("http://h/");
        if let Some(partition) = partition {
            request.extensions.insert(Partition(partition));
        }
        world.selector.select(&request, ToString::to_string, world.start).unwrap().origin
    };
    let plain = select(&mut world, None);
    let one = select(&mut world, Some(1));
    let two = select(&mut world, Some(2));

    assert_eq!(world.selector.len(), 3);
    for _ in 0..2 {
        assert_eq!(select(&mut world, None), plain);
        assert_eq!(select(&mut world, Some(1)), one);
        assert_eq!(select(&mut world, Some(2)), two);
    }
    let partition = |origin| world.selector.key(origin).unwrap().partition();
    assert_eq!([plain, one, two].map(partition), [None, Some(Partition(1)), Some(Partition(2))]);
    assert_eq!(world.selector.find_uri(&uri("http://h/")), Ok(Some(plain)));
}

// RFC 9110 s7.2: the host and port of the URI as it was written.
#[test]
fn host_is_what_each_url_wrote_also_when_one_origin_is_written_in_several_ways() {
    let mut world = World::new(8);
    let mut sent = |url: &str| -> String {
        let mut request = parts(url);
        let selection = world.selector.select(&request, |_| url.into(), world.start).unwrap();
        selection.target.apply(&mut request, Protocol::Http1).unwrap();
        request.headers[HOST].to_str().unwrap().into()
    };
    for _ in 0..2 {
        for (url, host) in [
            ("http://example.com/", "example.com"),
            ("http://Example.COM/", "Example.COM"),
            ("http://example.com:80/", "example.com:80"),
            ("http://u:p@example.com:080/", "example.com:80"),
            ("http://example.com:/", "example.com"),
            ("http://[::1]/", "[::1]"),
            ("http://[0::1]:80/", "[0::1]:80"),
        ] {
            assert_eq!(sent(url), host);
        }
    }
    assert_eq!(world.selector.len(), 2);
}

#[test]
fn one_host_value_serves_all_urls_that_write_it_alike() {
    let mut world = World::new(8);
    let mut select = |url| world.selector.select(&parts(url), |_| "".into(), world.start).unwrap();
    let (lower, upper, again) = (select("http://h/"), select("http://H/"), select("http://H/"));
    let host = |selection: &Selection| {
        let mut request = parts("http://h/");
        selection.target.apply(&mut request, Protocol::Http1).unwrap();
        request.headers.remove(HOST).unwrap()
    };
    assert_eq!([host(&lower), host(&upper), host(&again)], ["h", "H", "H"]);
    let address = |selection: &Selection| host(selection).as_bytes().as_ptr();
    assert_eq!(address(&upper), address(&again));
}

// RFC 9112 s3.2: exactly one Host.
#[test]
fn a_request_with_two_hosts_is_refused_and_the_selector_unchanged() {
    let mut world = World::new(1);
    let known = world.select("http://a/", secs(0));
    let called = Cell::new(false);
    for url in ["http://a/", "http://b/"] {
        let mut request = parts(url);
        request.headers.append(HOST, "a".parse().unwrap());
        request.headers.append(HOST, "a".parse().unwrap());
        let init = |_: &UrlKey| {
            called.set(true);
            String::new()
        };
        let refused = world.selector.select(&request, init, world.start + secs(1)).unwrap_err();
        assert_eq!(refused, SelectError::DuplicateHost);
    }
    assert!(!called.get());
    assert!(world.selector.get(known).is_some());
    assert_eq!(world.forgotten(), NONE);
    assert_eq!(world.timeout(), Some(TTL), "no hit");
}

#[test]
fn an_invalid_url_is_refused_also_when_similar_ones_are_known() {
    let mut world = World::new(8);
    for url in ["http://h/", "http://h./", "http://[::1]/", "http://1.2.3.4/", "http://u/"] {
        world.select(url, secs(0));
    }
    for (url, error) in [
        ("http://h../", UrlKeyError::InvalidHost),
        ("http://h..", UrlKeyError::InvalidHost),
        ("http://.h/", UrlKeyError::InvalidHost),
        ("http://[::1]x", UrlKeyError::InvalidHost),
        ("http://[::1%25h]/", UrlKeyError::InvalidHost),
        ("http://u@v@h/", UrlKeyError::InvalidHost),
        ("http://u[]@h/", UrlKeyError::InvalidHost),
        ("http://1.2.3.04/", UrlKeyError::InvalidHost),
        ("http://1.2.3.4./", UrlKeyError::InvalidHost),
        ("http://h:0/", UrlKeyError::InvalidPort),
        ("http://h:65616/", UrlKeyError::InvalidPort),
        ("http://h:+80/", UrlKeyError::InvalidPort),
        ("ftp://h/", UrlKeyError::UnsupportedScheme),
        ("h", UrlKeyError::NotAbsolute),
        ("/h", UrlKeyError::NotAbsolute),
    ] {
        assert_eq!(world.selector.find_uri(&uri(url)), Err(error), "{url}");
        assert_eq!(world.try_select(url, secs(0)), Err(SelectError::Url(error)), "{url}");
    }
    assert_eq!(world.selector.len(), 5);
}

#[test]
fn every_way_to_look_an_origin_up_finds_the_one_that_was_selected() {
    let mut world = World::new(64);
    for url in [
        "http://h/",
        "https://h/",
        "http://h:81/",
        "http://h./",
        "http://[::1]/",
        "http://1.2.3.4/",
        "https://a-name.of-more-than.sixteen-octets.example/",
    ] {
        let uri = uri(url);
        assert_eq!(world.selector.find_uri(&uri), Ok(None));
        let origin = world.select(url, secs(0));
        assert_eq!(world.selector.find_uri(&uri), Ok(Some(origin)));
        let key = UrlKeyRef::new(&uri, &UrlKeyConfig::default()).unwrap();
        assert_eq!(world.selector.find(&key), Some(origin));
        assert_eq!(world.selector.key(origin), Some(&key.to_key()));
    }
    assert_eq!(world.selector.len(), 7);
}

#[test]
fn init_is_called_for_new_origins_only_and_given_the_key() {
    let mut world = World::new(8);
    let mut seen = vec![];
    for url in ["http://H:080/", "http://h/", "https://h/", "http://h:80/"] {
        let init = |key: &UrlKey| {
            seen.push(key.to_string());
            String::new()
        };
        world.selector.select(&parts(url), init, world.start).unwrap();
    }
    assert_eq!(seen, ["http://h:80", "https://h:443"]);
}

#[test]
fn values_can_be_changed_and_leave_with_their_origin() {
    let mut world = World::new(8);
    let origin = world.select("http://a/", secs(0));
    world.selector.get_mut(origin).unwrap().push_str("changed");
    assert_eq!(world.selector.get(origin).unwrap(), "http://a/changed");
    assert_eq!(world.forgotten_at(TTL), ["http://a/changed"]);
}

#[test]
fn origins_that_share_buckets_are_kept_apart_also_when_some_leave() {
    // Any seed will do: 4 096 origins in a table of 8 192 share buckets.
    let mut config = SelectorConfig::default();
    config.keys.hash_seed = HashSeed::new(3);
    let mut world = World::with(config);
    let urls: Vec<String> = (0..4_096).map(|n| format!("http://h{n}/")).collect();
    let origins: Vec<OriginId> = urls.iter().map(|url| world.select(url, secs(0))).collect();
    for (url, origin) in urls.iter().zip(&origins) {
        assert_eq!(world.selector.find_uri(&uri(url)), Ok(Some(*origin)));
        assert_eq!(world.selector.get(*origin), Some(url));
    }
    for origin in origins.iter().step_by(2) {
        world.selector.remove(*origin).unwrap();
    }
    for (n, (url, origin)) in urls.iter().zip(&origins).enumerate() {
        let expected = (n % 2 == 1).then_some(*origin);
        assert_eq!(world.selector.find_uri(&uri(url)), Ok(expected));
    }
}

#[test]
fn errors_keep_their_cause() {
    use core::error::Error as _;
    let error = SelectError::from(UrlKeyError::InvalidPort);
    assert_eq!(error.to_string(), UrlKeyError::InvalidPort.to_string());
    assert!(error.source().is_some_and(|cause| cause.is::<UrlKeyError>()));
    assert!(SelectError::TooManyOrigins.source().is_none());
    assert!(SelectError::DuplicateHost.source().is_none());
}
