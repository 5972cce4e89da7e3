//! Every number the server holds itself to, each with its unit in its name.
//!
//! Bottom layer: everything may read it, it reads nothing.

mod audit;
mod calls;
mod documents;
mod http;
mod journal;
mod python;
mod recent;
mod telemetry;
mod testrun;
mod undo;

pub use self::{
    audit::*, calls::*, documents::*, http::*, journal::*, python::*, recent::*, telemetry::*,
    testrun::*, undo::*,
};

/// Longest line accepted on stdin, in bytes. A 10 MB `write_file` can be more than 20 MB of escaped
/// JSON.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;
/// Requests that may run at the same time; more wait in a queue.
pub const MAX_RUNNING_REQUESTS: usize = 64;
/// Requests that may wait at the same time for something that costs no work; each has a thread.
pub const MAX_WAITING_REQUESTS: usize = 1024;
/// Requests that may wait for a free place before stdin is no longer read.
pub const MAX_QUEUED_REQUESTS: usize = 4096;
/// Default open files of each process of a command. Some programs close every descriptor that they
/// might have.
pub const COMMAND_OPEN_FILES: u64 = 16_384;
/// Reserved share of the user's open files, as a divisor: one in so many is out of a command's
/// reach. The kernel refuses to send a descriptor while more of the user's are in flight in sockets
/// than the sender may have open (`too_many_unix_fds`, net/core/scm.c). A command with the server's
/// limit could thus prevent every start of a command.
pub const OPEN_FILES_KEPT_SHARE: u64 = 4;
/// Share of the user's inotify limits (`/proc/sys/user/max_inotify_*`) for the commands of one
/// server, as a divisor.
pub const WATCHES_SHARE: u64 = 3;
/// Terminals that one command has at a time; the system has 3,072 for all that are no system of
/// their own.
pub const MAX_TERMINALS: u32 = 64;
/// Default share of the memory of the machine or of its cgroup for calls, as a divisor.
pub const MEMORY_SHARE: u64 = 4;
/// Least that `--memory-mib` may say, in MiB.
pub const MIN_MEMORY_MIB: u64 = 16;
/// Largest share of `--memory-mib` for the search memory, as a divisor.
pub const SEARCH_MEMORY_SHARE: u64 = 4;
/// Default memory budget of a server whose operator sets none, such as a mock, in bytes.
pub const DEFAULT_MEMORY_BYTES: usize = 512 * 1024 * 1024;
/// Timeout of a call that waits for memory, in milliseconds; then it is refused.
pub const MEMORY_WAIT_MS: u64 = 10_000;
/// Time between two looks at the cancel token of a call that waits for memory, in milliseconds.
pub const MEMORY_LOOK_MS: u64 = 50;
/// Steps by which memory is taken for what grows, in bytes; the first is not counted.
pub const MEMORY_STEP_BYTES: usize = 64 * 1024;
/// Arguments of a call up to this length are not counted beside their message, in bytes.
pub const SMALL_ARGUMENTS_BYTES: usize = 64 * 1024;
/// Memory for a call's arguments besides their message, as a multiple of their length: as text, as
/// values and as output.
pub const ARGUMENT_COPIES: usize = 3;
/// Largest size of the reply to one batch before its other members are refused, in bytes. It is
/// held until it is complete.
pub const MAX_BATCH_REPLY_BYTES: usize = 64 * 1024 * 1024;
/// Time that a cheap call may block stdin before another thread takes over reading, in
/// milliseconds.
pub const TAKEOVER_MS: u64 = 5;
/// Timeout of a call that hangs in the kernel, in seconds.
pub const STALL_TIMEOUT_SECS: u64 = 60;
/// Threads that hang are made up for up to this number.
pub const MAX_STUCK_REQUESTS: usize = 1024;

