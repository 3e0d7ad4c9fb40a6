/* Recording calls for backward: what the kernels do that a frontend generates for the keys of Autograd.
 *
 * See `RecordedCall` in `dispatch_core.arrays.protocols`: a call whose tensors require a gradient gets a node, with the edges
 * of its arguments and the values that backward needs, and the node becomes the state of its results. */
#include "front.h"

#define KEPT 3 /* results that backward needs */

struct Record {
    PyObject *enabled, *below, *node, *mask, *sequence, *storage, *keep, *view, *no_history, *complete, *version, *mark, *is_differentiable, *differentiable,
        *state_name, *find_under; /* required */
    PyObject *defaults, *check, *copy, *attach, *keep_result, *forward, *usual, *debt; /* or NULL */
    PyObject *state_member, *under; /* under: the target of the runner below */
    PyObject *reader[MOST];         /* of a value; NULL for the argument itself, or the shape of its array */
    Mask keys, usual_mask;          /* usual_mask: the mask of a result below */
    Py_ssize_t state;
    Py_ssize_t place_in_storage[3], place_in_kept[7]; /* of the slots that are filled here; the first is 0 for other classes */
    int edges, saved, values, kept, may_be_integral, is_view, results, has_counts, needed;
    /* how: 0 for the argument itself, 1 for its shape, 2 for an answer about it, 3 for one about a result */
    signed char edge[MOST], save[MOST], always[MOST], value[MOST], how[MOST], keeps[KEPT], need[MOST];
    unsigned users[MOST], needed_by[MOST];
};

#define EACH_OF_RECORD(DO) DO(enabled) DO(below) DO(node) DO(mask) DO(sequence) DO(storage) DO(keep) DO(view) DO(no_history) DO(complete) \
    DO(version) DO(mark) DO(is_differentiable) DO(differentiable) DO(state_name) DO(find_under)
#define EACH_OPTION(DO) DO(defaults) DO(check) DO(copy) DO(attach) DO(keep_result) DO(forward) DO(usual) DO(debt)

/* Attributes of histories. */
static PyObject *s_requires_grad, *s_edge, *s_storage, *s_version, *s_next, *s_seq, *s_meta, *s_metas, *s_saved, *s_versions, *s_values, *s_history,
    *s_shape, *s_dtype, *s_counts, *s_call, *s_kept, *s_node, *s_is_leaf;

static inline int is_list(int kind) { return kind == LIST || kind == OPTIONAL_LIST; }

/* ---- The state of a tensor's history ------------------------------------------------------------------------------ */

/* Return whether a tensor's attributes, the state of its history with them, are in the slots of the frontend's class. */
static inline int has_state(Target *target, PyObject *tensor) {
    PyTypeObject *type = Py_TYPE(tensor);
    return type == target->layout->type
        || (is_tensor(target->layout, tensor) && _PyType_Lookup(type, target->record->state_name) == target->record->state_member);
}

/* Return whether all tensors of a call have their states in slots; another thread may change a list. */
static int have_states(Target *target, PyObject **values) {
    for (int i = 0; i < target->count; i++) {
        int kind = target->tensors[i], is_good = 1;
        if (!kind || values[i] == Py_None || Py_TYPE(values[i]) == target->layout->type) continue;
        if (!is_list(kind)) is_good = has_state(target, values[i]);
        for (Py_ssize_t k = 0; is_list(kind) && is_good && k < PySequence_Fast_GET_SIZE(values[i]); k++) {
            PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(values[i], k));
            is_good = item == Py_None || has_state(target, item);
            Py_DECREF(item);
        }
        if (!is_good) return 0;
    }
    return 1;
}

/* Return whether a tensor's mask has one of the keys; -1 for an error. */
static int has_keys(Layout *layout, PyObject *tensor, Mask keys) {
    PyObject *mask = is_tensor(layout, tensor) ? Py_XNewRef(AT(tensor, layout->mask)) : NULL;
    if (!mask) mask = PyObject_GetAttr(tensor, s_mask);
    if (!mask) return -1;
    Mask found = PyLong_Check(mask) ? PyLong_AsUnsignedLongLongMask(mask) : 0;
    Py_DECREF(mask);
    if (found == (Mask)-1 && PyErr_Occurred()) return -1;
    return (found & keys) != 0;
}

