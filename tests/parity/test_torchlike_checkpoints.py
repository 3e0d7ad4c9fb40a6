"""Files that ``torch.save`` writes, read as torch reads them with ``weights_only=True``, and damaged ones."""

import argparse
import io
import os
import pickletools
import random
import zipfile
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest
import torch

import torchlike


def write(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def plain(value):
    """Return a structure with tensors as their facts."""
    if hasattr(value, "requires_grad"):
        array = value.detach().float() if str(value.dtype).endswith("bfloat16") else value.detach()
        shown = array.numpy().tobytes() if value.device.type == "cpu" else value.device.type
        facts = str(value.dtype).rpartition(".")[2], tuple(value.shape), value.stride(), value.requires_grad
        return type(value).__name__, facts, shown
    if isinstance(value, dict):
        return type(value).__name__, [(plain(key), plain(inner)) for key, inner in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(inner) for inner in value]
    is_named = type(value).__name__.lower().endswith(("dtype", "device", "layout"))
    return str(value).rpartition(".")[2] if is_named else value


def train():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 1, 3])
    return {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(), "epoch": 3}


NAMES = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
VALUES = {
    "checkpoint": train(),
    "dtypes": {name: torch.ones(2, dtype=getattr(torch, name)) for name in NAMES.split()},
    "views": [torch.arange(6.0).reshape(2, 3).T, torch.arange(9)[2::3], torch.zeros(0, 3), torch.tensor(2.0).expand(3)],
    "parameters": [torch.nn.Parameter(torch.ones(2)), torch.ones(1, requires_grad=True)],
    "plain": [1, -5, 2**40, 2.5, float("-inf"), "é", b"\x00\xff", None, True, (1, 2), {3}, {1: "x", (1,): 2}, 1 + 2j],
    "types": [torch.float32, torch.int64, torch.Size([2, 3]), OrderedDict(a=1), Counter([1, 1]), bytearray(b"ab")],
    "meta": [torch.ones(2, 3, device="meta"), torch.empty_strided((2, 3), (1, 2), device="meta")],
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("protocol", [2, 4])
def test_what_torch_writes_is_read_as_torch_reads_it(name, protocol, tmp_path):
    data = write(VALUES[name], pickle_protocol=protocol)
    assert plain(torchlike.load(io.BytesIO(data))) == plain(VALUES[name])
    (tmp_path / "x.pt").write_bytes(data)
    assert plain(torchlike.load(tmp_path / "x.pt", mmap=True)) == plain(VALUES[name])
    if protocol == 2:  # torch warns of others
        assert plain(torchlike.load(io.BytesIO(data))) == plain(torch.load(io.BytesIO(data), weights_only=True))


class OnDevice:
    """A tensor as torch writes those of devices without storages."""

    def __reduce__(self):
        return torch._utils._rebuild_device_tensor_from_cpu_tensor, (torch.ones(2), torch.bfloat16, "cpu", False)


def test_tensors_of_devices_without_storages_have_their_dtype():
    data = write(OnDevice())
    assert plain(torchlike.load(io.BytesIO(data))) == plain(torch.load(io.BytesIO(data)))


def test_memory_that_is_shared_in_torch_is_shared_again():
    base = torch.zeros(10)
    loaded = torchlike.load(io.BytesIO(write([base, base[2:5], base[::3]])))
    loaded[1].fill_(1)
    assert loaded[0].tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0] and loaded[2].tolist() == [0, 1, 0, 0]
    weight = torch.nn.Parameter(torch.ones(2))
    first, second = torchlike.load(io.BytesIO(write([weight, weight])))
    assert first is second


def test_locations_are_mapped_and_absent_devices_said():
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(write(torch.ones(2)))) as old, zipfile.ZipFile(file, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry).replace(b"X\x03\x00\x00\x00cpu", b"X\x03\x00\x00\x00mps"))
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a MPS device"):
        torchlike.load(io.BytesIO(file.getvalue()))
    for location in ("cpu", {"mps": "cpu"}, lambda storage, _: storage):
        assert torchlike.load(io.BytesIO(file.getvalue()), location).tolist() == [1, 1]


