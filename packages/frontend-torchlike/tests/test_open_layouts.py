"""Layouts that a program writes: keys of their own, the order of their kernels, and the checks of their results."""

from __future__ import annotations

import copy
import pickle
from contextlib import nullcontext
from dataclasses import dataclass

import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.arrays import layouts
from dispatch_core.frontends import TensorLayout, call_converted, components_of, find_layout
from torchlike.layouts import record_of, wrap
from torchlike.nn.functional import linear
from torchlike.utils.pytree import tree_leaves, tree_map

CALLS: list[str] = []


@dataclass(frozen=True)
class Rounded:
    """Numbers as integers and the step between them."""

    integers: torchlike.Tensor
    step: float


@dataclass(frozen=True)
class Ternary:
    """Numbers that are -1, 0 or 1."""

    signs: torchlike.Tensor


@dataclass(frozen=True)
class Logged:
    """A tensor whose history the components have."""

    value: torchlike.Tensor


@dataclass(frozen=True)
class Unused:
    """Nothing but a tensor, of no layout."""

    signs: torchlike.Tensor


@dataclass(frozen=True)
class Checked:
    """Nothing but a tensor."""

    value: torchlike.Tensor


def like_component(prefix, record, name, **options):
    """Return a layout whose tensors have the sizes, strides and dtype of a component, unless options say otherwise."""
    readers = {
        "shape": lambda record: dc.shape(getattr(record, name)),
        "dtype": lambda record: getattr(record, name).dtype,
        "strides": lambda record: dc.strides(getattr(record, name)),
    }
    return TensorLayout(prefix, record, component=name, **readers | options)


def read(record):
    return record.integers.to(torchlike.float32) * record.step


ROUNDED = like_component(
    "Quantized",
    Rounded,
    "integers",
    dtype=lambda record: torchlike.float32,
    hint="read(record_of(x)) has the numbers",
    composes=("aten::mse_loss", "aten::silu", "aten::to"),
)
#: Another layout of the same prefix.
TERNARY = like_component(
    "Quantized",
    Ternary,
    "signs",
    dtype=lambda record: torchlike.float32,
)
HISTORY = like_component(
    "Logged",
    Logged,
    "value",
    components_have_history=True,
)


CHECKED = like_component(
    "Checked",
    Checked,
    "value",
)


def make_rounded(values, step=0.5):
    return wrap(ROUNDED.make(integers=(values / step).round().clamp(-128, 127).to(torchlike.int8), step=step))


def numbers(x):
    return read(record_of(x)) if find_layout(x) is ROUNDED else x


def run_rounded(op, *args, **kwargs):
    """Compute with the numbers, and round again; views and writes reach the integers."""
    CALLS.append(op.name)
    first = next(record_of(each) for each in tree_leaves((args, kwargs)) if find_layout(each) is ROUNDED)
    is_view = any(each.alias and not each.is_write for each in op.schema.returns)
    if is_view or "inplace_view" in op.tags:
        found = op(*tree_map(integers, args), **kwargs)
        return tree_map(lambda each: wrap(ROUNDED.replace(first, integers=each)), found) if is_view else args[0]
    found = op(*tree_map(numbers, args), **tree_map(numbers, kwargs))
    values = [*args, *(kwargs.get(each.name) for each in op.schema.arguments[len(args) :])]
    written = [value for value, each in zip(values, op.schema.arguments, strict=True) if each.is_write]
    for each, value in zip(tree_leaves(written), tree_leaves(found), strict=False):
        if find_layout(each) is ROUNDED:
            record_of(each).integers.copy_(integers(make_rounded(value, record_of(each).step)))
    if written:
        return written[0] if len(written) == 1 else tuple(written)
    return tree_map(lambda each: make_rounded(each, first.step) if is_number(each) else each, found)


def integers(x):
    return record_of(x).integers if find_layout(x) is ROUNDED else x


def is_number(x):
    return isinstance(x, torchlike.Tensor) and x.dtype is torchlike.float32


@ROUNDED.for_each_key
def _register_rounded(key):
    dc.Library("_", "IMPL").fallback(run_rounded, key)


