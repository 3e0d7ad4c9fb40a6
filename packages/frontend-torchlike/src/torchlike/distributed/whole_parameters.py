"""The whole parameters of a module that lie in parts, where they are used.

Note [Unsharded parameters]
    On jax the compiler gathers a parameter where a program needs it. Between processes a module gathers its own parameters
    before its ``forward``, and gives them back after it. They are gathered again when backward comes to the module's
    results, also for what a checkpoint computes again, and given back when it has left the module, at the latest at its
    end. The gradients are averaged over the processes, and each keeps its part. Tensors that are saved for backward go to
    the hooks around the module, but for whole parameters, which are not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from dispatch_aten.placements import Partial, Replicate, placement_of
from dispatch_core.frontends import recording

from ..autograd.engine import is_running, queue_callback
from ..autograd.graph import register_multi_grad_hook
from ..autograd.saved_hooks import innermost_hooks, saved_tensors_hooks
from ..history.grad_mode import enable_grad, no_grad
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from ..values.pytree import tree_leaves
from .device_mesh import DeviceMesh, has_devices
from .tensor.dtensor import DTensor


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of unsharded parameters, of the reduction of gradients and of outputs; None keeps a tensor's own."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


class _WholeParameter(NamedTuple):
    """A whole parameter, or None in place of it, its parts, and the mesh and the placements that these had before."""

    parameter: Tensor
    before: Any
    whole: Tensor | None


def _list_results(values: Any) -> list[Tensor]:
    """Return the tensors in a value that operators have computed, and to which gradients come."""
    found = (each for each in tree_leaves(values) if isinstance(each, Tensor))
    return [each for each in found if each.requires_grad and each.grad_fn is not None]


class ShardedParameters:
    """The parameters of a module that lie in parts; see Note [Unsharded parameters]."""

    def __init__(
        self,
        module: Module,
        owners: list[tuple[Module, str]],
        mesh: DeviceMesh,
        policy: MixedPrecisionPolicy,
        before: dict[tuple[Module, str], Any],
    ) -> None:
        self.module, self.owners, self.mesh, self.policy = module, owners, mesh, policy
        self.syncs, self.reshards = True, True
        #: What the sum of the gradients is divided by, in place of the number of processes.
        self.divisor: float | None = None
        #: Module and name → the mesh and the placements that the parameter had before; see Note [Parts of parts] in `fsdp`.
        self._before = before
        #: Whether the compiler gathers.
        self.is_placed = has_devices(mesh.device_type)
        #: Module and name → the parameter, while the whole is in its place.
        self._sharded: dict[tuple[Module, str], Tensor] = {}
        #: id of a whole, and of its parameter → both, and how the parameter lay before.
        self._wholes: dict[int, _WholeParameter] = {}
        #: For each call of ``forward`` that has begun what tells it apart, its block of hooks, and whether the wholes stay.
        self._calls: list[tuple[object, saved_tensors_hooks | None, bool]] = []
        #: The calls through which backward goes now.
        self._open: set[object] = set()
        #: id of a parameter → this process's gradient of the whole, of backwards that averaged none.
        self._waiting: dict[int, Tensor] = {}

    def gather(self) -> None:
        """Put the whole of each parameter in its place."""
        if self._sharded:
            return
        for owner, name in self.owners:
            parameter = owner._parameters[name]
            assert parameter is not None  # `owners` has no others
            before = self._before.get((owner, name))
            whole = self._make_whole(parameter, before)
            self._sharded[owner, name] = parameter
            self._wholes[id(whole)] = self._wholes[id(parameter)] = _WholeParameter(parameter, before, whole)
            owner._parameters[name] = whole  # type: ignore[assignment]  # as a program reads it in `forward`

    def release(self) -> None:
        """Put the parameters back."""
        for (owner, name), parameter in self._sharded.items():
            owner._parameters[name] = parameter  # type: ignore[assignment]
        self._sharded.clear()
        self._wholes.clear()

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Get ready for ``forward``; return its arguments where they are cast, or None."""
        if self._open and not is_running():
            self._leave(None)  # of a backward that has failed
        is_kept = bool(self._sharded) and (is_running() or bool(self._calls))
        self.gather()
        block, call = None, object()
        if self._goes_back():
            if self.reshards:
                block = self._make_hooks(innermost_hooks())
                block.__enter__()
            inputs = [each for each in _list_results((args, kwargs)) if not is_kept]
            if inputs:
                register_multi_grad_hook(inputs, lambda _: self._leave(call))
        self._calls.append((call, block, is_kept))
        if self.policy.param_dtype is not None and self.policy.cast_forward_inputs:
            return tuple(map(self._cast, args)), {name: self._cast(each) for name, each in kwargs.items()}
        return None

    def after(self, outputs: Any) -> Any:
        """Give the parts back after it; return its results, cast where that is asked for."""
        call, block, is_kept = self._calls.pop() if self._calls else (None, None, False)
        if block is not None:
            block.__exit__(None, None, None)
        for each in _list_results(outputs) if self._goes_back() else ():
            each.register_hook(lambda _: self._enter(call))
        if not is_kept:
            self.release()
        wanted = self.policy.output_dtype
        return outputs.to(wanted) if wanted is not None and isinstance(outputs, Tensor) else outputs

    def _goes_back(self) -> bool:
        """Return whether backward gathers: a replay has no hooks, and keeps the wholes until then."""
        return not self.is_placed and recording() is None

    def _enter(self, call: object) -> None:
        """Gather, as backward comes to the results of a call of ``forward``."""
        self._open.add(call)
        queue_callback(partial(self._leave, None))
        with enable_grad():  # a checkpoint goes back through them itself
            self.gather()

    def _leave(self, call: object) -> None:
        """Give the parts back, as backward has left the last such call, or is over: None."""
        self._open = self._open - {call} if call is not None else set()
        if not self._open:
            self.release()

    def _make_hooks(self, outer: saved_tensors_hooks | None) -> saved_tensors_hooks:
        """Return hooks that keep no whole parameter, and leave other tensors to those around them."""

        def pack(tensor: Tensor) -> Any:
            found = self._wholes.get(id(tensor))
            if found is not None and found.whole is tensor:
                return found._replace(whole=None)
            return tensor if outer is None else outer.pack_hook(tensor)

        def unpack(packed: Any) -> Any:
            if not isinstance(packed, _WholeParameter):
                return packed if outer is None else outer.unpack_hook(packed)
            found = self._wholes.get(id(packed.parameter))
            if found is not None:
                return found.whole
            with no_grad():
                return self._make_whole(packed.parameter, packed.before)

        return saved_tensors_hooks(pack, unpack)

    def _cast(self, value: Any) -> Any:
        is_number = isinstance(value, Tensor) and value.is_floating_point()
        return value.to(self.policy.param_dtype) if is_number else value

    def _make_whole(self, parameter: Tensor, before: Any) -> Tensor:
        known = placement_of(parameter)
        assert known is not None
        lying = parameter if self.policy.param_dtype is None else parameter.to(self.policy.param_dtype)
        if self.is_placed:
            return lying
        inner = {} if before is None else dict(zip(before[0].dims, before[1], strict=True))
        whole = lying.redistribute(placements=[inner.get(dim, Replicate()) for dim in known[0].dims])  # type: ignore[attr-defined]
        made: Tensor = whole.to_local(grad_placements=[inner.get(dim, Partial("avg")) for dim in known[0].dims])
        made = self._with_waiting(made, parameter)
        if self.divisor is not None and self.syncs and made.requires_grad:
            factor = self.mesh.size() / self.divisor
            made.register_hook(lambda gradient: gradient * factor)
        return made if before is None else DTensor.from_local(made, *before, shape=lying.shape)

    def _with_waiting(self, whole: Tensor, parameter: Tensor) -> Tensor:
        """Return a whole whose gradient waits for a backward that averages it, or takes those along that have waited."""
        key = id(parameter)
        if not (parameter.requires_grad and whole.requires_grad):
            return whole
        if self.syncs:
            if key in self._waiting:
                whole.register_hook(lambda gradient: gradient + self._waiting.pop(key, 0))
            return whole
        leaf = whole.detach().requires_grad_()

        def keep(_: Tensor) -> None:
            gradient, leaf.grad = leaf.grad, None  # the hook has the leaf, which nothing else does after `forward`
            assert gradient is not None  # it has just come
            self._waiting[key] = gradient + self._waiting[key] if key in self._waiting else gradient

        leaf.register_post_accumulate_grad_hook(keep)
        return leaf
