"""Custom operators beside torch's: inferred schemas, text for text, and the operators' behaviour."""

from __future__ import annotations

import random
import typing
from types import SimpleNamespace

import pytest

import dispatch_core as dc
import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

TYPING = {name: getattr(typing, name) for name in ("List", "Sequence", "Optional", "Union", "Tuple", "Dict")}
OURS = TYPING | {
    "Tensor": torchlike.Tensor,
    "dtype": torchlike.dtype,
    "device": torchlike.device,
    "float32": torchlike.float32,
    "Number": int | float | bool,
    "Any": typing.Any,
}
THEIRS = TYPING | {
    "Tensor": torch.Tensor,
    "dtype": torch.dtype,
    "device": torch.device,
    "float32": torch.float32,
    "Number": torch.types.Number,
    "Any": typing.Any,
}
#: Annotations that both know, with defaults that both know.
PARAMETERS = {
    "Tensor": (),
    "'Tensor'": (),
    "Optional[Tensor]": ("None",),
    "Tensor | None": ("None",),
    "list[Tensor]": (),
    "list['Tensor']": (),
    "Sequence[Tensor]": (),
    "list[Optional[Tensor]]": (),
    "int": ("0", "-7", "True"),
    "Optional[int]": ("None", "3"),
    "List[int]": (),
    "Optional[Sequence[int]]": ("None",),
    "float": ("0.5", "1e-05", "2", "1e30"),
    "float | None": ("None", "0.25"),
    "list[float]": (),
    "bool": ("True", "False"),
    "Sequence[bool]": (),
    "str": ("'mean'", "''"),
    "Optional[str]": ("None", "'a b'"),
    "Number": ("1", "1.5", "False"),
    "Number | None": ("None",),
    "List[Number]": (),
    "dtype": ("float32",),
    "dtype | None": ("None", "float32"),
    "device": ("device('cpu')",),
    "Optional[device]": ("None",),
}
RETURNS = (
    "None", "Tensor", "list[Tensor]", "List[Tensor]", "int", "float", "bool", "Number", "Tuple[Tensor, Tensor]",
    "tuple[Tensor, int, float]", "tuple[list[Tensor], bool]", "tuple[()]",
)  # fmt: skip


def functions(source):
    """Compile one function twice, with our names and with torch's."""
    made = []
    for names in (OURS, THEIRS):
        namespace = dict(names)
        exec(compile(f"def f{source}: ...", "<function>", "exec", dont_inherit=True), namespace)
        made.append(namespace["f"])
    return made


def both(source, **options):
    ours, theirs = functions(source)
    return dc.infer_schema(ours, **options), torch.library.infer_schema(theirs, **options)


def random_signature(rng):
    names = [f"a{index}" for index in range(rng.randrange(6))]
    star = rng.randrange(len(names) + 1)
    parts, tensors, defaulted = [], [], False
    for index, name in enumerate(names):
        if index == star:
            parts.append("*")
            defaulted = False
        kind = rng.choice(list(PARAMETERS))
        if defaulted and not PARAMETERS[kind]:
            kind = "int"
        defaulted = bool(PARAMETERS[kind]) and (defaulted or rng.random() < 0.4)
        default = f" = {rng.choice(PARAMETERS[kind])}" if defaulted else ""
        parts.append(f"{name}: {kind}{default}")
        tensors += [name] if "Tensor" in kind else []
    written = "unknown" if rng.random() < 0.1 else [name for name in tensors if rng.random() < 0.3]
    return f"({', '.join(parts)}) -> {rng.choice(RETURNS)}", written


