"""Calls that read memory which the user holds are recorded on copies of it: values, bits and layouts are eager's."""

import os
import random
import threading

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import dispatch_core as dc
import torchlike
from dispatch_pipelines.run.session import MOST_COPIED

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")

#: How many programs are drawn; more in a run of their own.
PROGRAMS = int(os.environ.get("LENT_PROGRAMS", "150"))
SEED = int(os.environ.get("LENT_SEED", "0"))
DTYPES = "float32 float64 int64 int32 uint8 bool float16 complex64".split()


class Program:
    """Reads, writes and views of memory that the user holds; it is drawn the same way eagerly and in a pipeline."""

    def __init__(self, seed):
        self.choose = random.Random(seed)
        self.dtype = self.choose.choice(DTYPES)
        self.sources, self.tensors, self.results = [], [], []

    def number(self):
        return self.choose.randrange(2 if self.dtype == "bool" else 6)

    def lend(self):
        size = [self.choose.randrange(1, 5) for _ in range(2)]
        array = np.array([self.number() for _ in range(size[0] * size[1])], self.dtype).reshape(size)
        self.sources.append(array)
        shown = [
            array,
            array.T,
            array[:, ::2],
            array[1:],
            array[:1],
            as_strided(array, (2, *size), (0, *array.strides)),
        ]
        self.tensors.append(torchlike.from_numpy(self.choose.choice(shown)))

    def view(self):
        x = self.choose.choice(self.tensors)
        views = [
            lambda: x.t() if x.dim() == 2 else x.flatten()[0],
            lambda: x[..., ::2] if x.dim() else x,
            lambda: x.expand(3, *x.shape) if x.dim() < 4 else x,
            lambda: x.unsqueeze(0) if x.dim() < 4 else x,
            x.detach,
            lambda: x.reshape(-1),
        ]
        self.tensors.append(self.choose.choice(views)())

    def read(self):
        x, y = self.choose.choice(self.tensors), self.choose.choice(self.tensors)
        calls = [
            lambda: x + 1,
            lambda: x * x,
            lambda: torchlike.cat([x.reshape(-1), y.reshape(-1), x.reshape(-1)]),
            x.sum,
            lambda: torchlike.where(x == y, x, y) if x.shape == y.shape else x.clone(),
            lambda: x + y if x.shape == y.shape else x.flip(0) if x.dim() else -1 * x,
            x.clone,
            lambda: torchlike.stack([x, x]),
            x.nonzero,
            lambda: x.to(torchlike.float64) if self.dtype != "complex64" else x.abs(),
        ]
        self.results.append(self.choose.choice(calls)())

    def user_write(self):
        array = self.choose.choice(self.sources)
        array[self.choose.randrange(len(array)) if len(array) else slice(0)] = self.number()

    def tensor_write(self):
        x, number = self.choose.choice(self.tensors), self.number()
        write = x.fill_ if self.dtype == "bool" else self.choose.choice([x.fill_, x.mul_])
        if 0 not in x.stride():  # which is refused
            write(number)

    def export(self):
        x = self.choose.choice(self.tensors)
        self.sources.append(np.atleast_1d(x.detach().numpy()))
        if not self.sources[-1].flags.writeable:
            self.sources.pop()

    def release(self):
        if len(self.sources) > 1:
            self.sources.pop(self.choose.randrange(len(self.sources)))

    def use_result(self):
        if self.results:
            x = self.choose.choice(self.results)
            self.results.append(x + x)

    def run(self, steps=14):
        kinds = [self.read] * 4 + [self.view, self.user_write, self.user_write, self.tensor_write, self.lend]
        kinds += [self.export, self.release, self.use_result]
        self.lend()
        for _ in range(steps):
            self.choose.choice(kinds)()
        return [look(each) for each in (*self.results, *self.tensors)]


def look(tensor):
    array = tensor.numpy()
    return tuple(tensor.shape), tensor.stride(), str(tensor.dtype), array.tobytes()


@pytest.mark.parametrize("chunk", range(3))
def test_programs_on_memory_that_the_user_holds_are_the_same_in_a_pipeline(chunk):
    copies = 0
    for seed in range(SEED + chunk, SEED + PROGRAMS, 3):
        expected = Program(seed).run()
        with dc.pipeline() as pipe:
            found = Program(seed).run()
        copies += pipe.stats().copies
        assert found == expected, seed
        # A block of its own inside another one, and plans that are found again.
        with dc.pipeline(), dc.pipeline():
            assert Program(seed).run() == expected, seed
    assert copies > PROGRAMS // 6


def lend_array(shape=(4, 6), dtype=np.float32):
    array = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    return array, torchlike.from_numpy(array)


