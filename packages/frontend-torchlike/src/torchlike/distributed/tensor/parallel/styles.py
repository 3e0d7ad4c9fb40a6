"""The styles of a plan: how a module's parameters lie, and how its inputs and outputs (source: ``torch``'s styles).

Note [Local outputs]
    With ``use_local_output`` a module returns this process's part, as an ordinary tensor. On a device whose meshes are made
    of the process's own devices (``jax``) its part is the whole, gathered; there results stay on the mesh, where every
    function takes them.

Note [Unknown placements]
    A recorded program's results lie on jax where XLA puts them, which is not known before. Styles leave such tensors as
    they are: how the parameters lie decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import dispatch_core as dc
from dispatch_aten.placements import Placement, PlacementError, Replicate, Shard, placement_of
from dispatch_aten.placements.operators import is_unknown

from ....nn.modules.linear import Linear
from ....nn.modules.module import Module
from ....nn.modules.sparse import Embedding
from ....tensors.tensor import Tensor
from ...device_mesh import DeviceMesh, has_devices
from ...placed.class_losses import by_classes
from ...placed.ordinary import taken_as_whole
from ..dtensor import DTensor
from ..modules import place_parameter, replicate_rest

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
]


class ParallelStyle(ABC):
    """How a module is cut over a mesh (source: ``torch.distributed.tensor.parallel.ParallelStyle``)."""

    src_data_rank: int | None = 0
    #: The name of the module that it is applied to, for errors.
    _path: str = ""

    def with_source(self, src_data_rank: int | None, path: str = "") -> Self:
        """Return the style for parameters whose numbers are those of a rank, of a module by its name."""
        self.src_data_rank, self._path = src_data_rank, path
        return self

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module: ...

    def apply(self, module: Module, mesh: DeviceMesh) -> Module:
        """Cut a module over a mesh, and return it."""
        return self._apply(module, mesh)


def _enter(value: Any, mesh: DeviceMesh, layout: Placement | None) -> Any:
    """Return a tensor on the mesh: an ordinary one is this process's part, which lies so."""
    if not isinstance(value, Tensor) or layout is None or placement_of(value) is not None:
        return value
    if has_devices(mesh.device_type):
        if is_unknown(value):
            return value
        return value.to(mesh.device_type).redistribute(mesh, [layout])  # type: ignore[attr-defined]
    return DTensor.from_local(value, mesh, [layout])


def _move(value: Any, mesh: DeviceMesh, layout: Placement | None) -> Any:
    """Return a tensor of a mesh that lies as is wanted along this one; see Note [Unknown placements]."""
    if layout is None or not isinstance(value, Tensor) or (known := placement_of(value)) is None:
        return value
    if known == (mesh, (layout,)):
        return value
    return value.redistribute(*_within(known, mesh, layout, value.ndim))  # type: ignore[attr-defined]


def _within(known: Any, mesh: DeviceMesh, layout: Placement, ndim: int) -> tuple[Any, list[Placement]]:
    """Return the mesh of a tensor, and its placements with another one along a part of the mesh."""
    whole, placements = known
    wanted = Shard(layout.dim % ndim) if isinstance(layout, Shard) else layout
    if whole == mesh:
        return mesh, [wanted]
    if mesh.root != whole.root:
        return mesh, [wanted]
    return whole, [wanted if dim in mesh.dims else each for dim, each in zip(whole.dims, placements, strict=True)]


def _leave(value: Any, mesh: DeviceMesh, *, local: bool) -> Any:
    """Return this process's part where that is wanted; see Note [Local outputs]."""
    if not local or not isinstance(value, Tensor) or has_devices(mesh.device_type) or placement_of(value) is None:
        return value
    return value.to_local()  # type: ignore[attr-defined]


def _pass(value: Any, mesh: DeviceMesh, layout: Any, wanted: Any, *, local: bool) -> Any:
    """Return a tensor that lies as is wanted, of one that lies otherwise or is ordinary."""
    return _leave(_move(_enter(value, mesh, layout), mesh, wanted), mesh, local=local)


@contextmanager
def naming(module: Module, path: str = "") -> Iterator[None]:
    """Name the module in errors about placements."""
    try:
        yield
    except PlacementError as error:
        where = f"{path!r}, {type(module).__name__}" if path else type(module).__name__
        raise PlacementError(f"in the module {where}: {error}") from error


def _hook(module: Module, before: Callable[..., Any], after: Callable[..., Any], path: str) -> Module:
    """Register hooks that call nothing but operators, and return the module."""

    def enter(*args: Any) -> Any:
        with naming(module, path):
            return before(*args)

    def leave(*args: Any) -> Any:
        with naming(module, path):
            return after(*args)

    module.register_forward_pre_hook(dc.capture.traceable(enter))
    module.register_forward_hook(dc.capture.traceable(leave))
    return module


