"""Arrays that are computed late: what needs a size that is not known has it computed first, and counts that."""

import importlib
import math

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.operators import ATEN

pytestmark = [
    pytest.mark.usefixtures("late_backend"),
    pytest.mark.no_pipeline(reason="counts what each call has computed, outside pipelines and in its own"),
]


@pytest.fixture
def late():
    dc.load_backend("late")
    module = importlib.import_module("late_backend")
    module.COMPUTED.clear()
    module.WAITED.clear()
    yield module
    module.FAULT.clear()


def unknown(late, values=((1.0, -2.0, 3.0), (-4.0, 5.0, 6.0)), dtype="float32"):
    """Return a tensor whose sizes are not known."""
    tensor = torchlike.tensor(values, dtype=getattr(torchlike, dtype)).to("late")
    tensor._dispatch_data = late.Late(tensor._dispatch_data.array, known=False)
    return tensor


#: Arguments of an operator by their type; those with a default keep it.
ARGUMENTS = {
    "int": 1,
    "SymInt": 1,
    "float": 0.5,
    "bool": False,
    "Scalar": 2,
    "str": "linear",
    "int[]": [1, 2],
    "SymInt[]": [2, 3],
    "ScalarType": torchlike.float32,
    "Device": "late",
}


def arguments(schema, tensor):
    """Return arguments for each tensor, number and list that an operator requires."""
    args, kwargs = [], {}
    for each in schema.arguments:
        kind = str(each.type).split("(")[0].rstrip("?")
        if each.has_default and "Tensor" not in str(each.type):
            continue
        if "Tensor" not in str(each.type):
            value = ARGUMENTS.get(kind, 1)
        elif "[]" in str(each.type):
            value = [tensor(), tensor()]
        else:
            value = None if each.has_default else tensor()
        if each.kwarg_only:
            kwargs[each.name] = value
        else:
            args.append(value)
    return args, kwargs


ROWS = [(name, tags) for name, schema, tags in ATEN if "out" not in tags and "Tensor" in schema]


@pytest.mark.long
def test_every_operator_takes_a_tensor_whose_sizes_are_not_known(late):
    """It is computed first, but for the operators that are tagged; the kernels refuse anything else."""
    served = 0
    for name, tags in ROWS:
        operator = dc.registry.get(f"aten::{name}").op
        args, kwargs = arguments(operator.schema, lambda: unknown(late))
        before = sum(dc.computed_for_sizes().values())
        try:
            operator(*args, **kwargs)
        except (dc.DispatchError, RuntimeError, TypeError, ValueError, IndexError):  # it wants other arguments
            continue
        served += 1
        if "unknown_ok" not in tags or sum(isinstance(each, torchlike.Tensor) for each in args) > 1:
            assert sum(dc.computed_for_sizes().values()) > before or not any(map(torchlike.is_tensor, args)), name
    assert served > 400


def test_tagged_operators_and_reads_compute_no_sizes(late):
    x = unknown(late)
    before = dc.computed_for_sizes()
    y = ((x.exp() * 2 + 1).relu() > 0).sum()
    assert dc.computed_for_sizes() == before
    assert late.COMPUTED == []
    assert y.item() == 6
    # The sum is computed where it is read.
    assert late.COMPUTED == [1]


@pytest.mark.parametrize(
    ("use", "operator"),
    [
        (lambda x: x + torchlike.ones(2, 3).to("late"), "aten::add.Tensor"),
        (torchlike.t, "aten::t"),
        (lambda x: x.select(0, 1), "aten::select.int"),
        (lambda x: x.softmax(1), "aten::softmax.int"),
        (lambda x: x.requires_grad_() * 2, "aten::mul.Scalar"),
        (lambda x: x.shape, "shape"),
        (lambda x: x.numel(), "shape"),
    ],
)
def test_what_needs_a_size_is_counted_with_its_operator(late, use, operator):
    x = unknown(late)
    before = dc.computed_for_sizes()
    use(x)
    after = dc.computed_for_sizes()
    assert after[operator] > before.get(operator, 0)
    assert {name for name in after if after[name] != before.get(name, 0)} == {operator}


def test_a_tensor_is_computed_once_and_holds_the_computed_array(late):
    x = unknown(late)
    raw = x._dispatch_data
    assert x.shape == (2, 3) and x.shape == (2, 3)
    x.sum(0)
    x.softmax(0)
    assert dc.ops.aten.amax(raw).array == 6
    assert late.COMPUTED == [1]
    assert x._dispatch_data is not raw and x._dispatch_data.known
    assert x.tolist() == [[1, -2, 3], [-4, 5, 6]]


