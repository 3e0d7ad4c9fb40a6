"""Graphs of modules and functions, and the code that is made of them."""

import copy
import enum
import operator
import pickle
import warnings
from typing import NamedTuple

import pytest

import torchlike
from torchlike import fx, nn
from torchlike.fx import subgraph_rewriter
from torchlike.fx.experimental.const_fold import split_const_subgraphs
from torchlike.fx.experimental.rewriter import RewritingTracer
from torchlike.fx.operator_schemas import normalize_function
from torchlike.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint
from torchlike.fx.passes.shape_prop import ShapeProp
from torchlike.fx.passes.split_module import split_module


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.scale = nn.Parameter(torchlike.full((3,), 2.0))
        self.register_buffer("shift", torchlike.ones(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.scale + self.shift


class Pair(NamedTuple):
    left: object
    right: object


def code(function, **options):
    return fx.symbolic_trace(function, **options).code.strip()


def test_a_traced_module_computes_the_same_and_has_the_same_parameters():
    block = Block()
    traced = fx.symbolic_trace(block)
    x = torchlike.randn(2, 3)
    assert torchlike.equal(traced(x), block(x))
    assert traced.scale is block.scale
    assert [node.op for node in traced.graph.nodes] == [
        *["placeholder", "call_module", "call_module", "get_attr", "call_function"],
        *["get_attr", "call_function", "output"],
    ]
    assert traced.code.strip().splitlines()[:4] == [
        "def forward(self, x):",
        '    layers_0 = getattr(self.layers, "0")(x);  x = None',
        '    layers_1 = getattr(self.layers, "1")(layers_0);  layers_0 = None',
        "    scale = self.scale",
    ]


@pytest.mark.parametrize("make", [copy.deepcopy, copy.copy, lambda module: pickle.loads(pickle.dumps(module))])
def test_a_traced_module_can_be_copied_and_pickled(make):
    traced = fx.symbolic_trace(Block())
    copied, x = make(traced), torchlike.randn(2, 3)
    assert torchlike.equal(copied(x), traced(x))
    assert (copied.code, str(copied.graph)) == (traced.code, str(traced.graph))
    assert (copied.scale is traced.scale) == (make is copy.copy)


def test_a_change_of_the_graph_counts_after_recompiling():
    traced = fx.symbolic_trace(lambda x: x + 1)
    (add,) = traced.graph.find_nodes(op="call_function", target=operator.add)
    with traced.graph.inserting_after(add):
        doubled = traced.graph.call_function(operator.mul, (add, 2))
    add.replace_all_uses_with(doubled, delete_user_cb=lambda user: user is not doubled)
    assert traced(1) == 2
    traced.graph.lint()
    traced.recompile()
    assert traced(1) == 4


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: -x if x else x, "symbolically traced variables cannot be used as inputs to control flow"),
        (lambda x: [each for each in x], "Proxy object cannot be iterated"),  # noqa: C416  # the loop is what is traced
    ],
)
def test_what_python_decides_by_a_value_is_not_traced(function, text):
    with pytest.raises(fx.proxy.TraceError, match=text):
        fx.symbolic_trace(function)


def test_the_length_of_a_proxy_is_not_known():
    with pytest.raises(RuntimeError, match="'len' is not supported in symbolic tracing by default"):
        fx.symbolic_trace(len_of)


def len_of(x):
    return len(x)


def test_nothing_stays_replaced_after_an_error():
    before = nn.Module.__call__, nn.Module.__getattr__

    def fail(x):
        assert nn.Module.__call__ is not before[0]
        raise KeyError("failed")

    with pytest.raises(KeyError, match="failed"):
        fx.symbolic_trace(fail)
    assert (nn.Module.__call__, nn.Module.__getattr__) == before
    assert "__getattr__" not in vars(nn.Module)
    assert not fx._symbolic_trace.is_fx_tracing()


