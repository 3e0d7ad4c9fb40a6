"""Operators of the cpu backend element by element, beside torch's."""

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

from cpu_cases import ALL, FLOATS, array, arrays, generator_for, pick

from dispatch_backend_cpu.kernels import KERNELS

UNARY = (
    "neg abs sign exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh "
    "acosh atanh sigmoid erf erfc floor ceil round trunc frac logical_not bitwise_not isnan isinf nan_to_num relu "
    "silu gelu leaky_relu softplus elu"
).split()
BINARY = (
    "mul.Tensor div.Tensor remainder.Tensor fmod.Tensor floor_divide pow.Tensor_Tensor atan2 maximum minimum "
    "logical_and logical_or logical_xor bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor add.Tensor sub.Tensor "
    "eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor"
).split()


@pytest.mark.parametrize("name", UNARY)
def test_unary(compare, name):
    rng = generator_for(name)
    for _ in range(80):
        compare(name, arrays(rng, 1))


@pytest.mark.parametrize("name", [f"{name}_" for name in UNARY if f"{name}_" in KERNELS])
def test_unary_in_place(compare, name):
    rng = generator_for(name)
    for _ in range(60):
        compare(name, arrays(rng, 1))


@pytest.mark.parametrize("name", BINARY)
def test_binary(compare, name):
    rng = generator_for(name)
    for _ in range(250):
        kwargs = {"alpha": pick(rng, [1, 2, -1, 0.5, True])} if name in ("add.Tensor", "sub.Tensor") else {}
        compare(name, arrays(rng, 2), kwargs)


@pytest.mark.parametrize("name", ["add_.Tensor", "sub_.Tensor", "mul_.Tensor", "div_.Tensor"])
def test_binary_in_place(compare, name):
    rng = generator_for(name)
    for _ in range(150):
        kwargs = {"alpha": pick(rng, [1, 2, -1, 0.5])} if name[0] in "as" else {}
        compare(name, arrays(rng, 2), kwargs)


@pytest.mark.parametrize("name", ["add_.Scalar", "sub_.Scalar", "mul_.Scalar", "div_.Scalar"])
def test_numbers_in_place(compare, name):
    rng = generator_for(name)
    for _ in range(100):
        more = [pick(rng, [1, 2, 0.5])] if name[0] in "as" else []
        compare(name, [*arrays(rng, 1), pick(rng, [2, -1, 0.5, True, 0]), *more])


NUMBERS = (
    "add.Scalar sub.Scalar mul.Scalar div.Scalar remainder.Scalar fmod.Scalar floor_divide.Scalar eq.Scalar ne.Scalar "
    "lt.Scalar le.Scalar gt.Scalar ge.Scalar bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar rsub.Scalar"
).split()


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(compare, name):
    rng = generator_for(name)
    for _ in range(100):
        compare(name, [*arrays(rng, 1), pick(rng, [2, -1, 0.5, True, 0, 3])])


@pytest.mark.parametrize("mode", [None, "trunc", "floor"])
def test_division_modes(compare, mode):
    rng = generator_for(str(mode))
    for _ in range(200):
        compare("div.Tensor_mode", arrays(rng, 2), {"rounding_mode": mode})


