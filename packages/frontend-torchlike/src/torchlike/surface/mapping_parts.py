"""Names of ``torch._functorch.vmap`` that libraries replace by parts of their own; nothing calls them here."""

from __future__ import annotations

from typing import Any, NoReturn

from ..tensors.tensor import Tensor
from ..values.pytree import tree_flatten, tree_unflatten
from ..values.pytree.walks import _broadcast_to_and_flatten

__all__ = ["Tensor", "_broadcast_to_and_flatten", "tree_flatten", "tree_unflatten"]


def _get_name(func: Any) -> str:
    """Return a function's name, or its text where it has none."""
    return str(getattr(func, "__name__", None) or repr(func))


def _add_batch_dim(*args: Any) -> NoReturn:
    """Refuse: levels of `torchlike.func.vmap` are its own, and no tensor enters one by hand."""
    raise NotImplementedError("torch._functorch.vmap's parts are not those of this vmap: call torch.func.vmap")


_maybe_remove_batch_dim = _add_batch_dim
