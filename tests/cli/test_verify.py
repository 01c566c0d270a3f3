"""``mvsim verify`` from files to exit codes."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from terminal import shown_on_terminal

import mvsim as package
from mvsim.cli.verdict_table import print_section
from mvsim.judging.answer_text import outcome_line
from mvsim.judging.number_text import BEYOND
from mvsim.judging.statement import Section
from mvsim.judging.verdict import Verdict
from mvsim.papers.midpoint_mixup import judge_run, over_runs
from mvsim.papers.midpoint_mixup.paper import PAPER

JUDGED = {}
"""What was said of a run, by the checksum of its file and the theorem."""


@pytest.fixture(autouse=True)
def judged_once(monkeypatch):
    """Most tests are about what is shown of the same two runs, and judging takes most of their time."""

    def judge(run, theorem, data=None, everything=True):
        key = (run.provenance.get("sha256"), theorem, everything)
        if key[0] is None or data is not None:
            return judge_run.judge(run, theorem, data, everything)
        if key not in JUDGED:
            JUDGED[key] = judge_run.judge(run, theorem, data, everything)
        return JUDGED[key]._replace(run=run)

    monkeypatch.setattr(over_runs, "judge", judge)


@pytest.fixture
def runs(run_folder, tmp_path):
    for path in run_folder.iterdir():
        shutil.copy(path, tmp_path / path.name)
    return tmp_path


def test_a_run_is_judged_by_its_own_theorem(mvsim, runs):
    result = mvsim("verify", "erm.nc")
    assert result.code == 0
    assert all(line.startswith(("mvsim: compiling kernels", "mvsim: judging erm.nc")) for line in result.err.splitlines())
    assert "Theorem 4.6 (features)" in result.out
    assert "erm.nc [d below k^20; " in result.out
    assert "Theorem 4.7" not in result.out
    assert sorted(path.name for path in runs.iterdir()) == ["erm.nc", "midpoint.nc"]


def test_what_was_asked_for_is_shown_and_the_rest_is_counted(mvsim, runs):
    short, everything = mvsim("verify", "midpoint.nc"), mvsim("verify", "midpoint.nc", "--all")
    assert "Claim B.27" not in short.out
    assert " steps of the proofs and definitions, " in short.out
    assert "Claim B.27" in everything.out
    assert "Claim B.27" in mvsim("verify", "midpoint.nc", "midpoint/B.27").out


def test_only_shows_what_is_named(mvsim, runs):
    result = mvsim("verify", "erm.nc", "--only", "B.10")
    shown = [line for line in result.out.splitlines() if "Claim" in line or "Theorem" in line]
    assert [line[15:].split(":")[0] for line in shown] == ["Claim B.10 (separation)", "Claim B.10 (winner)"]
    assert "measured" in shown[0]
    assert "Theorem 4.6 (features)" in mvsim("verify", "erm.nc", "--only", "4.6").out
    assert "B.26 is not about what was judged here" in mvsim("verify", "erm.nc", "--only", "B.26").out
    shown = json.loads(mvsim("verify", "erm.nc", "--only", "B.10", "--only", "4.6", "--json", "--out", "answer.json").out)
    assert {verdict["number"] for section in shown["sections"] for verdict in section["verdicts"]} == {"B.10", "4.6"}
    assert len(json.loads((runs / "answer.json").read_text())["sections"][0]["verdicts"]) > 30


def test_on_a_pipe_each_verdict_is_one_plain_line(mvsim, runs):
    lines = mvsim("verify", "erm.nc", "midpoint.nc", "--all").out.splitlines()
    assert not any("\x1b" in line or line != line.rstrip() for line in lines)
    first = "Claim B.1 (class sizes): |N_y| k / N is bounded from below and above: its least value (measured "
    assert sum(line[15:].startswith(first) for line in lines) == 2
    assert lines.count("Checks of the runs: whether they are what they say they are:") == 2
    assert not any("margin -0" in line or re.search(r"margin [+-]\d{3,}%", line) for line in lines)
    assert any(line.startswith("measured") and f"{BEYOND})" in line for line in lines)
    assert lines[0] == "Theorem 4.6 holds in erm.nc (ERM learned exactly one feature in 4 of 4 classes)."
    assert re.match(r"exit code 0\. Parts of theorems: 4 holds, .*; checks of the runs: \d+ holds", lines[-1])
    assert "Theorem 4.6 holds in this run: training accuracy 1; ERM learned exactly one feature in 4 of 4 classes (needed: 4)" in lines


@pytest.mark.slow
def test_a_run_fits_on_one_screen(run_folder):
    """80 columns and 24 lines, the prompt among them."""
    code, text = shown_on_terminal([sys.executable, "-m", "mvsim", "verify", "midpoint.nc", "--quiet"], run_folder)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert code == 0
    assert len(lines) <= 23, text
    assert max(map(len, lines)) <= 80
    assert "\x1b[" in text


def test_steps_of_the_proof_count_when_they_are_asked_for(mvsim, runs, monkeypatch):
    from mvsim.papers.midpoint_mixup import claims
    from mvsim.papers.midpoint_mixup.steps import Step

    contradicted = Verdict("Claim B.27", "contradicted", "never")
    monkeypatch.setattr(over_runs, "judge", judge_run.judge)
    monkeypatch.setitem(claims.CLAIMS, "Claim B.27", Step("claim", "B.27", lambda evidence: contradicted, mixing=True))
    result = mvsim("verify", "midpoint.nc")
    assert (result.code, "Claim B.27" in result.out) == (0, True)
    assert mvsim("verify", "midpoint.nc", "--strict").code == 1
    assert mvsim("verify", "midpoint.nc", "midpoint/B.27").code == 1
    assert mvsim("verify", "midpoint.nc", "midpoint/B.28").code == 0


def test_a_step_that_is_not_about_the_run_is_not_passed(mvsim, runs):
    result = mvsim("verify", "erm.nc", "midpoint/B.26")
    assert result.code == 3
    assert "B.26 (not about what was judged)" in result.out


def test_results_are_checked_before_runs_are_made(mvsim, tmp_path):
    result = mvsim("verify", "midpoint/4.6", "midpoint/3.2", "--k", "4", "--rho", "0.1", "--runs-dir", tmp_path / "made")
    assert result.code == 2
    assert not list(tmp_path.glob("made/*.nc"))


def test_json_is_the_same_on_stdout_and_in_the_file(mvsim, runs):
    result = mvsim("verify", "erm.nc", "midpoint.nc", "--json", "--out", "answer.json")
    assert result.code == 0
    assert json.loads(result.out) == json.loads((runs / "answer.json").read_text())
    sections = json.loads(result.out)["sections"]
    assert [section["title"] for section in sections] == ["erm.nc", "midpoint.nc"]
    assert all({"name", "status", "measured", "bound", "margin", "detail", "regime"} <= set(v) for section in sections for v in section["verdicts"])


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["words", "json"])
def test_an_answer_that_cannot_be_written_is_printed_all_the_same(form, mvsim, runs, full_disk):
    result = mvsim("verify", "erm.nc", "--out", "answer.json", *form)
    assert result.code == 2
    assert "Theorem 4.6 (features)" in result.out
    assert "saved in" not in result.out
    told = "could not be written: No space left on device; the answer is above; to keep it in a file, correct that, or choose another file with --out"
    assert f"answer.json: {told}" in result.err
    assert not (runs / "answer.json").exists()


def test_the_wrong_method_is_a_usage_error(mvsim, runs):
    result = mvsim("verify", "erm.nc", "midpoint/4.7")
    assert result.code == 2
    assert "erm.nc: Theorem 4.7 is about method 'midpoint'; this run has 'erm'" in result.err
    assert result.out == ""


def test_of_a_method_without_theorem_is_judged_what_can_be(mvsim, tmp_path):
    package.simulate(package.Parameters(k=3, m=2, N=6, P=9, d=10), "mixup", t_end=10.0, n_test=4, out=tmp_path / "mixup.nc")
    result = mvsim("verify", "mixup.nc", "--all")
    assert result.code == 0
    assert "no theorem is about method mixup (4.6 is about erm, 4.7 is about midpoint); at the end training accuracy" in result.out
    assert result.out.startswith("No theorem was judged, and no check of the runs failed.\n")
    assert result.out.splitlines()[-1].startswith("exit code 0. Parts of theorems: 1 not applicable; checks of the runs: ")
    named = set(re.findall(r"(?:Claim|Lemma) (B[.]\d+)", result.out))
    assert named == {"B.1", "B.10"}  # those about the initial state and the data
    assert "Gradient flow (energy balance)" in result.out
    assert mvsim("verify", "mixup.nc", "midpoint/B.26").code == 3
    assert "no theorem is about method mixup" in mvsim("verify", "mixup.nc", "--only", "4.7").out
    assert "mixup.nc: Theorem 4.7 is about method 'midpoint'; this run has 'mixup'" in mvsim("verify", "mixup.nc", "midpoint/4.7").err


def test_of_a_loss_that_no_theorem_assumes_is_said_what_they_assume(mvsim, tmp_path):
    package.simulate(
        package.Parameters(k=3, m=2, N=6, P=9, d=10), "erm", loss="squared_error", weight_decay=0.5, t_end=10.0, n_test=4, out=tmp_path / "erm.nc"
    )
    told = "Theorem 4.6 assumes the cross-entropy alone; this run has loss squared_error, weight decay 0.5; at the end"
    assert told in mvsim("verify", "erm.nc", "--only", "4.6").out


@pytest.mark.parametrize("statement", ["variance/3.1", "midpoint/3.4"])
def test_what_is_not_shown_is_shown_by_the_option_that_is_named(mvsim, statement):
    command = ("verify", statement, "--seeds", "1", "--out", "a.json", "--force")
    (only,) = re.findall(r"Not shown: .*; --all shows them, (--only \S+) those about one statement", mvsim(*command).out)
    assert "measured" in mvsim(*command, *only.split()).out


def test_a_run_without_theorem_that_is_not_what_it_says_fails(mvsim, tmp_path):
    from mvsim.runs.archive import read_run, write_run

    package.simulate(package.Parameters(k=3, m=2, N=6, P=9, d=10), "mixup", t_end=10.0, n_test=4, out=tmp_path / "mixup.nc")
    dataset, provenance = read_run(tmp_path / "mixup.nc")
    write_run(tmp_path / "mixup.nc", dataset.assign(dissipation=2.0 * dataset["dissipation"]), provenance)
    result = mvsim("verify", "mixup.nc")
    assert result.code == 1
    assert "Gradient flow (energy balance)" in result.out


def test_a_run_that_is_too_short_is_inconclusive(mvsim, tmp_path):
    package.simulate(package.Parameters(k=4, d=2000, N=40), "erm", t_end=100.0, out=tmp_path / "short.nc")
    result = mvsim("verify", "short.nc")
    assert result.code == 3
    assert "inconclusive" in result.out
    assert "exit code 3 because of Theorem 4.6 (training accuracy), Theorem 4.6 (features)" in result.out


def test_a_theorem_that_does_not_hold_fails(mvsim, tmp_path):
    package.simulate(package.Parameters(k=4, d=20, N=40), "erm", out=tmp_path / "large-start.nc")
    result = mvsim("verify", "large-start.nc")
    assert result.code == 1
    assert "fails" in result.out


OVER_SEEDS = ["verify", "midpoint/4.6", "--N", "12", "--m", "2", "--runs-dir", "kept", "--no-follow", "--quiet"]


def test_over_seeds_runs_what_is_missing_and_finds_it_again(mvsim, tmp_path, monkeypatch):
    command = [*OVER_SEEDS, "--k", "2", "--k", "3", "--d", "100", "--seeds", "2"]
    first = mvsim(*command)
    assert first.code in (0, 1, 3)
    assert "trend in k" in first.out
    files = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert len([name for name in files if name.endswith(".nc")]) == 4
    assert len([name for name in files if name.startswith("midpoint-theorem-4.6-") and name.endswith(".json")]) == 1
    monkeypatch.setattr("mvsim.runs.simulation.run_cache.simulate", None)  # nothing may be simulated again
    again = mvsim(*command)
    assert (again.code, again.out) == (first.code, first.out)
    assert "k = 2, 2 seeds (2 runs found in kept, 0 made): " in mvsim(*(word for word in command if word != "--quiet")).err


def test_every_k_has_its_d(mvsim, tmp_path):
    command = [*OVER_SEEDS, "--k", "3", "--k", "2", "--seeds", "1"]
    result = mvsim(*command, "--d", "400", "--d", "500", "--all")
    made = {package.open_run(path).parameters.k: package.open_run(path).parameters.d for path in (tmp_path / "kept").glob("*.nc")}
    assert made == {3: 400, 2: 500}
    assert "r0 = " in result.out
    assert mvsim(*OVER_SEEDS, "--k", "3", "--seeds", "1", "--path", "r0=0.4*k^-0.2").code in (0, 1, 3)


def test_a_damaged_kept_run_is_named_and_left(mvsim, tmp_path):
    command = ("verify", "midpoint/4.6", "--k", "3", "--d", "2000", "--N", "40", "--seeds", "1", "--runs-dir", "kept", "--quiet")
    mvsim(*command)
    path = next((tmp_path / "kept").glob("*.nc"))
    path.write_bytes(path.read_bytes()[:-100])
    before = path.read_bytes()
    result = mvsim(*command)
    assert result.code == 2
    assert path.name in result.err
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to verify"),
        (("erm.nc", "--d", "5"), "d="),
        (("missing.nc",), "missing.nc"),
        (("--theorem", "4.6"), "theorem='4.6': is no option; name statements with their paper, as in midpoint/theorem-4.6; mvsim verify --list"),
        (("--result", "3.2"), "result='3.2': is no option; name statements with their paper"),
        (("midpoint/4.8",), "'midpoint/4.8': is no statement of this paper"),
        (("midpoint/claim-B.26",), "'midpoint/claim-B.26': give midpoint/corollary-B.26\n"),
        (("--list", "mipoint"), "'mipoint': is no paper, did you mean midpoint?; must be one of midpoint"),
        (("midpoint/4.6", "--seeds", "0"), "seeds=0"),
        (("midpoint/4.6", "--threads", "0"), "threads=0"),
        (("midpoint/4.6", "--k", "1.5"), "1.5"),
        (("midpoint/4.6", "--k", "4", "--k", "4"), "each k once"),
        (("erm.nc", "--out", "midpoint.nc"), "--force"),
        (("erm.nc", "--out", "erm.nc", "--force"), "is a run that is to be judged"),
        (("erm.nc", "--k", "7"), "k="),
        (("--controls", "--seeds", "3"), "seeds=3: is for statements without runs"),
        (("erm.nc", "midpoint/B.99"), "'midpoint/B.99': is no statement of this paper"),
        (("midpoint/4.6", "--path", "straight"), "path='straight'"),
        (("midpoint/4.6", "--k", "4", "--path", "literal", "--d", "5000"), "the path says what d is"),
        (("midpoint/4.6", "--k", "4", "--k", "6", "--k", "8", "--d", "5000", "--d", "6000"), "2 values for 3 of k"),
        (("erm.nc", "--path", "literal"), "path='literal'"),
        (("erm.nc", "--no-follow"), "mvsim: --no-follow: is for runs that are made for a statement; remove it"),
        (("erm.nc", "--threads", "2"), "threads=2"),
        (("erm.nc", "--runs-dir", "elsewhere"), "--runs-dir elsewhere: is for runs that are made; remove it"),
        (("erm.nc", "--only", "b10"), "'midpoint/b10': is no statement of this paper"),
        (("midpoint/3.2", "--path", "literal"), "path='literal'"),
        (("midpoint/3.2", "erm.nc"), "midpoint/lemma-3.2: judged without runs; ask for it by itself"),
    ],
)
def test_bad_input_is_one_line(words, said, mvsim, runs):
    result = mvsim("verify", *words)
    assert result.code == 2
    assert said in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("run", "code", "said"),
    [pytest.param("erm.nc", 0, b"mvsim: judging erm.nc\n", marks=pytest.mark.slow), ("erm.nc midpoint/4.7", 2, b"Theorem 4.7 is about")],
)
def test_the_exit_code_is_the_verdict_whoever_reads(run, code, said, runs):
    command = [sys.executable, "-m", "mvsim", "verify", *run.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=runs) as process:
        process.stdout.close()
        message = process.stderr.read()
    assert process.returncode == code
    assert said in message
    assert b"Traceback" not in message
    assert b"pipe" not in message.lower()


def test_what_is_not_an_answer_is_not_replaced(mvsim, tmp_path):
    command = ("verify", "midpoint/4.6", "--k", "3", "--d", "2000", "--N", "40", "--seeds", "1", "--runs-dir", "kept", "--quiet")
    first = mvsim(*command)
    assert first.code in (0, 1, 3), first.err
    (answer,) = (tmp_path / "kept").glob("*.json")
    assert mvsim(*command).code in (0, 1, 3)  # an answer to the same question is
    answer.write_text("my notes")
    result = mvsim(*command)
    assert result.code == 2
    assert answer.name in result.err
    assert answer.read_text() == "my notes"


@pytest.mark.parametrize("wrong", [["--k", "1"], ["--seeds", "0"], ["--k", "3", "--k", "3"]], ids="".join)
def test_a_refused_question_leaves_nothing(mvsim, tmp_path, wrong):
    assert mvsim("verify", "midpoint/4.6", *wrong).code == 2
    assert not list(tmp_path.iterdir())


def test_a_run_that_stopped_is_named_with_its_reason(mvsim, monkeypatch):
    from mvsim.flow import stalls

    monkeypatch.setattr(stalls, "STALL_GROWTH", 1e300)
    monkeypatch.setattr(stalls, "STALL_STEPS", 0.1)  # over rtol, 100 steps
    result = mvsim("verify", "midpoint/4.6", "--k", "3", "--d", "2000", "--N", "40", "--seeds", "1", "--quiet")
    assert result.code == 3
    assert "none of 1 runs could be followed to an end: seed 0 stopped: " in " ".join(result.out.split())


def test_a_run_that_did_not_finish_is_named(mvsim, runs):
    from mvsim.runs.archive import read_run, write_run

    dataset, provenance = read_run(runs / "erm.nc")
    write_run(runs / "erm.nc", dataset, {**provenance, "status": "interrupted"})
    assert "interrupted when it was saved" in mvsim("verify", "erm.nc").out


def test_runs_of_another_kind_are_not_taken_for_those_of_the_theorem(mvsim, tmp_path):
    command = ("verify", "midpoint/4.6", "--k", "3", "--d", "2000", "--N", "40", "--seeds", "1", "--runs-dir", "kept", "--quiet")
    mvsim(*command)
    (path,) = (tmp_path / "kept").glob("*.nc")
    package.simulate(package.Parameters(k=3, d=2000, N=40), "erm", integrator="gd", t_end=100.0, out=path, force=True)
    result = mvsim(*command)
    assert result.code == 2
    assert "other integrator" in result.err


def test_theorems_of_which_no_run_came_to_an_end_are_inconclusive(mvsim, tmp_path, monkeypatch):
    def stalled(*arguments, **options):
        raise package.StalledError("nowhere")

    monkeypatch.setattr("mvsim.runs.simulation.run_cache.simulate", stalled)
    result = mvsim("verify", "midpoint/4.6", "--k", "3", "--seeds", "2", "--runs-dir", "kept", "--quiet")
    assert result.code == 3
    assert "none of 2 runs" in result.out


def test_a_flow_that_is_none_fails(mvsim, runs):
    from mvsim.runs.archive import read_run, write_run

    dataset, provenance = read_run(runs / "erm.nc")
    write_run(runs / "erm.nc", dataset.assign(dissipation=1.1 * dataset["dissipation"]), provenance)
    result = mvsim("verify", "erm.nc")
    assert result.code == 1
    assert "; checks of the runs: 1 fails" in result.out
    assert "exit code 1 because of Gradient flow (energy balance" in result.out
    assert "but the run may not be what it says it is: Gradient flow (energy balance) fails" in " ".join(result.out.split())


def test_it_is_said_once_that_kernels_are_compiled(mvsim, runs, monkeypatch):
    from contextlib import contextmanager

    @contextmanager
    def compiling_twice(tell):
        tell()
        tell()
        yield

    monkeypatch.setattr("mvsim.cli.verify.on_compilation", compiling_twice)
    assert mvsim("verify", "erm.nc", "--only", "4.6").err.count("mvsim: compiling kernels, up to a minute, once for each method and command\n") == 1
    assert mvsim("verify", "erm.nc", "--only", "4.6", "--quiet").err == ""


def test_statements_about_the_parameters_alone_are_shown_only_if_asked_for(capsys):
    beyond = [
        Verdict(name, "measured", "s", 1.0, 2.0, -0.5, of_parameters=alone) for name, alone in (("Proposition A.3", True), ("Claim B.2", False))
    ]
    print_section(Section("r.nc", beyond))
    out = capsys.readouterr().out
    assert "Claim B.2" in out
    assert "A.3" not in out
    print_section(Section("r.nc", beyond), everything=True)
    assert "Proposition A.3" in capsys.readouterr().out


def test_titles_are_escaped(capsys):
    print_section(Section("r\x1b[31m.nc", [Verdict("Claim", "holds", "it holds", regime="literal")]))
    assert capsys.readouterr().out.startswith("r\\x1b[31m.nc [literal]")


def test_numbers_may_be_a_list_and_in_small_letters(mvsim, runs):
    together, apart = mvsim("verify", "erm.nc", "--only", "b.10,B.11"), mvsim("verify", "erm.nc", "--only", "B.10", "--only", "B.11")
    assert together.out == apart.out
    assert {"B.10", "B.11"} <= set(re.findall(r"B\.\d+", together.out))
    assert mvsim("verify", "erm.nc", "midpoint/b.26").code == 3


def test_the_last_line_counts_contradicted_steps_that_nobody_asked_for():
    theorem = Verdict("Theorem 4.6 (features)", "holds", "s", 1.0, 0.9, kind="theorem", number="4.6")
    steps = [Verdict(f"Claim {number}", "contradicted", "s", kind="step", number=number) for number in ("B.22", "B.26")]
    assert outcome_line([theorem]) == "exit code 0. Parts of theorems: 1 holds"
    assert outcome_line([theorem, steps[0]]).endswith("; not counted: 1 contradicted step of the proofs (--strict counts them)")
    assert "; not counted: 2 contradicted steps of" in outcome_line([theorem, *steps])
    assert "; not counted: 1 " in outcome_line([theorem, *steps], [PAPER.statement("B.22")])
    assert "not counted" not in outcome_line([theorem, *steps], strict=True)


def test_statements_of_a_paper_are_listed(mvsim):
    lines = mvsim("verify", "--list", "midpoint").out.splitlines()
    assert lines == mvsim("verify", "--list").out.splitlines()[: len(lines)]
    assert lines[0].startswith("midpoint: Provably Learning Diverse Features")
    names = [line.split()[0] for line in lines[1::2]]
    assert len(set(names)) == len(names) > 40
    assert {"midpoint/theorem-4.6", "midpoint/lemma-3.2", "midpoint/corollary-B.26", "midpoint/proposition-A.1"} <= set(names)
    assert all(re.fullmatch(r"  midpoint/\S+ \(judged on (runs|data), --k\)", line) for line in lines[1::2])
    assert all(re.match(r" {6}\S", line) for line in lines[2::2])
