"""Names that torch documents little, and that programs import all the same."""

from collections import OrderedDict, defaultdict, deque
from typing import Any, NamedTuple

import pytest

import torchlike
from torchlike.func import functional_call
from torchlike.nn import init
from torchlike.utils import pytree


class Point(NamedTuple):
    x: Any
    y: Any


TREES = [
    3,
    [1, (2, {"b": 3, "a": [4]})],
    Point(1, OrderedDict(z=[2, 3])),
    [deque([1, 2], maxlen=3), defaultdict(list, {"k": 5})],
    (),
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_a_tree_is_put_together_from_its_leaves(tree):
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree) and spec.num_leaves == len(leaves)
    assert pytree.tree_leaves(pytree.tree_map(lambda a, b: a + b, tree, again)) == [2 * leaf for leaf in leaves]


def test_types_are_those_of_annotations():
    assert torchlike.types.Tensor is torchlike.Tensor and "types" in dir(torchlike)


def test_trees_that_do_not_fit_are_refused_and_types_chosen():
    assert pytree.tree_map_only(int, str, [1, 2.0, "a"]) == ["1", 2.0, "a"]
    assert pytree.tree_any(bool, [0, {"k": 1}]) and not pytree.tree_all(bool, [0, {"k": 1}])
    for other, text in (((1,), "Node type mismatch"), ([1, 2], "arity mismatch")):
        with pytest.raises(ValueError, match=text):
            pytree.tree_map(max, [1], other)
    with pytest.raises(ValueError, match="has length 1"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))


def test_a_module_is_called_with_several_dicts():
    layer = torchlike.nn.Linear(2, 1)
    weight, bias = {"weight": torchlike.ones(1, 2)}, {"bias": torchlike.zeros(1)}
    assert functional_call(layer, (weight, bias), torchlike.ones(2)).tolist() == [2.0]
    with pytest.raises(ValueError, match="multiple dictionaries"):
        functional_call(layer, (weight, weight), torchlike.ones(2))
    with pytest.raises(AttributeError, match="no attribute 'functionalise'; did you mean functionalize"):
        torchlike.func.functionalise  # noqa: B018  # asking is the error


def test_fans_are_counted():
    assert init._calculate_fan_in_and_fan_out(torchlike.ones(2, 3, 4)) == (12, 8)
    assert init._calculate_correct_fan(torchlike.ones(2, 3), "FAN_OUT") == 2


def test_conditions_raise_what_they_say():
    torchlike._check(True)
    torchlike._check_tensor_all(torchlike.ones(2) == 1)
    with pytest.raises(AssertionError, match="no"):
        torchlike._assert(False, "no")
    for check, error in ((torchlike._check, RuntimeError), (torchlike._check_index, IndexError)):
        with pytest.raises(error, match="text"):
            check(False, lambda: "text")
        with pytest.raises(TypeError, match="must be a bool"):
            check(1)


def test_older_comparison_warns_and_ignores_dtypes():
    with pytest.warns(FutureWarning, match="deprecated since 1.12"):
        torchlike.testing.assert_allclose(torchlike.ones(2), [1.0, 1.00001])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        torchlike.testing.assert_allclose(torchlike.ones(2).double(), torchlike.ones(2) * 2)
