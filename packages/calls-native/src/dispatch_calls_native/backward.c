/* Backward through a graph of recorded calls: from gradients of results to gradients of leaves, as the frontend's engine in
 * Python does it, node by node in the reverse order of their making.
 *
 * A node is any object that has the attributes which are read here; what it computes is its own `apply`, in Python. Hooks,
 * gradients of another shape or dtype, and leaves that take their gradients in another way than the plain one are left to
 * functions of the frontend's. Nothing is kept between two runs. */
#include "front.h"
#include <stdlib.h>

/* One node, or leaf, of a run. */
typedef struct {
    PyObject *node, *grads;     /* grads: the list of gradients that have arrived, or NULL */
    double seq;
    Py_ssize_t first, count;    /* the leaves that the node feeds, among those of the run */
    Py_ssize_t waiting;         /* of a leaf: how many edges lead to it */
    char is_leaf, is_wanted, is_needed; /* wanted: its gradient is asked for; needed: such a one lies below */
} Entry;

typedef struct { double seq; Py_ssize_t index; } Place;

typedef struct {
    Entry *entries;
    Py_ssize_t count, room;
    Py_ssize_t *table, size;    /* open addressing: the index of an entry and 1, by the address of its node */
    Py_ssize_t *stack, depth, stack_room;
    Py_ssize_t *feeds, fed, feeds_room;
    PyObject *wanted;           /* what the frontend knows of the gradients that are asked for, or None */
    int accumulates;            /* whether leaves take gradients */
} Graph;

/* The frontend's part: its classes, and its functions for everything that is not plain. */
typedef struct {
    PyObject_HEAD
    PyObject *leaf, *output, *array; /* the classes of leaves, of one of several results, and of arrays that are compared */
    PyObject *plain;                 /* type of array: whether its shape and dtype are attributes */
    PyObject *run_hooks, *run_post_hooks, *fit, *add, *finish_leaf, *accumulate, *capturing;
    PyObject *acquire, *release;     /* of the lock under which gradients are kept */
    PyObject *releases;              /* function: the attribute that it sets to None, or None */
    PyObject *mode;                  /* the context variable of grad mode */
} Backward;

static PyObject *s_node, *s_next, *s_seq, *s_is_leaf, *s_is_short, *s_is_current, *s_take_apart, *s_outputs, *s_output_nr,
    *s_metas, *s_meta, *s_get_meta, *s_apply, *s_release, *s_tensor_hooks, *s_retained, *s_pre_hooks, *s_post_hooks,
    *s_post_accumulate, *s_tensor, *s_requires_grad, *s_grad, *s_autograd, *s_shape, *s_dtype, *s_strides, *s_flags,
    *s_forc, *s_writeable, *s_base, *s_shape_and_dtype, *s_order, *s_leaves, *s_needed, *s_nodes, *s_accumulates;

/* ---- The graph ----------------------------------------------------------------------------------------------------- */

static int grow(void **memory, Py_ssize_t *room, size_t size) {
    Py_ssize_t wanted = *room ? *room * 2 : 32;
    void *found = PyMem_Realloc(*memory, (size_t)wanted * size);
    if (!found) { PyErr_NoMemory(); return -1; }
    *memory = found;
    *room = wanted;
    return 0;
}

static inline size_t mix(PyObject *node) {
    size_t number = (size_t)node >> 4;
    return (number ^ (number >> 9)) * 0x9E3779B1u;
}

/* Return the place of a node in the table: of its index, or of an empty one. */
static Py_ssize_t *place_of(Graph *graph, PyObject *node) {
    size_t at = mix(node) & (size_t)(graph->size - 1);
    while (graph->table[at] && graph->entries[graph->table[at] - 1].node != node) at = (at + 1) & (size_t)(graph->size - 1);
    return &graph->table[at];
}

/* Return the index of a node, or -1. */
static inline Py_ssize_t find(Graph *graph, PyObject *node) { return graph->size ? *place_of(graph, node) - 1 : -1; }

/* Take in a node that is not there; return its index, or -1 with an error. */
static Py_ssize_t add_node(Graph *graph, PyObject *node, int is_leaf) {
    if (graph->count == graph->room && grow((void **)&graph->entries, &graph->room, sizeof(Entry)) < 0) return -1;
    if (graph->size < 2 * (graph->count + 1)) {
        Py_ssize_t size = graph->size ? graph->size * 4 : 128;
        Py_ssize_t *table = PyMem_Calloc((size_t)size, sizeof(Py_ssize_t));
        if (!table) { PyErr_NoMemory(); return -1; }
        PyMem_Free(graph->table);
        graph->table = table;
        graph->size = size;
        for (Py_ssize_t i = 0; i < graph->count; i++) *place_of(graph, graph->entries[i].node) = i + 1;
    }
    Entry made = {.node = Py_NewRef(node), .is_leaf = (char)is_leaf};
    graph->entries[graph->count] = made;
    *place_of(graph, node) = ++graph->count;
    return graph->count - 1;
}

