"""Error words of programs that are replayed: faults of values, found on the device and read later.

Note [Error words]
    A compiled program cannot raise. It returns a word beside its results, three int64: the number of the check that has
    failed, 0 for none, the value that was wrong, and how many replays there were before. The word of one replay is an
    argument of the next one of the same function in the same thread, and the first error stays: so a loop of replays reads
    nothing, and one word represents all. On a mesh each device has a row of its own for its part of the values, so that
    nothing is exchanged; who looks takes the first error.
    The device keeps the unread words in the order of their programs, and looks at them before any of its
    values is read, where a pipeline's block ends, at ``synchronize()`` and where recorded programs are given up. No more
    than `MOST` stand; then the oldest is waited for.

    A word that is not 0 becomes the error that the check raises where values are there, with the recorded call's line. It
    is raised in the thread that looks; the thread that ran the program, if it is another one, gets it at its next look or
    call. Results of the program since the failed replay are marked failed: computing with them or reading them raises the
    same error, until the tensor holds another array. So are eager kernels' and other programs' results of them
    before the look, noted beside the program's own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import ref

import numpy as np

from dispatch_core.planning import GIVEN_UP, Node, on_read

from .library import ArrayLibrary, Kernel
from .value_checks import Check, leaves

#: How many words may stand unread.
MOST: Final = 64
#: Replays, and results of a program, that are remembered before the dead ones are looked for.
_FEW: Final = 64
_number: Final = attrgetter("number")
#: Operators whose first argument is overwritten as a whole, or asked for its shape, so that its values do not matter.
OVERWRITES: Final = frozenset(
    f"aten::{name}"
    for name in (
        "copy copy_ fill.Scalar fill_.Scalar fill.Tensor fill_.Tensor zero zero_"
        " empty_like full_like ones_like zeros_like rand_like randn_like"
        " uniform normal_functional exponential cauchy geometric log_normal random random.to random.from bernoulli.p"
    ).split()
)


class WordChain:
    """The words of one program: the texts of its checks, and the newest word of each thread."""

    def __init__(self, zero: Any, device: ErrorWords) -> None:
        self._zero, self._device = zero, device
        self._checks: list[tuple[Callable[[Exception], Exception] | None, Check]] = []
        self._words: dict[int, Any] = {}

    def number(self, node: Node, check: Check) -> int:
        """Return the number that represents a check in words."""
        self._checks.append((node.fault, check))
        return len(self._checks)

    def begin(self) -> Any:
        """Return the word that a replay of this thread begins with."""
        return self._words.get(threading.get_ident(), self._zero)

    def end(self, word: Any, results: Iterable[Any]) -> None:
        """Take the word that a replay has ended with, None where it has none of its own."""
        thread = threading.get_ident()
        if word is None:
            word = self._words.get(thread)
        else:
            self._words[thread] = word
        if word is not None:
            self._device.keep(self, thread, word, results)

    def forget(self, thread: int) -> None:
        """Begin again with no error."""
        self._words.pop(thread, None)

    def error(self, word: Any) -> Exception | None:
        """Return the error that a word stands for, or None."""
        rows = np.asarray(word)
        rows = rows[rows[:, 0] != 0]
        if not len(rows):
            return None
        count, number = min(zip(rows[:, 2].tolist(), rows[:, 0].tolist(), strict=True))
        rows = rows[(rows[:, 2] == count) & (rows[:, 0] == number)]
        fault, check = self._checks[number - 1]
        error = check.error(int(check.measure(np, rows[:, 1])[1]))
        return error if fault is None else fault(error)


class _Replay(NamedTuple):
    """A replay since the last look."""

    number: int
    word: Any


class _Standing:
    """An unread word, and the results that depend on the replays since the last look."""

    __slots__ = ("_made", "_most", "_results", "error", "last")

    def __init__(self) -> None:
        self.last = _Replay(0, None)
        #: The results of replays, in order: replays are many, and looks at their results few.
        self._made: list[tuple[_Replay, list[ref[Any]]]] = []
        #: id → a reference, and the last replay that it depends on; without those in ``_made``.
        self._results: dict[int, tuple[ref[Any], _Replay]] = {}
        self._most = _FEW
        #: The error that a look has found.
        self.error: Exception | None = None

    def add(self, replay: _Replay, arrays: Iterable[Any]) -> None:
        """Note arrays that depend on a replay."""
        self._made.append((replay, list(map(ref, arrays))))
        if len(self._made) > _FEW:
            self.results()

    def results(self) -> dict[int, tuple[ref[Any], _Replay]]:
        """Return the results that depend on the replays: id → a reference, and the last of these."""
        results = self._results
        for replay, references in self._made:
            for reference in references:
                if (array := reference()) is not None:
                    results[id(array)] = reference, replay
        self._made.clear()
        if len(results) > self._most:
            results = self._results = {key: each for key, each in results.items() if each[0]() is not None}
            self._most = max(_FEW, 2 * len(results))
        return results

    def source(self, arrays: Iterable[Any]) -> _Replay | None:
        """Return the last replay on which one of the arrays depends."""
        results = self.results()
        found = [each[1] for array in arrays if (each := results.get(id(array))) is not None and each[0]() is array]
        return max(found, key=_number, default=None)


#: The unread words on which arrays depend.
Sources: TypeAlias = list[tuple[_Standing, _Replay]]


class ErrorWords:
    """The unread words of a device, in order, and the results that have failed; see Note [Error words]."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        #: The unread words of programs in threads, in order.
        self.standing: dict[tuple[WordChain, int], _Standing] = {}
        #: id of an array that a failed program has made → a reference to it, and the error.
        self.failed: dict[int, tuple[ref[Any], Exception]] = {}
        #: Thread → the error that another one has found in its program's word.
        self.owed: dict[int, Exception] = {}
        on_read(self.before_read, overwrites=OVERWRITES)

    def keep(self, chain: WordChain, thread: int, word: Any, arrays: Iterable[Any]) -> None:
        """Keep the word of a replay, and note its results."""
        with self._lock:
            standing = self.standing.get((chain, thread))
            if standing is None:
                standing = self.standing[chain, thread] = _Standing()
            standing.last = _Replay(standing.last.number + 1, word)
            standing.add(standing.last, arrays)
            if len(self.standing) > MOST:
                self._look(list(self.standing)[:1])

    def sources(self, arrays: Sequence[Any], own: WordChain | None = None) -> Sources:
        """Return the unread words on which arrays depend, save for that which a program goes on with."""
        key = own, threading.get_ident()
        with self._lock:
            others = [each for other, each in self.standing.items() if other != key]
            return [(each, found) for each in others if (found := each.source(arrays)) is not None]

    def pass_on(self, sources: Sources, arrays: Sequence[Any]) -> None:
        """Note that arrays depend on the words that others depend on."""
        with self._lock:
            for standing, replay in sources:
                standing.add(replay, arrays)
                if standing.error is not None:  # another thread has looked meanwhile
                    self._mark(standing, standing.error)

    def before_read(self, array: Any = None) -> None:
        """Look at all words, and raise the error of one; or that of ``array``, whose values are about to be read."""
        is_given_up = array is GIVEN_UP
        if self.standing:
            with self._lock:
                self._look(list(self.standing), keeps=is_given_up)
        if is_given_up:
            return
        if self.failed or self.owed:
            self.check((array,))

    def check(self, arrays: Iterable[Any]) -> None:
        """Raise the error that this thread is owed, or that of a program which has made one of the arrays."""
        if self.owed and (owed := self.owed.pop(threading.get_ident(), None)) is not None:
            raise owed.with_traceback(None)
        for each in arrays:
            if isinstance(each, list | tuple):
                self.check(each)
            elif (found := self.failed.get(id(each))) is not None and found[0]() is each:
                raise found[1].with_traceback(None)

    def _look(self, keys: list[tuple[WordChain, int]], *, keeps: bool = False) -> None:
        """Read words, and raise the first error; or keep each for the thread that ran the program."""
        errors = []
        for key in keys:
            standing = self.standing.get(key)
            if standing is None:
                continue
            chain, thread = key
            error = chain.error(standing.last.word)
            if error is not None:
                chain.forget(thread)
                standing.error = error
                self._mark(standing, error)
                if keeps or thread != threading.get_ident():
                    self.owed[thread] = error
                errors.append(error)
            self.standing.pop(key, None)
        if errors and not keeps:
            first, *others = errors
            for other in others:
                first.add_note(f"Another program has failed: {other}")
            raise first

    def _mark(self, standing: _Standing, error: Exception) -> None:
        """Mark the results of the failed replay or a later one."""
        for key, (reference, replay) in standing.results().items():
            array = reference()
            if array is not None and np.asarray(replay.word)[:, 0].any():
                self.failed[key] = ref(array, partial(self._release, key)), error

    def _release(self, key: int, reference: ref[Any]) -> None:
        """Forget an array that has died, unless another one has taken its place."""
        found = self.failed.get(key)
        if found is not None and found[0] is reference:
            del self.failed[key]


def refuse_failed(words: ErrorWords, library: ArrayLibrary, name: str, kernel: Kernel) -> Kernel:
    """Make a kernel raise the error of a failed program whose results it is given, unless it overwrites them.

    Where it is not known yet whether the program has failed, the kernel's results depend on that, too.
    """
    first = 1 if name in OVERWRITES else 0

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        if words.failed or words.owed:
            words.check((*args[first:], *kwargs.values()))
        if not words.standing:
            return kernel(*args, **kwargs)
        sources = words.sources([*leaves((*args[first:], *kwargs.values()))])
        found = kernel(*args, **kwargs)
        if sources:
            words.pass_on(sources, [each for each in leaves((found,)) if _is_array(library, each)])
        return found

    return run


def _is_array(library: ArrayLibrary, value: Any) -> bool:
    return isinstance(value, library.types) and library.is_known(value)
