#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mac_fuzz::pool::check(data));