/// Largest file that `read_file` returns whole, in bytes.
pub const MAX_READ_BYTES: u64 = 10 * 1024 * 1024;
/// Largest binary file that is sent as it is, unless it is a picture, in bytes.
pub const MAX_BLOB_BYTES: usize = 64 * 1024;
/// Largest file that is hashed to say what it is, in bytes.
pub const MAX_HASHED_BYTES: u64 = 256 * 1024 * 1024;
/// Files, messages and replies up to this length are read and written by a thread that others wait
/// for, in bytes.
pub const QUICK_BYTES: usize = 64 * 1024;
/// Directories up to this size, as stat(2) has it, are listed by a thread that others wait for, in
/// bytes.
pub const QUICK_LIST_BYTES: u64 = 4096;
/// Time limit of `read_file` for finding the lines of a page, in milliseconds: a sparse file can be
/// almost endless.
pub const MAX_PAGE_MS: u64 = 30_000;
/// Most files in one `read_multiple_files` call.
pub const MAX_READ_FILES: usize = 50;
/// Most that one `read_multiple_files` call reads in all, in bytes.
pub const MAX_READ_TOTAL_BYTES: u64 = 32 * 1024 * 1024;
/// Largest file an edit will load, in bytes.
pub const MAX_EDIT_BYTES: u64 = 1024 * 1024 * 1024;
/// Longest file of a client that `replay setup` reads.
pub const MAX_CLIENT_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Most entries in one `directory_tree` reply.
pub const MAX_TREE_ENTRIES: usize = 100_000;
/// Deepest nesting of structured content, in levels of a tree: each is two in JSON, and many
/// clients read only 128.
pub const MAX_NESTED_LEVELS: usize = 50;
/// Deepest directory nesting that a walk follows.
pub const MAX_WALK_DEPTH: usize = 4096;
/// Directories inside each other in which hidden files are looked for; each holds a descriptor.
pub const MAX_HIDDEN_DEPTH: usize = 256;
/// Retries of an open whose name comes and goes.
pub const OPEN_RETRIES: usize = 16;
/// Opens of one command that wait for somebody else; each has a thread.
pub const MAX_WAITING_OPENS: usize = 256;
/// Stack of such a thread, in bytes.
pub const WAITING_OPEN_STACK_BYTES: usize = 64 * 1024;
/// Hidden files with other names that are known by their numbers.
pub const MAX_HIDDEN_LINKS: usize = 10_000;
/// Hidden files that a git repository has in its history and that are named at the start.
pub const MAX_TRACKED_HIDDEN: usize = 10;
/// Largest index of a git repository that is looked through for them, in bytes.
pub const MAX_INDEX_BYTES: u64 = 64 * 1024 * 1024;
/// Symbolic links followed while resolving one path, as the kernel's own limit
/// (`path_resolution(7)`).
pub const MAX_LINKS: usize = 40;
/// Directories opened while resolving one path: links can make a path of 4 KB mean a very long way.
pub const MAX_RESOLVE_STEPS: usize = 16_384;
/// Retries of reading the mount table at the start of a server, if a rename got in between.
pub const MAX_MOUNT_LOOKS: usize = 16;
/// Retries of path resolution if a rename got in between.
pub const RESOLVE_RETRIES: usize = 8;
/// Buffer for reading directory entries, in bytes.
pub const LIST_BUFFER_BYTES: usize = 32 * 1024;
/// Directories that one walk keeps open for what is still to be entered below them.
pub const MAX_WALK_OPEN_DIRS: usize = 64;
/// Most threads of one walk.
pub const MAX_WALK_THREADS: usize = 12;
/// Files of one directory that a thread takes at a time.
pub const WALK_BATCH_FILES: usize = 32;
/// Results of a walk that may wait for those before them until the threads that are ahead wait too,
/// in bytes.
pub const MAX_WALK_WAITING_BYTES: usize = 8 * 1024 * 1024;
/// Largest `.gitignore` that is obeyed, in bytes.
pub const MAX_GITIGNORE_BYTES: u64 = 128 * 1024;
/// Most rules of one that is.
pub const MAX_GITIGNORE_RULES: usize = 8192;
/// Memory for a compiled rule besides that, in bytes.
pub const GITIGNORE_BYTES_PER_RULE: usize = 2048;
/// Largest memory for each byte of a compiled rule or glob, in bytes (measured: 900, for many `*`
/// or `?`).
pub const GLOB_BYTES_PER_BYTE: usize = 1024;
/// Retries of a recursive delete if new entries appear in a directory.
pub const REMOVE_RETRIES: usize = 16;
/// Locks that the files being changed share.
pub const FILE_LOCKS: usize = 256;
/// Timeout of a change that waits for another program's lock on the directory, in milliseconds.
pub const DIR_LOCK_WAIT_MS: u64 = 5000;
/// Timeout of an edit that waits for a program with the file open for writing, in milliseconds.
pub const OPEN_FOR_WRITING_WAIT_MS: u64 = 1000;
/// Looks at what another program holds before the first sleep between two.
pub const QUICK_LOOKS: u32 = 16;
/// Longest sleep between two such looks, in microseconds; the first is 1/64 of it, and each is
/// twice the one before.
pub const MAX_LOOK_PAUSE_US: u64 = 3200;
/// The coarsest time that a filesystem gives a change, in seconds: FAT rounds to two.
pub const COARSEST_CLOCK_SECS: i64 = 2;
/// Tries of a change of a file that other programs change meanwhile.
pub const CHANGE_ATTEMPTS: usize = 8;
/// Rounds of exchanging a name again, to return it to files that other programs put there
/// meanwhile.
pub const GIVE_BACK_ROUNDS: usize = 64;
/// Replaced files that wait to be closed. Beyond it, the replacing thread closes its own.
pub const MAX_CLOSED_ASIDE: usize = 64;
/// A temporary file that nobody holds is left over when it is older than this, in seconds.
pub const STALE_TEMP_SECS: u64 = 60;
/// Directories remembered as swept of left-over temporary files.
pub const MAX_SWEPT_DIRS: usize = 4096;
/// Longest tool, argument or method name that is compared with the known names, in bytes. A message
/// shows at most this much of a longer one.
pub const MAX_SHOWN_NAME_BYTES: usize = 100;
/// Longest path accepted, in bytes (`PATH_MAX` counts the final NUL).
pub const MAX_PATH_BYTES: usize = 4095;

