"""A plan is carried out: patterns of names of submodules → styles (source: ``torch.distributed.tensor.parallel.api``)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from fnmatch import fnmatch
from typing import Any

from dispatch_aten.placements import PlacementError

from ....nn.modules.module import Module
from ...device_mesh import current_mesh
from .styles import ParallelStyle, naming

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Module,
    device_mesh: Any = None,
    parallelize_plan: ParallelStyle | Mapping[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Cut a module over a mesh of one dimension, and return it (source: ``torch.distributed.tensor.parallel``).

    ``parallelize_plan`` is a style for the module, or a mapping of names of its submodules to styles; ``*`` and ``?`` in a
    part of a name match as in file names. Raises ``PlacementError`` for a mesh of several dimensions, ``TypeError`` for a
    plan of another kind, and warns of a name that no submodule has.
    """
    mesh = current_mesh("parallelize_module", device_mesh)
    if mesh.ndim != 1:
        raise PlacementError(
            f"parallelize_module: Tensor Parallel only accepts a 1D DeviceMesh, but found {mesh.ndim}D!",
            hint='take a part of it: mesh["model"]',
        )
    if parallelize_plan is None:
        warnings.warn("parallelize_module: there is no plan, so nothing is cut", UserWarning, stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan = {"": parallelize_plan}
    if not isinstance(parallelize_plan, Mapping):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan,"
            f" {type(parallelize_plan)} found!"
        )
    for pattern, style in parallelize_plan.items():
        if not isinstance(style, ParallelStyle):
            raise TypeError(
                f"Expect a ParallelStyle for {pattern!r} in parallelize_plan, {type(style)} found!"
                "\nHint: ColwiseParallel() and RowwiseParallel() are some"
            )
    before = _parameters(module)
    for pattern, style in parallelize_plan.items():
        found = _find(module, pattern)
        if not found:
            warnings.warn(f"parallelize_module: no submodule has the name {pattern!r}", UserWarning, stacklevel=2)
        for path, each in found:
            with naming(each, path):
                style.with_source(src_data_rank, path).apply(each, mesh)
    _tie(module, before)
    return module


def _parameters(module: Module) -> dict[tuple[Module, str], Any]:
    return {(each, name): found for each in module.modules() for name, found in each._parameters.items()}


def _tie(module: Module, before: dict[tuple[Module, str], Any]) -> None:
    """Give modules that had one parameter the one that a style has placed in one of them."""
    made = {before[place]: found for place, found in _parameters(module).items() if found is not before.get(place)}
    for (owner, name), parameter in before.items():
        if owner._parameters[name] is parameter and parameter in made:
            owner.register_parameter(name, made[parameter])


def _find(module: Module, pattern: str) -> list[tuple[str, Module]]:
    """Return the submodules whose path fits a pattern, part by part, with it."""
    found = [("", module)]
    for part in pattern.split(".") if pattern else ():
        found = [
            (f"{path}.{name}" if path else name, child)
            for path, each in found
            for name, child in each.named_children()
            if fnmatch(name, part)
        ]
    return found