OPTIONS = {
    "round.decimals": (1, lambda rng: ((), {"decimals": int(rng.integers(-2, 3))})),
    "leaky_relu": (1, lambda rng: ((0.2,), {})),
    "softplus": (1, lambda rng: ((2, 3.0), {})),
    "elu": (1, lambda rng: ((1.5, 2, 0.5), {})),
    "threshold": (1, lambda rng: ((0.5, 2), {})),
    "gelu": (1, lambda rng: ((), {"approximate": pick(rng, ["none", "tanh", "other"])})),
    "nan_to_num": (1, lambda rng: ((pick(rng, [None, 1.0]), pick(rng, [None, 2.0]), pick(rng, [None, 3.0])), {})),
    "clamp": (1, lambda rng: ((pick(rng, [None, -1, 0.5]), pick(rng, [None, 1, 2.5])), {})),
    "clamp_min": (1, lambda rng: ((pick(rng, [0, 0.5, -2]),), {})),
    "clamp_max": (1, lambda rng: ((pick(rng, [0, 0.5, -2]),), {})),
    "clamp_min.Tensor": (2, lambda rng: ((), {})),
    "clamp_max.Tensor": (2, lambda rng: ((), {})),
    "clamp.Tensor": (3, lambda rng: ((), {})),
    "pow.Tensor_Scalar": (1, lambda rng: ((pick(rng, [2, 3, 0.5, -1, 0, 1.5]),), {})),
    "lerp.Scalar": (2, lambda rng: ((pick(rng, [0.0, 0.25, 1.0, 2]),), {})),
    "lerp_.Scalar": (2, lambda rng: ((pick(rng, [0.25, 1.0]),), {})),
    "lerp.Tensor": (3, lambda rng: ((), {})),
    "addcmul": (3, lambda rng: ((), {"value": pick(rng, [1, 2, -0.5])})),
    "addcdiv": (3, lambda rng: ((), {"value": pick(rng, [1, 2, -0.5])})),
    "addcmul_": (3, lambda rng: ((), {"value": pick(rng, [1, 2, -0.5])})),
    "addcdiv_": (3, lambda rng: ((), {"value": pick(rng, [1, 2, -0.5])})),
    "sigmoid_backward": (2, lambda rng: ((), {})),
    "tanh_backward": (2, lambda rng: ((), {})),
    "gelu_backward": (2, lambda rng: ((), {"approximate": pick(rng, ["none", "tanh"])})),
    "leaky_relu_backward": (2, lambda rng: ((0.2, False), {})),
    "softplus_backward": (2, lambda rng: ((2, 3.0), {})),
    "threshold_backward": (2, lambda rng: ((0.5,), {})),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_with_options(compare, name):
    rng = generator_for(name)
    count, options = OPTIONS[name]
    backward = name.endswith("_backward")
    for _ in range(150):
        args, kwargs = options(rng)
        operands = arrays(
            rng, count, FLOATS[1:] if backward else ALL, same=1.0 if backward else 0.9, special=not backward
        )
        # Near a zero of gelu's derivative torch's float32 keeps few digits.
        compare(name, [*operands, *args], kwargs, tolerance=(1e-3, 1e-5) if name == "gelu_backward" else None)


def test_elu_backward(compare):
    rng = generator_for("elu_backward")
    for _ in range(50):
        grad, a = arrays(rng, 2, ("float32",), same=1, special=False)
        compare("elu_backward", [grad, 1.5, 2, 0.5, pick(rng, [True, False]), a])


def test_where(compare):
    rng = generator_for("where")
    for _ in range(200):
        condition, a, b = arrays(rng, 3)
        if rng.random() < 0.9:
            condition = condition.astype(bool)
        compare("where.self", [condition, a, b])


def test_masked_fill(compare):
    rng = generator_for("masked_fill")
    for _ in range(150):
        a, mask = arrays(rng, 2)
        mask = mask.astype(bool) if rng.random() < 0.9 else mask
        compare("masked_fill.Scalar", [a, mask, pick(rng, [0, 2, 1.5, float("-inf")]) if a.dtype.kind == "f" else 1])
        compare("masked_fill.Tensor", [a, mask, array(rng, pick(rng, [(), (), (1,)]), a.dtype)])
        compare("masked_fill_.Scalar", [a, mask, 1])


def test_complex_arithmetic(compare):
    rng = generator_for("complex")
    for name in "add.Tensor mul.Tensor div.Tensor sub.Tensor eq.Tensor".split():
        for _ in range(40):
            compare(name, arrays(rng, 2, ("complex64", "complex128", "float32", "int32"), special=False))
    for name in "exp sqrt abs neg sigmoid sin".split():
        for _ in range(20):
            compare(name, arrays(rng, 1, ("complex64", "complex128"), special=False))
