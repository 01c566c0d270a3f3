"""The claims of the proofs, each a small function of the evidence of one run. A new claim is a function and one entry in `CLAIMS`."""

from __future__ import annotations

from mvsim.judging.verdict import Verdict
from mvsim.papers.midpoint_mixup.claims import boundedness, gaps, growth, initialisation, outputs, separation, softmax
from mvsim.papers.midpoint_mixup.claims.base import Claim
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence

__all__ = ["CLAIMS", "Claim", "claims"]

CLAIMS: dict[str, Claim] = {
    "Claim B.1 (class sizes)": Claim(initialisation.class_sizes, "B.1", erm=True, mixing=True),
    "Claim B.1 (largest correlation)": Claim(initialisation.largest_correlation, "B.1", erm=True, mixing=True),
    "Claim B.1 (own correlation)": Claim(initialisation.least_leader, "B.1", erm=True, mixing=True),
    "Claim B.2": Claim(softmax.gap_when_large, "B.2", erm=True),
    "Corollary B.3": Claim(softmax.wrong_classes, "B.3", erm=True),
    "Claim B.4 (off-diagonal)": Claim(growth.off_diagonal_at_escape, "B.4", erm=True),
    "Claim B.4 (T_A)": Claim(growth.escape_time_scale, "B.4", erm=True),
    "Claim B.5": Claim(outputs.spread, "B.5", erm=True),
    "Claim B.6 (reached)": Claim(outputs.reached, "B.6", erm=True),
    "Claim B.6 (afterwards)": Claim(outputs.stays_large, "B.6", erm=True),
    "Claim B.7 (outputs)": Claim(outputs.stays_bounded, "B.7", erm=True),
    "Claim B.7 (off-diagonal)": Claim(outputs.off_diagonal_stays_small, "B.7", erm=True),
    "Corollary B.8": Claim(outputs.training_accuracy, "B.8", erm=True, decides=True),
    "Corollary B.9": Claim(softmax.partition_function, "B.9", erm=True),
    "Claim B.10 (separation)": Claim(initialisation.separated_fraction, "B.10", erm=True, mixing=True),
    "Claim B.10 (winner)": Claim(initialisation.winner, "B.10", erm=True),
    "Claim B.10 (winner, mixing)": Claim(initialisation.winner_when_mixing, "B.10", mixing=True),
    "Lemma B.11 (closed form)": Claim(separation.tensor_power, "B.11", erm=True, decides=True),
    "Lemma B.11 (escape times)": Claim(separation.escape_times, "B.11", erm=True, decides=True),
    "Claim B.12 (winner)": Claim(separation.winner_rate, "B.12", erm=True),
    "Claim B.12 (loser)": Claim(separation.loser_rate, "B.12", erm=True),
    "Claim B.13": Claim(separation.loser_for_ever, "B.13", erm=True),
    "Claim B.14 (positive correlations)": Claim(initialisation.positive_fraction, "B.14", mixing=True),
    "Claim B.15": Claim(softmax.two_classes, "B.15", mixing=True),
    "Corollary B.16": Claim(softmax.third_classes, "B.16", mixing=True),
    "Claim B.17 (T_A)": Claim(growth.escape_time_scale, "B.17", mixing=True),
    "Claim B.17 (off-diagonal)": Claim(growth.lag_at_escape, "B.17", mixing=True),
    "Claim B.17 (positivity)": Claim(growth.positive_to_escape, "B.17", mixing=True, decides=True),
    "Corollary B.18 (off-diagonal)": Claim(growth.lag_after_escape, "B.18", mixing=True),
    "Corollary B.18 (positivity)": Claim(growth.still_positive, "B.18", mixing=True, decides=True),
    "Claim B.19": Claim(outputs.mixed_spread, "B.19", mixing=True),
    "Claim B.20": Claim(outputs.mixed_outputs, "B.20", mixing=True),
    "Claim B.21": Claim(gaps.linear_difference, "B.21", mixing=True),
    "Claim B.22": Claim(gaps.gap_expectation, "B.22", mixing=True, decides=True),
    "Corollary B.23": Claim(gaps.patch_expectation, "B.23", mixing=True, decides=True),
    "Claim B.24": Claim(gaps.lagging_gradient, "B.24", mixing=True),
    "Claim B.25": Claim(gaps.slow_gradient, "B.25", mixing=True),
    "Corollary B.26": Claim(boundedness.monotone, "B.26", mixing=True, decides=True),
    "Claim B.27": Claim(boundedness.bounded_total, "B.27", mixing=True),
    "Claim B.28 (final)": Claim(boundedness.both_views, "B.28", mixing=True),
    "Claim B.28 (time)": Claim(boundedness.both_views_time, "B.28", mixing=True),
}
"""By name, in the order of the proofs. Claims B.1 and B.14 share their first three items."""


def claims(evidence: Evidence, any_loss: bool = False) -> list[Verdict]:
    """Return the verdict of every claim that speaks of a loss like that of the run.

    Parameters
    ----------
    evidence : Evidence
        A run.
    any_loss : bool
        Only claims that speak of both losses: those about the initial state and the data, which hold whatever is trained.
    """
    chosen = [claim for claim in CLAIMS.values() if claim.applies(evidence.mixes)]
    return [claim.verdict(evidence) for claim in chosen if (claim.erm and claim.mixing) or not any_loss]
