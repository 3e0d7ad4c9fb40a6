"""Random programs on modules and containers, step by step beside torch: names, order, state, hooks, texts, errors."""

import re
import warnings
from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

NAMES = ["a", "b", "w", "weight", "0", "1", "2", "plain", "forward", "training", "x.y", "", 3]
PATHS = ["", "a", "a.b", "0", "1.w", "a.weight", "b.0.a", "missing", "a."]


def classes(t):
    """Make the same module classes in both libraries."""

    class Layer(t.nn.Module):
        def __init__(self, value):
            super().__init__()
            self.weight = t.nn.Parameter(t.full((2,), float(value)))
            self.register_buffer("scratch", t.full((1,), float(value)), persistent=False)
            self.register_buffer("seen", t.tensor(value))

        def forward(self, x):
            return x * self.weight

        def extra_repr(self):
            return "one\ntwo" if getattr(self, "training", None) is True else "one"

    class Extra(Layer):
        def get_extra_state(self):
            return self.weight.detach() + 1

        def set_extra_state(self, state):
            self.state = state

    class Own(Layer):
        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "renamed"] = destination.pop(prefix + "weight", None)

        def _load_from_state_dict(self, state_dict, prefix, *rest):
            if prefix + "renamed" in state_dict:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "renamed")
            super()._load_from_state_dict(state_dict, prefix, *rest)

    class Versioned(Layer):
        _version = 2

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            if local_metadata.get("version") == 2:
                state_dict[prefix + "seen"] = state_dict[prefix + "seen"] * 2
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    return Layer, Extra, Own, Versioned


