"""The functions that make callers and runners: an engine, of which there are two, `reference` and `codegen`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from .._record import Record
from .boundary import Boundary
from .signature import ResultCheck, SpecializedKernels

if TYPE_CHECKING:
    from ..operators.entry import OperatorEntry
    from ..operators.result_watch import Watch
    from .adapters import SignatureAdapter
    from .lazy_function import FirstCalls
    from .native.plans import CallPlan
    from .traits import Runner


class KernelCall(Record):
    """How a runner calls a kernel that sees a backend's arrays."""

    entry: OperatorEntry
    boundary: Boundary
    kernel: Runner
    #: Stands before the arguments: the keyset, the operator.
    prefix: tuple[Any, ...] = ()
    #: Kernels that serve one value of one argument, and are called without it.
    specialized: SpecializedKernels = ()
    #: Compares the kernels' results with the shape rule's answer, for as long as it takes.
    watch: Watch | None = None
    #: Runs the calls for which the kernel returns ``NotImplemented``.
    below: Runner | None = None
    #: Whether the kernel leaves a call to ``below`` by an error, too.
    is_short: bool = False
    #: Whether a result that is the array of the argument it belongs to represents the argument, and any other is a copy.
    itself: bool = False


class Engine(Protocol):
    """The functions that make callers and runners; `reference` says what each does."""

    def make_caller(self, entry: OperatorEntry) -> Runner:
        """Return the function that a user's call runs."""

    def make_first_calls(self, entry: OperatorEntry, adapter: SignatureAdapter | None = None) -> FirstCalls | None:
        """Return a function that finds what serves first calls, or None where the caller does from the start."""

    def make_plan(self, entry: OperatorEntry, adapter: SignatureAdapter | None = None) -> CallPlan | None:
        """Return how a compiled front serves a function's calls, or None where there is none."""

    def make_adapted_caller(self, entry: OperatorEntry, adapter: SignatureAdapter) -> Runner:
        """Return the function of a frontend that calls an operator with its own argument names."""

    def make_redispatcher(self, entry: OperatorEntry) -> Runner:
        """Return the function that runs an operator for an explicit mask."""

    def make_fast_redispatch(self, entry: OperatorEntry, mask: int) -> Runner:
        """Return a function of checked arguments, by position, that runs the winner for ``mask``."""

    def make_caller_runner(
        self, entry: OperatorEntry, kernel: Runner, prefix: tuple[Any, ...], check: ResultCheck | None = None
    ) -> Runner:
        """Return a runner for a kernel that sees the caller's arguments."""

    def make_backend_runner(self, call: KernelCall) -> Runner:
        """Return a runner for a kernel that sees a backend's arrays."""

    def make_redirect(self, entry: OperatorEntry, target: Runner, arguments: Runner, run: Runner) -> Runner:
        """Return a runner that calls another operator, and ``run`` where that cannot serve."""

    def make_history_choice(
        self,
        entry: OperatorEntry,
        recorded: Runner,
        short: Runner,
        has_history: Callable[[Any], bool],
        records: Callable[[], bool] | None,
    ) -> Runner:
        """Return a runner that calls ``recorded`` where a tensor has a history, else ``short``."""
