"""Results that need no runs, as one asks for them: over seeds and k, with controls, from Python and from the command line."""

import json

import pytest

import mvsim
from mvsim.cli import main
from mvsim.errors import UsageError
from mvsim.verification.result_verdicts import control_verdicts, result_over_seeds, trend_over_k
from mvsim.verification.statements.linear_regime.results import RESULTS, Result
from mvsim.verification.verdict import Verdict


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("number", RESULTS)
def test_every_control_turns(number, k):
    result = RESULTS[number]
    parameters = result.parameters(k, {})
    verdicts = control_verdicts(result, parameters)
    assert len(verdicts) == len(result.controls) >= 2
    assert [verdict.name for verdict in verdicts if verdict.status != "holds"] == []


def fake(judge, **fields):
    return Result(**{"name": "Lemma 0", "model": "linear", "points": 10, "judge": judge, "controls": ()} | fields)


def test_over_seeds_the_worst_counts_and_constants_have_medians():
    def judge(parameters, seed):
        status = "fails" if seed == 1 else "holds"
        return [Verdict("Lemma 0", status, "s", float(seed), 0.0, float(seed)), Verdict("Lemma 0 (c)", "measured", "s", (3.0, 5.0, None)[seed])]

    result = fake(judge)
    decided, measured = result_over_seeds(result, result.parameters(4, {}), 3)
    assert (decided.status, decided.name, decided.measured) == ("fails", "Lemma 0, k = 4", 1.0)
    assert "1 fails, 2 holds" in decided.detail
    assert (measured.status, measured.measured) == ("measured", 4.0)
    assert "2 of 3 seeds" in measured.detail


def test_trends_are_exponents():
    verdicts = {k: [Verdict(f"Lemma 0, k = {k}", "holds", "s", 7.0 * k**-2), Verdict(f"Lemma 0 (0), k = {k}", "holds", "s", 0.0)] for k in (4, 2, 9)}
    (trend,) = trend_over_k(verdicts)
    assert trend.name == "Lemma 0 (trend in k)"
    assert abs(trend.measured + 2.0) < 1e-12


def test_a_control_that_does_not_turn_fails():
    control = RESULTS["3.3"].controls[0]
    blind = type(control)(control.name, control.why, lambda parameters, seed: Verdict("x", "holds", "s"))
    (verdict,) = control_verdicts(fake(None, controls=(blind,)), RESULTS["3.3"].parameters(3, {}))
    assert verdict.status == "fails"


def test_from_python():
    verdicts = mvsim.verify(results="3.5", k=(5, 6), seeds=2, controls=True)
    names = [verdict.name for verdict in verdicts]
    assert names[:3] == ["Proposition 3.5, k = 5", "Proposition 3.5, k = 6", "Proposition 3.5 (trend in k)"]
    assert all(name.startswith("Control: ") for name in names[3:])
    assert len(names) == 5


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"results": "9.9"}, r"^result='9\.9': must be one of 3\.2, 3\.3, 3\.4, 3\.5, 4\.4$"),
        ({"results": "3.2", "seeds": 0}, r"^seeds=0: must be an integer >= 1"),
        ({"results": "3.2", "k": (5, 5)}, r"^k=5, 5: give at least one number of classes, each once$"),
        ({"results": "3.2", "rho": 0.1}, r"^rho=0\.1: is always 1\.0 with model='?linear'?; leave it out$"),
        ({"results": "3.2", "runs": "x.nc"}, r"^results=3\.2: are judged without runs; ask for them by themselves$"),
    ],
)
def test_bad_questions(question, message):
    with pytest.raises(UsageError, match=message):
        mvsim.verify(**question)


def test_from_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "--result", "3.5", "--k", "5", "--seeds", "2", "--N", "200"]) == 0
    printed = capsys.readouterr()
    assert "Proposition 3.5, k = 5" in printed.out
    (answer,) = (tmp_path / "mvsim-runs").glob("result-3.5-*.json")
    written = json.loads(answer.read_text(encoding="utf-8"))
    assert written["question"]["results"] == ["3.5"]
    assert written["question"]["parameters"] == {"N": "200"}
    assert main(["verify", "--result", "3.3", "--k", "3", "--seeds", "1"]) == 1  # as written it fails
    assert main(["verify", "--result", "7"]) == 2
    assert main(["verify", "run.nc", "--result", "3.2"]) == 2
    assert "are judged without runs" in capsys.readouterr().err.splitlines()[-1]
