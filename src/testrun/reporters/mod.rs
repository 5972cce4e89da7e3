//! The sources of what runs inside the runners. Both write JSON lines to the file that [`VARIABLE`] names.

/// The environment variable that names the file.
pub const VARIABLE: &str = "REPLAY_TEST_REPORT";

/// A reporter for Vitest: `vitest run --reporter=/abs/vitest.mjs --includeTaskLocation`.
pub const VITEST: &str = include_str!("vitest.mjs");

/// A plugin for pytest, to be written as [`PYTEST_MODULE`]`.py` into a directory on `PYTHONPATH`: `-p replay_pytest`.
pub const PYTEST: &str = include_str!("replay_pytest.py");

/// The name of the plugin's module.
pub const PYTEST_MODULE: &str = "replay_pytest";