static int push(Graph *graph, Py_ssize_t index) {
    if (graph->depth == graph->stack_room && grow((void **)&graph->stack, &graph->stack_room, sizeof(Py_ssize_t)) < 0) return -1;
    graph->stack[graph->depth++] = index;
    return 0;
}

static void free_graph(Graph *graph) {
    for (Py_ssize_t i = 0; i < graph->count; i++) {
        Py_DECREF(graph->entries[i].node);
        Py_XDECREF(graph->entries[i].grads);
    }
    PyMem_Free(graph->entries);
    PyMem_Free(graph->table);
    PyMem_Free(graph->stack);
    PyMem_Free(graph->feeds);
}

/* Return whether an attribute is true, or -1 with an error. */
static int is_true(PyObject *object, PyObject *name) {
    PyObject *found = PyObject_GetAttr(object, name);
    if (!found) return -1;
    int yes = found == Py_True ? 1 : found == Py_False ? 0 : PyObject_IsTrue(found);
    Py_DECREF(found);
    return yes;
}

/* Return whether an attribute is something else than None, or -1 with an error. */
static inline int has(PyObject *object, PyObject *name) {
    PyObject *found = PyObject_GetAttr(object, name);
    if (!found) return -1;
    Py_DECREF(found);
    return found != Py_None;
}

static inline int is_leaf(Backward *own, PyObject *node) {
    return (PyObject *)Py_TYPE(node) == own->leaf ? 1 : is_true(node, s_is_leaf);
}

static inline int is_output(Backward *own, PyObject *edge) {
    return (PyObject *)Py_TYPE(edge) == own->output || PyObject_TypeCheck(edge, (PyTypeObject *)own->output);
}

/* Return the node of an edge. */
static inline PyObject *node_of(Backward *own, PyObject *edge) {
    return is_output(own, edge) ? PyObject_GetAttr(edge, s_node) : Py_NewRef(edge);
}

static PyObject *next_of(PyObject *node) {
    PyObject *next = PyObject_GetAttr(node, s_next);
    if (!next || PyTuple_CheckExact(next)) return next;
    PyObject *made = PySequence_Tuple(next);
    Py_DECREF(next);
    return made;
}

/* Take in the nodes that edges of one node lead to. */
static int visit(Backward *own, Graph *graph, Py_ssize_t index, PyObject *next) {
    graph->entries[index].first = graph->fed;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(next); i++) {
        PyObject *edge = PyTuple_GET_ITEM(next, i);
        if (edge == Py_None) continue;
        PyObject *source = node_of(own, edge);
        if (!source) return -1;
        Py_ssize_t found = find(graph, source);
        if (found < 0) {
            int leaf = is_leaf(own, source);
            found = leaf < 0 ? -1 : add_node(graph, source, leaf);
            if (found >= 0 && !leaf && push(graph, found) < 0) found = -1;
        }
        Py_DECREF(source);
        if (found < 0) return -1;
        if (!graph->entries[found].is_leaf) continue;
        if (graph->fed == graph->feeds_room && grow((void **)&graph->feeds, &graph->feeds_room, sizeof(Py_ssize_t)) < 0) return -1;
        graph->feeds[graph->fed++] = found;
        graph->entries[found].waiting++;
    }
    graph->entries[index].count = graph->fed - graph->entries[index].first;
    return 0;
}

static int walk(Backward *own, Graph *graph, PyObject *roots, int is_seen) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(roots); i++) {
        PyObject *node = node_of(own, PyTuple_GET_ITEM(PyList_GET_ITEM(roots, i), 0));
        if (!node) return -1;
        int leaf = is_leaf(own, node);
        Py_ssize_t found = leaf < 0 ? -1 : find(graph, node);
        if (leaf >= 0 && found < 0 && (found = add_node(graph, node, leaf)) >= 0 && !leaf && push(graph, found) < 0) found = -1;
        Py_DECREF(node);
        if (found < 0) return -1;
    }
    while (graph->depth) {
        Py_ssize_t index = graph->stack[--graph->depth];
        PyObject *node = graph->entries[index].node;
        int short_one = is_true(node, s_is_short);
        if (short_one > 0) {
            int apart = is_seen;
            if (!apart) {
                PyObject *current = PyObject_CallMethodNoArgs(node, s_is_current);
                apart = current ? !PyObject_IsTrue(current) : -1;
                Py_XDECREF(current);
            }
            PyObject *taken = apart > 0 ? PyObject_CallMethodNoArgs(node, s_take_apart) : NULL;
            if (apart < 0 || (apart && !taken)) return -1;
            Py_XDECREF(taken);
        }
        PyObject *next = short_one < 0 ? NULL : next_of(node);
        int bad = next ? visit(own, graph, index, next) : -1;
        Py_XDECREF(next);
        if (bad < 0) return -1;
    }
    return 0;
}

