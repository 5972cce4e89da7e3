//! Results of cells: output, values, pictures, files and errors.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{open, open_as, reply_data, result, run};
use crate::tree::Tree;

#[test]
fn cell_returns_output_and_keeps_state() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/old.txt", "1");
    let code = "import sys\nx = 41\nprint('out')\nprint('err', file=sys.stderr)\nopen('new.txt', 'w').close()\n\
                open('old.txt', 'w').write('22')\nx + 1";
    let mut ran = run(&mut server, code);
    assert!(ran["execution_time"].as_f64().unwrap() > 0.0);
    ran["execution_time"] = Value::Null;
    assert_eq!(
        ran,
        json!({"stdout": "out\n", "stderr": "err\n", "execution_time": null, "outputs": [], "new_files": ["new.txt"],
            "modified_files": ["old.txt"], "result": "42", "session_id": "default", "timed_out": false,
            "state_lost": false, "notes": ["changed: created new.txt, edited old.txt: undo with call 1"]})
    );
    assert_eq!(result(&mut server, "x, _"), "(41, 42)");
    assert_eq!(
        result(
            &mut server,
            "import asyncio\nawait asyncio.sleep(0, 'awaited')"
        ),
        "'awaited'"
    );
    assert_eq!(result(&mut server, "x = 1"), "None");
    assert_eq!(result(&mut server, ""), "None");
}

#[test]
fn exception_in_cell_names_line() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let reply = server.call(
        "run_python_code",
        json!({"code": "print('before')\ndef f():\n    1 / 0\nf()"}),
    );
    assert_eq!(reply.result()["isError"], true);
    let ran = reply_data(&reply);
    assert_eq!(ran["stdout"], "before\n");
    let traceback = "Traceback (most recent call last):\n  File \"<cell 1>\", line 4, in <module>\n    f()\n  File \"<cell \
                     1>\", line 3, in f\n    1 / 0\n";
    let told = ran["error"]["traceback"].as_str().unwrap();
    // Which columns are marked depends on the version.
    let unmarked: Vec<&str> = told.lines().filter(|line| !line.contains('~')).collect();
    assert_eq!(
        unmarked.join("\n"),
        format!("{traceback}ZeroDivisionError: division by zero")
    );
    assert_eq!(
        (&ran["error"]["name"], &ran["error"]["message"]),
        (&json!("ZeroDivisionError"), &json!("division by zero"))
    );
    let ran = run(&mut server, "!ls\n");
    assert_eq!(ran["error"]["name"], "SyntaxError");
    assert!(
        ran["notes"][0]
            .as_str()
            .unwrap()
            .starts_with("lines that begin with ! or %"),
        "{ran}"
    );
    let ran = run(&mut server, "len?");
    assert_eq!(
        ran["notes"],
        json!([
            "a ? behind a name is IPython syntax, which sessions do not have: use \
            inspect_object"
        ])
    );
    assert_eq!(
        run(&mut server, "import sys; sys.exit(3)")["error"]["name"],
        "SystemExit"
    );
    let ran = run(&mut server, "input()");
    assert_eq!(ran["error"]["name"], "EOFError");
    assert_eq!(
        ran["notes"],
        json!(["input() fails, since sessions have no stdin: put the values into the code"])
    );
    let ran = run(&mut server, "import nobody_has_this");
    let note = "`nobody_has_this` is not installed, and there is no network: use an environment \
        that has it (create_session with `python`, such as .venv/bin/python), or give \
        install_packages a wheel or a source tree";
    assert_eq!(ran["notes"], json!([note]));
    let ran = run(&mut server, "raise OSError(101, 'Network is unreachable')");
    assert!(
        ran["notes"][0].as_str().unwrap().contains("--allow-host"),
        "{ran}"
    );
    assert_eq!(result(&mut server, "import sys; sys.exit(0)"), "None");
}

