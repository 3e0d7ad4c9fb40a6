"""The array API standard's namespace, function by function beside array-api-strict: signatures, shapes, dtypes, values."""

from __future__ import annotations

import inspect
import itertools
from zlib import crc32

import array_api_strict
import numpy as np
import pytest

import torchlike
from torchlike import array_api

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
SHAPES = ((), (3,), (2, 3), (2, 1, 3), (0, 2))
#: What array-api-strict has beside the standard.
ITS_OWN = {
    "ArrayAPIStrictFlags",
    "Device",
    "__version__",
    "get_array_api_strict_flags",
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}
SPACES = {"": (array_api_strict, array_api)} | {
    name: (getattr(array_api_strict, name), getattr(array_api, name)) for name in ("fft", "linalg")
}
NAMES = [(space, name) for space, (theirs, _) in SPACES.items() for name in sorted({*theirs.__all__} - ITS_OWN)]


def _read(function):
    return [
        (each.name, each.kind, None if "Undef" in repr(each.default) else each.default)
        for each in inspect.signature(function).parameters.values()
    ]


@pytest.mark.parametrize(("space", "name"), NAMES)
def test_a_name_of_the_standard_is_there_with_its_signature(space, name):
    theirs, ours = (getattr(module, name) for module in SPACES[space])
    assert name in SPACES[space][1].__all__
    if inspect.isfunction(theirs):
        assert _read(ours) == _read(theirs)


def _draw(name, shape, dtype, number=0):
    """Return numbers between -4 and 4 that are a function of the arguments."""
    random = np.random.default_rng(crc32(f"{name} {shape} {dtype} {number}".encode()))
    if dtype == "bool":
        return random.random(shape) < 0.5
    low = 0 if dtype.startswith("u") else -4
    found = random.integers(low, 5, shape).astype(dtype)
    if "float" in dtype or "complex" in dtype:
        found = found + random.random(shape).astype(dtype)
    return found + (1j * random.random(shape)).astype(dtype) if "complex" in dtype else found


def _to(xp, array):
    return xp.asarray(np.array(array)) if xp is array_api_strict else torchlike.from_numpy(np.array(array))


def _values(found):
    if isinstance(found, (tuple, list)):
        return [each for part in found for each in _values(part)]
    if not hasattr(found, "shape"):
        return [np.asarray(found)]
    return [found.numpy() if isinstance(found, torchlike.Tensor) else np.asarray(found)]


def _compare(theirs, ours, what):
    theirs, ours = _values(theirs), _values(ours)
    assert len(theirs) == len(ours), what
    for their, our in zip(theirs, ours, strict=True):
        assert (our.shape, our.dtype) == (their.shape, their.dtype), what
        tolerance = 1e-4 if their.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(our, their, rtol=tolerance, atol=tolerance, err_msg=what)


def _accepts(call, *arrays):
    """Return the strict namespace's result in a tuple, or None where the standard leaves the call undefined."""
    try:
        with np.errstate(all="ignore"):
            return (call(array_api_strict, *(_to(array_api_strict, array) for array in arrays)),)
    except (TypeError, ValueError, IndexError):
        return None


def _check(name, call, inputs):
    """Compare a call on all inputs that array-api-strict accepts, of which there are some."""
    count = 0
    for arrays in inputs:
        expected = _accepts(call, *arrays)
        if expected is not None:
            count += 1
            what = f"{name} of {', '.join(f'{each.dtype}{each.shape}' for each in arrays)}"
            _compare(expected[0], call(array_api, *(_to(array_api, array) for array in arrays)), what)
    assert count, f"array-api-strict takes none of the inputs of {name}"


UNARY = sorted(
    name
    for name in array_api_strict.__all__
    if inspect.isfunction(getattr(array_api_strict, name))
    and [each[0] for each in _read(getattr(array_api_strict, name))] == ["x"]
)
BINARY = sorted(
    name
    for name in array_api_strict.__all__
    if inspect.isfunction(getattr(array_api_strict, name))
    and [each[0] for each in _read(getattr(array_api_strict, name))] == ["x1", "x2"]
)


