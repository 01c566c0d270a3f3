"""Arguments of the wrong kind, from Python: one line that names the argument, no error of Python's own."""

import numpy as np
import pytest
from looping import looping
from matplotlib.figure import Figure

import mvsim
from mvsim.multi_view.parameters.beta_laws import DiscreteLaw, SymmetricBetaLaw
from mvsim.pictures import run_figure, save_figure

P = mvsim.Parameters(k=2, N=4)
DATA = mvsim.sample_dataset(P, 0)
SIMULATE = {"parameters": P, "method": "erm", "integrator": "gd", "t_end": 1.0}


def mixup(mixing):
    return mvsim.objective("mixup", P, DATA, mixing=mixing)


WRONG = {
    "z is no number": (lambda: mvsim.smoothed_relu("many", 0.1, 8), "z: "),
    "z is too large": (lambda: mvsim.smoothed_relu(10**400, 0.1, 8), "z: "),
    "rho is none": (lambda: mvsim.smoothed_relu(1.0, None, 8), "rho=None"),
    "rho is an array": (lambda: mvsim.smoothed_relu(1.0, np.zeros(3), 8), "rho=array"),
    "alpha is too large": (lambda: mvsim.smoothed_relu_derivative(1.0, 0.1, 10**5000), "alpha=1000"),
    "alpha is too small": (lambda: mvsim.smoothed_relu_second_derivative(1.0, 0.1, 0.5), "alpha=0.5"),
    "k is none": (lambda: mvsim.random_features(None, 8, 0), "k=None"),
    "k is too large": (lambda: mvsim.random_features(10**5000, 8, 0), "k=1000"),
    "d is too large": (lambda: mvsim.random_features(2, 10**40, 0), "d=1000"),
    "view is an array": (lambda: DATA.keep_view(np.zeros(3)), "view=array"),
    "view is 2": (lambda: DATA.own_coefficients(2), "view=2"),
    "runs is a number": (lambda: run_figure(5), "runs=5"),
    "runs is an array": (lambda: run_figure(np.zeros(3)), "runs=array"),
    "runs to verify is an array of no dimension": (lambda: mvsim.verify(np.array(1j)), "what=array"),
    "what to verify is a number": (lambda: mvsim.verify(5), "what=5"),
    "k of verify is an array beside runs": (lambda: mvsim.verify("run.nc", k=np.zeros(3)), "k=[0.0, 0.0, 0.0]"),
    "k of verify is hidden": (lambda: mvsim.verify("midpoint/4.6", k=np.ma.masked_all(3, int)), "k=masked_array"),
    "k of verify is bytes": (lambda: mvsim.verify("midpoint/4.6", k=b"x"), "k=b'x': must be one of them or a list"),
    "redraw is an array": (lambda: mvsim.objective("mixup", P, DATA, redraw=np.zeros(3)), "redraw=array"),
    "progress is a number": (lambda: mvsim.simulate(**SIMULATE, progress=5), "progress=5"),
    "progress is an array": (lambda: mvsim.simulate(**SIMULATE, progress=np.zeros(3)), "progress=array"),
    "z is a long double": (lambda: mvsim.smoothed_relu(np.longdouble("1e4000"), 0.1, 8), "z: "),
    "a of a law is none": (lambda: SymmetricBetaLaw(a=None), "SymmetricBetaLaw: a=None"),
    "a of a law is too small": (lambda: SymmetricBetaLaw(a=1e-9), "SymmetricBetaLaw: a=1e-09: must lie in"),
    "a law without atoms": (lambda: DiscreteLaw(), "DiscreteLaw: atoms: is required"),
    "an atom is text": (lambda: DiscreteLaw(atoms=["\x1b[2J", 0.5]), "DiscreteLaw: atoms.0="),
    "a law has no such field": (lambda: DiscreteLaw(atoms=[0.5], x=np.zeros(10**5)), "DiscreteLaw: x=array"),
    "a law of hidden atoms": (lambda: DiscreteLaw(atoms=np.ma.array([0.2, 0.8], mask=[0, 1])), "DiscreteLaw: atoms="),
    "a law of hidden numbers": (lambda: DiscreteLaw(atoms=np.ma.masked_all(3)), "DiscreteLaw: atoms="),
    "z has a hidden number": (lambda: mvsim.smoothed_relu(np.ma.masked_all(3), 0.1, 8), "z: "),
    "atoms of lambda are a number": (lambda: mixup({"atoms": 1, "probabilities": 1}), "mixing={"),
    "atoms of lambda are more than their probabilities": (lambda: mixup({"atoms": [0, 1], "probabilities": [1]}), "mixing={"),
    "a law that is not symmetric": (lambda: DiscreteLaw(atoms=[0.2]), "DiscreteLaw: atom 0.2 has no mirror image"),
    "a run without a name": (lambda: mvsim.open_run(""), "path='': "),
    "a run with a name that no file has": (lambda: mvsim.open_run("a\0b"), "path='a"),
    "a run to verify with such a name": (lambda: mvsim.verify("a\0b"), "path='a"),
    "a run to be made with such a name": (lambda: mvsim.simulate(**SIMULATE, out="a\0b"), "out='a"),
    "a run to be made without a name": (lambda: mvsim.simulate(**SIMULATE, out=""), "out='': "),
    "an atom of lambda is too large": (lambda: mixup({"atoms": [10**400, 0], "probabilities": [0.5, 0.5]}), "mixing"),
    "a probability of lambda is too large": (lambda: mixup({"atoms": [0.5], "probabilities": [10**400]}), "mixing={"),
    "a shape of lambda is too large": (lambda: mixup({"distribution": "beta", "args": [10**400, 1]}), "mixing"),
    "a signal strength beyond doubles": (lambda: mvsim.simulate(P.replace(alpha=64, delta2=1e6), "erm", t_end=1.0), "alpha=64, delta2=1e+06: "),
    "a signal strength of data beyond doubles": (
        lambda: mvsim.simulate(P.replace(alpha=64), "erm", t_end=1.0, data=mvsim.sample_dataset(P.replace(delta2=1e6), 0)),
        "alpha=64, data: ",
    ),
    "panels is a number": (lambda: run_figure([], panels=3), "panels=3: "),
    "panels are numbers": (lambda: run_figure([], panels=[3]), "panels=3: "),
    "what is drawn is a number": (lambda: mvsim.plot(3), "runs=3: "),
    "a figure is text": (lambda: save_figure("\x1b", "run.png"), "figure='"),
    "a picture is a number": (lambda: save_figure(Figure(), 1), "path=1: "),
    "a picture without a name": (lambda: save_figure(Figure(), ""), "path='': "),
    "correlations without parameters": (lambda: mvsim.feature_learned(None, np.zeros(3)), "parameters=None: "),
    "labels without parameters": (lambda: mvsim.multi_view.data.sample_points(None, None, [0]), "parameters=None: "),
    "a codebook without parameters": (lambda: mvsim.multi_view.data.codebook(None), "parameters=None: "),
    "n_test is a list": (lambda: mvsim.feature_learned(P, np.zeros((P.k, P.m, P.k, 2)), n_test=[1] * 1000), "n_test=["),
    "threads of the readable kernel": (lambda: mvsim.simulate(**SIMULATE, backend="numpy", threads="x"), "threads='x'"),
    "threads of an objective": (lambda: mvsim.objective("erm", P, DATA, "numpy", threads=-5), "threads=-5"),
    "atoms of a law are none": (lambda: P.replace(beta_law={"kind": "discrete", "atoms": []}), "beta_law.atoms=[]: must not be empty"),
    "a law without its shape": (lambda: P.replace(beta_law={"kind": "beta"}), "beta_law.a: is required; it is missing in {'kind': 'beta'}"),
    "the old name of eta": (lambda: mvsim.simulate(**SIMULATE, learning_rate=1.0), "learning_rate=1.0: "),
}


@looping("case", WRONG)
def test_it_is_named(case):
    call, named = WRONG[case]
    with pytest.raises(mvsim.UsageError) as caught:
        call()
    assert str(caught.value).startswith(named)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300
