"""Programs that use graphs as libraries do: features of inner layers, modules of generated code, fused layers."""

import copy
import operator
import pickle
from collections import OrderedDict

import pytest

import torchlike
from torchlike import fx, nn

F = nn.functional


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv, self.norm, self.relu = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()

    def forward(self, x):
        return self.relu(self.norm(self.conv(x)) + x)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, stride=2)
        self.stages = nn.Sequential(OrderedDict(first=Residual(4), second=Residual(4)))
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        x = self.stages(F.relu(self.stem(x)))
        x = torchlike.flatten(F.adaptive_avg_pool2d(x, 1), 1)
        if self.training:
            x = self.dropout(x)
        return self.head(x)


class PathTracer(fx.Tracer):
    """Notes the path of the module in which each node was made, as torchvision's extractor of features does."""

    def __init__(self, **options):
        super().__init__(**options)
        self.current, self.paths = "", {}

    def call_module(self, m, forward, args, kwargs):
        before, self.current = self.current, self.path_of_module(m)
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.current = before

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, *_):
        proxy = super().create_proxy(kind, target, args, kwargs, name, type_expr)
        self.paths[proxy.node] = (
            self.current if kind == "call_module" else f"{self.current}.{proxy.node.name}".strip(".")
        )
        return proxy


def extract(model, wanted):
    tracer = PathTracer(autowrap_functions=())
    graph = tracer.trace(model)
    module = fx.GraphModule(tracer.root, graph, "Extractor")
    node_of = {path: node for node, path in tracer.paths.items() if node.op != "placeholder"}
    former = module.graph.output_node()
    with module.graph.inserting_after(former):
        module.graph.output({name: node_of[path] for path, name in wanted.items()})
    module.graph.erase_node(former)
    module.graph.eliminate_dead_code()
    module.recompile()
    module.delete_all_unused_submodules()
    return module


@pytest.mark.parametrize("training", [True, False])
def test_features_of_inner_layers_are_extracted(training):
    model = Backbone().train(training)
    features = extract(model, {"stages.first.relu": "low", "stages.second.add_1": "sum", "flatten": "flat"})
    x = torchlike.randn(2, 3, 9, 9)
    model.eval()
    features.eval()
    found = features(x)
    low = model.stages.first(F.relu(model.stem(x)))
    assert torchlike.equal(found["low"], low)
    assert torchlike.equal(F.relu(found["sum"]), model.stages.second(low))
    assert tuple(found["flat"].shape) == (2, 4)
    assert [name for name, _ in features.named_children()] == ["stem", "stages"]
    assert torchlike.equal(pickle.loads(pickle.dumps(features))(x)["flat"], found["flat"])


