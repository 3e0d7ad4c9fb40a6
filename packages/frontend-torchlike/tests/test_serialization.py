"""Saving and loading: nested structures, shared memory, and files that are none."""

import argparse
import contextlib
import errno
import io
import json
import math
import os
import pickle
import random
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike import nn, tensor


def zip_pickle(data):
    """Return a file with a pickle alone."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
    return file.getvalue()


@pytest.fixture(params=["torch", "safetensors"])
def round_trip(request):
    """Return the function that writes a value in one of the formats, and reads it."""

    def go(value, **options):
        file = io.BytesIO()
        torchlike.save(value, file, format=request.param)
        file.seek(0)
        return torchlike.load(file, **options)

    return go


def test_a_state_dict_round_trips(tmp_path):
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    path = tmp_path / "net.safetensors"
    torchlike.save(net.state_dict(), path)
    other = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    loaded = torchlike.load(path)
    other.load_state_dict(loaded)
    x = torchlike.ones(1, 3)
    assert torchlike.equal(net(x), other(x))
    assert type(loaded) is OrderedDict and loaded._metadata == net.state_dict()._metadata


def test_a_checkpoint_of_everything_round_trips_and_goes_on(round_trip):
    net = nn.Linear(3, 2)
    optimizer = torchlike.optim.Adam(net.parameters(), lr=0.1)
    schedule = torchlike.optim.lr_scheduler.MultiStepLR(optimizer, [2, 2, 5])
    for _ in range(3):
        net(torchlike.ones(1, 3)).sum().backward()
        optimizer.step()
        schedule.step()
    parts = {"net": net, "optimizer": optimizer, "schedule": schedule}
    saved = round_trip({name: part.state_dict() for name, part in parts.items()} | {"epoch": 3, "best": math.inf})
    assert saved["epoch"] == 3 and saved["best"] == math.inf and saved["schedule"]["milestones"] == Counter([2, 2, 5])
    again = torchlike.optim.Adam(net.parameters(), lr=0.7)
    again.load_state_dict(saved["optimizer"])
    assert repr(again) == repr(optimizer) and again.state_dict()["state"][0]["step"].item() == 3


def test_plain_values_keep_their_types(round_trip):
    value = {
        1: (1, 2.5, [None, True]),
        (1, "a"): {"set": {1, 2}, "frozen": frozenset([3])},
        None: b"\x00\xff",
        "array": np.arange(3, dtype="int16"),
        "scalar": np.float32(0.1),
        "more": [
            bytearray(b"a"),
            2 + 3j,
            torchlike.float16,
            torchlike.device("cpu"),
            torchlike.Size([2]),
            "é\ud800",
            2**80,
        ],
        "args": argparse.Namespace(lr=0.1, name="x"),
    }
    loaded = round_trip(value)
    assert list(loaded) == list(value) and type(loaded[1]) is tuple
    assert loaded.pop("array").tolist() == value.pop("array").tolist()
    assert loaded["more"] == value["more"] and type(loaded["more"][4]) is torchlike.Size
    assert loaded == value and type(loaded["scalar"]) is np.float32
    numbers = round_trip([-0.0, math.inf, -math.inf, math.nan])
    assert math.copysign(1, numbers[0]) == -1 and numbers[1:3] == [math.inf, -math.inf] and math.isnan(numbers[3])


def test_dtypes_shapes_strides_and_classes_survive(tmp_path):
    path = tmp_path / "t.safetensors"
    saved = {
        "empty": torchlike.zeros(0, 3),
        "number": tensor(5),
        "transposed": torchlike.arange(6.0).reshape(2, 3).T,
        "parameter": nn.Parameter(torchlike.ones(2)),
        "frozen": nn.Parameter(torchlike.ones(2), requires_grad=False),
        "leaf": torchlike.ones(2, requires_grad=True),
        "signs": tensor([-0.0, math.nan, math.inf]),
        "meta": torchlike.ones(2, device="meta"),
        "turned": torchlike.empty_strided((2, 3), (1, 2), device="meta"),
    }
    names = (
        "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
    )
    saved |= {name: torchlike.ones(2, dtype=getattr(torchlike, name)) for name in names.split()}
    torchlike.save(saved, path)
    loaded = torchlike.load(path)
    assert list(loaded) == list(saved)
    for name, value in saved.items():
        found = loaded[name]
        assert (type(found), found.dtype, found.shape) == (type(value), value.dtype, value.shape), name
        assert (found.stride(), found.requires_grad) == (value.stride(), value.requires_grad), name
        if not found.is_meta:
            plain = [each.detach() for each in (found, value)]
            wide = (each.float() if each.dtype is torchlike.bfloat16 else each for each in plain)
            assert len({each.numpy().tobytes() for each in wide}) == 1, name
            plain[0].zero_()  # its memory can be written to
    assert torchlike.load(path, map_location="meta")["transposed"].is_meta


def test_shared_memory_and_repeated_objects_are_shared_again(round_trip):
    weight = nn.Parameter(torchlike.zeros(2, 3))
    array = np.zeros(10, "float32")
    base = torchlike.from_numpy(array)
    shared = [1]
    loop = {"self": None, "list": shared, "again": shared}
    loop["self"] = loop
    value = {
        "a": weight,
        "b": weight,
        "row": base[2:5],
        "strided": base[1::3],
        "bytes": torchlike.from_numpy(array.view("int32")),
    }
    loaded = round_trip(value | {"loop": loop})
    assert loaded["a"] is loaded["b"] and type(loaded["a"]) is nn.Parameter
    loaded["row"].fill_(7)
    assert loaded["strided"].tolist() == [0.0, 7.0, 0.0] and loaded["strided"].stride() == (3,)
    assert (loaded["bytes"] != 0).tolist() == [index in (2, 3, 4) for index in range(10)]
    assert loaded["loop"]["self"] is loaded["loop"] and loaded["loop"]["list"] is loaded["loop"]["again"]


def test_safetensors_own_reader_understands_the_file(tmp_path):
    from safetensors.numpy import load_file, save_file

    torchlike.save({"x": tensor([1.0, 2.0]), "inner": {"y": tensor([3])}}, tmp_path / "x.safetensors")
    found = load_file(tmp_path / "x.safetensors")
    assert found["x"].tolist() == [1.0, 2.0] and found["inner.y"].tolist() == [3]
    save_file({"z": np.ones(2)}, tmp_path / "z.safetensors")
    assert torchlike.load(tmp_path / "z.safetensors")["z"].add_(1).tolist() == [2.0, 2.0]


class Settings:
    def __init__(self, lr):
        self.lr = lr


def test_objects_are_read_only_where_their_classes_are_allowed(tmp_path):
    net = nn.Sequential(nn.Linear(2, 1), nn.Tanh())
    file = io.BytesIO()
    torchlike.save([net, Settings(0.1)], file)
    with pytest.raises(ValueError, match=r"torch.nn.modules.container.Sequential is refused: .* allows by"):
        torchlike.load(io.BytesIO(file.getvalue()))
    with torchlike.serialization.safe_globals([nn.Sequential, nn.Linear, nn.Tanh, Settings]):
        again, settings = torchlike.load(io.BytesIO(file.getvalue()))
    x = torchlike.ones(1, 2)
    assert torchlike.equal(again(x), net(x)) and settings.lr == 0.1 and type(again[0].weight) is nn.Parameter
    assert {*torchlike.serialization.get_safe_globals()}.isdisjoint([nn.Sequential, nn.Linear, nn.Tanh, Settings])


def test_functions_classes_and_code_are_refused(tmp_path):
    for value in ({"a": [lambda x: x]}, {"a": (io,)}, {"a": [(each for each in ())]}):
        with pytest.raises((TypeError, pickle.PicklingError), match=r"save\(\) cannot write a\.0: "):
            torchlike.save(value, tmp_path / "x")
    for value in ({"a": [lambda x: x]}, nn.Linear, io, print, object()):
        with pytest.raises(TypeError, match=r"writes data and objects with attributes: (a\.0|the value) is of type"):
            torchlike.save(value, tmp_path / "x", format="safetensors")
    with pytest.raises(TypeError, match="an array of dtype object"):
        torchlike.save(np.array([None]), tmp_path / "x", format="safetensors")
    assert not (tmp_path / "x").exists()


class Marks:
    """Runs code when it is read."""

    def __reduce__(self):
        return mark, ("read",)


SEEN = []


def mark(text):
    SEEN.append(text)


def test_code_in_a_file_runs_where_the_program_trusts_it_alone():
    file = io.BytesIO()
    settings = Settings(0.1)
    torchlike.save(
        {"x": [torchlike.ones(2)], "marks": Marks(), "settings": settings, "f": math.sin, "inner": Outer.Inner}, file
    )
    for options in ({}, {"weights_only": True}, {"weights_only": None}):
        with pytest.raises(ValueError, match=r"is refused: .* weights_only=False would run whatever the file names"):
            torchlike.load(io.BytesIO(file.getvalue()), **options)
    assert not SEEN
    with pytest.warns(UserWarning, match="runs whatever code the file names") as warned:
        found = torchlike.load(io.BytesIO(file.getvalue()), weights_only=False)
    assert len(warned) == 1 and warned[0].filename == __file__
    assert SEEN == ["read"] and found["x"][0].tolist() == [1, 1] and found["settings"].lr == 0.1
    assert found["f"] is math.sin and found["inner"] is Outer.Inner


@pytest.mark.parametrize("value", [int, [int], {"a": float}, (bool, 1), [((torchlike.Tensor,),)], {1: [nn.Parameter]}])
def test_names_of_classes_are_no_values_of_a_file(value):
    file = io.BytesIO()
    torchlike.save(value, file)
    with pytest.raises(ValueError, match="the name of a class or function is among the values"):
        torchlike.load(io.BytesIO(file.getvalue()))
    with pytest.warns(UserWarning, match="weights_only=False"):
        assert torchlike.load(io.BytesIO(file.getvalue()), weights_only=False) == value


class Outer:
    class Inner:
        pass


@pytest.mark.filterwarnings("ignore:.*weights_only=False")
def test_names_below_torch_are_ours_or_an_error(tmp_path, monkeypatch):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise SystemExit('torch was imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for value in (
        nn.Linear,
        nn.functional.relu,
        torchlike.relu,
        torchlike.optim.AdamW,
        torchlike.float32,
        torchlike.Tensor,
    ):
        file = io.BytesIO()
        torchlike.save([value], file)
        assert b"torchlike" not in file.getvalue()
        assert torchlike.load(io.BytesIO(file.getvalue()), weights_only=False) == [value]
    absent = zip_pickle(b"\x80\x02ctorch.nn.modules.activation\nHardWhatever\n.")
    with pytest.raises(AttributeError, match=r"torchlike has no torch\.nn\.modules\.activation\.HardWhatever"):
        torchlike.load(io.BytesIO(absent), weights_only=False)
    model = nn.Sequential(
        nn.LSTM(2, 3), nn.MultiheadAttention(2, 1), nn.ParameterList([nn.Parameter(torchlike.ones(1))])
    )
    file = io.BytesIO()
    torchlike.save(model, file)
    found = torchlike.load(io.BytesIO(file.getvalue()), weights_only=False)
    assert repr(found) == repr(model) and [*found.state_dict()] == [*model.state_dict()]
    assert torchlike.equal(found[0](torchlike.ones(1, 2))[0], model[0](torchlike.ones(1, 2))[0])


@pytest.mark.filterwarnings("ignore:.*weights_only=False")
def test_a_pickle_module_reads_trusted_files_alone():
    seen = []

    class Reader(pickle.Unpickler):
        def __init__(self, file, **options):
            super().__init__(file, **options)
            seen.append(options)

    class Own:
        Unpickler = Reader

    file = io.BytesIO()
    torchlike.save({"x": torchlike.ones(2)}, file)
    assert torchlike.load(io.BytesIO(file.getvalue()), pickle_module=Own)["x"].tolist() == [1, 1] and not seen
    with pytest.raises(RuntimeError, match="a pickle_module reads a file that is trusted"):
        torchlike.load(io.BytesIO(file.getvalue()), pickle_module=Own, weights_only=True)
    torchlike.load(io.BytesIO(file.getvalue()), pickle_module=Own, weights_only=False, encoding="latin1")
    assert seen == [{"encoding": "latin1"}]


def test_storages_are_saved_as_such():
    x = torchlike.arange(4.0)
    file = io.BytesIO()
    torchlike.save({"bytes": x.untyped_storage(), "x": x[1:]}, file)
    file.seek(0)
    found = torchlike.load(file)
    assert isinstance(found["bytes"], torchlike.TypedStorage) and found["bytes"].tolist() == [0, 1, 2, 3]
    found["bytes"][1] = 7
    assert found["x"].tolist() == [7, 2, 3]


def test_map_location_takes_devices_dicts_and_functions(round_trip):
    file = {"x": tensor([1.0])}
    for location in ("meta", torchlike.device("meta"), {"cpu": "meta"}, lambda storage, name: "meta"):
        assert round_trip(file, map_location=location)["x"].is_meta
    for location in ("cpu", {}, lambda storage, name: storage, lambda storage, name: storage.cpu()):
        assert round_trip(file, map_location=location)["x"].is_cpu
    assert round_trip(file, map_location=lambda storage, name: storage.to("meta"))["x"].is_meta
    with pytest.raises(AttributeError, match="a storage has no method 'nowhere'"):
        round_trip(file, map_location=lambda storage, name: storage.nowhere(0))
    with pytest.raises(dc.BackendNotFoundError, match="No installed distribution provides the device 'nowhere'"):
        round_trip(file, map_location="nowhere")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"no safetensors here")
    with pytest.raises(ValueError, match="is not a safetensors file"):
        torchlike.load(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        torchlike.load(tmp_path / "missing")
    with pytest.raises(ValueError, match="is a pickle, which may hold code"):
        torchlike.load(io.BytesIO(b"\x80\x02}."))


def test_wrong_structures_are_refused_and_read_nothing_beyond_the_file():
    file = io.BytesIO()
    base = torchlike.zeros(4)
    torchlike.save([base[:2], base[1:], {"a": 1}, (1, b"x")], file, format="safetensors")
    data = file.getvalue()
    size = int.from_bytes(data[:8], "little")
    draw = random.Random(5)
    for _ in range(300):
        header = json.loads(data[8 : 8 + size])
        text = list(header["__metadata__"]["structure"])
        for _ in range(draw.randint(1, 3)):
            text[draw.randrange(len(text))] = draw.choice('0123456789-{}[]",:ab')
        header["__metadata__"]["structure"] = "".join(text)
        new = json.dumps(header).encode()
        new += b" " * (-len(new) % 8)
        with contextlib.suppress(ValueError):  # the documented error
            torchlike.load(io.BytesIO(len(new).to_bytes(8, "little") + new + data[8 + size :]))


def test_files_with_headers_of_any_length_are_read():
    for size in range(0, 300, 4):
        written = {"x" * size: torchlike.ones(2)}
        file = io.BytesIO()
        torchlike.save(written, file, format="safetensors")
        file.seek(0)
        assert list(torchlike.load(file)) == list(written)


def test_attributes_of_tensors_are_saved():
    shared = torchlike.ones(2)
    shared.note, shared.itself = {"scale": [1, 2.5]}, shared
    parameter, sparse, idle = (
        nn.Parameter(torchlike.ones(2)),
        torchlike.eye(2).to_sparse(),
        torchlike.ones(2, device="meta"),
    )
    parameter.twin, sparse.note, idle.note = shared, "sparse", "meta"
    file = io.BytesIO()
    torchlike.save([shared, shared[:1], parameter, sparse, idle], file)
    file.seek(0)
    first, view, weight, *others = torchlike.load(file)
    assert first.note == {"scale": [1, 2.5]} and first.itself is first and weight.twin is first
    assert [each.note for each in others] == ["sparse", "meta"] and not vars(view)
    parameter.twin = lambda: None
    with pytest.raises(
        TypeError, match=r"save\(\) cannot write 0\.twin: .*<lambda>, which is not found under that name"
    ):
        torchlike.save([parameter], io.BytesIO())


def test_a_save_that_fails_at_any_write_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "net.safetensors"
    torchlike.save({"w": torchlike.zeros(1000)}, path)
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, lambda *arguments: full())
            with pytest.raises(OSError, match=r"No space left on device: .*net\.safetensors'$"):
                torchlike.save({"w": torchlike.ones(1000)}, path)
    with pytest.raises(TypeError):
        torchlike.save({"w": torchlike.ones(1000), "f": full}, path)
    assert not torchlike.load(path)["w"].any()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def full():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "it is empty"), (b"<html>not a file", r"it begins with b'<html>not a file'")]
)
def test_files_of_another_kind_are_described(tmp_path, content, said):
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"model\.pt is not a safetensors file, nor one of torch\.save \({said}\)"):
        torchlike.load(path)
