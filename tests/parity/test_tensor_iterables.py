"""Functions that take several tensors, called with each kind of iterable that torch takes or refuses."""

import warnings
from collections import OrderedDict, deque
from types import MappingProxyType

import pytest
from comparison import assert_same, attempt, builtin_class

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

ITERABLES = {
    "list": list,
    "tuple": tuple,
    "generator": lambda given: (each for each in given),
    "iterator": iter,
    "deque": deque,
    "keys": lambda given: dict.fromkeys(given).keys(),
    "values": lambda given: dict(enumerate(given)).values(),
    "dict": lambda given: {f"{place}": each for place, each in enumerate(given)},
    "ordered dict": lambda given: OrderedDict(enumerate(given)),
    "mapping": lambda given: MappingProxyType(dict(enumerate(given))),
    "one tensor": lambda given: given[0],
    "empty": lambda given: [],
    "a number": lambda given: 3,
    "numbers": lambda given: [1, 2],
    "none": lambda given: None,
    "none inside": lambda given: [given[0], None],
}


def leaves(t):
    return [t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, 4.0], requires_grad=True)]


def differentiate(t, made):
    x = leaves(t)
    return t.autograd.grad((x[0] * x[1] ** 2).sum(), made(x))


def differentiate_several(t, made):
    x = leaves(t)
    return t.autograd.grad(made([(x[0] * x[1]).sum(), x[1].sum()]), x, allow_unused=True)


def weigh(t, made):
    x = leaves(t)
    return t.autograd.grad([x[0] * x[1], x[1] * 2], x, made([t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])]))


def accumulate(t, made):
    x = leaves(t)
    t.autograd.backward((x[0] * x[1] ** 2).sum(), inputs=made(x))
    return [each.grad for each in x]


def accumulate_several(t, made):
    x = leaves(t)
    t.autograd.backward(made([(x[0] * x[1]).sum(), x[1].sum()]))
    return [each.grad for each in x]


def clip(t, made):
    x = leaves(t)
    (x[0] * x[1]).sum().backward()
    return [t.nn.utils.clip_grad_norm_(made(x), 0.5), *(each.grad for each in x)]


def clip_values(t, made):
    x = leaves(t)
    (x[0] * x[1]).sum().backward()
    t.nn.utils.clip_grad_value_(made(x), 1.5)
    return [each.grad for each in x]


def step(t, made):
    x = leaves(t)
    (x[0] * x[1]).sum().backward()
    t.optim.SGD(made(x), lr=0.1).step()
    return x


CALLS = {
    "autograd.grad": differentiate,
    "autograd.grad outputs": differentiate_several,
    "autograd.grad grad_outputs": weigh,
    "autograd.backward inputs": accumulate,
    "autograd.backward": accumulate_several,
    "clip_grad_norm_": clip,
    "clip_grad_value_": clip_values,
    "SGD": step,
    "parameters_to_vector": lambda t, made: t.nn.utils.parameters_to_vector(made(leaves(t))),
    "einsum": lambda t, made: t.einsum("i,i->i", made(leaves(t))),
    "func.vjp": lambda t, made: t.func.vjp(lambda x, y: (x * y, x), *leaves(t))[1](made(leaves(t))),
    **{
        name: lambda t, made, name=name: getattr(t, name)(made(leaves(t)))
        for name in "cat concat concatenate stack hstack vstack dstack column_stack row_stack meshgrid"
        " atleast_1d atleast_2d atleast_3d".split()
    },
    **{
        f"{name} *": lambda t, made, name=name: getattr(t, name)(*made(leaves(t)))
        for name in "block_diag cartesian_prod broadcast_tensors meshgrid atleast_1d".split()
    },
}


#: torch's error in autograd's functions and ours, where a sequence has an element that is not a tensor: an argument's type
#: is wrong, which Python's word for is TypeError.
CLASSES = {("RuntimeError", "TypeError"), ("AssertionError", "TypeError")}


def run(call, t, made):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = call(t, made)
    return found


@pytest.mark.parametrize("kind", ITERABLES)
@pytest.mark.parametrize("name", CALLS)
def test_iterables_of_tensors_are_taken_as_torch_takes_them(name, kind):
    if (name, kind) == ("clip_grad_value_", "empty"):
        pytest.skip("torch fails on an assertion of its own where there are no gradients")
    (theirs, refused), (ours, error) = (attempt(run, CALLS[name], t, ITERABLES[kind]) for t in (torch, torchlike))
    assert (refused is None) == (error is None), f"torch {theirs} {refused!r}, ours {ours} {error!r}"
    if refused is not None:
        kinds = builtin_class(refused), builtin_class(error)
        assert kinds[0] == kinds[1] or (name.startswith("autograd") and kinds in CLASSES), f"{refused!r}, {error!r}"
        return
    assert isinstance(ours, dict) == isinstance(theirs, dict)
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        theirs, ours = list(theirs.values()), list(ours.values())
    assert_same(ours, theirs, strides=False)
