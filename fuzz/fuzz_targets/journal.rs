//! Fuzz target: any log of a journal entry, followed by queries of that entry.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::a_log_is_read_or_refused(bytes));
