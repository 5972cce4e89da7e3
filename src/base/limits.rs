//! Limits that operators set or that several files share, with their units in their names. Any other
//! limit is in the file that uses it.

/// Longest line accepted on stdin, in bytes. A 10 MB `write_file` can be more than 20 MB of escaped
/// JSON.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;
/// Requests that may run at the same time; more wait in a queue.
pub const MAX_RUNNING_REQUESTS: usize = 64;
/// Requests that may wait at the same time for something that costs no work; each has a thread.
pub const MAX_WAITING_REQUESTS: usize = 1024;
/// Default open files of each process of a command. Some programs close every descriptor that they
/// might have.
pub const COMMAND_OPEN_FILES: u64 = 16_384;
/// Reserved share of the user's open files, as a divisor: one in so many is out of a command's
/// reach. The kernel refuses to send a descriptor while more of the user's are in flight in sockets
/// than the sender may have open (`too_many_unix_fds`, net/core/scm.c). A command with the server's
/// limit could thus prevent every start of a command.
pub const OPEN_FILES_KEPT_SHARE: u64 = 4;
/// Least that `--memory-mib` may say, in MiB.
pub const MIN_MEMORY_MIB: u64 = 16;
/// Largest share of `--memory-mib` for the search memory, as a divisor.
pub const SEARCH_MEMORY_SHARE: u64 = 4;
/// Timeout of a call that waits for memory, in milliseconds; then it is refused.
pub const MEMORY_WAIT_MS: u64 = 10_000;
/// Time between two looks at the cancel token of a call that waits for memory, in milliseconds.
pub const MEMORY_LOOK_MS: u64 = 50;
/// Steps by which memory is taken for what grows, in bytes; the first is not counted.
pub const MEMORY_STEP_BYTES: usize = 64 * 1024;
/// Time that a cheap call may block stdin before another thread takes over reading, in
/// milliseconds.
pub const TAKEOVER_MS: u64 = 5;
/// Timeout of a call that hangs in the kernel, in seconds.
pub const STALL_TIMEOUT_SECS: u64 = 60;
/// Threads that hang are made up for up to this number.
pub const MAX_STUCK_REQUESTS: usize = 1024;

/// Largest file that `read_file` returns whole, in bytes.
pub const MAX_READ_BYTES: u64 = 10 * 1024 * 1024;
/// Files, messages and replies up to this length are read and written by a thread that others wait
/// for, in bytes.
pub const QUICK_BYTES: usize = 64 * 1024;
/// Time limit of `read_file` for finding the lines of a page, in milliseconds: a sparse file can be
/// almost endless.
pub const MAX_PAGE_MS: u64 = 30_000;
/// Largest file an edit will load, in bytes.
pub const MAX_EDIT_BYTES: u64 = 1024 * 1024 * 1024;
/// Most entries in one `directory_tree` reply.
pub const MAX_TREE_ENTRIES: usize = 100_000;
/// Deepest directory nesting that a walk follows.
pub const MAX_WALK_DEPTH: usize = 4096;
/// Directories inside each other in which hidden files are looked for; each holds a descriptor.
pub const MAX_HIDDEN_DEPTH: usize = 256;
/// Symbolic links followed while resolving one path, as the kernel's own limit
/// (`path_resolution(7)`).
pub const MAX_LINKS: usize = 40;
/// Directories opened while resolving one path: links can make a path of 4 KB mean a very long way.
pub const MAX_RESOLVE_STEPS: usize = 16_384;
/// Retries of path resolution if a rename got in between.
pub const RESOLVE_RETRIES: usize = 8;
/// Buffer for reading directory entries, in bytes.
pub const LIST_BUFFER_BYTES: usize = 32 * 1024;
/// Directories that one walk keeps open for what is still to be entered below them.
pub const MAX_WALK_OPEN_DIRS: usize = 64;
/// Largest `.gitignore` that is obeyed, in bytes.
pub const MAX_GITIGNORE_BYTES: u64 = 128 * 1024;
/// Most rules of a `.gitignore` that is obeyed.
pub const MAX_GITIGNORE_RULES: usize = 8192;
/// Largest memory for each byte of a compiled rule or glob, in bytes (measured: 900, for many `*`
/// or `?`).
pub const GLOB_BYTES_PER_BYTE: usize = 1024;
/// Tries of a change of a file that other programs change meanwhile.
pub const CHANGE_ATTEMPTS: usize = 8;
/// Longest tool, argument or method name that is compared with the known names, in bytes. A message
/// shows at most this much of a longer one.
pub const MAX_SHOWN_NAME_BYTES: usize = 100;
/// Longest path accepted, in bytes (`PATH_MAX` counts the final NUL).
pub const MAX_PATH_BYTES: usize = 4095;

