"""Summaries as tensorboard keeps them (source: ``torch.utils.tensorboard.summary``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...tensors.tensor import Tensor
from .files import take_part

__all__ = ["hparams"]


def hparams(
    hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: dict[str, list[Any]] | None = None
) -> tuple[Any, Any, Any]:
    """Return the summaries of a run's settings: of the experiment, of its start, and of its end.

    Args:
        hparam_dict: The settings by name: numbers, texts, or tensors of one element; None is left out.
        metric_dict: The numbers that the run reaches, of which the names are used.
        hparam_domain_discrete: All values that a setting can have.

    Raises ``TypeError`` for anything but dictionaries and for values of another type than the setting's, ``ValueError`` for
    other settings, ``ImportError`` where tensorboard is not installed.
    """
    for name, each in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(each, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    choices = hparam_domain_discrete or {}
    _check_choices(choices, hparam_dict)
    api = take_part("plugins.hparams.api_pb2")
    data = take_part("plugins.hparams.plugin_data_pb2")
    names = take_part("plugins.hparams.metadata")
    start, infos = data.SessionStartInfo(), []
    for name, value in hparam_dict.items():
        if value is not None:
            infos.append(_write_setting(api, start, name, value, choices))
    metrics = [api.MetricInfo(name=api.MetricName(tag=tag)) for tag in metric_dict]
    parts = {
        names.EXPERIMENT_TAG: {"experiment": api.Experiment(hparam_infos=infos, metric_infos=metrics)},
        names.SESSION_START_INFO_TAG: {"session_start_info": start},
        names.SESSION_END_INFO_TAG: {
            "session_end_info": data.SessionEndInfo(status=api.Status.Value("STATUS_SUCCESS"))
        },
    }
    summaries = take_part("compat.proto.summary_pb2")
    found = []
    for tag, part in parts.items():
        content = data.HParamsPluginData(version=names.PLUGIN_DATA_VERSION, **part).SerializeToString()
        plugin = summaries.SummaryMetadata.PluginData(plugin_name=names.PLUGIN_NAME, content=content)
        metadata = summaries.SummaryMetadata(plugin_data=plugin)
        found.append(summaries.Summary(value=[summaries.Summary.Value(tag=tag, metadata=metadata)]))
    return found[0], found[1], found[2]


def _check_choices(choices: Any, settings: Mapping[str, Any]) -> None:
    """Raise ``TypeError`` where the values that a setting can have are not of its type."""
    if not isinstance(choices, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for name, values in choices.items():
        is_list = name in settings and isinstance(values, list)
        if not is_list or not all(isinstance(each, type(settings[name])) for each in values):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )


def _write_setting(api: Any, start: Any, name: str, value: Any, choices: Mapping[str, Any]) -> Any:
    """Write a setting into the start of a session, and return its description."""
    if isinstance(value, Tensor):
        value = float(value)
    if not isinstance(value, (int, float, str)):
        raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
    is_text = isinstance(value, str)
    setattr(start.hparams[name], "string_value" if is_text else "number_value", value)
    kind = api.DataType.Value("DATA_TYPE_STRING" if is_text else "DATA_TYPE_FLOAT64")
    found = api.HParamInfo(name=name, type=kind)
    if name in choices:
        found.domain_discrete.extend(choices[name])
    return found
