"""``mvsim diff``: in what two runs differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mvsim.cli.options import FLAG, Json
from mvsim.cli.output import print_wrapped
from mvsim.runs.run import Run, open_run
from mvsim.runs.run_difference import Difference, differences
from mvsim.sweeps.measures import CLASSES, MEASURES

SAME, DIFFERENT = 0, 1

MOST = 4
"""Differences that the headline names."""

OUTCOMES = {
    f"{CLASSES}both": "classes with both features",
    f"{CLASSES}all": "classes with all features",
    "steps": "steps",
    "gradients": "gradients",
    "time": "t",
}
"""What is told first of what came out, by the names of `mvsim.sweeps.measures.MEASURES`."""

KINDS = ("came out", "asked for", "made")
"""Kinds of differences, in the order in which they are told."""

COUNTED = ("final_step", "final_time", "final_evaluations")
"""Variables that are told as steps, time and gradients."""


def diff(
    first: Annotated[Path, Parameter(name="FIRST", help="Run file.")],
    second: Annotated[Path, Parameter(name="SECOND", help="Run file.")],
    /,
    *,
    verbose: Annotated[bool, FLAG, Parameter(name=["--verbose", "-v"], help="Also list the arrays that differ.")] = False,
    json_: Json = False,
) -> int:
    """Say in what two runs differ: in what was asked for, in what made them, and in what came out."""
    runs = open_run(first), open_run(second)
    entries = differences(*runs)
    if json_:
        print(json.dumps([one._asdict() for one in entries], default=str))
    elif not entries:
        print("The runs do not differ, bit for bit.")
    else:
        print_wrapped(
            [_headline(entries), *(f"{name}: {run.summary.partition(chr(10))[0]}" for name, run in zip(("first", "second"), runs, strict=True))]
        )
        _print_table([*_outcomes(*runs), *entries], verbose)
    return DIFFERENT if any(one.matters for one in entries) else SAME


def _headline(entries: list[Difference]) -> str:
    """Say in what was asked for two runs differ; if in nothing of that, whether the same came out."""
    options = [one for one in entries if one.kind == "asked for"]
    if options:
        texts = [f"{one.name.removeprefix('parameters.')}: {one.first}, {one.second}" for one in options[:MOST]]
        return f"They differ in {'; '.join(texts)}{f'; and {len(options) - MOST} more' if len(options) > MOST else ''}."
    if any(one.matters for one in entries):
        return "What was asked for is the same, what came out is not."
    return "What was asked for and what came out are the same, bit for bit."


def _outcomes(first: Run, second: Run) -> list[Difference]:
    """Return what came out of both, if it differs: classes by what they have learned, steps and time."""
    entries = []
    for name, words in OUTCOMES.items():
        one, two = (MEASURES[name].of(run) for run in (first, second))
        if one != two:
            entries.append(Difference("came out", words, _value_text(one), _value_text(two)))
    return entries


def _value_text(value: float | int | None) -> str:
    return "none" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _print_table(entries: list[Difference], verbose: bool) -> None:
    """Print the differences, a heading for each kind; arrays are only counted unless they are asked for."""
    rows = [one for one in entries if one.name not in COUNTED and (verbose or not one.of_arrays) and not one.of_shapes]
    width = max((len(one.name) for one in rows), default=0)
    for kind in (kind for kind in KINDS if any(one.kind == kind for one in entries)):
        print(f"{kind}:")
        print_wrapped(
            f"  {one.name:<{width}}  {_digits(one.name, one.first)}  ->  {_digits(one.name, one.second)}" for one in rows if one.kind == kind
        )
        arrays = [one.name for one in entries if one.kind == kind and one.of_arrays]
        if arrays and not verbose:
            print(f"  {len(arrays)} array{'s' * (len(arrays) != 1)}; --verbose lists {'them' if len(arrays) != 1 else 'it'}")
        elif names := [one.name for one in entries if one.kind == kind and one.of_shapes]:
            print_wrapped([f"  of other shapes: {', '.join(names)}"])


def _digits(name: str, text: str) -> str:
    """Return a value, of a time on the clock three digits."""
    try:
        return f"{float(text):.3g}" if name == "wall_seconds" else text
    except ValueError:
        return text
