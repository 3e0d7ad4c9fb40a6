"""Trees of containers: registration, paths and specs as text."""

import copy
import pickle
from dataclasses import dataclass

import pytest

import torchlike
from torchlike.utils import pytree


@dataclass
class Pair:
    first: object
    second: object = None


@pytest.fixture
def pair():
    pytree.register_dataclass(Pair, serialized_type_name="tests.trees.Pair")
    yield Pair
    pytree._deregister_pytree_node(Pair)


def test_paths_lead_to_the_leaves_of_registered_classes(pair):
    tree = {"a": [1, pair(2)], "b": torchlike.max(torchlike.ones(1, 1), 0)}
    pairs, spec = pytree.tree_flatten_with_path(tree)
    assert [pytree.keystr(path) for path, _ in pairs] == ["['a'][0]", "['a'][1].first", "['b'][0]", "['b'][1]"]
    assert all(pytree.key_get(tree, path) is leaf for path, leaf in pairs)
    assert spec == pytree.tree_structure(tree) and spec.child(0).child(1).type is pair


def test_a_spec_is_copied_pickled_and_written_as_text(pair):
    spec = pytree.tree_structure([pair(1, (2,)), None])
    for again in (
        copy.deepcopy(spec),
        pickle.loads(pickle.dumps(spec)),
        pytree.treespec_loads(pytree.treespec_dumps(spec)),
    ):
        assert again == spec and hash(again) == hash(spec) and again.unflatten([1, 2, None]) == [pair(1, (2,)), None]
    assert pytree.TreeSpec.__module__ == "torchlike.utils.pytree"


def test_a_class_without_keys_has_leaves_and_no_paths():
    class Box:
        def __init__(self):
            self.item = [1, 2]

    pytree.register_pytree_node(Box, lambda box: ([box.item], None), lambda items, _: Box())
    assert pytree.tree_leaves(Box()) == [1, 2]
    with pytest.raises(ValueError, match="Please pass a flatten_with_keys_fn"):
        pytree.tree_map_with_path(print, Box())
    with pytest.raises(NotImplementedError, match="No registered serialization name"):
        pytree.treespec_dumps(pytree.tree_structure(Box()))
    pytree._deregister_pytree_node(Box)
    assert pytree.tree_is_leaf(Box())


def test_containers_of_graphs_have_paths():
    from torchlike.fx.immutable_collections import immutable_dict, immutable_list

    tree = immutable_list([1, immutable_dict({"a": 2})])
    pairs, spec = pytree.tree_flatten_with_path(tree)
    assert [(pytree.keystr(path), leaf) for path, leaf in pairs] == [("[0]", 1), ("[1]['a']", 2)]
    assert spec == pytree.tree_structure(tree)
