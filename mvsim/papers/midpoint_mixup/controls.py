"""Negative controls: runs and formulas that lack what a statement needs, on which its check must not pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xarray import DataArray

from mvsim.base.errors import DivergedError, StalledError
from mvsim.judging.verdict import STATUSES, Status, Verdict, not_applicable
from mvsim.multi_view.data import Dataset, sample_dataset
from mvsim.multi_view.parameters import Parameters
from mvsim.multi_view.parameters.beta_laws import DiscreteLaw
from mvsim.numerics.random_streams import stream
from mvsim.papers.midpoint_mixup.calculations import CALCULATIONS
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.run_verdicts import evidence_of, judge
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
not responded. Where labels say nothing, training accuracy still changes at t = 10^13, and has to stay for
`mvsim.papers.midpoint_mixup.evidence.persistence.PATIENCE` times as long."""


@dataclass(frozen=True)
class Control:
    """Something taken away, and what the check has to say then.

    Attributes
    ----------
    name : str
        What is different.
    check : str
        "Theorem 4.6", "Theorem 4.7", "Calculations" or "Evidence": whether the run is what it says it is.
    expected : tuple of str
        Statuses that count as right: of the unchanged runs that the check holds, of the others that it does not.
    why : str
        Why the check must not pass.
    judge : callable
        (folder, parameters, seed) -> verdicts of the check.
    parts : tuple of str
        The verdicts that all have to be as expected; without any, the worst one has to.
    """

    name: str
    check: str
    expected: tuple[Status, ...]
    why: str
    judge: Callable[[Path, Parameters, int], list[Verdict]]
    parts: tuple[str, ...] = ()


def _trained(theorem: str, method: str, **options: Any) -> Callable[..., list[Verdict]]:
    """Judge a run by a theorem."""

    def judged(folder: Path, p: Parameters, seed: int) -> list[Verdict]:
        run = kept_run(folder, p, method, seed, **options)
        return _about_theorem(judge(run, theorem, everything=False).verdicts)

    return judged


def _followed(
    theorem: str,
    method: str,
    change: Callable[[Parameters], Parameters] = lambda p: p,
    relabelled: bool = False,
    **options: Any,
) -> Callable[..., list[Verdict]]:
    """Judge a run with changed parameters, options or labels by a theorem, ten times later each time, until it is decided."""

    def judged(folder: Path, p: Parameters, seed: int) -> list[Verdict]:
        q, verdicts = change(p), list[Verdict]()
        data = _relabelled(q, seed) if relabelled else None
        given = options if data is None else {**options, "data": data}
        for decade in range(DECADES[0], DECADES[1] + 1):
            run = kept_run(folder, q, method, seed, until=10.0**decade, **given)
            verdicts = _about_theorem(judge(run, theorem, data, everything=False).verdicts)
            if any(verdict.status == "fails" for verdict in verdicts) or int(run.dataset["final_step"]) > MOST_STEPS:
                break
        return verdicts

    return judged


def _formulas(slope: Callable[[np.ndarray, float, float], np.ndarray] | None = None) -> Callable[..., list[Verdict]]:
    """Compare the engine's gradients with formulas that contain another activation."""

    def judged(folder: Path, p: Parameters, seed: int) -> list[Verdict]:
        evidence = Evidence(kept_run(folder, p, "erm", seed))
        return [calculation.verdict(evidence, **({} if slope is None else {"slope": slope})) for calculation in CALCULATIONS.values()]

    return judged


def _tampered(change: Callable[[Run], Run], shuffled: bool = False, method: str = "erm") -> Callable[..., list[Verdict]]:
    """Judge a run whose file was changed afterwards, or whose labels were, as evidence."""

    def judged(folder: Path, p: Parameters, seed: int) -> list[Verdict]:
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


