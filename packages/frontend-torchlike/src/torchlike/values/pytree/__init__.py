"""Containers in containers as trees: their leaves in order, and a spec that puts others in their place.

Source: ``torch.utils._pytree``.

>>> leaves, spec = tree_flatten({"a": [1, 2], "b": (3,)})
>>> leaves, tree_unflatten([x * 2 for x in leaves], spec)
([1, 2, 3], {'a': [2, 4], 'b': (6,)})
"""

from __future__ import annotations

__name__ = "torchlike.utils.pytree"  # see Note [Public paths]

# What the annotations of its classes name, besides its own.
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from .builtin_nodes import (
    BUILTIN_TYPES,
    STANDARD_DICT_TYPES,
    _defaultdict_deserialize,
    _defaultdict_flatten,
    _defaultdict_flatten_with_keys,
    _defaultdict_serialize,
    _defaultdict_unflatten,
    _deque_flatten,
    _deque_flatten_with_keys,
    _deque_unflatten,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _namedtuple_deserialize,
    _namedtuple_flatten,
    _namedtuple_flatten_with_keys,
    _namedtuple_serialize,
    _namedtuple_unflatten,
    _odict_flatten,
    _odict_unflatten,
    _ordereddict_flatten,
    _ordereddict_flatten_with_keys,
    _ordereddict_unflatten,
    _register_namedtuple,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
)
from .key_paths import (
    _generate_key_paths,
    key_get,
    keystr,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
)
from .keys import GetAttrKey, KeyEntry, KeyPath, MappingKey, SequenceKey
from .kinds import (
    _get_node_type,
    _is_namedtuple_instance,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
)
from .registry import (
    CONSTANT_NODES,
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    ConstantNode,
    Context,
    DumpableContext,
    FlattenFn,
    FlattenFunc,
    FlattenWithKeysFn,
    FlattenWithKeysFunc,
    FromDumpableContextFn,
    NodeDef,
    PyTree,
    ToDumpableContextFn,
    UnflattenFn,
    UnflattenFunc,
    _deregister_pytree_node,
    _private_register_pytree_node,
    _register_pytree_node,
    is_constant_class,
    register_constant,
    register_dataclass,
    register_pytree_node,
)
from .specs import (
    _LEAF_SPEC,
    LeafSpec,
    PyTreeSpec,
    TreeSpec,
    _is_constant_holder,
    _is_pytreespec_instance,
    _retrieve_constant,
    treespec_dict,
    treespec_leaf,
    treespec_tuple,
)
from .text import (
    DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL,
    EnumEncoder,
    enum_object_hook,
    pytree_to_str,
    str_to_pytree,
    treespec_dumps,
    treespec_loads,
    treespec_pprint,
)
from .walks import (
    _broadcast_to_and_flatten,
    _is_leaf,
    arg_tree_leaves,
    map_only,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_flatten,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_structure,
    tree_unflatten,
)

__all__ = [
    "ConstantNode",
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

#: torch's C++ trees need the library optree, and are not there.
_cxx_pytree_exists = _cxx_pytree_imported = _cxx_pytree_dynamo_traceable = False
# Pickles and texts name the public path.
for _each in (ConstantNode, GetAttrKey, LeafSpec, MappingKey, NodeDef, SequenceKey, TreeSpec):
    _each.__module__ = __name__
del _each
