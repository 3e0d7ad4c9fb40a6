"""Classes whose calls exchange tensors, and what a process does for them that has no more inputs.

(source: ``torch.distributed.algorithms.join``.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

__all__ = ["JoinConfig", "JoinHook", "Joinable"]


@dataclass(frozen=True)
class JoinConfig:
    """A `Join`'s settings, as its `Joinable` sees them."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class JoinHook:
    """A process's part in the calls of a `Joinable` when it has no more inputs of its own."""

    def main_hook(self) -> None:
        """Take part in the exchanges of one step of the processes that go on."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Come to an end once no process goes on; ``is_last_joiner`` is whether this one was among the last."""


class Joinable(ABC):
    """A class whose calls exchange tensors, for inputs that end earlier in some processes."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook of a process that has no more inputs; the keywords are those of `Join`."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the tensors by which processes tell each other that they go on."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of the processes."""


for _each in (JoinHook, Joinable):
    _each.__module__ = "torchlike.distributed.algorithms.join"