def _promotes(*names):
    try:
        array_api_strict.result_type(*(getattr(array_api_strict, name) for name in names))
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_array(name):
    _check(
        name, lambda xp, x: getattr(xp, name)(x), [[_draw(name, *each)] for each in itertools.product(SHAPES, DTYPES)]
    )


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_arrays_with_all_pairs_of_dtypes(name):
    shapes = ((), (3,)), ((3, 3), (3, 3))
    inputs = []
    for (left, right), first, second in itertools.product(shapes, DTYPES, DTYPES):
        if name in ("matmul", "tensordot", "vecdot") and not _promotes(first, second):
            continue  # array-api-strict does not look at these
        divisor = _draw(name, right, second, 1)
        if name in ("floor_divide", "remainder", "divide", "pow", "bitwise_left_shift", "bitwise_right_shift"):
            divisor = np.where(np.abs(divisor) < 1, np.ones_like(divisor), np.abs(divisor).astype(second))
        inputs.append([_draw(name, left, first), divisor])
    _check(name, lambda xp, x, y: getattr(xp, name)(x, y), inputs)


@pytest.mark.parametrize("number", [True, 2, 2.5, 1 + 2j])
@pytest.mark.parametrize("name", ["add", "multiply", "equal", "hypot", "pow", "atan2", "logical_or"])
def test_a_function_of_an_array_and_a_number(name, number):
    inputs = [[np.abs(_draw(name, *each))] for each in itertools.product(SHAPES, DTYPES)]
    for call in (lambda xp, x: getattr(xp, name)(x, number), lambda xp, x: getattr(xp, name)(number, x)):
        accepted = [each for each in inputs if _accepts(call, *each) is not None]
        if accepted:
            _check(name, call, accepted)


REDUCTIONS = ["all", "any", "count_nonzero", "max", "mean", "min", "prod", "std", "sum", "var"]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (-1,), ()])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction(name, axis, keepdims):
    shapes = [shape for shape in SHAPES if 0 not in shape or name not in ("max", "mean", "min", "std", "var")]
    # NumPy lets a tensor without dimensions have an axis, which the standard does not.
    shapes = [shape for shape in shapes if len(shape) >= (2 if axis == (0, 1) else isinstance(axis, int))]
    inputs = [[_draw(name, *each)] for each in itertools.product(shapes, DTYPES)]
    _check(name, lambda xp, x: getattr(xp, name)(x, axis=axis, keepdims=keepdims), inputs)


def _matrices(dtypes=("float32", "float64", "complex64", "complex128"), shapes=((3, 3), (2, 3, 3))):
    for shape, dtype in itertools.product(shapes, dtypes):
        yield [_draw("matrix", shape, dtype) + 9 * np.eye(3, dtype=dtype)]


def _hermitian():
    for (x,) in _matrices():
        yield [x @ np.conj(np.swapaxes(x, -1, -2))]


def _any(shapes=SHAPES, dtypes=DTYPES, count=1):
    for shape, dtype in itertools.product(shapes, dtypes):
        yield [_draw("any", shape, dtype, number) for number in range(count)]


