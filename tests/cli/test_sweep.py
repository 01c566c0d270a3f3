"""``mvsim sweep``, ``collect``, and the other commands on the folder of a sweep: from words to files and exit codes."""

import io
import json
import math
import os
import re
import shutil
import sys

import pandas as pd
import pytest
from looping import looping
from small_sweeps import steps
from sweep_folder import filled

from mvsim.judging.statement import Section
from mvsim.judging.verdict import Count, Verdict
from mvsim.papers.midpoint_mixup import over_sweeps as sweeps
from mvsim.papers.midpoint_mixup.judge_run import Judgement
from mvsim.papers.on_runs import contents_of_sweep
from mvsim.reports.answer import Answer, read_answer
from mvsim.runs.archive import read_run, write_run
from mvsim.sweeps import job
from mvsim.sweeps.runs import open_sweep

STUDY = """
k = 3
m = 2
N = 12
P = 9
d = 60
G = 6
integrator = "gd"
eta = 3.0
t-end = 90
n_test = 4
method = ["erm", "midpoint"]
seed = "0:2"
"""


@pytest.fixture
def study(tmp_path):
    """A study of four runs of 30 steps."""
    (tmp_path / "small.toml").write_text(STUDY)
    return "small.toml"


def test_a_plan_makes_nothing(mvsim, study, tmp_path):
    result = mvsim("sweep", study, "--dry-run")
    assert (result.code, result.err) == (0, "mvsim: measuring how long a gradient takes here; compiling its kernels first may take a minute\n")
    assert result.out.count("missing") == 4
    assert "method=midpoint, seed=1" in result.out
    assert "in small, for all cells: k=3, " in result.out
    assert "4 cells, 4 to do, about " in result.out
    rows = json.loads(mvsim("sweep", study, "--dry-run", "--json").out)
    assert [(row["cell"], row["method"], row["seed"]) for row in rows] == [(0, "erm", 0), (1, "erm", 1), (2, "midpoint", 0), (3, "midpoint", 1)]
    assert all(row["bytes"] > 2**20 and row["seconds"] > 0 for row in rows)
    assert all(row["seconds_range"][0] < row["seconds"] < row["seconds_range"][1] for row in rows)
    assert [path.name for path in tmp_path.iterdir()] == [study]
    assert "for all cells: method=erm, k=3, " in mvsim("sweep", study, "--method", "erm", "--dry-run", "--quiet").out


REFUSED = {
    "a cell that is none": ["--cell", "9"],
    "a time that is none": ["--engine", "serial", "--until", "-1"],
    "a scheduler that is not there": ["--scheduler", "tcp://127.0.0.1:1"],
}


@pytest.mark.parametrize("options", [["--cell", "9"], ["--until", "nan"], ["--checkpoint-seconds", "-5"], ["--cell", "0", "--threads", "0"]])
def test_a_plan_refuses_what_the_sweep_refuses(mvsim, study, options):
    refused = mvsim("sweep", study, *options, "--engine", "serial")
    planned = mvsim("sweep", study, *options, "--engine", "serial", "--dry-run", "--quiet")
    assert (planned.code, planned.err) == (2, refused.err)


@pytest.mark.parametrize("case", REFUSED)
def test_a_sweep_that_is_refused_leaves_nothing_behind(mvsim, study, tmp_path, case):
    assert mvsim("sweep", study, *REFUSED[case]).code == 2
    assert [path.name for path in tmp_path.iterdir()] == [study]


def test_cells_of_an_array_are_counted_and_made_one_by_one(mvsim, study, tmp_path):
    assert mvsim("sweep", study, "--cells").out == "4\n"
    result = mvsim("sweep", study, "--cell", 2, "--quiet")
    assert (result.code, result.err, result.out) == (0, "", "cell 2 (method=midpoint, seed=0): done\n")
    assert len(list((tmp_path / "small").glob("*.nc"))) == 1
    assert mvsim("sweep", study, "--cell", 2).code == 0


