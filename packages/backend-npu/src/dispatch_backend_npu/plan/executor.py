"""Executors that serve several runs: see Note [Executors are repeated] in the package."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from ..acl import library, reports
from ..acl.constants import ACLNN_ERR_INNER
from ..aclnn.calls import CallTemplate, ScalarParameter, is_same_scalar
from ..aclnn.descriptors import Descriptors


class RepeatedExecutor:
    """The executor of a first phase, its descriptors, and the addresses and numbers that it was prepared for."""

    __slots__ = (
        "_arguments",
        "_descriptor_addresses",
        "_descriptors",
        "_executor",
        "_first",
        "_is_refused",
        "_name",
        "_scalars",
        "addresses",
        "function",
        "handle",
        "is_repeatable",
        "numbers",
        "places",
        "second",
        "size",
    )

    def __init__(
        self,
        template: CallTemplate,
        places: Sequence[tuple[int, int]],
        numbers: tuple[Any, ...],
        *,
        is_repeated: bool = True,
    ) -> None:
        self.numbers = numbers
        #: For each tensor the offset in its block, and the bytes of the block.
        self.places = list(places)
        self.function = template.function
        self._name = f"{template.function}GetWorkspaceSize"
        self._first, self.second = library.bind(self._name), library.bind(template.function)
        self._descriptors = descriptors = Descriptors()
        #: Index among the arguments and among the numbers.
        self._scalars: list[tuple[int, int]] = []
        self._arguments: list[Any] = []
        begins = iter(places)
        for index, (kind, argument) in enumerate(template.arguments):
            value = argument
            if isinstance(argument, ScalarParameter):
                self._scalars.append((index, argument.index))
                value = numbers[argument.index]
            elif kind.endswith("aclTensor*"):
                value = argument and (argument[0], *next(begins))
            elif kind.endswith("aclTensorList*"):
                value = [(each[0], *next(begins)) for each in argument]
            self._arguments.append(descriptors.add(kind, value))
        #: The addresses that the descriptors hold, and those that the executor holds.
        self._descriptor_addresses = [0] * len(descriptors.tensors)
        self.addresses: list[int] = []
        self._executor: ctypes.c_void_p | None = None
        #: The executor's address; 0 where there is none.
        self.handle = 0
        self.size = 0
        self.is_repeatable = False
        #: Whether repetition was refused for these numbers.
        self._is_refused = not is_repeated

    def prepare(self, pointers: Sequence[int], numbers: tuple[Any, ...]) -> None:
        """Do the first phase; an older executor is destroyed.

        The toolkit keeps a cache of calls that have run. What it answers from there, as what another processor computes, is
        not repeatable: the first phase is done again for every run, and answered by that cache.
        """
        tensors = self._descriptors.tensors
        for index, pointer in enumerate(pointers):
            if pointer and self._descriptor_addresses[index] != pointer:
                library.call("aclSetRawTensorAddr", tensors[index], pointer)
                self._descriptor_addresses[index] = pointer
        for argument, index in self._scalars:
            if not is_same_scalar(numbers[index], self.numbers[index]):
                held = self._arguments[argument]
                self._arguments[argument] = self._descriptors.replace_scalar(held, numbers[index])
                self._is_refused = False
        self.numbers = numbers
        self.discard()
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        # Owned before it is there, so that an interrupt between leaves nothing behind.
        self._descriptors.own("aclDestroyAclOpExecutor", executor)
        status = self._first(*self._arguments, ctypes.byref(size), ctypes.byref(executor))
        if status:
            self._descriptors.disown(executor)
            library.fail(self._name, status)
        self.size, self._executor, self.handle = size.value, executor, executor.value or 0
        self.addresses = list(pointers)
        self.is_repeatable = False
        if not self._is_refused:
            status = library.bind("aclSetAclOpExecutorRepeatable")(executor)
            self.is_repeatable, self._is_refused = not status, status == ACLNN_ERR_INNER
            if self._is_refused:
                library.recent_message()  # which is not a later failure's
            elif status:
                reports.report("aclSetAclOpExecutorRepeatable", status)

    def discard(self) -> None:
        """Destroy the executor, if there is one."""
        if self.handle:
            library.call("aclDestroyAclOpExecutor", self.release())

    def move(self, pointers: Sequence[int]) -> None:
        """Set the addresses of the arrays that have moved, in a repeatable executor."""
        for index, pointer in enumerate(pointers):
            if pointer and self.addresses[index] != pointer:
                library.call("aclSetTensorAddr", self.handle, index, self._descriptors.tensors[index], pointer)
                self.addresses[index] = pointer
                # The toolkit does not document whether the descriptor's own address changes.
                self._descriptor_addresses[index] = 0

    def release(self) -> ctypes.c_void_p:
        """Return the executor and own it no longer: the caller destroys it, or it is destroyed already."""
        executor = self._executor
        assert executor is not None
        self._executor, self.handle = None, 0
        self._descriptors.disown(executor)
        return executor
