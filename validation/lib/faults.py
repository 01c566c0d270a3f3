"""What a judge returns: faults, one sentence each. A missed target of time, gradients or memory is told from all others, which are failed checks."""

from __future__ import annotations


class TargetMissed(str):
    """A fault that is a missed target."""


def headed(fault: str) -> tuple[str, str]:
    """Return what kind of fault it is, and the sentence."""
    return "Target missed" if isinstance(fault, TargetMissed) else "Check failed", str(fault)
