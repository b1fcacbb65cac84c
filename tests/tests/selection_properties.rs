//! Selection over random URLs and the fuzzers' corpora, through the checks of the fuzz targets.

use mac_tests::{corpus, random, urls};
use proptest::prelude::*;

proptest! {
    #![proptest_config(random::config(20_000))]

    #[test]
    fn keys_agree_with_the_oracle(a in urls::any_url(), b in urls::any_url()) {
        mac_fuzz::url_key::check(format!("{a}\n{b}").as_bytes());
    }

    #[test]
    fn requests_are_sent_as_the_oracle_says(
        url in urls::any_url(),
        method in "GET|OPTIONS|CONNECT|post",
        version in "1\\.0|1\\.1|2",
        host in "|\\*|[a-z.]{1,9}(:[0-9]{1,6})?|[!-~]{1,9}",
    ) {
        let request = format!("{url}\n{method}\n{version}\n{host}");
        mac_fuzz::request_target::check(request.as_bytes());
    }
}

#[test]
fn the_corpus_of_url_key_passes() {
    corpus::replay("url_key", mac_fuzz::url_key::check);
}

#[test]
fn the_corpus_of_request_target_passes() {
    corpus::replay("request_target", mac_fuzz::request_target::check);
}
