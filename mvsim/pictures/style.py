"""What colours and lines mean in every picture of the project, and the packaged matplotlib style.

A colour is a method or an outcome, never a view; a line style is a view.

===================  ==========================================================================================
ERM                  vermilion
Midpoint Mixup       blue
Mixup                reddish purple
features learned     one green: the darker, the more; grey: none
stronger view        solid line
weaker views         dashed line
grey                 thresholds, bounds, diagonals, remarks
black, orange        two kinds of anything else; where a hollow marker can tell the second kind, it is black, too
===================  ==========================================================================================

The hues are those of Okabe and Ito, which colour-blind readers can tell apart; what matters differs in lightness, line style or label too, so that it
is there in greyscale.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

METHODS = {"erm": "#D55E00", "midpoint": "#0072B2", "mixup": "#CC79A7"}
"""Colours of the methods, by their names."""

OTHER_METHOD = "#009E73"
"""Colour of a method that has none of its own."""

FIRST, SECOND = "#222222", "#E69F00"
"""Two colours that are easily told apart, in greyscale too, for a picture in which no method is compared."""

BOTH, ONE, NONE = "#00664B", "#5CB893", "#D9D9D9"
"""Colours of classes with both, exactly one and no feature learned."""

OUTCOMES = {"both": BOTH, "all": BOTH, "one": ONE, "some": ONE, "none": NONE}
"""The same by the names of `mvsim.runs.recording.fresh_draws.outcomes_of`, for any number of views."""

STRONGER, WEAKER = "-", (0, (3.2, 1.4))
"""Line styles of the stronger and of the weaker views of a class."""

MARK = "#555555"
"""Colour of thresholds, bounds, diagonals and remarks."""

PALE = 0.35
"""How much is left of a colour where what it shows is due to chance."""


def paler(colour: str, share: float = PALE) -> str:
    """Return a colour of which ``share`` is left, mixed with white."""
    parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - share * (255 - part)):02X}" for part in parts)


@contextmanager
def styled() -> Iterator[None]:
    """Draw with mvsim's style inside, with the caller's settings again afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(matplotlib.rc_params_from_file(Path(__file__).with_name("mvsim.mplstyle"), use_default_template=False))
        yield
