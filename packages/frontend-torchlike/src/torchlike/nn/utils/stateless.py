"""Calls of a module with other parameters (source: ``torch.nn.utils.stateless``)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...tensors.tensor import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]


#: Where a module keeps a tensor: one of its dictionaries, and the name in there.
_Place = tuple[dict[str, Any], str]


def _list_places(module: Module) -> dict[str, _Place]:
    """Return the places of a module's parameters and buffers, by all of their names."""
    modules = list(module.named_modules(remove_duplicate=False))
    found = {}
    for kind in ("_parameters", "_buffers"):
        for path, each in modules:
            parts = getattr(each, kind)
            for name, value in parts.items():
                if value is not None:
                    found[f"{path}.{name}" if path else name] = parts, name
    return found


def check_alike(models: Sequence[Module], caller: str) -> None:
    """Raise ``RuntimeError`` for no models, and for models of several classes or modes, whose states cannot be stacked."""
    if not models:
        raise RuntimeError(f"{caller}: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(f"{caller}: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(f"{caller}: Expected all models to be of the same class.")


def _tie(places: dict[str, _Place], given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors given, each under all names of the one whose place it takes."""
    names: dict[int, list[str]] = {}
    for name, (parts, last) in places.items():
        names.setdefault(id(parts[last]), []).append(name)
    found = dict(given)
    for tied in names.values():
        if len(tied) == 1:
            continue
        values = {given[name] for name in tied if name in given}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using "
                "tie_weights=False"
            )
        for value in values:
            found.update(dict.fromkeys(tied, value))
    return found


def _check_names(module: Module, known: dict[str, _Place], given: dict[str, Tensor]) -> None:
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


def _find_place(module: Module, name: str) -> _Place:
    """Return the place of an attribute that is no tensor yet, or not among the parameters and buffers."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    for parts in (owner._parameters, owner._buffers, owner.__dict__):
        if last in parts:
            return parts, last
    raise AttributeError(f"{owner._get_name()} has no attribute `{last}`")


@contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], *, tie_weights: bool = True, strict: bool = False
) -> Iterator[None]:
    """Replace a module's tensors within the block; buffers that it replaces go back to the dict."""
    for value in parameters_and_buffers.values():
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{value!r} is not an instance of torchlike.Tensor")
    places = _list_places(module)
    given = _tie(places, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        _check_names(module, places, given)
    before: dict[str, tuple[dict[str, Any], str, Any]] = {}
    try:
        for name, value in given.items():
            parts, last = places.get(name) or _find_place(module, name)
            before[name] = parts, last, parts[last]
            parts[last] = value
        yield
    finally:
        after = {name: parts[last] for name, (parts, last, _) in before.items()}
        for parts, last, value in reversed(before.values()):  # a module with two names has one place
            parts[last] = value
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
