//! Protected by default: the paths in each read-write directory that programs outside the sandbox
//! obey or run unasked. They are read-only unless the operator says otherwise. Everything else
//! about them is derived from this list or compared with it.

pub(super) use crate::autorun::DOT_GIT;
pub use crate::autorun::PROTECTED_IN_REPOSITORIES;

/// Paths directly in a read-write directory, each with the program that obeys what is there. A
/// directory stands for all in it.
pub const PROTECTED_BY_DEFAULT: [(&str, &str); 34] = [
    (".mcp.json", "Claude Code"),
    (".claude.json", "Claude Code"),
    (".claude/settings.json", "Claude Code"),
    (".claude/settings.local.json", "Claude Code"),
    (".claude/commands", "Claude Code"),
    (".claude/agents", "Claude Code"),
    (".claude/hooks", "Claude Code"),
    (".claude/skills", "Claude Code"),
    (".codex", "Codex"),
    (".cursor", "Cursor"),
    (".gemini/settings.json", "Gemini CLI"),
    (".vscode/mcp.json", "VS Code"),
    (".vscode/tasks.json", "VS Code"),
    (".vscode/settings.json", "VS Code"),
    (".vscode/launch.json", "VS Code"),
    (".zed", "Zed"),
    (".idea", "JetBrains IDEs"),
    (".devcontainer", "dev containers"),
    (".devcontainer.json", "dev containers"),
    (".envrc", "direnv"),
    (".gitmodules", "git"),
    (".gitconfig", "git"),
    (".ssh", "ssh"),
    (".profile", "shells"),
    (".bashrc", "bash"),
    (".bash_profile", "bash"),
    (".bash_login", "bash"),
    (".bash_logout", "bash"),
    (".bash_aliases", "bash"),
    (".zshrc", "zsh"),
    (".zshenv", "zsh"),
    (".zprofile", "zsh"),
    (".zlogin", "zsh"),
    (".zlogout", "zsh"),
];

/// File that `git init` makes and programs outside replace by a rename. It is protected only if it
/// exists.
pub(super) const CONFIG: &str = "config";
