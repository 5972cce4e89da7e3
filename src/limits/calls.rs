//! Limits of recorded calls.

/// Connections of an intercepted command that may wait until the server accepts them.
pub const INTERCEPTED_BACKLOG: i32 = 4096;
/// Sockets of an intercepted command of which is remembered where they were going; of more, the
/// first are forgotten.
pub const MAX_INTERCEPTED_SOCKETS: usize = 65_536;
/// Sockets of an intercepted command that are known as its own servers.
pub const MAX_OWN_SOCKETS: usize = 16_384;
/// Sockets of an intercepted command that a supervisor which cannot fetch them keeps; beyond that
/// the command can make none.
pub const MAX_KEPT_SOCKETS: usize = 4096;
/// Buffer of the supervisor for one message of a command, in bytes: more than the largest datagram.
pub const MAX_INTERCEPTED_BYTES: usize = 256 * 1024;
/// Largest datagram over IPv4, in bytes.
pub const MAX_DATAGRAM_BYTES: usize = 65_507;
/// Places that one command may send datagrams to by rule.
pub const MAX_DATAGRAM_PLACES: usize = 256;
/// Sockets by which datagrams of one command leave at once: for one more, the one of its place goes
/// that was not used for longest.
pub const MAX_DATAGRAM_ASSOCIATIONS: usize = 1024;
/// Idle timeout of such a socket, in seconds (RFC 4787, 4.3: not less than two minutes).
pub const DATAGRAM_IDLE_SECS: u64 = 120;
/// Timeout for a connection until the server has received the request, in milliseconds.
pub const SERVER_HEARS_MS: u64 = 5_000;
/// Longest hold of a non-blocking connection until its server answers, in milliseconds. It is long
/// enough for a nearby server, and short for an event loop that stands still meanwhile.
pub const CONNECT_HELD_MS: u64 = 100;
/// Connections of an intercepted command that may be on their way longer than that; of more, the
/// first are refused.
pub const MAX_CONNECTIONS_ON_THEIR_WAY: usize = 128;
/// Timeout for the connection that keeps such a one pending, in milliseconds; afterwards it is
/// forwarded at once.
pub const QUEUE_FILLS_MS: i64 = 100;
/// Timeout for a supervisor that reads no messages from the server, in milliseconds.
pub const SUPERVISOR_TAKES_MS: u64 = 5_000;
/// Answers to the server that may wait at a supervisor.
pub const MAX_WAITING_WORDS: usize = 4096;
/// Largest bundle of certificates that is put into the view of a command, in bytes.
pub const CERTIFICATES_BYTES: u64 = 8 * 1024 * 1024;
/// Largest file of recorded calls that is read or written, in bytes.
pub const MAX_CALLS_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Memory for reading a file of recorded calls, as a multiple of its size: its bytes, its calls and
/// their index.
pub const CALLS_FILE_COPIES: usize = 3;
/// Room that there must be for a set of recorded calls before a program is run, in bytes.
pub const SET_ROOM_BYTES: usize = 64 * 1024;
/// Smallest body of a recorded call that is kept in a file of its own, in bytes.
pub const MIN_BODY_APART_BYTES: usize = 1024 * 1024;
/// Most bytes of all such files of one set: they are read before the program starts.
pub const MAX_CALLS_BODIES_BYTES: u64 = 1024 * 1024 * 1024;
/// Length of the head of a file that is read for settings of all its calls, in bytes.
pub const MAX_CALLS_HEAD_BYTES: u64 = 64 * 1024;
/// Deepest nesting of a recorded call's document, in levels.
pub const MAX_CALLS_DEPTH: usize = 100;
/// Most values in one document.
pub const MAX_CALLS_NODES: usize = 2_000_000;
/// Deepest nesting of a JSON body that is compared without regard to the order of its keys, in
/// levels.
pub const MAX_JSON_BODY_DEPTH: usize = 128;
/// Unanswered calls of one run that are told in detail; more are only counted.
pub const MAX_MISSES_TOLD: usize = 1000;
/// Recordings that are looked at for the one that is most like a call that none of them answers.
pub const MAX_CLOSEST_LOOKED_AT: usize = 5000;
/// Length of a call's text that is compared for that, in bytes; the work grows with its square.
pub const MAX_CLOSEST_HEAD_BYTES: usize = 256;
/// Recordings that are compared in detail with a call that none of them answers.
pub const MAX_CLOSEST_COMPARED: usize = 200;
/// Differences that are told of one unanswered call.
pub const MAX_DIFFERENCES: usize = 20;
/// Longest value in a shown difference, in characters.
pub const MAX_DIFFERENCE_CHARS: usize = 80;
/// Longest name of a set of recorded calls, in bytes (`NAME_MAX` of `linux/limits.h` less room for
/// a suffix).
pub const MAX_SET_NAME_BYTES: usize = 200;
/// Longest message of a database's protocol that is followed, in bytes; those of `MongoDB` are at
/// most 48,000,000.
pub const MAX_WIRE_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
/// Longest call to a database that is recorded, question and answer together, in bytes.
pub const MAX_WIRE_CALL_BYTES: usize = 64 * 1024 * 1024;
/// Most that is kept of one connection while its calls are recorded or played, in bytes.
pub const MAX_WIRE_CONNECTION_BYTES: usize = 128 * 1024 * 1024;
/// Most prepared statements or portals of one connection.
pub const MAX_WIRE_STATEMENTS: usize = 65_536;
/// Deepest nesting of a Redis reply.
pub const MAX_RESP_DEPTH: usize = 128;
/// Deepest nesting of documents of `MongoDB` in which values are looked for, as deep as the server
/// takes.
pub const MAX_BSON_DEPTH: usize = 100;
/// Calls of another recording that one command is compared with to learn which of its arguments are
/// noise.
pub const MAX_NOISE_COMPARED: usize = 200;
/// Longest call in which values are looked for that each run makes anew, in bytes: it is read once
/// more for that.
pub const MAX_VOLATILE_CALL_BYTES: usize = 16 << 20;
/// Longest line of a Redis message, in bytes (`PROTO_INLINE_MAX_SIZE` of Redis is 64 KiB).
pub const MAX_RESP_LINE_BYTES: usize = 64 * 1024;
/// Longest first message of a `PostgreSQL` connection, in bytes (`MAX_STARTUP_PACKET_LENGTH` of its
/// `libpq/pqcomm.h`).
pub const MAX_POSTGRES_STARTUP_BYTES: usize = 10_000;
/// Most of a question that is told in an error about it, in characters.
pub const MAX_SHOWN_QUESTION_CHARS: usize = 200;
/// Longest body, or turn of an unknown protocol, that a recording keeps, in bytes; a call with a
/// longer one only passes.
pub const MAX_RECORDED_BODY_BYTES: usize = 128 * 1024 * 1024;
/// Memory for a recorded call until its set is written, as a multiple of its length: as kept, and
/// as written or searched for secrets.
pub const RECORDING_COPIES: usize = 2;
/// Largest size of one recording, in bytes. Calls beyond it pass but are not recorded.
pub const MAX_RECORDING_BYTES: usize = 512 * 1024 * 1024;
/// Connections of recorded commands that are served at the same time; more wait in the sockets'
/// queues.
pub const MAX_RECORDED_CONNECTIONS: usize = 4096;
/// Share of the process's open files for connections of commands, as a divisor. The rest is for
/// files, commands and clients.
pub const CONNECTION_FILES_SHARE: u64 = 4;
/// Descriptors of one of them: its own, and the one to its server.
pub const CONNECTION_DESCRIPTORS: usize = 2;
/// Memory for one such connection besides its calls, in bytes: the data in flight, each way.
pub const RECORDED_CONNECTION_BYTES: usize = 2 * RELAY_BUFFER_KEPT_BYTES;
/// Longest head of an HTTP/1 message that is understood, in bytes.
pub const MAX_HTTP_HEAD_BYTES: usize = 1024 * 1024;
/// The same on a connection of a command that is opened, and what is read ahead of it at most.
pub const MAX_OPENED_HEAD_BYTES: usize = 64 * 1024;
/// Longest URL shown for a refused request, in bytes.
pub const MAX_SHOWN_URL_BYTES: usize = 200;
/// Longest path in a rule that is proposed for a request, in bytes; for a longer one it is all
/// paths.
pub const MAX_PROPOSED_PATH_BYTES: usize = 160;
/// Most fields in it.
pub const MAX_HTTP_FIELDS: usize = 1024;
/// Requests that may wait for their answers on one HTTP/1 connection.
pub const MAX_HTTP_PIPELINED: usize = 10_000;
/// Streams that may be open on one HTTP/2 connection (RFC 9113, 6.5.2: not less than 100).
pub const MAX_HTTP2_STREAMS: u32 = 100;
/// Longest head of an answer on an opened connection of HTTP/2, in bytes as RFC 9113, 6.5.2, counts
/// them; in memory it takes up to twice that.
pub const MAX_HTTP2_ANSWER_HEAD_BYTES: u32 = MAX_OPENED_HEAD_BYTES as u32 / 2;
/// Memory for a field besides its name and value, in bytes.
pub const HTTP_FIELD_BYTES: usize = 128;
/// Window of one HTTP/2 stream, in bytes; a connection has four times as much.
pub const HTTP2_WINDOW_BYTES: u32 = 512 * 1024;
/// Largest size of data in flight on one HTTP/2 connection, both directions together, in bytes.
pub const HTTP2_CONNECTION_BYTES: usize = 8 * HTTP2_WINDOW_BYTES as usize;
/// Pipes for relaying busy connections, for the whole process. Further connections are read and
/// written instead.
pub const MAX_RELAY_PIPES: usize = 128;
/// Initial read buffer of a recorded connection, in bytes.
pub const RELAY_BUFFER_BYTES: usize = 16 * 1024;
/// Size of the pipe of a relayed connection with large reads, in bytes.
pub const RELAY_PIPE_BYTES: usize = 256 * 1024;
/// The same once there was more than that at a time, in bytes.
pub const RELAY_BUFFER_KEPT_BYTES: usize = 128 * 1024;
/// The same as far as the budget has room for it, in bytes.
pub const MAX_RELAY_BUFFER_BYTES: usize = 1024 * 1024;
/// Idle time after which a connection gives that up, in milliseconds.
pub const RELAY_QUIET_MS: u64 = 1_000;
/// Timeout for connecting to the real server of a recorded connection, in milliseconds.
pub const UPSTREAM_CONNECT_MS: u64 = 10_000;
/// Delay before the next address is tried as well, in milliseconds (RFC 8305, 8).
pub const NEXT_ADDRESS_MS: u64 = 250;
/// Timeout of a TLS handshake on either side of a recorded connection, in milliseconds.
pub const UPSTREAM_TLS_MS: u64 = 10_000;
/// Timeout of a database login that is done for a program, in milliseconds.
pub const DATABASE_LOGIN_MS: u64 = 60_000;
/// Silence after which a protocol counts as server-first, in milliseconds. Also the timeout for the
/// remaining bytes that identify a protocol.
pub const SERVER_FIRST_MS: u64 = 300;
/// Longest silence after which a played server closes a connection as the real one did, in
/// milliseconds.
pub const MAX_SILENCE_PLAYED_MS: u64 = 60_000;
/// Time in which another handshake with the same server may succeed after a program hung up
/// silently on one, in milliseconds. It shows that the program accepts the certificate: some
/// programs open several connections at once and keep the first.
pub const HANG_UP_SETTLED_MS: u64 = 500;
/// Time for a program to hang up in the middle of an answer as it did when recorded, in
/// milliseconds. A program that stays reads beyond the end of the recording.
pub const CUT_OFF_HELD_MS: u64 = 2000;
/// Timeout for the rest of a message that may be the beginning of a longer recorded one, in
/// milliseconds.
pub const TURN_QUIET_MS: u64 = 300;
/// Interval in which a call may have been sent without waiting for the answer to an earlier one, in
/// milliseconds. Applies to a call recorded so long after the earlier one and before its answer;
/// concurrent calls come sooner.
pub const OVERTAKEN_MS: u64 = 100;
/// Delay before an unsolicited message that was recorded after a call is sent, in milliseconds.
/// Some programs drop a notification that comes together with an answer.
pub const UNASKED_AFTER_MS: u64 = 50;
/// Time that a played HTTP/2 server waits for more of a request, in milliseconds. Afterwards the
/// request counts as one that waits for an answer first.
pub const PLAYED_BODY_MS: u64 = 10_000;
/// Timeout for connections to end when a recording is over, in milliseconds.
pub const PROXY_END_MS: u64 = 2000;
/// Days for which certificates of a recording are valid: some clients accept no more than 398.
pub const CERTIFICATE_DAYS: u32 = 90;
/// Certificates of one recording that are kept.
pub const MAX_CERTIFICATES: usize = 4096;
/// Names that get an address of their own; 198.18.0.0/15 has 131,072.
pub const MAX_FAKE_NAMES: usize = 65_536;
/// TTL of such an address, in seconds.
pub const FAKE_ADDRESS_SECS: u32 = 60;
/// TTL of a name's real addresses, in milliseconds.
pub const RESOLVED_MS: u64 = 30_000;
/// Longest question of a name, in bytes.
pub const MAX_QUESTION_BYTES: usize = 4096;
/// Most things that a recording tells beside its calls, such as targets that it could not look
/// into.
pub const MAX_RECORDING_NOTES: usize = 256;
/// Names of one command that the system's resolver is asked for at once.
pub const MAX_LOOKUPS_AT_ONCE: usize = 16;
/// Questions of names of one command that wait for an answer at once; more wait in the socket.
pub const MAX_QUESTIONS: usize = 1024;
/// Threads that resolve names for recorded connections.
pub const MAX_RESOLVE_THREADS: usize = 64;
/// Sockets for recorded connections that are requested from a supervisor at the same time. Each is
/// in flight in a message, and the kernel limits their number (`RLIMIT_NOFILE`, unix(7)).
pub const MAX_SOCKETS_ASKED_FOR: usize = 64;
/// Longest excerpt of a call in a message, in bytes.
pub const MAX_SHOWN_CALL_BYTES: usize = 4096;
/// Default timeout of a program whose calls are watched, in seconds.
pub const DEFAULT_CALLS_TIMEOUT_SECS: u64 = 300;
/// Longest time that can be asked for, in seconds.
pub const MAX_CALLS_TIMEOUT_SECS: u64 = 86_400;
/// Output kept of such a program, in bytes for each of its two streams.
pub const CALLS_OUTPUT_BYTES: usize = 256 * 1024;
/// Unanswered calls that a reply tells of.
pub const MAX_MISSES_SHOWN: usize = 20;
