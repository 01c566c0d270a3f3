"""Negative controls: each has to make its check turn, and one that does not fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from mvsim.base.errors import DivergedError, StalledError
from mvsim.judging.statement import Control, Section
from mvsim.judging.verdict import STATUSES, Verdict, not_applicable


def control_verdict(control: Control, check: str, verdicts: list[Verdict]) -> Verdict:
    """Return whether the check of a control says what it must, as a verdict on the check; it names what has not turned, if something has not."""
    worst = min((verdict.status for verdict in verdicts), key=STATUSES.index)
    looked_at = [v for v in verdicts if v.name in control.parts] or [v for v in verdicts if v.status == worst]
    decisive = next((v for v in looked_at if v.status not in control.expected), looked_at[0])
    turned = decisive.status in control.expected and len(looked_at) >= len(control.parts)
    statement = f"{check} with {control.name}: must be {' or '.join(control.expected)}, {control.why}"
    detail = f"{decisive.status}; {decisive.name or check}: {decisive.detail}"
    name, status = f"Control: {control.name} ({check})", "holds" if turned else "fails"
    return replace(decisive, name=name, status=status, statement=statement, detail=detail, kind="control", number="", part="", count=None, brief="")  # type: ignore[arg-type]


def judged_control(control: Control, check: str, setting: Any, seed: int = 0) -> Verdict:
    """Run a control; one whose run stops has not said what it must."""
    try:
        verdicts = control.judge(setting, seed)
    except (DivergedError, StalledError) as error:
        verdicts = [not_applicable(check, f"{check} with {control.name}", f"its run could not be followed: {error}")]
    return control_verdict(control, check, verdicts)


def control_section(
    check: str, controls: Iterable[Control], setting: Any, seed: int = 0, premises: Callable[[Any, int], str] = lambda setting, seed: ""
) -> Section:
    """Run the controls of a statement; where its premises are not met they say nothing."""
    lack = premises(setting, seed)
    nothing = [replace(not_applicable(f"Control: {c.name} ({c.check or check})", c.why, lack), kind="control") for c in controls] if lack else []
    return Section(f"{check}, controls", nothing or [judged_control(control, control.check or check, setting, seed) for control in controls])
