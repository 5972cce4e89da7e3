//! Hints on a failed cell, for the agent.

use std::path::Path;

use replay_base::text::escape::show_path;
use replay_files::policy::Policy;
use replay_python::{Raised, shorten};

use crate::tools::python_places::{environment_with, holder_of, literal};

/// Context of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellContext<'a> {
    pub code: &'a str,
    /// Its standard error, as shown.
    pub stderr: &'a str,
    /// `true` if programs cannot reach other machines.
    pub offline: bool,
    /// The directory it ran in.
    pub directory: &'a Path,
    /// Access policy for the search of modules.
    pub policy: &'a Policy,
}

impl CellContext<'_> {
    /// Finds a missing module in the project.
    fn in_the_project(&self, module: &str) -> Option<String> {
        if let Some(place) = holder_of(self.policy, self.directory, module) {
            let place = literal(&place);
            return Some(format!(
                "`{module}` is a module of the project, but its directory is not in sys.path: run \
                 `import sys; sys.path.insert(0, {place})` first"
            ));
        }
        let environment = environment_with(self.policy, self.directory, module)?;
        let environment = show_path(&environment).into_owned();
        Some(format!(
            "`{environment}` has `{module}`: call create_session with {{\"session_id\": \"venv\", \"python\": \"{environment}\"}}, \
             and run this with that session_id"
        ))
    }
}

/// Hint for code that tried to reach another machine.
pub(crate) const NO_NETWORK: &str = "Python has no network here; only the operator can give it one (--allow-host), so do not try again";

/// Messages of the system, Python and common programs if another machine is unreachable.
const UNREACHABLE: [&str; 7] = [
    "Network is unreachable",
    "Name or service not known",
    "Temporary failure in name resolution",
    "No address associated with hostname",
    "nodename nor servname provided",
    "Could not resolve host",
    "unable to resolve host address",
];

/// Returns hints on a cell that raised this exception, one sentence each. `owner` finds another
/// session that has a module.
pub(crate) fn hints(
    raised: Option<&Raised>,
    around: CellContext<'_>,
    owner: impl FnOnce(&str) -> Option<String>,
) -> Vec<String> {
    let mut hints = Vec::new();
    if let Some(raised) = raised {
        let is_magic = |line: &str| line.trim_start().starts_with(['!', '%']);
        if raised.name == "SyntaxError" && around.code.lines().any(is_magic) {
            hints.push(
                "lines that begin with ! or % are IPython syntax, which sessions do not have: use \
                 subprocess.run, execute_command or install_packages"
                    .to_owned(),
            );
        }
        if raised.name == "SyntaxError"
            && around
                .code
                .lines()
                .any(|line| line.trim_end().ends_with('?'))
        {
            hints.push(
                "a ? behind a name is IPython syntax, which sessions do not have: use \
                 inspect_object"
                    .to_owned(),
            );
        }
        if raised.name == "RuntimeError" && raised.value == "no running event loop" {
            hints.push(
                "the event loop runs while a cell awaits: put an `await` into this cell, such as `await asyncio.sleep(0)`; tasks \
                 go on after it"
                    .to_owned(),
            );
        }
        if raised.name == "EOFError" && raised.value.contains("EOF when reading a line") {
            hints.push(
                "input() fails, since sessions have no stdin: put the values into the code"
                    .to_owned(),
            );
        }
        if let Some(module) = missing_module(raised) {
            let owner = owner(module);
            let own = if owner.is_none() {
                around.in_the_project(module)
            } else {
                None
            };
            let module = shorten(module);
            hints.push(match owner {
                None if let Some(own) = own => own,
                Some(session) => {
                    format!(
                        "`{module}` is installed only in session `{session}`: \
                        install_packages installs it in this session, too"
                    )
                }
                None if around.offline => format!(
                    "`{module}` is not installed, and there is no network: use an environment \
                     that has it (create_session with `python`, such as .venv/bin/python), or \
                     give install_packages a wheel or a source tree"
                ),
                None => format!(
                    "`{module}` is not installed: install_packages installs it for \
                    this session"
                ),
            });
        }
    }
    let is_unreachable = |text: &str| UNREACHABLE.iter().any(|said| text.contains(said));
    if around.offline
        && (is_unreachable(around.stderr)
            || raised.is_some_and(|raised| is_unreachable(&raised.traceback)))
    {
        hints.push(NO_NETWORK.to_owned());
    }
    hints
}