/// Largest `maxResults` of grep.
pub const MAX_GREP_RESULTS: u64 = 10_000;
/// A file with a NUL within this many first bytes is binary to grep.
pub const BINARY_SNIFF_BYTES: usize = 4096;
/// Memory for matching text until it is a reply, as a multiple of its length: as matches, as text
/// and as structure.
pub const FOUND_COPIES: usize = 4;
/// Directories that could not be read that a reply names; the others are counted.
pub const MAX_NAMED_UNREADABLE: usize = 5;
/// Files searched or entries seen between two reports of progress.
pub const SEARCH_PROGRESS_STEP: u64 = 1024;
/// Default of `--search-memory-mib`: what may be remembered of files between searches, in MiB.
pub const DEFAULT_SEARCH_MEMORY_MIB: u64 = 256;
/// Patterns whose answers are remembered: one bit each in every record.
pub const REMEMBERED_PATTERNS: usize = 64;
/// Patterns forgotten at once when there are more: each time all records are gone through.
pub const FORGOTTEN_PATTERNS: usize = 16;
/// Most memory that a compiled pattern may take, in bytes.
pub const MAX_PATTERN_PROGRAM_BYTES: usize = 10 * 1024 * 1024;
/// Least age of a file's last change for a record, in seconds. By default the kernel writes changed
/// pages back after 35 (`dirty_expire_centisecs` and `dirty_writeback_centisecs`,
/// `proc_sys_vm(5)`).
pub const SETTLED_SECS: i64 = 60;
/// Rewrites of the cache file after which unused records are dropped.
pub const MAX_SEARCH_CACHE_AGE: u32 = 32;
/// Largest clock drift since a file of the search cache was begun, in nanoseconds. It is much less
/// than [`SETTLED_SECS`], and more than the error of reading two clocks.
pub const SEARCH_CACHE_DRIFT_NANOS: u64 = 10_000_000;

/// Most line numbers listed in one message.
pub const MAX_LISTED_LINES: usize = 5;
/// Most places that one edit replaces: each is remembered, and a file of one letter has as many
/// places as bytes.
pub const MAX_EDIT_PLACES: usize = 16 * 1024 * 1024;
/// Memory for a file that is read whole until its client has the reply, as a multiple of its
/// length: its bytes, and the output made of them.
pub const READ_COPIES: usize = 3;
/// Memory for decoding and comparing a text that is not UTF-8, besides its bytes, as a multiple of
/// its length.
pub const DECODING_COPIES: usize = 5;
/// Memory for each replacement of an edit besides its new text, in bytes: growing vectors hold
/// twice as much.
pub const EDIT_BYTES_PER_PLACE: usize = 48;
/// Places after which an edit looks whether there is memory for them.
pub const EDIT_PLACES_STEP: usize = 1024;
/// Time limit for the edits of one file, in milliseconds.
pub const MAX_EDIT_MS: u64 = 10_000;
/// Lines that a search without indent may compare for each place where its longest line occurs, on
/// average.
pub const COMPARED_LINES_PER_CANDIDATE: usize = 16;

