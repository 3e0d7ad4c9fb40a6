"""Devices that copy to and from each other without the host."""

from __future__ import annotations

import ctypes

from ..acl.library import call
from .device import ensure_session, guard


def can_access_peer(device: int, peer: int) -> bool:
    """Return whether a device copies to and from another one by itself; none does so with itself (source: ``torch.npu``)."""
    with guard(device):
        found = ctypes.c_int32()
        call("aclrtDeviceCanAccessPeer", ctypes.byref(found), device, peer)
    return bool(found.value)


def connect(device: int, peer: int) -> bool:
    """Connect two devices, so that they copy to and from each other; return False where they cannot."""
    peers = ensure_session().peers
    known = peers.get((device, peer))
    if known is None:
        known = can_access_peer(device, peer) and can_access_peer(peer, device)
        for one, other in ((device, peer), (peer, device)) if known else ():
            with guard(one):
                call("aclrtDeviceEnablePeerAccess", other, 0)
        peers[device, peer] = peers[peer, device] = known
    return known
