"""Check that the reduction from R^{P x d} to correlations is exact.

Full-batch gradient descent on explicit weights (k, m, d) and patches (N, P, d), by code that shares nothing with mvsim's kernels, runs beside mvsim's
gradients in correlation coordinates from the same start: for both losses and several d, on trajectories that start inside the polynomial part and
end beyond it. Single states are compared by the tests (`tests/reference.py`).

Every relative error must stay below the bound, and a control (the step size changed by one part in a million) must exceed it.
"""

from __future__ import annotations

import time

import numpy as np

import mvsim

TITLE = "Correlation coordinates and R^d"

BOUND = 1e-12
"""Largest relative error allowed. An escape multiplies the round-off of the steps before it, so trajectories differ by some 1e3 units."""

SIZES = {"k": 3, "m": 3, "P": 7, "C_P": 2, "Q": 2, "N": 12, "G": 4, "delta3": 0.02, "delta4": 0.05}
LEARNING_RATE = {"erm": 0.5, "midpoint": 10.0}
"""Midpoint halves pre-activations, which makes its escape from the polynomial part about 2^(alpha - 1) times slower."""


def examples(method, points, labels, k):
    """All training examples of a method, (n, P, d), with the class weights (n, k) of their cross-entropy; the loss is their mean."""
    one_hot = np.eye(k)[labels]
    if method == "erm":
        return points, one_hot
    pairs = [(i, j) for i in range(len(points)) for j in range(len(points))]
    return np.array([(points[i] + points[j]) / 2 for i, j in pairs]), np.array([(one_hot[i] + one_hot[j]) / 2 for i, j in pairs])


def full_loss_and_gradient(weights, points, targets, rho, alpha):
    """Cross-entropy of the network of Definition 4.2 and its gradient with respect to w, (k, m, d)."""
    k, m, d = weights.shape
    n, P, _ = points.shape
    z = (points.reshape(n * P, d) @ weights.reshape(k * m, d).T).reshape(n, P, k, m)
    positive = np.maximum(z, 0.0)
    value = np.where(z <= rho, positive**alpha / (alpha * rho ** (alpha - 1)), z - (1 - 1 / alpha) * rho)
    slope = np.where(z <= rho, positive ** (alpha - 1) / rho ** (alpha - 1), 1.0)
    g = value.sum(axis=(1, 3))
    shifted = g - g.max(axis=1, keepdims=True)
    log_phi = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    residual = targets - np.exp(log_phi)
    factor = (slope * residual[:, None, :, None]).reshape(n * P, k * m)
    return -np.sum(targets * log_phi) / n, -(factor.T @ points.reshape(n * P, d)).reshape(k, m, d) / n


def orthonormal_features(k, d, rng):
    """2k orthonormal vectors of R^d, (k, 2, d)."""
    return np.linalg.qr(rng.standard_normal((d, 2 * k)))[0].T.reshape(k, 2, d)


def relative_error(actual, expected):
    """max|actual - expected| / max|expected|."""
    return float(np.max(np.abs(np.asarray(actual) - expected)) / np.max(np.abs(expected)))


def own_maximum(c):
    """Largest own-class correlation."""
    return max(float(c[y, :, y].max()) for y in range(len(c)))


def trajectory(method, d, noise, steps, seed):
    """Run gradient descent in R^d and in correlation coordinates from one start and compare them at every step."""
    rho = 2.5 / np.sqrt(d)  # the largest of the 18 initial own correlations is about 2 / sqrt(d): just inside the polynomial part
    p = mvsim.Parameters(**SIZES, d=d, rho=rho, noise=noise)
    rng = np.random.default_rng(seed)
    features = orthonormal_features(p.k, d, rng)
    data = mvsim.sample_dataset(p, seed)
    points, targets = examples(method, np.einsum("ipsl,sld->ipd", data.to_patches(), features), data.labels, p.k)
    w = rng.standard_normal((p.k, p.m, d)) / np.sqrt(d)
    c = np.einsum("yrd,sld->yrsl", w, features)
    orthogonal = w - np.einsum("yrsl,sld->yrd", c, features)
    objective = mvsim.objective(method, p, data)
    start, control, rate = own_maximum(c) / rho, c.copy(), LEARNING_RATE[method]
    errors = {"loss": 0.0, "correlations": 0.0}
    began = time.perf_counter()
    for _ in range(steps):
        full_loss, full_gradient = full_loss_and_gradient(w, points, targets, p.rho, p.alpha)
        loss, gradient = objective.loss_and_gradient(c)
        errors["loss"] = max(errors["loss"], relative_error(loss, full_loss))
        w -= rate * full_gradient
        c -= rate * gradient
        control -= rate * (1 + 1e-6) * objective.gradient(control)
        expected = np.einsum("yrd,sld->yrsl", w, features)
        errors["correlations"] = max(errors["correlations"], relative_error(c, expected))
    rest = w - np.einsum("yrsl,sld->yrd", expected, features)
    errors["orthogonal part"] = relative_error(rest, orthogonal)
    row = {
        "method": method,
        "d": d,
        "noise": noise,
        "steps": steps,
        "learning_rate": rate,
        "start_over_rho": start,
        "end_over_rho": own_maximum(c) / rho,
        "loss_at_the_end": float(full_loss),
        "errors": errors,
        "control_error": relative_error(control, expected),
    }
    return row | {"ok": within(row) and escapes(row), "seconds": time.perf_counter() - began}


def options(parser):
    parser.add_argument("--d", type=int, nargs="+", default=[64, 256, 1024], help="dimensions of the trajectories")
    parser.add_argument("--steps", type=int, default=400, help="gradient-descent steps of each trajectory")
    parser.add_argument("--seed", type=int, default=0)


def measure(options):
    began = time.perf_counter()
    trajectories = []
    for method in ("erm", "midpoint"):
        for d in options.d:
            for noise in ("codebook", "patch"):
                trajectories.append(trajectory(method, d, noise, options.steps, options.seed))
                print(method, d, noise, trajectories[-1]["errors"], flush=True)
    return {
        "ok": all(row["ok"] for row in trajectories),
        "bound": BOUND,
        "worst_relative_error": max(max(row["errors"].values()) for row in trajectories),
        "trajectories": trajectories,
        "seed": options.seed,
        "seconds": round(time.perf_counter() - began, 1),
    }


def within(row):
    """Whether every error of a comparison is within the bound and the control is not."""
    return bool(max(row["errors"].values()) <= BOUND < row["control_error"])


def escapes(row):
    """Whether a trajectory starts inside the polynomial part and ends beyond it."""
    return bool(row["start_over_rho"] < 1.0 < 2.0 < row["end_over_rho"])


def judge(results):
    return [
        f"{row['method']}, d = {row['d']}, noise {row['noise']}: errors {row['errors']}, control {row['control_error']:.1e}"
        for row in results["trajectories"]
        if not (within(row) and escapes(row))
    ]


def headline(results):
    worst, bound = results["worst_relative_error"], results["bound"]
    return f"Gradient descent in R^d and in correlation coordinates differ by at most {worst:.1e} (relative; the study allows {bound:.0e})"


def passage(results):
    largest = max(row["d"] for row in results["trajectories"])
    steps = max(row["steps"] for row in results["trajectories"])
    return f"Explicit weights in R^d, d up to {largest}, are trained for {steps} steps, with ERM and Midpoint Mixup, and so are their correlations.\n"
