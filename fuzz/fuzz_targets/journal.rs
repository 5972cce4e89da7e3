//! Any log of an entry of the journal, then whatever can be asked of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::a_log_is_read_or_refused(bytes));