/// Default time limit of a command, in seconds.
pub const DEFAULT_COMMAND_TIMEOUT_SECS: u64 = 30;
/// Largest time limit that a call may ask for, in seconds.
pub const MAX_COMMAND_TIMEOUT_SECS: u64 = 600;
/// Time between SIGTERM and SIGKILL, in milliseconds.
pub const KILL_GRACE_MS: u64 = 3000;
/// Captured output of a command, in bytes for each of its two streams.
pub const OUTPUT_CAP_BYTES: usize = 512 * 1024;
/// Bytes of a reply that count as one token.
pub const BYTES_PER_TOKEN: usize = 3;
/// Most tokens of a reply to a call that does not say how many it wants: clients refuse what is
/// longer, or put it into a file.
pub const REPLY_TOKENS: u64 = 100_000;
/// The same for a lean reply.
pub const LEAN_REPLY_TOKENS: u64 = 8000;
/// Timeout for a command to end after SIGKILL, in milliseconds.
pub const KILL_WAIT_MS: u64 = 5000;
/// Timeout for the launcher to build the sandbox, in milliseconds.
pub const LAUNCHER_START_MS: u64 = 10_000;
/// Commands that run at the same time; more wait for a place.
pub const MAX_COMMANDS: usize = 16;
/// Background commands that run at the same time.
pub const MAX_BACKGROUND_COMMANDS: usize = 16;
/// Programs that stay, for each session that may have one: one that is started anew may still be
/// about to leave its place.
pub const RESIDENTS_FOR_A_SESSION: usize = 2;
/// Processes of a program that stays that are counted for its status; more are not looked for.
pub const MAX_COUNTED_PROCESSES: usize = 1000;
/// Time limit for counting the processes of a program that stays, in milliseconds; no other request
/// is served meanwhile.
pub const COUNTING_MS: u64 = 20;
/// Background commands that have ended and can still be read.
pub const KEPT_BACKGROUND_COMMANDS: usize = 16;
/// Output kept of each background command, in bytes.
pub const BACKGROUND_OUTPUT_BYTES: u64 = 16 * 1024 * 1024;
/// Rows of a command's terminal.
pub const TERMINAL_ROWS: u16 = 24;
/// Time between two progress reports of a running command, in milliseconds.
pub const COMMAND_PROGRESS_MS: u64 = 500;
/// Most that is read from a pipe of a command at once, in bytes (a pipe holds that much, pipe(7)).
pub const PIPE_READ_BYTES: usize = 64 * 1024;
/// Longest command line, in bytes (`MAX_ARG_STRLEN` of execve(2), less its final NUL and what makes
/// a variable of it).
pub const MAX_COMMAND_BYTES: usize = 128 * 1024 - 1 - "REPLAY_COMMAND=".len();
/// Processes and threads that the commands of one server may have together.
pub const MAX_COMMAND_PROCESSES: u64 = 4096;
/// Added to the likelihood that a command is ended when the system is out of memory
/// (`oom_score_adj`, 0 to 1000).
pub const COMMAND_OOM_SCORE_ADJ: u16 = 500;
/// Longest frame between the server and the launcher, in bytes. It holds a command line as JSON,
/// every byte of it escaped, and paths of repositories ([`MAX_REPOSITORIES`]). A longer frame could
/// not be sent, and no command could run.
pub const MAX_FRAME_BYTES: usize = 8 * 1024 * 1024;
/// Longest order for a supervisor, in bytes: a frame of the server, and the paths in it once more,
/// as they are held.
pub const MAX_ORDER_BYTES: usize = 3 * MAX_FRAME_BYTES;
/// Time that a supervisor waits for processes that it has killed, in milliseconds.
pub const LAST_PROCESSES_MS: u64 = 2000;
/// Window in which entries moved away from protected paths are counted, in milliseconds.
pub const SET_ASIDE_WINDOW_MS: u64 = 10_000;
/// Repositories, and files called `.git`, that are protected.
pub const MAX_REPOSITORIES: usize = 1000;
/// Time between two looks at the memory of a command, in milliseconds.
pub const MEMORY_WATCH_MS: u64 = 100;
/// Directories that are open while a private directory is removed: one for each level, up to this
/// depth.
pub const MAX_REMOVED_LEVELS: usize = 64;
/// Time limit at start for removing private directories of killed servers, in milliseconds.
pub const SWEEP_MS: u64 = 1000;
/// Default size of package manager caches that remains when a server ends, in MiB.
pub const DEFAULT_CACHE_MIB: u64 = 8192;
/// Most refusals that the result of one command tells of.
pub const MAX_DENIED: usize = 16;
/// Longest value of an extended attribute, in bytes (`XATTR_SIZE_MAX` of `linux/limits.h`).
pub const MAX_XATTR_VALUE_BYTES: usize = 65_536;
/// Longest part of a path that a refusal shows, in bytes. As JSON with everything escaped,
/// [`MAX_DENIED`] refusals fit into one packet.
pub const MAX_DENIED_PATH_BYTES: usize = 512;

