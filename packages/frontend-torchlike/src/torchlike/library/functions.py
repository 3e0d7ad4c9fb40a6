"""The functions of ``torch.library`` that add to operators that exist, by name, overload or definition."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import dispatch_core as dc

from .formulas import has_keyword_tensors, is_functional, make_autograd_kernel
from .libraries import Library, is_nameless, keep
from .operators import CustomOpDef, find_definition
from .registration_keys import as_list, autocast_key, find_key
from .torch_errors import LibraryError, as_torch_error

__all__ = [
    "define",
    "impl",
    "impl_abstract",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]


def define(
    qualname: Any, schema: str, *args: Any, lib: Library | None = None, tags: str | Iterable[str] = (), **options: Any
) -> Any:
    """Define ``namespace::name`` by a schema without a name, ``"(Tensor x) -> Tensor"`` (source: ``torch.library.define``).

    Without ``lib`` the operator stays for good. ``define(library, "name(Tensor x) -> Tensor")``, a decorator, is the older
    form: the function is the operator's composite kernel. Raises ``ValueError`` for another schema or name.

    >>> with _doctest_library() as library:
    ...     define("doctest_define::half", "(Tensor x) -> Tensor", lib=library)
    """
    if isinstance(qualname, Library):
        return _define_with(qualname, schema, *args, **options)
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, name = split_name(qualname)
    library = lib if lib is not None else keep(namespace)
    if not is_nameless(schema):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    library.define(name + schema, tags=tags)
    return None


def _define_with(library: Library, schema: str, alias_analysis: str = "") -> Callable[[Any], Any]:
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        library.impl(library.define(schema, alias_analysis), fn)
        return fn

    return register


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None, **options: Any) -> Any:
    """Register a kernel for devices or dispatch keys, "default" for every device (source: ``torch.library.impl``).

    A decorator without ``func``. ``impl(library, name, key)``, a decorator, is the older form. Raises ``RuntimeError`` for
    an unknown device.

    >>> import torchlike
    >>> with _doctest_library() as library:
    ...     define("doctest_define::twice", "(Tensor x) -> Tensor", lib=library)
    ...     impl("doctest_define::twice", "cpu", lambda x: 2 * x, lib=library)
    ...     torchlike.ops.doctest_define.twice(torchlike.ones(1))
    tensor([2.])
    """
    if isinstance(qualname, Library):
        return _impl_with(qualname, types, options.pop("dispatch_key", func) or "")
    keys = list(dict.fromkeys(find_key(name) for name in as_list(types) if name is not None))

    def register(fn: Callable[..., Any]) -> None:
        namespace, _ = split_name(qualname)
        library = lib if lib is not None else keep(namespace)
        for key in keys:
            library.impl(qualname, fn, key)

    return register if func is None else register(func)


def _impl_with(library: Library, name: str, dispatch_key: str) -> Callable[[Any], Any]:
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        library.impl(name, fn, dispatch_key)
        return fn

    return register


def split_name(qualname: str) -> tuple[str, str]:
    """Return the namespace of an operator's full name, and the rest; raises ``ValueError`` where there is none."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def _resolve(op: Any, who: str) -> str | CustomOpDef:
    """Return the definition of an operator that is made of a function, else its name."""
    if not isinstance(op, str | CustomOpDef) and not isinstance(getattr(op, "overload_name", None), str):
        raise ValueError(f"{who}({op}): got unexpected type for op: {type(op)}")
    return find_definition(op) or (op if isinstance(op, str) else op.name)


def _library_for(qualname: str, lib: Library | None) -> Library:
    return lib if lib is not None else keep(split_name(qualname)[0])


def find_overload(qualname: str) -> Any:
    """Return the overload of an operator's full name.

    >>> find_overload("aten::add.Tensor").overload_name
    'Tensor'
    """
    split_name(qualname)
    return dc.registry.get(qualname).op


