"""Training in several processes, each with its own batches (source: ``torch.nn.parallel.DistributedDataParallel``)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ...history.grad_mode import is_grad_enabled
from ...names.lazy_names import call_late
from ..modules.module import Module
from .buckets import GradBucket
from .joining import Joinable

__all__ = ["DistributedDataParallel"]

_join = call_late("torchlike.distributed.algorithms.join", "Join")


class DistributedDataParallel(Module, Joinable):
    """A module that all processes of a group train together: gradients are averaged over them in ``backward``.

    The parameters and buffers are rank 0's at first, and its buffers are given to all before each call unless
    ``broadcast_buffers`` is False. Gradients go in buckets of ``bucket_cap_mb``, each as soon as it is complete. With
    ``find_unused_parameters`` or ``static_graph`` some parameters may have no part in a loss; with
    ``gradient_as_bucket_view`` gradients are parts of the buckets, which saves their memory. The group is
    ``process_group``, that of a mesh with one dimension, or that of all processes. The names in ``state_dict()`` begin with
    ``module.``. A copy, and a module from a file, belongs to the group of all processes.

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

    _sums: Any

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
        from .gradient_sums import find_device_type, find_process_group

        super().__init__()
        Joinable.__init__(self)
        group = find_process_group(process_group, device_mesh)
        if mixed_precision is not None or delay_all_reduce_named_params is not None:
            raise NotImplementedError(
                "DistributedDataParallel: mixed_precision= and delay_all_reduce_named_params= are left out here\n"
                "Hint: torch.autocast computes in other dtypes"
            )
        self.device_type = find_device_type(module, device_ids, output_device)
        self.device = next(iter(module.parameters())).device
        self.module: Any = module
        self.process_group, self.dim, self.device_ids, self.output_device = group, dim, None, None
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.static_graph, self.gradient_as_bucket_view = static_graph, gradient_as_bucket_view
        self.bucket_cap_mb = 25.0 if bucket_cap_mb is None else float(bucket_cap_mb)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._make_sums()
        if init_sync:
            self._sums.check_parameters()
            self._sums.broadcast_state()

    def _make_sums(self) -> None:
        from .gradient_sums import GradientSums

        self._sums = GradientSums(
            self.module,
            self.process_group,
            self.parameters_to_ignore,
            bucket_cap_mb=self.bucket_cap_mb,
            allows_unused=self.find_unused_parameters or self.static_graph,
            broadcasts_buffers=self.broadcast_buffers,
            has_views=self.gradient_as_bucket_view,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the group, which is of this process."""
        state = dict(self.__dict__)
        for name in ("process_group", "_sums"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Join the group of all processes. Raises ``ValueError`` where there is none."""
        from .gradient_sums import find_process_group

        super().__setstate__(state)
        self.process_group = find_process_group(None, None)
        self._make_sums()

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
        rank = 0
        if self._join_config.enable:
            rank = self._tell_that_this_process_goes_on()
        self._sums.before(rank)
        return self._sums.after(self.module(*inputs, **kwargs))

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Combine gradients by a function of the program's: ``hook(state, bucket)`` returns a future of the bucket's result.

        ``bucket`` is a `torch.distributed.GradBucket`, whose numbers are not divided yet; the hooks of
        ``torch.distributed.algorithms.ddp_comm_hooks`` are some. Raises ``TypeError`` for anything but a function and for a
        hook without ``bucket``, ``RuntimeError`` for a second hook.
        """
        check_hook(hook)
        if self._sums.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._sums.hook = partial(hook, state)

    def _set_params_and_buffers_to_ignore_for_model(module: Any, names: Any) -> None:  # noqa: N805  # torch's static method
        """Leave parameters and buffers of a module out, which are averaged and given to others by no process."""
        module._ddp_params_and_buffers_to_ignore = names

    _set_params_and_buffers_to_ignore_for_model = staticmethod(_set_params_and_buffers_to_ignore_for_model)

    def _set_static_graph(self) -> None:
        if self._sums.has_run:
            raise RuntimeError("_set_static_graph() should be called before training loop starts")
        self.static_graph = True
        self._sums.allows_unused = True

    # ---- What libraries ask for by torch's internal names.

    @property
    def reducer(self) -> Any:
        """What averages the gradients; its ``prepare_for_backward(outputs)`` is for a ``forward`` without averaging."""
        return self._sums

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        parameters = list(self.module.parameters())
        return {
            "backend_name": self.process_group.backend,
            "module_name": type(self.module).__name__,
            "broadcast_buffers": int(self.broadcast_buffers),
            "bucket_cap_bytes": int(self.bucket_cap_mb * 2**20),
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
            "num_parameter_tensors": len(parameters),
            "total_parameter_size_bytes": sum(each.numel() * each.element_size() for each in parameters),
            "rank": self.process_group.rank,
            "world_size": self.process_group.size,
        }

    # ---- Inputs that end earlier in some processes.

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Any:
        """Return a context in which processes may have other numbers of inputs: one that has no more takes part with zeros.

        Gradients are divided by the number of all processes, or with ``divide_by_initial_world_size=False`` of those that
        go on. The module is that of the last process at the end. With ``throw_on_early_termination`` all processes get a
        ``RuntimeError`` once one has no more inputs.
        """
        return _join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> Any:
        """Return the hook of a process that has no more inputs, for `torch.distributed.algorithms.join.Join`."""
        from .shadows import DDPJoinHook

        return DDPJoinHook(self, divides_by_all=kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device of the tensors by which processes tell each other that they go on."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group of the processes."""
        return self.process_group

    def _tell_that_this_process_goes_on(self) -> int:
        from .shadows import tell_step

        return tell_step(self, is_synced=is_grad_enabled() and self._sums.syncs)


def check_hook(hook: Any) -> None:
    """Raise ``TypeError`` for what is no hook, ``ValueError`` for annotations of other types."""
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    found = inspect.signature(hook)
    if "bucket" not in found.parameters:
        raise TypeError(f"Communication hook: expected parameters state and bucket, not {found}")
    taken, given = found.parameters["bucket"].annotation, found.return_annotation
    if taken not in (inspect.Parameter.empty, GradBucket, "dist.GradBucket", "GradBucket"):
        raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    kind = getattr(given, "__origin__", given)
    if not isinstance(given, str) and given is not inspect.Signature.empty and kind.__name__ != "Future":
        raise ValueError("Communication hook: return annotation should be torch.futures.Future[torch.Tensor].")
