"""Function transforms beside torch's: nestings, programs, custom functions and refusals, by the same code."""

import itertools
import random

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import numpy as np
import torch

import torchlike

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # torch's own


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def to_arrays(value):
    if isinstance(value, (list, tuple)):
        return [to_arrays(each) for each in value]
    if isinstance(value, dict):
        return {name: to_arrays(each) for name, each in value.items()}
    return value.detach().numpy() if hasattr(value, "detach") else value


def assert_equal(actual, expected):
    if isinstance(expected, (list, dict)):
        assert type(actual) is type(expected) and len(actual) == len(expected)
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            assert_equal(actual[key], expected[key])
    elif isinstance(expected, np.ndarray):
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-8, strict=True)
    else:
        assert actual == expected


def compare(program, *arrays):
    expected, actual = (
        to_arrays(program(t, t.func, *[t.tensor(array) for array in arrays])) for t in (torch, torchlike)
    )
    assert_equal(actual, expected)


# Nestings.

#: Functions of a vector.
FUNCTIONS = {
    "pointwise": lambda t, x: t.sin(x) * x,
    "softmax": lambda t, x: t.softmax(x, -1) * x.sum(),
    "outer product": lambda t, x: (x[:, None] * x[None, :]).tanh().sum(0),
    "matrix product": lambda t, x: t.stack([x, x * 2, x**2]) @ x,
    "scan": lambda t, x: t.cumsum(x.exp(), 0),
    "flip": lambda t, x: x.flip(0) * t.sigmoid(x),
}


def pull_halves(t, f, x):
    value, pull = t.func.vjp(f, x)
    return pull(t.ones_like(value) * 0.5)[0]


#: A library and a function of a vector → another one.
TRANSFORMS = {
    "grad": lambda t, f: t.func.grad(lambda x: f(x).pow(2).sum()),
    "vjp": lambda t, f: lambda x: pull_halves(t, f, x),
    "jvp": lambda t, f: lambda x: t.func.jvp(f, (x,), (x * 0.3 + 1,))[1],
    "vmap": lambda t, f: lambda x: t.func.vmap(f)(t.stack([x, x * 2])),
    "vmap of columns": lambda t, f: lambda x: t.func.vmap(f, in_dims=1, out_dims=-1)(t.stack([x, x * 2], 1)),
    "vmap of a factor": lambda t, f: lambda x: t.func.vmap(lambda c: f(x * c))(t.arange(2.0, dtype=x.dtype) + 1),
    "jacrev": lambda t, f: t.func.jacrev(f),
    "jacfwd": lambda t, f: t.func.jacfwd(f),
    "hessian": lambda t, f: t.func.hessian(lambda x: f(x).sum()),
}


def nest(t, names, function):
    def made(x):
        return FUNCTIONS[function](t, x)

    for name in names:
        made = TRANSFORMS[name](t, made)
    return made


def pick(depth, count):
    chosen = random.Random(depth).sample(list(itertools.product(TRANSFORMS, repeat=depth)), count)
    return list(zip(chosen, itertools.cycle(FUNCTIONS), strict=False))


@pytest.mark.parametrize(
    ("names", "function"),
    [*itertools.product(itertools.product(TRANSFORMS), FUNCTIONS), *pick(2, 45), *pick(3, 30)],
    ids=lambda value: value if isinstance(value, str) else " of ".join(value),
)
def test_transforms_nest_as_in_torch(names, function):
    compare(lambda t, func, x: nest(t, names, function)(x), numbers(3))


# Programs.


def per_sample_gradients(t, func, x, first, second):
    def loss(parameters, x, target):
        return t.nn.functional.cross_entropy((x @ parameters["first"]).tanh() @ parameters["second"], target)

    targets = t.tensor([0, 1, 2, 1])
    return func.vmap(func.grad_and_value(loss), in_dims=(None, 0, 0))({"first": first, "second": second}, x, targets)


def make_network(t, scale):
    network = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.BatchNorm1d(4), t.nn.LayerNorm(4), t.nn.Linear(4, 2))
    network = network.double().eval()
    for place, parameter in enumerate(network.parameters()):
        with t.no_grad():
            values = t.linspace(-1, scale, parameter.numel(), dtype=parameter.dtype)
            parameter.copy_(values.reshape(parameter.shape) + place / 10)
    return network


