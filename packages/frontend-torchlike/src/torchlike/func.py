"""Function transforms (``vmap``, ``grad``, ``jvp``), calls of a module with other parameters (source: ``torch.func``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatch_core.tracebacks import api_boundary as _api_boundary

from .functions.operator_functions import FUNCTIONS
from .levels import custom_functions  # noqa: F401  # registers the layer, and how custom functions pass it
from .levels.functionalization.functionalizing import functionalize
from .levels.gradients import grad, grad_and_value, vjp
from .levels.jacobians import hessian, jacfwd, jacrev, jvp, linearize
from .levels.mapping import vmap
from .levels.tensors import data_of
from .names.lazy_names import missing_name
from .nn.modules.batchnorm import _BatchNorm
from .nn.modules.module import Module
from .nn.utils import stateless
from .tensors.tensor import Tensor

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]


@_api_boundary
def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with tensors instead of its parameters and buffers (source: ``torch.func.functional_call``).

    Takes a dict, or several that share no name. Raises ``ValueError`` for a name that two of them have.

    >>> import torchlike
    >>> layer = torchlike.nn.Linear(1, 1)
    >>> functional_call(layer, {"weight": torchlike.ones(1, 1), "bias": torchlike.ones(1)}, torchlike.ones(1))
    tensor([2.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    else:
        if not isinstance(parameter_and_buffer_dicts, Sequence):
            raise ValueError(
                "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                f"{type(parameter_and_buffer_dicts)}"
            )
        if not all(isinstance(each, dict) for each in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for each in parameter_and_buffer_dicts for name in each]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: tensor for each in parameter_and_buffer_dicts for name, tensor in each.items()}
    return stateless.call_with(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


@_api_boundary
def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of equal modules, each stacked to one tensor: for `vmap` over the modules.

    Raises ``RuntimeError`` where there are no modules, or they are of several types or in several modes.

    >>> import torchlike
    >>> layers = [torchlike.nn.Linear(2, 3) for _ in range(4)]
    >>> parameters, buffers = stack_module_state(layers)
    >>> parameters["weight"].shape
    torchlike.Size([4, 3, 2])
    """
    given = list(models)
    stateless.check_alike(given, "stack_module_state")
    parameters, buffers = (
        [dict(read(model)) for model in given] for read in (Module.named_parameters, Module.named_buffers)
    )
    return _stack_each(parameters), _stack_each(buffers)


def _stack_each(states: list[dict[str, Any]]) -> dict[str, Tensor]:
    stacked = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        needs = {each.requires_grad for each in tensors}
        if len(needs) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        found = FUNCTIONS["stack"](tensors)
        stacked[name] = found.detach().requires_grad_() if needs == {True} else found
    return stacked


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Turn off the running statistics of all batch normalizations of a module, in place, as `vmap` needs them.

    >>> import torchlike
    >>> replace_all_batch_norm_modules_(torchlike.nn.BatchNorm1d(2)).running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return the tensor that a transform's tensor stands for, one level below or, with ``recurse``, below all levels.

    For looking at values while debugging; the transforms do not follow its results.

    >>> import torchlike
    >>> seen = []
    >>> _ = vmap(lambda x: seen.append(debug_unwrap(x)) or x)(torchlike.ones(2))
    >>> seen
    [tensor([1., 1.])]
    """
    while (data := data_of(tensor)) is not None:
        tensor = data.value
        if not recurse:
            break
    return tensor


@_api_boundary
def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name)