class Evil:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-file",)


@pytest.mark.parametrize(
    "value",
    [Evil(), {"a": [Evil()]}, np.array([None]), np.array(["text"]), torch.nn.Linear(1, 1), range(3)],
    ids=lambda v: type(v).__name__,
)
def test_classes_and_functions_are_refused(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"is refused: a file may hold tensors|a dtype that is not one of numbers"):
        torchlike.load(io.BytesIO(write(value)))
    assert list(tmp_path.iterdir()) == []


def rewrite(data, change, compress=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w", compress) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, change(entry.filename, old.read(entry)))
    return file.getvalue()


def test_forged_sizes_strides_and_offsets_are_refused():
    data = write(torch.zeros(3, 2))
    for old, new in (
        (b"K\x03K\x02\x86", b"K\x03K\x09\x86"),
        (b"K\x02K\x01\x86", b"K\x09K\x01\x86"),
        (b"cpuq", b"cpuq"),
    ):
        forged = rewrite(data, lambda name, content, old=old, new=new: content.replace(old, new, 1))
        if old == new:
            assert torchlike.load(io.BytesIO(forged)).shape == (3, 2)
            continue
        with pytest.raises(ValueError, match=r"beyond its storage|has another size"):
            torchlike.load(io.BytesIO(forged))
    with pytest.raises(ValueError, match="is compressed"):
        torchlike.load(io.BytesIO(rewrite(data, lambda _, content: content, zipfile.ZIP_DEFLATED)))


def test_damaged_files_are_refused_by_the_documented_error_or_read_within_the_file():
    draw = random.Random(os.environ.get("DISPATCH_TEST_SEED", "11"))
    count = int(os.environ.get("DISPATCH_DAMAGED_FILES", "3000"))
    originals = [write({"a": torch.arange(6.0).reshape(2, 3), "b": [1, "x", (2.5,)]}), write(VALUES["types"])]
    read = foreign = 0
    for number in range(count):

        def damage(content):
            content = bytearray(content)
            for _ in range(draw.randint(1, 4)):
                at = draw.randrange(len(content))
                kind = draw.random()
                if kind < 0.6:
                    content[at] = draw.choice([draw.randrange(256), *b"(.}]0RbqhKMJtcsueaQ"])
                elif kind < 0.8:
                    del content[at : at + draw.randint(1, 4)]
                else:
                    content[at:at] = draw.randbytes(draw.randint(1, 4))
                content = content or bytearray(b".")
            return bytes(content)

        data = originals[number % 2]
        if number % 5:
            # A pickle that is wrong within a zip file that is right.
            data = rewrite(data, lambda name, content: damage(content) if name.endswith("data.pkl") else content)
        else:
            data = damage(data)
        try:
            repr(torchlike.load(io.BytesIO(data)))
            read += 1
        except ValueError:  # the documented error, as that of a device that is not there
            pass
        except RuntimeError as error:
            foreign += "Attempting to deserialize" not in str(error)
    assert 0 < read < count and not foreign


def test_views_in_torchs_files_share_memory_on_jax_too():
    pytest.importorskip("jax")
    x = torch.arange(6.0).reshape(2, 3)
    tensors = [x, x[1], x.t(), x.view(-1)[1:4], x[:, ::2]]
    file = io.BytesIO()
    torch.save(tensors, file)
    file.seek(0)
    loaded = torchlike.load(file, map_location="jax")
    for number, (one, other) in enumerate(zip(tensors, loaded, strict=True)):
        one.fill_(number + 10.0)
        other.fill_(number + 10.0)
        assert [each.tolist() for each in loaded] == [each.tolist() for each in tensors]


def test_attributes_of_tensors_are_read():
    made = {
        "plain": torch.ones(2),
        "leaf": torch.ones(2, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "meta": torch.ones(2, device="meta"),
        "sparse": torch.eye(2).to_sparse(),
    }
    for name, value in made.items():
        value.note, value.scale = {"name": name}, [1, 2.5]
    found = torchlike.load(io.BytesIO(write(made)))
    assert {name: vars(value) for name, value in found.items()} == {name: vars(value) for name, value in made.items()}
    assert isinstance(found["parameter"], torchlike.nn.Parameter)


# Files that torchlike writes, read by torch.


def write_ours(value, **options):
    file = io.BytesIO()
    torchlike.save(value, file, **options)
    return file.getvalue()


def read_by_torch(data, **options):
    return torch.load(io.BytesIO(data), weights_only=True, **options)


def draw(choose, depth=0):
    """Return a program that makes a structure with a library's functions: texts, so that both make the same one."""
    kind = choose.choice("tensor tensor view dtype parameter number text list tuple dict ordered set bytes".split())
    if depth > 3 and kind in ("list", "tuple", "dict", "ordered"):
        kind = "tensor"
    shape = [choose.choice([0, 1, 2, 3]) for _ in range(choose.randrange(4))]
    tensor = f"t.arange({int(np.prod(shape))}).reshape({shape}).to(t.{choose.choice(NAMES.split())})"
    parts = [draw(choose, depth + 1) for _ in range(choose.randrange(3))] if kind in "list tuple dict ordered" else []
    keys = [
        choose.choice([repr(f"k{number}"), repr((number, "x")), str(number), "None"]) for number in range(len(parts))
    ]
    items = ", ".join(f"({key}, {part})" for key, part in zip(keys, parts, strict=True))
    index = choose.choice(["1", ":, 1:", ":, :, ::2", "0:0", "..., None"])
    return {
        "tensor": tensor,
        "view": f"t.arange(24.).reshape(2, 3, 4)[{index}].transpose(0, -1)",
        "dtype": choose.choice(["t.float32", "t.uint16", "t.device('cpu')", "t.Size([1, 2])", "t.strided", "t.bool"]),
        "parameter": f"t.nn.Parameter(t.ones({shape}), {choose.random() < 0.5})",
        "number": choose.choice(
            ["0", "-1", "300", "2**31", "-2**40", "2**70", "1.5", "float('inf')", "True", "None", "1+2j"]
        ),
        "text": choose.choice(["''", "'é'", "'a' * 300", "'\\ud800'"]),
        "list": f"[{', '.join(parts)}]",
        "tuple": f"({''.join(f'{part}, ' for part in parts)})",
        "dict": f"dict([{items}])",
        "ordered": f"OrderedDict([{items}])",
        "set": "{1, 'x', (2,)}",
        "bytes": choose.choice(["b'\\x00\\xff'", "bytearray(b'ab')", "bytearray()"]),
    }[kind]


def make(program, library):
    return eval(program, {"t": library, "OrderedDict": OrderedDict})


@pytest.mark.parametrize("number", range(int(os.environ.get("DISPATCH_DRAWN_CHECKPOINTS", "60"))))
def test_torch_reads_what_is_saved_here_as_what_it_saves_itself(number):
    choose = random.Random(f"{os.environ.get('DISPATCH_TEST_SEED', '3')} {number}")
    program = f"[{', '.join(draw(choose) for _ in range(4))}]"
    ours, theirs = write_ours(make(program, torchlike)), write(make(program, torch))
    expected = plain(read_by_torch(theirs))
    assert plain(read_by_torch(ours)) == expected, program
    assert plain(torchlike.load(io.BytesIO(ours))) == plain(torchlike.load(io.BytesIO(theirs))) == expected, program
    # The same entries in the same places, with the same bytes but for the pickle and the id.
    files = [zipfile.ZipFile(io.BytesIO(data)) for data in (ours, theirs)]
    entries = [
        {each.filename: (each.CRC, each.flag_bits) for each in file.infolist() if "data.pkl" not in each.filename}
        for file in files
    ]
    for each in entries:
        each.pop("archive/.data/serialization_id")
    assert entries[0] == entries[1], program
    starts = [each.header_offset + len(each.FileHeader()) for each in files[0].infolist()]
    assert files[0].testzip() is None and len(starts) == len(entries[0]) + 2


def test_torch_computes_the_places_of_our_storages(tmp_path, monkeypatch):
    torchlike.save([torchlike.arange(size).to(torchlike.int16) for size in (3, 0, 1000, 1, 0)], tmp_path / "x.pt")
    monkeypatch.setenv("TORCH_SERIALIZATION_DEBUG", "1")  # torch then compares them with those in the file
    for options in ({}, {"mmap": True}):
        found = torch.load(tmp_path / "x.pt", weights_only=True, **options)
        assert [each.numel() for each in found] == [3, 0, 1000, 1, 0]
    with torch.utils.serialization.config.patch({"load.calculate_storage_offsets": True}):
        assert torch.load(tmp_path / "x.pt", weights_only=True, mmap=True)[2].sum() == sum(range(1000))


def test_memory_that_is_shared_here_is_shared_in_torch():
    base, array = torchlike.zeros(10), np.zeros(6, "f4")
    parts = [base, base[2:5], base[::3], base.view(torchlike.int32), base[4:].view(torchlike.uint16)]
    both = [torchlike.from_numpy(array[:4]), torchlike.from_numpy(array[2:])]
    found = read_by_torch(write_ours(parts + both))
    found[1].fill_(1)
    assert found[0].tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0] and found[2].tolist() == [0, 1, 0, 0]
    assert found[3][2] != 0 and found[4].dtype == torch.uint16 and found[4].any()
    assert found[1].storage_offset() == 2 and found[1].untyped_storage().nbytes() == 40
    found[5].fill_(2)
    assert found[6].tolist() == [2, 2, 0, 0]
    weight = torchlike.nn.Parameter(torchlike.ones(2))
    first, second = read_by_torch(write_ours([weight, weight]))
    assert first is second


def test_state_dicts_and_optimizers_go_to_torch_and_back():
    net = torchlike.nn.Sequential(torchlike.nn.Linear(3, 4), torchlike.nn.BatchNorm1d(4))
    optimizer = torchlike.optim.AdamW(net.parameters())
    net(torchlike.randn(5, 3)).sum().backward()
    optimizer.step()
    saved = write_ours({"net": net.state_dict(), "optimizer": optimizer.state_dict()})
    found = read_by_torch(saved)
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    other.load_state_dict(found["net"])
    again = torch.optim.AdamW(other.parameters())
    again.load_state_dict(found["optimizer"])
    assert again.state_dict()["state"][0]["step"] == 1 and found["net"]._metadata == net.state_dict()._metadata
    back = torchlike.load(io.BytesIO(write({"net": other.state_dict(), "optimizer": again.state_dict()})))
    assert plain(back) == plain(torchlike.load(io.BytesIO(saved)))
    assert torchlike.equal(net[0].weight, back["net"]["0.weight"])


def test_attributes_buffers_and_sparse_tensors_go_to_torch():
    made = {
        "plain": torchlike.ones(2),
        "parameter": torchlike.nn.Parameter(torchlike.ones(2)),
        "meta": torchlike.ones(2, device="meta"),
        "sparse": torchlike.eye(2).to_sparse(),
        "buffer": torchlike.nn.Buffer(torchlike.ones(2), persistent=False),
    }
    for name, value in made.items():
        value.note = [name]
    made["grad"] = torchlike.eye(2).to_sparse().requires_grad_()
    made["frozen"] = torchlike.nn.Parameter(torchlike.eye(2).to_sparse(), False)
    found = read_by_torch(write_ours(made))
    assert [found[name].note for name in list(made)[:5]] == [[name] for name in list(made)[:5]]
    assert isinstance(found["parameter"], torch.nn.Parameter) and found["sparse"].to_dense().tolist() == [
        [1, 0],
        [0, 1],
    ]
    assert isinstance(found["buffer"], torch.nn.Buffer) and found["buffer"].persistent is False
    assert found["grad"].requires_grad and isinstance(found["frozen"], torch.nn.Parameter)
    back = torchlike.load(io.BytesIO(write(found["buffer"])))
    assert isinstance(back, torchlike.nn.Buffer) and not back.persistent and back.note == ["buffer"]


def test_conjugated_and_negated_values_of_torch_are_read_as_they_are_shown():
    z = torch.tensor([1 + 2j, 3 - 1j])
    values = [z.conj(), z.clone().conj().imag, z.resolve_conj(), z.conj()[1:]]
    assert [each.is_conj() or each.is_neg() for each in values] == [True, True, False, True]
    found = torchlike.load(io.BytesIO(write(values)))
    assert [each.tolist() for each in found] == [each.tolist() for each in values]
    ours = [each.conj() for each in found]
    assert [each.tolist() for each in read_by_torch(write_ours(ours))] == [each.tolist() for each in ours]


def test_what_torchs_loader_refuses_is_saved_as_torch_saves_it():
    assert read_by_torch(write_ours(b"")) == b""  # torch does not read its own
    values = [np.arange(6).reshape(2, 3), np.float32(0.5), np.ones(2, ">i2"), argparse.Namespace(a=1), frozenset([1])]
    values += [slice(1, None, 2), defaultdict(list, a=[1]), range(3), print, np.array(["text", None])]
    for value in values:
        ours, theirs = (
            zipfile.ZipFile(io.BytesIO(each(value))).read("archive/data.pkl") for each in (write_ours, write)
        )
        assert pickletools.optimize(ours) == pickletools.optimize(theirs), value
        found = torch.load(io.BytesIO(write_ours(value)), weights_only=False)
        assert type(found) is type(value) and str(found) == str(value)
    for value in [*values[:5], values[6]]:
        found = torchlike.load(io.BytesIO(write(value)))
        assert type(found) is type(value) and str(found) == str(value)


def test_devices_that_torch_lacks_keep_their_tag():
    data = rewrite(
        write_ours(torchlike.ones(2)), lambda _, old: old.replace(b"X\x03\x00\x00\x00cpu", b"X\x05\x00\x00\x00npu:0")
    )
    assert read_by_torch(data, map_location="cpu").tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="npu:0"):
        read_by_torch(data)


