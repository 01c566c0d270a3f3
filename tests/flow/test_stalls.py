"""What is said of a flow that does not get further."""

import math

from looping import looping

from mvsim.flow.stalls import fall_while_time_doubles, gets_further, has_stalled


@looping(
    ("time", "loss", "gradient", "said"),
    [
        (100.0, 2.0, 0.1, "while time doubles, ln J would fall by 0.5"),
        (1e8, 1.0, 1e-10, "while time doubles, ln J would fall by 1e-12: nothing moves"),
        (1e70, 0.5, 1e-250, "while time doubles, ln J would fall by 10^-430: nothing moves"),  # |grad J|^2 is no double
        (0.0, 1.0, 1.0, "nothing has been followed yet"),
        (1e-320, 1.0, 1.0, "while time doubles, ln J would fall by 10^-320: nothing moves"),
        (1.0, 1.0, 0.0, "the gradient is 0, so nothing moves"),
        (1.0, 0.0, 0.0, "the loss is 0"),
    ],
)
def test_the_fall_of_the_loss(time, loss, gradient, said):
    assert str(fall_while_time_doubles(time, loss, gradient)) == said


def test_patience():
    assert gets_further(1.02, 1.0)
    assert not gets_further(1.005, 1.0)
    assert has_stalled(20_001, 1e-3)
    assert not has_stalled(20_000, 1e-3)
    assert not has_stalled(200_000, 1e-6), "twenty over rtol would be millions of steps"
    assert has_stalled(200_001, 1e-6)


def test_erm_that_separates_falls_by_1():
    """J = 1 / t has |grad J|^2 = -dJ/dt = 1 / t^2."""
    t = 1e9
    assert fall_while_time_doubles(t, 1.0 / t, math.sqrt(1.0 / t**2)).sentence.endswith("by 1")
