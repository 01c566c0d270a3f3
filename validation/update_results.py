"""Fill in `validation/RESULTS.md` from what the studies wrote to validation/results/.

A passage between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->`` is replaced by what the function NAME below makes of
``validation/results/NAME.json``, under a line that says when that was measured. `stamps.json` keeps revision, date and a digest of each file; a file
with another digest gets the stamp of now. A passage whose results are not there is left as it is, and the script says so.

    python validation/update_results.py        # after the studies have run
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mvsim.archive import collect_provenance

HERE = Path(__file__).resolve().parent
PAGE = HERE / "RESULTS.md"
STAMPS = HERE / "results" / "stamps.json"

PASSAGE = re.compile(r"(<!-- begin: (\w+) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)


def exactness(found: dict[str, Any]) -> str:
    """Say how far correlation coordinates are from training in R^d."""
    largest = max(row["d"] for row in found["trajectories"])
    steps = max(row["steps"] for row in found["trajectories"])
    return (
        "`validation/exactness.py`: gradient descent on explicit weights in R^d "
        f"(d up to {largest}, {steps} steps, ERM and midpoint) and the same run in correlation coordinates differ by at most "
        f"{found['worst_relative_error']:.1e} (relative; the study allows {found['bound']:.0e}).\n"
    )


def readme_figure(found: dict[str, Any]) -> str:
    """Put what became of the two runs of the picture into a table."""
    lines = [
        f"`{found['command']}`, all other parameters at their defaults:",
        "",
        "| method | both features learned | exactly one | none | training accuracy | steps | gradients | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for method, run in found["runs"].items():
        cells = [method, *(run["classes"][name] for name in ("both", "one", "none")), f"{run['training_accuracy']:g}"]
        cells += [run["steps"], run["evaluations"], f"{run['wall_seconds']:.0f}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def main_job(found: dict[str, Any]) -> str:
    """Say how long the main job takes and where it ends."""
    classes = found["classes"]
    settled = "settled" if found["settled"] else "not settled"
    return (
        f"On {found['cores']} cores it took {found['seconds'] / 60:.1f} minutes ({found['step']} steps, a file of "
        f"{found['file_bytes'] / 1e6:.0f} MB) and ended at t = {found['time']:.2g}, {settled}: both features learned in {classes['both']} of 50 "
        f"classes, exactly one in {classes['one']}, none in {classes['none']}. At most {found['peak_bytes'] / 2**20:.0f} MiB of memory were taken "
        f"({found['predicted_bytes'] / 2**20:.0f} predicted); `mvsim verify` of the file takes {found['verify_seconds']:.1f} s. "
        "`mvsim simulate --k 10 --method erm --d 20000` is a first run of seconds.\n"
    )


def startup(found: dict[str, Any]) -> str:
    """Say how long a user waits before the first step."""
    return (
        f"`validation/startup.py`: `mvsim --help` {found['help_seconds']:.2f} s; the first run after installing compiles for "
        f"{found['first_step_compiling_seconds']:.0f} s of processor time, and says so; later runs take {found['first_step_later_seconds']:.1f} s to "
        "their first step.\n"
    )


def crash_safety(found: dict[str, Any]) -> str:
    """Say what SIGKILL did to runs."""
    kills = sum(sum(where.values()) for where in found["kills"].values())
    runs = "the flow and of gradient descent" if "midpoint-gd" in found["kills"] else "gradient descent"
    compared = sum(found["runs_compared"].values())
    return (
        f"`validation/crash_safety.py`: {kills} SIGKILLs at random instants, before, between and during saves; "
        f"{len(found['failures'])} files unreadable, steps lost or values changed, {compared} resumed runs compared bit for bit with "
        f"uninterrupted ones (runs of {runs}).\n"
    )


def performance(found: dict[str, Any]) -> str:
    """Put speed and memory into a table."""
    lines = ["| one loss and gradient of Midpoint Mixup | measured | target |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in found["table"]]
    return "\n".join(lines) + "\n"


def flow_runs(found: dict[str, Any]) -> str:
    """Put what became of the flows into a table."""
    lines = [
        "Followed to the settled state; d = 20000 at k = 10 unless literal, the default at k = 50:",
        "",
        "| run | both | one | none | settled | steps | gradients | t | seconds | target |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, run in found.items():
        target = "" if run["target_seconds"] is None else f"{run['target_seconds']:g}: {'met' if run['met'] else '**missed**'}"
        cells = [name, *(run["classes"][key] for key in ("both", "one", "none")), "yes" if run["settled"] else "no"]
        cells += [run["steps"], run["evaluations"], f"{run['time']:.2g}", f"{run['seconds']:.3g}", target]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    pairs = [(run, found[f"{name}, rtol/10"]) for name, run in found.items() if f"{name}, rtol/10" in found]
    alike = sum(run["learned"] == finer["learned"] for run, finer in pairs)
    first = sum(_first_escapes(run) == _first_escapes(finer) for run, finer in pairs)
    lines += [
        "",
        f"Of {len(pairs)} runs repeated at rtol / 10, {alike} learn the same features, and in {first} the views escape in the same order.",
    ]
    return "\n".join(lines) + "\n"


def _first_escapes(run: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the views (class, view) of a run in the order in which their first neurons escaped."""
    return list(dict.fromkeys((y, view) for y, _, view in run["escape_order"]))


