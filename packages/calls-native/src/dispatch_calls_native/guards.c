/* Guards of plans: what the functions do that `dispatch_pipelines.program.guard_writer` writes, for records of calls that
 * write to nothing. See Note [Guards] in `dispatch_pipelines.program.guards`. Where a record is of a kind that C does not
 * know, the written function is asked. */
#include "front.h"

/* Kinds of checks: of a value that is known by then, a number, an array, a computed value, a constant, a list. */
enum { KNOWN = 0, NUMBER, ARRAY, COMPUTED, FIXED, ITEMS, CHECKS };
/* Answers. */
enum { MISSED = 0, FOUND, UNSURE };

/* first, second: of a number the type, of an array the spec, of a computed value its type and its spec, of a constant the
 * value, of a list its type; count: of a list's elements, whose checks follow. */
typedef struct { int kind, slot, count; PyObject *first, *second; } Check;
/* A call: its checks are the next ones, its results the next ones of all; slot: -1 for a result that is left out. */
typedef struct { PyObject *step; int arguments, results, is_single; } Call;
typedef struct { int slot, uses, is_kept; PyObject *meta, *number; } Result;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *written, *changes, *change, *pending, *specs, *same; /* written: the function in Python */
    Py_ssize_t meta, shared, value, error;                         /* of a pending value */
    Check *check;
    Call *call;
    Result *result;
    int checks, calls, results, slots;
} Guard;

static PyTypeObject Guard_Type;

#define EACH_OF_GUARD(DO) DO(written) DO(changes) DO(change) DO(pending) DO(specs) DO(same)
#define AT_ONCE 64 /* values whose table fits on the stack */

/* Return whether a constant is the same, as `same_constant` says it; -1 for an error. */
static int is_same(Guard *own, PyObject *one, PyObject *other) {
    if (one == other) return 1;
    if (Py_TYPE(one) != Py_TYPE(other)) return 0;
    if (PyLong_CheckExact(one) || PyUnicode_CheckExact(one)) return PyObject_RichCompareBool(one, other, Py_EQ);
    if (PyTuple_CheckExact(one) || PyList_CheckExact(one)) {
        Py_ssize_t count = PySequence_Fast_GET_SIZE(other);
        int same = PySequence_Fast_GET_SIZE(one) == count;
        for (Py_ssize_t i = 0; same > 0 && i < count && i < PySequence_Fast_GET_SIZE(one); i++) {
            PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(one, i));
            same = is_same(own, item, PySequence_Fast_GET_ITEM(other, i));
            Py_DECREF(item);
        }
        return same;
    }
    PyObject *answer = PyObject_CallFunctionObjArgs(own->same, one, other, NULL);
    int same = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return same;
}

/* The values that the plan starts from, and all values by their indices, borrowed of these and of the records. */
typedef struct { PyObject *values, **slot; Check *next; } Search;

static void put(Search *search, Check *check, PyObject *value, PyObject *held) {
    search->slot[check->slot] = held;
    PyList_SetItem(search->values, check->slot, Py_NewRef(value));
}

static int match_items(Guard *own, Search *search, int count, PyObject *items);

/* Look at one argument: an answer, or -1 for an error. */
static int match(Guard *own, Search *search, PyObject *value) {
    Check *check = search->next++;
    switch (check->kind) {
        case KNOWN: return search->slot[check->slot] == value;
        case NUMBER:
            if ((PyObject *)Py_TYPE(value) != check->first) return MISSED;
            put(search, check, value, value);
            return FOUND;
        case ARRAY: {
            PyObject *id = PyLong_FromVoidPtr(value), *entry = id ? PyDict_GetItemWithError(own->specs, id) : NULL;
            Py_XDECREF(id);
            if (!entry && PyErr_Occurred()) return -1;
            if (!entry || !PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 3) return UNSURE;
            if (PyTuple_GET_ITEM(entry, 1) != check->first) return MISSED;
            put(search, check, value, value);
            return FOUND;
        }
        case COMPUTED: {
            if ((PyObject *)Py_TYPE(value) != check->first || AT(value, own->meta) != check->second || AT(value, own->shared) != Py_None) return MISSED;
            PyObject *array = AT(value, own->value);
            if (AT(value, own->error) != Py_None || !array || array == Py_None) return MISSED;
            put(search, check, array, value);
            return FOUND;
        }
        case FIXED: return is_same(own, value, check->first);
    }
    if ((PyObject *)Py_TYPE(value) != check->first || PySequence_Fast_GET_SIZE(value) != check->count) return MISSED;
    return match_items(own, search, check->count, value);
}