def test_a_sweep_is_made_and_collected(mvsim, study, tmp_path):
    result = mvsim("sweep", study, "--engine", "serial")
    assert result.code == 0
    assert result.out == "4 of 4 cells done, 4 of them undecided (not settled); runs in small\ngo on with runs that had not settled by --until TIME\n"
    assert result.err == "mvsim: 4 of 4 cells to do; one run after another, in this process\n"
    table = pd.read_csv(io.StringIO(mvsim("collect", "small").out))
    assert list(table["steps"]) == [30] * 4
    assert mvsim("collect", "small", "--out", "table.csv").out == "saved in table.csv\n"
    assert (tmp_path / "table.csv").read_text() == mvsim("collect", "small").out
    result = mvsim("collect", "small", "--out", "table.csv")
    assert (result.code, result.out) == (2, "")
    assert "table.csv: exists already" in result.err
    answer = json.loads(mvsim("sweep", study, "--engine", "serial", "--json").out)
    assert (answer["done"], answer["undecided"]) == (4, 4)
    assert "4 cells, 0 to do" in mvsim("sweep", study, "--dry-run", "--quiet").out
    plan = mvsim("sweep", study, "--until", "100", "--dry-run", "--quiet").out
    assert plan.count("goes on") == 4
    assert "4 cells, 4 to do" in plan
    assert "1 cell, 1 to do" in mvsim("sweep", study, "--until", "100", "--cell", "2", "--dry-run", "--quiet").out


def test_the_command_line_wins_over_the_study(mvsim, study):
    assert mvsim("sweep", study, "--seed", "0:5", "--method", "erm", "--cells").out == "5\n"
    assert mvsim("sweep", study, "--N", "12,13", "--seed", "0,1", "--zip", "N,seed", "--cells").out == "4\n"


@pytest.mark.parametrize(("error", "code"), [("StalledError", 3), ("DivergedError", 3), ("MemoryError", 1), ("KeyError", 1)])
def test_failures_are_listed_and_decide_the_exit_code(mvsim, study, monkeypatch, error, code):
    import builtins

    from mvsim.base import errors

    made = job.kept_run

    def failing(path, parameters, method, seed, *arguments, **options):
        if (method, seed) == ("erm", 1):
            raise getattr(errors, error, getattr(builtins, error, None))("stuck at t = 3")
        return made(path, parameters, method, seed, *arguments, **options)

    monkeypatch.setattr(job, "kept_run", failing)
    result = mvsim("sweep", study, "--engine", "serial")
    assert result.code == code
    assert "cell 1 failed: " in result.err
    assert "3 of 4 cells done, 3 of them undecided (not settled), 1 failed" in result.out
    assert ("1 of them undecided (stalled or diverged); runs in small" in result.out) == (code == 3)
    assert "--retry" in result.out
    assert "stuck at t = 3" in mvsim("collect", "small").out
    monkeypatch.setattr(job, "kept_run", made)
    assert mvsim("sweep", study, "--engine", "serial").code == code
    assert mvsim("sweep", study, "--engine", "serial", "--retry").code == 0


def test_a_damaged_run_is_a_failure_that_is_named_and_left(mvsim, study, tmp_path):
    assert mvsim("sweep", study, "--engine", "serial", "--quiet").code == 0
    first, second, *_ = sorted((tmp_path / "small").glob("erm*.nc"))
    whole = first.read_bytes()
    first.write_bytes(whole[:3000])
    for more in ([], ["--retry"]):
        result = mvsim("sweep", study, "--engine", "serial", "--quiet", *more)
        assert result.code == 1
        assert "3 of 4 cells done, 3 of them undecided (not settled), 1 failed" in result.out
        line = next(line for line in result.out.splitlines() if "move it away" in line)
        assert re.fullmatch(r"cell \d \(method=erm, seed=\d\): failed: .*damaged after it was saved.*; move it away, and the run is made again", line)
        assert "--retry" not in result.out
    assert first.read_bytes() == whole[:3000]
    assert not list((tmp_path / "small").glob("*.failed.json"))
    second.write_bytes(b"")
    assert "; and 1 more such cell, which `mvsim collect` lists" in mvsim("sweep", study, "--engine", "serial").out
    second.unlink()
    first.unlink()
    assert mvsim("sweep", study, "--engine", "serial").code == 0


