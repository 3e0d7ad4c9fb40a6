"""Optimizers whose states lie in parts (source: ``torch.distributed.optim``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import no_grad
from ..optim.optimizer import Optimizer
from ..tensors.tensor import Tensor
from ..values.pytree import tree_map
from .collectives import broadcast
from .objects import gather_object
from .process_groups import find_group, find_ranks

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer of which each process has the states of a part of the parameters.

    Each updates its parameters by ``optimizer_class(params, **defaults)`` and gives them to the others, so that all have
    what one optimizer for all would make. ``parameters_as_bucket_view`` changes nothing. Raises ``NotImplementedError`` for
    ``overlap_with_ddp`` (source: ``torch.distributed.optim.ZeroRedundancyOptimizer``).

    >>> import torchlike
    >>> from torchlike import distributed
    >>> distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> weight = torchlike.nn.Parameter(torchlike.ones(2))
    >>> optimizer = ZeroRedundancyOptimizer([weight], torchlike.optim.SGD, lr=0.5)
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> weight.tolist()
    [0.5, 0.5]
    >>> distributed.destroy_process_group()
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: Callable[..., Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp= is left out here\nHint: step() after backward does the same"
            )
        self.process_group = find_group("ZeroRedundancyOptimizer", process_group)
        self.optim: Any = None
        #: The parameters of each rank of the group, and how many elements they have.
        self._parts: list[list[Tensor]] = [[] for _ in range(self.process_group.size)]
        self._sizes = [0] * self.process_group.size
        #: The states of all parameters by their numbers, where `consolidate_state_dict` has brought them.
        self._consolidated: dict[int, Any] | None = None
        super().__init__(params, defaults)
        self.optim = optimizer_class([self._own_part(group) for group in self.param_groups], **defaults)
        _copy_settings(self.optim.param_groups, self.param_groups)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own, which are given to the ranks that have the fewest elements."""
        super().add_param_group(param_group)
        for each in sorted(param_group["params"], key=Tensor.numel, reverse=True):
            rank = self._sizes.index(min(self._sizes))
            self._parts[rank].append(each)
            self._sizes[rank] += each.numel()
        if self.optim is not None:
            self.optim.add_param_group(self._own_part(param_group))
            _copy_settings(self.optim.param_groups, self.param_groups)

    def _own_part(self, group: dict[str, Any]) -> dict[str, Any]:
        own = set(map(id, self._parts[self.process_group.rank]))
        return {**group, "params": [each for each in group["params"] if id(each) in own]}

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this process's parameters, and exchange them; every process of the group calls it."""
        self._consolidated = None
        _copy_settings(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure, **kwargs)
        with no_grad():
            for rank, part in enumerate(self._parts):
                for kind in dict.fromkeys((each.dtype, each.device) for each in part):
                    self._give(rank, [each for each in part if (each.dtype, each.device) == kind])
        _copy_settings(self.optim.param_groups, self.param_groups)
        return loss

    def _give(self, rank: int, parameters: Sequence[Tensor]) -> None:
        """Give the parameters of a rank to all, at once."""
        flat = FUNCTIONS["cat"]([each.detach().reshape(-1) for each in parameters])
        broadcast(flat, group=self.process_group, group_src=rank)
        if rank != self.process_group.rank:
            for each, values in zip(parameters, flat.split([each.numel() for each in parameters]), strict=True):
                each.copy_(values.view(each.shape))

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the states of all processes to a rank among all, on the host; every process of the group calls it."""
        numbers = self._numbers()
        states = {numbers[id(each)]: _to_host(state) for each, state in self.optim.state.items()}
        is_here = find_ranks(self.process_group)[self.process_group.rank] == to
        found: list[Any] = [None] * self.process_group.size
        gather_object(states, found if is_here else None, dst=to, group=self.process_group)
        merged = {number: state for each in found if each for number, state in each.items()}
        self._consolidated = dict(sorted(merged.items())) if is_here else None

    def _numbers(self) -> dict[int, int]:
        """Return the number of each parameter, by its id, as a state has them."""
        every = [each for group in self.param_groups for each in group["params"]]
        return {id(each): number for number, each in enumerate(every)}

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all processes; ``RuntimeError`` unless `consolidate_state_dict` has brought it here."""
        if self._consolidated is None:
            rank = find_ranks(self.process_group)[self.process_group.rank]
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={rank})` on all ranks beforehand if you meant to save the global state."
            )
        return {**super().state_dict(), "state": self._consolidated}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this process's part of a state that `state_dict` has returned in any process."""
        super().load_state_dict({**state_dict, "state": {}})
        numbers, packed = self._numbers(), self.optim.state_dict()
        own = [numbers[id(each)] for group in self.optim.param_groups for each in group["params"]]
        states = {
            place: state_dict["state"][number] for place, number in enumerate(own) if number in state_dict["state"]
        }
        groups = [
            {**group, "params": local["params"]}
            for group, local in zip(state_dict["param_groups"], packed["param_groups"], strict=True)
        ]
        self.optim.load_state_dict({**packed, "state": states, "param_groups": groups})
        self._consolidated = None
        _copy_settings(self.optim.param_groups, self.param_groups)


def _copy_settings(source: Sequence[dict[str, Any]], target: Sequence[dict[str, Any]]) -> None:
    """Copy the settings of groups, which schedules change in one of two optimizers."""
    for one, other in zip(source, target, strict=True):
        other.update({name: value for name, value in one.items() if name != "params"})


def _to_host(state: Any) -> Any:
    return tree_map(lambda each: each.cpu() if isinstance(each, Tensor) else each, state)
