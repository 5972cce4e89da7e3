//! Fuzz target: any globs and a path.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::globs_agree_with_each_other(bytes));
