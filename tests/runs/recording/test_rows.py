"""Values in one array that grows."""

import numpy as np

from mvsim.runs.recording.rows import Rows


def test_what_a_view_shows_stays_as_it_is():
    first = np.arange(6.0).reshape(3, 2)
    rows = Rows(first)
    views = [(rows.values, rows.values.copy())]
    for value in range(20):
        rows.append([value, -value])
        views.append((rows.values, rows.values.copy()))
    rows.forget_from(2)
    rows.append([7.0, 8.0])
    assert rows.values.tolist() == [[0.0, 1.0], [2.0, 3.0], [7.0, 8.0]]
    assert all(np.array_equal(view, copy) for view, copy in views)


def test_a_save_of_them_copies_nothing():
    rows = Rows(np.empty(0, "int64"))
    for value in range(5):
        rows.append(value)
    assert np.shares_memory(np.asarray(rows, dtype="int64"), rows.values)
    assert rows.values.dtype == "int64"


def test_they_are_numbers_of_python():
    rows = Rows(np.array([1e200, 2.0]))
    assert type(rows[-1]) is float
    assert rows[0] * 1e200 == np.inf
