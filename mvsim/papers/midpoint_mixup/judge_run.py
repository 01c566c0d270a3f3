"""Everything that can be said about one run: theorem, definition, claims, calculations, assumptions, gradient flow."""

from __future__ import annotations

from dataclasses import replace
from types import NoneType
from typing import NamedTuple

from mvsim.base.echo import echo
from mvsim.base.errors import DivergedError, UsageError
from mvsim.flow import INTEGRATORS
from mvsim.judging.answer_text import SOON
from mvsim.judging.verdict import Verdict, not_applicable
from mvsim.losses import CrossEntropy
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.multi_view.parameters import Parameters, regime_label
from mvsim.multi_view.parameters.models import NETWORK
from mvsim.numerics.blas_threads import one_blas_thread
from mvsim.papers.midpoint_mixup.assumptions import assumption_4_3, departures, premises_of_the_proofs
from mvsim.papers.midpoint_mixup.calculations.calculations import calculations
from mvsim.papers.midpoint_mixup.calculations.gaussian_maxima import gaussian_maxima
from mvsim.papers.midpoint_mixup.claims import claims
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.run_checks.gradient_flow import gradient_flow
from mvsim.papers.midpoint_mixup.run_checks.origin import origin
from mvsim.papers.midpoint_mixup.run_checks.records import records
from mvsim.papers.midpoint_mixup.run_checks.replay_of_flow import replayed
from mvsim.papers.midpoint_mixup.section_3.sample import check_two_views
from mvsim.papers.midpoint_mixup.theorems.definition import Learned, classes_text, definition_4_5, learned_features
from mvsim.papers.midpoint_mixup.theorems.permanence import not_for_long, permanence, stays_until
from mvsim.papers.midpoint_mixup.theorems.theorems import THEOREMS
from mvsim.runs.run import Run


class Judgement(NamedTuple):
    """The verdicts on one run, the theorem first, and the names of what departs from what the theorems and their proofs assume."""

    run: Run
    verdicts: list[Verdict]
    departures: tuple[str, ...] = ()

    @property
    def seed(self) -> int:
        """Of the run."""
        return self.run.seed

    @property
    def end(self) -> float:
        """The last time of the run."""
        return float(self.run.dataset["final_time"])


def has_loss_of_theorems(run: Run) -> bool:
    """Whether a run is trained on the cross-entropy, without weight decay and label smoothing."""
    options = run.provenance["options"]
    return options["loss"] == CrossEntropy.name and not options.get("weight_decay") and not options.get("label_smoothing")


def theorem_of(run: Run) -> str | None:
    """Return the number of the theorem about the training loss of a run, None if there is none."""
    if not has_loss_of_theorems(run):
        return None
    return next((number for number, theorem in THEOREMS.items() if theorem.method == run.method), None)


def check_method(run: Run, number: str) -> None:
    """Raise `UsageError` if a theorem does not speak of the training loss of a run."""
    method = THEOREMS[number].method
    if run.method != method:
        raise UsageError(f"{_name(run)}: Theorem {number} is about method {echo(method)}; this run has {echo(run.method)}")
    loss = run.provenance["options"]["loss"]
    if loss != CrossEntropy.name:
        raise UsageError(f"{_name(run)}: Theorem {number} is about the cross-entropy; this run has loss={echo(loss)}")


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
        advice = "judge it without a theorem, or ask for Section 3: mvsim verify midpoint/lemma-3.2"
        raise UsageError(f"{where}model={parameters.model}: Theorems {' and '.join(THEOREMS)} are about the network; {advice}")
    check_two_views(parameters, f"Theorems {' and '.join(THEOREMS)} are", where)