def test_a_plan_says_which_cells_cannot_be_made(mvsim, study, tmp_path, monkeypatch):
    assert mvsim("sweep", study, "--method", "erm", "--seed", "0,1", "--out", "small", "--cell", 0).code == 0
    next((tmp_path / "small").glob("*.nc")).write_bytes(b"damaged")
    monkeypatch.setattr("mvsim.cli.sweep.available_bytes", lambda: 2**20)
    result = mvsim("sweep", study, "--method", "erm", "--seed", "0,1", "--out", "small", "--dry-run", "--quiet")
    assert result.code == 0
    damaged, large = result.out.splitlines()[2:4]
    assert damaged.endswith("move it away, and the run is made again")
    assert large.endswith("needs more memory than the 1 MiB there are here")


BAD = {
    "nothing": ([], "nothing to sweep: give a study file, or values"),
    "no folder": (["--k", "3"], "out: is required without a study file"),
    "an unknown key": (["unknown.toml"], "unknown.toml: sed: is nothing that can be swept, did you mean seed?"),
    "an empty grid": (["empty.toml"], "empty.toml: seed=[]: is empty"),
    "an empty value": (["--k", "", "--out", "x"], "k='': is empty"),
    "the same cell twice": (["--k", "3,3", "--out", "x"], "k=3: is given twice"),
    "a zip that is none": (["zip.toml"], "zip.toml: zip must be a list of names"),
    "one key in two spellings": (["twice.toml"], "study=twice.toml: C-P and C_P are two spellings of one key; keep one of them"),
    "a study file where its folder would be": (["study", "--dry-run"], "out=study: is a file, where the folder of the runs would be; give another"),
    "a regime that is none": (["regime.toml"], "regime.toml: regime='real': must be one of scaled, literal"),
    "no such file": (["nowhere.toml"], "study=nowhere.toml: No such file"),
    "no TOML": (["broken.toml"], "study=broken.toml: not a TOML file"),
    "an unknown flag": (["--sed", "3"], "--sed"),
    "a cell that is none": (["small.toml", "--cell", "9"], "cell=9: must be an integer from 0 to 3"),
    "workers of a cell": (["small.toml", "--cell", "1", "--workers", "2"], "workers=2: is for --engine dask without --cell"),
    "threads of Dask": (["small.toml", "--threads", "2"], "threads=2: is for --cell and --engine serial"),
    "a scheduler that is not there": (["small.toml", "--scheduler", "tcp://127.0.0.1:1"], "scheduler='tcp://127.0.0.1:1': cannot be reached"),
    "another study": (["other.toml", "--out", "full"], "full: holds another study"),
    "a plan of another study": (["other.toml", "--out", "full", "--dry-run"], "full: holds another study"),
}


@pytest.fixture
def bad_places(study, tmp_path):
    (tmp_path / "unknown.toml").write_text("k = 3\nsed = 4\n")
    (tmp_path / "empty.toml").write_text("k = 3\nseed = []\n")
    (tmp_path / "zip.toml").write_text("k = 3\nzip = 4\n")
    (tmp_path / "regime.toml").write_text("k = 3\nregime = 'real'\n")
    (tmp_path / "broken.toml").write_text("k = [")
    (tmp_path / "twice.toml").write_text("k = 3\nC-P = 2\nC_P = 3\n")
    (tmp_path / "study").write_text("k = 3\n")
    (tmp_path / "other.toml").write_text("k = 5\n")
    filled(tmp_path / "full", {"k": 3, "method": "erm"})


@looping("case", BAD)
@pytest.mark.usefixtures("bad_places")
def test_bad_input_is_one_line_that_names_it(mvsim, case):
    words, expected = BAD[case]
    result = mvsim("sweep", *words)
    assert (result.code, result.out) == (2, "")
    (line,) = result.err.strip().splitlines()
    assert expected in line


