"""Random programs on storages and on memory that NumPy lends: slices, views, resize_, as_strided, writes; beside torch."""

import operator
import os
import random
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")

PROGRAMS = int(os.environ.get("STORAGE_PROGRAMS", "300"))
VIEWS = {
    "row": lambda t, at: t[at % len(t)],
    "column": lambda t, at: t[..., at % t.shape[-1]],
    "rest": lambda t, at: t[at % len(t) :],
    "steps": lambda t, at: t[..., :: 1 + at % 3],
    "empty": lambda t, at: t[len(t) :],
    "transpose": lambda t, at: t.transpose(0, -1),
    "expand": lambda t, at: t.expand(2, *t.shape),
    "diagonal": lambda t, at: t.diagonal(),
    "view": lambda t, at: t.view(-1),
    "detach": lambda t, at: t.detach(),
    "data": lambda t, at: t.data,
    "alias": lambda t, at: t[...],
}
WRITES = {
    "add": lambda t, number: t.add_(number),
    "fill": lambda t, number: t.fill_(number),
    "zero first": lambda t, number: t[:1].zero_(),
    "double": lambda t, number: t.mul_(2),
    "add itself": lambda t, number: t.add_(t),
    "set": lambda t, number: t.__setitem__(slice(0, 1), number),
}
KINDS = ["lend", "lend", "own", "view", "view", "view", "write", "write", "write", "copy", "resize", "resize", "as_strided",
         "as_strided", "fresh", "numpy", "user writes", "out", "delete"]  # fmt: skip


class Machine:
    """Runs a program with one library; two machines with the same seed make the same choices as long as they agree."""

    def __init__(self, library, seed):
        self.library = library
        self.choose = random.Random(seed)
        self.arrays = []
        self.tensors = []
        self.given = []

    def step(self):
        """Take a step; return its outcome."""
        kind = self.choose.choice(KINDS) if self.tensors else "lend"
        numbers = [self.choose.randrange(12) for _ in range(8)]
        target = self.tensors[numbers[0] % len(self.tensors)] if self.tensors else None
        before = 0 if target is None else target._version
        getattr(self, kind.replace(" ", "_"))(target, numbers[1:])
        # An ``out`` that is resized counts as two changes here, and a size that stays as one.
        return kind, kind in ("out", "resize") or target is None or target._version - before

    def lend(self, _, numbers):
        if not self.arrays or numbers[0] < 4:
            whole = np.arange(24.0) + 100 * len(self.arrays)
            rows = whole.reshape(4, 6)
            self.arrays.append([whole, rows, rows.T, np.asfortranarray(rows)][numbers[1] % 4])
        array = self.arrays[numbers[2] % len(self.arrays)]
        start, step = numbers[3] % 3, 1 + numbers[4] % 3
        lent = array[start : len(array) - numbers[5] % 2 : step]
        if lent.ndim > 1 and numbers[6] % 2:
            lent = lent[:, numbers[5] % 2 :]
        if numbers[6] == 0:
            lent = lent[0]
        self.tensors.append(self.library.from_numpy(np.asarray(lent)))

    def own(self, _, numbers):
        made = self.library.arange(12.0, dtype=self.library.float64)
        self.tensors.append(made.reshape(3, 4) if numbers[0] % 2 else made)

    def view(self, t, numbers):
        if t.numel():  # without elements torch counts offsets beyond the memory, which an array cannot
            self.tensors.append(list(VIEWS.values())[numbers[0] % len(VIEWS)](t, numbers[1]))

    def write(self, t, numbers):
        if not overlaps(t):
            list(WRITES.values())[numbers[0] % len(WRITES)](t, numbers[1])

    def copy(self, t, numbers):
        if not overlaps(t):
            t.copy_(self.tensors[numbers[0] % len(self.tensors)] * 1)

    def resize(self, t, numbers):
        sizes = [(numbers[0],), (numbers[0] % 4, numbers[1] % 4), (), (2, 3, numbers[0] % 3)]
        t.resize_(sizes[numbers[2] % 4])
        # The added elements are arbitrary.
        t.fill_(numbers[3])

    def as_strided(self, t, numbers):
        shape = [(numbers[0] % 6,), (numbers[0] % 4, 1 + numbers[1] % 3)][numbers[2] % 2]
        strides = tuple(numbers[3 + place] % 4 for place in range(len(shape)))
        # Without elements torch takes any offset and remembers it, which an array cannot.
        offset = () if numbers[5] % 3 == 0 or 0 in shape else (numbers[6],)
        self.tensors.append(t.as_strided(shape, strides, *offset))

    def fresh(self, t, numbers):
        self.tensors.append(t * 2 + numbers[0])

    def numpy(self, t, numbers):
        array = t.numpy()
        if numbers[0] % 2:
            self.given.append(array)

    def user_writes(self, _, numbers):
        held = [*self.arrays, *self.given]
        if held:
            array = held[numbers[0] % len(held)]
            if array.size and array.ndim and all(array.strides):
                array[numbers[1] % len(array)] = numbers[2]

    def out(self, t, numbers):
        other = self.tensors[numbers[0] % len(self.tensors)]
        if overlaps(t):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.library.mul((other * 1).contiguous(), 2.0 * self.library.ones(()), out=t)

    def delete(self, t, numbers):
        del self.tensors[numbers[0] % len(self.tensors)]

    def look(self):
        facts = [(tuple(t.shape), layout(t)) for t in self.tensors]
        # Through a copy that is not a view: nothing more is to be lent.
        values = [t.tolist() for t in self.tensors]
        return facts, values, [array.tolist() for array in (*self.arrays, *self.given)]


