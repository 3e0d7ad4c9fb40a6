"""The findings of doctor on plugins that load and are wrong all the same, and the warnings when they register."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

from dispatch_aten.decompositions import required_kernels

HOOKS = """
import functools
import dispatch_core as dc

class Array:
    pass

@dc.hookimpl
def dispatch_backend_info():
    return dc.BackendInfo("vendor", array_types=(
        dc.ArrayType(Array, shape=lambda a: (), dtype=lambda a: "float32", mutable=MUTABLE),
    ))

@dc.hookimpl
def dispatch_register(registry):
    aten = dc.Library("aten", "IMPL", dc.device_key("vendor"), registry=registry)
"""
#: The line that the kernels begin in.
FIRST = HOOKS.count("\n") + 1


@pytest.fixture
def vendor(tmp_path):
    """Install a plugin for a device; return a function that runs a command with all that are installed."""

    def install(kernels, requires=("dispatch-core", "dispatch-operators-aten"), mutable=True, device="vendor"):
        info = tmp_path / f"{device}_plugin-1.0.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {device}-plugin", "Version: 1.0"]
        lines += [f"Requires-Dist: {each}" for each in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        (info / "entry_points.txt").write_text(f"[dispatch_core.backends]\n{device} = {device}_module\n")
        body = textwrap.indent(textwrap.dedent(kernels).lstrip("\n"), "    ")
        hooks = HOOKS.replace("MUTABLE", str(mutable)).replace('"vendor"', f'"{device}"')
        (tmp_path / f"{device}_module.py").write_text(f"{hooks}{body}\n    pass\n")

        def run(*arguments):
            return subprocess.run(
                [sys.executable, *arguments],
                capture_output=True,
                check=False,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
                text=True,
                timeout=120,
            )

        return run

    return install


def examine(run, *names):
    done = run("-m", "dispatch_core", "doctor", "--json", "--timeout", "60", *names)
    return done.returncode, {(each["kind"], each["name"]): each for each in json.loads(done.stdout)["findings"]}


#: The name that a kernel is registered for, and the one that was meant; "" where none is near.
UNKNOWN = {
    "expp": "aten::exp",
    "add": "aten::add.Tensor",
    "add.Tensr": "aten::add.Tensor",
    "addd.Tensor": "aten::add.Tensor",
    "sofmax.int": "aten::softmax.int",
    "sum.dim_Intlist": "aten::sum.dim_IntList",
    "relu__": "aten::relu_",
    "frobnicate_everything": "",
}


def test_a_misspelt_operator_is_named_with_what_was_meant(vendor):
    run = vendor("\n".join(f"aten.impl({name!r}, lambda *args, **kwargs: args)" for name in UNKNOWN))
    status, found = examine(run, "vendor")
    finding = found["device", "vendor"]
    assert (status, finding["outcome"]) == (1, "faulty")
    reasons = finding["reason"].splitlines()
    assert len(reasons) == len(UNKNOWN)
    loaded = run("-c", "import dispatch_core as dc; dc.load_backend('vendor')")
    assert loaded.returncode == 0
    own = "".join(f"dc.Library('aten', 'IMPL', 'CPU').impl({name!r}, len)\n" for name in UNKNOWN)
    called = run("-c", f"import dispatch_core as dc\n{own}")
    for line, (name, meant) in enumerate(UNKNOWN.items()):
        place = f"aten::{name} under Vendor (vendor_module.py:{FIRST + line}): no operator has that name"
        words = f"{place}; did you mean {meant}" if meant else place
        assert [reason for reason in reasons if reason.startswith(words)], (words, reasons)
        warned = f"UnknownOperatorWarning: a kernel for aten::{name} is registered under"
        assert (f"vendor_module.py:{FIRST + line}: {warned} Vendor at" in loaded.stderr) is bool(meant)
        assert not meant or f"and no operator has that name; did you mean {meant}" in loaded.stderr
        assert (f"<string>:{2 + line}: {warned} CPU" in called.stderr) is bool(meant)


def test_operators_of_ones_own_and_of_private_registries_are_no_near_misses(vendor):
    run = vendor("")
    program = """
import dispatch_core as dc
own = dc.Library("own", "DEF")
own.define("add.Tensor(Tensor self, Tensor other) -> Tensor")
own.impl("add", len, "CPU")
own.impl("ad.Tensor", len, "CPU")
private = dc.Registry()
dc.Library("aten", "DEF", registry=private).define("add.Tensor(Tensor self, Tensor other) -> Tensor")
dc.Library("aten", "IMPL", "CPU", registry=private).impl("add", len)
more = dc.Library("aten", "FRAGMENT")
more.define("expp(Tensor self) -> Tensor")
more.impl("expp", len, "CPU")
"""
    done = run("-W", "error", "-c", program)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_misspelt_kernel_that_is_an_error_registers_nothing(vendor):
    program = """
