//! Sockets of unix(7).

use super::Clause::{In, NotIn};
use super::{ALL, EACCES, FilterAction, FilterRule, SEQPACKET, SOCKET_TYPE, STREAM, UNIX, line};

pub(super) const NO_DATAGRAMS: FilterRule = line(
    &[libc::SYS_socket],
    &[
        In(0, ALL, &[UNIX]),
        NotIn(1, SOCKET_TYPE, &[STREAM, SEQPACKET]),
    ],
    FilterAction::Ask,
    "a socket for datagrams sends to any name without connect(2), by calls whose address lies in memory; it is refused, and the result says so",
);

/// Connections that are not intercepted.
pub(super) const CONNECTIONS: &[FilterRule] = &[
    line(
        &[libc::SYS_connect],
        &[],
        FilterAction::Ask,
        "where to lies in memory, and only sockets of commands are connected to",
    ),
    line(
        &[libc::SYS_bind, libc::SYS_listen],
        &[],
        FilterAction::Ask,
        "sockets of commands have to be known",
    ),
];

/// Pairs without names.
pub(super) const PAIRS: &[FilterRule] = &[
    line(
        &[libc::SYS_socketpair],
        &[
            In(0, ALL, &[UNIX]),
            NotIn(1, SOCKET_TYPE, &[STREAM, SEQPACKET]),
        ],
        FilterAction::Ask,
        "one of a pair that is not connected can send to any name (raw ones are datagrams to the kernel); it is refused, and the result says so",
    ),
    line(
        &[libc::SYS_socketpair],
        &[NotIn(0, ALL, &[UNIX])],
        EACCES,
        "no other family is known to need pairs",
    ),
];
