"""Negative controls: runs and formulas that lack what a statement needs, on which its check must not pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from xarray import DataArray

from mvsim.judging.statement import Control
from mvsim.judging.verdict import Verdict
from mvsim.multi_view.data import Dataset, sample_dataset
from mvsim.multi_view.parameters import Parameters
from mvsim.multi_view.parameters.beta_laws import DiscreteLaw
from mvsim.numerics.random_streams import stream
from mvsim.papers.midpoint_mixup.calculations.calculations import CALCULATIONS
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.judge_run import evidence_of, judge
from mvsim.runs.run import Run
from mvsim.runs.simulation.run_cache import kept_run

CORRELATIONS = ("own_correlations", "max_correlation", "total_correlation", "correlations", "final_correlations")
"""Variables that a run with smaller correlations has otherwise, all by the same factor."""

REPLAY = ("Replay (states)",)
"""The verdict on where a run leads from its saved states."""

TIMES = ("snapshot_time", "final_time", "escape_time", "entry_time")
"""Variables that are times, beside those of the records."""

DECADES, MOST_STEPS = (5, 20), 20_000
"""Powers of ten between which controls are followed until their check has decided, and the steps after which they are given up: then the check has
not responded."""

CONTROL_PARAMETERS = {"k": 4, "d": 2000}
"""Both theorems hold there, so a check that does not pass has its own reason, and runs are short."""


class KeptRuns(NamedTuple):
    """The setting of controls on runs: their parameters, and the folder where runs are kept."""

    parameters: Parameters
    folder: Path


def _trained(theorem: str, method: str, **options: Any) -> Callable[..., list[Verdict]]:

    def judged(setting: KeptRuns, seed: int) -> list[Verdict]:
        p, folder = setting
        run = kept_run(folder, p, method, seed, **options)
        return _about_theorem(judge(run, theorem, everything=False).verdicts)

    return judged


def _followed(
    theorem: str, method: str, change: Callable[[Parameters], Parameters] = lambda p: p, relabelled: bool = False, **options: Any
) -> Callable[..., list[Verdict]]:
    """Judge a run with changed parameters, options or labels by a theorem, ten times later each time, until it is decided."""

    def judged(setting: KeptRuns, seed: int) -> list[Verdict]:
        p, folder = setting
        q, verdicts = change(p), list[Verdict]()
        data = _relabelled(q, seed) if relabelled else None
        run_options = options if data is None else {**options, "data": data}
        for decade in range(DECADES[0], DECADES[1] + 1):
            run = kept_run(folder, q, method, seed, until=10.0**decade, **run_options)
            verdicts = _about_theorem(judge(run, theorem, data, everything=False).verdicts)
            if any(verdict.status == "fails" for verdict in verdicts) or int(run.dataset["final_step"]) > MOST_STEPS:
                break
        return verdicts

    return judged


def _formulas(slope: Callable[[np.ndarray, float, float], np.ndarray] | None = None) -> Callable[..., list[Verdict]]:

    def judged(setting: KeptRuns, seed: int) -> list[Verdict]:
        p, folder = setting
        evidence = Evidence(kept_run(folder, p, "erm", seed))
        return [calculation.verdict(evidence, **({} if slope is None else {"slope": slope})) for calculation in CALCULATIONS.values()]

    return judged


def _tampered(change: Callable[[Run], Run], shuffled: bool = False, method: str = "erm") -> Callable[..., list[Verdict]]:

    def judged(setting: KeptRuns, seed: int) -> list[Verdict]:
        p, folder = setting
        run = change(kept_run(folder, p, method, seed))
        return evidence_of(Evidence(run, _relabelled(p, seed) if shuffled else None))

    return judged


def _relabelled(p: Parameters, seed: int) -> Dataset:
    """Return the training points with their labels dealt out anew; a point keeps its patches, whose features are those of the class it came from."""
    data = sample_dataset(p, seed)
    return Dataset.from_patches(stream(seed, "shuffled labels").permutation(data.labels), data.to_patches())


def with_times(run: Run) -> Run:
    """Return a run whose times t were replaced by t^1.5."""
    return with_clock(run, lambda t: t**1.5, ("snapshot_time", "final_time"))


def with_wait_cut(run: Run) -> Run:
    """Return a run out of whose clock nine tenths of the wait for the last escape were taken: all that came later is as much earlier."""
    end = float(np.nanmax(run.dataset["escape_time"]))
    start = max(float(time) for time in run.dataset["snapshot_time"] if time < end)
    return with_clock(run, lambda t: t.where(t <= start, start + 0.1 * (np.minimum(t, end) - start) + np.maximum(t - end, 0.0)), TIMES)


def with_clock(run: Run, change: Callable[[DataArray], DataArray], names: Sequence[str]) -> Run:
    """Return a run with other times at its records and in the variables with these names."""
    dataset = run.dataset
    return Run(dataset.assign_coords(time=change(dataset["time"])).assign({name: change(dataset[name]) for name in names}), run.provenance)


def with_parameters(**changed: Callable[[Parameters], float]) -> Callable[[Run], Run]:
    """Return a change of a run that replaces parameters in its file."""

    def change(run: Run) -> Run:
        fields = run.provenance["parameters"] | {name: of(run.parameters) for name, of in changed.items()}
        return Run(run.dataset, run.provenance | {"parameters": fields})

    return change


def with_smaller_correlations(run: Run) -> Run:
    """Return a run whose correlations were all divided by 5."""
    return Run(run.dataset.assign({name: 0.2 * run.dataset[name] for name in CORRELATIONS}), run.provenance)


def with_training_accuracy_raised(run: Run) -> Run:
    """Return a run whose training accuracy is 1 at every record that is no saved state, with margins and softmax gaps that agree with it."""
    dataset = run.dataset
    free = ~dataset["step"].isin(dataset["snapshot_step"].to_numpy())
    least = 1.0 / run.parameters.k  # what the softmax of a right answer exceeds
    forged = {
        "training_accuracy": dataset["training_accuracy"].where(~free, 1.0),
        "margin_min": dataset["margin_min"].where(~free, np.maximum(np.abs(dataset["margin_min"]), 1e-3)),
        "softmax_gap": dataset["softmax_gap"].where(~free, np.minimum(dataset["softmax_gap"], 0.99 * (1.0 - least))),
    }
    return Run(dataset.assign(forged), run.provenance)


def with_dead_network(run: Run) -> Run:
    """Return a run whose final network was set to 0."""
    return Run(run.dataset.assign(final_correlations=0.0 * run.dataset["final_correlations"]), run.provenance)


def _about_theorem(verdicts: list[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.kind == "theorem"]


def unclipped_slope(z: np.ndarray, rho: float, alpha: float) -> np.ndarray:
    """R' without the clip at z < 0."""
    return np.minimum(z / rho, 1.0) ** (alpha - 1.0)