/// Time for which a mock holds a call that never returns, in milliseconds; then it is answered with
/// an error.
pub const MAX_MOCK_HANG_MS: u64 = 600_000;
/// Grace period for a mock's slow answers after the client has closed its side, in milliseconds.
pub const MOCK_END_GRACE_MS: u64 = 5000;
/// Largest manifest or cassette, in bytes.
pub const MAX_MANIFEST_BYTES: u64 = 32 * 1024 * 1024;
/// Most schemas within each other while one value is checked, references included.
pub const MAX_SCHEMA_DEPTH: usize = 128;
/// Most messages between a request and its answer that a cassette holds; those that follow are left
/// out.
pub const MAX_RECORDED_MESSAGES: usize = 10_000;

/// Paths that are named of one call; further ones are counted.
pub const MAX_TOUCHED_PATHS: usize = 64;
/// Longest string among the arguments of a call that is kept as it is, in bytes; of a longer one
/// its hash and length are.
pub const MAX_KEPT_ARGUMENT_BYTES: usize = 1024;
/// Longest name of a tool that is kept, in bytes: names that clients make up must not fill a log.
pub const MAX_KEPT_NAME_BYTES: usize = 128;
/// Largest size of a call's failure message that is kept, in bytes.
pub const MAX_AUDIT_REASON_BYTES: usize = 256;
/// Longest line of an audit log, in bytes: [`MAX_TOUCHED_PATHS`] of the longest paths, each with
/// where it leads, and the arguments.
pub const MAX_AUDIT_LINE_BYTES: usize = 1024 * 1024;
/// Calls without an end that are kept in mind while a log is read; no server has so many at once.
pub const MAX_AUDIT_UNENDED: usize = 65_536;
/// Most lines that `replay audit show --last` takes.
pub const MAX_AUDIT_LAST: u64 = 10_000;

