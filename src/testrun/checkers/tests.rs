//! Tests of the checkers: suppressed files and command lines.

use pretty_assertions::assert_eq;

use super::*;
use crate::checker::CheckSource;

fn of(checker: &dyn Checker, path: &str, text: &str, config: &str) -> Option<String> {
    checker.silenced(
        CheckSource {
            path,
            text,
            is_package: &|dir| dir == "src/pkg",
        },
        config,
    )
}

#[test]
fn tsc_nocheck_comment_before_code_silences_file() {
    let says = |text: &str| of(&Tsc, "a.ts", text, "{}").is_some();
    for text in [
        "// @ts-nocheck",
        "#!/x\n/* a */ // b\n  ///@ts-nocheck: made\nx",
        "// @ts-check\n// @ts-nocheck\r\nx",
    ] {
        assert!(says(text), "{text}");
    }
    for text in [
        "",
        "x\n// @ts-nocheck",
        "/* @ts-nocheck */",
        "// @ts-nocheckers",
        "// @ts-nocheck\n// @ts-check",
        "/*",
    ] {
        assert!(!says(text), "{text}");
    }
}

#[test]
fn javascript_is_checked_only_if_configured() {
    let says = |path: &str, text: &str, config: &str| of(&Tsc, path, text, config).is_some();
    let with = |option: &str| {
        format!("{{ // ours\n\"compilerOptions\": {{\"allowJs\": true, {option}}}, }}")
    };
    assert!(says("a.js", "x", &with("\"checkJs\": false")));
    assert!(
        !says("a.js", "x", &with("\"checkJs\": true"))
            && !says("a.mjs", "// @ts-check\nx", &with(""))
    );
    // A configuration that cannot be read may enable it.
    assert!(!says("a.js", "x", "{\"extends\": \"./b.json\"}") && !says("a.js", "x", "not json"));
    assert!(
        says("a.d.ts", "x", &with("\"skipLibCheck\": true"))
            && !says("a.d.ts", "x", &with("\"strict\": true"))
    );
    assert!(!says("a.ts", "x", &with("\"skipLibCheck\": true")));
}

#[test]
fn python_ignore_comment_silences_file() {
    let by = |text: &str| {
        [&Mypy as &dyn Checker, &Pyright].map(|checker| of(checker, "a.py", text, "").is_some())
    };
    assert_eq!(by("# type: ignore\nx"), [true, true]);
    assert_eq!(by("#!/x\n\n#  type:  ignore # why\nx"), [true, true]);
    assert_eq!(by("x\n# mypy: strict, ignore-errors\n"), [true, false]);
    assert_eq!(by("# mypy: ignore_errors=False\n"), [false, false]);
    for text in [
        "x\n# type: ignore",
        "# type: ignore[assignment]\nx",
        "# type: ignored\nx",
        "\"\"\"doc\"\"\"\n# type: ignore",
    ] {
        assert_eq!(by(text), [false, false], "{text}");
    }
}

#[test]
fn mypy_ignore_errors_section_silences_file() {
    let says = |path: &str, config: &str| of(&Mypy, path, "x", config);
    let ini = "[mypy]\nstrict = True\nexclude = (?x)(\n    ^a/  # ours\n    | ^b/)\n[mypy-pkg.sub.*,other]\nignore_errors = True\n\
               [mypy-pkg.sub.fine]\nignore_errors = no\n[other]\nignore_errors = True\n";
    assert_eq!(
        says("src/pkg/sub/a.py", ini).as_deref(),
        Some("`ignore_errors` of its section `pkg.sub.*, other` in mypy's configuration")
    );
    assert!(says("other.py", ini).is_some() && says("src/pkg/sub/__init__.py", ini).is_some());
    assert_eq!(says("src/pkg/sub/fine.py", ini), None);
    assert_eq!(
        (says("src/pkg/a.py", ini), says("deep/elsewhere.py", ini)),
        (None, None)
    );
    assert_eq!(
        Mypy.excluded(ini).as_deref(),
        Some("(?x)( ^a/  # ours | ^b/)")
    );
    let toml = "[tool.mypy]\nexclude = ['x']\n[[tool.mypy.overrides]]\nmodule = [\n  \"a.*\",\n  'b',\n]\nignore_errors = true # yet\n\
                [tool.other]\nmodule = 'c'\n";
    assert!(
        says("b.py", toml).is_some()
            && says("a/x/y.pyi", toml).is_some()
            && says("c.py", toml).is_none()
    );
    let all = says("x/y.py", "[mypy]\nignore_errors=on").unwrap_or_default();
    assert!(all.contains("`for all modules`"), "{all}");
    let found = Mypy.configuration(&|name| {
        Some(if name == "setup.cfg" {
            "[mypy]".to_owned()
        } else {
            "[x]".to_owned()
        })
    });
    assert_eq!(found, Some(("mypy.ini", "[x]".to_owned())));
    let found = Mypy.configuration(&|name| {
        name.contains('.')
            .then(|| "[mypy]".to_owned())
            .filter(|_| name == "setup.cfg")
    });
    assert_eq!(found.map(|(name, _)| name), Some("setup.cfg"));
}

#[test]
fn compiled_projects_are_checked_by_their_builds() {
    let read = |checker: &dyn Checker, stdout: &str| {
        let sources = crate::Sources {
            stdout: stdout.as_bytes(),
            root: "/p",
            ..Default::default()
        };
        let checked = checker.parse(&sources, replay_base::cancel::Bound::default());
        let found = checked.diagnostics.into_iter();
        let of = |found: crate::model::Diagnostic| {
            (
                found.severity,
                found.file,
                found.line,
                found.code,
                found.message,
            )
        };
        found.map(of).collect::<Vec<_>>()
    };
    let error = |file: &str, line, code: Option<&str>, message: &str| {
        let (file, code) = (Some(file.to_owned()), code.map(str::to_owned));
        (
            crate::model::Severity::Error,
            file,
            Some(line),
            code,
            message.to_owned(),
        )
    };
    let maven = "[INFO] COMPILATION ERROR :\n[ERROR] /p/A.java:[3,9] cannot find symbol\n[ERROR]   \
        symbol:   class B\n[INFO] 1 error\n[ERROR] Failed to execute goal\n[ERROR] \
        /p/A.java:[3,9] cannot find symbol\n[ERROR]   symbol:   class B\n";
    let expected = [error("A.java", 3, None, "cannot find symbol, class B")];
    assert_eq!(read(&MavenCompile, maven), expected);
    let dotnet = "/p/A.cs(3,9): error CS1002: ; expected [/p/A.csproj]\n";
    let expected = [error("A.cs", 3, Some("CS1002"), "; expected")];
    assert_eq!(read(&DotnetBuild, &[dotnet, dotnet].concat()), expected);
}
