"""An argument vector, tried in this process or in one of its own."""

from __future__ import annotations

import fnmatch
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzzing import message
from fuzzing.breach import Breach, raised, short
from fuzzing.world import TakesTooLongError, at_most, foreseen, watched

CODES = (0, 1, 2, 3, 130)
BUG = 70
SECONDS = 30.0


@dataclass(frozen=True)
class Command:
    """Words after ``mvsim``.

    Attributes
    ----------
    words : tuple of str
        The argument vector.
    label : str
        What is odd about it.
    named : tuple of str
        One of these has to occur if it is refused.
    refused : bool or None
        Whether it has to be refused; None if either will do.
    files : tuple
        Names and contents of files that lie in the folder before.
    makes : tuple of str
        Patterns of the names of files that it may leave, besides those that were there.
    apart : bool
        Whether it is tried in a process of its own.
    environment : tuple
        Names and values of variables of that process.
    """

    words: tuple[str, ...]
    label: str
    named: tuple[str, ...] = ()
    refused: bool | None = None
    files: tuple[tuple[str, bytes], ...] = ()
    makes: tuple[str, ...] = ()
    apart: bool = False
    environment: tuple[tuple[str, str], ...] = ()

    def breaches(self, folder: Path) -> list[Breach]:
        for name, content in self.files:
            (folder / name).write_bytes(content)
        before = contents(folder)
        found, code, out, err = (_run_apart if self.apart else _run_here)(self, folder)
        if code is None:
            return found
        return found + self._judged(code, out, err) + self._left(code, before, folder)

    def _judged(self, code: int, out: str, err: str) -> list[Breach]:
        found = []
        if code == BUG:
            found.append(Breach("a bug is reported", self.label, short(err[-300:])))
        elif code not in CODES:
            found.append(Breach("an unknown exit code", self.label, f"{code}: {short(err[-300:])}"))
        if self.refused is not None and (code == 2) is not self.refused:
            found.append(Breach("wrongly accepted" if self.refused else "wrongly refused", self.label, f"exit code {code}: {short(err)}"))
        lines = [line for line in err.splitlines() if line]
        for line in lines:
            if line.startswith("mvsim: warning: ") and not foreseen(line.removeprefix("mvsim: warning: ")):
                found.append(Breach("a Python warning", short(line[:80]), self.label))
        if code == 2:
            text = "\n".join(line for line in err.removesuffix("\n").split("\n") if not line.startswith("mvsim: warning: "))
            found += message.breaches(text, self.named, self.label)
            if not text.startswith("mvsim: "):
                found.append(Breach("a refusal does not say who speaks", self.label, short(text)))
        elif "Traceback" in err:
            found.append(Breach("a traceback on stderr", self.label, short(err[-300:])))
        if code in (2, 3, 130) and out and self.words[:1] != ("verify",):
            found.append(Breach("words on stdout in spite of an error", self.label, short(out)))
        if code == 0 and "--json" in self.words and not {"--help", "-h", "--version"} & set(self.words):
            try:
                json.loads(out, parse_constant=_no_number)
            except ValueError as error:
                found.append(Breach("not JSON on stdout", self.label, f"{error}: {short(out)}"))
        return found

    def _left(self, code: int, before: dict[str, bytes], folder: Path) -> list[Breach]:
        after = contents(folder)

        def made(name: str) -> bool:
            return code != 2 and any(fnmatch.fnmatchcase(name, pattern) for pattern in self.makes)

        changed = sorted(name for name in before if after.get(name) != before[name] and not made(name))
        new = sorted(name for name in set(after) - set(before) if not made(name))
        found = [Breach("a file is changed", self.label, short(", ".join(changed)))] if changed else []
        return [*found, Breach("files are left behind", self.label, short(", ".join(new)))] if new else found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def contents(folder: Path) -> dict[str, bytes]:
    """Return what lies in a folder; a folder in it has no contents, and what is below ``mvsim-runs`` does not count."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
        if path.relative_to(folder).parts[0] != "mvsim-runs"
    }


def _run_here(case: Command, folder: Path) -> tuple[list[Breach], int | None, str, str]:
    """Run `mvsim.cli.main` with streams of its own."""
    from mvsim.cli import main

    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    before, here, code, stopped = (sys.stdout, sys.stderr), os.getcwd(), None, None
    os.chdir(folder)
    try:
        with watched(case.words[0] if case.words else "mvsim") as watch:
            sys.stdout, sys.stderr = streams
            try:
                with at_most(SECONDS):
                    code = main(list(case.words))
            except TakesTooLongError:
                stopped = Breach("takes too long", case.label, f"more than {SECONDS:g} s")
            except Exception as error:
                stopped = raised("a traceback", error)
            except SystemExit as error:
                stopped = Breach("a command ends the process", case.label, repr(error.code))
            finally:
                swapped = [name for name, stream in zip(("stdout", "stderr"), streams, strict=True) if getattr(sys, name) is not stream]
                sys.stdout, sys.stderr = before
    finally:
        os.chdir(here)
    found = [Breach("global state is changed", f"sys.{name}", case.label) for name in swapped] + ([stopped] if stopped else [])
    found += watch.breaches
    out, err = (stream.buffer.getvalue().decode(errors="replace") for stream in streams)  # type: ignore[attr-defined]
    return found, code, out, err


def _run_apart(case: Command, folder: Path) -> tuple[list[Breach], int | None, str, str]:
    """Run ``python -m mvsim``."""
    words = [sys.executable, "-m", "mvsim", *case.words]
    root = str(Path(__file__).resolve().parents[2])
    environment = os.environ | dict(case.environment) | {"PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}
    try:
        answer = subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=10 * SECONDS, stdin=subprocess.DEVNULL, env=environment)
    except subprocess.TimeoutExpired:
        return [Breach("takes too long", case.label, f"more than {10 * SECONDS:g} s")], None, "", ""
    return [], answer.returncode, answer.stdout.decode(errors="replace"), answer.stderr.decode(errors="replace")


def words_of(options: Sequence[tuple[str, str | None]]) -> tuple[str, ...]:
    """Return options and their values as words; a flag has no value."""
    return tuple(word for name, value in options for word in ((f"--{name}",) if value is None else (f"--{name}", value)))