#[test]
fn displayed_pictures_become_content_and_files() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    run(&mut server, &png());
    let code = "class Both:\n  def _repr_png_(self): return PNG\n  def _repr_html_(self): return '<b>1</b>'\n  \
                def __repr__(self): return 'both'\ndisplay('shown', 2)\nBoth()";
    let reply = server.call("run_python_code", json!({"code": code}));
    let ran = reply_data(&reply);
    assert_eq!(ran["result"], "both");
    assert_eq!(ran.get("result_data"), None);
    assert_eq!(
        ran["displays"],
        json!([{"text/plain": "'shown'"}, {"text/plain": "2"}])
    );
    assert_eq!(ran["outputs"], json!(["outputs/cell2-1.png"]));
    assert_eq!(ran["new_files"], json!(["outputs/cell2-1.png"]));
    assert_eq!(
        std::fs::read(tree.path("work/outputs/cell2-1.png")).unwrap(),
        STANDARD.decode(PIXEL).unwrap()
    );
    assert_eq!(
        reply.result()["content"][1],
        json!({"type": "image", "data": PIXEL, "mimeType": "image/png"})
    );
    let bare = run(
        &mut server,
        "class Bare:\n  def _repr_html_(self): return '<b>1</b>'\nBare()",
    );
    assert_eq!(bare["result_data"], json!({"text/html": "<b>1</b>"}));
    // Invalid picture data, and pictures too large for clients, are not returned as content.
    let reply = server.call(
        "run_python_code",
        json!({"code": "class No:\n  def _repr_mimebundle_(self): return {'image/png': 'x'}\n__import__('os').chdir('/tmp')\nNo()"}),
    );
    assert_eq!(
        reply_data(&reply)["outputs"],
        json!(["outputs/cell4-1.png"])
    );
    assert_eq!(
        (reply.all_texts().len(), &reply_data(&reply)["notes"][0]),
        (
            1,
            &json!("the value displayed as image/png is not a valid image/png")
        )
    );
    let ran = run(
        &mut server,
        "class Wide:\n  def _repr_png_(self): return PNG[:16] + b'\\0\\0\\x10\\0' + PNG[20:]\nWide()",
    );
    let note = "outputs/cell5-1.png has 4096 x 1 pixels: read_file shows it scaled, and with `region` a part of it";
    assert_eq!(ran["notes"][0], note);
    // In the form of Jupyter's MIME bundles.
    let code = format!(
        "class Base64:\n  def _repr_png_(self): return '{PIXEL}'\n[display(Base64()) for _ in range(25)]\nNone"
    );
    let reply = server.call("run_python_code", json!({"code": code}));
    let pictures = reply.result()["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|content| content["data"] == PIXEL)
        .count();
    assert_eq!(
        (pictures, &reply_data(&reply)["notes"][0]),
        (
            20,
            &json!("5 more pictures are not in this reply, but in the files that `outputs` names")
        )
    );
}

/// PNG of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

fn png() -> String {
    format!("import base64\nPNG = base64.b64decode('{PIXEL}')")
}

/// Stub of the parts of matplotlib that a session uses. `subplots` has the effects of a backend's
/// first figure.
const FIGURE: &str =
    "class Figure:\n  stale = True\n  def savefig(self, file, **_): file.write(PNG)\n";
const PYPLOT: &str = "import inspect\nfrom .figure import Figure\nopened = {}\ndef show(): pass\ndef get_fignums(): return list(opened)\n\
    def figure(number): return opened[number]\ndef close(figure):\n  for number in [n for n, f in opened.items() if f is figure]: del opened[number]\n\
    def subplots():\n  show.__signature__ = inspect.signature(close)\n  opened[len(opened) + 1] = figure = Figure()\n  return figure, None\n";
/// Stub of the part of `IPython` that a session uses.
const IPYTHON: &str = "def display(*_): print('not here')\n";

