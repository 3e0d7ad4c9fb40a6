"""The two phases of a call: what is kept between calls, what a failure leaves, and what is never done by the host."""

import gc
import threading
from pathlib import Path

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import OperatorError
from dispatch_backend_npu.acl.errors import AclError, OutOfMemoryError
from dispatch_backend_npu.aclnn import calls, pools, table
from dispatch_backend_npu.aclnn.row_kernels import operator_row
from dispatch_backend_npu.aclnn.tensor_forms import FORMS
from dispatch_backend_npu.arrays import AclArray, from_numpy, to_numpy
from dispatch_backend_npu.kernels import KERNELS
from dispatch_backend_npu.runtime import allocator

aten = dc.ops.aten
pytestmark = pytest.mark.no_pipeline(reason="kernels are called by hand, on raw arrays")


@pytest.fixture(autouse=True)
def _fresh(npu):
    dc.load_backend("npu")
    pools.clear()
    yield
    pools.clear()


def array(*values, dtype=np.float32):
    return from_numpy(np.array(values, dtype))


def operators(simulator):
    return [name for name in simulator.log() if name.startswith("aclnn")]


def test_there_are_kernels_for_more_than_a_hundred_and_twenty_overloads():
    assert len(table.OPERATORS) >= 120
    assert KERNELS.keys() >= table.OPERATORS.keys()


@pytest.mark.parametrize("name", sorted(table.OPERATORS))
def test_a_row_has_every_argument_of_its_function(name):
    function, expressions = table.OPERATORS[name]
    assert len(expressions) == len(table.PROTOTYPES[function])
    row = operator_row(name)
    written = {
        name_ for name_, kind in zip(expressions, table.PROTOTYPES[function], strict=True) if kind == "aclTensor*"
    }
    if row.written is None:
        assert set(row.outs) <= set(expressions)
    else:
        # The header's aclnnInplaceAtan2 leaves out a const.
        assert written - ({"other"} if name == "atan2_" else set()) <= {row.written}
    compile(row.source, name, "exec")


def test_the_kernels_are_those_of_the_modules():
    from importlib import import_module

    from dispatch_backend_npu.kernels import BY_HAND

    for module, names in BY_HAND.items():
        # Copies between cards are by hand, others by the row.
        found = set(import_module(module, "dispatch_backend_npu").KERNELS) - {"copy_"}
        assert set(names.split()) == found
    rows = set(table.OPERATORS)
    assert not rows & {name for names in BY_HAND.values() for name in names.split()}


def test_every_function_of_the_table_is_called():
    import inspect
    from importlib import import_module

    from dispatch_backend_npu.kernels import BY_HAND

    names = [*BY_HAND, ".ops.optimizers", ".ops.short_ways"]
    by_hand = "".join(inspect.getsource(import_module(name, "dispatch_backend_npu")) for name in names)
    by_row = {function for function, _ in table.OPERATORS.values()}
    by_row |= {call.function for form in FORMS.values() for call in form.calls}
    assert [name for name in table.PROTOTYPES if name not in by_row and f'"{name}"' not in by_hand] == []


@pytest.mark.of_functions
def test_a_call_is_two_phases_and_the_second_time_nothing_else(simulator):
    a, b = array(1, 2), array(3, 4)
    first = KERNELS["add.Tensor"](a, b, alpha=1)
    simulator.reset()
    second = KERNELS["add.Tensor"](a, b, alpha=1)
    assert {*simulator.log()} <= {"aclSetRawTensorAddr", "aclnnAddGetWorkspaceSize", "aclnnAdd"}
    assert operators(simulator) == ["aclnnAddGetWorkspaceSize", "aclnnAdd"]
    assert to_numpy(first).tolist() == to_numpy(second).tolist() == [4, 6]


def test_numbers_may_change_between_calls():
    a, b = array(1, 2), array(3, 4)
    found = [to_numpy(KERNELS["add.Tensor"](a, b, alpha=alpha)).tolist() for alpha in (1, 2, -1, 0.5, 0.0, -0.0)]
    assert found == [[4, 6], [7, 10], [-2, -2], [2.5, 4], [1, 2], [1, 2]]
    assert np.isnan(to_numpy(KERNELS["add.Tensor"](a, b, alpha=float("nan")))).all()


@pytest.mark.of_functions
@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1, 1 << 70])
def test_a_number_that_64_bits_cannot_hold_is_refused(simulator, number):
    assert to_numpy(KERNELS["mul.Scalar"](array(1.0), (1 << 63) - 1)) == 2.0**63
    calls_of = [
        lambda: KERNELS["add.Scalar"](array(1.0), number),
        lambda: KERNELS["add.Scalar"](array(1, dtype=np.int64), number),
        lambda: KERNELS["full"]([2], number, dtype=ScalarType.Float),
        lambda: KERNELS["tril"](from_numpy(np.ones((2, 2))), number),
        lambda: KERNELS["roll"](array(1.0, 2.0), [number], [0]),
    ]
    for call in calls_of:
        with pytest.raises(OperatorError, match="cannot be converted to type int64_t without overflow"):
            call()


