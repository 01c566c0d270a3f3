"""Distributions and numbers that several tests of the paper on minimum-variance features use."""

import numpy as np

from mvsim.papers.minimum_variance import Atoms, Distribution, Product, Uniform

D1 = Distribution({1: Atoms([0.5]), -1: Atoms([-0.5])}, {1: Product([Uniform(1, 3)]), -1: Product([Uniform(-3, -1)])})
D3 = Distribution(
    {1: Atoms([[0.3, 0.4]]), -1: Atoms([[-0.3, -0.4]])},
    {1: Atoms([(2, 0), (1, 1.5), (3, -1)], [0.5, 0.3, 0.2]), -1: Atoms([(-1, -1), (-3, 0.5), (-2, 0)], [0.4, 0.3, 0.3])},
)
CE1 = Distribution({1: Atoms([0.3]), -1: Atoms([-0.3])}, {1: Product([Uniform(2, 4)]), -1: Product([Uniform(-7, 1)])})
CE2 = Distribution({1: Atoms([0.2]), -1: Atoms([-0.2])}, {1: Product([Uniform(0.1, 2.1)]), -1: Product([Uniform(-1.7, -0.5)])})
IMBALANCED = Distribution(D1.L, {1: Product([Uniform(1, 3)]), -1: Product([Uniform(-5, -1)])}, prior=0.8)
NOISY = Distribution({1: Product([Uniform(0.45, 0.55)]), -1: Product([Uniform(-0.55, -0.45)])}, D1.H)

W_1 = np.array([[0.5, 1.0, 0.5, -0.5], [-1.0, 0.5, -0.5, 1.0], [0.25, -0.5, 1.0, 1.0]])
V = np.array([[1.0, -1.0, 0.5], [-0.5, 1.0, 0.25]])


def network(x):
    """A two-layer ReLU network with softmax outputs for classes +1 and -1."""
    e = np.exp(np.maximum(x @ W_1.T, 0.0) @ V.T)
    return e / e.sum(axis=1, keepdims=True)