def test_without_dask_the_extra_is_named(mvsim, study, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = mvsim("sweep", study)
    assert (result.code, result.out) == (2, "")
    assert 'pip install ".[sweep]"' in result.err
    assert mvsim("sweep", study, "--cell", 0, "--quiet").code == 0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("made") / "runs", {"k": 3, "r0": "0.1,0.4", "method": "erm,midpoint", "seed": "0:2"}).path


@pytest.fixture
def swept(made, tmp_path):
    """A folder ``runs`` of a sweep of made-up runs."""
    shutil.copytree(made, tmp_path / "runs")


def test_a_sweep_is_drawn(mvsim, swept, tmp_path):
    result = mvsim("plot", "runs")
    assert (result.out, result.err) == ("saved in runs/sweep.png\n", "mvsim: drawing\n")
    assert mvsim("plot", "runs", "-o", "map.svg").code == 0
    assert "exists already" in mvsim("plot", "runs").err
    result = mvsim("plot", "runs", next((tmp_path / "runs").glob("*.nc")))
    assert (result.code, "runs: the folder of a sweep is drawn alone" in result.err) == (2, True)
    (tmp_path / "empty").mkdir()
    assert "empty: is a directory without sweep.json" in mvsim("plot", "empty").err


def test_names_that_are_no_text_are_escaped(mvsim, tmp_path):
    name = os.fsdecode(b"b\xffd")
    folder = filled(tmp_path / name, {"k": 3, "method": "mixup", "seed": "0:2"}, leave_out=[1])
    folder.record_failure(folder.study.cells[1], "StalledError", "stuck in \ud800")
    assert mvsim("report", name).out == "saved in b\\udcffd/report.html\n"
    assert "b\\udcffd" in (tmp_path / name / "report.html").read_text(encoding="utf-8")
    assert mvsim("collect", name, "--out", f"{name}.csv").code == 0
    assert "stuck in \\ud800" in (tmp_path / f"{name}.csv").read_text(encoding="utf-8")
    assert "stuck in \\ud800" in mvsim("collect", name).out


def test_a_folder_is_judged_alone(mvsim, swept, tmp_path):
    assert "runs: the folder of a sweep is judged alone" in mvsim("verify", "runs", "midpoint/4.6").err
    (tmp_path / "empty").mkdir()
    result = mvsim("verify", "empty")
    assert (result.code, "empty: is a directory without sweep.json" in result.err) == (2, True)


