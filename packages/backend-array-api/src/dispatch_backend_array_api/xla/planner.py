"""Programs of a pipeline for XLA: all nodes that JAX can trace are compiled together, as one function.

Note [What falls out]
    A kernel that needs values, because it computes on the host or decides by an element, cannot be traced. When a program is
    planned every node is traced once on shapes alone. A node that fails is tried again with its numbers as constants: the
    program is compiled for each of their values then. One that fails still, and one that the host draws random numbers
    for, runs its own kernel where it stands, and cuts the program in two there.

Note [Overlapping slices]
    Compiled for the CPU by JAX 0.10, ``x.at[1:].set(x[:-1])`` of an ``x`` that the program has computed reads elements that
    it has written already. So a slice is written by a choice between the old elements and the new ones.

Note [Donated buffers]
    The array of a value with a successor is donated to the function that makes the successor, if that has its shape and
    dtype: XLA writes the one into the memory of the other, and JAX calls the array deleted. JAX pairs donated arguments with
    results of their look in the order of both, so successors are the first results, in the order of the arrays before them.
    Memory that NumPy sees, or a DLPack capsule, JAX copies by itself. Of two arrays in one buffer, such as another placement
    of an array is, it refuses to take one as donated, before anything has run; then the function is called with a copy.

Kernels check indices and probabilities; where these are traced the checks become a part of the program. In a pipeline
the outcome is read when the function has run, and a program in which one has failed raises: its nodes run one by one
then, and the wrong one says so. A program that is replayed hands the outcome on: see `error_words`.

A function that calls back into Python (``jax.pure_callback``) may have been left when the callback raises: the error
stands in its results. It is waited for, so that it is the step's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache, wraps
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import jaxprs_in_params
from jax.sharding import NamedSharding, PartitionSpec

from dispatch_core import PlannedStep, Program
from dispatch_core.planning import Node, Value

from ..error_words import OVERWRITES, ErrorWords
from ..jax_places import HOME, bring_home, commit, explain, find_homes, following, place_of, settle, several
from ..jax_random import DRAWS, ProgramDraws, Source, following_draws, restart_draws
from ..library import ArrayLibrary
from ..value_checks import Check, collect_checks
from .numbers import HeldRoots, Numbers, fits
from .words import Chains, measure

#: Numbers that represent others of their type while a program is planned: none that a kernel treats in its own way.
_SAMPLES: Final[dict[type, Any]] = {float: 0.37, int: 3, complex: 0.37 + 0.61j}
_RANDOM: Final = "nondeterministic_seeded"


def make_planner(
    library: ArrayLibrary, words: ErrorWords, around: Callable[..., Any]
) -> Callable[[Program], list[PlannedStep]]:
    """Return the function that plans programs of a library of JAX's arrays; ``around`` wraps the functions that call JAX.

    ``words`` keeps the error words of programs that are replayed.
    """

    def plan(program: Program) -> list[PlannedStep]:
        if not program.fuse:
            return []
        found = around(_try_out)(program, library)
        replayed = any(node.fault is not None for node in program.nodes)
        has_checks = bool(found.checked) and program.check_indices
        chains, keeps = Chains(words), has_checks and replayed
        made = [Compiled(program, part, found, words, chains, keeps=keeps) for part in _split(program, found.refused)]
        made = [each for each in made if len(each.nodes) > 1 or each.donated or (keeps and each.is_checked)]
        place = len(program.values)
        for each in made:
            if each.numbers is not None:
                each.place, place = place, place + 1

        duplicate = around(jnp.array)

        def copy(array: Any) -> Any:
            words.check((array,))
            found = duplicate(array, copy=True)
            if words.standing:
                words.pass_on(words.sources((array,)), (found,))
            return found

        return [
            PlannedStep(
                each.nodes,
                around(each.run),
                each.saved,
                each.donated,
                copy,
                numbers=() if each.numbers is None else each.numbers.roots,
            )
            for each in made
        ]

    return plan


def _split(program: Program, refused: set[int]) -> Iterator[tuple[int, ...]]:
    """Yield the nodes between those that are refused."""
    part: list[int] = []
    for index in range(len(program.nodes)):
        if index not in refused:
            part.append(index)
            continue
        if part:
            yield tuple(part)
        part = []
    if part:
        yield tuple(part)


class _Trial(NamedTuple):
    """The result of tracing each node of a program; see Note [What falls out]."""

    #: The nodes that cannot be traced.
    refused: set[int]
    #: The values that must be constants.
    fixed: set[int]
    #: The nodes that check values.
    checked: set[int]
    #: Whether a node calls back.
    calls_back: bool
    #: The nodes that draw random numbers → the generators that each draws from; see `ProgramDraws`.
    draws: dict[int, list[Source]]


def _try_out(program: Program, library: ArrayLibrary) -> _Trial:
    """Trace each node of a program on shapes alone."""
    refused: set[int] = set()
    fixed: set[int] = set()
    checked: set[int] = set()
    draws: dict[int, list[Source]] = {}

    def describe(value: Value) -> Any:
        return jax.ShapeDtypeStruct(value.shape, library.dtype(value.dtype))

    def trace(given: dict[int, Any]) -> None:
        values: list[Any] = [given.get(value.index, value.constant) for value in program.values]
        for index, node in enumerate(program.nodes):
            with collect_checks() as checks:
                runs = not _draws_on_host(node) and _can_run(node, values, fixed)
            if runs:
                if checks:
                    checked.add(index)
                if random.taken:
                    draws[index] = random.taken
                continue
            refused.add(index)
            for output in node.outputs:
                if output is not None:
                    values[output.index] = library.full(output.shape, 0, output.dtype)

    samples = {value.index: _sample(value) for value in program.values if _changes(value)}
    arrays = {value.index: describe(value) for value in program.values if value.given and value.number is None}
    place = program.nodes[0].index
    with following((), (), place), following_draws(place) as random:
        found = jax.make_jaxpr(trace)(samples | arrays)
    return _Trial(refused, fixed, checked, _calls_back(found.jaxpr), draws)


def _draws_on_host(node: Node) -> bool:
    """Return whether a node draws random numbers by other kernels than JAX's, so that they would be the program's own."""
    return _RANDOM in node.tags and node.name.removeprefix("aten::") not in DRAWS


def _changes(value: Value) -> bool:
    """Return whether a number may be another one when the program runs again; see Note [Numbers] in `numbers`."""
    return value.number is not None and value.constant is None


def _sample(value: Value) -> Any:
    """Return a number that represents others of its type."""
    assert value.number is not None  # `_changes` has looked
    return _SAMPLES[value.number]


def _calls_back(jaxpr: Any) -> bool:
    """Return whether a traced program calls back into Python."""
    return any(
        "callback" in each.primitive.name or any(map(_calls_back, jaxprs_in_params(each.params))) for each in jaxpr.eqns
    )


def _can_run(node: Node, values: list[Any], fixed: set[int]) -> bool:
    """Return whether a node can be traced, if need be with its numbers as constants."""
    if _runs(node, values):
        return True
    numbers = {value.index: _sample(value) for value in node.inputs() if _changes(value)}
    tried = [numbers.get(index, value) for index, value in enumerate(values)]
    if not numbers or not _runs(node, tried):
        return False
    values[:] = tried
    fixed.update(numbers)
    return True


def _runs(node: Node, values: list[Any]) -> bool:
    restart_draws()
    try:
        node.run(values)
    except Exception:  # noqa: BLE001  # whatever it is, the kernel raises it again when it runs on its own
        return False
    return True


class Compiled:
    """Nodes as one compiled function."""

    def __init__(
        self,
        program: Program,
        nodes: Sequence[int],
        found: _Trial,
        words: ErrorWords,
        chains: Chains,
        *,
        keeps: bool,
    ) -> None:
        self._calls_back = found.calls_back
        #: Whether one of the nodes checks values, and the user has not promised that they are right.
        self.is_checked = program.check_indices and not found.checked.isdisjoint(nodes)
        #: Whether the program hands words on, and does not raise.
        self._words, self._chains, self._keeps = words, chains, keeps
        self._has_places, self._index = several(), program.nodes[0].index
        self.nodes = tuple(nodes)
        self._own = [program.nodes[index] for index in nodes]
        self._count = len(program.values)
        made = {value.index: value for node in self._own for value in node.outputs if value is not None}
        read = {value.index for node in self._own for value in node.inputs()}
        others = set(range(len(program.nodes))) - set(nodes)
        read_after = {value.index for index in others for value in program.nodes[index].inputs()}
        self._draws = ProgramDraws([each for index in nodes for each in found.draws.get(index, ())], self._index)
        self._constants = [(value.index, value.constant) for value in program.values if value.constant is not None]
        taken = sorted(read - set(made) - {index for index, _ in self._constants})
        sources = {index: program.values[index].source for index in taken if index not in found.fixed}
        sources = {index: source for index, source in sources.items() if source is not None}
        #: The numbers that are computed on the devices, and where their entry stands in the list of values.
        self.numbers = Numbers(sources) if sources else None
        self.place = 0
        self._taken = [index for index in taken if index not in sources]
        kept = [value.index for value in made.values() if value.kept or value.index in read_after]
        read_later = {value.index for index in others if index > nodes[0] for value in program.nodes[index].inputs()}
        #: The values whose arrays are used up → those in their places; see Note [Donated buffers].
        successors: dict[int, int] = {}
        for index in self._taken:
            value = program.values[index]
            after = value.successor
            if after not in kept or after in successors.values() or index in read_later:
                continue
            if _look(value) == _look(made[after]):
                successors[index] = after
        self.donated = tuple(successors)
        self._kept = list(dict.fromkeys([*successors.values(), *kept]))
        #: Bytes of results that are never stored.
        self.saved = sum(_bytes(value) for value in made.values() if value.index not in self._kept)
        #: Those of the arrays taken whose values matter.
        self._read = sorted(set(self._taken) & {index for node in self._own for index in _values_read(node)})
        # The first arguments are a word, the roots of numbers and the states of generators.
        constants = [place for place, index in enumerate(self._taken, 3) if index in found.fixed]
        donated = [place for place, index in enumerate(self._taken, 3) if index in successors]
        self._options = {"static_argnums": constants, "donate_argnums": donated}
        #: The places of arrays taken, and which roots are one → the function for them, and the results that come home.
        self._functions: dict[tuple[Any, ...], tuple[Any, list[int]]] = {}
        #: The last of them.
        self._last: tuple[Any, Any, Any, Any] = (None, None, None, None)
        #: Where numbers lie → those that are there.
        self._held: dict[Any, HeldRoots] = {}

    def trace(
        self, first: tuple[int, ...], where: Any, word: Any, roots: Any, states: Any, *given: Any
    ) -> tuple[list[Any], Any, Any, Any]:
        """Run the nodes' kernels on tracers of the arrays, while JAX compiles them.

        Also return the next word, roots and states.
        """
        with self._draws.following(states):
            return *self._trace(first, where, word, roots, given), self._draws.advance(states)

    def _trace(
        self, first: tuple[int, ...], where: Any, word: Any, roots: Any, given: Sequence[Any]
    ) -> tuple[list[Any], Any, Any]:
        values: list[Any] = [None] * self._count
        for index, value in self._constants:
            values[index] = value
        for index, value in zip(self._taken, given, strict=True):
            values[index] = value
        after: list[Any] = []
        if self.numbers is not None:
            numbers, after = self.numbers.compute(first, roots)
            for index, number in numbers.items():
                values[index] = number
            if isinstance(where, NamedSharding):
                after = [jax.lax.with_sharding_constraint(each, where) for each in after]
        if not self.is_checked:
            for node in self._own:
                node.run(values)
            return [values[index] for index in self._kept], None, after
        known: dict[Any, tuple[int, Check]] = {}  # the checks keep their arrays, whose ids are theirs
        chain = self._chains.find(where)
        for node in self._own:
            with collect_checks() as found:
                node.run(values)
            for check in found:
                if (key := check.key()) not in known:  # else of a gradient, whose operator has passed it before
                    known[key] = chain.number(node, check), check
        return [values[index] for index in self._kept], measure(word, known.values(), where), after

    def _choose(self, places: Any, where: Any, first: tuple[int, ...]) -> tuple[Any, list[int]]:
        """Return the function for the places of some arrays, None for any, and for the roots that are one.

        With it comes a list of the results that come home, once it has run.
        """
        last = self._last
        if last[0] == places and last[1] is where and last[2] == first:
            return last[3]
        found = self._functions.get((places, first))
        if found is None:
            homes: list[int] = []

            @wraps(self.trace)
            def trace(word: Any, roots: Any, states: Any, *given: Any) -> Any:
                with nullcontext() if places is None else following(given, places, self._index):
                    found = self.trace(first, where, word, roots, states, *given)
                    homes[:] = find_homes(found[0])
                    return found

            found = self._functions[places, first] = jax.jit(trace, **self._options), homes
        self._last = places, where, first, found
        return found

    def prepare(self, values: list[Any]) -> tuple[Any, list[int], list[Any], Any, HeldRoots | None]:
        """Return what `_choose` finds for values, the arrays that the function takes, where its numbers lie, and these."""
        given = [values[index] for index in self._taken]
        places = where = None
        if self._has_places:
            places = tuple([place_of(each) if isinstance(each, jax.Array) else None for each in given])
            if places == self._last[0]:
                where = self._last[1]
            else:
                places, where = _find_places(given)
        held = None
        if self.numbers is not None:
            now = values[self.place][0]
            held = self._held.get(where)
            if held is None or not fits(held, now):
                held = self.numbers.put(held, now, where)
                self._held[where] = held
        return *self._choose(places, where, () if held is None else held.first), given, where, held

    def run(self, values: list[Any]) -> None:
        """Run the function on the list of values."""
        words = self._words
        if words.failed or words.owed:
            words.check([values[index] for index in self._read])
        function, homes, given, where, held = self.prepare(values)
        chain = self._chains.find(where) if self._keeps or self.is_checked else None
        sources = words.standing and words.sources([values[index] for index in self._read], chain)
        word = chain.begin() if chain is not None and self.is_checked else None
        roots = () if held is None else held.arrays
        drawn = self._draws.take()
        try:
            states = self._draws.put(drawn, where)
            try:
                results, word, after, states = function(word, roots, states, *given)
            except Exception as error:
                if (ours := explain("pipeline", error, given)) is not None:
                    raise ours from error
                if not self._copy_shared(given):
                    raise
                results, word, after, states = function(word, roots, states, *given)
            if self.numbers is not None and held is not None:
                self._held[where] = self.numbers.follow(held, values[self.place][1], after)
            if self._calls_back:
                jax.block_until_ready(results)
            if sources:
                words.pass_on(sources, results)
            if chain is not None and self._keeps:
                chain.end(word, results)
            elif chain is not None and (fault := chain.error(word)) is not None:
                raise fault
            self._draws.keep(drawn, where, states)
        except BaseException:
            self._draws.give_back(drawn)
            raise
        finally:
            for index in self.donated:
                if values[index].is_deleted():
                    values[index] = None
        for number in homes:
            results[number] = bring_home(results[number])
        if self._index is not None:
            results = commit(results, self._index)
        for index, result in zip(self._kept, results, strict=True):
            values[index] = result

    def _copy_shared(self, given: list[Any]) -> bool:
        """Replace donated arrays by copies in a buffer that is given twice, which JAX has refused."""
        arrays = [each for each in given if isinstance(each, jax.Array)]
        if any(each.is_deleted() for each in arrays):
            return False
        buffers = Counter(_pointer(each) for each in arrays)
        shared = [self._taken.index(index) for index in self.donated]
        shared = [place for place in shared if buffers[given[place].unsafe_buffer_pointer()] > 1]
        for place in shared:
            given[place] = jnp.array(given[place], copy=True)
        return bool(shared)


def _find_places(given: list[Any]) -> tuple[tuple[Any, ...], Any]:
    """Return the places of arrays, and where their program's numbers lie; those on Explicit axes are laid on Auto axes."""
    places: list[Any] = []
    where = None
    for index, each in enumerate(given):
        place = place_of(each) if isinstance(each, jax.Array) else None
        if isinstance(place, NamedSharding) and (other := settle(each)) is not each:
            given[index], place = other, place_of(other)
        if where is None:
            where = place
        places.append(HOME if place is None and isinstance(each, jax.Array) else place)
    return tuple(places), _whole(where) if isinstance(where, NamedSharding) else where


