/* Formulas of rows: a part of _loops.c.
 *
 * Note [Formulas of rows]
 *     An array is seen as rows of its last dimensions, or as samples that have a row for each channel, or as one row. A formula's
 *     values are arrays of that shape (FULL), have an element for each row (COLUMN), for each place in a row (ROW), or one (ONE). Its lines are calls of ufuncs, and folds along rows or
 *     across them. Folds of arrays with more elements
 *     than MOST_FOLDED, whose parts depend on NumPy's version, and sums of products are made by NumPy itself, within the
 *     backend's context. A result with a nan is left to Python, see has_nan: no nan of a formula ends in a number. Values share memory where one is no longer needed: the backend has chosen, see `row_tape`.
 *
 *     The roles of arguments: f an array; b one with samples and channels, F one that is a row, one of which, if there is one,
 *     comes first; d the dimension, n the shape of rows, else one of these; then c a column; v an array of the shape of rows, or
 *     None; k one of the channels, or None; s one without dimensions; 0 a False; 1 a True; - None; t the mark of the dtype;
 *     m three bools; o an option, which may be missing at the end. The first array, but for those of s, gives the shape.
 */
#define MOST_ARGUMENTS 12
#define MOST_PLACES 64
#define MOST_SLOTS 16
#define MOST_VARIANTS_OF_ROWS 32
#define MOST_OPTIONS 2
#define IN_BLOCK 512 /* elements of a block of short rows */
#define SHORT 16     /* elements of a row that takes less time to copy than a call of a loop */

enum { ONE, COLUMN, ROW, FULL, LAYOUTS };
enum { CALL, CHOOSE, FOLD, TURN, PRODUCTS, KINDS };

typedef struct {
    int kind, count, places[MOST_OPERANDS];
    PyUFuncGenericFunction loop;
    void *data;
    PyObject *call, *axis; /* NumPy's fold and its axis, or the subscripts of a sum of products */
    npy_intp many, narrow, times; /* of a fold of turned rows: see TURN */
} Line;

/* Numbers that depend on sizes: of the elements that share a statistic. */
enum { ELEMENTS = 1, BESSEL, TWICE_MEAN };

typedef struct { int type, layout, slot, number; npy_intp size; char *constant; } Place;

typedef struct {
    int places, constants, lines, slots, outs, is_flat, calls_numpy, first;
    Place place[MOST_PLACES];
    Line *line;
    int slot_place[MOST_SLOTS], slot_out[MOST_SLOTS]; /* a place that a slot holds, and the number of the result, or -1 */
    int out_slot[MOST_OPERANDS], out_type[MOST_OPERANDS];
    char out_shape[MOST_OPERANDS];
} Rows;

typedef struct RowsVariant {
    unsigned key;
    PyObject *options, *found;
    Rows *rows[TYPES];
} RowsVariant;

static void free_rows(Rows *rows) {
    if (!rows) return;
    PyMem_Free(rows->line);
    PyMem_Free(rows);
}

static int read_place(PyObject *given, Place *place, int slots) {
    if (!PyArg_ParseTuple(given, "iii", &place->type, &place->layout, &place->slot)) return -1;
    if (place->type < 0 || place->type >= TYPES || place->type == NPY_OBJECT || place->layout < 0 || place->layout >= LAYOUTS ||
        place->slot < -1 || place->slot >= slots) {
        PyErr_SetString(PyExc_ValueError, "not a place of a formula of rows");
        return -1;
    }
    PyArray_Descr *dtype = PyArray_DescrFromType(place->type);
    place->size = PyDataType_ELSIZE(dtype);
    Py_DECREF(dtype);
    return 0;
}

