"""The kernels under the Autograd keys, generated for each overload from its schema and derivative formulas.

A kernel runs the operator below autograd and, where grad mode is on and an input requires grad, makes one node with the
values that the formulas need. Both the kernel and its node's class are Python source made for the overload
(`kernel_source`), so that a call looks nothing up.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.gradients import conjugate
from dispatch_core.calls import define, describe_front, make_function
from dispatch_core.frontends import array_types, renew_targets
from dispatch_core.keys import AUTOGRAD

from ...history.device_keys import AUTOGRAD_BITS
from ...history.grad_mode import is_grad_enabled
from ...history.metadata import is_plain
from ...history.node import Output, Storage, sequence
from ...history.views import ONE_OF_SEVERAL, View
from ..inplace import check_inplace, rebase, turn
from ..saved import (
    NO_HISTORY,
    Saved,
    make_released_error,
    make_storage,
    make_version_error,
    read_state,
    read_version,
    restore_result,
)
from ..saved_attributes import Recorded, make_attributes
from .derivative import Derivative, list_parameters
from .kernel_source import write_kernel_source, write_node_source
from .recordings import describe_recording


def format_node_name(name: str, number: int = 0) -> str:
    """Return the name of an operator's node in torch's manner.

    >>> format_node_name("aten::log_softmax.int"), format_node_name("aten::add_.Tensor")
    ('LogSoftmaxBackward0', 'AddBackward0')
    """
    base = name.rpartition("::")[2].partition(".")[0].removesuffix("_forward").removesuffix("_functional")
    base = "native_batch_norm" if base.startswith("_native_batch_norm_legit") else base
    return re.sub(r"(?:^|_+)([a-zA-Z0-9])", lambda found: found[1].upper(), base.rstrip("_")) + f"Backward{number}"


class _ConjugatedBackward:
    """Computes gradients that are complex, from the same formulas: see `dispatch_aten.derivatives`."""

    def __init__(self, derivative: Derivative, names: dict[str, Any]) -> None:
        self.derivative, self.names = derivative, names

    @cached_property
    def apply(self) -> Any:
        """The code, made of the text at the first complex gradient."""
        source = write_node_source(self.derivative, conjugates=False)
        return make_function(source, f"complex backward of {self.derivative.op.name}", dict(self.names))

    def __call__(self, node: Any, grads: list[Any]) -> tuple[Any, ...]:
        found = self.apply(node, [None if grad is None else conjugate(grad) for grad in grads])
        return tuple(None if grad is None else conjugate(grad) for grad in found)


#: Complex dtypes, as arrays have them.
_COMPLEX = frozenset(
    {*(each for each in ScalarType if each.is_complex), np.dtype(np.complex64), np.dtype(np.complex128)}
)


def _clone(tensor: Any) -> Any:
    return dc.ops.aten.clone.default(tensor)


def make_kernel(op: Any, keyset: Any, describe: Callable[[], Derivative]) -> Callable[..., Any]:
    """Make the kernel of one overload for one effective keyset.

    Many operators are never recorded, such as those of an optimizer: ``describe`` is called, and the code made that the
    kernel takes over, at the first call with grad mode on.
    """
    mask = keyset.mask | keyset.marker
    scope: dict[str, Any] = {
        "_below": op.lasting_runner(mask & ~AUTOGRAD),
        "_grad_enabled": is_grad_enabled,
    }
    if is_grad_enabled():  # a call has asked for the kernel
        return _make_recording_kernel(op, mask, describe(), scope)
    parameters = list_parameters(op.schema)
    first = define(
        f"kernel({parameters})",
        ["if not _grad_enabled():", f"    return _below({parameters})", f"return _record_first({parameters})"],
    )

    def record_first(*args: Any) -> Any:
        # Under the lock: an operator's nodes have one class, in whichever threads it is called first.
        with dc.registry.lock:
            if "Node_" not in scope:
                made: Any = _make_recording_kernel(op, mask, describe(), scope)
                kernel.__code__ = made.__code__
                renew_targets(op)
        return kernel(*args)

    scope["_record_first"] = record_first
    kernel: Any = make_function(first, f"autograd of {op.name}, at first", scope, is_shared=True)
    return kernel


def _make_recording_kernel(op: Any, mask: int, derivative: Derivative, scope: dict[str, Any]) -> Callable[..., Any]:
    below = mask & ~AUTOGRAD
    types = [known.type for known in array_types(mask)]
    derivative.plain_arrays = bool(types) and all(is_plain[each] for each in types)
    names: dict[str, Any] = {
        **derivative.namespace,
        "make_released_error": make_released_error,
        "make_version_error": make_version_error,
        "read_version": read_version,
        "restore_result": restore_result,
        "COMPLEX": _COMPLEX,
        "_dtype": dc.dtype,
    }
    names["conjugated"] = _ConjugatedBackward(derivative, names)
    apply = make_function(write_node_source(derivative), f"backward of {op.name}", names)
    body: dict[str, object] = {"apply": apply, "saved": None, "values": tuple(derivative.default_values.values())}
    body |= make_attributes(derivative.saved_names, derivative.values)
    if derivative.saved_inputs or derivative.saved_results:
        body["release"] = release_saved
    elif derivative.frees_values:
        body["release"] = release_values
    cls = type(format_node_name(op.name, derivative.number), (Recorded,), body)
    scope |= {
        **derivative.helpers,
        **{f"_default_{name}": value for name, value in derivative.default_values.items()},
        "AUTO": mask & AUTOGRAD,
        "BELOW": below,
        "NO_HISTORY": NO_HISTORY,
        "Node_": cls,
        "Output": Output,
        "RECORDED": below | AUTOGRAD_BITS[below],
        "Saved": Saved,
        "Storage": Storage,
        "ONE_OF_SEVERAL": ONE_OF_SEVERAL,
        "View": View,
        "_bits": AUTOGRAD_BITS,
        "_check_inplace": check_inplace,
        "_clone": _clone,
        "_dtype": dc.dtype,
        "_rebase": rebase,
        "_turn": turn,
        "_make_refusal": partial(_make_refusal, op),
        "_make_storage": make_storage,
        "_next": next,
        "_sequence": sequence,
        "_read_state": read_state,
        "_read_version": read_version,
    }
    kernel: Callable[..., Any] = make_function(write_kernel_source(derivative), f"autograd of {op.name}", scope)
    if describe_front()[0]:
        scope["_recording"] = partial(describe_recording, derivative, scope)
    return kernel


def _make_refusal(op: Any, name: str) -> RuntimeError:
    function = op.name.partition("::")[2].partition(".")[0]
    return RuntimeError(
        f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot have "
        "requires_grad True.\nHint: detach() it, or call the function under no_grad"
    )


def release_saved(node: Any) -> None:
    """Free the saved tensors of a generated node."""
    node.saved = None


def release_values(node: Any) -> None:
    """Free the saved numbers of one that counts them among its tensors."""
    node.values = None
