"""Every declared prototype, number and error name against those of the real headers (``acl_prototypes.json``)."""

import ctypes
import json
from pathlib import Path

import pytest

from dispatch_backend_npu.acl import codes, constants, library
from dispatch_backend_npu.acl.prototypes import prototypes
from dispatch_backend_npu.aclnn.table import PROTOTYPES

pytestmark = pytest.mark.no_pipeline(reason="reads prototypes, and calls no operator")

REAL = json.loads((Path(__file__).parent / "acl_prototypes.json").read_text())
DECLARED = sorted([*prototypes(), *PROTOTYPES, *(f"{name}GetWorkspaceSize" for name in PROTOTYPES)])


@pytest.mark.parametrize("name", DECLARED)
def test_a_prototype_is_that_of_the_headers(name):
    real, declared = REAL["functions"][name], library.prototype(name)
    assert (declared.library, declared.returns) == (real["lib"], real["ret"])
    assert declared.arguments == tuple(spelling for spelling, _ in real["args"])


@pytest.mark.parametrize("spelling", sorted({s for n in DECLARED for s in (*library.prototype(n).arguments,)}))
def test_a_type_is_passed_as_the_headers_say(spelling):
    bare = spelling.removeprefix("const ")
    known = REAL["ctypes_map"].get(bare)
    if known is None and bare.endswith("*"):
        inner = REAL["ctypes_map"].get(bare.removesuffix("*").removesuffix(" const"), "c_int")
        known = f"POINTER({inner})"
    known = {"POINTER(None)": "c_void_p", None: "c_int"}.get(known, known)
    if known.startswith("POINTER("):
        target = known.removeprefix("POINTER(").removesuffix(")")
        assert library.c_type(spelling) in (ctypes.POINTER(getattr(ctypes, target)), ctypes.c_void_p)
    else:
        assert library.c_type(spelling) is getattr(ctypes, known)


def test_every_function_of_the_runtime_that_is_declared_is_called():
    """Check the runtime alone; operators have tests of their own."""
    package = Path(library.__file__).parents[1]
    text = "".join(
        path.read_text()
        for part in ("acl", "aclnn", "collectives", "plan", "runtime")
        for path in package.glob(f"{part}/*.py")
    )
    assert [name for name in prototypes() if f'"{name}"' not in text] == []


def test_a_function_that_is_not_declared_is_refused_by_name():
    with pytest.raises(library.FunctionNotFoundError, match="aclrtFly is declared neither"):
        library.prototype("aclrtFly")


def test_constants_have_the_headers_numbers():
    real = {**REAL["constants"]["defines"]}
    for members in REAL["constants"]["enums"].values():
        real.update(members)
    for group, members in REAL["constants"].items():
        if group.endswith("_errors"):
            real.update(members)
    ours = {name: value for name, value in vars(constants).items() if name.startswith("ACL_")}
    assert len(ours) > 30
    assert ours == {name: real[name] for name in ours}


#: The numbers that torch's own adapter passes for each dtype.
NUMBERS = """
uint8 4, int8 2, int16 6, int32 3, int64 9, uint16 7, uint32 8, uint64 10, bool 12,
float16 1, bfloat16 27, float32 0, float64 11, complex32 33, complex64 16, complex128 17
"""


def test_every_scalar_type_has_the_number_that_torchs_adapter_gives_it():
    ours = {f"{dtype} {number}" for dtype, number in constants.DATA_TYPES.items()}
    assert ours == {row.strip() for row in NUMBERS.split(",")}


def test_error_codes_have_the_headers_names():
    real = {}
    for group in ("acl_errors", "acl_rt_errors", "aclnn_errors"):
        for name, code in REAL["constants"][group].items():
            real.setdefault(code, set()).add(name)
    real[500002] = {"ACL_ERROR_GE_FAILURE"}
    ours = codes.error_names()
    assert {code for code in real if code > 1} == set(ours)
    assert [code for code, name in ours.items() if name not in real[code]] == []
    assert codes.error_name(12345) == "a code that no header names"
