"""Run files that cannot be judged are refused, by what they lack."""

import re

import numpy as np
import pytest

import mvsim
from mvsim.base.errors import UsageError
from mvsim.runs.run import Run


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda told: told | {"options": {name: value for name, value in told["options"].items() if name != "n_test"}}, "options lack n_test"),
        (lambda told: told | {"integrator": {"name": "flow"}}, "its integrator flow lacks rtol"),
        (lambda told: told | {"integrator": {"name": "flow", "rtol": None}}, "its integrator flow lacks rtol"),
        (lambda told: told | {"integrator": {"name": "gd"}}, "its integrator gd lacks learning_rate"),
        (lambda told: told | {"integrator": told["integrator"] | {"t_end": "x"}}, "t_end='x': must be a number"),
        (lambda told: told | {"integrator": told["integrator"] | {"learning_rate": "x"}}, "learning_rate='x': must be a number"),
        (lambda told: told | {"method": "foo"}, "method='foo': must be one of erm, midpoint, mixup"),
    ],
)
def test_a_file_that_lacks_what_its_problem_is_made_of_is_refused(erm, change, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        mvsim.verify(Run(erm.dataset, change(erm.provenance)))


def test_a_state_whose_outputs_are_not_finite_is_refused_by_the_name_of_the_file(erm):
    final = erm.dataset["final_correlations"]
    with pytest.raises(UsageError, match="a state that it has saved cannot be evaluated: the outputs are not finite"):
        mvsim.verify(Run(erm.dataset.assign(final_correlations=(final.dims, np.full(final.shape, 1e308))), erm.provenance))


@pytest.mark.filterwarnings("error")
def test_a_run_of_one_record_is_judged_without_a_warning(erm):
    verdicts = mvsim.verify(Run(erm.dataset.isel(time=slice(1)), erm.provenance))
    assert {v.status for v in verdicts if v.name == "Records (order)"} == {"fails"}
