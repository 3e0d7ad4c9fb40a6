"""New tensors on a mesh (source: ``torch.distributed.tensor``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torchlike

from ...tensors.tensor import Tensor
from ..device_mesh import current_mesh
from .dtensor import distribute_tensor

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def _make(
    make: Callable[..., Tensor],
    size: Sequence[Any],
    device_mesh: Any,
    placements: Any,
    requires_grad: bool,
    **options: Any,
) -> Tensor:
    mesh = current_mesh("a factory", device_mesh)
    shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    made = make(
        tuple(shape), device=mesh.device_type, **{name: each for name, each in options.items() if each is not None}
    )
    return distribute_tensor(made, mesh, placements, src_data_rank=None).requires_grad_(requires_grad)


def _factory(name: str) -> Callable[..., Tensor]:
    def function(
        *size: Any,
        requires_grad: bool = False,
        dtype: Any = None,
        layout: Any = None,
        device_mesh: Any = None,
        placements: Any = None,
    ) -> Tensor:
        return _make(getattr(torchlike, name), size, device_mesh, placements, requires_grad, dtype=dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return ``torchlike.{name}`` of a size on a mesh (source: ``torch.distributed.tensor.{name}``)."
    return function


empty, ones, rand, randn, zeros = map(_factory, ("empty", "ones", "rand", "randn", "zeros"))


def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: Any = None,
    placements: Any = None,
) -> Tensor:
    """Return ``torchlike.full`` of a size on a mesh (source: ``torch.distributed.tensor.full``)."""

    def make(shape: Any, **options: Any) -> Tensor:
        return torchlike.full(shape, fill_value, **options)

    return _make(make, (tuple(size),), device_mesh, placements, requires_grad, dtype=dtype)
