"""The simulator's functions have the prototypes of the real headers, as the C compiler and the tables see them."""

import ctypes
import json
import re
import subprocess
from pathlib import Path

import pytest

from dispatch_backend_npu.acl.prototypes import prototypes
from dispatch_backend_npu.aclnn.table import PROTOTYPES
from dispatch_backend_npu.simulator import NoCompilerError, compiler
from dispatch_backend_npu.simulator.compilation import LIBRARIES, SOURCES
from dispatch_backend_npu.simulator.generate import generate, read

pytestmark = pytest.mark.no_pipeline(reason="reads the simulator, and calls no operator")

HEADERS = json.loads((Path(__file__).parent / "acl_prototypes.json").read_text())
FUNCTIONS = HEADERS["functions"]
#: Enums are ints in the ABI; the simulator declares the two that have negative members, which the compiler checks.
ENUMS = {*HEADERS["constants"]["enums"], "aclCANNPackageName"} - {"aclDataType", "aclFormat"}
HAND_WRITTEN = [
    source
    for library in ("libascendcl.so", "libnnopbase.so", "libhccl.so")
    for source in LIBRARIES[library][0]
    if source not in ("sim.c", "cache.c", "views.c", "exchange.c")
]


@pytest.fixture(scope="module")
def cc():
    try:
        return compiler()
    except NoCompilerError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def libraries(simulator_folder):
    return {name: ctypes.CDLL(str(simulator_folder / "lib64" / name)) for name in LIBRARIES}


def declarations(names):
    lines = [f"typedef int {name};" for name in sorted(ENUMS)]
    lines.append("#define aclrtMallocConfig void")
    for name in names:
        row = FUNCTIONS[name]
        arguments = ", ".join(kind for kind, _ in row["args"]) or "void"
        lines.append(f"{row['ret']} {name}({arguments});")
    return "\n".join(lines)


def defined_in(source):
    """Return the functions of the toolkit that a source defines, as the compiler finds them; repeated declarations agree."""
    text = (SOURCES / source).read_text()
    return sorted(name for name in set(re.findall(r"\b(?:acl|Hccl)\w+", text)) if name in FUNCTIONS)


@pytest.mark.parametrize("source", HAND_WRITTEN)
def test_hand_written_functions_agree_with_the_headers(cc, source, tmp_path):
    names = defined_in(source)
    assert names
    code = f'#include "{SOURCES / source}"\n{declarations(names)}\n'
    (tmp_path / "check.c").write_text(code)
    command = [*cc, "-std=gnu11", "-fsyntax-only", f"-I{SOURCES}", tmp_path / "check.c"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_wrong_prototype_is_found(cc, tmp_path):
    code = f'#include "{SOURCES / "memory.c"}"\naclError aclrtMalloc(void **devPtr, uint32_t size, int policy);\n'
    (tmp_path / "check.c").write_text(code)
    command = [*cc, "-std=gnu11", "-fsyntax-only", f"-I{SOURCES}", tmp_path / "check.c"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "aclrtMalloc" in done.stderr


def bare(spelling):
    """Return a C type without const, which is no part of the ABI."""
    return spelling.replace("const", "").replace(" ", "")


@pytest.mark.parametrize("operator", read(), ids=lambda operator: operator.name)
def test_operators_agree_with_the_headers(operator):
    *arguments, size, executor = [bare(kind) for kind, _ in FUNCTIONS[f"{operator.name}GetWorkspaceSize"]["args"]]
    assert [bare(kind) for kind in operator.types] == arguments
    assert (size, executor) == ("uint64_t*", "aclOpExecutor**")
    phase_two = [bare(kind) for kind, _ in FUNCTIONS[operator.name]["args"]]
    assert phase_two == ["void*", "uint64_t", "aclOpExecutor*", "aclrtStream"]


def test_every_function_that_the_backend_binds_is_simulated_in_its_library(libraries):
    missing = [name for name, row in prototypes().items() if not hasattr(libraries[row.library], name)]
    for name in PROTOTYPES:
        missing += [each for each in (name, f"{name}GetWorkspaceSize") if not hasattr(libraries["libopapi.so"], each)]
    assert missing == []


def test_every_operator_that_is_simulated_is_bound():
    assert {operator.name for operator in read()} == PROTOTYPES.keys()


def test_the_entries_are_compiled_from_the_table():
    source = generate()
    for name in PROTOTYPES:
        assert f"aclnnStatus {name}GetWorkspaceSize(" in source
