//! What programs outside run, in any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::what_runs_outside_is_found(bytes));
