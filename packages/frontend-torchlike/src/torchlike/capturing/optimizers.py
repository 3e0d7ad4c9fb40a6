"""Optimizers and schedules in captured calls: their numbers are read at every replay, and go on as they do without capture.

A setting such as the learning rate may be another number at every step, and so is the number of steps in a parameter's
state. While a call is recorded an optimizer computes with live numbers in their places, and its writes to its state
are effects of each replay. The tensors of the state, all other settings and the parameters' groups are guards.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any
from weakref import ref

from ..history.captures import OPTIMIZERS, check_hook
from ..optim.hooks import STEP_HOOKS
from ..tensors.tensor import Tensor


class OptimizerStates:
    """The optimizers and schedules of one recorded call."""

    def __init__(self, recording: Any) -> None:
        self._recording = recording
        #: id of an optimizer → the optimizer and its state at the beginning.
        self._seen: dict[int, tuple[Any, Any]] = {}
        #: ids of optimizers whose schedules have made a step.
        self._scheduled: set[int] = set()
        #: id of a tensor of a state → its number as the call has read or written it last, and the tensor.
        self._numbers: dict[int, tuple[Any, Any]] = {}
        #: id of such a tensor → the number that each replay reads.
        self._read: dict[int, Any] = {}
        self._groups: dict[int, list[dict[str, Any]]] = {}
        self._steps = 0
        #: id of an optimizer → the optimizer and its settings at the beginning; of those made later nothing is kept.
        self._settings = {id(each): (each, list(map(dict, each.param_groups))) for each in list(OPTIMIZERS)}
        #: The ids of the tensors that were in their states, and among their settings.
        self._tensors: set[int] = set()

    def begin_step(self, optimizer: Any) -> None:
        """Take note of an optimizer before it makes a step."""
        name = type(optimizer).__name__
        if id(optimizer) in self._scheduled:
            self._recording.refuse(
                f"{name}.step() is called after a step of its schedule",
                "call scheduler.step() at the end of the function, or after it",
            )
        for hook in _find_hooks(optimizer):
            check_hook(hook, f"A hook of {name}.step(),")
        if any(group.get("differentiable") for group in optimizer.param_groups):
            self._recording.refuse(
                f"{name}(differentiable=True) makes a step", "leave the step out: it computes with tensors of its state"
            )
        if id(optimizer) not in self._seen and id(optimizer) in self._settings:
            before = read_state(optimizer)
            self._seen[id(optimizer)] = optimizer, before
            settings = [value for group in optimizer.param_groups for value in group.values()]
            self._tensors.update(id(each) for each in settings if isinstance(each, Tensor))
            self._tensors.update(id(each) for _, values in before for each in values)

    def find_groups(self, optimizer: Any) -> list[dict[str, Any]]:
        """Return an optimizer's groups with live numbers for those that are floats."""
        if id(optimizer) not in self._settings:
            groups: list[dict[str, Any]] = optimizer.param_groups
            return groups
        found = self._groups.get(id(optimizer))
        if found is None:
            found = self._groups[id(optimizer)] = [
                self._make_live(ref(optimizer), number, group) for number, group in enumerate(optimizer.param_groups)
            ]
        return found

    def _make_live(self, owner: Any, number: int, group: dict[str, Any]) -> dict[str, Any]:
        live = dict(group)
        for name, value in group.items():
            if type(value) is float:
                live[name] = self._recording.number(_reader(owner, number, name))
            elif type(value) is tuple and all(type(item) is float for item in value):
                live[name] = tuple(
                    self._recording.number(_reader(owner, number, name, place)) for place in range(len(value))
                )
        return live

    def read(self, tensor: Any) -> Any:
        """Return the number of a tensor of one element, of a state or a setting, as a live one."""
        known = self._numbers.get(id(tensor))
        if known is not None:
            return known[0]
        if id(tensor) not in self._tensors:
            return tensor._dispatch_data.item()
        found = self._read[id(tensor)] = self._recording.number(_state_reader(tensor))
        self._numbers[id(tensor)] = found, tensor
        return found

    def write(self, tensor: Any, value: Any) -> None:
        """Make every replay write a number to the tensor of a parameter's state."""
        if id(tensor) in self._tensors:
            self._numbers[id(tensor)] = value, tensor
            self._recording.effect(_state_writer(tensor), value, to=self._read.get(id(tensor)))

    def compute(self, function: Callable[..., float], *numbers: Any) -> Any:
        """Return ``function`` of live numbers, which every replay computes again."""
        return self._recording.compute(function, *numbers)

    def step_schedule(self, schedule: Any, step: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Make a step of a schedule, which every replay makes too."""
        if self._steps:
            return step(schedule, *args, **kwargs)
        optimizer = schedule.optimizer
        if any(isinstance(group["lr"], Tensor) for group in optimizer.param_groups):
            self._recording.refuse(
                f"{type(schedule).__name__} changes a learning rate that is a tensor",
                "make its step after the function",
            )
        self._steps += 1
        try:
            found = step(schedule, *args, **kwargs)
        finally:
            self._steps -= 1
        self._scheduled.add(id(optimizer))
        reference = ref(schedule)
        self._recording.guard(lambda: reference() is None)
        self._recording.effect(_step_schedule, reference, *args, *kwargs.values())
        return found

    def finish(self) -> None:
        """Guard replays by the tensors of the states; refuse numbers that only Python has written."""
        for optimizer, settings in self._settings.values():
            if id(optimizer) not in self._scheduled:
                _check_settings(self._recording, optimizer, settings)
        for optimizer, before in self._seen.values():
            _guard_settings(self._recording, optimizer, is_live=id(optimizer) in self._groups)
            after = read_state(optimizer)
            if [names for names, _ in after] != [names for names, _ in before]:
                # A replay makes no state: the next call is the first that may become one.
                self._recording.guard(object)
                continue
            for (_, values), (_, now) in zip(before, after, strict=True):
                _check_plain(self._recording, optimizer, values, now)
            reference = ref(optimizer)
            self._recording.guard(_state_guard(reference), _identities(before))

    def end(self) -> None:
        """Drop the optimizers."""
        self._seen.clear()
        self._numbers.clear()
        self._read.clear()
        self._groups.clear()
        self._settings.clear()


def read_state(optimizer: Any) -> list[tuple[list[Any], list[Any]]]:
    """Return the names and values of the state of each parameter."""
    state = optimizer.state
    return [
        ([*own], [*own.values()])
        for group in optimizer.param_groups
        for param in group["params"]
        for own in (state.get(param, _NO_STATE),)
    ]


_NO_STATE: dict[str, Any] = {}


def _identities(found: list[tuple[list[Any], list[Any]]]) -> list[list[int]]:
    return [[*map(id, values)] for _, values in found]


def _state_guard(reference: Any) -> Callable[[], Any]:
    def read() -> Any:
        optimizer = reference()
        if optimizer is None:
            return None
        state = optimizer.state
        return [
            [*map(id, state.get(param, _NO_STATE).values())]
            for group in optimizer.param_groups
            for param in group["params"]
        ]

    return read


def _check_plain(recording: Any, optimizer: Any, before: list[Any], after: list[Any]) -> None:
    for old, new in zip(before, after, strict=True):
        if isinstance(new, Tensor):
            if new is not old:
                recording.guard(object)
        elif type(new) is not type(old) or new != old:
            recording.refuse(
                f"{type(optimizer).__name__}.step() changes {old!r} to {new!r} in its state",
                "keep it in a tensor that the step writes to in place, or count outside of the function",
            )


def _find_hooks(optimizer: Any) -> list[Any]:
    """Return the hooks that run with an optimizer's steps."""
    own = optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks
    return [hook for hooks in (*own, *STEP_HOOKS) for hook in hooks.values()]


def _check_settings(recording: Any, optimizer: Any, before: list[dict[str, Any]]) -> None:
    """Refuse that the call itself gives an optimizer other settings."""
    if len(before) != len(optimizer.param_groups):
        recording.refuse(f"{type(optimizer).__name__} is given a group of parameters", "add it before the call")
    for old, group in zip(before, optimizer.param_groups, strict=True):
        for name, value in group.items():
            if name not in old or not (old[name] is value or (type(value) is float and old[name] == value)):
                recording.refuse(
                    f"{type(optimizer).__name__}'s setting {name!r} is given another value",
                    "set it before the call, or by a schedule: replays read what it is then",
                )


def _guard_settings(recording: Any, optimizer: Any, *, is_live: bool) -> None:
    """Guard replays by the settings that are not live numbers."""
    reference, groups = ref(optimizer), optimizer.param_groups
    floats = [[name for name, value in group.items() if is_live and type(value) is float] for group in groups]
    names = [
        [name for name in group if name != "params" and name not in some]
        for group, some in zip(groups, floats, strict=True)
    ]
    plain = _plain if is_live else _identify
    known = [
        (len(group), [*map(id, group["params"])], others, [*map(group.get, others)], some)
        for group, others, some in zip(groups, names, floats, strict=True)
    ]
    is_plain = not any(isinstance(value, Tensor) for each in known for value in each[3])

    def is_same(own: Any) -> bool:
        """Return whether there are no hooks, and all settings are the very objects, which is quicker."""
        return not (own._optimizer_step_pre_hooks or own._optimizer_step_post_hooks or any(STEP_HOOKS)) and all(
            len(group) == count
            and [*map(id, group["params"])] == params
            and all(map(is_, map(group.get, others), values))
            and all(type(group.get(name)) is float for name in some)
            for group, (count, params, others, values, some) in zip(own.param_groups, known, strict=True)
        )

    def read() -> Any:
        own = reference()
        if own is None or len(own.param_groups) != len(names):
            return None
        if before is not None and is_same(own):
            return before
        hooks = _find_hooks(own)
        return [
            (
                len(group),
                [*map(id, group["params"])],
                [plain(group.get(name)) for name in others],
                [group.get(name).__class__ for name in some],
                [*map(id, hooks)],
            )
            for group, others, some in zip(own.param_groups, names, floats, strict=True)
        ]

    before = None
    found = read()
    if is_plain and found is not None and not any(each[-1] for each in found):
        before = found
    recording.guard(read, found)


def _identify(value: Any) -> Any:
    """Return a setting as it is compared where none is live."""
    return id(value) if isinstance(value, Tensor) else value


def _plain(value: Any) -> Any:
    """Return a setting as it is compared: tensors by identity, floats within tuples by their type."""
    if isinstance(value, Tensor):
        return id(value)
    if type(value) is tuple and all(type(item) is float for item in value):
        return len(value)
    return value


def _reader(owner: Any, number: int, name: str, place: int | None = None) -> Callable[[], Any]:
    """Return the function that reads a setting."""
    if place is None:
        return lambda: owner().param_groups[number][name]
    return lambda: owner().param_groups[number][name][place]


def _state_reader(tensor: Any) -> Callable[[], Any]:
    """Return the function that reads a number of a state; the state's tensors are guards, and outlive it."""
    reference = ref(tensor)

    def read() -> Any:
        own: Any = reference()
        return own._dispatch_data.item()

    return read


def _state_writer(tensor: Any) -> Callable[[Any], None]:
    reference = ref(tensor)

    def write(value: Any) -> None:
        own: Any = reference()
        own._dispatch_data[...] = value
        own._count_write()

    return write


def _step_schedule(reference: Any, *args: Any) -> None:
    schedule = reference()
    if schedule is not None:
        schedule.step(*args)