/* Read a line: (kind, ufunc or None, places, what NumPy is called by, axis, sizes). */
static int read_line(PyObject *given, Line *line, Rows *rows, int result) {
    PyObject *fn, *at;
    if (!PyArg_ParseTuple(given, "iOO!OO(nnn)", &line->kind, &fn, &PyTuple_Type, &at, &line->call, &line->axis, &line->many,
                          &line->narrow, &line->times)) return -1;
    Place *place = rows->place;
    line->count = (int)PyTuple_GET_SIZE(at);
    if (line->kind < 0 || line->kind >= KINDS || line->count < 2 || line->count > MOST_OPERANDS) goto misfit;
    for (int i = 0; i < line->count; i++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(at, i));
        if (number < 0 || (i + 1 < line->count ? number >= result : number != result)) goto misfit;
        line->places[i] = (int)number;
    }
    Place *out = &place[result], *in = &place[line->places[0]];
    if (out->slot < 0) goto misfit;
    if (line->kind == CALL || line->kind == CHOOSE) {
        for (int i = 0; i + 1 < line->count; i++) {
            int layout = place[line->places[i]].layout;
            if (layout != ONE && layout != out->layout && out->layout != FULL) goto misfit;
        }
    } else if (in->layout != FULL || (line->kind != FOLD && out->layout == ONE) || out->layout == FULL || in->type != out->type) goto misfit;
    if (line->kind == TURN && (out->layout != COLUMN || line->count != 2)) goto misfit;
    if (line->kind == PRODUCTS) {
        rows->calls_numpy = 1;
        if (line->count == 3 && place[line->places[1]].layout == FULL && place[line->places[1]].type == in->type && PyUnicode_Check(line->call)) return 0;
        goto misfit;
    }
    if (line->kind == FOLD && line->count == 3 && (place[line->places[1]].layout != ONE || place[line->places[1]].type != in->type)) goto misfit;
    if (line->kind == CHOOSE) {
        if (line->count != 4 || in->type != NPY_BOOL || place[line->places[1]].type != out->type || place[line->places[2]].type != out->type) goto misfit;
        return 0;
    }
    if (!Py_IS_TYPE(fn, &PyUFunc_Type)) goto misfit;
    PyUFuncObject *ufunc = (PyUFuncObject *)fn;
    if (ufunc->nout != 1 || ufunc->core_enabled || ufunc->nargs != (line->kind == CALL ? line->count : 3)) goto misfit;
    for (int i = 0; i < ufunc->ntypes; i++) {
        int is_it = ufunc->functions[i] != NULL;
        for (int j = 0; j < ufunc->nargs; j++)
            is_it &= ufunc->types[i * ufunc->nargs + j] == (line->kind == CALL ? place[line->places[j]].type : out->type);
        if (!is_it) continue;
        line->loop = ufunc->functions[i];
        line->data = ufunc->data ? (void *)ufunc->data[i] : NULL;
        return 0;
    }
misfit:
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "not a line of a formula of rows");
    return -1;
}

