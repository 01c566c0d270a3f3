"""Claims B.11 to B.13, about the separation of views, against their formulas."""

import numpy as np
import pytest
from altered_runs import altered, check, with_leaders
from tolerances import CENTRAL_DIFFERENCE, FEW_OPERATIONS

from mvsim.papers.midpoint_mixup.claims import separation
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.run import Run


def test_the_growth_of_the_loser_solves_its_equation():
    """dy/dx = S y^(q-1) / x^(q-1) by small steps of the midpoint rule, a path that the lemma never takes."""
    S, x0, y0, q = 1.7, 2.0, 1.5, 5.0
    x, y, n = x0, y0, 20_000
    for _ in range(n):
        h = 3.0 * x0 / n
        middle = y + 0.5 * h * S * (y / x) ** (q - 1)
        y += h * S * (middle / (x + 0.5 * h)) ** (q - 1)
        x += h
    ratio = np.array([x0 / (S ** (1 / (q - 2)) * y0)])
    assert ratio[0] > 1
    assert separation.loser_growth(ratio, q, x / x0)[0] == pytest.approx(y / y0, rel=CENTRAL_DIFFERENCE)
    assert separation.loser_growth(ratio, q, 1e9)[0] == pytest.approx(separation.loser_growth(ratio, q)[0], rel=FEW_OPERATIONS)


def test_the_tensor_power_lemma_is_decided(erm, monkeypatch):
    leaders = np.array([[1.3, 1.0]] * 4)
    evidence = with_leaders(erm, leaders * (Evidence(erm).signal_strength ** (-1 / 6)))
    monkeypatch.setattr(separation, "separation", lambda e: separation_of(e, 0.0))
    verdict = check("Lemma B.11 (closed form)", evidence)
    assert verdict.status == "holds"
    assert 0 < verdict.measured < 1e-4
    true = separation.iterated_growth
    monkeypatch.setattr(separation, "iterated_growth", lambda log_S, lead, alpha: true(np.log(1.1) + log_S, lead, alpha))
    assert check("Lemma B.11 (closed form)", evidence).status == "contradicted"


def separation_of(evidence, margin):
    from mvsim.papers.midpoint_mixup.claims import initialisation

    class Everyone(initialisation.Separation):
        def separated(self, k):
            return self.ratio >= 1.0 + margin

    return Everyone(*initialisation.separation(evidence))


def power_law(run, C, times, winner_end, view):
    """Own correlations: neuron 1 of ``view`` grows by c' = C S (c / rho)^(alpha-1), all else stands still at a quarter of its start."""
    p, S = run.parameters, Evidence(run).signal_strength
    power, own = p.alpha - 2, np.full((len(times), 4, p.m, 2), np.nan)
    for y in range(4):
        start = 0.3 * p.rho
        own[:, y] = 0.25 * start
        whole = start ** (2 - p.alpha) - (winner_end * p.rho) ** (2 - p.alpha)
        t = times * whole / (power * C * S[y, view] / p.rho ** (p.alpha - 1))
        own[:, y, 1, view] = (start ** (2 - p.alpha) - times * whole) ** (-1 / power)
        if y == 0:
            clock = t
        else:  # one clock for all: the correlation at the times of class 0
            rate = power * C * S[y, view] / p.rho ** (p.alpha - 1)
            own[:, y, 1, view] = np.maximum(start ** (2 - p.alpha) - rate * clock, (5 * p.rho) ** (2 - p.alpha)) ** (-1 / power)
    return own, clock


def test_the_rate_of_the_winner(erm):
    times = np.linspace(0.0, 1.0, 30)
    own, clock = power_law(erm, 1 - 0.3 / 4, times, 0.99, 0)
    dataset = erm.dataset.isel(time=slice(0, 30)).assign_coords(time=("time", clock))
    evidence = altered(Run(dataset, erm.provenance), own_correlations=own, max_correlation=own.max(axis=2))
    verdict = check("Claim B.12 (winner)", evidence)
    assert verdict.measured == pytest.approx(0.3, rel=1e-8)
    assert "4 classes" in verdict.detail
    assert check("Claim B.12 (loser)", evidence).measured is None  # it stands still


def test_the_rate_of_the_loser(erm):
    times = np.linspace(0.0, 0.9, 30)
    own, clock = power_law(erm, 1 + 0.2 / 4, times, 0.99, 0)
    own[:, :, 2, 1] = 0.6 * erm.parameters.rho  # ahead, and it waits
    dataset = erm.dataset.isel(time=slice(0, 30)).assign_coords(time=("time", clock))
    evidence = altered(Run(dataset, erm.provenance), own_correlations=own, max_correlation=own.max(axis=2))
    assert check("Claim B.12 (loser)", evidence).measured == pytest.approx(0.2, rel=1e-8)


@pytest.mark.parametrize(("before", "at_the_escape", "later", "measured"), [(0.2, 0.5, 0.5, 0.2), (0.3, 0.5, 0.2, 0.3), (0.2, 0.2, 0.2, 0.2)])
def test_the_loser_is_followed_up_to_the_escape_of_the_winner(erm, before, at_the_escape, later, measured):
    """In class 0 the winner reaches A at record 20; k (C - 1) of the loser is 0.1, and another one in the stretches that end at records 19, 20 and 21
    or later. The loser stays below A."""
    p, S = erm.parameters, Evidence(erm).signal_strength
    A, power, escape, records = p.rho / (p.delta2 - p.delta1), p.alpha - 2, 20, 30
    excess = [0.1] * (escape - 2) + [before, at_the_escape] + [later] * (records - 1 - escape)
    loser, times = 0.3 * A * 1.02 ** np.arange(records), [0.0]
    for c, then, of_stretch in zip(loser[:-1], loser[1:], excess, strict=True):
        rate = power * (1 + of_stretch / p.k) * S[0, 1] / p.rho ** (p.alpha - 1)  # at which c^-power falls
        times.append(times[-1] + (c**-power - then**-power) / rate)
    own = np.full((records, 4, p.m, 2), 0.01 * A)
    own[:, 0, 1, 1] = loser
    own[:, 0, 2, 0] = np.where(np.arange(records) < escape, 0.9 * A, A)
    assert loser[-1] < 0.9 * A
    dataset = erm.dataset.isel(time=slice(0, records)).assign_coords(time=("time", times))
    evidence = altered(Run(dataset, erm.provenance), own_correlations=own, max_correlation=own.max(axis=2))
    assert check("Claim B.12 (loser)", evidence).measured == pytest.approx(measured, rel=1e-8)