# Models that are saved whole.

#: A module, and the shape of its input.
MODELS = {
    "nn.Sequential(nn.Linear(3, 2), nn.GELU(), nn.LayerNorm(2), nn.Softmax(-1))": (4, 3),
    "nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.MaxPool2d(2), nn.Flatten())": (1, 2, 4, 4),
    "nn.LSTM(3, 4, 2)": (5, 2, 3),
    "nn.LSTM(3, 4, proj_size=2, bidirectional=True)": (5, 2, 3),
    "nn.GRUCell(3, 4)": (2, 3),
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2, enable_nested_tensor=False)": (3, 2, 4),
    "nn.utils.weight_norm(nn.Linear(3, 2))": (4, 3),
    "nn.InstanceNorm1d(2)": (3, 2, 4),
    "nn.ModuleDict({'a': nn.Linear(1, 1), 'b': nn.ParameterList([nn.Parameter(t.ones(2))])})": None,
    "nn.CrossEntropyLoss(label_smoothing=0.1)": None,
    "optim.AdamW([nn.Parameter(t.ones(2))])": None,
    "optim.lr_scheduler.StepLR(t.optim.SGD([nn.Parameter(t.ones(2))], lr=0.1), 2)": None,
    "utils.data.TensorDataset(t.ones(3))": None,
    "distributions.Normal(t.zeros(2), t.ones(2))": None,
    "distributions.transforms.ExpTransform()": None,
    "nn.functional.relu": None,
    "tanh": None,
    "nn.Linear": None,
    "autograd.graph.save_on_cpu": None,
    "autograd.grad": None,
    "func.hessian": None,
    "nn.parallel.data_parallel": None,
    "optim.ASGD": None,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", MODELS)