def test_one_copy_serves_all_arguments_in_one_memory():
    array, x = lend_array()
    with dc.pipeline() as pipe:
        products = [x * x for _ in range(3)]
        differences = [x[1:] - x[:-1] for _ in range(3)]
        stacked = torchlike.cat([x, x.t().reshape(-1, 6), x[0:1]])
        stats = pipe.stats()
        assert (stats.copies, sum(stats.eager.values())) == (8, 0)  # reshape copies, too
        array[:] = -1
    kept = np.arange(24, dtype=np.float32).reshape(4, 6)
    assert all((each.numpy() == kept**2).all() for each in products)
    assert all((each.numpy() == 6).all() for each in differences)
    assert (stacked.numpy() == np.concatenate([kept, kept.T.reshape(-1, 6), kept[:1]])).all()


def test_spans_that_are_too_long_run_at_once():
    most = MOST_COPIED // 4
    array = np.zeros(4 * most, np.float32)
    x = torchlike.from_numpy(array)
    cases = {"fits": x[:most], "long": x[: most + 1], "gaps": x[: most + 1 : most], "zero": x[:1].expand(most * 8)}
    for name, tensor in cases.items():
        with dc.pipeline() as pipe:
            result = tensor + 1
            assert result._pending == (name in {"fits", "zero"}), name
            assert pipe.stats().copies == result._pending
            array[:] = 5
        assert (result.numpy() == 1).all(), name
        array[:] = 0
    with dc.pipeline() as pipe:
        # Each is short, though they lie far apart.
        result = x[:2] + x[-2:]
        array[:] = 5
        assert pipe.stats().copies == 2
    assert result.tolist() == [0.0, 0.0]


def test_plans_serve_calls_on_copies_again():
    array, x = lend_array((3,))
    for number in range(5):
        array[:] = number
        with dc.pipeline() as pipe:
            found = (x * 2 + x) * x
            array[:] = -7
        assert found.tolist() == [3.0 * number**2] * 3
        assert (pipe.stats().copies, pipe.stats().cache_misses) == (3, 1 if number == 0 else 0)
    owned = torchlike.ones(3)
    for _ in range(3):
        # The same structure on memory of its own, whose guard is another.
        with dc.pipeline():
            found = (owned * 2 + owned) * owned
        assert found.tolist() == [3.0] * 3


def test_gradients_are_of_the_tensors_themselves():
    array, x = lend_array((3,))
    x.requires_grad_()
    weight = torchlike.ones(3, requires_grad=True)
    with dc.pipeline() as pipe:
        product = x * weight
        assert product.grad_fn._saved_self is x
        assert pipe.stats().copies == 1
        product.sum().backward()
    assert x.grad.tolist() == [1.0] * 3 and weight.grad.tolist() == [0.0, 1.0, 2.0]
    with dc.pipeline(), pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product = x * weight
        with torchlike.no_grad():
            x.add_(1)
        product.sum().backward()
    assert array.tolist() == [1.0, 2.0, 3.0]


def test_failed_writes_are_not_read_through_a_copy():
    array = np.zeros(4, np.float32)
    x = torchlike.from_numpy(array)
    with dc.pipeline(inputs_unchanged=True):
        x.add_(1)
        with dc.pipeline() as inner:
            assert (x + 0).tolist() == [1.0] * 4
            assert dict(inner.stats().eager) == {("aten::add.Scalar", "lent"): 1}


def test_captured_functions_copy_nothing():
    array, x = lend_array((3,))
    double = torchlike.capture(lambda tensor: tensor * 2)
    for number in range(4):
        array[:] = number
        assert double(x).tolist() == [2.0 * number] * 3
    with dc.pipeline() as pipe:
        double(x)
        assert not pipe.stats().copies


def test_arrays_whose_type_cannot_be_copied_run_at_once(monkeypatch):
    array, x = lend_array((3,))
    kind = dc.arrays.owners.ARRAY_TYPES[np.ndarray]
    plain = kind._replace(copy_span=None) if hasattr(kind, "_replace") else dc._record.replace(kind, copy_span=None)
    monkeypatch.setitem(dc.arrays.owners.ARRAY_TYPES, np.ndarray, plain)
    with dc.pipeline() as pipe:
        found = [x + 1, torchlike.cat([x, x])]
        array[:] = 9
    assert [each.tolist() for each in found] == [[1.0, 2.0, 3.0], [0.0, 1.0, 2.0] * 2]
    assert (pipe.stats().copies, sum(pipe.stats().eager.values())) == (0, 2)


def test_threads_read_one_memory_in_pipelines_of_their_own():
    array, x = lend_array((3,))
    array[:] = 1
    faults = []

    def read():
        for _ in range(50):
            with dc.pipeline() as pipe:
                found = x * 2
            if found.tolist() != [2.0] * 3 or pipe.stats().copies != 1:
                faults.append(found)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults


def test_the_copies_are_inputs_of_the_program_that_is_shown():
    _, x = lend_array((3,))
    with dc.pipeline() as pipe:
        result = x + x
        shown = repr(pipe.graph())
        assert "aten::add.Tensor(%0, %0)" in str(pipe.graph()) and shown
    assert isinstance(result, torchlike.Tensor) and result.tolist() == [0.0, 2.0, 4.0]
