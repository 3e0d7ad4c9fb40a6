"""Operators that NumPy lacks, by the cpu's kernels on chunks: element-wise ones, and those along dimensions in one chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Final

import dask.array as da
import numpy as np

from dispatch_aten.shapes import RULES, contiguous

from ..dask_cluster import with_sizes
from ..dask_collecting import collect, collect_on_host
from ..library import Array, ArrayLibrary, Kernel
from .blocks import Hole, run_on_chunks

_ELEMENTWISE: Final = (
    "_dirichlet_grad _standard_gamma_grad digamma erf erfinv frexp.Tensor gcd i0 igamma igammac lcm lgamma polygamma"
    " special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_erfcx special_i0e"
    " special_i1 special_i1e special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1"
    " special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0"
    " special_scaled_modified_bessel_k1 special_spherical_bessel_j0 special_zeta"
    " special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l"
    " special_legendre_polynomial_p "
    + " ".join(f"special_{kind}chebyshev_polynomial_{each}" for kind in ("", "shifted_") for each in "tuvw")
).split()
#: Operator → for each array how many of its last dimensions are one matrix or vector.
_MATRICES: Final[dict[str, tuple[int, ...]]] = {
    "_linalg_eigh": (2,),
    "_linalg_eigvals": (2,),
    "geqrf": (2,),
    "linalg_cholesky_ex": (2,),
    "linalg_eig": (2,),
    "linalg_ldl_factor_ex": (2,),
    "linalg_ldl_solve": (2, 1, 2),
    "linalg_lu_factor_ex": (2,),
    "linalg_matrix_exp": (2,),
    "linalg_solve_triangular": (2, 2),
    "view_as_complex": (1,),
    "view_as_real": (0,),
    "view.dtype": (1,),
}


def _split(args: Sequence[Any]) -> tuple[list[Array], tuple[Any, ...]]:
    """Return the arrays among arguments, and the arguments with holes for them."""
    arrays: list[Array] = []
    given: list[Any] = []
    for each in args:
        is_array = isinstance(each, da.Array)
        given.append(Hole(len(arrays)) if is_array else list(each) if isinstance(each, tuple) else each)
        if is_array:
            arrays.append(each)
    return arrays, tuple(given)


def _elementwise(name: str) -> Callable[[ArrayLibrary], Kernel]:
    """Make the kernel that computes each chunk by itself; chunks may be of unknown sizes."""

    def make(library: ArrayLibrary) -> Kernel:
        rule = RULES[name]

        def kernel(*args: Any, **options: Any) -> Any:
            def describe(value: Any) -> Any:
                return contiguous((1,) * value.ndim, library.dtype_of(value)) if isinstance(value, da.Array) else value

            metas = rule(*map(describe, args), **options)
            arrays, given = _split(args)
            call: dict[str, Any] = {"operator": f"aten::{name}", "args": given, "options": tuple(options.items())}

            def compute(dtype: Any, part: int | None = None) -> Array:
                return da.core.elemwise(
                    partial(run_on_chunks, part=part, **call), *arrays, dtype=library.dtype(dtype), name=None
                )

            if not isinstance(metas, tuple):
                return compute(metas.dtype)
            return tuple([compute(meta.dtype, part) for part, meta in enumerate(metas)])

        return kernel

    return make


def run_whole(
    library: ArrayLibrary,
    name: str,
    args: Sequence[Any],
    options: dict[str, Any],
    cores: Sequence[int],
    metas: Sequence[Any],
    axes: Sequence[Sequence[int]] = (),
) -> tuple[Array, ...]:
    """Run the cpu's kernel on chunks that are whole along each array's last dimensions, ``cores`` of each.

    ``metas`` describes the results. The dimensions are others where ``axes`` names them, for arrays and results alike;
    those that ``args`` holds are the last ones then. Dask makes the other dimensions' chunks smaller to make up for it.
    Raises ``OperatorError`` where one matrix, or one line, is above the limit.
    """
    arrays, given = _split(args)
    with_sizes(arrays)
    batch = max(array.ndim - core for array, core in zip(arrays, cores, strict=True))
    inputs = list(axes)[: len(arrays)] or [range(-core, 0) for core in cores]
    outputs = list(axes)[len(arrays) :] or [range(batch, len(meta.shape)) for meta in metas]
    many, dtypes = len(metas) > 1, [np.dtype(library.dtype(meta.dtype)) for meta in metas]
    if any(array.numblocks[axis] > 1 for array, own in zip(arrays, inputs, strict=True) for axis in own):
        parts = [
            *((array.shape, array.dtype, own) for array, own in zip(arrays, inputs, strict=True)),
            *((meta.shape, dtype, own) for meta, dtype, own in zip(metas, dtypes, outputs, strict=True)),
        ]
        whole = sum(prod(shape[axis] for axis in own) * dtype.itemsize for shape, dtype, own in parts)
        collect(f"aten::{name}", whole, "for each matrix or line on one worker", "choose smaller ones")
    sizes: dict[str, int] = {}
    sides: list[list[str]] = [[], []]
    both = (("i", zip(arrays, inputs, strict=True)), ("o", zip(metas, outputs, strict=True)))
    for side, (letter, ends) in zip(sides, both, strict=True):
        for number, (each, own) in enumerate(ends):
            names = [f"{letter}{number}x{place}" for place in range(len(own))]
            sizes.update({size: each.shape[axis] for size, axis in zip(names, own, strict=True)})
            side.append(f"({','.join(names)})")
    found = da.apply_gufunc(
        run_on_chunks,
        f"{','.join(sides[0])}->{','.join(sides[1])}",
        *arrays,
        axes=[*map(tuple, axes)] or None,
        output_sizes=sizes,
        allow_rechunk=True,
        meta=tuple(np.empty((0,) * batch, dtype) for dtype in dtypes) if many else np.empty((0,) * batch, dtypes[0]),
        operator=f"aten::{name}",
        args=given,
        options=tuple(options.items()),
    )
    return found if many else (found,)


def _matrices(name: str, cores: tuple[int, ...]) -> Callable[[ArrayLibrary], Kernel]:
    """Make the kernel that computes whole matrices, each on a worker."""

    def make(library: ArrayLibrary) -> Kernel:
        elsewhere = collect_on_host(f"aten::{name}")

        def kernel(*args: Any, **options: Any) -> Any:
            arrays, _ = _split(args)
            with_sizes(arrays)
            found = RULES[name](*map(library.meta, args), **options)
            metas = found if isinstance(found, tuple) else (found,)
            batch = max(array.ndim - core for array, core in zip(arrays, cores, strict=True))
            # A result that is not asked for has one dimension without elements.
            asked = [meta for meta in metas if meta.shape[:batch] == metas[0].shape[:batch] and meta.ndim >= batch]
            if any(0 in each.shape or not each.ndim for each in (*arrays, *metas)) or len(asked) != len(metas):
                return elsewhere(*args, **options)
            results = run_whole(library, name, args, options, cores, metas)
            return results if isinstance(found, tuple) else results[0]

        return kernel

    return make


def _sort(library: ArrayLibrary) -> Kernel:
    def sort(self: Array, *, stable: bool | None = False, dim: int = -1, descending: bool = False) -> tuple[Array, ...]:
        with_sizes([self])
        metas = RULES["sort.stable"](library.meta(self), stable=stable, dim=dim, descending=descending)
        if not self.ndim or 0 in self.shape:
            return self, da.zeros_like(self, dtype=np.int64)
        options = {"stable": True, "dim": -1, "descending": descending}
        return run_whole(library, "sort.stable", (self,), options, (1,), metas, [(dim,)] * 3)

    return sort


def _transform(name: str) -> Callable[[ArrayLibrary], Kernel]:
    """Make the kernel of a Fourier transform, whose dimensions are made whole."""

    def make(library: ArrayLibrary) -> Kernel:
        elsewhere = collect_on_host(f"aten::{name}")

        def kernel(self: Array, dim: Sequence[int], *rest: Any, **options: Any) -> Array:
            with_sizes([self])
            meta = RULES[name](library.meta(self), dim, *rest, **options)
            if not dim or 0 in self.shape or 0 in meta.shape:
                return elsewhere(self, dim, *rest, **options)
            axes = tuple(each % self.ndim for each in dim)
            args = (self, list(range(-len(axes), 0)), *rest)
            return run_whole(library, name, args, options, (len(axes),), (meta,), [axes, axes])[0]

        return kernel

    return make


#: Operator → function of the library that makes its kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    **{name: _elementwise(name) for name in _ELEMENTWISE},
    **{name: _matrices(name, cores) for name, cores in _MATRICES.items()},
    "sort.stable": _sort,
    **{name: _transform(name) for name in ("_fft_c2c", "_fft_c2r", "_fft_r2c")},
}
