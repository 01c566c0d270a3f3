"""Canaries: a loop that goes past what fails would make every test that it runs empty."""

import pytest
from looping import looping


@looping("n", [2, 3, 0, 4])
@looping(("a", "b"), [(1, 2), (6, 3)])
def quotients(n, a, b, tmp_path):
    assert tmp_path == "here"
    assert b / n <= a


def test_all_that_fail_are_listed():
    with pytest.raises(AssertionError) as failed:
        quotients(tmp_path="here")
    lines = str(failed.value).splitlines()
    assert [line for line in lines if line.startswith("n = ")] == ["n = 0: AssertionError: a, b = 1, 2: ZeroDivisionError: division by zero"]
    assert "a, b = 6, 3: ZeroDivisionError: division by zero" in lines


@looping("n", [1])
def test_fixtures_reach_it(n, tmp_path):
    assert tmp_path.is_dir()


@pytest.mark.parametrize(("names", "values"), [("n", []), ("m", [1])])
def test_a_loop_over_nothing_is_refused(names, values):
    with pytest.raises(AssertionError):
        looping(names, values)(lambda n: None)
