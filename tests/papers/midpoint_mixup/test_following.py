"""Runs in which something is missing are gone on with, so far and no further; what is asked is checked in one place."""

import contextlib
import json

import pytest

import mvsim
from mvsim.judging.statement import Request
from mvsim.judging.verdict import Verdict
from mvsim.papers.midpoint_mixup import over_runs as module
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.judge_run import Judgement
from mvsim.papers.question import Question
from mvsim.runs.run import Run

UNDECIDED = [Verdict("Theorem 4.6 (features)", "inconclusive", "one feature", kind="theorem")]


@pytest.mark.parametrize("follow", [True, False])
def test_a_run_that_is_never_decided_is_followed_so_far_and_no_further(follow, erm, tmp_path, monkeypatch):
    ends = []

    def kept(*arguments, until, **options):
        ends.append(float(erm.dataset["final_time"]) if until is None else until)
        return Run(erm.dataset.assign(final_time=ends[-1]), erm.provenance)

    monkeypatch.setattr(module, "try_kept_run", kept)
    monkeypatch.setattr(module, "judge", lambda run, number, everything=True: Judgement(run, UNDECIDED))
    judgements, stopped = module.judgements_over_seeds("4.6", erm.parameters, Request(1, folder=tmp_path, follow=follow))
    limit = module.FOLLOWING_LIMIT * Evidence(erm).entry_time.min(axis=1).max()
    assert (len(judgements), stopped) == (1, [])
    if follow:
        assert ends[-1] >= limit > ends[-2]
    else:
        assert len(ends) == 1


def test_where_a_class_has_no_escape_the_predicted_one_counts(erm):
    escapes = erm.dataset["entry_time"].copy(data=erm.dataset["entry_time"].values * float("nan"))
    predicted = Evidence(erm).predicted_entry_time.min(axis=1).max()
    assert module._farthest(Run(erm.dataset.assign(entry_time=escapes), erm.provenance)) == pytest.approx(module.FOLLOWING_LIMIT * predicted)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "nothing to verify"),
        ({"what": ("a.nc",), "seeds": 3}, "seeds=3: is for statements without runs; a run has parameters of its own; remove it"),
        ({"what": ("a.nc",), "follow": True}, "follow=True: is for runs that are made for a statement; remove it"),
        ({"what": ("a.nc",), "follow": False, "threads": 2}, "follow=False, threads=2: is for runs that are made for a statement; remove them"),
        ({"what": ("a.nc",), "fields": {"path": "literal"}}, "path='literal': is for statements without runs"),
        ({"controls": True, "fields": {"k": (4,)}}, r"k=\(4,\): is for statements without runs"),
        ({"what": ("midpoint/3.2",), "fields": {"path": "literal"}}, "path='literal': is no argument and no option of Lemma 3.2"),
        ({"what": ("midpoint/3.2",), "threads": 1}, "threads=1: is for runs that are made for a statement"),
        ({"what": ("a.nc", "midpoint/3.2")}, "midpoint/lemma-3.2: judged without runs; ask for it by itself"),
        ({"fields": {"theorem": "4.7"}}, "theorem='4.7': is no option; name statements with their paper, as in midpoint/theorem-4.6"),
        ({"what": ("midpoint/4.6",), "fields": {"zzz": 1}}, "zzz=1: is no argument and no option of Theorem 4.6$"),
        ({"what": ("a.nc",), "fields": {"d": 5}}, "d=5: is for statements without runs"),
        ({"what": ("midpoint/4.6",), "fields": {"d": (5, 6, 7), "k": (4, 5)}}, r"d=\(5, 6, 7\): 3 values for 2 of k; give one, or one for each k"),
        ({"controls": "yes"}, "controls='yes': must be True or False"),
        ({"what": ("midpoint/4.6",), "follow": 1}, "follow=1: must be True or False"),
        ({"what": ("a.nc", "midpoint/claim-B.99")}, "'midpoint/claim-B.99': is no statement of this paper"),
        ({"what": ("midpoint/claim-B.26",)}, "'midpoint/claim-B.26': give midpoint/corollary-B.26$"),
        ({"what": ("midpoint/4.6",), "seeds": 0}, "seeds=0: must be an integer from 1"),
    ],
)
def test_what_would_change_nothing_is_refused(given, said):
    with pytest.raises(mvsim.UsageError, match=said):
        list(Question(**given).sections())


def test_a_dictionary_is_no_list_of_runs():
    with pytest.raises(mvsim.UsageError, match=r"^what=\{'k': 3\}: must be one of them or a list"):
        mvsim.verify({"k": 3})


def test_python_refuses_the_same_as_the_command_line(run_folder):
    for given in ({"seeds": 3}, {"follow": False}, {"path": "literal"}, {"threads": 1}, {"k": 4}, {"folder": "elsewhere"}):
        with pytest.raises(mvsim.UsageError, match="is for "):
            mvsim.verify(run_folder / "erm.nc", **given)


def test_python_shows_the_runs_that_it_makes(erm, tmp_path, monkeypatch):
    titles, shown = [], []

    def kept(*arguments, progress, **options):
        shown.append(progress)
        return erm

    def display(title):
        titles.append(title)
        return contextlib.nullcontext(f"display {len(titles)}")

    monkeypatch.setattr(module, "try_kept_run", kept)
    monkeypatch.setattr(module, "judge", lambda run, number, everything=True: Judgement(run, UNDECIDED))
    mvsim.verify("midpoint/theorem-4.6", k=erm.parameters.k, seeds=2, follow=False, folder=tmp_path, progress=display)
    assert titles == [f"Theorem 4.6, k = {erm.parameters.k}, run {run} of 2" for run in (1, 2)]
    assert shown == ["display 1", "display 2"]
    with pytest.raises(mvsim.UsageError, match=r"progress=True: must be a function .*; give mvsim\.progress_on itself"):
        mvsim.verify("midpoint/4.6", progress=True)
    with pytest.raises(mvsim.UsageError, match="progress: is for runs that are made for a statement; remove it"):
        mvsim.verify("midpoint/3.2", k=4, seeds=1, progress=display)


def test_the_same_question_is_the_same_dictionary():
    default = Question(("midpoint/4.6",))
    assert default.as_dict() == Question(("midpoint/theorem-4.6",), seeds=20, follow=True, fields={"k": 10}).as_dict()
    assert default.as_dict() != Question(("midpoint/4.6",), seeds=3).as_dict()
    assert json.loads(json.dumps(default.as_dict())) == default.as_dict()
