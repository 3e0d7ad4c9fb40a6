"""Functions and methods called in each spelling that torch's signatures admit: torch and we take the same ones alike.

A part of the names is drawn; ``DISPATCH_PARITY_SPELLINGS=all`` calls all of them.
"""

import copy
import os
import random
import re

import pytest
from comparison import assert_same, attempt, builtin_class, ignore_warnings

import torchlike
from dispatch_aten.operators import ATEN
from dispatch_core.schema import FunctionSchema

torch = pytest.importorskip("torch", reason="parity needs torch")

#: Names whose results are drawn or not written; shapes and dtypes alone are compared.
DRAWN = ("rand", "normal", "bernoulli", "dropout", "empty", "uniform", "exponential", "multinomial", "poisson", "resize_",
         "cauchy", "geometric", "rrelu", "gumbel", "log_normal",
         "lowrank")  # fmt: skip


#: Differences that stay: what differs, the spellings, and why.
STAY = [
    ("taken", r"Tensor\.(add|sub|mul|floor_divide|true_divide)\(.*, out=\S+\)", "the method is the function"),
    ("taken", r"Tensor\.bitwise_(and|or|xor)\(5, .*", "the method is the function, which takes a number first"),
    ("taken", r"torch\.broadcast_tensors\([\[(].*", "tensors may come in a list"),
    ("taken", r"Tensor\.to\(.*, other=.*", "the tensor to be like may be named"),
    ("taken", r"torch\.sparse_coo_tensor\(.*(size=|\], )None.*", "None is for what is left out"),
    ("taken", r"torch\.split_copy\(.*out=[\[(]float64\[0\], .*", "outputs without elements take the results' shapes"),
    ("taken", r"torch\.normal\(.*out=float64\[0\]\)", "as that of other functions, an output without elements does"),
    ("refused", r"torch\.(add|sub)\(\S+ \S+, -?\S+, other=.*", "the factor first and its tensor named: CPython refuses it"),
    ("refused", r"Tensor\.addbmm_\(float64\[3\], .*", "torch changes the shape of the tensor that it writes to"),
    (r"\w+ for \w+", r"\w+\.repeat_interleave\(float64.*\)", "the function takes repeats alone, and reads their dtype"),
    ("value", r"torch\.(binary_cross_entropy_with_logits|kl_div|\w+_loss)\((?!.*reduction=).*",
     "torch reads the default of its schema, Mean, as the number of none"),
]  # fmt: skip
SEED = os.environ.get("DISPATCH_PARITY_SEED", "0")
#: Names that change the state of the process, read or write files or memory, or take functions.
UNCALLED = frozenset(
    "load save seed manual_seed initial_seed compile use_deterministic_algorithms from_dlpack from_numpy frombuffer vmap"
    " typename data_ptr apply_ map_ map2_ as_subclass backward cuda xpu share_memory_ pin_memory record_stream register_hook"
    " register_post_accumulate_grad_hook retain_grad storage untyped_storage new requires_grad_ is_shared is_pinned"
    " resize resize_as"
    " index".split()  # a method of tensors with dimensions that have names
)
#: Parts of names that do the same, or whose kernels in torch read beyond arguments that are found by trial.
_UNCALLED_PARTS = ("set_", "get_", "_enabled", "lstm", "gru", "rnn", "slice_inverse", "segment_reduce", "embedding_renorm",
                   "multi_head", "ctc_loss", "with_indices", "unpool", "fractional", "grid_sample", "convolution",
                   "native_", "embedding_bag", "hash_tensor")  # fmt: skip


def _is_left_out(name):
    return name.startswith("_") or name in UNCALLED or any(part in name for part in _UNCALLED_PARTS)


def list_names():
    """Return the names that both libraries have with calls that are known to be right: owner, name, prefix."""
    from torch_signatures import OWNERS, PREFIXES, find, forms_of

    bases = {row.name.partition(".")[0] for row in ATEN}
    found = []
    for owner in OWNERS:
        prefix = next((each for each, namespace in PREFIXES.items() if namespace == owner), "")
        listed = dir(find(torch, owner))
        for name in sorted(each for each in listed if not _is_left_out(each)):
            function = getattr(find(torch, owner), name)
            is_called = callable(function) and not isinstance(function, type)
            if (
                is_called
                and hasattr(find(torchlike, owner), name)
                and (prefix + name in bases or forms_of(owner, name))
            ):
                found.append((owner, name, prefix + name))
    return found


def list_calls(base):
    """Return the right calls of a name's overloads, by the schema's names, with the schema."""
    from operator_calls import CALLS, bind, our_operator

    found = []
    for name, calls in CALLS.items():
        if name.partition(".")[0] == base:
            schema = our_operator(name).schema
            if any(each.is_write and each.kwarg_only for each in schema.arguments):
                continue
            for make, kwargs in calls:
                args, error = attempt(bind, name, make, kwargs)
                if error is None:
                    found.append((schema, args))
    return found


