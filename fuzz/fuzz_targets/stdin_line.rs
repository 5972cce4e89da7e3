//! Fuzz target: any bytes on stdin.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::a_line_has_at_most_one_answer(bytes));
