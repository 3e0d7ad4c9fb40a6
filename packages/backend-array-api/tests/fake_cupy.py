"""A stand-in for CuPy where there is no GPU: its names, on NumPy's arrays in a class of their own."""

import functools
import sys
import types

import numpy as np


class ndarray(np.ndarray):
    """The class that the device claims; one element of it is an array too, as in CuPy."""

    def __getitem__(self, key):
        return give(super().__getitem__(key))


ndarray.__module__ = "cupy"


def give(value):
    if isinstance(value, tuple | list):
        return type(value)(map(give, value)) if type(value) in (tuple, list) else value
    return np.asarray(value).view(ndarray) if isinstance(value, np.ndarray | np.generic) else value


def wrap(function):
    @functools.wraps(function)
    def run(*args, **kwargs):
        return give(function(*args, **kwargs))

    return run


def _module(name, source, **more):
    made = types.ModuleType(name)
    for key in getattr(source, "__all__", dir(source)):
        value = getattr(source, key, None)
        if not key.startswith("_") and not isinstance(value, types.ModuleType | type(None)):
            setattr(made, key, wrap(value) if callable(value) and not isinstance(value, type) else value)
    for key, value in more.items():
        setattr(made, key, value)
    made.__all__ = [key for key in vars(made) if not key.startswith("_")]
    sys.modules[name] = made
    return made


class Device:
    def __init__(self, number=0):
        self.id = number

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


class _At:
    """A ufunc's method, on arrays of either class."""

    def __init__(self, ufunc):
        self.ufunc = ufunc

    def __call__(self, *args, **kwargs):
        return give(self.ufunc(*args, **kwargs))

    def at(self, array, key, values):
        self.ufunc.at(array, key, values)


def install():
    """Make ``import cupy`` answer with the stand-in."""
    device = _module("cupy.cuda.device", types.ModuleType("none"), Device=Device)
    cuda = _module("cupy.cuda", types.ModuleType("none"), Device=Device, device=device)
    linalg = _module("cupy.linalg", np.linalg)
    fft = _module("cupy.fft", np.fft)
    whole = _module("cupy", np, ndarray=ndarray, linalg=linalg, fft=fft, cuda=cuda, asnumpy=np.array, add=_At(np.add))
    for each in ("abs", "max", "min", "round"):
        setattr(whole, each, wrap(getattr(np, each)))
    whole.__path__ = []
    special = _module("cupyx.scipy.special", types.ModuleType("none"), erf=_erf)
    scipy = _module("cupyx.scipy", types.ModuleType("none"), special=special)
    _module("cupyx", types.ModuleType("none"), scipy=scipy)


def _erf(array):
    from scipy.special import erf

    return give(erf(array))
