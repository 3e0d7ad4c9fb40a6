"""Places out of range: operators that take an index for one that there is not read or write memory that is not theirs."""

from __future__ import annotations

import dispatch_core as dc

from ...operators import ATEN
from ..agreement import TestedDevice, check_refusal
from ..comparing import DisagreementError
from ..further.refusals import NEGATIVE, list_places
from ..samples import op_samples
from .absence import Absence


def check_places(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Call every operator with places that the cpu refuses: the device refuses them, and has changed nothing then.

    It is one check, as a device refuses them everywhere, or nowhere.
    """
    if not device.has_values:
        raise Absence("the device has no values")
    count, found = 0, []
    for operator in ATEN:
        first = None if "out" in operator.tags else next(iter(op_samples(operator.name)), None)
        is_own = device.kernel_of(operator.name) == "own"
        for sample in () if first is None else list_places(first):
            if sample.change == NEGATIVE and not is_own:
                continue  # it is composed of an operator that counts from the end
            try:
                count += check_refusal(device, sample)
            except DisagreementError as error:
                found.append(f"{sample}: {error}")
                break
    if found:
        more = f" (and {len(found) - 1} more operators: {', '.join(each.partition('(')[0] for each in found[1:])})"
        raise DisagreementError(found[0] + more * (len(found) > 1))
    return count
