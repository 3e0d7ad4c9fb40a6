"""Whether a function transform (`torchlike.func`) is under way here, and the methods that are refused in one."""

from __future__ import annotations

from typing import Final

import dispatch_core as dc
from dispatch_core.frontends import included_mask

#: The key under which the layer of the transforms stands: the context includes it while one is under way.
FRONT: Final = dc.DispatchKey.FuncTorchDynamicLayerFrontMode.value

_TEXTS: Final = {
    "backward": (
        "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
        "instead or call backward() outside of functorch transforms."
    ),
    "data": "mutating directly with `.data` inside functorch transform is not allowed.",
} | {
    name: (
        f"You are attempting to call Tensor.{name}(){also} inside of a function being transformed by a functorch transform. "
        "This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or "
        f"call {name}() outside of a function being transformed instead."
    )
    for name, also in (
        ("requires_grad_", " (or perhaps using torch.autograd.functional.* APIs)"),
        ("retain_grad", ""),
    )
}


def is_in_transform() -> bool:
    """Return whether a transform is under way."""
    return bool(included_mask() & FRONT)


def refuse_in_transform(name: str) -> None:
    """Raise ``RuntimeError``, in torch's words, where a transform is under way."""
    if is_in_transform():
        raise RuntimeError(_TEXTS[name])
