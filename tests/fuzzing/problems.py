"""Tiny problems over the whole allowed domain of `mvsim.Parameters`, followed for a few steps."""

from __future__ import annotations

import contextlib
import json
import math
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from usable import RUNNABLE

import mvsim
from fuzzing import message
from fuzzing.breach import Breach, raised, short
from fuzzing.world import watched
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.runs.simulation.auto import CHOICES

SECONDS = 2.0
"""After which a run is interrupted, as with Ctrl-C: a case is about a few steps."""


@dataclass(frozen=True)
class Problem:
    """A run; ``fields``, ``options`` as JSON, so that a case can be printed and pasted."""

    fields: str
    options: str

    def breaches(self, folder: Path) -> list[Breach]:
        """Run it, with a file, and return what is wrong."""
        fields, options = json.loads(self.fields), json.loads(self.options)
        label, found = f"{options['method']}, {options['integrator']}", []
        file = folder / "run.nc"
        with watched(label) as watch:
            try:
                p = mvsim.Parameters(**fields)
                with _interrupted(SECONDS):
                    run = mvsim.simulate(p, out=file, **options)
                found += self._judged(run, label)
            except mvsim.UsageError as error:
                found += message.breaches(f"mvsim: {error}", (), label)
                if not str(error).startswith("integrator='escapes': there are escapes to follow only with"):
                    found.append(Breach("a legal problem is refused", label, short(str(error))))
            except KeyboardInterrupt:  # before the first step, where there is nothing to save
                pass
            except (mvsim.DivergedError, mvsim.StalledError, mvsim.Interrupted) as error:
                found += message.breaches(f"mvsim: {error}".replace(str(folder), ""), (), label)
            except Exception as error:
                found.append(raised("an exception that is not mvsim's", error))
        left = sorted(path.name for path in folder.iterdir() if path != file)
        return found + ([Breach("files are left behind", label, ", ".join(left))] if left else []) + watch.breaches

    @staticmethod
    def _judged(run: mvsim.Run, label: str) -> list[Breach]:
        found = []
        absent = ("own_output_max", "other_output_max")  # nan for classes without a training point
        for name in ("loss", "gradient_norm", "training_accuracy", "feature_learned", "final_correlations", *absent):
            values = run.dataset[name].to_numpy()
            if np.isinf(values).any() or (name not in absent and np.isnan(values).any()):
                found.append(Breach("a finished run has values that are not finite", name, label))
            elif name in ("loss", "gradient_norm") and values.min() < 0.0:
                found.append(Breach("a finished run has a negative value", name, f"{values.min()}"))
            elif name in ("training_accuracy", "feature_learned") and not 0.0 <= values.min() <= values.max() <= 1.0:
                found.append(Breach("a fraction lies outside [0, 1]", name, f"{values.min()} .. {values.max()}"))
        for text in ("nan", "inf"):
            if f" {text}" in run.summary.lower().replace("infinity", ""):
                found.append(Breach("a summary has a number that is none", text, short(run.summary)))
        return found


@contextlib.contextmanager
def _interrupted(seconds: float) -> Iterator[None]:
    """Press Ctrl-C after so many seconds."""
    before = signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGINT, kept)
        signal.signal(signal.SIGALRM, before)


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    """Return a strategy of numbers from ``low`` to ``high``, as many in each decade; it shrinks to the middle."""
    a, b = math.log10(low), math.log10(high)
    return st.floats(a, b).map(lambda exponent: min(max(10.0**exponent, low), high))


@st.composite
def problems(draw: st.DrawFn, alphas: tuple[float, ...] = (8.0,)) -> Problem:
    """Return a tiny problem; whole powers are taken from ``alphas``, because each has loops of its own to be compiled."""
    k, C_P = draw(st.integers(2, 4)), draw(st.integers(1, 2))
    Q = draw(st.integers(1, k - 1))
    alpha = draw(st.one_of(st.sampled_from(alphas), st.floats(1.0, 64.0).filter(lambda alpha: not alpha.is_integer())))
    delta2 = draw(log_uniform(1e-300, min(1e6, 10.0 ** (300.0 / alpha))))  # delta2^alpha is a double
    delta4 = draw(st.one_of(st.just(0.0), log_uniform(1e-300, 1e6)))
    law = st.one_of(
        st.just({"kind": "uniform"}),
        st.builds(lambda a: {"kind": "beta", "a": a}, log_uniform(1e-6, 1e6)),
        st.sampled_from(({"kind": "discrete", "atoms": [0.5]}, {"kind": "discrete", "atoms": [0, 1]})),
    )
    fields = {
        "k": k, "C_P": C_P, "Q": Q, "m": draw(st.integers(1, 3)), "d": draw(st.integers(0, 300).map(lambda n: max(2 * k, 10**n))),
        "P": draw(st.integers(2 * C_P, 2 * C_P + 4)), "N": draw(st.integers(1, 6)),
        "alpha": alpha,
        "rho": draw(log_uniform(1e-30, 1e6)), "delta1": delta2 * draw(st.floats(1e-3, 0.5)), "delta2": delta2,
        "delta3": delta4 * draw(st.floats(0.0, 1.0)), "delta4": delta4,
        "signal_layout": draw(st.sampled_from(("random", "fixed"))), "noise": draw(st.sampled_from(("codebook", "point", "patch"))),
        "G": draw(st.integers(math.ceil(k / (k - Q)), 8)), "beta_law": draw(law), "codebook_seed": draw(st.integers(0, 3)),
    }  # fmt: skip
    method = draw(st.sampled_from(tuple(OBJECTIVES)))
    integrator = draw(st.sampled_from(tuple(CHOICES)))
    options = {
        "method": method,
        "integrator": integrator,
        "seed": draw(st.integers(0, 3)),
        "n_test": 2,
        "threads": 1,
        "backend": draw(st.sampled_from(RUNNABLE)),
    }
    if integrator == "gd":
        eta = draw(log_uniform(1e-100, 1e100))
        options |= {"eta": eta, "t_end": 3.0 * eta}
    else:
        options |= {"rtol": draw(log_uniform(1e-10, 0.1)), "t_end": draw(log_uniform(1e-300, 1e100))}
    if method == "mixup":
        options |= {"nodes": 2, "mixing": draw(st.sampled_from((0.0, 0.3, 0.5, 1.0, {"distribution": "beta", "args": [0.2, 0.2]})))}
    return Problem(json.dumps(fields), json.dumps(options))
