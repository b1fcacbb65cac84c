//! Two URLs, one a line: keys, borrowed and owned, against the oracle.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU16;

use http::Uri;
use mac_core::{HashSeed, Partition, UrlKey, UrlKeyConfig, UrlKeyError, UrlKeyRef};
use url::Url;

use crate::oracle::{self, Origin};

/// Default ports under which each input is read.
const PORTS: [(u16, u16); 2] = [(80, 443), (8080, 80)];

/// Checks the first two lines of `data` as URLs.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let (a, b) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let seeds =
        [0, u64::MAX, data.iter().fold(1, |sum, byte| sum * 31 % 0xffff_fffb + u64::from(*byte))];
    for (http, https) in PORTS {
        for seed in seeds {
            let config = config(http, https, seed);
            check_url(a, &config);
            check_url(b, &config);
            if let (Ok(a), Ok(b)) = (Uri::try_from(a), Uri::try_from(b)) {
                check_one(&a, &config);
                check_one(&b, &config);
                check_pair(&a, &b, &config);
            }
        }
    }
}

/// Keys with these default ports and this seed.
pub fn config(http: u16, https: u16, seed: u64) -> UrlKeyConfig {
    UrlKeyConfig {
        default_http_port: NonZeroU16::new(http).expect("a port"),
        default_https_port: NonZeroU16::new(https).expect("a port"),
        hash_seed: HashSeed::new(seed),
    }
}

fn by_oracle(uri: &Uri, config: &UrlKeyConfig) -> Result<Origin, UrlKeyError> {
    oracle::origin(uri, config.default_http_port.get(), config.default_https_port.get())
}

fn check_one(uri: &Uri, config: &UrlKeyConfig) {
    let key = match (UrlKeyRef::new(uri, config), by_oracle(uri, config)) {
        (Ok(key), Ok(origin)) => {
            assert_eq!(key.scheme().as_str(), origin.scheme);
            assert_eq!(key.to_key().host().to_string(), origin.host);
            assert_eq!(u32::from(key.port()), origin.port);
            assert_eq!(
                key.to_key().to_string(),
                format!("{}://{}", origin.scheme, origin.authority())
            );
            key
        }
        (Err(ours), Err(theirs)) => return assert_eq!(ours, theirs, "{uri}"),
        (ours, theirs) => panic!("{uri}: {ours:?}, and by the oracle {theirs:?}"),
    };

    let owned = key.to_key();
    assert_eq!((owned.scheme(), owned.port()), (key.scheme(), key.port()));
    assert_eq!(owned.hash_value(), key.hash_value());
    assert_eq!(std_hash(&owned), std_hash(&key));
    let equal = [owned == key, UrlKeyRef::eq(&key, &key), owned == owned.clone()];
    assert_eq!(equal, [true; 3]);
    assert!(PartialEq::<UrlKey>::eq(&key, &owned));

    let shown: Uri = owned.to_string().parse().expect("a key shows as a URI");
    let again = UrlKeyRef::new(&shown, config).expect("a key shows as a valid URL");
    assert_eq!(again, owned);
    assert_eq!(again.hash_value(), owned.hash_value());
    assert_eq!(again.to_key().to_string(), owned.to_string());

    let (one, two) = (key.with_partition(Partition(1)), key.with_partition(Partition(2)));
    assert!(one != two && one != key && two.to_key() != one && one.to_key() == one);
    assert_eq!(one.with_partition(Partition(2)).hash_value(), two.to_key().hash_value());
}

fn check_pair(a: &Uri, b: &Uri, config: &UrlKeyConfig) {
    let (Ok(origin_a), Ok(origin_b)) = (by_oracle(a, config), by_oracle(b, config)) else { return };
    let same = origin_a.same(&origin_b);
    let (Ok(a), Ok(b)) = (UrlKeyRef::new(a, config), UrlKeyRef::new(b, config)) else { return };
    assert_eq!(a == b, same);
    assert_eq!(a.to_key() == b, same);
    assert_eq!(a == b.to_key(), same);
    assert_eq!(a.to_key() == b.to_key(), same);
    if same {
        assert_eq!(a.hash_value(), b.hash_value());
        assert_eq!(std_hash(&a), std_hash(&b.to_key()));
    }
}

/// What the `url` crate reads has the same key by both ways.
fn check_url(text: &str, config: &UrlKeyConfig) {
    let Ok(url) = Url::parse(text) else { return };
    let direct = UrlKeyRef::from_url(&url, config);
    let Ok(uri) = mac_core::uri_from_url(&url) else { return };
    match (direct, UrlKeyRef::new(&uri, config)) {
        (Ok(direct), Ok(key)) => {
            assert_eq!(direct, key);
            assert_eq!(direct.hash_value(), key.hash_value());
        }
        (Err(direct), Err(key)) => assert_eq!(direct, key, "{text}"),
        (direct, key) => panic!("{text}: {direct:?}, and as a URI {key:?}"),
    }
}

fn std_hash(key: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
