"""Functions on lists of tensors."""

import pytest

import torchlike


@pytest.fixture
def two():
    return [torchlike.tensor([1.0, 4.0]), torchlike.tensor(9.0)]


def as_lists(tensors):
    return [each.tolist() for each in tensors]


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("sqrt", (), [[1, 2], 3]),
        ("add", (1,), [[2, 5], 10]),
        ("mul", ([1, 2],), [[1, 4], 18]),
        ("sub", (torchlike.tensor(1.0),), [[0, 3], 8]),
        ("maximum", (4.0,), [[4, 4], 9]),
        ("clamp_max", ([2, 3],), [[1, 2], 3]),
        ("lerp", ([torchlike.zeros(2), torchlike.ones(())], 0.5), [[0.5, 2], 5]),
        (
            "addcmul",
            ([torchlike.ones(2)] * 2, [torchlike.ones(2)[0]] * 2, torchlike.tensor([1.0, 2.0])),
            [[2, 5], [11, 11]],
        ),
    ],
)
def test_each_tensor_is_computed_by_itself(two, name, args, expected):
    found = getattr(torchlike, f"_foreach_{name}")(two, *args)
    assert isinstance(found, tuple) and as_lists(found) == expected and as_lists(two) == [[1, 4], 9]
    if name != "addcmul":
        assert getattr(torchlike, f"_foreach_{name}_")(two, *args) is two and as_lists(two) == expected


def test_norms_powers_and_copies(two):
    assert as_lists(torchlike._foreach_norm(two, 1)) == [5, 9]
    assert as_lists(torchlike._foreach_pow(2.0, two)) == [[2, 16], 512]
    torchlike._foreach_copy_(two, torchlike._foreach_add(two, two, alpha=2))
    assert as_lists(two) == [[3, 12], 27]
    torchlike._foreach_zero_(two)
    assert as_lists(two) == [[0, 0], 0]


def test_lists_that_do_not_fit_are_refused(two):
    with pytest.raises(RuntimeError, match="must have at least one tensor"):
        torchlike._foreach_abs([])
    with pytest.raises(RuntimeError, match="the same number of tensors, got 2 and 1"):
        torchlike._foreach_add(two, two[:1])
    with pytest.raises(RuntimeError, match="same number of elements as scalar list"):
        torchlike._foreach_add_(two, [1, 2, 3])
    for args, given in (((1,), {"alpha": 2}), ((1, 2), {}), ((), {}), ((1,), {"other": 2})):
        with pytest.raises(TypeError, match="invalid combination of arguments"):
            torchlike._foreach_add(two, *args, **given)
    with pytest.raises(AttributeError):
        torchlike._foreach_relu  # noqa: B018  # asking is the error