import dispatch_core as dc
library = dc.Library("aten", "IMPL", "CPU")
for _ in range(2):
    try:
        library.impl("expp", len)
    except dc.UnknownOperatorWarning:
        print("aten::expp" in dc.registry.entries)
"""
    assert vendor("")("-W", "error", "-c", program).stdout.split() == ["False", "False"]


#: A registration, and the fault of its kernel; "" where there is none.
SIGNATURES = {
    '"add.Tensor", lambda self, other: self': "called as (self, other, *, alpha): got an unexpected keyword",
    '"add.Tensor", lambda self, other, alpha: self': "",
    '"add.Tensor", lambda a, b, *, alpha: a': "",
    '"add.Tensor", lambda *args, **kwargs: args': "",
    '"add.Tensor", lambda keyset, a, b, *, alpha: a': "missing a required argument: 'b'",
    '"add.Tensor", lambda keyset, a, b, *, alpha: a, with_keyset=True': "",
    '"add.Tensor", lambda a, b, *, alpha: a, with_keyset=True': "called as (keyset, self, other, *, alpha): too many",
    '"add.Tensor", lambda a, b: a, when=("alpha", 1)': "",
    '"add.Tensor", lambda a, b, *, alpha: a, when=("alpha", 1)': "missing a required",
    '"exp", lambda: 1': "called as (self): too many positional arguments",
    '"exp", lambda self, mode: self': "missing a required argument: 'mode'",
    '"exp", len': "",
    '"exp", dc.fallthrough_kernel': "",
    '"exp", dc.kernel_factory(lambda op, keyset: len)': "",
    '"exp", functools.wraps(lambda: 1)(lambda *args: args)': "too many positional arguments",
}


def test_a_kernel_that_does_not_take_the_schemas_arguments_is_a_fault(vendor):
    cases, keys = [*SIGNATURES], ("", "Autograd", "Autocast", "Sparse", "Quantized")
    # A key has one kernel of an operator: the kernels are those of several keys, and of several devices.
    batches = {f"vendor{first}": cases[first : first + len(keys)] for first in range(0, len(cases), len(keys))}
    for device, kernels in batches.items():
        lines = [
            f"dc.Library('aten', 'IMPL', '{key}{device.capitalize()}', registry=registry).impl({kernel})"
            for key, kernel in zip(keys, kernels, strict=True)
        ]
        run = vendor("\n".join(lines), device=device)
    status, found = examine(run, *batches)
    assert status == 1
    for device, kernels in batches.items():
        finding = found["device", device]
        assert finding["outcome"] == "faulty"
        reasons = finding["reason"].splitlines()
        told = [
            [each for each in reasons if f"({device}_module.py:{FIRST + line})" in each] for line in range(len(keys))
        ]
        assert sum(map(len, told)) == len(reasons)
        for kernel, lines in zip(kernels, told, strict=True):
            fault = SIGNATURES[kernel]
            assert [fault in line for line in lines] == [True] * bool(fault), (kernel, lines)


def test_every_fault_is_listed_in_a_line_of_its_own(vendor):
    run = vendor("""
        aten.impl("expp", lambda self: self)
        aten.impl("exp", lambda: 1)
        aten.impl("log", lambda self: self)
    """)
    done = run("-m", "dispatch_core", "doctor", "vendor")
    assert done.returncode == 1
    first, second, *_, last = done.stdout.splitlines()
    assert first.startswith("faulty     device 'vendor' of vendor-plugin 1.0, loaded in ")
    assert "aten::exp under Vendor" in first + second
    assert "aten::expp under Vendor" in first + second
    assert "log under" not in done.stdout
    assert last == "1 examined, 1 with faults"


#: What arrays need that can be written to and have no strides, as those of the plugin here.
NEEDED = [kernel for kernel in required_kernels(mutable=True, strided=False) if kernel.namespace == "aten"]


def test_the_kernels_that_nothing_composes_and_that_are_left_out_are_listed(vendor):
    brought = NEEDED[:10]
    lines = "".join(f"aten.impl({name!r}, lambda *args, **kwargs: args)\n" for name in brought)
    status, found = examine(vendor(lines), "vendor")
    finding = found["device", "vendor"]
    assert (status, finding["outcome"]) == (0, "ok")
    [note] = finding["notes"]
    head, _, names = note.partition("; without: ")
    assert head == f"it has kernels for 10 of the {len(NEEDED)} operators that nothing composes"
    assert {*names.split(", ")} == {f"aten::{name}" for name in NEEDED if name not in brought}


def test_arrays_that_cannot_be_written_need_no_kernels_that_write(vendor):
    kernels = """
        for name in ("copy", "fill.Scalar", "index_put"):
            aten.impl(name, lambda *args, **kwargs: args)
    """
    _, found = examine(vendor(kernels, mutable=False), "vendor")
    [note] = found["device", "vendor"]["notes"]
    missing = {*note.partition("; without: ")[2].split(", ")}
    assert not missing & {"aten::copy_", "aten::fill_.Scalar", "aten::index_put_"}
    assert {"aten::add.Tensor", "aten::exp"} <= missing


#: A requirement, and the reason for which a plugin with it is refused; "" where it is not.
REQUIREMENTS = {
    "dispatch-operators-aten>=7": "it requires dispatch-operators-aten>=7, and dispatch-operators-aten 0.1.0 is",
    "dispatch_operators.aten<0.1": "it requires dispatch-operators-aten<0.1, and dispatch-operators-aten 0.1.0 is",
    "dispatch-backend-cpu==9; python_version>='3'": "it requires dispatch-backend-cpu==9, and dispatch-backend-cpu",
    "dispatch-frontend-torchlike>=7": "it requires dispatch-frontend-torchlike>=7, and dispatch-frontend-torchlike",
    "dispatch-core>=99": "it requires dispatch-core>=99, and dispatch-core ",
    "dispatch-operators-aten>=": "its requirement 'dispatch-operators-aten>=' cannot be read",
    "dispatch-operators-aten>=7; extra == 'test'": "",
    "dispatch-operators-aten>=7; python_version<'3'": "",
    "dispatch-operators-aten>=0.1,<0.2": "",
    "numpy>=99": "",
}


def test_requirements_on_the_projects_distributions_are_checked(vendor):
    for number, requirement in enumerate(REQUIREMENTS):
        run = vendor("", requires=["dispatch-core", requirement], device=f"vendor{number}")
    status, found = examine(run, *(f"vendor{number}" for number in range(len(REQUIREMENTS))))
    assert status == 1
    program = """
