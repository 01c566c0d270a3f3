"""What a report says of runs or of a sweep, in plain parts that a page is made of."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mvsim.judging.answer_text import answer_sentences, asked_for, contradicted_steps, regime_sentence
from mvsim.judging.statement import Section, Statement
from mvsim.judging.verdict import Verdict
from mvsim.multi_view.parameters import Parameters, assumption_of
from mvsim.multi_view.parameters.models import NETWORK
from mvsim.papers.on_runs import run_judges
from mvsim.pictures import run_figure
from mvsim.pictures.labels import method_name
from mvsim.pictures.style import styled
from mvsim.pictures.sweep_figure import sweep_figure
from mvsim.runs.archive import revision_text
from mvsim.runs.run import REGIME, Run
from mvsim.sweeps.identity import refuse_repeated
from mvsim.sweeps.runs import SweepRuns
from mvsim.sweeps.values import canonical_text


@dataclass(frozen=True)
class Table:
    """A table: its title, names of columns, and rows of text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Report:
    """What a page says."""

    title: str
    summary: list[str]  # what came out, in words, a paragraph each
    sections: list[Section]
    # Departures of the parameters from what is assumed, in words, each with the runs that have it; without runs it is common to all
    regime: dict[str, str]
    assumption: str = NETWORK.assumption  # what is assumed
    figures: list[str] = field(default_factory=list)  # SVG elements
    tables: list[Table] = field(default_factory=list)  # Runs, or cells
    provenance: list[Table] = field(default_factory=list)  # where the runs come from
    commands: list[str] = field(default_factory=list)  # what makes the runs and this report again
    draws: int | None = None  # fresh draws for each class, in the runs of a sweep
    statements: Sequence[Statement] = ()  # Those that were asked for by name; by default the theorems
    strict: bool = False  # whether all steps of the proofs were
    code: int | None = None  # Exit code of the answer, if it is given; by default that of the verdicts

    @property
    def verdict_draws(self) -> int:
        """Fresh draws for each class of which a verdict asks whether all are right."""
        return max(judge.draws for judge in run_judges())

    @property
    def answer(self) -> str:
        """The outcome of each theorem that was judged, how many checks of the runs passed, and which steps of the proofs are contradicted.

        Empty if nothing was judged.
        """
        verdicts = [verdict for section in self.sections for verdict in section.verdicts]
        selected = asked_for(verdicts, self.statements, self.strict)
        steps = contradicted_steps(verdict for verdict in verdicts if verdict not in selected)
        return " ".join([*answer_sentences(self.sections, self.statements, self.strict, self.code), *([steps] if steps else [])])

    def headlines(self) -> list[tuple[str, list[Verdict]]]:
        """Return what is said of theorems and of Definition 4.5, section by section."""
        front = [(section.title, [v for v in section.verdicts if v.kind == "theorem" or v.part or v.number == "4.5"]) for section in self.sections]
        return [(title, verdicts) for title, verdicts in front if verdicts]

    def judged_regimes(self) -> dict[str, list[str]]:
        """Return the regimes of the verdicts as sentences, each with the titles of its sections.

        They name more departures than `regime`, which is that of the files: premises of the proofs that were measured and do not hold, too.
        """
        titles: dict[str, list[str]] = {}
        for section in self.sections:
            if section.regimes:
                titles.setdefault(regime_sentence(section.regimes), []).append(section.title)
        return titles


def report_of_runs(runs: Sequence[Run], sections: Iterable[Section], command: str) -> Report:
    """Return the report on some runs."""
    refuse_repeated(runs)
    title = "; ".join(dict.fromkeys(map(_run_title, runs)))
    return Report(
        title=title,
        # Without the lines about the regime, which has a part of its own.
        summary=["\n".join(line for line in run.summary.splitlines() if not line.strip().startswith(REGIME)) for run in runs],
        sections=list(sections),
        regime=_regime(runs),
        assumption=assumption_of(run.parameters for run in runs),
        figures=[inline_svg(run_figure(list(runs)), "runs", "Correlations, loss and learned classes over time")],
        provenance=[_provenance(run) for run in runs],
        commands=[*dict.fromkeys(command for run in runs for command in run.commands), command],
    )


def report_of_sweep(runs: SweepRuns, sections: Iterable[Section], command: str) -> Report:
    """Return the report on a sweep; arguments as for `report_of_runs`."""
    study = runs.study
    done = [cell for cell, standing in zip(study.cells, runs.standings, strict=True) if standing.state == "done"]
    failed = sum(standing.state == "failed" for standing in runs.standings)
    swept = "; ".join(f"{axis.label}: {len(axis.values)} values" for axis in study.axes)
    state = f"{len(done)} of {len(study.cells)} cells are done" + (f", {failed} failed" if failed else "")
    first = runs.run(done[0].index) if done else None
    return Report(
        title=f"Sweep over {', '.join(name for axis in study.axes for name in axis.names) or 'one run'}",
        summary=[f"{state}. {swept}."],
        sections=list(sections),
        regime=_regime_of_sweep(runs),
        assumption=assumption_of(cell.parameters for cell in study.cells),
        figures=[inline_svg(sweep_figure(runs), "sweep", "Fractions of classes by what they have learned")],
        tables=[_cells(runs)],
        draws=None if first is None else int(first.provenance["options"]["n_test"]),
        provenance=[_provenance(first, f"The first run, {done[0].file}")] if first is not None else [],
        commands=[sweep_command(runs), command],
    )


