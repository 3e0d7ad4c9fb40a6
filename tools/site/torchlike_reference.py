"""The reference of torchlike, asked of the package itself: its operators are made of tables, so no source shows them all.

Classes are shown by mkdocstrings, which reads their sources; functions by the signatures and docstrings that ``help`` shows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from types import FunctionType

from core_reference import directive
from docstrings import to_markdown

import torchlike
from dispatch_aten.operators import KIND_OF

#: Page → its title, and the kinds of the operators that the functions of ``torchlike`` on it call.
KINDS: dict[str, tuple[str, str]] = {
    "elementwise": ("Element by element", "pointwise activation special complex_numbers comparison"),
    "reductions": ("Reductions and order", "reduction ordering"),
    "creation": ("Creation and random numbers", "factory random"),
    "shapes": ("Shapes, views, joining and splitting", "view copy lists padding"),
    "indexing": ("Indexing, gathering, scattering", "indexing scatter"),
    "algebra": ("Linear algebra and transforms", "matmul linalg fft"),
    "networks": (
        "Functions of networks",
        "attention convolution loss normalization pooling recurrent resampling",
    ),
}
#: The page of functions that no operator is named for, where their module says nothing better.
OTHERS = ("rest", "Modes, dtypes, devices and the rest")
#: Functions that no operator is named for, by the page that readers look for them on.
BESIDE = {
    "algebra": "eig frobenius_norm lstsq lu matrix_rank norm pca_lowrank solve svd_lowrank symeig",
    "creation": "as_tensor asarray empty from_dlpack from_numpy frombuffer normal tensor to_dlpack",
    "indexing": "index_fill masked_fill select select_copy slice_copy take_along_dim unravel_index",
    "networks": "gru lstm rnn_relu rnn_tanh",
    "reductions": "histogram unique",
    "shapes": "broadcast_shapes dsplit hsplit split split_copy tensor_split unbind unbind_copy unsafe_split vsplit",
    "elementwise": "frexp gradient rsub",
}
#: Page → the module that it shows, all of its public names.
MODULES = {
    "nn": "torchlike.nn",
    "nn-functional": "torchlike.nn.functional",
    "nn-init": "torchlike.nn.init",
    "nn-utils": "torchlike.nn.utils",
    "optim": "torchlike.optim",
    "optim-lr-scheduler": "torchlike.optim.lr_scheduler",
    "autograd": "torchlike.autograd",
    "func": "torchlike.func",
    "fx": "torchlike.fx",
    "linalg": "torchlike.linalg",
    "fft": "torchlike.fft",
    "special": "torchlike.special",
    "distributions": "torchlike.distributions",
    "utils-data": "torchlike.utils.data",
    "utils-checkpoint": "torchlike.utils.checkpoint",
    "random": "torchlike.random",
    "nested": "torchlike.nested",
    "npu": "torchlike.npu",
    "testing": "torchlike.testing",
}


def pages() -> dict[str, str]:
    """Return the text of each page, by its path in the site."""
    made = {f"reference/torchlike/{page}.md": _module_page(name) for page, name in MODULES.items()}
    by_page: dict[str, list[str]] = {page: [] for page in (*KINDS, OTHERS[0])}
    for name in _public(torchlike):
        by_page[page_of(name)].append(name)
    for page, (title, _) in {**KINDS, OTHERS[0]: (OTHERS[1], "")}.items():
        parts = [_entry(torchlike, name) for name in by_page[page]]
        made[f"reference/torchlike/functions-{page}.md"] = _page(title, "", parts)
    made["reference/torchlike/tensor.md"] = _tensor_page()
    return made


def page_of(name: str) -> str:
    """Return which of the pages about functions of ``torchlike`` has this one."""
    for page, names in BESIDE.items():
        if name in names.split():
            return page
    kind = _kind(name) or _kind(name.rstrip("_"))
    return next((page for page, (_, kinds) in KINDS.items() if kind in kinds.split()), OTHERS[0])


def _kind(name: str) -> str | None:
    """Return the kind of the operator of a name, whichever its overloads."""
    return _KIND_BY_PACKET.get(name)


_KIND_BY_PACKET = {name.partition(".")[0]: kind for name, kind in reversed(KIND_OF.items())}


def _public(module: object) -> list[str]:
    """Return the public functions and classes of a module, in the order of the alphabet."""
    listed: Iterable[str] = getattr(module, "__all__", None) or dir(module)
    found = {name: getattr(module, name) for name in listed if not name.startswith("_")}
    return sorted(
        (name for name, value in found.items() if inspect.isclass(value) or inspect.isroutine(value)),
        key=lambda name: (name.lower(), name),
    )


def _module_page(path: str) -> str:
    module = import_module(path)
    return _page(path, to_markdown(module.__doc__ or ""), [_entry(module, name) for name in _public(module)])


def _page(title: str, about: str, parts: list[str]) -> str:
    return "\n\n".join([f"# {title}", about, *parts, ""])


def _entry(module: object, name: str) -> str:
    """Return the part of a page about a function or class."""
    value = getattr(module, name)
    full = f"{module.__name__}.{name}"  # type: ignore[attr-defined]
    if inspect.isclass(value) and value.__module__.startswith("torchlike.") and "<locals>" not in value.__qualname__:
        home = import_module(value.__module__)
        written = f"{home.__spec__.name if home.__spec__ else home.__name__}.{value.__qualname__}"
        if inspect.getmodule(value) is home and _is_written(value):
            return directive(written, heading=full, toc_label=name)
    return f"## `{full}` {{#{full} data-toc-label='{name}'}}\n\n{_described(value, full)}"


def _is_written(value: type) -> bool:
    try:
        return f"class {value.__name__}" in inspect.getsource(value)
    except (OSError, TypeError):
        return False


def _described(value: Callable[..., object], name: str) -> str:
    """Return a function's signature, as far as it is known, and its docstring."""
    call = f"```python\n{name}{signature(value)}\n```"
    return f"{call}\n\n{_deeper(to_markdown(value.__doc__ or ''))}".rstrip()