/* Read a formula: (places, constants, lines, slots, results, is_flat). The kernel keeps what it holds alive. */
static Rows *read_rows(PyObject *given, int arrays) {
    PyObject *places, *constants, *lines, *outs;
    int is_flat, slots;
    if (!PyArg_ParseTuple(given, "O!O!O!iO!p", &PyList_Type, &places, &PyList_Type, &constants, &PyList_Type, &lines, &slots,
                          &PyList_Type, &outs, &is_flat)) return NULL;
    Rows *rows = PyMem_Calloc(1, sizeof(Rows));
    if (!rows) return (Rows *)PyErr_NoMemory();
    rows->is_flat = is_flat;
    rows->places = (int)PyList_GET_SIZE(places);
    rows->constants = (int)PyList_GET_SIZE(constants);
    rows->lines = (int)PyList_GET_SIZE(lines);
    rows->slots = slots;
    rows->outs = (int)PyList_GET_SIZE(outs);
    rows->first = arrays;
    if (!rows->lines || rows->places > MOST_PLACES || slots < 0 || slots > MOST_SLOTS || rows->outs > MOST_OPERANDS || !rows->outs ||
        rows->places != arrays + rows->constants + rows->lines) goto misfit;
    rows->line = PyMem_Calloc((size_t)rows->lines, sizeof(Line));
    if (!rows->line) { PyErr_NoMemory(); goto misfit; }
    for (int i = 0; i < rows->places; i++)
        if (read_place(PyList_GET_ITEM(places, i), &rows->place[i], rows->slots) < 0) goto misfit;
    for (int i = 0; i < rows->constants; i++) {
        PyObject *each = PyList_GET_ITEM(constants, i);
        Place *place = &rows->place[arrays + i];
        if (place->layout != ONE) goto misfit;
        if (PyLong_CheckExact(each)) {
            place->number = (int)PyLong_AsLong(each);
            if ((place->type != NPY_FLOAT && place->type != NPY_DOUBLE) || place->number < ELEMENTS || place->number > TWICE_MEAN) goto misfit;
            continue;
        }
        PyArrayObject *array = as_array(each);
        if (!array || PyArray_SIZE(array) != 1 || !is_dense(array) || PyArray_TYPE(array) != place->type) goto misfit;
        place->constant = PyArray_BYTES(array);
    }
    for (int i = 0; i < rows->slots; i++) {
        rows->slot_out[i] = -1;
        int found = 0;
        for (int j = 0; j < rows->places; j++) {
            if (rows->place[j].slot != i) continue;
            if (found && (rows->place[rows->slot_place[i]].layout != rows->place[j].layout ||
                          rows->place[rows->slot_place[i]].size != rows->place[j].size)) goto misfit;
            rows->slot_place[i] = j;
            found = 1;
        }
        if (!found) goto misfit;
    }
    for (int i = 0; i < rows->lines; i++)
        if (read_line(PyList_GET_ITEM(lines, i), &rows->line[i], rows, arrays + rows->constants + i) < 0) goto misfit;
    for (int i = 0; i < rows->outs; i++) {
        int shape;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(outs, i), "iCi", &rows->out_slot[i], &shape, &rows->out_type[i])) goto misfit;
        int slot = rows->out_slot[i];
        const char *names = "1cvfk", *at = shape > 0 && shape < 128 ? strchr(names, shape) : NULL;
        if (slot < -1 || slot >= rows->slots || rows->out_type[i] < 0 || rows->out_type[i] >= TYPES) goto misfit;
        if (slot < 0 ? shape != 'e' : !at || (shape == 'k' ? COLUMN : at - names) != rows->place[rows->slot_place[slot]].layout || rows->slot_out[slot] >= 0) goto misfit;
        if (slot >= 0) rows->slot_out[slot] = i;
        rows->out_shape[i] = (char)shape;
    }
    return rows;
misfit:
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "not a formula of rows");
    free_rows(rows);
    return NULL;
}

/* The arguments of a call: see the roles in Note [Formulas of rows]. */
typedef struct {
    PyArrayObject *full;
    int type, kept, arrays, is_batch; /* of dimensions, those before a row's */
    npy_intp samples, rows, length;
    unsigned key;
    Py_ssize_t options;
    char *data[MOST_ARGUMENTS];
    PyObject *option[MOST_OPTIONS];
} Given;

static inline int set_rows(Given *given, int kept) {
    npy_intp *dims = PyArray_DIMS(given->full);
    given->kept = kept;
    given->samples = given->rows = given->length = 1;
    for (int i = 0; i < PyArray_NDIM(given->full); i++) *(i < kept ? &given->rows : &given->length) *= dims[i];
    return 1;
}

static inline int is_column(PyArrayObject *a, Given *given) {
    return a && PyArray_DESCR(a) == PyArray_DESCR(given->full) && PyArray_SIZE(a) == given->rows && is_dense(a);
}

