"""Folders of sweeps that are filled with made-up runs, so that tables, pictures and reports are tested without simulating."""

from __future__ import annotations

import numpy as np
from synthetic import synthetic_run

from mvsim.runs.archive import write_run
from mvsim.runs.run import Run
from mvsim.sweeps.folder import SweepFolder
from mvsim.sweeps.study import Study


def made_up(cell):
    """Return a run of a cell: under ERM a class keeps one view, and the larger r0, the more of them learn both; under midpoint the fewer."""
    p = cell.parameters
    run = synthetic_run(cell.method, k=p.k, seed=cell.seed)
    rng = np.random.default_rng([cell.seed, p.k, round(1000 * p.r0)])
    learned = np.zeros((p.k, 2))
    learned[:, 0] = 1.0
    share = min(0.9 * p.r0, 1.0) if cell.method == "erm" else 1.0 - min(0.5 * p.r0, 1.0)
    learned[rng.random(p.k) < share, 1] = 1.0
    learned[rng.random(p.k) < 0.1 * p.r0] = 0.0
    values = run.dataset["feature_learned"].to_numpy().copy()
    values[-1] = learned
    dataset = run.dataset.assign(feature_learned=(run.dataset["feature_learned"].dims, values))
    uniform = {"distribution": "beta", "args": [1.0, 1.0], "kwds": {}}
    mixup = {"mixing": uniform, "nodes": 16, "pairs": None, "redraw": "once"} if cell.method == "mixup" else {}
    stepping = {name: value for name, value in cell.options.items() if name in ("t_end", "rtol")}
    others = {name: value for name, value in cell.options.items() if name not in stepping}
    provenance = run.provenance | {"options": run.provenance["options"] | {"n_test": 20, "backend": "auto"} | mixup | others}
    provenance |= {"integrator": {"name": "flow", "rtol": 1e-3, "t_end": None, "settled_factor": 10.0} | stepping}
    provenance |= {"parameters": p.model_dump(mode="json"), "regime": [deviation.as_dict() for deviation in p.deviations()]}
    return Run(dataset, provenance)


def filled(path, values, zips=(), leave_out=(), regime="scaled"):
    """Return a folder in which all cells are done but those with the numbers in ``leave_out``."""
    folder = SweepFolder.create(path, Study.of({"m": 2, **values}, zips, regime))
    for cell in folder.study.cells:
        if cell.index not in leave_out:
            run = made_up(cell)
            write_run(folder.path_of(cell), run.dataset, run.provenance)
    return folder
