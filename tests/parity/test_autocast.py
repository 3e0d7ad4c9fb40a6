"""Autocast against torch's: the dtypes of results, over its lists and everything else; training; errors and warnings."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity needs torch")

import wide_cases  # noqa: E402  # after the skip
from aten_cases import Draw, torch_operator  # noqa: E402
from comparison import attempt, ignore_warnings  # noqa: E402
from operator_calls import CALLS, bind  # noqa: E402

import dispatch_core as dc  # noqa: E402
import torchlike  # noqa: E402
from dispatch_aten.dtypes import BY_NAME  # noqa: E402
from dispatch_aten.operators import ATEN_BY_NAME  # noqa: E402
from torchlike.amp.kernels import policies_of  # noqa: E402

pytestmark = pytest.mark.no_pipeline(reason="dtypes are compared, which pipelines do not change")
#: Right calls of every operator: those of `operator_calls`, and those of operators that programs use less.
ALL = {name: list(calls) for name, calls in CALLS.items()}
for _name, _make, _kwargs in wide_cases.CASES:
    ALL.setdefault(_name, []).append((_make, _kwargs))
for _name in "geqrf linalg_eig linalg_eigh linalg_eigvals linalg_qr linalg_svd qr svd".split():
    ALL[_name] = [(lambda r: (r.f(3, 3),), {})]
#: Listed operators that no program calls by name, or that end a process of torch's where they are not called rightly.
UNCALLED = {"mkldnn_rnn_layer", "_lu_with_info", "chain_matmul", "lstm.input", "lstm.data", "gru.input", "gru.data"}
LISTED = {
    device: sorted(name for name in policies_of(key) if name in ATEN_BY_NAME and name not in UNCALLED)
    for device, key in (("cpu", "CPU"), ("meta", "Meta"))
}
#: Two backward functions, whose results have a dtype that is an argument, and the kernels of torch's that call ``matmul``,
#: which is cast there: here they are operators with formulas, whose parts are not.
APART = ("_softmax_backward_data", "_log_softmax_backward_data", "linalg_pinv", "_euclidean_dist")
FAST = ("bfloat16", "float16")


def to_dtype(value, dtype):
    """Return an argument with its floating-point tensors in a dtype."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(dtype) if value.is_floating_point() else value
    return [to_dtype(each, dtype) for each in value] if isinstance(value, (list, tuple)) else value


def ours(value, device="cpu"):
    """Return torch's argument as one of ours."""
    match value:
        case torch.Tensor():
            name = str(value.dtype).removeprefix("torch.")
            plain = value.detach().double() if value.is_floating_point() else value.detach()
            return torchlike.from_numpy(plain.resolve_conj().numpy()).to(getattr(torchlike, name)).to(device)
        case torch.dtype():
            return BY_NAME[str(value).removeprefix("torch.")]
        case list() | tuple():
            return [ours(each, device) for each in value]
        case _:
            return value


def dtypes(result):
    """Return the dtypes of a call's results; None for a call that was refused."""
    if isinstance(result, (list, tuple)):
        return [dtypes(each) for each in result]
    return str(result.dtype).removeprefix("torch.") if hasattr(result, "dtype") else type(result).__name__


def call(operator, context, arguments):
    with ignore_warnings(), context:
        result, error = attempt(operator, **arguments)
    return "refused" if error is not None else dtypes(result)


def our_operator(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(dc.ops.aten, packet), overload or "default")


def compare(name, calls):
    for (make, kwargs), fast in ((each, fast) for each in calls for fast in FAST):
        for dtype in ("float32", fast, "float64"):
            arguments = {key: to_dtype(value, getattr(torch, dtype)) for key, value in bind(name, make, kwargs).items()}
            given = {key: ours(value) for key, value in arguments.items()}
            expected = call(torch_operator(name), torch.autocast("cpu", getattr(torch, fast)), arguments)
            got = call(our_operator(name), torchlike.autocast("cpu", getattr(torchlike, fast)), given)
            # Where torch has no kernel for a dtype, we may have one; NumPy has no complex32.
            if expected not in ("refused", "complex32"):
                assert got == expected, (dtype, fast)


@pytest.mark.parametrize("name", LISTED["cpu"])
def test_results_of_listed_operators_have_torchs_dtypes(name):
    compare(name, ALL[name])


@pytest.mark.parametrize("first", sorted({name[0] for name in ALL}))
def test_results_of_all_other_operators_have_torchs_dtypes(first):
    for name, calls in ALL.items():
        if name[0] == first and name not in LISTED["cpu"] and not name.startswith(APART):
            compare(name, calls[:1])