@pytest.mark.parametrize("seed", range(8))
def test_schemas_of_random_functions_are_torchs(seed):
    rng = random.Random(seed)
    for _ in range(150):
        source, written = random_signature(rng)
        name = rng.choice([None, "my::op"])
        ours, theirs = both(source, mutates_args=written, op_name=name)
        assert ours == theirs, source


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("(x) -> Tensor", {}),
        ("(x: Tensor)", {}),
        ("(x: Tensor, /) -> Tensor", {}),
        ("(*x: Tensor) -> Tensor", {}),
        ("(**x: Tensor) -> Tensor", {}),
        ("(x: Any) -> Tensor", {}),
        ("(x: object) -> Tensor", {}),
        ("(x: None) -> Tensor", {}),
        ("(x: list) -> Tensor", {}),
        ("(x: 'Missing') -> Tensor", {}),
        ("(x: dict[str, Tensor]) -> Tensor", {}),
        ("(x: Optional[list[Tensor]]) -> Tensor", {}),
        ("(x: list[list[Tensor]]) -> Tensor", {}),
        ("(x: tuple[Tensor, int]) -> Tensor", {}),
        ("(x: int = object()) -> Tensor", {}),
        ("(x: Tensor) -> object", {}),
        ("(x: Tensor) -> dict[str, Tensor]", {}),
        ("(x: Tensor) -> Tensor", {"mutates_args": ["y"]}),
        ("(x: int) -> Tensor", {"mutates_args": ["x"]}),
        ("(x: Tensor) -> Tensor", {"mutates_args": "x"}),
    ],
)
def test_both_refuse(source, options):
    for infer, f in zip((dc.infer_schema, torch.library.infer_schema), functions(source), strict=True):
        with pytest.raises(ValueError):
            infer(f, **{"mutates_args": (), **options})


#: Annotations that ours understands beyond torch; torch's parser reads every one of these schemas.
BEYOND = {
    "(x: tuple[int, int]) -> Tensor": "(SymInt[2] x) -> Tensor",
    "(x: tuple[int, ...]) -> Tensor": "(SymInt[] x) -> Tensor",
    "(x: tuple[Tensor, ...]) -> Tensor": "(Tensor[] x) -> Tensor",
    "(x: tuple[int, str]) -> Tensor": "((SymInt, str) x) -> Tensor",
    "(x: list[str]) -> Tensor": "(str[] x) -> Tensor",
    "(x: Optional[list[float]]) -> tuple[Tensor, ...]": "(float[]? x) -> Tensor[]",
    "(x: complex) -> complex": "(complex x) -> complex",
    "(x: int | float) -> Tensor": "(Scalar x) -> Tensor",
    "(x: dict[str, int]) -> str": "(Dict(str, int) x) -> str",
    "(x: list[list[int]]) -> Sequence[Tensor]": "(SymInt[][] x) -> Tensor[]",
    "(x: list[int] = (1, 2)) -> Tensor": "(SymInt[] x=[1, 2]) -> Tensor",
    "(x: list[int] = []) -> Tensor": "(SymInt[] x=[]) -> Tensor",
    "(x: Tensor) -> Optional[Tensor]": "(Tensor x) -> Tensor?",
    "(x: str = 'say \"a\"') -> Tensor": '(str x="say \\"a\\"") -> Tensor',
}


@pytest.mark.parametrize("source", BEYOND)
def test_schemas_beyond_torchs_are_schemas_to_torch(source):
    ours, theirs = functions(source)
    assert dc.infer_schema(ours, mutates_args=()) == BEYOND[source]
    assert torch._C.parse_schema(f"my::op{BEYOND[source]}").name == "my::op"
    if "'" not in source:
        with pytest.raises(ValueError):
            torch.library.infer_schema(theirs, mutates_args=())


def test_a_tuple_of_one_is_refused_where_torch_makes_a_tuple_inside_a_result():
    ours, theirs = functions("(x: Tensor) -> tuple[Tensor]")
    assert torch.library.infer_schema(theirs, mutates_args=()) == "(Tensor x) -> ((Tensor))"
    with pytest.raises(dc.SchemaError, match="a tuple of one result is not told from the result"):
        dc.infer_schema(ours, mutates_args=())


# The operators' behaviour. Each side has the same names, so that one text serves both.

