"""Data of Definitions 4.1 and 3.1 in feature coordinates, and any other data that lies in the span of the features."""

from mvsim.multi_view.data.dataset import Dataset, PatchDataset, SharedNoiseDataset
from mvsim.multi_view.data.distribution import codebook, sample_dataset, sample_points
from mvsim.multi_view.data.embedding import embed, random_features

__all__ = ["Dataset", "PatchDataset", "SharedNoiseDataset", "codebook", "embed", "random_features", "sample_dataset", "sample_points"]
