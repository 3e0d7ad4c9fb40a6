"""The plugin of a device, made from a namespace of the standard."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeAlias

import dispatch_core as dc
from dispatch_core import PlannedStep, Program

from .error_words import ErrorWords, refuse_failed
from .kernels import make_kernels
from .library import Array, ArrayLibrary, Kernel, as_numpy
from .refusals import translate_refusals

Planner: TypeAlias = Callable[[Program], Iterable[PlannedStep] | None]


class ArrayAPIBackend:
    """The hooks of a device whose arrays follow the standard; ``array_api_backend`` makes one."""

    #: As in ``BackendInfo``: the host computes what the library lacks.
    fallback: str | tuple[str, ...] = "host"

    def __init__(
        self,
        library: ArrayLibrary,
        kernels: Mapping[str, Callable[[ArrayLibrary], Kernel]],
        around: Callable[[Kernel], Kernel] | None,
        make_planner: Callable[[ArrayLibrary], Planner] | None,
        shape: Callable[[Array], tuple[Any, ...]],
        words: ErrorWords | None = None,
        wrappers: Mapping[str, Callable[[Kernel], Kernel]] | None = None,
        device_index: Callable[[Array], int | None] | None = None,
        layout: Callable[[Array], Hashable] | None = None,
    ) -> None:
        self.library, self._shape, self._words, self._device_index = library, shape, words, device_index
        self._layout = layout
        self._kernels, self._around, self._wrappers = kernels, around, wrappers or {}
        self._plan = None if make_planner is None else make_planner(library)

    @dc.hookimpl
    def dispatch_backend_info(self) -> dc.BackendInfo:
        """Describe the device: its arrays have no strides and cannot be written to."""
        dtype_of = self.library.scalar_types.__getitem__
        array_types = tuple(
            dc.ArrayType(
                each,
                shape=self._shape,
                dtype=lambda array: dtype_of(array.dtype),
                mutable=False,
                subclasses=type(each) is not type,
                coerce=self._coerce,
                device_index=self._device_index,
                layout=self._layout,
                traceable=self._plan is not None,
            )
            for each in self.library.types
        )
        return dc.BackendInfo(self.library.name, array_types=array_types, fallback=self.fallback)

    def _coerce(self, value: Any) -> Any:
        """Make an array of a library's scalar, which it gives where the standard has an array without dimensions."""
        return self.library.xp.asarray(value) if hasattr(value, "dtype") else value

    @dc.hookimpl
    def dispatch_register(self, registry: dc.Registry) -> None:
        """Register every kernel that the library has functions for."""
        for name, kernel in make_kernels(self.library, self._kernels, self._wrappers).items():
            namespace, _, operator = name.rpartition("::")
            made = kernel if self._around is None else self._around(kernel)
            if self._words is not None:
                made = refuse_failed(self._words, self.library, f"{namespace or 'aten'}::{operator}", made)
            made = self._finish(f"{namespace or 'aten'}::{operator}", translate_refusals(self.library, name, made))
            self._library(registry, namespace or "aten").impl(operator, made)

    def _finish(self, operator: str, kernel: Kernel) -> Kernel:
        """Return a kernel as it is registered."""
        return kernel

    def _library(self, registry: dc.Registry, namespace: str) -> dc.Library:
        return dc.Library(namespace, "IMPL", dc.device_key(self.library.name), registry=registry)

    @dc.hookimpl
    def dispatch_plan(self, program: Program) -> Iterable[PlannedStep] | None:
        """Plan a pipeline's program, where the library compiles programs."""
        return None if self._plan is None else self._plan(program)

    @dc.hookimpl
    def dispatch_device_count(self) -> int:
        """Return 1: arrays are made where the library makes them by default."""
        return 1

    @dc.hookimpl
    def dispatch_is_available(self) -> bool:
        """Return True: the library was imported."""
        return True


def _shape_of(array: Array) -> tuple[int, ...]:
    return tuple(array.shape)


def array_api_backend(
    name: str,
    namespace: Any,
    *,
    array_types: tuple[type, ...],
    get: Callable[[Array], Any] = as_numpy,
    put: Callable[[Any], Array] | None = None,
    assign: Callable[[Array, Any, Array, bool], Array] | None = None,
    is_known: Callable[[Array], bool] = lambda array: True,
    kernels: Mapping[str, Callable[[ArrayLibrary], Kernel]] | None = None,
    around: Callable[[Kernel], Kernel] | None = None,
    make_planner: Callable[[ArrayLibrary], Planner] | None = None,
    device: Any = None,
    shape: Callable[[Array], tuple[Any, ...]] = _shape_of,
    words: ErrorWords | None = None,
    wrappers: Mapping[str, Callable[[Kernel], Kernel]] | None = None,
    device_index: Callable[[Array], int | None] | None = None,
    explain: Callable[[str, Exception, Iterable[Any]], Exception | None] | None = None,
    layout: Callable[[Array], Hashable] | None = None,
    plugin: type[ArrayAPIBackend] = ArrayAPIBackend,
) -> ArrayAPIBackend:
    """Make the plugin of the device ``name`` from a namespace that follows the array API standard.

    ``array_types`` are the classes of its arrays; an abstract one represents its virtual subclasses. ``get`` gives a NumPy
    array of one, ``put`` makes one of NumPy's, which must not share its memory; ``assign(x, key, values, add)`` gives ``x``
    with other values at ``x[key]``, added to those there where ``add`` is true, and changes nothing; ``is_known`` tells
    whether an array's values can be looked at now, by which indices are checked. ``kernels`` brings the library's own
    functions where it has better ones than the standard's, or some that this lacks: operator → function of the
    `ArrayLibrary` that makes the kernel. ``around`` wraps each kernel, ``make_planner`` makes the function that plans a
    pipeline's programs, as ``dispatch_plan`` does, and ``device`` says where the standard's functions shall make arrays.
    ``shape`` reads an array's shape, with None for a size that is not known; ``words`` keeps the error words of the
    planner's programs; ``wrappers`` wraps kernels of some operators, ``device_index`` tells on which of several devices an
    array lies, ``explain`` gives an error of ours for one that the library raises of some arrays, or None; ``layout`` gives
    shape and dtype as one value, where that is quicker; ``plugin`` is a class with further hooks.
    """
    xp = namespace

    def copy_in(values: Any) -> Array:
        return xp.asarray(values, copy=True, **({} if device is None else {"device": device}))

    library = ArrayLibrary(
        name,
        xp,
        types=tuple(array_types),
        get=get,
        put=put or copy_in,
        assign=assign,
        is_known=is_known,
        device=device,
        explain=explain,
    )
    return plugin(library, kernels or {}, around, make_planner, shape, words, wrappers, device_index, layout)