@TERNARY.for_each_key
def _register_ternary(key):
    dc.Library("aten", "IMPL").impl("neg", lambda self: wrap(TERNARY.make(signs=-record_of(self).signs)), key)


@HISTORY.for_each_key
def _register_logged(key):
    def run(op, *args, **kwargs):
        return op(*[record_of(each).value if find_layout(each) is HISTORY else each for each in args], **kwargs)

    dc.Library("_", "IMPL").fallback(run, key)


@pytest.fixture
def x():
    CALLS.clear()
    return make_rounded(torchlike.tensor([[1.0, -2.0], [0.5, 3.0]]))


def test_each_layout_has_keys_of_its_own(x):
    signs = wrap(TERNARY.make(signs=torchlike.tensor([1, -1])))
    assert dc.DispatchKeySet.from_tensors([x]) == dc.DispatchKeySet(ROUNDED.key_on("cpu"))
    assert {ROUNDED.key_on("cpu"), TERNARY.key_on("cpu")} == {
        dc.DispatchKey[f"{each.keys_prefix}CPU"] for each in (ROUNDED, TERNARY)
    }
    assert ROUNDED.key_on("cpu") is not TERNARY.key_on("cpu") and ROUNDED.prefix == TERNARY.prefix == "Quantized"
    assert record_of(-signs).signs.tolist() == [-1, 1] and numbers(-x).tolist() == [[-1.0, 2.0], [-0.5, -3.0]]
    assert (
        signs.is_cpu and not signs.is_meta and wrap(TERNARY.make(signs=signs._dispatch_data.signs.to("meta"))).is_meta
    )
    for backend in ("NPU", "Meta"):
        below, above = dc.DispatchKey[f"NestedTensor{backend}"], dc.DispatchKey[f"Logged{backend}"]
        assert below.rank < above.rank < dc.DispatchKey.Pipeline.rank
    assert HISTORY.autograd_key.rank > dc.DispatchKey.AutogradNestedTensor.rank
    vendor = dc.DispatchKey.register_backend("LayoutVendor")
    assert dc.DispatchKey["LoggedLayoutVendor"].backend == vendor.name


def test_two_layouts_of_one_prefix_do_not_meet(x):
    signs = wrap(TERNARY.make(signs=torchlike.tensor([1, -1])))
    with pytest.raises(
        dc.NoKernelError,
        match=r"two Quantized layouts stand in one call, with records .*Rounded.*Ternary|.*Ternary.*Rounded",
    ):
        x + signs


def test_an_operator_without_a_kernel_is_not_the_other_layouts(x):
    signs = wrap(TERNARY.make(signs=torchlike.tensor([1, -1])))
    with pytest.raises(dc.NoKernelError, match=r"no kernel for \w*Quantized\w*CPU"):
        signs + 1


def test_a_view_without_a_kernel_is_refused_with_the_layouts_hint():
    with pytest.raises(dc.NoKernelError, match=r"no kernel for tensors of TensorLayout(.|\n)*Hint: register a kernel"):
        wrap(TERNARY.make(signs=torchlike.tensor([1, -1])))[0]


def test_a_fallback_comes_before_composites(x):
    found = linear(x, x)
    assert (
        CALLS == ["aten::linear"]
        and numbers(found).tolist() == numbers(make_rounded(linear(numbers(x), numbers(x)))).tolist()
    )
    CALLS.clear()
    torchlike.nn.functional.gelu(x), torchlike.relu(x), x @ x, torchlike.cat([x, x])
    assert CALLS == ["aten::gelu", "aten::relu", "aten::matmul", "aten::cat"]


def test_a_layout_names_the_operators_of_which_it_wants_the_parts(x):
    torchlike.nn.functional.mse_loss(x, x)
    assert "aten::mse_loss" not in CALLS and CALLS
    assert ROUNDED.wants_parts("aten::mse_loss") and not ROUNDED.wants_parts("aten::mse")