def layout(t):
    """Return strides and offset, as far as they say where elements lie."""
    if not t.numel():
        return None
    return [step for step, size in zip(t.stride(), t.shape, strict=True) if size != 1], t.storage_offset()


def overlaps(t):
    """Return whether two elements lie in one place: the result of a write there, where it is not refused, is undefined."""
    places = [sum(map(operator.mul, index, t.stride())) for index in np.ndindex(*t.shape)]
    return len(set(places)) < len(places)


def run(seed, pipeline):
    theirs, ours = Machine(torch, seed), Machine(torchlike, seed)
    log = []
    for number in range(seed % 25 + 5):
        found = []
        for machine in (theirs, ours):
            try:
                found.append(machine.step())
            except (RuntimeError, ValueError, TypeError, IndexError, ZeroDivisionError) as error:
                found.append(("refused", error))
        (kind, changes), (our_kind, our_changes) = found
        where = f"seed {seed}, step {number}, {found}, after {log}"
        assert our_kind == kind, where
        log.append(kind)
        if kind == "refused":
            if "not resizable" in str(changes):
                return  # torch's tensor has the new size by now, and no memory for it
            continue
        assert our_changes == changes, where
        if number % 3 == 0 or not pipeline:
            for one, other in zip(ours.look(), theirs.look(), strict=True):
                assert one == other, where
    assert ours.look() == theirs.look(), (seed, log)


@pytest.mark.parametrize("is_recorded", [False, True], ids=["eager", "pipeline"])
@pytest.mark.parametrize("chunk", range(4))
def test_programs_on_storages_do_as_torch(chunk, is_recorded):
    for seed in range(chunk, PROGRAMS, 4):
        with torchlike.pipeline() if is_recorded else nullcontext():
            run(seed, is_recorded)


@pytest.mark.parametrize("seed", range(200))
def test_copies_of_arrays_keep_the_order_of_their_dimensions(seed):
    numbers = np.random.default_rng(seed)
    rank = int(numbers.integers(1, 5))
    array = np.asarray(numbers.standard_normal(numbers.integers(0 if seed % 10 == 0 else 1, 4, rank)))
    array = array.transpose(numbers.permutation(rank))
    if seed % 3 == 0:
        array = array[tuple(slice(None, None, int(step)) for step in numbers.integers(1, 3, rank))]
    if seed % 4 == 0:
        array = np.lib.stride_tricks.as_strided(array, (*array.shape, 3), (*array.strides, 0))
    for options in ({}, {"dtype": "float32"}):
        found, wanted = (
            f.tensor(array, **{name: getattr(f, value) for name, value in options.items()}) for f in (torchlike, torch)
        )
        assert found.numpy().dtype == wanted.numpy().dtype
        for size, one, other in zip(array.shape, found.stride(), wanted.stride(), strict=True):
            assert one == other or size == 1 or not array.size  # a dimension of one element lies nowhere in particular
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())