def test_a_cpu_array_without_dimensions_stands_for_a_number():
    assert to_numpy(KERNELS["mul.Tensor"](array(1, 2), np.array(3.0, np.float32))).tolist() == [3, 6]


def test_views_share_memory_and_call_nothing(simulator):
    a = from_numpy(np.arange(12, dtype=np.float32).reshape(3, 4))
    simulator.reset()
    view = aten.transpose.int(aten.slice.Tensor(aten.select.int(aten.unsqueeze(a, 0), 0, 0), 1, 1, 3), 0, 1)
    assert simulator.log() == []
    assert view.block is a.block
    assert to_numpy(view).tolist() == [[1, 5, 9], [2, 6, 10]]
    KERNELS["add_.Scalar"](view, 100, 1)
    assert to_numpy(a).tolist() == [[0, 101, 102, 3], [4, 105, 106, 7], [8, 109, 110, 11]]


@pytest.mark.of_functions
def test_writing_to_memory_that_is_read_in_part_is_refused():
    a = from_numpy(np.arange(6, dtype=np.float32))
    with pytest.raises(OperatorError, match="single memory location"):
        KERNELS["add_.Tensor"](aten.slice.Tensor(a, 0, 0, 4), aten.slice.Tensor(a, 0, 1, 5), alpha=1)
    with pytest.raises(OperatorError, match="more than one element of the written-to tensor"):
        KERNELS["add_.Scalar"](aten.expand(array(1), (3,)), 1, 1)
    KERNELS["add_.Tensor"](a, a, alpha=1)
    assert to_numpy(a).tolist() == [0, 2, 4, 6, 8, 10]


@pytest.mark.of_functions
@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("aclnnAddGetWorkspaceSize", 561103),
        ("aclnnAdd", 507015),
        ("aclCreateTensor", 561103),
        ("aclCreateScalar", 561103),
        ("aclSetRawTensorAddr", 161002),
    ],
)
def test_a_failure_names_the_function_and_leaves_nothing(simulator, function, code):
    a, b = array(1, 2), array(3, 4)
    before = simulator.counts()
    simulator.fail_nth(function, 1, code)
    with pytest.raises(AclError, match=f"{function} (failed|gave)") as caught:
        KERNELS["add.Tensor"](a, b, alpha=1)
    assert caught.value.function == function
    del caught
    gc.collect()
    pools.clear()
    after = simulator.counts()
    kinds = ("tensors", "scalars", "executors")
    assert [after.get(kind, 0) for kind in kinds] == [before.get(kind, 0) for kind in kinds]
    assert to_numpy(KERNELS["add.Tensor"](a, b, alpha=1)).tolist() == [4, 6]


def test_no_room_for_a_workspace_destroys_the_executor(simulator, monkeypatch):
    a = from_numpy(np.arange(64, dtype=np.float32).reshape(8, 8))
    operators = (("sort", (a,)), ("mm", (a, a)), ("sum", (a,)))
    for name, args in operators:
        KERNELS[name](*args)
    simulator.reset()
    before = simulator.counts()

    def no_room(nbytes):
        raise OutOfMemoryError("aclrtMalloc", 207001)

    monkeypatch.setattr(calls.allocator, "allocate", no_room)
    failed = 0
    for name, args in operators:
        try:
            KERNELS[name](*args)
        except OutOfMemoryError:
            failed += 1
    monkeypatch.undo()
    assert failed
    gc.collect()
    assert simulator.counts().get("executors", 0) == before.get("executors", 0)


@pytest.mark.of_functions
def test_cleared_calls_are_destroyed(simulator):
    kept = array(1, 2)
    for count in range(1, 6):
        KERNELS["exp"](from_numpy(np.ones(count, np.float32)))
    assert simulator.counts()["tensors"] >= 10
    gc.collect()
    pools.clear()
    counts = simulator.counts()
    assert not {"tensors", "scalars", "int_arrays", "bool_arrays", "tensor_lists", "executors"} & counts.keys()
    assert to_numpy(KERNELS["exp"](kept)) == pytest.approx(np.exp([1, 2]), rel=1e-6)