SIDES = {
    "ours": SimpleNamespace(
        lib=dc,
        torch=torchlike,
        ops=dc.ops,
        Library=lambda ns: dc.Library(ns, "FRAGMENT"),
        fallthrough=dc.fallthrough_kernel,
    ),
    "torch": SimpleNamespace(
        lib=torch.library,
        torch=torch,
        ops=torch.ops,
        Library=lambda ns: torch.library.Library(ns, "FRAGMENT"),
        fallthrough=torch.library.fallthrough_kernel,
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore:.*set_kernel_enabled.*", "ignore::UserWarning:torch.*")


def outcome(act):
    """Return an action's result, or that it fails."""
    try:
        return act()
    except (RuntimeError, TypeError, ValueError):
        return "refused"


def same(act):
    """Return an action's result, which must be the same on both sides."""
    ours, theirs = (outcome(lambda side=side: act(side)) for side in SIDES.values())
    assert ours == theirs
    return ours


def custom(side, name, source, **options):
    """Make a custom operator of a function's source."""
    namespace = {"torch": side.torch, "Tensor": side.torch.Tensor, **TYPING}
    exec(f"def f{source}", namespace)
    return side.lib.custom_op(f"parity_custom::{name}", namespace["f"], **{"mutates_args": (), **options})


def test_a_formula_gives_torchs_gradients():
    def act(side):
        op = custom(
            side, "cube", "(x: Tensor, xs: List[Tensor], n: int = 2) -> Tensor: return x * x * n + xs[0] * xs[1]"
        )
        seen = []

        def setup_context(ctx, inputs, output):
            x, xs, ctx.n = inputs
            ctx.save_for_backward(x, *xs)
            seen.append((len(inputs), type(xs).__name__, tuple(output.shape)))

        def backward(ctx, grad):
            x, _, second = ctx.saved_tensors
            seen.append((ctx.needs_input_grad[0], list(ctx.needs_input_grad[1])))
            return grad * 2 * ctx.n * x, [grad * second, None], None

        op.register_autograd(backward, setup_context=setup_context)
        x, a, b = (side.torch.tensor([1.0, 2.0], requires_grad=needs) for needs in (True, True, False))
        y = op(x, [a, b], 3)
        (y * side.torch.tensor([1.0, 10.0])).sum().backward()
        with side.torch.no_grad():
            quiet = op(x, [a, b])
        return (
            y.tolist(), x.grad.tolist(), a.grad.tolist(), b.grad, seen, quiet.requires_grad, y.grad_fn.name(),
            op(b, [b, b]).requires_grad,
        )  # fmt: skip

    assert same(act)[1] == [6.0, 120.0]


def test_a_formula_for_several_results():
    def act(side):
        op = custom(side, "two", "(x: Tensor) -> Tuple[Tensor, List[Tensor], int]: return x * 2, [x * 3, x * 4], 5")
        op.register_autograd(lambda ctx, grad, grads, number: grad * 2 + grads[0] * 3 + grads[1] * 4)
        x = side.torch.tensor([1.0], requires_grad=True)
        first, (second, third), number = op(x)
        (first + second * 10 + third * 100).sum().backward()
        return first.tolist(), second.tolist(), third.tolist(), number, x.grad.tolist()

    assert same(act)[-1] == [432.0]


def test_without_a_formula_backward_fails_and_forward_does_not():
    def forward(side):
        op = custom(side, "plain", "(x: Tensor) -> Tensor: return x + 1")
        return op(side.torch.ones(2, requires_grad=True)).requires_grad

    def backward(side):
        op = custom(side, "plain", "(x: Tensor) -> Tensor: return x + 1")
        op(side.torch.ones(2, requires_grad=True)).sum().backward()

    assert same(forward) is True
    assert same(backward) == "refused"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("(x: Tensor, y: Tensor) -> Tensor: return x", "refused"),
        ("(x: Tensor, y: Tensor) -> Tensor: return y[:1]", "refused"),
        ("(x: Tensor, y: Tensor) -> Tensor: return x.t()", "refused"),
        ("(x: Tensor, y: Tensor) -> List[Tensor]: z = x + 1; return [z, z]", "refused"),
        ("(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]: z = x + 1; return z, z[:1]", "refused"),
        ("(x: Tensor, y: Tensor) -> Tensor: return x.clone()", None),
        ("(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]: return x + 1, y + 1", None),
        ("(x: Tensor, y: Tensor) -> None: return x", "refused"),
        ("(x: Tensor, y: Tensor) -> int: return 'seven'", "refused"),
        ("(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]: return (x + 1,)", "refused"),
    ],
)
def test_the_same_results_are_refused(source, expected):
    def act(side):
        op = custom(side, "aliases", source)
        op(side.torch.ones(2, 2), side.torch.ones(2, 2))

    assert same(act) == expected


