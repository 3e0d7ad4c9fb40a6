"""What the devices are beside their operators: found late, several at once, moved between, and absent."""

import os
import subprocess
import sys
import textwrap
from itertools import permutations

import numpy as np
import pytest

import dispatch_core as dc
import torchlike as t

DEVICES = ("strict", "jax", "torch", "cupy")
LIBRARIES = ("array_api_strict", "array_api_compat", "jax", "jaxlib", "torch", "cupy")


def run_python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_no_library_is_imported_before_its_device_is_asked_for():
    printed = run_python(f"""
        import sys, torchlike, dispatch_core
        torchlike.ones(2).exp()
        dispatch_core.backends()
        libraries = {LIBRARIES}
        print([name for name in libraries if name in sys.modules])
        torchlike.ones(2, device="strict")
        print([name for name in libraries if name in sys.modules])
    """)
    assert printed.splitlines() == ["[]", "['array_api_strict', 'array_api_compat']"] or (
        printed.splitlines() == ["[]", "['array_api_strict']"]
    )


@pytest.mark.parametrize("device", DEVICES)
def test_an_array_of_the_library_finds_its_device(device):
    array = t.tensor([1.0, 4.0], device=device)._dispatch_data
    result = dc.ops.aten.sqrt(array)
    assert type(result) is type(array)
    assert dc.device(result).type == device
    assert dc.ops.prims.device_get(result).tolist() == [1.0, 2.0]


def test_an_array_comes_before_its_device_is_named():
    printed = run_python("""
        import jax.numpy as jnp, dispatch_core as dc
        print(type(dc.ops.aten.exp(jnp.zeros(2))).__module__, dc.device(jnp.zeros(2)))
    """)
    assert printed == "jaxlib._jax jax"


ABSENT = """
    import sys, importlib.util
    find = importlib.util.find_spec
    importlib.util.find_spec = lambda name, *more: None if name in ("jaxlib", "jax") else find(name, *more)
    import dispatch_core as dc, torchlike
    from dispatch_core.__main__ import main
    try:
        torchlike.ones(2, device="jax")
    except dc.BackendError as error:
        print(error)
    print(dc.backends()["jax"])
    main(["doctor", "jax"])
"""


def test_a_device_whose_library_is_absent_says_what_to_install():
    printed = run_python(ABSENT)
    assert printed.count("it needs jax, which is not installed") == 3
    assert 'Hint: pip install "dispatch-backend-array-api[jax]"' in printed
    assert "absent, dispatch-backend-array-api" in printed
    assert "1 examined, 0 with faults" in printed


@pytest.mark.parametrize(("source", "target"), [*permutations((*DEVICES, "cpu"), 2)])
def test_tensors_move_between_all_devices(source, target):
    there = t.arange(6.0).reshape(2, 3).to(source)
    moved = there.T.to(target)
    moved[0] = 7
    assert moved.device.type == target
    assert moved.tolist() == [[7, 7], [1, 4], [2, 5]]
    assert there.tolist() == [[0, 1, 2], [3, 4, 5]]
    leaf = t.ones(2, device=source, requires_grad=True)
    (leaf.to(target) * 3).sum().backward()
    assert leaf.grad.device.type == source and leaf.grad.tolist() == [3, 3]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_each_dtype_moves_with_its_values_or_is_refused_by_name(device, dtype):
    wanted = getattr(t, dtype)
    host = t.tensor([0, 1, 3]).to(wanted)
    lacks = {"strict": {"float16", "bfloat16"}, "cupy": {"bfloat16"}}
    if dtype in lacks.get(device, ()):
        with pytest.raises(RuntimeError, match=f"the device '{device}' has no arrays of dtype {dtype}"):
            host.to(device)
        return
    there = host.to(device)
    assert there.dtype is wanted
    assert there.cpu().dtype is wanted and there.cpu().tolist() == host.tolist()


