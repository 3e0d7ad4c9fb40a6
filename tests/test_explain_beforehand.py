"""``explain`` says in a new process, before any call, how a call in another new process goes.

A process of each case's own is forked from one that has imported what a program would and loaded no backend.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forks of one process")

#: How many calls are explained one after the other.
CALLS = os.environ.get("DISPATCH_EXPLAINED_CALLS") or "120"

PROGRAM = """
import contextlib, io, json, os, random, sys
import numpy as np
import dispatch_core as dc
from dispatch_aten.operators import ATEN, PRIMS
what, seed, count_of_calls = sys.argv[1:]
if what != "core":
    import torchlike, torchlike.autograd.rules.register, dispatch_pipelines.graph.snapshots
import dispatch_backend_cpu.plugin, dispatch_backend_meta.plugin, dispatch_backend_npu.plugin

KEYSETS = "CPU AutogradCPU,CPU AutogradMeta,Meta AutogradNPU,NPU BackendSelect,Tracer,CPU AutogradOther,Meta,CPU".split()
VALUES = {
    "Scalar": 2, "int": 0, "SymInt": 1, "float": 0.5, "bool": False, "str": "mean", "int[]": [0], "SymInt[]": [2, 2],
    "Scalar[]": [1], "ScalarType": None, "Device": dc.Device("cpu"), "Layout": None, "Any": np.ones(2),
}

def arguments(op, tensor):
    args, kwargs = [], {}
    for argument in op.schema.arguments:
        if argument.has_default:
            continue
        kind = str(argument.type).removesuffix("?")
        if kind.startswith("Tensor"):
            value = [tensor(), tensor()] if "[" in kind else tensor()
        else:
            kind = kind.partition("[")[0] + "[]" if "[" in kind else kind
            value = VALUES.get(kind)
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs

def told(found):
    '''What a line of the trace would be, from an explanation, and the class of the error.'''
    if found.error is not None and not found.steps:
        return [None, type(found.error).__name__]
    step, keys = found.winner, ", ".join(key.name for key in found.keys)
    if step is None:
        return [f"{found.operator} ({keys}) -> no kernel", "NoKernelError"]
    if step.origin is None and found.then is not None and found.then.operator != found.operator:
        where = found.then.operator
    elif step.origin is None:
        where = "BackendSelect, which reads the device"
    else:
        through = "" if step.registered_under == step.key else f" by {step.registered_under}"
        where = f"{step.key}{through}, {step.origin.short}"
    return [f"{found.operator} ({keys}) -> {where}", None]

def seen(op, call):
    '''The first line of the trace that is this operator's, and the error where there is none.'''
    error = None
    with contextlib.redirect_stderr(io.StringIO()) as lines:
        try:
            call()
        except Exception as raised:
            error = raised
    mine = [line.strip() for line in lines.getvalue().splitlines() if line.strip().startswith(f"{op.name} (")]
    if not mine:
        return [None, type(error).__name__]
    return [mine[0], "NoKernelError" if mine[0].endswith("no kernel") else None]

def in_child(act):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(writing, "w") as pipe:
                json.dump(act(), pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text or "null")

def cases(op, keyset):
    '''Give how the operator is explained, and called.'''
    make = np.ones if what == "core" else torchlike.ones
    options = {"requires_grad": True} if what == "grads" else {}
    args, kwargs = arguments(op, lambda: make((2, 2), **options))
    if keyset:
        return (lambda: told(dc.explain(op, *args, keyset=keyset.split(","), **kwargs)),
                lambda: op.redispatch(dc.DispatchKeySet(keyset.split(",")), *args, **kwargs))
    return lambda: told(dc.explain(op, *args, **kwargs)), lambda: op(*args, **kwargs)

def explained(op, keyset):
    return cases(op, keyset)[0]()

def by_keyset_alone(op, keyset):
    return told(dc.explain(op, keyset=keyset.split(",")))

def called(op, keyset):
    if "DISPATCH_TRACE" not in os.environ:
        os.environ["DISPATCH_TRACE"] = "1"
        dc.refresh()
    return seen(op, cases(op, keyset)[1])

ops = [dc.registry.get(f"{'aten' if each in ATEN else 'prims'}::{each.name}{'' if '.' in each.name else '.default'}").op
       for each in (*ATEN, *PRIMS)]
assert all(state.state == "installed" for state in dc.backends().values() if state.device in ("cpu", "meta", "npu"))
draw = random.Random(seed)
pairs = [(op, keyset) for op in ops for keyset in ("", *KEYSETS)]
wrong, count = {}, 0
# Each alone: nothing has been explained or called before.
for op, keyset in draw.sample(pairs, 8):
    expected = in_child(lambda: called(op, keyset))
    for ask in (explained, by_keyset_alone) if keyset else (explained,):
        found = in_child(lambda: ask(op, keyset))
        count += 1
        if found != expected and not (ask is by_keyset_alone and expected[0] is None):
            wrong[f"{ask.__name__} {op.name} {keyset}"] = found, expected
