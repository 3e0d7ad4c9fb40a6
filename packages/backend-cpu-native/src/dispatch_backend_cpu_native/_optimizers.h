/* Steps of optimizers for all parameters by one call; a part of _loops.c.
 *
 * Note [Steps in blocks]
 *     Each parameter is gone through in blocks that stay in the processor's cache, by the ufuncs' own loops in the order of
 *     the operators that the kernel in Python calls. All arrays are looked at before the first is written; nothing runs in
 *     between that may fail. Parameters come one after the other, so only the arrays of one may not overlap. NumPy's loops
 *     treat a few elements by other instructions than many, which give nans other signs: so no block of many is short.
 */
#define BLOCK 1024      /* elements; a block that is followed by less than another takes it, too */
#define MOST_ARRAYS 4   /* of a parameter */
#define MOST_SETTINGS 8

enum { SUBTRACT, MULTIPLY, ADD, DIVIDE, ROOT, NEGATE, ARITHMETIC };
static const char *const names_of_arithmetic[ARITHMETIC] = {"subtract", "multiply", "add", "true_divide", "sqrt", "negative"};
static struct { PyUFuncGenericFunction loop; void *data; } arithmetic[ARITHMETIC][2]; /* of float32 and of float64 */

/* Find the ufuncs' loops; the module keeps the ufuncs. */
static int find_arithmetic(PyObject *module) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    for (int which = 0; numpy && which < ARITHMETIC; which++) {
        PyObject *found = PyObject_GetAttrString(numpy, names_of_arithmetic[which]);
        int failed = !found || PyModule_AddObjectRef(module, names_of_arithmetic[which], found) < 0;
        Py_XDECREF(found);
        if (failed || !Py_IS_TYPE(found, &PyUFunc_Type)) Py_CLEAR(numpy);
        PyUFuncObject *ufunc = (PyUFuncObject *)found;
        for (int i = 0; numpy && i < ufunc->ntypes; i++)
            for (int wide = 0; wide < 2; wide++) {
                int is_it = ufunc->functions[i] != NULL && !arithmetic[which][wide].loop;
                for (int j = 0; j < ufunc->nargs; j++) is_it &= ufunc->types[i * ufunc->nargs + j] == (wide ? NPY_DOUBLE : NPY_FLOAT);
                if (!is_it) continue;
                arithmetic[which][wide].loop = ufunc->functions[i];
                arithmetic[which][wide].data = ufunc->data ? (void *)ufunc->data[i] : NULL;
            }
        if (numpy && !(arithmetic[which][0].loop && arithmetic[which][1].loop)) Py_CLEAR(numpy);
    }
    if (!numpy) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, "NumPy's arithmetic has no loops for floats");
        return -1;
    }
    Py_DECREF(numpy);
    return 0;
}

/* A parameter: its arrays by place, its number of elements, and whether these are of float64. */
typedef struct { char *at[MOST_ARRAYS]; npy_intp count; int wide; } Parameter;

/* A factor or a summand in both types. */
typedef struct { float f; double d; int is_one; } Factor;

typedef struct {
    int count, nesterov, maximize, decoupled, is_near; /* count: of arrays of a parameter */
    Factor decay, momentum, weight, kept, added, root, eps, size;
} Settings;

/* Whether a number is one that both types hold, up to its rounding. */
static inline int make_factor(double value, Factor *factor) {
    factor->d = value;
    factor->f = (float)value;
    factor->is_one = value == 1;
    return isfinite(value) && isfinite(factor->f);
}

static inline void by_array(int which, int wide, npy_intp n, char *a, char *b, char *out) {
    npy_intp size = wide ? 8 : 4, steps[3] = {size, size, size};
    char *at[3] = {a, b, out};
    arithmetic[which][wide].loop(at, &n, steps, arithmetic[which][wide].data);
}

static inline void by_number(int which, int wide, npy_intp n, char *a, const Factor *b, char *out) {
    npy_intp size = wide ? 8 : 4, steps[3] = {size, 0, size};
    char *at[3] = {a, wide ? (char *)&b->d : (char *)&b->f, out};
    arithmetic[which][wide].loop(at, &n, steps, arithmetic[which][wide].data);
}

static inline void alone(int which, int wide, npy_intp n, char *a, char *out) {
    npy_intp size = wide ? 8 : 4, steps[2] = {size, size};
    char *at[2] = {a, out};
    arithmetic[which][wide].loop(at, &n, steps, arithmetic[which][wide].data);
}

