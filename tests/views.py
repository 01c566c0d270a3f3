"""Points with shared noise whose classes have any number of views."""

import numpy as np

from mvsim.data import SharedNoiseDataset


class Views(SharedNoiseDataset):
    """Shared noise with as many views as the arrays say."""

    @property
    def feature_class(self):
        return np.repeat(np.arange(self.k), self.patterns.shape[2])

    def to_patches(self):
        patches = np.repeat(self.patterns[self.pattern_index][:, None], self.P, axis=1)
        for i, y in enumerate(self.labels):
            for view, positions in enumerate(self.signal_patches[i]):
                patches[i, positions] = 0.0
                patches[i, positions, y, view] = self.signal_coefficients[i, view]
        return patches
