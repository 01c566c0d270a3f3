"""The claims of the proofs, each a small function of the evidence of one run. A new claim is a function and one entry in `CLAIMS`."""

from __future__ import annotations

from mvsim.judging.verdict import Verdict
from mvsim.papers.midpoint_mixup.claims import boundedness, gaps, growth, initialisation, outputs, separation, softmax
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.steps import Step, by_name

CLAIMS = by_name(
    Step("claim", "B.1", initialisation.class_sizes, "class sizes", erm=True, mixing=True),
    Step("claim", "B.1", initialisation.largest_correlation, "largest correlation", erm=True, mixing=True),
    Step("claim", "B.1", initialisation.least_leader, "own correlation", erm=True, mixing=True),
    Step("claim", "B.2", softmax.gap_when_large, erm=True),
    Step("corollary", "B.3", softmax.wrong_classes, erm=True),
    Step("claim", "B.4", growth.off_diagonal_at_escape, "off-diagonal", erm=True),
    Step("claim", "B.4", growth.escape_time_scale, "T_A", erm=True),
    Step("claim", "B.5", outputs.spread, erm=True),
    Step("claim", "B.6", outputs.reached, "reached", erm=True),
    Step("claim", "B.6", outputs.stays_large, "afterwards", erm=True),
    Step("claim", "B.7", outputs.stays_bounded, "outputs", erm=True),
    Step("claim", "B.7", outputs.off_diagonal_stays_small, "off-diagonal", erm=True),
    Step("corollary", "B.8", outputs.training_accuracy, erm=True, decides=True),
    Step("corollary", "B.9", softmax.partition_function, erm=True),
    Step("claim", "B.10", initialisation.separated_fraction, "separation", erm=True, mixing=True),
    Step("claim", "B.10", initialisation.winner, "winner", erm=True),
    Step("claim", "B.10", initialisation.winner_when_mixing, "winner, mixing", mixing=True),
    Step("lemma", "B.11", separation.tensor_power, "closed form", erm=True, decides=True),
    Step("lemma", "B.11", separation.escape_times, "escape times", erm=True, decides=True),
    Step("claim", "B.12", separation.winner_rate, "winner", erm=True),
    Step("claim", "B.12", separation.loser_rate, "loser", erm=True),
    Step("claim", "B.13", separation.loser_for_ever, erm=True),
    Step("claim", "B.14", initialisation.positive_fraction, "positive correlations", mixing=True),
    Step("claim", "B.15", softmax.two_classes, mixing=True),
    Step("corollary", "B.16", softmax.third_classes, mixing=True),
    Step("claim", "B.17", growth.escape_time_scale, "T_A", mixing=True),
    Step("claim", "B.17", growth.lag_at_escape, "off-diagonal", mixing=True),
    Step("claim", "B.17", growth.positive_to_escape, "positivity", mixing=True, decides=True),
    Step("corollary", "B.18", growth.lag_after_escape, "off-diagonal", mixing=True),
    Step("corollary", "B.18", growth.still_positive, "positivity", mixing=True, decides=True),
    Step("claim", "B.19", outputs.mixed_spread, mixing=True),
    Step("claim", "B.20", outputs.mixed_outputs, mixing=True),
    Step("claim", "B.21", gaps.linear_difference, mixing=True),
    Step("claim", "B.22", gaps.gap_expectation, mixing=True, decides=True),
    Step("corollary", "B.23", gaps.patch_expectation, mixing=True, decides=True),
    Step("claim", "B.24", gaps.lagging_gradient, mixing=True),
    Step("claim", "B.25", gaps.slow_gradient, mixing=True),
    Step("corollary", "B.26", boundedness.monotone, mixing=True, decides=True),
    Step("claim", "B.27", boundedness.bounded_total, mixing=True),
    Step("claim", "B.28", boundedness.both_views, "final", mixing=True),
    Step("claim", "B.28", boundedness.both_views_time, "time", mixing=True),
)
"""By name, in the order of the proofs. Claims B.1 and B.14 share their first three items."""


def claims(evidence: Evidence, any_loss: bool = False) -> list[Verdict]:
    """Return the verdict of every claim that speaks of a loss like that of the run."""
    chosen = [claim for claim in CLAIMS.values() if claim.applies(evidence.mixes)]
    return [claim.verdict(evidence) for claim in chosen if (claim.erm and claim.mixing) or not any_loss]
