"""The part of Theorems 4.6 and 4.7 about training accuracy: it is 1 from some time on."""

from __future__ import annotations

import numpy as np

from mvsim.judging.number_text import time_text, times_text
from mvsim.judging.verdict import Verdict, margin_above
from mvsim.papers.midpoint_mixup.evidence.persistence import FACTOR, too_short, training_status, unchanged_since
from mvsim.papers.midpoint_mixup.theorems.definition import Learned
from mvsim.runs.recording.settling import growth_to_settle
from mvsim.runs.run import Run


def accuracy_of(run: Run, learned: Learned) -> np.ndarray:
    """Return (T,): training accuracy at the records, the last of them computed again from the final network."""
    accuracy = run.dataset["training_accuracy"].to_numpy().copy()
    accuracy[-1] = learned.accuracy
    return accuracy


def trained_since(run: Run, learned: Learned) -> float:
    """Return since when training accuracy is 1; infinite if it is not."""
    accuracy = accuracy_of(run, learned)
    return unchanged_since(run.dataset["time"].to_numpy(), accuracy) if accuracy[-1] == 1.0 else np.inf


def training_accuracy(number: str, run: Run, learned: Learned) -> Verdict:
    """Decide whether argmax_s g_s(x_i) = y_i on all training points from some time on."""
    times, accuracy = run.dataset["time"].to_numpy(), accuracy_of(run, learned)
    since, last = unchanged_since(times, accuracy), float(accuracy[-1])
    growth = growth_to_settle(FACTOR, learned.by_definition)
    status = training_status(times, accuracy, growth)
    before = int(((accuracy[:-1] == 1.0) & (accuracy[1:] < 1.0)).sum())
    detail = f"it is {last:.4g} from t = {since:.4g} to {time_text(times[-1], run.parameters.k)}"
    detail += f"; {too_short(last, growth)}" if status == "inconclusive" else ""
    detail += f"; reached and lost {times_text(before)} before" if before else ""
    name, part = f"Theorem {number} (training accuracy)", "training accuracy"
    statement = "training accuracy is 1 from some t on"
    return Verdict(name, status, statement, last, 1.0, margin_above(last, 1.0), detail, number=number, part=part)
