"""Operators of programs, by ``torch.library`` and by ``torchlike.library``: programs that run under both."""

import itertools
import random
import typing
import warnings
from collections.abc import Sequence
from contextlib import contextmanager

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

import torchlike  # noqa: E402  # after the skip
from torchlike.library.internals import dispatcher  # noqa: E402

_numbers = itertools.count()
#: Annotations of arguments with the defaults that they may have.
_ANNOTATIONS = [
    (lambda t: t.Tensor, [None]),
    (lambda t: t.Tensor | None, [None]),
    (lambda t: typing.Optional[t.Tensor], [None]),  # noqa: UP045  # programs write it
    (lambda t: list[t.Tensor], []),
    (lambda t: typing.List[t.Tensor], []),  # noqa: UP006
    (lambda t: Sequence[t.Tensor | None], []),
    (lambda t: list[t.Tensor] | None, []),
    (lambda t: int, [3, True]),
    (lambda t: int | None, [None, 2]),
    (lambda t: list[int], []),
    (lambda t: Sequence[int] | None, [None]),
    (lambda t: float, [0.5, 1e-6, 2]),
    (lambda t: bool, [True, False]),
    (lambda t: list[bool], []),
    (lambda t: str, ["sum"]),
    (lambda t: str | None, [None]),
    (lambda t: list[str], []),
    (lambda t: t.types.Number, [1, 2.5]),
    (lambda t: t.dtype, [None]),
    (lambda t: t.dtype | None, [None]),
    (lambda t: t.device, ["cpu"]),
    (lambda t: tuple[int, int], []),
    (lambda t: tuple[int, ...], []),
    (lambda t: dict[str, int], []),
    (lambda t: complex, [1j]),
    (lambda t: "int", [4]),
    (lambda t: "undefined_name", []),
    (lambda t: None, [None]),
]
_RESULTS = [
    *[(lambda t, make=make: make(t)) for make, _ in _ANNOTATIONS[:18]],
    lambda t: None,
    lambda t: tuple[t.Tensor, t.Tensor],
    lambda t: tuple[t.Tensor],
    lambda t: tuple[list[t.Tensor], int],
    lambda t: tuple[t.Tensor, ...],
]


def _draw_function(draw, t):
    """Return a function with drawn hints, made for torch or for torchlike."""
    names = [f"x{index}" for index in range(draw.randint(0, 4))]
    first_keyword = draw.choice([None, *range(len(names))])
    parts, annotations, defaults = [], {}, []
    for index, name in enumerate(names):
        make, values = draw.choice(_ANNOTATIONS)
        if index == first_keyword:
            parts.append("*")
        has_default = bool(values) and draw.random() < 0.5 and (index == 0 or bool(defaults))
        value = draw.choice(values) if values else None
        annotations[name] = make(t)
        parts.append(f"{name}: a[{name!r}]" + (f" = d[{len(defaults)}]" if has_default else ""))
        if has_default:
            defaults.append(value)
    annotations["return"] = draw.choice(_RESULTS)(t)
    namespace = {"a": annotations, "d": defaults}
    exec(f"def f({', '.join(parts)}) -> a['return']: ...", namespace)
    return namespace["f"], names


def _infer(draw, t):
    try:
        function, names = _draw_function(draw, t)
    except SyntaxError:
        return "no function"
    written = draw.choice([(), (), "unknown", draw.sample(names, min(1, len(names)))])
    try:
        return t.library.infer_schema(function, mutates_args=written)
    except ValueError as error:
        return "ValueError", str(error).partition(": ")[2].split()[:2]


def test_schemas_are_inferred_as_by_torch():
    found = [[_infer(random.Random(seed), t) for t in (torch, torchlike)] for seed in range(1500)]
    assert [(seed, *pair) for seed, pair in enumerate(found) if pair[0] != pair[1]] == []
    assert sum(isinstance(pair[0], str) and pair[0] != "no function" for pair in found) > 300