import json
import dispatch_core as dc
errors = []
for number in range({}):
    try:
        dc.load_backend(f"vendor{{number}}")
    except dc.BackendError as error:
        errors.append(str(error))
    else:
        errors.append("")
print(json.dumps(errors))
"""
    errors = json.loads(run("-c", program.format(len(REQUIREMENTS))).stdout)
    for number, (refused, error) in enumerate(zip(REQUIREMENTS.values(), errors, strict=True)):
        finding = found["device", f"vendor{number}"]
        assert finding["outcome"] == ("refused" if refused else "ok")
        assert finding["reason"].startswith(refused)
        assert bool(error) is bool(refused) and refused in error


def test_doctor_examines_what_it_is_asked_about(vendor):
    run = vendor("")
    for names, kinds in (
        (["vendor"], {("device", "vendor")}),
        (["Vendor_Plugin"], {("device", "vendor")}),
        (["aten", "cpu"], {("operators", "aten"), ("device", "cpu")}),
        (["dispatch-operators-aten"], {("operators", "aten"), ("operators", "prims")}),
    ):
        status, found = examine(run, *names)
        assert (status, {*found}) == (0, kinds)
    done = run("-m", "dispatch_core", "doctor", "vendr")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Nothing that is installed is called 'vendr'\nHint: did you mean 'vendor")
    assert " Else there are array_api_strict." in done.stderr
    assert "Array, aten, cpu, " in done.stderr and " numpy.ndarray, " in done.stderr


@pytest.mark.long
def test_no_kernel_of_the_projects_own_is_a_fault_and_none_is_missing_but_those_of_the_host():
    code = """
import dispatch_core as dc
from dispatch_devkit.doctor import examination
for device in ("cpu", "meta", "npu"):
    dc.load_backend(device)
for name in ("dispatch-backend-cpu", "dispatch-backend-meta", "dispatch-backend-npu", "dispatch-operators-aten"):
    print(len(list(examination._registered_by(dc.registry, name))), *examination.faults_of(dc.registry, name))
    if "backend" in name:
        needed, missing = examination.missing_kernels(dc.registry, dc.device_key(name.rpartition("-")[2]), name)
        assert needed >= 45 and bool(missing) is (dc.device_key(name.rpartition("-")[2]) in dc.registry.fallbacks), missing
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    counts = [int(line) for line in done.stdout.splitlines()]
    assert min(counts) > 100
    assert sum(counts) > 1000


INTERFACE = """
@dc.hookimpl
def dispatch_device_interface():
    return dc.DeviceInterface()
"""


@pytest.mark.parametrize("device", ["relu", "slate"])
def test_a_device_whose_name_is_taken_is_said(vendor, tmp_path, device):
    run = vendor("pass", device=device)
    module = tmp_path / f"{device}_module.py"
    module.write_text(module.read_text() + INTERFACE)
    _, found = examine(run, device)
    notes = [note for note in found["device", device]["notes"] if "for something else" in note]
    taken = "torchlike has torchlike.relu, torchlike.Tensor.relu for something else"
    assert [note.partition(":")[0] for note in notes] == ([taken] if device == "relu" else [])