static int later_first(const void *one, const void *other) {
    double a = ((const Place *)one)->seq, b = ((const Place *)other)->seq;
    return (a < b) - (a > b);
}

/* Return the nodes, latest first, and their number; NULL with an error. */
static Place *sort_nodes(Graph *graph, Py_ssize_t *count) {
    Place *order = PyMem_Malloc((size_t)(graph->count + 1) * sizeof(Place));
    if (!order) { PyErr_NoMemory(); return NULL; }
    *count = 0;
    for (Py_ssize_t i = 0; i < graph->count; i++) {
        if (graph->entries[i].is_leaf) continue;
        PyObject *seq = PyObject_GetAttr(graph->entries[i].node, s_seq);
        double number = seq ? PyFloat_AsDouble(seq) : -1;
        Py_XDECREF(seq);
        if (PyErr_Occurred()) { PyMem_Free(order); return NULL; }
        order[*count].seq = number;
        order[(*count)++].index = i;
    }
    qsort(order, (size_t)*count, sizeof(Place), later_first);
    return order;
}

/* ---- Gradients ----------------------------------------------------------------------------------------------------- */

/* Return whether the array of a gradient has a shape and dtype; -1 with an error, -2 where Python has to look. */
static int fits(Backward *own, PyObject *grad, PyObject *meta) {
    if (!PyTuple_CheckExact(meta) || PyTuple_GET_SIZE(meta) != 2) return -2;
    PyObject *data = PyObject_GetAttr(grad, s_data);
    if (!data) return -1;
    PyObject *type = (PyObject *)Py_TYPE(data), *found = NULL, *shape = NULL, *dtype = NULL;
    int same = -1;
    if (type != own->array) {
        PyObject *plain = PyObject_GetItem(own->plain, type);
        int is_plain = plain ? PyObject_IsTrue(plain) : -1;
        Py_XDECREF(plain);
        if (is_plain < 0) goto done;
        if (!is_plain) {
            found = PyObject_CallMethodNoArgs(grad, s_shape_and_dtype);
            if (found) same = PyObject_RichCompareBool(found, meta, Py_EQ);
            goto done;
        }
    }
    if (!(shape = PyObject_GetAttr(data, s_shape)) || !(dtype = PyObject_GetAttr(data, s_dtype))) goto done;
    same = PyObject_RichCompareBool(shape, PyTuple_GET_ITEM(meta, 0), Py_EQ);
    if (same > 0) same = PyObject_RichCompareBool(dtype, PyTuple_GET_ITEM(meta, 1), Py_EQ);
done:
    Py_DECREF(data);
    Py_XDECREF(found);
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return same;
}

/* Return the tensor of a plain leaf, a new reference; None where it lives no more, NULL with an error. */
static PyObject *tensor_of(PyObject *leaf) {
    PyObject *reference = PyObject_GetAttr(leaf, s_tensor), *found;
    if (!reference) return NULL;
    found = PyObject_CallNoArgs(reference); /* a weak reference, or a function in its place */
    Py_DECREF(reference);
    return found;
}

/* Return the shape and dtype that a gradient has to have at an edge; None where it may have any. */
static PyObject *meta_of(Backward *own, PyObject *edge, int *is_single) {
    PyObject *type = (PyObject *)Py_TYPE(edge), *found;
    *is_single = 1;
    if (type == own->leaf) {
        PyObject *tensor = tensor_of(edge);
        if (!tensor) return NULL;
        int wanted = tensor == Py_None ? 0 : is_true(edge, s_requires_grad);
        found = wanted < 0 ? NULL : wanted ? PyObject_CallMethodNoArgs(tensor, s_shape_and_dtype) : Py_NewRef(Py_None);
        Py_DECREF(tensor);
        return found;
    }
    int several = is_output(own, edge) ? 1 : has(edge, s_metas), leaf = several ? 0 : is_leaf(own, edge);
    if (several < 0 || leaf < 0) return NULL;
    *is_single = !several;
    if (!several && !leaf) return PyObject_GetAttr(edge, s_meta);
    PyObject *number = PyObject_GetAttr(edge, s_output_nr);
    if (!number) return NULL;
    found = PyObject_CallMethodOneArg(edge, s_get_meta, number);
    Py_DECREF(number);
    return found;
}

