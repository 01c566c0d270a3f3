"""Measure one study, judge what it measured, and keep it.

    python validation/run.py NAME [options]    # measures, judges, prints, writes validation/results/NAME.json; --help lists the options
    python validation/run.py --all             # every study, one after another, with the options that it has by default
    python validation/run.py --list            # the studies, and how their results stand: current, or older than the code
    python validation/run.py --results         # writes validation/RESULTS.md from the results
    python validation/run.py --draw NAME ...   # draws the pictures of studies again, from their results

The exit code is 0 if nothing is wrong with what was measured, and 1 otherwise. With ``--results`` go, of one study:

    --note NAME WORDS          what a reader has to know beside its results
    --older NAME WORDS         says that its results are older than the code; without such words the tests refuse results that are
    --stamp NAME REVISION OPTIONS
                               stamps results that were copied from another checkout: the study with these OPTIONS (one argument), at a git revision
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

from lib.faults import headed
from lib.figures import Figures
from lib.page import page
from lib.paths import FIGURES, PAGE, RESULTS
from lib.results import ResultsFile, standing
from lib.stamps import digest_of_file, stamp_at, stamps_in, write_stamp, write_text
from lib.study import Study, study_names

PLACES = ("--results-dir", "--runs", "--verify")
"""Options whose value is a place on this machine: no part of what others have to repeat."""


def command_of(study: Study, arguments: list[str]) -> str:
    """Return the command that repeats a measurement anywhere."""
    repeatable, words = [], iter(arguments)
    for word in words:
        if word in PLACES:
            next(words, None)
        elif word.split("=")[0] not in PLACES:
            repeatable.append(word)
    return shlex.join(["python", "validation/run.py", study.name, *repeatable])


def run_study(study: Study, arguments: list[str]) -> int:
    """Measure, judge, keep, print, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog=f"python validation/run.py {study.name}",
        description=study.description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    study.options(parser)
    parser.add_argument(
        "--results-dir", type=Path, metavar="DIR", help="folder for results and pictures, to try a study without touching its results"
    )
    options = parser.parse_args(arguments)
    options.command = command_of(study, arguments)
    options.figures = Figures(options.results_dir or FIGURES, options.command)
    options.file = ResultsFile(study, options.results_dir or RESULTS, options.command)
    options.file.write(study.measure(options))
    results = options.file.read()  # as every reader finds them
    options.figures.save_all(study.pictures(results))
    faults = study.judge(results)
    print(f"{study.headline(results)}.\n")
    for kind, words in map(headed, faults):
        print(f"{kind}: {words}")
    print(study.passage(results))
    print(f"{study.name}: {'fails' if faults else 'holds'}")
    return 1 if faults else 0


def draw(studies: list[Study]) -> int:
    """Draw the pictures of studies from their results; those that are drawn from runs are drawn when the study measures."""
    for study in studies:
        results = json.loads((RESULTS / f"{study.name}.json").read_text(encoding="utf-8"))
        figures = study.pictures(results)
        Figures(FIGURES, stamps_in(RESULTS)[study.name]["command"]).save_all(figures)
        print(f"{study.name}: {', '.join(figures) or 'no pictures are drawn from its results'}")
    return 0


def write_results(arguments: argparse.Namespace) -> int:
    """Change the stamps as asked, and write the page."""
    for name, revision, options in arguments.stamp:
        command = f"python validation/run.py {name} {options}".strip()
        write_stamp(RESULTS, name, stamp_at(Study.load(name), command, revision) | {"digest": digest_of_file(RESULTS / f"{name}.json")})
    for field in ("note", "older"):
        for name, words in getattr(arguments, field):
            write_stamp(RESULTS, name, stamps_in(RESULTS)[name] | {field: words})
    write_text(PAGE, page(RESULTS))
    return 0


def main(arguments: list[str]) -> int:
    """Do what is asked and return the exit code."""
    if arguments and arguments[0] in study_names():
        return run_study(Study.load(arguments[0]), arguments[1:])
    parser = argparse.ArgumentParser(
        prog="python validation/run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("name", nargs="?", choices=study_names(), metavar="NAME", help=", ".join(study_names()))
    asked.add_argument("--all", action="store_true")
    asked.add_argument("--list", action="store_true")
    asked.add_argument("--results", action="store_true")
    asked.add_argument("--draw", nargs="+", choices=study_names(), metavar="NAME")
    for option, words in (("--note", ("WORDS",)), ("--older", ("WORDS",)), ("--stamp", ("REVISION", "OPTIONS"))):
        parser.add_argument(option, nargs=1 + len(words), action="append", default=[], metavar=("NAME", *words), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    for name, *_ in (*given.note, *given.older, *given.stamp, *((name,) for name in given.draw or ())):
        if not (RESULTS / f"{name}.json").exists():
            parser.error(f"{name}: has no results; --list names those that have")
    if given.all:
        return max([run_study(Study.load(name), []) for name in study_names()])
    if given.draw:
        return draw([Study.load(name) for name in given.draw])
    if given.list:
        for study in map(Study.load, study_names()):
            print(f"{study.name:16} {study.title}\n{'':16} {standing(study, RESULTS)}")
        return 0
    return write_results(given)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
