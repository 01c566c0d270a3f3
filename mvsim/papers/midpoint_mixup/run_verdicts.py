"""Everything that can be said about one run: theorem, definition, claims, calculations, assumptions, gradient flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import NoneType
from typing import NamedTuple

from mvsim.base.echo import echo
from mvsim.base.errors import DivergedError, UsageError
from mvsim.flow import INTEGRATORS
from mvsim.judging.verdict import Verdict, not_applicable
from mvsim.judging.words import SOON
from mvsim.losses import CrossEntropy
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.multi_view.parameters import Parameters, regime_label
from mvsim.multi_view.parameters.models import NETWORK
from mvsim.numerics.blas_threads import one_blas_thread
from mvsim.papers.midpoint_mixup.assumptions import assumption_4_3, departures, premises_of_the_proofs
from mvsim.papers.midpoint_mixup.calculations import CALCULATIONS, calculations
from mvsim.papers.midpoint_mixup.claims import CLAIMS, claims
from mvsim.papers.midpoint_mixup.definition import Learned, classes_told, definition_4_5, learned_features
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.gaussian_maxima import GAUSSIAN_MAXIMA, gaussian_maxima
from mvsim.papers.midpoint_mixup.gradient_flow import gradient_flow
from mvsim.papers.midpoint_mixup.origin import origin
from mvsim.papers.midpoint_mixup.permanence import not_for_long, permanence
from mvsim.papers.midpoint_mixup.records import records
from mvsim.papers.midpoint_mixup.replay_of_flow import replayed
from mvsim.papers.midpoint_mixup.theorems import THEOREMS
from mvsim.runs.run import Run

LINEAR_RESULT = "3.2"
"""The result of Section 3 that who has a linear run is told of."""


class Judgement(NamedTuple):
    """The verdicts on one run, the theorem first."""

    run: Run
    verdicts: list[Verdict]


def check_theorem(name: str) -> str:
    """Return the number of a theorem that is there, or raise `UsageError`."""
    if not isinstance(name, str) or name not in THEOREMS:
        raise UsageError(f"theorem={echo(name)}: must be one of {', '.join(THEOREMS)}")
    return name


def check_step(number: str, typed: str | None = None) -> str:
    """Return the number of a step of the proofs that is checked, or raise `UsageError`, which repeats what was ``typed`` for it."""
    return _known("claim", number, typed, _steps())


def check_shown(number: str, typed: str | None = None) -> str:
    """Return the number of something that there are verdicts on, or raise `UsageError`, which repeats what was ``typed`` for it."""
    return _known("only", number, typed, ["4.3", "4.5", *THEOREMS, *_steps()])


def _steps() -> list[str]:
    """Return the numbers of the steps that are checked, each once, in the order of the paper."""
    numbers = [step.number for step in (*GAUSSIAN_MAXIMA.values(), *CALCULATIONS.values())] + [claim.number for claim in CLAIMS.values()]
    return [one for one in dict.fromkeys(numbers) if one]


def _known(option: str, number: str, typed: str | None, known: Sequence[str]) -> str:
    if number not in known:
        raise UsageError(f"{option}={echo(number if typed is None else typed)}: must be one of {', '.join(_runs_of(known))}")
    return number


def _runs_of(numbers: Sequence[str]) -> list[str]:
    """Return numbers of the paper, those of which three or more follow each other as a range: "4.3", "B.1 to B.28". Other names stay."""
    runs: list[list[str]] = []
    for number in numbers:
        part, _, place = number.partition(".")
        if runs and place.isdecimal() and runs[-1][-1] == f"{part}.{int(place) - 1}":
            runs[-1].append(number)
        else:
            runs.append([number])
    return [told for run in runs for told in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else run)]


def theorem_of(run: Run) -> str | None:
    """Return the number of the theorem about the training loss of a run, None if there is none."""
    if run.provenance["options"]["loss"] != CrossEntropy.name:
        return None
    return next((number for number, theorem in THEOREMS.items() if theorem.method == run.method), None)


def check_method(run: Run, number: str) -> None:
    """Raise `UsageError` if a theorem does not speak of the training loss of a run."""
    method = THEOREMS[number].method
    if run.method != method:
        raise UsageError(f"{_name(run)}: Theorem {number} is about method {echo(method)}; this run has {echo(run.method)}")


def check_complete(run: Run) -> None:
    """Raise `UsageError` if the file of a run lacks what it takes to make it again: a method that there is, its draws, its integrator's option."""
    name, options, saved = _name(run), run.provenance["options"], run.provenance["integrator"]
    if run.method not in OBJECTIVES:
        raise UsageError(f"{name}: method={echo(run.method)}: must be one of {', '.join(OBJECTIVES)}")
    if not isinstance(options.get("n_test"), int):
        raise UsageError(f"{name}: its options lack n_test, the number of fresh draws; make the run again")
    option = INTEGRATORS[saved["name"]].option if saved["name"] in INTEGRATORS else None
    if option is not None and not isinstance(saved.get(option), (int, float)):
        raise UsageError(f"{name}: its integrator {saved['name']} lacks {option}; make the run again")
    for field in ("t_end", "learning_rate"):
        if not isinstance(saved.get(field), (int, float, NoneType)):
            raise UsageError(f"{name}: {field}={echo(saved[field])}: must be a number; make the run again")


def theorem_about(method: str, parameters: Parameters) -> str | None:
    """Return the number of the theorem about runs of a method with these parameters, None if there is none."""
    numbers = [number for number, theorem in THEOREMS.items() if theorem.method == method]
    return numbers[0] if numbers and parameters.V == 2 and parameters.model == NETWORK.name else None