/* Return the list of gradients that have arrived at a node, made of Nones where there is none; borrowed. */
static PyObject *buffer_of(Graph *graph, Py_ssize_t index) {
    PyObject *made = graph->entries[index].grads;
    if (made) return made;
    PyObject *found = PyObject_GetAttr(graph->entries[index].node, s_outputs);
    Py_ssize_t count = found ? PyLong_AsSsize_t(found) : -1;
    Py_XDECREF(found);
    if (count < 0) return NULL;
    if (!(made = PyList_New(count))) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) PyList_SET_ITEM(made, i, Py_NewRef(Py_None));
    return graph->entries[index].grads = made;
}

/* Add a gradient to those that have arrived at an edge, whose node has one result if it is `single`. */
static int add_gradient(Backward *own, Graph *graph, PyObject *edge, int single, PyObject *grad) {
    PyObject *node = node_of(own, edge);
    Py_ssize_t index = node ? find(graph, node) : -1, number = 0;
    Py_XDECREF(node);
    if (index < 0) return node ? 0 : -1; /* a node that came into the graph meanwhile does not run */
    if (single && !graph->entries[index].grads) {
        PyObject *made = PyList_New(1);
        if (!made) return -1;
        PyList_SET_ITEM(made, 0, Py_NewRef(grad));
        graph->entries[index].grads = made;
        return 0;
    }
    PyObject *arrived = Py_XNewRef(buffer_of(graph, index)), *place = arrived ? PyObject_GetAttr(edge, s_output_nr) : NULL;
    int bad = -1;
    if (place && ((number = PyLong_AsSsize_t(place)) != -1 || !PyErr_Occurred())) {
        PyObject *before = PySequence_GetItem(arrived, number), *sum = NULL;
        if (before) sum = before == Py_None ? Py_NewRef(grad) : PyObject_CallFunctionObjArgs(own->add, before, grad, NULL);
        Py_XDECREF(before);
        bad = sum ? PySequence_SetItem(arrived, number, sum) : -1;
        Py_XDECREF(sum);
    }
    Py_XDECREF(arrived);
    Py_XDECREF(place);
    return bad;
}

/* Pass a gradient on, made to fit where it does not. */
static int pass_on(Backward *own, Graph *graph, PyObject *node, PyObject *edge, PyObject *results, Py_ssize_t number) {
    PyObject *grad = PyTuple_GET_ITEM(results, number), *fitted = NULL;
    int single, same = 1;
    PyObject *meta = meta_of(own, edge, &single);
    if (!meta) return -1;
    if (meta != Py_None) same = fits(own, grad, meta);
    if (same == -2 || same == 0) {
        Py_ssize_t index = 0; /* the first result that is the gradient, which an error names */
        while (PyTuple_GET_ITEM(results, index) != grad) index++;
        PyObject *place = PyLong_FromSsize_t(index);
        fitted = place ? PyObject_CallFunctionObjArgs(own->fit, grad, meta, node, place, NULL) : NULL;
        Py_XDECREF(place);
        same = fitted ? 1 : -1;
    }
    Py_DECREF(meta);
    int bad = same < 0 ? -1 : add_gradient(own, graph, edge, single, fitted ? fitted : grad);
    Py_XDECREF(fitted);
    return bad;
}

static int pass_results(Backward *own, Graph *graph, PyObject *node, PyObject *results) {
    PyObject *next = next_of(node);
    if (!next) return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(next), found = PyTuple_GET_SIZE(results);
    int bad = 0;
    for (Py_ssize_t i = 0; i < count && i < found && !bad; i++) {
        PyObject *edge = PyTuple_GET_ITEM(next, i);
        if (edge == Py_None) continue;
        if (PyTuple_GET_ITEM(results, i) != Py_None) {
            bad = pass_on(own, graph, node, edge, results, i);
            continue;
        }
        /* The node runs all the same: its hooks, and functions of the user's, see that no gradient came. */
        PyObject *source = node_of(own, edge);
        Py_ssize_t index = source ? find(graph, source) : -1;
        bad = !source || (index >= 0 && !buffer_of(graph, index)) ? -1 : 0;
        Py_XDECREF(source);
    }
    if (!bad && found != count) {
        PyErr_Format(PyExc_ValueError, "zip() argument 2 is %s than argument 1", found < count ? "shorter" : "longer");
        bad = -1;
    }
    Py_DECREF(next);
    return bad;
}