@cache
def _whole(place: Any) -> Any:
    """Return the placement of an array that each device has as a whole."""
    return NamedSharding(place.mesh, PartitionSpec())


def _values_read(node: Node) -> set[int]:
    """Return the values of which a node reads the elements."""
    arguments = node.arguments[1:] if node.name in OVERWRITES else node.arguments
    found: set[int] = set()
    waiting = list(arguments)
    for each in waiting:
        if isinstance(each, Value):
            found.add(each.index)
        elif isinstance(each, tuple):
            waiting += each
    return found


def write_slice(array: Any, src: Any, dim: int, start: int, end: int, step: int) -> Any:
    """Return ``array`` with the elements of ``src`` in a slice; see Note [Overlapping slices]."""
    count = src.shape[dim]
    if not count:
        return array
    around = [(0, 0, 0)] * array.ndim
    around[dim] = start, array.shape[dim] - start - (count - 1) * step - 1, step - 1
    place = jax.lax.broadcasted_iota(jnp.int32, array.shape, dim) - start
    is_inside = (place >= 0) & (place < end - start) & (place % step == 0)
    return jnp.where(is_inside, jax.lax.pad(src, jnp.zeros((), src.dtype), around), array)


def _pointer(array: Any) -> int:
    """Return where an array's first part on this process's devices lies."""
    found: int = array.addressable_shards[0].data.unsafe_buffer_pointer()
    return found


def _look(value: Value) -> tuple[Any, ...]:
    return value.shape, value.dtype


def _bytes(value: Value) -> int:
    count = value.dtype.itemsize
    for size in value.shape:
        count *= size
    return int(count)