def linear_slope(z: np.ndarray, rho: float, alpha: float) -> np.ndarray:
    """R' of the ReLU without a polynomial part."""
    return (z > 0.0).astype(np.float64)


def softer_slope(z: np.ndarray, rho: float, alpha: float) -> np.ndarray:
    """R' with 0.9 instead of 1 beyond the threshold."""
    return np.where(z >= rho, 0.9, np.clip(z / rho, 0.0, 1.0) ** (alpha - 1.0))


def _constant_beta(p: Parameters) -> Parameters:
    """Set all beta equal, and signals at fixed places, in which no neuron meets both views of its class in one patch."""
    return p.replace(beta_law=DiscreteLaw(atoms=(0.5,)), signal_layout="fixed")


def _large_start(p: Parameters) -> Parameters:
    """Set d so that the largest initial correlation is at the threshold, r0 = 1."""
    return _faint_noise(p).replace(d=max(1, int(p.d * p.r0**2)))


def _faint_noise(p: Parameters) -> Parameters:
    """Set P = k^2, so that noise is below the signal: with more, a neuron without a threshold may come to rest where its slope jumps."""
    return p.replace(P=max(p.k**2, p.V * p.C_P))


def _without_noise(p: Parameters) -> Parameters:
    """Leave out the noise: where labels say nothing, thousands of steps go into neurons that come to rest on it."""
    return _faint_noise(p).replace(delta3=0.0, delta4=0.0)


