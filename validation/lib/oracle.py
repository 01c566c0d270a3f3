"""Code of tests/ that studies measure with, imported by its path: the independent reference, and what fuzzing tries."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from lib.paths import TESTS


def load(name: str) -> ModuleType:
    """Import a module or package of tests/ under its own name, once."""
    if name not in sys.modules:
        path = TESTS / name
        file, folders = (path / "__init__.py", [str(path)]) if path.is_dir() else (path.with_suffix(".py"), None)
        spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


reference = load("reference")
"""Losses and gradients by loops in R^{P x d}, transcribed from the definitions."""
