//! Known origins for the benches: in our selector, in the alternative's map, in the floor's table.

use std::collections::HashMap;
use std::time::Instant;

use hashbrown::HashTable;
use http::header::{HOST, HeaderValue};
use http::request::Parts;
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Request as HttpRequest, Uri};
use mac_core::{OriginId, Protocol, Selector, SelectorConfig, UrlKeyConfig, UrlKeyRef};

/// How many origins are known.
pub(crate) const KNOWN: [usize; 4] = [1, 16, 1024, 65_536];

/// The shapes of host, by length and case. The last label is replaced by a number for each origin.
pub(crate) const HOSTS: [&str; 5] = [
    "example.com",
    "ExAmPlE.cOm",
    "shard-7.eu-central-1.storage.acme.com",
    "Shard-7.Eu-Central-1.Storage.Acme.Com",
    "a-rather-long-name-of-a-service.with-several-labels.in-a-region.acme.org",
];

/// A selector that knows some origins, and the URI of each in random order.
pub(crate) struct Known {
    selector: Selector<u32>,
    uris: Vec<Uri>,
    now: Instant,
}

impl Known {
    /// `count` origins whose hosts have the length and case of `host`.
    pub(crate) fn new(count: usize, host: &str) -> Self {
        let config = SelectorConfig { max_origins: count, ..SelectorConfig::default() };
        let mut selector = Selector::new(config);
        let now = Instant::now();
        let mut uris: Vec<Uri> = (0..count).map(|n| uri(n, host)).collect();
        for uri in &uris {
            let selection = selector.select(&parts(uri), |_| 0, now).expect("valid");
            selector.mark_busy(selection.origin);
        }
        shuffle(&mut uris);
        Self { selector, uris, now }
    }

    pub(crate) fn uris(&self) -> impl Iterator<Item = &Uri> + Clone {
        self.uris.iter()
    }

    #[inline]
    pub(crate) fn find(&self, uri: Option<&Uri>) -> Option<OriginId> {
        self.selector.find_uri(uri?).ok()?
    }
}

/// As hyper-util's legacy client does it.
pub(crate) struct Alternative(HashMap<(Scheme, Authority), u32>);

impl Alternative {
    pub(crate) fn new(known: &Known) -> Self {
        Self(in_other_order(known.uris().collect()).into_iter().map(|uri| (key(uri), 0)).collect())
    }

    #[inline]
    pub(crate) fn find(&self, uri: Option<&Uri>) -> Option<&u32> {
        self.0.get(&key(uri?))
    }
}

fn key(uri: &Uri) -> (Scheme, Authority) {
    (uri.scheme().expect("absolute").clone(), uri.authority().expect("absolute").clone())
}

/// A table that is told the hash.
pub(crate) struct Floor(HashTable<(u64, Box<str>)>);

impl Floor {
    pub(crate) fn new(known: &Known) -> Self {
        let mut table = HashTable::new();
        for (hash, uri) in in_other_order(Self::uris(known)) {
            let host = uri.authority().expect("absolute").as_str();
            table.insert_unique(hash, (hash, host.into()), |entry: &(u64, Box<str>)| entry.0);
        }
        Self(table)
    }

    pub(crate) fn uris(known: &Known) -> Vec<(u64, &Uri)> {
        let config = UrlKeyConfig::default();
        let hash = |uri| UrlKeyRef::new(uri, &config).expect("valid").hash_value();
        known.uris().map(|uri| (hash(uri), uri)).collect()
    }

    /// Takes the host from the URI, reads its bytes, and looks the entry up.
    #[inline]
    pub(crate) fn find(&self, uri: Option<(u64, &Uri)>) -> Option<u64> {
        let (hash, uri) = uri?;
        self.find_host(hash, uri.host()?.as_bytes())
    }

    /// The same where the authority is known to be a host and no more, which no client can know.
    #[inline]
    pub(crate) fn find_authority(&self, uri: Option<(u64, &Uri)>) -> Option<u64> {
        let (hash, uri) = uri?;
        self.find_host(hash, uri.authority()?.as_str().as_bytes())
    }

    #[inline(always)]
    fn find_host(&self, hash: u64, host: &[u8]) -> Option<u64> {
        let (words, rest) = host.as_chunks::<8>();
        let words = words.iter().fold(0, |sum, word| sum ^ u64::from_le_bytes(*word));
        let sum = rest.iter().fold(words, |sum, byte| sum ^ u64::from(*byte));
        self.0.find(hash, |entry| entry.0 == hash && entry.1.as_bytes() == host)?;
        Some(sum)
    }
}

/// A request that is sent again and again.
pub(crate) struct Request {
    parts: Parts,
    uri: Uri,
}

impl Request {
    pub(crate) fn new(uri: &Uri) -> Self {
        let mut parts = parts(uri);
        parts.headers = HeaderMap::with_capacity(8);
        Self { parts, uri: uri.clone() }
    }

    #[inline]
    pub(crate) fn send_over_http1(&mut self, known: &mut Known) {
        self.restore();
        let selection = known.selector.select(&self.parts, |_| 0, known.now).expect("valid");
        selection.target.apply(&mut self.parts, Protocol::Http1).expect("HTTP/1.1 carries it");
    }

    /// Key, `Host` and origin-form in the steps of hyper-util's legacy client.
    #[inline]
    pub(crate) fn send_by_alternative(&mut self, alternative: &Alternative) {
        self.restore();
        let uri = &mut self.parts.uri;
        alternative.find(Some(uri)).expect("known");
        self.parts.headers.entry(HOST).or_insert_with(|| {
            let host = uri.host().expect("absolute");
            match uri.port() {
                Some(port) => HeaderValue::from_str(&format!("{host}:{port}")),
                None => HeaderValue::from_str(host),
            }
            .expect("a host is a valid value")
        });
        *uri = match uri.path_and_query() {
            Some(path) if path.as_str() != "/" => {
                let mut parts = http::uri::Parts::default();
                parts.path_and_query = Some(path.clone());
                Uri::from_parts(parts).expect("a path is a valid URI")
            }
            Some(_) | None => Uri::default(),
        };
    }

    /// Undoes what sending wrote.
    fn restore(&mut self) {
        self.parts.uri = self.uri.clone();
        self.parts.headers.clear();
    }
}

fn parts(uri: &Uri) -> Parts {
    HttpRequest::get(uri.clone()).body(()).expect("valid").into_parts().0
}

/// The URI of the `n`th origin: its number takes the place of the first characters of the host.
fn uri(n: usize, host: &str) -> Uri {
    let number = format!("h{n:x}");
    let host = format!("{number}{}", host.get(number.len()..).unwrap_or(""));
    format!("http://{host}/path?query=1").parse().expect("valid")
}

/// Shuffled again, so that what is built in this order does not lie in memory in the order of use.
fn in_other_order<T>(mut values: Vec<T>) -> Vec<T> {
    shuffle(&mut values);
    values
}

fn shuffle<T>(values: &mut [T]) {
    let mut state: usize = 0x9e37_79b9;
    for n in (1..values.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values.swap(n, (state >> 33) % (n + 1));
    }
}
