"""Plants the fault that ``PLANTED_FAULT`` names, if it does; processes of the kit import it."""

import os

import planted_faults

if _name := os.environ.get("PLANTED_FAULT"):
    _planted = planted_faults.plant(_name)
    _planted.__enter__()