def gradients_of_a_module(t, func, x):
    network = make_network(t, 1.0)
    parameters = {name: each.detach() for name, each in network.named_parameters()}

    def loss(parameters, x):
        return func.functional_call(network, parameters, (x[None],)).pow(2).sum()

    jacobian = func.jacrev(lambda parameters: func.functional_call(network, parameters, (x,)))(parameters)
    return func.vmap(func.grad(loss), in_dims=(None, 0))(parameters, x), jacobian


def ensemble(t, func, x):
    networks = [make_network(t, 1.0 + place) for place in range(3)]
    parameters, buffers = func.stack_module_state(networks)

    def call(parameters, buffers, x):
        return func.functional_call(networks[0], (parameters, buffers), (x,))

    found = func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    found.pow(2).sum().backward()
    return found, {name: each.grad for name, each in parameters.items()}


def meta_learning(t, func, x, y):
    def loss(weight, x, y):
        return ((x @ weight).tanh() - y).pow(2).mean()

    def adapt(weight, x, y):
        for _ in range(2):
            weight = weight - 0.1 * func.grad(loss)(weight, x, y)
        return loss(weight, x, y)

    def total(weight):
        return func.vmap(adapt, in_dims=(None, 0, 0))(weight, x, y).mean()

    weight = t.full((3,), 0.3, dtype=x.dtype)
    leaf = weight.clone().requires_grad_()
    total(leaf).backward()
    return func.grad(total)(weight), func.hessian(total)(weight), leaf.grad


def convolutions(t, func, x, weight):
    def loss(weight, x):
        found = t.nn.functional.conv2d(x[None], weight, padding=1).relu()
        return t.nn.functional.max_pool2d(found, 2).pow(2).sum()

    return func.vmap(func.grad(loss), in_dims=(None, 0))(weight, x)


def writes_to_rows(t, func, x):
    whole = x.clone()
    before = whole._version

    def change(row):
        row.mul_(2)
        row[0] += 1
        row[1:].add_(3)
        return row * 1

    return func.vmap(change)(whole), whole, whole._version > before


def one_write(t, func, x):
    whole = x.clone()
    func.vmap(lambda row: row.mul_(2))(whole)
    return whole, whole._version


def results_built_in_place(t, func, x):
    def build(row):
        made = t.zeros(3, dtype=row.dtype) + row * 0
        made[0] = row[1]
        made[1:] = row[:2]
        return made.copy_(made * 2)

    def loss(row):
        return build(row).pow(3).sum()

    rows = func.vmap(build)(x), func.vmap(func.grad(loss))(x)
    return *rows, func.jacrev(build)(x[0]), func.jacfwd(build)(x[0]), func.hessian(loss)(x[0])


def writes_through_views(t, func, x):
    def loss(row):
        made = row * 1
        made[1:].mul_(row[0])
        made[0].sin_()
        return made.pow(2).sum()

    of_batch = func.grad(lambda x: func.vmap(loss)(x).sum())(x)
    return func.grad(loss)(x[0]), func.vmap(func.grad(loss))(x), func.hessian(loss)(x[0]), of_batch


def views_in_place(t, func, x):
    def change(row):
        made = row.clone()
        made.transpose(0, 1).add_(1)
        made.t_()
        return made.unsqueeze_(0) * 2

    return func.vmap(change)(x)


def without_recording(t, func, x):
    def loss(x):
        with t.no_grad():
            constant = x**2
        return (x - constant).pow(3).sum()

    with t.no_grad():
        outside = func.grad(loss)(x)
    again = func.grad(lambda x: func.grad(loss)(x).sum())(x)
    return outside, func.grad(loss)(x), again, func.hessian(loss)(x), func.jvp(loss, (x,), (x,))


def directions_without_recording(t, func, x):
    def loss(x):
        with t.no_grad():
            slope = func.jvp(lambda y: y.sin(), (x,), (x,))[1]
        return (x * slope).sum()

    return func.grad(loss)(x), func.jvp(loss, (x,), (x,))


def record_outside(t, func, x):
    found = []
    leaf = x.clone().requires_grad_()
    func.grad(lambda y: (y**3).sum())(leaf).sum().backward()
    found.append(leaf.grad.clone())
    leaf.grad = None
    func.vmap(lambda row, weight: (row * weight).sum(), in_dims=(0, None))(leaf, leaf[0]).sum().backward()
    found.append(leaf.grad.clone())
    leaf.grad = None
    value, pull = func.vjp(lambda y: y**3, leaf)
    (slope,) = pull(t.ones_like(value))
    (slope.sum() + value.sum()).backward()
    return *found, leaf.grad, value.requires_grad, slope.requires_grad


