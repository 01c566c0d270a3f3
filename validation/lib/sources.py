"""A digest of the code that a result depends on. Comments, docstrings and formatting do not enter: they change no result.

What enters: the parts of mvsim that a study names, and of the study its options, `measure`, and whatever these use in its own module and in `lib`.
How a study judges and words its results may change without outdating them.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SHARED = "lib"
"""Package beside the studies whose definitions are followed."""

WORDS = ("description", "help", "metavar")
"""Arguments by keyword that only word an option."""

BESIDE = tuple(f"simulation.{name}" for name in ("cost", "departures", "estimate", "memory", "pace", "progress", "resuming", "words"))
"""Modules of mvsim that predict, watch or word a run, or check that it is the one to go on with. No number of a run depends on them: they enter where
they are named, or all of mvsim is."""


class MissingSourceError(Exception):
    """A study names a part of mvsim that is not there."""


def digest_of_sources(package: Path, sources: Iterable[str], study: Path | None = None) -> str:
    """Return the digest of parts of mvsim and of what a study measures with.

    Parameters
    ----------
    package : Path
        The folder of mvsim.
    sources : iterable of str
        Dotted names of packages and modules in it; "" is all of it.
    study : Path, optional
        File of the study.
    """
    digest = hashlib.sha256()
    beside = {package.joinpath(*name.split(".")).with_suffix(".py") for name in BESIDE}
    files = {path for name in sources for path in _files_of(package, name) if name in ("", *BESIDE) or path not in beside}
    for path in sorted(files):
        digest.update(f"{path.relative_to(package).as_posix()} {_plain_text(path.read_text(encoding='utf-8'))}\n".encode())
    if study is not None:
        root = study.parents[1]
        for path, statement in sorted(_used(root, study, ["measure", "options"], set())):
            digest.update(f"{path.relative_to(root).as_posix()} {statement}\n".encode())
    return digest.hexdigest()


def _files_of(package: Path, name: str) -> list[Path]:
    """Return the files of a package or module."""
    place = package.joinpath(*name.split("."))
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    if not all(path.is_file() for path in files) or not files:
        raise MissingSourceError(f"mvsim has no part {name!r}; correct the SOURCES of the study")
    return files


def _module(path: Path) -> ast.Module:
    """Return the syntax tree of a file, without docstrings."""
    return _tree(path.read_text(encoding="utf-8"))


@functools.cache
def _tree(text: str) -> ast.Module:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_text(statement)]
        elif isinstance(node, ast.Call):
            node.keywords = [keyword for keyword in node.keywords if keyword.arg not in WORDS]
    return tree


@functools.cache
def _plain_text(text: str) -> str:
    return str(_plain(_tree(text)))


def _is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a string by itself: a docstring, or one below an assignment."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)


def _plain(node: Any) -> Any:
    """Return a syntax tree as nested lists, the same for all versions of Python: fields that later ones have added are empty where unused."""
    if isinstance(node, ast.AST):
        return [type(node).__name__, *([name, _plain(value)] for name, value in ast.iter_fields(node) if value is not None and value != [])]
    if isinstance(node, list):
        return [_plain(one) for one in node]
    return repr(node)


def _used(root: Path, path: Path, names: Iterable[str], seen: set[tuple[Path, str]]) -> Iterator[tuple[Path, str]]:
    """Yield the statements, each with its file, that bind ``names`` in a module below ``root`` and all that these use in turn."""
    bound = {name: statement for statement in _module(path).body for name in _names_bound(statement)}
    for name in names:
        if name not in bound or (path, name) in seen:
            continue
        seen.add((path, name))
        statement = bound[name]
        yield path, str(_plain(statement))
        if isinstance(statement, ast.ImportFrom):
            yield from _used_elsewhere(root, statement, name, seen)
        else:
            yield from _used(root, path, sorted({node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}), seen)


def _names_bound(statement: ast.stmt) -> list[str]:
    """Return the names that a statement at the top of a module binds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AnnAssign) else []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _used_elsewhere(root: Path, statement: ast.ImportFrom, name: str, seen: set[tuple[Path, str]]) -> Iterator[tuple[Path, str]]:
    """Yield what an import from `SHARED` leads to: one definition, or a whole module if that is what is imported."""
    parts = (statement.module or "").split(".")
    if parts[0] != SHARED:
        return
    place = root.joinpath(*parts)
    (original,) = (alias.name for alias in statement.names if (alias.asname or alias.name) == name)
    module = place / f"{original}.py"
    if module.is_file():
        yield from _used(root, module, sorted({bound for one in _module(module).body for bound in _names_bound(one)}), seen)
    else:
        yield from _used(root, place.with_suffix(".py"), [original], seen)
