"""Section 3 and Proposition 4.4 as one asks for them: over seeds and k, with premises and controls, from Python and from the command line."""

import json
from dataclasses import replace

import numpy as np
import pytest

import mvsim
from mvsim.base.errors import UsageError
from mvsim.cli import main
from mvsim.judging.controls import control_section
from mvsim.judging.verdict import Verdict
from mvsim.papers.midpoint_mixup.section_3.sample import LEAST_POINTS
from mvsim.papers.midpoint_mixup.section_3.statements import SECTION_3

STATEMENTS = {statement.number: statement for statement in SECTION_3}


def parameters_of(number, k, **fields):
    return STATEMENTS[number].at([k], fields)[0]


def controls_of(number, setting, seed=0):
    statement = STATEMENTS[number]
    return control_section(statement.name, statement.controls, setting, seed, statement.premises).verdicts


@pytest.mark.parametrize("number", STATEMENTS)
def test_every_control_turns(number):
    assert len(STATEMENTS[number].controls) >= 2
    for k in (2, 3, 5):
        assert [v.name for v in controls_of(number, parameters_of(number, k)) if v.status != "holds"] == [], f"k = {k}"


@pytest.mark.parametrize("k", [2, 5])
def test_the_controls_of_proposition_3_5_turn_with_few_points_too(k):
    """The bound itself holds for any N. That it needs a least beta shows only where some beta is small."""
    verdicts = [one for seed in range(5) for one in controls_of("3.5", parameters_of("3.5", k, N=4 * k), seed)]
    assert {verdict.status for verdict in verdicts} <= {"holds", "not applicable"}
    assert any(verdict.status == "holds" for verdict in verdicts)


@pytest.mark.parametrize("number", ["3.2", "3.3", "3.4", "3.5"])
@pytest.mark.parametrize(
    ("fields", "premise"),
    [
        ({"delta2": 2.0}, "coefficients that add up to delta2 = 2 instead of 1"),
        ({"delta2": 1e6}, "coefficients that add up to delta2 = 1e+06 instead of 1"),
        ({"delta1": 0.01}, "beta on [0.01, 0.99] instead of [0.1, 0.9]"),
        ({"beta_law": {"kind": "discrete", "atoms": [0.5]}}, "not the uniform one"),
        ({"N": 1}, "of N = 1 points 3 of 4 classes have none"),
    ],
)
def test_outside_its_premises_a_result_of_section_3_says_nothing(number, fields, premise):
    """Nothing fails, nothing holds, and what is missing is named; the controls say nothing either."""
    verdicts = mvsim.verify(f"midpoint/{number}", k=4, seeds=2, controls=True, **fields)
    assert {verdict.status for verdict in verdicts} == {"not applicable"}
    assert all(premise in verdict.detail for verdict in verdicts)
    assert {verdict.kind for verdict in verdicts} == {"theorem", "control"}


def test_a_data_set_without_a_point_of_some_class_is_left_out():
    verdict, *_ = mvsim.verify("midpoint/3.5", k=4, seeds=10, N=12)
    assert verdict.status == "holds"
    assert "1 of 10 data sets are left out: N is to be large, and of N = 12 points" in verdict.detail


def test_proposition_3_4_says_nothing_of_classes_with_few_points():
    """With 4 points of a class its pull is negative by chance, which contradicts nothing."""
    parameters = mvsim.Parameters(k=3, model="linear", N=12)
    few = [np.bincount(mvsim.sample_dataset(parameters, seed).labels, minlength=3) for seed in range(5)]
    verdicts = mvsim.verify("midpoint/3.4", k=3, seeds=5, N=12, controls=True)
    assert {verdict.status for verdict in verdicts} == {"not applicable"}
    first = f"class {few[0].argmin()} has {few[0].min()} of N = 12 points, fewer than {LEAST_POINTS}"
    assert all(f"N is to be large: {first}" in verdict.detail for verdict in verdicts)


def test_proposition_3_4_leaves_out_data_sets_whose_smallest_class_is_too_small(monkeypatch):
    """One that has just as many points as are needed is not left out."""
    parameters = parameters_of("3.4", 3)
    smallest = [int(np.bincount(mvsim.sample_dataset(parameters, seed).labels).min()) for seed in range(4)]
    least = sorted(smallest)[2]
    monkeypatch.setattr("mvsim.papers.midpoint_mixup.section_3.sample.LEAST_POINTS", least)
    assert [bool(STATEMENTS["3.4"].premises(parameters, seed)) for seed in range(4)] == [size < least for size in smallest]
    assert min(smallest) < least < max(smallest)


