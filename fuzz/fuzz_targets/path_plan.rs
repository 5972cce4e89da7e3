//! Any plan of calls and links.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::a_plan_stays_inside(bytes));
