"""Files for TensorBoard, where it is installed (source: ``torch.utils.tensorboard``)."""

from .writer import SummaryWriter

__all__ = ["SummaryWriter"]