/* Return where the gradient of a tensor goes, None where it needs none, as a new reference. */
static PyObject *find_edge(Layout *layout, Record *record, PyObject *tensor) {
    int found = tensor == Py_None ? 0 : has_keys(layout, tensor, record->keys);
    if (found <= 0) return found < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *state = AT(tensor, record->state);
    state = state ? Py_NewRef(state) : PyObject_GetAttr(tensor, record->state_name); /* which raises */
    if (state && PyTuple_CheckExact(state)) {
        found = PyTuple_GET_SIZE(state) ? has_keys(layout, PyTuple_GET_ITEM(state, 0), record->keys) : 0;
        Py_DECREF(state);
        if (found < 0) return NULL;
        state = found ? PyObject_CallOneArg(record->complete, tensor) : Py_NewRef(record->no_history);
    }
    if (!state) return NULL;
    PyObject *wanted = PyObject_GetAttr(state, s_requires_grad), *edge = NULL;
    int yes = wanted ? PyObject_IsTrue(wanted) : -1;
    Py_XDECREF(wanted);
    if (yes == 0) edge = Py_NewRef(Py_None);
    else if (yes > 0) edge = (PyObject *)Py_TYPE(state) == record->view ? PyObject_GetAttr(state, s_edge) : Py_NewRef(state);
    Py_DECREF(state);
    return edge;
}

/* Return the version of a tensor, without making a state for one that has none; 0 for None. */
static PyObject *find_version(Target *target, PyObject *tensor) {
    if (tensor == Py_None) return PyLong_FromLong(0);
    if (!has_state(target, tensor)) return PyObject_CallOneArg(target->record->version, tensor);
    PyObject *state = AT(tensor, target->record->state);
    if (!state || state == Py_None) return PyLong_FromLong(0);
    if (PyTuple_CheckExact(state)) return PyObject_CallOneArg(target->record->version, tensor);
    Py_INCREF(state);
    PyObject *storage = PyObject_GetAttr(state, s_storage);
    Py_DECREF(state);
    if (!storage) return NULL;
    PyObject *found = storage == Py_None ? PyLong_FromLong(0) : PyObject_GetAttr(storage, s_version);
    Py_DECREF(storage);
    return found;
}

/* Return whether a tensor's elements have gradients; -1 for an error. */
static int is_differentiable(Target *target, PyObject *tensor) {
    PyObject *data = array_of(target->layout, tensor), *dtype = data ? PyObject_GetAttr(data, s_dtype) : NULL, *answer = NULL;
    if (dtype) answer = Py_XNewRef(PyDict_GetItemWithError(target->record->differentiable, dtype));
    Py_XDECREF(data);
    Py_XDECREF(dtype);
    if (!answer && PyErr_Occurred()) return -1;
    if (!answer) answer = PyObject_CallOneArg(target->record->is_differentiable, tensor);
    int yes = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return yes;
}

/* Run what lies below the record; `*is_native` says whether the kernel was called here. */
static PyObject *run_below(Target *target, PyObject **values, int *is_native) {
    Record *record = target->record;
    if (!record->under) {
        PyObject *found = PyObject_CallNoArgs(record->find_under);
        if (!found) return NULL;
        /* A target like this one, of the same operator and the same frontend; None while the runner's results are compared. */
        if (Py_TYPE(found) == Py_TYPE(target) && ((Target *)found)->count == target->count && !record->under) record->under = found;
        else Py_DECREF(found);
    }
    Target *under = (Target *)record->under;
    if (under && under->way == BODY && under->layout == target->layout) {
        *is_native = 1;
        Py_INCREF(under);
        PyObject *result = run_body(under, values);
        Py_DECREF(under);
        return result;
    }
    if (under && under->way == HANDLE) {
        PyObject *state;
        if (PyContextVar_Get(state_var, NULL, &state) < 0) return NULL;
        Py_INCREF(under);
        PyObject *result = run_mode(under, values, state, is_native);
        Py_DECREF(under);
        Py_DECREF(state);
        return result;
    }
    return PyObject_Vectorcall(record->below, values, target->count, NULL);
}

/* ---- What a node gets --------------------------------------------------------------------------------------------- */

/* All of it is held. */
typedef struct { PyObject *edges, *counts, *saved, *versions, *values; unsigned wanted; } Kept;

static void drop_kept(Kept *kept) {
    Py_CLEAR(kept->edges); Py_CLEAR(kept->counts); Py_CLEAR(kept->saved); Py_CLEAR(kept->versions); Py_CLEAR(kept->values);
}

/* Find the edges of a list's tensors, and how many there are. */
static int find_edges_of_list(Target *target, Kept *kept, PyObject *edges, int which, PyObject *tensors) {
    Py_ssize_t before = PyList_GET_SIZE(edges);
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(tensors); k++) {
        PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(tensors, k));
        PyObject *edge = find_edge(target->layout, target->record, item);
        Py_DECREF(item);
        if (!edge) return -1;
        if (edge != Py_None) kept->wanted |= 1u << which;
        int bad = PyList_Append(edges, edge);
        Py_DECREF(edge);
        if (bad) return -1;
    }
    PyObject *count = PyLong_FromSsize_t(PyList_GET_SIZE(edges) - before);
    if (!count) return -1;
    PyTuple_SET_ITEM(kept->counts, which, count);
    return 0;
}