class World:
    """One library's modules, and the results of the steps."""

    def __init__(self, t):
        self.t, self.nn = t, t.nn
        self.count = 0
        self.classes = classes(t)
        self.log = []
        self.calls = []
        self.states = []
        self.modules = [
            t.nn.Module(),
            t.nn.Sequential(self.layer(0), t.nn.ReLU(), self.layer(1)),
            t.nn.ModuleList([self.layer(0), self.layer(2)]),
            t.nn.ModuleDict({"a": self.layer(3), "b": t.nn.Identity()}),
            self.layer(1),
            t.nn.Sequential(OrderedDict(a=self.layer(0), w=t.nn.Tanh())),
        ]

    def layer(self, kind):
        self.count += 1
        return self.classes[kind % 4](self.count)

    def value(self, kind):
        self.count += 1
        t = self.t
        return [
            lambda: t.nn.Parameter(t.full((2,), float(self.count))),
            lambda: t.full((2,), float(self.count)),
            lambda: self.layer(kind),
            lambda: None,
            lambda: self.count,
            lambda: self.modules[kind % len(self.modules)],
            t.nn.ReLU,
            lambda: next(iter(self.modules[kind % len(self.modules)].parameters()), None),
        ][kind % 8]()

    def hook(self, kind, what):
        def hook(*args):
            self.calls.append((kind, [arg for arg in args if isinstance(arg, str)]))
            if what == "state":
                args[1][args[2] + "hooked"] = self.t.tensor(1.0)
            elif what == "load":
                args[1].pop(args[2] + "hooked", None)
            elif what == "loaded" and kind % 2:
                args[1].missing_keys.clear()

        return hook

    def safe(self, parent, child):
        """Keep modules from holding themselves."""
        return not isinstance(child, self.nn.Module) or parent not in set(child.modules())

    def step(self, kind, which, a, b):
        module = self.modules[which % len(self.modules)]
        name, value = NAMES[a % len(NAMES)], self.value(b)
        if not self.safe(module, value):
            return "left out"
        found = getattr(self, f"do_{kind}")(module, name, value, a, b)
        if isinstance(found, self.nn.Module) and found not in self.modules and len(self.modules) < 14:
            self.modules.append(found)
        return type(found).__name__ if isinstance(found, self.nn.Module) else found

    def do_setattr(self, module, name, value, a, b):
        setattr(module, name, value)

    def do_delattr(self, module, name, value, a, b):
        delattr(module, name)

    def do_parameter(self, module, name, value, a, b):
        module.register_parameter(name, value)

    def do_buffer(self, module, name, value, a, b):
        module.register_buffer(name, value, persistent=bool(a % 3))

    def do_module(self, module, name, value, a, b):
        (module.add_module if a % 2 else module.register_module)(name, value)

    def do_submodule(self, module, name, value, a, b):
        module.set_submodule(PATHS[a % len(PATHS)], value, strict=bool(b % 2))

    def do_find(self, module, name, value, a, b):
        path = PATHS[a % len(PATHS)]
        find = (module.get_submodule, module.get_parameter, module.get_buffer)[b % 3]
        found = find(path)
        return type(found).__name__

    def do_item(self, module, name, value, a, b):
        return module[name if isinstance(module, self.nn.ModuleDict) else a % 7 - 3]

    def do_slice(self, module, name, value, a, b):
        return module[a % 5 - 2 : b % 6 : (1, 2, -1)[a % 3]]

    def do_setitem(self, module, name, value, a, b):
        module[name if isinstance(module, self.nn.ModuleDict) else a % 7 - 3] = value

    def do_delitem(self, module, name, value, a, b):
        if isinstance(module, self.nn.ModuleList) and not self.is_numbered(module):
            return
        if isinstance(module, self.nn.ModuleDict):
            del module[name]
        elif b % 2:
            del module[a % 7 - 3]
        else:
            del module[a % 3 : b % 4]

    def is_numbered(self, module):
        """Return whether no number is missing: there torch's containers fail half way, and ours change nothing."""
        return list(module._modules) == [str(place) for place in range(len(module._modules))]

    def do_insert(self, module, name, value, a, b):
        if not self.is_numbered(module):
            return
        index = a % 7 - 3
        if isinstance(value, self.nn.Module) and not (isinstance(module, self.nn.ModuleList) and index < 0):
            module.insert(index, value)

    def do_append(self, module, name, value, a, b):
        module.append(value)

    def do_extend(self, module, name, value, a, b):
        module.extend([value, self.layer(a)])

    def do_pop(self, module, name, value, a, b):
        return module.pop(name if isinstance(module, self.nn.ModuleDict) else a % 7 - 3)

    def do_update(self, module, name, value, a, b):
        pairs = [(name, value), ("b", self.layer(a))]
        module.update([pairs, dict(pairs), 3, [1], ["abc"]][b % 5])

    def do_combine(self, module, name, value, a, b):
        if value is module:
            return None
        if a % 3 == 0:
            return module + value
        if a % 3 == 1:
            return module * (b % 4)
        module += value
        return None

    def do_train(self, module, name, value, a, b):
        if a % 3:
            module.train((True, False, 1)[b % 3])
        else:
            module.eval()

    def do_apply(self, module, name, value, a, b):
        seen = []
        module.apply(lambda each: seen.append(type(each).__name__))
        return seen

    def do_requires_grad(self, module, name, value, a, b):
        module.requires_grad_(bool(a % 2))

    def do_to(self, module, name, value, a, b):
        t = self.t
        arguments = [
            (t.float64,),
            (t.float32,),
            (t.int64,),
            ("cpu",),
            ("cpu", t.float64),
            (t.ones(1, dtype=t.float64),),
        ]
        if a % 4:
            module.to(*arguments[b % 6])
        else:
            (module.double, module.float, module.half)[b % 3]()

    def do_hook(self, module, name, value, a, b):
        (
            lambda: module.register_state_dict_pre_hook(self.hook(b, "")),
            lambda: module.register_state_dict_post_hook(self.hook(b, "state")),
            lambda: module._register_state_dict_hook(self.hook(b, "state")),
            lambda: module.register_load_state_dict_pre_hook(self.hook(b, "load")),
            lambda: module._register_load_state_dict_pre_hook(self.hook(b, ""), with_module=bool(b % 2)),
            lambda: module.register_load_state_dict_post_hook(self.hook(b, "loaded")),
        )[a % 6]()

    def do_save(self, module, name, value, a, b):
        state = module.state_dict(prefix=("", "p.")[a % 2], keep_vars=bool(b % 2))
        self.states.append(state)
        return list(state._metadata.items())

    def do_load(self, module, name, value, a, b):
        state = self.states[a % len(self.states)] if self.states else module.state_dict()
        metadata = state._metadata
        state = OrderedDict((key, value) for key, value in state.items())
        state._metadata = OrderedDict((key, dict(value)) for key, value in metadata.items())
        if b % 5 == 1:
            state.popitem()
        elif b % 5 == 2:
            state[str(name)] = self.t.ones(3)
        elif b % 5 == 3 and state:
            state[next(iter(state))] = (3, None, self.t.ones(5))[a % 3]
        saved = [(each, each.detach().clone()) for each in self.tensors()]
        try:
            found = module.load_state_dict(state, strict=bool(a % 2))
        except Exception:
            # torch has loaded a part; ours none of it, unless a module of the tree loads in a way of its own.
            with self.t.no_grad():
                for each, before in saved:
                    each.copy_(before)
            raise
        return tuple(found), repr(found)

    def do_assign(self, module, name, value, a, b):
        state = module.state_dict()
        module.load_state_dict(OrderedDict((key, value * 1) for key, value in state.items()), assign=True)

    def tensors(self):
        for module in self.modules:
            for each in module.modules():
                yield from (value for value in each._parameters.values() if value is not None)
                yield from (value for value in each._buffers.values() if value is not None)

    def look(self):
        found = []
        for module in self.modules:
            found.append(
                (
                    [list(kind) for kind in (module._parameters, module._buffers, module._modules)],
                    sorted(module._non_persistent_buffers_set),
                    [name for name, _ in module.named_parameters()],
                    [name for name, _ in module.named_parameters(prefix="p", remove_duplicate=False)],
                    [(name, each.tolist()) for name, each in module.named_buffers()],
                    [name for name, _ in module.named_modules()],
                    [name for name, _ in module.named_modules(remove_duplicate=False)],
                    [name for name, _ in module.named_children()],
                    [(getattr(each, "training", "gone"), type(each).__name__) for each in module.modules()],
                    [
                        (each.tolist(), each.requires_grad, str(each.dtype).rpartition(".")[2])
                        for each in module.parameters()
                    ],
                    # torch's own dir() fails on an attribute without a name.
                    [] if "" in {*module.__dict__, *module._modules} else sorted({*dir(module)} & {*map(str, NAMES)}),
                    repr(module),
                )
            )
        return found