_PLACES = np.array([1, 0, 1])
_DEEP = [shape for shape in SHAPES if len(shape) > 1]
_FLOATS = ("float32", "float64")
_COMPLEX = ("complex64", "complex128")
#: Calls and their inputs. Factors that are unique up to a sign are multiplied out.
CALLS = {
    "arange": (
        lambda xp: [xp.arange(5), xp.arange(2, 9, 3), xp.arange(3, 3), xp.arange(5, 0, -2), xp.arange(2.5)],
        [[]],
    ),
    "argmax": (lambda xp, x: [xp.argmax(x), xp.argmax(x, axis=-1, keepdims=True)], _any(((3,), (2, 3)))),
    "argmin": (lambda xp, x: [xp.argmin(x, keepdims=True), xp.argmin(x, axis=0)], _any(((3,), (2, 3)))),
    "argsort": (lambda xp, x: [xp.argsort(x), xp.argsort(x, axis=0, descending=True)], _any(((3,), (2, 3), (0, 2)))),
    "asarray": (
        lambda xp, x: [xp.asarray(x, copy=True), xp.asarray([[1, 2]]), xp.asarray(True), xp.asarray([1.5])],
        _any(),
    ),
    "astype": (lambda xp, x: [xp.astype(x, xp.float64), xp.astype(x, xp.bool)], _any(dtypes=DTYPES[:11])),
    "broadcast_arrays": (lambda xp, x, y: xp.broadcast_arrays(x, y[..., None]), _any(((3,), (2, 3)), count=2)),
    "broadcast_shapes": (lambda xp: xp.broadcast_shapes((3, 1), (1, 2), ()), [[]]),
    "broadcast_to": (lambda xp, x: xp.broadcast_to(x, (4, 2, 3)), _any(((3,), (2, 3)))),
    "clip": (lambda xp, x: [xp.clip(x, 1, 2), xp.clip(x, max=3), xp.clip(x)], _any()),
    "concat": (lambda xp, x, y: [xp.concat([x, y], axis=1), xp.concat((x, y), axis=None)], _any(_DEEP, count=2)),
    "cumulative_prod": (
        lambda xp, x: [xp.cumulative_prod(x, axis=-1, include_initial=flag) for flag in (False, True)],
        _any(_DEEP),
    ),
    "cumulative_sum": (
        lambda xp, x: [xp.cumulative_sum(x, axis=0, include_initial=flag) for flag in (False, True)],
        _any(_DEEP),
    ),
    "diff": (lambda xp, x: [xp.diff(x), xp.diff(x, axis=0, n=2, prepend=x, append=x)], _any(_DEEP)),
    "empty": (lambda xp: [xp.empty(3).shape, xp.empty((2, 3), dtype=xp.int8).shape], [[]]),
    "empty_like": (lambda xp, x: xp.empty_like(x).shape, _any()),
    "expand_dims": (lambda xp, x: [xp.expand_dims(x, axis=0), xp.expand_dims(x, axis=-1)], _any()),
    "eye": (lambda xp: [xp.eye(2), xp.eye(2, 3, k=-1), xp.eye(3, k=5, dtype=xp.int32)], [[]]),
    "flip": (lambda xp, x: [xp.flip(x), xp.flip(x, axis=-1)], _any(_DEEP)),
    "from_dlpack": (lambda xp, x: xp.from_dlpack(x), _any()),
    "full": (lambda xp: [xp.full(2, 3), xp.full((2,), 1.5), xp.full((), True), xp.full(2, 1j)], [[]]),
    "full_like": (lambda xp, x: xp.full_like(x, 1), _any(dtypes=DTYPES[1:])),
    "isin": (lambda xp, x, y: xp.isin(x, y), _any(dtypes=DTYPES[1:9], count=2)),  # it passes over invert=
    "linspace": (
        lambda xp: [xp.linspace(0, 1, 5), xp.linspace(0, 8, num=4, endpoint=False), xp.linspace(0, 1j, 3)],
        [[]],
    ),
    "meshgrid": (
        lambda xp, x, y: [xp.meshgrid(x, y), xp.meshgrid(x, y, indexing="ij"), xp.meshgrid(x)],
        _any([(3,)], count=2),
    ),
    "moveaxis": (lambda xp, x: [xp.moveaxis(x, 0, -1), xp.moveaxis(x, (0, 1), (1, 0))], _any(_DEEP)),
    "nonzero": (lambda xp, x: xp.nonzero(x), _any(SHAPES[1:])),
    "ones": (lambda xp: [xp.ones(3), xp.ones((2, 0), dtype=xp.uint16)], [[]]),
    "ones_like": (lambda xp, x: [xp.ones_like(x), xp.ones_like(x, dtype=xp.int8)], _any()),
    "permute_dims": (lambda xp, x: xp.permute_dims(x, tuple(range(x.ndim))[::-1]), _any()),
    "repeat": (lambda xp, x: [xp.repeat(x, 2), xp.repeat(x, xp.asarray([1, 0, 2]), axis=-1)], _any(((3,), (2, 3)))),
    "reshape": (lambda xp, x: [xp.reshape(x, (-1,)), xp.reshape(x, (3, 2), copy=True)], _any([(2, 3)])),
    "result_type": (lambda xp, x: xp.result_type(x, 1) == x.dtype, _any(dtypes=DTYPES[1:])),
    "roll": (lambda xp, x: [xp.roll(x, 1), xp.roll(x, (1, 2), axis=(0, -1)), xp.roll(x, -1, axis=0)], _any(_DEEP)),
    "searchsorted": (
        lambda xp, x, y: (
            [xp.searchsorted(xp.sort(x), y, side=side) for side in ("left", "right")]
            + [xp.searchsorted(x, y, sorter=xp.argsort(x))]
        ),
        _any([(3,)], count=2),
    ),
    "sort": (lambda xp, x: [xp.sort(x), xp.sort(x, axis=0, descending=True)], _any(_DEEP)),
    "squeeze": (lambda xp, x: xp.squeeze(x, 1), _any([(2, 1, 3)])),
    "stack": (lambda xp, x, y: [xp.stack([x, y]), xp.stack((x, y), axis=-1)], _any(count=2)),
    "take": (
        lambda xp, x: [xp.take(x, xp.asarray(_PLACES), axis=0), xp.take(x[0, ...], xp.asarray([-1, 0]))],
        _any([(2, 3)]),
    ),
    "take_along_axis": (lambda xp, x: xp.take_along_axis(x, xp.asarray([[0, 1], [2, -1]])), _any([(2, 3)])),
    "tensordot": (
        lambda xp, x, y: [xp.tensordot(x, y), xp.tensordot(x, y, axes=((0,), (0,)))],
        _any([(2, 3)], count=2),
    ),
    "tile": (lambda xp, x: [xp.tile(x, (2,)), xp.tile(x, (2, 1, 2))], _any()),
    "tril": (lambda xp, x: [xp.tril(x), xp.tril(x, k=-1)], _any(_DEEP)),
    "triu": (lambda xp, x: [xp.triu(x), xp.triu(x, k=1)], _any(_DEEP)),
    "unstack": (lambda xp, x: [xp.unstack(x), xp.unstack(x, axis=-1)], _any(_DEEP)),
    "vecdot": (lambda xp, x, y: [xp.vecdot(x, y), xp.vecdot(x, y, axis=-2)], _any([(3, 3)], count=2)),
    "where": (lambda xp, x, y: [xp.where(x > y, x, y), xp.where(x == y, x, 1)], _any(dtypes=DTYPES[1:11], count=2)),
    "zeros": (lambda xp: [xp.zeros(()), xp.zeros((2, 1), dtype=xp.complex64)], [[]]),
    "zeros_like": (lambda xp, x: xp.zeros_like(x), _any()),
    "linalg.cholesky": (lambda xp, x: [xp.linalg.cholesky(x, upper=flag) for flag in (False, True)], _hermitian()),
    "linalg.cross": (lambda xp, x, y: [xp.linalg.cross(x, y), xp.linalg.cross(x, y, axis=-2)], _any([(3, 3)], count=2)),
    "linalg.det": (lambda xp, x: xp.linalg.det(x), _matrices()),
    "linalg.diagonal": (lambda xp, x: [xp.linalg.diagonal(x), xp.linalg.diagonal(x, offset=1)], _any(_DEEP)),
    "linalg.eigh": (
        lambda xp, x: [(found := xp.linalg.eigh(x)).eigenvalues, _rebuild(xp, found.eigenvectors, found.eigenvalues)],
        _hermitian(),
    ),
    "linalg.eigvalsh": (lambda xp, x: xp.linalg.eigvalsh(x), _hermitian()),
    "linalg.inv": (lambda xp, x: xp.linalg.inv(x), _matrices()),
    "linalg.matmul": (lambda xp, x, y: [xp.linalg.matmul(x, y), xp.matmul(x[..., 0, :], y)], _any([(3, 3)], count=2)),
    "linalg.matrix_norm": (
        lambda xp, x: [
            xp.linalg.matrix_norm(x, ord=each, keepdims=True) for each in ("fro", "nuc", 1, -1, 2, -2, xp.inf)
        ],
        _matrices(),
    ),
    "linalg.matrix_power": (lambda xp, x: [xp.linalg.matrix_power(x, n) for n in (0, 1, 3, -2)], _matrices()),
    "linalg.matrix_rank": (lambda xp, x: [xp.linalg.matrix_rank(x), xp.linalg.matrix_rank(x, rtol=0.9)], _matrices()),
    "linalg.matrix_transpose": (
        lambda xp, x: [xp.linalg.matrix_transpose(x), xp.matrix_transpose(x), x.mT],
        _any(_DEEP),
    ),
    "linalg.outer": (lambda xp, x, y: xp.linalg.outer(x, y), _any([(3,)], count=2)),
    "linalg.pinv": (lambda xp, x: [xp.linalg.pinv(x), xp.linalg.pinv(x, rtol=0.5)], _matrices()),
    "linalg.qr": (
        lambda xp, x: [(found := xp.linalg.qr(x, mode=mode)).Q @ found.R for mode in ("reduced", "complete")],
        _matrices(),
    ),
    "linalg.slogdet": (lambda xp, x: [(found := xp.linalg.slogdet(x)).sign, found.logabsdet], _matrices()),
    "linalg.solve": (
        lambda xp, x: [xp.linalg.solve(x, x[..., :2]), xp.linalg.solve(x, xp.ones(3, dtype=x.dtype))],
        _matrices(),
    ),
    "linalg.svd": (
        lambda xp, x: (
            [(found := xp.linalg.svd(x, full_matrices=flag)).S for flag in (True, False)]
            + [found.U * found.S[..., None, :] @ found.Vh]
        ),
        _matrices(),
    ),
    "linalg.svdvals": (lambda xp, x: xp.linalg.svdvals(x), _matrices()),
    "linalg.tensordot": (lambda xp, x, y: xp.linalg.tensordot(x, y, axes=1), _any([(3, 3)], count=2)),
    "linalg.trace": (lambda xp, x: [xp.linalg.trace(x), xp.linalg.trace(x, offset=-1)], _any(_DEEP)),
    "linalg.vecdot": (lambda xp, x, y: xp.linalg.vecdot(x, y), _any([(3,), (2, 3)], count=2)),
    "linalg.vector_norm": (
        lambda xp, x: (
            [xp.linalg.vector_norm(x, ord=each, axis=-1) for each in (0, 1, 2, 3, xp.inf, -xp.inf)]
            + [xp.linalg.vector_norm(x, keepdims=True)]
        ),
        _any([(3,), (2, 3)]),
    ),
    **{
        f"fft.{name}": (
            lambda xp, x, name=name: [getattr(xp.fft, name)(x), getattr(xp.fft, name)(x, n=4, axis=0, norm="ortho")],
            _any([(4,), (3, 4)], dtypes),
        )
        for name, dtypes in {"fft": _COMPLEX, "ifft": _COMPLEX, "irfft": _COMPLEX, "hfft": _COMPLEX}.items()
    },
    **{
        f"fft.{name}": (
            lambda xp, x, name=name: [getattr(xp.fft, name)(x), getattr(xp.fft, name)(x, n=4, axis=0, norm="forward")],
            _any([(4,), (3, 4)], _FLOATS),
        )
        for name in ("rfft", "ihfft")
    },
    **{
        f"fft.{name}": (
            lambda xp, x, name=name: [getattr(xp.fft, name)(x), getattr(xp.fft, name)(x, s=(2, 3), axes=(0, 1))],
            _any([(3, 4)], _FLOATS if name == "rfftn" else _COMPLEX),
        )
        for name in ("fftn", "ifftn", "irfftn", "rfftn")
    },
    "fft.fftfreq": (lambda xp: [xp.fft.fftfreq(5), xp.fft.fftfreq(4, d=0.5, dtype=xp.float32)], [[]]),
    "fft.rfftfreq": (lambda xp: [xp.fft.rfftfreq(5), xp.fft.rfftfreq(4, d=0.5, dtype=xp.float32)], [[]]),
    "fft.fftshift": (lambda xp, x: [xp.fft.fftshift(x), xp.fft.fftshift(x, axes=0)], _any([(3, 4)])),
    "fft.ifftshift": (lambda xp, x: [xp.fft.ifftshift(x), xp.fft.ifftshift(x, axes=(1,))], _any([(3, 4)])),
}