def test_the_loser_for_ever(erm):
    leaders = np.array([[3.0, 1.0], [1.0, 3.0], [3.0, 1.0], [1.0, 1.0]])
    values = np.broadcast_to(leaders, (len(erm.dataset.time), 4, 2)).copy()
    values[10:, 0, 1] = 1.5
    values[20:, 1, 0] = 7.0
    values[:, 0, 0] *= np.linspace(1, 100, len(values))  # the winner may
    verdict = check("Claim B.13", altered(erm, max_correlation=values))
    S = Evidence(erm).signal_strength
    closed = (1 - S[1, 0] / S[1, 1] / 3**6) ** (-1 / 6)
    assert verdict.measured == pytest.approx(7.0 / closed, rel=1e-12)
    assert verdict.violated_at == float(erm.dataset["time"][20])
    assert "2 of 3 separated" in verdict.detail


def test_a_clock_that_stands_still_tells_no_rate(erm):
    """A neuron that starts at rho / 1000 ends its growth within one unit of round-off of the clock; that part has no rate."""
    p, records, C = erm.parameters, 200, 1 - 0.3 / 4
    power, S = p.alpha - 2, Evidence(erm).signal_strength[0, 0]
    c = p.rho * np.geomspace(1e-3, 0.99, records)
    clock = (c[0] ** -power - c**-power) * p.rho ** (p.alpha - 1) / (power * C * S)
    own = np.full((records, 4, p.m, 2), 1e-5 * p.rho)
    own[:, 0, 1, 0] = c
    dataset = erm.dataset.isel(time=[0] * records).assign_coords(time=("time", clock))
    evidence = altered(Run(dataset, erm.provenance), own_correlations=own, max_correlation=own.max(axis=2))
    assert (np.diff(evidence.times) == 0).any()
    rates = separation.neuron_rates(evidence, 0, 0, records)
    assert len(rates.C) > 20
    assert np.abs(rates.C / C - 1).max() < 1e-3
    assert check("Claim B.12 (winner)", evidence).measured == pytest.approx(0.3, abs=4e-3)


@pytest.mark.parametrize("ratio", [1.1, 5.0, 1e30])
def test_the_closed_form_solves_the_recursion_at_any_power(ratio):
    for alpha in (2.01, 2.5, 8.0, 20.0, 64.0):
        log_strength, lead = np.array([-0.7]), np.array([ratio])
        stage, growth = separation.iterated_growth(log_strength, lead, alpha)
        a = lead * np.exp(-log_strength / (alpha - 2.0))
        assert growth == pytest.approx(separation.loser_growth(a, alpha, stage), rel=separation.STEP_ERROR)


@pytest.mark.parametrize(("factor", "status"), [(1.0, "holds"), (3.0, "contradicted"), (0.3, "contradicted")])
def test_escapes_at_other_times_are_outside_the_bracket_of_the_lemma(erm, factor, status):
    """The rate follows from the state, so that a clock that runs slower or faster shows."""
    verdict = check("Lemma B.11 (escape times)", altered(erm, time=factor * erm.dataset["time"].to_numpy()))
    assert verdict.status == status


@pytest.mark.parametrize(
    ("record_before", "record_after", "status"),
    [
        (1.4, 1.5, "holds"),
        (1.049 / 0.5, 9.0, "holds"),
        (1.051 / 0.5, 9.0, "contradicted"),
        (0.1, 1.0 / 1.049 / 0.8, "holds"),
        (0.1, 1.0 / 1.051 / 0.8, "contradicted"),
        (0.1, 9.0, "holds"),
    ],
)
def test_the_bracket_of_an_escape_is_widened_by_a_twentieth(erm, record_before, record_after, status):
    """Class 0 reaches A between two records, at these parts of the time T of the lemma with C = 1. On the way C is from 0.5 to 0.8."""
    p, S = erm.parameters, Evidence(erm).signal_strength
    A, power, start = p.rho / (p.delta2 - p.delta1), p.alpha - 2, 0.3 * p.rho
    T = p.rho / S[0, 0] * ((p.rho / start) ** power - (p.rho / A) ** power) / power
    own = np.full((3, 4, p.m, 2), 0.01 * p.rho)
    own[:, 0, 1, 0] = start, 0.5 * A, A
    gap = np.full((3, 4), 0.6)
    gap[:, 0] = 0.8, 0.5, 0.01  # the last is that of the escape itself, which is not on the way
    times = T * np.array([0.0, record_before, record_after])
    dataset = erm.dataset.isel(time=slice(0, 3)).assign_coords(time=("time", times))
    evidence = altered(Run(dataset, erm.provenance), own_correlations=own, max_correlation=own.max(axis=2), softmax_gap=gap)
    verdict = check("Lemma B.11 (escape times)", evidence)
    assert (verdict.status, verdict.brief) == (status, f"violated by {int(status == 'contradicted')} of 1 classes")
