"""The layout of tensors over several processes: this process's part, and how the parts make the whole.

Note [Specs]
    Where a tensor lies, and its size, is one object (`Spec`) for all tensors that lie so: plans of calls are kept by it. An
    equal one that a copy or a file makes is the same object.

Note [Alike in all processes]
    What code asks of a tensor has one answer in all processes, because they have to make the same calls: formulas of
    derivatives choose by strides. So these are not those of the part, which is smaller, and of one row here or there: a
    tensor says that it lies row by row, and a view of a part that does not becomes a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, NoReturn, Self

import dispatch_core as dc
from dispatch_aten.placements import DeviceMesh, Partial, Placement, PlacementError, Replicate, Shard, split
from dispatch_core.frontends import TensorLayout

from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor, frontend
from ...values.layouts import LayoutData, layout, strided

__all__ = ["DISTRIBUTED", "PlacedData", "PlacedPart", "Spec", "record_of", "wrap_part"]


class Spec:
    """Where a tensor of a size lies: a mesh, and a placement for each of its dimensions; see Note [Specs]."""

    _known: ClassVar[dict[Any, Spec]] = {}
    #: Equal meshes are one object here.
    _meshes: ClassVar[dict[Any, DeviceMesh]] = {}
    _most: ClassVar[int] = 10_000

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    size: tuple[int, ...]

    def __new__(cls, mesh: DeviceMesh, placements: Sequence[Placement], size: Sequence[int]) -> Self:
        """Return the spec, which is made once: see Note [Specs]."""
        key = mesh, mesh.get_rank(), tuple(placements), tuple(size)
        found: Any = cls._known.get(key)
        if found is None:
            if len(cls._known) >= cls._most:
                cls._known.clear()
            made: Any = super().__new__(cls)
            made.mesh = cls._meshes.setdefault(key[:2], mesh)
            made.placements, made.size = key[2:]
            found = cls._known[key] = made
        return found

    def __reduce__(self) -> Any:
        mesh = self.mesh
        placements = [(type(each).__name__, *_values_of(each)) for each in self.placements]
        return make_spec, (
            mesh.device_type,
            mesh.root_ranks.tolist(),
            mesh.root_names,
            mesh.dims,
            placements,
            self.size,
        )

    def __deepcopy__(self, memo: object) -> Spec:
        return self

    @cached_property
    def is_whole(self) -> bool:
        """Whether each process has the whole tensor."""
        return all(isinstance(each, Replicate) for each in self.placements)

    @cached_property
    def whole(self) -> Spec:
        """The spec of the same tensor where each process has the whole of it."""
        return Spec(self.mesh, (Replicate(),) * len(self.placements), self.size)

    @cached_property
    def without_partial(self) -> Spec:
        """The spec of the same tensor, whole where it is to be combined."""
        made = [Replicate() if isinstance(each, Partial) else each for each in self.placements]
        return Spec(self.mesh, made, self.size)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The strides of the whole, row by row; see Note [Alike in all processes]."""
        made = [1]
        for size in reversed(self.size[1:]):
            made.append(made[-1] * max(size, 1))
        return tuple(reversed(made)) if self.size else ()

    @cached_property
    def coordinate(self) -> tuple[int, ...]:
        """Where this process stands in the mesh."""
        return coordinate_of(self.mesh)

    @cached_property
    def local_size(self) -> tuple[int, ...]:
        """The size of this process's part."""
        return tuple(part for _, part in self.parts)

    @cached_property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """Where this process's part begins along each dimension, and its size there."""
        found = [(0, size) for size in self.size]
        for place, count, placement in zip(self.coordinate, self.mesh.shape, self.placements, strict=True):
            if isinstance(placement, Shard):
                start, size = found[placement.dim]
                more, part = split(size, count, place)
                found[placement.dim] = start + more, part
        return tuple(found)

    def __repr__(self) -> str:
        return f"Spec({self.mesh}, {self.placements}, {self.size})"


