"""Every claim of the registry gives a verdict on a settled run of each kind and on a run that never left its start."""

import numpy as np
import pytest
from altered_runs import check
from tiny_run import SETTLING

from mvsim.judging.verdict import Verdict
from mvsim.papers.midpoint_mixup.claims import CLAIMS, claims
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.run import Run

CASES = [(method, name) for method in SETTLING for name, claim in CLAIMS.items() if claim.applies(method == "midpoint")]
every_claim = pytest.mark.parametrize(("method", "name"), CASES)

NOT_YET = {
    "erm": {f"B.{part}" for part in ("2", "4 (off-diagonal)", "4 (T_A)", "5", "6 (afterwards)", "11 (escape times)", "12 (winner)", "12 (loser)")},
    "midpoint": {
        f"B.{part}" for part in ("17 (T_A)", "17 (off-diagonal)", "18 (off-diagonal)", "19", "20", "21", "22", "23", "24", "26", "28 (time)")
    },
}
"""Claims about what happens after the start, without what kind of statement they are."""


def is_number(value):
    return type(value) is float and np.isfinite(value)


def assert_well_formed(name, verdict):
    assert isinstance(verdict, Verdict)
    assert verdict.name == name
    assert verdict.status in ({"holds", "contradicted", "inconclusive", "not applicable"} if CLAIMS[name].decides else {"measured", "not applicable"})
    assert (verdict.status == "not applicable") == (verdict.measured is None)
    for value in (verdict.measured, verdict.bound, verdict.margin, verdict.violated_at):
        assert value is None or is_number(value)
    assert verdict.statement
    assert (verdict.margin is None) == (verdict.measured is None or verdict.bound is None)


@every_claim
def test_every_claim_gives_a_number_on_a_settled_run(name, method, runs):
    verdict = check(name, Evidence(runs[method]))
    assert_well_formed(name, verdict)
    assert is_number(verdict.measured)
    assert verdict.status != "inconclusive" or "without a sign within the error" in verdict.detail


@every_claim
def test_every_claim_can_be_asked_of_a_run_that_never_left_its_start(name, method, runs):
    dataset = runs[method].dataset.isel(time=slice(0, 1), snapshot=slice(0, 1))
    start = dataset["correlations"].values[0]
    dataset = dataset.assign(final_correlations=(dataset["final_correlations"].dims, start), final_step=0, final_time=0.0)
    dataset = dataset.assign(entry_time=dataset["entry_time"] * np.nan)
    verdict = check(name, Evidence(Run(dataset, runs[method].provenance)))
    assert_well_formed(name, verdict)
    assert (verdict.measured is None) == (name.split(" ", 1)[1] in NOT_YET[method])
    assert verdict.status != "contradicted"


def test_every_claim_speaks_of_some_loss_and_says_how():
    for name, claim in CLAIMS.items():
        assert claim.erm or claim.mixing, name
        assert claim.check.__doc__.strip(), name


def test_the_claims_about_a_run_are_those_about_its_loss(run):
    names = [name for name, claim in CLAIMS.items() if claim.applies(run.method == "midpoint")]
    assert [verdict.name for verdict in claims(Evidence(run))] == names
    assert 10 < len(names) < len(CLAIMS)


def test_no_claim_fails_which_is_said_of_runs(run):
    assert [verdict.name for verdict in claims(Evidence(run)) if verdict.status == "fails"] == []
