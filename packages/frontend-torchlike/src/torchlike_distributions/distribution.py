"""The base of all distributions (source: ``torch.distributions.Distribution``)."""

from __future__ import annotations

__name__ = "torchlike.distributions.distribution"  # see Note [Public paths]

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Self

import torchlike
from torchlike import Size, Tensor

from . import constraints
from .utils import lazy_property

#: How the modules of this package are named, also where torchlike stands in for torch.
_OWN: Final = ("torchlike.distributions.", "torch.distributions.")


class Distribution:
    """Samples and densities of batches of random values.

    ``batch_shape`` counts distributions, ``event_shape`` is the shape of one value. Arguments are checked against
    ``arg_constraints``, values against ``support``, unless ``validate_args=False``: ``ValueError`` where they do not fit.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__
    arg_constraints: ClassVar[Any] = {}
    #: The parameters by name in the order that `expand` copies them; those of ``arg_constraints`` without it.
    _parameters: ClassVar[tuple[str, ...] | None] = None

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Choose whether arguments and values are checked where no distribution says it."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = (),
        event_shape: Any = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()
        super().__init__()

    def _check_arguments(self) -> None:
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `arg_constraints`. ", stacklevel=3)
            return
        for name, constraint in wanted.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def _expand_parameters(self, names: tuple[str, ...], batch_shape: Any, instance: Any = None) -> Self:
        """Return a distribution of the same class whose parameters are expanded to ``batch_shape``."""
        new = self._get_checked_instance(type(self), instance)
        batch = Size(batch_shape)
        for name in names:
            if name in self.__dict__:
                value = self.__dict__[name]
                extra = self._parameter_dims.get(name, 0)
                setattr(new, name, value.expand((*batch, *value.shape[value.dim() - extra :])))
        Distribution.__init__(new, batch, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    #: Parameters that have dimensions of their own beside those of the batch.
    _parameter_dims: ClassVar[dict[str, int]] = {}

    def _known_class(self) -> type:
        """Return the class of this package that the instance's class is or inherits from."""
        return next(each for each in type(self).__mro__ if each.__module__.startswith(_OWN))

    def _get_checked_instance(self, cls: type, instance: Any = None) -> Any:
        if instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a "
                "custom .expand() method."
            )
        return type(self).__new__(type(self)) if instance is None else instance

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """Return the same distribution for a larger batch."""
        names = self._parameters if self._parameters is not None else tuple(self.arg_constraints)
        return self._expand_parameters(names, batch_shape, _instance)

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    @property
    def support(self) -> Any:
        """The constraint that all values satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return values of shape ``sample_shape + batch_shape + event_shape``, without gradients."""
        with torchlike.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return values through which gradients flow to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Return ``n`` values."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, of values."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of smaller or equal values."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Return the values below which probabilities lie."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution along a new first dimension."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return torchlike.exp(self.entropy())

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        if isinstance(sample_shape, int):
            raise TypeError(f"sample_shape takes a sequence of ints, not int\nHint: write ({sample_shape},)")
        return Size((*Size(sample_shape), *self._batch_shape, *self._event_shape))

    def _check_sample(self, value: Tensor) -> None:
        """Raise ``ValueError`` where values are checked and some do not fit."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")  # torch's class
        split = value.dim() - len(self._event_shape)
        if value.shape[split:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        pairs = zip(reversed(value.shape), reversed(self._batch_shape + self._event_shape), strict=False)
        if any(1 not in (a, b) and a != b for a, b in pairs):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                f"{self._batch_shape + self._event_shape}."
            )
        try:
            support = self.support
        except NotImplementedError:
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        shown = (self.__dict__[name] for name in names)
        texts = [
            f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in zip(names, shown, strict=True)
        ]
        return f"{type(self).__name__}({', '.join(texts)})"


class ExponentialFamily(Distribution):
    """Distributions whose density is ``exp(t(x) . θ - F(θ) + k(x))`` (source: ``torch.distributions.ExponentialFamily``)."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy, from the gradient of the log normalizer."""
        params = [each.detach().requires_grad_() for each in self._natural_params]
        normalizer = self._log_normalizer(*params)
        gradients = torchlike.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = -self._mean_carrier_measure + normalizer
        for param, gradient in zip(params, gradients, strict=True):
            result = result - (param * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return result