def _rebuild(xp, vectors, values):
    return (
        vectors * xp.astype(values, vectors.dtype)[..., None, :] @ xp.conj(vectors.mT)
        if "complex" in str(vectors.dtype)
        else (vectors * values[..., None, :] @ vectors.mT)
    )


#: The standard's default dtype is float64 in array-api-strict, and torch's float32 here.
@pytest.fixture(autouse=True)
def _default_dtype():
    torchlike.set_default_dtype(torchlike.float64)
    yield
    torchlike.set_default_dtype(torchlike.float32)


@pytest.mark.parametrize("name", CALLS)
def test_a_function_with_its_own_arguments(name):
    call, inputs = CALLS[name]
    _check(name, call, list(inputs))


#: Tested below, by their own rules.
ELSEWHERE = {"__array_namespace_info__", "can_cast", "finfo", "iinfo", "isdtype"}


def test_every_function_of_the_standard_is_compared():
    functions = {
        f"{space}.{name}" if space else name
        for space, name in NAMES
        if inspect.isfunction(getattr(SPACES[space][0], name))
    }
    tested = {*UNARY, *BINARY, *REDUCTIONS, *CALLS, *ELSEWHERE}
    assert functions - tested == set()


def test_dtypes_answer_as_the_standard_says():
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")
    for name in DTYPES:
        theirs, ours = getattr(array_api_strict, name), getattr(array_api, name)
        assert [array_api.isdtype(ours, kind) for kind in kinds] == [
            array_api_strict.isdtype(theirs, kind) for kind in kinds
        ]
        assert array_api.isdtype(ours, ("bool", "integral")) == array_api_strict.isdtype(theirs, ("bool", "integral"))
        for limits in ("finfo", "iinfo"):
            try:
                expected = getattr(array_api_strict, limits)(theirs)
            except (TypeError, ValueError):
                with pytest.raises(TypeError):
                    getattr(array_api, limits)(ours)
                continue
            found = getattr(array_api, limits)(ours)
            fields = ("bits", "eps", "max", "min", "smallest_normal") if limits == "finfo" else ("bits", "max", "min")
            assert [getattr(found, each) for each in fields] == [getattr(expected, each) for each in fields]
            assert str(found.dtype) in str(expected.dtype)


def test_dtypes_cast_and_promote_as_the_standard_says():
    for first, second in itertools.product(DTYPES, DTYPES):
        try:
            expected = array_api_strict.result_type(*(getattr(array_api_strict, name) for name in (first, second)))
        except TypeError:
            continue
        ours = [getattr(array_api, name) for name in (first, second)]
        assert array_api.result_type(*ours) is getattr(array_api, str(expected).rpartition(".")[2].strip("'>)")), ours
        assert array_api.can_cast(*ours) == array_api_strict.can_cast(
            *(getattr(array_api_strict, name) for name in (first, second))
        )


def test_the_namespace_answers_questions():
    theirs, ours = (module.__array_namespace_info__() for module in (array_api_strict, array_api))
    assert {*ours.capabilities()} == {*theirs.capabilities()}
    for kind in (None, "integral", ("bool", "real floating")):
        assert {*ours.dtypes(kind=kind)} == {*theirs.dtypes(kind=kind)}
    assert {*ours.default_dtypes()} == {*theirs.default_dtypes()}
    assert ours.default_device() in ours.devices()
