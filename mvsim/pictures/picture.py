"""A figure that shows itself in notebooks, in the packaged style, without pyplot."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

from mvsim.pictures.style import styled


class Picture(Figure):
    """A `matplotlib.figure.Figure` that no window and no global state of matplotlib knows of."""

    def _repr_png_(self) -> bytes:
        """Return the picture for a notebook: these ask every object for it by this name."""
        file = io.BytesIO()
        with styled():
            self.savefig(file, format="png", metadata={"Software": None})
        return file.getvalue()
