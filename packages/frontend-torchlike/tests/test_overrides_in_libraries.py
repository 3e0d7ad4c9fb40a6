"""What libraries that build on overrides ask for: one hop without them, their state, and lists for tests of classes."""

import inspect

import pytest

import torchlike
from torchlike import Tensor, nn, overrides
from torchlike.nn import native


class Told(Tensor):
    """A class that notes each function, and passes it on by one hop alone."""

    heard: tuple = ()

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Told.heard += (func.__name__,)
        return overrides.redispatch_function(func, types, args, kwargs)


class Duck:
    """An object that answers for every function with its name."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__


class Pair(Tensor):
    """A tensor without elements, which computes with two others."""

    @staticmethod
    def __new__(cls, left, right):
        return Tensor._make_wrapper_subclass(cls, left.shape, dtype=left.dtype, device=left.device)

    def __init__(self, left, right):
        self.parts = (left, right)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        found = [
            func(*[each.parts[place] if isinstance(each, Pair) else each for each in args], **(kwargs or {}))
            for place in (0, 1)
        ]
        return cls(*found) if isinstance(found[0], Tensor) else all(found)


def multiply_and_add(x, y):
    if overrides.has_torch_function((x, y)):
        return overrides.handle_torch_function(multiply_and_add, (x, y), x, y)
    return x * y + 1


@pytest.fixture
def told():
    Told.heard = ()
    return torchlike.tensor([3.0]).as_subclass(Told)


def test_redispatch_skips_the_question_of_one_function_alone(told):
    assert float(multiply_and_add(told, torchlike.tensor([4.0])).as_subclass(Tensor)) == 13
    assert Told.heard[:2] == ("multiply_and_add", "mul")
    Told.heard = ()
    assert tuple(told.shape) == (1,)
    assert torchlike.nn.functional.relu(told).as_subclass(Tensor).item() == 3
    assert Told.heard[0] == "__get__"
    assert "relu" in Told.heard


def test_redispatch_of_the_gradients_functions_ends(told):
    x = torchlike.ones(1, requires_grad=True)
    y = (x * 2).sum().as_subclass(Told)
    assert torchlike.autograd.grad(y, x, retain_graph=True)[0].tolist() == [2]
    y.backward()
    assert x.grad.tolist() == [2]
    assert [name for name in Told.heard if name in ("grad", "backward")] == ["grad", "backward", "backward"]


def test_redispatch_in_a_mode_reaches_what_the_function_calls():
    class Mode(overrides.TorchFunctionMode):
        def __init__(self):
            self.heard = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.heard.append(func.__name__)
            with self:
                return overrides.redispatch_function(func, types, args, kwargs)

    x, y = torchlike.tensor([3.0]), torchlike.tensor([4.0])
    for _ in range(40):  # with code of its own, too, a function asks more than once
        with Mode() as mode:
            found = multiply_and_add(x, y)
        assert found.tolist() == [13]
        assert mode.heard == ["multiply_and_add", "mul", "add"]


def test_overrides_are_turned_on_again_within_a_block_without_them():
    class Own(Tensor):
        pass

    x = torchlike.ones(2).as_subclass(Own)
    with overrides.DisableTorchFunction():
        assert type(x + 1) is Tensor
        with overrides._enable_torch_function():
            assert type(x + 1) is Own
        assert type(x + 1) is Tensor
    with overrides.DisableTorchFunctionSubclass():
        guard = overrides._EnableTorchFunction()
        assert type(x + 1) is Own
        del guard
        assert type(x + 1) is Tensor


def test_the_stack_of_modes_is_read_and_changed_by_level():
    class Named(overrides.BaseTorchFunctionMode):
        pass

    outer, inner = Named(), Named()
    with outer:
        overrides._push_on_torch_function_stack(inner)
        assert [overrides._get_function_stack_at(level) for level in (0, 1)] == [outer, inner]
        assert overrides._pop_torch_function_stack() is inner
        assert overrides._len_torch_function_stack() == 1
    assert overrides._len_torch_function_stack() == 0


def test_a_mode_whose_handler_is_of_its_class_is_refused():
    class Mode(overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return None

    with pytest.raises(RuntimeError, match="classmethod is not supported, please make it a plain method"), Mode():
        torchlike.ones(2)


def test_the_question_needs_a_sequence():
    with pytest.raises(TypeError, match="expected a sequence"):
        overrides.has_torch_function(object())


def test_functions_for_tests_have_the_arguments_of_those_that_they_replace():
    listed = overrides.get_testing_overrides()
    assert inspect.getfullargspec(listed[Tensor.__bool__]).args == ["self"]
    assert inspect.getfullargspec(listed[torchlike.relu]).args == ["input"]
    assert len(inspect.getfullargspec(listed[Tensor.__setitem__]).args) == 3
    assert torchlike.autocast not in listed
    assert Tensor.shape.__get__.__qualname__ == "getset_descriptor.__get__"


def test_wrappers_are_compared_by_what_they_wrap():
    one = Pair(torchlike.ones(3), torchlike.zeros(3))
    torchlike.testing.assert_close(one, Pair(torchlike.ones(3), torchlike.zeros(3)))
    with pytest.raises(AssertionError, match="not close"):
        torchlike.testing.assert_close(one, Pair(torchlike.ones(3) + 1, torchlike.zeros(3) + 1))


def test_the_memory_of_a_wrapper_is_not_touched():
    storage = Pair(torchlike.ones(3), torchlike.zeros(3)).untyped_storage()
    assert storage.nbytes() == 12
    for use in (storage.data_ptr, storage.tolist, lambda: storage.fill_(0), lambda: storage.resize_(0)):
        with pytest.raises(RuntimeError, match="on an invalid python storage"):
            use()


def test_a_storage_keeps_its_size():
    storage = torchlike.ones(4).untyped_storage()
    assert storage.resize_(16) is storage
    with pytest.raises(RuntimeError, match="storage that is not resizable"):
        storage.resize_(0)


def test_a_function_of_layers_that_is_not_there_is_a_missing_attribute():
    assert native.gelu is nn.functional.gelu
    assert not hasattr(native, "no_such_function")


class Declining(Tensor):
    """A class that answers for no function."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Reflecting(Tensor):
    """A class that answers for operators whose right operand it is."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__ if func.__name__.startswith("__r") else NotImplemented


class Quantity:
    """An object with operators of its own, which answers for no function."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented

    def __radd__(self, other):
        return "own sum"

    def __gt__(self, other):
        return "own order"


