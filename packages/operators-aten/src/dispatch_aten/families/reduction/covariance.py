"""Covariances and correlations of variables."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, ndim, numel
from dispatch_aten.dtypes import bool_
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError


def _check_weights(name: str, self: Array, weights: Array, count: int) -> None:
    text = ""
    if ndim(weights) > 1:
        text = f"expected {name} to have one or fewer dimensions but got {name} with {ndim(weights)} dimensions"
    elif name == "fweights" and (dc.dtype(weights).is_differentiable or dc.dtype(weights) == bool_):
        text = f"expected {name} to have integral dtype but got {name} with {dc.dtype(weights).name} dtype"
    elif name == "aweights" and not dc.dtype(weights).is_floating_point:
        text = f"expected {name} to have floating point dtype but got {name} with {dc.dtype(weights).name} dtype"
    elif numel(weights) != count:
        text = f"expected {name} to have the same numel as there are observations in the input but got {numel(weights)}"
    elif (
        count and dc.device(weights).type != "meta" and aten.item.default(aten.lt.Scalar(aten.amin.default(weights), 0))
    ):
        text = f"{name} cannot be negative"
    if text:
        raise OperatorError(f"cov(): {text}", operator="aten::cov", argument=name)


def _cov(self: Array, *, correction: int = 1, fweights: Array | None = None, aweights: Array | None = None) -> Array:
    if ndim(self) > 2:
        raise ShapeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {ndim(self)} dimensions",
            operator="aten::cov",
            argument="self",
        )
    if dc.dtype(self) == bool_:
        raise DtypeError("cov(): bool dtype is not supported for input", operator="aten::cov", argument="self")
    rows = self if ndim(self) == 2 else aten.reshape.default(self, (1, numel(self)))
    count = dc.shape(rows)[1]
    weights = None
    for name, each in (("fweights", fweights), ("aweights", aweights)):
        if each is not None:
            _check_weights(name, self, each, count)
            weights = each if weights is None else aten.mul.Tensor(weights, each)
    total: Any = count if weights is None else aten.sum.default(weights)
    if weights is None:
        mean = aten.div.Scalar(aten.sum.dim_IntList(rows, [1], True), count)
    else:
        mean = aten.div.Tensor(aten.sum.dim_IntList(aten.mul.Tensor(rows, weights), [1], True), total)
    away = aten.sub.Tensor(rows, mean)
    free = _degrees_of_freedom(total, aweights, weights, correction)
    other = away if weights is None else aten.mul.Tensor(away, weights)
    turned = aten.t.default(other)
    if dc.dtype(turned).is_complex:
        turned = aten.conj.default(turned)
    product = aten.mm.default(away, cast(turned, dc.dtype(away)))
    found = aten.div.Scalar(product, free) if isinstance(free, (int, float)) else aten.div.Tensor(product, free)
    return aten.squeeze.default(found) if ndim(self) < 2 or numel(found) == 1 else found


def _degrees_of_freedom(total: Any, aweights: Array | None, weights: Array | None, correction: int) -> Any:
    if weights is None:
        return max(total - correction, 0)
    taken = correction
    if aweights is not None and correction:
        weighted = aten.sum.default(aten.mul.Tensor(weights, aweights))
        taken = aten.div.Tensor(aten.mul.Scalar(weighted, correction), total)
        return aten.clamp_min.default(aten.sub.Tensor(total, taken), 0)
    return aten.clamp_min.default(aten.sub.Scalar(total, taken), 0)


def _corrcoef(self: Array) -> Array:
    if ndim(self) > 2:
        raise ShapeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {ndim(self)} dimensions",
            operator="aten::corrcoef",
            argument="self",
        )
    found = aten.cov.default(self)
    if not ndim(found):
        return aten.div.Tensor(found, found)
    diagonal = aten.diagonal.default(found)
    scale = aten.sqrt.default(cast(diagonal, dc.dtype(diagonal).to_real()))
    found = aten.div.Tensor(aten.div.Tensor(found, aten.unsqueeze.default(scale, 1)), aten.unsqueeze.default(scale, 0))
    return found if dc.dtype(found).is_complex else aten.clamp.default(found, -1, 1)
