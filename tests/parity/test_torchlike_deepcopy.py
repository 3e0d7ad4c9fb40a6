"""Copies beside torch: of random groups of aliases their values, layouts and shared memory; of any tensor its attributes."""

import copy
import io
import pickle
from contextlib import nullcontext

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

ALIASES = [
    lambda t: t[1:] if t.ndim and t.shape[0] > 1 else t[...],
    lambda t: t.transpose(0, -1) if t.ndim else t[...],
    lambda t: t.detach(),
    lambda t: t.data,
    lambda t: t.flatten(),
    lambda t: t[..., ::2] if t.ndim else t[...],
    lambda t: t.unsqueeze(0),
    lambda t: t.expand(2, *t.shape),
    lambda t: t.clone(),
    lambda t: t * 2,
    lambda t: t[0] if t.ndim and t.shape[0] else t[...],
    lambda t: t[:0] if t.ndim else t[...],
]
STEPS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6)


def run(t, steps, keep, writes):
    with t.no_grad():
        leaf = t.arange(12.0).reshape(3, 4).clone().requires_grad_()
        values = [leaf, t.nn.Parameter(t.ones(2)), t.arange(4)]
        for which, place in steps:
            values.append(ALIASES[which % len(ALIASES)](values[place % len(values)]))
        values = [value for number, value in enumerate(values) if keep >> number & 1] or [leaf]
        copies = copy.deepcopy({"a": values, "b": (values[0], values[-1])})
        found = copies["a"]
        log = [copies["b"][0] is found[0], copies["b"][1] is found[-1]]
        for place in writes:
            target = found[place % len(found)]
            if 0 not in target.stride():
                target.add_(place + 1)
            log.append([each.tolist() for each in found])
        log += [
            (
                each.stride(),
                each.storage_offset(),
                each.requires_grad,
                each.is_leaf,
                each._base is None,
                type(each).__name__,
            )
            for each in found
        ]
        return log, [each.tolist() for each in values]


@settings(max_examples=300)
@example([(0, 0), (11, 3)], 16, [], False)  # a view without elements, behind the beginning of its storage
@given(STEPS, st.integers(1, 2**9), st.lists(st.integers(0, 20), max_size=4), st.booleans())
def test_copies_share_memory_as_their_originals_do(steps, keep, writes, in_pipeline):
    with torchlike.pipeline() if in_pipeline else nullcontext():
        ours = run(torchlike, steps, keep, writes)
    assert ours == run(torch, steps, keep, writes)


def _save_and_load(module, value):
    file = io.BytesIO()
    module.save(value, file)
    file.seek(0)
    return module.load(file)


#: What may or may not keep a tensor's attributes.
WAYS = {
    "deepcopy": lambda module, value: copy.deepcopy(value),
    "copy": lambda module, value: copy.copy(value),
    "pickle": lambda module, value: pickle.loads(pickle.dumps(value)),
    "save": _save_and_load,
    "in a list": lambda module, value: copy.deepcopy([value])[0],
    "Parameter": lambda module, value: module.nn.Parameter(value),
    "requires_grad_": lambda module, value: value.requires_grad_(),
    "the same dtype": lambda module, value: value.to(module.float32),
    **{
        name: lambda module, value, call=call: call(value)
        for name, call in {
            "clone": lambda value: value.clone(),
            "detach": lambda value: value.detach(),
            "data": lambda value: value.data,
            "operator": lambda value: value * 2,
            "view": lambda value: value[0],
            "other dtype": lambda value: value.double(),
            "meta": lambda value: value.to("meta"),
        }.items()
    },
}
KINDS = {
    "plain": lambda module: module.ones(2),
    "leaf": lambda module: module.ones(2, requires_grad=True),
    "result": lambda module: module.ones(2, requires_grad=True) * 2,
    "view": lambda module: module.ones(2)[:1],
    "parameter": lambda module: module.nn.Parameter(module.ones(2)),
    "frozen parameter": lambda module: module.nn.Parameter(module.ones(2), requires_grad=False),
    "buffer": lambda module: module.nn.Buffer(module.ones(2)),
    "meta": lambda module: module.ones(2, device="meta"),
    "sparse": lambda module: module.eye(2).to_sparse(),
}


def _kept_attributes(module, kind, way):
    """Return the attributes that are kept and whether they are the same objects, or the class of the error."""
    value = KINDS[kind](module)
    before = set(vars(value))  # torch's buffers are tensors with attributes
    value.mark, value.requires_gard = [5], True
    try:
        made = WAYS[way](module, value)
    except (RuntimeError, NotImplementedError) as error:
        return type(error)
    return {name: found for name, found in vars(made).items() if name not in before}, vars(made).get(
        "mark"
    ) is value.mark


@pytest.mark.parametrize("way", WAYS)
def test_attributes_are_kept_where_torch_keeps_them(way):
    for kind in KINDS:
        assert _kept_attributes(torchlike, kind, way) == _kept_attributes(torch, kind, way), kind


def test_attributes_take_and_refuse_the_names_that_torchs_do():
    for name in sorted(set(dir(torch.Tensor)) & set(dir(torchlike.Tensor))):
        ours, theirs = getattr(torchlike.Tensor, name), getattr(torch.Tensor, name)
        is_read_only = isinstance(ours, property) and ours.fset is None
        if callable(theirs) and not name.startswith("_"):
            value = torchlike.ones(1)
            setattr(value, name, 5)
            assert getattr(value, name) == vars(value)[name] == 5
        elif is_read_only:
            for value in (torch.ones(1), torchlike.ones(1)):
                with pytest.raises(AttributeError):
                    setattr(value, name, 5)
