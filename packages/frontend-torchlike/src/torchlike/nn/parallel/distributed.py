"""Training in several processes, each with its own batches (source: ``torch.nn.parallel.DistributedDataParallel``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..modules.module import Module

if TYPE_CHECKING:
    from .gradient_sums import GradientSums

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module that all processes of a group train together: gradients are averaged over them in ``backward``.

    The parameters and buffers are rank 0's at first, and its buffers are given to all before each call unless
    ``broadcast_buffers`` is False. Gradients go in buckets of ``bucket_cap_mb``, each as soon as it is complete. With
    ``find_unused_parameters`` some parameters may have no part in a loss. The group is ``process_group``, that of a mesh
    with one dimension, or that of all processes. The names in ``state_dict()`` begin with ``module.``.

    Raises ``RuntimeError`` where no parameter needs a gradient or the processes have other parameters, and at the call
    behind a ``backward`` that left parameters out; ``ValueError`` for ``device_ids``, parameters on several types of
    devices, and without a group.

    >>> import torchlike
    >>> torchlike.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> net = DistributedDataParallel(torchlike.nn.Linear(2, 1))
    >>> net(torchlike.ones(3, 2)).sum().backward()
    >>> net.module.bias.grad, list(net.state_dict())
    (tensor([3.]), ['module.weight', 'module.bias'])
    >>> torchlike.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        from .gradient_sums import GradientSums, find_device_type, find_process_group

        super().__init__()
        group = find_process_group(process_group, device_mesh)
        if mixed_precision is not None or delay_all_reduce_named_params is not None:
            raise NotImplementedError(
                "DistributedDataParallel: mixed_precision= and delay_all_reduce_named_params= are left out here\n"
                "Hint: torch.autocast computes in other dtypes"
            )
        self.device_type = find_device_type(module, device_ids, output_device)
        self.module: Any = module
        self.process_group, self.dim, self.device_ids, self.output_device = group, dim, None, None
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.static_graph, self.gradient_as_bucket_view = static_graph, gradient_as_bucket_view
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._sums: GradientSums = GradientSums(
            module,
            group,
            ignored,
            bucket_cap_mb=25.0 if bucket_cap_mb is None else bucket_cap_mb,
            allows_unused=find_unused_parameters or static_graph,
            broadcasts_buffers=broadcast_buffers,
        )
        if init_sync:
            self._sums.check_parameters()
            self._sums.broadcast_state()

    @property
    def require_backward_grad_sync(self) -> bool:
        """Whether ``backward`` averages gradients over the processes."""
        return self._sums.syncs

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, value: bool) -> None:
        self._sums.syncs = value

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Keep each process's own gradients of the calls in the block, to be averaged by a ``backward`` behind it."""
        before, self._sums.syncs = self._sums.syncs, False
        try:
            yield
        finally:
            self._sums.syncs = before

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        self._sums.before()
        return self._sums.after(self.module(*inputs, **kwargs))