def test_modules_that_other_threads_call_are_not_traced():
    from concurrent.futures import ThreadPoolExecutor

    layer = nn.ReLU()

    def call_elsewhere(x):
        with ThreadPoolExecutor(1) as pool:
            found.append(pool.submit(layer, torchlike.ones(1)).result())
        return x

    found = []
    fx.symbolic_trace(call_elsewhere)
    assert found == [torchlike.ones(1)]


def test_fixed_arguments_are_checked_by_the_graph():
    traced = fx.symbolic_trace(lambda x, negate: -x if negate else x, concrete_args={"negate": True})
    assert traced(torchlike.ones(1), True).item() == -1
    with pytest.raises(AssertionError, match="negate has been specialized to have value True but got another value"):
        traced(torchlike.ones(1), False)


def test_containers_among_the_arguments_are_taken_apart():
    def function(inputs):
        return {"sum": inputs["a"] + inputs["b"][0]}

    traced = fx.symbolic_trace(function, concrete_args={"inputs": {"a": fx.PH, "b": [fx.PH]}})
    assert traced({"b": [2], "a": 1}) == {"sum": 3}
    assert fx.Interpreter(traced).run({"a": 1, "b": [2]}) == {"sum": 3}
    assert len(traced.graph.find_nodes(op="placeholder")) == 2


class Hostile:
    def __repr__(self):
        return "__import__('os').system('false')"

    def __fx_create_arg__(self, tracer):
        return self


class HostileNumber(int):
    __repr__ = Hostile.__repr__


class HostileText(str):
    __slots__ = ()
    __repr__ = Hostile.__repr__


class Color(enum.Enum):
    RED = 1


def test_no_object_puts_text_into_code():
    objects = [Hostile(), HostileNumber(3), HostileText("a\n"), Color.RED, Pair(1, Hostile())]
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output((x, objects, {HostileText("k"): Hostile()}))
    module = fx.GraphModule({}, graph)
    assert "import" not in module.code
    assert "(x, [hostile_constant, 3, 'a\\n', Color.RED, " in module.code
    result = module(0)
    assert (result[1][0], result[1][1], result[1][3], result[1][4]) == (objects[0], 3, Color.RED, objects[4])


@pytest.mark.parametrize("name", ["x = print(1)", "x:\n  print", "***x", "1", "class"])
def test_a_name_that_is_none_does_not_become_code(name):
    graph = fx.Graph()
    graph.output(graph.placeholder(name))
    with pytest.raises(ValueError, match="is not a name for an argument"):
        fx.GraphModule({}, graph)


@pytest.mark.parametrize("name", ['0"); print("', "a b", "if", "\\"])
def test_any_name_of_an_attribute_is_only_a_name(name):
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_method("get", (x,), {name: 1}))
    owner = type("Owner", (), {"get": lambda self, **given: given})()
    assert fx.GraphModule({}, graph)(owner) == {name: 1}
    graph = fx.Graph()
    graph.output(graph.get_attr(name))
    module = nn.Module()
    module.__dict__[name] = 7
    if "." not in name:
        assert fx.GraphModule(module, graph)() == 7


def test_literals_are_written_as_python_reads_them():
    values = (1, -0.0, float("inf"), 2j, "a'\n", b"b", None, ..., [True], {"k": (1,)}, slice(1, None, 2), range(3))
    graph = fx.Graph()
    graph.output((*values, torchlike.float32, torchlike.device("cpu", 1), torchlike.channels_last, torchlike.strided))
    found = fx.GraphModule({}, graph)()
    assert repr(found[: len(values)]) == repr(values)
    assert found[-4:] == (torchlike.float32, torchlike.device("cpu", 1), torchlike.channels_last, torchlike.strided)


def test_an_error_names_the_line_of_the_generated_code(capsys):
    traced = fx.symbolic_trace(lambda x: x.missing(1))
    with pytest.raises(AttributeError, match="missing"):
        traced(3)
    shown = capsys.readouterr().err
    assert "line 5 of the traced Module's generated forward function:" in shown
    assert "missing = x.missing(1)" in shown


