"""Calls of every operator that exists today, right ones and ones made wrong, for torch and for us alike.

The right calls are the cases of ``aten_cases`` and a few here, bound to the names of the schema. `mutate` changes
one argument of a call in every way that its type allows; most of these calls are wrong.
"""

import copy
import itertools

import aten_cases as cases
import torch
from aten_cases import Draw, our_operator, torch_operator
from comparison import attempt, ignore_warnings

import dispatch_core as dc
import torchlike
from dispatch_aten.decompositions.aliases import TARGETS
from dispatch_aten.dtypes import BY_NAME
from dispatch_aten.operators import ATEN, ATEN_BY_NAME, KIND_OF
from dispatch_aten.variants import functional_of, is_inplace

#: Right calls of operators that have no case there: the random ones, those of integers, and those that make no values.
MORE = [
    ("bitwise_and.Tensor", lambda r: (r.i(9, 2, 3), r.i(9, 3)), {}),
    ("bitwise_or.Tensor", lambda r: (r.i(9, 2, 3), r.i(9, 3)), {}),
    ("bitwise_xor.Tensor", lambda r: (r.i(9, 2, 3), r.i(9, 3)), {}),
    ("bitwise_not", lambda r: (r.i(9, 2, 3),), {}),
    ("isclose", lambda r: (r.f(2, 3), r.f(3)), {}),
    ("allclose", lambda r: (r.f(2, 3), r.f(3)), {}),
    ("equal", lambda r: (r.f(2, 3), r.f(2, 3)), {}),
    ("item", lambda r: (r.f(1),), {}),
    ("is_nonzero", lambda r: (r.f(1),), {}),
    ("norm.ScalarOpt_dim_dtype", lambda r: (r.f(2, 3), 2, [1], False), {"dtype": torch.float64}),
    ("norm.ScalarOpt_dtype", lambda r: (r.f(2, 3), 2), {"dtype": torch.float64}),
    ("nonzero", lambda r: (r.i(2, 3, 4),), {}),
    ("argsort.stable", lambda r: (r.f(2, 3),), {"stable": True, "dim": 0}),
    ("nll_loss", lambda r: (r.f(4, 3), r.i(3, 4)), {}),
    ("bernoulli", lambda r: (r.f(2, 3, low=0.0, high=1.0),), {}),
    ("bernoulli.p", lambda r: (r.f(2, 3), 0.5), {}),
    ("native_dropout", lambda r: (r.f(2, 3), 0.5, True), {}),
    ("dropout", lambda r: (r.f(2, 3), 0.5, True), {}),
    ("uniform_", lambda r: (r.f(2, 3), -1.0, 2.0), {}),
    ("normal_", lambda r: (r.f(2, 3), 1.0, 2.0), {}),
    ("random_", lambda r: (r.f(2, 3),), {}),
    ("random_.to", lambda r: (r.f(2, 3), 9), {}),
    ("random_.from", lambda r: (r.f(2, 3), 2, 9), {}),
    ("bernoulli_.float", lambda r: (r.f(2, 3), 0.5), {}),
    ("bernoulli_.Tensor", lambda r: (r.f(2, 3), r.f(2, 3, low=0.0, high=1.0)), {}),
    ("exponential_", lambda r: (r.f(2, 3), 1.5), {}),
    ("rand", lambda r: ([2, 3],), {}),
    ("rand.generator", lambda r: ([2, 3],), {"generator": None}),
    ("randn", lambda r: ([2, 3],), {}),
    ("randn.generator", lambda r: ([2, 3],), {"generator": None}),
    ("randint", lambda r: (9, [2, 3]), {}),
    ("randint.generator", lambda r: (9, [2, 3]), {"generator": None}),
    ("randint.low", lambda r: (-2, 9, [2, 3]), {}),
    ("randint.low_generator", lambda r: (-2, 9, [2, 3]), {"generator": None}),
    ("randperm", lambda r: (5,), {}),
    ("randperm.generator", lambda r: (5,), {"generator": None}),
    ("rand_like", lambda r: (r.f(2, 3),), {}),
    ("randn_like", lambda r: (r.f(2, 3),), {}),
    ("randint_like", lambda r: (r.f(2, 3), 9), {}),
    ("randint_like.low_dtype", lambda r: (r.f(2, 3), 2, 9), {}),
    ("empty.memory_format", lambda r: ([2, 3],), {}),
    ("empty_strided", lambda r: ([2, 3], [1, 2]), {}),
    ("empty_like", lambda r: (r.f(2, 3),), {}),
    ("new_empty", lambda r: (r.f(2, 3), [2]), {}),
    ("new_empty_strided", lambda r: (r.f(2, 3), [2, 2], [1, 2]), {}),
    ("arange.start_step", lambda r: (1, 7, 2), {}),
    ("view_as", lambda r: (r.f(2, 3), r.f(3, 2)), {}),
    ("reshape_as", lambda r: (r.f(2, 3), r.f(3, 2)), {}),
    ("expand_as", lambda r: (r.f(2, 1), r.f(3, 2, 4)), {}),
    ("broadcast_to", lambda r: (r.f(2, 1), [3, 2, 4]), {}),
    ("numpy_T", lambda r: (r.f(2, 3),), {}),
    ("detach", lambda r: (r.f(2, 3),), {}),
    ("narrow.Tensor", lambda r: (r.f(5, 3), 0, torch.tensor(1), 2), {}),
    ("to.other", lambda r: (r.f(2, 3), r.i(3, 2)), {}),
    ("to.dtype_layout", lambda r: (r.f(2, 3),), {"dtype": torch.int64}),
    ("zero_", lambda r: (r.f(2, 3),), {}),
    ("resize_", lambda r: (r.f(2, 3), [3, 4]), {}),
    ("where", lambda r: (r.b(2, 3),), {}),
    ("var_mean.dim", lambda r: (r.f(2, 3), [1]), {}),
    ("swapaxes", lambda r: (r.f(2, 3), 0, 1), {}),
    ("split.sizes", lambda r: (r.f(5, 3), [1, 4]), {}),
    ("square", lambda r: (r.f(2, 3),), {}),
]  # fmt: skip