def test_views_reach_the_integers(x):
    row, turned = x[0], x.t()
    row.copy_(torchlike.tensor([3.0, 3.0]))
    assert numbers(x).tolist() == [[3.0, 3.0], [0.5, 3.0]] == numbers(turned.t()).tolist()
    assert [numbers(each).tolist() for each in x.unbind()] == [[3.0, 3.0], [0.5, 3.0]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: x.relu_(), "is not argument 'self' itself"),
        (lambda x: x.t(), "does not share the memory of argument 'self'"),
        (lambda x: x + x, "must be Tensor, not str"),
    ],
)
@pytest.mark.parametrize("times", [1, 3])
def test_the_results_of_a_fallback_are_checked_in_every_call(call, text, times):
    given = wrap(CHECKED.make(value=torchlike.ones(2, 2)))
    good = [times - 1]

    def run(op, *args, **kwargs):
        good[0] -= 1
        if good[0] >= 0:
            return args[0]
        return "text" if "add" in op.name else wrap(CHECKED.make(value=torchlike.ones(2, 2)))

    with dc.Library("_", "IMPL") as library:
        library.fallback(run, CHECKED.key_on("cpu"))
        for _ in range(times - 1):
            call(given)
        with pytest.raises(dc.KernelResultError, match=text):
            call(given)


def test_copies_pickles_and_parameters_come_from_the_fields(x):
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert find_layout(made) is ROUNDED and numbers(made).tolist() == numbers(x).tolist()
        assert record_of(made).integers is not record_of(x).integers
    parameter = torchlike.nn.Parameter(x)
    assert (
        parameter.requires_grad and record_of(parameter) is record_of(x) and "Parameter containing" in repr(parameter)
    )
    module = torchlike.nn.Module()
    module.register_buffer("kept", x)
    assert module.state_dict()["kept"].layout is x.layout and repr(x.layout) == "torchlike.rounded"
    there = ROUNDED.map_components(lambda each: each.to("meta"), record_of(x))
    assert wrap(there).is_meta and components_of(there)[0].is_meta


@pytest.mark.parametrize("options", [{}, {"format": "safetensors"}])
def test_files_keep_the_fields(x, options, tmp_path):
    given = {"x": x, "parameter": torchlike.nn.Parameter(x), "again": x}
    torchlike.save(given, tmp_path / "x.pt", **options)
    found = torchlike.load(tmp_path / "x.pt")
    assert found["x"] is found["again"] and isinstance(found["parameter"], torchlike.nn.Parameter)
    assert find_layout(found["x"]) is ROUNDED and numbers(found["parameter"]).tolist() == numbers(x).tolist()


def test_a_file_of_a_layout_that_is_not_there_is_refused(x, tmp_path, monkeypatch):
    torchlike.save(x, tmp_path / "x.pt")
    monkeypatch.delitem(layouts._of_record, Rounded)
    with pytest.raises(Exception, match=r"records of .*Rounded, which no layout has that this program has made"):
        torchlike.load(tmp_path / "x.pt")


def test_what_an_array_alone_answers_is_refused_with_the_layouts_hint(x):
    with pytest.raises(
        TypeError, match=r"numpy\(\) is not supported for tensors of layout torchlike.rounded\nHint: read"
    ):
        x.numpy()


def test_components_with_a_history_need_no_formulas():
    value = torchlike.tensor([1.0, 2.0], requires_grad=True)
    made = wrap(HISTORY.make(value=value))
    other = torchlike.tensor([3.0, 4.0], requires_grad=True)
    (linear(made, torchlike.stack([other, other])) + (made * other).sum()).sum().backward()
    assert value.grad.tolist() == [12.0, 16.0] and other.grad.tolist() == [4.0, 8.0]


def test_transforms_take_tensors_of_a_layout(x):
    rows = torchlike.func.vmap(lambda row: row * 2)(x)
    assert find_layout(rows) is ROUNDED and numbers(rows).tolist() == (numbers(x) * 2).tolist()
    assert numbers(torchlike.func.vmap(lambda row: row.sum())(x)).tolist() == numbers(x).sum(1).tolist()
    weight = torchlike.ones(2, 2)
    found = torchlike.func.grad(lambda weight: linear(weight, x).sum())(weight)
    assert numbers(found).tolist() == numbers(x).sum(0).expand(2, 2).tolist()
    batched = torchlike.func.vmap(lambda row: x @ row)(weight)
    assert numbers(batched).tolist() == [numbers(x @ row).tolist() for row in weight]