/* Find the edges where some arguments are lists. */
static int find_edges_of_lists(Target *target, PyObject **values, Kept *kept) {
    Record *record = target->record;
    PyObject *edges = PyList_New(0);
    int bad = !edges || !(kept->counts = PyTuple_New(record->edges));
    for (int i = 0; !bad && i < record->edges; i++) {
        PyObject *value = values[record->edge[i]];
        if (is_list(target->tensors[record->edge[i]])) { bad = find_edges_of_list(target, kept, edges, i, value); continue; }
        PyObject *edge = find_edge(target->layout, record, value);
        if (edge && edge != Py_None) kept->wanted |= 1u << i;
        PyTuple_SET_ITEM(kept->counts, i, PyLong_FromLong(1)); /* a small number, which is there */
        bad = !edge || PyList_Append(edges, edge) < 0;
        Py_XDECREF(edge);
    }
    bad = bad || !(kept->edges = PyList_AsTuple(edges));
    Py_XDECREF(edges);
    return bad ? -1 : 0;
}

/* Find the edges, and which of them are wanted. */
static int find_edges(Target *target, PyObject **values, Kept *kept) {
    Record *record = target->record;
    if (record->has_counts) return find_edges_of_lists(target, values, kept);
    if (!(kept->edges = PyTuple_New(record->edges))) return -1;
    for (int i = 0; i < record->edges; i++) {
        PyObject *edge = find_edge(target->layout, record, values[record->edge[i]]);
        if (!edge) return -1;
        if (edge != Py_None) kept->wanted |= 1u << i;
        PyTuple_SET_ITEM(kept->edges, i, edge);
    }
    return 0;
}

/* Return a tuple of the versions of a tuple's tensors. */
static PyObject *find_versions(Target *target, PyObject *tensors) {
    PyObject *made = PyTuple_New(PyTuple_GET_SIZE(tensors));
    for (Py_ssize_t i = 0; made && i < PyTuple_GET_SIZE(tensors); i++) {
        PyObject *version = find_version(target, PyTuple_GET_ITEM(tensors, i));
        if (version) PyTuple_SET_ITEM(made, i, version); else Py_CLEAR(made);
    }
    return made;
}

/* Keep the tensors that a wanted gradient uses, with their versions. */
static int keep_tensors(Target *target, PyObject **values, Kept *kept) {
    Record *record = target->record;
    if (record->saved + record->kept && !(kept->saved = PyTuple_New(record->saved + record->kept))) return -1;
    if (record->saved && !(kept->versions = PyTuple_New(record->saved))) return -1;
    for (int i = 0; i < record->saved; i++) {
        int at = record->save[i];
        PyObject *own = values[at], *version;
        if (is_list(target->tensors[at])) {
            own = own == Py_None ? NULL : PySequence_Tuple(own);
            version = own ? find_versions(target, own) : NULL;
        } else {
            int keeps = own != Py_None && (record->always[i] || (kept->wanted & record->users[i]));
            own = !keeps ? Py_NewRef(Py_None) : record->copy && at == 0 ? PyObject_CallOneArg(record->copy, own) : Py_NewRef(own);
            version = own ? find_version(target, own) : NULL;
        }
        if (own) PyTuple_SET_ITEM(kept->saved, i, own);
        if (!version) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "'NoneType' object is not iterable");
            return -1;
        }
        PyTuple_SET_ITEM(kept->versions, i, version);
    }
    return 0;
}

/* Return a fact about a tensor; for a list about each of its tensors. */
static PyObject *read_fact(Target *target, PyObject *reader, int kind, PyObject *value) {
    if (kind == OPTIONAL_TENSOR && value == Py_None) return Py_NewRef(Py_None);
    if (!is_list(kind)) {
        if (reader) return PyObject_CallOneArg(reader, value);
        PyObject *data = array_of(target->layout, value), *shape = data ? PyObject_GetAttr(data, s_shape) : NULL;
        Py_XDECREF(data);
        return shape;
    }
    PyObject *made = PyList_New(0);
    for (Py_ssize_t k = 0; made && k < PySequence_Fast_GET_SIZE(value); k++) {
        PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(value, k)), *one = read_fact(target, reader, TENSOR, item);
        Py_DECREF(item);
        if (!one || PyList_Append(made, one) < 0) Py_CLEAR(made);
        Py_XDECREF(one);
    }
    return made;
}

