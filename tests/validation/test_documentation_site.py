"""The documentation site: what it names exists, every command on it is one, and it builds without a warning, with all of its notebooks executed."""

import doctest
import importlib.util
import json
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from child_processes import PATIENCE
from looping import looping

import mvsim
from mvsim.cli.app import app
from mvsim.judging.verdict import STATUSES
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.midpoint_mixup.claims import CLAIMS
from mvsim.papers.midpoint_mixup.section_3.statements import SECTION_3
from mvsim.papers.midpoint_mixup.theorems.theorems import THEOREMS
from mvsim.runs.simulation.options import RunOptions

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}

every_page = looping("page", PAGES)


def commands_of(text):
    """Every call of mvsim in the shell blocks of a page or of the README, as words."""
    blocks = re.findall(r"```(?:bash|console)\n(.*?)```", text, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    calls = [call for line in lines for call in re.findall(r"mvsim (?:[a-z]+)[^|#)&]*", line)]
    calls += re.findall(r"`mvsim ([a-z]+ [^`]*)`", text)
    return [shlex.split(call.removeprefix("mvsim ")) for call in calls]


def options_of(name):
    return {flag for argument in app[name].assemble_argument_collection() for flag in argument.names}


def unknown_options(words):
    """Options of a command that it does not have."""
    name, *rest = words
    return {word.split("=")[0] for word in rest if word.startswith("--")} - options_of(name) - {"--help"}


@every_page
def test_every_command_is_one_and_has_these_options(page):
    for words in commands_of(PAGES[page]):
        assert unknown_options(words) == set(), words


def test_an_unknown_option_is_noticed():
    (words,) = commands_of("```bash\nmvsim simulate --k 4 --colour red\n```")
    assert unknown_options(words) == {"--colour"}
    assert commands_of("so `mvsim plot a.nc` and") == [["plot", "a.nc"]]


@every_page
def test_simulations_on_a_page_are_legal(page):
    """Values are checked as the command checks them, without a run."""
    for name, *words in commands_of(PAGES[page]):
        if name != "simulate" or "..." in words:
            continue
        given = {flag.removeprefix("--").replace("-", "_"): value for flag, value in pairwise(words) if flag.startswith("--")}
        fields = {field: json.loads(value) if value[0] in "[{" else value for field, value in given.items() if field in Parameters.model_fields}
        if given.get("regime") == "literal":
            assert Parameters.literal(**fields).d == int(given["k"]) ** 20
        elif "k" in fields:
            assert Parameters(**fields)
        if "method" in given:
            assert RunOptions(method=given["method"])


@every_page
def test_files_named_on_a_page_exist(page):
    named = set(re.findall(r"`((?:mvsim|tests|validation|docs|figures)/[\w./]*)`", PAGES[page]))
    assert [name for name in named if not (ROOT / name).exists()] == []


@looping("page", [*(f"docs/{name}" for name in PAGES), "README.md"])
def test_links_on_a_page_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", (ROOT / page).read_text(encoding="utf-8"))
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


def exists(name):
    """Whether a dotted name is a module or something that is in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@every_page
def test_dotted_names_on_a_page_exist(page):
    named = set(re.findall(r"`(mvsim(?:\.\w+)+)[`(]", PAGES[page]))
    assert [name for name in named if not exists(name)] == []


def test_a_dotted_name_that_does_not_exist_is_found():
    assert not exists("mvsim.simulate_all")
    assert exists("mvsim.pictures.style")


def test_every_status_of_a_verdict_is_explained():
    assert [status for status in STATUSES if f"*{status}*" not in PAGES["concepts.md"]] == []


def test_every_page_is_in_a_table_of_contents():
    entries = {line for block in re.findall(r"```\{toctree\}\n(.*?)```", PAGES["index.md"], flags=re.DOTALL) for line in block.splitlines()}
    patterns = [entry for entry in entries if entry and not entry.startswith(":")]
    missing = [page for page in PAGES if page != "index.md" and not any(Path(page).stem == p or Path(Path(page).stem).match(p) for p in patterns)]
    assert missing == []


def test_toml_on_a_page_is_toml():
    blocks = [block for text in PAGES.values() for block in re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)]
    assert blocks
    assert all(tomllib.loads(block) for block in blocks)


SMALLER = {'"k": [6, 10]': '"k": [3, 4], "N": 30, "t_end": 60', '"0:20"': '"0:2"'}
"""What makes a sweep of a page one of a second."""


def test_the_python_of_the_page_on_sweeps_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, *others = re.findall(r"```python\n(.*?)```", PAGES["sweeps.md"], flags=re.DOTALL)
    for written, small in SMALLER.items():
        assert written in first
        first = first.replace(written, small)
    names = {}
    exec(first, names)
    assert len(names["runs"].table) == 8
    for block in others:  # needs a cluster
        compile(block, "sweeps.md", "exec")


EXAMPLES = [name for name in mvsim.__all__ if re.search(r">>>(?!.*\+SKIP)", getattr(mvsim, name).__doc__ or "")]


@looping("name", EXAMPLES)
def test_examples_in_docstrings_are_right(name):
    (example,) = doctest.DocTestFinder(recurse=False).find(getattr(mvsim, name), name, module=False, globs={name: getattr(mvsim, name)})
    assert doctest.DocTestRunner().run(example).failed == 0


NEEDED = ("sphinx", "myst_nb", "furo")


@pytest.mark.slow
@pytest.mark.skipif(any(importlib.util.find_spec(name) is None for name in NEEDED), reason='needs pip install ".[docs]"')
def test_the_site_builds_without_a_warning(tmp_path):
    """Notebooks are executed, and what they print goes onto the pages; their hidden cells assert what the text says."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(tmp_path / "trees"), str(DOCS), str(tmp_path / "site")]
    before = set(ROOT.rglob("*.nc"))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-4000:]
    site = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "site").glob("*.html")}
    assert {Path(page).stem for page in PAGES} <= site.keys()
    assert "oth features learned in 6 of 6 classes" in site["tutorial"]
    assert all(re.search(r'class="cell_output.*?<img', site[page], flags=re.DOTALL) for page in ("tutorial", "extending")), "a picture is missing"
    assert [name for name in mvsim.__all__ if name != "__version__" and not (tmp_path / "site" / "api" / f"mvsim.{name}.html").exists()] == []
    told = site["theory-map"]
    assert [name for name in (*CLAIMS, *(f"Theorem {n}" for n in THEOREMS), *(r.name for r in SECTION_3)) if f">{name}<" not in told] == []
    assert [i for i in range(1, 11) if not re.search(rf">(Calculation|Proposition|Corollary) A\.{i}\b", told)] == []
    assert set(ROOT.rglob("*.nc")) == before
    fetched = {(page, url) for page, text in site.items() for url in re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?://[^"]*)"', text)}
    assert fetched == set(), "the site must work without a network"
