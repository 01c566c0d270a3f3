"""The claims of the proofs, each a small function of the evidence of one run. A new claim is a function and one entry in `CLAIMS`."""

from __future__ import annotations

from mvsim.verification.evidence.evidence import Evidence
from mvsim.verification.statements.claims import boundedness, gaps, growth, initialisation, outputs, separation, softmax
from mvsim.verification.statements.claims.base import Claim
from mvsim.verification.verdict import Verdict

__all__ = ["CLAIMS", "Claim", "claims"]

CLAIMS: dict[str, Claim] = {
    "Claim B.1 (class sizes)": Claim(initialisation.class_sizes, erm=True, mixing=True),
    "Claim B.1 (largest correlation)": Claim(initialisation.largest_correlation, erm=True, mixing=True),
    "Claim B.1 (own correlation)": Claim(initialisation.least_leader, erm=True, mixing=True),
    "Claim B.2": Claim(softmax.gap_when_large, erm=True),
    "Claim B.3": Claim(softmax.wrong_classes, erm=True),
    "Claim B.4 (off-diagonal)": Claim(growth.off_diagonal_at_escape, erm=True),
    "Claim B.4 (T_A)": Claim(growth.escape_time_scale, erm=True),
    "Claim B.5": Claim(outputs.spread, erm=True),
    "Claim B.6 (reached)": Claim(outputs.reached, erm=True),
    "Claim B.6 (afterwards)": Claim(outputs.stays_large, erm=True),
    "Claim B.7 (outputs)": Claim(outputs.stays_bounded, erm=True),
    "Claim B.7 (off-diagonal)": Claim(outputs.off_diagonal_stays_small, erm=True),
    "Claim B.8": Claim(outputs.training_accuracy, erm=True, decides=True),
    "Claim B.9": Claim(softmax.partition_function, erm=True),
    "Claim B.10 (separation)": Claim(initialisation.separated_fraction, erm=True, mixing=True),
    "Claim B.10 (winner)": Claim(initialisation.winner, erm=True),
    "Claim B.10 (winner, mixing)": Claim(initialisation.winner_when_mixing, mixing=True),
    "Lemma B.11 (closed form)": Claim(separation.tensor_power, erm=True, decides=True),
    "Lemma B.11 (escape times)": Claim(separation.escape_times, erm=True, decides=True),
    "Claim B.12 (winner)": Claim(separation.winner_rate, erm=True),
    "Claim B.12 (loser)": Claim(separation.loser_rate, erm=True),
    "Claim B.13": Claim(separation.loser_for_ever, erm=True),
    "Claim B.14 (positive correlations)": Claim(initialisation.positive_fraction, mixing=True),
    "Claim B.15": Claim(softmax.two_classes, mixing=True),
    "Claim B.16": Claim(softmax.third_classes, mixing=True),
    "Claim B.17 (T_A)": Claim(growth.escape_time_scale, mixing=True),
    "Claim B.17 (off-diagonal)": Claim(growth.lag_at_escape, mixing=True),
    "Claim B.17 (positivity)": Claim(growth.positive_to_escape, mixing=True, decides=True),
    "Claim B.18 (off-diagonal)": Claim(growth.lag_after_escape, mixing=True),
    "Claim B.18 (positivity)": Claim(growth.still_positive, mixing=True, decides=True),
    "Claim B.19": Claim(outputs.mixed_spread, mixing=True),
    "Claim B.20": Claim(outputs.mixed_outputs, mixing=True),
    "Claim B.21": Claim(gaps.linear_difference, mixing=True),
    "Claim B.22": Claim(gaps.gap_expectation, mixing=True, decides=True),
    "Claim B.23": Claim(gaps.patch_expectation, mixing=True, decides=True),
    "Claim B.24": Claim(gaps.lagging_gradient, mixing=True),
    "Claim B.25": Claim(gaps.slow_gradient, mixing=True),
    "Claim B.26": Claim(boundedness.monotone, mixing=True, decides=True),
    "Claim B.27": Claim(boundedness.bounded_total, mixing=True),
    "Claim B.28 (final)": Claim(boundedness.both_views, mixing=True),
    "Claim B.28 (time)": Claim(boundedness.both_views_time, mixing=True),
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
    return [claim.check(evidence) for claim in chosen if (claim.erm and claim.mixing) or not any_loss]
