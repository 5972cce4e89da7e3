//! Properties of the messages between the sandbox processes and of the calls that a command asks
//! its supervisor for.

use std::os::fd::OwnedFd;

use replay_sandbox::intercept::call::{Network, decode as network};
use replay_sandbox::intercept::{
    AddressArgument, SupervisorMessage, SupervisorRequest, read_address, write_address,
};
use replay_sandbox::system_call::{Read, SystemCall, decode};
use replay_sandbox::wire::{receive, receive_event, receive_packet, send, send_event, send_packet};
use replay_sandbox::{Event, Hello, Plan, Request};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, send as send_bytes, shutdown,
    socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Source;

/// Size limit of the input: more than one frame, and less than a socket buffer.
const MAX_BYTES: usize = 32 * 1024;

/// Reads bytes on the stream between server and launcher as frames or an error. Reading ends, and
/// frames are unchanged when sent again.
///
/// # Panics
/// If the property is violated.
pub fn a_frame_is_read_or_refused(bytes: &[u8]) {
    let mut source = Source(bytes);
    let (which, framed) = (source.byte(), source.flag());
    let rest = &source.0[..source.0.len().min(MAX_BYTES)];
    let mut stream = Vec::new();
    if framed {
        // Otherwise nearly every length is too long.
        stream.extend((rest.len() as u32).to_le_bytes());
    }
    stream.extend(rest);
    match which % 4 {
        0 => read_frames::<Plan>(&stream),
        1 => read_frames::<Hello>(&stream),
        2 => read_frames::<Request>(&stream),
        _ => read_frames::<Event>(&stream),
    }
}

fn read_frames<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(stream: &[u8]) {
    let (here, there) = pair(SocketType::STREAM);
    send_bytes(&there, stream, SendFlags::empty()).unwrap();
    shutdown(&there, Shutdown::Write).unwrap();
    // A frame has at least four bytes.
    for _ in 0..=stream.len() / 4 {
        match receive::<T>(&here) {
            Err(_) | Ok(None) => return,
            Ok(Some((value, fds))) => {
                assert!(fds.is_empty());
                send(&here, &value, &[]).unwrap();
                let (again, _) = receive::<T>(&there).unwrap().unwrap();
                assert_eq!(again, value);
            }
        }
    }
    panic!("{} bytes were more frames than they can be", stream.len());
}

/// Reads a packet from a supervisor as an event or an error. The event is unchanged when sent
/// again.
///
/// # Panics
/// If the property is violated.
pub fn a_packet_is_read_or_refused(bytes: &[u8]) {
    let packet = &bytes[..bytes.len().min(MAX_BYTES)];
    a_word_is_read_or_refused::<SupervisorMessage>(packet);
    a_word_is_read_or_refused::<SupervisorRequest>(packet);
    let (here, there) = pair(SocketType::SEQPACKET);
    send_bytes(&there, packet, SendFlags::empty()).unwrap();
    match receive_event(&here) {
        Ok(None) => assert!(packet.is_empty(), "a packet with bytes is not the end"),
        Err(_) => {}
        Ok(Some((event, fd))) => {
            assert!(fd.is_none());
            send_event(&here, &event, None).unwrap();
            assert_eq!(receive_event(&there).unwrap().unwrap().0, event);
        }
    }
}

fn a_word_is_read_or_refused<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    packet: &[u8],
) {
    let (here, there) = pair(SocketType::SEQPACKET);
    send_bytes(&there, packet, SendFlags::empty()).unwrap();
    if let Ok(Some((word, _))) = receive_packet::<T>(&here) {
        send_packet(&here, &word, &[]).unwrap();
        assert_eq!(receive_packet::<T>(&there).unwrap().unwrap().0, word);
    }
}

/// Decodes any system call with any arguments. The upper half of a descriptor argument is ignored.
/// Address and size of a result are adjacent arguments of the call.
///
/// # Panics
/// If the property is violated.
pub fn a_call_is_read(bytes: &[u8]) {
    let mut source = Source(bytes);
    // Mostly numbers of existing calls.
    let number = if source.flag() {
        i32::from(source.byte()) + i32::from(source.byte())
    } else {
        word(&mut source) as i32
    };
    let args: [u64; 6] = std::array::from_fn(|_| word(&mut source));
    let call = decode(number, &args);
    // Calls whose first argument is a descriptor ignore its upper half; addresses do not.
    let takes_a_descriptor =
        decode(number, &[1 << 32, 1, 0, 0, 0, 0]) == decode(number, &[0, 1, 0, 0, 0, 0]);
    let mut wide = args;
    if takes_a_descriptor {
        wide[0] ^= 0xdead_beef_0000_0000;
    }
    assert_eq!(decode(number, &wide), call);
    assert!(
        !matches!(call, Some(SystemCall::Invalid(errno)) if errno != Errno::INVAL.raw_os_error())
    );
    if let Some(SystemCall::Read(_, read)) = call {
        let (Read::Value {
            value: place, size, ..
        }
        | Read::ValueAt {
            structure: place,
            size,
            ..
        }
        | Read::Names { list: place, size }) = read;
        assert!(args.windows(2).any(|pair| pair == [place, size]));
    }
}

/// Decodes any network call with any arguments. The upper halves of `int` arguments are ignored.
///
/// # Panics
/// If the property is violated.
pub fn a_network_call_is_read(bytes: &[u8]) {
    let mut source = Source(bytes);
    let number = if source.flag() {
        i32::from(source.byte()) * 2
    } else {
        word(&mut source) as i32
    };
    let args: [u64; 6] = std::array::from_fn(|_| word(&mut source));
    let call = network(number, &args);
    let mut wide = args;
    wide[0] ^= 0xdead_beef_0000_0000;
    assert_eq!(network(number, &wide), call);
    if let Some(Network::Connect { to, .. } | Network::Bind { to, .. }) = call {
        assert_eq!(
            (to.address, to.length),
            (args[1], args[2] & u64::from(u32::MAX))
        );
    }
}

/// Reads any bytes as an address or an error. The address is unchanged when written again.
///
/// # Panics
/// If the property is violated.
pub fn an_address_is_read_or_refused(bytes: &[u8]) {
    let read_again = |bytes: &[u8]| match read_address(bytes) {
        Ok(AddressArgument::Address(address)) => {
            assert_eq!(
                read_address(&write_address(address)),
                Ok(AddressArgument::Address(address))
            );
        }
        Ok(AddressArgument::Nobody) => assert!(bytes.starts_with(&[0, 0])),
        Err(errno) => assert!([Errno::INVAL, Errno::AFNOSUPPORT].contains(&errno)),
    };
    read_again(bytes);
    // Mostly existing address families.
    for family in [2_u16, 10] {
        read_again(&[&family.to_ne_bytes()[..], bytes].concat());
    }
}

fn word(source: &mut Source) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|_| source.byte()))
}

fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap()
}