def flow_literal(found: dict[str, Any]) -> str:
    """Put the runs of ERM at d = k^20 into a table, a line for each k and tolerance."""
    lines = [
        "`python validation/flow/literal.py`. Along the flow ln L never rises, and late |g|^2 t / L tends to 1. The largest rise of ln L above its",
        "least value so far, and the range of |g|^2 t / L at the end:",
        "",
        "| k | rtol | runs | settled | largest rise | at the end | the same features at both tolerances | gradients | seconds, one thread |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    learned = {(row["k"], row["seed"], row["rtol"]): [[f >= 1.0 for f in views] for views in row["learned"]] for row in found["rows"]}
    for k, rtol in sorted({(row["k"], row["rtol"]) for row in found["rows"]}, key=lambda pair: (pair[0], -pair[1])):
        rows = [row for row in found["rows"] if (row["k"], row["rtol"]) == (k, rtol)]
        both = [row["seed"] for row in rows if len({r for (n, seed, r) in learned if (n, seed) == (k, row["seed"])}) > 1]
        same = sum(len({json.dumps(what) for (n, s, _), what in learned.items() if (n, s) == (k, seed)}) == 1 for seed in both)
        late = f"{min(row['late'] for row in rows):.2f} to {max(row['late'] for row in rows):.2f}"
        evaluations = f"{min(row['evaluations'] for row in rows)} to {max(row['evaluations'] for row in rows)}"
        seconds = f"{min(row['seconds'] for row in rows):.0f} to {max(row['seconds'] for row in rows):.0f}"
        cells = [k, f"{rtol:g}", len(rows), sum(row["settled"] for row in rows), f"{max(row['rise'] for row in rows):.1g}", late]
        lines.append(f"| {' | '.join(map(str, [*cells, f'{same} of {len(both)}' if both else '', evaluations, seconds]))} |")
    return "\n".join(lines) + "\n"


def flow_accuracy(found: dict[str, Any]) -> str:
    """Say how large errors are."""
    worst = max(row["error_over_rtol"] for row in found["rows"])
    least, most = (pick(row["rtol"] for row in found["rows"]) for pick in (min, max))
    return (
        f"`validation/flow/accuracy.py`: with rtol from {least:g} to {most:g} the flow ends within {worst:.2g} rtol of a reference at rtol / 1000, "
        f"through all escapes at k = 4 (the study allows {found['bound']:g} rtol).\n"
    )


def flow_candidates(found: dict[str, Any]) -> str:
    """Say what other time-steppers need."""
    rows = {row["candidate"]: row for row in found["rows"] if row["problem"] == "midpoint"}
    ours, *others = (
        f"{name}: {row['evaluations']} gradients, error {row['error']:.0e}"
        if row["error"] is not None
        else f"{name}: not there after {found['budget']}"
        for name, row in rows.items()
    )
    return f"`validation/flow/candidates.py`, k = 4, midpoint, to both features learned, rtol {found['rtol']:g}. {ours}. {'; '.join(others)}.\n"


def gd_limit(found: dict[str, Any]) -> str:
    """Say how gradient descent tends to the flow."""
    slopes = " and ".join(f"{found[method]['slope']:.3f} ({method})" for method in ("erm", "midpoint"))
    off = max(found[method]["first_escape_at_faithful_eta_off_by"] for method in ("erm", "midpoint"))
    return (
        f"`validation/gd_limit.py`: the distance of gradient descent from the flow falls with slope {slopes} in log eta; at the eta that a flow run "
        f"names as faithful to 1 %, the first escape is off by at most {100 * off:.2g} %.\n"
    )


def theorems(found: dict[str, Any]) -> str:
    """Put what was decided over seeds into a table, and say what the controls did."""
    lines = ["| statement | measured | bound | 95 % interval and more | verdict |", "|---|---|---|---|---|"]
    for name, answer in sorted(found.items()):
        if name == "controls":
            continue
        lines.append(f"| {name}: `{answer['command']}` |  |  |  |  |")
        for verdict in (v for section in answer["sections"] for v in section["verdicts"]):
            if verdict["status"] == "fails" or (verdict["status"] != "measured" and verdict["name"].startswith(("Theorem", "Claim B.10"))):
                cells = [verdict["name"], f"{verdict['measured']:.3g}", f"{verdict['bound']:.3g}", verdict["detail"], f"**{verdict['status']}**"]
                lines.append(f"| {' | '.join(cells)} |")
    if "controls" in found:
        verdicts = [v for section in found["controls"]["sections"] for v in section["verdicts"]]
        turned = sum(v["status"] == "holds" for v in verdicts)
        lines += ["", f"`mvsim verify --controls`: {turned} of {len(verdicts)} checks say what they must."]
    return "\n".join(lines) + "\n"


def phase_diagrams(found: dict[str, Any]) -> str:
    """Say at which values of each parameter the outcome is that of the theorems."""
    lines = [
        "`validation/beyond/phase_diagrams.py`: one thing at a time changed from k = 4, r0 = 0.15. The values at which at least nine classes in",
        f"ten, over {min(study['seeds'] for study in found.values())} seeds, end as the theorem says; of",
        "eight classes that is all (picture: all fractions, with intervals):",
        "",
        "| changed | tried | ERM: exactly one feature | Midpoint Mixup: both features |",
        "|---|---|---|---|",
    ]
    for name, study in found.items():
        columns = (("mixup", "one"), ("mixup", "both")) if name == "mixing" else (("erm", "one"), ("midpoint", "both"))
        cells = [study["label"], ", ".join(f"{row['value']:g}" for row in study["rows"])]
        cells += [", ".join(_values(study["rows"], method, outcome)) or "none" for method, outcome in columns]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "In brackets: values at which it is fewer, but some class had learned neither view yet when its run was ended; a view that",
        "suffices on a part of the draws only is not learned.",
    ]
    limits = found["mixing"]["limits"]
    erm, midpoint = limits["erm"]["one"][0], limits["midpoint"]["both"][0]
    lines += ["", f"Of the data of the last row ERM learns exactly one feature in {erm:.0%} of the classes, Midpoint Mixup both in {midpoint:.0%}."]
    lines += ["With mixing laws both features of every class were there, in the latest run, since"]
    for row in found["mixing"]["rows"]:
        since = [math.inf if t is None else t for t in row["mixup"]["complete_since"]]
        missing = since.count(math.inf)
        lines.append(f"{f'no time in {missing} of {len(since)} runs' if missing else f't = {max(since):.1e}'} (a = {row['value']:g}),")
    lines[-1] = lines[-1].removesuffix(",") + "."
    return "\n".join(lines) + "\n"


