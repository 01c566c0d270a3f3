"""Carry results over to code that was rewritten and computes the same.

    python validation/carry.py REVISION    # of git: mvsim as it was when the results were current

A rewrite that changes no number (names, files, messages, cases that no run comes to) makes results older than the code all the same. This makes a
fixed set of runs (`lib.same_runs`) with mvsim as it was at REVISION and as it is now, on this machine. It compares each variable of their files and
the verdicts of `mvsim.verify` on them, apart from their wording. Where no bit differs, it stamps anew the results that were current at REVISION and
depend on nothing else that has changed since; the page of results says so of each. Studies of speed alone are not carried over; seconds in others
stay those of the earlier code, and so do words of verdicts. The work tree must not change meanwhile: verdicts compare the git revision of a run's
code with the present one.

The exit code is 1 if anything differs; then nothing is stamped.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lib.page import page
from lib.paths import PAGE, RESULTS
from lib.same_runs import PARTS, bits, cases, different
from lib.sources import digest_of_sources
from lib.stamps import extracted, present_revision, present_sources, sources_in, stamps_in, write_stamp, write_text
from lib.study import Study, study_names

import mvsim
from mvsim.base.counted import counted

SPEEDS = ("performance", "startup")
"""Studies that measure how fast the code is."""


def measured(package: Path, names: list[str]) -> dict[str, dict[str, str]]:
    """Return the bits of runs, made by mvsim in a folder, in a process of its own with one thread."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    environment = os.environ | one_thread | {"PYTHONPATH": str(package.parent)}
    command = [sys.executable, __file__, "--bits", str(package), *names]
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def print_bits(package: Path, names: list[str]) -> int:
    """Print the bits of runs; refuse to do so with another mvsim than that in the folder."""
    if Path(mvsim.__file__).parent.resolve() != package.resolve():
        raise RuntimeError(f"mvsim is that in {Path(mvsim.__file__).parent}, not that in {package}")
    found = {}
    for name in names:
        print(name, file=sys.stderr, flush=True)
        found[name] = bits(cases()[name])
    print(json.dumps(found))
    return 0


def can_be_carried(study: Study, package: Path) -> bool:
    """Whether results were current with mvsim in a folder, are not now, and depend on nothing else that has changed since."""
    stamp = stamps_in(RESULTS).get(study.name)
    if stamp is None or study.name in SPEEDS or present_sources(study) == stamp["sources"] or sources_in(package, study) != stamp["sources"]:
        return False
    others = [name for name in study.sources if name.split(".")[0] not in PARTS]
    return digest_of_sources(package, others) == digest_of_sources(Path(mvsim.__file__).parent, others)


def compared(package: Path, names: list[str]) -> int:
    """Make runs with mvsim in a folder and with mvsim as it is, print in what they differ, and return the exit code."""
    with ThreadPoolExecutor(2) as both:
        before, now = both.map(measured, (package, Path(mvsim.__file__).parent), (names, names))
    differences = different(before, now)
    print("\n".join(["Not the same bits:", *differences] if differences else [f"The same bits in {counted(len(names), 'run')}"]))
    return 1 if differences else 0


def carry(package: Path) -> int:
    """Compare all runs, stamp what can be carried over, and write the page; return the exit code."""
    studies = [study for study in map(Study.load, study_names()) if can_be_carried(study, package)]
    print(f"Results that can be carried over: {', '.join(study.name for study in studies) or 'none'}")
    if not studies:
        return 0
    runs = list(cases())
    if code := compared(package, runs):
        return code
    same = f"on the {len(runs)} runs of `validation/carry.py` old and new code agree bit for bit, in verdicts apart from their wording"
    since = f"The code was rewritten since (up to revision {present_revision()}) and this study not repeated"
    words = f"{since}: {same}; seconds and words are of the earlier code."
    for study in studies:
        write_stamp(RESULTS, study.name, stamps_in(RESULTS)[study.name] | {"sources": present_sources(study), "carried": words})
    write_text(PAGE, page(RESULTS))
    return 0


def main(arguments: list[str]) -> int:
    """Do what is asked and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", metavar="REVISION", help="git revision")
    parser.add_argument("--only", nargs="+", choices=list(cases()), metavar="RUN", help="compare these runs, and stamp nothing")
    if arguments[:1] == ["--bits"]:
        return print_bits(Path(arguments[1]), arguments[2:])
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        package = extracted(given.revision, Path(folder))
        return compared(package, given.only) if given.only else carry(package)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