/// Returns the package that an import did not find. A missing submodule does not count.
fn missing_module(raised: &Raised) -> Option<&str> {
    let module = raised
        .value
        .strip_prefix("No module named '")?
        .strip_suffix('\'')?;
    (raised.name == "ModuleNotFoundError" && !module.contains('.')).then_some(module)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use replay_files::policy::{Access, Grant};

    use super::*;

    fn hints_for(name: &str, value: &str, stderr: &str, offline: bool) -> Vec<String> {
        hints_in(
            &Policy::open(&[], &[]).unwrap(),
            Path::new("/"),
            name,
            value,
            stderr,
            offline,
        )
    }

    fn hints_in(
        policy: &Policy,
        directory: &Path,
        name: &str,
        value: &str,
        stderr: &str,
        offline: bool,
    ) -> Vec<String> {
        let traceback = format!("Traceback (most recent call last):\n{name}: {value}");
        let raised = Raised {
            name: name.to_owned(),
            value: value.to_owned(),
            traceback,
        };
        let raised = Some(&raised).filter(|_| !name.is_empty());
        let around = CellContext {
            code: "1",
            stderr,
            offline,
            directory,
            policy,
        };
        hints(raised, around, |module| {
            (module == "tiny").then(|| "other".to_owned())
        })
    }

    #[test]
    fn missing_module_gets_install_hint() {
        let error = "ModuleNotFoundError";
        assert_eq!(
            hints_for(error, "No module named 'tiny'", "", true),
            [
                "`tiny` is installed only in session `other`: install_packages installs it in this \
                session, too"
            ]
        );
        assert_eq!(
            hints_for(error, "No module named 'numpy'", "", false),
            ["`numpy` is not installed: install_packages installs it for this session"]
        );
        assert_eq!(
            hints_for(error, "No module named 'numpy'", "", true),
            [
                "`numpy` is not installed, and there is no network: use an environment that has \
                 it (create_session with `python`, such as .venv/bin/python), or give \
                 install_packages a wheel or a source tree"
            ]
        );
        assert_eq!(
            hints_for(error, "No module named 'numpy.nothing'", "", true),
            [""; 0]
        );
        assert_eq!(
            hints_for("ImportError", "No module named 'numpy'", "", true),
            [""; 0]
        );
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test lays out a tree")]
    fn project_module_gets_path_hint() {
        let root = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(root.path()).unwrap();
        for file in [
            "src/own.py",
            "src/pack/__init__.py",
            "a/b/c",
            ".venv/bin/python",
            ".venv/lib/python3.12/site-packages/numpy/x",
        ] {
            std::fs::create_dir_all(base.join(file).parent().unwrap()).unwrap();
            std::fs::write(base.join(file), "").unwrap();
        }
        let grant = Grant {
            path: base.clone(),
            access: Access::ReadOnly,
        };
        let policy = Policy::open(&[grant], &[]).unwrap();
        let told = |directory: &str, module: &str| {
            let value = format!("No module named '{module}'");
            hints_in(
                &policy,
                &base.join(directory),
                "ModuleNotFoundError",
                &value,
                "",
                false,
            )
        };
        let shown = base.display();
        let own = |module: &str| {
            format!(
                "`{module}` is a module of the project, but its directory is not in sys.path: run \
                 `import sys; sys.path.insert(0, \"{shown}/src\")` first"
            )
        };
        let venv = format!(
            "`{shown}/.venv` has `numpy`: call create_session with {{\"session_id\": \"venv\", \"python\": \"{shown}/.venv\"}}, \
             and run this with that session_id"
        );
        let usual =
            "`b` is not installed: install_packages installs it for this session".to_owned();
        assert_eq!(told("", "own"), [own("own")]);
        assert_eq!(told("", "pack"), [own("pack")]);
        assert_eq!(told("", "numpy"), [venv.as_str()]);
        assert_eq!(told("a/b", "numpy"), [venv.as_str()]);
        // A directory without modules is no package, and a package missing from the environment
        // gets no hint.
        assert_eq!(told("", "b"), [usual]);
    }

    #[test]
    fn unreachable_network_gets_hint() {
        let network = NO_NETWORK;
        let unreachable = "[Errno 101] Network is unreachable";
        assert_eq!(hints_for("OSError", unreachable, "", true), [network]);
        assert_eq!(
            hints_for("", "", "curl: (6) Could not resolve host: x\n", true),
            [network]
        );
        assert_eq!(hints_for("OSError", unreachable, "", false), [""; 0]);
        assert_eq!(
            hints_for("EOFError", "EOF when reading a line", "", true),
            ["input() fails, since sessions have no stdin: put the values into the code"]
        );
        assert_eq!(hints_for("EOFError", "Ran out of input", "", true), [""; 0]);
    }
}
