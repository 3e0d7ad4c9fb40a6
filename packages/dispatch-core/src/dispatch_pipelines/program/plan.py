"""Plans: how a program runs. Made once for each structure, by the device's plugin or by default, and kept.

Note [Plans are kept]
    A plan serves every recording with the structure that it was made for (see Note [Structure] in `program`). The most
    recently used ones are kept; looking one up takes no lock, because a look-up only reads, and sets when it was.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from dispatch_core.arrays import owners
from dispatch_core.arrays.launches import LaunchLog, find_log, number_step
from dispatch_core.arrays.written_memory import OVERWRITES
from dispatch_core.calls import conformance
from dispatch_core.discovery import loader
from dispatch_core.errors import BackendError, DispatchError, KernelResultError
from dispatch_core.forks import Order, forkable
from dispatch_core.layers.stages import stage
from dispatch_core.operators.entry import CHANGES
from dispatch_core.operators.kernel_names import describe_planned_step

from ..record.liveness import observable_nodes
from .donation import check_donated
from .fingerprints import ProgramFingerprint, build, describe_kernel_of
from .model import Node, PlannedStep, PlanOptions, Program, Value

if TYPE_CHECKING:
    from dispatch_core.keys.table import DispatchKey


#: How many plans are kept.
KEPT: Final = 512
_plans: Final[dict[tuple[Any, ...], Plan]] = {}
_lock: Final = forkable(Order.TABLE)
_clock: Final = itertools.count()


class Part:
    """One step of a plan: the calls that it covers, the function that runs, and the values that it uses last."""

    __slots__ = ("calls", "frees", "needed", "nodes", "planned", "run")

    def __init__(
        self,
        nodes: tuple[int, ...],
        calls: tuple[Node, ...],
        run: Callable[[list[Any]], None],
        frees: tuple[int, ...],
        needed: frozenset[int],
        planned: PlannedStep | None,
    ) -> None:
        #: The indices of the recorded steps, and what the program has of them.
        self.nodes, self.calls = nodes, calls
        self.run, self.frees = run, frees
        #: The indices of the results that are kept, or that another part reads.
        self.needed = needed
        #: The planned step of the device's plugin; None for one node's own kernel.
        self.planned = planned

    def with_run(self, run: Callable[[list[Any]], None]) -> Part:
        """Return the same part with another function to run."""
        return Part(self.nodes, self.calls, run, self.frees, self.needed, self.planned)

    @property
    def name(self) -> str:
        """The names of its calls, as a profile shows them."""
        return _name_part([each.name for each in self.calls])

    @property
    def made(self) -> list[tuple[Node, Value]]:
        """The results of its calls."""
        return [(node, each) for node in self.calls for each in node.outputs if each is not None]

    def describe(self) -> str:
        """Return the text that names the function that runs."""
        if self.planned is None:
            return describe_kernel_of(self.calls[0].kind)
        names = ", ".join(each.name for each in self.calls)
        return describe_planned_step(self.calls[0].device, self.planned.run, names)

    def find_mismatch(self, values: list[Any]) -> DispatchError | None:
        """Return the error for a result that differs from its shape rule, or is not stored; or None."""
        for node, value in self.made:
            array = values[value.index]
            if array is None:
                # A result that no other node needs may be left out.
                if self.planned is not None and value.index in self.needed:
                    return KernelResultError(
                        f"{node.name}: its planned step has run and stored nothing for the result\n{self.describe()}",
                        hint="set values[output.index] for every result that is kept or that another node reads",
                    )
                continue
            try:
                found = conformance.compare(array, value.shape, value.strides, value.dtype)
            except DispatchError as error:  # An array that its own type cannot describe.
                return error
            if found is not None:
                return conformance.misfit_error(node.kind.entry, found, self.describe())
        return None


class Plan:
    """The parts in the order in which they run."""

    __slots__ = (
        "donated",
        "dropped",
        "fused",
        "has_warned",
        "is_compared",
        "notes",
        "parts",
        "planned",
        "saved",
        "used",
    )

    def __init__(self, parts: Sequence[Part], planned: Sequence[PlannedStep], dropped: tuple[int, ...]) -> None:
        self.parts, self.planned = tuple(parts), tuple(planned)
        #: The steps that do not run, because nothing of them is observable.
        self.dropped = dropped
        #: How many nodes run together with others.
        self.fused = sum(len(step.nodes) for step in planned if len(step.nodes) > 1)
        #: Bytes of results that are never stored, and how many arrays are used up.
        self.saved = sum(step.saved for step in planned)
        self.donated = sum(len(step.donated) for step in planned)
        self.used = next(_clock)
        #: What planned steps say of themselves.
        self.notes = tuple([step.note for step in planned if step.note is not None])
        #: Whether it has run, with results that agree with the shape rules.
        self.is_compared = False
        #: Whether it was said that a planned step raises which its nodes' own kernels do not.
        self.has_warned = False


def find(key: tuple[Any, ...]) -> Plan | None:
    """Return the plan that is kept for a structure; see Note [Plans are kept].

    Raises ``TypeError`` for a structure with an argument that cannot be a key.
    """
    plan = _plans.get(key)
    if plan is not None:
        plan.used = next(_clock)
    return plan


def clear() -> None:
    """Forget all plans, and with them the guards that lead to them."""
    with _lock:
        CHANGES[0] += 1
        _plans.clear()


def _keep(key: tuple[Any, ...], plan: Plan) -> None:
    with _lock:
        while len(_plans) >= KEPT:
            del _plans[min(_plans, key=lambda each: _plans[each].used)]
        _plans[key] = plan


def make(found: ProgramFingerprint, device: DispatchKey, options: PlanOptions) -> Plan:
    """Ask the device's plugin for a plan, complete it, and keep it; nodes that are not observable are left out."""
    with stage("plan", "make"):
        plan = complete(found, build(found, options), device)
        _keep(found.key, plan)
        return plan


