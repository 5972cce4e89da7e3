//! Fuzz target: any bytes as the report of a test runner or type checker.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::a_report_is_read(bytes));
