import json
import platform
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from looping import looping

import mvsim.runs.archive.provenance as module
from mvsim.runs.archive import collect_provenance
from mvsim.version import __version__


def test_entries():
    found = collect_provenance(["mvsim", "simulate", "--out", "my run.nc"])
    assert found["version"] == __version__
    assert found["command"] == "mvsim simulate --out 'my run.nc'"
    assert found["versions"]["numpy"] == np.__version__
    assert found["versions"]["python"] == platform.python_version()
    assert abs((datetime.now(UTC) - datetime.fromisoformat(found["created"])).total_seconds()) < 60
    assert platform.node() not in found["platform"].split("-")
    assert json.loads(json.dumps(found)) == found


def test_command_line_of_this_process(monkeypatch):
    assert collect_provenance("as given")["command"] == "as given"
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/mvsim", "simulate", "--k", "4"])
    assert collect_provenance()["command"] == "mvsim simulate --k 4"
    monkeypatch.setattr(sys, "argv", ["/somewhere/mvsim/__main__.py", "simulate"])
    assert collect_provenance()["command"] == "python -m mvsim simulate"


def test_command_that_is_no_text():
    assert collect_provenance(["mvsim", "\udcff.nc"])["command"] == "mvsim '\\udcff.nc'"


def test_revision_of_a_source_tree(tmp_path, monkeypatch):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    def git(*words):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)

    git("init")
    (tmp_path / "mvsim" / "runs" / "archive").mkdir(parents=True)
    source = tmp_path / "mvsim" / "runs" / "archive" / "provenance.py"
    source.write_text("1")
    git("add", ".")
    git("commit", "-m", "first")
    git("tag", "v1")
    monkeypatch.setattr(module, "__file__", str(source))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    revision = collect_provenance("")["git_revision"]
    assert re.fullmatch("[0-9a-f]{40}", revision)
    source.write_text("2")
    assert collect_provenance("")["git_revision"] == revision + "-dirty"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert collect_provenance("")["git_revision"] is None


def test_an_installed_copy_has_no_revision(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()  # a repository of the user's, around the environment
    monkeypatch.setattr(module, "__file__", str(tmp_path / "lib" / "mvsim" / "runs" / "archive" / "provenance.py"))
    assert collect_provenance("")["git_revision"] is None


def test_the_sources_of_a_checkout_are_those_of_its_installed_copy(tmp_path):
    here = Path(module.__file__).resolve().parents[2]
    copy = tmp_path / "site-packages" / "mvsim"
    shutil.copytree(here, copy, ignore=shutil.ignore_patterns("__pycache__"))
    found = collect_provenance("")["sources"]
    assert re.fullmatch("[0-9a-f]{64}", found)
    assert module.digest_of_package(copy) == found
    (copy / "version.py").write_text('__version__ = "0.1.1"')
    module.digest_of_package.cache_clear()
    assert module.digest_of_package(copy) != found


@looping(
    ("provenance", "said"),
    [
        ({"git_revision": "ab" * 20, "sources": "c" * 64}, f"revision {'ab' * 20}, sources {'c' * 12}"),
        ({"git_revision": None, "sources": "c" * 64}, f"no git checkout, sources {'c' * 12}"),
    ],
)
def test_which_code_made_a_run_is_said_without_git_too(provenance, said):
    assert module.revision_text(provenance) == said


def test_slow_libraries_are_imported_late():
    code = "import sys, mvsim.runs.run; print([name for name in ('xarray', 'h5netcdf', 'h5py', 'filelock') if name in sys.modules])"
    root = Path(__file__).parents[3]
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert answer.stdout == "[]\n"