/* Find what a slot of an object has, borrowed, or NULL; return 0 where the attribute is not a slot. */
static int read_slot(PyObject *object, PyObject *name, PyObject **found) {
    PyObject *member = _PyType_Lookup(Py_TYPE(object), name);
    if (!member || Py_TYPE(member) != &PyMemberDescr_Type || ((PyMemberDescrObject *)member)->d_member->type != T_OBJECT_EX) return 0;
    *found = *(PyObject **)((char *)object + ((PyMemberDescrObject *)member)->d_member->offset);
    return 1;
}

/* ---- Leaves -------------------------------------------------------------------------------------------------------- */

/* Return whether an array may become a leaf's gradient as it is: it owns its memory, and has the strides of the leaf's. */
static int may_be_taken(PyObject *data, PyObject *wanted) {
    PyObject *one = PyObject_GetAttr(data, s_strides), *other = PyObject_GetAttr(wanted, s_strides), *flags = NULL;
    int same = one && other ? PyObject_RichCompareBool(one, other, Py_EQ) : -1;
    Py_XDECREF(one);
    Py_XDECREF(other);
    if (same > 0) same = (flags = PyObject_GetAttr(data, s_flags)) ? is_true(flags, s_forc) : -1;
    if (same > 0) same = is_true(flags, s_writeable);
    Py_XDECREF(flags);
    if (same > 0) same = (same = has(data, s_base)) < 0 ? -1 : !same;
    return same;
}

/* Give a leaf its first gradient, the only item of a list, where this is plain: 1 where it was, 0 where Python has to. */
static int take(Backward *own, PyObject *leaf, PyObject *grads) {
    PyObject *grad = PyList_GET_ITEM(grads, 0), *tensor, *state = NULL, *data = NULL, *wanted = NULL, *got, *type, *error, *trace;
    int done, there;
    if (Py_REFCNT(grad) != 1 || PyList_GET_SIZE(own->capturing)) return 0;
    if ((there = has(leaf, s_grad)) || (there = has(leaf, s_post_accumulate))) return there < 0 ? -1 : 0;
    if ((there = is_true(leaf, s_requires_grad)) <= 0) return there;
    if (!(tensor = tensor_of(leaf))) return -1;
    done = read_slot(tensor, s_autograd, &state) && state == leaf && read_slot(tensor, s_data, &wanted)
        && read_slot(grad, s_data, &data) && data && wanted && (PyObject *)Py_TYPE(data) == own->array
        && (PyObject *)Py_TYPE(wanted) == own->array && Py_REFCNT(data) == 1
        && read_slot(grad, s_autograd, &state) && !state; /* one with a state may be a view */
    if (done) {
        Py_INCREF(data);
        Py_INCREF(wanted);
        done = may_be_taken(data, wanted);
        Py_DECREF(data);
        Py_DECREF(wanted);
    }
    Py_DECREF(tensor);
    if (done <= 0) return done;
    if (!(got = PyObject_CallOneArg(own->acquire, Py_False))) return -1;
    Py_DECREF(got);
    if (got != Py_True) return 0; /* another thread adds to a gradient */
    there = has(leaf, s_grad);
    done = there < 0 ? -1 : there ? 0 : PyObject_SetAttr(leaf, s_grad, grad) < 0 ? -1 : 1;
    PyErr_Fetch(&type, &error, &trace);
    got = PyObject_CallNoArgs(own->release);
    Py_XDECREF(got);
    if (!got) {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
        return -1;
    }
    PyErr_Restore(type, error, trace);
    return done;
}

/* Run a leaf's hooks on the sum of its gradients, and accumulate it. */
static int finish(Backward *own, Graph *graph, Py_ssize_t index, PyObject *create_graph) {
    PyObject *grads = graph->entries[index].grads, *leaf = graph->entries[index].node, *hooks[] = {s_tensor_hooks, s_retained, s_pre_hooks, s_post_hooks};
    if (!grads) return 0;
    graph->entries[index].grads = NULL;
    if (graph->wanted != Py_None && !graph->entries[index].is_wanted) { Py_DECREF(grads); return 0; }
    int hooked = (PyObject *)Py_TYPE(leaf) != own->leaf || graph->wanted != Py_None, done = 0;
    for (int i = 0; i < 4 && !hooked; i++) hooked = has(leaf, hooks[i]);
    PyObject *found = NULL;
    if (hooked < 0) done = -1;
    else if (hooked) {
        PyObject *buffers = PyDict_New();
        if (!buffers || PyDict_SetItem(buffers, leaf, grads) < 0) done = -1;
        Py_CLEAR(grads);
        if (!done) found = PyObject_CallFunctionObjArgs(own->finish_leaf, leaf, buffers, graph->wanted, create_graph, NULL);
        Py_XDECREF(buffers);
        done = found ? 1 : -1;
    }
    else if (PyList_GET_ITEM(grads, 0) == Py_None) done = 1;
    else if (create_graph == Py_False) done = take(own, leaf, grads);
    if (!done) done = (found = PyObject_CallFunctionObjArgs(own->accumulate, leaf, grads, create_graph, NULL)) ? 1 : -1;
    Py_XDECREF(found);
    Py_XDECREF(grads);
    return done < 0 ? -1 : 0;
}

