"""What objectives refuse: wrong shapes, unknown names, numbers that are not finite."""

import numpy as np
import problems
import pytest
from looping import looping
from objective_cases import READABLE, every_backend, every_objective, objective

import mvsim


@every_objective
def test_correlations_of_a_wrong_shape_are_refused(name):
    problem = problems.problem("random codebook")
    tested = objective(name, problem, READABLE)
    for wrong in (problem.c[:, :, :, :1], problem.c[:-1], problem.c[:, :, :-1], problem.c[0], problem.c[0, 0, 0, 0]):
        for function in (tested.loss, tested.gradient, tested.outputs, lambda c: tested.hessian_vector_product(problem.c, c)):
            with pytest.raises(mvsim.UsageError, match="shape"):
                function(wrong)


@looping(("fields", "named"), [({"name": "erm "}, "erm "), ({"backend": "abacus"}, "backend"), ({"threads": 0}, "threads")])
def test_unknown_choices_are_refused(fields, named):
    problem = problems.problem("random codebook")
    options = {"name": "erm", "backend": "auto", "threads": None, **fields}
    with pytest.raises(mvsim.UsageError, match=named) as caught:
        mvsim.objective(options.pop("name"), problem.parameters, problem.data, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@every_objective
@every_backend
@looping("case", ["random codebook", "weak noise, power 2.5", "random patch noise"])
@looping("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_not_hidden(name, backend, case, bad):
    """A NaN must not pass for a dead neuron in a kernel, wherever it stands, and an objective says which correlation it is."""
    problem = problems.problem(case)
    tested = objective(name, problem, backend)
    seen = problem.data.to_patches().any(axis=(0, 1))
    assert seen.any()
    for s, view in np.argwhere(seen):
        c = problem.c.copy()
        c[0, 1, s, view] = bad
        for _, points in tested.points:
            loss, gradient = tested.kernel.loss_and_gradient(c, points, tested.pointwise)
            assert not (np.isfinite(loss) and np.isfinite(gradient).all())
        assert not np.isfinite(tested.kernel.outputs(c)).all()
        for method in (tested.outputs, tested.loss, tested.gradient, tested.loss_and_gradient, lambda c: tested.hessian_vector_product(c, problem.c)):
            with pytest.raises(mvsim.UsageError, match=rf"^c\[0, 1, {s}, {view}\]={bad}: must be finite"):
                method(c)
        with pytest.raises(mvsim.UsageError, match=r"^v\["):
            tested.hessian_vector_product(problem.c, c)


@every_objective
@every_backend
@looping("case", ["random codebook", "weak noise, power 2.5", "random patch noise"])
@looping("size", [1e20, 1e60, 1e307])
def test_what_is_computed_at_huge_correlations_is_finite_or_an_error(name, backend, case, size):
    problem = problems.problem(case)
    tested, c = objective(name, problem, backend), problem.c * (size / np.abs(problem.c).max())
    for method in (tested.outputs, tested.loss, tested.gradient, lambda c: tested.hessian_vector_product(c, problem.c)):
        refused = ""
        try:
            found = method(c)
        except mvsim.UsageError as error:
            found, refused = 0.0, str(error)
        assert np.isfinite(found).all()
        assert not refused or size > 1e20
        assert not refused or refused.endswith(f"not finite in double precision (largest correlation |c| = {size:g})")


@every_objective
def test_data_of_another_number_of_classes_are_refused(name):
    problem = problems.problem("random codebook")
    with pytest.raises(mvsim.UsageError, match="k"):
        mvsim.objective(name, problem.parameters.replace(k=4), problem.data)
