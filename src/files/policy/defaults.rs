//! Protected by default: the paths in each read-write directory that programs outside the sandbox
//! obey or run unasked. They are read-only unless the operator says otherwise. Everything else
//! about them is derived from this list or compared with it. Those of MCP clients are in their table.

pub(super) use crate::autorun::DOT_GIT;
pub use crate::autorun::PROTECTED_IN_REPOSITORIES;
use replay_clients::Clients;

/// Paths directly in a read-write directory, each with the program that obeys what is there. A
/// directory stands for all in it.
pub fn protected_by_default() -> impl Iterator<Item = (&'static str, &'static str)> {
    let clients = Clients::embedded().iter();
    let of_clients = clients.flat_map(|client| {
        let paths = client.protects.iter();
        paths.map(|path| (path.as_str(), client.title.as_str()))
    });
    of_clients.chain(PROTECTED_FOR_OTHERS)
}

/// The same of programs that are no MCP clients.
pub const PROTECTED_FOR_OTHERS: [(&str, &str); 18] = [
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