/* Read an argument by its role; return whether it is served. */
static inline int read_argument(Kernel *k, char role, PyObject *x, Given *given, unsigned bit) {
    PyArrayObject *a, *full = given->full;
    int ndim = PyArray_NDIM(full);
    npy_intp dim;
    switch (role) {
    case 'f':
        a = as_array(x);
        if (!a || PyArray_DESCR(a) != PyArray_DESCR(full)) return 0;
        if (a != full && (!have_one_shape(a, full) || !is_dense(a))) return 0;
        given->data[given->arrays++] = PyArray_BYTES(a);
        return 1;
    case 'F':
        given->data[given->arrays++] = PyArray_BYTES(full);
        return set_rows(given, 0);
    case 'b':
        if (ndim < 2) return 0;
        given->data[given->arrays++] = PyArray_BYTES(full);
        set_rows(given, 2);
        given->samples = PyArray_DIM(full, 0);
        given->rows = PyArray_DIM(full, 1);
        return given->is_batch = 1;
    case 's':
        a = as_array(x);
        if (!a || PyArray_DESCR(a) != PyArray_DESCR(full) || PyArray_NDIM(a) || !is_dense(a)) return 0;
        given->data[given->arrays++] = PyArray_BYTES(a);
        return 1;
    case 'd':
        return take_small(x, &dim) && (dim == -1 || dim == ndim - 1) && set_rows(given, ndim - 1);
    case 'n': {
        if (!PyTuple_CheckExact(x) && !PyList_CheckExact(x)) return 0;
        Py_ssize_t count = PySequence_Fast_GET_SIZE(x);
        if (count < 1 || count > ndim) return 0;
        for (Py_ssize_t i = 0; i < count; i++)
            if (!take_small(PySequence_Fast_GET_ITEM(x, i), &dim) || dim != PyArray_DIM(full, ndim - count + i)) return 0;
        return set_rows(given, ndim - (int)count);
    }
    case 'c':
        a = as_array(x);
        if (!is_column(a, given)) return 0;
        given->data[given->arrays++] = PyArray_BYTES(a);
        return 1;
    case 'k':
        if (x == Py_None) return 1;
        a = as_array(x);
        if (!is_column(a, given) || PyArray_NDIM(a) != 1) return 0;
        given->data[given->arrays++] = PyArray_BYTES(a);
        given->key |= bit;
        return 1;
    case 'v':
        if (x == Py_None) return 1;
        a = as_array(x);
        if (!a || PyArray_DESCR(a) != PyArray_DESCR(full) || PyArray_NDIM(a) != ndim - given->kept || !is_dense(a)) return 0;
        if (memcmp(PyArray_DIMS(a), PyArray_DIMS(full) + given->kept, sizeof(npy_intp) * (size_t)(ndim - given->kept))) return 0;
        given->data[given->arrays++] = PyArray_BYTES(a);
        given->key |= bit;
        return 1;
    case '0':
        return x == Py_False;
    case '1':
        return x == Py_True;
    case '-':
        return x == Py_None;
    case 't':
        return x == k->mark[given->type];
    case 'm':
        if ((!PyTuple_CheckExact(x) && !PyList_CheckExact(x)) || PySequence_Fast_GET_SIZE(x) != 3) return 0;
        for (int i = 0; i < 3; i++) {
            PyObject *each = PySequence_Fast_GET_ITEM(x, i);
            if (!PyBool_Check(each)) return 0;
            if (each == Py_True) given->key |= 1u << (MOST_ARGUMENTS + i);
        }
        return 1;
    default: /* an option */
        if (given->options == MOST_OPTIONS) return 0;
        given->option[given->options++] = x;
        return 1;
    }
}

static RowsVariant *find_rows(Kernel *k, Given *given) {
    for (int i = 0; i < k->variants; i++) {
        RowsVariant *variant = &k->of_rows[i];
        int is_it = variant->key == given->key && PyTuple_GET_SIZE(variant->options) == given->options;
        for (Py_ssize_t j = 0; is_it && j < given->options; j++) is_it = are_same(given->option[j], PyTuple_GET_ITEM(variant->options, j));
        if (is_it) return variant;
    }
    return NULL;
}

/* Trace the formula with further options; see make_variant. */
static RowsVariant *make_rows(Kernel *k, Given *given) {
    if (k->variants == MOST_VARIANTS_OF_ROWS) return NULL;
    PyObject *options = PyTuple_New(given->options), *found = NULL, *number, *formula;
    for (Py_ssize_t i = 0; options && i < given->options; i++) PyTuple_SET_ITEM(options, i, Py_NewRef(given->option[i]));
    if (options) found = PyObject_CallFunction(k->maker, "IO", given->key, options);
    if (!options || (!found && (PyErr_ExceptionMatches(PyExc_MemoryError) || !PyErr_ExceptionMatches(PyExc_Exception))) || k->variants == MOST_VARIANTS_OF_ROWS) {
        Py_XDECREF(options);
        Py_XDECREF(found);
        return NULL;
    }
    RowsVariant *variant = &k->of_rows[k->variants++];
    variant->key = given->key;
    variant->options = options;
    variant->found = found;
    Py_ssize_t at = 0;
    while (found && PyDict_CheckExact(found) && PyDict_Next(found, &at, &number, &formula)) {
        int type = read_type(number);
        if (type < 0 || variant->rows[type] || !(variant->rows[type] = read_rows(formula, given->arrays))) return NULL;
    }
    return found ? variant : NULL;
}