/* ---- The run ------------------------------------------------------------------------------------------------------- */

/* Free the saved tensors of a node. */
static int release(Backward *own, PyObject *node) {
    PyObject *method = _PyType_Lookup(Py_TYPE(node), s_release), *name = method ? PyDict_GetItemWithError(own->releases, method) : NULL;
    if (name) return name == Py_None ? 0 : PyObject_SetAttr(node, name, Py_None);
    if (PyErr_Occurred()) return -1;
    PyObject *found = PyObject_CallMethodNoArgs(node, s_release);
    Py_XDECREF(found);
    return found ? 0 : -1;
}

/* Run one node on its gradients, and pass those of its inputs on. */
static int run_node(Backward *own, Graph *graph, Py_ssize_t index, PyObject *grads, int keep) {
    PyObject *node = graph->entries[index].node, *hooks[] = {s_tensor_hooks, s_retained, s_pre_hooks}, *found;
    int runs = graph->wanted == Py_None || graph->entries[index].is_needed, hooked = graph->entries[index].is_wanted;
    if (!runs && !hooked) return 0;
    for (int i = 0; i < 3 && !hooked; i++) hooked = has(node, hooks[i]);
    if (hooked) {
        found = hooked < 0 ? NULL : PyObject_CallFunctionObjArgs(own->run_hooks, node, grads, graph->wanted, runs ? Py_True : Py_False, NULL);
        Py_XDECREF(found);
        if (!found) return -1;
    }
    if (!runs) return 0;
    PyObject *results = PyObject_CallMethodOneArg(node, s_apply, grads);
    hooked = results ? has(node, s_post_hooks) : -1;
    if (hooked > 0) {
        found = PyObject_CallFunctionObjArgs(own->run_post_hooks, node, results, grads, NULL);
        Py_SETREF(results, found);
    }
    if (results && !PyTuple_CheckExact(results)) Py_SETREF(results, PySequence_Tuple(results));
    int bad = hooked < 0 || !results ? -1 : pass_results(own, graph, node, results);
    Py_XDECREF(results);
    return bad < 0 || keep ? bad : release(own, node);
}

/* Tell the object of the run which nodes it comes to, and of its leaves. */
static int tell(PyObject *run, Graph *graph, Place *order, Py_ssize_t count) {
    PyObject *nodes = PyList_New(count), *leaves = PyList_New(graph->count - count);
    int bad = nodes && leaves ? 0 : -1;
    for (Py_ssize_t i = 0; i < count && !bad; i++) PyList_SET_ITEM(nodes, i, Py_NewRef(graph->entries[order[i].index].node));
    for (Py_ssize_t i = 0, at = 0; i < graph->count && !bad; i++) {
        if (graph->entries[i].is_leaf) PyList_SET_ITEM(leaves, at++, Py_NewRef(graph->entries[i].node));
    }
    if (!bad) bad = PyObject_SetAttr(run, s_order, nodes) < 0 || PyObject_SetAttr(run, s_leaves, leaves) < 0 ? -1 : 0;
    Py_XDECREF(nodes);
    Py_XDECREF(leaves);
    return bad;
}

