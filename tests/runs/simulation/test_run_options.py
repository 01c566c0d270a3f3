"""Every option of a run is described once, and shown wherever it can be given."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from cyclopts import App
from pydantic import Field, create_model

import mvsim
from mvsim.base.options import choices_of
from mvsim.cli.app import app
from mvsim.cli.fields import given_for, typed_flags, with_flags
from mvsim.cli.outcome import message
from mvsim.flow import GradientDescent, GradientFlow
from mvsim.multi_view.objectives import OBJECTIVES, Erm, Mixup
from mvsim.runs.simulation.all_options import AllRunOptions, added_options
from mvsim.runs.simulation.entry import show_options
from mvsim.runs.simulation.options import Recorded

SMALL = mvsim.Parameters(k=2, m=2, N=6, P=4, d=20, C_P=1)


def flags(command):
    """Flags of a command -> their help."""
    return {name: argument.parameter.help for argument in app[command].assemble_argument_collection() for name in argument.names}


def one_line(text):
    return " ".join(text.split())


@pytest.mark.parametrize("name", AllRunOptions.model_fields)
def test_an_option_is_shown_in_python_and_on_the_command_line(name):
    field = AllRunOptions.model_fields[name]
    assert field.description[-1] == "."
    assert inspect.signature(mvsim.simulate).parameters[name].default == field.default
    documentation = one_line(mvsim.simulate.__doc__)
    assert f"{name} : " in documentation
    assert one_line(field.description) in documentation
    shown = flags("simulate")["--" + name.replace("_", "-")]
    assert shown == field.description or name == "out"  # the command has a default name for the file


def test_the_signature_has_nothing_else():
    shown = list(inspect.signature(mvsim.simulate).parameters)
    assert shown[:3] == ["parameters", "method", "seed"]
    assert set(shown) == {*AllRunOptions.model_fields, "parameters", "data", "progress"}


def test_method_and_seed_may_be_given_by_position():
    by_position, by_name = mvsim.simulate(SMALL, "erm", 3, t_end=2.0), mvsim.simulate(SMALL, method="erm", seed=3, t_end=2.0)
    assert (by_position.method, by_position.seed) == (by_name.method, by_name.seed) == ("erm", 3)
    with pytest.raises(TypeError, match="positional"):
        mvsim.simulate(SMALL, "erm", 3, "gd")


def test_a_new_option_is_shown_everywhere(capsys):
    More = create_model(
        "More", __base__=AllRunOptions, patience=(Annotated[int, Recorded("options")], Field(3, description="Minutes to wait for a step."))
    )

    @show_options(More)
    def run(parameters: str, **options: Any) -> None:
        """Run.

        Parameters
        ----------
        {options}
        """

    assert inspect.signature(run).parameters["patience"].default == 3
    assert "patience : int, default 3\n    Minutes to wait for a step." in run.__doc__

    given_here = {}

    @with_flags(typed_flags(More))
    def command(**given: Any) -> None:
        given_here.update(given_for(More, given))

    program = App(name="run", result_action="return_value", default_command=command)
    program(["--help"])
    help_text = one_line(capsys.readouterr().out.replace("│", " "))
    assert "--patience INT" in help_text
    assert "Minutes to wait for a step. [default: 3]" in help_text
    program(["--patience", "5", "--mixing", '{"atoms": [0.5], "probabilities": [1]}', "--method", "mixup"])
    assert given_here == {"patience": 5, "method": "mixup", "mixing": {"atoms": [0.5], "probabilities": [1]}}
    asked = More(**given_here)
    assert asked.recorded("options") == {"n_test": 20, "backend": "auto", "patience": 5}
    assert asked.recorded("integrator") == {"t_end": None, "settled_factor": 10.0}
    assert asked.recorded() == {"method": "mixup", "seed": 0}


def test_what_an_integrator_and_a_loss_take_is_shown_everywhere(tmp_path):
    (tmp_path / "run.toml").write_text(
        'k = 3\nm = 2\nN = 6\nt_end = 3\nquiet = true\nout = "run.nc"\nintegrator = "damped"\nzeta = 0.5\nmethod = "sharp"\nfocus = 0.25\n'
    )
    process = subprocess.run([sys.executable, Path(__file__).with_name("own_options.py")], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    answer = json.loads(process.stdout)
    assert answer["signature"] == {"zeta": None, "focus": 0.5}
    assert "zeta : float, optional\n    damped: friction.\n" in answer["documentation"]
    assert "focus : float, default 0.5\n    sharp: weight of the hardest points.\n" in answer["documentation"]
    shown = answer["help"][1]
    assert "--zeta FLOAT damped: friction." in shown
    assert "sharp: weight of the hardest points. [default: 0.5]" in shown
    assert "; sharp: pairs that are looked at." in shown
    assert "[choices: flow, gd, damped]" in shown
    assert answer["made"][0] == 0
    integrator, options = answer["provenance"]["integrator"], answer["provenance"]["options"]
    assert integrator == {"name": "damped", "damping": 0.5, "t_end": 3.0, "settled_factor": 10.0}
    assert (answer["provenance"]["method"], options["focus"]) == ("sharp", 0.25)
    assert answer["other"][0] == 2
    assert "zeta=0.7 (saved: 0.5)" in answer["other"][2]
    assert answer["belongs"][2] == "mvsim: zeta=0.7: belongs to integrator='damped', and integrator='flow' was asked for\n"
    assert answer["shared"][0] == 0


def test_of_one_name_there_is_one_option(monkeypatch):
    class Other(Erm):
        def __init__(self, parameters, data, backend="auto", threads=None, *, nodes: Annotated[int, Field(description="knots")] = 3):
            super().__init__(parameters, data, backend, threads)

    monkeypatch.setitem(OBJECTIVES, "other", Other)
    with pytest.raises(TypeError, match=r"nodes: .*the same default"):
        added_options()


def test_choices_follow_from_registries_and_types():
    fields = AllRunOptions.model_fields
    assert choices_of(fields["method"]) == tuple(OBJECTIVES)
    assert choices_of(fields["redraw"]) == ("once", "each step")
    assert choices_of(fields["seed"]) is None


def test_a_command_is_resumed_with_the_option_that_it_has():
    interrupted = mvsim.Interrupted("interrupted")
    assert message(interrupted, ["simulate", "--k", "3", "--force"]).endswith(": mvsim simulate --k 3 --resume")
    assert message(interrupted, ["verify", "--theorem", "4.6"]).endswith(": mvsim verify --theorem 4.6")


def test_help_of_a_run_loads_nothing_that_computes():
    code = "import sys, mvsim.cli; mvsim.cli.main(['simulate', '--help']); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()[-1].split()
    assert not {"numba", "xarray", "matplotlib", "h5py"} & set(modules)


def test_documentation_of_a_class_shows_its_options():
    assert 'redraw : {"once", "each step"}, default \'once\'\n    when pairs are sampled' in Mixup.__doc__
    assert "rtol : float, optional\n    relative error that one step may make, 1e-10 to 0.1; default 0.001" in GradientFlow.__doc__
    assert "learning_rate : float, optional\n    step size" in GradientDescent.__doc__
