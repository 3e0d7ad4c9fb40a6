"""Events of TensorBoard: numbers, histograms, images and texts by step."""

from __future__ import annotations

import io
import os
import socket
import time
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ...tensors.tensor import Tensor
from .files import FileWriter, take_part
from .summary import hparams

__all__ = ["SummaryWriter"]


def _take(library: str, part: str) -> Any:
    """Import a part of a library that need not be installed; ``ImportError`` names the distribution to install."""
    from importlib import import_module

    try:
        return import_module(part)
    except ImportError as error:
        raise ImportError(f"SummaryWriter needs {library}: pip install {library}") from error


def _to_array(value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, Tensor):
        return np.asarray(value.detach().cpu().float() if value.dtype.short == "bfloat16" else value.detach().cpu())
    return np.asarray(value)


def _to_number(value: Any) -> float:
    array = _to_array(value)
    if array.size != 1:
        raise AssertionError("scalar should be 0D")
    return float(array.reshape(()))


class SummaryWriter:
    """Writes events into a folder that TensorBoard reads (source: ``torch.utils.tensorboard.SummaryWriter``).

    ``log_dir`` is ``runs/DATE_HOST`` where it is left out. Raises ``ImportError`` where tensorboard is not installed.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        self._events = take_part("compat.proto.event_pb2")
        self._summaries = take_part("compat.proto.summary_pb2")
        self._options = (max_queue, flush_secs, filename_suffix)
        now = time.strftime("%b%d_%H-%M-%S")
        self.log_dir = str(log_dir or os.path.join("runs", f"{now}_{socket.gethostname()}{comment}"))  # noqa: PTH118
        self._writers: dict[str, FileWriter] = {}
        self._open(self.log_dir)
        if purge_step is not None:
            session = self._events.SessionLog(status=self._events.SessionLog.START)
            self._add(self._events.Event(session_log=session), purge_step, None)

    def _open(self, folder: str) -> FileWriter:
        found = self._writers.get(folder)
        if found is None:
            found = self._writers[folder] = FileWriter(folder, *self._options)
        return found

    def _get_file_writer(self) -> FileWriter:
        """Return the writer of the folder's file, which is opened where it was closed."""
        return self._open(self.log_dir)

    #: The same, for programs that write summaries of their own.
    file_writer = property(_get_file_writer)

    def get_logdir(self) -> str:
        """Return the folder of the events."""
        return self.log_dir

    def _add(self, event: Any, step: Any, walltime: float | None, folder: str | None = None) -> None:
        self._open(folder or self.log_dir).add_event(event, step, walltime)

    def _add_value(self, step: Any, walltime: float | None, folder: str | None = None, **value: Any) -> None:
        summary = self._summaries.Summary(value=[self._summaries.Summary.Value(**value)])
        self._add(self._events.Event(summary=summary), step, walltime, folder)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write a number."""
        self._add_value(global_step, walltime, tag=tag, simple_value=_to_number(scalar_value))

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write several numbers that are shown together, each into a folder of its own."""
        for tag, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{tag}"
            self._add_value(global_step, walltime, folder, tag=main_tag, simple_value=_to_number(value))

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Write how often values lie in ranges."""
        array = _to_array(values).astype(np.float64).reshape(-1)
        if not array.size:
            raise ValueError("The input has no element.")
        if isinstance(bins, str) and bins == "tensorflow":
            positive = 1e-12 * 1.1 ** np.arange(774)
            bins = np.concatenate([-positive[::-1], [0.0], positive])
        counts, edges = np.histogram(array, bins=bins)
        used = np.flatnonzero(counts)
        first, last = (used[0], used[-1] + 1) if used.size else (0, len(counts))
        histogram = self._summaries.HistogramProto(
            min=float(array.min()),
            max=float(array.max()),
            num=len(array),
            sum=float(array.sum()),
            sum_squares=float(array.dot(array)),
            bucket_limit=edges[first + 1 : last + 1].tolist(),
            bucket=counts[first:last].tolist(),
        )
        self._add_value(global_step, walltime, tag=tag, histo=histogram)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Write an image; floating-point numbers are between 0 and 1. Needs Pillow."""
        array = _to_array(img_tensor)
        order = dataformats.upper()
        array = array.transpose([order.index(axis) for axis in "HWC" if axis in order])
        if array.ndim == 2:
            array = array[:, :, None]
        if array.dtype != np.uint8:
            array = (array.astype(np.float32) * 255.0).clip(0, 255).astype(np.uint8)
        if array.shape[2] == 1:
            array = np.concatenate([array] * 3, axis=2)
        content = io.BytesIO()
        _take("pillow", "PIL.Image").fromarray(array).save(content, format="PNG")
        height, width, depth = array.shape
        image = self._summaries.Summary.Image(
            height=height, width=width, colorspace=depth, encoded_image_string=content.getvalue()
        )
        self._add_value(global_step, walltime, tag=tag, image=image)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Write images side by side."""
        array = _to_array(img_tensor)
        order = dataformats.upper()
        array = array.transpose([order.index(axis) for axis in "NHWC" if axis in order])
        self.add_image(
            tag, np.concatenate(list(array), axis=1), global_step, walltime, "HWC" if array.ndim == 4 else "HW"
        )

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Write a figure of matplotlib as an image."""
        for number, each in enumerate(figure if isinstance(figure, list) else [figure]):
            each.canvas.draw()
            name = f"{tag}/{number}" if isinstance(figure, list) else tag
            self.add_image(name, np.asarray(each.canvas.buffer_rgba())[:, :, :3], global_step, walltime, "HWC")

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a text, in Markdown."""
        types, shapes = take_part("compat.proto.types_pb2"), take_part("compat.proto.tensor_shape_pb2")
        tensors = take_part("compat.proto.tensor_pb2")
        tensor = tensors.TensorProto(
            dtype=types.DT_STRING,
            string_val=[text_string.encode()],
            tensor_shape=shapes.TensorShapeProto(dim=[shapes.TensorShapeProto.Dim(size=1)]),
        )
        plugin = self._summaries.SummaryMetadata.PluginData(plugin_name="text")
        metadata = self._summaries.SummaryMetadata(plugin_data=plugin)
        self._add_value(global_step, walltime, tag=f"{tag}/text_summary", metadata=metadata, tensor=tensor)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Write the settings of a run and the numbers that it reached; errors as `summary.hparams`."""
        folder = f"{self.log_dir}/{run_name or time.time()}"
        for each in hparams(hparam_dict, metric_dict, hparam_domain_discrete):
            self._open(folder).add_summary(each, global_step)
        for tag, value in metric_dict.items():
            self._add_value(global_step, None, folder, tag=tag, simple_value=_to_number(value))

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Do nothing: a network is not traced into a graph here."""

    def add_embedding(self, mat: Any, *args: Any, **kwargs: Any) -> None:
        """Raise ``NotImplementedError``: points in space are not written."""
        raise NotImplementedError("SummaryWriter.add_embedding is not implemented")

    def flush(self) -> None:
        """Write the queue to disk."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Close the files; the next event opens new ones."""
        for writer in self._writers.values():
            writer.flush()
            writer.close()
        self._writers = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