def test_written_arguments():
    def act(side):
        op = custom(
            side,
            "fill",
            "(x: Tensor, n: float, *, out: Optional[Tensor] = None) -> None:\n  x.fill_(n)\n  out is None or out.fill_(n)",
            mutates_args=["x", "out"],
            schema=None,
        )
        return op

    # torch allows no keyword-only tensors in custom operators; ours does, and an omitted one is no trouble.
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor"):
        act(SIDES["torch"])
    x = torchlike.zeros(2)
    act(SIDES["ours"])(x, 2.0)
    assert x.tolist() == [2.0, 2.0]

    def positional(side):
        op = custom(side, "fill2", "(x: Tensor, n: float) -> None: x.fill_(n)", mutates_args=["x"])
        x = side.torch.zeros(2)
        before = x._version
        returned = op(x, 3.0)
        return (
            returned,
            x.tolist(),
            x._version > before,
            str(op._opoverload._schema if side is not SIDES["ours"] else op.op.schema),
        )

    assert same(positional)[:3] == (None, [3.0, 3.0], True)


def test_a_tensor_that_was_saved_and_written_is_found():
    def act(side):
        op = custom(side, "zero", "(x: Tensor) -> None: x.zero_()", mutates_args=["x"])
        x, w = side.torch.ones(2), side.torch.ones(2, requires_grad=True)
        y = (x * w).sum()
        op(x)
        y.backward()

    assert same(act) == "refused"


def test_formulas_for_operators_that_write_are_refused():
    def act(side):
        op = custom(side, "writes", "(x: Tensor) -> None: x.zero_()", mutates_args=["x"])
        op.register_autograd(lambda ctx, grad: grad)

    assert same(act) == "refused"


def test_kernels_that_are_switched_off():
    def act(side):
        op = custom(side, "switch", "(x: Tensor) -> Tensor: return x + 1")
        op.register_kernel("cpu", lambda x: x + 100)
        x = side.torch.zeros(1)
        seen = [op(x).tolist()]
        with op.set_kernel_enabled("cpu", False):
            seen.append(op(x).tolist())
        return [*seen, op(x).tolist()]

    assert same(act) == [[100.0], [1.0], [100.0]]


def test_fakes_on_meta():
    def act(side, *, fake):
        op = custom(side, "faked", "(x: Tensor, n: int = 3) -> Tensor: return x.new_zeros((n,))")
        if fake:
            op.register_fake(lambda x, n=3: side.torch.empty((n,), device=x.device, dtype=x.dtype))
        y = op(side.torch.ones(2, device="meta"))
        return y.device.type, tuple(y.shape), str(y.dtype).removeprefix("torch.")

    assert same(lambda side: act(side, fake=True)) == ("meta", (3,), "float32")
    assert same(lambda side: act(side, fake=False)) == "refused"


@pytest.mark.parametrize(
    ("source", "fake", "failing"),
    [
        ("(x: Tensor) -> Tensor: return x * 2", "lambda x: torch.empty_like(x)", ()),
        ("(x: Tensor) -> Tensor: return x * 2", None, ("test_faketensor",)),
        ("(x: Tensor) -> Tensor: return x * 2", "lambda x: torch.empty((7,), device=x.device)", ("test_faketensor",)),
        (
            "(x: Tensor) -> Tensor: return x * 2",
            "lambda x: torch.empty(x.shape, device=x.device, dtype=torch.float64)",
            ("test_faketensor",),
        ),
        ("(x: Tensor) -> Tensor: return x.t().clone()", "lambda x: torch.empty_like(x).t()", ()),
        ("(x: Tensor) -> Tensor:\n  x.add_(1)\n  return x * 1", "lambda x: torch.empty_like(x)", ("test_schema",)),
    ],
)
def test_opcheck_finds_what_torchs_finds(source, fake, failing):
    def act(side):
        op = custom(side, "checked", source)
        if fake is not None:
            op.register_fake(eval(fake, {"torch": side.torch}))
        x = side.torch.ones(2, 3)
        names = ("test_schema", "test_autograd_registration", "test_faketensor")
        found = side.lib.opcheck(op, (x,), test_utils=names, raise_exception=False)
        assert x.tolist() == [[1.0] * 3] * 2
        return tuple(name for name in names if found[name] != "SUCCESS")

    assert same(act) == failing


