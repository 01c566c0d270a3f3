"""Pictures that the studies draw, each beside a text that says how it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Figures:
    """A folder for the pictures of one call."""

    folder: Path
    command: str

    def save_all(self, figures: Mapping[str, Figure]) -> None:
        """Write all pictures, by their names."""
        for name, figure in figures.items():
            self.save(name, figure)

    def save(self, name: str, figure: Figure) -> None:
        """Write NAME.png, and NAME.txt with the command that makes it."""
        from mvsim.pictures import save_figure

        save_figure(figure, self.folder / f"{name}.png", force=True)
        (self.folder / f"{name}.txt").write_text(f"{name}.png is made by: {self.command}\n", encoding="utf-8")
