"""Values that other threads will give (source: ``torch.futures``)."""

from __future__ import annotations

__name__ = "torchlike.futures"  # see Note [Public paths]

import concurrent.futures
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from dispatch_core.lazy_text import repr_by_attributes

from ..values.devices import as_device

__all__ = ["Future", "collect_all", "wait_all"]

_T = TypeVar("_T")
_S = TypeVar("_S")


class Future(concurrent.futures.Future[_T]):
    """A value, or an error, that is set once, by any thread; functions can wait for it.

    Args:
        devices: The devices of tensors in the value, each with its index.

    Raises ``ValueError`` for a device without an index.

    >>> future = Future()
    >>> double = future.then(lambda done: done.value() * 2)
    >>> future.set_result(3)
    >>> double.wait()
    6
    """

    __repr__ = repr_by_attributes("done()")

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        for each in devices or ():
            device = as_device(each)
            if device is None or device.index is None:
                raise ValueError(f"Expected devices to have indices, got {each}")
        super().__init__()

    #: What makes the value go on where no thread of its own does, as far as it can, or with True until it is there.
    _drive: Any = None

    def done(self) -> bool:
        """Return whether there is a value or an error."""
        if self._drive is not None and not super().done():
            self._drive(False)
        return super().done()

    def result(self, timeout: float | None = None) -> _T:
        """Wait for the value and return it; raises the error that was set instead."""
        if self._drive is not None and not super().done():
            self._drive(True)
        return super().result(timeout)

    def wait(self) -> _T:
        """Wait for the value and return it; raises the error that was set instead."""
        return self.result()

    def value(self) -> _T:
        """Return the value; raises the error that was set instead, and ``RuntimeError`` where there is none yet."""
        if not self.done():
            raise RuntimeError("the future has no value yet\nHint: wait() waits for it, and done() asks for it")
        return self.result()

    def set_result(self, result: _T) -> None:
        """Set the value, and call the functions that wait for it; raises ``RuntimeError`` for a second value."""
        with _refuse_second():
            super().set_result(result)

    def set_exception(self, result: BaseException | None) -> None:
        """Set an error, which those who wait get raised.

        Raises ``AssertionError`` for anything but an exception, ``RuntimeError`` for a second value.
        """
        assert isinstance(result, Exception), f"{result} is of type {type(result)}, not an Exception."
        with _refuse_second():
            super().set_exception(result)

    def then(self, callback: Callable[[Future[_T]], _S]) -> Future[_S]:
        """Return a future of ``callback(future)``, which is called when the value is set.

        An error of the callback is that of the new future, as a ``RuntimeError`` that names it. Raises ``TypeError`` for
        anything but a function.
        """
        if not callable(callback):
            raise TypeError(f"then() takes a function of the future, not {type(callback).__name__}")
        found: Future[_S] = Future()
        found._drive = self._drive

        def call(done: Any) -> None:
            try:
                result = callback(done)
            except Exception as error:  # noqa: BLE001  # it is raised where the new future is waited for
                text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                failure = RuntimeError(text)
                failure.__cause__ = error
                found.set_exception(failure)
            else:
                found.set_result(result)

        self.add_done_callback(call)
        return found

    def __reduce__(self) -> NoReturn:
        raise RuntimeError("Can not pickle torch.futures.Future")


@contextmanager
def _refuse_second() -> Iterator[None]:
    try:
        yield
    except concurrent.futures.InvalidStateError:
        raise RuntimeError(
            "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once."
        ) from None


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of the futures themselves, which is done when all of them are.

    Raises ``TypeError`` for a list of anything else.

    >>> future = Future()
    >>> future.set_result(1)
    >>> [each.value() for each in collect_all([future]).wait()]
    [1]
    """
    futures = list(futures)
    for each in futures:
        if not isinstance(each, Future):
            raise TypeError(f"collect_all() takes a list of futures, not of {type(each).__name__}")
    found: Future[list[Future[Any]]] = Future()
    drives = [each._drive for each in futures if each._drive is not None]
    if drives:
        found._drive = lambda is_last: [each(is_last) for each in drives]
    left, lock = len(futures), threading.Lock()

    def count(_: object) -> None:
        nonlocal left
        with lock:
            left -= 1
            is_last = left == 0
        if is_last:
            found.set_result(futures)

    if not futures:
        found.set_result([])
    for each in futures:
        each.add_done_callback(count)
    return found


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Wait for all futures and return their values; raises the first one's error where some have errors.

    >>> future = Future()
    >>> future.set_result(1)
    >>> wait_all([future, future.then(lambda done: done.value() + 1)])
    [1, 2]
    """
    return [future.wait() for future in collect_all(futures).wait()]
