"""Trees of containers beside torch's: leaves, specs, paths, texts and errors."""

import copy
import enum
import json
import pickle
import warnings
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import pytest

import torchlike
from torchlike.utils import pytree as ours

torch = pytest.importorskip("torch", reason="parity needs torch")
theirs = pytest.importorskip("torch.utils._pytree")

BOTH = ours, theirs


class Point(NamedTuple):
    x: object
    y: object


class Other(NamedTuple):
    x: object
    y: object


class Color(enum.Enum):
    RED = 1


@dataclass
class Pair:
    first: object
    second: object = None


@dataclass(frozen=True)
class Norm:
    name: str


class Box:
    def __init__(self, *items):
        self.items = items


TREES = {
    "leaf": 3,
    "none": None,
    "list": [1, 2],
    "empty": ((), [], {}),
    "nested": [1, (2, {"b": 3, "a": [4, None]})],
    "named": Point(1, [Point(2, 3)]),
    "ordered": OrderedDict([("z", 1), ("a", (2, 3))]),
    "default": defaultdict(list, {"k": [1], "b": 2}),
    "deque": deque([1, {"a": 2}], maxlen=3),
    "keys": {2.5: 1, 3: 2, "a": 3},
    "string": ["ab", b"c", {1, 2}],
    "class": [int, Point],
}


@pytest.fixture(autouse=True, scope="module")
def _registered():
    for module in BOTH:
        module.register_dataclass(Pair, serialized_type_name="tests.Pair")
        module.register_constant(Norm)
        module.register_pytree_node(Box, lambda box: (list(box.items), len(box.items)), lambda items, _: Box(*items))
    yield
    for each in (Pair, Norm, Box):
        ours._deregister_pytree_node(each)