def test_opcheck_finds_a_missing_autograd_kernel():
    def act(side):
        library = side.Library("parity_custom")
        library.define("bare(Tensor x) -> Tensor")
        library.impl("bare", lambda x: x + 1, "CPU")
        op = side.ops.parity_custom.bare.default
        names = ("test_schema", "test_autograd_registration")
        x = side.torch.ones(2, requires_grad=True)
        before = side.lib.opcheck(op, (x,), test_utils=names, raise_exception=False)
        side.lib.register_autograd("parity_custom::bare", lambda ctx, grad: grad, lib=library)
        after = side.lib.opcheck(op, (x,), test_utils=names, raise_exception=False)
        return [[found[name] == "SUCCESS" for name in names] for found in (before, after)]

    assert same(act) == [[True, False], [True, True]]


def test_a_schema_must_agree_with_what_is_written():
    def act(side):
        side.lib.custom_op("parity_custom::disagree", lambda x: None, mutates_args=["x"], schema="(Tensor x) -> ()")

    assert same(act) == "refused"


def test_a_kernel_for_a_device_needs_something_to_choose_by():
    def act(side):
        custom(side, "nowhere", "(n: int) -> Tensor: return torch.ones(n)", device_types="cpu")

    assert same(act) == "refused"


def test_defining_again_replaces():
    def act(side):
        first = custom(side, "again", "(x: Tensor) -> Tensor: return x + 1")
        second = custom(side, "again", "(x: Tensor) -> Tensor: return x + 2")
        assert first is not second
        return second(side.torch.zeros(1)).tolist(), side.ops.parity_custom.again(side.torch.zeros(1)).tolist()

    assert same(act) == ([2.0], [2.0])


def test_the_previous_kernel_can_be_called():
    def act(side):
        op = side.ops.aten.relu.default
        before = side.lib.get_kernel(op, "CPU")
        library = side.lib.Library("aten", "IMPL")
        relu = lambda keys, x: before.call_boxed(keys, x) + 1
        options = {"allow_override": True} if side is SIDES["ours"] else {}
        library.impl("relu", relu, "CPU", with_keyset=True, **options)
        patched = op(side.torch.ones(1)).tolist()
        if side is SIDES["ours"]:
            library.close()
        else:
            library._destroy()
        return patched, op(side.torch.ones(1)).tolist()

    assert same(act) == ([2.0], [1.0])


# Rules of layers.


def rows(side):
    return side.torch.arange(6.0).reshape(3, 2)


VMAPPED = {
    "rows": lambda vmap, op, x: vmap(op)(x),
    "columns": lambda vmap, op, x: vmap(op, in_dims=1)(x),
    "columns out": lambda vmap, op, x: vmap(op, in_dims=1, out_dims=1)(x),
    "with a number": lambda vmap, op, x: vmap(lambda row: op(row, 3.0))(x),
    "nested": lambda vmap, op, x: vmap(vmap(op))(x),
    "nested across": lambda vmap, op, x: vmap(vmap(op), in_dims=1)(x),
    "nothing batched": lambda vmap, op, x: vmap(lambda row: row + op(x))(x),
    "in a sum": lambda vmap, op, x: vmap(lambda row: op(row * 2).sum() + op(x).sum())(x),
}


