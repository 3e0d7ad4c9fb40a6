"""Modules whose parameters lie in parts over a mesh, and are whole where they are used (source: ``torch.distributed.fsdp``).

Note [Parts of parts]
    A parameter that lies on another part of the mesh already, as `parallelize_module` has it, is cut along both: it lies on
    the part that has the dimensions of both, and in ``forward`` as it lay before. It is cut along a dimension that the other
    part leaves whole, if it has one, because only these are put together without the other part's processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.placements import Placement, PlacementError, Replicate, Shard, placement_of
from dispatch_core.runtime import find_interface

from ..nn.modules.container import ModuleDict, ModuleList
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor
from .device_mesh import DeviceMesh, as_device_mesh, current_mesh, has_devices, init_device_mesh
from .process_groups import find_device, get_backend, get_world_size, is_group
from .tensor.dtensor import DTensor, distribute_tensor
from .tensor.modules import Made, place_parameter
from .whole_parameters import MixedPrecisionPolicy, ShardedParameters

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]


@dataclass
class OffloadPolicy:
    """Where parameters lie that are not in use: on the device."""


class CPUOffloadPolicy(OffloadPolicy):
    """Parameters that are not in use lie on the host: refused with ``NotImplementedError``."""

    def __init__(self, pin_memory: bool = True) -> None:
        raise NotImplementedError("CPUOffloadPolicy: parameters stay on their device here")


class UnshardHandle:
    """The gathering of a module's parameters, which has ended (source: ``torch.distributed.fsdp.UnshardHandle``)."""

    def wait(self) -> None:
        """Return at once."""


class FSDPModule:
    """The methods of a module that `fully_shard` has taken (source: ``torch.distributed.fsdp.FSDPModule``)."""

    _fsdp: ShardedParameters

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a module of the class that was taken: part of a ``Sequential`` is one that nothing has taken."""
        return cls.__mro__[2](*args, **kwargs) if args or kwargs else super().__new__(cls)  # copies make it without

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _make_sharded, (type(self).__mro__[2],), self.__dict__

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the module's own parameters, until `reshard`, the end of the next ``forward``, or a state is taken.

        With ``async_op`` returns a handle whose ``wait()`` has nothing left to wait for.
        """
        self._fsdp.gather()
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Give the module its parts back."""
        self._fsdp.release()

    def _save_to_state_dict(self, *args: Any) -> None:
        self._fsdp.release()
        super()._save_to_state_dict(*args)  # type: ignore[misc]  # the module's class comes next

    def _load_from_state_dict(self, *args: Any) -> None:
        self._fsdp.release()
        super()._load_from_state_dict(*args)  # type: ignore[misc]

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Say whether backward averages gradients over the processes; without it each keeps its own until one that does."""
        for each in self.modules() if recurse else (self,):  # type: ignore[attr-defined]
            if isinstance(each, FSDPModule):
                each._fsdp.syncs = requires_gradient_sync

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Take whether another backward comes before the optimizer: each one is waited for here."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Take the modules that could be gathered early in ``forward``; each is when it is called. Raises ``ValueError``."""
        _check_sharded(modules)

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Take the modules that could be gathered early in backward; each is when it is needed. Raises ``ValueError``."""
        _check_sharded(modules)

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Take whether parameters could stay whole after backward: they are given back, as an optimizer writes to them."""

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide the sum of the module's own gradients by a number, in place of that of the processes."""
        self._fsdp.divisor = factor

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Say whether parameters are given back after ``forward``, and gathered again in backward."""
        for each in self.modules() if recurse else (self,):  # type: ignore[attr-defined]
            if isinstance(each, FSDPModule):
                each._fsdp.reshards = reshard_after_forward


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Gather a sharded module's parameters for another method than ``forward``, too (source: ``torch.distributed.fsdp``).

    Of a module that `fully_shard` has not taken nothing changes. Raises ``ValueError`` for a method that there is not.
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    state, method = module._fsdp, getattr(module, method_name)

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before(args, kwargs) or (args, kwargs)
        result = None
        try:
            result = method(*args, **kwargs)
        finally:
            result = state.after(result)
        return result

    setattr(module, method_name, call)


def _check_sharded(modules: list[Any]) -> None:
    for each in modules:
        if not isinstance(each, FSDPModule):
            raise ValueError(f"No FSDP state found on {type(each).__name__}\nHint: fully_shard(module) gives it one")


class FullyShardedDataParallel:
    """The older form, which wraps a module: refused with ``NotImplementedError``, since `fully_shard` is there."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "FullyShardedDataParallel: modules are not wrapped here\n"
            "Hint: fully_shard(module, mesh=mesh) cuts the module itself, its submodules before it; mp_policy is its"
            " mixed precision, and torch.distributed.checkpoint.state_dict gives its state"
        )


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Tensor], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),  # noqa: B008  # it is frozen
    offload_policy: OffloadPolicy | None = None,
    ignored_params: Iterable[Tensor] | None = None,
) -> Any:
    """Cut a module's parameters over a mesh, and return the module (source: ``torch.distributed.fsdp.fully_shard``).

    Parameters of submodules that have been taken before stay theirs. Each parameter is cut along its first dimension, or
    that which ``shard_placement_fn`` names; on jax along the largest one that the mesh divides, else it is whole on
    each device. In a mesh of two dimensions it is cut along the second one. ``reshard_after_forward`` False keeps the whole
    parameters until backward is done. Raises ``PlacementError`` for a mesh of more dimensions, ``TypeError`` for what is no
    module.

    >>> import torchlike
    >>> from torchlike.distributed.device_mesh import init_device_mesh
    >>> net = fully_shard(torchlike.nn.Linear(4, 2), mesh=init_device_mesh("cpu", (1,)))
    >>> type(net).__name__, net.weight.placements
    ('FSDPLinear', (Shard(dim=0),))
    """
    modules = module if isinstance(module, (list, tuple)) else [module]
    for each in modules:
        if not isinstance(each, Module):
            raise TypeError(f"fully_shard expects a module or a list of modules, not {type(each).__name__}")
    found = _find_mesh(module, mesh)
    if found.ndim > 2:
        raise PlacementError(
            f"fully_shard expects a 1D or 2D DeviceMesh but got {found.ndim}D", hint="take a part of it: mesh['data']"
        )
    if isinstance(offload_policy, CPUOffloadPolicy):
        raise NotImplementedError("fully_shard: parameters stay on their device here")
    ignored = {id(each) for each in ignored_params or ()}
    for each in modules:
        _shard(each, found, shard_placement_fn, ignored, mp_policy, reshard_after_forward)
    return module


