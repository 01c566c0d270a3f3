"""The problems that are timed: the full study, and a quick one to try the script with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sizes:
    """Parameters of every part of the study, and the seconds for which the candidates of a part take turns.

    Attributes
    ----------
    comparison : dict
        Against the readable kernel and automatic differentiation.
    main : dict
        The main job.
    general : dict
        Arbitrary patches.
    base : dict
        Where the scaling starts from.
    axes : dict
        Values of each parameter along which it goes.
    axis_patches : tuple
        Values of P for arbitrary patches, whose cost grows with it.
    memory : tuple
        (parameters, method, t_end) of each problem whose peak memory is measured: until it settles, if t_end is None. The main size is measured by
        the study `main_job`.
    seconds : float
        For each part.
    """

    comparison: dict[str, Any]
    main: dict[str, Any]
    general: dict[str, Any]
    base: dict[str, Any]
    axes: dict[str, tuple[int, ...]]
    axis_patches: tuple[int, ...]
    memory: tuple[tuple[dict[str, Any], str, float | None], ...]
    seconds: float


FULL = Sizes(
    comparison={"k": 10, "m": 10, "N": 100, "P": 100},
    main={"k": 50, "m": 50, "N": 500, "C_P": 2, "G": 25},
    general={"k": 16, "m": 16, "N": 120, "P": 256, "noise": "patch"},
    base={"k": 20, "m": 20, "N": 200, "P": 400, "G": 20},
    axes={
        "N": (50, 100, 200, 400, 800, 1600, 3200),
        "k": (5, 10, 20, 40, 80),
        "m": (5, 10, 20, 40, 80, 160),
        "P": (100, 400, 1600, 6400, 100_000, 1_000_000),
        "G": (5, 10, 20, 40, 80, 200),
    },
    axis_patches=(25, 50, 100),
    memory=(
        ({"k": 50, "N": 500}, "erm", None),
        ({"k": 30, "N": 2000}, "erm", None),
        ({"k": 10, "N": 800}, "midpoint", 1e7),
        ({"k": 20, "N": 200, "noise": "point"}, "midpoint", 1e4),
        ({"k": 20, "N": 400, "noise": "point"}, "midpoint", 1e4),
        ({"k": 20, "N": 500, "noise": "point"}, "erm", None),
        ({"k": 6, "m": 3, "N": 200, "P": 100, "noise": "patch"}, "midpoint", 100.0),
        ({"k": 8, "m": 3, "N": 400, "P": 50, "noise": "patch"}, "midpoint", 100.0),
        ({"k": 10, "m": 4, "N": 500, "P": 100, "noise": "patch"}, "erm", 100.0),
        ({"k": 50, "m": 1, "N": 500, "noise": "patch"}, "erm", 100.0),
    ),
    seconds=12.0,
)

QUICK = Sizes(
    comparison={"k": 5, "m": 5, "N": 30, "P": 25},
    main={"k": 12, "m": 12, "N": 120, "C_P": 2, "G": 12},
    general={"k": 6, "m": 6, "N": 30, "P": 64, "noise": "patch"},
    base={"k": 8, "m": 8, "N": 60, "P": 100, "G": 8},
    axes={"N": (30, 60, 120), "k": (4, 8, 16), "m": (4, 8, 16), "P": (50, 400, 10_000), "G": (4, 8, 60)},
    axis_patches=(10, 20, 40),
    memory=(({"k": 8, "N": 80}, "midpoint", 100.0), ({"k": 5, "N": 40, "noise": "patch"}, "erm", 100.0)),
    seconds=0.5,
)