def _calls(t, ns, keys):
    """Return the results of calls of an operator with kernels under some keys, registered in this order."""
    guard = t._C._AutoDispatchBelowAutograd if t is torch else dispatcher._AutoDispatchBelowAutograd
    with t.library._scoped_library(ns, "FRAGMENT") as library:
        library.define("f(Tensor x) -> Tensor")
        op = getattr(t.ops, ns).f

        def make(factor, *, is_autograd):
            def kernel(x):
                if not is_autograd:
                    return x * factor
                with guard():
                    return op(x) * 100

            return kernel

        refused = []
        for key in keys:
            try:
                library.impl("f", make(_KEYS.index(key) + 1, is_autograd=key.startswith("Autograd")), key)
            except RuntimeError:
                refused.append(key)
        found = []
        for device, requires_grad, records in itertools.product(("cpu", "meta"), (False, True), (False, True)):
            x = t.ones(1, device=device, requires_grad=requires_grad)
            try:
                with t.set_grad_enabled(records):
                    y = op(x)
            except NotImplementedError:
                found.append("no kernel")
                continue
            found.append((y.device.type, y.requires_grad, "meta" if device == "meta" else y.item()))
            if y.requires_grad and device == "cpu":
                y.sum().backward()
                found.append(x.grad.item())
        return refused, found