def test_operators_with_results_of_unknown_size_go_on(late):
    x = torchlike.tensor([3.0, -1.0, 2.0]).to("late").requires_grad_()
    chosen = x.masked_select(x > 0)
    assert not chosen._dispatch_data.known
    (chosen * 2).sum().backward()
    assert x.grad.tolist() == [2, 0, 2]
    assert chosen.tolist() == [3, 2]


def test_raw_arrays_are_computed_too(late):
    array = late.Late(np.arange(6.0).reshape(2, 3), known=False)
    assert dc.shape(array) == (2, 3) and dc.strides(array) == (3, 1)
    assert dc.ops.aten.mm(array, late.Late(np.ones((3, 1)), known=False)).array.tolist() == [[3], [12]]
    assert late.COMPUTED == [1, 1]


def test_a_pipeline_has_everything_that_it_keeps_computed_by_one_call(late):
    x = torchlike.ones(3).to("late")
    for _ in range(4):
        late.COMPUTED.clear()
        with torchlike.pipeline() as pipe:
            a = x * 2
            b, c = (a + 1).exp(), a.sum()
            del a
        assert late.COMPUTED == [2]
        assert b.sum(0).tolist() and c.item() == 6
        assert late.COMPUTED == [2, 1]
    assert pipe.stats().computed == {}


def test_a_pipeline_has_sizes_computed_where_a_call_is_recorded(late):
    x = unknown(late)
    with torchlike.pipeline() as pipe:
        y = x * 2
        assert y.shape == (2, 3)
    assert pipe.stats().computed == {"aten::mul.Scalar": 1}
    assert "computed for their sizes" in str(pipe.stats())
    assert pipe.stats().as_dict()["computed"] == {"aten::mul.Scalar": 1}
    assert math.isclose(y.sum().item(), 18)


def test_a_read_in_a_pipeline_computes_what_the_program_still_holds(late):
    x = torchlike.ones(3).to("late")
    with torchlike.pipeline():
        a = x * 2
        total = a.sum()
        assert total.item() == 6
        assert late.COMPUTED == [2]
    assert a.tolist() == [2, 2, 2]
    assert late.COMPUTED == [2]


def test_synchronize_has_living_results_computed_and_waits(late):
    x = torchlike.ones(3).to("late")
    y, _ = x * 2, (x * 3).sum()
    torchlike.synchronize("cpu")
    assert (late.COMPUTED, late.WAITED) == ([], [])
    torchlike.synchronize()
    assert late.COMPUTED[-1] >= 2 and late.WAITED == [1]
    late.COMPUTED.clear()
    dc.synchronize("late")
    assert y.tolist() == [2, 2, 2]
    assert late.COMPUTED == []
    with torchlike.pipeline():
        z = y + 1
        torchlike.synchronize()
        assert not z._pending and late.COMPUTED == [1]


def test_a_fault_of_the_library_is_one_error_and_changes_nothing(late):
    x = unknown(late)
    held = x._dispatch_data
    late.FAULT.append(TimeoutError("the cluster is gone"))
    for use in (lambda: x.shape, lambda: x.sum(0), x.tolist, lambda: x + unknown(late)):
        with pytest.raises(
            dc.BackendError, match=r"device 'late': .* could not be computed: TimeoutError: the cluster is gone"
        ):
            use()
    assert x._dispatch_data is held
    y = torchlike.ones(3).to("late") if not late.FAULT.clear() else None
    with pytest.raises(dc.BackendError, match="the cluster is gone"), torchlike.pipeline():
        y = y * 2
        late.FAULT.append(TimeoutError("the cluster is gone"))
    late.FAULT.clear()
    assert y.tolist() == [2, 2, 2]
    assert x.shape == (2, 3)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda arrays: None, "NoneType for a list of length 1"),
        (lambda arrays: [], "a list of length 0 for a list of length 1"),
        (lambda arrays: arrays, "Late without known sizes"),
        (lambda arrays: [3.0], "float without known sizes"),
    ],
)
def test_an_answer_of_the_hook_that_is_of_no_use_is_refused(late, monkeypatch, answer, text):
    from dispatch_core.arrays import owners

    sizes = owners.ARRAY_TYPES[late.Late].shape
    monkeypatch.setattr(sizes, "_hook", answer)
    x = unknown(late)
    with pytest.raises(dc.BackendError, match=f"dispatch_compute returned {text}"):
        x.sum(0)


def test_explain_says_what_is_computed_first(late):
    x = unknown(late)
    assert "computed first" in str(dc.explain("aten::sum.dim_IntList", x, [0]))
    assert "computed first" not in str(dc.explain("aten::exp", x))
    assert "computed first" not in str(dc.explain("aten::exp", torchlike.ones(2)))
    assert late.COMPUTED == []