@pytest.mark.parametrize("name", [name for name in LISTED["cpu"] if policies_of("CPU")[name] == "promote"])
def test_mixed_arguments_are_promoted_as_torchs_are(name):
    make, kwargs = ALL[name][0]
    for dtype_of_first, dtype_of_rest in (("bfloat16", "float32"), ("float32", "bfloat16"), ("float16", "float16")):
        arguments = {
            key: to_dtype(value, getattr(torch, dtype_of_rest)) for key, value in bind(name, make, kwargs).items()
        }
        key = next(iter(arguments))
        if isinstance(arguments[key], list):
            arguments[key][0] = to_dtype(arguments[key][0], getattr(torch, dtype_of_first))
        else:
            arguments[key] = to_dtype(arguments[key], getattr(torch, dtype_of_first))
        given = {key: ours(value) for key, value in arguments.items()}
        expected = call(torch_operator(name), torch.autocast("cpu", torch.bfloat16), arguments)
        assert call(our_operator(name), torchlike.autocast("cpu", torchlike.bfloat16), given) == expected


def expected_on_cuda(name, policy, dtype, fast, arguments, outside):
    """Return the dtypes that torch's policy gives on CUDA, from those of the same call on the cpu without autocast."""
    if policy == "banned":
        return "refused"
    if dtype == "float64":
        return outside("float64", arguments)
    if policy in ("fp32_set_opt_dtype", "fp32_append_dtype"):
        return "float32" if arguments.get("dtype") is None else outside(dtype, arguments)
    return outside({"lower_precision_fp": fast, "fp32": "float32", "promote": dtype}[policy], arguments)


@pytest.mark.parametrize("name", LISTED["meta"])
def test_other_devices_follow_torchs_lists_of_cuda(name):
    policy = policies_of("Meta")[name]
    for fast in FAST:
        for dtype in ("float32", fast, "float64"):
            make, kwargs = ALL[name][0]
            arguments = {key: to_dtype(value, getattr(torch, dtype)) for key, value in bind(name, make, kwargs).items()}

            def outside(other, arguments):
                moved = {key: ours(to_dtype(value, getattr(torch, other)), "meta") for key, value in arguments.items()}
                return call(our_operator(name), torchlike.no_grad(), moved)

            given = {key: ours(value, "meta") for key, value in arguments.items()}
            expected = expected_on_cuda(name, policy, dtype, fast, arguments, outside)
            got = call(our_operator(name), torchlike.autocast("meta", getattr(torchlike, fast)), given)
            assert got == expected, (dtype, fast)


def test_the_lists_are_those_of_the_torch_that_is_here():
    if torch.__version__.partition("+")[0] != torchlike.amp.policies.VERSION:
        pytest.skip("the lists are another version's")
    tool = Path(__file__).parents[2] / "tools" / "generate_autocast_lists.py"
    subprocess.run([sys.executable, tool, "--check"], check=True, stderr=subprocess.DEVNULL)


def make_net(t):
    t.manual_seed(3)
    return t.nn.Sequential(
        t.nn.Conv2d(1, 4, 3), t.nn.ReLU(), t.nn.MaxPool2d(2), t.nn.Flatten(), t.nn.Linear(36, 16), t.nn.LayerNorm(16),
        t.nn.GELU(), t.nn.Linear(16, 3),
    )  # fmt: skip


def train(t, make_optimizer, *, scaler, steps=8, **options):
    net = make_net(t)
    optimizer = make_optimizer(t, net.parameters())
    scaler = t.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3, enabled=scaler)
    x, target = t.randn(16, 1, 8, 8), t.randint(0, 3, (16,))
    losses, scales = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        with t.autocast("cpu", **options):
            output = net(x)
            loss = t.nn.functional.cross_entropy(output, target)
        assert output.dtype is options["dtype"]
        assert loss.dtype is t.float32
        scaler.scale(loss).backward()
        assert all(p.grad.dtype is t.float32 for p in net.parameters())
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        scales.append(scaler.get_scale())
    return losses, scales, scaler.state_dict()


@pytest.mark.parametrize("scaler", [False, True])
@pytest.mark.parametrize("dtype", FAST)
@pytest.mark.parametrize(
    "make",
    [lambda t, p: t.optim.SGD(p, lr=0.1, momentum=0.9), lambda t, p: t.optim.AdamW(p, lr=0.01)],
    ids=["sgd", "adamw"],
)
def test_a_network_trained_in_mixed_precision_has_torchs_losses(make, dtype, scaler):
    theirs = train(torch, make, dtype=getattr(torch, dtype), scaler=scaler)
    found = train(torchlike, make, dtype=getattr(torchlike, dtype), scaler=scaler)
    np.testing.assert_allclose(found[0], theirs[0], rtol=0.03, atol=0.01)
    assert found[1:] == theirs[1:]