CONTROLS: tuple[Control, ...] = (
    Control("nothing changed", "the statement itself", _trained("4.6", "erm"), ("holds",), check="Theorem 4.6"),
    Control("nothing changed", "the statement itself", _trained("4.7", "midpoint"), ("holds",), check="Theorem 4.7"),
    Control("nothing changed", "the statements themselves", _formulas(), ("holds",), check="Calculations"),
    Control("beta constant", "without variance the softmax does not see which view is learned, and with fixed places no patch holds both",
            _followed("4.7", "midpoint", _constant_beta), ("fails",), check="Theorem 4.7"),
    Control("alpha = 1", "linear neurons have no threshold, so neither view falls behind",
            _followed("4.6", "erm", lambda p: _faint_noise(p).replace(alpha=1.0)), ("fails",), check="Theorem 4.6"),
    Control("large start, r0 = 1", "both views begin at the threshold", _followed("4.6", "erm", _large_start), ("fails",), check="Theorem 4.6"),
    Control("labels shuffled", "labels say nothing about features", _followed("4.6", "erm", _without_noise, relabelled=True), ("fails",),
            check="Theorem 4.6"),
    Control("lambda = 1, which is ERM", "nothing is mixed", _followed("4.7", "mixup", mixing=1.0), ("fails",), check="Theorem 4.7"),
    Control("stopped too early", "nothing has lasted", _trained("4.6", "erm", t_end=100.0), ("inconclusive",), check="Theorem 4.6"),
    Control("stopped too early", "nothing has lasted", _trained("4.7", "midpoint", t_end=100.0), ("inconclusive",), check="Theorem 4.7"),
    Control("nothing changed", "the run as it was made", _tampered(lambda run: run), ("holds",), check="Evidence"),
    Control("times t^1.5", "the clock is that of the flow", _tampered(with_times), ("fails",), REPLAY, check="Evidence"),
    Control("a wait for an escape shortened", "dormant neurons take their time to grow", _tampered(with_wait_cut, method="midpoint"), ("fails",),
            REPLAY, check="Evidence"),
    Control("rho halved", "another activation leads elsewhere", _tampered(with_parameters(rho=lambda p: p.rho / 2.0)), ("fails",), REPLAY,
            check="Evidence"),
    Control("alpha - 1", "another activation leads elsewhere", _tampered(with_parameters(alpha=lambda p: p.alpha - 1.0)), ("fails",), REPLAY,
            check="Evidence"),
    Control("d doubled", "the first state is drawn with the d of the run", _tampered(with_parameters(d=lambda p: 2 * p.d)), ("fails",),
            check="Evidence"),
    Control("correlations / 5", "smaller correlations lead elsewhere", _tampered(with_smaller_correlations), ("fails",), REPLAY, check="Evidence"),
    Control("training accuracy raised", "the flow has another one there", _tampered(with_training_accuracy_raised), ("fails",), check="Evidence"),
    Control("dead final network", "the flow does not lead there", _tampered(with_dead_network), ("fails",), REPLAY, check="Evidence"),
    Control("labels shuffled", "other labels lead elsewhere", _tampered(lambda run: run, shuffled=True), ("fails",), REPLAY, check="Evidence"),
    Control("no clip at z < 0", "R' is not 0 for z < 0", _formulas(unclipped_slope), ("fails",),
            ("Calculation A.6", "Calculation A.9", "Calculation A.10"), check="Calculations"),
    Control("linear activation", "R' is 1 below the threshold", _formulas(linear_slope), ("fails",),
            ("Calculation A.6", "Calculation A.7 (own feature)", "Calculation A.9", "Calculation A.10"), check="Calculations"),
    Control("slope 0.9 when linear", "R' is not 1 beyond the threshold", _formulas(softer_slope), ("fails",),
            ("Calculation A.6", "Calculation A.8", "Calculation A.9", "Calculation A.10"), check="Calculations"),
)  # fmt: skip
"""The unchanged runs first. Of altered runs the replay has to notice what leads elsewhere, whatever records say. Theorem 4.6, the part of Theorem 4.7
about features and every calculation have a control; the claims that are decided have theirs in the tests."""
