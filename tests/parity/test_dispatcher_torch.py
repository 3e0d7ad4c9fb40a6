"""Tables and calls equal those of the installed torch, for fresh random programs of registrations.

Each program is registered in torch and here; torch's table is read from its own dump, and its calls are made with nothing
but thread-local include and exclude sets. Every registration has a handle of its own whose line number names it.

The programs are other ones every day. A failure prints the seed, and ``DISPATCH_PARITY_SEED`` brings its programs back.
"""

from __future__ import annotations

import os
import random
import re
import time

import pytest
import torch_tables as tables

torch = pytest.importorskip("torch", reason="compares the dispatcher with torch")

C = torch._C

SEED = int(os.environ.get("DISPATCH_PARITY_SEED") or time.time() // 86400)
#: How many programs there are: so many chunks, which run in parallel, of so many each.
CHUNKS, PROGRAMS = 24, 100
PLACE = "/parity"
ALIASES = (
    "Autograd CompositeImplicitAutograd CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional"
    " CompositeImplicitAutogradNestedTensor FuncTorchBatchedDecomposition"
).split()
RUNTIME = (
    "CPU CUDA XLA Lazy IPU HIP MTIA VE Meta PrivateUse1 PrivateUse2 SparseCPU SparseCUDA SparseCsrCPU QuantizedCPU"
    " QuantizedCUDA MkldnnCPU FPGA Vulkan CustomRNGKeyId NestedTensorCPU NestedTensorCUDA BackendSelect Python"
    " Functionalize Conjugate Negative ADInplaceOrView AutogradOther AutogradCPU AutogradCUDA AutogradXLA AutogradMeta"
    " AutogradPrivateUse1 AutogradNestedTensor Tracer AutocastCPU AutocastPrivateUse1 FuncTorchBatched"
    " FuncTorchVmapMode TESTING_ONLY_GenericMode PreDispatch"
).split()
#: Those that shadow each other, drawn more often than the rest.
HOT = "CPU CUDA PrivateUse1 SparseCPU QuantizedCPU NestedTensorCPU AutogradCPU AutogradCUDA AutogradOther".split()
#: Keys for which torch brings no fallback, so that one may be registered.
FALLBACKS = (
    "CPU CUDA PrivateUse1 SparseCPU QuantizedCPU AutogradPrivateUse2 TESTING_ONLY_GenericMode DeferredInit".split()
)
#: Keys that a call without tensors may be made with: torch's own fallbacks for the others run real machinery.
CALLABLE = (
    "CPU CUDA XLA PrivateUse1 PrivateUse2 SparseCPU SparseCUDA SparseCsrCPU QuantizedCPU MkldnnCPU FPGA NestedTensorCPU"
    " BackendSelect ADInplaceOrView AutogradOther AutogradCPU AutogradCUDA AutogradXLA AutogradPrivateUse1"
    " AutogradPrivateUse2 AutogradNestedTensor AutocastCPU AutocastPrivateUse1 TESTING_ONLY_GenericMode"
).split()
#: The calls that are made of each program.
CALLS = 8


def names(keyset):
    return re.findall(r"\w+", str(keyset).partition("(")[2])


def keyset(keys):
    found = C.DispatchKeySet(C.DispatchKey.Undefined)
    for key in keys:
        found |= C.DispatchKeySet(C._dispatch_key_parse(key))
    return found


def random_program(rng):
    """Return registrations with a liking for alias keys and for keys that concern each other."""
    program = []
    for _ in range(rng.randint(0, 6)):
        key = rng.choice(rng.choices([ALIASES, HOT, RUNTIME], [40, 25, 35])[0])
        program.append([key, rng.choice(["kernel"] * 4 + ["fallthrough"])])
    for key in rng.sample(FALLBACKS, rng.choice([0, 0, 1, 2])):
        program.append([key, rng.choice(["fallback", "fallback_fallthrough"])])
    rng.shuffle(program)
    return program


def read_table(operator, runtime_keys):
    """Return torch's table of an operator: the winner of each slot and the rule that chose it."""
    table = dict.fromkeys(["Undefined", *runtime_keys], "missing")
    rules = dict(table)
    for line in C._dispatch_dump_table(operator).splitlines():
        found = re.fullmatch(r"(\w+): (fallthrough )?(.*) \[(.+)\]", line)
        if found is None:
            continue
        key, passed, text, rule = found.groups()
        place = re.search(rf"{PLACE}:(\d+)", text)
        number = f"#{int(place[1]) - 1}" if place else ":builtin" if passed else "builtin"
        table[key] = "ambiguous" if rule.startswith("ambiguous") else f"ft{number}" if passed else number
        rules[key] = rule
    return table, rules


def torch_call(operator, include, exclude):
    try:
        with C._ForceDispatchKeyGuard(keyset(include), keyset(exclude)):
            return f"#{C._dispatch_call_boxed(operator, 0)}"
    except (RuntimeError, NotImplementedError) as error:
        text = str(error)
    if "CompositeImplicitAutograd and a backend" in text:
        return "ambiguous"
    if "There were no tensor arguments" in text:
        return "missing:Undefined"
    if "should have been short-circuited" in text:
        return "called-fallthrough"
    found = re.search(r"from the '(\w+)' backend", text)
    return f"missing:{found[1]}" if found else f"error: {text}"


def record_program(rng, serial, runtime_keys):
    """Register a random program in torch; return torch's answers, as a record."""
    namespace = f"parity{serial}"
    program = random_program(rng)
    handles = [C._dispatch_library("FRAGMENT", namespace, "", PLACE, 0)]
    handles[0].define("f(int x) -> int", "", ())
    for index, (key, kind) in enumerate(program):
        is_fallback = kind.startswith("fallback")
        handle = C._dispatch_library("IMPL", "_" if is_fallback else namespace, "", PLACE, index + 1)
        fn = torch.library.fallthrough_kernel if kind.endswith("fallthrough") else lambda *args, index=index: index
        if is_fallback:
            handle.fallback(key, fn, False)
        else:
            handle.impl("f", key, fn, False)
        handles.append(handle)
    table, rules = read_table(f"{namespace}::f", runtime_keys)
    # torch refreshes some slots only when a composite comes or goes; calls are compared with the table as it should be.
    refresh = C._dispatch_library("IMPL", namespace, "", PLACE, 999)
    refresh.impl("f", "CompositeImplicitAutograd", lambda x: -1, False)
    refresh.reset()
    operator = C._dispatch_find_schema_or_throw(f"{namespace}::f", "")
    calls = []
    while len(calls) < CALLS:
        include = rng.sample(CALLABLE, rng.randint(0, 3))
        exclude = rng.sample(CALLABLE, rng.choice([0, 0, 1, 2]))
        if tables.is_comparable({"include": include}):
            calls.append({"include": include, "exclude": exclude, "result": torch_call(operator, include, exclude)})
    for handle in reversed(handles):
        handle.reset()
    return {"registrations": program, "table": table, "provenance": rules, "calls": calls}


def read_header():
    runtime_keys = names(C._dispatch_keyset_full())
    scratch = C._dispatch_library("FRAGMENT", "parityscratch", "", PLACE, 0)
    scratch.define("f(int x) -> int", "", ())
    table, _ = read_table("parityscratch::f", runtime_keys)
    composite = C._dispatch_library("IMPL", "parityscratch", "", PLACE, 1)
    composite.impl("f", "CompositeImplicitAutograd", lambda x: x, False)
    members, _ = read_table("parityscratch::f", runtime_keys)
    composite.reset()
    scratch.reset()
    return {
        "runtime_keys": runtime_keys,
        "builtin_fallbacks": {
            key: "fallthrough" if won.startswith("ft") else "kernel" for key, won in table.items() if won != "missing"
        },
        "alias_members": {"CompositeImplicitAutograd": [key for key, won in members.items() if won == "#0"]},
    }


@pytest.fixture(scope="module")
def header():
    mode = C._get_autograd_fallback_mode() if hasattr(C, "_get_autograd_fallback_mode") else "warn"
    C._set_autograd_fallback_mode("nothing")
    yield read_header()
    C._set_autograd_fallback_mode(mode)


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's own, about kernels that are overridden
def test_random_programs_have_torchs_tables_and_calls(header, chunk):
    rng = random.Random(f"{SEED} {chunk}")
    registry = tables.make_registry(header, interpreted=bool(chunk % 2))
    for number in range(PROGRAMS):
        record = record_program(rng, f"{chunk}x{number}", header["runtime_keys"])
        found, calls = tables.differences(header, record, registry)
        assert not found, f"DISPATCH_PARITY_SEED={SEED}, program {number}: {record['registrations']}: {found}"
        assert calls == CALLS
        assert len(record["table"]) == len(header["runtime_keys"]) + 1


def test_there_are_two_thousand_programs_at_least():
    assert CHUNKS * PROGRAMS >= 2000
