"""Every option of a run is described once, and shown wherever it can be given."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cyclopts import App

import mvsim
from mvsim.base.options import choices_of
from mvsim.cli.app import app
from mvsim.cli.dispatch import message
from mvsim.cli.options import given_for, typed_flags, with_flags
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.runs.simulation.options import RunOptions

SMALL = mvsim.Parameters(k=2, m=2, N=6, P=4, d=20, C_P=1)


def flags(command):
    """Flags of a command -> their help."""
    return {name: argument.parameter.help for argument in app[command].assemble_argument_collection() for name in argument.names}


def one_line(text):
    return " ".join(text.split())


def test_every_option_is_shown_in_python_and_on_the_command_line():
    signature, shown, documentation = inspect.signature(mvsim.simulate).parameters, flags("simulate"), one_line(mvsim.simulate.__doc__)
    wrong = []
    for name, field in RunOptions.model_fields.items():
        described = field.description[-1] == "." and f"{name} : " in documentation and one_line(field.description) in documentation
        flag = shown["--" + name.replace("_", "-")]
        if not described or signature[name].default != field.default or (flag != field.description and name != "out"):  # it has a default name
            wrong.append(name)
    assert wrong == []


def test_the_signature_has_nothing_else():
    shown = list(inspect.signature(mvsim.simulate).parameters)
    assert shown[:3] == ["parameters", "method", "seed"]
    assert set(shown) == {*RunOptions.model_fields, "parameters", "data", "progress"}


def test_method_and_seed_may_be_given_by_position():
    by_position, by_name = mvsim.simulate(SMALL, "erm", 3, t_end=2.0), mvsim.simulate(SMALL, method="erm", seed=3, t_end=2.0)
    assert (by_position.method, by_position.seed) == (by_name.method, by_name.seed) == ("erm", 3)
    with pytest.raises(TypeError, match="positional"):
        mvsim.simulate(SMALL, "erm", 3, "gd")


def test_laws_and_numbers_are_read_from_flags():
    read = {}

    @with_flags(typed_flags(RunOptions))
    def command(**given: Any) -> None:
        read.update(given_for(RunOptions, given))

    program = App(name="run", result_action="return_value", default_command=command)
    program(["--n-test", "5", "--mixing", '{"atoms": [0.5], "probabilities": [1]}', "--method", "mixup"])
    assert read == {"n_test": 5, "method": "mixup", "mixing": {"atoms": [0.5], "probabilities": [1]}}


def test_an_integrator_and_a_method_that_are_added_can_be_asked_for_everywhere(tmp_path):
    (tmp_path / "run.toml").write_text(
        'k = 3\nm = 2\nN = 6\nt_end = 3\nquiet = true\nout = "run.nc"\nintegrator = "damped"\neta = 0.5\nmethod = "sharp"\n'
    )
    process = subprocess.run([sys.executable, Path(__file__).with_name("own_options.py")], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    answer = json.loads(process.stdout)
    shown = answer["help"][1]
    assert "[choices: flow, escapes, gd, damped, auto]" in shown
    assert "[choices: erm, midpoint, mixup, sharp]" in shown
    assert answer["made"][0] == 0
    assert answer["provenance"]["integrator"] == {"name": "damped", "damping": 0.5, "t_end": 3.0, "settled_factor": 10.0}
    assert answer["provenance"]["method"] == "sharp"
    assert answer["other"][0] == 2
    assert "eta=0.7 (saved: 0.5)" in answer["other"][2]
    assert answer["belongs"][2].startswith("mvsim: eta=0.7: belongs to integrator='gd' or 'damped', not to 'auto'; give that integrator")


def test_choices_follow_from_registries_and_types():
    fields = RunOptions.model_fields
    assert choices_of(fields["method"]) == tuple(OBJECTIVES)
    assert choices_of(fields["redraw"]) == ("once", "each step")
    assert choices_of(fields["seed"]) is None


def test_a_command_is_resumed_with_the_option_that_it_has():
    interrupted = mvsim.Interrupted("interrupted")
    assert message(interrupted, ["simulate", "--k", "3", "--force"]).endswith(": mvsim simulate --k 3 --resume")
    assert message(interrupted, ["verify", "midpoint/4.6"]).endswith(": mvsim verify midpoint/4.6")


def test_help_of_a_run_loads_nothing_that_computes():
    code = "import sys, mvsim.cli; mvsim.cli.main(['simulate', '--help']); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()[-1].split()
    assert not {"numba", "xarray", "matplotlib", "h5py"} & set(modules)
