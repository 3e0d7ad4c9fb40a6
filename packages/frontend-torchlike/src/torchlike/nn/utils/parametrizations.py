"""Parametrizations that programs use (source: ``torch.nn.utils.parametrizations``)."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import dispatch_core as dc

from ...creation.factories import FACTORIES
from ...functions.operator_functions import FUNCTIONS, NAMESPACES
from ...history.grad_mode import no_grad
from ...tensors.tensor import Tensor
from ...values.dtypes import finfo
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from ..modules.module import Module
from . import parametrize
from .spectral_normalization import find_dim, to_matrix

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _get_tensor(module: Module, name: str) -> Tensor:
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


class _OrthMaps(Enum):
    """Ways from a matrix to an orthogonal one."""

    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(q: Any) -> bool:
    rows, columns = q.shape[-2:]
    wanted = FACTORIES["eye"](columns, dtype=q.dtype, device=q.device)
    return bool(FUNCTIONS["allclose"](q.mT.conj() @ q, wanted, atol=10.0 * rows * finfo(q.dtype).eps))


def _make_orthogonal(a: Tensor) -> Tensor:
    """Return the orthogonal part of a matrix whose other part has a positive diagonal."""
    x, tau = FUNCTIONS["geqrf"](a)
    found: Tensor = NAMESPACES["linalg"]["householder_product"](x, tau)
    return found * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Any) -> Any:
        turned = x.size(-2) < x.size(-1)
        x = x.mT if turned else x
        found = self._map_by_columns(x) if self.orthogonal_map == _OrthMaps.householder else self._map_skew(x)
        if hasattr(self, "base"):
            found = self.base @ found
        return found.mT if turned else found

    def _map_skew(self, x: Any) -> Any:
        """Map the skew part of a matrix, by its exponential or the Cayley transform."""
        rows, columns = x.shape[-2:]
        x = x.tril()
        if rows != columns:
            zeros = x.new_zeros((*x.shape[:-2], rows, rows - columns))
            x = FUNCTIONS["cat"]([x, zeros], -1)
        skew = x - (x.mT.conj() if x.is_complex() else x.mT)
        if self.orthogonal_map == _OrthMaps.matrix_exp:
            found = FUNCTIONS["matrix_exp"](skew)
        else:
            one = FACTORIES["eye"](rows, dtype=x.dtype, device=x.device)
            found = NAMESPACES["linalg"]["solve"](one - 0.5 * skew, one + 0.5 * skew)
        return found[..., :columns]

    def _map_by_columns(self, x: Any) -> Any:
        """Map the columns below the diagonal as Householder reflections."""
        below = x.tril(-1)
        tau = 2.0 / (1.0 + (below * below).sum(-2))
        found = NAMESPACES["linalg"]["householder_product"](below, tau)
        return found * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, q: Any) -> Any:
        """Return a matrix that is mapped to ``q``, or to the orthogonal matrix that ``q`` leads to."""
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        given = q
        turned = q.size(-2) < q.size(-1)
        q = q.mT if turned else q
        rows, columns = q.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map != _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            a, tau = FUNCTIONS["geqrf"](q)
            signs = a.diagonal(dim1=-2, dim2=-1).sign()
            signs = FUNCTIONS["where"](tau == 0.0, -signs, signs)
            a = a.diagonal_scatter(signs, 0, -2, -1)
            return a.mT if turned else a
        if rows != columns:
            more = FACTORIES["randn"](*q.shape[:-2], rows, rows - columns, dtype=q.dtype, device=q.device)
            q = _make_orthogonal(FUNCTIONS["cat"]([q, more], -1))
        else:
            q = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        self.base = q
        start = FUNCTIONS["zeros_like"](given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight's columns, or rows where these are fewer, orthonormal."""
    weight = _get_tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    kind = getattr(_OrthMaps, orthogonal_map, None)
    if kind is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, kind, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Any:
        return dc.ops.aten._weight_norm.default(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sizes and the directions of a weight."""
        return dc.ops.aten.norm_except_dim.default(weight, 2, self.dim), weight


class _RenameOldKeys:
    """A hook before loading, for states of ``nn.utils.weight_norm``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        keys = [f"{prefix}{self.name}_{letter}" for letter in "gv"]
        if all(key in state_dict for key in keys):
            for place, key in enumerate(keys):
                state_dict[f"{prefix}parametrizations.{self.name}.original{place}"] = state_dict.pop(key)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the sizes and the directions of a weight apart (Salimans and Kingma, 2016)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_RenameOldKeys(name))
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            rows, columns = matrix.shape
            for part, size in (("_u", rows), ("_v", columns)):
                drawn = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(part, F.normalize(drawn, dim=0, eps=eps).detach())
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Any:
        return to_matrix(weight, self.dim)

    @no_grad()
    def _power_method(self, weight_mat: Any, n_power_iterations: int) -> None:
        """Bring ``_u`` and ``_v`` nearer to the first singular vectors."""
        turned = weight_mat.t().conj() if weight_mat.is_complex() else weight_mat.t()
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(weight_mat.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(turned.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the buffers change before backward
        sigma = FUNCTIONS["vdot" if weight.is_complex() else "dot"](u, matrix.mv(v))
        return weight / sigma

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value: it is divided by its norm when it is used."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its greatest singular value (Miyato et al., 2018)."""
    weight = _get_tensor(module, name)
    made = _SpectralNorm(weight, n_power_iterations, find_dim(module, dim), eps)
    return parametrize.register_parametrization(module, name, made)
