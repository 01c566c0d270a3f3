"""What the study of performance measured, held against its targets and in words."""

from __future__ import annotations

from typing import Any

from lib.tables import met

NAMES = {
    "numpy": "readable kernel (NumPy)",
    "torch as written": "PyTorch autograd as written",
    "torch": "PyTorch autograd at its best",
    "jax": "JAX, compiled by XLA",
}

LOST = {"without moments": "every neuron by itself", "with exponentials": "an exponential for each pair and class"}
"""Designs of the engine that lost."""

COST = "term-by-term cost"
"""What evaluating each activation and exponential of the sum one by one in the best loops of the machine would cost."""

MIB = 2.0**20


def targets(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every target with what was measured and whether it is met; one whose library is missing is not met and says so."""
    compared, main, general, memory = (results[part] for part in ("comparison", "main size", "general", "memory"))
    states = [main["states"][name] for name in ("initial", "escaped")]
    torch = compared["seconds"].get("torch as written")
    gain = None if torch is None else torch / ours(compared)
    first = memory["rows"][0]
    ratios = [row["predicted_over_measured"] for row in memory["rows"]]
    return [
        _at_least("times faster than PyTorch autograd as written", gain, 1000.0),
        _at_most("main size, one thread: time over the limit", max(state["ratio"] for state in states), 1.5),
        _at_least("main size: speed-up on two threads", min(state["speed_up"] for state in states), 1.8),
        _at_most("arbitrary patches, one thread: time over the limit", general["ratio"], 3.0),
        _at_most("peak memory of the main size in MiB", first["measured"] / MIB, 1024.0),
        _at_most("predicted over measured memory, largest", max(ratios), 1.2),
        _at_least("predicted over measured memory, smallest", min(ratios), 0.8),
    ]


def ours(compared: dict[str, Any]) -> float:
    """Return the seconds of the engine on two threads."""
    return compared["seconds"][f"mvsim, {compared['threads']} threads"]


def rows_of(results: dict[str, Any]) -> list[list[str]]:
    """Return the rows of the table: what, measured, target and whether it is met; a row with a title only starts a new size."""
    goals = [_goal(target) for target in results["targets"]]
    rows = _comparison_rows(results["comparison"], goals[0])
    rows += _main_rows(results["main size"], goals[1], goals[2])
    first = results["memory"]["rows"][0]
    rows.append(["peak memory of a run", f"{first['measured'] / MIB:.0f} MiB, predicted {first['predicted'] / MIB:.0f}", goals[4]])
    general = results["general"]
    rows.append([f"**arbitrary patches, {size(general['parameters'])}, all pairs**", "", ""])
    rows.append(["1 thread", f"{in_words(general['seconds']['1'])} = {general['ratio']:.1f} of the {COST}", goals[3]])
    rows.append(["**all sizes**", "", ""])
    ratios = [row["predicted_over_measured"] for row in results["memory"]["rows"]]
    fits = all(target["met"] for target in results["targets"][5:])
    goal = f"0.8 to 1.2: {met(fits)}"
    rows.append([f"predicted over measured memory, {len(ratios)} problems", f"{min(ratios):.2f} to {max(ratios):.2f}", goal])
    rows.append(["alternative that is not offered: single precision", single_precision(results["half the bits"]), ""])
    return rows


def _comparison_rows(compared: dict[str, Any], goal: str) -> list[list[str]]:
    seconds, threads = compared["seconds"], f"{compared['threads']} threads"
    rows = [[f"**{size(compared['parameters'])}, all pairs**", "", ""]]
    rows.append([f"mvsim, 1 and {threads}", f"{in_words(seconds['mvsim, 1 thread'])}, {in_words(ours(compared))}", ""])
    for name, title in NAMES.items():
        measured = _times(seconds[name], ours(compared)) if name in seconds else "not installed"
        rows.append([f"{title}, {threads}", measured, goal if name == "torch as written" else ""])
    return rows


def _main_rows(main: dict[str, Any], ratio_goal: str, threads_goal: str) -> list[list[str]]:
    titles = {"initial": "initial weights", "escaped": "one neuron for each view escaped", "crossing": "worst case for the moments"}
    rows = [[f"**{size(main['parameters'])}, all pairs**", "", ""]]
    for name, title in titles.items():
        state, targeted = main["states"][name], name != "crossing"
        measured = f"{in_words(state['seconds']['1'])} = {state['ratio']:.2f} of the {COST}"
        rows.append([f"{title}, 1 thread", measured, ratio_goal if targeted else ""])
        measured = f"{in_words(state['seconds']['2'])}, speed-up {state['speed_up']:.2f}"
        bits = "the same" if state["same_bits"] else "**other**"
        rows.append([f"{title}, 2 threads, {bits} bits", measured, threads_goal if targeted else ""])
    state = main["states"]["escaped"]
    for route, title in LOST.items():
        rows.append([f"slower alternative: {title}, 2 threads", _times(state["lost"][route], state["seconds"]["2"]), ""])
    return rows


def single_precision(bits: dict[str, Any]) -> str:
    """Say in one sentence what half the bits would buy and cost."""
    usual, literal, gain = bits["errors"]["default d"], bits["errors"]["d = k^20"], bits["speed_up"]
    return (
        f"table loops {gain['values']:.1f} (values) and {gain['gradient']:.1f} (gradient) times as fast; components of the gradient wrong by "
        f"{usual['median']:.0e} (median) to {usual['largest']:.0e}, and at d = k^20 {100 * literal['lost']:.0f} % of them 0: not offered"
    )


def _at_least(name: str, value: float | None, target: float) -> dict[str, Any]:
    return {"target": name, "value": value, "at_least": target, "met": value is not None and value >= target}


def _at_most(name: str, value: float, target: float) -> dict[str, Any]:
    return {"target": name, "value": value, "at_most": target, "met": value <= target}


def _goal(target: dict[str, Any]) -> str:
    bound = f"at least {target['at_least']:g}" if "at_least" in target else f"at most {target['at_most']:g}"
    return f"{bound}: {met(target['met'])}"


def size(parameters: dict[str, Any]) -> str:
    """Return a problem in words."""
    return ", ".join(f"{name} = {value}" for name, value in parameters.items() if name != "noise")


def in_words(seconds: float, digits: int = 3) -> str:
    """Return a time with its unit."""
    if seconds >= 1.0:
        return f"{seconds:.2g} s"
    return f"{1e3 * seconds:.{digits}g} ms"


def _times(seconds: float, of: float) -> str:
    return f"{in_words(seconds)}: {seconds / of:.{0 if seconds > 10 * of else 1}f} times as long"
