"""Drawn programs of function transforms give what torch gives: values, shapes, data types, and classes of errors.

A program is text, a function of some tensors under some transforms, so that both libraries read the same one. Nothing keeps
the drawn calls from being wrong: what torch refuses, we refuse by an error of the same class.
"""

import os
import random
import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

SEED = int(os.environ.get("DISPATCH_TRANSFORM_SEED", "0"))
PROGRAMS = int(os.environ.get("DISPATCH_TRANSFORM_PROGRAMS", "40"))
PARTS = 5

#: Lines of the innermost function: ``x`` is its tensor, ``c`` one from outside, ``F`` and ``G`` have gradients of their own.
#: Left out: ``layer_norm``, whose jvp torch differentiates wrongly; ``flip`` of numbers, which torch cannot batch;
#: negative argnums, for which torch's jacfwd gives zeros; ``no_grad`` in a ``jvp`` that is
#: differentiated, whose tangents we record; float32, whose errors grow with the values.
LINES = [
    *(f"x = x.{name}()" for name in "sin exp tanh sigmoid relu abs neg square contiguous clone cos detach t".split()),
    *(f"x = x.{name}(-1)" for name in "sum mean cumsum softmax logsumexp amax prod unsqueeze squeeze".split()),
    *(f"x = x.{name}_()" for name in "sin exp neg square sigmoid".split()),
    "x = x * 2 + 1",
    "x = x * x.sum()",
    "x = x + c",
    "x = c * x",
    "x = x.transpose(0, -1)",
    "x = x.reshape(-1)",
    "x = x.view(-1)",
    "x = x @ x.mT",
    "x = x @ c[0]",
    "x = x[0]",
    "x = x[..., 1:]",
    "x = x[:, None]",
    "x = x.expand(2, *x.shape)",
    "x = t.where(x > 0.5, x, x * x)",
    "x = t.stack([x, x.sin()])",
    "x = t.cat([x, x * 2], -1)",
    "x = x.unbind(0)[0]",
    "x = x.chunk(2, -1)[0]",
    "x = x.diagonal()",
    "x = x.sort(-1).values",
    "x = x.max(-1)[0]",
    "x = t.nn.functional.gelu(x)",
    "x = t.einsum('...i,...i->...', x, x)",
    "x = t.linalg.norm(x)",
    "x = t.var(x, -1)",
    "x = x.clone(); x[0].mul_(2)",
    "x = x.clone(); x[..., 0] = 3.0",
    "y = x.clone(); v = y[0]; y.sin_(); x = v",
    "y = x * 1; v = y.mT; y.mul_(v.detach().sum()); x = v",
    "y = t.zeros_like(x); y.copy_(x); x = y",
    "y = x.new_zeros(x.shape); y.add_(x); x = y",
    "y = x.clone(); y[:1].copy_(y[-1:] * 2); x = y",
    "c.mul_(x)",
    "x = F(x)",
    "x = G(x)",
    "x = F(x * 2).sum() * x",
    "x = x + t.rand_like(x) * 0",
    "x = t.nn.functional.dropout(x, 0.0)",
    "x = x * float(x.sum())",
    "x = x if x.sum() > 0 else -x",
    "x = x.long()",
    "x = t.utils.checkpoint.checkpoint(lambda x: x.sin(), x, use_reentrant=False)",
    "x = func.functional_call(linear, {'weight': x}, (c,))",
    "x = func.vmap(lambda r: r * 2)(x)",
    "x = func.grad(lambda z: (z * x).sin().sum())(x)",
]

#: What the innermost function returns.
RETURNS = [
    "x",
    "x",
    "x",
    "(x, x.sin())",
    "{'a': x, 'b': [x * 2]}",
    "x.sum()",
    "x.sum()",
    "c",
    "[x, c]",
    "3.0",
    "(x.sum(), c)",
]

