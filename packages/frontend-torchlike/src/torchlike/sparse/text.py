"""The text of sparse tensors: their components, the sizes and the history, as torch writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dispatch_aten.dtypes import ScalarType, get_default_dtype

from ..tensors.arrays import read_printable
from ..tensors.printing import add_notes, write_elements
from ..tensors.tensor import Tensor

_INDENT: Final = len("tensor(")


def write_components(tensor: Tensor, components: Mapping[str, Tensor], count: int, *, new_line: bool) -> str:
    """Return the text of a tensor of components by their names; ``new_line`` begins the line of the notes."""
    shown = []
    for name, component in components.items():
        start = f"{name}=tensor("
        if component.is_meta:
            body = f"..., size={tuple(component.shape)}"
        elif not component.numel():
            body = f"[], size={tuple(component.shape)}"
        else:
            body = write_elements(read_printable(component), _INDENT + len(start))
        shown.append(f"{start}{body})")
    notes = [] if tensor.device.type == "cpu" else [f"device='{tensor.device}'"]
    notes += [f"size={tuple(tensor.shape)}", *([] if tensor.is_meta else [f"nnz={count}"])]
    real = get_default_dtype()
    usual = (real, real.to_complex(), ScalarType.Long, ScalarType.Bool)
    if tensor.dtype not in usual:
        notes.append(f"dtype={tensor.dtype!r}")
    notes.append(f"layout={tensor.layout!r}")
    if tensor.grad_fn is not None:
        notes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    return add_notes("tensor(" + (",\n" + " " * _INDENT).join(shown), notes, _INDENT, new_line=new_line)