CONTROLS = (
    Control("nothing changed", "Theorem 4.6", ("holds",), "the statement itself", _trained("4.6", "erm")),
    Control("nothing changed", "Theorem 4.7", ("holds",), "the statement itself", _trained("4.7", "midpoint")),
    Control("nothing changed", "Calculations", ("holds",), "the statements themselves", _formulas()),
    Control("beta constant", "Theorem 4.7", ("fails",), "without variance the softmax at midpoints does not see which view is learned, "
            "and with fixed places no patch holds both", _followed("4.7", "midpoint", _constant_beta)),
    Control("alpha = 1", "Theorem 4.6", ("fails",), "linear neurons have no threshold, so neither view falls behind",
            _followed("4.6", "erm", lambda p: _faint_noise(p).replace(alpha=1.0))),
    Control("large start, r0 = 1", "Theorem 4.6", ("fails",), "both views begin at the threshold", _followed("4.6", "erm", _large_start)),
    Control("labels shuffled", "Theorem 4.6", ("fails",), "labels say nothing about features",
            _followed("4.6", "erm", _without_noise, relabelled=True)),
    Control("lambda = 1, which is ERM", "Theorem 4.7", ("fails",), "nothing is mixed", _followed("4.7", "mixup", mixing=1.0)),
    Control("stopped too early", "Theorem 4.6", ("inconclusive",), "nothing has lasted", _trained("4.6", "erm", t_end=100.0)),
    Control("stopped too early", "Theorem 4.7", ("inconclusive",), "nothing has lasted", _trained("4.7", "midpoint", t_end=100.0)),
    Control("nothing changed", "Evidence", ("holds",), "the run as it was made", _tampered(lambda run: run)),
    Control("times t^1.5", "Evidence", ("fails",), "the clock is that of the flow", _tampered(with_times), REPLAY),
    Control("a wait for an escape shortened", "Evidence", ("fails",), "dormant neurons take their time to grow",
            _tampered(with_wait_cut, method="midpoint"), REPLAY),
    Control("rho halved", "Evidence", ("fails",), "another activation leads elsewhere", _tampered(with_parameters(rho=lambda p: p.rho / 2.0)),
            REPLAY),
    Control("alpha - 1", "Evidence", ("fails",), "another activation leads elsewhere", _tampered(with_parameters(alpha=lambda p: p.alpha - 1.0)),
            REPLAY),
    Control("d doubled", "Evidence", ("fails",), "the first state is drawn with the d of the run", _tampered(with_parameters(d=lambda p: 2 * p.d))),
    Control("correlations / 5", "Evidence", ("fails",), "smaller correlations lead elsewhere", _tampered(with_smaller_correlations), REPLAY),
    Control("training accuracy raised", "Evidence", ("fails",), "the flow has another one there", _tampered(with_training_accuracy_raised)),
    Control("dead final network", "Evidence", ("fails",), "the flow does not lead there", _tampered(with_dead_network), REPLAY),
    Control("labels shuffled", "Evidence", ("fails",), "other labels lead elsewhere", _tampered(lambda run: run, shuffled=True), REPLAY),
    Control("no clip at z < 0", "Calculations", ("fails",), "R' is not 0 for z < 0", _formulas(unclipped_slope),
            ("Calculation A.6", "Calculation A.9", "Calculation A.10")),
    Control("linear activation", "Calculations", ("fails",), "R' is 1 below the threshold", _formulas(linear_slope),
            ("Calculation A.6", "Calculation A.7 (own feature)", "Calculation A.9", "Calculation A.10")),
    Control("slope 0.9 when linear", "Calculations", ("fails",), "R' is not 1 beyond the threshold", _formulas(softer_slope),
            ("Calculation A.6", "Calculation A.8", "Calculation A.9", "Calculation A.10")),
)  # fmt: skip
"""The unchanged runs first. Of altered runs the replay has to notice what leads elsewhere, whatever records say. Theorem 4.6, the part of Theorem 4.7
about features and every calculation have a control; the claims that are decided have theirs in the tests."""


@dataclass(frozen=True)
class Outcome:
    """What a control came to.

    Attributes
    ----------
    control : Control
        The control.
    verdicts : list of Verdict
        Of its check.
    """

    control: Control
    verdicts: list[Verdict]

    @property
    def status(self) -> Status:
        """What the check says as a whole: its worst part."""
        statuses = {verdict.status for verdict in self.verdicts}
        return next(status for status in STATUSES if status in statuses)

    @property
    def as_expected(self) -> bool:
        """Whether the check says what it must."""
        looked_at = [v.status for v in self.verdicts if v.name in self.control.parts] or [self.status]
        return all(status in self.control.expected for status in looked_at) and len(looked_at) >= len(self.control.parts)

    @property
    def _telling(self) -> Verdict:
        """The verdict that decides: a part that has not turned, else the first of the parts, without any the worst one."""
        looked_at = [v for v in self.verdicts if v.name in self.control.parts] or [v for v in self.verdicts if v.status == self.status]
        return next((v for v in looked_at if v.status not in self.control.expected), looked_at[0])

    def verdict(self) -> Verdict:
        """Return whether the check says what it must, as a verdict on the check."""
        told = self._telling
        statement = f"{self.control.check} with {self.control.name}: must be {' or '.join(self.control.expected)}, {self.control.why}"
        return Verdict(
            f"Control: {self.control.name} ({self.control.check})",
            "holds" if self.as_expected else "fails",
            statement,
            told.measured,
            told.bound,
            told.margin,
            f"{told.status}; {told.name}: {told.detail}",
            told.violated_at,
            told.regime,
            kind="control",
        )


def run_controls(folder: Path, parameters: Parameters, seed: int = 0) -> Iterator[Outcome]:
    """Yield the outcome of every control, each as soon as it is there.

    Parameters
    ----------
    folder : Path
        Where runs are kept.
    parameters : Parameters
        Under which both theorems hold.
    seed : int
        Of all runs.
    """
    for control in CONTROLS:
        try:
            yield Outcome(control, control.judge(folder, parameters, seed))
        except (DivergedError, StalledError) as error:  # it has not said what it must, and the others go on
            stopped = not_applicable(control.check, f"{control.check} with {control.name}", f"its run could not be followed: {error}")
            yield Outcome(control, [stopped])
