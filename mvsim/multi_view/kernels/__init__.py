"""The network evaluated on a data set: a readable NumPy kernel, the compiled ones and one for GPUs, all with the same functions (`Kernel`).

To add one: write a subclass of `Kernel` and list it in `mvsim.multi_view.kernels.registry.KERNELS`.

=======================  ==================================================================================
`base`, `evaluation`     what every kernel offers
`registry`               the kernels there are, which points each takes, and the one for a data set
`oracle`                 the definitions in NumPy, on explicit patches; slow and readable
`one_patch/`             points with a single patch: matrix products
`any_patches/`           compiled, any data: streams over neurons, in bounded memory
`shared_noise/`          compiled, for noise that the patches of a point share: its cost does not depend on P
`array/`                 for every namespace of the array API standard: NumPy, and CuPy on a GPU
`sums`, `finite`         the generic sum over points of a loss; the check that what is computed is finite
`jit/`                   compiling and its cache, threads, compiled functions that both compiled kernels call
=======================  ==================================================================================
"""

from mvsim.multi_view.kernels.base import Kernel
from mvsim.multi_view.kernels.registry import BACKENDS, KERNELS, ORACLE, check_device_memory, entry_for_draws, make_kernel, memory_of, usable_backend

__all__ = ["BACKENDS", "KERNELS", "ORACLE", "Kernel", "check_device_memory", "entry_for_draws", "make_kernel", "memory_of", "usable_backend"]
