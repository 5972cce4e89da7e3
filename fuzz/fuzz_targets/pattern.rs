//! Fuzz target: any pattern on any text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::a_pattern_has_one_answer(bytes));