#: Transforms of a function ``f`` of one tensor into another one; braces are drawn.
WRAPPERS = [
    "func.grad(f)",
    "func.grad(lambda x: total(f(x)))",
    "func.grad(lambda x: total(f(x)))",
    "func.grad(lambda x, y: total(f(x * y)), argnums={argnums})(x, x + 1)",
    "func.grad(lambda d: total(f(d['a'] * d['b'][0])))({'a': x, 'b': [x]})",
    "func.grad(lambda x: (total(f(x)), x * 2), has_aux=True)",
    "func.grad_and_value(lambda x: total(f(x)))",
    "func.grad_and_value(lambda x: (total(f(x)), f(x)), has_aux=True)",
    "func.vjp(f, x)[0]",
    "pulled(f, x)",
    "func.vjp(lambda x: (f(x), x * 2), x, has_aux=True)[2]",
    "func.jvp(f, (x,), (x * 2,))",
    "func.jvp(lambda x: (f(x), x * 2), (x,), (x.cos(),), has_aux=True)",
    "func.jvp(f, (x,), (x[0],))",
    "func.jacrev(f)",
    "func.jacrev(f, chunk_size={chunk})",
    "func.jacrev(lambda x, y: f(x * y), argnums={argnums})(x, x + 1)",
    "func.jacrev(lambda x: (f(x), x * 2), has_aux=True)",
    "func.jacfwd(f)",
    "func.jacfwd(lambda x, y: f(x * y), argnums={argnums})(x, x + 1)",
    "func.jacfwd(lambda x: (f(x), x * 2), has_aux=True)",
    "func.hessian(lambda x: total(f(x)))",
    "directed(f, x)",
    "func.functionalize(f)",
    "func.vmap(f)",
    "func.vmap(f, in_dims={dim}, out_dims={dim})",
    "func.vmap(f, in_dims={dim})",
    "func.vmap(f, out_dims={dim})",
    "func.vmap(f, randomness={randomness!r})",
    "func.vmap(f, chunk_size={chunk})",
    "func.vmap(lambda x, y: f(x * y), in_dims=({dim}, {place}))(x, x)",
    "func.vmap(lambda d: f(d['a'] + d['b']), in_dims=({{'a': {dim}, 'b': {place}}},))({'a': x, 'b': x})",
    "func.vmap(lambda x, k: f(x * k), in_dims=({dim}, None))(x, 2.0)",
    "func.vmap(func.grad(lambda x: total(f(x))))",
    "func.vmap(func.vmap(f))",
]

#: What torch refuses though it has an answer, which we give.
LIMITS = [
    "INTERNAL ASSERT",
    "Nested forward mode AD is not supported",
    "don't yet support saved tensor hooks",
    "NYI: Functionalize rule",
    "You must implement the jvp function",  # it stands in the function's way, whatever else is refused there
    "Expected tensors, got unsupported type",  # auxiliary values of any kind
    # A result that all rows share, with out_dims other than 0.
    "The expanded size of the tensor",
    "the number of sizes provided",
    "DefaultCPUAllocator",
    "range of [-1, 0], but got",  # dimensions of numbers under vmap
    "custom (non-ATen) operator whose output has alias annotations",
    "derivative for aten::copy is not implemented",
]
#: What we refuse though torch has an answer: our jvp goes back twice, and so needs results that were written to since.
OWN_LIMIT = "modified by an inplace operation"


def draw(seed):
    """Return a program's text: the definition of ``run(x, c)``."""
    choose = random.Random(seed)
    lines = [choose.choice(LINES) for _ in range(choose.randrange(1, 5))]
    text = ["def run(x, c):", "    def f0(x):", *(f"        {line}" for line in lines)]
    text.append(f"        return {choose.choice(RETURNS)}")
    count = choose.choice([1, 1, 1, 2, 2, 3])
    for number in range(count):
        wrapper = choose.choice(WRAPPERS)
        drawn = {
            "argnums": choose.choice([0, 1, (0, 1), (1, 0), (0, 0), 5, ()]),
            "dim": choose.choice([0, 0, 1, -1, 2, 5]),
            "place": choose.choice([0, 1, None]),
            "chunk": choose.choice([1, 2, 3, None, 0]),
            "randomness": choose.choice(["error", "same", "different", "other"]),
        }
        for name, value in drawn.items():
            wrapper = wrapper.replace("{" + name + "!r}", repr(value)).replace("{" + name + "}", repr(value))
        wrapper = (
            wrapper.replace("{{", "{").replace("}}", "}").replace("f(", f"f{number}(").replace("(f)", f"(f{number})")
        )
        for name in "jvp vjp pulled directed vmap jacrev".split():
            wrapper = wrapper.replace(f"{name}(f,", f"{name}(f{number},")
        is_function = not any(mark in wrapper for mark in (")(", ")[", "jvp(", "pulled(", "directed("))
        text.append(f"    f{number + 1} = lambda x: {wrapper}{'(x)' if is_function else ''}")
    return "\n".join([*text, f"    return f{count}(x)"])


