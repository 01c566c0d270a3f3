"""The page of results, written from what the studies say about theirs."""

from __future__ import annotations

import json
from pathlib import Path

from lib.faults import headed
from lib.stamps import stamp_text, stamps_in
from lib.study import Study
from lib.tables import table

ORDER = (
    "theorems", "paths", "proof_map", "midpoint_escapes", "permanence", "exceptions", "linear_verdicts", "linear_regime", "linear_in_network",
    "default_regime", "default_separability", "choices", "phase_diagrams", "adversary", "flow_accuracy", "flow_literal", "gd_limit", "invariants",
    "exactness", "replays", "main_job", "readme_figure", "flow_runs", "flow_integrators", "flow_candidates", "flow_designs", "flow_rest",
    "flow_resting", "flow_locality", "flow_hessians", "flow_crossings", "flow_waiting", "flow_creeping",
    "first_hour", "startup", "crash_safety", "sweeps", "fuzz", "performance", "gpu",
)  # fmt: skip
"""The studies as a reader wants them: what the theorems do, then whether the numbers are right, then what it costs."""

HEAD = """# Results

What the studies in `validation/` measured. This page is written by `python validation/run.py --results` from the JSON files in `validation/results/`.
Each passage begins with what came out, and what of it is wrong. Below stand the git revision of the code, the date, the machine (its cores had other
work as well) and the command that measures it.
"""


def page(results: Path) -> str:
    """Return the page of the results in a folder; studies without results are left out."""
    stamps = stamps_in(results)
    there = [study for study in map(Study.load, ORDER) if (results / f"{study.name}.json").exists()]
    measured = {study.name: json.loads((results / f"{study.name}.json").read_text(encoding="utf-8")) for study in there}
    said = {study.name: study.headline(measured[study.name]) for study in there}
    parts = [HEAD, table(["passage", "what came out"], [(study.title, said[study.name]) for study in there])]
    for study in there:
        faults = "".join(f"- **{kind}:** {words}\n" for kind, words in map(headed, study.judge(measured[study.name])))
        top = [f"## {study.title}", f"{said[study.name]}.", faults.strip(), stamp_text(stamps[study.name])]
        parts.append("\n\n".join([*filter(None, top), study.passage(measured[study.name])]))
    return "\n".join(parts)
