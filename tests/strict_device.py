"""A device that NumPy cannot read: the strict namespace of the array API standard on its ``device1``."""

import array_api_strict
import numpy as np

from mvsim.multi_view.kernels.array.device import Device

PLACE = array_api_strict.Device("device1")


def fetched(array):
    return np.asarray(array.to_device(array_api_strict.Device("CPU_DEVICE")))


STRICT = Device("array-api-strict", array_api_strict, PLACE, fetched, 2**13)
"""With so small pieces that these problems take several."""
