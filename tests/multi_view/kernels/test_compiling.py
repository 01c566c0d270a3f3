"""The cache of compiled code knows every file that a compiled function can call."""

import importlib
import pkgutil
import signal
from pathlib import Path

import pytest
from numba.core.registry import CPUDispatcher

import mvsim.multi_view.kernels
from mvsim.multi_view.kernels.jit import compiling


def kernel_modules():
    for entry in pkgutil.walk_packages(mvsim.multi_view.kernels.__path__, "mvsim.multi_view.kernels."):
        yield importlib.import_module(entry.name)


def compiled_functions():
    """Every compiled function of every kernel, by the name of its module and its own."""
    return {
        f"{module.__name__}.{name}": value
        for module in kernel_modules()
        for name, value in vars(module).items()
        if isinstance(value, CPUDispatcher) and value.py_func.__module__ == module.__name__
    }


FUNCTIONS = compiled_functions()


def called_by(function):
    """Return the files of all Python and compiled functions of this package that a function names."""
    names = function.py_func.__code__.co_names
    for value in (function.py_func.__globals__.get(name) for name in names):
        target = getattr(value, "py_func", value)
        if getattr(target, "__module__", "").startswith("mvsim") and hasattr(target, "__code__"):
            yield Path(target.__code__.co_filename)


def test_there_are_compiled_functions():
    assert len(FUNCTIONS) > 50
    assert any("any_patches" in name for name in FUNCTIONS)
    assert sum(len(list(called_by(function))) for function in FUNCTIONS.values()) > 100


def test_the_key_of_the_cache_covers_what_a_function_calls():
    files = set(compiling.source_files())
    used = {name: {Path(function.py_func.__code__.co_filename), *called_by(function)} for name, function in FUNCTIONS.items()}
    assert {name: places - files for name, places in used.items() if places - files} == {}


def test_the_key_is_in_the_cache():
    kept = {name: function._cache._cache_file for name, function in FUNCTIONS.items() if hasattr(function._cache, "_cache_file")}
    assert [name for name, file in kept.items() if file._source_stamp[1] != compiling.SOURCES] == []


def test_compiled_functions_stand_where_types_are_not_checked():
    """setup.cfg leaves `loops` to numba, which infers types by itself, by this pattern and no list of modules."""
    assert [name for name in FUNCTIONS if ".loops" not in name] == []


def test_a_change_in_a_folder_below_changes_the_key(tmp_path):
    inner = tmp_path / "inner" / "loops.py"
    inner.parent.mkdir()
    inner.write_text("x = 1")
    before = compiling.digest([inner])
    inner.write_text("x = 2")
    assert compiling.digest([inner]) != before
    assert any(path.parent.parent.parent in compiling.ROOTS for path in compiling.source_files())


def test_ctrl_c_waits_until_a_function_is_compiled(ctrl_c):
    # LLVM calls back into Python while it compiles; what is raised in there is printed and dropped
    @compiling.njit()
    def successor(x):
        return x + 1

    with compiling.on_compilation(lambda: signal.raise_signal(signal.SIGINT)), pytest.raises(KeyboardInterrupt):
        successor(1)
    assert successor.signatures
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_helpers_have_no_machine_code_of_their_own():
    # Compiled by itself, a helper has other last bits than within its caller; which of the two runs would depend on what comes from the cache.
    options = {name: function.targetoptions for name, function in FUNCTIONS.items() if name.split(".")[-1].startswith("_")}
    assert [name for name, of in options.items() if of.get("inline") != "always" and not of.get("forceinline")] == []