def test_an_interpreter_tells_which_node_failed():
    with pytest.raises(AttributeError, match=r"While executing %missing : .* = call_method\[target=missing\]"):
        fx.Interpreter(fx.symbolic_trace(lambda x: x.missing(1))).run(3)


def test_dead_code_goes_and_effects_stay():
    traced = fx.symbolic_trace(lambda x: x.neg())
    x = next(iter(traced.graph.nodes))
    with traced.graph.inserting_after(x):
        traced.graph.call_function(operator.setitem, (x, 0, 2))
        traced.graph.call_function(operator.add, (x, 1))
    assert traced.graph.eliminate_dead_code()
    assert [node.name for node in traced.graph.nodes] == ["x", "setitem", "neg", "output"]
    assert not traced.graph.eliminate_dead_code()


@pytest.mark.parametrize("name", "bernoulli multinomial normal poisson rand randn_like randperm".split())
def test_calls_that_draw_random_numbers_stay(name):
    graph = fx.Graph()
    graph.call_function(getattr(torchlike, name), ())
    graph.output(None)
    assert not graph.eliminate_dead_code()


def test_nodes_can_be_inserted_everywhere_and_are_compared_by_their_place():
    graph = fx.Graph()
    first, last = graph.placeholder("first"), graph.placeholder("last")
    expected = [first, last]
    for number in range(200):
        at = number * 7 % len(expected)
        with graph.inserting_before(expected[at]):
            expected.insert(at, graph.call_function(operator.neg, (1,)))
    assert list(graph.nodes) == expected
    assert sorted(graph.nodes) == expected
    assert list(reversed(graph.nodes)) == expected[::-1]


def test_a_pattern_is_replaced_by_a_module_with_its_parameters():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(torchlike.full((1,), 3.0))

        def forward(self, x):
            return x * self.factor

    traced = fx.symbolic_trace(lambda x: (x.neg() + 1).neg())
    found = subgraph_rewriter.replace_pattern(traced, lambda a: a.neg(), fx.symbolic_trace(Scaled()))
    assert (len(found), traced(torchlike.ones(1)).item()) == (2, 12)
    assert [name for name, _ in traced.named_parameters()] == ["factor"]


def test_a_pattern_whose_inner_value_is_used_elsewhere_stays():
    traced = fx.symbolic_trace(lambda x: x.neg().relu() + x.neg())
    assert len(fx.replace_pattern(traced, lambda a: a.neg().relu(), lambda a: a.abs())) == 1

    def function(x):
        inner = x.neg()
        return inner.relu() + inner

    assert fx.replace_pattern(fx.symbolic_trace(function), lambda a: a.neg().relu(), lambda a: a.abs()) == []


def test_shapes_are_found_without_computing():
    traced = fx.symbolic_trace(Block())
    ShapeProp(traced.to("meta")).propagate(torchlike.ones(5, 3, device="meta"))
    shapes = [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    assert shapes == [(5, 3), (5, 3), (5, 3), (3,), (5, 3), (3,), (5, 3), (5, 3)]


@pytest.mark.parametrize(("name", "letters"), [("float8_e4m3fn", "f8e4m3fn"), ("bfloat16", "bf16"), ("bool", "b8")])
def test_dtypes_are_written_by_torchs_letters(name, letters):
    graph = fx.Graph()
    node = graph.call_function(torchlike.relu, (graph.placeholder("x"),))
    node.meta["val"] = torchlike.empty(2, dtype=getattr(torchlike, name))
    graph.output(node)
    assert node.format_node(include_tensor_metadata=True).startswith(f'%relu : Tensor "{letters}[2][1]cpu"')
    assert f'relu: "{letters}[2]"' in graph.python_code("self", verbose=True).src


def test_defaults_are_those_of_the_schema_or_the_function():
    x = torchlike.ones(1, 2, 2)
    pooled = normalize_function(nn.functional.avg_pool2d, (x, 2), normalize_to_only_use_kwargs=True)
    assert [*pooled.kwargs.items()][2:4] == [("stride", []), ("padding", [0, 0])]
    assert normalize_function(nn.functional.silu, (x,), {"inplace": True}) == ((x,), {"inplace": True})
    loss = normalize_function(nn.functional.mse_loss, (x, x), {"reduction": "sum"})
    assert loss.kwargs == {"size_average": None, "reduce": None, "reduction": "sum", "weight": None}
    made = normalize_function(torchlike.ones, ((2,),))
    assert made == (((2,),), dict.fromkeys(["dtype", "layout", "device", "pin_memory"]))


def test_a_folder_has_the_module_as_a_package(tmp_path, monkeypatch):
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)))
    traced.to_folder(tmp_path / "written_module")
    monkeypatch.syspath_prepend(tmp_path)
    from written_module import FxModule

    x = torchlike.ones(1, 2)
    assert torchlike.equal(FxModule()(x), traced(x))