def mirror_all(given):
    """Return our arguments of torch's."""
    from operator_calls import Mirror

    mirror = Mirror()
    special = (torch.layout, torch.memory_format)
    return {
        key: getattr(torchlike, str(value).removeprefix("torch.")) if isinstance(value, special)
        else tuple(mirror(each) for each in value) if isinstance(value, tuple)
        else mirror(value)
        for key, value in given.items()
    }  # fmt: skip


def call(owner, name, given, spelling):
    places, star, named = spelling
    args = [*(given[each] for each in places), *(given[star] if star else ())]
    return getattr(owner, name)(*args, **{each: given[each] for each in named})


def look(value):
    """Return what is compared of a result: of a dtype or a type its name, of a sparse tensor a strided one."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "shape"):
        return [look(each) for each in value]
    if isinstance(value, (torch.Tensor, torchlike.Tensor)):
        value = value.to_dense() if value.is_sparse else value
        return value.float() if str(value.dtype).endswith("bfloat16") else value
    kinds = (str, torch.dtype, torchlike.dtype, torch.layout, torchlike.layout, torch.device, torchlike.device)
    return str(value).rpartition(".")[2] if isinstance(value, kinds) else value


def differ(name, theirs, ours):
    """Return how two outcomes differ, in a few words, or None."""
    (found, refused), (result, error) = theirs, ours
    if (refused is None) != (error is None):
        return "refused" if refused is None else "taken"
    if refused is not None:
        kinds = builtin_class(refused), builtin_class(error)
        return None if kinds[0] == kinds[1] else f"{kinds[1]} for {kinds[0]}"
    values = {"values": None} if any(part in name for part in DRAWN) else {"tolerance": (1e-6, 1e-6)}
    _, wrong = attempt(lambda: assert_same(look(result), look(found), strides=False, **values))
    if wrong is None and isinstance(found, torch.Tensor) and found.requires_grad != result.requires_grad:
        return "requires_grad"
    return None if wrong is None else "value"


def compare(owner, name, base):
    """Return the counts of overloads and spellings that were compared, and the differences."""
    from torch_signatures import bind, find, find_values, forms_of, misspell, respell, schema_form, vary

    owners = [find(library, owner) for library in (torch, torchlike)]
    is_method, calls = owner == "Tensor", list_calls(base)
    forms = forms_of(owner, name) or [
        schema_form(FunctionSchema.parse(row.schema)) for row in ATEN if row.name.partition(".")[0] == base
    ]
    overloads, count, different, done = 0, 0, {}, set()

    def make_out(given):
        *_, spelling = respell(form, given, is_method)
        result, error = attempt(call, owners[0], name, copy.deepcopy(given), spelling)
        if error is None and isinstance(result, torch.Tensor):
            yield torch.empty(0, dtype=result.dtype)
        elif error is None and isinstance(result, tuple):
            yield tuple(torch.empty(0, dtype=each.dtype) for each in result)
            yield [torch.empty(0, dtype=each.dtype) for each in result]

    for form in forms:
        given = next((found for _, args in calls if (found := bind(form, args, is_method)) is not None), None)
        if given is None:
            given = find_values(getattr(owners[0], name), form, f"{SEED} {name}")
        if given is None or (is_method and next(iter(given), None) != form[0].name):
            continue
        overloads += 1
        for place, values in enumerate(vary(form, given, make_out)):
            wrong = [] if place else misspell(form, values, is_method)
            for spelling in (*respell(form, values, is_method), *wrong):
                what = write(name, values, spelling)
                if what in done:
                    continue
                done.add(what)
                # torch's own arguments are copied: calls write to them.
                outcomes = [
                    attempt(call, each, name, made, spelling)
                    for each, made in zip(owners, (copy.deepcopy(values), mirror_all(values)), strict=True)
                ]
                count += 1
                kind, text = differ(name, *outcomes), f"{owner}.{what}"
                if kind is not None and not any(
                    re.fullmatch(which, kind) and re.fullmatch(pattern, text) for which, pattern, _ in STAY
                ):
                    different[text] = (kind, *outcomes)
    return overloads, count, different


def write(name, values, spelling):
    """Return a call as text."""
    places, star, named = spelling
    listed = [show(values[each]) for each in places]
    listed += [f"*{show(values[star])}"] if star else []
    return f"{name}({', '.join([*listed, *(f'{each}={show(values[each])}' for each in named)])})"


def show(value):
    if isinstance(value, (list, tuple)):
        text = ", ".join(map(show, value))
        return f"[{text}]" if isinstance(value, list) else f"({text})"
    return (
        f"{str(value.dtype).removeprefix('torch.')}{[*value.shape]}" if isinstance(value, torch.Tensor) else repr(value)
    )


def test_each_spelling_is_taken_refused_and_computed_as_torch_does():
    names = list_names()
    if os.environ.get("DISPATCH_PARITY_SPELLINGS") != "all":
        names = random.Random(SEED).sample(names, len(names) // 6)
    with ignore_warnings():
        found = [compare(*each) for each in names]
    overloads, count = (sum(each[place] for each in found) for place in (0, 1))
    assert overloads > len(names) // 2, "most names have a known call"
    assert count > 3 * len(names)
    assert {text: outcomes for _, _, different in found for text, outcomes in different.items()} == {}, f"seed {SEED}"