def test_models_that_are_saved_whole_go_both_ways(program):
    shape = MODELS[program]
    for maker, writer, reader in ((torch, write, torchlike), (torchlike, write_ours, torch)):
        made = eval(f"t.{program}", {"t": maker, "nn": maker.nn})
        if shape:
            made.eval()
        found = reader.load(io.BytesIO(writer(made)), weights_only=False)
        if isinstance(made, type) or (callable(made) and not shape):
            assert getattr(found, "__name__", "") == getattr(made, "__name__", "")
        assert type(found).__name__ == type(made).__name__ or not shape
        if hasattr(made, "state_dict") and not isinstance(made, type):
            assert [*found.state_dict()] == [*made.state_dict()]
        if shape:
            x = np.random.default_rng(0).random(shape, "f4")
            results = [each(library.from_numpy(x)) for each, library in ((made, maker), (found, reader))]
            one, other = (each[0] if isinstance(each, tuple) else each for each in results)
            assert np.allclose(one.detach().numpy(), other.detach().numpy(), atol=1e-5)


def test_classes_that_the_program_allows_are_read_under_torchs_names():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    ours = [torchlike.nn.Sequential, torchlike.nn.Linear, torchlike.nn.Tanh]
    with torchlike.serialization.safe_globals(ours):
        found = torchlike.load(io.BytesIO(write(model)))
    assert repr(found) == repr(model) and type(found[0]) is torchlike.nn.Linear
    with torch.serialization.safe_globals([torch.nn.Sequential, torch.nn.Linear, torch.nn.Tanh]):
        assert repr(read_by_torch(write_ours(found))) == repr(model)
    with pytest.raises(ValueError, match=r"torch\.nn\.modules\.container\.Sequential is refused"):
        torchlike.load(io.BytesIO(write(model)))


