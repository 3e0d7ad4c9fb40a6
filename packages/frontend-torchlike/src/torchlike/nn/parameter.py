"""Parameters: leaves that modules register."""

from __future__ import annotations

from typing import Any, Self

from ..arguments import check_tensor
from ..tensors import Tensor


class Parameter(Tensor):
    """A tensor that a module finds among its attributes and an optimizer trains (source: ``torch.nn.Parameter``).

    Shares memory with ``data``.

    >>> import torchlike
    >>> Parameter(torchlike.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        """Share the data of a tensor."""
        self = super().__new__(cls)
        if data is not None:
            check_tensor(data, "Parameter", "data")
            alias = data.detach()
            self._dispatch_data = alias._dispatch_data
            self._dispatch_mask = alias._dispatch_mask
            if requires_grad:
                self.requires_grad_()
        return self

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        """Do nothing more; ``__new__`` has taken the data."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        known: Parameter | None = memo.get(id(self))
        if known is None:
            known = memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return known

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"
