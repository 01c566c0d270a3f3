"""What the proofs use besides Assumption 4.3 is measured and named."""

import numpy as np
import pytest
from altered_runs import altered
from tiny_run import simulate

from mvsim.papers.midpoint_mixup.assumptions import departures, premises, premises_of_the_proofs
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.judge_run import judge
from mvsim.runs.run import Run


def by_name(evidence):
    return {premise.deviation.name: premise for premise in premises(evidence)}


def test_noise_is_looked_at_over_the_whole_run(midpoint):
    p, largest = midpoint.parameters, np.full(midpoint.dataset["max_correlation"].shape, 0.01)
    off = np.zeros(midpoint.dataset["off_diagonal_max"].shape)
    scale = 2 * p.Q * p.delta4 / p.rho
    largest[7, 2, 1] = 0.09 / scale
    assert by_name(altered(midpoint, max_correlation=largest, off_diagonal_max=off))["noise"].holds
    off[9, 1] = 2.0 / scale
    noise = by_name(altered(midpoint, max_correlation=largest, off_diagonal_max=off))["noise"]
    assert not noise.holds
    assert noise.deviation.value == "2"
    assert f"above 1 from t = {midpoint.dataset['time'].values[9]:.3g}" in noise.deviation.statement


def test_other_parameters(midpoint):
    def with_fields(**fields):
        return by_name(Evidence(Run(midpoint.dataset, midpoint.provenance | {"parameters": midpoint.provenance["parameters"] | fields})))

    p = midpoint.parameters
    assert [name for name, premise in by_name(Evidence(midpoint)).items() if not premise.holds][1:] == ["N_y", "r0"]
    assert with_fields(N=400)["N_y"].holds
    smallest = np.bincount(Evidence(midpoint).data.labels).min()
    assert with_fields()["N_y"].deviation.value == str(smallest)
    at = (0.1 * p.rho / np.log(4)) ** (1 / 6)  # r0 at the border
    d = 2 * np.log(4) / (at * p.rho) ** 2
    assert with_fields(d=int(1.01 * d))["r0"].holds
    assert not with_fields(d=int(0.99 * d))["r0"].holds


@pytest.mark.parametrize("P", [16, 400, 10**6])
def test_no_departure_is_named_twice_with_two_borders(midpoint, P):
    """What parameters alone tell is in their own list: one name, one border, one wording, in the regime of a run and in the label of a verdict."""
    run = Run(midpoint.dataset, midpoint.provenance | {"parameters": midpoint.provenance["parameters"] | {"P": P}})
    evidence = Evidence(run)
    assert not {premise.deviation.name for premise in premises(evidence)} & {deviation.name for deviation in run.parameters.deviations()}
    named = [deviation for deviation in departures(evidence) if deviation.name == "P delta3"]
    assert named == [deviation for deviation in run.parameters.deviations() if deviation.name == "P delta3"]
    assert bool(named) == (P == 16)


def test_the_step_size_counts_beside_the_curvature(midpoint):
    assert "eta" not in by_name(Evidence(midpoint))  # a flow has no step size
    run = simulate("midpoint")
    sharpness = np.nanmax(run.dataset["sharpness"].values)
    assert by_name(Evidence(run))["eta"].deviation.value == f"{3.0 * sharpness:.3g}"
    steep = altered(run, sharpness=np.full(len(run.dataset.time), 0.1))
    assert not by_name(steep)["eta"].holds


def test_the_label_of_every_verdict_names_what_does_not_hold(midpoint):
    evidence = Evidence(midpoint)
    missing = [premise.deviation.name for premise in premises(evidence) if not premise.holds]
    assert missing
    for verdict in judge(midpoint, "4.7", everything=False).verdicts:
        assert set(missing) <= set(verdict.regime.removeprefix("scaled: ").split(", "))
    found = premises_of_the_proofs(evidence)
    assert found.measured == pytest.approx(1.0 - len(missing) / 3)
    assert [d.name for d in departures(evidence)][-len(missing) :] == missing
