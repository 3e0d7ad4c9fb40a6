"""Records of files, settings, and where storages go: the names of ``torch.serialization`` and of ``torch._C`` for them."""

import io
import mmap
import sys
import zipfile

import pytest

import torchlike
from torchlike import serialization
from torchlike.utils.serialization import config


def write(value):
    file = io.BytesIO()
    torchlike.save(value, file)
    return file.getvalue()


def test_records_are_written_and_read(tmp_path):
    path = tmp_path / "x.pt"
    writer = serialization.PyTorchFileWriter(str(path))
    writer.write_record("a", b"abcdef", 3)
    writer.write_record("text", "é", 2)
    writer.write_record("t", torchlike.arange(4.0)[1:].untyped_storage(), 16)
    writer.write_record_metadata("later", 100)
    for data in (7, [1]):
        with pytest.raises(TypeError, match="data must be a text, bytes or a storage"):
            writer.write_record("b", data, 1)
    with pytest.raises(RuntimeError, match="there are 3 bytes, and 4 are to be written"):
        writer.write_record("b", b"abc", 4)
    with pytest.raises(RuntimeError, match="has a record 'a' already"):
        writer.write_record("a", b"abc", 3)
    writer.write_end_of_file()
    assert writer.archive_name() == "x" and "later" in writer.get_all_written_records()
    with pytest.raises(RuntimeError, match="is complete"):
        writer.write_record("b", b"", 0)
    content = path.read_bytes()
    for source in (str(path), path, io.BytesIO(content)):
        reader = serialization.PyTorchFileReader(source)
        assert reader.get_record("a") == b"abc" and reader.get_record("text").decode() == "é"
        assert reader.get_all_records()[:4] == ["a", "text", "t", "later"] and reader.has_record("version")
        assert (reader.get_record_size("later"), reader.has_record("b")) == (100, False)
        place = reader.get_record_offset("t")
        assert place % 64 == 0 and len(content[place : place + 16]) == 16
        header = reader.get_record_header_offset("t")
        assert reader.get_record_offset_no_read(header, "t", 16, 64) == place
        assert reader.get_storage_from_record("t", 4, torchlike.float32).tolist() == [0, 1, 2, 3]
        assert reader.get_storage_from_record("t", 16, torchlike.UntypedStorage).untyped_storage().nbytes() == 16
        assert reader.serialization_id() == writer.serialization_id() and len(reader.serialization_id()) == 40
        for call in (reader.get_record, reader.get_record_offset, reader.get_record_size):
            with pytest.raises(RuntimeError, match="failed locating file b: file not found"):
                call("b")
        with pytest.raises(RuntimeError, match="has 16 bytes and not 20"):
            reader.get_storage_from_record("t", 5, torchlike.float32)
    for wrong in (tmp_path / "missing", io.BytesIO(b"abc"), io.BytesIO(content[:-30])):
        with pytest.raises(RuntimeError, match="failed reading zip archive"):
            serialization.PyTorchFileReader(wrong)


def test_skipped_data_are_zeros():
    x = torchlike.arange(1.0, 4.0)
    with serialization.skip_data():
        empty = write([x, x[1:]])
        assert [each.tolist() for each in torchlike.load(io.BytesIO(write_outside(x)))] == [[0, 0, 0]]
    found = torchlike.load(io.BytesIO(empty))
    assert [each.tolist() for each in found] == [[0, 0, 0], [0, 0]] and len(empty) == len(write([x, x[1:]]))
    assert torchlike.load(io.BytesIO(write([x])))[0].tolist() == [1, 2, 3]


def write_outside(x):
    """Return a file with data, written by a thread that skips none."""
    import threading

    found = []
    thread = threading.Thread(target=lambda: found.append(write([x])))
    thread.start()
    thread.join()
    return found[0]


