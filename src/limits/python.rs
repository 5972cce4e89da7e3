//! Of Python sessions.

/// The interpreter of a Python session that names none.
pub const DEFAULT_PYTHON: &str = "python3";
/// Python sessions with a running interpreter at the same time.
pub const MAX_PYTHON_SESSIONS: usize = 16;
/// Python sessions that are remembered, with an interpreter or without.
pub const MAX_STORED_SESSIONS: usize = 256;
/// Idle timeout of a Python session, in seconds.
pub const PYTHON_IDLE_TIMEOUT_SECS: u64 = 3600;
/// Longest name of a Python session, in characters.
pub const MAX_SESSION_NAME_CHARS: usize = 64;
/// Sessions that an error names.
pub const MAX_SESSIONS_TOLD: usize = 20;
/// Longest description of a Python session, in characters.
pub const MAX_SESSION_DESCRIPTION_CHARS: usize = 1000;
/// Longest part of an input text that an error repeats, in characters.
pub const MAX_REPEATED_CHARS: usize = 200;
/// Default time limit of a cell, in seconds.
pub const DEFAULT_CELL_SECS: u64 = 30;
/// Largest time limit of a cell unless the operator says otherwise, in seconds.
pub const MAX_CELL_SECS: u64 = 300;
/// Least and greatest time between the interrupt of a cell and the end of its session, in
/// milliseconds. In between, it equals the cell's time limit. A call into C notices an interrupt
/// only at its end.
pub const CELL_GRACE_MS: [u64; 2] = [2000, 10_000];
/// Timeout for the start of an interpreter, in milliseconds.
pub const PYTHON_START_MS: u64 = 20_000;
/// Time that a session waits for the spare interpreter that is being started, in milliseconds. Then
/// it starts one of its own.
pub const PYTHON_SPARE_MS: u64 = 5000;
/// Timeout for an answer of an interpreter while a cell runs, in milliseconds.
pub const PYTHON_ANSWER_MS: u64 = 15_000;
/// Timeout for a status report of an interpreter's supervisor, in milliseconds.
pub const PYTHON_STATUS_MS: u64 = 5000;
/// Timeout for a ping of an interpreter, in milliseconds.
pub const PYTHON_PING_MS: u64 = 1000;
/// Time for an interpreter to exit after it has closed its channel, in milliseconds.
pub const PYTHON_HANG_UP_MS: u64 = 1000;
/// Time between two reports of a running cell, in milliseconds.
pub const PYTHON_PROGRESS_MS: u64 = 250;
/// New output of a running cell that one report holds, in bytes.
pub const PYTHON_PROGRESS_BYTES: usize = 4096;
/// Longest cell, in bytes.
pub const MAX_PYTHON_CODE_BYTES: usize = 16 * 1024 * 1024;
/// Longest text that is completed or inspected, in bytes.
pub const MAX_PYTHON_ASKED_BYTES: usize = 1024 * 1024;
/// Largest size of unsent messages to one session, in bytes.
pub const MAX_PYTHON_UNSENT_BYTES: usize = 4 * 1024 * 1024;
/// Questions that one session is asked at the same time.
pub const MAX_PYTHON_QUESTIONS: usize = 64;
/// Longest line that a session says, in bytes: a picture as base64.
pub const MAX_PYTHON_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Values that a cell shows.
pub const MAX_PYTHON_SHOWN: usize = 100;
/// Largest size of them together, in bytes.
pub const MAX_PYTHON_SHOWN_BYTES: usize = 16 * 1024 * 1024;
/// Output of a cell that its reply shows, in bytes: of each stream (`--output-cap-bytes`: less) and
/// of displays.
pub const PYTHON_OUTPUT_CAP_BYTES: usize = 16 * 1024;
/// Longest text of a value that a reply shows, and of a traceback, in bytes.
pub const PYTHON_RESULT_CAP_BYTES: usize = 8 * 1024;
/// Output of a cell that is kept in a file when its reply does not show it all, in bytes for each
/// of its two streams.
pub const MAX_PYTHON_LOG_BYTES: usize = 16 * 1024 * 1024;
/// Longest stream of a cell that is shown without what it wrote over, in bytes.
pub const MAX_PYTHON_FOLDED_BYTES: usize = 2 * 1024 * 1024;
/// Output between cells that the next reply shows, in bytes.
pub const MAX_PYTHON_LATE_BYTES: usize = 8 * 1024;
/// Files below a session's directory that are looked at for changes.
pub const MAX_SNAPSHOT_FILES: usize = 50_000;
/// Time limit for looking at them, in milliseconds; twice for each cell.
pub const SNAPSHOT_MS: u64 = 500;
/// Pause after that limit was exceeded, as a multiple of the time taken.
pub const SNAPSHOT_PAUSE_TIMES: u32 = 20;
/// Files that a reply lists as new, and as modified.
pub const MAX_CHANGED_FILES: usize = 500;
/// Processor time is measured over at least so long, in milliseconds: the kernel counts in steps of
/// 10.
pub const MIN_CPU_SAMPLE_MS: u64 = 50;
/// Default timeout for the installation of packages, in seconds.
pub const DEFAULT_INSTALL_SECS: u64 = 120;
/// Longest that packages may take to be installed, in seconds.
pub const MAX_INSTALL_SECS: u64 = 1800;
/// Longest excerpt of pip's error output in a reply, in bytes.
pub const MAX_INSTALL_SAID_BYTES: usize = 2048;
/// Packages in one call.
pub const MAX_PACKAGES: usize = 100;
/// Entries that `list_files` lists.
pub const MAX_LISTED_FILES: usize = 1000;
/// Directories below that of a session in which a module that was not found is looked for.
pub const MAX_MODULE_PLACES: usize = 64;
/// Pictures of a cell that its reply has; more are in files alone.
pub const MAX_CELL_PICTURES: usize = 20;