def _values_of(placement: Placement) -> tuple[Any, ...]:
    if isinstance(placement, Shard):
        return (placement.dim,)
    return (placement.reduce_op,) if isinstance(placement, Partial) else ()


def make_spec(device_type: str, ranks: Any, names: Any, dims: Any, placements: Any, size: Any) -> Spec:
    """Return the spec that a file or a pickle tells, for this process."""
    from ..process_groups import default_group, is_group

    mesh = DeviceMesh(
        device_type, ranks, mesh_dim_names=names, rank=default_group("load").rank if is_group() else 0
    )._part(dims)
    kinds: dict[str, Any] = {"Shard": Shard, "Replicate": Replicate, "Partial": Partial}
    return Spec(mesh, [kinds[name](*values) for name, *values in placements], size)


def coordinate_of(mesh: DeviceMesh) -> tuple[int, ...]:
    """Return where this process stands in a mesh. Raises ``PlacementError`` where it is not of it."""
    found = (0,) * mesh.ndim if mesh.size() == 1 else mesh.get_coordinate()
    if found is None:
        raise PlacementError(
            f"this process, rank {mesh.get_rank()}, is not of {mesh}", hint="processes of a mesh call its operators"
        )
    return tuple(found)


class PlacedData:
    """The class by which records are told from arrays: that of a protocol is slow to ask."""

    __slots__ = ()


@dataclass(slots=True)
class PlacedPart(PlacedData, LayoutData):
    """The data of a tensor over several processes: the part of this one, and where the parts lie."""

    local: Tensor
    spec: Spec

    layout: ClassVar[layout] = strided
    densified_by: ClassVar[str] = "full_tensor()"

    @property
    def mesh(self) -> DeviceMesh:
        """The mesh that the tensor lies on."""
        return self.spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies along each dimension of the mesh."""
        return self.spec.placements

    @property
    def size(self) -> tuple[int, ...]:
        """The size of the whole."""
        return self.spec.size

    def to_text(self, tensor: Tensor) -> str:
        """Return the text of this process's part, and where it lies, as torch does."""
        return f"DTensor(local_tensor={self.local}, device_mesh={self.mesh}, placements={self.placements})"

    def make_empty(self, device: Any) -> Tensor:
        """Return an empty tensor that lies so, whose parts are on a device: the operator would make a whole one there."""
        return wrap_part(FUNCTIONS["empty_like"](self.local, device=device), self.spec)

    def refuse(self, what: str) -> NoReturn:
        """Raise the error for a question that a part does not answer."""
        raise TypeError(
            f"{what} is not supported for a tensor on a mesh of processes, of which this one has a part\n"
            f"Hint: {self.densified_by} makes an ordinary tensor, and to_local() one of this process's part"
        )

    def leave_gradient(self, gradient: Tensor) -> Tensor:
        """Return a gradient that lies as the tensor does, and as a whole where that is to be combined."""
        found = gradient._dispatch_data
        wanted = self.spec.without_partial
        if not isinstance(found, PlacedData) or found.spec is wanted:  # type: ignore[attr-defined]
            return gradient
        made: Tensor = dc.ops.dispatch.redistribute(gradient, wanted.mesh, wanted.placements)
        return made


DISTRIBUTED: Final = TensorLayout(
    "Distributed",
    PlacedPart,
    component="local",
    shape=lambda record: record.spec.size,
    dtype=lambda record: dc.dtype(record.local),
    strides=lambda record: record.spec.strides,
    hint="full_tensor() has all elements, and to_local() this process's",
)


def wrap_part(local: Tensor, spec: Spec) -> Tensor:
    """Return the tensor of which this process has a part; nothing is looked at."""
    made: Tensor = frontend.wrap(DISTRIBUTED.make(local=local, spec=spec))
    return made


def record_of(value: object) -> PlacedPart | None:
    """Return the record of a tensor over several processes; None for any other value."""
    found: Any = getattr(value, "_dispatch_data", None)
    return found if isinstance(found, PlacedData) else None  # type: ignore[return-value]  # no other class has it
