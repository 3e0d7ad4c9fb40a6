"""Tensors kept for backward, and the errors where they can no longer be used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.keys import AUTOGRAD, DispatchKey

from ..history.device_keys import autograd_bit
from ..history.grad_mode import is_grad_enabled
from ..history.node import Leaf, Node, Output, Storage, TensorState
from ..names.lazy_names import Tensor
from ..tensors.tensor import Tensor as PlainTensor
from ..tensors.tensor import bare
from ..values.dtypes import format_type

#: The keys that a tensor made of saved parts gets otherwise, or does without: a class of tensors adds some itself.
_NOT_KEPT: Final = AUTOGRAD | DispatchKey.TorchFunction | DispatchKey.Python


class Saved:
    """A result that its own node needs for backward.

    Holding the tensor itself would make a circle (tensor, node, tensor), so the parts are kept and a tensor with the
    same history is made of them when backward needs it.
    """

    __slots__ = ("data", "kind", "mask", "number", "parts", "storage", "version")

    def __init__(self, tensor: Tensor, storage: Storage, number: int = 0) -> None:
        self.data = tensor._dispatch_data
        self.mask = tensor._dispatch_mask
        #: The class, and the attributes of a tensor of a class of its own, which may be all of it.
        self.kind: Any = type(tensor)
        self.parts = None if self.kind is PlainTensor else dict(tensor.__dict__)
        self.storage = storage
        self.version = storage.version
        self.number = number


def restore_result(saved: Saved, node: Node) -> Tensor:
    """Make a tensor of a node's saved result, with the node as its history.

    Raises ``RuntimeError`` when the result was changed in place meanwhile.
    """
    tensor = bare() if saved.parts is None else object.__new__(saved.kind)
    if saved.parts:
        tensor.__dict__.update(saved.parts)
    tensor._dispatch_data = saved.data
    tensor._dispatch_mask = mask = saved.mask & ~_NOT_KEPT
    if saved.storage.version != saved.version:
        raise make_changed_error(
            tensor, saved.storage.version, saved.version, f"output {saved.number} of {node.name()}"
        )
    # Where nothing is recorded the history is not asked for.
    if is_grad_enabled() and dc.dtype(tensor).is_differentiable:
        tensor._dispatch_mask |= autograd_bit(mask)
        tensor._autograd = node if node.metas is None else Output(node, saved.number)
    return tensor


def check_cut(nodes: Iterable[Node]) -> None:
    """Refuse a graph that needs a tensor which ``detach_`` has cut off it: values that its gradients depend on are lost."""
    for node in nodes:
        cut = {id(edge.node) for edge in node.next if edge is not None}
        for each in getattr(node, "saved", None) or ():
            for tensor in each if isinstance(each, tuple) else (each,):
                state = getattr(tensor, "_autograd", None)
                if isinstance(state, Leaf) and state.cut is not None and id(state.cut()) in cut:
                    raise RuntimeError(
                        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not "
                        "supported, please use out-of-place `.detach()` instead"
                    )


def make_storage(tensor: Tensor) -> Storage:
    """Return the storage of a result that no other thread knows yet."""
    if hasattr(tensor, "_autograd"):
        found: Storage = tensor._state.shared_storage()
        return found
    state = tensor._autograd = Leaf.of(tensor)
    storage = state.storage = Storage()
    return storage


def read_version(tensor: Tensor) -> int:
    """Return the number of in-place changes of a tensor so far, without making a state for one that has none."""
    state: Any = getattr(tensor, "_autograd", None)
    while type(state) is tuple:
        state = getattr(state[0], "_autograd", None)
    return 0 if state is None else int(state.version)


NO_HISTORY: Final = TensorState()


def read_state(tensor: Tensor) -> TensorState:
    """Return the state of a tensor with an Autograd bit; that of no history where a view's need not be made."""
    state: Any = tensor._autograd
    if type(state) is tuple:
        return tensor._state if state[0]._dispatch_mask & AUTOGRAD else NO_HISTORY
    found: TensorState = state
    return found


def make_version_error(tensor: Tensor, version: int) -> RuntimeError:
    """Return the error for a saved tensor that is no longer at ``version``."""
    node = tensor.grad_fn
    source = "" if node is None else f"output {tensor.output_nr} of {node.name()}"
    return make_changed_error(tensor, tensor._version, version, source)


def make_changed_error(tensor: Tensor, version: int, expected: int, source: str) -> RuntimeError:
    """Return the error for a saved tensor that was changed in place."""
    which = f", which is {source}," if source else ""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{format_type(tensor)} {list(tensor.shape)}]{which} is at version {version}; expected version {expected} instead. "
        "Hint: use an operator that is not in-place, or clone() the tensor before changing it."
    )


def make_released_error() -> RuntimeError:
    """Return the error for a graph whose saved tensors were freed."""
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
        "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
        "saved tensors after calling backward."
    )
