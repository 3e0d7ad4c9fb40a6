"""Steps of optimizers on the device."""

import itertools

import pytest

torchlike = pytest.importorskip("torchlike", reason="programs are torch's")

import dispatch_core as dc  # noqa: E402  # after the skip

pytestmark = pytest.mark.usefixtures("npu")

SHAPES = [(3, 4), (5,), ()]


def train(device, make, dtype, steps=4):
    torchlike.manual_seed(1)
    starts = [torchlike.randn(shape) for shape in SHAPES]
    gradients = [[torchlike.randn(shape) for shape in SHAPES] for _ in range(steps)]
    params = [start.to(device, dtype).requires_grad_() for start in starts]
    optimizer = make(params)
    schedule = torchlike.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for row in gradients:
        for param, gradient in zip(params, row, strict=True):
            param.grad = gradient.to(device, dtype)
        optimizer.step()
        schedule.step()
    states = [optimizer.state[param][name] for param in params for name in ("exp_avg", "exp_avg_sq", "step")]
    return [each.detach().cpu().double() for each in (*params, *states)]


WAYS = {
    "adam": lambda params: torchlike.optim.Adam(params, 0.1),
    "adam, decay": lambda params: torchlike.optim.Adam(params, 0.1, weight_decay=0.1),
    "adam, up": lambda params: torchlike.optim.Adam(params, 0.1, maximize=True, betas=(0.5, 0.7)),
    "adam, amsgrad": lambda params: torchlike.optim.Adam(params, 0.1, amsgrad=True),
    "adamw": lambda params: torchlike.optim.AdamW(params, 0.1, weight_decay=0.2, eps=1e-3),
    "adamw, up": lambda params: torchlike.optim.AdamW(params, 0.1, maximize=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_adam_steps_as_on_the_cpu(way, dtype):
    kind = getattr(torchlike, dtype)
    tolerance = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 0.06}[dtype]
    for found, expected in zip(train("npu", WAYS[way], kind), train("cpu", WAYS[way], kind), strict=True):
        assert torchlike.allclose(found, expected, atol=tolerance, rtol=tolerance), (found, expected)


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_a_step_is_one_function_for_each_parameter(simulator):
    params = [torchlike.ones(shape, device="npu", requires_grad=True) for shape in SHAPES]
    optimizer = torchlike.optim.AdamW(params, 0.1)
    for param in params:
        param.grad = torchlike.ones_like(param)
    optimizer.step()
    simulator.reset()
    optimizer.param_groups[0]["lr"] = 0.05
    optimizer.step()
    calls = [name for name in simulator.log() if name.startswith("aclnn") and not name.endswith("WorkspaceSize")]
    assert calls == ["aclnnInplaceFillScalar", *["aclnnApplyAdamWV2"] * 3]
    assert "aclCreateTensor" not in simulator.log()


@pytest.mark.no_pipeline(reason="a pipeline refuses it where it ends")
def test_a_list_of_two_dtypes_is_stepped_once():
    params = [torchlike.ones(3, device="npu", dtype=kind) for kind in (torchlike.float32, torchlike.float64)]
    rows = [[torchlike.zeros_like(each) for each in params] for _ in range(2)]
    gradients = [torchlike.ones_like(each) for each in params]
    settings = {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 0.0, "decoupled": False, "maximize": False}
    torchlike.ops.prims.adam_(params, gradients, *rows, step=1.0, lr=0.25, **settings)
    assert [each.tolist() for each in params] == [[0.75] * 3] * 2
    with pytest.raises(RuntimeError, match="each has one of every parameter"):
        torchlike.ops.prims.adam_(params, gradients[:1], *rows, step=1.0, lr=0.25, **settings)


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="it opens its own")
@pytest.mark.parametrize("way", ["adam", "adam, decay", "adamw"])
def test_a_pipelined_step_is_planned(way, simulator):
    params = [torchlike.ones(shape, device="npu", requires_grad=True) for shape in SHAPES]
    optimizer = WAYS[way](params)

    def step():
        with dc.pipeline():
            sum((param * param).sum() for param in params).backward()
            optimizer.step()
            optimizer.zero_grad()

    for _ in range(3):
        step()
    simulator.reset()
    step()
    log = simulator.log()
    assert "aclnnInplaceFillScalarGetWorkspaceSize" in log  # the number of the step
    assert not {"aclnnApplyAdamWV2GetWorkspaceSize", "aclnnAddGetWorkspaceSize"} & {*log}
    assert log.count("aclnnApplyAdamWV2") == 3 and log.count("aclrtSynchronizeStream") == 1


@pytest.mark.no_pipeline(reason="it captures")
def test_replays_count_their_steps():
    def run(wrap):
        torchlike.manual_seed(3)
        layer = torchlike.nn.Linear(3, 2)
        layer = layer.to("npu")
        optimizer = torchlike.optim.Adam(layer.parameters(), 0.05)
        x = torchlike.arange(12.0, device="npu").view(4, 3)

        def step():
            optimizer.zero_grad()
            loss = layer(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        return [step().item() for _ in range(6)]

    eager, captured = run(lambda step: step), run(dc.capture)
    assert eager == pytest.approx(captured, rel=1e-4)
    assert all(after < before for before, after in itertools.pairwise(eager))


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="it looks at the arguments of a function")
def test_the_function_gets_the_number_of_steps_before_this_one(monkeypatch):
    from dispatch_backend_npu.ops import optimizers

    filled, launch = [], optimizers.launch
    monkeypatch.setattr(
        optimizers,
        "launch",
        lambda name, *args: (filled.append(args[1]) if "Fill" in name else None, launch(name, *args)),
    )
    param = torchlike.ones(3, device="npu", requires_grad=True)
    optimizer = torchlike.optim.AdamW([param], 0.1)
    for _ in range(3):
        param.grad = torchlike.ones_like(param)
        optimizer.step()
    assert filled == [0.0, 1.0, 2.0]