def test_a_gradient_of_a_layouts_own_tensor_is_kept_by_its_autograd_key():
    x = make_rounded(torchlike.ones(2)).requires_grad_()
    y = (x * 2).sum()
    assert y.requires_grad
    y.backward()
    assert numbers(x.grad).tolist() == [2.0, 2.0]


def test_a_prefix_needs_room_and_a_name():
    with pytest.raises(dc.RegistrationError, match="cannot become the prefix"):
        TensorLayout("two words", Unused, component="signs", shape=len, dtype=len)


def test_writes_to_a_tensor_are_counted(x):
    made = torchlike.ones(2, 2)
    x.add_(1), torchlike.add(x, x, out=x), x[0].relu_(), torchlike.add(x, x, out=made)
    assert (x._version, made._version) == (3, 1)
    x = make_rounded(torchlike.ones(2)).requires_grad_()
    y = x * 1
    z = (y * y).sum()
    y.relu_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_autocast_casts_a_tensor_to_what_its_layout_makes_of_it(x):
    with torchlike.autocast("cpu", dtype=torchlike.bfloat16):
        found = linear(x, torchlike.ones(3, 2))
    assert found.dtype is torchlike.bfloat16 and found.tolist() == numbers(x).sum(1, keepdim=True).expand(2, 3).tolist()


def test_a_module_moves_its_parameters_of_a_layout(x):
    module = torchlike.nn.Module()
    module.weight = torchlike.nn.Parameter(x)
    module.weight.grad = make_rounded(torchlike.ones(2, 2))
    module.to("meta")
    assert find_layout(module.weight) is ROUNDED and module.weight.is_meta and module.weight.grad.is_meta
    with pytest.raises(RuntimeError, match=r"layout torchlike\.rounded and torchlike\.strided"):
        module.double()


def test_functionalize_names_the_layout_that_it_does_not_take(x):
    with pytest.raises(TypeError, match=r"functionalize takes no tensors of layout torchlike\.rounded"):
        torchlike.func.functionalize(lambda x: x * 2)(x)


@dataclass(frozen=True)
class Placed:
    """A tensor that says where its parts are."""

    local: torchlike.Tensor
    placement: str = "replicated"


PLACED = like_component(
    "Placed",
    Placed,
    "local",
)


def place(local):
    return wrap(PLACED.make(local=local, placement="replicated"))


@PLACED.for_each_key
def _register_placed(key):
    def run(op, *args, **kwargs):
        local = tree_map(lambda each: record_of(each).local if find_layout(each) is PLACED else each, (args, kwargs))
        found = op(*local[0], **local[1])
        if any(each.is_write for each in op.schema.arguments):
            return args[0]
        return tree_map(lambda each: place(each) if isinstance(each, torchlike.Tensor) else each, found)

    dc.Library("_", "IMPL").fallback(run, key)


def train(wrap_with, optimizer, way):
    torchlike.manual_seed(0)
    net = torchlike.nn.Sequential(torchlike.nn.Linear(4, 8), torchlike.nn.GELU(), torchlike.nn.Linear(8, 2))
    for module in net:
        for name, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, name, torchlike.nn.Parameter(wrap_with(parameter.detach())))
    chosen = optimizer(net.parameters(), lr=0.1)

    def step(x, y):
        loss = torchlike.nn.functional.mse_loss(net(x), y)
        chosen.zero_grad()
        loss.backward()
        chosen.step()
        return loss

    step = torchlike.capture(step) if way == "capture" else step
    with torchlike.pipeline() if way == "pipeline" else nullcontext():
        losses = [step(*(wrap_with(torchlike.randn(16, size)) for size in (4, 2))) for _ in range(5)]
        return [float(record_of(each).local if find_layout(each) is PLACED else each) for each in losses]


@pytest.mark.parametrize("way", ["eager", "pipeline", "capture"])
@pytest.mark.parametrize("optimizer", [torchlike.optim.SGD, torchlike.optim.Adam])
def test_a_program_trains_on_tensors_of_a_layout(optimizer, way):
    plain = train(lambda each: each, optimizer, "eager")
    assert train(place, optimizer, way) == pytest.approx(plain, abs=1e-6)


