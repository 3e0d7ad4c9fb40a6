"""First phases that are kept: see Note [Executors are repeated] in the package."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from ..acl import library, reports
from ..aclnn.calls import Number, Recipe, same
from ..aclnn.descriptors import Descriptors

__all__ = ["Prepared"]


class Prepared:
    """A first phase that has been done, or is about to be: descriptors, executor, and what it was done for."""

    __slots__ = (
        "_arguments",
        "_descriptors",
        "_executor",
        "_first",
        "_name",
        "_raw",
        "_scalars",
        "addresses",
        "handle",
        "numbers",
        "offsets",
        "repeats",
        "second",
        "size",
    )

    def __init__(self, recipe: Recipe, offsets: tuple[int, ...], numbers: tuple[Any, ...]) -> None:
        self.offsets, self.numbers = offsets, numbers
        self._name = f"{recipe.function}GetWorkspaceSize"
        self._first, self.second = library.bind(self._name), library.bind(recipe.function)
        self._descriptors = made_of = Descriptors()
        #: Place among the arguments and among the numbers.
        self._scalars: list[tuple[int, int]] = []
        self._arguments: list[Any] = []
        begins = iter(offsets)
        for place, (kind, given) in enumerate(recipe.arguments):
            value = given
            if isinstance(given, Number):
                self._scalars.append((place, given.place))
                value = numbers[given.place]
            elif kind.endswith("aclTensor*"):
                value = given and (given[0], next(begins))
            elif kind.endswith("aclTensorList*"):
                value = [(spec, next(begins)) for spec, _ in given]
            self._arguments.append(made_of.add(kind, value))
        #: Where the descriptors say that the arrays lie, and where the executor knows that they do.
        self._raw = [0] * len(made_of.tensors)
        self.addresses: list[int] = []
        self._executor: ctypes.c_void_p | None = None
        #: The executor's address; 0 where there is none.
        self.handle = 0
        self.size = 0
        self.repeats = False

    def prepare(self, pointers: Sequence[int], numbers: tuple[Any, ...]) -> None:
        """Do the first phase, in place of one that was done before."""
        tensors = self._descriptors.tensors
        for place, pointer in enumerate(pointers):
            if pointer and self._raw[place] != pointer:
                library.call("aclSetRawTensorAddr", tensors[place], pointer)
                self._raw[place] = pointer
        for argument, place in self._scalars:
            if not same(numbers[place], self.numbers[place]):
                held = self._arguments[argument]
                self._arguments[argument] = self._descriptors.replace_scalar(held, numbers[place])
        self.numbers = numbers
        if self.handle:
            library.call("aclDestroyAclOpExecutor", self.forget())
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        # Owned before it is there, so that an interrupt between leaves nothing behind.
        self._descriptors.own("aclDestroyAclOpExecutor", executor)
        status = self._first(*self._arguments, ctypes.byref(size), ctypes.byref(executor))
        if status:
            self._descriptors.disown(executor)
            library.fail(self._name, status)
        self.size, self._executor, self.handle = size.value, executor, executor.value or 0
        self.addresses = list(pointers)
        status = library.bind("aclSetAclOpExecutorRepeatable")(executor)
        self.repeats = not status
        if status:
            # The first phase is done again for every run.
            reports.report("aclSetAclOpExecutorRepeatable", status)

    def move(self, pointers: Sequence[int]) -> None:
        """Tell a repeatable executor where the arrays lie that have moved."""
        for place, pointer in enumerate(pointers):
            if pointer and self.addresses[place] != pointer:
                library.call("aclSetTensorAddr", self.handle, place, self._descriptors.tensors[place], pointer)
                self.addresses[place] = pointer
                # Whether the descriptor has followed is not said.
                self._raw[place] = 0

    def forget(self) -> ctypes.c_void_p:
        """Give up the executor: somebody else destroys it, or has done so."""
        executor = self._executor
        assert executor is not None
        self._executor, self.handle = None, 0
        self._descriptors.disown(executor)
        return executor
