"""The outcome of a run in words."""

from __future__ import annotations

from mvsim.parameters import Deviation, Parameters


def regime_label(deviations: list[Deviation]) -> str:
    """Say in which regime a run was made."""
    if not deviations:
        return "the literal scalings of Assumption 4.3"
    return "not Assumption 4.3 literally: " + "; ".join(deviation.statement for deviation in deviations)


def summarise(
    parameters: Parameters,
    method: str,
    seed: int,
    counts: dict[str, int],
    accuracy: float,
    n_test: int,
    time: float,
    clock: str,
    ending: str,
    regime: list[Deviation],
) -> str:
    """Return the summary of a run.

    Parameters
    ----------
    parameters : Parameters
        Of the run.
    method : str
        The objective in a few words.
    seed : int
        Of the run.
    counts : dict
        Classes with ``both``, ``one`` and ``none`` of their features learned.
    accuracy : float
        Training accuracy at the end.
    n_test : int
        Fresh draws for each class.
    time : float
        Time of the last measurement.
    clock : str
        What that time was made of, e.g. "2000 steps of gradient descent with eta = 60".
    ending : str
        Whether the run settled, and if not, why it ended.
    regime : list of Deviation
        The ways in which it departs from the theorems' assumptions.

    Returns
    -------
    str
        A few sentences on separate lines.
    """
    k = parameters.k
    return "\n".join(
        [
            f"{method}, k = {k}, seed {seed}: both features learned in {counts['both']} of {k} classes, "
            f"exactly one in {counts['one']}, none in {counts['none']}",
            f"  (Definition 4.5 on all of {n_test} fresh draws per class) at t = {time:.4g} after {clock}; training accuracy {accuracy:.4g}.",
            f"  {ending}",
            f"  Regime: {regime_label(regime)}.",
        ]
    )
