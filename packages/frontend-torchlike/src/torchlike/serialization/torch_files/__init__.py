"""Files in torch's own format, as ``torch.save`` writes them: a zip file of a pickle and of storages."""

from __future__ import annotations