static inline npy_intp count_of(int layout, Given *given) {
    return layout == FULL ? given->samples * given->rows * given->length : layout == COLUMN ? given->rows : layout == ROW ? given->length : 1;
}

/* Call the loop on blocks of short rows, for which the elements of columns and rows are repeated; as NumPy's buffers do it. */
static void call_blocks(Line *line, Place *place, char **at, Given *given) {
    npy_uint64 repeated[2][IN_BLOCK];
    npy_intp length = given->length, most = IN_BLOCK / length;
    for (npy_intp sample = 0; sample < given->samples; sample++)
        for (npy_intp row = 0; row < given->rows; row += most) {
            char *operands[MOST_OPERANDS];
            npy_intp steps[MOST_OPERANDS], rows = given->rows - row < most ? given->rows - row : most, n = rows * length;
            int used = 0;
            for (int i = 0; i < line->count; i++) {
                int layout = place[line->places[i]].layout;
                npy_intp size = place[line->places[i]].size;
                char *from = at[i], *to = operands[i] = (char *)repeated[used];
                steps[i] = layout == ONE ? 0 : size;
                if (layout == ONE) operands[i] = from;
                else if (layout == FULL) operands[i] = from + (sample * given->rows + row) * length * size;
                else {
                    used++;
                    for (npy_intp j = 0; j < rows; j++)
                        for (npy_intp k = 0; k < length; k++)
                            copy_element(to + (j * length + k) * size, from + (layout == COLUMN ? row + j : k) * size, size);
                }
            }
            line->loop(operands, &n, steps, line->data);
        }
}

/* Call the loop once where the operands have one shape, else once for each row; rows of one element once. */
static void call_line(Line *line, Place *place, char **data, Given *given) {
    int out = place[line->places[line->count - 1]].layout, is_mixed = 0;
    char *at[MOST_OPERANDS];
    npy_intp steps[MOST_OPERANDS], advance[MOST_OPERANDS], count = count_of(out, given), times = 1, samples = 1;
    for (int i = 0; i < line->count; i++) {
        int layout = place[line->places[i]].layout;
        is_mixed |= layout != out && layout != ONE;
        at[i] = data[line->places[i]];
        steps[i] = layout == ONE ? 0 : place[line->places[i]].size;
        advance[i] = 0;
    }
    if (is_mixed) {
        int by_row = given->length > 1;
        samples = given->samples;
        times = by_row ? given->rows : 1;
        count = by_row ? given->length : given->rows;
        for (int i = 0; i < line->count; i++) {
            int layout = place[line->places[i]].layout;
            npy_intp size = place[line->places[i]].size;
            if (layout == (by_row ? COLUMN : ROW)) steps[i] = 0;
            advance[i] = !by_row ? 0 : layout == FULL ? size * count : layout == COLUMN ? size : 0;
        }
    }
    if (times > 1 && count <= SHORT && line->kind == CALL && line->count <= 3) {
        call_blocks(line, place, at, given);
        return;
    }
    for (npy_intp sample = 0; sample < samples; sample++)
        for (npy_intp row = 0; row < times; row++) {
            char *operands[MOST_OPERANDS];
            npy_intp n = count;
            for (int i = 0; i < line->count; i++) {
                operands[i] = at[i] + row * advance[i];
                if (place[line->places[i]].layout == FULL) operands[i] += sample * times * count * place[line->places[i]].size;
            }
            if (line->kind == CHOOSE) choose(operands, n, steps);
            else if (n < MOST_SHARED) line->loop(operands, &n, steps, line->data);
            else { Py_BEGIN_ALLOW_THREADS line->loop(operands, &n, steps, line->data); Py_END_ALLOW_THREADS }
        }
}

