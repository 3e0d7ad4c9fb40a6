"""The library functorch, which torch has taken in: its names warn, and those of `torchlike.func` do the work.

>>> import warnings, torchlike
>>> model, x = torchlike.nn.Linear(2, 1), torchlike.ones(2)
>>> with warnings.catch_warnings():
...     warnings.simplefilter("ignore")
...     function, params = make_functional(model)
>>> torchlike.equal(function(params, x), model(x))
True
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from functools import wraps
from typing import Any

from .. import func
from ..functions.operator_functions import FUNCTIONS
from ..nn.modules.module import Module
from ..nn.utils.stateless import check_alike
from ..tensors.tensor import Tensor
from ..version import __version__  # noqa: F401  # torch has it here

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]


def _warn(name: str, instead: str) -> None:
    warnings.warn(
        "We've integrated functorch into PyTorch. As the final step of the integration, "
        f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
        f"Please use `{instead}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for "
        "more details https://pytorch.org/docs/main/func.migrating.html",
        FutureWarning,
        stacklevel=3,
    )


def _hand_on(name: str, instead: str = "") -> Any:
    """Return a function of `torchlike.func` that warns of functorch's name."""
    function: Callable[..., Any] = getattr(func, name)

    @wraps(function)
    def former(*args: Any, **kwargs: Any) -> Any:
        _warn(name, instead or f"torch.func.{name}")
        return function(*args, **kwargs)

    former.__module__ = __name__
    former.__doc__ = (
        f"{str(function.__doc__).partition(chr(10))[0]}\n\n    See `torchlike.func.{name}`, which does not warn.\n    "
    )
    return former


vmap = _hand_on("vmap", "torch.vmap")
functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp = map(
    _hand_on, "functionalize grad grad_and_value hessian jacfwd jacrev jvp vjp".split()
)


class FunctionalModuleWithBuffers(Module):
    """A module without parameters and buffers, which get them with each call.

    Args:
        stateless_model: The module, whose own are not used.
        param_names: The names of its parameters.
        buffer_names: The names of its buffers.
    """

    def __init__(self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str] = ()) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    @classmethod
    def _create_from(cls, model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, ...]:
        """Return the module, the parameters and the buffers of a model."""
        own = deepcopy(model)
        params, buffers = dict(own.named_parameters()), dict(own.named_buffers())
        if disable_autograd_tracking:
            for each in params.values():
                each.requires_grad_(False)
        found = cls(deepcopy(model)._apply(lambda tensor: tensor.to("meta")), tuple(params), tuple(buffers))
        return found, tuple(params.values()), tuple(buffers.values())

    def forward(self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the model with these parameters and buffers."""
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return func.functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """The same for a model without buffers."""

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the model with these parameters."""
        return super().forward(params, (), *args, **kwargs)


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """Return a model as a function of its parameters, and these; ``RuntimeError`` for a model with buffers.

    Args:
        model: The model, which stays as it is.
        disable_autograd_tracking: Whether the parameters require no gradient.
    """
    _warn("make_functional", "torch.func.functional_call")
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    found, params, _ = FunctionalModule._create_from(model, disable_autograd_tracking)
    return found, params


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return a model as a function of its parameters and buffers, and these."""
    _warn("make_functional_with_buffers", "torch.func.functional_call")
    found, params, buffers = FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)
    return found, params, buffers


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return a function of stacked parameters and buffers of models of one class, for `vmap`, and these.

    Raises ``RuntimeError`` for no models, and for models of several classes or modes.
    """
    _warn("combine_state_for_ensemble", "torch.func.stack_module_state")
    check_alike(models, "combine_state_for_ensemble")
    made = [FunctionalModuleWithBuffers._create_from(model) for model in models]
    params, buffers = (
        tuple(FUNCTIONS["stack"](list(each)).detach() for each in zip(*[one[place] for one in made], strict=True))
        for place in (1, 2)
    )
    return made[0][0], params, buffers
