//! `cases/select.json`: which origin a URL names, and how a request to it is sent.
#![expect(
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test reports by panicking, also at what it does not expect"
)]

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::time::Instant;

use http::header::HOST;
use http::{Request, Uri, Version};
use mac_core::{
    Protocol, SelectError, Selector, SelectorConfig, UrlKeyConfig, UrlKeyError, UrlKeyRef,
};
use mac_tests::cases;
use serde::Deserialize;
use url::Url;

#[derive(Deserialize)]
struct Table {
    #[serde(default)]
    select: Vec<Case>,
    #[serde(default)]
    same_key: Vec<Pair>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    url: String,
    #[serde(default)]
    via: Via,
    method: Option<String>,
    version: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    default_http_port: Option<NonZeroU16>,
    default_https_port: Option<NonZeroU16>,
    expect: Option<Expect>,
    error: Option<String>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Via {
    #[default]
    Uri,
    Url,
}

#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
struct Expect {
    scheme: String,
    host: String,
    port: u16,
    host_header: Option<String>,
    target: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    a: String,
    b: String,
    same: bool,
    default_http_port: Option<NonZeroU16>,
    default_https_port: Option<NonZeroU16>,
}

#[test]
fn every_url_selects_what_the_table_says() {
    for (path, table) in cases::tables::<Table>("select.json") {
        let failures: Vec<String> = table.select.iter().filter_map(differs).collect();
        cases::report(&path, table.select.len(), &failures);
    }
}

#[test]
fn two_urls_are_one_origin_where_the_table_says_so() {
    for (path, table) in cases::tables::<Table>("select.json") {
        let failures: Vec<String> = table.same_key.iter().filter_map(pair_differs).collect();
        cases::report(&path, table.same_key.len(), &failures);
    }
}

fn differs(case: &Case) -> Option<String> {
    let expected = match (&case.expect, &case.error) {
        (Some(expect), None) => Ok(expect.clone()),
        (None, Some(error)) => Err(error.as_str()),
        _ => panic!("{}: a case has either `expect` or `error`", case.url),
    };
    let given = run(case);
    (given != expected).then(|| format!("{:?}: {given:?} instead of {expected:?}", case.url))
}

fn run(case: &Case) -> Result<Expect, &'static str> {
    let keys = keys(case.default_http_port, case.default_https_port);
    let uri = match case.via {
        Via::Uri => Uri::try_from(&case.url).map_err(|_| "invalid-uri")?,
        Via::Url => {
            let url = Url::parse(&case.url).map_err(|_| "invalid-uri")?;
            let key = UrlKeyRef::from_url(&url, &keys).map_err(kind)?;
            let uri = mac_core::uri_from_url(&url).map_err(|_| "invalid-uri")?;
            assert!(UrlKeyRef::new(&uri, &keys) == Ok(key), "{url}: two ways, two keys");
            uri
        }
    };
    let version = match case.version.as_deref() {
        None | Some("HTTP/1.1") => Version::HTTP_11,
        Some("HTTP/1.0") => Version::HTTP_10,
        Some(version) => panic!("version {version}"),
    };
    let method = case.method.as_deref().unwrap_or("GET");
    let mut request = Request::builder().uri(uri).method(method).version(version);
    for (name, value) in &case.headers {
        request = request.header(name, value);
    }
    let (mut parts, ()) = request.body(()).expect("a valid request").into_parts();

    let mut selector = Selector::new(SelectorConfig { keys, ..SelectorConfig::default() });
    let selection =
        selector.select(&parts, |_| (), Instant::now()).map_err(|error| match error {
            SelectError::Url(error) => kind(error),
            error => panic!("{error}"),
        })?;
    selection.target.apply(&mut parts, Protocol::Http1).expect("HTTP/1.1 carries it");
    let key = selector.key(selection.origin).expect("just selected");
    Ok(Expect {
        scheme: key.scheme().to_string(),
        host: key.host().to_string(),
        port: key.port(),
        host_header: parts
            .headers
            .get(HOST)
            .map(|value| value.to_str().expect("a Host in ASCII").to_owned()),
        target: parts.uri.to_string(),
    })
}

fn pair_differs(pair: &Pair) -> Option<String> {
    let keys = keys(pair.default_http_port, pair.default_https_port);
    let (a, b) = (uri(&pair.a), uri(&pair.b));
    let a = UrlKeyRef::new(&a, &keys).expect("a valid URL");
    let b = UrlKeyRef::new(&b, &keys).expect("a valid URL");
    let (owned_a, owned_b) = (a.to_key(), b.to_key());
    let given = [a == b, owned_a == b, a == owned_b, owned_a == owned_b];
    let hashes_alike = [b.hash_value(), owned_b.hash_value()] == [a.hash_value(); 2]
        && a.hash_value() == owned_a.hash_value();
    (given != [pair.same; 4] || hashes_alike != pair.same)
        .then(|| format!("{:?} and {:?}: {given:?}, hash alike: {hashes_alike}", pair.a, pair.b))
}

fn keys(http: Option<NonZeroU16>, https: Option<NonZeroU16>) -> UrlKeyConfig {
    let default = UrlKeyConfig::default();
    UrlKeyConfig {
        default_http_port: http.unwrap_or(default.default_http_port),
        default_https_port: https.unwrap_or(default.default_https_port),
        ..default
    }
}

fn uri(text: &str) -> Uri {
    text.parse().expect("a URI")
}

fn kind(error: UrlKeyError) -> &'static str {
    match error {
        UrlKeyError::NotAbsolute => "not-absolute",
        UrlKeyError::UnsupportedScheme => "unsupported-scheme",
        UrlKeyError::InvalidHost => "invalid-host",
        UrlKeyError::InvalidPort => "invalid-port",
        error => panic!("{error}"),
    }
}
