/* The negative log likelihood and its gradient: a part of _loops.c. Without weights, and where no target is ignored. */

/* The classes of the rows of an array, or NULL where one is not a class. */
static npy_int64 *take_targets(PyObject *x, npy_intp rows, npy_intp classes) {
    PyArrayObject *target = as_array(x);
    if (!target || PyArray_TYPE(target) != NPY_INT64 || PyArray_NDIM(target) != 1 || PyArray_DIM(target, 0) != rows || !is_dense(target)) return NULL;
    npy_int64 *found = (npy_int64 *)PyArray_BYTES(target);
    for (npy_intp i = 0; i < rows; i++)
        if (found[i] < 0 || found[i] >= classes) return NULL;
    return found;
}

/* Read a reduction, 0, 1 for the mean or 2 for the sum, and an index to ignore, which is not a class. */
static inline int take_reduction(PyObject *x, PyObject *ignored, npy_intp *reduction) {
    npy_intp index;
    return take_small(x, reduction) && *reduction >= 0 && *reduction <= 2 && take_small(ignored, &index) && index < 0;
}

/* Of (self, target, weight, reduction, ignore_index): the ufunc adds. */
static PyObject *serve_nll(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    int type = a ? PyArray_TYPE(a) : -1;
    npy_intp reduction;
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || PyArray_NDIM(a) != 2 || !PyArray_SIZE(a) || !is_dense(a)) return NULL;
    if (args[2] != Py_None || !take_reduction(args[3], args[4], &reduction)) return NULL;
    npy_intp rows = PyArray_DIM(a, 0), classes = PyArray_DIM(a, 1), size = PyArray_ITEMSIZE(a);
    if (rows > MOST_FOLDED || k->loop[type] < 0 || !k->constant[0][type]) return NULL;
    npy_int64 *target = take_targets(args[1], rows, classes);
    if (!target) return NULL;
    union { float f[64]; double d[64]; } stack;
    char *losses = (char *)&stack;
    PyObject *each = reduction ? NULL : make_array(type, 1, &rows), *one = make_array(type, 0, NULL);
    if (each) losses = data_of(each);
    else if (rows > 64) losses = PyMem_Malloc((size_t)(rows * size));
    PyObject *total = one && losses && reduction ? make_array(type, 0, NULL) : NULL, *r = NULL;
    if (!one || !losses || (reduction ? !total : !each)) goto end;
    if (type == NPY_FLOAT) for (npy_intp i = 0; i < rows; i++) ((float *)losses)[i] = -((float *)PyArray_BYTES(a))[i * classes + target[i]];
    else for (npy_intp i = 0; i < rows; i++) ((double *)losses)[i] = -((double *)PyArray_BYTES(a))[i * classes + target[i]];
    if (!reduction) memset(data_of(one), 0, (size_t)size);
    else {
        char *sum = data_of(total), *at[3] = {sum, losses, sum};
        npy_intp steps[3] = {0, size, 0};
        memcpy(sum, k->constant[0][type], (size_t)size);
        run(k, type, at, rows, steps);
        if (type == NPY_FLOAT) {
            *(float *)data_of(one) = (float)rows;
            if (reduction == 1) *(float *)sum /= (float)rows;
        } else {
            *(double *)data_of(one) = (double)rows;
            if (reduction == 1) *(double *)sum /= (double)rows;
        }
    }
    r = PyTuple_Pack(2, reduction ? total : each, one);
end:
    if (losses && !each && losses != (char *)&stack) PyMem_Free(losses);
    Py_XDECREF(each);
    Py_XDECREF(one);
    Py_XDECREF(total);
    return r;
}

/* Of (grad_output, self, target, weight, reduction, ignore_index, total_weight). */
static PyObject *serve_nll_gradient(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *g = as_array(args[0]), *a = as_array(args[1]), *total = as_array(args[6]);
    npy_intp reduction;
    if (!g || !a || !total || PyArray_DESCR(g) != PyArray_DESCR(a) || PyArray_DESCR(total) != PyArray_DESCR(a)) return NULL;
    int type = PyArray_TYPE(a);
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || PyArray_NDIM(a) != 2 || !PyArray_SIZE(a) || !is_dense(a) || args[3] != Py_None) return NULL;
    if (!take_reduction(args[4], args[5], &reduction) || !is_dense(g) || !is_dense(total) || PyArray_SIZE(total) != 1) return NULL;
    npy_intp rows = PyArray_DIM(a, 0), classes = PyArray_DIM(a, 1);
    if (reduction ? PyArray_NDIM(g) : PyArray_NDIM(g) != 1 || PyArray_DIM(g, 0) != rows) return NULL;
    npy_int64 *target = take_targets(args[2], rows, classes);
    PyObject *r = target ? PyArray_Zeros(2, PyArray_DIMS(a), PyArray_DescrFromType(type), 0) : NULL;
    if (!r) return NULL;
    npy_intp step = reduction ? 0 : 1;
    if (type == NPY_FLOAT) {
        float *out = (float *)data_of(r), *slope = (float *)PyArray_BYTES(g), divisor = *(float *)PyArray_BYTES(total);
        for (npy_intp i = 0; i < rows; i++) out[i * classes + target[i]] = reduction == 1 ? -slope[0] / divisor : -slope[i * step];
    } else {
        double *out = (double *)data_of(r), *slope = (double *)PyArray_BYTES(g), divisor = *(double *)PyArray_BYTES(total);
        for (npy_intp i = 0; i < rows; i++) out[i * classes + target[i]] = reduction == 1 ? -slope[0] / divisor : -slope[i * step];
    }
    return r;
}

