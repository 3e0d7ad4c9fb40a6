"""Functions and methods called with each split of positional and named arguments: torch and we take the same ones.

A tenth of the operators is drawn; ``DISPATCH_PARITY_SPELLINGS=all`` calls all of them.
"""

import copy
import os
import random

import pytest
from comparison import attempt, ignore_warnings

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

#: Functions that take more spellings than torch's.
MORE = {
    **dict.fromkeys(
        "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor pow remainder where".split(),
        "a number in the tensor's place may have the tensor's name, and be a method's first argument",
    ),
    "broadcast_tensors": "tensors may come in a list",
    "copy_": "the source is called src, as in the schema",
    "index": "indices may be named",
    "to": "the tensor to be like may be named",
}
#: Operators whose results are drawn or not written; calls of them are compared elsewhere.
LEFT_OUT = ("rand", "normal", "bernoulli", "dropout", "empty", "lstm", "gru", "conv")


def draw_names():
    from operator_calls import CALLS

    names = sorted(
        name
        for name in CALLS
        if not any(part in name for part in LEFT_OUT) and not name.partition(".")[0].endswith("_backward")
    )
    if os.environ.get("DISPATCH_PARITY_SPELLINGS") == "all":
        return names
    return random.Random(os.environ.get("DISPATCH_PARITY_SEED", "0")).sample(names, len(names) // 10)


def call(owner, base, args, positional):
    """Call a function or method with the first arguments by place, and the others by torch's names."""
    given = {"input" if key == "self" else key: value for key, value in args.items() if key not in positional}
    return getattr(owner, base)(*(args[each] for each in positional), **given)


def compare(name):
    """Return how many spellings of an operator's call were compared, and those that one library alone takes."""
    from operator_calls import CALLS, Mirror, bind, our_operator

    base, schema = name.partition(".")[0], our_operator(name).schema
    if any(each.is_write and each.kwarg_only for each in schema.arguments):
        return 0, []
    args, error = attempt(bind, name, *CALLS[name][0])
    if error is not None:
        return 0, []
    positional = [each.name for each in schema.arguments if not each.kwarg_only and each.name in args]
    count, different = 0, []
    for is_method in (False, True):
        owners = [t.Tensor if is_method else t for t in (torch, torchlike)]
        if not all(hasattr(owner, base) for owner in owners) or (is_method and positional[:1] != ["self"]):
            continue
        for split in range(is_method, len(positional) + 1):
            mirror = Mirror()
            ours = {key: mirror(value) for key, value in copy.deepcopy(args).items()}
            (_, refused), (_, error) = (
                attempt(call, owner, base, given, positional[:split])
                for owner, given in zip(owners, (copy.deepcopy(args), ours), strict=True)
            )
            count += 1
            if (refused is None) != (error is None) and not (error is None and base in MORE):
                different.append(f"{name} by place: {positional[:split]}, torch {refused!r}, ours {error!r}"[:400])
    return count, different


def test_arguments_are_taken_by_place_and_by_name_as_torch_takes_them():
    with ignore_warnings():
        found = [compare(name) for name in draw_names()]
    assert sum(count for count, _ in found) > 50
    assert [each for _, different in found for each in different] == []
