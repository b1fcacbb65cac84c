//! Random URLs: few hosts in many spellings, so that two are often one origin, and all that is wrong.

use proptest::prelude::*;

/// A URL, right or wrong.
pub fn any_url() -> impl Strategy<Value = String> {
    let parts = (scheme(), userinfo(), host(), port(), path());
    prop_oneof![
        8 => parts.prop_map(|(scheme, userinfo, host, port, path)| {
            format!("{scheme}://{userinfo}{host}{port}{path}")
        }),
        1 => "[ -~]{0,40}",
        1 => "https?://[!-~]{0,40}",
    ]
}

fn scheme() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[hH][tT][tT][pP]",
        4 => "[hH][tT][tT][pP][sS]",
        1 => "ftp|ws|httpx",
    ]
}

fn userinfo() -> impl Strategy<Value = String> {
    prop_oneof![6 => Just(String::new()), 2 => "[a-z:%@]{0,6}@", 1 => "[a-z\\[\\]:]{0,4}@"]
}

fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[aA][bB]?\\.?",
        2 => "([aA]|_|-|0|1|x|~|=){1,3}(\\.([aA]|0x?|1|f)){0,3}\\.{0,2}",
        2 => "[a-cA-C0-9]{1,70}(\\.[a-cA-C]{1,70}){0,5}\\.?",
        2 => "[01]{1,2}(\\.[0-9]{1,3}){0,4}\\.?",
        2 => "\\[(0{0,3}[0-9aA]?:){0,8}:?(1|f|F|1\\.2\\.3\\.4)?\\]",
        1 => "[!-~]{0,12}",
    ]
}

fn port() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        1 => Just(":".to_owned()),
        4 => ":0{0,3}(80|443|8080|1)",
        1 => ":[0-9]{1,24}",
        1 => ":[0-9a+:-]{1,4}",
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just(String::new()),
        2 => Just("/".to_owned()),
        3 => "[/?#][a-z/.%é?#@:]{0,8}",
        1 => "/[!-~ü]{0,12}",
    ]
}