#: Pattern → replacement: differences by design between the two libraries' texts.
SPELLINGS = {
    "torchlike": "torch",
    r"torch\.nn\.(modules\.)?\w+\.(?=[A-Z])": "torch.nn.",
    r"test_torch_modules\.": "",
    r"torch\.int64": "int64",
    "isint": "is int",  # torch's own slip
    r"\nHint: .*": "",
    r"^[\"']+(\d)[\"']+$": "a number",  # which of several missing places is named first
}


def words(value):
    text = str(value)
    for pattern, spelling in SPELLINGS.items():
        text = re.sub(pattern, spelling, text)
    return text


STEPS = [name.removeprefix("do_") for name in dir(World) if name.startswith("do_")]
PROGRAMS = st.lists(
    st.tuples(st.sampled_from([*STEPS, "load", "setattr"]), *[st.integers(0, 100)] * 3), min_size=1, max_size=14
)


def run(t, program):
    world = World(t)
    for kind, which, a, b in program:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcome = words(world.step(kind, which, a, b))
        except Exception as error:  # noqa: BLE001  # whatever torch raises
            outcome = type(error).__name__, words(error)
        world.log.append((kind, outcome, words(world.look()), list(world.calls)))
    return world.log


@settings(max_examples=400)
@given(PROGRAMS)
def test_random_programs_on_modules(program):
    for ours, theirs in zip(run(torchlike, program), run(torch, program), strict=True):
        for mine, expected in zip(ours, theirs, strict=True):
            assert mine == expected
