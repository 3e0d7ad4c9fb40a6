"""Eight threads that register, overwrite, take back, load and call for a while: every answer was right at its time.

Each thread owns one operator and is the only one to change it; all threads call them all. The owner announces a state before
it makes the change and says when it is made, so a caller knows the states that its call may have met: those from the
last one that was made when the call began to the last one that was announced when it ended.

``DISPATCH_TEST_SECONDS`` sets for how long (3 by default; a slow machine takes longer, as each thread makes ``ROUNDS``).
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import pytest

import dispatch_core as dc
from dispatch_core.keys import context

THREADS = 8
SECONDS = float(os.environ.get("DISPATCH_TEST_SECONDS", "3"))
#: How many rounds of calls each thread makes at least: enough for every way of calling.
ROUNDS = 100
#: One for each thread: a functionality key that has no kernels elsewhere.
LAYERS = (
    "TESTING_ONLY_GenericMode TESTING_ONLY_GenericWrapper Batched VmapMode Named Conjugate Negative ZeroTensor".split()
)
#: An operator's schemas, in turn.
SCHEMAS = (
    "f.array(Tensor x) -> str",
    "f.array(Tensor x, int y=2, *, bool z=False) -> str",
    "f.array(Tensor x, float y=0.5) -> str",
)
#: How many backends each thread brings in the course of the test.
BACKENDS = 3
COMPOSITE = "CompositeImplicitAutograd"
#: The answer of a call that raises, by the error: the operator is not there, or has nothing for the call's keys.
RAISED = {dc.ClosedOperatorError: "gone", dc.OperatorNotFoundError: "gone", dc.NoKernelError: "missing"}


@dataclass(frozen=True)
class State:
    """The registrations of an operator: for each key the kernels' labels, newest first, and its layer's fallback."""

    defined: bool = False
    kernels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fallback: str = ""

    def plus(self, key, label):
        return replace(self, kernels=self.kernels | {key: (label, *self.kernels.get(key, ()))})

    def minus(self, key, label):
        left = tuple(found for found in self.kernels[key] if found != label)
        rest = {other: found for other, found in self.kernels.items() if other != key}
        return replace(self, kernels=rest | ({key: left} if left else {}))

    def answer(self, *keys):
        """Return the answer of a call with these keys, highest first."""
        if not self.defined and not self.kernels:
            return "gone"
        for key in keys:
            if key in self.kernels:
                return self.kernels[key][0]
            if key in LAYERS and self.fallback:
                return self.fallback
        return self.kernels.get(COMPOSITE, ("missing",))[0]


class Operator:
    """An operator, its states one after the other, and its owner's open registrations."""

    def __init__(self, number, registry, backend):
        self.registry, self.namespace, self.layer = registry, f"endure{number}", LAYERS[number]
        self.name = f"{self.namespace}::f.array"
        self.backend, self.array = backend, backend.array([number])
        self.states, self.made = [State()], 0
        self.home = None
        self.schemas = itertools.cycle(SCHEMAS)
        #: label → (its library, its key)
        self.open = {}
        self.labels = 0

    @property
    def state(self):
        return self.states[-1]

    def announce(self, *states):
        self.states += states

    def done(self):
        self.made = len(self.states) - 1

    def window(self, since):
        """Return the states that a call may have met which began when state ``since`` was the last one made."""
        return self.states[since:]

    # The owner's changes; each of these leaves the operator in the state that it announced last.

    def kernel(self, key):
        self.labels += 1
        label = f"{self.namespace} {key} {self.labels}"
        expected = self.backend.array

        def kernel(x, y=2, *, z=False):
            return label if type(x) is expected else f"{label} got {x!r}"

        return label, kernel

    def define(self):
        self.announce(replace(self.state, defined=True))
        self.home = dc.Library(self.namespace, "DEF", registry=self.registry)
        # The kernel that a call finds must have been made for the schema by which its arguments were bound.
        self.home.define(next(self.schemas))
        self.home.define("f.number(int x) -> str")
        self.home.impl("f.number", lambda x: "number", COMPOSITE)
        self.done()

    def undefine(self):
        self.announce(replace(self.state, defined=False))
        self.home.close()
        self.home = None
        self.done()

    def register(self, key):
        label, kernel = self.kernel(key)
        self.announce(self.state.plus(key, label))
        library = dc.Library(self.namespace, "IMPL", registry=self.registry)
        library.impl("f.array", kernel, self.backend.key if key == "own" else key, allow_override=True)
        self.open[label] = library, key
        self.done()

    def take_back(self, label):
        library, key = self.open.pop(label)
        self.announce(self.state.minus(key, label))
        library.close()
        self.done()

    def fail(self):
        """Register in a transaction that fails: others may see the kernel until it is taken back."""
        label, kernel = self.kernel("own")
        before = self.state
        self.announce(before.plus("own", label), before)
        try:
            with self.registry.transaction():
                self.registry.register_kernel(self.name, self.backend.key, kernel, allow_override=True)
                raise ZeroDivisionError
        except ZeroDivisionError:
            self.done()

    def add_fallback(self):
        self.labels += 1
        label = f"{self.namespace} fallback {self.labels}"

        def fallback(keyset, op, *args, **kwargs):
            return label, op.redispatch(keyset - self.layer, args[0] if args else kwargs["x"])

        self.announce(replace(self.state, fallback=label))
        library = dc.Library("_", "IMPL", registry=self.registry)
        library.fallback(fallback, self.layer, with_keyset=True)
        self.open["fallback"] = library, None
        self.done()

    def drop_fallback(self):
        library, _ = self.open.pop("fallback")
        self.announce(replace(self.state, fallback=""))
        library.close()
        self.done()

    def change(self, rng):
        """Make one change that is possible now, and look at it at once."""
        kernels = [label for label in self.open if label != "fallback"]
        choices = [self.fail] if self.state.defined else []
        if len(kernels) < 6:
            choices += [lambda: self.register(rng.choice(["own", "own", COMPOSITE, self.layer]))] * 4
        if kernels:
            choices += [lambda: self.take_back(rng.choice(kernels))] * 4
        choices += [self.drop_fallback if self.state.fallback else self.add_fallback]
        choices += [self.undefine if self.home else self.define] * (1 if self.home else 3)
        rng.choice(choices)()
        self.check_registered()

    def check_registered(self):
        """Check that no registration is lost, and none that was taken back is left."""
        state, entry = self.state, self.registry.entries.get(self.name)
        assert (entry is not None) == (state.defined or bool(state.kernels))
        counts = {} if entry is None else {key: len(found) for key, found in entry._registrations.items()}
        wanted = {dc.DispatchKey[key] if key != "own" else self.backend.key: len(v) for key, v in state.kernels.items()}
        assert counts == wanted
        assert (self.registry.fallbacks.get(dc.DispatchKey[self.layer]) is not None) == bool(state.fallback)

    def close(self):
        for label in [label for label in self.open if label != "fallback"]:
            self.take_back(label)
        if self.state.fallback:
            self.drop_fallback()
        if self.home:
            self.undefine()

    # The calls of every thread.

    def ways(self, *, layered):
        """Return the ways to call the operator with its array; ``layered`` puts its layer into explicit keysets."""
        keys = dc.DispatchKeySet([self.backend.key, *[self.layer] * layered])
        ops, array = self.registry.ops, self.array
        return {
            "overload": lambda: getattr(ops, self.namespace).f.array(array),
            "packet": lambda: getattr(ops, self.namespace).f(array),
            "name": lambda: self.registry.dispatch(self.name, array),
            "keyword": lambda: getattr(ops, self.namespace).f.array(x=array),
            "redispatch": lambda: getattr(ops, self.namespace).f.array.redispatch(keys, array),
            "redispatch by name": lambda: self.registry.redispatch(self.name, keys, array),
            "keyset": lambda: self.registry.dispatch_with_keyset(self.name, keys, array),
        }

    def call(self, rng):
        """Call the operator in some way and hold its answer against the states that it may have met."""
        mode = rng.choice(["plain", "plain", "layered", "masked off"])
        way, call = rng.choice(list(self.ways(layered=mode == "layered").items()))
        since = self.made
        with ExitStack() as stack:
            if mode == "layered":
                stack.enter_context(dc.include_keys(self.layer))
            elif mode == "masked off":
                stack.enter_context(dc.exclude_keys(self.backend.key))
            try:
                answer = call()
            except tuple(RAISED) as error:
                answer = next(label for kind, label in RAISED.items() if isinstance(error, kind))
        keys = {"plain": ("own",), "layered": (self.layer, "own"), "masked off": ()}[mode]
        self.check(answer, keys, self.window(since), (self.name, way, mode))
        return f"{way}, {mode}"

    def check(self, answer, keys, window, what):
        if isinstance(answer, tuple):
            # The fallback answered, and redispatched to the keys below.
            answer, below = answer
            assert below in {state.answer("own") for state in window}, (what, below, window[:3])
        right = {state.answer(*keys) for state in window}
        if answer in ("missing", "gone") and any(label == state.fallback for state in window for label in right):
            # The kernel below a fallback was missing when the fallback came to it.
            right |= {state.answer("own") for state in window}
        seen = "\n".join(map(str, window))
        assert answer in right, f"{what} answered {answer}, right were {right}, in the states\n{seen}"


