//! Fuzz target: any packet from a supervisor.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::a_packet_is_read_or_refused(bytes));