def make_functions(t):
    """Return two functions with gradients of their own: one whose rule for batches is made, one that brings its own."""

    class Made(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

        @staticmethod
        def jvp(ctx, tangent):
            (x,) = ctx.saved_tensors
            return tangent * 3 * x**2

    class Own(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x.cos() * 10

        @staticmethod
        def vmap(info, in_dims, x):
            return Own.apply(x), in_dims[0]

    return Made.apply, Own.apply


def run(library, text, shape):
    """Return shapes, data types and values of a program's results, or the class of its error."""
    trees = library.utils.pytree if library is torchlike else torch.utils._pytree
    leaves, func = trees.tree_leaves, library.func

    def total(tree):
        return sum((each.sin().sum() for each in leaves(tree) if isinstance(each, library.Tensor)), library.zeros(()))

    def pulled(f, x):
        result, multiply = func.vjp(f, x)
        return multiply(trees.tree_map(library.cos, result))

    def directed(f, x):
        way = x * 2  # before the function writes to x
        if library is torch:  # its linearize takes what a function writes in place for constants
            return func.jvp(f, (x,), (way,))[1]
        return func.linearize(f, x)[1](way)

    functions = dict(zip("FG", make_functions(library), strict=True))
    linear = library.nn.Linear(3, 3, bias=False, dtype=library.float64)
    names = {
        "t": library,
        "func": func,
        "total": total,
        "pulled": pulled,
        "directed": directed,
        "linear": linear,
        **functions,
    }
    size = int(np.prod(shape))
    x = library.arange(size, dtype=library.float64).reshape(shape) / size + 0.3
    c = library.ones(shape, dtype=library.float64) / 2
    library.manual_seed(0)
    try:
        exec(text, names)  # the programs are this module's own
        found = names["run"](x, c)
    except Exception as error:  # noqa: BLE001  # errors are compared like results
        return error
    return [
        (tuple(each.shape), str(each.dtype).rpartition(".")[2], each.detach().numpy(force=True))
        if isinstance(each, library.Tensor)
        else each
        for each in leaves(found)
    ]


def compare(text, shape):
    """Raise where the libraries differ; return whether torch gave a result."""
    wanted = run(torch, text, shape)
    if isinstance(wanted, Exception) and any(limit in str(wanted) for limit in LIMITS):
        return False
    found = run(torchlike, text, shape)
    if isinstance(found, RuntimeError) and OWN_LIMIT in str(found):
        return False
    where = f"{shape}\n{text}\ntorch: {wanted!r}\nours: {found!r}"
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        assert isinstance(wanted, Exception) and isinstance(found, type(wanted)), where
        return False
    assert len(found) == len(wanted), where
    for one, other in zip(found, wanted, strict=True):
        if not isinstance(other, tuple):
            assert one == other, where
            continue
        assert one[:2] == other[:2], where
        tolerance = 1e-4 if other[1] == "float32" else 1e-7
        np.testing.assert_allclose(one[2], other[2], tolerance, tolerance, err_msg=where)
    return True


@pytest.mark.parametrize("part", range(PARTS))
def test_drawn_programs_of_transforms_give_what_torch_gives(part):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, which come once in a process
        given = [
            compare(draw(seed), random.Random(seed).choice([(3, 3), (2, 3), (2, 3, 3)]))
            for seed in range(SEED + part, SEED + PARTS * PROGRAMS, PARTS)
        ]
    assert sum(given) > PROGRAMS // 8
