"""What the README promises in commands is what there is."""

import hashlib
import importlib.util
import json
import re
from pathlib import Path

from mvsim.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)


def test_ci_runs_the_test_command_of_the_readme():
    command = COMMANDS[2].strip()
    assert "pytest" in command
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_files_named_in_the_readme_exist():
    named = set(re.findall(r"`((?:mvsim|tests|validation)/[\w./]*)`", README))
    assert len(named) >= 7
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_python_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(example.replace("k=10", "k=3, N=30").replace('out="run.nc"', 'out="run.nc", t_end=60'), {})
    assert (tmp_path / "run.nc").exists()


def test_options_named_in_the_readme_exist():
    known = {name for command in ("simulate", "verify") for argument in app[command].assemble_argument_collection() for name in argument.names}
    named = set(re.findall(r"--[a-zA-Z][\w-]*", README))
    assert {"--method", "--resume"} <= named <= known | {"--help"}


def test_the_readme_is_short():
    assert len(README) < 5000


def test_numbers_of_the_results_page_are_those_of_the_committed_results():
    spec = importlib.util.spec_from_file_location("update_results", ROOT / "validation" / "update_results.py")
    update = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(update)
    stamps = json.loads(update.STAMPS.read_text(encoding="utf-8"))
    page = update.PAGE.read_text(encoding="utf-8")
    text, missing = update.filled_in(page, ROOT / "validation" / "results", stamps)
    assert missing == []
    assert text == page
    assert set(re.findall(r"<!-- begin: (\w+) -->", page)) == set(update.PASSAGES) == set(stamps)
    for name, stamp in stamps.items():
        digest = hashlib.sha256((ROOT / "validation" / "results" / f"{name}.json").read_bytes()).hexdigest()
        assert stamp["digest"] == digest, f"{name}.json is not the one that its stamp dates: run validation/update_results.py"


def test_the_results_page_shows_pictures_that_exist():
    shown = re.findall(r"\]\(\.\./(figures/[\w.-]+)\)", (ROOT / "validation" / "RESULTS.md").read_text(encoding="utf-8"))
    assert len(shown) >= 4
    assert [name for name in shown if not (ROOT / name).exists()] == []
