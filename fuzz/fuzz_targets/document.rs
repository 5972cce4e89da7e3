//! Fuzz target: any bytes as a picture or a document. Seeds: `cargo +nightly fuzz run document
//! testdata/documents`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::a_document_has_an_answer(bytes));
