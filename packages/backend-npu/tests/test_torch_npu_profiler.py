"""torch_npu.profiler, torch_npu.optim and torch.ops.npu, as programs use them."""

import json
import warnings

import numpy as np
import pytest
import torch_npu_programs as programs

import torchlike
from dispatch_torch_npu import NotServedError, optim, profiler
from dispatch_torch_npu.operators.norms import npu_rms_norm

PROGRAM = """
import torch
import torch_npu

experimental_config = torch_npu.profiler._ExperimentalConfig(
    export_type=torch_npu.profiler.ExportType.Text,
    profiler_level=torch_npu.profiler.ProfilerLevel.Level0,
    aic_metrics=torch_npu.profiler.AiCMetrics.AiCoreNone,
)
model = torch.nn.Linear(4, 2).npu()
optimizer = torch_npu.optim.NpuFusedSGD(model.parameters(), lr=0.1)
with torch_npu.profiler.profile(
    activities=[torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU],
    schedule=torch_npu.profiler.schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./result"),
    record_shapes=True,
    profile_memory=True,
    experimental_config=experimental_config,
) as prof:
    for step in range(6):
        loss = model(torch.ones(3, 4).npu()).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        prof.step()
print(torch.ops.npu.npu_rms_norm(torch.ones(1, 2).npu(), torch.ones(2).npu())[0].shape)
try:
    torch.ops.npu.npu_nothing
except AttributeError as error:
    print(error)
"""


@pytest.mark.no_pipeline(reason="a process of its own")
def test_a_training_is_profiled_as_ascends_guides_do(npu, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = programs.run(PROGRAM, tmp_path).splitlines()
    assert found[0] == "torch.Size([1, 2])" and found[1].startswith("torch.ops.npu.npu_nothing is not served")
    (trace,) = (tmp_path / "result").glob("*.json")
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    names = {event.get("name") for event in events}
    assert {"aten::addmm", "ProfilerStep#3", "ProfilerStep#4"} <= names and "ProfilerStep#2" not in names
    assert {event["cat"] for event in events if event.get("name") == "aten::addmm"} == {"operator", "device"}


def test_what_is_not_measured_is_said():
    with pytest.warns(UserWarning, match="not measured here: aic_metrics, l2_cache"):
        profiler._ExperimentalConfig(aic_metrics=profiler.AiCMetrics.PipeUtilization, l2_cache=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profiler._ExperimentalConfig(
            profiler_level=profiler.ProfilerLevel.Level1, export_type=[profiler.ExportType.Text]
        )
    for wrong in ({"profiler_level": 1}, {"aic_metrics": "x"}, {"export_type": "csv"}, {"host_sys": ["gpu"]}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} is .*; there are"):
            profiler._ExperimentalConfig(**wrong)
    with pytest.raises(TypeError, match="experimental_config is an _ExperimentalConfig, not dict"):
        profiler.profile(experimental_config={})
    with pytest.raises(NotServedError, match="stacks are not recorded"):
        profiler.profile().export_stacks("x")
    with pytest.raises(NotServedError, match="no files of CANN"):
        profiler.analyse("x")


def test_texts_are_kept_with_a_profile():
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as prof:
        prof.add_metadata("model", "net")
        prof.add_metadata_json("sizes", "[1, 2]")
    assert prof.metadata == {"model": "net", "sizes": [1, 2]}
    with pytest.raises(ValueError, match="Expecting value"):
        prof.add_metadata_json("sizes", "no")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Adam", {"lr": 0.1, "weight_decay": 0.2, "amsgrad": True}),
        ("AdamW", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        ("RMSprop", {"momentum": 0.5, "centered": True}),
        ("Adadelta", {"rho": 0.8}),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_optimizers_are_those_of_torch(name, options, device, npu):
    found = []
    for cls in (getattr(torchlike.optim, name), getattr(optim, f"NpuFused{name}")):
        weight = torchlike.nn.Parameter(torchlike.linspace(-1, 1, 5).to(device))
        optimizer = cls([weight], **options)
        for _ in range(3):
            optimizer.zero_grad()
            weight.pow(4).sum().backward()
            optimizer.step()
        found.append(weight.tolist())
    assert found[0] == found[1]


def test_other_optimizers_are_refused_by_name():
    for name in ("NpuFusedLamb", "NpuFusedAdamP", "NpuFusedBertAdam", "NpuFusedRMSpropTF", "NpuFusedOptimizerBase"):
        with pytest.raises(NotServedError, match=f"torch_npu.optim.{name}"):
            getattr(optim, name)([])
    with pytest.raises(TypeError, match="lr"):
        optim.NpuFusedSGD([torchlike.nn.Parameter(torchlike.ones(1))])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_rms_norm_is_the_operators(dtype, npu):
    x = torchlike.linspace(-2, 2, 24).reshape(2, 3, 4).to("npu", getattr(torchlike, dtype)).requires_grad_()
    gamma = torchlike.linspace(0.5, 1.5, 4).to("npu", x.dtype).requires_grad_()
    y, rstd = npu_rms_norm(x, gamma, 1e-5)
    assert (y.dtype, y.shape, rstd.dtype, rstd.shape) == (x.dtype, x.shape, torchlike.float32, (2, 3, 1))
    wide = x.detach().double().cpu().numpy()
    inverse = 1 / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
    tolerance = 1e-5 if dtype == "float32" else 2e-2
    np.testing.assert_allclose(rstd.detach().cpu().numpy(), inverse, rtol=tolerance)
    expected = wide * inverse * gamma.detach().double().cpu().numpy()
    np.testing.assert_allclose(y.detach().double().cpu().numpy(), expected, rtol=tolerance, atol=tolerance)
    y.float().square().sum().backward()
    assert x.grad.shape == x.shape and gamma.grad.abs().sum() > 0