/* Fold each of so many groups of elements that lie side by side; or, across, such rows of groups element by element. */
static void fold_line(Line *line, char *in, char *start, char *out, npy_intp groups, npy_intp length, npy_intp size, int is_across) {
    npy_intp first = start ? 0 : 1;
    for (npy_intp i = 0; i < groups; i++) copy_element(out + i * size, start ? start : in + (is_across ? i : i * length) * size, size);
    if (is_across) {
        npy_intp steps[3] = {size, size, size};
        for (npy_intp i = first; i < length; i++) {
            char *at[3] = {out, in + i * groups * size, out};
            npy_intp n = groups;
            line->loop(at, &n, steps, line->data);
        }
        return;
    }
    npy_intp steps[3] = {0, size, 0};
    for (npy_intp i = 0; i < groups && length > first; i++) {
        char *at[3] = {out + i * size, in + (i * length + first) * size, out + i * size};
        npy_intp n = length - first;
        line->loop(at, &n, steps, line->data);
    }
}

static PyObject *wrap(int type, int ndim, npy_intp *dims, char *data) {
    return PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(type), ndim, dims, NULL, data, NPY_ARRAY_CARRAY, NULL);
}

/* Copy a result of NumPy's to its place; takes the reference. */
static int keep_result(PyObject *found, int type, npy_intp count, char *out) {
    if (!found) return -1;
    PyObject *array = PyArray_FromAny(found, PyArray_DescrFromType(type), 0, 0, NPY_ARRAY_CARRAY, NULL);
    Py_DECREF(found);
    if (!array) return -1;
    int is_it = PyArray_SIZE((PyArrayObject *)array) == count;
    if (is_it) memcpy(out, data_of(array), (size_t)count * (size_t)PyArray_ITEMSIZE((PyArrayObject *)array));
    else PyErr_SetString(PyExc_ValueError, "a fold gave another shape");
    Py_DECREF(array);
    return is_it ? 0 : -1;
}

static int fold_by_numpy(PyObject *fold, PyObject *array, PyObject *axis, int type, npy_intp count, char *out) {
    if (!array) return -1;
    PyObject *args[5] = {array, axis, Py_None, Py_None, Py_True};
    int is_done = keep_result(PyObject_Vectorcall(fold, args, 5, NULL), type, count, out);
    Py_DECREF(array);
    return is_done;
}

