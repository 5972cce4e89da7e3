"""The two projects of the day: a Python package and a Rust crate, each with a git history, ignored files and faults."""
import random
import subprocess
import sys
from pathlib import Path

WORDS = "order price stock client invoice basket region parcel refund coupon ledger tariff depot carrier branch window".split()


def write(root, files):
    for path, text in files.items():
        place = Path(root, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def commit(root):
    git = ["git", "-c", "user.name=Day", "-c", "user.email=day@example.com", "-C", str(root)]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
        subprocess.run(git + command, check=True)


def module(word, chance):
    others = chance.sample([other for other in WORDS if other != word], 2)
    lines = [f'"""Everything about one {word}."""', "", "from shop.money import round_amount", ""]
    for other in others:
        lines += [
            "",
            f"def {word}_of_{other}({other}, amount, rate=0.19):",
            f'    """The {word} that belongs to a {other}."""',
            f"    if {other} is None:",
            f'        raise ValueError("a {word} needs a {other}")',
            f"    total = round_amount(amount * (1 + rate))",
            f'    return {{"{word}": {other}, "total": total, "rate": rate}}',
            "",
        ]
    return "\n".join(lines)


def python_project(root):
    chance = random.Random(7)
    files = {
        ".gitignore": "node_modules\n*.log\n__pycache__\n.pytest_cache\n.venv\n",
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1.0"\n\n[tool.pytest.ini_options]\npythonpath = ["src"]\ntestpaths = ["tests"]\n',
        "README.md": "# shop\n\nOrders, prices and parcels of a small shop.\n",
        "src/shop/__init__.py": "",
        # The fault: halves are rounded to the even neighbour.
        "src/shop/money.py": '"""Amounts of money."""\n\n\ndef round_amount(amount):\n    """Rounds half up to cents."""\n    return round(amount, 2)\n',
        "tests/test_money.py": "import pytest\n\nfrom shop.money import round_amount\n\n\n"
        '@pytest.mark.parametrize("amount, rounded", [(1.004, 1.0), (2.675, 2.68), (0.125, 0.13), (3.0, 3.0)])\n'
        "def test_round_amount(amount, rounded):\n    assert round_amount(amount) == rounded\n",
        "package-lock.json": '{\n  "lockfileVersion": 3,\n  "packages": {\n'
        + ",\n".join(
            f'    "node_modules/{a}-{b}": {{\n      "version": "{chance.randrange(9)}.{chance.randrange(30)}.{chance.randrange(30)}",\n'
            f'      "integrity": "sha512-{"".join(chance.choice("ABCDEFGHabcdefghijkmnpqrstuvwxyz0123456789+/") for _ in range(86))}=="\n    }}'
            for a in WORDS
            for b in WORDS
            for _ in "123"
        )
        + "\n  }\n}\n",
    }
    for word in WORDS:
        files[f"src/shop/{word}.py"] = module(word, chance)
        others = [line[4:].split("(")[0] for line in files[f"src/shop/{word}.py"].splitlines() if line.startswith("def ")]
        files[f"tests/test_{word}.py"] = "from shop import " + word + "\n\n" + "\n".join(
            f"\ndef test_{name}():\n    assert {word}.{name}('x', 10.0)[\"total\"] == 11.9\n" for name in others
        )
        for part in ("index", "types", "core"):
            files[f"node_modules/{word}/{part}.js"] = f"// round_amount of {word}\nexport const round_amount = (a) => Math.round(a * 100) / 100;\n"
    files["server.log"] = "".join(
        f'2026-11-30T08:{i // 60 % 60:02}:{i % 60:02}Z {"ERROR" if i % 97 == 0 else "INFO"} request {i} of {chance.choice(WORDS)} took {chance.randrange(900)} ms\n'
        for i in range(3000)
    )
    write(root, files)
    commit(root)
    subprocess.run([sys.executable, "-m", "venv", f"{root}/.venv"], check=True)
    subprocess.run([f"{root}/.venv/bin/pip", "install", "-q", "--disable-pip-version-check", "pytest"], check=True)


def rust_project(root):
    chance = random.Random(8)
    names = [f"{a}_{b}" for a in WORDS[:8] for b in WORDS[8:12]]
    text = "//! Parcels and their ways.\n\n"
    for name in names:
        text += (
            f"/// Returns the {name.replace('_', ' ')} in whole units.\npub fn {name}(units: &[u32]) -> u32 {{\n"
            f"    let mut sum = {chance.randrange(5)};\n    for unit in units {{\n        sum += *unit;\n    }}\n    sum\n}}\n\n"
        )
    tests = "use parcels::*;\n\n" + "".join(
        f"#[test]\nfn {name}_adds_all() {{\n    assert!({name}(&[1, 2, 3]) >= 6);\n}}\n\n" for name in names
    )
    write(
        root,
        {
            ".gitignore": "/target\n",
            "Cargo.toml": '[package]\nname = "parcels"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": text,
            "tests/adds.rs": tests,
            "target/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n",
        },
    )
    commit(root)