#[test]
fn matplotlib_figure_is_shown_once() {
    let tree = Tree::new();
    tree.file("work/matplotlib/__init__.py", "")
        .file("work/matplotlib/figure.py", format!("{}\n{FIGURE}", png()));
    tree.file("work/matplotlib/pyplot.py", PYPLOT)
        .file("work/IPython/__init__.py", "");
    tree.file("work/IPython/core/__init__.py", "")
        .file("work/IPython/core/display_functions.py", IPYTHON);
    tree.file(
        "work/IPython/display.py",
        "from IPython.core.display_functions import *",
    );
    let mut server = open(&tree, &[]);
    let mut shown = |code: &str| {
        let reply = server.call("run_python_code", json!({"code": code}));
        assert_eq!(reply_data(&reply).get("error"), None, "{code}");
        assert_eq!(reply_data(&reply)["stdout"], "", "{code}");
        reply.result()["content"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|content| content["type"] == "image")
            .count()
    };
    let cells = [
        ("import matplotlib.pyplot as plt", 0),
        ("fig, ax = plt.subplots()", 1),
        ("fig, ax = plt.subplots()\nfig", 1),
        ("fig, ax = plt.subplots()\ndisplay(fig)\nplt.close(fig)", 1),
        (
            "fig, ax = plt.subplots()\ndisplay(fig)\nfig.stale = True",
            2,
        ),
        ("plt.subplots()\nplt.show()\nplt.subplots()\nplt.show()", 2),
        (
            "from IPython.display import display\nplt.subplots()\ndisplay(*map(plt.figure, plt.get_fignums()))",
            1,
        ),
    ];
    for (code, pictures) in cells {
        assert_eq!(shown(code), pictures, "{code}");
    }
}

#[test]
fn asyncio_tasks_run_between_cells() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.fifo("work/gate");
    let begin = "import asyncio, os\nasync def work():\n  for _ in range(3): await asyncio.sleep(0)\n  open('gate', 'w').close()\n\
                 task = asyncio.create_task(work())\nawait asyncio.sleep(0)";
    assert_eq!(run(&mut server, begin).get("error"), None);
    // Opens when the task has reached this point.
    assert_eq!(std::fs::read(tree.path("work/gate")).unwrap(), b"");
    assert_eq!(result(&mut server, "await task\ntask.done()"), "True");
    assert_eq!(
        result(&mut server, "asyncio.run(asyncio.sleep(0, 'own loop'))"),
        "'own loop'"
    );
    // An ended event loop does not end the awaiting cell. Leftover tasks of a cell run in no other
    // cell.
    for ends in [
        "async def ends(): raise SystemExit(3)\nlater = ends",
        "async def ends(): loop.stop()\nlater = ends",
    ] {
        let begin = format!(
            "{ends}\nloop = asyncio.get_running_loop()\ntask = asyncio.ensure_future(later())\nawait asyncio.sleep(0, 'begun')"
        );
        let _ = run(&mut server, &begin);
        assert_eq!(
            result(&mut server, "await asyncio.sleep(0.01)\n'own'"),
            "'own'"
        );
        assert_eq!(result(&mut server, "'next'"), "'next'");
    }
    let ran = run(&mut server, "asyncio.create_task(work())");
    let note = "the event loop runs while a cell awaits: put an `await` into this cell, such as `await asyncio.sleep(0)`; tasks go \
                on after it";
    assert_eq!(
        (&ran["error"]["name"], &ran["notes"]),
        (&json!("RuntimeError"), &json!([note]))
    );
}

#[test]
fn long_cell_output_is_cut_and_logged_whole() {
    let tree = Tree::new();
    let mut server = open(&tree, &["--output-cap-bytes", "1024"]);
    let ran = run(&mut server, "for i in range(10000): print(i)");
    let shown = ran["stdout"].as_str().unwrap();
    assert!(
        shown.starts_with("0\n1\n2\n") && shown.ends_with("\n9998\n9999\n") && shown.len() < 1200,
        "{shown}"
    );
    assert!(shown.contains("of 48890 bytes left out"), "{shown}");
    let kept = ran["outputs"][0].as_str().unwrap();
    assert!(
        shown.contains(&format!(
            " of 48890 bytes left out; all of it: {kept} ...]\n"
        )),
        "{shown}"
    );
    let all: Vec<String> = (0..10000).map(|number| number.to_string()).collect();
    assert_eq!(tree.read(&format!("work/{kept}")), all.join("\n") + "\n");
    let ran = run(&mut server, "'x' * 100_000");
    assert!(
        (8192..8300).contains(&ran["result"].as_str().unwrap().len()),
        "{ran}"
    );
    let ran = run(
        &mut server,
        "import sys; sys.stdout.buffer.write(bytes([0, 255, 10])); print('a')",
    );
    assert_eq!(ran["stdout"], "\u{0}\u{fffd}\na\n");
    let ran = run(&mut server, "print('x' * 100_000_000)");
    assert!(
        ran["stdout"]
            .as_str()
            .unwrap()
            .contains("of 100000001 bytes left out")
    );
}

