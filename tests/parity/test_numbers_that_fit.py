"""A number that a dtype cannot hold is refused where torch refuses it, by every operator that writes a number."""

import math

import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

import operator_calls as calls  # noqa: E402  # after the skip

import torchlike  # noqa: E402

pytestmark = pytest.mark.no_pipeline(reason="what is compared does not depend on when kernels run")

DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
NUMBERS = [True, 300, -1, -300, 2**40, 2**63 - 1, -(2**63), 2.7, -2.7, 255.9, -255.9, 65519.0, 7e4, 3.4028235e38, 1e39]
NUMBERS += [-1e300, math.inf, -math.inf, math.nan, 1 + 0j, 1 + 1j, 1e300 + 0j, 1e300j, complex(math.inf, 0)]
#: Operators that write a number into a tensor as it is, and the name of the argument that is the number.
NUMBERS_OF = dict.fromkeys(("fill", "masked_fill", "scatter"), "value")
NUMBERS_OF |= dict.fromkeys(("full", "full_like", "new_full"), "fill_value") | {"scalar_tensor": "s"}
WRITERS = {}
for _name in calls.CALLS:
    _number = NUMBERS_OF.get(_name.partition(".")[0].rstrip("_"))
    if any(each.name == _number and str(each.type) == "Scalar" for each in calls.our_operator(_name).schema.arguments):
        WRITERS[_name] = _number


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WRITERS)
def test_a_number_that_does_not_fit_is_refused_as_torch_refuses_it(name, dtype):
    make, kwargs = calls.CALLS[name][0]
    args = calls.bind(name, make, kwargs)
    takes = {each.name for each in calls.our_operator(name).schema.arguments}
    for key in ("self", "out"):
        if isinstance(args.get(key), torch.Tensor):
            args[key] = torch.ones(args[key].shape, dtype=getattr(torch, dtype))
    if "dtype" in takes:
        args["dtype"] = getattr(torch, dtype)
    for number in NUMBERS:
        given = args | {WRITERS[name]: number}
        mirror = calls.Mirror()
        ours = {key: mirror(value) for key, value in given.items()}
        wanted, refused = calls.call_torch(name, given)
        found, error = calls.call_ours(name, ours)
        assert (refused is None) == (error is None), f"{number!r}: torch {refused!r}, ours {error!r}"
        if refused is not None:
            assert str(refused).splitlines()[0] in str(error), number
        else:
            assert str(found.tolist()) == str(wanted.tolist()), number


def test_the_writers_are_all_there():
    """The writers are found by their schemas: at least the known ones must be among them."""
    assert len(WRITERS) >= 12, sorted(WRITERS)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_is_written_through_an_index_as_torch_writes_it(dtype):
    for number in NUMBERS:
        for index in (0, slice(1, 3), ...):
            found = []
            for library in (torch, torchlike):
                written = library.ones(3, dtype=getattr(library, dtype))
                try:
                    written[index] = number
                except RuntimeError:
                    found.append("refused")
                else:
                    found.append(str(written.tolist()))
            assert found[0] == found[1], (index, number)


#: Indices of an expanded tensor: whether a number may be written through them depends on which elements share memory.
INDICES = [
    0,
    slice(1, 3),
    slice(0, 1),
    slice(1, 1),
    slice(None),
    ...,
    None,
    (),
    (slice(None), 0),
    (slice(0, 1), slice(0, 1)),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_a_number_is_written_through_an_index_where_torch_writes_one(index):
    found = []
    for library in (torch, torchlike):
        shared = library.ones(2).expand(3, -1)
        try:
            shared[index] = 2
        except RuntimeError as error:
            found.append(str(error).partition(". Please")[0])
        else:
            found.append(shared.tolist())
    assert found[0] == found[1] or found[1].startswith(found[0])