def test_hooks_are_told_of_nodes():
    traced = fx.symbolic_trace(lambda x: x.neg())
    seen = []
    traced._register_create_node_hook(lambda node: seen.append(("create", node.name)))
    traced._register_erase_node_hook(lambda node: seen.append(("erase", node.name)))
    (neg,) = traced.graph.find_nodes(op="call_method", target="neg")
    with traced.graph.inserting_after(neg):
        new = traced.graph.call_method("abs", (neg,))
    with traced._set_replace_hook(lambda old, new, user: seen.append((old.name, new, user.name))):
        neg.replace_all_uses_with(new, delete_user_cb=lambda user: user.op == "output")
    new.args = (next(iter(traced.graph.nodes)),)
    traced.graph.erase_node(neg)
    assert seen == [("create", "abs_1"), ("neg", "abs_1", "output"), ("erase", "neg")]


def test_an_attribute_that_is_not_there_is_warned_of():
    traced = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    with pytest.warns(UserWarning, match="Attempted to insert a get_attr Node with no underlying reference"):
        traced.graph.get_attr("weight")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced.graph.get_attr("0")
    with pytest.raises(RuntimeError, match="references nonexistent attribute weight"):
        traced.graph.lint()


@pytest.mark.parametrize("name", ["neg", "relu", "add", "cat", "linear"])
def test_a_function_makes_one_node_also_after_it_has_served_tensors(name):
    function = getattr(torchlike, name, None) or getattr(nn.functional, name)
    given = {"neg": 1, "relu": 1, "add": 2, "linear": 2}

    def call(x):
        return function([x, x]) if name == "cat" else function(*[x] * given[name])

    for _ in range(20):
        call(torchlike.ones(2, 2))
        traced = fx.symbolic_trace(call)
        assert [node.op for node in traced.graph.nodes] == ["placeholder", "call_function", "output"]
        assert traced.graph.find_nodes(op="call_function", target=function)


def test_a_module_is_split_by_the_number_of_each_node():
    traced = fx.symbolic_trace(Block())
    split = split_module(traced, traced, lambda node: int(node.op == "call_function"))
    x = torchlike.randn(2, 3)
    assert torchlike.equal(split(x), traced(x))
    assert [name for name, _ in split.named_children()] == ["submod_0", "submod_1"]
    assert [node.target for node in split.submod_0.graph.nodes if node.op == "call_module"] == ["layers_0", "layers_1"]


def test_constants_are_computed_once():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torchlike.ones(2))

        def forward(self, x):
            return x * (self.scale + self.scale).exp() + self.scale.sum()

    module = Scaled()
    folded = split_const_subgraphs(module)
    x = torchlike.randn(2)
    torchlike.testing.assert_close(folded(x), module(x))
    assert [node.op for node in folded.graph.nodes if node.op.startswith("call")].count("call_function") <= 4
    assert "exp" not in folded.code


def test_assertions_are_traced_by_a_rewriting_tracer():
    limit = 3

    class Checked(nn.Module):
        def forward(self, x):
            assert x.sum() < limit, "too large"
            return x + 1

    graph = RewritingTracer().trace(Checked())
    module = fx.GraphModule(nn.Module(), graph)
    assert module(torchlike.ones(2)).tolist() == [2, 2]
    with pytest.raises(AssertionError, match="too large"):
        module(torchlike.ones(4))
    assert graph.eliminate_dead_code() is False