/* Add an array times a factor, as the operators with a factor do. */
static inline void add_scaled(int wide, npy_intp n, char *a, char *b, const Factor *factor, char *scratch, char *out) {
    if (!factor->is_one) {
        by_number(MULTIPLY, wide, n, b, factor, scratch);
        b = scratch;
    }
    by_array(ADD, wide, n, a, b, out);
}

/* The gradient of a block: with the other sign, and with the decay. */
static inline char *find_gradient(const Settings *s, int wide, npy_intp n, char *param, char *grad, char *scratch, char *out) {
    if (s->maximize) {
        alone(NEGATE, wide, n, grad, out);
        grad = out;
    }
    if (!s->decay.d || s->decoupled) return grad;
    add_scaled(wide, n, grad, param, &s->decay, scratch, out);
    return out;
}

static void step_adam(const Settings *s, int wide, npy_intp n, char **at) {
    npy_double one[2 * BLOCK], two[2 * BLOCK], three[2 * BLOCK];
    char *param = at[0], *mean = at[2], *square = at[3], *a = (char *)one, *b = (char *)two;
    if (s->decoupled && s->decay.d) by_number(MULTIPLY, wide, n, param, &s->kept, param);
    char *grad = find_gradient(s, wide, n, param, at[1], a, (char *)three);
    by_array(SUBTRACT, wide, n, grad, mean, a);
    by_number(MULTIPLY, wide, n, a, &s->weight, a);
    if (s->is_near) by_array(ADD, wide, n, mean, a, mean);
    else by_array(SUBTRACT, wide, n, grad, a, mean);
    by_number(MULTIPLY, wide, n, square, &s->momentum, square);
    by_number(MULTIPLY, wide, n, grad, &s->added, a);
    by_array(MULTIPLY, wide, n, a, grad, a);
    by_array(ADD, wide, n, square, a, square);
    alone(ROOT, wide, n, square, a);
    by_number(DIVIDE, wide, n, a, &s->root, a);
    by_number(ADD, wide, n, a, &s->eps, a);
    by_number(MULTIPLY, wide, n, mean, &s->size, b);
    by_array(DIVIDE, wide, n, b, a, b);
    by_array(ADD, wide, n, param, b, param);
}

static void step_sgd(const Settings *s, int wide, npy_intp n, char **at) {
    npy_double one[2 * BLOCK], two[2 * BLOCK];
    char *param = at[0], *buffer = at[2], *scratch = (char *)one, *out = (char *)two;
    char *grad = find_gradient(s, wide, n, param, at[1], scratch, out);
    if (s->count == 3) {
        by_number(MULTIPLY, wide, n, buffer, &s->momentum, buffer);
        add_scaled(wide, n, buffer, grad, &s->added, scratch, buffer);
        if (s->nesterov) {
            add_scaled(wide, n, grad, buffer, &s->momentum, scratch, out);
            grad = out;
        } else grad = buffer;
    }
    add_scaled(wide, n, param, grad, &s->size, scratch, param);
}

/* Read an array as one of a parameter's; return whether it is plain, and lies beside those before it. */
static int take_array(Kernel *k, PyObject *x, Parameter *to, int place, PyArrayObject *first) {
    PyArrayObject *a = as_array(x);
    int type = a ? PyArray_TYPE(a) : -1;
    if (type != NPY_FLOAT && type != NPY_DOUBLE) return 0;
    int flags = PyArray_FLAGS(a), wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | (place == 1 ? 0 : NPY_ARRAY_WRITEABLE);
    if (k->loop[type] < 0 || (flags & wanted) != wanted || !PyArray_ISNBO(PyArray_DESCR(a)->byteorder)) return 0;
    if (place && (PyArray_TYPE(first) != type || !have_one_shape(first, a))) return 0;
    npy_intp length = PyArray_NBYTES(a);
    to->at[place] = PyArray_BYTES(a);
    to->count = PyArray_SIZE(a);
    to->wide = type == NPY_DOUBLE;
    for (int i = 0; i < place; i++)
        if (to->at[i] < to->at[place] + length && to->at[place] < to->at[i] + length) return 0;
    return 1;
}