/* Keep the arguments and facts that gradients use; those about results come later. */
static int keep_values(Target *target, PyObject **values, Kept *kept) {
    Record *record = target->record;
    int is_kept = record->values && !record->defaults;
    /* The node's class holds the defaults. */
    for (int i = 0; record->defaults && i < record->values; i++) is_kept |= values[record->value[i]] != PyTuple_GET_ITEM(record->defaults, i);
    if (!is_kept) return 0;
    if (!(kept->values = PyTuple_New(record->values))) return -1;
    for (int i = 0; i < record->values; i++) {
        int at = record->value[i], how = record->how[i];
        if (how == 3) continue;
        PyObject *value = how ? read_fact(target, record->reader[i], target->tensors[at], values[at]) : Py_NewRef(values[at]);
        if (!value) return -1;
        PyTuple_SET_ITEM(kept->values, i, value);
    }
    return 0;
}

/* ---- Nodes -------------------------------------------------------------------------------------------------------- */

/* Return the shape and the dtype of a tensor's array. */
static PyObject *find_meta(Target *target, PyObject *tensor) {
    PyObject *data = array_of(target->layout, tensor), *shape = data ? PyObject_GetAttr(data, s_shape) : NULL;
    PyObject *dtype = shape ? PyObject_GetAttr(data, s_dtype) : NULL, *made = dtype ? PyTuple_Pack(2, shape, dtype) : NULL;
    Py_XDECREF(data); Py_XDECREF(shape); Py_XDECREF(dtype);
    return made;
}

/* Set an attribute to a value, to which the reference is taken over; -1 for an error, or no value. */
static int set_new(PyObject *object, PyObject *name, PyObject *value) {
    if (!value) return -1;
    int bad = PyObject_SetAttr(object, name, value);
    Py_DECREF(value);
    return bad;
}

static PyObject *find_next(PyObject *sequence) {
    PyObject *found = PyIter_Next(sequence);
    if (!found && !PyErr_Occurred()) PyErr_SetString(PyExc_StopIteration, "");
    return found;
}

/* Return the shapes and dtypes of several results. */
static PyObject *find_metas(Target *target, PyObject *results) {
    PyObject *items = PySequence_Fast(results, "results"), *made = items ? PyTuple_New(PySequence_Fast_GET_SIZE(items)) : NULL;
    for (Py_ssize_t i = 0; made && i < PyTuple_GET_SIZE(made); i++) {
        PyObject *meta = find_meta(target, PySequence_Fast_GET_ITEM(items, i));
        if (meta) PyTuple_SET_ITEM(made, i, meta); else Py_CLEAR(made);
    }
    Py_XDECREF(items);
    return made;
}

/* Return a node for a call's results, which they do not have yet. */
static PyObject *make_node(Target *target, PyObject *result, Kept *kept) {
    Record *record = target->record;
    PyObject *node = PyObject_CallNoArgs(record->node);
    int bad = !node || PyObject_SetAttr(node, s_next, kept->edges) < 0 || set_new(node, s_seq, find_next(record->sequence));
    bad = bad || (kept->counts && PyObject_SetAttr(node, s_counts, kept->counts) < 0);
    bad = bad || (record->results == 1 ? set_new(node, s_meta, find_meta(target, result)) : set_new(node, s_metas, find_metas(target, result)));
    if (bad) Py_CLEAR(node);
    return node;
}

/* Return one of the results, as a new reference. */
static PyObject *find_result(Record *record, PyObject *result, int number) {
    return record->results == 1 ? Py_NewRef(result) : PySequence_GetItem(result, number);
}

/* Find the slots of a class whose objects are filled here instead of by a call; without them `places` stays 0. */
static void find_places(PyObject *cls, const char *const *names, int count, Py_ssize_t *places) {
    for (int i = 0; i < count; i++) {
        PyObject *name = PyType_Check(cls) ? PyUnicode_FromString(names[i]) : NULL, *found = NULL;
        if (name) found = find_member((PyTypeObject *)cls, name, &places[i]);
        Py_XDECREF(name);
        if (!found) { PyErr_Clear(); places[0] = 0; return; }
    }
}

static const char *const IN_STORAGE[] = {"aliases", "version", "written"};
static const char *const IN_KEPT[] = {"parts", "version", "number", "kind", "data", "mask", "storage"};

/* Return the storage of a new result: of no aliases, at version 0. */
static PyObject *make_storage(Record *record) {
    Py_ssize_t *places = record->place_in_storage;
    if (!places[0]) return PyObject_CallNoArgs(record->storage);
    PyTypeObject *type = (PyTypeObject *)record->storage;
    PyObject *made = type->tp_alloc(type, 0), *zero = made ? PyLong_FromLong(0) : NULL;
    if (!zero) { Py_XDECREF(made); return NULL; }
    AT(made, places[0]) = Py_NewRef(Py_None);
    AT(made, places[1]) = Py_NewRef(zero);
    AT(made, places[2]) = zero;
    return made;
}

