/* The columns of a convolution; a part of _loops.c. */

#define MOST_SIDES 2 /* dimensions of a window */

/* Read a tuple of whole numbers, of which each is at least `least`. */
static int take_sides(PyObject *x, int count, npy_intp least, npy_intp *sides) {
    if (!PyTuple_CheckExact(x) || PyTuple_GET_SIZE(x) != count) return 0;
    for (int i = 0; i < count; i++)
        if (!take_small(PyTuple_GET_ITEM(x, i), &sides[i]) || sides[i] < least || sides[i] > NPY_MAX_INT32) return 0;
    return 1;
}

/* Write a line of an output: elements `step` apart from `from` on, where they lie in a line of `length`, and else zeros. */
static void write_line(char *to, const char *in, npy_intp from, npy_intp step, npy_intp count, npy_intp length, npy_intp size) {
    npy_intp before = from < 0 ? (-from + step - 1) / step : 0;
    npy_intp end = from < length ? (length - from + step - 1) / step : 0; /* the first beyond */
    if (before > count) before = count;
    if (end > count) end = count;
    if (end < before) end = before;
    memset(to, 0, (size_t)(before * size));
    if (step == 1) memcpy(to + before * size, in + (from + before) * size, (size_t)((end - before) * size));
    else for (npy_intp i = before; i < end; i++) copy_item(to + i * size, in + (from + i * step) * size, size);
    memset(to + end * size, 0, (size_t)((count - end) * size));
}

/* Write an image that is moved by some rows and elements, of the same width: in one piece, and zeros where it has moved from. */
static void write_moved(char *to, const char *in, npy_intp down, npy_intp right, npy_intp rows, npy_intp height, npy_intp width, npy_intp size) {
    npy_intp before = down < 0 ? -down : 0, end = rows + down > height ? height - down : rows;
    if (before > rows) before = rows;
    if (end < before) end = before;
    memset(to, 0, (size_t)(before * width * size));
    memset(to + end * width * size, 0, (size_t)((rows - end) * width * size));
    if (end == before) return;
    /* The first elements of the first row, or the last ones of the last, may lie outside of the image. */
    npy_intp first = right < 0 ? -right : 0, last = right > 0 ? right : 0, count = (end - before) * width - first - last;
    if (count > 0) memcpy(to + (before * width + first) * size, in + ((before + down) * width + first + right) * size, (size_t)(count * size));
    for (npy_intp i = before; i < end; i++) {
        char *row = to + i * width * size;
        if (first) memset(row, 0, (size_t)(first * size));
        if (last) memset(row + (width - last) * size, 0, (size_t)(last * size));
    }
}

/* Of (array, buffer, kernel, grid, stride, dilation, padding): write the elements of (batch, channels, *sizes) that lie at each
 * place of the window, zeros around them, as (channels, *kernel, batch, *grid); return whether the arrays are plain. */
static PyObject *columns(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    PyArrayObject *a = n == 7 ? as_array(args[0]) : NULL, *buffer = n == 7 ? as_array(args[1]) : NULL;
    int sides = a ? PyArray_NDIM(a) - 2 : 0;
    npy_intp kernel[2] = {1, 1}, grid[2] = {1, 1}, stride[2] = {1, 1}, gap[2] = {1, 1}, padding[2] = {0, 0}, length[2] = {1, 1};
    if (sides < 1 || sides > MOST_SIDES || !buffer || PyArray_DESCR(a) != PyArray_DESCR(buffer)) Py_RETURN_FALSE;
    int type = PyArray_TYPE(a), at = MOST_SIDES - sides; /* the others stay as in an image of one line */
    if (type < 0 || type >= TYPES || type == NPY_OBJECT || !PyArray_SIZE(a) || !is_dense(a) || !is_dense(buffer) || !PyArray_ISWRITEABLE(buffer)) Py_RETURN_FALSE;
    if (!take_sides(args[2], sides, 1, kernel + at) || !take_sides(args[3], sides, 1, grid + at) || !take_sides(args[4], sides, 1, stride + at) ||
        !take_sides(args[5], sides, 1, gap + at) || !take_sides(args[6], sides, 0, padding + at)) Py_RETURN_FALSE;
    for (int i = 0; i < sides; i++) length[at + i] = PyArray_DIM(a, 2 + i);
    npy_intp batch = PyArray_DIM(a, 0), channels = PyArray_DIM(a, 1), size = PyArray_ITEMSIZE(a);
    double wanted = (double)batch * (double)channels * (double)kernel[0] * (double)kernel[1] * (double)grid[0] * (double)grid[1];
    if (wanted != (double)PyArray_SIZE(buffer)) Py_RETURN_FALSE;
    char *to = PyArray_BYTES(buffer), *from = PyArray_BYTES(a);
    if (from < to + PyArray_NBYTES(buffer) && to < from + PyArray_NBYTES(a)) Py_RETURN_FALSE;
    PyThreadState *state = PyArray_SIZE(buffer) < MOST_SHARED ? NULL : PyEval_SaveThread();
    npy_intp line = length[1] * size, image = length[0] * line;
    for (npy_intp c = 0; c < channels; c++)
        for (npy_intp y = 0; y < kernel[0]; y++)
            for (npy_intp x = 0; x < kernel[1]; x++)
                for (npy_intp b = 0; b < batch; b++) {
                    const char *in = from + (b * channels + c) * image;
                    npy_intp right = x * gap[1] - padding[1];
                    if (stride[0] == 1 && stride[1] == 1 && grid[1] == length[1] && right < length[1] && right > -length[1]) {
                        write_moved(to, in, y * gap[0] - padding[0], right, grid[0], length[0], length[1], size);
                        to += grid[0] * grid[1] * size;
                        continue;
                    }
                    for (npy_intp i = 0; i < grid[0]; i++, to += grid[1] * size) {
                        npy_intp row = i * stride[0] + y * gap[0] - padding[0];
                        if (row < 0 || row >= length[0]) memset(to, 0, (size_t)(grid[1] * size));
                        else write_line(to, in + row * line, right, stride[1], grid[1], length[1], size);
                    }
                }
    if (state) PyEval_RestoreThread(state);
    Py_RETURN_TRUE;
}
