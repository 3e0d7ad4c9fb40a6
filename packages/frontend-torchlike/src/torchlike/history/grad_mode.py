"""Whether operators record for backward: one setting per thread and per asyncio task, apart from the dispatch masks.

``no_grad`` stops recording, but the Autograd kernels still run: in-place checks, views that must know their base and
versions of saved tensors do not depend on it. So it is a setting that those kernels read, not a key that is masked.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Final, Self, TypeVar, overload

from dispatch_core.interrupts import Guard, by_subscript, take_back, whole
from dispatch_core.lazy_text import repr_by_attributes
from dispatch_core.tracebacks import trim_traceback

_F = TypeVar("_F", bound=Callable[..., Any])

_grad: Final[ContextVar[bool]] = ContextVar("torchlike.grad_mode", default=True)
_inference: Final[ContextVar[bool]] = ContextVar("torchlike.inference_mode", default=False)

is_grad_enabled: Final = _grad.get
#: For compiled callers, which read it themselves.
recording_mode: Final = _grad
is_inference_mode_enabled: Final = _inference.get


# See Note [Where an interrupt falls] in `dispatch_core.interrupts`.
set_mode, reset_mode = by_subscript(_grad.set), _grad.reset
_set_inference, _reset_inference = by_subscript(_inference.set), _inference.reset
_new = object.__new__


def _entry(value: bool) -> Callable[[Any], Any]:
    """Return the ``__enter__`` of the guard that sets a mode.

    Each step of ``setting`` sets it. A loop's step is not a call either, and quicker than a subscript.
    """
    setting = map(_grad.set, itertools.repeat(value))

    def __enter__(self: _Mode) -> _Mode:  # noqa: N807  # it becomes the class's
        outer = self._tokens
        try:
            for token in setting:
                self._tokens = (token, outer)
                break
            return self
        except BaseException:
            self._tokens = outer
            if "token" in locals():
                take_back(token)
            raise

    return __enter__


_ENTRIES: Final = {value: _entry(value) for value in (False, True)}


class _Mode(Guard):
    """Hold one grad mode while a block or a decorated function runs; a mode may be entered again inside itself."""

    __slots__ = ()

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            token, self._tokens = self._tokens  # type: ignore[misc]  # a mode that is left was entered
            reset_mode(token)
        except BaseException:
            # The interrupt may have come first.
            self._finish(locals().get("token"))
            raise

    def _again(self) -> _Mode:
        """Return a mode of the same kind, for one call of a decorated function."""
        return type(self)()

    def __call__(self, function: _F) -> _F:
        """Decorate ``function``: each call of it, and each step of a generator, runs in this mode."""
        return decorate(self._again, function)


def decorate(make: Callable[[], Any], function: _F) -> _F:
    """Return ``function`` with each call of it, and each step of a generator, in a context that ``make`` returns."""
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            # The mode holds while the generator's own code runs, never while its consumer's does.
            steps = function(*args, **kwargs)
            resume: Any = functools.partial(next, steps)
            try:
                while True:
                    with make():
                        item = resume()
                    try:
                        resume = functools.partial(steps.send, (yield item))
                    except GeneratorExit:
                        with make():
                            steps.close()
                        raise
                    except BaseException as error:  # noqa: BLE001  # the generator itself handles it
                        resume = functools.partial(steps.throw, error)
            except StopIteration as stop:
                return stop.value
            finally:
                steps.close()

        return generator  # type: ignore[return-value]  # wraps() keeps the signature

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            with make():
                return function(*args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    return call  # type: ignore[return-value]  # wraps() keeps the signature


class _BareDecorator(_Mode):
    """A mode that also decorates when it is written without parentheses."""

    __slots__ = ()

    @overload
    def __new__(cls, function: None = None) -> Self: ...
    @overload
    def __new__(cls, function: _F) -> _F: ...  # type: ignore[misc]  # a bare decorator gives the function back
    def __new__(cls, function: Any = None) -> Any:
        if function is not None:
            return decorate(cls, function)
        # There is no __init__, which would be one more call for every block.
        mode = _new(cls)
        mode._tokens = None
        return mode


class no_grad(_BareDecorator):  # noqa: N801  # torch's name
    """Stop recording for backward (source: ``torch.no_grad``).

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """

    __slots__ = ()
    __enter__ = _ENTRIES[False]


class enable_grad(_BareDecorator):  # noqa: N801  # torch's name
    """Record for backward, inside ``no_grad`` too (source: ``torch.enable_grad``)."""

    __slots__ = ()
    __enter__ = _ENTRIES[True]


class set_grad_enabled(_Mode):  # noqa: N801  # torch's name
    """Set grad mode at once; as a context manager, until the block ends (source: ``torch.set_grad_enabled``).

    >>> with set_grad_enabled(False):
    ...     is_grad_enabled()
    False
    >>> is_grad_enabled()
    True
    """

    __slots__ = ("_before", "_value")

    __repr__ = repr_by_attributes(mode=lambda guard: guard._value)

    def __init__(self, mode: bool) -> None:
        self._tokens = None
        self._value = bool(mode)
        self._before: Token[bool] | None = None
        self._before = set_mode[self._value]

    @whole
    def __enter__(self) -> Self:
        try:
            if self._before is not None:
                self._tokens, self._before = (self._before, self._tokens), None
                return self
        except BaseException:
            if self._before is None:
                self._finish()
            else:
                take_back(self._before)
            raise
        _ENTRIES[self._value](self)
        return self

    def _again(self) -> _Mode:
        return set_grad_enabled(self._value)

    def __call__(self, function: _F) -> _F:
        if self._before is not None:  # a decorator does not set the mode where it stands
            _grad.reset(self._before)
            self._before = None
        return super().__call__(function)


class inference_mode(_Mode):  # noqa: N801  # torch's name
    """Stop recording for backward, as ``no_grad`` does (source: ``torch.inference_mode``).

    Tensors made inside are ordinary ones, unlike torch's inference tensors: they may be used for gradients later on.
    """

    __slots__ = ("_value",)

    __repr__ = repr_by_attributes(mode=lambda guard: not guard._value)

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: _F) -> _F: ...  # type: ignore[misc]  # a bare decorator gives the function back
    def __new__(cls, mode: Any = True) -> Any:
        return _new(cls) if isinstance(mode, bool) else decorate(cls, mode)

    def __init__(self, mode: bool = True) -> None:
        self._tokens = None
        self._value = not mode

    def __enter__(self) -> Self:
        outer = self._tokens
        try:
            self._tokens = (_set_inference[not self._value], set_mode[self._value], outer)
            return self
        except BaseException:
            self._leave(outer)
            raise

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            inference, token, outer = self._tokens  # type: ignore[misc]  # as in _Mode
            reset_mode(token)
            _reset_inference(inference)
            self._tokens = outer
        except BaseException:
            self._finish()
            raise

    def _again(self) -> _Mode:
        return inference_mode(not self._value)