def test_a_copy_on_the_cpu_can_be_written_to():
    there = t.ones(3, device="jax")
    copy = there.cpu()
    copy += 1
    assert copy.tolist() == [2, 2, 2] and there.tolist() == [1, 1, 1]
    assert not there.numpy(force=True).flags.writeable


def test_arrays_share_no_memory_with_the_hosts():
    host = np.zeros(64, np.float32)
    there = {device: t.from_numpy(host).to(device) for device in DEVICES}
    host += 1
    assert {device: tensor.sum().item() for device, tensor in there.items()} == dict.fromkeys(DEVICES, 0.0)


def test_an_array_whose_dtype_gives_way_to_numbers_keeps_it_in_operators():
    jnp = pytest.importorskip("jax.numpy")
    ones = t.ones(3, device="jax")
    for value, dtype in ((2.0, t.float32), (2, t.int32)):
        weak = dc.wrap_like(ones, jnp.full(3, value))
        assert weak._dispatch_data.weak_type
        for result in (weak * 2, weak + 1, t.cat([weak, weak]) * 2, t.capture(lambda x: x * 2)(weak)):
            assert result.dtype == dtype
        assert (weak * 2).tolist() == [4, 4, 4]


def test_two_devices_live_in_one_process_and_do_not_mix():
    a, b = t.ones(2, device="jax"), t.ones(2, device="torch")
    with pytest.raises(RuntimeError, match="at least two devices, jax and torch"):
        a + b
    assert (a.to("torch") + b).tolist() == [2, 2]


def test_a_torch_tensor_that_requires_grad_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError, match="requires grad in torch"):
        dc.ops.aten.exp(torch.ones(2, requires_grad=True))
    assert dc.ops.aten.exp(torch.zeros(2)).tolist() == [1, 1]


def test_the_device_torch_is_refused_where_torch_is_torchlike():
    code = """
        import torch
        try:
            torch.ones(2, device="torch")
        except RuntimeError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-m", "torchlike", "run", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "the device 'torch' needs torch itself" in done.stdout, done.stderr


def test_an_array_type_cannot_be_claimed_twice():
    import jax.numpy as jnp

    array = dc.ArrayType(type(jnp.zeros(())), shape=lambda x: x.shape, dtype=lambda x: x.dtype)
    with pytest.raises(
        dc.DispatchError, match=r"dispatch-backend-array-api .* declares for device 'jax'|belongs to device 'jax'"
    ):
        dc.registry.add_backend(dc.BackendInfo("mine", array_types=(array,)))


OTHER = """
import array_api_strict
from dispatch_backend_array_api import array_api_backend
backend = array_api_backend("strict", array_api_strict, array_types=(type(array_api_strict.zeros(1)),))
"""


@pytest.mark.parametrize("chosen", ["", "dispatch-backend-array-api"])
def test_another_distributions_device_of_the_name_goes_first_unless_the_user_chooses(chosen, tmp_path):
    (tmp_path / "other_strict.py").write_text(OTHER)
    folder = tmp_path / "other_strict-2.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: other-strict\nVersion: 2.0\n")
    (folder / "entry_points.txt").write_text("[dispatch_core.backends]\nstrict = other_strict:backend\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    environment = {"PYTHONPATH": path} | ({"DISPATCH_BACKENDS": f"cpu,strict={chosen}"} if chosen else {})
    printed = run_python(
        """
        import torchlike, dispatch_core as dc
        print(torchlike.ones(2, device="strict").sum().item())
        first = dc.backends()["strict"]
        print(first, "|", *first.rivals)
        """,
        **environment,
    )
    ours, theirs = "dispatch-backend-array-api 0.1.0", "other-strict 2.0"
    first, second = (ours, theirs) if chosen else (theirs, ours)
    line = f"loaded, {first} | outranked, {second}: {first} offers the device too, and goes first"
    assert printed.splitlines() == ["2.0", line]