static int match_items(Guard *own, Search *search, int count, PyObject *items) {
    for (int i = 0; i < count; i++) {
        if (i >= PySequence_Fast_GET_SIZE(items)) return UNSURE; /* another thread changes the list */
        PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(items, i));
        int answer = match(own, search, item);
        Py_DECREF(item);
        if (answer != FOUND) return answer;
    }
    return FOUND;
}

/* Look at a call's result. */
static int match_result(Guard *own, Search *search, Result *result, PyObject *made) {
    if (result->slot < 0) return made == Py_None ? FOUND : MISSED;
    if (!PyObject_TypeCheck(made, (PyTypeObject *)own->pending)) return UNSURE;
    if (AT(made, own->meta) != result->meta) return MISSED;
    search->slot[result->slot] = made;
    PyList_SetItem(search->values, result->slot, Py_NewRef(Py_None));
    return FOUND;
}

static int match_calls(Guard *own, Search *search, PyObject *records) {
    PyObject *state = NULL;
    Result *result = own->result;
    for (int i = 0; i < own->calls; i++) {
        Call *call = &own->call[i];
        if (i >= PyList_GET_SIZE(records)) return UNSURE;
        PyObject *record = PyList_GET_ITEM(records, i);
        if (!PyTuple_CheckExact(record) || PyTuple_GET_SIZE(record) != 6) return UNSURE;
        if (PyTuple_GET_ITEM(record, 0) != call->step) return MISSED;
        PyObject *values = PyTuple_GET_ITEM(record, 1), *made = PyTuple_GET_ITEM(record, 2), *then = PyTuple_GET_ITEM(record, 5);
        if (!state) state = then;
        if (then != state) return UNSURE;
        if (!PyTuple_CheckExact(values) || PyTuple_GET_SIZE(values) != call->arguments) return UNSURE;
        int answer = match_items(own, search, call->arguments, values);
        if (answer != FOUND) return answer;
        if (!call->is_single && (!PyTuple_CheckExact(made) || PyTuple_GET_SIZE(made) != call->results)) return UNSURE;
        for (int k = 0; k < call->results; k++) {
            answer = match_result(own, search, result++, call->is_single ? made : PyTuple_GET_ITEM(made, k));
            if (answer != FOUND) return answer;
        }
    }
    /* Referred to by the record, and by each use. */
    for (int k = 0; k < own->results; k++) {
        result = &own->result[k];
        if (result->slot >= 0 && (Py_REFCNT(search->slot[result->slot]) > 1 + result->uses) != result->is_kept) return MISSED;
    }
    return FOUND;
}