def test_parquet_needs_pyarrow(mvsim, swept, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    assert mvsim("collect", "runs", "--out", "table.parquet").code == 0
    read, table = pd.read_parquet(tmp_path / "table.parquet"), pd.read_csv(io.StringIO(mvsim("collect", "runs").out))
    assert list(read.columns) == list(table.columns)
    assert read["loss"].tolist() == table["loss"].tolist()
    assert "must end in .csv or .parquet" in mvsim("collect", "runs", "--out", "table.xls").err
    monkeypatch.setattr("mvsim.cli.collect.importlib.util.find_spec", lambda name: None)
    assert "Parquet needs pyarrow, which is not installed" in mvsim("collect", "runs", "--out", "other.parquet").err


def test_a_report_takes_verdicts_that_were_given(mvsim, swept, tmp_path):
    verdicts = [{"name": "Theorem 4.6 (features)", "status": "holds", "statement": "exactly one", "measured": 1.0, "bound": 0.9, "margin": "inf",
                 "detail": "", "violated_at": None, "regime": "", "kind": "theorem", "number": "4.6",
                 "subject": "Theorem 4.6", "part": "features"}]  # fmt: skip
    sections = [{"title": "Theorem 4.6, k=3", "place": "at k=3", "verdicts": verdicts}]
    answer = {"version": "0.1.0", "question": {}, "contents": contents_of_sweep(open_sweep("runs")), "exit_code": 0, "sections": sections}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    assert mvsim("report", "runs", "--verdicts", "answer.json").out == "saved in runs/report.html\n"
    text = (tmp_path / "runs" / "report.html").read_text()
    assert "Theorem 4.6, k=3" in text
    assert "Theorem 4.6 holds at k=3" in text
    assert "exists already" in mvsim("report", "runs", "--verdicts", "answer.json").err
    unnumbered = [{name: value for name, value in verdicts[0].items() if name not in ("number", "subject", "part")}]
    (tmp_path / "unnumbered.json").write_text(json.dumps({**answer, "sections": [{"title": "Theorem 4.6, k=3", "verdicts": unnumbered}]}))
    mvsim("report", "runs", "--verdicts", "unnumbered.json", "--out", "unnumbered.html")
    assert "What was asked for holds in what was judged." in (tmp_path / "unnumbered.html").read_text()  # of a version that did not keep them
    step = verdicts[0] | {"name": "Corollary B.26", "number": "B.26", "part": "", "status": "contradicted", "kind": "step"}
    for strict in (False, True):  # as it was asked, with the steps of the proofs or without
        asked = {
            **answer,
            "question": {"strict": strict},
            "exit_code": int(strict),
            "sections": [{"title": "Theorem 4.6, k=3", "verdicts": [*verdicts, step]}],
        }
        (tmp_path / "asked.json").write_text(json.dumps(asked))
        mvsim("report", "runs", "--verdicts", "asked.json", "--out", "asked.html", "--force")
        assert ("Steps that were asked for: 1 contradicted (Corollary B.26)." in (tmp_path / "asked.html").read_text()) == strict
    wrong = {**answer, "sections": [{"title": "Theorem 4.6, k=3", "verdicts": [{**verdicts[0], "status": "good"}]}]}
    (tmp_path / "wrong.json").write_text(json.dumps(wrong))
    assert "is not an answer of `mvsim verify`" in mvsim("report", "runs", "--verdicts", "wrong.json", "--out", "wrong.html").err
    assert "must end in .html" in mvsim("report", "runs", "--verdicts", "answer.json", "--out", "x.pdf").err
    run = next((tmp_path / "runs").glob("*.nc"))
    assert "is about 8 runs, of which 1 are among the 1 of this report as they are now" in mvsim("report", run, "--verdicts", "answer.json").err
    (tmp_path / "runs").rename(tmp_path / "moved")
    assert mvsim("report", "moved", "--verdicts", "answer.json", "--out", "moved.html").code == 0  # the contents count, not the names
    (tmp_path / "moved").rename(tmp_path / "runs")
    dataset, provenance = read_run(run)
    run.unlink()
    write_run(run, dataset.assign(loss=dataset["loss"] * 2.0), provenance)
    assert "is about 8 runs, of which 7 are among the 8" in mvsim("report", "runs", "--verdicts", "answer.json", "--out", "changed.html").err
    (tmp_path / "answer.json").write_text("{}")
    assert "is not an answer of `mvsim verify`" in mvsim("report", run, "--verdicts", "answer.json").err
    assert "a sweep has a report of its own" in mvsim("report", "runs", run).err


def test_without_jinja_a_report_is_refused_before_any_work(mvsim, swept, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr("mvsim.cli.report.open_sweep", None)
    result = mvsim("report", "runs")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert 'report: needs Jinja2, which is not installed; install it with `pip install ".[report]"`' in result.err


ALTERED = {
    "a status that there is not": (["sections", 0, "verdicts", 0, "status"], "good", "sections.0.verdicts.0.status='good': input should be"),
    "an unknown field": (["sections", 0, "verdicts", 0, "colour"], "red", "sections.0.verdicts.0.colour='red': is not known there"),
    "a number that is none": (["sections", 0, "verdicts", 0, "measured"], [], "sections.0.verdicts.0.measured=[]: input should be"),
    "a statement that is no text": (["sections", 0, "verdicts", 0, "statement"], 3, "sections.0.verdicts.0.statement=3: input should be"),
    "an exit code that is none": (["exit_code"], 2, "exit_code=2: input should be"),
    "contents that are no table": (["contents"], [], "contents=[]: must be a table"),
}


@looping("case", ALTERED)
def test_an_answer_that_was_edited_is_refused_by_the_field(mvsim, swept, tmp_path, case):
    (*place, name), value, fault = ALTERED[case]
    verdict = Verdict("Theorem 4.6", "holds", "s", 1.0, math.inf, kind="theorem", number="4.6", count=Count(3, 3, "runs"))
    whole = Answer(version="0.1.0", question={}, contents={}, exit_code=0, sections=[Section(title="t", verdicts=[verdict])])
    (tmp_path / "answer.json").write_text(whole.text())
    assert read_answer("answer.json") == whole
    answer = altered = json.loads(whole.text())
    for part in place:
        altered = altered[part]
    altered[name] = value
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    result = mvsim("report", "runs", "--verdicts", "answer.json")
    assert (result.code, result.out) == (2, "")
    assert f"verdicts=answer.json: is not an answer of `mvsim verify`, or was edited ({fault}" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(("status", "code", "follows"), [("inconclusive", 0, 3), ("fails", 3, 1), ("holds", 1, 0)])
def test_an_exit_code_that_does_not_follow_from_the_verdicts_is_refused(mvsim, swept, tmp_path, status, code, follows):
    verdict = Verdict("Theorem 4.6", status, "s", kind="theorem", number="4.6")
    sections = [Section(title="t", verdicts=[verdict])]
    whole = Answer(version="0.1.0", question={}, contents=contents_of_sweep(open_sweep("runs")), exit_code=code, sections=sections)
    (tmp_path / "answer.json").write_text(whole.text())
    result = mvsim("report", "runs", "--verdicts", "answer.json")
    assert (result.code, f"exit_code={code} does not follow from its verdicts, which say {follows}" in result.err) == (2, True)


def test_verdicts_that_are_no_ordinary_file_are_not_waited_for(mvsim, swept, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    result = mvsim("report", "runs", "--verdicts", "pipe")
    assert (result.code, "verdicts=pipe: not an ordinary file; give a file that `mvsim verify --out` wrote" in result.err) == (2, True)


def test_an_answer_is_about_the_contents_that_were_judged(mvsim, tmp_path, monkeypatch):
    filled(tmp_path / "runs", {"k": 3, "method": "erm,mixup", "seed": "0:2"})
    before = contents_of_sweep(open_sweep("runs"))
    assert len(before) == 2  # no theorem is about mixup

    def judge_and_change(run, theorem):
        dataset, provenance = read_run(run.path)
        run.path.unlink()
        write_run(run.path, dataset.assign(loss=dataset["loss"] * 2.0), provenance)
        return Judgement(run, [Verdict(f"Theorem {theorem} (features)", "holds", "s", 1.0, 0.9, kind="theorem")])

    monkeypatch.setattr(sweeps, "judge", judge_and_change)
    assert mvsim("verify", "runs", "--quiet", "--out", "answer.json").code == 0
    assert json.loads((tmp_path / "answer.json").read_text())["contents"] == before
    assert "is about 2 runs, of which 0 are among the 2" in mvsim("report", "runs", "--verdicts", "answer.json").err


def test_a_report_judges_runs(mvsim, run_folder, tmp_path):
    result = mvsim("report", run_folder / "erm.nc", "--out", "erm.html")
    assert (result.code, result.out, result.err) == (0, "saved in erm.html\n", f"mvsim: judging {run_folder / 'erm.nc'}\nmvsim: drawing\n")
    text = (tmp_path / "erm.html").read_text()
    assert "Theorem 4.6 (features)" in text
    assert "Corollary B.8" in text


def test_a_report_judges_what_can_be_judged_of_a_run_without_a_theorem(mvsim, tmp_path):
    words = ("--k", "3", "--d", "2000", "--N", "20", "--nodes", "2", "--t-end", "10", "--quiet", "--out", "mixup.nc")
    assert mvsim("simulate", "--method", "mixup", *words).code == 0
    assert mvsim("report", "mixup.nc", "--quiet").code == 0
    text = (tmp_path / "mixup-report.html").read_text()
    assert "no theorem is about method mixup" in text
    assert "Gradient flow (start)" in text or "Records (start)" in text


def test_a_study_from_python_has_the_same_cells(mvsim, study, tmp_path):
    from mvsim.sweeps.study import Study

    files = [row["file"] for row in json.loads(mvsim("sweep", study, "--dry-run", "--json").out)]
    assert files == [cell.file for cell in Study.of(steps(30)).cells]
