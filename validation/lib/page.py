"""The page of results, written from what the studies say about theirs."""

from __future__ import annotations

from pathlib import Path

from lib.faults import headed
from lib.results import read
from lib.stamps import stamp_text
from lib.study import Study
from lib.tables import table

PARTS: dict[str, tuple[str, ...]] = {
    "The theorems": (
        "readme_figure", "theorems", "paths", "proof_map", "midpoint_escapes", "permanence", "exceptions", "default_regime", "default_separability",
        "main_job", "main_job_escapes",
    ),
    "Linear models (Section 3)": ("linear_verdicts", "linear_regime", "linear_in_network"),
    "Minimum-variance features": ("minimum_variance_views", "minimum_variance_figures"),
    "Beyond the theorems": ("choices", "adversary"),
    "Whether the numbers are right": ("flow_accuracy", "escapes", "escape_bounds", "escape_references", "flow_literal", "invariants"),
    "What runs cost": ("flow_runs", "escape_costs", "integrator_designs", "performance", "gpu"),
    "The program": ("sweeps",),
}  # fmt: skip
"""The studies as a reader wants them: what the theorems do, then whether the numbers are right, then what it costs."""

ORDER = tuple(name for names in PARTS.values() for name in names)

HEAD = """# Results

What the studies in `validation/` measured, written by `python validation/run.py --results` from `validation/results/`. Later code does not change a
result: beside each stands how many commits have touched `mvsim/` since, counted when this page was written. Passages begin with what came out and
what is wrong with it: failed checks and missed targets. Machines had other work as well, so seconds are longer than on idle ones. What was tried for
the time-stepper and lost stands in [docs/time-stepper-designs.md](../docs/time-stepper-designs.md).
"""


def page(folder: Path) -> str:
    """Return the page of the results in a folder; studies without results are left out."""
    overview, passages = [HEAD], []
    for part, names in PARTS.items():
        rows = []
        for name in names:
            if not (folder / f"{name}.json").exists():
                continue
            study, file = Study.load(name), read(folder / f"{name}.json")
            results, headline = file["results"], study.headline(file["results"])
            faults = [headed(fault) for fault in study.judge(results)]
            kinds = [kind for kind, _ in faults]
            rows.append((study.title, headline, ", ".join(f"{kinds.count(kind)} x {kind.lower()}" for kind in sorted(set(kinds)))))
            wrong = "\n".join(f"- **{kind}:** {words}" for kind, words in faults)
            made = " ".join([*map(stamp_text, file["measured"]), file["note"]]).strip()
            passages.append("\n\n".join(filter(None, [f"## {study.title}", f"{headline}.", wrong, f"*{made}*", study.passage(results)])))
        overview.append(f"**{part}**\n\n{table(['passage', 'what came out', 'what is wrong'], rows)}")
    return "\n".join([*overview, *passages])