/* Return the plan's values and those of its results that are kept, or None. */
static PyObject *guard_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    Guard *own = (Guard *)self;
    if (!own->written) { PyErr_SetString(PyExc_RuntimeError, "the collector has cleared this guard"); return NULL; }
    if (PyVectorcall_NARGS(flags) != 1 || names || !is_on || !PyList_CheckExact(args[0])) return PyObject_Vectorcall(own->written, args, flags, names);
    int is_changed = PyList_GET_SIZE(own->changes) != 1 ? -1 : PyList_GET_ITEM(own->changes, 0) != own->change;
    if (is_changed > 0) is_changed = PyObject_RichCompareBool(PyList_GET_ITEM(own->changes, 0), own->change, Py_NE);
    if (is_changed > 0) Py_RETURN_NONE;
    PyObject *stack[AT_ONCE], *kept = NULL, *found = NULL;
    Search search = {PyList_New(own->slots), stack, own->check};
    if (own->slots > AT_ONCE && !(search.slot = PyMem_New(PyObject *, own->slots))) PyErr_NoMemory();
    for (int i = 0; search.slot && i < own->slots; i++) search.slot[i] = NULL;
    int answer = is_changed < 0 || !search.values || !search.slot ? -1 : match_calls(own, &search, args[0]);
    if (answer == FOUND && (kept = PyDict_New())) {
        for (int k = 0; k < own->results && kept; k++) {
            Result *result = &own->result[k];
            if (result->slot >= 0 && result->is_kept && PyDict_SetItem(kept, result->number, search.slot[result->slot]) < 0) Py_CLEAR(kept);
        }
        if (kept) found = PyTuple_Pack(2, search.values, kept);
    }
    if (answer == MISSED) found = Py_NewRef(Py_None);
    if (search.slot != stack) PyMem_Free(search.slot);
    Py_XDECREF(search.values);
    Py_XDECREF(kept);
    return answer == UNSURE ? PyObject_Vectorcall(own->written, args, flags, names) : found;
}

/* ---- Making guards of specs --------------------------------------------------------------------------------------- */

/* Read a tuple of checks, each (kind, slot, first, second or the elements' checks). */
static int take_checks(Guard *own, PyObject *spec, int most) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(spec); i++) {
        PyObject *first, *second;
        int kind, slot, at = own->checks;
        if (at == most || !PyArg_ParseTuple(PyTuple_GET_ITEM(spec, i), "iiOO", &kind, &slot, &first, &second)) return -1;
        if (kind < 0 || kind >= CHECKS || slot < 0 || slot >= own->slots) return -1;
        if ((kind == NUMBER || kind == COMPUTED || kind == ITEMS) && !PyType_Check(first)) return -1;
        own->check[own->checks++] = (Check){kind, slot, 0, Py_NewRef(first), kind == COMPUTED ? Py_NewRef(second) : NULL};
        if (kind != ITEMS) continue;
        if (!PyTuple_Check(second) || (first != (PyObject *)&PyList_Type && first != (PyObject *)&PyTuple_Type)) return -1;
        own->check[at].count = (int)PyTuple_GET_SIZE(second);
        if (take_checks(own, second, most) < 0) return -1;
    }
    return 0;
}

static int take_calls(Guard *own, PyObject *calls, int checks, int results) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(calls); i++) {
        PyObject *step, *arguments, *made;
        int is_single;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(calls, i), "OO!iO!", &step, &PyTuple_Type, &arguments, &is_single, &PyTuple_Type, &made)) return -1;
        if (is_single && PyTuple_GET_SIZE(made) != 1) return -1;
        own->call[own->calls++] = (Call){Py_NewRef(step), (int)PyTuple_GET_SIZE(arguments), (int)PyTuple_GET_SIZE(made), is_single};
        if (take_checks(own, arguments, checks) < 0) return -1;
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(made); k++) {
            PyObject *meta;
            int slot, uses, is_kept;
            if (own->results == results || !PyArg_ParseTuple(PyTuple_GET_ITEM(made, k), "iiiO", &slot, &uses, &is_kept, &meta)) return -1;
            if (slot < -1 || slot >= own->slots) return -1;
            PyObject *number = PyLong_FromLong(slot);
            own->result[own->results++] = (Result){slot, uses, is_kept, Py_NewRef(meta), number};
            if (!number) return -1;
        }
    }
    return 0;
}

static PyObject *guard_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *spec, *calls = NULL;
    int checks, results, bad = 1;
    if (!PyArg_ParseTuple(args, "O!:Guard", &PyDict_Type, &spec)) return NULL;
    Guard *own = (Guard *)cls->tp_alloc(cls, 0);
    if (!own) return NULL;
    own->vectorcall = guard_call;