def sweep_command(runs: SweepRuns) -> str:
    """Return the command that makes the runs of a sweep again."""
    study = runs.study
    words = ["mvsim", "sweep"]
    for name, values in study.values.items():
        plain = all(isinstance(value, int | float | str) for value in values)
        texts = [value if isinstance(value, str) else canonical_text(value) for value in values]
        flag = name if name in Parameters.model_fields else name.replace("_", "-")
        words += [f"--{flag}", ",".join(texts) if plain else json.dumps(list(values))]
    for group in study.zips:
        words += ["--zip", ",".join(group)]
    words += ["--regime", study.regime] if study.regime != "scaled" else []
    until = [] if runs.folder.until is None else ["--until", canonical_text(runs.folder.until)]
    return shlex.join([*words, *until, "--out", str(runs.folder.path)])


def _regime(runs: Sequence[Run]) -> dict[str, str]:
    stated: dict[str, list[Run]] = {}
    for run in runs:
        for deviation in run.regime:
            stated.setdefault(deviation.statement, []).append(run)
    return {
        statement: "" if len(of) == len(runs) else ", ".join(f"{run.method}, k = {run.parameters.k}, seed {run.seed}" for run in of)
        for statement, of in stated.items()
    }


def _regime_of_sweep(runs: SweepRuns) -> dict[str, str]:
    labels: dict[str, list[str]] = {}
    for cell in runs.study.cells:
        where = ", ".join(f"{name} = {canonical_text(value)}" for name, value in cell.swept.items() if name not in ("seed", "method")) or "all cells"
        names = list(dict.fromkeys(deviation.name for deviation in cell.parameters.deviations()))
        labels.setdefault(regime_sentence([names]), []).append(where)
    return {label: "" if len(labels) == 1 else "; ".join(dict.fromkeys(where)) for label, where in labels.items()}


def _provenance(run: Run, title: str = "") -> Table:
    provenance = run.provenance
    rows = [
        ("file", str(run.path) if run.path is not None else "not saved"),
        ("state", f"{run.status}, {'settled' if run.settled else 'not settled'}"),
        ("mvsim", f"{provenance['version']}, {revision_text(provenance)}"),
        ("made", f"{provenance['created']}, in {provenance['wall_seconds']:.1f} s"),
        ("machine", provenance["platform"]),
        ("libraries", ", ".join(f"{name} {version}" for name, version in provenance["versions"].items() if version)),
        ("integrator", ", ".join(f"{name} = {value}" for name, value in provenance["integrator"].items() if value is not None)),
        ("options", ", ".join(f"{name} = {_short(value)}" for name, value in provenance["options"].items())),
        ("parameters", ", ".join(f"{name} = {_short(value)}" for name, value in provenance["parameters"].items())),
    ]
    return Table(title or _run_title(run), ("", ""), rows)


def _run_title(run: Run) -> str:
    """Return what a run is called: its model if that is not the network, its method, k and seed."""
    return f"{run.parameters.described.label}{method_name(run.method)}, k = {run.parameters.k}, seed {run.seed}"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)


def _cells(runs: SweepRuns) -> Table:
    swept = [name for axis in runs.study.axes for name in axis.names]
    measured = [name for name in runs.measures if name.startswith("classes_")]
    columns = ["cell", *swept, "state", *measured, "training_accuracy", "loss", "time", "settled"]
    columns += ["message"] if any(standing.message for standing in runs.standings) else []
    table = runs.table[columns]
    rows = [[_cell_text(value) for value in row] for row in table.itertuples(index=False)]
    return Table("Cells", [name.replace("_", " ") for name in columns], rows)


def _cell_text(value: Any) -> str:
    import pandas as pd

    if value is None or value is pd.NA:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ID = re.compile(r'\bid="([^"]+)"')
_NEEDLESS = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->", flags=re.DOTALL)


def inline_svg(figure: Figure, prefix: str, words: str) -> str:
    """Return a figure as an SVG element for an HTML page."""
    file = io.BytesIO()
    with styled():
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue().decode()
    text = _NEEDLESS.sub("", text[text.index("<svg") :]).strip()
    head, rest = text.split(">", 1)
    box = re.search(r'viewBox="[^"]+"', head)
    text = f'<svg {box[0] if box else ""} role="img" aria-label="{words}" xmlns:xlink="http://www.w3.org/1999/xlink">{rest}'
    names = set(_ID.findall(text))
    used = set(re.findall(r'url\(#([^)]+)\)|xlink:href="#([^"]+)"', text))
    referenced = names & {name for pair in used for name in pair}
    text = _ID.sub(lambda match: f'id="{prefix}-{match[1]}"' if match[1] in referenced else "", text)
    return re.sub(r'(url\(#|xlink:href="#)', rf"\g<1>{prefix}-", text)
