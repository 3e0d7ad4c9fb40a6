"""Hooks by which `DistributedDataParallel` combines gradients (source: ``torch.distributed.algorithms.ddp_comm_hooks``)."""

from __future__ import annotations

from enum import Enum
from typing import Any

from .debugging_hooks import noop_hook
from .default_hooks import allreduce_hook, bf16_compress_hook, fp16_compress_hook

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class _Registration:
    """A hook that registers itself: ``DDPCommHookType.ALLREDUCE.value(model=net, state=None)``."""

    def __init__(self, hook: Any) -> None:
        self._hook = hook

    def __call__(self, model: Any, state: Any = None) -> None:
        model.register_comm_hook(state, self._hook)


class DDPCommHookType(Enum):
    """The hooks by name; those that torch has for gradients of low rank and in 8 bits are left out."""

    ALLREDUCE = _Registration(allreduce_hook)
    FP16_COMPRESS = _Registration(fp16_compress_hook)
    BF16_COMPRESS = _Registration(bf16_compress_hook)
    NOOP = _Registration(noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Make a `DistributedDataParallel` combine gradients by a hook, whose state is a group, by default of all processes.

    >>> import torchlike
    >>> torchlike.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> net = torchlike.nn.parallel.DistributedDataParallel(torchlike.nn.Linear(2, 1))
    >>> register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, net)
    >>> net(torchlike.ones(3, 2)).sum().backward()
    >>> net.module.bias.grad
    tensor([3.])
    >>> torchlike.distributed.destroy_process_group()
    """
    comm_hook_type.value(model=model, state=state)