/// Default and largest number of grep matches.
pub const DEFAULT_GREP_RESULTS: u64 = 500;
/// Largest `maxResults` of grep.
pub const MAX_GREP_RESULTS: u64 = 10_000;
/// Largest `contextLines` of grep.
pub const MAX_CONTEXT_LINES: u64 = 50;
/// Default result cap of `glob_search`.
pub const DEFAULT_GLOB_RESULTS: u64 = 1000;
/// A file with a NUL within this many first bytes is binary to grep.
pub const BINARY_SNIFF_BYTES: usize = 4096;
/// Buffer of a search that reads a file in pieces, while its lines are short, in bytes
/// (`DEFAULT_BUFFER_CAPACITY` of `grep_searcher::line_buffer`).
pub const LINE_BUFFER_BYTES: usize = 64 * 1024;
/// Memory for matching text until it is a reply, as a multiple of its length: as matches, as text
/// and as structure.
pub const FOUND_COPIES: usize = 4;
/// Memory for a tree until it is a reply, as a multiple of its text: as text and as structure,
/// while they are made.
pub const TREE_COPIES: usize = 3;
/// Bytes of that text for each entry besides its name.
pub const TREE_NODE_BYTES: usize = 48;
/// Longest line that a search holds in memory, in bytes; a file with a longer one is skipped and
/// counted.
pub const MAX_LINE_BUFFER_BYTES: usize = 64 * 1024 * 1024;
/// Longest line that a search shows whole, in bytes.
pub const MAX_SHOWN_BYTES: usize = 2000;
/// Length of a long line that is shown before its match, in bytes, if the match is not near the
/// beginning.
pub const SHOWN_BEFORE_MATCH_BYTES: usize = 500;
/// Default `maxBytes` of grep: what the text of a reply comes to before matches are only counted,
/// in bytes.
pub const DEFAULT_GREP_BYTES: u64 = 256 * 1024;
/// Largest `maxBytes` of grep.
pub const MAX_GREP_BYTES: u64 = 16 * 1024 * 1024;
/// Largest file that a search reads in one piece, in bytes; a larger one is read bit by bit.
pub const MAX_WHOLE_SEARCH_BYTES: u64 = 1024 * 1024;
/// Largest result of a search for names, in bytes of paths.
pub const MAX_NAMES_BYTES: usize = 64 * 1024 * 1024;
/// Length from which a listing names its largest directories, in bytes of text.
pub const LONG_REPLY_BYTES: usize = 16 * 1024;
/// A directory that holds so much of a listing is most of it, in percent.
pub const MIN_BULK_PERCENT: usize = 50;
/// One inside it is named instead where it holds so much of that one, in percent.
pub const MIN_NESTED_BULK_PERCENT: usize = 90;
/// Entries seen behind the last result of a full `glob_search` to say how many more there are.
pub const GLOB_COUNT_ON_ENTRIES: u64 = 1_000_000;
/// Directories that could not be read that a reply names; the others are counted.
pub const MAX_NAMED_UNREADABLE: usize = 5;
/// Names shown for one that is not known.
pub const MAX_NEAR_NAMES: usize = 8;
/// Files searched or entries seen between two reports of progress.
pub const SEARCH_PROGRESS_STEP: u64 = 1024;
/// Most globs in one list.
pub const MAX_GLOBS: usize = 1024;
/// Largest size of the globs of one list, in bytes.
pub const MAX_GLOBS_BYTES: usize = 64 * 1024;
/// Longest glob accepted, in bytes.
pub const MAX_GLOB_BYTES: usize = 4096;
/// Most alternatives that a glob's braces may stand for.
pub const MAX_GLOB_ALTERNATIVES: usize = 1024;
/// Deepest nesting of braces in a glob.
pub const MAX_GLOB_DEPTH: usize = 16;
/// Default of `--search-memory-mib`: what may be remembered of files between searches, in MiB.
pub const DEFAULT_SEARCH_MEMORY_MIB: u64 = 256;
/// Patterns whose answers are remembered: one bit each in every record.
pub const REMEMBERED_PATTERNS: usize = 64;
/// Patterns forgotten at once when there are more: each time all records are gone through.
pub const FORGOTTEN_PATTERNS: usize = 16;
/// Least age of a file's last change for a record, in seconds. By default the kernel writes changed
/// pages back after 35 (`dirty_expire_centisecs` and `dirty_writeback_centisecs`,
/// `proc_sys_vm(5)`).
pub const SETTLED_SECS: i64 = 60;
/// A file that changed less than this before is remembered only if no page of it waits to be
/// written, in seconds.
pub const LONG_SETTLED_SECS: i64 = 3600;
/// Largest file that is remembered, in bytes: one write call has one time stamp, however long it
/// takes.
pub const MAX_REMEMBERED_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Largest file that gets a signature, in bytes.
pub const MAX_SIGNED_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Smallest signature, in bits; a power of two and at least a word.
pub const MIN_SIGNATURE_BITS: usize = 512;
/// Largest signature, in bits; a power of two.
pub const MAX_SIGNATURE_BITS: usize = 1024 * 1024;
/// Texts that a part of a pattern is known to match, before less is known.
pub const MAX_QUERY_TEXTS: usize = 16;
/// Bytes of such texts together.
pub const MAX_QUERY_TEXT_BYTES: usize = 1024;
/// Trigrams that one signature is asked for.
pub const MAX_QUERY_TRIGRAMS: usize = 256;
/// Trees whose files wait for signatures.
pub const MAX_LEARNED_TREES: usize = 8;
/// Least time between two writes of the search cache, in seconds.
pub const SEARCH_CACHE_PAUSE_SECS: u64 = 120;
/// Most that all such files take, in bytes.
pub const MAX_SEARCH_CACHES_BYTES: u64 = 1024 * 1024 * 1024;
/// One that was begun so long ago, in seconds, is not finished any more.
pub const STALE_SEARCH_CACHE_SECS: i64 = 3600;
/// Rewrites of the cache file after which unused records are dropped.
pub const MAX_SEARCH_CACHE_AGE: u32 = 32;
/// Largest clock drift since such a file was begun, in nanoseconds. It is much less than
/// [`SETTLED_SECS`], and more than the error of reading two clocks.
pub const SEARCH_CACHE_DRIFT_NANOS: u64 = 10_000_000;
/// Idle time without calls before signatures are made, in milliseconds.
pub const LEARNING_PAUSE_MS: u64 = 20;
/// Longest pattern accepted, in bytes.
pub const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// Most groups and lookarounds inside one another in a pattern.
pub const MAX_PATTERN_DEPTH: usize = 250;
/// Longest piece of a pattern shown with its fault, in characters.
pub const MAX_SHOWN_PATTERN_CHARS: usize = 60;
/// Most ranges of one class that is made of halves of UTF-16 pairs. Also the most groups that the
/// references of a pattern may name together. A short pattern can mean a great many.
pub const MAX_PATTERN_PRODUCT: usize = 65_536;
/// Longest translation of a pattern for the linear engine, in bytes.
pub const MAX_TRANSLATION_BYTES: usize = 300_000;
/// Longest text that stands for a reference to a group in a translation, in bytes.
pub const MAX_REFERENCE_BYTES: usize = 4000;
/// References inside the groups of references that a translation follows.
pub const MAX_REFERENCE_DEPTH: usize = 3;
/// Most rounds of a repetition that the linear engine is given exactly.
pub const MAX_EXACT_ROUNDS: u32 = 5000;
/// First part of a text that is looked at as a whole for odd bytes, in bytes; the next ones double.
pub const FIRST_CHUNK_BYTES: usize = 512;
/// Largest such part, in bytes: it should still be in the processor's cache when it is searched.
pub const MAX_CHUNK_BYTES: usize = 64 * 1024;
/// Most memory that a compiled pattern may take, in bytes.
pub const MAX_PATTERN_PROGRAM_BYTES: usize = 10 * 1024 * 1024;
/// Steps that the matching of one call may take beyond those that are free, before its pattern
/// counts as too costly.
pub const MAX_PATTERN_STEPS: u64 = 250_000_000;
/// Steps that are free for each byte of a text, so that much text alone costs nothing.
pub const PATTERN_FREE_STEPS_PER_BYTE: u64 = 16;
/// Steps between two looks at the clock.
pub const PATTERN_CHUNK_STEPS: u32 = 64 * 1024;
/// Most memory for the choices that one search can go back to, in bytes.
pub const MAX_PATTERN_STACK_BYTES: usize = 64 * 1024 * 1024;

