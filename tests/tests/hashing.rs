//! How hashes of keys spread over a table, for names as they are used and for names of an attacker.
//!
//! `hashbrown` takes the bucket from the low bits and a tag from the top seven. Hosts and seeds are
//! fixed, so that nothing here is left to chance.

use std::thread;

use http::Uri;
use mac_core::{HashSeed, UrlKeyConfig, UrlKeyRef};

const SEEDS: [u64; 2] = [0, 0x0123_4567_89ab_cdef];

const NAMES: usize = 100_000;

/// The low bits that choose the bucket: some hundred names share one.
const BUCKET_BITS: u32 = 10;

/// The top bits that `hashbrown` compares before it looks at a key.
const TAG_BITS: u32 = 7;

fn config(seed: u64) -> UrlKeyConfig {
    UrlKeyConfig { hash_seed: HashSeed::new(seed), ..UrlKeyConfig::default() }
}

fn uri(text: &str) -> Uri {
    text.parse().expect("valid")
}

fn hash(uri: &Uri, config: &UrlKeyConfig) -> u64 {
    UrlKeyRef::new(uri, config).expect("valid").hash_value()
}

/// The distance from an even spread over 2^`bits` buckets in standard deviations of what random
/// numbers show: by chi-square, which for so many buckets is nearly normal.
fn unevenness(values: impl Iterator<Item = u64>, bits: u32) -> f64 {
    let mut counts = vec![0_u32; 1 << bits];
    let mut total = 0.0;
    for value in values {
        *counts.get_mut(usize::try_from(value).expect("few bits")).expect("few bits") += 1;
        total += 1.0;
    }
    let buckets = f64::from(1_u32 << bits);
    let expected = total / buckets;
    assert!(expected >= 5.0, "too few values for chi-square");
    let square = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
    let freedom = buckets - 1.0;
    (counts.iter().map(square).sum::<f64>() - freedom) / (2.0 * freedom).sqrt()
}

fn low_bits(hash: u64, bits: u32) -> u64 {
    hash & ((1 << bits) - 1)
}

fn top_bits(hash: u64, bits: u32) -> u64 {
    hash >> (u64::BITS - bits)
}

/// What passes for random: once in a million runs a random sequence would not, and ours is fixed.
const MAX_UNEVENNESS: f64 = 5.0;

#[track_caller]
fn assert_spread(hashes: &[u64], seed: u64) {
    let spread = |name: &str, value: fn(u64) -> u64, bits| {
        let unevenness = unevenness(hashes.iter().map(|hash| value(*hash)), bits);
        assert!(unevenness < MAX_UNEVENNESS, "{name} bits of seed {seed:#x}: {unevenness}");
    };
    spread("low", |hash| low_bits(hash, BUCKET_BITS), BUCKET_BITS);
    spread("top", |hash| top_bits(hash, TAG_BITS), TAG_BITS);
    // Within a bucket the tags tell keys apart.
    let both = |hash| low_bits(hash, 3) << TAG_BITS | top_bits(hash, TAG_BITS);
    spread("low and top", both, 3 + TAG_BITS);
}

#[track_caller]
fn assert_all_spread(urls: impl Iterator<Item = String>) {
    let uris: Vec<Uri> = urls.map(|url| uri(&url)).collect();
    for seed in SEEDS {
        let config = config(seed);
        let hashes: Vec<u64> = uris.iter().map(|uri| hash(uri, &config)).collect();
        let mut distinct = hashes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), uris.len(), "seed {seed:#x}: two keys of one hash");
        assert_spread(&hashes, seed);
    }
}

#[test]
fn the_measure_tells_even_from_uneven() {
    let of = |values: &mut dyn Iterator<Item = u64>| unevenness(values, BUCKET_BITS);
    assert!(of(&mut (0..100_000).map(|n| low_bits(n, BUCKET_BITS))) < 0.0);
    // One bucket in ten is never chosen, or one ten times as often as others.
    let never = |bucket: &u64| !bucket.is_multiple_of(10);
    assert!(of(&mut (0..100_000).map(|n| low_bits(n, BUCKET_BITS)).filter(never)) > MAX_UNEVENNESS);
    let often = (0..100_000).map(|n| low_bits(n, BUCKET_BITS)).chain([7; 900]);
    assert!(of(&mut { often }) > MAX_UNEVENNESS);
}

