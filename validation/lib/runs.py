"""Folders of runs that studies keep, so that what is stopped goes on and what several need is made once."""

from __future__ import annotations

import argparse
from pathlib import Path

import mvsim
from lib.sources import digest_of_sources
from lib.study import TRAINING


def add_runs_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the folder."""
    parser.add_argument("--runs", type=Path, default=Path("mvsim-runs"), metavar="DIR", help="where runs are kept, apart for each state of the code")


def runs_of_present_code(folder: Path) -> Path:
    """Return the part of a folder for runs of the code as it is now: those of an earlier one must not pass for a new measurement."""
    digest = digest_of_sources(Path(mvsim.__file__).parent, (*TRAINING, "archive"))
    present = folder / f"code-{digest[:10]}"
    present.mkdir(parents=True, exist_ok=True)
    return present
