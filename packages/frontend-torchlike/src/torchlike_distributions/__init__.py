"""The modules of ``torchlike.distributions``, which is the path that users import.

They stand on torchlike's public names; `torchlike.names.public_paths` says which path each has.
"""

from dispatch_core.tracebacks import hide_frames as _hide_frames

_hide_frames(__name__)
