"""Distinct elements and entries, counts, rows with a one and repeated entries: one number is read from the device."""

import pytest

torchlike = pytest.importorskip("torchlike", reason="programs are torch's")

F = torchlike.nn.functional
pytestmark = pytest.mark.usefixtures("npu")

DTYPES = ["int64", "int32", "uint8", "int8", "bool", "float32", "float16"]


def draw(shape, dtype="int64", most=4, seed=5):
    torchlike.manual_seed(seed)
    return torchlike.randint(0, most, shape).to(getattr(torchlike, dtype))


def strides(x):
    """Return the strides that elements show."""
    return [stride for size, stride in zip(x.shape, x.stride(), strict=True) if size > 1] if x.numel() else []


def assert_like(found, expected):
    if isinstance(expected, (tuple, list)):
        for one, other in zip(found, expected, strict=True):
            assert_like(one, other)
        return
    assert (found.shape, found.dtype, strides(found)) == (expected.shape, expected.dtype, strides(expected))
    assert found.tolist() == expected.tolist()


def operators(simulator):
    """Return the functions that ran."""
    return [name for name in simulator.log() if name.startswith("aclnn") and not name.endswith("WorkspaceSize")]


def views(x):
    """Return arrays of several layouts and sizes."""
    return [x, x.transpose(0, 1), x[:, 1:], x[0, :1], x[:1], x.expand(2, *x.shape).transpose(0, 1), x[0, 0, 0], x[:0]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("counts", [False, True])
def test_distinct_elements(dtype, inverse, counts, host_calls):
    for x in views(draw((3, 4, 2), dtype)):
        for find in (torchlike.unique, torchlike.unique_consecutive):
            options = {"return_inverse": inverse, "return_counts": counts}
            assert_like(find(x.to("npu"), **options), find(x, **options))
    assert not host_calls()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_distinct_entries(dtype, dim, host_calls):
    x = draw((5, 3, 4), dtype, 2)
    for each in (x, x[:, :, :1], x[:, :1], x.transpose(0, 2), x[:1, :1, :1]):
        for find in (torchlike.unique, torchlike.unique_consecutive):
            options = {"return_inverse": True, "return_counts": True, "dim": dim}
            assert_like(find(each.to("npu"), **options), find(each, **options))
            assert_like(find(each.to("npu"), dim=dim), find(each, dim=dim))
    assert not host_calls()


def test_distinct_entries_of_nothing_are_refused():
    for find in (torchlike.unique, torchlike.unique_consecutive):
        with pytest.raises(RuntimeError, match="0 sized dimensions"):
            find(torchlike.zeros(2, 0, dtype=torchlike.int64, device="npu"), dim=0)
        with pytest.raises((RuntimeError, IndexError), match="out of range"):
            find(torchlike.zeros(2, 2, dtype=torchlike.int64, device="npu"), dim=2)


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline refuses it where it ends")
def test_distinct_integers_are_found_by_the_functions(simulator):
    x = draw((3, 4)).to("npu")
    for call, function in (
        (x.unique, "aclnnUnique2"),
        (x.unique_consecutive, "aclnnUniqueConsecutive"),
        (lambda: x.unique(dim=1), "aclnnUniqueDim"),
        (lambda: x.flatten().bincount(), "aclnnBincount"),
        (lambda: F.one_hot(x), "aclnnOneHot"),
        (lambda: torchlike.repeat_interleave(x.flatten()), "aclnnRepeatInterleaveTensor"),
    ):
        simulator.reset()
        call()
        assert function in operators(simulator)


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="looks into the pools of calls")
def test_a_function_that_sets_the_size_of_its_result_gets_new_descriptors():
    from dispatch_backend_npu.aclnn import launch, table

    x = draw((3, 4)).to("npu")
    x.unique(dim=0), x.unique(), x.unique_consecutive(), x.masked_select(x > 0)
    names = {}
    for key, template in launch._templates.items():
        names.setdefault(key[0], []).append(len(template.pool))
    assert all(not any(names[function]) for function in table.RESIZING)
    assert any(names["aclnnMax"])


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "int8", "int16"])
def test_counts_of_integers(dtype):
    x = draw((12,), dtype)
    for each in (x, x[::2], x[:1], x[:0], x.reshape(3, 4).t()[1]):
        for minlength in (0, 2, 9):
            assert_like(each.to("npu").bincount(minlength=minlength), each.bincount(minlength=minlength))
            for weights in ("float32", "float64", "float16", "int64", "bool"):
                numbers = (torchlike.arange(each.numel()) / 4).to(getattr(torchlike, weights))
                expected = each.bincount(numbers, minlength=minlength)
                assert_like(each.to("npu").bincount(numbers.to("npu"), minlength=minlength), expected)