#define TAKE(name) if (take_object(spec, #name, &own->name) || !own->name) goto done;
    EACH_OF_GUARD(TAKE)
#undef TAKE
    if (take_object(spec, "calls", &calls) || take_int(spec, "checks", &checks) || take_int(spec, "results", &results) || take_int(spec, "slots", &own->slots)) goto done;
    if (!calls || !PyTuple_Check(calls) || !PyType_Check(own->pending) || !PyDict_Check(own->specs) || !PyList_CheckExact(own->changes)) goto done;
    if (checks < 0 || results < 0 || own->slots < 0) goto done;
    PyTypeObject *pending = (PyTypeObject *)own->pending;
    struct { Py_ssize_t *to; const char *text; } members[] = {{&own->meta, "meta"}, {&own->shared, "shared"}, {&own->value, "value"}, {&own->error, "error"}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        PyObject *name = PyUnicode_FromString(members[i].text), *found = name ? find_member(pending, name, members[i].to) : NULL;
        Py_XDECREF(name);
        if (!found) goto done;
    }
    own->check = PyMem_Calloc(checks + 1, sizeof(Check));
    own->call = PyMem_Calloc(PyTuple_GET_SIZE(calls) + 1, sizeof(Call));
    own->result = PyMem_Calloc(results + 1, sizeof(Result));
    if (!own->check || !own->call || !own->result) { PyErr_NoMemory(); goto done; }
    bad = take_calls(own, calls, checks, results);
done:
    if (bad && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a guard's spec is not one that this front takes");
    Py_XDECREF(calls);
    if (bad) Py_CLEAR(own);
    return (PyObject *)own;
}

static int guard_traverse(PyObject *self, visitproc visit, void *arg) {
    Guard *own = (Guard *)self;
#define VISIT(name) Py_VISIT(own->name);
    EACH_OF_GUARD(VISIT)
#undef VISIT
    for (int i = 0; i < own->checks; i++) { Py_VISIT(own->check[i].first); Py_VISIT(own->check[i].second); }
    for (int i = 0; i < own->calls; i++) Py_VISIT(own->call[i].step);
    for (int i = 0; i < own->results; i++) Py_VISIT(own->result[i].meta);
    return 0;
}

static int guard_clear(PyObject *self) {
    Guard *own = (Guard *)self;
#define CLEAR(name) Py_CLEAR(own->name);
    EACH_OF_GUARD(CLEAR)
#undef CLEAR
    return 0;
}

static void guard_dealloc(PyObject *self) {
    Guard *own = (Guard *)self;
    PyObject_GC_UnTrack(self);
    guard_clear(self);
    for (int i = 0; i < own->checks; i++) { Py_XDECREF(own->check[i].first); Py_XDECREF(own->check[i].second); }
    for (int i = 0; i < own->calls; i++) Py_XDECREF(own->call[i].step);
    for (int i = 0; i < own->results; i++) { Py_XDECREF(own->result[i].meta); Py_XDECREF(own->result[i].number); }
    PyMem_Free(own->check); PyMem_Free(own->call); PyMem_Free(own->result);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject Guard_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dispatch_calls_native._front.Guard",
    .tp_doc = "The guard of a plan, made of a spec.",
    .tp_basicsize = sizeof(Guard), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, .tp_new = guard_new,
    .tp_call = PyVectorcall_Call, .tp_vectorcall_offset = offsetof(Guard, vectorcall),
    .tp_traverse = guard_traverse, .tp_clear = guard_clear, .tp_dealloc = guard_dealloc,
};

int add_guards(PyObject *module) {
    return PyType_Ready(&Guard_Type) < 0 || PyModule_AddObjectRef(module, "Guard", (PyObject *)&Guard_Type) < 0 ? -1 : 0;
}
