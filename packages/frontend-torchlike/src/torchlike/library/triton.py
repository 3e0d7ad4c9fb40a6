"""The functions for operators of Triton's kernels, which are refused: there is no Triton here."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["triton_op", "wrap_triton"]


def triton_op(name: str, *args: Any, **options: Any) -> NoReturn:
    """Refuse an operator of Triton's kernels; raises ``NotImplementedError``."""
    raise NotImplementedError(
        f"torch.library.triton_op({name!r}): kernels of Triton are compiled for GPUs, and no device here runs them\n"
        "Hint: make the operator of a function of tensors, by torch.library.custom_op"
    )


def wrap_triton(kernel: Any, /) -> NoReturn:
    """Refuse a kernel of Triton; raises ``NotImplementedError``."""
    raise NotImplementedError(
        f"torch.library.wrap_triton({getattr(kernel, '__name__', type(kernel).__name__)}): kernels of Triton are compiled "
        "for GPUs, and no device here runs them"
    )