def change_primals(t, func, x):
    whole = x.clone()
    return func.jvp(lambda a: a.mul_(2).sin_(), (whole,), (x,)), whole


def auxiliary_values(t, func, x):
    return [
        func.grad(lambda a: (a.sum(), {"k": a * 2}), has_aux=True)(x),
        func.grad_and_value(lambda a: (a.pow(2).sum(), a), has_aux=True)(x),
        func.vjp(lambda a: (a, a * 3), x, has_aux=True)[2],
        func.jvp(lambda a: (a, a * 3), (x,), (x,), has_aux=True),
        func.jacrev(lambda a: (a * a, a), has_aux=True)(x),
        func.jacfwd(lambda a: (a * a, a), has_aux=True)(x),
    ]


def push_twice(t, func, x):
    value, push = func.linearize(lambda a: a.sin() * a.sum(), x)
    return value, push(x), push(x * 2)


def rows_in_python(t, func, x):
    def unpack(row):
        first, second, third = row
        return sum(iter(row)) + len(row), first * second - third

    return func.vmap(unpack)(x)


def read_and_write_by_rows_numbers(t, func, x):
    places = t.tensor([0, 1, 1, 0])

    def change(row, place):
        twice = row.repeat(2, 1)
        twice[place] = row * 2
        twice[place, 1:] = twice[place, place]
        return twice, twice[:, place]

    return func.vmap(change)(x, places), func.vmap(lambda place: x[place])(places)


def statistics_of_rows(t, func, x):
    layer = t.nn.BatchNorm1d(3, track_running_stats=False).double()
    parameters = {name: each.detach() for name, each in layer.named_parameters()}
    return func.vmap(lambda x: func.functional_call(layer, parameters, (x,)))(x)


def attention(t, func, x):
    layer = t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True).double()
    for place, parameter in enumerate(layer.parameters()):
        with t.no_grad():
            values = t.linspace(-1, 1, parameter.numel(), dtype=parameter.dtype)
            parameter.copy_(values.reshape(parameter.shape) + place / 10)
    parameters = {name: each.detach() for name, each in layer.named_parameters()}

    def loss(parameters, x):
        return func.functional_call(layer, parameters, (x[None],)).pow(2).sum()

    return func.vmap(func.grad(loss), in_dims=(None, 0))(parameters, x)


def batched_gradients(t, func, x):
    weight = x[0].clone().requires_grad_()
    found = (weight**2 * x[1]).exp()
    (slope,) = t.autograd.grad(found.sum(), weight, create_graph=True)

    def multiply(result, vector):
        return t.autograd.grad(result, weight, vector, retain_graph=True)[0]

    units = t.eye(3, dtype=x.dtype)
    return func.vmap(lambda v: multiply(found, v))(units), func.vmap(lambda v: multiply(slope, v))(units)


def leaves_made_inside(t, func, x):
    def slope(x):
        leaf = t.ones(3, dtype=x.dtype, requires_grad=True)
        return t.autograd.functional.jvp(lambda y: (y * leaf).sin(), x, x * 1.0, create_graph=True)[1].sum()

    return func.grad(slope)(x)


