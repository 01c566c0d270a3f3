"""Midpoint Mixup as a user of PyTorch would write it on a GPU: explicit patches, batches of pairs, autograd, float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lib.autograd import pairs


def with_torch(p, data, compiled: bool, place: str = "cuda") -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return the loss and gradient; ``compiled`` sends the loss of a batch through torch.compile."""
    import torch

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