def outcome(function, *args, **kwargs):
    """Return a call's result, or the class and text of its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  # the class is compared
            found = type(error).__name__, str(error)
    return found, [each.category for each in caught]


def compare(name, *args, **kwargs):
    results = [outcome(getattr(module, name), *args, **kwargs) for module in BOTH]
    assert repr(results[0]) == repr(results[1])
    return results[0][0]


MORE = {**TREES, "dataclass": Pair(1), "pairs": [Pair(1, Pair(2, 3))], "constant": [Norm("l2"), 1], "box": Box(1, [2])}


@pytest.mark.parametrize("tree", MORE.values(), ids=MORE)
def test_leaves_specs_and_paths(tree):
    for name in ("tree_leaves", "tree_structure", "tree_is_leaf", "tree_flatten"):
        compare(name, tree)
    for name in ("tree_leaves_with_path", "tree_flatten_with_path"):
        compare(name, tree)
    compare("tree_flatten", tree, is_leaf=lambda part: isinstance(part, (dict, Point)))
    compare("tree_leaves_with_path", tree, is_leaf=lambda part: isinstance(part, (dict, Point)))
    if not isinstance(tree, Box):
        pairs = [module.tree_leaves_with_path(tree) for module in BOTH]
        texts = [[module.keystr(path) for path, _ in found] for module, found in zip(BOTH, pairs, strict=True)]
        assert texts[0] == texts[1]
        assert all(ours.key_get(tree, path) is leaf for path, leaf in pairs[0])


@pytest.mark.parametrize("tree", MORE.values(), ids=MORE)
def test_specs_count_compare_and_become_text(tree):
    specs = [module.tree_structure(tree) for module in BOTH]
    facts = [
        (
            spec.num_nodes,
            spec.num_leaves,
            spec.num_children,
            spec.is_leaf(),
            spec.type,
            spec.context,
            len(spec.children()),
        )
        for spec in specs
    ]
    assert repr(facts[0]) == repr(facts[1])
    for module, spec in zip(BOTH, specs, strict=True):
        assert spec == module.tree_structure(tree) and hash(spec) == hash(module.tree_structure(tree))
    assert copy.deepcopy(specs[0]) == specs[0] and pickle.loads(pickle.dumps(specs[0])) == specs[0]
    texts = [outcome(module.treespec_dumps, spec)[0] for module, spec in zip(BOTH, specs, strict=True)]
    assert type(texts[0]) is type(texts[1])
    if isinstance(texts[0], str):
        assert json.loads(texts[0]) == json.loads(texts[1])
        assert ours.treespec_loads(texts[1]) == specs[0] and theirs.treespec_loads(texts[0]) == specs[1]
    else:
        assert texts[0][0] == texts[1][0]
    assert ours.treespec_pprint(specs[0]) == theirs.treespec_pprint(specs[1]) or isinstance(tree, Box)


OTHERS = {
    **TREES,
    "longer": [1, 2, 3],
    "reordered": OrderedDict([("a", (2, 3)), ("z", 1)]),
    "plain": {"z": 1, "a": (2, 3)},
    "fewer": {"z": 1},
    "short deque": deque([1, {"a": 2}], maxlen=2),
    "other named": Other(1, [Point(2, 3)]),
    "bigger box": Box(1, [2], 3),
    "norm": [Norm("l1"), 1],
}


@pytest.mark.parametrize("tree", MORE.values(), ids=MORE)
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_trees_that_do_not_fit_are_the_same_errors(tree, other):
    results = [outcome(module.tree_map, lambda a, b: (a, b), tree, other)[0] for module in BOTH]
    if isinstance(results[0], Box):
        results = [each.items for each in results]
    assert repr(results[0]) == repr(results[1])


def test_broadcast_trees():
    for tree, whole in [(0, [1, (2, 3)]), ([0, 1], [1, (2, 3)]), ([0], [1, 2]), ((None, 1), ({"a": 1}, 2))]:
        found = [module._broadcast_to_and_flatten(tree, module.tree_structure(whole)) for module in BOTH]
        assert found[0] == found[1]


def test_functions_of_some_leaves():
    tree = [1, 2.0, ("a", {"b": 3})]
    for kinds in (int, (int, str), int | float, lambda leaf: leaf == 1):
        compare("tree_map_only", kinds, str, tree)
        if not callable(kinds) or kinds is int:
            compare("tree_all_only", kinds, bool, tree)
            compare("tree_any_only", kinds, bool, tree)
    assert compare("tree_map_only", 3, str, tree)[0] == "TypeError"
    compare("arg_tree_leaves", tree, a=tree)
    seen = [[], []]
    for module, into in zip(BOTH, seen, strict=True):
        assert module.tree_map_only_(int, into.append, tree) is tree
        assert module.tree_map_with_path(lambda path, *leaves: (len(path), leaves), tree, tree)[0] == (1, (1, 1))
    assert seen[0] == seen[1] == [1, 3]


def test_specs_made_by_hand():
    specs = []
    for module in BOTH:
        leaf = module.treespec_leaf()
        specs.append(module.treespec_dict({"a": leaf}, b=module.treespec_tuple([leaf])))
        assert specs[-1] == module.tree_structure({"a": 1, "b": (2,)})
        with pytest.warns(FutureWarning, match="LeafSpec"):
            assert module.LeafSpec() == leaf
        assert isinstance(leaf, module.LeafSpec) and issubclass(module.LeafSpec, module.TreeSpec)
        with pytest.warns(FutureWarning, match="children_specs"):
            assert len(specs[-1].children_specs) == 2
        assert specs[-1].child(0) is leaf
    assert repr(specs[0]) == repr(specs[1])
    for name, value in (("treespec_tuple", [1]), ("treespec_dict", {"a": 1})):
        assert compare(name, value)[0] == "ValueError"


def test_wrong_leaves_and_specs_are_the_same_errors():
    for leaves in ([], [1, 2, 3], iter([1])):
        kept = list(leaves)
        results = [outcome(module.tree_unflatten, kept, module.tree_structure([1, 2]))[0] for module in BOTH]
        assert results[0] == results[1] and results[0][0] == "ValueError"
    assert compare("tree_unflatten", [1], [2])[0] == "TypeError"
    assert compare("treespec_dumps", 3)[0] == "TypeError"
    assert [module.tree_unflatten(module.tree_structure([1]), [2]) for module in BOTH] == [[2], [2]]
    results = [outcome(module.treespec_dumps, module.tree_structure([1]), -1)[0] for module in BOTH]
    assert results[0] == results[1]


def test_registrations():
    assert compare("register_pytree_node", list, list, list)[0] == "ValueError"
    assert compare("register_constant", Box)[0] == "TypeError"
    assert compare("register_dataclass", Box)[0] == "ValueError"
    for names in (["first"], ["first", "second", "third"]):
        texts = [outcome(module.register_dataclass, Pair, field_names=names)[0] for module in BOTH]
        assert texts[0][0] == texts[1][0] == "ValueError"

    class Former:
        def __init__(self, item):
            self.item = item

    for module in BOTH:
        with pytest.warns(FutureWarning, match="register_pytree_node"):
            module._register_pytree_node(Former, lambda value: ([value.item], None), lambda items, _: Former(*items))
        assert module.tree_leaves(Former([1, 2])) == [1, 2]
        with pytest.raises(ValueError, match="flatten_with_keys_fn"):
            module.tree_flatten_with_path(Former(1))
        with pytest.raises(ValueError, match="None or registered"):
            module.register_pytree_node(set, list, set, to_dumpable_context=str)
        with pytest.warns(UserWarning, match="already registered"):
            module._private_register_pytree_node(Former, lambda value: ([], 1), lambda items, _: Former(None))
    ours._deregister_pytree_node(Former)
    assert ours.tree_is_leaf(Former(1))


def test_names_of_enumerations_and_factories_stand_in_texts():
    class Keeper(dict):
        pass

    for module in BOTH:
        module.register_pytree_node(
            Keeper,
            lambda value: (list(value.values()), list(value)),
            lambda items, keys: None,
            serialized_type_name="K",
        )
    specs = [module.tree_structure([Keeper({Color.RED: 1}), defaultdict(list, {"a": 2})]) for module in BOTH]
    texts = [module.treespec_dumps(spec) for module, spec in zip(BOTH, specs, strict=True)]
    assert json.loads(texts[0]) == json.loads(texts[1])
    assert ours.treespec_loads(texts[1].replace(__name__, Color.__module__)) == specs[0]
    for module in BOTH:
        module._deregister_pytree_node(Keeper)


def test_a_spec_in_text_imports_nothing():
    with pytest.raises(NotImplementedError, match="import antigravity before"):
        ours.enum_object_hook({"__enum__": True, "fqn": "antigravity:Color", "name": "RED"})
    with pytest.raises(NotImplementedError, match="not an enumeration"):
        ours.enum_object_hook({"__enum__": True, "fqn": "json:JSONEncoder", "name": "RED"})


def test_named_results_and_sizes_are_containers():
    results = []
    for library, module in zip((torchlike, torch), BOTH, strict=True):
        found = library.max(library.ones(2, 2), 0)
        leaves, spec = module.tree_flatten(found)
        again = module.tree_unflatten(leaves, spec)
        assert type(again) is type(found) and again.values is found.values
        size = module.tree_flatten(library.Size([2, 3]))
        results.append((repr(spec), size[0], repr(size[1]), module.tree_map(lambda n: n + 1, library.Size([2, 3]))))
        results[-1] += module.is_structseq(found), module.is_namedtuple(found), module.is_structseq_class(type(found))
    assert results[0] == results[1]


def test_all_of_torchs_names_are_there():
    absent = {"structseq", "log", "_TorchVersion", "_optree_minimum_version", "_optree_version", "_NODE_REGISTRY_LOCK"}
    own = {
        name
        for name, value in vars(theirs).items()
        if getattr(value, "__module__", "").startswith("torch.utils") and not isinstance(value, TypeVar)
    }
    absent |= {"_ProtocolFn", "_SerializeNodeDef", "_TreeSpecSchema", "_treespec_to_json", "_json_to_treespec"}
    assert own - {*dir(ours)} <= absent | {"_ensure_python_treespec_instance", "_asterisk"}
    assert set(theirs.__all__) - {*ours.__all__} == set()
