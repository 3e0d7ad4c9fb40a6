"""States of generators as bytes.

The cpu's is as torch writes it, 5,056 bytes, so that each goes on from a state of the other.
That of a device on whose behalf the host draws is the same. A device's own engine gives bytes; the seed stands before them,
and the host's part behind them where the host has drawn, too. Seed and offset of a Philox engine are 16 bytes, as torch's.

The layout is that of ``at::CPUGeneratorImplState``: the seed, the Mersenne Twister's counters and words, and the normal
numbers that were drawn but not used.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

_WORDS: Final = 624
#: The bytes of the seed and of the length of the engine's bytes.
_HEAD: Final = 16
_LAYOUT: Final = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", (_WORDS,)),
        ("normal_x", "<f8"),
        ("normal_y", "<f8"),
        ("normal_rho", "<f8"),
        ("normal_is_valid", "<i4"),
        ("", "<i4"),
        ("next_float", "<f4"),
        ("next_float_is_valid", "<i4"),
    ]
)


def pack_state(state: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return a state of the generator as bytes; ``ValueError`` where it has no engine, or one of another kind."""
    engine = state["engine"]
    bits = engine.get("bits") if isinstance(engine, dict) else None
    if not isinstance(bits, dict) or bits.get("bit_generator") != "MT19937":
        raise ValueError("the generator's engine is no Mersenne Twister")
    found = np.zeros((), _LAYOUT)
    used = bits["state"]["pos"]
    found["seed"], found["seeded"], found["words"] = state["seed"], 1, bits["state"]["key"]
    # The words are made again when none is left; a fresh state has made none yet.
    found["left"], found["next"] = (1, 0) if used == _WORDS else (_WORDS + 1 - used, used)
    if engine["spare_normal"] is not None:
        found["normal_y"], found["normal_rho"], found["normal_is_valid"] = engine["spare_normal"], 1.0, 1
    return np.frombuffer(found.tobytes(), np.uint8).copy()


def unpack_state(data: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return the state that bytes hold; ``RuntimeError`` for bytes that are none."""
    if data.dtype != np.uint8 or data.size != _LAYOUT.itemsize:
        raise RuntimeError(
            "RNG state is wrong size" if data.dtype == np.uint8 else "RNG state must be a torch.ByteTensor"
        )
    found = np.frombuffer(np.ascontiguousarray(data).tobytes(), _LAYOUT)[0]
    left = int(found["left"])
    if not 1 <= left <= _WORDS:
        raise RuntimeError("Invalid mt19937 state")
    used = _WORDS if left == 1 else _WORDS + 1 - left
    bits = {"bit_generator": "MT19937", "state": {"key": found["words"].astype(np.uint32), "pos": used}}
    spare = float(found["normal_y"]) if found["normal_is_valid"] else None
    return {"seed": int(found["seed"]), "engine": {"bits": bits, "spare_normal": spare}}


def pack_any(state: dict[str, Any]) -> np.ndarray[Any, Any] | None:
    """Return a state of any device's generator as bytes, None where its engine gives none."""
    engine = state["engine"]
    if isinstance(engine, dict):
        return _pack_host(engine if "seed" in engine else state)
    if not isinstance(engine, bytes):
        return None
    host = b"" if state.get("host") is None else _pack_host(state["host"])
    if host is None:
        return None
    if not len(host) and _is_philox(engine, state["seed"]):
        return np.frombuffer(engine, np.uint8).copy()
    head = np.array([state["seed"], len(engine)], "<u8").tobytes()
    return np.frombuffer(head + engine + bytes(host), np.uint8).copy()


def _is_philox(engine: bytes, seed: int) -> bool:
    """Return whether an engine's bytes are the seed and one number more."""
    return len(engine) == _HEAD and engine[: _HEAD // 2] == seed.to_bytes(_HEAD // 2, "little")


def _pack_host(state: dict[str, Any]) -> np.ndarray[Any, Any] | None:
    try:
        return pack_state(state)
    except ValueError:
        return None


def unpack_any(data: np.ndarray[Any, Any], is_cpu: bool, by_host: bool) -> dict[str, Any]:
    """Return the state that bytes hold, of a generator by which the host draws or that has an engine of its own."""
    if by_host:
        inner = unpack_state(data)
        return inner if is_cpu else {"seed": inner["seed"], "engine": inner}
    if data.dtype != np.uint8:
        raise RuntimeError("RNG state must be a torch.ByteTensor")
    whole = np.ascontiguousarray(data).tobytes()
    if len(whole) == _HEAD:
        return {"seed": int.from_bytes(whole[: _HEAD // 2], "little"), "engine": whole}
    seed, length = (int(each) for each in np.frombuffer(whole[:_HEAD], "<u8")) if len(whole) >= _HEAD else (0, -1)
    rest = len(whole) - _HEAD - length
    if length < 0 or rest not in (0, _LAYOUT.itemsize):
        raise RuntimeError("RNG state is wrong size")
    found: dict[str, Any] = {"seed": seed, "engine": whole[_HEAD : _HEAD + length]}
    return {**found, "host": unpack_state(data[-rest:])} if rest else found
