"""Imports only go down the layers, wherever in a file they stand."""

import ast
from pathlib import Path

from looping import looping

import mvsim

LAYERS = [
    ["version"],
    ["base"],
    ["numerics"],
    ["losses"],
    ["judging"],
    ["multi_view"],
    ["flow"],
    ["runs"],
    ["sweeps"],
    ["pictures"],
    ["papers"],
    ["reports"],
    ["cli"],
]
"""From the lowest to the highest; modules of one layer may use each other."""

UNRANKED = {"__init__", "__main__"}
"""The public surface and the entry point may import anything; of the layers, only the highest may import the public surface."""

FORBIDDEN = {
    "flow": {"multi_view", "losses", "judging"},  # integrators know only a vector field
    "reports": {"flow"},  # they read a finished run
    "pictures": {"flow"},
}
"""Imports that go down and are still wrong."""

SHORTCUTS = {("mvsim.runs.run", "mvsim.plot")}
"""Imports that go up: of a method that only calls what stands higher, when it is called."""

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
            if module[1] not in LAYERS[-1] and (".".join(module), name) not in SHORTCUTS:
                found.append(f"{'.'.join(module)} imports {name}: the public surface, or a module without a layer")
        elif RANK[parts[1]] > RANK[module[1]] and (".".join(module), name) not in SHORTCUTS:
            found.append(f"{'.'.join(module)} imports {name}, which is above it")
        elif parts[1] == module[1] == "papers" and len(module) > 3 and len(parts) > 2 and parts[2] != module[2]:
            found.append(f"{'.'.join(module)} imports {name}: no paper knows another")
        elif parts[1] in FORBIDDEN.get(module[1], ()):
            found.append(f"{'.'.join(module)} imports {name}, which it must not know")
    return found


def module_of(path):
    parts = ("mvsim", *path.relative_to(PACKAGE).with_suffix("").parts)
    return parts


def test_imports_only_go_down():
    files = {module_of(path): path for path in PACKAGE.rglob("*.py")}
    assert {module[1] for module in files} >= {room for layer in LAYERS for room in layer}
    assert [fault for module, path in files.items() for fault in violations(path.read_text(encoding="utf-8"), module)] == []


BAD = {
    "plain": ("import mvsim.runs.simulation", ("mvsim", "multi_view", "x")),
    "from": ("from mvsim.multi_view import objectives", ("mvsim", "losses", "x")),
    "from the package": ("from mvsim import papers", ("mvsim", "runs", "x")),
    "inside a function": ("def f():\n    from mvsim.cli.app import app", ("mvsim", "runs", "simulation")),
    "a run that draws in another way": ("def f():\n    from mvsim.pictures import run_figure", ("mvsim", "runs", "run")),
    "under a condition": ("try:\n    import mvsim.pictures as q\nexcept ImportError:\n    q = None", ("mvsim", "runs", "x")),
    "by name": ("import importlib\nimportlib.import_module('mvsim.sweeps')", ("mvsim", "multi_view", "x")),
    "relative": ("from ..cli import app", ("mvsim", "runs", "x")),
    "the public surface": ("import mvsim", ("mvsim", "multi_view", "x")),
    "a public name": ("from mvsim import Parameters", ("mvsim", "multi_view", "x")),
    "an integrator that knows objectives": ("from mvsim.multi_view.objectives import OBJECTIVES", ("mvsim", "flow", "x")),
    "a picture that integrates": ("from mvsim.flow import INTEGRATORS", ("mvsim", "pictures", "x")),
    "a paper that knows another": ("from mvsim.papers.midpoint_mixup import claims", ("mvsim", "papers", "neural_collapse", "x")),
    "a module without a layer": ("", ("mvsim", "misc")),
}


@looping("case", BAD)
def test_a_violation_is_detected(case):
    assert len(violations(*BAD[case])) == 1


GOOD = {
    "down": ("from mvsim.multi_view.parameters import Parameters\nimport mvsim.losses.points\nimport numpy", ("mvsim", "runs", "x")),
    "sideways": ("from mvsim.multi_view.activations.smoothed_relu import smoothed_relu", ("mvsim", "multi_view", "data")),
    "a method that draws": ("def f():\n    from mvsim import plot", ("mvsim", "runs", "run")),
    "own package": ("from . import y\nfrom .y import z", ("mvsim", "multi_view", "x")),
    "own paper": ("from mvsim.papers.midpoint_mixup import claims", ("mvsim", "papers", "midpoint_mixup", "x")),
    "the highest layer and the public surface": ("import mvsim\nfrom mvsim import __version__", ("mvsim", "cli", "x")),
    "entry point": ("from mvsim.cli import main", ("mvsim", "__main__")),
}


@looping("case", GOOD)
def test_a_lawful_import_passes(case):
    assert violations(*GOOD[case]) == []
