#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mac_fuzz::request_target::check(data));
