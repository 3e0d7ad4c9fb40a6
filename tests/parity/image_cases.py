"""Right calls of convolutions, pooling, padding and resampling: an operator, and its arguments by a ``Draw``."""

import torch

ONE, TWO, NONE = [1, 1], [2, 2], [0, 0]

#: A convolution's options: stride, padding, dilation, transposed, output padding, groups.
CONVOLUTIONS = [
    ([1], [0], [1], False, [0], 1),
    ([2], [1], [2], False, [0], 2),
    ([1, 1], [1, 1], [1, 1], False, [0, 0], 4),
    ([2, 1], [1, 0], [1, 2], False, [0, 0], 1),
    ([2, 3], [1, 0], [1, 2], True, [1, 0], 2),
    ([1, 1], [0, 0], [2, 2], True, [1, 1], 1),
    ([2, 2, 1], [1, 0, 1], [1, 1, 1], False, [0, 0, 0], 2),
    ([2, 1, 1], [0, 1, 0], [1, 1, 2], True, [1, 0, 0], 2),
]


def _input_and_weight(r, options):
    count, transposed, groups = len(options[0]), options[3], options[5]
    kernel = (3, 2, 2)[:count]
    return r.f(2, 4, *(6, 7, 5)[:count]), r.f(4, 4 // groups, *kernel), r.f(4 // groups * groups if transposed else 4)


def _convolution(options):
    return lambda r: (*_input_and_weight(r, options), *options)


def _convolution_backward(options):
    def make(r):
        input, weight, bias = _input_and_weight(r, options)
        made = torch.ops.aten.convolution(input, weight, bias, *options)
        return r.f(*made.shape), input, weight, [4], *options, [True, True, True]

    return make


def _indices(name, *args):
    """Return the results of a pooling operator, to make arguments of those that take them."""
    return getattr(torch.ops.aten, name).default(*args)


def _indexed_backward(name, shape, *options):
    def make(r):
        input = r.f(*shape)
        samples = [r.f(2, 2, len(shape) - 2, low=0.0, high=1.0)] if name.startswith("fractional") else []
        made, indices = _indices(name, input, *options, *samples)
        return r.f(*made.shape), input, *([] if name.startswith("adaptive") else options), indices

    return make


def _unpool(count):
    def make(r):
        kernel = [2] * count
        made, indices = _indices(f"max_pool{count}d_with_indices", r.f(2, 2, *[4] * count), kernel)
        rest = (kernel, [0] * count) if count == 3 else ()
        return made, indices, [4] * count, *rest

    return make


def _average_backward(count, *options):
    def make(r):
        input = r.f(2, 2, *(7, 6, 5)[:count])
        made = getattr(torch.ops.aten, f"avg_pool{count}d").default(input, *options)
        return r.f(*made.shape), input, *options

    return make


def _pads(count):
    name, sizes, pad = f"{count}d", (4, 5, 4)[:count], [2, 1, 1, 3, 0, 2][: 2 * count]
    padded = [size + pad[-2 * dim - 2] + pad[-2 * dim - 1] for dim, size in enumerate(sizes)]
    for kind in ("reflection", "replication"):
        yield f"{kind}_pad{name}", lambda r: (r.f(2, 2, *sizes), pad)
        yield f"{kind}_pad{name}_backward", lambda r: (r.f(2, 2, *padded), r.f(2, 2, *sizes), pad)


def _pools(count):
    sizes, wanted = (7, 6, 5)[:count], [3, 4, 2][:count]
    whole, kernel = (2, 2, *sizes), [3, 2, 2][:count]
    stride, pad = [2, 1, 2][:count], [1, 1, 0][:count]
    windows = (kernel, stride, pad, [1] * count, True)
    random = (kernel, wanted)
    yield f"max_pool{count}d_with_indices", lambda r: (r.f(*whole), *windows)
    yield (
        f"max_pool{count}d_with_indices_backward",
        _indexed_backward(f"max_pool{count}d_with_indices", whole, *windows),
    )
    yield f"max_pool{count}d", lambda r: (r.f(*whole), kernel)
    averages = [(kernel, stride, pad, *rest) for rest in ((True, False, None), (False, True, 5))]
    for options in averages:
        yield f"avg_pool{count}d", lambda r, options=options: (r.f(*whole), *options)
        yield f"avg_pool{count}d_backward", _average_backward(count, *options)
    for size in (wanted, [1] * count, list(sizes)):
        yield f"adaptive_avg_pool{count}d", lambda r, size=size: (r.f(*whole), size)
        yield f"_adaptive_avg_pool{count}d", lambda r, size=size: (r.f(*whole), size)
        yield f"_adaptive_avg_pool{count}d_backward", lambda r, size=size: (r.f(2, 2, *size), r.f(*whole))
    yield f"adaptive_max_pool{count}d", lambda r: (r.f(*whole), wanted)
    yield f"adaptive_max_pool{count}d_backward", _indexed_backward(f"adaptive_max_pool{count}d", whole, wanted)
    yield f"fractional_max_pool{count}d", lambda r: (r.f(*whole), *random, r.f(2, 2, count, low=0.0, high=1.0))
    yield f"fractional_max_pool{count}d_backward", _indexed_backward(f"fractional_max_pool{count}d", whole, *random)
    yield f"max_unpool{count}d", _unpool(count)


def _resamplers():
    for count in (1, 2, 3):
        names = [f"upsample_nearest{count}d", f"_upsample_nearest_exact{count}d"]
        names += [("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")[count - 1]]
        if count == 2:
            names += [
                "upsample_bicubic2d",
                "_upsample_bilinear2d_aa",
                "_upsample_bicubic2d_aa",
                "_upsample_lanczos2d_aa",
            ]
        given, wanted, even = (2, 2, *(5, 4, 3)[:count]), [3, 7, 5][:count], [10, 8, 6][:count]
        for name in names:
            nearest = "nearest" in name
            corners = () if nearest else (count == 1,)
            yield name, lambda r, size=wanted, corners=corners, given=given: (r.f(*given), size, *corners)
            back, vectors = (list(given), *corners), (None, *corners, [1.5] * count)
            yield f"{name}_backward", lambda r, size=wanted, back=back: (r.f(2, 2, *size), size, *back)
            if nearest:
                yield f"{name}_backward", lambda r, size=even, back=back: (r.f(2, 2, *size), size, *back)
            yield f"{name}.vec", lambda r, vectors=vectors, given=given: (r.f(*given), *vectors)


def _grids(count):
    sizes, points = (5, 4, 3)[:count], (3, 4, 2)[:count]
    modes = ((0, 0, False), (0, 2, True), (1, 1, False), (2, 0, True), (2, 2, False))
    for options in modes if count == 2 else modes[:2]:
        yield (
            f"grid_sampler_{count}d",
            lambda r, options=options: (r.f(2, 3, *sizes), r.f(2, *points, count, low=-1.3, high=1.3), *options),
        )
        yield (
            f"grid_sampler_{count}d_backward",
            lambda r, options=options: (
                *(r.f(2, 3, *points), r.f(2, 3, *sizes), r.f(2, *points, count, low=-1.3, high=1.3)),
                *(*options, [True, True]),
            ),
        )


def _list_cases():
    for options in CONVOLUTIONS:
        yield "convolution", _convolution(options)
        yield "convolution_backward", _convolution_backward(options)
    yield "_convolution", lambda r: (*_convolution(CONVOLUTIONS[3])(r), False, False, False, False)
    for count in (1, 2, 3):
        sizes, kernel = (6, 7, 5)[:count], (3, 2, 2)[:count]
        yield f"conv{count}d", lambda r, s=sizes, k=kernel: (r.f(2, *s), r.f(4, 2, *k), r.f(4), [2], [1])
        yield f"conv{count}d.padding", lambda r, s=sizes, k=kernel: (r.f(3, 2, *s), r.f(4, 2, *k), r.f(4), [1], "same")
        name = f"conv_transpose{count}d{'' if count == 1 else '.input'}"
        yield name, lambda r, s=sizes, k=kernel: (r.f(3, 2, *s), r.f(2, 4, *k), r.f(4), [2], [1], [1])
        yield from _pads(count)
    yield "_convolution_mode", lambda r: (r.f(1, 2, 5, 5), r.f(2, 2, 3, 3), None, ONE, "valid", ONE, 1)
    yield "conv_tbc", lambda r: (r.f(5, 2, 3), r.f(3, 3, 4), r.f(4), 1)
    yield "conv_tbc_backward", lambda r: (r.f(5, 2, 4), r.f(5, 2, 3), r.f(3, 3, 4), r.f(4), 1)
    yield "im2col", lambda r: (r.f(2, 3, 6, 5), [3, 2], [1, 2], [1, 0], [2, 1])
    yield "im2col", lambda r: (r.f(3, 6, 5), ONE, ONE, NONE, ONE)
    yield "col2im", lambda r: (r.f(2, 18, 9), [6, 5], [3, 2], [1, 2], [1, 0], [2, 1])
    yield "constant_pad_nd", lambda r: (r.f(2, 3, 4), [1, 2, -1, 3], 2.5)
    yield "constant_pad_nd", lambda r: (r.f(2, 3, 4), [-1, 0])
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield "pad", lambda r, mode=mode: (r.f(2, 3, 4, 5), [1, 2, 3, 0], mode)
    yield "_pad_enum", lambda r: (r.f(2, 3, 4), [1, 2], 1)
    yield "_pad_circular", lambda r: (r.f(2, 3, 4), [3, -1])
    yield "max_pool1d", lambda r: (r.f(2, 3, 7), [3], [2], [1])
    yield "max_pool1d_with_indices", lambda r: (r.f(2, 3, 7), [3], [2], [1])
    yield "avg_pool1d", lambda r: (r.f(2, 3, 7), [3], [2], [1])
    yield "adaptive_avg_pool1d", lambda r: (r.f(2, 3, 7), [3])
    yield "adaptive_max_pool1d", lambda r: (r.f(2, 3, 7), [3])
    for count in (2, 3):
        yield from _pools(count)
        yield from _grids(count)
    yield "grid_sampler", lambda r: (r.f(2, 3, 4, 4), r.f(2, 3, 3, 2), 0, 1, True)
    yield from _resamplers()
    for corners in (True, False):
        yield "affine_grid_generator", lambda r, corners=corners: (r.f(2, 2, 3), [2, 1, 4, 3], corners)
        yield "affine_grid_generator", lambda r, corners=corners: (r.f(2, 3, 4), [2, 1, 4, 1, 3], corners)
    yield "pixel_shuffle", lambda r: (r.f(2, 8, 3, 4), 2)
    yield "pixel_unshuffle", lambda r: (r.f(2, 2, 4, 6), 2)
    yield "channel_shuffle", lambda r: (r.f(2, 6, 3), 3)
    yield "native_channel_shuffle", lambda r: (r.f(2, 6, 3), 3)


CASES = list(_list_cases())