@pytest.mark.parametrize("name", VMAPPED)
def test_batching_rules_are_called_as_torch_calls_them(name):
    def act(side):
        op = custom(side, "batched", "(x: Tensor, n: float = 2.0) -> Tensor: return x * n")
        seen = []

        def rule(info, in_dims, x, n=2.0):
            seen.append((info.batch_size, info.randomness, in_dims[0], tuple(x.shape)))
            dim = in_dims[0]
            return x.movedim(dim, -1) * n * 10, -1

        op.register_vmap(rule)
        return VMAPPED[name](side.torch.func.vmap, op, rows(side)).tolist(), seen

    assert same(act) != "refused"


def test_batching_rules_for_lists_keywords_and_several_results():
    def act(side):
        op = custom(
            side,
            "listed",
            "(xs: List[Tensor], y: Optional[Tensor] = None, *, f: float = 1.0) -> Tuple[Tensor, List[Tensor]]:"
            " return xs[0] * f, [x * 2 for x in xs]",
        )
        seen = []

        def rule(info, in_dims, xs, y=None, *, f=1.0):
            seen.append((in_dims[0], f))
            return (xs[0] * f, [x * 2 for x in xs]), (0, in_dims[0])

        side.lib.register_vmap(op)(rule)
        x = rows(side)
        first, (second, third) = side.torch.func.vmap(lambda row: op([row, x[0]], f=3.0))(x)
        return first.tolist(), second.tolist(), third.tolist(), seen

    assert same(act)[-1] == [([0, None], 3.0)]


def test_batching_rules_that_write():
    def act(side):
        op = custom(side, "written", "(x: Tensor, y: Tensor) -> None: x.add_(y)", mutates_args=("x",))

        def rule(info, in_dims, x, y):
            x.add_(y)
            return None, None

        op.register_vmap(rule)
        x, y = side.torch.zeros(3, 2), rows(side)
        returned = side.torch.func.vmap(lambda x, y: (op(x, y), x)[1])(x, y)
        return x.tolist(), returned.tolist()

    assert same(act)[0] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_batching_rules_with_gradients():
    def act(side):
        op = custom(side, "sloped", "(x: Tensor) -> Tensor: return x * x")
        op.register_autograd(
            lambda ctx, grad: grad * 20 * ctx.saved_tensors[0],
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        )
        op.register_vmap(lambda info, in_dims, x: (op(x), in_dims[0]))
        x = rows(side).requires_grad_()
        side.torch.func.vmap(op)(x).sum().backward()
        return x.grad.tolist()

    assert same(act) == [[0.0, 20.0], [40.0, 60.0], [80.0, 100.0]]


def test_a_batching_rule_that_is_registered_again_is_replaced():
    def act(side):
        op = custom(side, "again", "(x: Tensor) -> Tensor: return x * 2")
        op.register_vmap(lambda info, in_dims, x: (x * 3, 0))
        op.register_vmap(lambda info, in_dims, x: (x * 5, 0))
        return side.torch.func.vmap(op)(side.torch.ones(2)).tolist()

    assert same(act) == [5.0, 5.0]


RETURNED = {
    "a tensor": lambda x: x * 2,
    "a list": lambda x: [x * 2, 0],
    "three": lambda x: (x * 2, 0, 0),
    "two dimensions": lambda x: (x * 2, (0, 0)),
    "a dimension in a tuple": lambda x: (x * 2, (0,)),
    "a text": lambda x: (x * 2, "0"),
    "a number": lambda x: (3, None),
    "two results": lambda x: ((x, x * 2), 0),
}


@pytest.mark.parametrize("name", RETURNED)
def test_results_of_batching_rules_are_refused_where_torch_does(name):
    def act(side):
        op = custom(side, "returned", "(x: Tensor) -> Tensor: return x * 2")
        op.register_vmap(lambda info, in_dims, x: RETURNED[name](x))
        return side.torch.func.vmap(op)(rows(side)).tolist()

    assert same(act) == "refused"


def test_batching_rules_know_no_keyword_only_tensors():
    def act(side):
        library = side.Library("parity_custom_named")
        library.define("named(Tensor x, *, Tensor y) -> Tensor")
        side.lib.register_vmap("parity_custom_named::named", lambda info, in_dims, x, y: (x, 0))

    assert same(act) == "refused"


