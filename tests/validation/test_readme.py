"""What the README promises in commands is what there is."""

import re
from pathlib import Path

from mvsim.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)


def test_ci_runs_the_test_command_of_the_readme():
    (command,) = [command.strip() for command in COMMANDS if "pytest" in command]
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-2:] == [command, ".venv/bin/pytest -m slow"]


def test_files_named_in_the_readme_exist():
    named = set(re.findall(r"`((?:mvsim|tests|validation)/[\w./]*)`", README))
    assert len(named) >= 5
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_python_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(example.replace("k=10", "k=3, N=30").replace('out="run.nc"', 'out="run.nc", t_end=60'), {})
    assert (tmp_path / "run.nc").exists()


def test_options_named_in_the_readme_exist():
    commands = ("simulate", "verify", "sweep")
    known = {name for command in commands for argument in app[command].assemble_argument_collection() for name in argument.names}
    named = set(re.findall(r"--[a-zA-Z][\w-]*", README))
    assert {"--method", "--resume"} <= named <= known | {"--help"}


def test_the_readme_is_short():
    assert len(README) < 5000