def transcript(t, function):
    """Return what a call of torch's API gives, warns of and raises."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result, error = attempt(function, t)
    texts = [(each.category, str(each.message).partition(" (Triggered")[0].split("\n")[0]) for each in said]
    return (
        str(result).removeprefix("torch."),
        texts,
        None if error is None else (type(error), str(error).split("\n")[0]),
    )


API = {
    "a dtype that is not supported": lambda t: t.autocast("cpu", dtype=t.float32)._enabled,
    "the same, disabled": lambda t: t.autocast("cpu", dtype=t.float64, enabled=False)._enabled,
    "a device that is not a string": lambda t: t.autocast(3),
    "cuda, which is not there": lambda t: t.autocast("cuda")._enabled,
    "another device of torch's": lambda t: t.autocast("xpu")._enabled,
    "a number decorated": lambda t: t.autocast("cpu")(3),
    "the older name for cuda": lambda t: t.cuda.amp.autocast().fast_dtype,
    "the older name for the cpu": lambda t: t.cpu.amp.autocast(dtype=t.bfloat16).device,
    "the older scaler": lambda t: t.cpu.amp.GradScaler().is_enabled(),
    "the older scaler of cuda": lambda t: t.cuda.amp.GradScaler().is_enabled(),
    "the older decorators": lambda t: (t.cuda.amp.custom_bwd(t.cuda.amp.custom_fwd(len)), None)[1],
    "custom_fwd without a string": lambda t: t.amp.custom_fwd(len, device_type=1),
    "the dtype of cuda": lambda t: t.get_autocast_dtype("cuda"),
    "the dtype of the cpu": lambda t: t.get_autocast_dtype("cpu"),
    "the older question": lambda t: t.is_autocast_cpu_enabled(),
    "the older dtype": lambda t: t.get_autocast_gpu_dtype(),
    "the older switch": lambda t: t.set_autocast_cpu_enabled(False),
    "is it on": lambda t: (t.is_autocast_enabled(), t.is_autocast_enabled("cpu"), t.is_autocast_cache_enabled()),
    "a switch that is no bool": lambda t: t.set_autocast_enabled("cpu", 3),
    "a dtype that is none": lambda t: t.set_autocast_dtype("cpu", 3),
    "nesting": lambda t: (
        t.autocast_increment_nesting(), t.autocast_increment_nesting(), t.autocast_decrement_nesting(),
        t.autocast_decrement_nesting(),
    ),
    "a scaler that shrinks": lambda t: t.amp.GradScaler("cpu", growth_factor=1.0),
    "a scaler that does not back off": lambda t: t.amp.GradScaler("cpu", backoff_factor=1.0),
    "an update without a loss": lambda t: t.amp.GradScaler("cpu").update(),
    "a step without a loss": lambda t: t.amp.GradScaler("cpu").step(t.optim.SGD([t.ones(1, requires_grad=True)], lr=1.0)),
    "a scaled number": lambda t: t.amp.GradScaler("cpu").scale(3),
    "losses in a list": lambda t: [each.item() for each in t.amp.GradScaler("cpu", 2.0).scale([t.ones(()), t.ones(())])],
    "an empty state": lambda t: t.amp.GradScaler("cpu").load_state_dict({}),
    "binary cross entropy": lambda t: _under_autocast(t, lambda: t.nn.functional.binary_cross_entropy(t.ones(2), t.ones(2))),
    "the other half precision": lambda t: _under_autocast(t, lambda: t.cat([t.ones(2, dtype=t.float16), t.ones(2)])),
}  # fmt: skip


def _under_autocast(t, function):
    with t.autocast("cpu", dtype=t.bfloat16):
        return function().dtype


@pytest.mark.parametrize("case", API)
def test_answers_warnings_and_errors_are_torchs(case):
    assert transcript(torchlike, API[case]) == transcript(torch, API[case])


def custom_functions(t):
    """Return what a custom function sees under autocast, and its gradients."""
    seen = []

    class Plain(t.autograd.Function):
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            made = a @ b
            seen.append((str(made.dtype).rpartition(".")[2], t.is_autocast_enabled("cpu")))
            return made

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            made = grad @ b.T
            seen.append((str(made.dtype).rpartition(".")[2], t.is_autocast_enabled("cpu")))
            return made.to(a.dtype), (a.T @ grad).to(b.dtype)

    class Cast(Plain):
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32)
        def forward(ctx, a, b):
            seen.append((str(a.dtype).rpartition(".")[2], t.is_autocast_enabled("cpu")))
            ctx.save_for_backward(a, b)
            return a @ b

    for function in (Plain, Cast):
        a, b = t.ones(2, 2, requires_grad=True), t.full((2, 2), 0.5, requires_grad=True)
        with t.autocast("cpu", dtype=t.bfloat16):
            result = function.apply(a, b)
        seen.append(str(result.dtype).rpartition(".")[2])
        result.sum().backward()
        seen.append((a.grad.tolist(), b.grad.tolist()))
    return seen


def test_custom_functions_see_what_torchs_see():
    assert custom_functions(torchlike) == custom_functions(torch)


def test_the_cases_can_differ():
    make, kwargs = ALL["mm"][0]
    given = {
        key: ours(to_dtype(value, torch.float32)) for key, value in zip(("self", "mat2"), make(Draw(1)), strict=True)
    }
    assert call(our_operator("mm"), torchlike.no_grad(), given | kwargs) == "float32"
