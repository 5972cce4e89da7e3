//! Any bytes as what a test runner or a type checker leaves.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::a_report_is_read(bytes));