# Many, one after the other: all explanations in one process, all calls in another.
some = draw.sample(pairs, int(count_of_calls))
for one, other in zip(in_child(lambda: [[op.name, keyset, explained(op, keyset)] for op, keyset in some]),
                      in_child(lambda: [called(op, keyset) for op, keyset in some]), strict=True):
    count += 1
    if one[2] != other:
        wrong[f"{one[0]} {one[1]}"] = one[2], other
print(json.dumps([count, wrong]))
"""


@pytest.mark.long
@pytest.mark.parametrize("what", ["core", "tensors", "grads"])
def test_an_explanation_beforehand_is_what_the_call_does(what, tmp_path):
    """On raw arrays without a frontend, on tensors, and on tensors that require grad."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, what, os.environ.get("DISPATCH_PARITY_SEED", "1"), CALLS],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    count, wrong = json.loads(done.stdout)
    assert not wrong, f"{len(wrong)} of {count}: {json.dumps(wrong, indent=1)}"
    assert count > int(CALLS)


NAMES = """
import linecache, pathlib
import dispatch_core as dc, torchlike
from dispatch_core.operators.kernel_names import kernel_name, kernel_place
torchlike.ones(2, requires_grad=True).exp()
with torchlike.pipeline():
    torchlike.ones(2).exp()
for device in ("cpu", "meta", "npu"):
    dc.load_backend(device)
ours = ("dispatch_aten.", "dispatch_backend_", "dispatch_core.", "dispatch_pipelines.", "torchlike.", "numpy.", "scipy.")
count = 0
found = [
    (entry.name, each.fn)
    for entry in dc.registry
    for key in dc.DispatchKey
    for each in (*entry.registrations(key), *entry.specialized_kernels(key))
] + [(key.name, each.fn) for key, each in dc.registry.fallbacks.items()]
for operator, fn in found:
    name, place = kernel_name(fn), kernel_place(fn)
    bare = name.removeprefix("made on first use by ").removeprefix("partial of ").partition(" of ")[0]
    assert bare.startswith(ours) and not bare.endswith("._first") and "an object of" not in bare, (operator, name)
    if bare.startswith(("numpy.", "scipy.")):
        continue
    file, _, line = place.rpartition(":")
    text = linecache.getline(file, int(line)).strip()
    if "OPERATORS[" in bare:
        assert f"{operator.partition('::')[2]} " in f"{text} " and pathlib.Path(file).name == "table.py", (operator, text)
    elif file.endswith(".rows"):
        assert text.split()[0] in ("composite", "formula", "shape"), (name, place, text)
    else:
        # The line of a function's definition, or its first decorator's.
        last = bare.rpartition(".")[2]
        if last.endswith("_on_host") and last != "run_on_host":  # made by `host_kernel`, and named by its operator
            last = "kernel"
        lines = [linecache.getline(file, int(line) + more) for more in range(12)]
        assert any("lambda" in each if last == "<lambda>" else f"def {last}(" in each for each in lines), (name, place, text)
    count += 1
assert count > 1500, count
"""


def test_every_kernel_of_ours_is_named_by_a_function_and_its_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", NAMES], capture_output=True, check=False, cwd=tmp_path, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


EARLY = """
import dispatch_core as dc
import numpy as np
call = lambda: dc.registry.dispatch_with_keyset("prims::device_put", "CPU", np.ones(2), device=dc.Device("cpu")).shape
explained = dc.explain("prims::device_put", np.ones(2), device=dc.Device("cpu"), keyset="CPU")
try:
    print(call(), explained.winner.registered_under)
except dc.NoKernelError as error:
    assert str(error) == str(explained.error)
    print(str(error).splitlines()[-1])
"""


@pytest.mark.parametrize("kept_out", [False, True])
def test_an_explicit_key_loads_the_device_of_its_name(kept_out, tmp_path):
    """As any other request for it does; where it is kept out, the error says so."""
    done = subprocess.run(
        [sys.executable, "-c", EARLY],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "DISPATCH_BACKENDS_BLOCK": "cpu" if kept_out else ""},
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    if kept_out:
        assert done.stdout.startswith("Hint: device 'cpu' is blocked, dispatch-backend-cpu ")
    else:
        assert done.stdout == "(2,) CPU\n"


AUTOGRAD = """
import numpy as np
import torchlike
import dispatch_core as dc
found = dc.explain("aten::exp", keyset=["AutogradCPU", "CPU"])
assert [(step.key, step.outcome) for step in found.steps] == [("AutogradCPU", "runs"), ("CPU", "below")], found
# Raw arrays have no history, and pass the frontend's kernels.
for name in ("exp", "sqrt_", "nonzero", "detach", "ones_like"):
    assert dc.registry.dispatch_with_keyset(name, ["AutogradCPU", "CPU"], np.ones(2)) is not None
"""


def test_an_autograd_key_means_the_frontends_kernels_before_any_tensor_requires_grad(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", AUTOGRAD], capture_output=True, check=False, cwd=tmp_path, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
