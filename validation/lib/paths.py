"""Where things lie."""

from pathlib import Path

VALIDATION = Path(__file__).resolve().parents[1]
ROOT = VALIDATION.parent
STUDIES = VALIDATION / "studies"
RESULTS = VALIDATION / "results"
PAGE = VALIDATION / "RESULTS.md"
FIGURES = ROOT / "figures"
