"""Embeddings and bags of them as modules (source: ``torch.nn.modules.sparse``)."""

from __future__ import annotations

from typing import Any, Self

from ...creation.factories import FACTORIES
from ...history.grad_mode import no_grad
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike, DTypeLike
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """The table that both read rows of."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _make_table(
        self, padding_idx: int | None, given: Tensor | None, device: Any, dtype: Any, *, frozen: bool
    ) -> None:
        """Make the weight, filled or given, with zeros for padding."""
        shape = [self.num_embeddings, self.embedding_dim]
        if given is not None:
            check_tensor(given, type(self).__name__, "_weight")
        if padding_idx is not None:
            if not -self.num_embeddings <= padding_idx < max(self.num_embeddings, 1):
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx += self.num_embeddings if padding_idx < 0 else 0
        self.padding_idx = padding_idx
        if given is None:
            self.weight = Parameter(FACTORIES["empty"](shape, device=device, dtype=dtype), not frozen)
            self.reset_parameters()
            return
        if list(given.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(given, not frozen)

    def reset_parameters(self) -> None:
        """Fill the table normally, and the row of padding with zeros."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """A table whose rows are looked up by their numbers (source: ``torch.nn.Embedding``).

    Shapes: integers ``(*)`` to ``(*, embedding_dim)``.

    >>> Embedding(10, 3, padding_idx=0)
    Embedding(10, 3, padding_idx=0)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = (
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
        )
        self._make_table(padding_idx, _weight, device, dtype, frozen=_freeze)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        changed = [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join([text, *changed, *(["sparse=True"] if self.sparse else [])])

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """Make an embedding of a table ``(num_embeddings, embedding_dim)``, which is not trained if ``freeze``."""
        check_tensor(embeddings, "from_pretrained", "embeddings")
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows of a table (source: ``torch.nn.EmbeddingBag``).

    Shapes: integers ``(B, N)``, or ``(N)`` with offsets ``(B)``, to ``(B, embedding_dim)``.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self._make_table(padding_idx, _weight, device, dtype, frozen=False)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        usual = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        changed = [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        tail = [] if self.padding_idx is None else [f"padding_idx={self.padding_idx}"]
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *changed, f"mode={self.mode!r}", *tail])

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Make a bag of a table ``(num_embeddings, embedding_dim)``, which is not trained if ``freeze``."""
        check_tensor(embeddings, "from_pretrained", "embeddings")
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        made.weight.requires_grad = not freeze
        return made