def _collect():
    found = {}
    for name, make, kwargs in (*(each.values for each in cases.CASES), *MORE):
        found.setdefault(name, []).append((make, kwargs))
    for name, target in TARGETS.items():
        if target in found:
            found.setdefault(name, found[target])
    for operator in ATEN:
        functional = functional_of(operator.name)
        if functional in found and operator.name not in found:
            found[operator.name] = found[functional]
    # Python's own attributes hide the operators whose names look like them.
    return {name: calls for name, calls in found.items() if not name.startswith("__")}


#: The right calls of each operator: functions of a ``Draw``, which give the arguments, and keyword arguments.
CALLS = _collect()
#: Kinds whose right calls are not made wrong one argument at a time. Torch checks these in its Python functions or in the
#: kernels that compute them, which read beyond their arguments, end the process or run for minutes where those do not
#: fit together. What these kinds refuse is compared in ``test_torchlike_*.py``.
CHECKED_ELSEWHERE = frozenset(
    "attention convolution fft linalg normalization padding pooling recurrent resampling".split()
)
#: The operators whose calls are made wrong.
MUTATED = [name for name in CALLS if KIND_OF.get(name) not in CHECKED_ELSEWHERE]
#: Operators that torch does not have, or for which nothing could be wrong.
UNCALLED = {each.name for each in ATEN} - CALLS.keys()


def bind(name, make, kwargs, seed=5):
    """Return a call's arguments by name, those written by ``out=`` too: torch's own results, made empty."""
    schema = our_operator(name).schema
    args = dict(zip([each.name for each in schema.arguments], make(Draw(seed)), strict=False)) | kwargs
    outs = [each.name for each in schema.arguments if each.is_write and each.kwarg_only]
    if outs:
        with ignore_warnings():
            results = torch_operator(functional_of(name))(**args)
        results = results if isinstance(results, tuple) else (results,)
        args |= {out: torch.empty_like(result) for out, result in zip(outs, results, strict=True)}
    elif is_inplace(name) and functional_of(name) and "inplace_view" not in ATEN_BY_NAME[name].tags:
        functional = our_operator(functional_of(name)).schema
        named = dict(zip([each.name for each in functional.arguments], args.values(), strict=False))
        result, _ = call(torch_operator(functional_of(name)), functional, named)
        if isinstance(result, torch.Tensor) and result.shape != args["self"].shape:
            args["self"] = args["self"].expand(result.shape).clone()
    return args