def test_counts_that_are_refused():
    x = torchlike.tensor([1, -2], device="npu")
    with pytest.raises(RuntimeError, match="non-negative"):
        x.bincount()
    with pytest.raises(RuntimeError, match="1-d"):
        x.reshape(1, 2).bincount()
    with pytest.raises(RuntimeError, match="length"):
        x.abs().bincount(torchlike.ones(3, device="npu"))


def test_rows_with_a_one(host_calls):
    x = draw((2, 3))
    for each in (x, x.t(), x[0], x[1, 1], x[:, 1:]):
        for classes in (-1, 4, 7):
            assert_like(F.one_hot(each.to("npu"), classes), F.one_hot(each, classes))
    assert_like(F.one_hot(x[:0].to("npu"), 3), F.one_hot(x[:0], 3))
    assert not host_calls()


def test_rows_with_a_one_that_are_refused():
    x = torchlike.tensor([1, -2], device="npu")
    with pytest.raises(RuntimeError, match="non-negative"):
        F.one_hot(x)
    with pytest.raises(RuntimeError, match="LongTensor"):
        F.one_hot(x.int(), 3)
    with pytest.raises(RuntimeError, match="empty tensor"):
        F.one_hot(x[:0])
    # As torch's devices, where the number of classes is given no element is looked at.
    assert F.one_hot(x, 1).tolist() == [[0], [0]]


def test_rows_of_a_known_number_of_classes_wait_for_nothing(simulator):
    x = draw((2, 3)).to("npu")
    F.one_hot(x, 4)
    simulator.reset()
    F.one_hot(x, 4)
    assert not [name for name in simulator.log() if "Synchronize" in name or "Memcpy" in name]


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_places_as_often_as_they_are_repeated(dtype):
    repeats = draw((6,), dtype)
    for each in (repeats, repeats[::2], repeats * 0, repeats[:0]):
        assert_like(torchlike.repeat_interleave(each.to("npu")), torchlike.repeat_interleave(each))
        size = int(each.sum())
        found = torchlike.repeat_interleave(each.to("npu"), output_size=size)
        assert_like(found, torchlike.repeat_interleave(each, output_size=size))
    with pytest.raises(RuntimeError, match="negative"):
        torchlike.repeat_interleave((repeats - 3).to("npu"))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "int8", "bool"])
def test_repeated_entries(dtype):
    x = draw((3, 4, 2), dtype)
    for dim, times in ((0, [2, 0, 1]), (1, [1, 2, 3, 0]), (-1, [3]), (None, [1] * 20 + [0, 2, 1, 0]), (0, [0, 0, 0])):
        repeats = torchlike.tensor(times)
        for each in (x, x.transpose(0, 1).contiguous().transpose(0, 1)):
            expected = each.repeat_interleave(repeats, dim)
            assert_like(each.to("npu").repeat_interleave(repeats.to("npu"), dim), expected)
            size = expected.shape[dim or 0]
            found = each.to("npu").repeat_interleave(repeats.to("npu"), dim, output_size=size)
            assert_like(found, expected)
    assert_like(
        x[0, 0, 0].to("npu").repeat_interleave(torchlike.tensor(3, device="npu")),
        x[0, 0, 0].repeat_interleave(torchlike.tensor(3)),
    )
    with pytest.raises(RuntimeError, match="negative"):
        x.to("npu").repeat_interleave(torchlike.tensor([1, -1, 2], device="npu"), 0)
    with pytest.raises(RuntimeError, match="same size"):
        x.to("npu").repeat_interleave(torchlike.tensor([1, 2], device="npu"), 0)


def test_repeated_entries_have_gradients():
    x = torchlike.arange(6.0, device="npu").reshape(3, 2).requires_grad_()
    y = x.repeat_interleave(torchlike.tensor([2, 0, 3], device="npu"), 0)
    assert torchlike.autograd.grad(y.sum(), x)[0].tolist() == [[2, 2], [0, 0], [3, 3]]