# Records and settings.


def test_records_go_both_ways(tmp_path):
    for writer, reader in ((torch._C, torchlike.serialization), (torchlike.serialization, torch._C)):
        library = torch if writer is torch._C else torchlike
        other = torchlike if library is torch else torch
        made = writer.PyTorchFileWriter(str(tmp_path / "w.pt"))
        made.write_record("a", b"abc", 3)
        made.write_record("t", library.arange(3.0).untyped_storage(), 12)
        made.write_record_metadata("later", 70)
        made.write_end_of_file()
        found = reader.PyTorchFileReader(str(tmp_path / "w.pt"))
        assert found.get_all_records() == ["a", "t", "later", "version", "byteorder", ".data/serialization_id"] or (
            set(found.get_all_records()) == made.get_all_written_records()
        )
        assert (found.get_record("a"), found.get_record_size("later")) == (b"abc", 70)
        assert found.serialization_id() == made.serialization_id()
        storage = found.get_storage_from_record("t", 3, other.float32).untyped_storage()
        assert other.asarray(storage, dtype=other.float32).tolist() == [0, 1, 2]
        header = found.get_record_header_offset("t")
        assert found.get_record_offset_no_read(header, "t", 12, 64) == found.get_record_offset("t")


def test_files_without_checksums_and_of_another_order_of_bytes_are_read():
    x = torch.arange(3.0)
    torch.serialization.set_crc32_options(False)
    try:
        data = write([x])
    finally:
        torch.serialization.set_crc32_options(True)
    assert torchlike.load(io.BytesIO(data))[0].tolist() == [0, 1, 2]
    swapped = x.numpy().byteswap().tobytes()
    other = rewrite(
        write(x), lambda name, old: swapped if "data/0" in name else b"big" if name.endswith("byteorder") else old
    )
    assert torchlike.load(io.BytesIO(other)).tolist() == read_by_torch(other).tolist() == [0, 1, 2]
    with torch.serialization.skip_data():
        data = write([x])
    assert torchlike.load(io.BytesIO(data))[0].tolist() == [0, 0, 0]
    with torchlike.serialization.skip_data():
        data = write_ours([torchlike.arange(3.0)])
    assert read_by_torch(data)[0].tolist() == [0, 0, 0]