#[test]
fn shards_of_regions_spread() {
    const REGIONS: [&str; 4] = ["eu-central-1", "us-east-2", "ap-south-1", "sa-east-1"];
    assert_all_spread((0..NAMES).map(|n| {
        let (shard, region) = (n / REGIONS.len(), REGIONS[n % REGIONS.len()]);
        format!("https://shard-{shard}.{region}.storage.example.com/")
    }));
}

#[test]
fn numbered_subdomains_spread() {
    assert_all_spread((0..NAMES).map(|n| format!("http://{n}.example.com/")));
    assert_all_spread((0..NAMES).map(|n| format!("http://n{n:08}/")));
}

#[test]
fn words_under_top_level_domains_spread() {
    const SYLLABLES: [&str; 10] = ["ba", "co", "de", "fi", "gu", "la", "mo", "ne", "ri", "stu"];
    const DOMAINS: [&str; 10] =
        ["com", "org", "net", "io", "de", "co.uk", "dev", "app", "fr", "museum"];
    assert_all_spread((0..NAMES).map(|n| {
        let word = |n: usize| format!("{}{}", SYLLABLES[n % 10], SYLLABLES[n / 10 % 10]);
        format!("https://{}{}.{}/", word(n), word(n / 100), DOMAINS[n / 10_000])
    }));
}

#[test]
fn names_that_differ_in_one_octet_of_many_spread() {
    let places = 0..40;
    assert_all_spread(places.flat_map(|place| {
        (0..2_500_u32).map(move |n| {
            let mut host = "long-name-of-a-service-in-some-region-of-the-world".to_owned();
            host.replace_range(place..place + 3, &format!("{:03}", n % 1000));
            format!("http://{host}{}.{place}.example/", n / 1000)
        })
    }));
}

#[test]
fn addresses_ports_and_schemes_spread() {
    assert_all_spread(
        (0..NAMES).map(|n| format!("http://10.{}.{}.{}/", n >> 16, n >> 8 & 255, n & 255)),
    );
    assert_all_spread(
        (0..NAMES).map(|n| format!("http://[2001:db8::{:x}:{:x}]/", n >> 16, n & 0xffff)),
    );
    assert_all_spread(
        (1..=65_535)
            .flat_map(|port| ["http", "https"].map(|scheme| format!("{scheme}://h:{port}/"))),
    );
}

/// How many hosts the attacker looks for.
const COLLIDING: usize = 8_192;

/// `COLLIDING` hosts that all fall into one bucket under `seed`. Who knows it finds them by trying.
fn colliding_hosts(seed: u64) -> Vec<Uri> {
    let tries = COLLIDING << BUCKET_BITS;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let search = |first: usize| {
        let (config, mut found) = (config(seed), Vec::new());
        // Some more than are needed on the average.
        for n in (first..tries + tries / 10).step_by(threads) {
            let uri = uri(&format!("http://{n:x}.x"));
            if low_bits(hash(&uri, &config), BUCKET_BITS) == 0 {
                found.push(uri);
            }
        }
        found
    };
    let mut found: Vec<Uri> = thread::scope(|scope| {
        let searches: Vec<_> =
            (0..threads).map(|first| scope.spawn(move || search(first))).collect();
        searches.into_iter().flat_map(|search| search.join().expect("it found some")).collect()
    });
    found.truncate(COLLIDING);
    found
}

#[test]
fn hosts_that_collide_under_one_seed_spread_under_every_other() {
    const KNOWN_TO_THE_ATTACKER: u64 = 0;
    let hosts = colliding_hosts(KNOWN_TO_THE_ATTACKER);
    assert_eq!(hosts.len(), COLLIDING);
    let hashes = |seed| -> Vec<u64> {
        let config = config(seed);
        hosts.iter().map(|host| hash(host, &config)).collect()
    };
    let known = hashes(KNOWN_TO_THE_ATTACKER);
    assert!(known.iter().all(|hash| low_bits(*hash, BUCKET_BITS) == 0), "no attack");

    // Also under seeds that are near the known one.
    let near = (0..u64::BITS).map(|bit| KNOWN_TO_THE_ATTACKER ^ 1 << bit);
    for seed in near.chain(SEEDS.into_iter().filter(|seed| *seed != KNOWN_TO_THE_ATTACKER)) {
        assert_spread(&hashes(seed), seed);
    }
}