/* Make a step for lists of arrays, each with one array of every parameter. */
static PyObject *step_all(Kernel *k, PyObject *const *lists, const Settings *s, void (*step)(const Settings *, int, npy_intp, char **)) {
    Py_ssize_t count = PyList_CheckExact(lists[0]) ? PyList_GET_SIZE(lists[0]) : -1;
    for (int i = 1; i < s->count; i++)
        if (!PyList_CheckExact(lists[i]) || PyList_GET_SIZE(lists[i]) != count) return NULL;
    Parameter *all = count > 0 ? PyMem_Malloc(sizeof(Parameter) * (size_t)count) : NULL;
    if (!all) return NULL;
    npy_intp elements = 0;
    for (Py_ssize_t j = 0; j < count; j++) {
        PyArrayObject *first = (PyArrayObject *)PyList_GET_ITEM(lists[0], j);
        for (int i = 0; i < s->count; i++)
            if (!take_array(k, PyList_GET_ITEM(lists[i], j), &all[j], i, first)) {
                PyMem_Free(all);
                return NULL;
            }
        elements += all[j].count;
    }
    /* Another thread might take arrays out of the lists. */
    PyObject *held = elements >= MOST_SHARED ? PyTuple_New(s->count) : NULL;
    for (int i = 0; held && i < s->count; i++) {
        PyObject *some = PyList_AsTuple(lists[i]);
        if (some) PyTuple_SET_ITEM(held, i, some);
        else Py_CLEAR(held);
    }
    PyErr_Clear(); /* without memory for that it keeps the others waiting */
    PyThreadState *state = held ? PyEval_SaveThread() : NULL;
    for (Py_ssize_t j = 0; j < count; j++) {
        Parameter *each = &all[j];
        for (npy_intp done = 0, n; done < each->count; done += n) {
            n = each->count - done < 2 * BLOCK ? each->count - done : BLOCK;
            char *at[MOST_ARRAYS];
            for (int i = 0; i < s->count; i++) at[i] = each->at[i] + done * (each->wide ? 8 : 4);
            step(s, each->wide, n, at);
        }
    }
    if (state) PyEval_RestoreThread(state);
    Py_XDECREF(held);
    PyMem_Free(all);
    Py_RETURN_NONE;
}

/* Read the options of a call, numbers and bools; the names lie in the order of the schema. */
static int take_settings(PyObject *const *args, Py_ssize_t n, PyObject *names, int lists, const char *const *expected, double *settings) {
    int count = 0;
    while (expected[count]) count++;
    if (n != lists || !names || PyTuple_GET_SIZE(names) != count) return 0;
    for (int i = 0; i < count; i++) {
        PyObject *x = args[lists + i];
        Number number;
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), expected[i])) return 0;
        if (PyBool_Check(x)) settings[i] = x == Py_True;
        else if (take_number(x, NPY_DOUBLE, &number)) settings[i] = number.d;
        else return 0;
    }
    return 1;
}

static PyObject *serve_adam(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    static const char *const expected[] = {"step", "lr", "beta1", "beta2", "weight_decay", "eps", "decoupled", "maximize", NULL};
    double given[MOST_SETTINGS];
    if (!take_settings(args, n, names, 4, expected, given)) return NULL;
    double step = given[0], lr = given[1], beta1 = given[2], beta2 = given[3];
    if (!(step >= 1 && beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1)) return NULL;
    double first = 1 - pow(beta1, step), second = 1 - pow(beta2, step), weight = 1 - beta1;
    if (!(first > 0 && second > 0)) return NULL;
    /* Interpolation begins at the nearer end. */
    Settings s = {.count = 4, .decoupled = given[6] != 0, .maximize = given[7] != 0, .is_near = fabs(weight) < 0.5};
    if (!make_factor(s.is_near ? weight : 1 - weight, &s.weight)) return NULL;
    if (!make_factor(given[4], &s.decay) || !make_factor(1 - lr * given[4], &s.kept) || !make_factor(beta2, &s.momentum)) return NULL;
    if (!make_factor(1 - beta2, &s.added) || !make_factor(pow(second, 0.5), &s.root) || !make_factor(given[5], &s.eps)) return NULL;
    return make_factor(-(lr / first), &s.size) ? step_all(k, args, &s, step_adam) : NULL;
}

static PyObject *serve_sgd(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    static const char *const expected[] = {"lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize", NULL};
    double given[MOST_SETTINGS];
    if (!take_settings(args, n, names, 3, expected, given)) return NULL;
    if (!given[0] && !PyFloat_CheckExact(args[3])) return NULL; /* -0 is 0 then */
    Settings s = {.count = given[1] ? 3 : 2, .nesterov = given[4] != 0, .maximize = given[5] != 0};
    if (!make_factor(-given[0], &s.size) || !make_factor(given[1], &s.momentum) || !make_factor(1 - given[2], &s.added)) return NULL;
    return make_factor(given[3], &s.decay) ? step_all(k, args, &s, step_sgd) : NULL;
}