/* Return the parts of a result that its own node keeps. */
static PyObject *keep_result(Target *target, PyObject *result, PyObject *storage) {
    Record *record = target->record;
    Py_ssize_t *places = record->place_in_kept;
    PyObject *values[7];
    if (!places[0] || !record->place_in_storage[0] || Py_TYPE(result) != target->layout->type)
        return PyObject_CallFunctionObjArgs(record->keep, result, storage, NULL);
    PyObject *mask = AT(result, target->layout->mask), *data = AT(result, target->layout->data);
    if (!mask || !data) return PyObject_CallFunctionObjArgs(record->keep, result, storage, NULL); /* which raises */
    PyTypeObject *type = (PyTypeObject *)record->keep;
    PyObject *made = type->tp_alloc(type, 0), *zero = made ? PyLong_FromLong(0) : NULL;
    if (!zero) { Py_XDECREF(made); return NULL; }
    values[0] = Py_None; values[1] = values[2] = zero; values[3] = (PyObject *)Py_TYPE(result);
    values[4] = data; values[5] = mask; values[6] = storage;
    for (int i = 0; i < 7; i++) AT(made, places[i]) = Py_NewRef(values[i]);
    Py_DECREF(zero);
    return made;
}

/* Pass the values that are kept to the node. */
static int fill_node(Target *target, PyObject *node, PyObject *result, Kept *kept) {
    Record *record = target->record;
    PyObject *storage = NULL;
    int bad = 0;
    if (record->kept && !record->keep_result) {
        bad = !(storage = make_storage(record)) || PyObject_SetAttr(node, s_storage, storage) < 0;
    }
    for (int i = 0; !bad && i < record->kept; i++) {
        PyObject *one = find_result(record, result, record->keeps[i]), *own = NULL;
        if (one && storage) own = keep_result(target, one, storage);
        else if (one) {
            PyObject *number = PyLong_FromLong(record->keeps[i]);
            own = number ? PyObject_CallFunctionObjArgs(record->keep_result, one, number, NULL) : NULL;
            Py_XDECREF(number);
        }
        Py_XDECREF(one);
        if (!(bad = !own)) PyTuple_SET_ITEM(kept->saved, record->saved + i, own);
    }
    Py_XDECREF(storage);
    for (int i = 0; !bad && kept->values && i < record->values; i++) {
        if (record->how[i] != 3) continue;
        PyObject *one = find_result(record, result, record->value[i]), *fact = one ? read_fact(target, record->reader[i], TENSOR, one) : NULL;
        Py_XDECREF(one);
        if (!(bad = !fact)) PyTuple_SET_ITEM(kept->values, i, fact);
    }
    bad = bad || (kept->saved && PyObject_SetAttr(node, s_saved, kept->saved) < 0);
    bad = bad || (kept->versions && PyObject_SetAttr(node, s_versions, kept->versions) < 0);
    bad = bad || (kept->values && PyObject_SetAttr(node, s_values, kept->values) < 0);
    return bad ? -1 : 0;
}

