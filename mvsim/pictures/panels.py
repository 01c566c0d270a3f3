"""The panels that there are, and which of them a picture has.

To add one, write a `mvsim.pictures.panel.Panel` and list it in `PANELS` or `LINEAR_PANELS` if pictures have it unasked, else in `FURTHER_PANELS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.inputs import plain
from mvsim.pictures.learned import learned_classes
from mvsim.pictures.panel import Panel
from mvsim.pictures.shown import Shown
from mvsim.pictures.squares import escapes, total_correlations
from mvsim.pictures.trajectories import correlations, gaps, loss

PANELS = (correlations, loss, learned_classes, total_correlations, escapes)
"""The panels of a network, from top to bottom."""

LINEAR_PANELS = (correlations, loss, learned_classes, gaps, total_correlations)
"""Those of a linear model."""

FURTHER_PANELS: tuple[Panel, ...] = ()
"""Those that pictures have only if they are asked for."""

ALL_PANELS = {panel.name: panel for panel in (*PANELS, *LINEAR_PANELS, *FURTHER_PANELS)}
"""All panels by their names."""


def panels_of(runs: Sequence[Shown]) -> tuple[Panel, ...]:
    """Return the panels that are drawn of these runs: those about thresholds only if all have some, and none that is empty in all of them."""
    panels = PANELS if all(shown.has_threshold for shown in runs) else LINEAR_PANELS
    return tuple(panel for panel in panels if not all(panel.is_empty(shown) for shown in runs))


def check_panels(panels: Any) -> tuple[Panel, ...]:
    """Return the panels that are meant by names or by themselves; raise `UsageError` for unknown or repeated ones."""
    panels = plain(panels)
    if not isinstance(panels, (list, tuple)) or not panels:
        raise UsageError(f"panels={echo(panels)}: must be a list of {', '.join(ALL_PANELS)}")
    chosen = tuple(panel if isinstance(panel, Panel) else _named(panel) for panel in panels)
    if len(set(chosen)) < len(chosen):
        raise UsageError(f"panels={echo([panel.name for panel in chosen])}: names a panel twice; give each once")
    return chosen


def _named(name: Any) -> Panel:
    known = name.replace("_", "-") if isinstance(name, str) else None
    if known not in ALL_PANELS:
        raise UsageError(f"panels={echo(name)}: there is no such panel; must be of {', '.join(ALL_PANELS)}")
    return ALL_PANELS[known]