DTYPES = (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128,
)  # fmt: skip
#: Values in place of an argument, by its type in the schema without sizes. Other types are missing: the
#: parser of ``torch.ops`` takes more of that than torch's functions do.
OTHERS = {
    "int": (-100, -3, -2, -1, 0, 1, 2, 3, 5, 100),
    "float": (-1.0, 0.0, 0.5, 1.0, 2.0, float("nan"), float("inf"), 2),
    "bool": (False, True),
    "Scalar": (-1, 0, 1, 2, 300, -1.5, 0.0, 2.5, True, False, 1j, float("nan")),
    "ScalarType": (*DTYPES, None),
    "str": ("none", "tanh", "trunc", "floor", "ij", "xy", "x"),
    "int[]": ([], [0], [-1], [1], [0, 0], [0, 1], [-1, -2], [2], [100], [-100], [0, 1, 2], [3, 2, 1, 1]),
    "MemoryFormat": (0, 1, 2, 3),
}  # fmt: skip


def tensors_of(tensor):
    """Yield changes of a tensor: to another dtype, shape, layout, device."""
    for dtype in DTYPES:
        if dtype != tensor.dtype:
            yield f"{dtype}", lambda t, dtype=dtype: t.to(dtype)
    yield "one more dimension", lambda t: t.unsqueeze(0).clone()
    yield "repeated", lambda t: t.repeat(2, *[1] * t.ndim)
    yield "no dimensions", lambda t: t.reshape(-1)[:1].reshape(()).clone() if t.numel() else t.new_zeros(())
    yield "one element", lambda t: t.reshape(-1)[:1].clone() if t.numel() else t.new_zeros(1)
    yield "no elements", lambda t: t.new_zeros(0)
    yield "no rows", lambda t: t[:0].clone() if t.ndim else t.new_zeros(0, 2)
    for dim in range(tensor.ndim):
        yield f"dim {dim} longer", lambda t, dim=dim: torch.cat([t, t.narrow(dim, 0, min(1, t.shape[dim]))], dim)
        yield (
            f"dim {dim} gone",
            lambda t, dim=dim: (
                t.select(dim, 0).clone() if t.shape[dim] else t.new_zeros(t.shape[:dim] + t.shape[dim + 1 :])
            ),
        )
        yield f"dim {dim} of 1", lambda t, dim=dim: t.narrow(dim, 0, min(1, t.shape[dim])).clone()
    if tensor.ndim > 1:
        yield "transposed memory", lambda t: t.transpose(0, 1).contiguous().transpose(0, 1)
        yield "transposed", lambda t: t.transpose(0, 1)
    if tensor.ndim:
        yield "expanded", lambda t: t[:1].expand(t.shape) if t.shape[0] else t
    yield "with gaps", lambda t: torch.stack([t, t], -1)[..., 0]
    yield "on meta", lambda t: t.to("meta")
    if tensor.dtype in (torch.float32, torch.float64):
        yield "that requires grad", lambda t: t.clone().requires_grad_()
    if not tensor.is_floating_point() and tensor.dtype != torch.bool:
        yield "negative", lambda t: t - 100
        yield "beyond", lambda t: t + 100


def mutate(name, args):
    """Yield each change, and the arguments after it."""
    schema = our_operator(name).schema
    by_name = {each.name: each for each in schema.arguments}
    yield "nothing", args
    outputs = {each.name for each in schema.arguments if each.is_write and each.kwarg_only}
    # An output without elements takes any shape in silence; torch takes a quarter of a second to warn of another one.
    empty = {key: args[key].new_empty(0) for key in outputs}
    whole, args = args, args | empty
    for key in outputs:
        for what, change in tensors_of(whole[key]):
            if (
                not what.startswith(("dim", "no", "one element", "repeated", "transposed"))
                or what == "transposed memory"
            ):
                yield f"{key} {what}", whole | {key: change(whole[key])}
    for key, argument in by_name.items():
        if key in outputs:
            continue
        kind = str(argument.type).replace("SymInt", "int").rstrip("?")
        value = args.get(key)
        if isinstance(value, torch.Tensor):
            for what, change in tensors_of(value):
                yield f"{key} {what}", args | {key: change(value)}
            continue
        if isinstance(value, (list, tuple)) and value and any(isinstance(each, torch.Tensor) for each in value):
            yield f"{key} empty", args | {key: []}
            yield f"{key} a tensor", args | {key: value[0]}
            for place, item in enumerate(value):
                if isinstance(item, torch.Tensor):
                    for what, change in tensors_of(item):
                        yield (
                            f"{key}[{place}] {what}",
                            args | {key: [*value[:place], change(item), *value[place + 1 :]]},
                        )
            continue
        # Pinned memory depends on the accelerators of the machine.
        options = () if key == "pin_memory" else OTHERS.get("int[]" if kind.startswith("int[") else kind, ())
        if kind == "Tensor":
            options = (torch.ones(3, dtype=torch.float64), torch.ones((), dtype=torch.int64), torch.ones(2, 3))
        if key == "reduction":
            options = (0, 1, 2)
        for option in options:
            yield f"{key} {option!r}"[:60], args | {key: option}


