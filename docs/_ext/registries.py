"""Tables that are written at build from the registries of mvsim, so that they cannot go stale.

=====================  ====================================================================
``theory-map``         every definition, calculation, claim and theorem with its function and
                       what that says of two small runs, which are made at build
``small-runs``         what these runs say of themselves
``run-variables``      what is recorded of a run
``parameter-table``    parameters with their meaning and the defaults at two sizes
``command-help``       what each command says of itself
=====================  ====================================================================
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import mvsim
from mvsim.cli import main
from mvsim.cli.app import app as command_line
from mvsim.judging.from_seeds import FromSeeds
from mvsim.judging.verdict import Verdict
from mvsim.papers.midpoint_mixup.calculations.calculations import CALCULATIONS
from mvsim.papers.midpoint_mixup.calculations.gaussian_maxima import GAUSSIAN_MAXIMA, drawn_maxima
from mvsim.papers.midpoint_mixup.claims import CLAIMS
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.section_3.statements import SECTION_3
from mvsim.papers.midpoint_mixup.theorems.definition import learned_features
from mvsim.papers.midpoint_mixup.theorems.theorems import THEOREMS
from mvsim.runs.recording.fresh_draws import count_classes, outcomes_of
from mvsim.runs.recording.variables import VARIABLES

SMALL = {"k": 6, "d": 2455, "P": 36, "N": 200}
"""The runs of the theory map: both theorems hold there, and each takes seconds."""

NUMBERED = re.compile(r"^(?:(?:Claims?|Lemma|Corollary|Calculation|Proposition) )?[AB]\.\d+[^:<>=]*: ")
"""How docstrings begin that name what they are about."""

DEFINITIONS = (
    ("Equation 2.1: loss of ERM", "mvsim.multi_view.objectives.erm:Erm"),
    ("Equation 2.2: loss of Mixup", "mvsim.multi_view.objectives.mixup:Mixup"),
    ("Equation 3.1: loss of Midpoint Mixup", "mvsim.multi_view.objectives.midpoint:Midpoint"),
    ("Definition 3.1: data of the linear models", "mvsim.multi_view.data.distribution:sample_dataset"),
    ("Definition 4.1: general multi-view data", "mvsim.multi_view.data.distribution:sample_dataset"),
    ("Definition 4.1: law of beta", "mvsim.multi_view.parameters.beta_laws:UniformLaw"),
    ("Definition 4.1: feature noise", "mvsim.multi_view.data.distribution:codebook"),
    ("Definition 4.2: smoothed ReLU", "mvsim.multi_view.activations.smoothed_relu:smoothed_relu"),
    ("Definition 4.2: network, readable", "mvsim.multi_view.kernels.oracle:OracleKernel"),
    ("Definition 4.2: initial weights", "mvsim.multi_view.initialisation:initial_correlations"),
    ("Assumption 4.3: scalings", "mvsim.multi_view.parameters.model:Parameters"),
    ("Assumption 4.3: how a run departs from it", "mvsim.papers.midpoint_mixup.assumptions:assumption_4_3"),
    ("Premises that the proofs use besides", "mvsim.papers.midpoint_mixup.assumptions:premises"),
    ("Equation 4.2: gradient descent", "mvsim.flow.gradient_descent:GradientDescent"),
    ("Definition 4.5: learned features, during a run", "mvsim.runs.recording.fresh_draws:FeatureTest"),
    ("Definition 4.5: learned features, in a verdict", "mvsim.papers.midpoint_mixup.theorems.definition:definition_4_5"),
    ("Before Claim B.10: Lambda_{y,l}", "mvsim.multi_view.diagnostics:max_correlation"),
    ("Before Claim B.10: S_{y,l}", "mvsim.multi_view.diagnostics:signal_strength"),
    ("Equations B.1 and B.16: B_{y,l}", "mvsim.multi_view.diagnostics:active_neurons"),
    ("C_{y,l}", "mvsim.multi_view.diagnostics:total_correlation"),
    ("Delta_y", "mvsim.multi_view.diagnostics:view_gap"),
)
"""What the paper defines, and where it is computed; a name that is not there stops the build."""


class Row(NamedTuple):
    """One entry of the theory map."""

    name: str
    says: str
    function: Callable[..., Any]
    verdict: str


def place(function: Callable[..., Any]) -> str:
    """Return the dotted name of a function."""
    return f"{function.__module__}.{function.__qualname__}"


def first_paragraph(described: object) -> str:
    """Return what a docstring says first, on one line."""
    paragraph = " ".join((described.__doc__ or "").strip().split("\n\n")[0].split())
    return re.sub(r" \(see `\w+`\)", "", paragraph)


def definitions() -> list[Row]:
    """Return what the paper defines."""
    rows = []
    for name, where in DEFINITIONS:
        module, attribute = where.split(":")
        found = getattr(importlib.import_module(module), attribute)
        rows.append(Row(name, first_paragraph(found), found, ""))
    return rows


@cache
def small_runs() -> dict[str, mvsim.Run]:
    """Return the two runs of the map."""
    return {method: mvsim.simulate(mvsim.Parameters(**SMALL), method=method) for method in ("erm", "midpoint")}


def in_words(verdict: Verdict) -> str:
    """Return the status and the number of a verdict."""
    number = "" if verdict.measured is None else f" {verdict.measured:.3g}"
    bound = "" if verdict.bound is None or verdict.measured is None else f" (bound {verdict.bound:.3g})"
    return f"{verdict.status}{number}{bound}"


def theorems() -> list[Row]:
    """Return the theorems, judged on the small runs."""
    rows = []
    for number, theorem in THEOREMS.items():
        run = small_runs()[theorem.method]
        verdicts = theorem.judge(run, learned_features(run))
        said = "; ".join(f"{verdict.part}: {in_words(verdict)}" for verdict in verdicts)
        rows.append(Row(f"Theorem {number}", first_paragraph(theorem.judge), theorem.judge, said))
    return rows


def results() -> list[Row]:
    """Return the results that need no runs, judged at k = 5 on one data set."""
    rows = []
    for statement in SECTION_3:
        assert isinstance(statement.procedure, FromSeeds)
        judge = statement.procedure.judge
        said = "; ".join(f"{verdict.name or 'it'}: {verdict.status}" for verdict in judge(statement.at([5], {})[0], 0))
        rows.append(Row(statement.name, first_paragraph(inspect.getmodule(judge)), judge, said))
    return rows


def calculations() -> list[Row]:
    """Return the calculations, checked on the small run of ERM."""
    evidence = Evidence(small_runs()["erm"])
    return [Row(name, first_paragraph(step.check), step.check, in_words(step.check(evidence))) for name, step in CALCULATIONS.items()]


def gaussian() -> list[Row]:
    """Return Propositions A.1 to A.5, for m and d of the small runs."""
    p = mvsim.Parameters(**SMALL)
    sigma = p.d**-0.5
    maxima = drawn_maxima(p.m, sigma)
    return [Row(name, first_paragraph(step.check), step.check, in_words(step.check(maxima, p.m, sigma))) for name, step in GAUSSIAN_MAXIMA.items()]


def claims() -> list[Row]:
    """Return the claims, each judged on the small runs that it speaks of."""
    evidence = {method: Evidence(run) for method, run in small_runs().items()}
    rows = []
    for name, claim in CLAIMS.items():
        said = [f"{method}: {in_words(claim.check(one))}" for method, one in evidence.items() if claim.applies(one.mixes)]
        rows.append(Row(name, first_paragraph(claim.check), claim.check, "; ".join(said)))
    return rows


GROUPS: dict[str, Callable[[], list[Row]]] = {
    "definitions": definitions,
    "theorems": theorems,
    "results": results,
    "calculations": calculations,
    "gaussian": gaussian,
    "claims": claims,
}
"""The parts of the theory map by the argument of the directive."""


class TheoryMap(SphinxDirective):
    """``theory-map`` with a key of `GROUPS`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = GROUPS[self.arguments[0]]()
        judged = any(row.verdict for row in rows)
        head = ("statement", "where", "verdict") if judged else ("statement", "where")
        cells = []
        for row in rows:
            says = NUMBERED.sub("", row.says).removeprefix(row.name).strip(": ")
            statement = [nodes.strong(text=row.name), nodes.Text(f": {says}" if says else "")]
            cells.append([statement, [dotted(place(row.function))], [nodes.Text(row.verdict)]][: len(head)])
        return [table(head, cells, (44, 33, 23)[: len(head)])]


