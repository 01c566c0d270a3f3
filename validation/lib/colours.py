"""Colours and markers of numbers of classes k in the pictures of studies: from blue to yellow, the larger the lighter."""

from __future__ import annotations

import math

K_RANGE = 2, 1000
"""Numbers of classes with the darkest and the lightest colour."""

MARKERS = {6: "s", 10: "o", 20: "^", 50: "D"}
"""Markers of numbers of classes; all others share one."""


def colour_of_k(k: int) -> str:
    """Return the colour of a number of classes, the same in every picture: from dark to light over the logarithm of k, within `K_RANGE`."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    least, most = K_RANGE
    place = math.log(k / least) / math.log(most / least)
    return to_hex(colormaps["cividis"](0.9 * min(max(place, 0.0), 1.0)))


def marker_of_k(k: int) -> str:
    """Return the marker of a number of classes, the same in every picture: neighbours are told apart by it where their colours are near."""
    return MARKERS.get(k, "p")
