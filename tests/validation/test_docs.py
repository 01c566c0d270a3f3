"""What the pages in docs/ promise is what there is."""

import math
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from looping import looping

from mvsim.cli import main
from mvsim.cli.app import app
from mvsim.numerics.intervals import clopper_pearson
from mvsim.papers.midpoint_mixup.run_checks.replay_of_flow import STEPS, STEPS_OF_DESCENT
from mvsim.papers.midpoint_mixup.theorems.definition import DRAWS
from mvsim.papers.midpoint_mixup.theorems.theorems import ONE_FEATURE
from mvsim.sweeps.study import Study

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, flags=re.DOTALL) for line in block.splitlines() if "mvsim " in line]


def test_the_study_of_the_page_has_as_many_cells_as_it_says():
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    count = int(re.search(r"makes its (\d+) cells", PAGE)[1])
    assert len(Study.of(tomllib.loads(text)).cells) == count
    command = next(line for line in COMMANDS if line.startswith("mvsim sweep --k"))
    words = shlex.split(command)
    assert main([*words[1:-2], "--cells"]) == 0


def test_each_way_to_write_values_is_one():
    rows = re.findall(r"^\| (`.*?) \|", PAGE, flags=re.MULTILINE)
    written = [piece for row in rows for piece in re.findall(r"`([^`]+)`", row) if "=" in piece]
    assert len(written) >= 6
    for piece in written:
        values = {"k": [6, 10], "d": [5000, 20000], "method": ["erm", "mixup"], **tomllib.loads(piece)}
        groups, regime = values.pop("zip", None), values.pop("regime", "scaled")
        if regime == "literal" or "r0" in values:
            values.pop("d")
        if "mixing" not in values:
            values["method"] = "erm"
        if len(values["k"] if isinstance(values["k"], list) else [0]) == 1:
            groups = None
        assert Study.of(values, [groups] if groups else [], regime).cells


def test_every_command_of_the_page_has_these_options():
    assert len(COMMANDS) >= 8
    for line in COMMANDS:
        for command in re.findall(r"mvsim (?:[a-z]+)[^|#)]*", line):
            name, *words = shlex.split(command.removeprefix("mvsim "), posix=True)
            known = {flag for argument in app[name].assemble_argument_collection() for flag in argument.names}
            assert {word for word in words if word.startswith("--")} <= known, command


def test_files_named_on_the_page_exist():
    named = set(re.findall(r"`(mvsim/[\w./]*)`", PAGE))
    assert len(named) >= 2
    assert [name for name in named if not (ROOT / name).exists()] == []


@looping("extra", ["sweep", "report"])
def test_extras_named_on_the_page_exist(extra):
    assert extra in re.search(r'pip install "\.\[(.*?)\]"', PAGE)[1]
    assert re.search(rf"^{extra} =$", (ROOT / "setup.cfg").read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_concepts_counts_runs_and_draws_as_the_intervals_do():
    concepts = " ".join((ROOT / "docs" / "concepts.md").read_text(encoding="utf-8").split())

    def number(pattern):
        return float(re.search(pattern, concepts)[1])

    clean = int(number(r"At k = 10, (\d+) runs without a failure"))
    assert clopper_pearson(clean, clean)[0] >= 0.9 > clopper_pearson(clean - 1, clean - 1)[0]
    last = number(r"Beyond k = (\d+) that is strict")
    assert 1.0 - 1.0 / last <= clopper_pearson(0, 1)[1] < 1.0 - 1.0 / (last + 1.0)
    whole = int(number(r"Below k = (\d+) that is every class"))
    assert math.ceil(ONE_FEATURE * (whole - 1)) == whole - 1
    assert math.ceil(ONE_FEATURE * whole) < whole
    assert number(r"That shows ([\d.]+) of D") == pytest.approx(clopper_pearson(DRAWS, DRAWS)[0], abs=5e-5)


def test_concepts_tells_the_budget_of_a_replay():
    concepts = " ".join((ROOT / "docs" / "concepts.md").read_text(encoding="utf-8").split())
    assert f"A replay takes {STEPS:,} steps of the flow in all ({STEPS_OF_DESCENT:,} of gradient descent)" in concepts