def test_where_overrides_decline_python_asks_the_other_operand():
    x = torchlike.ones(2)
    declining, reflecting = x.as_subclass(Declining), x.as_subclass(Reflecting)
    assert declining - reflecting == declining.as_subclass(Tensor) - reflecting == "__rsub__"
    assert declining**reflecting == "__rpow__"
    assert x + Quantity() == declining + Quantity() == "own sum"
    assert (x < Quantity()) == "own order"
    y = x
    y += Quantity()
    assert y == "own sum"
    assert (x == Quantity()) is False
    assert (declining != declining) is False
    for wrong, words in (
        (lambda: declining * 2, r"for \*: 'Declining' and 'int'"),
        (lambda: 2 * declining, r"for \*: 'int' and 'Declining'"),
        (lambda: x @ declining, "for @: 'Tensor' and 'Declining'"),
        (lambda: x | Quantity(), r"for \|: 'Tensor' and 'Quantity'"),
        (lambda: x >= declining, "not supported between instances of"),
        (lambda: x.__isub__(declining), "for -=: 'Tensor' and 'Declining'"),
    ):
        with pytest.raises(TypeError, match=words):
            wrong()


def test_operators_are_handed_on_under_their_own_names():
    class Named(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    x = torchlike.tensor([1, 2]).as_subclass(Named)
    assert (x == x, x // 2, x & x, x ^ x, x << 1) == ("__eq__", "__floordiv__", "__and__", "__xor__", "__lshift__")
    assert (x + 1, x * 2, x**2) == ("add", "mul", "pow")
    assert repr(x) == "__repr__"
    assert Tensor.__add__.__name__ == "__add__"


def test_gradients_are_asked_for_of_objects_and_classes():
    duck = Duck()
    assert torchlike.autograd.grad(duck, duck) == "grad"

    class Heard(Tensor):
        calls: list = []  # noqa: RUF012

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            Heard.calls.append((func.__name__, len(args), sorted(kwargs or {})))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torchlike.ones(2, requires_grad=True)
    y = (x * 2).sum().as_subclass(Heard)
    (found,) = torchlike.autograd.grad(y, x, retain_graph=True)
    assert type(found) is Heard
    assert found.as_subclass(Tensor).tolist() == [2, 2]
    torchlike.autograd.backward([y])
    assert x.grad.tolist() == [2, 2]
    assert [name for name, *_ in Heard.calls] == ["grad", "backward"]
    assert Heard.calls[0][1:] == (
        2,
        [
            "allow_unused",
            "create_graph",
            "grad_outputs",
            "is_grads_batched",
            "materialize_grads",
            "only_inputs",
            "retain_graph",
        ],
    )


class Heard(overrides.TorchFunctionMode):
    """A mode that notes names, and passes calls on."""

    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_leaves_parameters_without_numbers():
    class Empty(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if func in (nn.init.kaiming_uniform_, nn.init.uniform_, nn.init.normal_, nn.init.constant_):
                return kwargs["tensor"] if "tensor" in kwargs else args[0]
            return func(*args, **kwargs)

    state = torchlike.get_rng_state()
    with Empty():
        nn.Linear(3, 3)
        nn.Embedding(3, 3)
        kept = nn.init.constant_(torchlike.zeros(2), 7)
    assert kept.tolist() == [0, 0]
    assert torchlike.equal(torchlike.get_rng_state(), state)
    assert nn.init.constant_(torchlike.zeros(2), 7).tolist() == [7, 7]
    assert nn.init.uniform_(Duck()) == "uniform_"
    assert {nn.init.uniform_, nn.init.kaiming_uniform_} <= set(overrides.get_testing_overrides())


def test_initial_zeros_are_handed_on_as_torch_hands_them_on():
    seen = []

    class Seeing(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", None))
            return func(*args, **(kwargs or {}))

    with Seeing():
        assert nn.init.zeros_(torchlike.ones(2)).tolist() == [0, 0]
    assert "zero_" in seen and "fill_" not in seen


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("sparse_coo_tensor", lambda: torchlike.sparse_coo_tensor([[0]], [1.0], (2,))),
        ("asarray", lambda: torchlike.asarray([1])),
        ("normal", lambda: torchlike.normal(torchlike.zeros(2), 1.0)),
        ("parse_to", lambda: native._parse_to("cpu")),
        ("backward", lambda: torchlike.autograd.backward(torchlike.ones(1, requires_grad=True) * 2)),
    ],
)
def test_modes_get_calls_of(name, make):
    with Heard() as mode:
        make()
    assert name in mode.names


def test_means_of_a_class_are_drawn_from_by_its_handler():
    assert torchlike.normal(Duck(), 1.0) == torchlike.normal(0.0, Duck()) == "normal"


def test_distributions_take_objects_that_stand_for_tensors():
    from torchlike.distributions.utils import broadcast_all

    class Wrapper:
        def __init__(self, data):
            self.data = data

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            found = func(*[each.data if isinstance(each, Wrapper) else each for each in args])
            return [Wrapper(each) for each in found]

    one, other = broadcast_all(Wrapper(torchlike.ones(3)), 2.0)
    assert isinstance(one, Wrapper)
    assert other.data.tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="objects implementing __torch_function__"):
        broadcast_all("no number")


@pytest.mark.parametrize("layer", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers_hand_on_their_function(layer):
    class Own(Tensor):
        calls: list = []  # noqa: RUF012

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            Own.calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    made = layer(3, 4)
    x = torchlike.rand(2, 1, 3)
    found, _ = made(x.as_subclass(Own))
    assert type(found) is Own
    assert torchlike.equal(found.as_subclass(Tensor), made(x)[0])
    assert {"lstm", "gru", "rnn_tanh"} & set(Own.calls)


def test_a_buffer_keeps_the_class_of_its_data():
    class Own(Tensor):
        pass

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = nn.Buffer(torchlike.ones(2).as_subclass(Own))
            self.passing = nn.Buffer(torchlike.ones(2).as_subclass(Own), persistent=False)

    made = Layer()
    assert {name: type(each) for name, each in made.named_buffers()} == {"kept": Own, "passing": Own}
    assert isinstance(made.kept, nn.Buffer)
    assert not isinstance(made.kept, nn.Parameter)
    assert not isinstance(torchlike.ones(2), nn.Buffer)
    assert list(made.state_dict()) == ["kept"]
    assert type(nn.Buffer(torchlike.ones(2))) is nn.Buffer


def test_a_tensor_made_by_a_class_is_a_view_with_history():
    class Own(Tensor):
        pass

    base = torchlike.ones(2)
    made = Own(base)
    assert made._is_view()
    assert made._base is base
    made.add_(1)
    assert base.tolist() == [2, 2]
    weight = torchlike.ones(2, requires_grad=True)
    (Own(weight * 2).sum() * 3).backward()
    assert weight.grad.tolist() == [6, 6]
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        Own(weight).add_(1)
    assert nn.Parameter(Own(base)).is_leaf


def test_an_object_deep_in_an_index_gets_the_call():
    x = torchlike.ones(3, 3)
    assert x[0, (Duck(), 1)] == "__getitem__"
    assert x[[0, 1], [1, 2]].tolist() == [1, 1]


def test_redispatch_skips_both_questions_of_the_call_that_makes_the_code():
    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            heard.append(func.__name__)
            with self:
                return overrides.redispatch_function(func, types, args, kwargs)

    x = torchlike.tensor([3.0])
    for _ in range(30):
        heard = []
        with Mode():
            torchlike.logaddexp(x, x)
        assert heard == ["logaddexp"]


def test_handlers_get_the_overload_for_tensors_in_arithmetic_with_numbers():
    from torchlike.utils._python_dispatch import TorchDispatchMode

    class Noting(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append((func.name(), args[1:], kwargs or {}))
            return func(*args, **(kwargs or {}))

    x = torchlike.ones(2)
    with Noting() as mode:
        found = [torchlike.add(x, 1, alpha=2), x * 2, x // 2, torchlike.div(x, 2, rounding_mode="floor"), 2 - x]
        x.mul_(3)
    assert mode.seen == [
        ("aten::add.Tensor", (1,), {"alpha": 2}),
        ("aten::mul.Tensor", (2,), {}),
        ("aten::floor_divide", (2,), {}),
        ("aten::div.Tensor_mode", (2,), {"rounding_mode": "floor"}),
        ("aten::rsub.Scalar", (2,), {}),
        ("aten::mul_.Tensor", (3,), {}),
    ]
    assert [each.tolist() for each in found] == [[3, 3], [2, 2], [0, 0], [0, 0], [1, 1]]
    pair = Pair(torchlike.ones(2), torchlike.zeros(2)) * 5
    assert [each.tolist() for each in pair.parts] == [[5, 5], [0, 0]]


def test_overloads_of_arithmetic_take_numbers_as_tensors():
    aten, x = torchlike.ops.aten, torchlike.ones(2)
    assert aten.mul.Tensor(x, 2).tolist() == [2, 2]
    assert aten.add.Tensor(x, 1, alpha=2).tolist() == [3, 3]
    assert aten.add.Tensor(torchlike.ones(2, dtype=torchlike.int32), True).dtype == torchlike.int32
    assert aten.mul.Tensor(torchlike.ones(2, dtype=torchlike.float16), 2.5).dtype == torchlike.float16
    for wrong in (lambda: aten.maximum.default(x, 3), lambda: aten.mul.Tensor(x, "2"), lambda: aten.relu.default(1)):
        with pytest.raises(TypeError, match="must be Tensor"):
            wrong()
