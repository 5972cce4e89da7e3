//! Fuzz target: any bytes on the launcher's socket, and any system call that a command sends to its
//! supervisor.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    laws::a_frame_is_read_or_refused(bytes);
    laws::a_call_is_read(bytes);
    laws::a_network_call_is_read(bytes);
    laws::an_address_is_read_or_refused(bytes);
});
