"""The modules that a captured call has called: a replay calls none, and runs only where they are as they were.

A module that is called may use any of its descendants without calling them, such as a list of layers or the weight of
another, so all of them are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any
from weakref import ref

from ..history.captures import check_hook
from ..nn import global_hooks

#: The dicts of a module's hooks and of its parts, and those of the hooks of all modules.
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_PARTS = ("_parameters", "_buffers", "_modules")
_OF_ALL = (
    global_hooks.FORWARD_PRE,
    global_hooks.FORWARD,
    global_hooks.BACKWARD_PRE,
    global_hooks.BACKWARD,
    global_hooks.BACKWARD_OF_RESULT,
)


class ModuleGuards:
    """The modules of one recorded call."""

    def __init__(self, recording: Any) -> None:
        self._recording = recording
        #: id of a module → the module and its state at the beginning.
        self._seen: dict[int, tuple[Any, Any]] = {}
        self._called: set[int] = set()
        self._held: list[tuple[Any, Any]] = []

    def see(self, module: Any) -> None:
        """Take note of a module before it is called."""
        if id(module) in self._called:
            return
        self._called.add(id(module))
        self.see_tree(module)
        for hooks in (*(vars(module)[kind] for kind in _HOOKS), *_OF_ALL):
            for hook in hooks.values():
                check_hook(hook, f"A hook of {type(module).__name__},")

    def see_tree(self, module: Any) -> None:
        """Take note of a module and all its descendants before they are read or changed."""
        stack = [module]
        while stack:
            each = stack.pop()
            if each is not None and id(each) not in self._seen:
                self._seen[id(each)] = each, read_module(each)
                stack += each._modules.values()

    def hold(self, modules: list[Any]) -> None:
        """Take note of modules that the function refers to, and may read without calling them."""
        self._held = [(each, read_module(each)) for each in modules]

    def refuse_assignment(self, module: Any, name: str) -> None:
        """Refuse that the call gives a module another parameter, buffer or submodule."""
        self._recording.refuse(
            f"{type(module).__name__}.{name}, a parameter, buffer or submodule, is assigned",
            f"write to it in place, self.{name}.copy_(value), so that replays do it too",
        )

    def finish(self, inputs: Mapping[int, Any]) -> None:
        """Guard replays by the modules' state, and set their modes as the call has.

        Of the modules that the function refers to those count of which it has used a part.
        """
        used = inputs.keys() | self._seen.keys()
        waiting = {id(pair[0]): pair for pair in self._held if id(pair[0]) not in used}
        while found := [key for key, (module, _) in waiting.items() if not used.isdisjoint(_ids_of_parts(module))]:
            self._seen |= {key: waiting.pop(key) for key in found}
            used |= set(found)
        seen = list(self._seen.values())
        if not seen:
            return
        references = [ref(module) for module, _ in seen]
        before = [[*hooks] for hooks in _OF_ALL] + [before for _, before in seen]
        self._recording.guard(_make_reader(references, before), before)
        for module, before in seen:
            if module.training != before[0]:
                self._recording.effect(_set_training, ref(module), module.training)

    def end(self) -> None:
        """Drop the modules."""
        self._seen.clear()
        self._called.clear()
        self._held.clear()


def read_module(module: Any) -> list[Any]:
    """Return everything that a call of a module depends on: its mode, the identities of its parts, and its hooks."""
    own = module.__dict__
    found = [own["training"]]
    for kind in _PARTS:
        parts = own[kind]
        found.append(None)
        if parts:
            found += map(id, parts.values())
    found.append(None)
    for kind in _HOOKS:
        found += own[kind]
    return found


def _ids_of_parts(module: Any) -> list[int]:
    return [id(part) for kind in _PARTS for part in vars(module)[kind].values()]


def _read_all(references: list[Any]) -> Any:
    found: list[Any] = [[*hooks] for hooks in _OF_ALL]
    for reference in references:
        module = reference()
        if module is None:
            return None
        found.append(read_module(module))
    return found


def _make_reader(references: list[Any], before: list[Any]) -> Callable[[], Any]:
    """Return the function that reads all modules; it returns ``before`` itself where that is so still."""
    known = [(reference, *_split(read)) for reference, read in zip(references, before[len(_OF_ALL) :], strict=True)]
    if any(before[: len(_OF_ALL)]) or any(each[-1] for each in known):
        return lambda: _read_all(references)  # there are hooks

    def read() -> Any:
        if any(_OF_ALL):
            return _read_all(references)
        for reference, training, parameters, buffers, modules, _ in known:
            if (module := reference()) is None:
                return None
            own = module.__dict__
            if (
                own["training"] is not training
                or (_ids(own["_parameters"]) != parameters if parameters else own["_parameters"])
                or (_ids(own["_buffers"]) != buffers if buffers else own["_buffers"])
                or (_ids(own["_modules"]) != modules if modules else own["_modules"])
                or own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or own["_backward_hooks"]
                or own["_backward_pre_hooks"]
            ):
                return _read_all(references)
        return before

    return read


def _ids(parts: dict[str, Any]) -> list[int]:
    return [*map(id, parts.values())]


def _split(read: list[Any]) -> tuple[Any, ...]:
    """Return the mode, the identities of parameters, buffers and modules, and the hooks of `read_module`'s list."""
    ends = [index for index, each in enumerate(read) if each is None] + [len(read)]
    return read[0], *(read[start + 1 : end] for start, end in pairwise(ends))


def _set_training(reference: Any, mode: bool) -> None:
    module = reference()
    if module is not None:
        module.training = mode
