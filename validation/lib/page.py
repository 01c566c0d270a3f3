"""The page of results, written from what the studies say about theirs."""

from __future__ import annotations

import json
from pathlib import Path

from lib.faults import headed
from lib.stamps import stamp_text, stamps_in
from lib.study import Study
from lib.tables import table

PARTS: dict[str, tuple[str, ...]] = {
    "The theorems": (
        "readme_figure", "theorems", "paths", "proof_map", "midpoint_escapes", "permanence", "exceptions", "default_regime", "default_separability",
        "main_job",
    ),
    "Linear models (Section 3)": ("linear_verdicts", "linear_regime", "linear_in_network"),
    "Beyond the theorems": ("choices", "phase_diagrams", "adversary"),
    "Whether the numbers are right": ("exactness", "flow_accuracy", "flow_literal", "gd_limit", "invariants", "replays"),
    "What the time-stepper costs": (
        "flow_runs", "flow_integrators", "flow_candidates", "flow_designs", "flow_rest", "flow_resting", "flow_locality", "flow_hessians",
        "flow_crossings", "flow_waiting", "flow_creeping",
    ),
    "The program": ("first_hour", "startup", "crash_safety", "sweeps", "fuzz", "performance", "gpu"),
}  # fmt: skip
"""The studies as a reader wants them: what the theorems do, then whether the numbers are right, then what it costs."""

ORDER = tuple(name for names in PARTS.values() for name in names)

HEAD = """# Results

What the studies in `validation/` measured. This page is written by `python validation/run.py --results` from the JSON files in `validation/results/`.
Each passage begins with what came out and what is wrong with it: checks that failed and targets that were missed. Below stand the git revision of the
code, the date, the machine (its cores had other work as well) and the command that measures it.
"""


def page(results: Path) -> str:
    """Return the page of the results in a folder; studies without results are left out."""
    stamps = stamps_in(results)
    there = {name: Study.load(name) for name in ORDER if (results / f"{name}.json").exists()}
    measured = {name: json.loads((results / f"{name}.json").read_text(encoding="utf-8")) for name in there}
    said = {name: study.headline(measured[name]) for name, study in there.items()}
    faults = {name: [headed(fault) for fault in study.judge(measured[name])] for name, study in there.items()}
    parts = [HEAD]
    for part, names in PARTS.items():
        rows = [(there[name].title, said[name], _wrong([kind for kind, _ in faults[name]], stamps[name]["older"])) for name in names if name in there]
        parts.append(f"**{part}**\n\n{table(['passage', 'what came out', 'what is wrong'], rows)}" if rows else "")
    for name, study in there.items():
        wrong = "\n".join(f"- **{kind}:** {words}" for kind, words in faults[name])
        top = [f"## {study.title}", f"{said[name]}.", wrong, stamp_text(stamps[name])]
        parts.append("\n\n".join([*filter(None, top), study.passage(measured[name])]))
    return "\n".join(filter(None, parts))


def _wrong(kinds: list[str], older: str) -> str:
    """Return how many faults there are of each kind, and whether the code has changed since."""
    counted = [f"{kinds.count(kind)} x {kind.lower()}" for kind in sorted(set(kinds))]
    return ", ".join([*counted, *(["older than the code"] if older else [])])
