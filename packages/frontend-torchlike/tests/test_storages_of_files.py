"""Storages of their own: of numbers of bytes, of files, parts of others, and tensors in them."""

import pytest

import torchlike


@pytest.mark.no_pipeline(reason="writes are recorded")
def test_a_file_is_mapped_and_written_to_only_where_it_is_shared(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(16)))
    own = torchlike.UntypedStorage.from_file(str(path), shared=False, nbytes=16)
    assert (own.nbytes(), own[3], own.filename) == (16, 3, None)
    own[3] = 99
    assert own.tolist()[2:5] == [2, 99, 4] and path.read_bytes() == bytes(range(16))
    shared = torchlike.UntypedStorage.from_file(path, shared=True)
    shared[2:4].fill_(7)
    assert path.read_bytes()[:5] == bytes([0, 1, 7, 7, 4]) and shared.filename == str(path)
    made = torchlike.UntypedStorage.from_file(tmp_path / "new", True, 8)
    assert made.tolist() == [0] * 8 and (tmp_path / "new").read_bytes() == bytes(8)
    assert torchlike.UntypedStorage.from_file(path).nbytes() == 16
    (tmp_path / "empty").write_bytes(b"")
    assert torchlike.UntypedStorage.from_file(tmp_path / "empty").nbytes() == 0
    with pytest.raises(RuntimeError, match="size <16> is smaller than the required mapping size <17>"):
        torchlike.UntypedStorage.from_file(path, nbytes=17)
    with pytest.raises(FileNotFoundError):
        torchlike.UntypedStorage.from_file(tmp_path / "nowhere")


def test_parts_of_a_storage_share_its_memory_and_have_bounds_of_their_own():
    x = torchlike.arange(6.0)
    part = x.untyped_storage()[8:20]
    y = torchlike.asarray(part, dtype=torchlike.float32)
    assert y.tolist() == [2, 3, 4] and y.storage_offset() == 0 and y.untyped_storage().nbytes() == 12
    y[0] = 50
    assert x[2] == 50 and x.storage()[2:4].tolist() == [50, 3] and part[0:0].nbytes() == 0
    assert x.untyped_storage()[4:2].tolist() == [] and x.storage()[-1] == 5
    with pytest.raises(RuntimeError, match="slice with a step of 2"):
        x.untyped_storage()[::2]


def test_storages_are_made_of_sizes_and_values():
    assert torchlike.UntypedStorage(4).nbytes() == 4 and torchlike.UntypedStorage().nbytes() == 0
    storage = torchlike.UntypedStorage([1, 2, 3])
    copy = storage.clone()
    copy[0] = 9
    assert storage.tolist() == [1, 2, 3] and copy.copy_(storage).tolist() == [1, 2, 3]
    assert storage.cpu() is storage and storage.untyped() is storage and not storage.is_cuda
    x = torchlike.empty(0, dtype=torchlike.uint8).set_(storage)
    assert x.tolist() == [1, 2, 3] and torchlike.asarray(storage).dtype is torchlike.int64


def test_a_mapped_tensor_has_its_own_storage(tmp_path):
    path, again = tmp_path / "x.pt", tmp_path / "y.pt"
    torchlike.save({"a": torchlike.ones(10_000), "b": torchlike.ones(5)}, path)
    found = torchlike.load(path, mmap=True)
    assert found["b"].storage_offset() == 0 and found["b"].untyped_storage().nbytes() == 20
    torchlike.save(found["b"], again)
    assert again.stat().st_size < 5000