PROGRAMS = {
    "batched gradients": (batched_gradients, (4, 3)),
    "leaves made inside": (leaves_made_inside, (3,)),
    "Jacobians of numbers": (
        lambda t, func, x: [transform(lambda y: y**3)(x[0]) for transform in (func.jacrev, func.jacfwd, func.hessian)],
        (3,),
    ),
    "numbers of rows as indices": (read_and_write_by_rows_numbers, (4, 3)),
    "statistics of rows": (statistics_of_rows, (5, 4, 3)),
    "attention": (attention, (3, 5, 4)),
    "per-sample gradients": (per_sample_gradients, (4, 3), (3, 5), (5, 3)),
    "gradients of a module": (gradients_of_a_module, (4, 3)),
    "ensemble": (ensemble, (4, 3)),
    "meta-learning": (meta_learning, (5, 4, 3), (5, 4)),
    "convolutions": (convolutions, (3, 2, 4, 4), (2, 2, 3, 3)),
    "writes to rows": (writes_to_rows, (4, 3)),
    "one write counts once": (one_write, (4, 3)),
    "results built in place": (results_built_in_place, (4, 3)),
    "writes through views": (writes_through_views, (4, 3)),
    "views in place": (views_in_place, (5, 4, 3)),
    "without recording": (without_recording, (3,)),
    "directions without recording": (directions_without_recording, (3,)),
    "recorded outside": (record_outside, (4, 3)),
    "changed primals": (change_primals, (3,)),
    "auxiliary values": (auxiliary_values, (3,)),
    "shared argument": (
        lambda t, func, w, x: func.vmap(func.grad(lambda w, x: ((x @ w) ** 2).sum()), in_dims=(None, 0))(w, x),
        (3,),
        (4, 3),
    ),
    "structures": (
        lambda t, func, x: func.vmap(
            lambda d: {"sum": d["a"] + d["b"][0], "same": (d["a"],)}, in_dims=({"a": 0, "b": None},)
        )({"a": x, "b": [x[0]]}),
        (4, 3),
    ),
    "keyword arguments": (lambda t, func, x: func.vmap(lambda a, *, b: a * b)(x, b=x), (4, 3)),
    "dimensions": (
        lambda t, func, x: (
            func.vmap(lambda a: a * 2, in_dims=-1, out_dims=-1)(x),
            func.vmap(lambda a: (a, a.sum(), a * 2), out_dims=(1, 0, -1))(x),
            func.vmap(lambda a, c: (a, c), in_dims=(0, None), out_dims=(0, None))(x, x[0]),
        ),
        (4, 3),
    ),
    "chunks": (
        lambda t, func, x: (
            func.vmap(lambda a, b: (a * b, b.sum()), in_dims=(0, 1), out_dims=(1, 0), chunk_size=3)(x, x.T),
            [func.jacrev(lambda x: x.pow(2).cumsum(0), chunk_size=size)(x[0]) for size in (1, 2, 3, 5)],
        ),
        (4, 3),
    ),
    "chosen arguments": (
        lambda t, func, x, y: [
            transform(lambda a, b: (a * b.exp()).cumsum(0), argnums=chosen)(x, y)
            for transform in (func.jacrev, lambda f, argnums: func.grad(lambda *args: f(*args).sum(), argnums))
            for chosen in (0, 1, (0, 1), -1, (1, 0))
        ],
        (3,),
        (3,),
    ),
    "chosen directions": (
        lambda t, func, x: [
            func.jacfwd(lambda a, b: a * b.sum(), argnums=chosen)(x, x * 2) for chosen in (0, 1, (0, 1), (1, 0))
        ],
        (3,),
    ),
    "structured Jacobians": (
        lambda t, func, x: [
            transform(lambda d: {"o": d["a"] * 2, "p": d["b"].sum()})({"a": x, "b": x * 3})
            for transform in (func.jacrev, func.jacfwd)
        ],
        (3,),
    ),
    "unused arguments": (
        lambda t, func, x: [
            func.grad(lambda a: x.sum())(x),
            func.vjp(lambda a, b: a * 2, x, x)[1](x),
            func.jvp(lambda a: x * 2, (x,), (x,)),
        ],
        (3,),
    ),
    "linearize": (push_twice, (3,)),
    "products with a Hessian": (
        lambda t, func, x: [
            func.jvp(func.grad(lambda x: (x.sin() * x.sum()).sum()), (x,), (x * 2,)),
            func.vjp(func.grad(lambda x: (x.sin() * x.sum()).sum()), x)[1](x * 2),
        ],
        (3,),
    ),
    "third derivatives": (
        lambda t, func, x: func.jacfwd(func.jacrev(func.jacrev(lambda x: (x**4).prod())))(x),
        (3,),
    ),
    "complex numbers": (
        lambda t, func, x: [
            func.grad(lambda x: t.complex(x, x * 2).abs().sum())(x),
            t.view_as_real(func.vjp(lambda z: z * z, t.complex(x, x))[1](t.complex(x, -x))[0]),
        ],
        (3,),
    ),
    "promotion of numbers": (
        lambda t, func, x: [
            func.vmap(lambda a, b: a + b)(x, t.ones(4, 2, dtype=t.float32)),
            func.vmap(lambda a, b: a + b, in_dims=(None, 0))(x[0], t.ones(4, 2, dtype=t.float32)),
        ],
        (4,),
    ),
    "captured tensors": (
        lambda t, func, x: func.vmap(lambda a: func.vmap(lambda b: (a * b).sum())(x))(x),
        (4, 3),
    ),
    "empty batches": (
        lambda t, func, x: (func.vmap(lambda a: a * 2)(x[:0]), func.vmap(func.grad(lambda a: a.sum()))(x[:0])),
        (4, 3),
    ),
    "rows in Python": (rows_in_python, (4, 3)),
    "values of gradients": (
        lambda t, func, x: func.grad(lambda a: a.sum() * a[0].item() * a.detach().tolist()[1])(x),
        (3,),
    ),
    "tensors made inside": (
        lambda t, func, x: [
            func.grad(lambda a: t.tensor([1.0, 2.0, 3.0], dtype=a.dtype).add_(a).mul_(a).sum())(x),
            func.vmap(lambda a: t.tensor([1.0, 2.0, 3.0], dtype=a.dtype) * a)(t.stack([x, x])),
        ],
        (3,),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compute_what_they_do_in_torch(name):
    program, *shapes = PROGRAMS[name]
    compare(program, *[numbers(*shape, seed=place) for place, shape in enumerate(shapes)])


# Custom functions.


def make_function(t, **attributes):
    def forward(x, w):
        return x**3 * w, x * 2

    def setup_context(ctx, inputs, output):
        x, w = inputs
        ctx.save_for_backward(x, w, output[1])
        ctx.power = 3

    def backward(ctx, first, second):
        x, w, doubled = ctx.saved_tensors
        return first * ctx.power * x * (doubled / 2) * w + 2 * second, first * x**3

    methods = {"forward": forward, "setup_context": setup_context, "backward": backward}
    body = {name: staticmethod(method) for name, method in methods.items()}
    return type("Cube", (t.autograd.Function,), body | attributes)


def call_function(t, x, w, **attributes):
    first, second = make_function(t, **attributes).apply(x, w)
    return (first * second).sum()


def call_with_a_rule(t, x, w):
    def rule(info, in_dims, x, w):
        x, w = (each if dim is None else each.movedim(dim, 0) for each, dim in zip((x, w), in_dims, strict=True))
        return function.apply(x, w), (0, 0)

    function = make_function(t, vmap=staticmethod(rule))
    first, second = function.apply(x, w)
    return (first * second).sum()


CUSTOM = {
    "grad": lambda t, func, x, w: func.grad(lambda w: call_function(t, w, w * 1))(w),
    "grad of grad": lambda t, func, x, w: func.grad(lambda v: func.grad(lambda y: call_function(t, y, v))(v).sum())(w),
    "jacrev of jacrev": lambda t, func, x, w: func.jacrev(
        func.jacrev(lambda w: call_function(t, w, w, generate_vmap_rule=True))
    )(w),
    "vmap": lambda t, func, x, w: func.vmap(lambda x: call_function(t, x, x * 1, generate_vmap_rule=True))(x),
    "vmap of vmap": lambda t, func, x, w: func.vmap(
        func.vmap(func.grad(lambda x: call_function(t, x, x * 1, generate_vmap_rule=True)))
    )(x[None, :, :, None] * w),
    "shared argument": lambda t, func, x, w: func.vmap(
        func.grad(lambda w, x: call_function(t, x, w, generate_vmap_rule=True)), in_dims=(None, 0)
    )(w, x),
    "grad of vmap": lambda t, func, x, w: func.grad(
        lambda w: func.vmap(lambda x: call_function(t, x, w, generate_vmap_rule=True))(x).sum()
    )(w),
    "own rule": lambda t, func, x, w: func.vmap(func.grad(lambda x: call_with_a_rule(t, x, x * 2)))(x),
}


@pytest.mark.parametrize("name", CUSTOM)
def test_custom_functions_pass_transforms_as_in_torch(name):
    compare(CUSTOM[name], numbers(4, 3), numbers(3))


def make_pushed(t, **attributes):
    """Make a function of two arguments with two results whose jvp has its own factor."""

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.save_for_forward(*inputs[:2])
        ctx.factor = inputs[2]

    def backward(ctx, first, second):
        x, w = ctx.saved_tensors
        return first * w * ctx.factor + second * 2, first * x * ctx.factor, None

    def jvp(ctx, x_way, w_way, _):
        x, w = ctx.saved_tensors
        return (x_way * w + w_way * x) * ctx.factor * 5, x_way.sin()

    methods = {
        "forward": lambda x, w, factor: (x * w * factor, x * 2),
        "setup_context": setup_context,
        "backward": backward,
        "jvp": jvp,
    }
    body = {name: staticmethod(method) for name, method in methods.items()}
    return type("Pushed", (t.autograd.Function,), {"generate_vmap_rule": True} | body | attributes)


def push_both(t, func, x, w, call=lambda function: function, **attributes):
    function = make_pushed(t, **attributes)
    return func.jvp(call(lambda x, w: function.apply(x, w, 3.0)), (x, w), (x.cos(), w.cos()))


def push_with_a_rule(t, func, x, w):
    def rule(info, in_dims, x, w, factor):
        x, w = (each if dim is None else each.movedim(dim, 0) for each, dim in zip((x, w), in_dims[:2], strict=True))
        return make_pushed(t).apply(x, w, factor), (0, 0)

    return push_both(
        t, func, x, w, lambda f: func.vmap(f, (0, None)), generate_vmap_rule=False, vmap=staticmethod(rule)
    )


PUSHED = {
    "jvp": push_both,
    "jvp of one": lambda t, func, x, w: func.jvp(lambda x: make_pushed(t).apply(x, w, 2.0), (x,), (x,)),
    "no_grad": lambda t, func, x, w: push_both(t, func, x, w, t.no_grad()),
    "jvp of vmap": lambda t, func, x, w: push_both(t, func, x, w, lambda f: func.vmap(f, (0, None))),
    "jvp of vmap by columns": lambda t, func, x, w: push_both(t, func, x, w, lambda f: func.vmap(f, (1, 0), (1, 1))),
    "jvp of vmap of vmap": lambda t, func, x, w: push_both(
        t, func, x, w, lambda f: func.vmap(func.vmap(f, (0, 0)), (0, None))
    ),
    "jvp of an own rule": push_with_a_rule,
    "vmap of jvp": lambda t, func, x, w: func.vmap(lambda x: push_both(t, func, x, w))(x),
    "jacfwd": lambda t, func, x, w: func.jacfwd(lambda w: make_pushed(t).apply(x[0], w, 2.0)[0])(w),
    "vmap of jacfwd": lambda t, func, x, w: func.vmap(
        func.jacfwd(lambda x: make_pushed(t).apply(x, w, 2.0), randomness="same")
    )(x),
    "grad of jvp": lambda t, func, x, w: func.grad(lambda x: push_both(t, func, x, w)[1][0].sin().sum())(x),
    "jacrev of jacfwd": lambda t, func, x, w: func.jacrev(func.jacfwd(lambda w: make_pushed(t).apply(w, w, 2.0)[0]))(w),
    "linearize": lambda t, func, x, w: func.linearize(lambda x: make_pushed(t).apply(x, w, 2.0)[0], x)[1](x),
}


@pytest.mark.parametrize("name", PUSHED)
def test_derivatives_along_directions_of_custom_functions_are_torchs(name):
    compare(PUSHED[name], numbers(4, 3), numbers(3))


def push_dual(t, f, x, way):
    """Return a derivative along a direction by dual numbers."""
    forward = t.autograd.forward_ad
    with forward.dual_level():
        return forward.unpack_dual(f(forward.make_dual(x, way))).tangent


DUALS = {
    "grad": lambda t, func, x, w: func.grad(lambda w: push_dual(t, lambda v: (v * x).sin(), w, w.cos()).sum())(w),
    "by the direction": lambda t, func, x, w: func.grad(lambda v: push_dual(t, t.tanh, w, v).sin().sum())(w),
    "vjp": lambda t, func, x, w: func.vjp(lambda x: push_dual(t, lambda y: y.softmax(0) @ w, x, x.sin()), x)[1](
        x[:, 0]
    ),
    "vmap of grad": lambda t, func, x, w: func.vmap(
        func.grad(lambda x: push_dual(t, lambda y: (y * y).cumsum(0), x, w).exp().sum())
    )(x),
    "grad inside": lambda t, func, x, w: func.grad(
        lambda w: push_dual(t, func.grad(lambda v: (v**3).prod()), w, w.cos()).sum()
    )(w),
    "vmap inside": lambda t, func, x, w: func.grad(
        lambda x: push_dual(t, func.vmap(lambda y: y.prod() * y), x, x.cos()).sum()
    )(x),
    "written": lambda t, func, x, w: func.grad(lambda w: push_dual(t, lambda v: (v * 1).mul_(v).add_(v), w, w).sum())(
        w
    ),
    "custom": lambda t, func, x, w: func.grad(
        lambda w: push_dual(t, lambda v: make_pushed(t).apply(x, v, 2.0)[0], w, w.cos()).sum()
    )(w),
}


@pytest.mark.parametrize("name", DUALS)
def test_dual_numbers_in_functions_that_are_differentiated_are_torchs(name):
    compare(DUALS[name], numbers(4, 3), numbers(3))


# Refusals.


def escape(func, x):
    kept = []
    func.vmap(lambda a: kept.append(a) or a)(x)
    return kept[0] + 1


REFUSALS = {
    "in_dims in a list": lambda t, func, x: func.vmap(lambda a: a, in_dims=[0])(x),
    "no inputs": lambda t, func, x: func.vmap(lambda: x)(),
    "structure of in_dims": lambda t, func, x: func.vmap(lambda a, b: a, in_dims=(0, (0, 0)))(x, x),
    "in_dims out of range": lambda t, func, x: func.vmap(lambda a: a, in_dims=3)(x),
    "a number as input": lambda t, func, x: func.vmap(lambda a, b: a)(x, 2),
    "a text in in_dims": lambda t, func, x: func.vmap(lambda a: a, in_dims=("a",))(x),
    "sizes that disagree": lambda t, func, x: func.vmap(lambda a, b: a)(x, x[:2]),
    "nothing to map": lambda t, func, x: func.vmap(lambda a: a, in_dims=(None,))(x),
    "in_dims None": lambda t, func, x: func.vmap(lambda a: a, in_dims=None)(x),
    "structure of out_dims": lambda t, func, x: func.vmap(lambda a: (a, a), out_dims=(0, 0, 0))(x),
    "a text as out_dims": lambda t, func, x: func.vmap(lambda a: a, out_dims="x")(x),
    "a number as result": lambda t, func, x: func.vmap(lambda a: 3)(x),
    "a batch without place": lambda t, func, x: func.vmap(lambda a: a, out_dims=None)(x),
    "chunk of nothing": lambda t, func, x: func.vmap(lambda a: a, chunk_size=0)(x),
    "unknown randomness": lambda t, func, x: func.vmap(lambda a: a, randomness="x")(x),
    "item": lambda t, func, x: func.vmap(lambda a: a.item())(x[:, 0]),
    "float": lambda t, func, x: func.vmap(float)(x[:, 0]),
    "numpy": lambda t, func, x: func.vmap(lambda a: a.numpy())(x),
    "tolist": lambda t, func, x: func.vmap(lambda a: a.tolist())(x),
    "nonzero": lambda t, func, x: func.vmap(lambda a: a.nonzero())(x),
    "unique": lambda t, func, x: func.vmap(t.unique)(x),
    "equal": lambda t, func, x: func.vmap(lambda a: t.equal(a, a))(x),
    "allclose": lambda t, func, x: func.vmap(lambda a: t.allclose(a, a))(x),
    "masked_select": lambda t, func, x: func.vmap(lambda a: t.masked_select(a, a > 0))(x),
    "a batched mask": lambda t, func, x: func.vmap(lambda a: a[a > 0])(x),
    "out=": lambda t, func, x: func.vmap(lambda a: t.add(a, a, out=t.zeros(3, dtype=a.dtype)))(x),
    "random numbers": lambda t, func, x: func.vmap(lambda a: a + t.rand(3))(x),
    "numbers like others": lambda t, func, x: func.vmap(t.rand_like)(x),
    "dropout": lambda t, func, x: func.vmap(t.nn.functional.dropout)(x),
    "different numbers in one place": lambda t, func, x: func.vmap(
        lambda a: t.zeros(3).normal_(), randomness="different"
    )(x),
    "same draws of different chances": lambda t, func, x: func.vmap(
        lambda a: t.bernoulli(a.sigmoid()), randomness="same"
    )(x),
    "backward": lambda t, func, x: func.grad(lambda a: a.sum().backward())(x),
    "backward under vmap": lambda t, func, x: func.vmap(lambda a: a.sum().backward())(x),
    "requires_grad_": lambda t, func, x: func.grad(lambda a: a.requires_grad_().sum())(x),
    "requires_grad_ under vmap": lambda t, func, x: func.vmap(lambda a: a.requires_grad_())(x),
    "retain_grad": lambda t, func, x: func.grad(lambda a: a.retain_grad())(x),
    "a captured tensor": lambda t, func, x: func.grad(lambda a: x.add_(a).sum())(x),
    "a captured tensor and a number": lambda t, func, x: func.grad(lambda a: x.add_(1).sum())(x),
    "a view of a captured tensor": lambda t, func, x: func.grad(lambda a: x[0:1].add_(1).sum())(x),
    "a leaf": lambda t, func, x: func.grad(lambda a: a.add_(1).sum())(x),
    "several results": lambda t, func, x: func.grad(lambda a: a)(x),
    "no tensor": lambda t, func, x: func.grad(lambda a: 3)(x),
    "integers": lambda t, func, x: func.grad(lambda a: a.sum())(t.tensor([1, 2])),
    "a number to differentiate by": lambda t, func, x: func.grad(lambda a: x.sum())(3.0),
    "argnums out of range": lambda t, func, x: func.grad(lambda a: a.sum(), argnums=1)(x),
    "no argnums": lambda t, func, x: func.grad(lambda a: a.sum(), argnums=())(x),
    "argnums twice": lambda t, func, x: func.grad(lambda a: a.sum(), argnums=(0, 0))(x),
    "a text as argnums": lambda t, func, x: func.grad(lambda a: a.sum(), argnums="a")(x),
    "no auxiliary value": lambda t, func, x: func.grad(lambda a: a.sum(), has_aux=True)(x),
    "no auxiliary value of vjp": lambda t, func, x: func.vjp(lambda a: a, x, has_aux=True),
    "no result": lambda t, func, x: func.vjp(lambda a: None, x),
    "a number among results": lambda t, func, x: func.vjp(lambda a: (a, 3), x),
    "truth as result": lambda t, func, x: func.vjp(lambda a: a > 0, x),
    "structure of cotangents": lambda t, func, x: func.vjp(lambda a: a, x)[1]((x, x)),
    "primals not in a tuple": lambda t, func, x: func.jvp(lambda a: a, x, x),
    "structure of tangents": lambda t, func, x: func.jvp(lambda a: a, (x,), (x, x)),
    "shape of tangents": lambda t, func, x: func.jvp(lambda a: a, (x,), (x[:1],)),
    "numbers as primals": lambda t, func, x: func.jvp(lambda a: a, (3.0,), (3.0,)),
    "independent results": lambda t, func, x: func.jvp(lambda a: x * 2, (x,), (x,), strict=True),
    "jacrev of complex numbers": lambda t, func, x: func.jacrev(lambda a: a)(t.complex(x, x)),
    "jacfwd of complex numbers": lambda t, func, x: func.jacfwd(lambda a: a)(t.complex(x, x)),
    "jacrev in chunks of nothing": lambda t, func, x: func.jacrev(lambda a: a, chunk_size=0)(x),
    "parameters in no dict": lambda t, func, x: func.functional_call(t.nn.Linear(3, 3), 3, (x,)),
    "names in two dicts": lambda t, func, x: func.functional_call(
        t.nn.Linear(3, 3), [{"weight": x}, {"weight": x}], (x,)
    ),
    "states of no modules": lambda t, func, x: func.stack_module_state([]),
    "statistics that rows share": lambda t, func, x: func.vmap(
        lambda a: t.nn.functional.batch_norm(a[None], t.zeros(3).double(), t.ones(3).double(), training=True)
    )(x),
    "the data of a tensor": lambda t, func, x: func.grad(lambda a: setattr(a, "data", a))(x),
    "custom function without rule": lambda t, func, x: func.vmap(lambda a: call_function(t, a, a))(x),
    "custom function with two rules": lambda t, func, x: func.vmap(
        lambda a: call_function(t, a, a, generate_vmap_rule=True, vmap=staticmethod(lambda *args: args))
    )(x),
}
#: How much of a text is torch's: names of types and shapes differ.
ALIKE = 60


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_are_torchs(name):
    errors = []
    for t in (torch, torchlike):
        with pytest.raises((RuntimeError, ValueError)) as caught:
            REFUSALS[name](t, t.func, t.tensor(numbers(4, 3)))
        errors.append(caught.value)
    expected, actual = errors
    assert isinstance(actual, type(expected))
    assert (
        str(actual)[:ALIKE] == str(expected)[:ALIKE].replace("torch.", "torchlike.")[:ALIKE]
        or str(actual)[:ALIKE] == str(expected)[:ALIKE]
    )


@pytest.mark.parametrize("t", [torch, torchlike])
def test_tensors_that_escape_from_vmap_are_refused(t):
    with pytest.raises(RuntimeError, match="escaped from inside a function being vmapped"):
        escape(t.func, t.ones(2, 3))


@pytest.mark.parametrize("t", [torch, torchlike])
def test_tensors_that_escape_from_grad_are_their_values(t):
    kept = []
    t.func.grad(lambda a: (kept.append(a), a.sum())[1])(t.ones(3))
    assert not (kept[0] + 1).requires_grad
    assert (kept[0] * 2).tolist() == [2.0, 2.0, 2.0]
