"""The packaged matplotlib style, applied without touching the settings of the caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STRONG, WEAK = "#0072B2", "#D55E00"
"""Colours of the stronger and the weaker view of a class."""

BOTH, ONE, NONE = "#009E73", "#E69F00", "#D0D0D0"
"""Colours of classes with both, exactly one and no feature learned."""

OUTCOMES = {"both": BOTH, "all": BOTH, "one": ONE, "some": ONE, "none": NONE}
"""The same by the names of `mvsim.recording.feature_test.outcomes_of`, for any number of views."""

MARK = "#555555"
"""Colour of thresholds, floors and diagonals."""


@contextmanager
def styled() -> Iterator[None]:
    """Draw with mvsim's style inside, with the caller's settings again afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(matplotlib.rc_params_from_file(Path(__file__).with_name("mvsim.mplstyle"), use_default_template=False))
        yield
