"""How the panels of the picture of choices are placed (`validation/studies/choices.py`)."""

import pytest
from matplotlib.figure import Figure
from studies.choices import _panels


@pytest.mark.parametrize(("panels", "rows"), [(1, [1]), (2, [2]), (3, [3]), (4, [2, 2]), (5, [2, 3]), (6, [3, 3]), (7, [2, 2, 3])])
def test_no_panel_is_alone_in_its_row(panels, rows):
    placed = [axes.get_subplotspec().rowspan.start for axes in _panels(Figure(), panels)]
    assert [placed.count(row) for row in range(len(rows))] == rows
