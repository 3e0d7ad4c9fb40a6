"""What libraries that build on overrides ask for: one hop without them, their state, and lists for tests of classes."""

import inspect

import pytest

import torchlike
from torchlike import Tensor, nn, overrides


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


def test_redispatch_in_a_mode_reaches_what_the_function_calls():
    class Mode(overrides.TorchFunctionMode):
        def __init__(self):
            self.heard = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.heard.append(func.__name__)
            with self:
                return overrides.redispatch_function(func, types, args, kwargs)

    x, y = torchlike.tensor([3.0]), torchlike.tensor([4.0])
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
    from torchlike.nn import native

    assert native.gelu is nn.functional.gelu
    assert not hasattr(native, "no_such_function")
