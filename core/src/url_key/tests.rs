use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU16;

use http::Uri;
use http::uri::{self, Authority};
use url::Url;

use super::*;

/// Beyond this many octets a name takes the same steps as a shorter one: five words, so that each
/// kind of last word comes behind none, one and several others.
const LENGTHS: core::ops::RangeInclusive<usize> = 0..=40;

fn uri(text: &str) -> Uri {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn key(text: &str) -> Result<UrlKey, UrlKeyError> {
    UrlKeyRef::new(&uri(text), &UrlKeyConfig::default()).map(|key| key.to_key())
}

fn key_of_url(text: &str) -> Result<UrlKey, UrlKeyError> {
    UrlKeyRef::from_url(&Url::parse(text).unwrap(), &UrlKeyConfig::default())
        .map(|key| key.to_key())
}

/// One origin: borrowed and owned keys of both are equal and hash alike.
#[track_caller]
fn assert_same(a: &str, b: &str) {
    let (a, b, config) = (uri(a), uri(b), UrlKeyConfig::default());
    let (a, b) = (UrlKeyRef::new(&a, &config).unwrap(), UrlKeyRef::new(&b, &config).unwrap());
    assert_eq!(a, b);
    assert_eq!(a.to_key(), b.to_key());
    assert_eq!(a.to_key(), b);
    assert_eq!(a, b.to_key());
    assert_eq!(a.hash_value(), b.hash_value());
    assert_eq!(a.to_key().hash_value(), b.to_key().hash_value());
    assert_eq!(a.to_key().to_string(), b.to_key().to_string());
}

/// Two origins; that their hashes differ too shows that all parts go into the hash.
#[track_caller]
fn assert_different(a: &str, b: &str) {
    let (a, b, config) = (uri(a), uri(b), UrlKeyConfig::default());
    let (a, b) = (UrlKeyRef::new(&a, &config).unwrap(), UrlKeyRef::new(&b, &config).unwrap());
    assert_ne!(a, b);
    assert_ne!(a.to_key(), b.to_key());
    assert_ne!(a.to_key(), b);
    assert_ne!(a.hash_value(), b.hash_value());
}

// RFC 9110 s4.2: an http or https URI names an origin, and no other does.
#[test]
fn only_an_absolute_http_or_https_uri_has_a_key() {
    for text in ["/path", "*", "example.com", "example.com:80", "http:"] {
        assert_eq!(key(text), Err(UrlKeyError::NotAbsolute), "{text}");
    }
    for text in ["ftp://h/", "ws://h/", "httpss://h/", "htt://h/"] {
        assert_eq!(key(text), Err(UrlKeyError::UnsupportedScheme), "{text}");
    }
    assert_eq!(key_of_url("mailto:x@h"), Err(UrlKeyError::UnsupportedScheme));
    assert_eq!(key_of_url("blob:http://h/"), Err(UrlKeyError::UnsupportedScheme));
}

// RFC 3986 s3.1, s3.2.2, s6.2.2.1; RFC 9110 s4.2.3: scheme and host ignore case.
#[test]
fn scheme_and_host_ignore_case() {
    assert_same("http://example.com/", "hTTp://EXAMPLE.cOM/");
    assert_same("https://a-rather-long.name.example/", "HTTPS://A-RATHER-LONG.NAME.EXAMPLE/");
}

// RFC 3986 s3.1: parsing folds the scheme, assembling a URI from its parts does not.
#[test]
fn a_scheme_assembled_from_parts_in_upper_case_is_the_same() {
    for (upper, lower) in [("HTTP", "http"), ("HttpS", "https")] {
        let mut parts = uri::Parts::default();
        parts.scheme = Some(upper.parse().unwrap());
        parts.authority = Some(Authority::from_static("h"));
        parts.path_and_query = Some(uri::PathAndQuery::from_static("/"));
        let assembled = Uri::from_parts(parts).unwrap();
        assert_eq!(assembled.scheme_str(), Some(upper), "not folded before it comes to us");

        let config = UrlKeyConfig::default();
        let assembled = UrlKeyRef::new(&assembled, &config).unwrap();
        let parsed = uri(&format!("{lower}://h/"));
        assert_eq!(assembled, UrlKeyRef::new(&parsed, &config).unwrap());
        assert_eq!(assembled.to_key().to_string(), key(&parsed.to_string()).unwrap().to_string());
    }
}

// RFC 3986 s3.2.3, s6.2.3; RFC 9110 s4.2.1, s4.2.2, s4.2.3.
#[test]
fn an_absent_an_empty_and_the_default_port_are_one_key() {
    for (scheme, port) in [("http", 80), ("https", 443)] {
        let plain = format!("{scheme}://h/");
        assert_same(&plain, &format!("{scheme}://h:/"));
        assert_same(&plain, &format!("{scheme}://h:{port}/"));
        assert_same(&plain, &format!("{scheme}://h:000{port}/"));
    }
    assert_different("http://h/", "http://h:443/");
    assert_different("https://h/", "https://h:80/");
}

// RFC 3986 s3.2.3: port = *DIGIT. What `http::Uri` reads as "no port" or wraps is refused.
#[test]
fn a_port_is_a_decimal_number_from_1_to_65535() {
    for (port, number) in [("1", 1), ("00065535", 65_535), ("0080", 80)] {
        assert_eq!(key(&format!("http://h:{port}/")).unwrap().port(), number);
    }
    for port in [
        "0",
        "0000",
        "65536",
        "65616",
        "99999",
        "4294967376",
        "18446744073709551696",
        "+80",
        "-1",
        "8a",
        "80a",
    ] {
        assert_eq!(key(&format!("http://h:{port}/")), Err(UrlKeyError::InvalidPort), "{port}");
        assert_eq!(key(&format!("http://[::1]:{port}/")), Err(UrlKeyError::InvalidPort), "{port}");
    }
    assert_eq!(key_of_url("http://h:0/"), Err(UrlKeyError::InvalidPort));
}

#[test]
fn every_port_is_itself_and_no_other() {
    let ports = 0..=u32::from(u16::MAX) + 2;
    for port in ports {
        let parsed = parse::port(&port.to_string()).ok();
        assert_eq!(parsed, u16::try_from(port).ok().filter(|port| *port != 0));
    }
}

// RFC 9110 s4.2.2, s4.3.
#[test]
fn http_and_https_of_one_host_and_port_are_two_origins() {
    assert_different("http://h:443/", "https://h:443/");
    assert_different("http://h/", "https://h/");
}

#[test]
fn configured_default_ports_replace_those_of_the_schemes() {
    let port = |port| NonZeroU16::new(port).unwrap();
    let config = UrlKeyConfig {
        default_http_port: port(8080),
        default_https_port: port(80),
        ..UrlKeyConfig::default()
    };
    let port = |text| UrlKeyRef::new(&uri(text), &config).unwrap().port();
    assert_eq!([port("http://h/"), port("http://h:/"), port("http://h:80/")], [8080, 8080, 80]);
    assert_eq!([port("https://h/"), port("https://h:443/")], [80, 443]);
}

// RFC 1035 s2.3.4: labels of 63 octets, names of 253 as they are written.
#[test]
fn a_name_has_labels_of_1_to_63_octets_and_253_in_all() {
    let label = "a".repeat(63);
    let name = |last| [&*label, &label, &label, &"a".repeat(last)].join(".");
    for host in [&label, &name(61), &format!("{}.", name(61)), "a.b"] {
        assert!(key(&format!("http://{host}/")).is_ok(), "{host}");
    }
    let long_label = format!("{label}a");
    for host in [
        &long_label,
        &format!("{long_label}.h"),
        &format!("h.{long_label}"),
        &name(62),
        &format!("{}.", name(62)),
        ".",
        "..",
        ".h",
        "h..",
        "a..b",
    ] {
        assert_eq!(key(&format!("http://{host}/")), Err(UrlKeyError::InvalidHost), "{host}");
    }
    for text in ["http://:80/", "http://u@:80/"] {
        assert_eq!(key(text), Err(UrlKeyError::InvalidHost), "{text}");
    }
}

// RFC 5891 s4.4 (A-labels), and the URL Standard's "domain to ASCII".
#[test]
fn a_name_in_unicode_comes_in_through_the_url_crate() {
    let origin = key_of_url("http://Bücher.example/").unwrap();
    assert_eq!(origin.host(), Host::Name("xn--bcher-kva.example"));
    assert_eq!(origin, key("http://XN--bcher-kva.example:80/").unwrap());
}

// The URL Standard's forbidden host code points leave some that RFC 3986 s3.2.2 has not.
#[test]
fn a_host_that_only_the_url_standard_allows_is_refused() {
    for text in ["http://a\"b/", "http://a{b/", "http://a`b/"] {
        let url = Url::parse(text).unwrap();
        let key = UrlKeyRef::from_url(&url, &UrlKeyConfig::default());
        assert_eq!(key.map(|key| key.port()), Err(UrlKeyError::InvalidHost), "{text}");
    }
}

// RFC 3986 s7.4: what resolvers read as an IPv4 address, filters may read as a name.
#[test]
fn a_name_that_ends_in_a_number_is_an_ipv4_address_in_plain_decimal() {
    let host = |text| key(text).map(|key| key.host().to_string());
    assert_eq!(host("http://1.2.3.4/").as_deref(), Ok("1.2.3.4"));
    assert_eq!(key("http://1.2.3.4/").unwrap().host(), Host::Ipv4([1, 2, 3, 4].into()));
    assert_eq!(key("http://1.2.3.1e1/").unwrap().host(), Host::Name("1.2.3.1e1"));
    assert_eq!(key("http://0x7f.example/").unwrap().host(), Host::Name("0x7f.example"));
    for host in [
        "127.1",
        "2130706433",
        "0x7f.1",
        "0X7f000001",
        "0x",
        "h.0x",
        "010.0.0.1",
        "1.2.3.04",
        "256.1.1.1",
        "1.2.3.4.5",
        "1.2.3.4.",
        "h.08",
        "h.1.",
    ] {
        assert_eq!(key(&format!("http://{host}/")), Err(UrlKeyError::InvalidHost), "{host}");
    }
}

// RFC 3986 s3.2.2; RFC 5952 for the spelling that is shown.
#[test]
fn all_spellings_of_an_ipv6_address_are_one_key() {
    assert_same("http://[::1]/", "http://[0:0:0:0:0:0:0:1]:80/");
    assert_same("http://[2001:DB8::A]/", "http://[2001:db8:0:0::a]/");
    assert_same("https://[::ffff:1.2.3.4]/", "https://[::FFFF:102:304]/");
    assert_different("http://[::1]/", "http://[::2]/");
    assert_different("http://[::ffff:1.2.3.4]/", "http://1.2.3.4/");
    assert_eq!(key("http://[2001:DB8:0::1]/").unwrap().to_string(), "http://[2001:db8::1]:80");
}

// RFC 3986 s3.2.2; RFC 6874 (zone ids) is not for a name that goes over the wire.
#[test]
fn zone_ids_future_addresses_and_text_around_brackets_are_refused() {
    for host in [
        "[fe80::1%25eth0]",
        "[::1%eth0]",
        "[v1.a]",
        "[]",
        "[1::2::3]",
        "[::1.2.3.04]",
        "[::1]x",
        "[::1].",
        "x[::1]",
    ] {
        assert_eq!(key(&format!("http://{host}/")), Err(UrlKeyError::InvalidHost), "{host}");
        assert_eq!(key(&format!("http://u@{host}:1/")), Err(UrlKeyError::InvalidHost), "{host}");
    }
}

// RFC 3986 s3.2.2 compares names as they are written; the URL Standard keeps the final dot.
#[test]
fn a_final_dot_makes_another_key() {
    assert_different("http://example.com/", "http://example.com./");
    assert_same("http://example.com./", "http://EXAMPLE.com.:80/");
    assert_eq!(key("http://h./").unwrap().host(), Host::Name("h."));
}

// RFC 9110 s4.2.4: userinfo has no part in the origin.
#[test]
fn userinfo_is_not_part_of_the_key() {
    assert_same("http://h/", "http://user:pass@h/");
    assert_same("http://h:81/", "http://:@h:81/");
    assert_same("https://h/", "https://u:80@h/");
    assert_same("http://[::1]/", "http://h:80@[::1]/");
    assert_different("http://a@b/", "http://b@a/");
}

// RFC 3986 s3.2.1: neither `@` nor a bracket is in a userinfo, and parsers disagree on where it ends.
#[test]
fn a_userinfo_that_parsers_read_differently_is_refused() {
    for text in ["http://u@v@h/", "http://h@h:80@i", "http://[::1]@h/", "http://u[]@h/"] {
        assert_eq!(key(text), Err(UrlKeyError::InvalidHost), "{text}");
    }
}

// RFC 9110 s4.3.1: origin is scheme, host and port.
#[test]
fn path_query_and_fragment_are_not_part_of_the_key() {
    assert_same("http://h/", "http://h/a?b#c");
    assert_same("http://h", "http://h?@i/");
    assert_same("http://h", "http://h#@i/");
}

// Fetch Standard, "connections": the network partition key.
#[test]
fn a_partition_makes_another_key() {
    let (plain, config) = (uri("http://h/"), UrlKeyConfig::default());
    let plain = UrlKeyRef::new(&plain, &config).unwrap();
    let keys = [
        plain,
        plain.with_partition(Partition(0)),
        plain.with_partition(Partition(1)),
        plain.with_partition(Partition(u64::MAX)),
    ];
    for (n, a) in keys.iter().enumerate() {
        for (m, b) in keys.iter().enumerate() {
            assert_eq!((a == b, a.to_key() == *b), (n == m, n == m), "{a:?} {b:?}");
            assert_eq!(a.hash_value() == b.to_key().hash_value(), n == m, "{a:?} {b:?}");
        }
    }
}

#[test]
fn what_is_wrong_with_the_host_is_told_before_what_is_wrong_with_the_port() {
    assert_eq!(key("http://h..:0/"), Err(UrlKeyError::InvalidHost));
    assert_eq!(key("http://[::1]x:0/"), Err(UrlKeyError::InvalidHost));
    assert_eq!(key("ftp://h..:0/"), Err(UrlKeyError::UnsupportedScheme));
    assert_eq!(key("http://h:0/"), Err(UrlKeyError::InvalidPort));
}

#[test]
fn errors_never_show_the_url() {
    let secret = "hunter2";
    for text in [
        format!("/{secret}"),
        format!("ftp://{secret}@{secret}/{secret}"),
        format!("http://{secret}@{secret}../{secret}"),
        format!("http://{secret}@{secret}:0/{secret}"),
        format!("http://{secret}@h:{secret}/{secret}"),
    ] {
        let error = key(&text).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(secret), "{shown}");
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn debug_output_of_a_seed_does_not_show_it() {
    assert_eq!(format!("{:?}", HashSeed::new(7)), "HashSeed(..)");
}

#[test]
fn another_seed_gives_another_hash_and_keys_are_equal_all_the_same() {
    let uri = uri("http://example.com/");
    let with = |seed| UrlKeyConfig { hash_seed: HashSeed::new(seed), ..UrlKeyConfig::default() };
    let (one, two) = (with(1), with(2));
    let (a, b) = (UrlKeyRef::new(&uri, &one).unwrap(), UrlKeyRef::new(&uri, &two).unwrap());
    assert_ne!(a.hash_value(), b.hash_value());
    assert_eq!(a, b);
    assert_eq!(a.to_key(), b);
}

#[test]
fn an_unchecked_key_of_an_invalid_host_equals_no_valid_one() {
    let config = UrlKeyConfig::default();
    let valid: Vec<Uri> =
        ["http://h/", "http://h./", "http://[::1]/", "http://1.2.3.4/"].map(uri).into();
    for text in ["http://h../", "http://.h/", "http://[::1%1]/", "http://1.2.3.04/", "http://[h]/"]
    {
        let invalid = uri(text);
        let invalid = UrlKeyRef::unchecked(&invalid, &config).unwrap();
        assert_eq!(invalid.check(), Err(UrlKeyError::InvalidHost));
        for valid in &valid {
            let valid = UrlKeyRef::unchecked(valid, &config).unwrap();
            assert_eq!(valid.check(), Ok(()));
            assert!(invalid != valid && valid.to_key() != invalid, "{text}");
        }
    }
}

/// The words of `bytes`, one byte at a time.
fn naive_words(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0; bytes.len().div_ceil(8)];
    for (n, byte) in bytes.iter().enumerate() {
        words[n / 8] |= u64::from(*byte) << (8 * (n % 8));
    }
    words
}

/// Each byte at each place among others of each length.
fn each_byte_at_each_place(around: u8, mut check: impl FnMut(&[u8], usize)) {
    for len in LENGTHS {
        for place in 0..len {
            for byte in 0..=u8::MAX {
                let mut bytes = vec![around; len];
                bytes[place] = byte;
                check(&bytes, place);
            }
        }
    }
}

#[test]
fn words_hold_each_byte_at_its_place_and_zeros_behind_the_last() {
    let check = |bytes: &[u8]| {
        let mut words = Vec::new();
        fold::for_each_word(bytes, |word| words.push(word));
        assert_eq!(words, naive_words(bytes), "{bytes:?}");
    };
    each_byte_at_each_place(0xff, |bytes, _| check(bytes));
    for len in LENGTHS {
        let bytes: Vec<u8> = (1..=u8::MAX).take(len).collect();
        check(&bytes);
    }
}

#[test]
fn colons_to_ats_are_seen_at_each_place_and_no_other_ascii() {
    let naive = |word: u64| {
        let octet = |byte: u8| if (b':'..=b'@').contains(&byte) { 0x80 } else { 0 };
        u64::from_le_bytes(word.to_le_bytes().map(octet))
    };
    // Neighbours at the ends of the range show a carry from one octet into the next.
    for around in [0, b'/', b':', b'@', b'A', 0x7f] {
        each_byte_at_each_place(around, |bytes, place| {
            if bytes[place].is_ascii() {
                for word in naive_words(bytes) {
                    assert_eq!(fold::top_bits(fold::colon_to_at(word)), naive(word), "{bytes:?}");
                }
            }
        });
    }
}

fn host_bytes() -> impl Iterator<Item = u8> + Clone {
    (0..=u8::MAX).filter(|byte| is_host_byte(*byte))
}

#[test]
fn folding_keeps_apart_what_differs_in_more_than_case() {
    for place in 0..8 {
        let word = |byte: u8| fold::fold(u64::from(byte) << (8 * place));
        for a in host_bytes() {
            for b in host_bytes() {
                assert_eq!(word(a) == word(b), a.eq_ignore_ascii_case(&b), "{a} {b}");
            }
        }
    }
}

#[test]
fn hosts_are_compared_as_byte_by_byte() {
    for len in LENGTHS {
        for place in 0..len {
            let (mut a, mut b) = (vec![b'h'; len], vec![b'H'; len]);
            for byte in host_bytes() {
                a[place] = byte;
                for other in host_bytes() {
                    b[place] = other;
                    let same = byte.eq_ignore_ascii_case(&other);
                    assert_eq!(fold::eq_ignore_case(&a, &b), same, "{len} {place} {byte} {other}");
                }
            }
        }
    }
}

#[test]
fn hosts_of_two_lengths_are_never_the_same() {
    let text = "a".repeat(*LENGTHS.end());
    for a in LENGTHS {
        for b in LENGTHS {
            let (a, b) = (&text.as_bytes()[..a], &text.as_bytes()[..b]);
            assert_eq!(fold::eq_ignore_case(a, b), a == b);
        }
    }
}

// RFC 3986 s3.2.2: host = IP-literal / IPv4address / reg-name, of which `http` leaves pct-encoded out.
#[test]
fn a_host_byte_is_what_http_takes_in_a_host() {
    let is_in_host = |byte: u8| {
        Authority::try_from(&[b'a', byte, b'b'][..])
            .is_ok_and(|authority| authority.host().as_bytes().contains(&byte))
    };
    for byte in 0..=u8::MAX {
        // A name has none of these, but an IPv6 address has.
        let expected = is_in_host(byte) || b"[:]".contains(&byte);
        assert_eq!(is_host_byte(byte), expected, "{}", char::from(byte).escape_default());
    }
    assert_eq!(Authority::from_static("[::1]").host(), "[::1]");
}

#[test]
fn displays_the_canonical_host_and_always_the_port() {
    let shown = |text: &str| -> String { key(text).unwrap().to_string() };
    assert_eq!(shown("HTTP://u@EXAMPLE.com/a"), "http://example.com:80");
    assert_eq!(shown("https://[0::1]:8443"), "https://[::1]:8443");
    assert_eq!(shown("https://1.2.3.4"), "https://1.2.3.4:443");
}