/// Most line numbers listed in one message.
pub const MAX_LISTED_LINES: usize = 5;
/// Most lines of a difference shown with a failed edit.
pub const MAX_CLOSEST_DIFF_LINES: usize = 20;
/// Longest line shown with a failed edit, in characters.
pub const MAX_SHOWN_LINE_CHARS: usize = 200;
/// Longest diff that is shown, in bytes; a longer one is cut off and says so.
pub const MAX_DIFF_BYTES: usize = 10 * 1024 * 1024;
/// Most places that one edit replaces: each is remembered, and a file of one letter has as many
/// places as bytes.
pub const MAX_EDIT_PLACES: usize = 16 * 1024 * 1024;
/// Memory for a file that is read whole until its client has the reply, as a multiple of its
/// length: its bytes, and the output made of them.
pub const READ_COPIES: usize = 3;
/// Memory for decoding and comparing a text that is not UTF-8, besides its bytes, as a multiple of
/// its length.
pub const DECODING_COPIES: usize = 5;
/// Memory for each line in a comparison of two texts, in bytes.
pub const DIFF_BYTES_PER_LINE: usize = 128;
/// Memory for each replacement of an edit besides its new text, in bytes: growing vectors hold
/// twice as much.
pub const EDIT_BYTES_PER_PLACE: usize = 48;
/// Places after which an edit looks whether there is memory for them.
pub const EDIT_PLACES_STEP: usize = 1024;
/// Most files in one `edit_files` call.
pub const MAX_EDIT_FILES: usize = 10_000;
/// Threads that write the files of one call.
pub const WRITE_THREADS: usize = 8;
/// Pieces of a new content up to this length in bytes are gathered before they are written.
pub const WRITE_BUFFER_BYTES: usize = 128 * 1024;
/// Most that one `edit_files` call loads in all, in bytes; a single file may be larger.
pub const MAX_EDIT_TOTAL_BYTES: u64 = 1024 * 1024 * 1024;
/// Time limit for the edits of one file, in milliseconds.
pub const MAX_EDIT_MS: u64 = 10_000;
/// Lines that one search without indent may compare, beside [`COMPARED_LINES_PER_CANDIDATE`].
pub const MAX_COMPARED_LINES: usize = 200_000;
/// Lines that it may compare for each place where its longest line occurs, on average.
pub const COMPARED_LINES_PER_CANDIDATE: usize = 16;
/// Time limit for finding the closest block after a failed edit, in milliseconds.
pub const CLOSEST_BLOCK_MS: u64 = 200;

