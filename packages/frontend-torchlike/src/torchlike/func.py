"""Functions of functions, and calls of a module with other parameters (source: ``torch.func``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatch_core.tracebacks import api_boundary as _api_boundary

from .function_transforms import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)
from .lazy_names import missing_name
from .nn.modules.module import Module
from .nn.utils import stateless
from .tensors import Tensor

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with tensors in the place of its parameters and buffers (source: ``torch.func.functional_call``).

    Takes a dict, or several that share no name. Raises ``ValueError`` for a name that two of them have.

    >>> import torchlike
    >>> layer = torchlike.nn.Linear(1, 1)
    >>> functional_call(layer, {"weight": torchlike.ones(1, 1), "bias": torchlike.ones(1)}, torchlike.ones(1))
    tensor([2.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    else:
        if not all(isinstance(each, dict) for each in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for each in parameter_and_buffer_dicts for name in each]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: tensor for each in parameter_and_buffer_dicts for name, tensor in each.items()}
    return stateless.call_with(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


@_api_boundary
def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name)