#[test]
fn late_output_belongs_to_no_later_cell() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    // The thread waits until the next cell begins, and that cell waits for the thread.
    let first = "import threading\nbegun, done = threading.Event(), threading.Event()\ndef late():\n  begun.wait(20)\n  \
                 print('from the thread')\n  done.set()\nthreading.Thread(target=late).start()";
    assert_eq!(run(&mut server, first)["stdout"], "");
    let ran = run(
        &mut server,
        "print('own')\nbegun.set()\nassert done.wait(20)\nprint('own too')",
    );
    assert_eq!(
        (&ran["stdout"], &ran["late_output"]),
        (&json!("own\nown too\n"), &json!("from the thread\n"))
    );
    // A leftover program writes to the pipe itself, and ends before the next cell begins.
    tree.fifo("work/gate");
    let second = "import subprocess\np = subprocess.Popen('read line < gate; echo from the program', shell=True)";
    run(&mut server, second);
    std::fs::write(tree.path("work/gate"), "go\n").unwrap();
    let ran = run(&mut server, "p.wait(20)\nprint('own')");
    let all = format!(
        "{}{}",
        ran["stdout"].as_str().unwrap(),
        ran["late_output"].as_str().unwrap_or_default()
    );
    assert!(
        all.contains("own\n") && all.contains("from the program\n"),
        "{ran}"
    );
}

#[test]
fn broken_streams_are_restored_for_next_cell() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    run(&mut server, "import sys; sys.stdout = None");
    let ran = run(&mut server, "print(1)");
    assert_eq!(
        (&ran["stdout"], &ran["late_output"]),
        (
            &json!("1\n"),
            &json!("[session] sys.stdout was replaced and is the session's own again\n")
        )
    );
    run(&mut server, "import os; sys.stderr.close(); os.close(1)");
    let ran = run(&mut server, "print(2); print(3, file=sys.stderr)");
    assert_eq!(
        (&ran["stdout"], &ran["stderr"]),
        (&json!("2\n"), &json!("3\n"))
    );
    run(
        &mut server,
        "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)",
    );
    let ran = reply_data(&server.call(
        "run_python_code",
        json!({"code": "while True: pass", "timeout": 1}),
    ));
    assert_eq!(
        (&ran["state_lost"], &ran["error"]["name"]),
        (&json!(false), &json!("TimeoutError"))
    );
    run(
        &mut server,
        "if os.fork() == 0: print('child')\nelse: os.wait()",
    );
    assert_eq!(result(&mut server, "2"), "2");
}

#[test]
fn cell_output_is_reported_while_running() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.fifo("work/gate");
    let params = json!({"name": "run_python_code", "_meta": {"progressToken": "p"},
        "arguments": {"code": "print('early')\nopen('gate').read()\nprint('late')"}});
    let id = server.send("tools/call", params);
    let told = server.recv();
    assert_eq!(
        (&told["method"], &told["params"]["message"]),
        (&json!("notifications/progress"), &json!("early\n"))
    );
    std::fs::write(tree.path("work/gate"), "go").unwrap();
    assert_eq!(reply_data(&server.reply_to(&id))["stdout"], "early\nlate\n");
}

#[test]
fn cells_run_on_every_revision() {
    for revision in crate::schema::REVISIONS {
        let tree = Tree::new();
        let mut server = open_as(&tree, revision, &[]);
        let reply = server.call("run_python_code", json!({"code": "1 + 1"}));
        let text: Value = serde_json::from_str(&reply.text()).unwrap();
        assert_eq!(text["result"], "2", "{revision}");
        let unknown = server
            .call(
                "run_python_code",
                json!({"code": "1", "session_id": "nope"}),
            )
            .failure()
            .unwrap();
        assert!(
            unknown
                .message
                .starts_with("session `nope` not found: there are `default`"),
            "{unknown:?}"
        );
        assert_eq!(
            unknown.code,
            (revision != crate::schema::STATELESS).then_some(-32000),
            "{revision}"
        );
    }
}
