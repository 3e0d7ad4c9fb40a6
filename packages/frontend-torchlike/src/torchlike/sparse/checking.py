"""Functions that compare gradients by differences, for sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any


def as_sparse_gradcheck(gradcheck: Callable[..., bool]) -> Callable[..., bool]:
    """Return a function that compares gradients of sparse tensors by one that takes strided ones.

    Source: ``torch.sparse.as_sparse_gradcheck``. The function takes ``masked`` besides: elements of a sparse input are moved
    at all places, or with ``masked=True`` at those that it has. ``torchlike.autograd.gradcheck`` takes sparse tensors by
    itself. Raises what ``gradcheck`` does.

    >>> import torchlike
    >>> x = torchlike.tensor([[0., 1.], [2., 0.]], dtype=torchlike.float64).to_sparse().requires_grad_()
    >>> as_sparse_gradcheck(torchlike.autograd.gradcheck)(lambda x: x * 2, [x], masked=True)
    True
    """

    def check(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> bool:
        from ..testing.numerical_jacobians import make_strided, to_tuple  # few programs compare gradients

        function, given = make_strided(func, to_tuple(inputs), bool(kwargs.pop("masked", False)))
        return gradcheck(function, given, **kwargs)

    return update_wrapper(check, gradcheck)
