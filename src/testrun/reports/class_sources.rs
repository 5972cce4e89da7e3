//! Source files of classes of the JVM, whose reports name classes and not paths.

use std::collections::BTreeMap;

use crate::model::Frame;
use crate::project::language::Language;

/// Extensions of a class's source, the most common first.
const EXTENSIONS: [&str; 4] = ["java", "kt", "groovy", "scala"];

/// Paths of the project's sources by file name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassSources(BTreeMap<String, Vec<String>>);

impl FromIterator<String> for ClassSources {
    /// Builds the index from paths below the working directory.
    fn from_iter<I: IntoIterator<Item = String>>(paths: I) -> Self {
        let mut sources = Self::default();
        for path in paths {
            let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
            sources.0.entry(name).or_default().push(path);
        }
        sources
    }
}

impl ClassSources {
    /// Returns the path of a source such as `org/example/AppTest.java`. Kotlin's need not lie in
    /// the directory of their package.
    fn find(&self, source: &str) -> Option<&str> {
        let paths = self.0.get(source.rsplit('/').next()?)?;
        let is_same = |path: &&String| {
            path.strip_suffix(source)
                .is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let only = || match paths.as_slice() {
            [only]
                if only
                    .rsplit_once('.')
                    .is_some_and(|(_, kind)| kind != "java") =>
            {
                Some(only)
            }
            _ => None,
        };
        paths.iter().find(is_same).or_else(only).map(String::as_str)
    }

    /// Returns the path of the source of a class such as `org.example.AppTest$Inner`.
    pub(crate) fn of_class(&self, class: &str) -> Option<&str> {
        let outer = class.split('$').next()?.replace('.', "/");
        EXTENSIONS
            .iter()
            .find_map(|extension| self.find(&format!("{outer}.{extension}")))
    }

    /// Gives frames of the JVM the paths of their sources. Frames of libraries remain only if there
    /// are no others.
    pub(crate) fn locate(&self, frames: Vec<Frame>) -> Vec<Frame> {
        let is_own = |frame: &Frame| {
            Language::of(&frame.file) != Some(Language::Java) || self.find(&frame.file).is_some()
        };
        if !frames.iter().any(is_own) {
            return frames;
        }
        let own = frames.into_iter().filter(is_own).map(|mut frame| {
            if let Some(path) = self.find(&frame.file) {
                path.clone_into(&mut frame.file);
            }
            frame
        });
        own.collect()
    }
}
