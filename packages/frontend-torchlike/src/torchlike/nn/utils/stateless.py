"""Calls of a module with other parameters (source: ``torch.nn.utils.stateless``)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...tensors.tensor import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]


def _list_tensors(module: Module) -> dict[str, Tensor]:
    found: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    found.update(module.named_buffers(remove_duplicate=False))
    return found


def check_alike(models: Sequence[Module], caller: str) -> None:
    """Raise ``RuntimeError`` for no models, and for models of several classes or modes, whose states cannot be stacked."""
    if not models:
        raise RuntimeError(f"{caller}: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(f"{caller}: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(f"{caller}: Expected all models to be of the same class.")


def _tie(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors given, each under all names of the one whose place it takes."""
    names: dict[Tensor, list[str]] = {}
    for name, tensor in _list_tensors(module).items():
        names.setdefault(tensor, []).append(name)
    found = dict(given)
    for tied in names.values():
        values = {given[name] for name in tied if name in given}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using "
                "tie_weights=False"
            )
        for value in values:
            found.update(dict.fromkeys(tied, value))
    return found


def _check_names(module: Module, given: dict[str, Tensor]) -> None:
    known = _list_tensors(module)
    texts = []
    for title, names in (
        ("Unexpected", [name for name in given if name not in known]),
        ("Missing", [name for name in known if name not in given]),
    ):
        if names:
            texts.append(f"{title} key(s): {', '.join(map(repr, names))}.")
    if texts:
        joined = "\n\t".join(texts)
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{joined}")


def _swap(module: Module, name: str, value: Any) -> Any:
    """Replace a parameter, a buffer or an attribute by a tensor, and return the one that was there."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    for parts in (owner._parameters, owner._buffers, owner.__dict__):
        if last in parts:
            before, parts[last] = parts[last], value
            return before
    raise AttributeError(f"{owner._get_name()} has no attribute `{last}`")


@contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], *, tie_weights: bool = True, strict: bool = False
) -> Iterator[None]:
    """Replace a module's tensors within the block; buffers that it replaces go back to the dict."""
    for value in parameters_and_buffers.values():
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{value!r} is not an instance of torchlike.Tensor")
    given = _tie(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        _check_names(module, given)
    before: dict[str, Any] = {}
    try:
        for name, value in given.items():
            before[name] = _swap(module, name, value)
        yield
    finally:
        after = {name: _swap(module, name, value) for name, value in before.items()}
        parameters_and_buffers.update({name: after[name] for name in parameters_and_buffers if name in after})


def call_with(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers (source: ``torch.func.functional_call``).

    >>> import torchlike
    >>> layer = torchlike.nn.Linear(1, 1, bias=False)
    >>> call_with(layer, {"weight": torchlike.tensor([[2.]])}, torchlike.tensor([3.]))
    tensor([6.])
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Do as ``torch.func.functional_call``, with a warning."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version "
        "of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call_with(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