def judge(run: Run, theorem: str | None, data: Dataset | None = None, everything: bool = True) -> Judgement:
    """Judge a run by a theorem, whatever its training loss (`check_method` is for callers who mind), and by what is claimed on the way.

    Without a theorem the claims about the initial state and the data are judged and no others: the rest of the proofs follows the two losses that
    have one. ``data`` are the points that it was trained on, if not those of its parameters and seed. Not ``everything``: the theorem and Definition
    4.5 only.
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
        predicted = permanence(evidence, learned, theorem)
        verdicts += THEOREMS[theorem].judge(run, learned, stays_until(evidence, predicted))
        if everything:
            verdicts = _with_permanence(evidence, verdicts, predicted)
        verdicts = [replace(part, kind="theorem").about(theorem, f"Theorem {theorem}") for part in verdicts]
    else:
        verdicts.append(_not_applicable(theorem, run.parameters))
    verdicts.append(definition_4_5(run, learned))
    if everything:
        verdicts += evidence_of(evidence)
    if everything and network:
        verdicts += claims(evidence, any_loss=theorem is None) if two_views else []
        if has_loss_of_theorems(run):
            verdicts += [replace(verdict, kind="evidence") for verdict in calculations(evidence)]
        verdicts += gaussian_maxima(run.parameters, run.seed)
        verdicts += [assumption_4_3(evidence), premises_of_the_proofs(evidence)]
    different = departures(evidence)
    label, names = regime_label(different), dict.fromkeys(deviation.name for deviation in different)
    return Judgement(run, [replace(verdict, regime=label) for verdict in verdicts], tuple(names))


def evidence_of(evidence: Evidence) -> list[Verdict]:
    """Return whether a run is what it says it is: where it comes from, its records, its balance of energy, where its saved states lead."""
    verdicts = [*origin(evidence), *gradient_flow(evidence), *records(evidence), *replayed(evidence)]
    return [replace(verdict, kind="evidence", gathered="everywhere") for verdict in verdicts]


def _with_permanence(evidence: Evidence, parts: list[Verdict], predicted: list[Verdict]) -> list[Verdict]:
    """Return the parts of a theorem and what is predicted of them; a part that holds, and may not for long, says so itself."""
    soon = not_for_long(evidence, predicted)
    if soon:
        vulnerable = [v for v in parts if v.status == "holds" and v.part == "features"]
        parts = [replace(v, detail=f"{v.detail}{SOON}{soon}", brief=v.detail, soon=soon) if v in vulnerable else v for v in parts]
    return [*parts, *predicted]


def _no_theorem(run: Run, learned: Learned) -> Verdict:
    options, numbers = run.provenance["options"], {theorem.method: number for number, theorem in THEOREMS.items()}
    if run.method in numbers:
        other = [] if options["loss"] == CrossEntropy.name else [f"loss {options['loss']}"]
        other += [f"{name.replace('_', ' ')} {options[name]:g}" for name in ("weight_decay", "label_smoothing") if options.get(name)]
        why = f"Theorem {numbers[run.method]} assumes the cross-entropy alone; this run has {', '.join(other)}"
    else:
        about = ", ".join(f"{number} is about {method}" for method, number in numbers.items())
        why = f"no theorem is about method {run.method} ({about})"
    statement = "training accuracy is 1 and features are learned from some t on, by a theorem about the training loss of this run"
    detail = f"{why}; at the end training accuracy {learned.accuracy:.4g}, {classes_text(learned)}"
    return replace(not_applicable(f"Theorems {' and '.join(THEOREMS)}", statement, detail), kind="theorem")


def _not_applicable(theorem: str, p: Parameters) -> Verdict:
    if p.model != NETWORK.name:
        statement = "it and the claims of its proof are about the network; Section 3 is about linear models, over data sets and without runs"
        why = "Section 3 is about linear models: mvsim verify midpoint/lemma-3.2 (proposition-3.3, 3.4, 3.5) judges it on data sets, not on a run"
    else:
        statement, why = "it and the claims of its proof are about two views of a class", f"V = {p.V}"
    return replace(not_applicable(f"Theorem {theorem}", statement, why), kind="theorem").about(theorem, f"Theorem {theorem}")


def _name(run: Run) -> str:
    return str(run.path) if run.path is not None else repr(run)
