"""Files for TensorBoard, where it is installed (source: ``torch.utils.tensorboard``)."""

from .files import FileWriter
from .writer import SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
