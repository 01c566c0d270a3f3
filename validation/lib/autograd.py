"""The same loss and gradient as a user of an automatic-differentiation library would write them, to time and to check the engine against.

Correlation coordinates, explicit patches, the pairs i <= j with those off the diagonal counted twice, in batches. Faster than forming
pre-activations once for each point and averaging them, because then the gradient has to be scattered back through the choice of pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

LossAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]

PAIRS_AT_ONCE = 100
"""Of 20, 50, 100, 200 and 500 the fastest for both libraries, within their noise."""


def available(library: str) -> bool:
    """Whether ``library`` ("torch", "jax") can be imported."""
    return find_spec(library) is not None


def pairs(labels: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
    """Return i <= j (n,), their soft labels (n, k) and weights (n,) in the mean over all N^2, in batches, the last one padded with weight 0."""
    N = len(labels)
    i, j = np.triu_indices(N)
    one_hot = np.eye(k)[labels]
    columns = i, j, (one_hot[i] + one_hot[j]) / 2, np.where(i == j, 1.0, 2.0) / N**2
    missing = -len(i) % PAIRS_AT_ONCE
    return tuple(np.concatenate([a, np.zeros((missing, *a.shape[1:]), a.dtype)]).reshape(-1, PAIRS_AT_ONCE, *a.shape[1:]) for a in columns)


def with_torch(p, data, threads: int | None = None, place: str = "cpu", compiled: bool = False) -> LossAndGradient:
    """Return Midpoint Mixup by PyTorch autograd in float64, on a place of PyTorch; ``compiled`` sends the loss of a batch through torch.compile."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    x = torch.from_numpy(data.to_patches()).reshape(data.N, data.P, 2 * p.k).to(place)
    batches = list(zip(*(torch.from_numpy(array).to(place) for array in pairs(data.labels, p.k)), strict=True))

    def loss_of(w, i, j, targets, weights):
        z = ((x[i] + x[j]) / 2) @ w.T
        u = torch.clamp(z / p.rho, 0.0, 1.0)
        g = ((p.rho / p.alpha) * u ** int(p.alpha) + torch.relu(z - p.rho)).sum(dim=1).reshape(-1, p.k, p.m).sum(dim=2)
        return weights @ (torch.logsumexp(g, dim=1) - (targets * g).sum(dim=1))

    of_batch = torch.compile(loss_of) if compiled else loss_of

    def loss_and_gradient(c):
        w = torch.tensor(c.reshape(p.k * p.m, 2 * p.k), device=place, requires_grad=True)
        total = torch.zeros((), dtype=torch.float64, device=place)
        for batch in batches:
            loss = of_batch(w, *batch)
            loss.backward()
            total += loss.detach()
        return float(total), w.grad.cpu().numpy().reshape(c.shape)

    return loss_and_gradient


def with_torch_as_written(p, data, threads: int) -> LossAndGradient:
    """Return Midpoint Mixup by PyTorch autograd in float64 as the loss is written: all N^2 ordered pairs, those of one point at a time."""
    import torch

    torch.set_num_threads(threads)
    x = torch.from_numpy(data.to_patches()).reshape(data.N, data.P, 2 * p.k)
    labels = torch.from_numpy(data.labels)

    def activation(z):
        return torch.where(z < p.rho, torch.relu(z) ** p.alpha / (p.alpha * p.rho ** (p.alpha - 1.0)), z - (1.0 - 1.0 / p.alpha) * p.rho)

    def loss_and_gradient(c):
        w = torch.tensor(c.reshape(p.k * p.m, 2 * p.k), requires_grad=True)
        total = 0.0
        for i in range(data.N):
            z = ((x[i] + x) / 2) @ w.T
            log_phi = torch.log_softmax(activation(z).sum(dim=1).reshape(-1, p.k, p.m).sum(dim=2), dim=1)
            loss = -(log_phi[:, labels[i]].sum() + log_phi.gather(1, labels[:, None]).sum()) / (2 * data.N**2)
            loss.backward()
            total += loss.item()
        return total, w.grad.numpy().reshape(c.shape)

    return loss_and_gradient


def with_jax(p, data) -> LossAndGradient:
    """Return Midpoint Mixup by JAX, compiled by XLA, in float64."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    x = jnp.asarray(data.to_patches().reshape(data.N, data.P, 2 * p.k))
    batches = tuple(jnp.asarray(array) for array in pairs(data.labels, p.k))

    def activation(z):
        u = jnp.clip(z / p.rho, 0.0, 1.0)
        return (p.rho / p.alpha) * u ** int(p.alpha) + jnp.maximum(z - p.rho, 0.0)

    def loss_of(w, batch):
        i, j, targets, weights = batch
        z = ((x[i] + x[j]) / 2) @ w.T
        g = activation(z).sum(axis=1).reshape(-1, p.k, p.m).sum(axis=2)
        return weights @ (jax.nn.logsumexp(g, axis=1) - (targets * g).sum(axis=1))

    @jax.jit
    def summed(w):
        def add(sums, batch):
            loss, gradient = jax.value_and_grad(loss_of)(w, batch)
            return (sums[0] + loss, sums[1] + gradient), None

        return jax.lax.scan(add, (0.0, jnp.zeros_like(w)), batches)[0]

    def loss_and_gradient(c):
        loss, gradient = summed(jnp.asarray(c.reshape(p.k * p.m, 2 * p.k)))
        return float(loss), np.asarray(gradient).reshape(c.shape)

    return loss_and_gradient