def test_a_captured_function_reads_the_record_that_a_tensor_has_now():
    weight = torchlike.nn.Parameter(place(torchlike.ones(3, 4)))
    run = torchlike.capture(lambda x: linear(x, weight))
    x = place(torchlike.ones(2, 4))
    found = [float(record_of(run(x)).local.sum()) for _ in range(4)]
    dc.rebind(weight, PLACED.make(local=torchlike.ones(3, 4) * 2, placement="replicated"))
    found += [float(record_of(run(x)).local.sum()) for _ in range(2)]
    weight.data = place(torchlike.ones(3, 4) * 3)
    found += [float(record_of(run(x)).local.sum()) for _ in range(2)]
    assert found == [24.0] * 4 + [48.0] * 2 + [72.0] * 2


def test_a_transform_sees_the_calls_on_components_that_have_the_history():
    def triple(value):
        return (wrap(HISTORY.make(value=value)) * 3).sum()

    value = torchlike.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torchlike.func.grad(triple)(value).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert torchlike.func.vmap(triple)(value).tolist() == [9.0, 21.0]
    assert torchlike.func.vmap(torchlike.func.grad(triple))(value).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert [each.item() for each in torchlike.func.jvp(triple, (value,), (value,))] == [30.0, 30.0]


def test_a_transform_refuses_a_layout_of_its_tensors_that_have_no_history():
    def double(value):
        made = wrap(ROUNDED.make(integers=value, step=1.0))
        return numbers(made * 2).sum()

    for transform, text in (
        (torchlike.func.grad, "a transform differentiates"),
        (torchlike.func.vmap, "vmap has batched"),
    ):
        with pytest.raises(TypeError, match=f"of layout torchlike.rounded is made of tensors that {text}"):
            transform(double)(torchlike.ones(2, 2))


def test_a_gradient_of_a_composite_takes_an_ordinary_tensor_beside_one_of_a_layout():
    x, weight = make_rounded(torchlike.tensor([[1.0, -2.0], [0.5, 3.0]])), torchlike.ones(2, 2)
    for call in (lambda x: (x @ weight).sum(), lambda x: linear(x, weight).sum()):
        assert numbers(torchlike.func.grad(call)(x)).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_component_is_an_ordinary_tensor(x):
    with pytest.raises(dc.ArgumentError, match="a tensor with the record Rounded is not an array"):
        TERNARY.make(signs=x)


def test_what_cannot_be_a_layout_or_its_record_is_refused(x):
    options = {"shape": len, "dtype": len}
    with pytest.raises(dc.ArgumentError, match="records of Rounded have no field 'values'"):
        TensorLayout("Other", Rounded, component="values", **options)
    with pytest.raises(dc.ArgumentError, match=r"make\(\) takes the field 'integers'"):
        ROUNDED.make(step=1.0)
    assert numbers(wrap(Rounded(record_of(x).integers, 0.25))).tolist() == (numbers(x) / 2).tolist()


def test_a_transform_refuses_a_result_of_a_layout_of_its_tensors():
    def make(value):
        return wrap(HISTORY.make(value=value))

    value = torchlike.tensor(2.0)
    for call in (
        lambda: torchlike.func.grad(make)(value),
        lambda: torchlike.func.vjp(make, value),
        lambda: torchlike.func.jvp(make, (value,), (value,)),
        lambda: torchlike.func.vmap(make)(torchlike.ones(2)),
    ):
        with pytest.raises(
            TypeError, match=r"a result of layout torchlike\.logged is made of tensors of the transform"
        ):
            call()


def test_lists_of_views_are_views_of_their_base(x):
    p = torchlike.ones(2, 2, requires_grad=True)
    loss = (p * x).sum()
    rows = x.unbind()
    assert all(row._base is x for row in rows)
    for row in rows:
        row.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_copy_in_the_place_of_a_view_is_refused_when_it_is_an_ordinary_tensor():
    given = wrap(GATHERED.make(value=torchlike.ones(2, 2)))
    assert (given + 1).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with pytest.raises(dc.KernelResultError, match="does not share the memory of argument 'self'"):
        given[0] = 5.0
    with pytest.raises(dc.KernelResultError, match=r"must be bool, not str|result 0"):
        torchlike.equal(given, given)


