"""How much memory points take while they are drawn, and what of them there is to store."""

from __future__ import annotations

from mvsim.multi_view.memory_limits import check_fits
from mvsim.multi_view.parameters import Parameters


def data_bytes(parameters: Parameters, points: int) -> int:
    """Predict the most bytes that drawing that many points takes at once."""
    p = parameters
    noise = features_of_point(p) * points * p.P if p.noise == "patch" else p.features * drawn_patterns(p, points) + allowed_patterns(p, points)
    return 8 * (noise + points * (35 + 3 * p.signal_patches))


def check_data_memory(parameters: Parameters, points: int | None = None) -> int:
    """Return the predicted bytes of that many points, by default N, or raise `UsageError` if they are not there."""
    purpose = "" if points is None else f" for {points} points"
    return check_fits(parameters, lambda p: data_bytes(p, p.N if points is None else points), purpose)


def allowed_patterns(p: Parameters, points: int) -> int:
    """Return how many numbers of patterns are listed while that many points are drawn: for each class those that it may use."""
    return p.G * min(p.k, points) * (p.k - p.Q) // p.k if p.noise == "codebook" else 0


def used_patterns(p: Parameters, points: int) -> int:
    """Return how many noise patterns that many points have."""
    return min(p.G, points) if p.noise == "codebook" else points


def drawn_patterns(p: Parameters, points: int) -> int:
    """Return how many noise patterns are drawn for that many points."""
    return p.G if p.noise == "codebook" else points


def features_of_point(p: Parameters) -> int:
    """Return how many features occur in a point with noise of each patch: those of its noise classes and of its own class."""
    return p.V * (p.Q + 1)