def test_passes_run_in_an_order_that_the_constraints_allow():
    order = []

    def first(module):
        order.append("first")

    def second(module):
        order.append("second")

    passes = [pass_result_wrapper(second), pass_result_wrapper(first)]
    manager = PassManager(passes, [this_before_that_pass_constraint(passes[1], passes[0])])
    assert manager(fx.symbolic_trace(lambda x: x)).modified
    assert order == ["first", "second"]
    manager.add_constraint(this_before_that_pass_constraint(passes[0], passes[1]))
    with pytest.raises(RuntimeError, match="Circular dependency"):
        manager.solve_constraints()


@pytest.mark.parametrize(
    ("call", "name", "args"),
    [
        (lambda x: torchlike.ops.aten.add.Tensor(x, x), "add_tensor", "(x, x)"),
        (lambda x: torchlike.ops.aten.add(x, 1), "add", "(x, 1)"),
        (lambda x: torchlike.ops.aten.softmax.int(x, -1), "softmax_int", "(x, -1)"),
        (lambda x: torchlike.ops.aten.addmm.default(x, x, x), "addmm_default", "(x, x, x)"),
    ],
)
def test_operators_are_called_on_proxies_by_their_overloads_and_packets(call, name, args):
    for _ in range(3):
        (node,) = [each for each in fx.symbolic_trace(call).graph.nodes if each.op == "call_function"]
        assert (node.name, str(node.args), dict(node.kwargs)) == (name, args, {})
        call(torchlike.ones(2, 2))
    assert fx.node._get_qualified_name(node.target).startswith("torchlike.ops.aten.")


def test_an_operator_refuses_an_object_that_overrides_nothing():
    with pytest.raises(TypeError, match="must be Tensor, not object"):
        torchlike.ops.aten.relu.default(object())
    with pytest.raises(TypeError, match="must be Tensor, not object"):
        torchlike.ops.aten.add(object(), 1)


def test_what_no_module_has_is_not_written_to_a_pickle():
    graph = fx.Graph()
    graph.output((graph.placeholder("x"), Hostile()))
    module = fx.GraphModule({}, graph)
    Hostile.__module__, before = "os; import sys", Hostile.__module__
    try:
        with pytest.raises(RuntimeError, match="which no module has under its name"):
            pickle.dumps(module)
    finally:
        Hostile.__module__ = before


def test_a_layer_that_does_not_write_itself_by_literals_is_saved_whole(tmp_path):
    layer = nn.Linear(1, 1)
    layer.in_features = HostileNumber(1)
    traced = fx.symbolic_trace(nn.Sequential(layer))
    with pytest.warns(UserWarning, match="saved as pickled files instead: \\['0'\\]"):
        traced.to_folder(tmp_path / "written")
    assert "__import__" not in (tmp_path / "written" / "module.py").read_text()


def test_a_module_that_is_called_but_not_there_is_named():
    elsewhere = nn.ReLU()
    with pytest.raises(
        NameError, match="not installed as a submodule: the traced function calls a ReLU that is not among"
    ):
        fx.symbolic_trace(lambda x: elsewhere(x) + 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: torchlike.einsum("ij,jk->ik", x, y),
        lambda x, y: torchlike.einsum("ij,jk->ik", y, x),
        lambda x, y: torchlike.max(y, x),
        lambda x, y: torchlike.block_diag(y, x),
        lambda x, y: torchlike.stack([y, x]),
    ],
)
def test_a_proxy_is_found_behind_a_tensor_also_after_calls_on_tensors(call):
    y = torchlike.ones(2, 2)
    for _ in range(12):
        call(y, y)
        graph = fx.symbolic_trace(lambda x: call(x, y)).graph
        assert [each.op for each in graph.nodes] == ["placeholder", "get_attr", "call_function", "output"]
