"""A kernel that returns no tensor where the schema promises one is refused at once, by name, under every key."""

import itertools

import pytest
from comparison import attempt

import dispatch_core as dc
import torchlike
from torchlike import func

pytestmark = pytest.mark.no_pipeline(reason="the calls open their own")
#: Kernels that are right, by the schema's results, and their wrong results.
RIGHT = {
    "Tensor": lambda x: x + 1,
    "(Tensor, Tensor)": lambda x: (x + 1, x + 2),
    "Tensor[]": lambda x: [x + 1, x + 2],
}
WRONG = {
    "Tensor": {
        "nothing": lambda x: None,
        "text": lambda x: "text",
        "a number": lambda x: 3,
        "a tuple": lambda x: (x + 1,),
    },
    "(Tensor, Tensor)": {
        "nothing": lambda x: None,
        "None among them": lambda x: (x + 1, None),
        "text among them": lambda x: ("text", x + 1),
        "too few": lambda x: (x + 1,),
        "too many": lambda x: (x + 1, x + 2, x + 3),
    },
    "Tensor[]": {
        "nothing": lambda x: None,
        "None among them": lambda x: [x + 1, None],
        "text among them": lambda x: ["text"],
        "no list": lambda x: x + 1,
    },
}
COMPOSITES = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")
KEYS = [
    *(
        "PythonDispatcher PreDispatch TESTING_ONLY_GenericMode PythonTLSSnapshot DeferredInit FuncTorchGradWrapper"
    ).split(),
    *("Profiler FuncTorchVmapMode FuncTorchBatched AutocastCPU Tracer Autograd AutogradCPU ADInplaceOrView").split(),
    *("Negative Conjugate Named Functionalize Python Pipeline CPU Meta").split(),
    *COMPOSITES,
]
#: Keys that calls do not have of themselves.
INCLUDED = ("functionality", "autocast")
#: After how many right results the wrong one comes.
LATE = 40
numbers = itertools.count()


def in_pipeline(call, x):
    with dc.pipeline():
        found = call(x)
    return [each.tolist() for each in found] if isinstance(found, (list, tuple)) else found.tolist()


def replay(call, x):
    again = dc.capture(call)
    for _ in range(3):
        again(x)


def differentiate(call, x):
    func.grad(lambda x: sum((each.sum() for each in call(x)), x.sum()))(x)


def many_times(call, x):
    for _ in range(LATE + 1):
        call(x)


WAYS = {
    "eager": lambda call, x: call(x),
    "with history": lambda call, x: call(x.requires_grad_()),
    "pipeline": in_pipeline,
    "captured": replay,
    "vmap": lambda call, x: func.vmap(call)(x.expand(2, 3)),
    "grad": differentiate,
    "late": many_times,
}


@pytest.fixture
def call_with():
    """Return a function that defines an operator with a kernel under a key, and returns a call, and the kernel's calls."""
    libraries = []

    def call_with(key, returns, wrong, right_calls):
        name, calls = f"promised{next(numbers)}", []
        library = dc.Library(name, "DEF")
        libraries.append(library)
        library.define(f"f(Tensor x) -> {returns}")

        def kernel(x):
            calls.append(x)
            return (RIGHT[returns] if len(calls) <= right_calls else wrong)(x)

        if key != "CPU" and key not in COMPOSITES:
            library.impl("f", RIGHT[returns], "CompositeExplicitAutograd")
        library.impl("f", kernel, key)
        op = getattr(dc.ops, name).f.default
        is_included = getattr(dc.DispatchKey, key).kind in INCLUDED and key not in ("FuncTorchBatched", "Pipeline")

        def call(x):
            if not is_included:
                return op(x)
            with dc.include_keys(key):
                return op(x)

        return op, call, calls

    yield call_with
    for library in libraries:
        library.close()


#: Every wrong result comes in two of the ways, and each way for every key; the other combinations are left out.
@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("key", KEYS)
def test_a_result_that_is_no_tensor_is_refused_by_name(call_with, key, number):
    ways = itertools.islice(itertools.cycle(WAYS), 3 * number, None)
    refused = 0
    for returns, wrong in ((returns, each) for returns, several in WRONG.items() for each in several.values()):
        way = next(ways)
        op, call, calls = call_with(key, returns, wrong, LATE - 2 if way == "late" else 0)
        where = f"{returns} {wrong(torchlike.ones(3))} under {key}, {way}"
        error = attempt(WAYS[way], call, torchlike.ones(3))[1]
        text = str(error)
        if isinstance(error, dc.KernelResultError):
            assert op.name in text, where
            assert "ernel for " in text, where
            assert __file__.rpartition("/")[2] in text, where
            refused += 1
        elif isinstance(error, (dc.DispatchError, NotImplementedError)):
            # Not everything can be captured, and what has no derivative is not differentiated.
            assert isinstance(error, dc.CaptureError) or "derivative" in text, where
        else:
            assert error is None, where
            assert not calls, where
    assert refused or key == "Meta"
