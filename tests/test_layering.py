"""Imports only go down the layers, wherever in a file they stand."""

import ast
from pathlib import Path

import pytest

import mvsim

LAYERS = [
    ["counted", "errors", "echo", "extras", "html", "logarithms", "signals", "version"],
    ["devices", "inputs", "intervals", "options", "random_streams", "linalg"],
    ["parameters"],
    ["free_memory"],
    ["data", "activations", "losses", "initialisation"],
    ["diagnostics"],
    ["kernels"],
    ["objectives"],
    ["integrators"],
    ["recording"],
    ["archive", "run", "run_difference"],
    ["simulation"],
    ["sweep", "run_files"],
    ["verification"],
    ["report", "plotting"],
    ["cli"],
]
"""From the lowest to the highest; modules of one layer may use each other."""

UNRANKED = {"__init__", "__main__"}
"""The public surface and the entry point may import anything; of the layers, only the highest may import the public surface."""

FORBIDDEN = {
    "integrators": {"objectives", "kernels", "losses", "data", "activations", "diagnostics"},  # they know only a vector field
    "archive": {"run", "recording", "integrators", "objectives", "kernels"},  # file input and output only, of the variables that a run has
    "report": {"simulation", "kernels", "integrators"},  # they read a finished run
    "plotting": {"simulation", "kernels", "integrators"},
}
"""Imports that go down and are still wrong."""

SHARED = {"mvsim.recording.variables", "mvsim.recording.coordinates"}
"""Modules of a forbidden package that may be imported all the same: what they say is meant for both sides."""

SHORTCUTS = {("mvsim.run", "mvsim.plotting.plot.plot"), ("mvsim.run", "mvsim.plotting.panel.Panel")}
"""Imports that go up: of a method that only calls what stands higher, when it is called, and the type of an argument that it hands on."""

IMPORTERS = {"import_module", "importlib.import_module", "__import__"}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
PACKAGE = Path(mvsim.__file__).parent


def imported_modules(tree, module):
    """Dotted names of everything below mvsim that the syntax tree of ``module`` (a tuple of names, package first) imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            base = list(module[: len(module) - node.level]) if node.level else []
            prefix = ".".join(base + ([node.module] if node.module else []))
            for alias in node.names:
                yield f"{prefix}.{alias.name}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in IMPORTERS and node.args and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value)


def violations(source, module):
    """Imports of ``source`` that break the layering; ``module`` is for example ("mvsim", "kernels", "numpy_kernel")."""
    if module[1] in UNRANKED:
        return []
    if module[1] not in RANK:
        return [f"mvsim.{module[1]} has no layer: add it to LAYERS in {Path(__file__).name}"]
    found = []
    for name in imported_modules(ast.parse(source), module):
        parts = name.split(".")
        if parts[0] != "mvsim":
            continue
        if len(parts) == 1 or parts[1] not in RANK:
            if module[1] not in LAYERS[-1]:
                found.append(f"{'.'.join(module)} imports {name}: the public surface, or a module without a layer")
        elif RANK[parts[1]] > RANK[module[1]] and (".".join(module), name) not in SHORTCUTS:
            found.append(f"{'.'.join(module)} imports {name}, which is above it")
        elif parts[1] in FORBIDDEN.get(module[1], ()) and ".".join(parts[:3]) not in SHARED:
            found.append(f"{'.'.join(module)} imports {name}, which it must not know")
    return found


def module_of(path):
    parts = ("mvsim", *path.relative_to(PACKAGE).with_suffix("").parts)
    return parts


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: ".".join(module_of(path)))
def test_imports_only_go_down(path):
    assert violations(path.read_text(encoding="utf-8"), module_of(path)) == []


def test_the_package_was_found():
    assert {module_of(path)[1] for path in FILES} >= {"parameters", "data", "objectives", "kernels", "errors"}


BAD = {
    "plain": ("import mvsim.simulation", ("mvsim", "kernels", "x")),
    "from": ("from mvsim.objectives import erm", ("mvsim", "kernels", "x")),
    "from the package": ("from mvsim import objectives", ("mvsim", "data", "x")),
    "inside a function": ("def f():\n    from mvsim.cli.app import app", ("mvsim", "simulation")),
    "a run that draws in another way": ("def f():\n    from mvsim.plotting import run_figure", ("mvsim", "run")),
    "under a condition": ("try:\n    import mvsim.plotting as q\nexcept ImportError:\n    q = None", ("mvsim", "archive", "x")),
    "by name": ("import importlib\nimportlib.import_module('mvsim.sweep')", ("mvsim", "objectives", "x")),
    "relative": ("from ..simulation import simulate", ("mvsim", "archive", "x")),
    "relative package": ("from .. import cli", ("mvsim", "objectives", "x")),
    "the public surface": ("import mvsim", ("mvsim", "objectives", "x")),
    "a public name": ("from mvsim import Parameters", ("mvsim", "objectives", "x")),
    "an integrator that knows objectives": ("from mvsim.objectives import OBJECTIVES", ("mvsim", "integrators", "x")),
    "an integrator that knows the theory": ("from mvsim.diagnostics import view_gap", ("mvsim", "integrators", "flow", "x")),
    "an archive that records": ("from mvsim.recording.recorder import Recorder", ("mvsim", "archive", "x")),
    "a plot that simulates": ("from mvsim.simulation import simulate", ("mvsim", "plotting", "x")),
    "a module without a layer": ("", ("mvsim", "misc")),
}


@pytest.mark.parametrize("case", BAD)
def test_a_violation_is_detected(case):
    assert len(violations(*BAD[case])) == 1


GOOD = {
    "down": ("from mvsim.parameters import Parameters\nimport mvsim.kernels.numpy_kernel\nimport numpy", ("mvsim", "objectives", "x")),
    "sideways": ("from mvsim.activations.smoothed_relu import smoothed_relu", ("mvsim", "data", "x")),
    "the variables of a run": ("from mvsim.recording.variables import VARIABLES", ("mvsim", "archive", "x")),
    "a method that draws": ("def f():\n    from mvsim.plotting.plot import plot", ("mvsim", "run")),
    "own package": ("from . import y\nfrom .y import z", ("mvsim", "objectives", "x")),
    "the highest layer and the public surface": ("import mvsim\nfrom mvsim import __version__", ("mvsim", "cli", "x")),
    "entry point": ("from mvsim.cli import main", ("mvsim", "__main__")),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_lawful_import_passes(case):
    assert violations(*GOOD[case]) == []