class _LayerStyle(ParallelStyle):
    """A style for a layer with one input and one output."""

    #: Class of layers → its parameters' dimensions that are cut, and how the input has to lie.
    _cuts: ClassVar[dict[type[Module], tuple[dict[str, int | None], Placement]]]

    def __init__(self, inputs: Placement, outputs: Placement, *, use_local_output: bool) -> None:
        self.input_layouts, self.output_layouts, self.use_local_output = (inputs,), (outputs,), use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        found = next((each for kind, each in self._cuts.items() if isinstance(module, kind)), None)
        if found is None:
            names = " and ".join(f"nn.{each.__name__}" for each in self._cuts)
            raise NotImplementedError(f"{type(self).__name__} currently only support {names}!")
        cut, wanted = found
        for name, dim in cut.items():
            placement = Replicate() if dim is None else Shard(dim)
            place_parameter(module, name, device_mesh, [placement], self.src_data_rank)
        replicate_rest(module, device_mesh, self.src_data_rank)

        def before(mod: Module, inputs: tuple[Any, ...]) -> Any:
            first = _move(_enter(inputs[0], device_mesh, self.input_layouts[0]), device_mesh, wanted)
            return (first, *inputs[1:])

        def after(mod: Module, inputs: Any, outputs: Any) -> Any:
            return _leave(_move(outputs, device_mesh, self.output_layouts[0]), device_mesh, local=self.use_local_output)

        return _hook(module, before, after, self._path)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(input_layouts={self.input_layouts}, output_layouts={self.output_layouts},"
            f" use_local_output={self.use_local_output})"
        )


class ColwiseParallel(_LayerStyle):
    """Cut a `Linear` by its output features, an `Embedding` by the embedding dimension (source: torch's style)."""

    _cuts: ClassVar = {
        Linear: ({"weight": 0, "bias": 0}, Replicate()),
        Embedding: ({"weight": 1}, Replicate()),
    }

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output=use_local_output)


class RowwiseParallel(_LayerStyle):
    """Cut a `Linear` by its input features, an `Embedding` by its rows (source: torch's style)."""

    _cuts: ClassVar = {
        Linear: ({"weight": 1, "bias": None}, Shard(-1)),
        Embedding: ({"weight": 0}, Replicate()),
    }

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output=use_local_output)


class SequenceParallel(ParallelStyle):
    """Replicate the parameters of a norm or of dropout, whose input is cut along a sequence (source: torch's style)."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        wanted = self.sequence_sharding[0]
        replicate_rest(module, device_mesh, self.src_data_rank)

        def before(mod: Module, inputs: tuple[Any, ...]) -> Any:
            return (_move(_enter(inputs[0], device_mesh, wanted), device_mesh, wanted), *inputs[1:])

        def after(mod: Module, inputs: Any, outputs: Any) -> Any:
            return _leave(outputs, device_mesh, local=self.use_local_output)

        return _hook(module, before, after, self._path)

    def __repr__(self) -> str:
        return (
            f"SequenceParallel(sequence_dim={self.sequence_sharding[0].dim}, use_local_output={self.use_local_output})"
        )


def _as_tuple(layouts: Any) -> tuple[Any, ...]:
    return () if layouts is None else (layouts,) if isinstance(layouts, Placement) else tuple(layouts)


def _check_lengths(what: str, one: Sequence[Any], other: Sequence[Any]) -> None:
    if len(one) != len(other):
        raise PlacementError(f"{what} and desired {what} should have same length!")


class PrepareModuleInput(ParallelStyle):
    """Change how a module's arguments lie (source: torch's style)."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts, self.desired_input_layouts = _as_tuple(input_layouts), _as_tuple(desired_input_layouts)
        self.input_kwarg_layouts = dict(input_kwarg_layouts or {})
        self.desired_input_kwarg_layouts = dict(desired_input_kwarg_layouts or {})
        self.use_local_output = use_local_output
        if input_layouts is not None and desired_input_layouts is None:
            raise PlacementError("desired module inputs should not be None!")
        _check_lengths("input_layouts", self.input_layouts, self.desired_input_layouts)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def change(value: Any, layout: Any, wanted: Any) -> Any:
            return _pass(value, device_mesh, layout, wanted, local=self.use_local_output)

        def before(mod: Module, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if self.input_layouts:
                if len(inputs) != len(self.input_layouts):
                    raise PlacementError("module inputs and input_layouts should have same length!")
                inputs = tuple(map(change, inputs, self.input_layouts, self.desired_input_layouts))
            named = {
                name: change(each, self.input_kwarg_layouts.get(name), self.desired_input_kwarg_layouts.get(name))
                for name, each in kwargs.items()
            }
            return inputs, named

        module.register_forward_pre_hook(dc.capture.traceable(before), with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Change how a module's results lie (source: torch's style)."""

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _as_tuple(output_layouts), _as_tuple(desired_output_layouts)
        self.use_local_output = use_local_output
        _check_lengths("output_layouts", self.output_layouts, self.desired_output_layouts)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def after(mod: Module, inputs: Any, outputs: Any) -> Any:
            listed = outputs if isinstance(outputs, tuple) else (outputs,)
            if len(listed) != len(self.output_layouts):
                raise PlacementError("module outputs and output_layouts should have same length!")
            found = tuple(
                _leave(
                    _move(_enter(each, device_mesh, layout), device_mesh, wanted),
                    device_mesh,
                    local=self.use_local_output,
                )
                for each, layout, wanted in zip(listed, self.output_layouts, self.desired_output_layouts, strict=True)
            )
            return found if isinstance(outputs, tuple) else found[0]

        module.register_forward_hook(dc.capture.traceable(after))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Change how a module's arguments and results lie (source: torch's style)."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input.apply(module, device_mesh)
        return self.prepare_module_output.apply(module, device_mesh)


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Leave logits in parts by classes in ``log_softmax``, in its block (source: ``torch``'s ``loss_parallel``).

    ``cross_entropy`` and ``nll_loss`` do so everywhere: each process looks at its own classes. In the block ordinary labels
    and weights are taken for ones that are whole in each process.
    """
    with by_classes(), taken_as_whole():
        yield
