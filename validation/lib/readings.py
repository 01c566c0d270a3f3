"""How steps of the proofs are called where what they say is our reading of a text that lacks the formula."""

from __future__ import annotations

READ = {"Corollary B.26": "as we read it"}
"""The formula is missing from the text at hand: `mvsim.papers.midpoint_mixup.claims.boundedness` says how it is read."""


def called(step: str) -> str:
    """Return the name of a step, with a remark if what it says is our reading."""
    return f"{step} ({READ[step]})" if step in READ else step