def overlapping(name, args):
    """Yield calls that write to memory which they read, in part, or that lies in several places."""
    schema = our_operator(name).schema
    written = [each.name for each in schema.arguments if each.is_write]
    for key in written:
        out = args[key]
        for other, value in args.items():
            if other != key and isinstance(value, torch.Tensor) and value.dtype == out.dtype and value.numel() > 1:
                yield f"{key} is {other}", args | {key: value}
                count = value.numel()
                memory = torch.arange(count + 1.0).to(value.dtype)
                yield (
                    f"{key} beside {other}",
                    args | {key: memory[1:].reshape(value.shape), other: memory[:-1].reshape(value.shape)},
                )
                if value.ndim > 1:
                    base = value.clone()
                    yield f"{key} {other} transposed", args | {key: base.transpose(0, 1), other: base}
                    half = torch.stack([value, value])
                    yield f"{key} wider than {other}", args | {key: half[0].clone(), other: half[0]}
    if len(written) > 1:
        same = args[written[0]]
        yield "twice the same", args | dict.fromkeys(written, same)


class Mirror:
    """Makes our tensors of torch's: the same layout in memory, and the same memory where torch's share it."""

    def __init__(self):
        self.memories, self.made = {}, {}

    def __call__(self, value):
        if isinstance(value, torch.Tensor):
            if id(value) not in self.made:
                self.made[id(value)] = self.make(value)
            return self.made[id(value)]
        return self.make(value)

    def make(self, value):
        match value:
            case torch.Tensor() if value.is_meta:
                made = torchlike.empty_strided(
                    list(value.shape), list(value.stride()), dtype=self(value.dtype), device="meta"
                )
                return made.requires_grad_() if value.requires_grad else made
            case torch.Tensor():
                return self.tensor(value)
            case torch.dtype():
                return BY_NAME[str(value).removeprefix("torch.")]
            case torch.device():
                return dc.Device(str(value))
            case list() | tuple():
                return [self(each) for each in value]
            case _:
                return value

    def tensor(self, value):
        whole = value.untyped_storage()
        key = whole.data_ptr() or id(whole), value.dtype
        if key not in self.memories:
            count = whole.nbytes() // value.element_size()
            flat = value.detach().as_strided((count,), (1,), 0).clone()
            self.memories[key] = torchlike.tensor(flat.numpy(), dtype=self(value.dtype))
        flat = self.memories[key]
        plain = value.is_contiguous() and value.numel() == flat.numel()
        if plain and not value._is_view() and value._base is None:
            made = flat if value.shape == flat.shape else flat.view(list(value.shape)).detach()
        else:
            made = flat.as_strided(list(value.shape), list(value.stride()), value.storage_offset()).detach()
        return made.requires_grad_() if value.requires_grad else made


def call(operator, schema, args):
    """Call an operator with arguments by name; return its result and its error."""
    positional = [each.name for each in schema.arguments if not each.kwarg_only]
    first = list(itertools.takewhile(args.__contains__, positional))
    given = [args[each] for each in first]
    with ignore_warnings():
        return attempt(operator, *given, **{key: value for key, value in args.items() if key not in first})


def call_torch(name, args):
    """Call torch's operator on copies of the arguments, which share memory where they do."""
    return call(torch_operator(name), our_operator(name).schema, copy.deepcopy(args))


def call_ours(name, args):
    return call(our_operator(name), our_operator(name).schema, args)
