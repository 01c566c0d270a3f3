"""The page of results, written from what the studies say about theirs."""

from __future__ import annotations

import json
from pathlib import Path

from lib.faults import headed
from lib.stamps import stamp_text, stamps_in
from lib.study import Study

ORDER = (
    "main_job", "readme_figure", "flow_runs", "flow_literal", "theorems", "paths", "proof_map", "midpoint_escapes", "permanence", "exceptions",
    "default_regime", "default_separability", "choices", "phase_diagrams", "adversary", "flow_accuracy", "flow_candidates", "flow_designs",
    "flow_rest", "flow_locality", "gd_limit", "linear_regime", "linear_verdicts", "linear_in_network", "replays", "invariants", "exactness",
    "crash_safety", "sweeps", "fuzz", "startup", "performance", "gpu",
)  # fmt: skip
"""The studies as a reader wants them: what came out first, then what it rests on."""

HEAD = """# Results

What the studies in `validation/` measured. This page is written by `python validation/run.py --results` from the JSON files in `validation/results/`.
Above each passage stand the git revision of the code, the date, the machine (its cores had other work as well) and the command that measures it.
"""


def page(results: Path) -> str:
    """Return the page of the results in a folder; studies without results are left out."""
    stamps, parts = stamps_in(results), [HEAD]
    for study in map(Study.load, ORDER):
        path = results / f"{study.name}.json"
        if path.exists():
            measured = json.loads(path.read_text(encoding="utf-8"))
            faults = "".join(f"- **{kind}:** {words}\n" for kind, words in map(headed, study.judge(measured)))
            parts.append(f"## {study.title}\n\n{stamp_text(stamps[study.name])}\n\n{study.passage(measured)}" + (f"\n{faults}" if faults else ""))
    return "\n".join(parts)
