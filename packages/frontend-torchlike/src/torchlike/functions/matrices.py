"""Functions of matrices that are no operators, or take their arguments in other forms than the operator of their name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, NoReturn

import dispatch_core as dc

from ..tensors.arguments import check_tensor
from ..tensors.tensor import Tensor

#: The names of sublists' numbers.
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _name_subscript(number: Any) -> str:
    if number is Ellipsis:
        return "..."
    if isinstance(number, int) and 0 <= number < len(_LETTERS):
        return _LETTERS[number]
    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")


def _adapt_einsum(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take operands one by one or in a list, and subscripts as lists of numbers after each operand."""

    def einsum(*args: Any) -> Tensor:
        has_none = len(args) == 2 and isinstance(args[1], (list, tuple)) and not args[1] and isinstance(args[0], str)
        if len(args) < 2 or has_none:
            raise ValueError(
                "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
                "subscripts list"
            )
        equation, operands = args[0], args[1:]
        if isinstance(equation, Tensor):
            parts = ["".join(map(_name_subscript, subscripts)) for subscripts in args[1::2]]
            operands = args[: len(args) // 2 * 2 : 2]
            equation = ",".join(parts)
            if len(args) % 2:
                equation += "->" + "".join(map(_name_subscript, args[-1]))
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        return function(equation, list(operands))

    return einsum


def _adapt_tensordot(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take ``dims`` as a number of dimensions, as two lists, or as a tensor of either."""

    def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
        if isinstance(dims, Tensor):
            dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
        if isinstance(dims, (tuple, list)):
            first, second = ([each] if isinstance(each, int) else list(each) for each in dims)
        elif isinstance(dims, int):
            if dims < 0:
                raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
            check_tensor(a, "tensordot", "a")
            check_tensor(b, "tensordot", "b")
            if dims > min(a.dim(), b.dim()):
                raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
            first, second = list(range(-dims, 0)), list(range(dims))
        else:
            raise RuntimeError(
                "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
                f"but got dims={dims}"
            )
        return function(a, b, first, second) if out is None else function(a, b, first, second, out=out)

    return tensordot


def _adapt_chain_matmul(function: Callable[..., Any]) -> Callable[..., Any]:
    def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
        return function(list(matrices)) if out is None else function(list(matrices), out=out)

    return chain_matmul


def _adapt_stft(function: Callable[..., Any]) -> Callable[..., Any]:
    """Center the windows by default; the operator does so only where it is told how."""

    def stft(
        input: Tensor,
        n_fft: int,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Tensor | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        normalized: bool = False,
        onesided: bool | None = None,
        return_complex: bool | None = None,
        align_to_window: bool | None = None,
    ) -> Tensor:
        if align_to_window is not None and center:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        return dc.ops.aten.stft.center(
            input,
            n_fft,
            hop_length,
            win_length,
            window,
            center,
            pad_mode,
            normalized,
            onesided,
            return_complex,
            align_to_window,
        )

    return stft


#: Functions of operators whose arguments have other forms.
ADAPTED: Final[dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "chain_matmul": _adapt_chain_matmul,
    "einsum": _adapt_einsum,
    "stft": _adapt_stft,
    "tensordot": _adapt_tensordot,
}


class LUFactors(NamedTuple):
    """The results of ``lu``."""

    A_LU: Tensor
    pivots: Tensor


class LUFactorsAndInfos(NamedTuple):
    """The results of ``lu`` with LAPACK's codes."""

    A_LU: Tensor
    pivots: Tensor
    infos: Tensor


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Return the factors in one tensor, the exchanged rows, and if asked for LAPACK's codes (source: ``torch.lu``).

    >>> import torchlike
    >>> lu(torchlike.eye(2)).pivots
    tensor([1, 2], dtype=torchlike.int32)
    """
    found = dc.ops.aten._lu_with_info.default(A, pivot, not get_infos)
    if out is not None:
        for each, result in zip(out, found, strict=False):
            each.resize_(result.shape).copy_(result)
        found = tuple(out)
    return LUFactorsAndInfos(*found) if get_infos else LUFactors(*found[:2])


def _find_basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """Return an orthogonal basis that nearly spans the columns of ``A - M`` (Halko et al., 2009, algorithm 4.4)."""
    aten = dc.ops.aten

    def multiply(matrix: Tensor, mean: Tensor | None, other: Tensor) -> Tensor:
        product = matrix.matmul(other)
        found = aten.linalg_qr.default(product if mean is None else product - mean.matmul(other))[0]
        assert isinstance(found, Tensor)
        return found

    from ..creation.factories import FACTORIES

    start = FACTORIES["randn"](A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = multiply(A, M, start)
    for _ in range(niter):
        Q = multiply(A.mH, None if M is None else M.mH, Q)
        Q = multiply(A, M, Q)
    return Q


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return nearly the ``q`` greatest singular values of ``A - M`` and their vectors (source: ``torch.svd_lowrank``)."""
    check_tensor(A, "svd_lowrank", "A")
    if M is not None:
        check_tensor(M, "svd_lowrank", "M")
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    M = None if M is None else M.broadcast_to(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A, M = A.mH, None if M is None else M.mH
    Q = _find_basis(A, q, niter, M)
    B = Q.mH.matmul(A)
    if M is not None:
        B = B - Q.mH.matmul(M)
    U, S, Vh = dc.ops.aten.linalg_svd.default(B, False)
    left, right = Q.matmul(U), Vh.mH
    return (right, S, left) if wide else (left, S, right)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Return nearly the principal components of rows (source: ``torch.pca_lowrank``).

    Raises ``ValueError`` where ``q`` exceeds the sizes or ``niter`` is negative.
    """
    check_tensor(A, "pca_lowrank", "A")
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=(-2,), keepdim=True) if center else A, q, niter)


def _refuse(name: str, instead: str) -> Callable[..., NoReturn]:
    def fail(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "This function was deprecated since version 1.9 and is now removed.\n"
            f"`torchlike.{name}` is deprecated in favor of `torchlike.linalg.{instead}`."
        )

    fail.__name__ = fail.__qualname__ = name
    fail.__doc__ = f"Raise ``RuntimeError``: ``linalg.{instead}`` has taken its place (source: ``torch.{name}``)."
    return fail


eig = _refuse("eig", "eig")
lstsq = _refuse("lstsq", "lstsq")
matrix_rank = _refuse("matrix_rank", "matrix_rank")
solve = _refuse("solve", "solve")
symeig = _refuse("symeig", "eigh")
