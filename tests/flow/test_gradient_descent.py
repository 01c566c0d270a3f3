"""The marks and the last step of gradient descent."""

from __future__ import annotations

import numpy as np
from looping import looping

from mvsim.flow import Escaping, Field, GradientDescent, State, Units
from mvsim.flow.base import next_log_mark

FIELD = Field(
    loss_and_gradient=lambda n, c: (0.5 * float(np.sum(c * c)), c),
    curvature=lambda c: None,
    units=lambda c: Units(np.ones_like(c), np.ones_like(c)),
    escaping=Escaping(np.zeros(0, np.int64), np.zeros(0), 8.0),
    component=str,
)


@looping("step", [0, 1, 9, 10, 99, 1000, 123456])
def test_marks_are_log_spaced_steps(step):
    marks = sorted({round(10 ** (j / 20)) for j in range(200)})
    assert next_log_mark(step) == next(mark for mark in marks if mark > step)
    descent = GradientDescent(FIELD, 0.1)
    assert descent.is_mark(State(step, 0.1 * step, np.zeros(1))) == (step == 0 or step in marks)


def test_the_last_step_reaches_t_end_and_no_further():
    assert [GradientDescent(FIELD, 0.1).steps_until(t) for t in (0.1, 0.3, 0.31, 1.0)] == [1, 3, 4, 10]
    assert GradientDescent(FIELD, 1e100).steps_until(1e-300) == 1  # the quotient is 0 in double precision


def test_one_step_is_a_step():
    descent, end = GradientDescent(FIELD, 0.1), "of gradient descent with eta = 0.1"
    assert [descent.clock(State(n, 0.1 * n, np.zeros(2))) for n in (1, 2)] == [f"1 step {end}", f"2 steps {end}"]
