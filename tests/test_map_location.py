"""Where `load` places tensors: a file's wish is met by devices that are there, and chooses no plugin."""

import io
import json
import random
import subprocess
import sys
import textwrap

import pytest
from checkpoint_bytes import write_node, write_zip

import dispatch_core as dc
import torchlike

FORMATS = pytest.mark.parametrize("write", [write_zip, write_node])
#: What leaves a location as the file says.
UNCHANGED = [None, {}, {"elsewhere": "cpu"}, lambda storage, location: None]


def read(data, map_location=None):
    return torchlike.load(io.BytesIO(data), map_location)


@FORMATS
@pytest.mark.parametrize("location", ["cpu", "cpu:0", "cpu:7", "meta", "meta:0"])
def test_cpu_and_meta_are_always_there(write, location):
    for map_location in UNCHANGED:
        assert read(write(location), map_location).device.type == location.partition(":")[0]


def draw_locations(count, seed):
    """Return names of devices: installed, of torch's own, unknown ones, and what is not a name."""
    choose = random.Random(seed)
    names = [name for name in dc.backends() if name not in ("cpu", "meta")]
    names += [
        "cuda",
        "mps",
        "xpu",
        "privateuseone",
        "nowhere",
        "CPU",
        "os",
        "a.b",
        "",
        "é",
        "x\x1b[31m",
        "\u202ecpu",
        "\ud800",
    ]
    tails = ["", "", ":0", ":1", ":9", ":-1", ":x", ":", f":{'9' * 5000}", "\nHint: map_location=None", " " * 5000]
    return [choose.choice(names) + choose.choice(tails) for _ in range(count)]


@FORMATS
def test_other_locations_are_errors_that_name_a_way_out(write):
    loaded = {name for name, state in dc.backends().items() if state.state == "loaded"}
    for location in draw_locations(60, 3):
        if location.partition(":")[0] in loaded:
            continue
        for map_location in UNCHANGED:
            with pytest.raises(RuntimeError, match="map_location='cpu'") as caught:
                read(write(location), map_location)
            text = str(caught.value)
            assert text.replace("\n", "").isprintable() and len(text) < 1000 and text.count("\n") <= 1
        for map_location in ("cpu", {location: "cpu"}, lambda storage, _: storage, lambda storage, _: "cpu"):
            assert read(write(location), map_location).is_cpu
    assert {name for name, state in dc.backends().items() if state.state == "loaded"} == loaded


def test_no_location_of_a_file_imports_anything():
    program = textwrap.dedent("""
        import io, json, sys
        import dispatch_core as dc
        import torchlike
        files = [bytes.fromhex(each) for each in json.load(sys.stdin)]
        torchlike.ones(2), torchlike.ones(2, device="meta")
        for data in files[:2]:
            torchlike.load(io.BytesIO(data))
        modules, found = set(sys.modules), []
        for data in files[2:]:
            for location in (None, {}, lambda storage, location: None):
                try:
                    torchlike.load(io.BytesIO(data), location)
                except RuntimeError:
                    found.append("refused")
        new = [each for each in sys.modules if each not in modules and each.startswith(("dispatch_backend", "jax", "dask"))]
        loaded = [name for name, each in dc.backends().items() if each.state == "loaded"]
        print(json.dumps([len(found), new, loaded]))
    """)
    names = [name for name in dc.backends() if name not in ("cpu", "meta")]
    files = [write("cpu").hex() for write in (write_zip, write_node)]
    files += [write(name + tail).hex() for name in names for tail in ("", ":0") for write in (write_zip, write_node)]
    ran = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(files),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert json.loads(ran.stdout) == [len(names) * 12, [], ["cpu", "meta"]]


@FORMATS
def test_devices_that_are_loaded_are_used(write):
    if "strict" not in dc.backends() or dc.backends()["strict"].state == "absent":
        pytest.skip("there is no device to load")
    dc.load_backend("strict")
    for map_location in UNCHANGED:
        assert read(write("strict"), map_location).device.type == "strict"


@FORMATS
def test_a_loaded_device_that_cannot_be_opened_is_said(write):
    unavailable = dc.Availability(False, "its cable is out")
    handle = dc.register_backend(dc.BackendInfo("shut"), {}, is_available=lambda: unavailable)
    try:
        for map_location in UNCHANGED:
            with pytest.raises(dc.BackendError, match=r"(?s)'shut'.*its cable is out.*map_location='cpu'"):
                read(write("shut"), map_location)
        assert read(write("shut"), "cpu").is_cpu
    finally:
        handle.close()


@FORMATS
def test_the_callers_own_errors_stay(write):
    def fail(storage, location):
        raise KeyError(location)

    with pytest.raises(KeyError, match="cpu"):
        read(write("cpu"), fail)
    with pytest.raises(dc.BackendNotFoundError, match="provides the device 'nowhere'"):
        read(write("cpu"), "nowhere")
    with pytest.raises(dc.ArgumentError, match="is not a device"):
        read(write("cpu"), {"cpu": "not a device"})


@FORMATS
def test_the_default_device_is_none_of_a_files(write):
    with torchlike.device("meta"):
        assert read(write("cpu")).is_cpu


@pytest.mark.parametrize("location", [1, ["cpu"], {"cpu": 1}, True])
def test_a_device_without_a_name_is_the_files_fault(location):
    with pytest.raises(ValueError, match="device has no name"):
        read(write_node(location))