def test_by_default_every_class_has_as_many_points_as_proposition_3_4_needs():
    for k in (2, 3, 5, 10, 20, 50, 200):
        assert [STATEMENTS["3.4"].premises(parameters_of("3.4", k), seed) for seed in range(10)] == [""] * 10, f"k = {k}"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"delta2": 1e6}, "(P - 2 C_P) delta3 ="),
        ({"N": 1}, "N = 1 instead of"),
        ({"G": 4}, "G = 4 noise patterns for 4 classes"),
        ({"P": 16}, "(P - 2 C_P) delta3 ="),
        ({"P": 10, "N": 400, "Q": 1, "noise": "point", "delta3": 0.13, "delta4": 0.14}, "(P - 2 C_P) delta3 = 0.78 delta2, below"),
    ],
)
def test_data_of_which_proposition_4_4_does_not_speak_do_not_refute_it(fields, named):
    verdicts = {verdict.name.split(",")[0]: verdict for verdict in mvsim.verify("midpoint/4.4", k=4, seeds=1, **fields)}
    data, construction = verdicts["Proposition 4.4 (these data)"], verdicts["Proposition 4.4 (construction)"]
    assert data.status == "not applicable"
    assert named in data.detail
    assert construction.status == ("holds" if {"G", "P"} & set(fields) else "not applicable")  # it has a P and noise of its own


def test_data_that_cannot_be_separated_for_another_reason_do_not_confirm_proposition_4_4():
    """Without feature noise at all, some of 20 points of three classes cannot be told apart here."""
    construction, data = mvsim.verify("midpoint/4.4", k=3, seeds=1, delta3=0.0, N=20)
    assert (construction.status, data.status) == ("not applicable", "not applicable")
    assert "Farkas vector" in construction.detail
    assert "not separable, although this is outside what the proposition supposes: (P - 2 C_P) delta3 = 0 delta2" in construction.detail
    assert "noise=point" in construction.detail


def test_section_3_is_about_two_views(capsys):
    for number in STATEMENTS:
        for V in (1, 3):
            assert main(["verify", f"midpoint/{number}", "--k", "4", "--V", str(V)]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert f"V={V}: it is about two views of a class, V=2" in line


def test_a_control_that_does_not_turn_fails():
    statement = STATEMENTS["3.3"]
    blind = replace(statement.controls[0], judge=lambda parameters, seed: [Verdict("x", "holds", "s")])
    (verdict,) = control_section(statement.name, (blind,), parameters_of("3.3", 3)).verdicts
    assert verdict.status == "fails"


def test_from_python():
    verdicts = mvsim.verify("midpoint/3.5", k=(5, 6), seeds=2, controls=True)
    names = [verdict.name for verdict in verdicts]
    parts = ("", " (one class)", " (as written)")
    assert names[:9] == [f"Proposition 3.5{part}{end}" for end in (", k = 5", ", k = 6", " (trend in k)") for part in parts]
    assert all(name.startswith("Control: ") for name in names[9:])
    assert len(names) == 11


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"what": "midpoint/9.9"}, r"^'midpoint/9\.9': is no statement of this paper"),
        ({"what": "midpoint/3.2", "seeds": 0}, r"^seeds=0: must be an integer from 1"),
        ({"what": "midpoint/3.2", "k": (5, 5)}, r"^k=5, 5: give at least one, each k once$"),
        ({"what": "midpoint/3.2", "rho": 0.1}, r"^rho=0\.1: is always 1\.0 with model='?linear'?; leave it out$"),
        ({"what": ["midpoint/3.2", "x.nc"]}, r"^midpoint/lemma-3\.2: judged without runs; ask for it by itself$"),
    ],
)
def test_bad_questions(question, message):
    with pytest.raises(UsageError, match=message):
        mvsim.verify(**question)


def test_from_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "midpoint/proposition-4.4", "--k", "5", "--seeds", "2", "--N", "200"]) == 0
    printed = capsys.readouterr()
    assert "Proposition 4.4 (construction), k = 5" in printed.out
    (answer,) = (tmp_path / "mvsim-runs").glob("midpoint-proposition-4.4-*.json")
    question = json.loads(answer.read_text(encoding="utf-8"))["question"]
    assert question["statements"] == ["midpoint/proposition-4.4"]
    assert question["options"] == {"N": "200", "k": [5]}
    assert main(["verify", "midpoint/3.3", "--k", "3", "--seeds", "1"]) == 1  # as written it fails