def test_constants_of_serialization_are_torchs():
    for name in torchlike.serialization.__all__:
        assert hasattr(torch.serialization, name) or name.startswith("PyTorchFile"), name
        value = getattr(torch.serialization, name, None)
        if isinstance(value, (int, str)):
            assert getattr(torchlike.serialization, name) == value
    for group in ("load", "save"):
        ours, theirs = (getattr(library.utils.serialization.config, group) for library in (torchlike, torch))
        for name in vars(ours):
            if not name.startswith("_"):
                assert getattr(theirs, name) == getattr(ours, name)


# The older format.


def write_old(value):
    return write(value, _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("name", [name for name in VALUES if name != "dtypes"])
def test_files_of_the_older_format_are_read(name, tmp_path):
    data = write_old(VALUES[name])
    assert plain(torchlike.load(io.BytesIO(data))) == plain(VALUES[name])
    (tmp_path / "x.pt").write_bytes(b"?" * 5 + data)
    with (tmp_path / "x.pt").open("rb") as file:
        file.seek(5)
        assert plain(torchlike.load(file)) == plain(VALUES[name])
    with pytest.raises(RuntimeError, match="mmap=True takes files of torch's zip format"):
        (tmp_path / "y.pt").write_bytes(data)
        torchlike.load(tmp_path / "y.pt", mmap=True)


@pytest.mark.filterwarnings("ignore")
def test_memory_and_models_of_the_older_format_are_read():
    base = torch.zeros(10)
    loaded = torchlike.load(io.BytesIO(write_old([base, base[2:5], base[::3]])))
    loaded[1].fill_(1)
    assert loaded[0].tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0] and loaded[2].tolist() == [0, 1, 0, 0]
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    found = torchlike.load(io.BytesIO(write_old(model)), weights_only=False)
    assert plain(found.state_dict()) == plain(model.state_dict()) and repr(found) == repr(model)
    with pytest.raises(ValueError, match="is refused"):
        torchlike.load(io.BytesIO(write_old(model)))
    with pytest.raises(NotImplementedError, match="map_location='cpu'"):
        torchlike.load(io.BytesIO(write_old(base)), "meta")