def _find_mesh(module: Any, mesh: Any) -> DeviceMesh:
    if mesh is not None:
        return current_mesh("fully_shard", mesh)
    first = next(iter((module[0] if isinstance(module, (list, tuple)) else module).parameters()), None)
    name = "cpu" if first is None else first.device.type
    if name == "meta":
        name = find_device(get_backend()) if is_group() else "cpu"
    if has_devices(name):
        return init_device_mesh(name, (find_interface(name).placements.count(),))
    return init_device_mesh(name, (get_world_size() if is_group() else 1,))


def _shard(
    module: Module,
    mesh: DeviceMesh,
    choose: Callable[[Tensor], Shard | None] | None,
    ignored: set[int],
    policy: MixedPrecisionPolicy,
    reshards: Any,
) -> None:
    if isinstance(module, FSDPModule):
        raise PlacementError(
            f"fully_shard has taken this {type(module).__name__} already",
            hint="take submodules before the module around them, each once",
        )
    if isinstance(module, (ModuleList, ModuleDict)):
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")
    made: Made = {}
    owners = [
        (owner, name) for owner, name in _own_parameters(module, mesh) if id(owner._parameters[name]) not in ignored
    ]
    before: dict[tuple[Module, str], Any] = {}
    for owner, name in owners:
        parameter = owner._parameters[name]
        assert parameter is not None
        chosen = choose(parameter) if choose is not None else None
        if (known := placement_of(parameter)) is not None:
            found = made.get(parameter)
            if found is None:
                found = made[parameter] = _cut_part(parameter, mesh, *known, chosen)
            before[owner, name] = known
            owner.register_parameter(name, found)
            continue
        lies = _cut(parameter, mesh) if chosen is None else chosen
        place_parameter(owner, name, mesh, [Replicate()] * (mesh.ndim - 1) + [lies], made=made)
    module.__class__ = _class_for(type(module))
    state = module._fsdp = ShardedParameters(module, owners, mesh, policy, before)
    if state.is_placed and policy.param_dtype is policy.output_dtype is None:
        return
    state.reshards = not state.is_placed and mesh.size() > 1 and (reshards is None or bool(reshards))
    module.register_forward_pre_hook(dc.capture.traceable(_Before(state)), with_kwargs=True)
    module.register_forward_hook(dc.capture.traceable(_After(state)), always_call=True)