/// Longest message of an ssh-agent that is passed on, in bytes: `AGENT_MAX_LEN` of OpenSSH.
pub const MAX_SSH_AGENT_BYTES: usize = 256 * 1024;
/// Connections of commands to the ssh-agent at the same time.
pub const MAX_SSH_AGENT_CONNECTIONS: usize = 16;
/// Timeout for the next message, in seconds: a person may have to touch a key.
pub const SSH_AGENT_TIMEOUT_SECS: u64 = 120;

/// Default time limit of a command, in seconds.
pub const DEFAULT_COMMAND_TIMEOUT_SECS: u64 = 30;
/// Largest time limit that a call may ask for, in seconds.
pub const MAX_COMMAND_TIMEOUT_SECS: u64 = 600;
/// Time between SIGTERM and SIGKILL, in milliseconds.
pub const KILL_GRACE_MS: u64 = 3000;
/// Last bytes that are kept of an output that is longer than what is kept of it.
pub const MAX_OUTPUT_END_BYTES: usize = OUTPUT_CAP_BYTES / 2;
/// Captured output of a command, in bytes for each of its two streams.
pub const OUTPUT_CAP_BYTES: usize = 512 * 1024;
/// Least that folding an output, or a run of its lines, saves, in bytes: for less, all of it is
/// shown.
pub const MIN_FOLDED_BYTES: usize = 128;
/// Memory for each line while an output is folded, in bytes, besides its text.
pub const FOLDED_LINE_BYTES: usize = 64;
/// Bytes of a reply that count as one token.
pub const BYTES_PER_TOKEN: usize = 3;
/// Most tokens of a reply to a call that does not say how many it wants: clients refuse what is
/// longer, or put it into a file.
pub const REPLY_TOKENS: u64 = 100_000;
/// Directories that a tree names of those that it had no room for.
pub const MAX_CLOSED_SHOWN: usize = 5;
/// Logs that are kept.
pub const MAX_LOGS: usize = 64;
/// Part of a log that is read at once, in bytes.
pub const LOG_PART_BYTES: usize = 256 * 1024;
/// Bytes of logs that are kept in all.
pub const MAX_LOGS_BYTES: usize = 32 * 1024 * 1024;
/// Largest part of a test run's log that is kept, in bytes: its beginning and its end.
pub const MAX_LOG_BYTES: usize = 4 * 1024 * 1024;
/// Time for which an ended command may hold its output pipes open, in milliseconds.
pub const DRAIN_MS: u64 = 100;
/// Most that a pipe holds without privileges, in bytes (`/proc/sys/fs/pipe-max-size`, pipe(7)).
pub const MAX_PIPE_BYTES: usize = 1024 * 1024;
/// Timeout for a command to end after SIGKILL, in milliseconds.
pub const KILL_WAIT_MS: u64 = 5000;
/// Timeout for the start of a background command, in milliseconds.
pub const COMMAND_START_MS: u64 = 10_000;
/// Timeout for the launcher to build the sandbox, in milliseconds.
pub const LAUNCHER_START_MS: u64 = 10_000;
/// Lines that are answered before the walls stand. A client asks for two or three things at its
/// start; nothing is looked at meanwhile but its input.
pub const MAX_GREETINGS: usize = 8;
/// Timeout for the launcher to end its commands and itself, in milliseconds.
pub const LAUNCHER_END_MS: u64 = 5000;
/// Time that the server waits for the launcher to remove the private directory, in milliseconds.
/// After that the server removes it itself.
pub const LAUNCHER_REMOVAL_MS: u64 = 500;
/// Commands that run at the same time; more wait for a place.
pub const MAX_COMMANDS: usize = 16;
/// Background commands that run at the same time.
pub const MAX_BACKGROUND_COMMANDS: usize = 16;
/// Programs that stay, for each session that may have one: one that is started anew may still be
/// about to leave its place.
pub const RESIDENTS_FOR_A_SESSION: usize = 2;
/// Processes that are counted when it is asked how a program that stays is; more are not looked
/// for.
pub const MAX_COUNTED_PROCESSES: usize = 1000;
/// Time limit for counting them, in milliseconds; no other request is served meanwhile.
pub const COUNTING_MS: u64 = 20;
/// Background commands that have ended and can still be read.
pub const KEPT_BACKGROUND_COMMANDS: usize = 16;
/// Output kept of each background command, in bytes.
pub const BACKGROUND_OUTPUT_BYTES: u64 = 16 * 1024 * 1024;
/// Most output of a background command in one reply, in bytes.
pub const MAX_FOLLOW_BYTES: usize = 64 * 1024;
/// Default time that a reply waits for new output of a background command, in seconds.
pub const DEFAULT_FOLLOW_SECS: u64 = 1;
/// Default time that a reply waits for matching output, in seconds.
pub const DEFAULT_MATCH_SECS: u64 = 30;
/// Longest that a reply waits for a background command, in seconds: as long as one that is waited
/// for may take.
pub const MAX_FOLLOW_SECS: u64 = MAX_COMMAND_TIMEOUT_SECS;
/// Output of a background command is gathered until none came for so long, in milliseconds: a reply
/// for each line is dear.
pub const OUTPUT_QUIET_MS: u64 = 50;
/// Longest that it is gathered, in milliseconds.
pub const OUTPUT_GATHER_MS: u64 = 500;
/// Rows of a command's terminal.
pub const TERMINAL_ROWS: u16 = 24;
/// Columns of a command's terminal.
pub const TERMINAL_COLUMNS: u16 = 120;
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
/// Largest profile that is read, in bytes.
pub const MAX_PROFILE_BYTES: u64 = 1024 * 1024;
/// Longest frame between the server and the launcher, in bytes. It holds a command line as JSON,
/// every byte of it escaped, and paths of repositories ([`MAX_REPOSITORIES`]). A longer frame could
/// not be sent, and no command could run.
pub const MAX_FRAME_BYTES: usize = 8 * 1024 * 1024;
/// Timeout for sending an order to a supervisor, in milliseconds.
pub const SUPERVISOR_SEND_MS: u64 = 2_000;
/// Longest order for a supervisor, in bytes: a frame of the server, and the paths in it once more,
/// as they are held.
pub const MAX_ORDER_BYTES: usize = 3 * MAX_FRAME_BYTES;
/// Longest packet of a supervisor, in bytes: as many refusals as one tells of, every byte of their
/// paths as a number.
pub const MAX_PACKET_BYTES: usize = 64 * 1024;
/// Longest packet about one call over the network, in bytes.
pub const MAX_SHORT_PACKET_BYTES: usize = 1024;
/// Timeout of the trial command at start, in milliseconds.
pub const TRIAL_MS: u64 = 5000;
/// Time that the launcher waits for its supervisors after the server is gone, in milliseconds.
pub const LAUNCHER_FAREWELL_MS: u64 = 5000;
/// Time that a supervisor waits for processes that it has killed, in milliseconds.
pub const LAST_PROCESSES_MS: u64 = 2000;
/// Time between two looks at a command's intercepted calls that wait, in milliseconds.
pub const INTERCEPTED_LOOK_MS: u64 = 200;
/// Most entries moved away from protected paths within [`SET_ASIDE_WINDOW_MS`]. Beyond it the
/// running commands are killed: a program that violates the protection by mistake would not try so
/// often.
pub const MAX_SET_ASIDE: usize = 16;
/// Window in which such moves are counted, in milliseconds.
pub const SET_ASIDE_WINDOW_MS: u64 = 10_000;
/// Most samples of hooks in a directory that has nothing else; git has 14.
pub const MAX_SAMPLE_HOOKS: usize = 64;
/// Most links that the lookup of a protected path follows (`MAXSYMLINKS` of `linux/namei.h`).
pub const MAX_LINKS_ON_THE_WAY: usize = 40;
/// Buffer for one read of kernel events about protected paths, in bytes: some 500 names.
pub const WATCH_BUFFER_BYTES: usize = 16 * 1024;
/// Largest git file that points to a directory, in bytes: a path and its prefix.
pub const MAX_GIT_POINTER_BYTES: usize = MAX_PATH_BYTES + 16;
/// Largest configuration of a submodule that is looked into, in bytes.
pub const MAX_GIT_CONFIG_BYTES: usize = 256 * 1024;
/// Files and directories that are held directly in the directory that worktrees share.
pub const MAX_COMMON_GIT_ENTRIES: usize = 1000;
/// Directories that are looked at for git repositories at the start.
pub const MAX_REPOSITORY_DIRECTORIES: usize = 200_000;
/// Deepest nesting of them.
pub const MAX_REPOSITORY_DEPTH: usize = 128;
/// Repositories, and files called `.git`, that are protected.
pub const MAX_REPOSITORIES: usize = 1000;
/// Longest that is spent on looking for them, in milliseconds: the first command waits for it.
pub const MAX_REPOSITORY_WALK_MS: u64 = 5000;
/// Usual upper bound of a mount table, in bytes.
pub const USUAL_TABLE_BYTES: usize = 32 * 1024;
/// More than the kernel's counts of its memory are long, in bytes.
pub const KERNEL_COUNTS_BYTES: usize = 16 * 1024;
/// Time between two looks at the memory of a command, in milliseconds.
pub const MEMORY_WATCH_MS: u64 = 100;
/// Descriptors of a command that one look at its memory covers.
pub const MEMORY_WATCH_FDS: usize = 16_384;
/// Size of the root file system of commands, in bytes: directories, links and, for root, a copy of
/// public configuration.
pub const VIEW_ROOT_BYTES: u64 = 64 * 1024 * 1024;
/// Most that commands may keep in /dev/shm together, in bytes.
pub const SHARED_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;
/// Most that is copied of /etc, in bytes.
pub const MAX_ETC_BYTES: u64 = 32 * 1024 * 1024;
/// Largest file that is copied of /etc, in bytes.
pub const MAX_ETC_FILE_BYTES: u64 = 1024 * 1024;
/// Deepest directory that is copied of /etc.
pub const MAX_ETC_DEPTH: usize = 16;
/// Directories that are open while a private directory is removed: one for each level, up to this
/// depth.
pub const MAX_REMOVED_LEVELS: usize = 64;
/// Time limit at start for removing private directories of killed servers, in milliseconds.
pub const SWEEP_MS: u64 = 1000;
/// Default size of package manager caches that remains when a server ends, in MiB.
pub const DEFAULT_CACHE_MIB: u64 = 8192;
/// Time limit for finding excess caches when a server ends, in milliseconds; no caller waits for
/// that.
pub const CACHE_SWEEP_MS: u64 = 20_000;
/// Most entries of `/etc` that get a rule of their own.
pub const MAX_PUBLIC_ENTRIES: usize = 4096;
/// Files and directories looked at to find them.
pub const MAX_PUBLIC_VISITS: usize = 65_536;
/// Most refusals that the result of one command tells of.
pub const MAX_DENIED: usize = 16;
/// Most rules about the network that an agent is told.
pub const MAX_SHOWN_NETWORK_RULES: usize = 20;
/// Read-only places that a command wanted to change, of those that are told of it.
pub const MAX_READ_ONLY_TOLD: usize = 3;
/// Lines of the log of connections that wait to be written; further ones are lost, and counted.
pub const MAX_NET_LOG_WAITING: usize = 4096;
/// Most places that `replay net learn` makes rules of.
pub const MAX_LEARNED: usize = 4096;
/// Longest name of an extended attribute, in bytes (`XATTR_NAME_MAX` of `linux/limits.h`).
pub const MAX_XATTR_NAME_BYTES: usize = 255;
/// Longest value of an extended attribute, in bytes (`XATTR_SIZE_MAX` of `linux/limits.h`).
pub const MAX_XATTR_VALUE_BYTES: usize = 65_536;
/// Longest list of names of extended attributes, in bytes (`XATTR_LIST_MAX` of `linux/limits.h`).
pub const MAX_XATTR_LIST_BYTES: usize = 65_536;
/// Longest part of a path that a refusal shows, in bytes. As JSON with everything escaped, all of
/// them fit into one packet.
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
/// Most schemas that are held against parts of one value.
pub const MAX_SCHEMA_STEPS: u64 = 1_000_000;
/// Deepest nesting of a manifest, in levels.
pub const MAX_MOCK_DEPTH: usize = 100;
/// Most values in a manifest, those that its anchors stand for included.
pub const MAX_MOCK_NODES: usize = 1_000_000;
/// Most parts of YAML that the anchors of a manifest may stand for in all.
pub const MAX_MOCK_ANCHOR_EVENTS: usize = 50_000;
/// Most messages that are remembered for a comparison with what is expected.
pub const MAX_MOCK_SEEN: usize = 1_000_000;
/// Most messages between a request and its answer that a cassette holds; those that follow are left
/// out.
pub const MAX_RECORDED_MESSAGES: usize = 10_000;
/// Most tools of a manifest, copies included.
pub const MAX_MOCK_TOOLS: usize = 100_000;
/// Most bytes that one `${repeat...}` stands for.
pub const MAX_MOCK_REPEAT_BYTES: usize = 64 * 1024 * 1024;
/// Pause between the bytes of an answer that comes slowly, in milliseconds.
pub const SLOWLORIS_PAUSE_MS: u64 = 100;