def signature(value: Callable[..., object]) -> str:
    """Return a function's signature in parentheses, one argument a line where it is long."""
    try:
        given = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    text = str(given).replace("torchlike.tensors.tensor.Tensor", "Tensor")
    if len(text) <= 80:
        return text
    inner = [str(each) for each in given.parameters.values()]
    kinds = [each.kind for each in given.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        inner.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    end = text[text.rindex(" -> ") :] if given.return_annotation is not inspect.Signature.empty else ""
    return "(\n" + "".join(f"    {each},\n" for each in inner) + ")" + end


def _deeper(text: str) -> str:
    """Return a docstring without headings of its own."""
    return "\n".join(f"**{line.lstrip('# ')}**" if line.startswith("#") else line for line in text.split("\n"))


def _tensor_page() -> str:
    """Return the page of the class ``Tensor``: its attributes, and its methods with the functions of the same names."""
    tensor = torchlike.Tensor
    names = [name for name in dir(tensor) if not name.startswith("_")]
    functions = set(_public(torchlike))
    rows: dict[bool, list[str]] = {False: [], True: []}
    for name in names:
        value = inspect.getattr_static(tensor, name, None)
        is_method = isinstance(value, FunctionType) or callable(getattr(tensor, name, None))
        text = (getattr(getattr(tensor, name, None), "__doc__", None) or getattr(value, "__doc__", None) or "").strip()
        first = text.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
        if is_method:
            there = f"functions-{page_of(name)}.md#torchlike.{name}" if name in functions else ""
            shown = f"[`{name}`]({there})" if there else f"`{name}`"
            rows[True].append(f"| {shown} | {first} |")
        else:
            rows[False].append(f"| `{name}` | {first} |")
    head = "| name | meaning |\n| --- | --- |\n"
    about = to_markdown(tensor.__doc__ or "")
    methods = "A method with a link is the function of that name, with the tensor as its first argument."
    # fmt: off
    parts = [
        "## Attributes", head + "\n".join(rows[False]),
        "## Methods", methods, head + "\n".join(rows[True]),
    ]
    # fmt: on
    return _page("torchlike.Tensor", about, parts)