class _Before:
    """The hook before a module's ``forward``, which a copy of the module and a pickle have with its parameters."""

    def __init__(self, state: ShardedParameters) -> None:
        self._state = state

    def __call__(self, module: Module, args: Any, kwargs: Any) -> Any:
        return self._state.before(args, kwargs)


class _After:
    """The hook after it."""

    def __init__(self, state: ShardedParameters) -> None:
        self._state = state

    def __call__(self, module: Module, args: Any, outputs: Any) -> Any:
        return self._state.after(outputs)


#: Classes of modules → those of the sharded ones.
_classes: Final[dict[Any, type[Module]]] = {}


def _class_for(kind: type[Module]) -> type[Module]:
    """Return the class of modules of a class that are sharded."""
    found = _classes.get(kind)
    if found is None:
        made = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": __name__})
        found = _classes.setdefault(kind, made)
    return found


def _make_sharded(kind: type[Module]) -> Module:
    """Return a bare module of a sharded class, to which a copy or a pickle gives its attributes."""
    return object.__new__(_class_for(kind))


def _own_parameters(module: Module, mesh: DeviceMesh) -> Iterator[tuple[Module, str]]:
    """Yield the parameters of a module and its submodules by owner and name, but for those that are taken."""
    for name, each in module._parameters.items():
        if each is not None and not _is_taken(each, mesh):
            yield module, name
    for child in module.children():
        if not isinstance(child, FSDPModule):
            yield from _own_parameters(child, mesh)


def _is_taken(parameter: Tensor, mesh: DeviceMesh) -> bool:
    """Return whether a parameter lies on a mesh already, and not on another part of it. Raises ``PlacementError``."""
    known = placement_of(parameter)
    if known is None:
        return False
    if has_devices(mesh.device_type):
        now: dict[int, Placement] = dict(zip(known[0].dims, known[1], strict=True))
        return known[0].root != mesh.root or isinstance(now.get(mesh.dims[-1]), Shard)
    if not set(known[0].dims).isdisjoint(mesh.dims):
        return known[0].root == mesh.root
    if known[0].root != mesh.root:
        raise PlacementError(
            f"fully_shard: a parameter lies on {known[0]}, which is no part of the mesh of {mesh}",
            hint="make one mesh with names for all dimensions, and give each function its part, as mesh['data']",
        )
    return False


def _cut_part(parameter: Tensor, mesh: DeviceMesh, part: Any, lies: Sequence[Placement], chosen: Any) -> Parameter:
    """Return a parameter that lies on a part of a mesh, cut along another part, too; see Note [Parts of parts]."""
    taken = [each.dim for each in lies if isinstance(each, Shard)]
    if has_devices(mesh.device_type):
        placements = list(lies)
        placements[part.dims.index(mesh.dims[-1])] = chosen or _cut(parameter, mesh, taken)
        moved = parameter.detach().redistribute(placements=placements)  # type: ignore[attr-defined]
        return Parameter(moved, requires_grad=parameter.requires_grad)
    free = [dim for dim, size in enumerate(parameter.shape) if dim not in taken and size >= mesh.size(mesh.ndim - 1)]
    outer = chosen or (Shard((free or [0])[0]) if parameter.ndim else Replicate())
    both = as_device_mesh(mesh.root._part(sorted({*mesh.dims, *part.dims})))
    now: dict[int, Placement] = dict(zip(part.dims, lies, strict=True))
    wanted = {**now, mesh.dims[-1]: outer}
    local = parameter.detach().to_local()  # type: ignore[attr-defined]
    whole = distribute_tensor(local, mesh, (Replicate(),) * mesh.ndim).to_local()  # type: ignore[attr-defined]
    made = DTensor.from_local(whole, both, [now.get(dim, Replicate()) for dim in both.dims], shape=parameter.shape)
    made = made.redistribute(placements=[wanted.get(dim, Replicate()) for dim in both.dims])  # type: ignore[attr-defined]
    return Parameter(made.detach(), requires_grad=parameter.requires_grad)


def _cut(parameter: Tensor, mesh: DeviceMesh, taken: Sequence[int] = ()) -> Placement:
    """Return how a parameter lies along the last dimension of a mesh; some of its own are cut already."""
    if not parameter.ndim:
        return Replicate()
    if not has_devices(mesh.device_type):
        return Shard(0)
    parts = mesh.size(mesh.ndim - 1)
    fitting = [dim for dim, size in enumerate(parameter.shape) if size % parts == 0 and size and dim not in taken]
    return Shard(max(fitting, key=lambda dim: (parameter.shape[dim], -dim))) if fitting else Replicate()
