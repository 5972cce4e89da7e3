//! Of the server over HTTP.

/// Connections over HTTP at the same time, unless the operator says otherwise; more wait to be
/// accepted.
pub const MAX_HTTP_CONNECTIONS: u64 = 2048;
/// Share of the connections that one token may have unless its line says otherwise, in hundredths;
/// the rest is for others, and for those who have shown no token yet.
pub const HTTP_CONNECTIONS_SHARE_PERCENT: usize = 75;
/// `WebSocket`s of one token at the same time.
pub const MAX_HTTP_WEBSOCKETS: usize = 256;
/// How long a connection may take to its first request, in milliseconds.
pub const HTTP_FIRST_REQUEST_MS: u64 = 10_000;
/// How long a connection without a token that has begun to speak keeps its place from others of the
/// same address, in milliseconds: a TLS handshake and a first request over a slow way fit in.
pub const HTTP_STRANGER_GRACE_MS: u64 = 1000;
/// Connections that may wait to be accepted (listen(2); the system allows no more than
/// `net.core.somaxconn`).
pub const HTTP_BACKLOG: i32 = 4096;
/// Open files that connections leave to calls, or half of those that the system allows if that is
/// less.
pub const RESERVED_OPEN_FILES: u64 = 1024;
/// Sessions of one tenant, unless the operator says otherwise.
pub const MAX_HTTP_SESSIONS: u64 = 1024;
/// A session that nobody uses for so many seconds ends, unless the operator says otherwise.
pub const HTTP_SESSION_IDLE_SECS: u64 = 3600;
/// So many milliseconds what belonged to a token that was taken away has to end, before the next
/// one of its name is served.
pub const TOKEN_END_MS: u64 = 15_000;
/// How often is looked whether it has, in milliseconds.
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
/// How long a file with secrets that is a pipe without a name (`<(...)`) may take to its end, in
/// milliseconds: somebody may have to type what opens it.
pub const SECRET_PIPE_MS: u64 = 120_000;
/// Largest head of a request, in bytes.
pub const MAX_HTTP_HEADER_BYTES: usize = 64 * 1024;
/// How long the head of a request may take, how long an HTTP/1 connection may be idle, how long
/// nothing of a body may come, and how long a client may take nothing of what is sent to it, in
/// seconds, unless the operator says otherwise.
pub const HTTP_CLIENT_TIMEOUT_SECS: u64 = 30;
/// How long a TLS handshake of a client may take, in milliseconds.
pub const HTTP_TLS_MS: u64 = 10_000;
/// Bodies up to this length are read even if their request is refused, in bytes.
pub const HTTP_UNREAD_BYTES: usize = 64 * 1024;
/// How long such a body is waited for, in milliseconds.
pub const HTTP_UNREAD_MS: u64 = 500;
/// What is read and thrown away, in bytes, of a request that was answered before it was whole, if
/// nobody is known to be behind it: a client that still sends when the connection is closed may
/// lose the answer (RFC 9112, 9.6).
pub const HTTP_LINGER_BYTES: u64 = 1024 * 1024;
/// The same of one that has shown a token, in bytes: twice what a message may be long unless the
/// operator says otherwise.
pub const HTTP_TENANT_LINGER_BYTES: u64 = 128 * 1024 * 1024;
/// How long that may take, in milliseconds (as long as nginx takes by default, `lingering_time`).
pub const HTTP_LINGER_MS: u64 = 30_000;
/// How long nothing of it may come, in milliseconds.
pub const HTTP_LINGER_SILENCE_MS: u64 = 2000;
/// How long the whole body of a request may take, in milliseconds.
pub const HTTP_BODY_MS: u64 = 120_000;
/// How long an HTTP/2 connection may have no request, in milliseconds.
pub const HTTP2_IDLE_MS: u64 = 120_000;
/// Time between two looks at a connection that should end by itself, in milliseconds.
pub const HTTP_LOOK_MS: u64 = 5000;
/// How long what runs for a client of HTTP/1 may go on after that has said that it sends nothing
/// more, in milliseconds.
pub const HTTP_GONE_MS: u64 = 1000;
/// Requests at the same time on one HTTP/2 connection.
pub const MAX_HTTP2_REQUESTS: u32 = 128;
/// How long a reply waits for room among those that clients have not read yet, in milliseconds,
/// before its call fails.
pub const HTTP_ROOM_MS: u64 = 1000;
/// How often is looked whether there is, in milliseconds.
pub const HTTP_ROOM_LOOK_MS: u64 = 10;
/// Requests and replies up to this length have memory that large ones cannot take, in bytes.
pub const SMALL_MESSAGE_BYTES: usize = 64 * 1024;
/// What is handed to a connection at once of a reply, in bytes.
pub const HTTP_CHUNK_BYTES: usize = 64 * 1024;
/// What may wait in a stream of events that its client does not read, in bytes; what comes then is
/// left out, but for replies.
pub const MAX_EVENTS_WAITING_BYTES: usize = 1024 * 1024;
/// Silence in a stream of events after which a comment is sent, in milliseconds, so that nothing on
/// the way hangs up.
pub const EVENTS_ALIVE_MS: u64 = 15_000;
/// A reply that takes longer than this is sent as a stream of events to a client that takes one, in
/// milliseconds.
pub const EVENTS_BEGIN_MS: u64 = 10_000;
/// How long what runs may take when the server is asked to end, in milliseconds.
pub const HTTP_END_MS: u64 = 30_000;
/// Least threads that carry bytes between connections and calls, and serve what is quick.
pub const MIN_HTTP_THREADS: usize = 2;
/// Most of them; in between there is one for each processor.
pub const MAX_HTTP_THREADS: usize = 8;
/// How long one of these threads may take for a call, in milliseconds, before its tenant is
/// suspect, and served by others for a while if that happens again through what it asks for.
pub const QUICK_MS: u64 = 10;
/// The same for a call in which the thread has waited, but for no disk: perhaps for another thread
/// that did not run.
pub const QUICK_WAIT_MS: u64 = 50;
/// How many times as long as such a call has taken.
pub const QUICK_PAUSES: u32 = 100;
/// How long the client of a WebSocket may take to hang up after the server has said the end, in
/// milliseconds.
pub const WEBSOCKET_DRAIN_MS: u64 = 1000;
/// Time between two pings of an idle WebSocket, in milliseconds; one that answers none until the
/// next is over.
pub const WEBSOCKET_PING_MS: u64 = 30_000;
