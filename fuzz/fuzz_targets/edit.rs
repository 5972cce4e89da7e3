//! Fuzz target: any edits of any text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::an_edit_changes_what_it_says(bytes));
