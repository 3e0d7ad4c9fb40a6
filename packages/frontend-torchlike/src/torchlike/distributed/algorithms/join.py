"""Inputs that end earlier in some processes (source: ``torch.distributed.algorithms.join``)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final, Self

from ...history.grad_mode import no_grad
from ...nn.parallel.joining import Joinable, JoinConfig, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]

#: After how many steps without inputs a process is warned.
_MANY: Final = 1000


class Join:
    """A context in which processes may have other numbers of inputs.

    A process that leaves it goes on with the ``main_hook`` of each `Joinable` until no process is left inside, then with the
    ``post_hook``. The keywords go to ``join_hook``. Raises ``ValueError`` without joinables, and for several groups; with
    ``throw_on_early_termination`` all processes get a ``RuntimeError`` once one has no more inputs.

    >>> import torchlike
    >>> from torchlike.nn.parallel import DistributedDataParallel
    >>> torchlike.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> net = DistributedDataParallel(torchlike.nn.Linear(2, 1))
    >>> with Join([net]):
    ...     net(torchlike.ones(3, 2)).sum().backward()
    >>> net.module.bias.grad
    tensor([3.])
    >>> torchlike.distributed.destroy_process_group()
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = list(joinables)
        self._hooks = [each.join_hook(**kwargs) for each in self._joinables]
        self._is_on, self._throws = enable, throw_on_early_termination
        for place, each in enumerate(self._joinables):
            each._join_config = JoinConfig(enable, throw_on_early_termination, place == 0)
        groups = [each.join_process_group for each in self._joinables]
        if any(each is not groups[0] for each in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._group = groups[0]
        self._device = next((each.join_device for each in self._joinables if each.join_device is not None), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._is_on and kind is None:
            self._join()
        for each in self._joinables:
            each._join_config = JoinConfig()

    def _join(self) -> None:
        from .. import get_rank

        rank, steps = get_rank(self._group), 0
        while _count(self._group, self._device, 0):
            if self._throws:
                _count(self._group, self._device, 1)
                raise RuntimeError(f"Rank {rank} exhausted all inputs.")
            for each in self._hooks:
                each.main_hook()
            steps += 1
            if steps == _MANY:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_MANY}. This means that rank {rank} has at least "
                    f"{_MANY} fewer inputs than other currently-active ranks. This level of skew could lead to "
                    "performance degradation during training.",
                    stacklevel=3,
                )
        for each in self._hooks:
            each.post_hook(not steps)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Tell, before a step's exchanges, that this process goes on; return the work of it for the first of a `Join`'s.

        Raises ``RuntimeError`` where a process has no more inputs, and the `Join` shall end all.
        """
        return notify_join_context(joinable)


def notify_join_context(joinable: Joinable) -> Any:
    """Do what `Join.notify_join_context` does."""
    from .. import all_reduce

    config = getattr(joinable, "_join_config", None)
    if config is None:
        raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
    if not (config.enable and config.is_first_joinable):
        return None
    device, group = joinable.join_device, joinable.join_process_group
    with no_grad():
        work = all_reduce(_number(device, 1), group=group, async_op=True)
    if config.throw_on_early_termination and _count(group, device, 0):
        raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
    return work


def _number(device: Any, value: float) -> Any:
    from ...creation.factories import FACTORIES

    return FACTORIES["full"]((1,), float(value), device=device)


def _count(group: Any, device: Any, value: float) -> float:
    """Return the sum of a number over all processes."""
    from .. import all_reduce

    with no_grad():
        made = _number(device, value)
        all_reduce(made, group=group)
        return float(made.item())