class SmallRuns(SphinxDirective):
    """``small-runs``."""

    def run(self) -> list[nodes.Node]:
        """Return what became of the classes in each run of the map."""
        fields, lines = ", ".join(f"{name} = {value}" for name, value in SMALL.items()), []
        for method, run in small_runs().items():
            counts = count_classes(run.dataset["feature_learned"].to_numpy()[-1])
            lines.append(f"{method}: " + ", ".join(f"{of.phrase} in {counts[of.name]}" for of in outcomes_of(run.parameters.V)) + " classes")
        return [nodes.literal_block(text="\n".join([fields, *lines]), language="none")]


class RunVariables(SphinxDirective):
    """``run-variables``."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = [
            [[nodes.literal(text=name)], *([nodes.Text(text)] for text in (", ".join(v.dims) or "one number", v.meaning, v.when.name.lower()))]
            for name, v in VARIABLES.items()
        ]
        return [table(("name", "dimensions", "meaning", "measured"), rows, (29, 24, 37, 10))]


class ParameterTable(SphinxDirective):
    """``parameter-table``."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        sizes = [mvsim.Parameters(k=10), mvsim.Parameters(k=50)]
        rows = [
            [[nodes.literal(text=name)], *([nodes.Text(text)] for text in (str(field.description), *(_value(p, name) for p in sizes)))]
            for name, field in mvsim.Parameters.model_fields.items()
        ]
        return [table(("name", "meaning", "at k = 10", "at k = 50"), rows, (18, 54, 14, 14))]


