"""The libraries that compute here, as text (source: ``torch.__config__``)."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..values.settings import get_num_interop_threads, get_num_threads

__all__ = ["parallel_info", "show"]


def _read_blas() -> str:
    """Return the name and the version of NumPy's library for matrices."""
    import numpy as np

    found: Any = np.show_config(mode="dicts")
    blas = found.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def _list_versions() -> list[str]:
    found = []
    for name in ("numpy", "scipy", "ml_dtypes", "numba"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def show() -> str:
    """Return a text about Python, the libraries that compute, and those of torch's that have no part here.

    >>> print(show())  # doctest: +ELLIPSIS
    torchlike ... built with:
      - Python ...
      - numpy ...
    """
    lines = [f"Python {platform.python_version()} ({platform.python_implementation()}, {platform.machine()})"]
    lines += [*_list_versions(), f"BLAS of NumPy: {_read_blas()}"]
    absent = "CUDA CUDNN GLOO MKL MKLDNN MPI NCCL NNPACK OPENMP ROCM XPU"
    lines.append("Build settings: " + ", ".join(f"USE_{name}=OFF" for name in absent.split()))
    from ..version import __version__

    return f"torchlike {__version__} built with:\n" + "".join(f"  - {line}\n" for line in lines)


def parallel_info() -> str:
    """Return a text about the threads that compute.

    >>> "hardware threads" in parallel_info()
    True
    """
    lines = [
        "torchlike:",
        f"\tget_num_threads() : {get_num_threads()}",
        f"\tget_num_interop_threads() : {get_num_interop_threads()}",
        f"BLAS of NumPy: {_read_blas()}",
        f"hardware threads : {os.cpu_count()}",
        "Environment variables:",
        *(f"\t{name} : {os.environ.get(name, '[not set]')}" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")),
    ]
    return "\n".join(lines) + "\n"


def _cxx_flags() -> str:
    """Return the flags of a C++ compiler: none, since nothing here is compiled by one."""
    return ""