@fx.wrap
def round_up(size, step):
    return -(-int(size) // step) * step


class Padded(nn.Module):
    def forward(self, x):
        width = round_up(x.shape[-1], 4)
        return F.pad(x, (0, width - x.shape[-1]))


def test_a_function_that_computes_with_sizes_is_a_step_of_its_own():
    traced = fx.symbolic_trace(Padded())
    assert [tuple(traced(torchlike.ones(1, size)).shape) for size in (3, 5, 8)] == [(1, 4), (1, 8), (1, 8)]
    assert traced.code.count("round_up(") == 1
    assert 'wrap("' in traced.code
    again = fx.symbolic_trace(traced)
    assert tuple(again(torchlike.ones(1, 5)).shape) == (1, 8)


def make_product(paths):
    """Return a module of generated code for a sum of products, as e3nn makes them."""
    graph = fx.Graph(tracer_cls=fx.Tracer)
    tracer = fx.proxy.GraphAppendingTracer(graph)
    left = fx.Proxy(graph.placeholder("x1", torchlike.Tensor), tracer)
    right = fx.Proxy(graph.placeholder("x2", torchlike.Tensor), tracer)
    constants = {}
    left, right = torchlike.broadcast_tensors(left, right)
    shape = left.shape[:-1]
    left, right = left.reshape(-1, 4), right.reshape(-1, 4)
    size = left.shape[0]
    results = []
    for number, (start, stop) in enumerate(paths):
        constants[f"_w_{number}"] = nn.Parameter(torchlike.full((stop - start,), float(number + 1)))
        weight = fx.Proxy(graph.get_attr(f"_w_{number}"), tracer)
        parts = left[:, start:stop].reshape(size, 1, stop - start), right[:, start:stop]
        results.append(torchlike.einsum("zui,zi,i->zu", *parts, weight) / stop**0.5)
    result = torchlike.cat(results, dim=-1).reshape(shape + (len(paths),))  # noqa: RUF005  # a proxy's own sum
    graph.output(result.node, torchlike.Tensor)
    graph.lint()
    return fx.GraphModule(constants, graph, class_name="tp_forward")


def test_a_module_is_made_of_generated_code_alone():
    module = make_product([(0, 1), (1, 4)])
    x, y = torchlike.randn(2, 3, 4), torchlike.randn(4)
    expected = [(x[..., :1] * y[:1]).sum(-1), (x[..., 1:] * y[1:]).sum(-1)]
    torchlike.testing.assert_close(module(x, y), torchlike.stack([expected[0], expected[1] * 2 / 2.0], -1))
    assert type(module).__name__ == "tp_forward"
    module(x, y).sum().backward()
    assert {name for name, each in module.named_parameters() if each.grad is not None} == {"_w_0", "_w_1"}
    assert copy.deepcopy(module).code == module.code


class Shapes(fx.Interpreter):
    """Knows the shape of each value without computing large products, as opt_einsum_fx does."""

    def run_node(self, n):
        args, _ = self.fetch_args_kwargs_from_env(n)
        if n.op == "call_function" and n.target is torchlike.einsum:
            equation, *operands = args
            inputs, output = equation.split("->")
            sizes = dict(
                pair
                for word, each in zip(inputs.split(","), operands, strict=True)
                for pair in zip(word, each.shape, strict=True)
            )
            result = torchlike.empty(tuple(sizes[letter] for letter in output), device="meta")
        else:
            result = super().run_node(n)
        if isinstance(result, torchlike.Tensor):
            n.meta["shape"] = tuple(result.shape)
        return result


def test_shapes_are_found_by_an_interpreter_of_its_own():
    module = make_product([(0, 1), (1, 4)]).to("meta")
    Shapes(module).run(torchlike.ones(2, 3, 4, device="meta"), torchlike.ones(4, device="meta"))
    products = module.graph.find_nodes(op="call_function", target=torchlike.einsum)
    assert [node.meta["shape"] for node in products] == [(6, 1), (6, 1)]


def fuse(module):
    """Return a module whose batch norms are part of the convolutions before them."""
    fused = copy.deepcopy(module).eval()
    modules = dict(fused.named_modules())
    for norm in fused.graph.find_nodes(op="call_module"):
        before = norm.args[0]
        pair = modules.get(str(before.target)), modules[norm.target]
        if not isinstance(pair[0], nn.Conv2d) or not isinstance(pair[1], nn.BatchNorm2d) or len(before.users) > 1:
            continue
        scale = pair[1].weight / torchlike.sqrt(pair[1].running_var + pair[1].eps)
        pair[0].weight = nn.Parameter(pair[0].weight * scale[:, None, None, None])
        pair[0].bias = nn.Parameter((pair[0].bias - pair[1].running_mean) * scale + pair[1].bias)
        norm.replace_all_uses_with(before)
        fused.graph.erase_node(norm)
    fused.recompile()
    fused.delete_all_unused_submodules()
    return fused


def test_batch_norms_are_fused_into_convolutions():
    model = Backbone().eval()
    for each in model.modules():
        if isinstance(each, nn.BatchNorm2d):
            nn.init.uniform_(each.running_mean)
            nn.init.uniform_(each.weight)
    traced = fx.symbolic_trace(model)
    fused = fuse(traced)
    x = torchlike.randn(2, 3, 9, 9)
    torchlike.testing.assert_close(fused(x), traced(x))
    assert not any(isinstance(each, nn.BatchNorm2d) for each in fused.modules())
    assert traced.graph.find_nodes(op="call_function", target=operator.add)
