"""The pages of torch's documentation, by the names that have one."""

from __future__ import annotations

from typing import Final

from ..torch_names import is_documented

_ROOT: Final = "https://docs.pytorch.org/docs/stable"
#: Where an operator's function is looked for, by the beginning of its name.
_PREFIXES: Final = {"linalg_": "linalg", "fft_": "fft", "special_": "special"}
#: Namespaces whose names share a page.
_JOINED: Final = {
    "distributions": "distributions.html",
    "nn.init": "nn.init.html#{}",
    "special": "special.html#{}",
    "utils.data": "data.html#{}",
}


def page_of(namespace: str, name: str) -> str | None:
    """Return the address of the page about a name of torch, or None where torch documents it nowhere.

    >>> page_of("Tensor", "add_")
    'https://docs.pytorch.org/docs/stable/generated/torch.Tensor.add_.html'
    >>> page_of("special", "expit")
    'https://docs.pytorch.org/docs/stable/special.html#torch.special.expit'
    """
    if not is_documented(namespace, name):
        return None
    full = f"torch.{name}" if namespace == "torch" else f"torch.{namespace}.{name}"
    place = _JOINED.get(namespace)
    return f"{_ROOT}/generated/{full}.html" if place is None else f"{_ROOT}/{place.format(full)}"


def page_of_operator(name: str) -> str | None:
    """Return the address of the page about the function or method that an operator serves, or None.

    An operator in place, or a copy of a view, has the page of the other one where it has none of its own.

    >>> print(page_of_operator("gelu"), page_of_operator("_softmax"))
    https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.gelu.html None
    """
    for prefix, namespace in _PREFIXES.items():
        if name.startswith(prefix):
            return page_of(namespace, name.removeprefix(prefix))
    names = (name, name.removesuffix("_"), name.removesuffix("_copy"))
    found = (page_of(namespace, each) for each in names for namespace in ("torch", "nn.functional", "Tensor"))
    return next(filter(None, found), None)
