"""A run replayed: from its saved states to the records that follow it has to go where the file says that it went."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mvsim.flow import INTEGRATORS
from mvsim.flow.flow import RISE
from mvsim.judging.verdict import Count, Verdict, at_most, constant, not_applicable
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.run_checks.closeness import Distance
from mvsim.papers.midpoint_mixup.run_checks.gradient_flow import WIDEST
from mvsim.papers.midpoint_mixup.run_checks.origin import largest_at_most
from mvsim.papers.midpoint_mixup.run_checks.replay import FINER, DescentReplay, FlowReplay, replayed_within
from mvsim.papers.midpoint_mixup.run_checks.stretches import Budget, stretches

LARGEST, PART, OF_MOST = 500.0, 0.9, 250.0
"""Most difference of any record from the replay, and of nine of ten of them, in units of the tolerance of one step.

An escape may come 10 rtol earlier or later, relative to its time. Under ERM a learned feature grows by dc / d ln t = 4.5 until a late second view
escapes (k = 6, t = 10^10), and is off by 10 rtol 4.5 = 250 tolerances from then on. In the study paths nine of ten records differ by up to 161, in
40 default runs (docs/concepts.md) by 53; a last record of ERM whose time is wrong by a fifth differs by 900."""

LOSS = 20.0
"""Most difference of ln J at a record from the replay, in units of rtol, as `mvsim.flow.flow.IMBALANCE` allows it. A time that is wrong by a fifth
makes 140."""

OWN_SIZE = 10.0
"""Most difference of a dormant own correlation from the replay, relative to its own size, in units of rtol; at most 0.54 in 40 default runs. Those
of a size below s = 0.3 / sqrt(d) are compared relative to s."""

REPEATED = 1e-6
"""Most difference of gradient descent from its repetition, relative to the largest correlation: round-off, which an escape magnifies."""

DRAWS = 1.5
"""Most difference in the number of fresh draws of a class on which a view suffices: one may turn by the errors of both."""

POINTS = 1.5
"""Most difference in the number of training points that are right, for the same reason."""

TELLING = 0.5
"""Difference of a fraction of draws from which on one that is allowed tells nothing."""

MARGIN = 20.0
"""Most difference of a least margin from the replay, over 1 + |margin|, in units of rtol: a margin is a difference of two outputs, and the flow
is to get each of them right to 10 rtol (study `flow_accuracy`)."""

STEPS, STEPS_OF_DESCENT, EXPONENTIALS = 2000, 20_000, 2e9
"""Steps of a replay that take all of its time where there are few points, those of gradient descent, which solve no equations, and exponentials that
do where there are many pairs of points."""


def replayed(evidence: Evidence, part: float = 1.0) -> list[Verdict]:
    """Replay a run in parts, and compare."""
    integrator = INTEGRATORS.get(evidence.run.provenance["integrator"]["name"])
    if integrator is None:
        return []
    p, options = evidence.parameters, evidence.run.provenance["options"]
    points = p.N * (p.N + 1) // 2 if type(evidence.objective).sums_all_pairs_with(options) else p.N
    how = FlowReplay if integrator.follows_flow else DescentReplay
    replays = [how(evidence, stretch) for stretch in stretches(evidence)]
    if not replays:
        statement = "from saved states the run goes to the records that follow"
        if len(evidence.times) < 2:
            return [not_applicable("Replay (states)", statement, "there is one record")]
        return [Verdict("Replay (states)", "fails", statement, detail=f"none of {len(evidence.times)} records follows a saved state")]
    steps = STEPS if integrator.follows_flow else STEPS_OF_DESCENT
    begun = replayed_within(replays, Budget(part * steps, part * EXPONENTIALS / (points * p.k)))
    parts = [replay.result for replay in begun]
    times = np.concatenate([part.times for part in parts])
    apart = dict(zip(Distance._fields, np.array([distance for part in parts for distance in part.distances]).T, strict=True))
    made = Count(sum(replay.stretch.steps[replay.reached - 1] for replay in begun), int(evidence.run.dataset["final_step"]), "steps")
    points = len(evidence.times) - 1 + sum(replay.stretch.end is not None for replay in replays)
    covered = f"{len(times)} of {points} records, after {len(begun)} saved states, {made}"
    covered += "" if times.max() >= evidence.times[-1] else ", not to the end"

    def largest(part: str, statement: str, of: str, bound: float, detail: str = "at t = {}") -> Verdict:
        return largest_at_most(f"Replay ({part})", statement, apart[of], times, bound, detail)

    flows, rtol, rise = integrator.follows_flow, evidence.rtol, max(part.rise for part in parts)
    followed = f"largest difference from the flow integrated from saved states with rtol = {FINER * rtol:g}, in units of the tolerance of a step"
    repeated = "gradient descent from saved states, repeated, leads to the records: largest difference relative to the largest correlation"
    states = largest("states", followed if flows else repeated, "state", LARGEST if flows else REPEATED, f"{covered}; largest at t = {{}}")
    statement = "fractions of fresh draws on which a view suffices, beside those of the replay at times close to theirs: largest difference"
    learned = largest("features", statement, "features", DRAWS / options["n_test"])
    if DRAWS / options["n_test"] >= TELLING:
        learned = replace(learned, status="inconclusive", detail=f"with n_test = {options['n_test']} no fraction tells; take 4 draws or more")
    statement = "training accuracy beside that of the replay at times close to its own: largest difference"
    accuracy = largest("training accuracy", statement, "accuracy", POINTS / p.N)
    statement = "least margins of training points, beside those of the replay at times close to theirs: largest difference over 1 + |margin|"
    margins = largest("margins", statement, "margin", MARGIN * rtol if flows else REPEATED)
    if not integrator.controls_outputs:
        unbounded = f"{margins.detail}; integrator {integrator.name} bounds no error of outputs"
        margins = constant(margins.name, statement, margins.measured, detail=unbounded)
    if np.isnan(evidence.least_margin).all():
        margins = not_applicable(margins.name, statement, "the file has no margins: it is of an earlier version, or was changed")
    verdicts = [replace(states, count=made), learned, accuracy, margins]
    if not flows:
        statement = "largest rise of ln J in one step of gradient descent; negative if it falls in every step"
        return [*verdicts, constant("Replay (descent)", statement, rise)]
    most = at_most("Replay (most states)", f"the same of {PART:g} of the records", float(np.quantile(apart["state"], PART, method="lower")), OF_MOST)
    statement = "dormant own correlations, beside those of the replay at times close to theirs: largest difference, each relative to its own size"
    dormant = largest("dormant", statement, "dormant", OWN_SIZE * rtol)
    statement = "ln J at the records, beside that of the replay at times close to theirs: largest difference"
    losses = largest("losses", statement, "loss", min(LOSS * rtol, WIDEST))
    statement = f"the loss falls in every step: largest rise of ln J in one of the {sum(part.steps for part in parts)} steps of the replay"
    return [verdicts[0], most, dormant, losses, *verdicts[1:], at_most("Replay (descent)", statement, rise, RISE * FINER * rtol)]
