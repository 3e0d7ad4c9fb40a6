"""Classes that override functions: tensors of classes of their own, other objects, and their order."""

import inspect
import subprocess
import sys
from itertools import takewhile
from typing import ClassVar

import pytest

import dispatch_core as dc
import torchlike
from torchlike import Tensor, overrides


class Own(Tensor):
    """A class of tensors that overrides nothing itself."""


class Seen(Tensor):
    """A class that notes the functions called with its tensors."""

    calls: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((overrides.resolve_name(func), types, args, kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})


class Other:
    """A class of objects that are not tensors, and answer for every function."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return overrides.resolve_name(func), types, args, kwargs or {}


@pytest.fixture
def seen():
    Seen.calls.clear()
    return torchlike.arange(4.0).reshape(2, 2).as_subclass(Seen)


def test_results_of_operators_have_the_class_of_their_argument():
    x = torchlike.ones(2, 2).as_subclass(Own)
    for found in (
        x + 1,
        1 + x,
        x @ x,
        x.sum(),
        x[0],
        x.clone(),
        x.detach(),
        x.relu(),
        x.T,
        x.data,
        torchlike.ones_like(x),
    ):
        assert type(found) is Own
    assert type(x.max(0).values) is Own
    assert [type(each) for each in x.unbind()] == [Own, Own]
    assert type(x.shape) is torchlike.Size
    assert type(torchlike.ones(2, 2) + x) is Own
    assert type(x.add_(1)) is Own


def test_as_subclass_goes_both_ways_and_keeps_memory_history_and_views():
    base = torchlike.zeros(4, 4, 3).permute(2, 0, 1)
    x = base.as_subclass(Own)
    plain = x.as_subclass(Tensor)
    assert type(x) is Own
    assert type(plain) is Tensor
    plain[0, 0, 0] = 5
    assert float(base[0, 0, 0]) == float(x[0, 0, 0]) == 5
    leaf = torchlike.ones(3, requires_grad=True)
    leaf.as_subclass(Own).pow(2).sum().backward()
    assert leaf.grad.tolist() == [2, 2, 2]


def test_plain_tensors_and_parameters_have_no_key_of_overrides():
    keys = dc.DispatchKey["TorchFunction"] | dc.DispatchKey["TorchFunctionMode"]
    own = torchlike.ones(2).as_subclass(Own)
    for plain in (torchlike.ones(2), torchlike.nn.Parameter(torchlike.ones(2)), own.as_subclass(Tensor), Tensor([1.0])):
        assert not plain._dispatch_mask & keys
    assert own._dispatch_mask & keys == dc.DispatchKey["TorchFunction"]
    with overrides.DisableTorchFunctionSubclass():
        part = own[0]
    assert type(part) is Tensor
    assert not part._dispatch_mask & keys


@pytest.mark.parametrize("repeat", [1, 12])
def test_the_public_function_is_handed_on_with_its_arguments(seen, repeat):
    plain = torchlike.ones(2, 2)
    for _ in range(repeat):
        Seen.calls.clear()
        _ = seen + 1, 1 + seen, plain + seen, 1 - seen
        torchlike.add(seen, 1, alpha=2)
        _ = seen[0], seen.T
        torchlike.cat([plain, seen])
        seen.view(4)
        torchlike.ops.aten.add.Tensor(seen, plain)
        assert [name for name, *_ in Seen.calls] == [
            "torch.Tensor.add",
            "torch.Tensor.add",
            "torch.Tensor.add",
            "torch.Tensor.__rsub__",
            "torch.add",
            "torch.Tensor.__getitem__",
            "torch.Tensor.T.__get__",
            "torch.cat",
            "torch.Tensor.view",
            "aten.add.Tensor",
        ]
        assert all(types == (Seen,) for _, types, _, _ in Seen.calls)
        assert Seen.calls[2][2] == (plain, seen) or Seen.calls[2][2][0] is plain
        assert Seen.calls[4][2:] == ((seen, 1), {"alpha": 2}) or Seen.calls[4][3] == {"alpha": 2}


@pytest.mark.parametrize("repeat", [1, 12])
def test_objects_that_are_no_tensors_override_functions(repeat):
    other, x = Other(), torchlike.ones(2, 2)
    for _ in range(repeat):
        assert torchlike.add(other, x) == ("torch.add", (Other,), (other, x), {})
        assert torchlike.add(x, other)[0] == "torch.add"
        assert torchlike.matmul(other, x)[0] == "torch.matmul"
        assert torchlike.linalg.cholesky(other, upper=True) == (
            "torch.linalg.cholesky",
            (Other,),
            (other,),
            {"upper": True},
        )
        assert torchlike.cat([x, other], dim=1)[0] == "torch.cat"
        assert torchlike.sum(other)[0] == "torch.sum"


def test_subclasses_are_asked_before_their_bases_and_else_from_left_to_right():
    asked = []

    def make(name, *bases):
        def handle(cls, func, types, args=(), kwargs=None):
            asked.append(cls.__name__)
            return NotImplemented

        return type(name, bases, {"__torch_function__": classmethod(handle)})

    first = make("First", object)
    derived = make("Derived", first)
    last = make("Last", object)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for .*add"):
        torchlike.add(first(), derived())
    with pytest.raises(TypeError, match="no implementation found"):
        torchlike.cat([last(), first(), torchlike.ones(2)])
    assert asked == ["Derived", "First", "Last", "First"]


def test_siblings_refuse_each_other():
    left, right = type("Left", (Tensor,), {}), type("Right", (Tensor,), {})
    x, y = torchlike.ones(2).as_subclass(left), torchlike.ones(2).as_subclass(right)
    with pytest.raises(TypeError, match="handlers returned NotImplemented"):
        torchlike.add(x, y)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Left' and 'Right'"):
        x + y


def test_an_error_of_a_handler_is_raised_once_and_as_it_is():
    class Failing:
        calls = 0

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls += 1
            raise KeyError("mine")

    for number in range(1, 13):
        with pytest.raises(KeyError, match="mine"):
            torchlike.sum(Failing())
        assert Failing.calls == number


class Answering(Tensor):
    """A class of tensors that answers for every function itself."""

    calls: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Answering.calls.append((func, types, args))
        return Other.__torch_function__.__func__(cls, func, types, args, kwargs)


#: Operators of Python that are handed on as other methods: in a call by its own name, too.
OTHERWISE = {
    **{f"__{name}__": name for name in "add ge gt le lt matmul mul ne sub".split()},
    **{f"__i{name}__": f"{name}_" for name in ("add", "mul", "sub")},
    "__mod__": "remainder",
    "__truediv__": "div",
    "__div__": "div",
    "__rdiv__": "__rtruediv__",
    "__imod__": "remainder_",
    "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_",
    "__radd__": "add",
    "__rand__": "bitwise_and",
    "__rmul__": "mul",
    "__ror__": "bitwise_or",
    "__rxor__": "bitwise_xor",
}
_LISTS = ("tensors", "others", "arrays", "matrices")


def required_arguments(function, make):
    """Return arguments for a function that can be overridden: one of ``make()`` for each that it requires."""
    required = takewhile(
        lambda each: each.default is each.empty and each.kind < each.VAR_KEYWORD,
        inspect.signature(overrides.get_testing_overrides()[function]).parameters.values(),
    )
    values = []
    for each in required:
        if each.kind is each.KEYWORD_ONLY:
            break
        is_list = each.name in _LISTS and each.kind is not each.VAR_POSITIONAL
        values.append("ij->j" if each.name == "equation" else [make(), make()] if is_list else make())
    return values


def test_every_function_that_may_be_overridden_is_handed_on_once_as_itself():
    wrong, seen = [], 0
    for functions in overrides.get_overridable_functions().values():
        for function in functions:
            name = overrides.resolve_name(function)
            is_method = overrides.is_tensor_method_or_property(function)
            if name == "torch.autocast":  # a class, which is made
                continue
            make = (lambda: Answering([5.0])) if is_method else Other
            args = [make()] if function.__name__ == "__get__" else required_arguments(function, make)
            Answering.calls.clear()
            result = function(*args)
            ((found, types, given),) = [(overrides.resolve_name(func), *more) for func, *more in Answering.calls] or [
                result[:3]
            ]
            seen += 1
            last = name.rpartition(".")[2]
            expected = f"torch.Tensor.{OTHERWISE[last]}" if is_method and last in OTHERWISE else name
            if (
                found != expected
                or types != (type(make()),)
                or (given and given[0] is not args[0] and "einsum" not in name)
            ):
                wrong.append((name, found, types))
    assert wrong == []
    assert seen > 1200


def test_functions_written_in_python_hand_on_torchs_arguments(seen):
    target = torchlike.tensor([0, 1])
    torchlike.nn.functional.cross_entropy(seen, target)
    name, types, args, kwargs = Seen.calls[-1]
    assert name == "torch.nn.functional.cross_entropy"
    assert types == (Seen, Tensor)
    assert [each is given for each, given in zip(args, (seen, target), strict=True)] == [True, True]
    assert kwargs == {
        "weight": None, "size_average": None, "ignore_index": -100, "reduce": None, "reduction": "mean",
        "label_smoothing": 0.0,
    }  # fmt: skip
    torchlike.split(seen, 1)
    assert Seen.calls[-1][2:] == ((seen, 1), {"dim": 0}) or Seen.calls[-1][3] == {"dim": 0}
    assert len(Seen.calls) == 2


def test_python_functions_are_functions_still():
    relu = torchlike.nn.functional.relu
    assert str(inspect.signature(relu)) == "(input: 'Tensor', inplace: 'bool' = False) -> 'Tensor'"
    for _ in range(12):
        assert relu(torchlike.tensor([-1.0, 2.0]), inplace=False).tolist() == [0, 2]
    with pytest.raises(TypeError):
        relu(torchlike.ones(2), what=1)


def test_the_class_shows_attributes_that_look_for_overrides_and_instances_do_not():
    shape, size = Tensor.shape, Tensor.size
    assert isinstance(shape, property)
    assert shape is Tensor.shape
    assert shape.__get__ is Tensor.shape.__get__
    assert shape.__get__.__name__ == "__get__"
    assert shape.__get__.__self__.__name__ == "shape"
    assert shape.__get__(torchlike.ones(2)) == size(torchlike.ones(2)) == (2,)
    assert Own.size is size
    own = type("WithSize", (Tensor,), {"size": lambda self: "own"})
    assert own.size(None) == "own"
    assert torchlike.ones(2).as_subclass(own).size() == "own"


@pytest.mark.parametrize("pack", [lambda *each: each, lambda *each: [each], lambda *each: [[*each]]])
def test_einsum_hands_its_operands_on_one_by_one(pack):
    first, second = Other(), torchlike.ones(2, 2)
    _, types, args, kwargs = torchlike.einsum("ij,jk->ik", *pack(first, second))
    assert types[0] is Other
    assert args == ("ij,jk->ik", first, second)
    assert kwargs == {}


def test_arguments_stay_named_once_functions_have_code_of_their_own():
    first, x = Other(), torchlike.ones(2, 2)
    for _ in range(20):  # functions get code of their own meanwhile
        torchlike.cat([x, x], dim=1), torchlike.softmax(x, 0), torchlike.add(x, other=x), x.sum(dim=0, keepdim=True)
        assert torchlike.cat([first, x], dim=1)[2:] == (([first, x],), {"dim": 1})
        assert torchlike.cat([first, x], 1)[2:] == (([first, x], 1), {})
        assert torchlike.softmax(first, dim=0)[2:] == ((first,), {"dim": 0})
        assert torchlike.add(first, other=x)[2:] == ((first,), {"other": x})
        assert torchlike.sum(input=first, dim=0)[2:] == ((), {"input": first, "dim": 0})


def test_classes_of_torchlike_make_no_caller_look_for_overrides():
    program = (
        "import torchlike\n"
        "from dispatch_core.calls.overriding import are_looked_for\n"
        "layer = torchlike.nn.LazyLinear(2)\n"
        "layer(torchlike.ones(1, 2)).sum().backward()\n"
        "torchlike.nested.nested_tensor([torchlike.ones(2), torchlike.ones(1)], layout=torchlike.jagged) + 1\n"
        "class Mine(torchlike.nn.Parameter): ...\n"
        "assert not Mine(torchlike.ones(2))._dispatch_mask >> 30\n"
        "assert not are_looked_for()\n"
        "class Own(torchlike.Tensor): ...\n"
        "assert are_looked_for()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
