"""Passes run one after the other, in an order that constraints allow (source: ``torch.fx.passes.infra.pass_manager``)."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import Any

from ....nn.modules.module import Module
from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

Pass = Callable[[Any], Any]
Constraint = Callable[[Pass, Pass], bool]


def pass_result_wrapper(fn: Pass) -> Pass:
    """Return a pass that returns a `PassResult` of a function that returns a module, or changes the one that it is given.

    >>> import torchlike
    >>> pass_result_wrapper(lambda module: None)(torchlike.nn.ReLU())
    PassResult(graph_module=ReLU(), modified=True)
    """

    @wraps(fn)
    def call(module: Module) -> PassResult:
        result = fn(module)
        if isinstance(result, PassResult):
            return result
        return PassResult(module if result is None else result, True)

    if not inspect.isfunction(fn):
        call.__name__ = type(fn).__name__
    return call


def _topological_sort_passes(passes: list[Pass], constraints: list[Constraint]) -> list[Pass]:
    """Return passes in an order that the constraints allow; ``RuntimeError`` where there is none."""
    before: dict[Pass, list[Pass]] = {
        one: [other for other in passes if other is not one and not all(allows(one, other) for allows in constraints)]
        for one in passes
    }
    ready = deque(one for one in passes if not before[one])
    found: list[Pass] = []
    while ready:
        one = ready.popleft()
        found.append(one)
        for other, earlier in before.items():
            if one in earlier:
                earlier.remove(one)
                if not earlier:
                    ready.append(other)
    if len(found) < len(passes):
        left = [one for one in passes if one not in found]
        raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
    return found


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """Return the constraint that one pass runs before another.

    >>> allows = this_before_that_pass_constraint(len, print)
    >>> allows(len, print), allows(print, len)
    (True, False)
    """
    return lambda first, second: first != that or second != this


class PassManager:
    """Runs passes, in an order that constraints allow, up to ``steps`` times while they change something.

    >>> import torchlike
    >>> manager = PassManager([pass_result_wrapper(lambda module: module.graph.eliminate_dead_code() and None)])
    >>> result = manager(torchlike.fx.symbolic_trace(lambda x: (x + 1, x)[1]))
    >>> list(result.graph_module.graph.nodes)
    [x, output]
    """

    steps = 1

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes = passes or []
        self.constraints = constraints or []
        if steps:
            self.steps = steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint: ``constraint(first, second)`` says whether a pass may run before another."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raise ``RuntimeError`` where the order of the passes breaks a constraint."""
        if self._validated:
            return
        for index, first in enumerate(self.passes):
            for at, second in enumerate(self.passes[index + 1 :], index + 1):
                if not all(allows(first, second) for allows in self.constraints):
                    raise RuntimeError(
                        f"pass schedule constraint violated. Expected {second} before {first} but found {first} at index "
                        f"{index} and {second} at index {at} in pass list."
                    )
        self._validated = True

    def solve_constraints(self) -> None:
        """Bring the passes into an order that the constraints allow; ``RuntimeError`` where there is none."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[[Module], None]) -> None:
        """Check modules by a function of one argument, before and perhaps between passes; ``TypeError`` for others."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign, assignment]  # torch's way

    def check(self, module: Module) -> None:
        """Accept every module."""

    def __call__(self, module: Module) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            module, modified = self._run(module)
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)

    def _run(self, module: Module) -> tuple[Module, bool]:
        names = [each.__name__ if inspect.isfunction(each) else type(each).__name__ for each in self.passes]
        changed = False
        for index, one in enumerate(self.passes):
            try:
                result = one(module)
                if not hasattr(result, "graph_module"):
                    raise TypeError(
                        f"The result of the pass {names[index]} should be type PassResult."
                        "Please wrap it with pass_result_wrapper()"
                    )
                module, changed = result.graph_module, changed or result.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            except Exception as error:
                raise Exception(  # noqa: TRY002  # as torch
                    f"An error occurred when running the '{names[index]}' pass after the following passes: {names[:index]}"
                ) from error
        return module, changed