def test_damaged_files_of_the_older_format_are_refused():
    draw = random.Random(os.environ.get("DISPATCH_TEST_SEED", "5"))
    original = write_old({"a": torch.arange(6.0).reshape(2, 3), "b": [1, "x", (2.5,)]})
    read = 0
    for number in range(500):
        content = bytearray(original)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(15, len(content))
            content[at] = draw.choice([draw.randrange(256), *b"(.}]0RbqhKMJtcsueaQ"])
        if number % 5 == 0:
            del content[draw.randrange(15, len(content)) :]
        try:
            repr(torchlike.load(io.BytesIO(bytes(content))))
            read += 1
        except ValueError:
            pass
        except RuntimeError as error:
            assert "Attempting to deserialize" in str(error)  # noqa: PT017  # a device that is not there
    assert 0 < read < 500


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", [torch, torchlike], ids=["torch", "torchlike"])
def test_classes_of_tensors_are_read_as_torch_reads_them(library, monkeypatch):
    class Plain(library.Tensor):
        pass

    class Wrapper(library.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return library.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=True)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            return NotImplemented

    for kind in (Plain, Wrapper):
        kind.__qualname__ = kind.__name__
        monkeypatch.setitem(globals(), kind.__name__, kind)
    plain_one = library.arange(3.0).as_subclass(Plain)
    plain_one.note = 5
    file = io.BytesIO()
    library.save([plain_one, Wrapper(library.ones(2))], file)
    readers = [lambda: library.load(io.BytesIO(file.getvalue()), weights_only=False)]
    if library is torchlike:
        with pytest.raises(ValueError, match="is refused"):
            library.load(io.BytesIO(file.getvalue()))
        readers.append(lambda: library.load(io.BytesIO(file.getvalue())))
    with library.serialization.safe_globals([Plain, Wrapper]):
        for read in readers:
            first, second = read()
            assert type(first) is Plain and first.tolist() == [0, 1, 2] and first.note == 5
            assert type(second) is Wrapper and second.inner.tolist() == [1, 1] and second.requires_grad
            assert second.shape == (2,) and second.device.type == "cpu"