/* Run a line that is not a call; -1 is an error. */
static int fold_or_multiply(Rows *rows, Line *line, char **data, Given *given) {
    Place *in = &rows->place[line->places[0]], *out = &rows->place[line->places[line->count - 1]];
    char *from = data[line->places[0]], *to = data[line->places[line->count - 1]];
    npy_intp size = in->size, count = given->rows, length = given->length, results = count_of(out->layout, given);
    npy_intp dims[3] = {given->samples, count, length}, *its = given->is_batch ? dims : dims + 1;
    int ndim = given->is_batch ? 3 : 2;
    if (line->kind == PRODUCTS) {
        PyObject *one = wrap(in->type, ndim, its, from);
        PyObject *two = line->places[0] == line->places[1] ? Py_XNewRef(one) : wrap(in->type, ndim, its, data[line->places[1]]), *found = NULL;
        const char *subscripts = PyUnicode_AsUTF8(line->call);
        if (one && two && subscripts) {
            PyArrayObject *operands[2] = {(PyArrayObject *)one, (PyArrayObject *)two};
            found = (PyObject *)PyArray_EinsteinSum((char *)subscripts, 2, operands, NULL, NPY_KEEPORDER, NPY_SAFE_CASTING, NULL);
        }
        Py_XDECREF(one);
        Py_XDECREF(two);
        return keep_result(found, in->type, results, to);
    }
    int by_numpy = given->samples * count * length > MOST_FOLDED;
    /* TURN: the folds of many short rows are folds across the rows of the array that is turned. */
    if (line->kind == TURN && count * length >= line->many && length <= line->narrow && count >= line->times) {
        char *turned = PyMem_Malloc((size_t)(count * length * size));
        if (!turned) { PyErr_NoMemory(); return -1; }
        for (npy_intp i = 0; i < count; i++)
            for (npy_intp j = 0; j < length; j++) copy_element(turned + (j * count + i) * size, from + (i * length + j) * size, size);
        int is_done = 0;
        if (by_numpy) {
            npy_intp other[2] = {length, count};
            PyObject *zero = PyLong_FromLong(0);
            is_done = zero ? fold_by_numpy(line->call, wrap(in->type, 2, other, turned), zero, in->type, results, to) : -1;
            Py_XDECREF(zero);
        } else fold_line(line, turned, NULL, to, count, length, size, 1);
        PyMem_Free(turned);
        return is_done;
    }
    if (by_numpy) {
        PyArrayObject *full = given->full;
        PyObject *array = rows->is_flat ? wrap(in->type, ndim, its, from) : wrap(in->type, PyArray_NDIM(full), PyArray_DIMS(full), from);
        return fold_by_numpy(line->call, array, line->axis, in->type, results, to);
    }
    char *start = line->count == 3 ? data[line->places[1]] : NULL;
    if (given->is_batch && count > 1) {
        /* Each sample's rows are folded to what there is. */
        npy_intp steps[3] = {length > 1 ? 0 : size, size, length > 1 ? 0 : size};
        for (npy_intp i = 0; i < count; i++) copy_element(to + i * size, start, size);
        for (npy_intp sample = 0; sample < given->samples; sample++)
            for (npy_intp i = 0; i < (length > 1 ? count : 1); i++) {
                char *at[3] = {to + i * size, from + (sample * count + i) * length * size, to + i * size};
                npy_intp n = length > 1 ? length : count;
                line->loop(at, &n, steps, line->data);
            }
    } else if (out->layout == ONE || given->is_batch) fold_line(line, from, start, to, 1, count_of(FULL, given), size, 0);
    else if (out->layout == COLUMN) fold_line(line, from, start, to, count, length, size, 0);
    else if (length == 1) fold_line(line, from, start, to, 1, count, size, 0);
    else fold_line(line, from, start, to, length, count, size, 1);
    return 0;
}

static PyObject *make_out(Rows *rows, int which, Given *given) {
    npy_intp dims[NPY_MAXDIMS], *its = PyArray_DIMS(given->full);
    int ndim = PyArray_NDIM(given->full), count = 0;
    switch (rows->out_shape[which]) {
    case 'e': dims[count++] = 0; break;
    case 'f': for (int i = 0; i < ndim; i++) dims[count++] = its[i]; break;
    case 'k': dims[count++] = given->rows; break;
    case 'c': for (int i = 0; i < ndim; i++) dims[count++] = i < given->kept ? its[i] : 1; break;
    case 'v': for (int i = given->kept; i < ndim; i++) dims[count++] = its[i]; break;
    default: break;
    }
    return make_array(rows->out_type[which], count, dims);
}

