//! Fuzz target: any sequence of calls and symlinks.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::a_plan_stays_inside(bytes));