/// Sockets of an intercepted command of which is remembered where they were going; of more, the
/// first are forgotten.
pub const MAX_INTERCEPTED_SOCKETS: usize = 65_536;
/// Buffer of the supervisor for one message of a command, in bytes: more than the largest datagram.
pub const MAX_INTERCEPTED_BYTES: usize = 256 * 1024;
/// Places that one command may send datagrams to by rule.
pub const MAX_DATAGRAM_PLACES: usize = 256;
/// Largest bundle of certificates that is put into the view of a command, in bytes.
pub const CERTIFICATES_BYTES: u64 = 8 * 1024 * 1024;
/// Changes of commands in one directory of `--downloads`, where they cannot be on a disk, in bytes.
pub const LAYER_IN_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;
/// Largest file of recorded calls that is read or written, in bytes.
pub const MAX_CALLS_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Smallest body of a recorded call that is kept in a file of its own, in bytes.
pub const MIN_BODY_APART_BYTES: usize = 1024 * 1024;
/// Most bytes of all bodies of one set that have files of their own: they are read before the
/// program starts.
pub const MAX_CALLS_BODIES_BYTES: u64 = 1024 * 1024 * 1024;
/// Unanswered calls of one run that are told in detail; more are only counted.
pub const MAX_MISSES_TOLD: usize = 1000;
/// Differences that are told of one unanswered call.
pub const MAX_DIFFERENCES: usize = 20;
/// Longest value in a shown difference, in characters.
pub const MAX_DIFFERENCE_CHARS: usize = 80;
/// Most that is kept of one connection while its calls are recorded or played, in bytes.
pub const MAX_WIRE_CONNECTION_BYTES: usize = 128 * 1024 * 1024;
/// Most prepared statements or portals of one connection.
pub const MAX_WIRE_STATEMENTS: usize = 65_536;
/// Longest first message of a `PostgreSQL` connection, in bytes (`MAX_STARTUP_PACKET_LENGTH` of its
/// `libpq/pqcomm.h`).
pub const MAX_POSTGRES_STARTUP_BYTES: usize = 10_000;
/// Most of a question that is told in an error about it, in characters.
pub const MAX_SHOWN_QUESTION_CHARS: usize = 200;
/// Longest body, or turn of an unknown protocol, that a recording keeps, in bytes; a call with a
/// longer one only passes.
pub const MAX_RECORDED_BODY_BYTES: usize = 128 * 1024 * 1024;
/// Largest size of one recording, in bytes. Calls beyond it pass but are not recorded.
pub const MAX_RECORDING_BYTES: usize = 512 * 1024 * 1024;
/// Connections of recorded commands that are served at the same time; more wait in the sockets'
/// queues.
pub const MAX_RECORDED_CONNECTIONS: usize = 4096;
/// Share of the process's open files for connections of commands, as a divisor. The rest is for
/// files, commands and clients.
pub const CONNECTION_FILES_SHARE: u64 = 4;
/// Descriptors of one connection of a command: its own, and the one to its server.
pub const CONNECTION_DESCRIPTORS: usize = 2;
/// Memory for one recorded connection besides its calls, in bytes: the data in flight, each way.
pub const RECORDED_CONNECTION_BYTES: usize = 2 * RELAY_BUFFER_KEPT_BYTES;
/// Longest head of an HTTP/1 message that is understood, in bytes.
pub const MAX_HTTP_HEAD_BYTES: usize = 1024 * 1024;
/// Longest head of an HTTP message on a connection of a command that is opened, and most that is
/// read ahead of it, in bytes.
pub const MAX_OPENED_HEAD_BYTES: usize = 64 * 1024;
/// Most fields in the head of an HTTP message.
pub const MAX_HTTP_FIELDS: usize = 1024;
/// Streams that may be open on one HTTP/2 connection (RFC 9113, 6.5.2: not less than 100).
pub const MAX_HTTP2_STREAMS: u32 = 100;
/// Window of one HTTP/2 stream, in bytes; a connection has four times as much.
pub const HTTP2_WINDOW_BYTES: u32 = 512 * 1024;
/// Largest size of data in flight on one HTTP/2 connection, both directions together, in bytes.
pub const HTTP2_CONNECTION_BYTES: usize = 8 * HTTP2_WINDOW_BYTES as usize;
/// Initial read buffer of a recorded connection, in bytes.
pub const RELAY_BUFFER_BYTES: usize = 16 * 1024;
/// Read buffer of a recorded connection once more than [`RELAY_BUFFER_BYTES`] came at a time, in
/// bytes.
pub const RELAY_BUFFER_KEPT_BYTES: usize = 128 * 1024;
/// Timeout for connecting to the real server of a recorded connection, in milliseconds.
pub const UPSTREAM_CONNECT_MS: u64 = 10_000;
/// Silence after which a protocol counts as server-first, in milliseconds. Also the timeout for the
/// remaining bytes that identify a protocol.
pub const SERVER_FIRST_MS: u64 = 300;
/// Timeout for the rest of a message that may be the beginning of a longer recorded one, in
/// milliseconds.
pub const TURN_QUIET_MS: u64 = 300;
/// Interval in which a call may have been sent without waiting for the answer to an earlier one, in
/// milliseconds. Applies to a call recorded so long after the earlier one and before its answer;
/// concurrent calls come sooner.
pub const OVERTAKEN_MS: u64 = 100;
/// Timeout for connections to end when a recording is over, in milliseconds.
pub const PROXY_END_MS: u64 = 2000;
/// Names that get an address of their own; 198.18.0.0/15 has 131,072.
pub const MAX_FAKE_NAMES: usize = 65_536;
/// TTL of an address that stands for a name ([`MAX_FAKE_NAMES`]), in seconds.
pub const FAKE_ADDRESS_SECS: u32 = 60;
/// Most things that a recording tells beside its calls, such as targets that it could not look
/// into.
pub const MAX_RECORDING_NOTES: usize = 256;
/// Threads that resolve names for recorded connections.
pub const MAX_RESOLVE_THREADS: usize = 64;
/// Default timeout of a program whose calls are watched, in seconds.
pub const DEFAULT_CALLS_TIMEOUT_SECS: u64 = 300;
/// Longest timeout of a program whose calls are watched, in seconds.
pub const MAX_CALLS_TIMEOUT_SECS: u64 = 86_400;

/// Longest side of a picture that clients are sent, in pixels: models scale down what is larger.
pub const MAX_PICTURE_SIDE: u32 = 1568;
/// Longest picture that clients are sent, in bytes: 5 MiB as base64, beyond which models refuse it.
pub const MAX_PICTURE_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;

