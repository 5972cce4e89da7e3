//! Contenders: `replay` itself, the floor server and the installed peers.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const REPLAY: &str = "replay";
pub const FLOOR: &str = "floor";
pub const NPM: &str = "npm server";
pub const RUST: &str = "Rust peer";
pub const ECHO: &str = "echo";
pub const AXUM: &str = "axum";
pub const AXUM_FILE: &str = "axum, file";
pub const MCPTEST: &str = "mcptest";
pub const OFF: &str = "off";
pub const LANDLOCK: &str = "landlock";
pub const NAMESPACES: &str = "namespaces";
pub const TIERS: [&str; 3] = [OFF, LANDLOCK, NAMESPACES];

/// A server that speaks MCP over stdio.
pub struct Server {
    pub name: &'static str,
    /// Description of the command, independent of the machine.
    pub how: String,
    program: PathBuf,
    args: Vec<String>,
    /// Directory that is prepended to PATH.
    programs_in: Option<PathBuf>,
}

impl Server {
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        if let Some(first) = &self.programs_in {
            let rest = env::var_os("PATH").unwrap_or_default();
            let dirs = [first.clone()].into_iter().chain(env::split_paths(&rest));
            command.env("PATH", env::join_paths(dirs).unwrap_or(rest));
        }
        command
    }

    /// Returns `replay` with this directory allowed and commands outside a sandbox.
    pub fn replay(dir: &Path) -> Self {
        Self {
            name: REPLAY,
            ..Self::walled(OFF, dir)
        }
    }

    /// Returns `replay` with this directory allowed and commands in the sandbox of one tier. The
    /// tiers [`OFF`], [`LANDLOCK`] and [`NAMESPACES`] are also the values of the flag.
    pub fn walled(tier: &'static str, dir: &Path) -> Self {
        let grant = format!("{}:rw", dir.display());
        let args = [
            "--mcp-server",
            "--allow",
            &grant,
            "--sandbox",
            tier,
            "--reply-tokens",
            "0",
            "--no-search-cache",
        ]
        .map(str::to_owned)
        .to_vec();
        let how = format!(
            "replay --mcp-server --allow DIR:rw --sandbox {tier} --reply-tokens 0 --no-search-cache"
        );
        Self {
            name: tier,
            how,
            program: env!("CARGO_BIN_EXE_replay").into(),
            args,
            programs_in: None,
        }
    }

    /// Like [`walled`](Self::walled), with Python sessions that use the interpreter of a directory,
    /// if given.
    pub fn python(tier: &'static str, dir: &Path, interpreter_in: Option<PathBuf>) -> Self {
        let mut server = Self {
            programs_in: interpreter_in,
            ..Self::walled(tier, dir)
        };
        server.args.extend(["--tools", "python"].map(str::to_owned));
        server.how.push_str(" --tools python");
        server
    }

    /// Adds a flag.
    #[must_use]
    pub fn with_flag(mut self, flag: &str) -> Self {
        self.args.push(flag.to_owned());
        self.how.push(' ');
        self.how.push_str(flag);
        self
    }

    /// Returns this program, run as the floor server.
    pub fn floor() -> Result<Self, String> {
        let program = env::current_exe()
            .map_err(|error| format!("its own program is not to be found: {error}"))?;
        let how =
            "bare loop: read a line, read the file, answer (benches/peers/floor.rs)".to_owned();
        Ok(Self {
            name: FLOOR,
            how,
            program,
            args: vec!["--floor".to_owned()],
            programs_in: None,
        })
    }

    /// Returns the official file server of the npm registry.
    pub fn npm(dir: &Path) -> Result<Self, String> {
        let package = npm_package();
        let script = package.join("dist/index.js");
        if !script.is_file() {
            return Err("not installed (benches/peers/install.sh)".to_owned());
        }
        let node = on_path("node").ok_or("node is not installed")?;
        let how = "node .../@modelcontextprotocol/server-filesystem/dist/index.js DIR".to_owned();
        let args = vec![script.display().to_string(), dir.display().to_string()];
        Ok(Self {
            name: NPM,
            how,
            program: node,
            args,
            programs_in: None,
        })
    }
}

impl Server {
    /// Returns a file server in Rust, from crates.io.
    pub fn rust(dir: &Path) -> Result<Self, String> {
        let program =
            on_path("rust-mcp-filesystem").ok_or("not installed (benches/peers/install.sh)")?;
        let how = "rust-mcp-filesystem DIR".to_owned();
        Ok(Self {
            name: RUST,
            how,
            program,
            args: vec![dir.display().to_string()],
            programs_in: None,
        })
    }
}

impl Server {
    /// Returns `replay mock` with this manifest.
    pub fn mock(manifest: &Path) -> Self {
        let args = ["mock", "--tools-from", &manifest.display().to_string()]
            .map(str::to_owned)
            .to_vec();
        let how = "replay mock --tools-from FILE".to_owned();
        Self {
            name: REPLAY,
            how,
            program: env!("CARGO_BIN_EXE_replay").into(),
            args,
            programs_in: None,
        }
    }

    /// Returns another mock server from crates.io, with this manifest.
    pub fn mcptest(manifest: &Path) -> Result<Self, String> {
        let program = on_path("mcptest").ok_or("not installed (cargo install mcptest)")?;
        Ok(Self {
            name: MCPTEST,
            how: "mcptest mock --tools-from FILE".to_owned(),
            program,
            ..Self::mock(manifest)
        })
    }
}

fn npm_package() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("target/peers/node_modules/@modelcontextprotocol/server-filesystem")
}

/// Returns the path of an installed program; programs built by install.sh precede those on PATH.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target/peers/bin")
        .join(name);
    if built.is_file() {
        return Some(built);
    }
    env::split_paths(&env::var_os("PATH")?)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}

/// Returns the first installed program of several alternative names.
pub fn first_on_path(names: &[&str]) -> Result<PathBuf, String> {
    names
        .iter()
        .find_map(|name| on_path(name))
        .ok_or_else(|| format!("{} is not installed", names.join(" or ")))
}

/// Returns the versions of the installed programs, for the report.
pub fn versions() -> Vec<(&'static str, String)> {
    let first_line = |program: &str| {
        let program = on_path(program)?;
        let output = Command::new(&program).arg("--version").output().ok()?;
        // Some programs print their installation directory.
        let place = format!("{}/", program.parent()?.display());
        Some(
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .next()?
                .replace(&place, ""),
        )
    };
    let npm = || {
        let manifest = std::fs::read_to_string(npm_package().join("package.json")).ok()?;
        let manifest: serde_json::Value = serde_json::from_str(&manifest).ok()?;
        Some(format!(
            "{} {}",
            manifest["name"].as_str()?,
            manifest["version"].as_str()?
        ))
    };
    let found = [
        ("replay", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("rustc", first_line("rustc")),
        ("npm server", npm()),
        ("Rust peer", first_line("rust-mcp-filesystem")),
        ("mcptest", first_line("mcptest")),
        ("node", first_line("node")),
        ("sed", first_line("sed")),
        ("grep", first_line("grep")),
        ("rg", first_line("rg")),
        ("fd", first_line("fdfind").or_else(|| first_line("fd"))),
        ("find", first_line("find")),
        ("bwrap", first_line("bwrap")),
        ("gcc", first_line("gcc")),
    ];
    found
        .into_iter()
        .map(|(name, version)| (name, version.unwrap_or_else(|| "missing".to_owned())))
        .collect()
}
