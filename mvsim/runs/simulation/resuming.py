"""Whether a saved run is the one that is asked for."""

from __future__ import annotations

from typing import Any

from mvsim.base.echo import echo, path_text
from mvsim.base.errors import UsageError
from mvsim.base.inputs import joined
from mvsim.base.warn import warn
from mvsim.flow import INTEGRATORS, Integrator, State
from mvsim.runs.recording.recorder import Recorder
from mvsim.runs.recording.saving import MEMORY, restore
from mvsim.runs.simulation.options import FREE


def refuse_other_run(now: dict[str, Any], saved: dict[str, Any], out: Any) -> None:
    """Raise `UsageError` with the first differences if ``saved`` is the provenance of another run than ``now``."""
    differences = _differences(now["parameters"], saved["parameters"])
    differences += _differences(*({name: of[name] for name in ("method", "seed")} for of in (now, saved)))
    flags = {"name": "integrator", **{integrator.option: integrator.letter for integrator in INTEGRATORS.values()}}
    differences += _differences(*_stepping(now["integrator"], saved["integrator"]), flags)
    differences += _differences(*({name: value for name, value in of["options"].items() if name not in (*FREE, "algorithm")} for of in (now, saved)))
    if differences:
        advice = "give the saved values, another file, or --force to overwrite"
        raise UsageError(f"{path_text(out)}: holds another run: {joined(differences)}; {advice}")


def warn_of_other_kernels(algorithm: str, saved: dict[str, Any], out: Any) -> None:
    """Warn if a run goes on with another algorithm than it has been computed with last: they agree to round-off, not in their bits."""
    last = (saved.get("continued") or [{}])[-1].get("algorithm", saved["options"].get("algorithm"))
    if last not in (None, algorithm):
        what = f"{path_text(out)}: computed with {echo(last)} so far, goes on with {echo(algorithm)}"
        warn(f"{what}; results agree within the tolerance of the run, their bits do not")


def refuse_going_back(saved: Any, t_end: float | None, integrator: Integrator, out: Any) -> None:
    """Raise `UsageError` if a saved run, data set and provenance, is asked to end earlier than it already is; of a finished one, only warn.

    A finished run that is longer than what is asked for is what every caller gets, so that none is lost or made twice.
    """
    reached = float(saved[0]["final_time"])
    if t_end is None or reached <= t_end * (1.0 + 1e-12) + (integrator.learning_rate or 0.0):  # the first step that reaches t_end is the last
        return
    if saved[1]["status"] == "finished":
        warn(f"t_end={t_end:g}: {path_text(out)} has finished at t = {reached:.6g} already, and is left as it is")
        return
    advice = "give a later time, another file, or --force to overwrite"
    raise UsageError(f"t_end={t_end:g}: {path_text(out)} is at t = {reached:.6g} already; {advice}")


def restore_run(recorder: Recorder, dataset: Any, integrator: Integrator, out: Any) -> tuple[State, State]:
    """Let a recorder take over a saved run; return its final state and the one from which it can go on."""
    advice = "make the run again with --force"
    try:
        return restore(recorder, dataset, integrator)
    except KeyError as error:
        raise UsageError(f"{path_text(out)}: cannot go on: the file lacks {MEMORY}{error.args[0]}, which the integrator needs; {advice}") from None
    except ValueError as error:
        raise UsageError(f"{path_text(out)}: cannot go on: its memory does not fit together ({error}); {advice}") from None


def _stepping(now: dict[str, Any], saved: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what fixes the steps of two runs: the integrators alone if they are not the same, since each has options of its own."""
    names = ["name"] if now["name"] != saved.get("name") else [name for name in now if name not in FREE]
    return {name: now[name] for name in names}, {name: saved.get(name) for name in names}


def _differences(now: dict[str, Any], saved: dict[str, Any], names: dict[str, str] | None = None) -> list[str]:
    differing = [name for name in now | saved if now.get(name) != saved.get(name)]
    return [f"{(names or {}).get(name, name)}={echo(now.get(name))} (saved: {echo(saved.get(name))})" for name in differing]