def change(data, name, content):
    """Return a file with another entry, or without it."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for each in old.namelist():
            given = content if each.endswith(name) else old.read(each)
            if given is not None:
                new.writestr(each, given)
    return file.getvalue()


@pytest.mark.parametrize(
    "dtype", "bool uint8 int16 float16 bfloat16 float32 int64 float64 complex64 complex128".split()
)
def test_the_order_of_bytes_is_that_of_the_file_or_of_the_setting(dtype):
    x = torchlike.tensor([0, 1, 2]).to(getattr(torchlike, dtype))
    array = x.view(torchlike.int16).numpy() if dtype == "bfloat16" else x.numpy()
    other = change(write(x), "data/0", array.byteswap().tobytes())
    swapped = "big" if sys.byteorder == "little" else "little"
    named = change(other, "byteorder", swapped.encode())
    assert torchlike.equal(torchlike.load(io.BytesIO(named)), x)
    unnamed = change(other, "byteorder", None)
    assert serialization.get_default_load_endianness() is None
    kinds = serialization.LoadEndianness
    try:
        serialization.set_default_load_endianness(kinds[swapped.upper()])
        assert torchlike.equal(torchlike.load(io.BytesIO(unnamed)), x)
        serialization.set_default_load_endianness(kinds.NATIVE)
        assert torchlike.equal(torchlike.load(io.BytesIO(change(write(x), "byteorder", None))), x)
    finally:
        serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError):
        serialization.set_default_load_endianness("little")
    with pytest.raises(ValueError, match="its byte order is 'middle'"):
        torchlike.load(io.BytesIO(change(other, "byteorder", b"middle")))


@pytest.mark.skipif(not hasattr(mmap, "MAP_SHARED"), reason="the system has no flags of mappings")
@pytest.mark.no_pipeline(reason="writes are recorded")
def test_shared_pages_change_the_file_where_the_program_asks_for_them(tmp_path):
    path = tmp_path / "x.pt"
    torchlike.save(torchlike.ones(3), path)
    torchlike.load(path, mmap=True).fill_(2)
    assert torchlike.load(path).tolist() == [1, 1, 1]
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        torchlike.load(path, mmap=True).fill_(3)
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    content = path.read_bytes()
    assert torchlike.load(path, mmap=True).tolist() == [3, 3, 3] and b"\x00\x00\x40\x40" * 3 in content
    with pytest.raises(ValueError, match="expected mmap"):
        serialization.set_default_mmap_options(12345)
    with config.patch("load.mmap", True):
        assert torchlike.load(path).tolist() == [3, 3, 3] and torchlike.load(io.BytesIO(write([1]))) == [1]
    with pytest.raises(AttributeError), config.patch({"load.nothing": 1}):
        pass


def test_the_alignment_is_a_setting():
    with config.patch({"save.storage_alignment": 4096}):
        data = write([torchlike.ones(3), torchlike.ones(2)])
    reader = serialization.PyTorchFileReader(io.BytesIO(data))
    assert reader.get_record_offset("data/1") % 4096 == 0 and reader.get_record(".storage_alignment") == b"4096"


def test_storages_are_brought_to_places():
    storage = torchlike.UntypedStorage([1, 2])
    assert (
        serialization.location_tag(storage) == "cpu"
        and serialization.default_restore_location(storage, "cpu") is storage
    )
    from torchlike.serialization.torch_files.restoring import get_restore_location

    for location in (None, "cpu", {"cuda:0": "cpu"}, lambda storage, tag: None, torchlike.device("cpu")):
        assert get_restore_location(location)(storage, "cpu") is storage
    assert get_restore_location("meta")(storage, "cpu").device.type == "meta"
    with pytest.raises(RuntimeError, match="CUDA"):
        get_restore_location(None)(storage, "cuda:0")
    with pytest.raises(RuntimeError, match="CUDA"):
        serialization.validate_cuda_device("cuda:0")


class Settings:
    pass


def test_names_that_load_would_refuse_are_listed():
    value = {"a": torchlike.ones(2), "b": Settings(), "c": {1}, "d": torchlike.float16, "e": torchlike.nn.Linear}
    found = serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(write(value)))
    assert found == [f"{__name__}.Settings", "torch.nn.modules.linear.Linear"]
    with serialization.safe_globals([Settings]):
        assert len(serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(write(value)))) == 1
    with pytest.raises(ValueError, match="Expected input to be a checkpoint"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"abc"))


def test_constants_and_versions_are_torchs():
    assert (serialization.DEFAULT_PROTOCOL, serialization.STORAGE_KEY_SEPARATOR) == (2, ",")
    assert (
        serialization.MAGIC_NUMBER == 0x1950A86A20F9469CFC6C and serialization.FileLike and serialization.MAP_LOCATION
    )

    class Module:
        __name__, __version__ = "m", "1.2.3"

    assert serialization.check_module_version_greater_or_equal(Module, (1, 2))
    assert not serialization.check_module_version_greater_or_equal(Module, (1, 3))
    Module.__version__ = "x"
    with pytest.raises(RuntimeError, match="is malformed"):
        serialization.check_module_version_greater_or_equal(Module, (1,))
    with pytest.warns(UserWarning, match="is malformed"):
        assert serialization.check_module_version_greater_or_equal(Module, (1,), error_if_malformed=False)
