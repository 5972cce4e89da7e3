//! Exports of the library for the binary, tests, benches and fuzz targets. Not a stable API. The
//! compiler reports as dead code what is neither exported here nor used by these exports.

pub mod cancel {
    pub use replay_base::cancel::{Bound, CancelToken};
}

pub mod cli {
    pub use crate::cli::{Cli, parse};
}

pub mod commands {
    pub use crate::commands::{report, run};
}

pub mod compose {
    pub use crate::compose::{alone, globs_of, skips_of};
}

pub mod config {
    pub use crate::config::{Config, derived_profile_keys, profile_keys};
}

pub mod documents {
    pub use crate::documents::{
        DocumentKind, Part, Question, ReaderAnswer, answer, kind, read_answer,
    };
}

pub mod edit {
    pub use replay_files::edit::{
        Applied, Edit, EditError, EditErrorKind, MatchKind, Options, Rule, apply, preview,
    };
}

pub mod exec {
    pub use crate::exec::{
        Background, BackgroundCommands, Captured, Command, Counts, Ending, ExecError, Exit,
        Foreground, Intercepted, Interception, Launcher, News, Outcome, OutputFiles, Program,
        ProgramStatus, READER_ARGUMENT, Resident, Slots, Stage, State, place_of, serve_reader,
    };
}

pub mod fs {
    pub use replay_files::fs::{
        TreeOptions, Writer, create_dir, entries, info, move_no_clobber, read_all, remove, tree,
    };
}

pub mod journal {
    pub use replay_files::journal::{At, Bounds, Changes, Id, Options, Recorder, Root, Store};
}

pub mod limits {
    pub use replay_base::limits::{
        BACKGROUND_OUTPUT_BYTES, COMMAND_OPEN_FILES, DEFAULT_COMMAND_TIMEOUT_SECS, KILL_GRACE_MS,
        MAX_BACKGROUND_COMMANDS, MAX_COMMAND_PROCESSES, MAX_COMMAND_TIMEOUT_SECS, MAX_COMMANDS,
        MIN_BODY_APART_BYTES, OUTPUT_CAP_BYTES, REPLY_TOKENS,
    };
}

pub mod mock {
    pub use crate::mock::{expectations_schema, manifest_schema};
}

pub mod pattern {
    pub use replay_pattern::{Budget, Match, Options, Pattern, Replacement};
}

pub mod policy {
    pub use replay_files::policy::{
        Access, FileKind, Grant, PROTECTED_BY_DEFAULT, PROTECTED_IN_REPOSITORIES, Policy,
    };
}

pub mod protocol {
    pub use crate::protocol::{Incoming, escape_into, parse};
}

pub mod record {
    pub use crate::record::{
        Content, Dns, End, Exchange, Http, HttpRequest, HttpResponse, HttpVersion, Link, Message,
        Noise, PlayStep, Protocol, RecordStep, Recording, Recordings, Side, Target, Wire, player,
        recorder,
    };
    pub mod matching {
        pub use crate::record::matching::{Connection, Noise, Recordings};
    }
    pub mod redact {
        pub use crate::record::redact::{Secrets, left_over};
    }
    pub mod store {
        pub use crate::record::store::{BodyFiles, BodyRef, Head, read, write};
    }
}

pub mod sandbox {
    pub use crate::sandbox::{
        CanonicalPath, Dial, Event, Extent, Guard, Hello, LAUNCHER_ARGUMENT, Limits, Network, Plan,
        PlannedRoot, RawString, Request, Run, Scratch, Tier, close_on_exec_from, hold_server,
        keep_little_heap, keep_to_own_sources, run_launcher,
    };
    pub mod attack {
        pub use crate::sandbox::attack::{
            ATTACK_ARGUMENT, CONTROLS, GROUPS, Outcome, Promise, Report, Victims, inside, probe,
        };
    }
    pub mod broker {
        pub use crate::sandbox::broker::{Call, Read, decode};
    }
    pub mod intercept {
        pub use crate::sandbox::intercept::{
            AddressArgument, SupervisorMessage, SupervisorRequest, read_address, write_address,
        };
        pub mod call {
            pub use crate::sandbox::intercept::call::{Network, decode};
        }
    }
    pub mod wire {
        pub use crate::sandbox::wire::{
            receive, receive_event, receive_packet, send, send_event, send_packet,
        };
    }
}

pub mod server {
    pub use crate::server::{Server, Session};
}

pub mod autorun {
    pub use replay_files::autorun::{
        AUTORUN_RULES, AutorunRule, Compared, Content, HOOK, differences, hooks_path, rule_for_path,
    };
}

pub mod testrun {
    pub use crate::testrun::{
        CHECKERS, Checker, Language, ProcessEnding, RUNNERS, RunProgress, Runner, Sources, text,
    };
    pub mod model {
        pub use crate::testrun::model::{Scope, TestReport, TestStatus, ToolInfo};
    }
    pub mod verdict {
        pub use crate::testrun::verdict::{diagnostics, test_report};
    }
}

pub mod text {
    pub use replay_base::text::diff;
    pub mod glob {
        pub use replay_base::text::glob::{GlobMatcher, Reading, is_glob};
    }
}

pub mod tools {
    pub use crate::tools::{Callable, DERIVED, Descriptor, Hints, TOOLS, Toolset};
}

pub mod transport {
    pub use crate::transport::{End, Limits, StdioServer, Writer};
}