def _values(rows: list[dict[str, Any]], method: str, outcome: str) -> list[str]:
    """Return the values at which at least nine classes in ten have an outcome, and in brackets those at which more may still have it."""
    named = []
    for row in rows:
        found = row[method]
        if found[outcome] and found[outcome][0] >= 0.9:
            named.append(f"{row['value']:g}")
        elif found["classes"]["none"]:
            named.append(f"({row['value']:g})")
    return named


def adversary(found: dict[str, Any]) -> str:
    """Say what the worst choices that Definition 4.1 leaves open do."""
    lines = ["`validation/beyond/adversary.py`, against settled networks of k = 10, over all noise classes and all corners of the coefficients:"]
    for method, row in found["networks"].items():
        lines.append(
            f"{method}: {row['of_these_with_positive_margin_on_every_point']} of the {row['learned_on_random_draws']} features that random draws "
            f"call learned keep a margin above 0 on every point that D could be made of, the least one being {row['least_margin_of_learned']:.2g};"
        )
    lines[-1] = lines[-1].removesuffix(";") + "."
    lines += ["", f"And against training (k = 6, seeds: {found['seeds']}), classes with both, exactly one and no feature learned:", ""]
    lines += ["| data inside Definition 4.1 | erm | midpoint |", "|---|---|---|"]
    for name, row in found["training"].items():
        cells = [" / ".join(str(row[method][outcome]) for outcome in ("both", "one", "none")) for method in ("erm", "midpoint")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


STUDIES = (
    flow_literal,
    exactness, readme_figure, main_job, startup, crash_safety, performance, flow_runs, flow_accuracy, flow_candidates, gd_limit, theorems,
    phase_diagrams, adversary,
)  # fmt: skip
PASSAGES: dict[str, Callable[[dict[str, Any]], str]] = {function.__name__: function for function in STUDIES}
"""The passages that can be filled in; each has the name of the results it needs."""


def filled_in(text: str, results: Path, stamps: dict[str, Any]) -> tuple[str, list[str]]:
    """Return ``text`` with its passages filled in from ``results``, and the names of those without results."""
    missing = []

    def passage(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        path = results / f"{name}.json"
        if not path.exists():
            missing.append(name)
            return match[0]
        stamp = stamps[name]
        when = f"*Measured at revision {stamp['revision']}, {stamp['date']}.{' ' + stamp['note'] if stamp['note'] else ''}*\n\n"
        return begin + when + PASSAGES[name](json.loads(path.read_text(encoding="utf-8"))) + end

    return PASSAGE.sub(passage, text), missing


def stamped(results: Path, stamps: dict[str, Any]) -> dict[str, Any]:
    """Return the stamps with those of files that have changed since made now."""
    now = {"revision": str(collect_provenance()["git_revision"])[:7], "date": datetime.date.today().isoformat(), "note": ""}
    fresh = {}
    for name in PASSAGES:
        path = results / f"{name}.json"
        if path.exists():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            before = stamps.get(name, {})
            fresh[name] = before if before.get("digest") == digest else {**now, "digest": digest}
    return fresh


def main() -> int:
    """Rewrite the page and return the exit code: 1 if a passage has no results."""
    stamps = stamped(HERE / "results", json.loads(STAMPS.read_text(encoding="utf-8")))
    STAMPS.write_text(json.dumps(stamps, indent=1) + "\n", encoding="utf-8")
    text, missing = filled_in(PAGE.read_text(encoding="utf-8"), HERE / "results", stamps)
    PAGE.write_text(text, encoding="utf-8")
    for name in missing:
        print(f"{name}: no validation/results/{name}.json; run the study that writes it first", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
