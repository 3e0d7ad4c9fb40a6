"""Tools for those who build with dispatch-core: the command ``dispatch``, explanations, the doctor, pictures, scaffolds."""

from __future__ import annotations

__version__ = "0.1.0"
