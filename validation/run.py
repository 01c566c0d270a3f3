"""Measure one study, judge what it measured, and keep it.

    python validation/run.py NAME [options]    # measures, judges, prints, writes validation/results/NAME.json; --help lists the options
    python validation/run.py --all             # every study, one after another, with the options that it has by default
    python validation/run.py --release         # measures again what the README quotes; fails if a number has left its interval (hours)
    python validation/run.py --list            # the studies
    python validation/run.py --results         # writes validation/RESULTS.md from the results
    python validation/run.py --draw NAME ...   # draws the pictures of studies again, from their results

The exit code is 0 if nothing is wrong with what was measured, and 1 otherwise; 2 if the code is not committed: results are of committed code only.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from lib.faults import headed
from lib.figures import Figures
from lib.page import page
from lib.paths import FIGURES, PAGE, RESULTS
from lib.release import QUOTED, outside
from lib.results import ResultsFile, read, results_of, write_text
from lib.stamps import UncommittedCodeError
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
    options.file = ResultsFile(study.name, options.results_dir or RESULTS, options.command)
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


def draw(names: list[str]) -> None:
    """Draw the pictures of studies from their results; those that are drawn from runs are drawn when the study measures."""
    for name in names:
        figures = Study.load(name).pictures(results_of(name))
        Figures(FIGURES, read(RESULTS / f"{name}.json")["measured"][-1]["command"]).save_all(figures)
        print(f"{name}: {', '.join(figures) or 'no pictures are drawn from its results'}")


def release() -> int:
    """Measure again what the README quotes, by the command of the last time, and say which numbers have left their intervals."""
    left = []
    for study in map(Study.load, QUOTED):
        run_study(study, shlex.split(read(RESULTS / f"{study.name}.json")["measured"][-1]["command"])[3:])
        left += outside(study.name, study.quotes(results_of(study.name)))
    print("\n".join(left) or "All numbers that the README quotes are within their intervals.")
    return 1 if left else 0


def main(arguments: list[str]) -> int:
    """Do what the arguments say and return the exit code."""
    try:
        return _main(arguments)
    except UncommittedCodeError as error:
        print(error, file=sys.stderr)
        return 2


def _main(arguments: list[str]) -> int:
    if arguments and arguments[0] in study_names():
        return run_study(Study.load(arguments[0]), arguments[1:])
    parser = argparse.ArgumentParser(
        prog="python validation/run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    actions = parser.add_mutually_exclusive_group(required=True)
    actions.add_argument("name", nargs="?", choices=study_names(), metavar="NAME", help=", ".join(study_names()))
    for flag in ("--all", "--release", "--list", "--results"):
        actions.add_argument(flag, action="store_true")
    actions.add_argument("--draw", nargs="+", choices=study_names(), metavar="NAME")
    options = parser.parse_args(arguments)
    if options.all:
        return max(run_study(Study.load(name), []) for name in study_names())
    if options.release:
        return release()
    if options.draw:
        draw(options.draw)
    elif options.list:
        print("\n".join(f"{name:20} {Study.load(name).title}" for name in study_names()))
    else:
        write_text(PAGE, page(RESULTS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