_KEYS = ["CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "Autograd", "AutogradCPU", "Meta"]
# torch's table keeps a composite of the parts under Autograd when another composite comes.
_SUBSETS = [
    keys
    for count in range(1, 5)
    for keys in itertools.permutations(_KEYS, count)
    if not {"CompositeImplicitAutograd", "CompositeExplicitAutograd"} <= set(keys)
]


@pytest.mark.filterwarnings("ignore")
def test_the_kernel_that_runs_is_the_one_that_runs_under_torch():
    drawn = random.Random(1).sample(_SUBSETS, 120)
    found = [
        [_calls(t, f"library_keys_{number}", keys) for t in (torch, torchlike)] for number, keys in enumerate(drawn)
    ]
    assert [(keys, *pair) for keys, pair in zip(drawn, found, strict=True) if pair[0] != pair[1]] == []


# Programs: each is given a module and a namespace of its own, and returns what it has seen.


@contextmanager
def _library(t, ns):
    with t.library._scoped_library(ns, "FRAGMENT") as library:
        yield library


def _errors(*calls):
    """Return the class of each call's error among Python's own, or its result."""
    found = []
    for call in calls:
        try:
            found.append(("result", call()))
        except (NotImplementedError, RuntimeError, ValueError, TypeError, AssertionError, AttributeError) as error:
            kinds = (NotImplementedError, RuntimeError, AttributeError, ValueError, TypeError, AssertionError)
            found.append(next(kind.__name__ for kind in kinds if isinstance(error, kind)))
    return found


def differentiated_parts(t, ns):
    seen = []
    with _library(t, ns) as library:
        library.define("sine(Tensor x) -> Tensor")
        library.impl("sine", lambda x: (seen.append(x.requires_grad), x.sin())[1], "CPU")
        x = t.linspace(0, 1, 5, requires_grad=True)
        y = getattr(t.ops, ns).sine(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y.sum().backward()
        return seen, y.requires_grad, x.grad.tolist()


def below_autograd(t, ns):
    with _library(t, ns) as library:
        library.define("twice(Tensor x) -> Tensor")
        op = getattr(t.ops, ns).twice.default

        class Triple(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                with t.no_grad():
                    return x * 2

            @staticmethod
            def backward(ctx, grad):
                return 3 * grad

        library.impl("twice", Triple.apply, "Autograd")
        library.impl("twice", lambda x: 2 * x, "CPU")
        x = t.ones(2, requires_grad=True)
        y = op(x)
        y.sum().backward()
        return y.tolist(), x.grad.tolist(), op(x.detach()).requires_grad


def keywords_and_defaults(t, ns):
    given = []
    with _library(t, ns) as library:
        library.define("f(Tensor w, int x=2, int[] dims=[0, 1], *, float? y=None, str z, bool b=True) -> Tensor")
        library.impl(
            "f", lambda w, *args, **kwargs: (given.append((args, sorted(kwargs.items()))), w.clone())[1], "CPU"
        )
        op, w = getattr(t.ops, ns).f, t.ones(1)
        op(w, z="a")
        op(w, 3, z="a", b=False)
        op(w, 2, [1], z="a", y=0.5)
        op(w, x=4, z="b")
        return given


def several_overloads(t, ns):
    with _library(t, ns) as library:
        library.define("f(Tensor x) -> Tensor")
        library.define("f.two(Tensor x, Tensor y) -> Tensor")
        library.define("f.number(Tensor x, float y) -> Tensor")
        library.impl("f", lambda x: x + 1, "CPU")
        library.impl("f.two", lambda x, y: x + y, "CPU")
        library.impl("f.number", lambda x, y: x * y, "CPU")
        op, x = getattr(t.ops, ns).f, t.ones(1)
        return op(x).item(), op(x, x).item(), op(x, 5.0).item(), sorted(op.overloads()), op.two(x, x).item()


def order_of_composites(t, ns):
    found = []
    with _library(t, ns) as library:
        library.define("f(Tensor x) -> Tensor")
        op, x = getattr(t.ops, ns).f, t.ones(1)
        # torch keeps a composite of the parts in its table when a second composite comes.
        library.impl("f", lambda x: x + 2, "CompositeExplicitAutograd")
        found.append(op(x).item())
        library.impl("f", lambda x: x + 3, "CPU")
        found.append(op(x).item())
        meta = op(x.to("meta"))
        return found, meta.device.type, tuple(meta.shape)


def layers_with_keysets(t, ns):
    with _library(t, "aten") as library, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = t.library.get_kernel("aten::neg", "CPU")
        library.impl("neg", lambda keyset, x: before.call_boxed(keyset, x) * 10, "CPU", with_keyset=True)
        x = t.ones(2, requires_grad=True)
        y = -x
        y.sum().backward()
        found = y.tolist(), x.grad.tolist()
    return found, (-t.ones(1)).tolist()


def custom(t, ns):
    @t.library.custom_op(f"{ns}::scale", mutates_args=())
    def scale(x: t.Tensor, factor: float = 2.5, shift: int | None = None) -> t.Tensor:
        return t.from_numpy(x.detach().numpy() * factor + (shift or 0))

    def setup(ctx, inputs, output):
        ctx.given = inputs[1:]
        ctx.save_for_backward(inputs[0], output)

    def backward(ctx, grad):
        return grad * ctx.given[0], None, None

    x = t.arange(4.0, requires_grad=True)
    first = scale(x)
    plain = first.requires_grad, _errors(lambda: first.sum().backward(), lambda: scale(x.to("meta")))
    scale.register_autograd(backward, setup_context=setup)
    scale.register_fake(lambda x, factor=2.0, shift=None: t.empty_like(x))
    y = scale(x, 3.0)
    y.sum().backward()
    y2 = t.vmap(lambda row: row * 2)(x.detach())
    checks = t.library.opcheck(scale, (x, 3.0))
    name = str(scale._opoverload._schema), repr(scale), y.grad_fn.name()
    return plain, y.tolist(), x.grad.tolist(), y2.tolist(), checks, name, tuple(scale(x.to("meta")).shape)


def lists(t, ns):
    @t.library.custom_op(f"{ns}::mix", mutates_args=())
    def mix(xs: list[t.Tensor], weights: list[float]) -> list[t.Tensor]:
        return [x * w for x, w in zip(xs, weights, strict=True)]

    needs = []

    def setup(ctx, inputs, output):
        ctx.weights = inputs[1]

    def backward(ctx, grads):
        needs.append(str(ctx.needs_input_grad))
        return [grad * w for grad, w in zip(grads, ctx.weights, strict=True)], None

    mix.register_autograd(backward, setup_context=setup)
    xs = [t.ones(2, requires_grad=True), t.ones(3, requires_grad=False), t.ones(1, requires_grad=True)]
    found = mix(xs, [1.0, 2.0, 3.0])
    sum(each.sum() for each in found).backward()
    return [each.tolist() for each in found], [None if x.grad is None else x.grad.tolist() for x in xs], needs


def writes(t, ns):
    @t.library.custom_op(f"{ns}::sine_", mutates_args={"x"})
    def sine_(x: t.Tensor, y: t.Tensor | None = None) -> None:
        array = x.numpy()
        np.sin(array, out=array)

    x = t.linspace(0, 1, 3)
    before, view = x._version, x[1:]
    sine_(x)
    return (
        x.tolist(),
        view.tolist(),
        x._version > before,
        sine_(x.to("meta")),
        _errors(lambda: sine_.register_autograd(len)),
    )


def memory(t, ns):
    found = []
    for make in (lambda x: x, lambda x: x.view(-1), lambda x: x[:1], lambda x: x.clone(), lambda x: x.reshape(1, -1)):

        @t.library.custom_op(f"{ns}::f", mutates_args=())
        def f(x: t.Tensor) -> t.Tensor:
            return make(x)  # noqa: B023  # it is called in this round

        found += _errors(lambda: f(t.ones(2)).tolist())
    return found


def tags(t, ns):
    @t.library.custom_op(f"{ns}::add_", mutates_args={"x"}, tags=t.Tag.inplace)
    def add_(x: t.Tensor, y: t.Tensor) -> t.Tensor:
        return x.add_(y)

    @t.library.custom_op(f"{ns}::into", mutates_args={"out"}, tags=[t.Tag.out, t.Tag.pointwise])
    def into(x: t.Tensor, *, out: t.Tensor) -> t.Tensor:
        return out.copy_(x)

    x, out = t.ones(2), t.zeros(2)
    same = add_(x, x) is x, into(x, out=out) is out
    schemas = str(add_._opoverload._schema), str(into._opoverload._schema)
    refused = _errors(
        lambda: into(x, out=t.ones(2, requires_grad=True)),
        lambda: into.register_autograd(len),
        lambda: t.library.custom_op(
            f"{ns}::g", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor", tags=t.Tag.out
        ),
    )
    return same, x.tolist(), out.tolist(), schemas, refused, t.Tag.pointwise in into._opoverload.tags


def batches(t, ns):
    @t.library.custom_op(f"{ns}::times", mutates_args=())
    def times(x: t.Tensor, y: t.Tensor) -> t.Tensor:
        return x * y

    dims = []

    @times.register_vmap
    def rule(info, in_dims, x, y):
        dims.append((info.batch_size, info.randomness, in_dims))
        x = x if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y if in_dims[1] is None else y.movedim(in_dims[1], 0)
        return x * (y[:, None] if y.dim() < x.dim() and in_dims[1] is not None else y), 0

    x, y = t.arange(6.0).reshape(2, 3), t.arange(3.0)
    found = [
        t.vmap(times, in_dims=(0, None))(x, y),
        t.vmap(times, in_dims=(1, 0), out_dims=0)(x, y),
        t.vmap(times)(x, x),
    ]
    return [each.tolist() for each in found], dims


def autocast(t, ns):
    @t.library.custom_op(f"{ns}::total", mutates_args=())
    def total(xs: list[t.Tensor], n: int) -> t.Tensor:
        return xs[0] + xs[1] * n

    total.register_autocast("cpu", t.bfloat16)
    xs = [t.ones(1), t.ones(1, dtype=t.float64)]
    found = [str(total(xs, 2).dtype).rpartition(".")[2]]
    with t.autocast("cpu", dtype=t.bfloat16):
        found += [str(total(each, 2).dtype).rpartition(".")[2] for each in ([t.ones(1), t.ones(1)], xs)]
    return found, _errors(lambda: total.register_autocast("nowhere", t.float16))


def switches(t, ns):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor) -> t.Tensor:
        return x + 1

    f.register_kernel("cpu", lambda x: x + 2)
    x, found = t.zeros(1), []
    for enabled in (False, True):
        with f.set_kernel_enabled("cpu", enabled=enabled):
            found.append(f(x).item())
    return found, f(x).item()


def factories(t, ns):
    @t.library.custom_op(f"{ns}::ones", mutates_args=(), device_types="cpu")
    def ones(n: int, device: t.device) -> t.Tensor:
        return t.ones(n)

    def without() -> t.Tensor:
        return t.ones(1)

    made = ones(2, "cpu").tolist(), ones(1, device=t.device("cpu")).tolist()
    return made, _errors(
        lambda: ones(1, "cuda"),
        lambda: t.library.custom_op(f"{ns}::f", without, mutates_args=(), device_types="cpu"),
        lambda: t.library.custom_op(f"{ns}::g", without, mutates_args=())().tolist(),
    )


def refused_definitions(t, ns):
    def keyword(x: t.Tensor, *, y: t.Tensor) -> t.Tensor: ...

    def plain(x: t.Tensor) -> t.Tensor: ...

    make = t.library.custom_op
    with _library(t, ns) as library:
        library.define("f(Tensor x) -> Tensor")
        library.define("w(Tensor(a!) x) -> Tensor(a!)")
        library.define("c(Tensor x) -> Tensor")
        library.impl("c", lambda x: x.clone())
        library.impl("f", lambda x: x.clone(), "CPU")
        return _errors(
            lambda: make(f"{ns}::a", keyword, mutates_args=()),
            lambda: make(f"{ns}::a", plain, mutates_args="x"),
            lambda: make(f"{ns}::a", plain, mutates_args=["y"]),
            lambda: make(f"{ns}::a", plain, mutates_args=(), schema="(Tensor(a!) x) -> Tensor"),
            lambda: library.define("f(Tensor x) -> Tensor"),
            lambda: library.define("g(Tensor x) -> Unknown"),
            lambda: library.define("g(Tensor x"),
            lambda: library.impl("f", 3, "CPU"),
            lambda: library.impl("f", len, "Nowhere"),
            lambda: library.impl("f", len, "CPU", allow_override=False),
            lambda: library.impl("c", len, "Meta"),
            lambda: library.fallback(len, "CPU"),
            lambda: t.library.Library(ns, "OTHER"),
            lambda: t.library.define("f", "(Tensor x) -> Tensor"),
            lambda: t.library.define(f"{ns}::h", "h(Tensor x) -> Tensor"),
            lambda: t.library.define(3, "(Tensor x) -> Tensor"),
            lambda: t.library.impl(f"{ns}::f", "nowhere", len),
            lambda: t.library.register_fake(3, len),
            lambda: t.library.register_fake(f"{ns}::c", len),
            lambda: t.library.register_autograd(f"{ns}::w", len),
            lambda: t.library.register_autograd(f"{ns}::f", len, lib=library),
            lambda: t.library.register_vmap(3, len),
            lambda: t.library.register_kernel(3, "cpu", len),
            lambda: t.library.get_kernel(f"{ns}::f", "Nowhere"),
            lambda: t.library.get_kernel(f"{ns}::f", "CUDA"),
            lambda: t.library.get_kernel(f"{ns}::nowhere", "CPU"),
            lambda: t.library.opcheck(t.sin, ()),
            lambda: getattr(t.ops, ns).nowhere,
            lambda: getattr(t.ops, ns).f.nowhere,
        )


def findings(t, ns):
    """Return which checks of operators fail."""
    found = []
    kernels = {
        "fine": (lambda x: x.clone(), "CompositeImplicitAutograd", None),
        "writes": (lambda x: x.sin_().clone(), "CPU", lambda x: x.clone()),
        "shares": (lambda x: x.view_as(x), "CPU", lambda x: x.clone()),
        "shape": (lambda x: x.sum(), "CPU", lambda x: x.clone()),
        "dtype": (lambda x: x.double(), "CPU", lambda x: x.clone()),
        "strides": (
            lambda x: x.t().clone(memory_format=t.preserve_format),
            "CPU",
            lambda x: x.new_empty(x.shape[::-1]),
        ),
        "history": (lambda x: x.sin(), "CompositeExplicitAutograd", None),
    }
    with _library(t, ns) as library, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (kernel, key, fake) in kernels.items():
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, kernel, key)
            if fake is not None:
                t.library.register_fake(f"{ns}::{name}", fake, lib=library)
            for requires_grad in (False, True):
                x = t.rand(2, 3, requires_grad=requires_grad)
                names = ["test_schema", "test_autograd_registration", "test_faketensor"]
                if name == "writes" and requires_grad:
                    continue  # torch refuses the write itself
                result = t.library.opcheck(
                    getattr(getattr(t.ops, ns), name).default, (x,), raise_exception=False, test_utils=names
                )
                found.append((name, requires_grad, {each: str(value) == "SUCCESS" for each, value in result.items()}))
    return found


PROGRAMS = [
    differentiated_parts,
    below_autograd,
    keywords_and_defaults,
    several_overloads,
    order_of_composites,
    layers_with_keysets,
    custom,
    lists,
    writes,
    memory,
    tags,
    batches,
    autocast,
    switches,
    factories,
    refused_definitions,
    findings,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_program_sees_what_it_sees_under_torch(program):
    number = next(_numbers)
    expected, found = (program(t, f"library_program_{number}") for t in (torch, torchlike))
    assert _plain(found) == _plain(expected)


def _plain(value):
    """Return a program's result without what only differs by rounding."""
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value