def check_model(parameters: Parameters, where: str = "") -> None:
    """Raise `UsageError` if the theorems do not speak of the model, or classes have another number of views than they speak of."""
    if parameters.model != NETWORK.name:
        advice = "judge it without a theorem, or ask for the results of Section 3"
        raise UsageError(f"{where}model={parameters.model}: Theorems {' and '.join(THEOREMS)} are about the network; {advice}")
    check_two_views(parameters, f"Theorems {' and '.join(THEOREMS)} are", where)


def check_two_views(parameters: Parameters, what: str, where: str = "") -> None:
    """Raise `UsageError` if classes have another number of views than ``what``, a subject with its verb, is about."""
    if parameters.V != 2:
        raise UsageError(f"{where}V={parameters.V}: {what} about two views of a class, V=2")


def judge(run: Run, theorem: str | None, data: Dataset | None = None, everything: bool = True) -> Judgement:
    """Judge a run by a theorem, whatever its training loss (`check_method` is for callers who mind), and by what is claimed on the way.

    Parameters
    ----------
    run : Run
        A run.
    theorem : str or None
        Number of the theorem. Without one, which the training loss may not have, the claims about the initial state and the data are judged and no
        others: the rest of the proofs follows the two losses that have a theorem.
    data : Dataset, optional
        What it was trained on, if not what its parameters and seed say.
    everything : bool
        Without it, the theorem and Definition 4.5 only.

    Returns
    -------
    Judgement
        Without two views of a class, what does not need them.
    """
    check_complete(run)
    with one_blas_thread():  # its threads wait for each other; beside any other work that takes several times as long as one alone
        try:
            return _judge(run, theorem, data, everything)
        except DivergedError as error:
            raise UsageError(f"{_name(run)}: a state that it has saved cannot be evaluated: {error}") from None


def _judge(run: Run, theorem: str | None, data: Dataset | None, everything: bool) -> Judgement:
    evidence = Evidence(run, data)
    learned, two_views = learned_features(run, data=data), run.parameters.V == 2
    network = run.parameters.model == NETWORK.name
    verdicts = []
    if theorem is None:
        verdicts.append(_no_theorem(run, learned))
    elif two_views and network:
        verdicts += [_theorem(part) for part in THEOREMS[theorem].judge(run, learned)]
        if everything:
            verdicts = _with_permanence(evidence, verdicts, permanence(evidence, learned, theorem))
    else:
        verdicts.append(_not_applicable(theorem, run.parameters))
    verdicts.append(definition_4_5(run, learned))
    if everything:
        verdicts += evidence_of(evidence)
    if everything and network:
        verdicts += claims(evidence, any_loss=theorem is None) if two_views else []
        if run.provenance["options"]["loss"] == CrossEntropy.name:
            verdicts += [replace(verdict, kind="evidence") for verdict in calculations(evidence)]
        verdicts += gaussian_maxima(run.parameters, run.seed)
        verdicts += [assumption_4_3(evidence), premises_of_the_proofs(evidence)]
    label = regime_label(departures(evidence))
    return Judgement(run, [replace(verdict, regime=label) for verdict in verdicts])


def evidence_of(evidence: Evidence) -> list[Verdict]:
    """Return whether a run is what it says it is: where it comes from, its records, its balance of energy, where its saved states lead."""
    verdicts = [*origin(evidence), *gradient_flow(evidence), *records(evidence), *replayed(evidence)]
    return [replace(verdict, kind="evidence", gathered="everywhere") for verdict in verdicts]


def _with_permanence(evidence: Evidence, parts: list[Verdict], predicted: list[Verdict]) -> list[Verdict]:
    """Return the parts of a theorem and what is predicted of them; a part that holds, and may not for long, says so itself."""
    soon = not_for_long(evidence, predicted)
    if soon:
        parts = [_ending(v, soon) if v.status == "holds" and v.part == "features" else v for v in parts]
    return [*parts, *map(_theorem, predicted)]


def _ending(verdict: Verdict, soon: str) -> Verdict:
    """Return the verdict with what may end it, which a short line leaves to the headline."""
    return replace(verdict, detail=f"{verdict.detail}{SOON}{soon}", brief=verdict.detail, soon=soon)


def _no_theorem(run: Run, learned: Learned) -> Verdict:
    """Report that no theorem speaks of the training loss of a run, and what came of it."""
    about = ", ".join(f"{number} is about {theorem.method}" for number, theorem in THEOREMS.items())
    statement = f"training accuracy is 1 and features are learned from some t on, by a theorem about method {run.method}"
    detail = f"no theorem is about method {run.method} ({about}); at the end training accuracy {learned.accuracy:.4g}, {classes_told(learned)}"
    return _theorem(not_applicable(f"Theorems {' and '.join(THEOREMS)}", statement, detail))


def _not_applicable(theorem: str, p: Parameters) -> Verdict:
    """Report that a theorem and the claims of its proof say nothing about a run, and what does."""
    if p.model != NETWORK.name:
        statement = "it and the claims of its proof are about the network; Section 3 is about linear models, over data sets and without runs"
        why = f"Section 3 is about linear models: mvsim verify --result {LINEAR_RESULT} (3.3, 3.4, 3.5) judges it on data sets, not on a run"
    else:
        statement, why = "it and the claims of its proof are about two views of a class", f"V = {p.V}"
    return replace(_theorem(not_applicable(f"Theorem {theorem}", statement, why)), number=theorem)


def _theorem(verdict: Verdict) -> Verdict:
    return replace(verdict, kind="theorem")


def _name(run: Run) -> str:
    return str(run.path) if run.path is not None else repr(run)