/// Longest text of a document, in bytes.
pub const MAX_DOCUMENT_TEXT_BYTES: usize = 10 * 1024 * 1024;
/// Longest reason for which there is no answer, in bytes.
pub const MAX_FAULT_BYTES: usize = 400;

/// Connections over HTTP at the same time, unless the operator says otherwise; more wait to be
/// accepted.
pub const MAX_HTTP_CONNECTIONS: u64 = 2048;
/// `WebSocket`s of one token at the same time.
pub const MAX_HTTP_WEBSOCKETS: usize = 256;
/// Sessions of one tenant, unless the operator says otherwise.
pub const MAX_HTTP_SESSIONS: u64 = 1024;
/// Default idle timeout of a session, in seconds.
pub const HTTP_SESSION_IDLE_SECS: u64 = 3600;
/// Messages of one tenant in a minute, unless the operator says otherwise.
pub const HTTP_RATE_PER_MINUTE: u64 = 100;
/// Messages that a tenant who was silent may send at once, unless the operator says otherwise.
pub const HTTP_RATE_BURST: u64 = 100;
/// Requests of one tenant in a minute that are no messages, such as those for `/metrics` and
/// `/activity`, if there is a limit for messages.
pub const HTTP_STATUS_PER_MINUTE: u64 = 600;
/// Calls of one tenant that run at the same time, unless the operator says otherwise.
pub const MAX_HTTP_CALLS: u64 = 32;
/// Tokens in one file.
pub const MAX_HTTP_TENANTS: usize = 64;
/// Default client timeout, in seconds. It limits the head of a request and the idle time of an
/// HTTP/1 connection. It also limits pauses in a request's body, and pauses of a client that
/// reads a reply.
pub const HTTP_CLIENT_TIMEOUT_SECS: u64 = 30;
/// Timeout for reading what a client still sends after an early answer, in milliseconds (the
/// default of nginx, `lingering_time`).
pub const HTTP_LINGER_MS: u64 = 30_000;
/// Longest pause of a client that still sends after an early answer, in milliseconds.
pub const HTTP_LINGER_SILENCE_MS: u64 = 2000;
/// Timeout for the whole body of a request, in milliseconds.
pub const HTTP_BODY_MS: u64 = 120_000;
/// Time between two looks at a connection that should end by itself, in milliseconds.
pub const HTTP_LOOK_MS: u64 = 5000;
/// Requests and replies up to this length have memory that large ones cannot take, in bytes.
pub const SMALL_MESSAGE_BYTES: usize = 64 * 1024;
/// Timeout for running calls when the server is asked to end, in milliseconds.
pub const HTTP_END_MS: u64 = 30_000;

/// Directories below each other that are looked through; deeper ones are left alone, since each
/// costs a descriptor.
pub const JOURNAL_DEPTH: usize = 256;
/// Links at the end of a path that are followed one after another (`path_resolution(7)`).
pub const MAX_LINKS_FOLLOWED: usize = 40;
/// Length of a command's text in the title of its entry, in bytes.
pub const JOURNAL_TITLE_BYTES: usize = 200;
/// Largest file of programs outside that is compared, in bytes. A larger one counts as changed
/// whenever it was touched.
pub const MAX_AUTORUN_BYTES: u64 = 1024 * 1024;

/// The interpreter of a Python session that names none.
pub const DEFAULT_PYTHON: &str = "python3";
/// Python sessions with a running interpreter at the same time.
pub const MAX_PYTHON_SESSIONS: usize = 16;
/// Idle timeout of a Python session, in seconds.
pub const PYTHON_IDLE_TIMEOUT_SECS: u64 = 3600;
/// Longest name of a Python session, in characters.
pub const MAX_SESSION_NAME_CHARS: usize = 64;
/// Largest time limit of a cell unless the operator says otherwise, in seconds.
pub const MAX_CELL_SECS: u64 = 300;
/// Timeout for a status report of an interpreter's supervisor, in milliseconds.
pub const PYTHON_STATUS_MS: u64 = 5000;
/// Timeout for a ping of an interpreter, in milliseconds.
pub const PYTHON_PING_MS: u64 = 1000;
/// Longest cell, in bytes.
pub const MAX_PYTHON_CODE_BYTES: usize = 16 * 1024 * 1024;
/// Longest text that is completed or inspected, in bytes.
pub const MAX_PYTHON_ASKED_BYTES: usize = 1024 * 1024;

