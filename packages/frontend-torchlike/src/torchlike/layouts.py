"""Layouts of tensors' elements in memory. All tensors here are strided; the others are names to compare with."""

from __future__ import annotations

from typing import Final

from . import dtypes

__all__ = ["layout", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided"]


class layout:  # noqa: N801  # torch's name
    """How a tensor's elements lie in memory (source: ``torch.layout``).

    >>> strided
    torchlike.strided
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"{dtypes.TYPE_PREFIX}{self._name}"

    def __reduce__(self) -> str:
        return self._name


strided: Final = layout("strided")
sparse_bsc: Final = layout("sparse_bsc")
sparse_bsr: Final = layout("sparse_bsr")
sparse_coo: Final = layout("sparse_coo")
sparse_csc: Final = layout("sparse_csc")
sparse_csr: Final = layout("sparse_csr")