def complete(found: ProgramFingerprint, program: Program, device: DispatchKey) -> Plan:
    """Ask the device's plugin for a plan of a fingerprint's program, and complete it."""
    live = observable_nodes(program)
    dropped = tuple(sorted(set(range(len(program.nodes))).difference(live)))
    program = Program(
        tuple([program.nodes[index] for index in live]), program.values, program.fuse, program.check_indices
    )
    orders_streams = any(node.kind.orders_streams for node in program.nodes)
    planned = _ask_planner(program, device) if live and not orders_streams else []
    runs_last = {step.nodes[-1]: step for step in planned}
    covered = {node for step in planned for node in step.nodes}
    log = find_log(device) if planned else None
    order: list[tuple[tuple[int, ...], Callable[[list[Any]], None], PlannedStep | None]] = []
    for index, node in enumerate(program.nodes):
        if index in runs_last:
            step = runs_last[index]
            run = step.run if log is None else _number(step, program, log)
            order.append((step.nodes, run, step))
        elif index not in covered:
            order.append(((index,), node.runner(), None))
    return Plan(list(_add_frees(program, order, live)), planned, dropped)


def _number(step: PlannedStep, program: Program, log: LaunchLog) -> Callable[[list[Any]], None]:
    """Return the function of a planned step, numbered as one call; see Note [Late errors] in `launches`."""
    nodes = [program.nodes[index] for index in step.nodes]
    made = {each.index for node in nodes for each in node.outputs if each is not None}
    used = Counter(each.index for node in nodes for each in node.inputs())
    written = {each.index for node in nodes for each in node.written} - made
    targets = {each.index for node in nodes if node.name in OVERWRITES for each in node.written}
    overwritten = {index for index in targets - made if used[index] == 1}
    name = ", ".join(node.name for node in nodes)
    read = used.keys() - made - overwritten
    reads, overwrites, makes, writes = (tuple(sorted(each)) for each in (read, overwritten, made, written))
    return number_step(step.run, name, reads, overwrites, makes, writes, log)


def _ask_planner(program: Program, device: DispatchKey) -> list[PlannedStep]:
    """Return the planned steps of the device's plugin; where they are not valid, none, with a warning."""
    name = owners.KEY_DEVICES.get(device.backend)
    if name is None:
        return []
    try:
        planned = list(loader().plan(name, program) or ())
        _check(program, planned)
    except Exception as error:  # noqa: BLE001  # a fault of the planner must not cost the result
        warnings.warn(
            f"The plugin for device {name!r} cannot plan a pipeline, so its kernels run one by one:"
            f" {type(error).__name__}: {error}",
            RuntimeWarning,
            stacklevel=2,
        )
        return []
    return planned


def _check(program: Program, planned: Iterable[PlannedStep]) -> None:
    """Check that no node runs twice, or before its inputs are there."""
    turn = list(range(len(program.nodes)))
    seen: set[int] = set()
    for step in planned:
        if not step.nodes or list(step.nodes) != sorted(set(step.nodes)) or not seen.isdisjoint(step.nodes):
            raise BackendError(f"a planned step runs the nodes {step.nodes}", hint="each once, in ascending order")
        seen.update(step.nodes)
        for covered in step.nodes:
            turn[covered] = step.nodes[-1]
    maker = {id(value): index for index, node in enumerate(program.nodes) for value in node.outputs}
    for index, node in enumerate(program.nodes):
        for value in node.inputs():
            if turn[maker.get(id(value), index)] > turn[index]:
                raise BackendError(
                    f"{node.name} would run before its inputs are there",
                    hint="a planned step runs where its last node stands",
                )
    for step in planned:
        check_donated(step, program, turn)


def _add_frees(
    program: Program,
    order: Sequence[tuple[tuple[int, ...], Callable[[list[Any]], None], PlannedStep | None]],
    live: Sequence[int],
) -> Iterable[Part]:
    """Yield the parts, each with the values that are needed for the last time; ``live`` has the step of each node."""
    last: dict[int, int] = {}
    for place, (nodes, _, _) in enumerate(order):
        for node in (program.nodes[index] for index in nodes):
            for value in (*node.inputs(), *(output for output in node.outputs if output is not None)):
                if not value.given and not value.kept:
                    last[value.index] = place
    frees: list[list[int]] = [[] for _ in order]
    for value_index, place in last.items():
        if place + 1 < len(order):  # after the last part all go
            frees[place].append(value_index)
    for place, (nodes, run, planned) in enumerate(order):
        calls = tuple([program.nodes[index] for index in nodes])
        made = [each.index for node in calls for each in node.outputs if each is not None]
        needed = frozenset(index for index in made if last.get(index) != place)
        yield Part(tuple([live[index] for index in nodes]), calls, run, tuple(frees[place]), needed, planned)


def _name_part(names: Sequence[str]) -> str:
    """Return the name of the nodes that run together.

    >>> _name_part(["aten::mul.Tensor"]), _name_part(["aten::mul.Tensor", "aten::exp", "aten::add.Tensor", "aten::exp"])
    ('aten::mul.Tensor', 'aten::mul.Tensor, aten::exp and 2 more')
    """
    shown = ", ".join(names[:2])
    return shown if len(names) < 3 else f"{shown} and {len(names) - 2} more"
