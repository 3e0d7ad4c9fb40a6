"""Gradients that go together: the buckets of a module's parameters, and what a hook of the program's gets of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import dispatch_core as dc

from ...tensors.tensor import Tensor

__all__ = ["Bucket", "GradBucket", "fill", "group_alike"]

_MEBIBYTE: Final = 2**20


class GradBucket:
    """Gradients of several processes' parameters that are combined together (source: ``torch.distributed.GradBucket``).

    A hook of ``DistributedDataParallel.register_comm_hook`` gets one for each bucket.
    """

    def __init__(self, index: int, is_last: bool, buffer: Any, parameters: list[Any]) -> None:
        self._index, self._is_last, self._buffer, self._parameters = index, is_last, buffer, parameters

    def index(self) -> int:
        """Return the bucket's number, in the order in which their sums begin."""
        return self._index

    def is_last(self) -> bool:
        """Return whether it is the last one of a backward."""
        return self._is_last

    def buffer(self) -> Any:
        """Return the gradients behind each other, in one dimension."""
        return self._buffer

    def set_buffer(self, buffer: Any) -> None:
        """Set the tensor with the gradients behind each other."""
        self._buffer = buffer

    def parameters(self) -> list[Any]:
        """Return the parameters."""
        return list(self._parameters)

    def gradients(self) -> list[Any]:
        """Return the gradients, as parts of the buffer."""
        return _cut(self._buffer, self._parameters)


GradBucket.__module__ = "torchlike.distributed"


class Bucket:
    """Parameters whose gradients go together.

    With ``has_views`` the gradients are parts of the bucket's own memory from their first sum on.
    """

    def __init__(self, *, is_sparse: bool = False) -> None:
        self.parameters: list[Tensor] = []
        self.is_sparse, self.has_views = is_sparse, False
        self.waits_for: set[int] = set()
        self._flat: Any = None
        self._views: list[Any] = []

    def gather(self) -> Any:
        """Return the gradients behind each other, zeros for those that there are not."""
        if not self.has_views:
            return dc.ops.aten.cat([_gradient_of(each).reshape(-1) for each in self.parameters], 0)
        if self._flat is None:
            self._flat = self.zeros()
            self._views = _cut(self._flat, self.parameters)
        for each, view in zip(self.parameters, self._views, strict=True):
            if each.grad is None:
                view.zero_()
            elif each.grad is not view:
                view.copy_(each.grad)
                each.grad = view
        return self._flat

    def scatter(self, flat: Any, used: set[int]) -> None:
        """Write gradients that lie behind each other to the parameters'; one that no process has used stays as it was."""
        if self.has_views:
            if flat is not self._flat:
                self._flat.copy_(flat.view(-1))
            for each, view in zip(self.parameters, self._views, strict=True):
                if id(each) in used:
                    each.grad = view
            return
        for each, part in zip(self.parameters, _cut(flat, self.parameters), strict=True):
            if id(each) not in used:
                continue
            if each.grad is None:
                each.grad = part.clone()
            else:
                each.grad.copy_(part)

    def zeros(self) -> Any:
        """Return zeros in the place of the gradients."""
        first = self.parameters[0]
        return first.detach().new_zeros(sum(each.numel() for each in self.parameters))


def _cut(flat: Any, parameters: list[Any]) -> list[Any]:
    parts = flat.view(-1).split([each.numel() for each in parameters])
    return [part.view(each.shape) for each, part in zip(parameters, parts, strict=True)]


def _gradient_of(parameter: Tensor) -> Any:
    found = parameter.grad
    if found is None:
        return parameter.new_zeros(parameter.shape)
    if found.layout != parameter.layout:
        raise NotImplementedError(
            f"DistributedDataParallel: a gradient of layout {found.layout} is not averaged\n"
            "Hint: sparse ones are, of torch.nn.Embedding and EmbeddingBag with sparse=True"
        )
    return found


def group_alike(tensors: list[Any]) -> Iterator[list[Any]]:
    """Yield lists of tensors with one dtype and device."""
    found: dict[Any, list[Any]] = {}
    for each in tensors:
        found.setdefault((each.dtype, each.device), []).append(each)
    yield from found.values()


def fill(parameters: list[Tensor], cap: float, sparse: set[int], *, has_views: bool) -> list[Bucket]:
    """Return buckets for parameters from the last one on: the first is small, so that its sum begins early.

    A parameter whose gradient is sparse has a bucket of its own.
    """
    made: list[Bucket] = []
    for each in parameters[::-1]:
        if id(each) in sparse:
            made.append(Bucket(is_sparse=True))
            made[-1].parameters.append(each)
    for alike in group_alike([each for each in parameters[::-1] if id(each) not in sparse]):
        limit, size = min(cap, 1.0) * _MEBIBYTE, 0.0
        made.append(Bucket())
        for each in alike:
            if size >= limit and made[-1].parameters:
                made.append(Bucket())
                limit, size = cap * _MEBIBYTE, 0.0
            made[-1].parameters.append(each)
            size += each.numel() * each.element_size()
    for bucket in made:
        bucket.has_views = has_views and not bucket.is_sparse
    return made