/* Find the gradients that are asked for, and the nodes that have to run for them. */
static int mark(Backward *own, Graph *graph, Place *order, Py_ssize_t count, PyObject *run) {
    PyObject *nodes = PyObject_GetAttr(graph->wanted, s_nodes), *all = nodes ? PySequence_List(nodes) : NULL, *needed = NULL, *pair = NULL;
    int bad = !all || (graph->accumulates = is_true(graph->wanted, s_accumulates)) < 0 || !(needed = PySet_New(NULL));
    for (Py_ssize_t i = 0; !bad && i < PyList_GET_SIZE(all); i++) {
        Py_ssize_t index = find(graph, PyList_GET_ITEM(all, i));
        if (index >= 0) graph->entries[index].is_wanted = 1;
    }
    for (Py_ssize_t i = count - 1; !bad && i >= 0; i--) {
        Entry *entry = &graph->entries[order[i].index];
        PyObject *next = next_of(entry->node);
        for (Py_ssize_t at = 0; next && !bad && !entry->is_needed && at < PyTuple_GET_SIZE(next); at++) {
            PyObject *edge = PyTuple_GET_ITEM(next, at), *source = edge == Py_None ? NULL : node_of(own, edge);
            Py_ssize_t index = source ? find(graph, source) : -1;
            if (index >= 0) entry->is_needed = graph->entries[index].is_wanted || graph->entries[index].is_needed;
            bad = !source && edge != Py_None;
            Py_XDECREF(source);
        }
        Py_XDECREF(next);
        bad |= !next;
    }
    for (Py_ssize_t i = 0; !bad && i < graph->count; i++) {
        Entry *entry = &graph->entries[i];
        if (entry->is_wanted && graph->accumulates) entry->is_needed = 1;
        bad = entry->is_needed && PySet_Add(needed, entry->node) < 0;
    }
    bad = bad || !(pair = PyTuple_Pack(2, needed, nodes)) || PyObject_SetAttr(run, s_needed, pair) < 0;
    Py_XDECREF(nodes);
    Py_XDECREF(all);
    Py_XDECREF(needed);
    Py_XDECREF(pair);
    return bad ? -1 : 0;
}

static int run_all(Backward *own, Graph *graph, Place *order, Py_ssize_t count, PyObject *roots, int keep, PyObject *create_graph) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(roots); i++) {
        PyObject *pair = PyList_GET_ITEM(roots, i), *edge = PyTuple_GET_ITEM(pair, 0);
        int several = is_output(own, edge) ? 1 : has(edge, s_metas);
        if (several < 0 || add_gradient(own, graph, edge, !several, PyTuple_GET_ITEM(pair, 1)) < 0) return -1;
    }
    for (Py_ssize_t i = 0; i < graph->count; i++) {
        if (graph->entries[i].is_leaf && !graph->entries[i].waiting && finish(own, graph, i, create_graph) < 0) return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t index = order[i].index;
        PyObject *grads = graph->entries[index].grads;
        if (grads) {
            graph->entries[index].grads = NULL;
            int bad = run_node(own, graph, index, grads, keep);
            Py_DECREF(grads); /* a leaf takes a gradient as its own that nothing else holds */
            if (bad < 0) return -1;
        }
        Py_ssize_t first = graph->entries[index].first, until = first + graph->entries[index].count;
        for (Py_ssize_t at = first; at < until; at++) {
            Py_ssize_t leaf = graph->feeds[at];
            if (!--graph->entries[leaf].waiting && finish(own, graph, leaf, create_graph) < 0) return -1;
        }
    }
    return 0;
}

static PyObject *backward_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    Backward *own = (Backward *)self;
    PyObject *roots, *create_graph, *run, *wanted;
    int keep, is_seen;
    if (!PyArg_ParseTuple(args, "O!pO!pOO:backward", &PyList_Type, &roots, &keep, &PyBool_Type, &create_graph, &is_seen, &run, &wanted)) return NULL;
    if (!is_on) Py_RETURN_NOTIMPLEMENTED;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(roots); i++) {
        PyObject *pair = PyList_GET_ITEM(roots, i);
        if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) { PyErr_SetString(PyExc_TypeError, "roots are pairs"); return NULL; }
    }
    PyObject *token = PyContextVar_Set(own->mode, create_graph), *type, *error, *trace;
    if (!token) return NULL;
    Graph graph = {.wanted = wanted, .accumulates = 1};
    Py_ssize_t count = 0;
    int bad = walk(own, &graph, roots, is_seen);
    Place *order = bad < 0 ? NULL : sort_nodes(&graph, &count);
    bad = !order || tell(run, &graph, order, count) < 0 || (wanted != Py_None && mark(own, &graph, order, count, run) < 0)
        || run_all(own, &graph, order, count, roots, keep, create_graph) < 0;
    PyErr_Fetch(&type, &error, &trace);
    PyMem_Free(order);
    free_graph(&graph);
    if (PyContextVar_Reset(own->mode, token) < 0) {
        if (bad) PyErr_Clear();
        bad = 1;
    }
    Py_DECREF(token);
    if (type) PyErr_Restore(type, error, trace);
    if (bad) return NULL;
    Py_RETURN_NONE;
}

