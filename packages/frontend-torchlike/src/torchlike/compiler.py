"""Compilers of torch: a program means the same without one (source: ``torch.compiler``)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from difflib import get_close_matches
from types import SimpleNamespace
from typing import Any, Final, NoReturn

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "load_cache_artifacts",
    "load_compiled_function",
    "nested_compile_region",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
]

#: Settings of torch's compiler, which are kept and change nothing.
config: Final = SimpleNamespace()
_dynamo = _inductor = SimpleNamespace(config=SimpleNamespace())
#: The backends of torch: with each of them a program means the same as without.
_EAGER: Final = ("inductor", "eager", "aot_eager", "cudagraphs", "onnxrt", "openxla", "tvm", "ipex")
_CAPTURE: Final = "capture"
#: The modes of torch's backend ``inductor``.
_MODES: Final = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")

_default_backend: str | Callable[..., Any] = "inductor"


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Return a function or module that runs as it is, or a decorator that does (source: ``torch.compile``).

    ``backend="capture"`` asks for `torchlike.capture`: the operators of calls are recorded twice and then replayed without
    running the function, so later changes of Python's state (attributes, globals) are not seen. What cannot be captured runs
    eagerly from then on, which a ``RuntimeWarning`` says; with ``fullgraph=True`` it raises ``CaptureError``.
    ``recompile_limit`` is the number of variants that are kept (8). Raises ``RuntimeError`` for a backend or
    a mode that is not there.

    >>> import torchlike
    >>> double = torchlike.compile(lambda x: x + x, backend="capture")
    >>> [double(torchlike.tensor(number)).item() for number in range(4)]
    [0, 2, 4, 6]
    >>> double
    <captured <lambda>: 1 variant>
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    chosen = _default_backend if backend is None else backend
    _check_backend(chosen)
    if chosen == "inductor" and mode is not None and mode not in _MODES:
        near = get_close_matches(str(mode), _MODES, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}{meant}")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if function is None:
            raise RuntimeError("Model can't be None")
        if not callable(function):
            raise AssertionError(f"A callable function is expected, but {type(function)} is provided.")
        if disable or chosen != _CAPTURE:
            return function
        if recompile_limit is not None and (type(recompile_limit) is not int or recompile_limit < 1):
            raise ValueError(f"recompile_limit must be an integer from 1 on (got {recompile_limit!r})")
        limit = {} if recompile_limit is None else {"max_variants": recompile_limit}
        return _capture(function, fullgraph=fullgraph, **limit)

    return decorate if model is None else decorate(model)


def _check_backend(backend: object) -> None:
    if callable(backend) or backend in (*_EAGER, _CAPTURE):
        return
    near = get_close_matches(str(backend), (*_EAGER, _CAPTURE), n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise RuntimeError(
        f"Invalid backend: {backend!r}, see `torch.compiler.list_backends()` for available backends{meant}"
    )


def _capture(function: Callable[..., Any], *, fullgraph: bool, **options: Any) -> Callable[..., Any]:
    from dispatch_core import capture
    from dispatch_core.errors import ArgumentError

    if hasattr(function, "_make_optimized"):  # a Module
        made: Callable[..., Any] = function._make_optimized(fullgraph=fullgraph, **options)
        return made
    try:
        return capture(function, fullgraph=fullgraph, **options)
    except ArgumentError as error:
        if fullgraph or not callable(function):
            raise
        # A generator function, or a coroutine's.
        warnings.warn(f"{function} runs eagerly: {error}", RuntimeWarning, stacklevel=4)
        return function


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Set the backend of `compile` where none is named; None for "inductor" again."""
    global _default_backend
    if backend is not None:
        _check_backend(backend)
    _default_backend = "inductor" if backend is None else backend


def get_default_backend() -> str | Callable[..., Any]:
    """Return the backend of `compile` where none is named."""
    return _default_backend


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Return the backends that do something: the one that captures."""
    return [_CAPTURE]


def is_compiling() -> bool:
    """Return False: nothing is being compiled."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, **_: Any) -> Any:
    """Return a function unchanged, or a decorator that does."""
    return fn if fn is not None else disable


def allow_in_graph(fn: Any) -> Any:
    """Return a function unchanged."""
    return fn


assume_constant_result = allow_in_graph


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors that calls a function of NumPy's arrays; the tensors share the arrays' memory.

    Raises ``RuntimeError`` at a call with a tensor that needs a gradient, as `torchlike.Tensor.numpy` does.

    >>> import numpy as np, torchlike
    >>> torchlike.compiler.wrap_numpy(np.cumsum)(torchlike.tensor([1, 2, 3]))
    tensor([1, 3, 6])
    """
    import numpy as np

    from . import as_tensor
    from .tensors.tensor import Tensor
    from .values.pytree import tree_map_only

    @functools.wraps(fn)
    def call_with_arrays(*args: Any, **kwargs: Any) -> Any:
        by_position, by_keyword = tree_map_only(Tensor, Tensor.numpy, (args, kwargs))
        result = fn(*by_position, **by_keyword)
        return tree_map_only(np.ndarray, as_tensor, result)

    return call_with_arrays


def substitute_in_graph(original_fn: Any, **_: Any) -> Callable[[Any], Any]:
    """Return a decorator that returns its function unchanged: the original one is called."""
    return allow_in_graph


def nested_compile_region(fn: Any = None, **_: Any) -> Any:
    """Return a function unchanged, or a decorator that does."""
    return fn if fn is not None else allow_in_graph


def reset() -> None:
    """Do nothing: nothing was compiled."""


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no graphs of CUDA."""


def set_stance(*args: Any, **kwargs: Any) -> AbstractContextManager[None]:
    """Do nothing: there is no compiler to choose."""
    return nullcontext()


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Return False, the setting before: no guards are agreed on between processes."""
    return False


def save_cache_artifacts() -> None:
    """Return None: nothing was compiled that could be saved."""


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """Return None: nothing is loaded, and functions run as they are."""


def load_compiled_function(file: Any, **_: Any) -> NoReturn:
    """Raise ``NotImplementedError``: such a file has machine code of torch's compiler."""
    raise NotImplementedError("torch.compiler.load_compiled_function reads code of torch's compiler; call the function")


def keep_tensor_guards_unsafe(guard_entries: Any, keep_parameters: bool = False) -> list[bool]:
    """Return True for each guard: captured functions keep all of theirs."""
    return [True for _ in guard_entries]


keep_portable_guards_unsafe = skip_all_guards_unsafe = skip_guard_on_globals_unsafe = keep_tensor_guards_unsafe
skip_guard_on_all_nn_modules_unsafe = skip_guard_on_inbuilt_nn_modules_unsafe = keep_tensor_guards_unsafe

vars(_dynamo).update(reset=reset, disable=disable, allow_in_graph=allow_in_graph, is_compiling=is_compiling)
