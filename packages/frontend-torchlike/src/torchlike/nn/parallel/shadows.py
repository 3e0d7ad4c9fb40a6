"""Steps of `DistributedDataParallel` where some processes have no more inputs, and take part with gradients of zero.

Note [Steps with shadows]
    In a step the processes that go on count themselves, find the one whose buffers count, the last of them, and tell whether
    gradients are averaged; the others do the same in ``main_hook``, in this order.
"""

from __future__ import annotations

from typing import Any

from ...history.grad_mode import no_grad
from ...names.lazy_names import call_late
from .joining import JoinHook

__all__ = ["DDPJoinHook", "tell_step"]

_all_reduce = call_late("torchlike.distributed.collectives", "all_reduce")
_notify = call_late("torchlike.distributed.algorithms.join", "notify_join_context")


def _combine(module: Any, value: float, op: str) -> float:
    from ...creation.factories import FACTORIES

    with no_grad():
        made = FACTORIES["full"]((1,), float(value), device=module.device)
        _all_reduce(made, op, module.process_group)
        return float(made.item())


def tell_step(module: Any, *, is_synced: bool) -> int:
    """Tell that this process goes on; return the rank whose buffers count, see Note [Steps with shadows]."""
    work = _notify(module)
    if work is not None:
        work.wait()
        if not module._divides_by_all:
            module._sums.divisor = int(work.result()[0].item())
    source = int(_combine(module, module.process_group.rank, "max"))
    _combine(module, is_synced, "max")
    return source


class DDPJoinHook(JoinHook):
    """A process's part in the calls of a `DistributedDataParallel` when it has no more inputs of its own."""

    def __init__(self, module: Any, *, divides_by_all: bool) -> None:
        super().__init__()
        self._module, module._divides_by_all = module, divides_by_all
        module._sums.divisor = module.process_group.size

    def main_hook(self) -> None:
        """Take part in a step of the processes that go on, see Note [Steps with shadows]."""
        module = self._module
        source = int(_combine(module, -1, "max"))
        is_synced = bool(_combine(module, False, "max"))
        if module._sums.syncs_buffers:
            module._sums.broadcast_buffers(source)
        module._sums.shadow(is_synced=is_synced)

    def post_hook(self, is_last_joiner: bool) -> None:
        """Give all processes the parameters and buffers of one of the last."""
        module = self._module
        source = _combine(module, module.process_group.rank if is_last_joiner else -1, "max")
        module._sums.divisor = module.process_group.size
        module._sums.broadcast_state(int(source))
