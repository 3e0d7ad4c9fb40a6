"""The kernels by kind; each module holds its own in ``KERNELS``, by operator name."""