def register_kernel(
    op: Any,
    device_types: str | Iterable[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register an operator's kernel for devices, None for every one; a decorator without ``func``.

    Raises ``RuntimeError`` for an unknown device (source: ``torch.library.register_kernel``).
    """
    found = _resolve(op, "register_kernel")
    if isinstance(found, CustomOpDef):
        return found.register_kernel(device_types, func)
    return impl(found, "CompositeExplicitAutograd" if device_types is None else device_types, func, lib=lib)


def register_fake(
    op: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """Register an operator's effect on shapes and dtypes, as a function of tensors on the device meta.

    A decorator without ``func``. Pipelines, captures and meta tensors run it. Raises ``RuntimeError`` where the operator
    takes meta tensors by its parts, or with ``allow_override=False`` where it has a fake (source:
    ``torch.library.register_fake``).

    >>> import torchlike
    >>> with _doctest_library() as library:
    ...     define("doctest_define::flat", "(Tensor x) -> Tensor", lib=library)
    ...     _ = register_fake("doctest_define::flat", lambda x: x.new_empty(x.numel()), lib=library)
    ...     torchlike.ops.doctest_define.flat(torchlike.ones(2, 3, device="meta")).shape
    torchlike.Size([6])
    """
    found = _resolve(op, "register_fake")
    if isinstance(found, CustomOpDef):
        return found.register_fake if func is None else found.register_fake(func)
    name = found

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        library = _library_for(name, lib)
        library._register_fake(split_name(name)[1], fn, allow_override=allow_override)
        return fn

    return register if func is None else register(func)


def impl_abstract(
    qualname: str, func: Callable[..., Any] | None = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Any:
    """Do as `register_fake`, by its former name, with a ``FutureWarning``."""
    warnings.warn(
        "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we will "
        "remove `torch.library.impl_abstract` in a future version of PyTorch.",
        FutureWarning,
        stacklevel=2,
    )
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Register the formula of an operator's gradients; see `CustomOpDef.register_autograd`.

    Raises ``RuntimeError`` for an operator that writes to an argument, ``NotImplementedError`` for tensors among its
    keyword-only arguments (source: ``torch.library.register_autograd``).
    """
    found = _resolve(op, "register_autograd")
    if isinstance(found, CustomOpDef):
        found.register_autograd(backward, setup_context=setup_context)
        return
    overload = find_overload(found)
    schema = overload.schema
    if "out" in overload.tags:
        raise LibraryError(f"Cannot register autograd formula for {found}: Out variants do not support autograd.")
    if not is_functional(schema):
        raise LibraryError(
            f"Cannot register autograd formula for non-functional operator {found} with schema {schema}. Please create a "
            "functional operator and register an autograd formula for that."
        )
    _refuse_keyword_tensors("register_autograd", schema)
    kernel = make_autograd_kernel(lambda: (backward, setup_context), backward)
    _library_for(found, lib).impl(split_name(found)[1], kernel, "Autograd")


def _refuse_keyword_tensors(who: str, schema: Any) -> None:
    if has_keyword_tensors(schema):
        raise NotImplementedError(
            f"{who} with kwarg-only Tensor args. In the original definition of the op, please make your tensors not "
            f"kwarg-only. Got: {schema}"
        )


def register_torch_dispatch(
    op: Any,
    torch_dispatch_class: type,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register an operator's handling by a mode or subclass with ``__torch_dispatch__``. A decorator without ``func``.

    ``func(cls_or_mode, func, types, args, kwargs)`` has the place of ``__torch_dispatch__`` for this operator, in
    modes that are entered afterwards
    (source: ``torch.library.register_torch_dispatch``).
    """
    found = _resolve(op, "register_torch_dispatch")
    if isinstance(found, CustomOpDef):
        return found.register_torch_dispatch(torch_dispatch_class, func)
    name = found

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        _library_for(name, lib)._register_torch_dispatch_rule(split_name(name)[1], torch_dispatch_class, fn)
        return fn

    return register if func is None else register(func)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Register the rule by which ``vmap`` calls an operator; see `CustomOpDef.register_vmap`. A decorator without ``func``.

    Raises ``NotImplementedError`` for tensors among the keyword-only arguments (source: ``torch.library.register_vmap``).
    """
    found = _resolve(op, "register_vmap")
    if isinstance(found, CustomOpDef):
        return found.register_vmap(func)
    overload = find_overload(found)
    _refuse_keyword_tensors("register_vmap", overload.schema)
    if func is None:
        return functools.partial(register_vmap, op, lib=lib)
    with as_torch_error():
        dc.register_vmap(overload, func, lib=_library_for(found, lib)._open())
    return func


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> None:
    """Register the dtype to which an operator's floating-point tensors are cast where autocast is on for a device.

    Raises ``ValueError`` for a device without autocast, ``RuntimeError`` for a name of no device
    (source: ``torch.library.register_autocast``).
    """
    found = _resolve(op, "register_autocast")
    autocast_key(device_type)
    if isinstance(found, CustomOpDef):
        found.register_autocast(device_type, cast_inputs)
        return
    with as_torch_error():
        dc.register_autocast(find_overload(found), device_type, cast_inputs, lib=_library_for(found, lib)._open())


def _doctest_library() -> Any:
    """Return a library for the examples on this page."""
    from .libraries import scoped_library

    return scoped_library("doctest_define", "FRAGMENT")
