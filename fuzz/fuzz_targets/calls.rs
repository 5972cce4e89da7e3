//! Fuzz target: any bytes as a file of recorded calls, and any calls.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    laws::a_file_of_calls_is_read_or_refused(bytes);
    laws::a_call_comes_back(bytes);
    laws::secrets_are_replaced_once(bytes);
});