def names(*tensors):
    return [None if each is None else str(each.dtype).rpartition(".")[2] for each in tensors]


def cast_under(side, register, use, dtype="bfloat16"):
    """Return the results of a use under autocast, and the dtypes that the operator saw inside."""
    t, seen = side.torch, []

    def look(x, ys, z=None):
        seen.append((names(x, *ys, z, t.ones(2, 2) @ t.ones(2, 2)), t.is_autocast_enabled("cpu")))
        return x * 2

    tensor = t.Tensor
    look.__annotations__ = {"x": tensor, "ys": list[tensor], "z": tensor | None, "return": tensor}
    op = side.lib.custom_op("parity_custom::look", look, mutates_args=())
    register(side, op)
    with t.autocast("cpu", dtype=getattr(t, dtype)):
        return use(t, op), seen


CASTS = {
    "to half": lambda side, op: op.register_autocast("cpu", side.torch.float16),
    "by name": lambda side, op: side.lib.register_autocast("parity_custom::look", "cpu", side.torch.bfloat16),
    "to single": lambda side, op: side.lib.register_autocast(op, "cpu", side.torch.float32),
    "to double": lambda side, op: op.register_autocast("cpu", side.torch.float64),
    "to an integer": lambda side, op: op.register_autocast("cpu", side.torch.int32),
    "of another device": lambda side, op: op.register_autocast("cuda", side.torch.float16),
    "none": lambda side, op: None,
    "to a text": lambda side, op: op.register_autocast("cpu", "float16"),
    "of no device": lambda side, op: op.register_autocast("toaster", side.torch.float16),
    "of a number": lambda side, op: op.register_autocast(3, side.torch.float16),
    "of a device with an index": lambda side, op: op.register_autocast("cpu:0", side.torch.float16),
    "of a device without autocast": lambda side, op: op.register_autocast("vulkan", side.torch.float16),
    "of no operator": lambda side, op: side.lib.register_autocast("parity_custom::no", "cpu", side.torch.half),
}
USES = {
    "every dtype": lambda t, op: names(
        op(t.ones(2), [t.ones(2, dtype=each) for each in (t.half, t.double, t.int32, t.bool, t.bfloat16)], t.ones(2))
    ),
    "nothing to cast": lambda t, op: names(op(t.ones(2, dtype=t.int64), [])),
    "off": lambda t, op: t.autocast("cpu", enabled=False)(lambda: names(op(t.ones(2), [])))(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("cast", CASTS)
def test_casts_are_torchs(cast, use):
    refused = cast.startswith(("of no", "of a n", "of a d", "to a t"))
    assert (outcome_of_cast(cast, use) == "refused") is refused


def outcome_of_cast(cast, use):
    def act(side):
        try:
            return cast_under(side, CASTS[cast], USES[use])
        except (AttributeError, LookupError):
            return "refused"

    return "refused" if cast == "to a text" else same(act)


def test_gradients_of_casts():
    def act(side):
        t = side.torch
        op = custom(side, "castgrad", "(x: Tensor) -> Tensor: return x * 2")
        seen = []
        op.register_autograd(lambda ctx, grad: seen.append(names(grad)[0]) or grad * 2)
        op.register_autocast("cpu", t.float16)
        x = t.ones(2, requires_grad=True)
        with t.autocast("cpu"):
            y = op(x)
        y.sum().backward()
        return names(y, x.grad), x.grad.tolist(), seen

    assert same(act) == (["float16", "float32"], [2.0, 2.0], ["float16"])


def test_casts_below_batching_rules():
    def act(side):
        t = side.torch
        op = custom(side, "castrows", "(x: Tensor) -> Tensor: return x * 2")
        seen = []

        def rule(info, in_dims, x):
            seen.append(names(x)[0])
            return op(x), in_dims[0]

        op.register_vmap(rule)
        op.register_autocast("cpu", t.float16)
        with t.autocast("cpu"):
            return names(t.func.vmap(op)(t.ones(3, 2))), seen

    assert same(act) == (["float16"], ["float32"])