def test_gradients_pass_from_a_layout_to_ordinary_tensors(x):
    p = torchlike.ones(2, 2, requires_grad=True)
    linear((p * 2).relu(), x).sum().backward()
    assert numbers(p.grad).tolist() == numbers(make_rounded(2 * numbers(x).sum(0).expand(2, 2))).tolist()


def test_captured_functions_return_views_and_histories(x):
    for view in (lambda x: x[0], lambda x: (x * 2).t()):
        run = torchlike.capture(view)
        assert [numbers(run(x) * 1).tolist() for _ in range(4)] == [numbers(view(x)).tolist()] * 4
    weight = place(torchlike.ones(3, 4)).requires_grad_()
    linear(place(torchlike.ones(2, 4)), weight).sum().backward()
    run = torchlike.capture(lambda x: linear(x, weight) * 2)
    for _ in range(4):
        weight.grad = None
        run(place(torchlike.ones(2, 4))).sum().backward()
        assert record_of(weight.grad).local.tolist() == [[4.0] * 4] * 3
    run = torchlike.capture(lambda x: x * 2)
    with pytest.raises(dc.CaptureError, match="an argument, a tensor whose data is Placed, is a leaf of the result's"):
        for _ in range(3):
            run(weight)


def test_a_layout_whose_components_have_the_history_has_none_itself():
    for require in (lambda x: x.requires_grad_(), torchlike.nn.Parameter):
        with pytest.raises(RuntimeError, match=r"cannot require gradients: its components have the history"):
            require(wrap(HISTORY.make(value=torchlike.ones(2))))


@dataclass(frozen=True)
class Gathered:
    """A tensor that every operator copies."""

    value: torchlike.Tensor


GATHERED = like_component(
    "Gathered",
    Gathered,
    "value",
)


@GATHERED.for_each_key
def _register_gathered(key):
    def run(op, *args, **kwargs):
        if op.name == "aten::equal":
            return "text"
        copied = [record_of(each).value.clone() if find_layout(each) is GATHERED else each for each in args]
        return op(*copied, **kwargs)

    dc.Library("_", "IMPL").fallback(run, key)


@dataclass(frozen=True)
class Halved:
    """Half of the numbers, so that a copy in the place of a write or a view would be noticed."""

    half: torchlike.Tensor


HALVED = like_component("Halved", Halved, "half")


@HALVED.for_each_key
def _register_halved(key):
    def run(op, *args, **kwargs):
        return call_converted(
            HALVED,
            op,
            args,
            kwargs,
            read=lambda record: record.half * 2,
            make=lambda value, record: wrap(HALVED.make(half=value / 2)) if value.is_floating_point() else value,
        )

    dc.Library("_", "IMPL").fallback(run, key)


def _halve(*numbers):
    return wrap(HALVED.make(half=torchlike.tensor(numbers) / 2))


def _double(x):
    return record_of(x).half.mul(2).tolist()


def test_converted_calls_return_what_the_schema_promises():
    x, y = _halve(1.0, 2.0), _halve(3.0, 4.0)
    assert _double(x + y) == [4.0, 6.0] and (x > 1).tolist() == [False, True]
    assert x.add_(y) is x and _double(x) == [4.0, 6.0]
    assert torchlike.mul(x, x, out=y) is y and _double(y) == [16.0, 36.0]
    ordinary = torchlike.empty(2)
    assert torchlike.add(x, x, out=ordinary) is ordinary and ordinary.tolist() == [8.0, 12.0]
    x[0] = 0.0
    first, second = x.split(1)
    second.fill_(5.0)
    assert _double(x) == [0.0, 5.0] and _double(first) == [0.0]
    torchlike._foreach_add_([x, y], 1.0)
    assert _double(x) == [1.0, 6.0] and _double(y) == [17.0, 37.0]
    assert [_double(each) for each in torchlike._foreach_mul([x, x], 2.0)] == [[2.0, 12.0]] * 2
    z = _halve(1.0, 2.0)
    assert z.unsqueeze_(0) is z and z.shape == (1, 2)
    assert x.sum().item() == 7.0