static PyObject *run_rows(Rows *rows, Given *given) {
    PyObject *out[MOST_OPERANDS] = {NULL}, *found = NULL;
    char *memory[MOST_SLOTS], *data[MOST_PLACES], stack[ON_STACK], *scratch = stack;
    size_t needed = 0, begins[MOST_SLOTS];
    double elements = (double)(given->samples * given->length), numbers[] = {0, elements, elements > 1 ? elements / (elements - 1) : NPY_NAN, 2.0 / elements};
    float short_numbers[] = {0, (float)numbers[1], (float)numbers[2], (float)numbers[3]};
    int is_entered = 0, is_done = -1;
    for (int i = 0; i < rows->outs; i++)
        if (!(out[i] = make_out(rows, i, given))) goto end;
    for (int i = 0; i < rows->slots; i++) {
        begins[i] = needed;
        Place *place = &rows->place[rows->slot_place[i]];
        if (rows->slot_out[i] < 0) needed += ((size_t)(count_of(place->layout, given) * place->size) + 63) & ~(size_t)63;
    }
    if (needed + 63 > ON_STACK && !(scratch = PyMem_Malloc(needed + 63))) { PyErr_NoMemory(); goto end; }
    char *base = (char *)(((size_t)scratch + 63) & ~(size_t)63);
    for (int i = 0; i < rows->slots; i++) memory[i] = rows->slot_out[i] < 0 ? base + begins[i] : data_of(out[rows->slot_out[i]]);
    for (int i = 0; i < rows->places; i++) {
        Place *place = &rows->place[i];
        if (place->slot >= 0) data[i] = memory[place->slot];
        else if (i < rows->first) data[i] = given->data[i];
        else data[i] = place->constant ? place->constant : place->type == NPY_FLOAT ? (char *)&short_numbers[place->number] : (char *)&numbers[place->number];
    }
    if (rows->calls_numpy || count_of(FULL, given) > MOST_FOLDED) {
        if (!quiet || PyContext_Enter(quiet) < 0) goto end;
        is_entered = 1;
    }
    is_done = 0;
    for (int i = 0; i < rows->lines && !is_done; i++) {
        Line *line = &rows->line[i];
        if (line->kind == CALL || line->kind == CHOOSE) call_line(line, rows->place, data, given);
        else is_done = fold_or_multiply(rows, line, data, given);
    }
    if (is_entered && PyContext_Exit(quiet) < 0) is_done = -1;
    if (is_done) goto end;
    for (int i = 0; i < rows->outs; i++)
        if (has_nan(out[i])) goto end; /* the call is left: see has_nan */
    if (rows->outs == 1) found = Py_NewRef(out[0]);
    else if ((found = PyTuple_New(rows->outs)))
        for (int i = 0; i < rows->outs; i++) PyTuple_SET_ITEM(found, i, Py_NewRef(out[i]));
end:
    if (scratch != stack) PyMem_Free(scratch);
    for (int i = 0; i < rows->outs; i++) Py_XDECREF(out[i]);
    return found;
}

/* Of the arguments that the kernel's roles name. */
static PyObject *serve_rows(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    Given given;
    if (names || n > k->arity || n < k->least || !(given.full = as_array(args[k->first])) || !PyArray_NDIM(given.full)) return NULL;
    if ((given.type = type_of(k, given.full)) < 0) return NULL;
    given.key = 0;
    given.arrays = 0;
    given.options = given.is_batch = 0;
    for (int i = 0; i < n; i++)
        if (!read_argument(k, k->roles[i], args[i], &given, 1u << i)) return NULL;
    /* A row that is given, or asked for, and a column of one element each are of one shape. */
    if (given.rows == 1 && given.length == 1 && given.key && strchr(k->roles, 'v')) return NULL;
    RowsVariant *variant = find_rows(k, &given);
    if (!variant && !(variant = make_rows(k, &given))) return NULL;
    Rows *rows = variant->rows[given.type];
    return rows ? run_rows(rows, &given) : NULL;
}

/* Read the roles and the marks of a kernel: a dictionary from numbers of types. */
static int set_roles(Kernel *k, const char *roles, PyObject *marks) {
    PyObject *number, *mark;
    Py_ssize_t at = 0;
    size_t count = strlen(roles);
    size_t known = strspn(roles, "fbFdncvks01-tmo"), before = strcspn(roles, "dnbF"), after = strcspn(roles, "cvk"), first = strcspn(roles, "fbF");
    if (count > MOST_ARGUMENTS || known != count || first == count || before == count || after < before ||
        strcspn(roles + first + 1, "bF") + first + 1 != count || strspn(roles, "s") != first) {
        PyErr_Format(PyExc_ValueError, "not the roles of arguments: %s", roles);
        return -1;
    }
    strcpy(k->roles, roles);
    k->first = (int)first;
    k->least = (int)count;
    while (roles[k->least - 1] == 'o') k->least--;
    k->arity = (int)count;
    k->marks = PyDict_Copy(marks);
    if (!k->marks) return -1;
    while (PyDict_Next(k->marks, &at, &number, &mark)) {
        int type = read_type(number);
        if (type < 0) return -1;
        k->mark[type] = mark;
    }
    k->of_rows = PyMem_Calloc(MOST_VARIANTS_OF_ROWS, sizeof(RowsVariant));
    if (!k->of_rows) PyErr_NoMemory();
    return k->of_rows ? 0 : -1;
}
