//! Makes programs trust an authority: files in the TMPDIR of commands, and the variables that lead
//! programs to them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use replay_sandbox::{Scratch, SharedDirectory};

use replay_record::net::ca::{Authority, TrustFiles, environment};

/// Prefix of the directory name.
const KIND: &str = "certificates";

/// Variable with options that Java always reads ("JVM Tool Interface", 1.2: `JAVA_TOOL_OPTIONS`).
pub const JAVA_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// Directory of the files as commands see it, and options for Java.
#[derive(Clone, Copy, Debug)]
pub struct TrustPlace<'a> {
    pub scratch: &'a Scratch,
    /// The commands' path of the directory that such files lie in.
    pub tmp: &'a Path,
    /// Options of Java that commands have anyway.
    pub java_options: Option<&'a OsStr>,
}

#[derive(Debug)]
pub struct Trust {
    tmp: PathBuf,
    java_options: Option<OsString>,
    /// By their names: the bundle, the authority, and both for Java.
    files: [(&'static str, Vec<u8>); 3],
    shown: Mutex<SharedDirectory>,
}

impl Trust {
    /// Writes the files. `system` are the authorities that programs trust beside this one, as PEM.
    pub fn show(place: TrustPlace<'_>, authority: &Authority, system: &[u8]) -> io::Result<Self> {
        let files = [
            ("bundle.pem", authority.bundle(system)),
            ("authority.pem", authority.pem().as_bytes().to_vec()),
            ("java.p12", authority.trust_store(system)),
        ];
        let shown = place.scratch.lend(KIND)?;
        files
            .iter()
            .try_for_each(|(name, bytes)| shown.put(name, bytes))?;
        let java_options = place
            .java_options
            .filter(|options| !options.is_empty())
            .map(OsStr::to_owned);
        Ok(Self {
            tmp: place.tmp.to_owned(),
            java_options,
            files,
            shown: Mutex::new(shown),
        })
    }

    /// All authorities, as PEM.
    pub fn bundle(&self) -> &[u8] {
        &self.files[0].1
    }

    /// Returns the variables. A command owns the files, so damaged ones are written again.
    pub fn environment(&self) -> io::Result<Vec<(OsString, OsString)>> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let is_good = |(name, bytes): &(&str, Vec<u8>)| {
            shown
                .read(name, 0, bytes.len() + 1)
                .is_ok_and(|read| read == *bytes)
        };
        if !self.files.iter().all(is_good) {
            let again = shown.another(KIND)?;
            self.files
                .iter()
                .try_for_each(|(name, bytes)| again.put(name, bytes))?;
            *shown = again;
        }
        let path = |at: usize| {
            self.tmp
                .join(shown.name())
                .join(self.files[at].0)
                .to_string_lossy()
                .into_owned()
        };
        let (bundle, authority, java) = (path(0), path(1), path(2));
        let files = TrustFiles {
            bundle: &bundle,
            authority: &authority,
            java: &java,
        };
        let mut variables: Vec<(OsString, OsString)> = environment(files)
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        if let Some(before) = &self.java_options {
            behind_java_options(&mut variables, before);
        }
        Ok(variables)
    }
}

/// Options of Java that the command has anyway stay, before those that it is told: of two
/// properties of one name the later one counts.
fn behind_java_options(variables: &mut [(OsString, OsString)], before: &OsStr) {
    for (_, value) in variables
        .iter_mut()
        .filter(|(name, _)| name == JAVA_OPTIONS)
    {
        let mut whole = before.to_owned();
        whole.push(" ");
        whole.push(&*value);
        *value = whole;
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test spoils files as a command does"
)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn damaged_trust_files_are_restored() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(parent.path()).unwrap();
        let tmp = scratch.path().join("tmp");
        let place = TrustPlace {
            scratch: &scratch,
            tmp: &tmp,
            java_options: Some(OsStr::new("-ea")),
        };
        let trust = Trust::show(place, &Authority::new().unwrap(), b"").unwrap();
        let value = |name: &str| {
            let variables = trust.environment().unwrap();
            let found = variables.into_iter().find(|(key, _)| key == name).unwrap();
            found.1.into_string().unwrap()
        };
        let bundle = value("SSL_CERT_FILE");
        assert_eq!(
            (std::fs::read(&bundle).unwrap(), value("SSL_CERT_FILE")),
            (trust.bundle().to_vec(), bundle.clone())
        );
        assert!(value(JAVA_OPTIONS).starts_with("-ea -Djavax.net.ssl.trustStore="));
        let spoil: [fn(&Path); 3] = [
            |bundle| std::fs::remove_dir_all(bundle.parent().unwrap()).unwrap(),
            |bundle| std::fs::write(bundle, "another authority").unwrap(),
            |bundle| std::fs::remove_file(bundle.with_file_name("java.p12")).unwrap(),
        ];
        for spoil in spoil {
            let before = value("SSL_CERT_FILE");
            spoil(Path::new(&before));
            let after = value("SSL_CERT_FILE");
            assert_ne!(after, before);
            assert_eq!(std::fs::read(after).unwrap(), trust.bundle());
        }
        drop(trust);
        assert_eq!(std::fs::read_dir(tmp).unwrap().count(), 0);
    }
}