/* Give a lone result its history. */
static int attach(Target *target, PyObject *result, PyObject *node) {
    Record *record = target->record;
    if (record->is_view && has_state(target, result)) {
        PyObject *state = Py_XNewRef(AT(result, record->state));
        if (state && PyTuple_CheckExact(state)) {
            Py_SETREF(state, PyObject_CallOneArg(record->complete, result));
            if (!state) return -1;
        }
        if (state && (PyObject *)Py_TYPE(state) == record->view) { /* it has its keys already */
            int bad = PyObject_SetAttr(state, s_history, node);
            Py_DECREF(state);
            return bad;
        }
        Py_XDECREF(state);
    }
    if (Py_TYPE(result) == target->layout->type) {
        PyObject *own = AT(result, target->layout->mask);
        Py_XSETREF(AT(result, record->state), Py_NewRef(node));
        if (own && PyLong_CheckExact(own) && PyLong_AsUnsignedLongLongMask(own) == record->usual_mask) {
            Py_SETREF(AT(result, target->layout->mask), Py_NewRef(record->mask));
            return 0;
        }
    } else if (PyObject_SetAttr(result, record->state_name, node) < 0) return -1; /* a kernel's own class */
    PyObject *mask = PyObject_GetAttr(result, s_mask), *done = NULL;
    if (!mask) return -1;
    int is_usual = PyLong_CheckExact(mask) && PyLong_AsUnsignedLongLongMask(mask) == record->usual_mask;
    Py_DECREF(mask);
    if (is_usual) return PyObject_SetAttr(result, s_mask, record->mask);
    done = PyObject_CallOneArg(record->mark, result);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int call_two(PyObject *function, PyObject *first, PyObject *second) {
    PyObject *done = PyObject_CallFunctionObjArgs(function, first, second, NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* ---- Calls that one function on arrays computes with its gradients -------------------------------------------------- */

/* Return whether the usual way serves the call: after a node was taken apart, and where a result would be kept that no
 * gradient needs; -1 for an error. */
static int is_usual(Record *record, Kept *kept) {
    if (PyList_CheckExact(record->debt) && PyList_GET_SIZE(record->debt) == 1) {
        long left = PyLong_AsLong(PyList_GET_ITEM(record->debt, 0));
        if (left == -1 && PyErr_Occurred()) return -1;
        if (left) {
            PyObject *less = PyLong_FromLong(left - 1);
            return !less || PyList_SetItem(record->debt, 0, less) < 0 ? -1 : 1;
        }
    }
    for (int i = 0; i < record->needed; i++) {
        PyObject *edge = PyTuple_GET_ITEM(kept->edges, record->need[i]);
        if ((kept->wanted & record->needed_by[i]) || edge == Py_None) continue;
        PyObject *node = PyObject_GetAttr(edge, s_node), *answer = node ? PyObject_GetAttr(node, s_is_leaf) : NULL;
        int yes = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(node);
        Py_XDECREF(answer);
        if (yes < 1) return yes < 0 ? -1 : 1;
    }
    return 0;
}

/* Call the function on arrays; None where it leaves the call to the usual way. */
static PyObject *call_forward(Target *target, PyObject **values) {
    PyObject *args[MOST], *found = NULL;
    int count = 0;
    for (; count < target->count; count++) if (!(args[count] = unwrap(target->layout, target->tensors[count], values[count]))) break;
    if (count == target->count) found = PyObject_Vectorcall(target->record->forward, args, count, NULL);
    while (count) { --count; Py_DECREF(args[count]); }
    if (found == Py_NotImplemented) { Py_DECREF(found); Py_RETURN_NONE; }
    if (found || !PyErr_ExceptionMatches(PyExc_Exception)) return found;
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *run_short(Target *target, PyObject **values, Kept *kept) {
    Record *record = target->record;
    PyObject *found = NULL, *result = NULL, *tensors = NULL, *node = NULL, *all = NULL;
    int usual = is_usual(record, kept);
    if (usual < 0) return NULL;
    if (!usual && !(found = call_forward(target, values))) return NULL;
    if (usual || found == Py_None) {
        Py_XDECREF(found);
        return PyObject_Vectorcall(record->usual, values, target->count, NULL);
    }
    if (!PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != 2) { PyErr_SetString(PyExc_TypeError, "not a result and its values"); goto done; }
    if (!(tensors = PyTuple_New(record->edges)) || !(all = pack(target, values, -1))) goto done;
    for (int i = 0; i < record->edges; i++) PyTuple_SET_ITEM(tensors, i, Py_NewRef(values[record->edge[i]]));
    if (!(kept->versions = find_versions(target, tensors)) || !(node = PyObject_CallNoArgs(record->node))) goto done;
    int bad = PyObject_SetAttr(node, s_next, kept->edges) < 0 || set_new(node, s_seq, find_next(record->sequence)) || PyObject_SetAttr(node, s_call, all) < 0;
    bad = bad || PyObject_SetAttr(node, s_versions, kept->versions) < 0 || PyObject_SetAttr(node, s_kept, PyTuple_GET_ITEM(found, 1)) < 0;
    if (bad || !(result = new_tensor(target->layout, record->mask, Py_NewRef(PyTuple_GET_ITEM(found, 0))))) goto done;
    bad = set_new(node, s_meta, find_meta(target, result));
    if (!bad && Py_TYPE(result) == target->layout->type) Py_XSETREF(AT(result, record->state), Py_NewRef(node));
    else bad = bad || PyObject_SetAttr(result, record->state_name, node) < 0;
    if (bad) Py_CLEAR(result);
done:
    Py_XDECREF(found); Py_XDECREF(tensors); Py_XDECREF(node); Py_XDECREF(all);
    return result;
}

/* ---- Running ------------------------------------------------------------------------------------------------------ */

/* Return whether a call is to be recorded at all; -1 for an error. */
static int is_enabled(Record *record) {
    PyObject *found;
    if (PyContextVar_Get(record->enabled, NULL, &found) < 0) return -1;
    int yes = found ? PyObject_IsTrue(found) : -1;
    if (!found) PyErr_SetObject(PyExc_LookupError, record->enabled);
    Py_XDECREF(found);
    return yes;
}

/* Run a call with at least one edge. */
static PyObject *run_recorded(Target *target, PyObject **values, Kept *kept, int *is_native) {
    Record *record = target->record;
    if (record->forward) return run_short(target, values, kept);
    if (record->check) {
        PyObject *done = PyObject_CallOneArg(record->check, values[0]);
        if (!done) return NULL;
        Py_DECREF(done);
    }
    if (keep_tensors(target, values, kept) < 0 || keep_values(target, values, kept) < 0) return NULL;
    PyObject *result = run_below(target, values, is_native), *node = NULL;
    if (!result) return NULL;
    int yes = 1;
    if (record->may_be_integral) yes = is_differentiable(target, result);
    /* A tensor of integers takes values that require a gradient, but no history. */
    else if (record->check && PyTuple_GET_ITEM(kept->edges, 0) == Py_None) yes = is_differentiable(target, values[0]);
    if (!yes) return result;
    int bad = yes < 0 || !(node = make_node(target, result, kept));
    if (record->results == 1) {
        bad = bad || fill_node(target, node, result, kept);
        bad = bad || (record->attach ? call_two(record->attach, result, node) : attach(target, result, node));
    } else bad = bad || call_two(record->attach, result, node) || fill_node(target, node, result, kept);
    Py_XDECREF(node);
    if (bad) Py_CLEAR(result);
    return result;
}

PyObject *run_record(Target *target, PyObject **values, int *is_native) {
    if (!have_states(target, values)) return PyObject_Vectorcall(target->runner, values, target->count, NULL);
    int yes = is_enabled(target->record);
    if (yes <= 0) return yes < 0 ? NULL : run_below(target, values, is_native);
    Kept kept = {NULL, NULL, NULL, NULL, NULL, 0};
    PyObject *result = NULL;
    if (find_edges(target, values, &kept) == 0) {
        if (kept.wanted) result = run_recorded(target, values, &kept, is_native);
        else {
            drop_kept(&kept); /* the edges are held no longer than in Python */
            return run_below(target, values, is_native);
        }
    }
    drop_kept(&kept);
    return result;
}

/* ---- Making records of specs -------------------------------------------------------------------------------------- */

/* Read a tuple of sets of edges, as numbers. */
static int take_users(PyObject *spec, const char *name, unsigned *to, int count) {
    PyObject *found = PyMapping_GetItemString(spec, name);
    if (!found) return -1;
    int bad = !PyTuple_Check(found) || PyTuple_GET_SIZE(found) != count;
    for (int i = 0; !bad && i < count; i++) to[i] = (unsigned)PyLong_AsUnsignedLongMask(PyTuple_GET_ITEM(found, i));
    Py_DECREF(found);
    return bad || PyErr_Occurred() ? -1 : 0;
}

/* Read the places of values, and how each is read. */
static int take_values(PyObject *spec, Record *record, int count) {
    PyObject *readers = PyMapping_GetItemString(spec, "readers");
    int found, bad = !readers || take_numbers(spec, "values", record->value, MOST, MOST, &record->values)
        || take_numbers(spec, "how", record->how, MOST, 3, &found) || found != record->values
        || !PyTuple_Check(readers) || PyTuple_GET_SIZE(readers) != found;
    for (int i = 0; !bad && i < record->values; i++) {
        PyObject *reader = PyTuple_GET_ITEM(readers, i);
        record->reader[i] = reader == Py_None ? NULL : Py_NewRef(reader);
        bad = record->value[i] < 0 || (record->how[i] < 3 ? record->value[i] >= count : record->value[i] >= RESULTS) || record->how[i] < 0;
        bad = bad || (record->how[i] == 2 && !reader);
    }
    Py_XDECREF(readers);
    return bad ? -1 : 0;
}

/* Read the spec of a target that records. */
int take_record(PyObject *spec, Target *target) {
    PyObject *layout = NULL, *keys = NULL, *usual_mask = NULL;
    int bad = 1, count;
    Record *record = target->record = PyMem_Calloc(1, sizeof(Record));
    if (!record) { PyErr_NoMemory(); return -1; }
#define TAKE(name) if (take_object(spec, #name, &record->name)) goto done; if (!record->name) goto done;
    EACH_OF_RECORD(TAKE)
#undef TAKE
#define TAKE(name) if (take_object(spec, #name, &record->name)) goto done;
    EACH_OPTION(TAKE)
#undef TAKE
    if (take_object(spec, "layout", &layout) || take_object(spec, "keys", &keys) || take_object(spec, "usual_mask", &usual_mask)) goto done;
    if (take_int(spec, "may_be_integral", &record->may_be_integral) || take_int(spec, "is_view", &record->is_view) || take_int(spec, "results", &record->results)) goto done;
    if (take_numbers(spec, "tensors", target->tensors, MOST, OPTIONAL_LIST, &count) || count != target->count) goto done;
    if (take_numbers(spec, "edges", record->edge, MOST, target->count - 1, &record->edges) || !record->edges) goto done;
    if (take_numbers(spec, "saved", record->save, MOST, target->count - 1, &record->saved) || take_users(spec, "users", record->users, record->saved)) goto done;
    if (take_numbers(spec, "always", record->always, MOST, 1, &count) || count != record->saved) goto done;
    if (take_numbers(spec, "kept", record->keeps, KEPT, RESULTS - 1, &record->kept) || take_values(spec, record, target->count)) goto done;
    if (take_numbers(spec, "needed", record->need, MOST, record->edges - 1, &record->needed) || take_users(spec, "needed_by", record->needed_by, record->needed)) goto done;
    if (record->defaults && (!PyTuple_Check(record->defaults) || PyTuple_GET_SIZE(record->defaults) != record->values)) goto done;
    if (!layout || Py_TYPE(layout) != &Layout_Type || !PyContextVar_CheckExact(record->enabled) || !PyIter_Check(record->sequence)) goto done;
    if (!PyUnicode_Check(record->state_name) || !PyDict_Check(record->differentiable) || !keys || !usual_mask) goto done;
    if (record->forward && (!record->usual || !record->debt || record->results != 1)) goto done;
    if (record->results != 1 && (!record->attach || (record->kept && !record->keep_result) || record->may_be_integral)) goto done;
    for (int i = 0; i < record->saved; i++) if (record->save[i] < 0) goto done;
    for (int i = 0; i < record->kept; i++) if (record->keeps[i] < 0) goto done;
    for (int i = 0; i < record->needed; i++) if (record->need[i] < 0) goto done;
    for (int i = 0; i < record->edges; i++) {
        if (record->edge[i] < 0) goto done;
        record->has_counts |= is_list(target->tensors[record->edge[i]]);
    }
    if (record->has_counts && record->forward) goto done;
    record->keys = PyLong_AsUnsignedLongLong(keys);
    record->usual_mask = PyLong_AsUnsignedLongLong(usual_mask);
    target->layout = (Layout *)Py_NewRef(layout);
    PyUnicode_InternInPlace(&record->state_name);
    find_places(record->storage, IN_STORAGE, 3, record->place_in_storage);
    find_places(record->keep, IN_KEPT, 7, record->place_in_kept);
    record->state_member = Py_XNewRef(find_member(target->layout->type, record->state_name, &record->state));
    bad = PyErr_Occurred() || take_object(spec, "runner", &target->runner) || take_object(spec, "thrower", &target->thrower);
done:
    if (bad && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a record's spec is not one that this front takes");
    Py_XDECREF(layout); Py_XDECREF(keys); Py_XDECREF(usual_mask);
    return bad ? -1 : 0;
}

int traverse_record(Record *record, visitproc visit, void *arg) {
#define VISIT(name) Py_VISIT(record->name);
    EACH_OF_RECORD(VISIT) EACH_OPTION(VISIT) VISIT(state_member) VISIT(under)
#undef VISIT
    for (int i = 0; i < MOST; i++) Py_VISIT(record->reader[i]);
    return 0;
}

void clear_record(Record *record) {
#define CLEAR(name) Py_CLEAR(record->name);
    EACH_OF_RECORD(CLEAR) EACH_OPTION(CLEAR) CLEAR(state_member) CLEAR(under)
#undef CLEAR
    for (int i = 0; i < MOST; i++) Py_CLEAR(record->reader[i]);
}

int begin_recording(void) {
    struct { PyObject **to; const char *text; } names[] = {
        {&s_requires_grad, "requires_grad"}, {&s_edge, "edge"}, {&s_storage, "storage"}, {&s_version, "version"}, {&s_next, "next"}, {&s_seq, "seq"},
        {&s_meta, "meta"}, {&s_metas, "metas"}, {&s_saved, "saved"}, {&s_versions, "versions"}, {&s_values, "values"}, {&s_history, "history"},
        {&s_shape, "shape"}, {&s_dtype, "dtype"}, {&s_counts, "counts"}, {&s_call, "call"}, {&s_kept, "kept"}, {&s_node, "node"}, {&s_is_leaf, "is_leaf"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!*names[i].to && !(*names[i].to = PyUnicode_InternFromString(names[i].text))) return -1;
    }
    return 0;
}