@pytest.fixture
def seconds(registry):
    """For how long: the plain twins of the generated calls, which differ from them in nothing here, a fifth."""
    return SECONDS / 5 if "interpret" in registry.engine.__name__ else SECONDS


def test_every_answer_was_right_at_its_time(registry, make_backend, seconds):
    operators = [Operator(number, registry, make_backend(f"endure{number}")) for number in range(THREADS)]
    until, stop = time.monotonic() + seconds, threading.Event()
    barrier = threading.Barrier(THREADS)
    problems, tally = [], Counter()

    def bring_backend(number, count):
        """Load one more backend, which empties every table, and call with its arrays."""
        operator, backend = operators[number], make_backend(f"endured{number}x{count}")
        home = dc.Library(f"brought{number}", "FRAGMENT", registry=registry)
        home.define(f"g{count}(Tensor x) -> str")
        home.impl(f"g{count}", lambda x: f"brought {count}", backend.key)
        assert getattr(getattr(registry.ops, f"brought{number}"), f"g{count}")(backend.array([1])) == f"brought {count}"
        # The new backend has no kernel of this operator, whatever others it has.
        try:
            answer = registry.dispatch(operator.name, backend.array([1]))
        except tuple(RAISED):
            answer = ""
        assert not answer or " got " in answer, answer
        return home

    def work(number):
        rng, mine, count = random.Random(number), operators[number], Counter()
        brought = []
        barrier.wait()
        while not stop.is_set() and ((now := time.monotonic()) < until or count["change"] < ROUNDS):
            if len(brought) < BACKENDS and (until - now) / seconds < 1 - (len(brought) + 1) / (BACKENDS + 1):
                brought.append(bring_backend(number, len(brought)))
            mine.change(rng)
            count["change"] += 1
            count[mine.call(rng)] += 1
            for _ in range(4):
                count[rng.choice(operators).call(rng)] += 1
            assert context.current() is None
        while len(brought) < BACKENDS and not stop.is_set():
            brought.append(bring_backend(number, len(brought)))
        mine.check_registered()
        mine.close()
        mine.check_registered()
        for home in brought:
            home.close()
        tally.update(count)

    def run(number):
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001  # whatever it is, the test fails with it
            problems.append(error)
            stop.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    try:
        threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + 300)
    finally:
        sys.setswitchinterval(interval)
    if problems:
        raise problems[0]
    assert not any(thread.is_alive() for thread in threads)
    assert not registry.entries
    assert not registry.fallbacks
    assert len(tally) == 1 + 3 * 7
    assert min(tally.values()) > 0
