//! Of the server over HTTP.

/// Connections over HTTP at the same time, unless the operator says otherwise; more wait to be
/// accepted.
pub const MAX_HTTP_CONNECTIONS: u64 = 2048;
/// Share of the connections that one token may have unless its line says otherwise, in percent. The
/// rest is for other tokens and for clients without a token yet.
pub const HTTP_CONNECTIONS_SHARE_PERCENT: usize = 75;
/// `WebSocket`s of one token at the same time.
pub const MAX_HTTP_WEBSOCKETS: usize = 256;
/// Timeout for the first request of a connection, in milliseconds.
pub const HTTP_FIRST_REQUEST_MS: u64 = 10_000;
/// Time for which a connection without a token that has begun to speak keeps its place, in
/// milliseconds. Others of the same address cannot take it. A TLS handshake and a first request
/// over a slow network fit in.
pub const HTTP_STRANGER_GRACE_MS: u64 = 1000;
/// Connections that may wait to be accepted (listen(2); the system allows no more than
/// `net.core.somaxconn`).
pub const HTTP_BACKLOG: i32 = 4096;
/// Open files that connections leave to calls, or half of those that the system allows if that is
/// less.
pub const RESERVED_OPEN_FILES: u64 = 1024;
/// Sessions of one tenant, unless the operator says otherwise.
pub const MAX_HTTP_SESSIONS: u64 = 1024;
/// Default idle timeout of a session, in seconds.
pub const HTTP_SESSION_IDLE_SECS: u64 = 3600;
/// Time for calls of a revoked token to end before the next token of its name is served, in
/// milliseconds.
pub const TOKEN_END_MS: u64 = 15_000;
/// Polling interval for that, in milliseconds.
pub const TOKEN_END_LOOK_MS: u64 = 5;
/// Messages of one tenant in a minute, unless the operator says otherwise.
pub const HTTP_RATE_PER_MINUTE: u64 = 100;
/// Messages that a tenant who was silent may send at once, unless the operator says otherwise.
pub const HTTP_RATE_BURST: u64 = 100;
/// Requests of one tenant in a minute that are no messages, such as those for `/metrics` and
/// `/activity`, if there is a limit for messages.
pub const HTTP_LOOKS_PER_MINUTE: u64 = 600;
/// Such requests that a tenant who was silent may send at once.
pub const HTTP_LOOKS_BURST: u64 = 600;
/// Calls of one tenant that run at the same time, unless the operator says otherwise.
pub const MAX_HTTP_CALLS: u64 = 32;
/// Calls of one tenant that may wait for a place before more are refused.
pub const MAX_HTTP_WAITING_CALLS: usize = 256;
/// Addresses whose unknown tokens are counted apart; what comes from others is counted together.
pub const MAX_HTTP_REFUSED_PEERS: usize = 1024;
/// Least time between two lines in the log about unknown tokens from one address, in milliseconds.
pub const HTTP_REFUSAL_LINE_MS: u64 = 60_000;
/// Tokens in one file.
pub const MAX_HTTP_TENANTS: usize = 64;
/// Largest file of tokens, in bytes.
pub const MAX_TOKEN_FILE_BYTES: u64 = 1024 * 1024;
/// Largest file of a certificate or its key, in bytes.
pub const MAX_TLS_FILE_BYTES: u64 = 1024 * 1024;
/// Timeout for reading secrets from an anonymous pipe (`<(...)`), in milliseconds. A person may
/// have to type a passphrase.
pub const SECRET_PIPE_MS: u64 = 120_000;
/// Largest head of a request, in bytes.
pub const MAX_HTTP_HEADER_BYTES: usize = 64 * 1024;
/// Default client timeout, in seconds. It limits the head of a request and the idle time of an
/// HTTP/1 connection. It also limits pauses in a request's body, and pauses of a client that
/// reads a reply.
pub const HTTP_CLIENT_TIMEOUT_SECS: u64 = 30;
/// Timeout of a TLS handshake with a client, in milliseconds.
pub const HTTP_TLS_MS: u64 = 10_000;
/// Bodies up to this length are read even if their request is refused, in bytes.
pub const HTTP_UNREAD_BYTES: usize = 64 * 1024;
/// Timeout for such a body, in milliseconds.
pub const HTTP_UNREAD_MS: u64 = 500;
/// Bytes that are read and discarded of a request that was answered early, from a client without a
/// token. A client that still sends when the connection is closed may lose the answer (RFC 9112,
/// 9.6).
pub const HTTP_LINGER_BYTES: u64 = 1024 * 1024;
/// The same of one that has shown a token, in bytes: twice what a message may be long unless the
/// operator says otherwise.
pub const HTTP_TENANT_LINGER_BYTES: u64 = 128 * 1024 * 1024;
/// Timeout for that, in milliseconds (the default of nginx, `lingering_time`).
pub const HTTP_LINGER_MS: u64 = 30_000;
/// Longest pause in that, in milliseconds.
pub const HTTP_LINGER_SILENCE_MS: u64 = 2000;
/// Timeout for the whole body of a request, in milliseconds.
pub const HTTP_BODY_MS: u64 = 120_000;
/// Idle timeout of an HTTP/2 connection without requests, in milliseconds.
pub const HTTP2_IDLE_MS: u64 = 120_000;
/// Time between two looks at a connection that should end by itself, in milliseconds.
pub const HTTP_LOOK_MS: u64 = 5000;
/// Grace period for calls of an HTTP/1 client that has closed its sending side, in milliseconds.
pub const HTTP_GONE_MS: u64 = 1000;
/// Requests at the same time on one HTTP/2 connection.
pub const MAX_HTTP2_REQUESTS: u32 = 128;
/// Timeout for a reply that waits for room among unread replies, in milliseconds; then its call
/// fails.
pub const HTTP_ROOM_MS: u64 = 1000;
/// Polling interval for that, in milliseconds.
pub const HTTP_ROOM_LOOK_MS: u64 = 10;
/// Requests and replies up to this length have memory that large ones cannot take, in bytes.
pub const SMALL_MESSAGE_BYTES: usize = 64 * 1024;
/// Chunk of a reply that is handed to a connection at once, in bytes.
pub const HTTP_CHUNK_BYTES: usize = 64 * 1024;
/// Largest size of unread events in a stream, in bytes. Later events are dropped, except for
/// replies.
pub const MAX_EVENTS_WAITING_BYTES: usize = 1024 * 1024;
/// Silence in a stream of events after which a comment is sent, in milliseconds, so that nothing on
/// the way hangs up.
pub const EVENTS_ALIVE_MS: u64 = 15_000;
/// A reply that takes longer than this is sent as a stream of events to a client that takes one, in
/// milliseconds.
pub const EVENTS_BEGIN_MS: u64 = 10_000;
/// Timeout for running calls when the server is asked to end, in milliseconds.
pub const HTTP_END_MS: u64 = 30_000;
/// Least threads that carry bytes between connections and calls, and serve what is quick.
pub const MIN_HTTP_THREADS: usize = 2;
/// Most of them; in between there is one for each processor.
pub const MAX_HTTP_THREADS: usize = 8;
/// Time that one of these threads may take for a call, in milliseconds. A slower call makes its
/// tenant suspect. If this happens again through its requests, other threads serve it for a while.
pub const QUICK_MS: u64 = 10;
/// The same for a call in which the thread has waited, but for no disk: perhaps for another thread
/// that did not run.
pub const QUICK_WAIT_MS: u64 = 50;
/// Length of that while, as a multiple of the call's duration.
pub const QUICK_PAUSES: u32 = 100;
/// Timeout for the client of a WebSocket to hang up after the server's close frame, in
/// milliseconds.
pub const WEBSOCKET_DRAIN_MS: u64 = 1000;
/// Time between two pings of an idle WebSocket, in milliseconds; one that answers none until the
/// next is over.
pub const WEBSOCKET_PING_MS: u64 = 30_000;
