"""Packages that only some of mvsim needs, and how they are installed."""

from __future__ import annotations

import importlib
from typing import Any

from mvsim.base.errors import UsageError


def load_extra(module: str, package: str, extra: str, who: str, otherwise: str = "") -> Any:
    """Return a module that need not be installed."""
    try:
        return importlib.import_module(module)
    except Exception as error:  # what a package raises that is installed badly may be anything
        missing = isinstance(error, ModuleNotFoundError) and error.name == module
        lacks = f"needs {package}, which is not installed" if missing else f"{package} cannot be loaded ({type(error).__name__}: {error})"
        advice = f'install it with `pip install ".[{extra}]"` where the source of mvsim is'
        raise UsageError(f"{who}: {lacks}; {advice}{f', or {otherwise}' if otherwise else ''}") from None
