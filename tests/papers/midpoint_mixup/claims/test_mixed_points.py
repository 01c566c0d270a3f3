"""Claims B.15, B.16, B.19 and B.20, about mixed points, against their formulas."""

import numpy as np
import pytest
from altered_runs import at_state, check, learned, pair_outputs, softmax, without_noise
from tolerances import ROUNDOFF

import mvsim
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence


def test_claims_on_mixed_points_by_loops(midpoint):
    evidence = at_state(midpoint, midpoint.final_correlations)
    assert len(evidence.late_snapshots) == 2
    log_k, labels = np.log(4), evidence.data.labels
    sizes, cases, third, ranges, loud = [], [0, 0, 0], [], [], 0
    for snapshot in evidence.late_snapshots:
        outputs = pair_outputs(evidence, snapshot.c)
        low, high, crossed_low, crossed_high = np.full(4, np.inf), np.full(4, 0.0), np.full(4, np.inf), np.full(4, 0.0)
        for i, y in enumerate(labels):
            for j, s in enumerate(labels):
                g, phi = outputs[i, j], softmax(outputs[i, j])
                low[y], high[y] = min(low[y], g[y]), max(high[y], g[y])
                if y != s:
                    ka, kb = np.exp(g[y]), np.exp(g[s])
                    if max(g[u] for u in range(4) if u not in (y, s)) <= log_k / 4:
                        case = 0 if ka >= 2 * (kb + 2) else 2 if ka <= (kb + 2) / 2 else 1
                        cases[case] += 1
                        sizes += [2 * phi[y] - 1] if case == 0 else [1 - 2 * phi[y]] if case == 2 else []
                        third += [1 - 2 * phi[u] for u in range(4) if u not in (y, s)]
                    else:
                        loud += 1
                    crossed_low[y], crossed_high[y] = min(crossed_low[y], g[y]), max(crossed_high[y], g[y])
        ranges.append((low, high, crossed_low, crossed_high))
    verdict = check("Claim B.15", evidence)
    assert verdict.measured == sum(cases) / (sum(cases) + loud) < 1.0
    assert f"; least |1 - 2 phi_y| away from close {min(sizes):.3g};" in verdict.detail
    assert verdict.detail.startswith("{} points with g_y ahead, {} close, {} behind; ".format(*cases))
    assert min(cases[1:]) > 0
    assert check("Corollary B.16", evidence).measured == pytest.approx(min(third), abs=ROUNDOFF)
    low, high, crossed_low, crossed_high = ranges[-1]
    assert (high > log_k).all()
    assert (crossed_high > np.log(3)).all()
    assert check("Claim B.19", evidence).measured == pytest.approx(max(high / low), rel=ROUNDOFF)
    assert check("Claim B.20", evidence).measured == pytest.approx(min(crossed_low) / log_k, rel=ROUNDOFF)


def test_points_on_which_a_third_class_speaks_are_not_those_of_the_claims(midpoint):
    p = midpoint.parameters
    c = learned(p, (6.0, 6.0))
    spoilt = c.copy()
    spoilt[2, 3, 0, :] = 9.0
    good, bad = (at_state(midpoint, state, without_noise(midpoint)) for state in (c, spoilt))
    assert " 0 with other outputs beyond 1 log k / k" in check("Claim B.15", good).detail
    assert " 0 with other outputs beyond 1 log k / k" not in check("Claim B.15", bad).detail
    assert check("Claim B.15", bad).measured < check("Claim B.15", good).measured == 1.0
    assert check("Corollary B.16", good).measured > 0.4
    assert " 0 with other outputs beyond 1 log k / k are left out" in check("Corollary B.16", good).detail
    assert " 0 with other outputs beyond 1 log k / k are left out" not in check("Corollary B.16", bad).detail


def test_uneven_views_spread_outputs_on_mixed_points(midpoint):
    p, data = midpoint.parameters, without_noise(midpoint)
    even, uneven = (check("Claim B.19", at_state(midpoint, learned(p, C), data)) for C in ((9.0, 9.0), (18.0, 0.0)))
    assert 2.0 < even.measured < 2.5 < uneven.measured
    strong, weak = (check("Claim B.20", at_state(midpoint, learned(p, C), data)) for C in ((9.0, 9.0), (6.0, 6.0)))
    assert weak.measured < strong.measured
    assert check("Claim B.20", at_state(midpoint, learned(p, (1.0, 1.0)), data)).measured is None


def test_with_two_classes_there_is_no_third_to_suppose_something_of():
    run = mvsim.simulate(mvsim.Parameters(k=2, N=6), "midpoint", integrator="gd", t_end=12.0, n_test=2)
    verdict = check("Claim B.15", Evidence(run))
    assert " 0 with other outputs beyond" in verdict.detail
    assert "inf" not in verdict.detail
