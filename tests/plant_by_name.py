"""Plants the fault that ``PLANTED_FAULT`` names; processes of the kit import it."""

import os

import planted_faults

_planted = planted_faults.plant(os.environ["PLANTED_FAULT"])
_planted.__enter__()