class CommandHelp(SphinxDirective):
    """``command-help``."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each command, with what ``--help`` prints."""
        sections = []
        for name in [name for name in command_line if not name.startswith("-")]:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                main([name, "--help"])
            section = nodes.section(ids=[f"mvsim-{name}"], names=[f"mvsim {name}"])
            section += nodes.title(text=f"mvsim {name}")
            section += nodes.literal_block(text=printed.getvalue(), language="none")
            sections.append(section)
        return sections


def _value(p: mvsim.Parameters, name: str) -> str:
    """Return the value of a parameter in a few characters."""
    value = getattr(p, name)
    return f"{value:.3g}" if isinstance(value, float) else str(getattr(value, "kind", value))


Cell = Sequence[nodes.Node]


def dotted(name: str) -> nodes.literal:
    """Return a dotted name as code that may break after each dot."""
    made = nodes.literal()
    for part in re.split(r"(?<=\.)", name):
        made += [nodes.Text(part), nodes.raw("", "<wbr>", format="html")]
    return made


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]], widths: Sequence[int]) -> nodes.table:
    """Return a table."""
    made = nodes.table(classes=["registry"])
    group = nodes.tgroup(cols=len(head))
    made += group
    group += [nodes.colspec(colwidth=width) for width in widths]
    group += [nodes.thead("", _row([nodes.Text(name)] for name in head)), nodes.tbody("", *(_row(row) for row in rows))]
    return made


def _row(cells: Iterable[Cell]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    for name, directive in {
        "theory-map": TheoryMap,
        "small-runs": SmallRuns,
        "run-variables": RunVariables,
        "parameter-table": ParameterTable,
        "command-help": CommandHelp,
    }.items():
        app.add_directive(name, directive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
