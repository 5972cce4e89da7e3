//! Fuzz target: any bytes as a file that programs outside the sandbox execute.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::what_runs_outside_is_found(bytes));