def test_threads_take_calls_of_their_own():
    a = array(*range(100))
    failures = []

    def work(alpha):
        wanted = (np.arange(100) * (1 + alpha)).tolist()
        for _ in range(200):
            if to_numpy(KERNELS["add.Tensor"](a, a, alpha=alpha)).tolist() != wanted:
                failures.append(alpha)

    threads = [threading.Thread(target=work, args=(alpha,)) for alpha in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.of_functions
def test_host_operators_are_counted_by_name(host_calls):
    mask = from_numpy(np.array([True, False, True]))
    assert to_numpy(aten.masked_select(array(1, 2, 3), mask)).tolist() == [1, 3]
    found = aten.index.Tensor(array(1, 2, 3), [mask])
    assert isinstance(found, AclArray)
    assert to_numpy(found).tolist() == [1, 3]
    assert host_calls() == {}
    written = array(1, 2, 3)
    assert aten.index_put_(written, [mask], array(7)) is written
    assert host_calls() == {}, "one value where a mask is true needs no host"
    assert aten.masked_scatter_(written, mask, array(8, 9)) is written
    assert to_numpy(written).tolist() == [8, 2, 9]
    assert host_calls() == {}
    assert to_numpy(aten.nextafter(array(1.0), array(2.0)))[0] > 1
    assert host_calls() == {"aten::nextafter": 1}


def test_the_documents_name_the_host_operators():
    documents = Path(__file__).parents[3] / "docs" / "npu.md"
    if not documents.exists():
        pytest.skip("the documents are the repository's")
    host_operators = documents.read_text(encoding="utf-8").partition("| operators of the host")[2].partition("\n\n")[0]
    named = {name.removeprefix("aten::") for name in dc.coverage("npu").operators("npu", "host")}
    assert "nextafter" in named
    assert [name for name in named if f"`{name}`" not in host_operators and not name.startswith("special_")] == []


@pytest.mark.of_functions
def test_the_host_computes_a_variance_whose_correction_is_no_integer(host_calls):
    a = array(1, 2, 4)
    assert to_numpy(aten.var.correction(a, correction=1)) == pytest.approx(np.var([1, 2, 4], ddof=1))
    assert host_calls() == {}
    assert to_numpy(aten.var.correction(a, correction=0.5)) == pytest.approx(7 / 3 * 2 / 2.5)
    assert host_calls() == {"aten::var.correction": 1}


@pytest.mark.of_functions
def test_factories_and_conversions_stay_on_the_device(simulator):
    simulator.reset()
    options = {"dtype": ScalarType.Float, "device": dc.Device("npu")}
    found = aten.add.Tensor(aten.arange.start_step(0, 6, 2, **options), aten.full((3,), 0.5, **options))
    found = aten._to_copy(aten.mul.Scalar(found, 2), dtype=ScalarType.Long)
    assert not any(name.startswith("aclrtMemcpy") for name in simulator.log())
    assert to_numpy(found).tolist() == [1, 5, 9]


def test_a_workspace_comes_from_the_allocator(simulator):
    allocator.empty_cache()
    a = from_numpy(np.arange(16, dtype=np.float32).reshape(4, 4))
    KERNELS["mm"](a, a)
    simulator.reset()
    KERNELS["mm"](a, a)
    assert "aclrtMalloc" not in simulator.log()


@pytest.mark.parametrize(("factor", "expected"), [(2, 19), (1.7, 10), (0.5, 1)])
def test_a_factor_of_integers_loses_its_fraction_as_in_torch(factor, expected):
    one, three = from_numpy(np.array([1])), from_numpy(np.array([3]))
    assert to_numpy(aten.addcmul(one, three, three, value=factor)).tolist() == [expected]
    assert to_numpy(aten.addcmul_(one, three, three, value=factor)).tolist() == [expected]


def test_matrix_products_of_integers_take_the_whole_parts_of_their_factors():
    ones, twos, threes = (from_numpy(np.full((1, 2, 2), number)) for number in (1, 2, 3))
    one, two, three = (from_numpy(np.full((2, 2), number)) for number in (1, 2, 3))
    expected = 2 * 1 + 1 * (2 * 3 + 2 * 3)
    for found in (
        aten.baddbmm(ones, twos, threes, beta=2.5, alpha=1.5),
        aten.baddbmm_(from_numpy(np.ones((1, 2, 2), int)), twos, threes, beta=2.5, alpha=1.5),
        aten.addmm(one, two, three, beta=2.5, alpha=1.5),
        aten.addmm_(from_numpy(np.ones((2, 2), int)), two, three, beta=2.5, alpha=1.5),
    ):
        assert np.unique(to_numpy(found)).tolist() == [expected]
    places = from_numpy(np.array([0, 0]))
    assert to_numpy(aten.index_add(one, 0, places, two, alpha=1.5)).tolist() == [[5, 5], [1, 1]]


def test_an_operator_in_place_that_is_composed_refuses_a_result_that_does_not_fit():
    whole = from_numpy(np.array([0, 1]))
    with pytest.raises(OperatorError, match="can't be cast"):
        aten.erfinv_(whole)
    assert to_numpy(whole).tolist() == [0, 1]