/// Calls of one tenant that are remembered after they have ended.
pub const MAX_RECENT_CALLS: usize = 500;
/// Largest size of the remembered calls of one tenant together, in bytes; the oldest are dropped
/// first.
pub const MAX_RECENT_BYTES: usize = 8 * 1024 * 1024;
/// Largest size of a call's arguments that is remembered, as JSON, in bytes.
pub const RECENT_ARGUMENTS_BYTES: usize = 16 * 1024;
/// Longest part of a reply's text that is remembered, in bytes: three quarters from its beginning,
/// the rest from its end.
pub const RECENT_TEXT_BYTES: usize = 16 * 1024;
/// Length of the one argument that stands for a call in a list, in bytes.
pub const RECENT_SUBJECT_BYTES: usize = 256;
/// Calls in one page of those that have ended, unless fewer are asked for.
pub const MAX_RECENT_PAGE: usize = 500;

/// Spans that wait to be exported; those that come then are dropped and counted.
pub const MAX_WAITING_SPANS: usize = 2048;
/// Spans that are exported together.
pub const SPANS_PER_EXPORT: usize = 512;
/// Longest name or attribute of a span, in bytes; what is longer is cut.
pub const MAX_SPAN_TEXT_BYTES: usize = 256;

/// Most files that one run of tests or one check of types is asked for.
pub const MAX_TEST_FILES: usize = 2000;
/// Default timeout of a test run, in seconds.
pub const DEFAULT_TESTS_TIMEOUT_SECS: u64 = 300;
/// Longest timeout of a run of tests, in seconds.
pub const MAX_TESTS_TIMEOUT_SECS: u64 = 86_400;
/// Longest time for building before the tests, in seconds. It does not count against the timeout.
pub const MAX_TESTS_BUILD_SECS: u64 = 3600;
/// Time that the process of a run may stay silent after its tests have ended, in seconds:
/// tear-downs come then.
pub const TESTS_LINGER_SECS: u64 = 20;
/// Failed tests that are run again by name; of more, their files are run.
pub const MAX_RERUN_TESTS: usize = 200;
/// Time limit for reading the report of a runner or a checker, in seconds.
pub const MAX_TEST_READ_SECS: u64 = 20;
/// Longest line of a report that is read, in bytes; a longer one is left out.
pub const MAX_TEST_LINE_BYTES: usize = 4 * 1024 * 1024;
/// Failed tests that are kept of a run with what they say.
pub const MAX_KEPT_FAILURES: usize = 500;
/// Tests that are kept by name, and tests that may be open at the same time.
pub const MAX_KEPT_TESTS: usize = 20_000;
/// Most errors of files, errors of the run and unfinished tests, each.
pub const MAX_RUN_FAULTS: usize = 50;
/// Options, and files, that are told to be left out of a run by the project's own configuration,
/// each.
pub const MAX_LEFT_OUT: usize = 20;
/// Longest name or id of a test, and longest path in a report, in bytes.
pub const MAX_TEST_NAME_BYTES: usize = 512;
/// Longest message, value or difference of a failed test, in bytes.
pub const MAX_TEST_TEXT_BYTES: usize = 2048;
/// Length of the end of a failed test's output that is kept, in bytes for each stream.
pub const MAX_TEST_OUTPUT_BYTES: usize = 2048;
/// Most errors of one test.
pub const MAX_TEST_ERRORS: usize = 5;
/// Most frames of a stack.
pub const MAX_TEST_FRAMES: usize = 6;
/// Suites around a test that are told.
pub const MAX_TEST_SUITES: usize = 32;
/// Places and advice that belong to one diagnostic.
pub const MAX_RELATED: usize = 8;
/// Longest error of a test in the text of a reply, in lines.
pub const MAX_TOLD_LINES: usize = 20;

/// Largest file of which `list_changes` shows a difference, in bytes.
pub const MAX_SHOWN_FILE_BYTES: u64 = 1024 * 1024;
/// Changed files that a reply names one by one.
pub const MAX_NAMED_CHANGES: usize = 100;
/// Contents that a supervisor tells of a dry run, in bytes.
pub const MAX_DRY_RUN_CONTENT_BYTES: u64 = 4 * MAX_SHOWN_FILE_BYTES;