/* ---- The type ------------------------------------------------------------------------------------------------------ */

#define PARTS 14
static const char *const NAMES[PARTS] = {
    "leaf", "output", "array", "plain", "run_hooks", "run_post_hooks", "fit", "add", "finish_leaf", "accumulate", "capturing",
    "lock", "releases", "mode",
};

static PyObject **part_of(Backward *own, int number) {
    PyObject **parts[PARTS] = {
        &own->leaf, &own->output, &own->array, &own->plain, &own->run_hooks, &own->run_post_hooks, &own->fit, &own->add,
        &own->finish_leaf, &own->accumulate, &own->capturing, &own->acquire, &own->releases, &own->mode,
    };
    return parts[number];
}

static PyObject *backward_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    if (PyTuple_GET_SIZE(args) || !kwargs) { PyErr_SetString(PyExc_TypeError, "parts are given by name"); return NULL; }
    Backward *own = (Backward *)cls->tp_alloc(cls, 0);
    for (int i = 0; own && i < PARTS; i++) {
        PyObject *found = PyDict_GetItemString(kwargs, NAMES[i]);
        if (!found) { PyErr_Format(PyExc_TypeError, "no %s", NAMES[i]); Py_CLEAR(own); break; }
        *part_of(own, i) = Py_NewRef(found);
    }
    if (!own) return NULL;
    PyObject *lock = own->acquire;
    own->acquire = PyObject_GetAttrString(lock, "acquire");
    own->release = own->acquire ? PyObject_GetAttrString(lock, "release") : NULL;
    Py_DECREF(lock);
    if (own->release && PyType_Check(own->leaf) && PyType_Check(own->output) && PyList_CheckExact(own->capturing) && PyContextVar_CheckExact(own->mode) && PyDict_CheckExact(own->releases)) return (PyObject *)own;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a part of another type");
    Py_DECREF(own);
    return NULL;
}

static int backward_traverse(PyObject *self, visitproc visit, void *arg) {
    for (int i = 0; i < PARTS; i++) Py_VISIT(*part_of((Backward *)self, i));
    Py_VISIT(((Backward *)self)->release);
    return 0;
}

static int backward_clear(PyObject *self) {
    for (int i = 0; i < PARTS; i++) Py_CLEAR(*part_of((Backward *)self, i));
    Py_CLEAR(((Backward *)self)->release);
    return 0;
}

static void backward_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    backward_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject Backward_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dispatch_calls_native._front.Backward",
    .tp_doc = "Runs backward: called with roots, whether the graph is kept and made, whether short nodes are taken apart, the run, and what is asked for.",
    .tp_basicsize = sizeof(Backward), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = backward_new,
    .tp_call = backward_call, .tp_traverse = backward_traverse, .tp_clear = backward_clear, .tp_dealloc = backward_dealloc,
};

int add_backward(PyObject *module) {
    struct { PyObject **to; const char *text; } names[] = {
        {&s_node, "node"}, {&s_next, "next"}, {&s_seq, "seq"}, {&s_is_leaf, "is_leaf"}, {&s_is_short, "is_short"},
        {&s_is_current, "is_current"}, {&s_take_apart, "take_apart"}, {&s_outputs, "outputs"}, {&s_output_nr, "output_nr"},
        {&s_metas, "metas"}, {&s_meta, "meta"}, {&s_get_meta, "get_meta"}, {&s_apply, "apply"}, {&s_release, "release"},
        {&s_tensor_hooks, "tensor_hooks"}, {&s_retained, "retained"}, {&s_pre_hooks, "pre_hooks"}, {&s_post_hooks, "post_hooks"},
        {&s_post_accumulate, "post_accumulate"}, {&s_tensor, "tensor"}, {&s_requires_grad, "requires_grad"}, {&s_grad, "grad"},
        {&s_autograd, "_autograd"}, {&s_shape, "shape"}, {&s_dtype, "dtype"},
        {&s_strides, "strides"}, {&s_flags, "flags"}, {&s_forc, "forc"}, {&s_writeable, "writeable"}, {&s_base, "base"},
        {&s_shape_and_dtype, "_shape_and_dtype"}, {&s_order, "order"}, {&s_leaves, "leaves"},
        {&s_needed, "needed"}, {&s_nodes, "nodes"}, {&s_accumulates, "accumulates"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!*names[i].to && !(*names[i].to = PyUnicode_InternFromString(names[i].text))) return -1;
    }
    return PyType_Ready(&Backward_Type) < 0 ? -1 : PyModule_AddObjectRef(module, "Backward", (PyObject *)&Backward_Type);
}
