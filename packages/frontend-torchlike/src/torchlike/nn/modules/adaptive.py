"""An approximation of softmax for many classes, of which few are frequent."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...functions.operator_functions import FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike, DTypeLike
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log probability of targets, frequent ones in a head, others in clusters of less precision (Grave et al., 2017).

    Returns a tuple of the log probabilities and their negative mean.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(each) != each for each in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value "
                "is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        options: Any = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for place, (start, stop) in enumerate(itertools.pairwise(self.cutoffs)):
            inner = int(in_features // div_value ** (place + 1))
            first = Linear(in_features, inner, bias=False, **options)
            self.tail.append(Sequential(first, Linear(inner, stop - start, bias=False, **options)))

    def reset_parameters(self) -> None:
        """Fill the parameters of head and clusters."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        check_tensor(input_, type(self).__name__, "input_")
        check_tensor(target_, type(self).__name__, "target_")
        self._check(input_, target_)
        is_batched = target_.ndim > 0
        input = input_ if is_batched else input_.unsqueeze(0)
        target = target_ if is_batched else target_.unsqueeze(0)
        least, most = (int(each) for each in (target.min(), target.max()))
        if least < 0 or most >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{least}, {most}] were found. "
            )
        # A target outside the head is found by its cluster's place there.
        places, output = target, FUNCTIONS["zeros_like"](target, dtype=input.dtype)
        for cluster, (start, stop) in enumerate(itertools.pairwise(self.cutoffs)):
            here = target.ge(start) & target.lt(stop)
            (rows,) = here.nonzero(as_tuple=True)
            if not rows.numel():
                continue
            logs = F.log_softmax(self.tail[cluster](input.index_select(0, rows)), dim=1)
            own = logs.gather(1, (target.index_select(0, rows) - start).unsqueeze(1)).squeeze(1)
            output = output.index_put((rows,), own)
            places = places.masked_fill(here, self.shortlist_size + cluster)
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, places.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output if is_batched else output.squeeze(0), (-output).mean())

    @staticmethod
    def _check(input: Tensor, target: Tensor) -> None:
        if target.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.ndim and input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.ndim != target.ndim + 1:
            raise RuntimeError(
                f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with size "
                f"{input.shape}"
            )

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log probabilities of all classes, of shape ``(N, n_classes)``."""
        head = F.log_softmax(self.head(input), dim=1)
        size = self.shortlist_size
        parts = [head.narrow(1, 0, size)]
        for cluster, layer in enumerate(self.tail):
            parts.append(F.log_softmax(layer(input), dim=1) + head.narrow(1, size + cluster, 1))
        return FUNCTIONS["cat"](parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each sample."""
        first = self.head(input).argmax(dim=1)
        if not first.ge(self.shortlist_size).any():
            return first
        return FUNCTIONS["where"](first.lt(self.shortlist_size), first, self.log_prob(input).argmax(dim=1))
