/* The compiled front of calls: it does for plain calls of a frontend's tensors as the generated Python function does, and
 * hands every other call to that function, with the caller's own arguments and before anything was done.
 *
 * Front   an object in the place of one function: an overload, or a frontend's function of it
 * Plan    how its arguments are written, and the operator's own tables of calls; made of a `PlanSpec` at the first call
 * Target  how the runner of one mask is run; made of a `TargetSpec`, and of use only while that very runner is in the table
 * Layout  where the objects of a frontend's class have their two attributes
 * Factory has a plan's place for a function that is given no tensor; see `factories.c`
 *
 * What an array is that crosses to the user is in `lending.c`.
 *
 * How calls are recorded for backward is in `recording.c`, backward itself in `backward.c`, how calls are recorded in a
 * pipeline in `pipelines.c`, handled by a mode in `modes.c`; questions about a tensor, which no operator answers, are in `questions.c`. What recognises the
 * records of a pipeline is in `guards.c`.
 *
 * Nothing is kept of a kernel but in targets: each call looks the mask up in the operator's own table. So whoever empties
 * the table has changed every later call. The Python side is `dispatch_core.calls.native`; this module knows no NumPy. */
#include "front.h"

#define LAYOUT 11 /* of the specs; `dispatch_core.calls.native` has the same number */

static PyObject *device_type; /* of the core, set by `use` */
PyObject *state_var;          /* the same */
PyObject *s_mask, *s_data;
static PyObject *s_schema_type, *s_scalar_type;
int is_on = 1;
static long frontends;             /* how often there were others */

/* ---- Layouts ------------------------------------------------------------------------------------------------------ */

PyObject *find_member(PyTypeObject *type, PyObject *name, Py_ssize_t *offset) {
    PyObject *found = _PyType_Lookup(type, name);
    if (!found || Py_TYPE(found) != &PyMemberDescr_Type || ((PyMemberDescrObject *)found)->d_member->type != T_OBJECT_EX) {
        PyErr_Format(PyExc_TypeError, "%s has no slot %R", type->tp_name, name);
        return NULL;
    }
    *offset = ((PyMemberDescrObject *)found)->d_member->offset;
    return found;
}

static PyObject *layout_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *type, *make;
    if (!PyArg_ParseTuple(args, "O!O:Layout", &PyType_Type, &type, &make)) return NULL;
    Layout *made = (Layout *)cls->tp_alloc(cls, 0);
    if (!made) return NULL;
    made->type = (PyTypeObject *)Py_NewRef(type);
    made->mask_member = Py_XNewRef(find_member(made->type, s_mask, &made->mask));
    made->data_member = made->mask_member ? Py_XNewRef(find_member(made->type, s_data, &made->data)) : NULL;
    made->make = make == Py_None ? NULL : Py_NewRef(make);
    if (!made->data_member) { Py_DECREF(made); return NULL; }
    return (PyObject *)made;
}

static int layout_traverse(PyObject *self, visitproc visit, void *arg) {
    Layout *own = (Layout *)self;
    Py_VISIT(own->type); Py_VISIT(own->mask_member); Py_VISIT(own->data_member); Py_VISIT(own->make);
    return 0;
}

static int layout_clear(PyObject *self) {
    Layout *own = (Layout *)self;
    Py_CLEAR(own->type); Py_CLEAR(own->mask_member); Py_CLEAR(own->data_member); Py_CLEAR(own->make);
    return 0;
}

static void layout_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    layout_clear(self);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject Layout_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dispatch_calls_native._front.Layout",
    .tp_doc = "Where the objects of a frontend's class have their mask and their data.",
    .tp_basicsize = sizeof(Layout), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = layout_new,
    .tp_traverse = layout_traverse, .tp_clear = layout_clear, .tp_dealloc = layout_dealloc,
};

/* Return whether objects of a class are tensors, and keep that it was so: a model's parameters are of one class. */
int is_kind_of_tensor(Layout *layout, PyTypeObject *type) {
    if (!PyType_IsSubtype(type, layout->type) || type->tp_getattro != layout->type->tp_getattro) return 0;
    if (_PyType_Lookup(type, s_mask) != layout->mask_member || _PyType_Lookup(type, s_data) != layout->data_member) return 0;
    layout->version = type->tp_version_tag;
    layout->known = layout->version ? type : NULL;
    return 1;
}

/* Return a tensor of an array, to which it takes over the reference. */
PyObject *new_tensor(Layout *layout, PyObject *mask, PyObject *data) {
    PyObject *made = layout->make ? PyObject_CallNoArgs(layout->make) : layout->type->tp_alloc(layout->type, 0);
    if (made && layout->make && Py_TYPE(made) != layout->type) {
        int bad = PyObject_SetAttr(made, s_mask, mask) < 0 || PyObject_SetAttr(made, s_data, data) < 0;
        Py_DECREF(data);
        if (bad) Py_CLEAR(made);
        return made;
    }
    if (!made) { Py_DECREF(data); return NULL; }
    Py_XSETREF(AT(made, layout->mask), Py_NewRef(mask));
    Py_XSETREF(AT(made, layout->data), data);
    return made;
}

/* ---- Targets ------------------------------------------------------------------------------------------------------ */

/* Return the array of a tensor, or the arrays of a list, or any other value, as a new reference; arrays alone, without a
 * layout, are what they are. */
PyObject *unwrap(Layout *layout, int kind, PyObject *value) {
    if (!layout) return Py_NewRef(value);
    if (kind == TENSOR || (kind == OPTIONAL_TENSOR && value != Py_None)) return array_of(layout, value);
    if (kind != LIST && kind != OPTIONAL_LIST) return Py_NewRef(value);
    PyObject *made = PyList_New(0);
    /* The length is read each time: another thread may change a list. */
    for (Py_ssize_t i = 0; made && i < PySequence_Fast_GET_SIZE(value); i++) {
        PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
        PyObject *data = item == Py_None && kind == OPTIONAL_LIST ? Py_NewRef(item) : unwrap(layout, TENSOR, item);
        Py_DECREF(item);
        if (!data || PyList_Append(made, data) < 0) Py_CLEAR(made);
        Py_XDECREF(data);
    }
    return made;
}

/* Return a tuple of all arguments, or of all but one. */
PyObject *pack(Target *target, PyObject **values, int without) {
    PyObject *made = PyTuple_New(target->count - (without >= 0));
    for (int i = 0, k = 0; made && i < target->count; i++) {
        if (i != without) PyTuple_SET_ITEM(made, k++, Py_NewRef(values[i]));
    }
    return made;
}

/* Return an array of a result, checked where it is not of the usual type; the reference is taken over. */
static PyObject *as_array(Target *target, PyObject *check, PyObject *data) {
    if ((PyObject *)Py_TYPE(data) == target->array_type) return data;
    PyObject *made = PyObject_CallOneArg(check, data);
    Py_DECREF(data);
    return made;
}

/* Return one part of a recipe's value, as a new reference; `held` is the base's own attribute. */
static PyObject *make_part(Target *target, Part *part, PyObject **values, int source, PyObject *held) {
    switch (part->kind) {
        case BASE: return Py_NewRef(values[source]);
        case FIRST: return Py_NewRef(PyTuple_GET_ITEM(held, 0));
        case CALLED: return PyObject_CallNoArgs(part->value);
        case OPERATOR: return Py_NewRef(target->op);
        case REST: return pack(target, values, source);
        case ATTRIBUTE: return Py_NewRef(held);
        case CHOICE: {
            PyObject *answer = PyObject_CallNoArgs(part->value);
            int yes = answer ? PyObject_IsTrue(answer) : -1;
            Py_XDECREF(answer);
            return yes < 0 ? NULL : Py_NewRef(yes ? part->yes : part->no);
        }
        case MADE: {
            PyObject *rest = pack(target, values, source);
            PyObject *made = rest ? PyObject_CallFunctionObjArgs(part->value, values[source], target->op, rest, NULL) : NULL;
            Py_XDECREF(rest);
            return made;
        }
    }
    return Py_NewRef(part->value);
}

/* Return the tensor of a view of an argument; the reference to the array is taken over. */
static PyObject *make_view(Target *target, PyObject **values, int source, PyObject *data) {
    PyObject *base = values[source];
    PyObject *own = is_tensor(target->layout, base) && target->recipes ? AT(base, target->layout->mask) : NULL;
    Mask mask = own && PyLong_CheckExact(own) ? PyLong_AsUnsignedLongLong(own) : 0;
    if (mask == (Mask)-1 && PyErr_Occurred()) PyErr_Clear();
    for (int i = 0; mask && i < target->recipes; i++) {
        Recipe *recipe = &target->recipe[i];
        if (recipe->base != mask) continue;
        PyObject *held = recipe->needs_tuple ? AT(base, recipe->offset) : NULL;
        if (recipe->needs_tuple && (!held || !PyTuple_CheckExact(held) || !PyTuple_GET_SIZE(held))) continue;
        /* As in generated code the tensor is made first, and what its attribute is made of then. */
        PyObject *made = new_tensor(target->layout, recipe->mask, data);
        if (!made) return NULL;
        PyObject *value;
        Py_XINCREF(held);
        if (recipe->count == 1 && recipe->parts[0].kind == MADE) {
            value = make_part(target, &recipe->parts[0], values, source, held);
        } else {
            value = PyTuple_New(recipe->count);
            for (int k = 0; value && k < recipe->count; k++) {
                PyObject *part = make_part(target, &recipe->parts[k], values, source, held);
                if (part) PyTuple_SET_ITEM(value, k, part); else Py_CLEAR(value);
            }
        }
        Py_XDECREF(held);
        if (!value) { Py_DECREF(made); return NULL; }
        Py_XSETREF(AT(made, recipe->offset), value);
        return made;
    }
    PyObject *all = pack(target, values, -1);
    PyObject *made = all ? PyObject_CallFunctionObjArgs(target->view, base, data, target->op, all, NULL) : NULL;
    Py_XDECREF(all);
    Py_DECREF(data);
    return made;
}

/* Return the tensors of a list of views; the reference to the arrays is taken over. */
static PyObject *make_views(Target *target, PyObject **values, int source, PyObject *data) {
    if (!PyList_CheckExact(data) && !PyTuple_CheckExact(data)) {
        Py_SETREF(data, PyObject_CallOneArg(target->as_list, data));
        if (!data) return NULL;
    }
    PyObject *items = PySequence_Fast(data, "a kernel's list");
    for (Py_ssize_t i = 0; items && i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        if ((PyObject *)Py_TYPE(item) == target->array_type) continue;
        Py_INCREF(item);
        PyObject *checked = PyObject_CallOneArg(target->check_view, item);
        Py_DECREF(item);
        if (!checked) Py_CLEAR(items); else Py_DECREF(checked);
    }
    PyObject *all = items ? pack(target, values, -1) : NULL;
    PyObject *made = all ? PyObject_CallFunctionObjArgs(target->views, values[source], data, target->op, all, NULL) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(items);
    Py_DECREF(data);
    return made;
}

/* Return one result of a call; the reference to the kernel's is taken over. */
static PyObject *make_result(Target *target, PyObject **values, int which, PyObject *data, int is_copy) {
    int kind = is_copy ? FRESH : target->kind[which], source = target->source[which];
    if (kind == PLAIN || (target->optional[which] && kind != WRITTEN && data == Py_None)) return data;
    if (kind == VIEWS) return make_views(target, values, source, data);
    if (kind == VIEW) {
        data = as_array(target, target->check_view, data);
        return data && target->layout ? make_view(target, values, source, data) : data;
    }
    if (kind == FRESH) {
        data = as_array(target, target->coerce, data);
        return data && target->layout ? new_tensor(target->layout, target->mask, data) : data;
    }
    PyObject *base = values[source];
    if (!target->layout) {
        if (data != base && data != Py_None) Py_SETREF(data, PyObject_CallOneArg(target->check_view, data));
        else Py_SETREF(data, Py_NewRef(base));
        return data;
    }
    PyObject *own = unwrap(target->layout, TENSOR, base);
    int bad = !own;
    if (own && data != own && data != Py_None) {
        PyObject *checked = PyObject_CallOneArg(target->check_view, data);
        PyObject *done = checked ? PyObject_CallFunctionObjArgs(target->rebind, base, checked, NULL) : NULL;
        bad = !done;
        Py_XDECREF(checked);
        Py_XDECREF(done);
    }
    Py_XDECREF(own);
    Py_DECREF(data);
    return bad ? NULL : Py_NewRef(base);
}

/* Return the results of what the kernel returned, to which the reference is taken over. */
static PyObject *make_results(Target *target, PyObject **values, PyObject *data, int is_copy) {
    if (target->results == 1) return make_result(target, values, 0, data, is_copy);
    if (target->results == 0) { Py_DECREF(data); Py_RETURN_NONE; }
    if (!PyTuple_CheckExact(data) || PyTuple_GET_SIZE(data) != target->results) {
        Py_SETREF(data, PyObject_CallOneArg(target->several, data));
        if (data) Py_SETREF(data, PySequence_Tuple(data));
        if (!data) return NULL;
    }
    PyObject *made = PyTuple_GET_SIZE(data) == target->results ? PyTuple_New(target->results) : NULL;
    if (!made && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a kernel's results have changed their number");
    for (int i = 0; made && i < target->results; i++) {
        PyObject *one = make_result(target, values, i, Py_NewRef(PyTuple_GET_ITEM(data, i)), is_copy);
        if (one) PyTuple_SET_ITEM(made, i, one); else Py_CLEAR(made);
    }
    Py_DECREF(data);
    return made;
}

/* Call a kernel, one for the value of an argument where there is one. */
static PyObject *call_kernel(Target *target, PyObject **values) {
    PyObject *stack[2 * MOST + 1], **args = stack + 1;
    Way *way = &target->usual;
    for (int i = 0; i < target->specials; i++) {
        Way *special = &target->special[i];
        PyObject *value = values[special->index];
        int is_same = value == special->only;
        /* True and 1.0 equal 1, and mean something else to a kernel. */
        if (!is_same && Py_TYPE(value) == Py_TYPE(special->only)) {
            is_same = PyObject_RichCompareBool(value, special->only, Py_EQ);
            if (is_same < 0) return NULL;
        }
        if (is_same) { way = special; break; }
    }
    int count = 0, is_special = way != &target->usual, before = 0;
    if (!is_special && target->prefix) {
        for (; before < PyTuple_GET_SIZE(target->prefix); before++) args[count++] = Py_NewRef(PyTuple_GET_ITEM(target->prefix, before));
    }
    int given = target->count - is_special;
    for (int i = 0; i < given; i++) {
        int at = way->order[i];
        PyObject *value = unwrap(target->layout, target->tensors[at], values[at]);
        if (!value) { while (count) Py_DECREF(args[--count]); return NULL; }
        args[count++] = value;
    }
    PyObject *data = PyObject_Vectorcall(way->call, args, (size_t)(way->positional + before) | PY_VECTORCALL_ARGUMENTS_OFFSET, way->names);
    while (count) { --count; Py_DECREF(args[count]); }
    return data;
}

PyObject *run_body(Target *target, PyObject **values) {
    PyObject *data = call_kernel(target, values);
    if (!data) {
        if (!target->is_short || !PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
        PyErr_Clear();
        data = Py_NewRef(Py_NotImplemented);
    }
    if (data == Py_NotImplemented && (target->declines || target->refuse)) {
        Py_DECREF(data);
        if (target->declines) return PyObject_Vectorcall(target->below, values, target->count, NULL);
        return PyObject_CallNoArgs(target->refuse); /* which raises */
    }
    if (target->itself) {
        PyObject *base = values[target->source[0]], *own = unwrap(target->layout, TENSOR, base);
        if (!own) { Py_DECREF(data); return NULL; }
        Py_DECREF(own); /* the tensor holds it */
        if (data == own) { Py_DECREF(data); return Py_NewRef(base); }
    }
    PyObject *made = make_results(target, values, data, target->itself);
    for (int i = 0; made && i < target->writes; i++) {
        PyObject *tensor = values[target->write[i]];
        if (tensor == Py_None) continue;
        PyObject *done = PyObject_CallOneArg(target->written, tensor);
        if (!done) Py_CLEAR(made); else Py_DECREF(done);
    }
    return made;
}

/* ---- Making targets of specs, which are dictionaries -------------------------------------------------------------- */

/* Set `*to` to a new reference to a value, NULL for None; return -1 with an error where it is missing. */
int take_object(PyObject *spec, const char *name, PyObject **to) {
    PyObject *found = PyMapping_GetItemString(spec, name);
    if (!found) return -1;
    if (found == Py_None) Py_CLEAR(found);
    *to = found;
    return 0;
}

int take_int(PyObject *spec, const char *name, int *to) {
    PyObject *found = PyMapping_GetItemString(spec, name);
    if (!found) return -1;
    long number = PyLong_AsLong(found);
    Py_DECREF(found);
    if (number == -1 && PyErr_Occurred()) return -1;
    *to = (int)number;
    return 0;
}

/* Read a tuple of small numbers of which none is over `limit`; `*count` is how many there are. */
int take_numbers(PyObject *spec, const char *name, signed char *to, int most, int limit, int *count) {
    PyObject *found = PyMapping_GetItemString(spec, name);
    if (!found) return -1;
    Py_ssize_t size = PyTuple_Check(found) ? PyTuple_GET_SIZE(found) : most + 1;
    int bad = size > most;
    for (Py_ssize_t i = 0; !bad && i < size; i++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(found, i));
        if (number == -1 && PyErr_Occurred()) { Py_DECREF(found); return -1; }
        bad = number < -1 || number > limit;
        to[i] = (signed char)number;
    }
    Py_DECREF(found);
    if (bad) { PyErr_Format(PyExc_ValueError, "a spec with other numbers in %s than this front takes", name); return -1; }
    *count = (int)size;
    return 0;
}

static int take_way(PyObject *spec, int count, Way *way) {
    int found, given;
    if (take_object(spec, "call", &way->call) || take_object(spec, "names", &way->names) || take_object(spec, "only", &way->only)) return -1;
    if (take_int(spec, "index", &way->index) || take_int(spec, "positional", &way->positional)) return -1;
    if (take_numbers(spec, "order", way->order, MOST, count - 1, &found)) return -1;
    given = way->names ? (int)PyTuple_Size(way->names) : 0;
    if (way->index >= 0 && !way->only) way->only = Py_NewRef(Py_None);
    if (!way->call || given < 0 || found != count - (way->index >= 0) || way->positional + given != found || way->index >= count) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a spec with another order of arguments than this front takes");
        return -1;
    }
    for (int i = 0; i < found; i++) if (way->order[i] < 0) { PyErr_SetString(PyExc_ValueError, "an order of arguments"); return -1; }
    return 0;
}

static int take_recipe(PyObject *spec, PyTypeObject *type, Recipe *recipe) {
    PyObject *base = NULL, *attribute = NULL, *parts = NULL;
    int bad = take_object(spec, "base", &base) || take_object(spec, "mask", &recipe->mask) || take_object(spec, "attribute", &attribute) || take_object(spec, "parts", &parts);
    if (!bad && (!base || !recipe->mask || !attribute || !parts || !PyTuple_Check(parts) || PyTuple_GET_SIZE(parts) > VIEW_PARTS)) {
        PyErr_SetString(PyExc_ValueError, "a view's spec");
        bad = 1;
    }
    if (!bad) {
        recipe->base = PyLong_AsUnsignedLongLong(base);
        bad = (recipe->base == (Mask)-1 && PyErr_Occurred()) || !find_member(type, attribute, &recipe->offset);
    }
    for (Py_ssize_t i = 0; !bad && i < PyTuple_GET_SIZE(parts); i++) {
        Part *part = &recipe->parts[i];
        PyObject *value, *yes, *no;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(parts, i), "iOOO", &part->kind, &value, &yes, &no)) { bad = 1; break; }
        part->value = Py_NewRef(value); part->yes = Py_NewRef(yes); part->no = Py_NewRef(no);
        recipe->needs_tuple |= part->kind == FIRST || part->kind == ATTRIBUTE;
        recipe->count = (int)i + 1;
    }
    Py_XDECREF(base); Py_XDECREF(attribute); Py_XDECREF(parts);
    return bad ? -1 : 0;
}

#define EACH_OBJECT(DO) DO(runner) DO(thrower) DO(prefix) DO(below) DO(array_type) DO(coerce) DO(check_view) DO(mask) DO(rebind) \
    DO(written) DO(op) DO(view) DO(views) DO(several) DO(as_list) DO(refuse)

/* Read the rest of the spec of a target that calls a kernel. */
static int take_body(PyObject *spec, Target *target) {
    PyObject *layout = NULL, *usual = NULL, *specials = NULL, *recipes = NULL;
    int bad = 1, count;
#define TAKE(name) if (take_object(spec, #name, &target->name)) goto done;
    EACH_OBJECT(TAKE)
#undef TAKE
    if (take_object(spec, "layout", &layout) || take_object(spec, "usual", &usual) || take_object(spec, "specials", &specials) || take_object(spec, "recipes", &recipes)) goto done;
    if (take_int(spec, "declines", &target->declines) || take_int(spec, "is_short", &target->is_short) || take_int(spec, "itself", &target->itself)) goto done;
    if (take_numbers(spec, "tensors", target->tensors, MOST, OPTIONAL_LIST, &count) || count != target->count) goto done;
    if (take_numbers(spec, "kinds", target->kind, RESULTS, VIEWS, &target->results)) goto done;
    if (take_numbers(spec, "sources", target->source, RESULTS, target->count - 1, &count) || count != target->results) goto done;
    if (take_numbers(spec, "optional", target->optional, RESULTS, 1, &count) || count != target->results) goto done;
    if (take_numbers(spec, "writes", target->write, MOST, target->count - 1, &target->writes)) goto done;
    if ((layout && Py_TYPE(layout) != &Layout_Type) || !usual || !specials || !PyTuple_Check(specials) || !recipes || !PyTuple_Check(recipes)) goto done;
    if (!target->array_type || !target->coerce || !target->check_view || !target->mask || !target->op) goto done;
    if ((target->declines && !target->below) || (target->prefix && (!PyTuple_Check(target->prefix) || PyTuple_GET_SIZE(target->prefix) > MOST))) goto done;
    if (PyTuple_GET_SIZE(specials) > SPECIAL || PyTuple_GET_SIZE(recipes) > RECIPES) goto done;
    target->layout = (Layout *)Py_XNewRef(layout);
    if (take_way(usual, target->count, &target->usual)) goto done;
    for (; target->specials < PyTuple_GET_SIZE(specials); target->specials++) {
        if (take_way(PyTuple_GET_ITEM(specials, target->specials), target->count, &target->special[target->specials])) goto done;
        if (target->special[target->specials].index < 0) goto done;
    }
    if (!layout && (PyTuple_GET_SIZE(recipes) || target->writes)) goto done;
    for (; target->recipes < PyTuple_GET_SIZE(recipes); target->recipes++) {
        if (take_recipe(PyTuple_GET_ITEM(recipes, target->recipes), target->layout->type, &target->recipe[target->recipes])) goto done;
    }
    for (int i = 0; i < target->results; i++) {
        int kind = target->kind[i];
        if (kind < 0 || ((kind == VIEW || kind == VIEWS || kind == WRITTEN) && target->source[i] < 0)) goto done;
        if (!layout && kind == VIEWS) goto done;
        if (layout && ((kind == VIEW && !target->view) || (kind == VIEWS && (!target->views || !target->as_list)) || (kind == WRITTEN && !target->rebind))) goto done;
    }
    if ((target->results > 1 && !target->several) || (target->writes && !target->written)) goto done;
    if (target->itself && (target->results != 1 || target->source[0] < 0)) goto done;
    bad = 0;
done:
    if (bad && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a target's spec is not one that this front takes");
    Py_XDECREF(layout); Py_XDECREF(usual); Py_XDECREF(specials); Py_XDECREF(recipes);
    return bad ? -1 : 0;
}

static PyObject *target_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *spec;
    if (!PyArg_ParseTuple(args, "O!:Target", &PyDict_Type, &spec)) return NULL;
    Target *made = (Target *)cls->tp_alloc(cls, 0);
    if (!made) return NULL;
    int bad = take_int(spec, "way", &made->way) || take_int(spec, "count", &made->count);
    if (!bad && (made->way < ASIDE || made->way > HANDLE || made->count < 1 || made->count > MOST)) {
        PyErr_SetString(PyExc_ValueError, "a target's spec is not one that this front takes");
        bad = 1;
    }
    if (!bad) bad = made->way == BODY ? take_body(spec, made) : made->way == RECORD ? take_record(spec, made) : made->way == LATER ? take_later(spec, made) : made->way == HANDLE ? take_step(spec, made) : take_object(spec, "runner", &made->runner) || take_object(spec, "thrower", &made->thrower);
    if (!bad && (!made->runner || !made->thrower)) {
        PyErr_SetString(PyExc_ValueError, "a target without a runner");
        bad = 1;
    }
    if (bad) { Py_DECREF(made); return NULL; }
    return (PyObject *)made;
}

static int target_traverse(PyObject *self, visitproc visit, void *arg) {
    Target *own = (Target *)self;
#define VISIT(name) Py_VISIT(own->name);
    EACH_OBJECT(VISIT)
#undef VISIT
    if (own->record) {
        int stop = traverse_record(own->record, visit, arg);
        if (stop) return stop;
    }
    if (own->later) {
        int stop = traverse_later(own->later, visit, arg);
        if (stop) return stop;
    }
    if (own->step) {
        int stop = traverse_step(own->step, visit, arg);
        if (stop) return stop;
    }
    Py_VISIT(own->layout); Py_VISIT(own->usual.call); Py_VISIT(own->usual.names);
    for (int i = 0; i < SPECIAL; i++) { Py_VISIT(own->special[i].call); Py_VISIT(own->special[i].names); Py_VISIT(own->special[i].only); }
    for (int i = 0; i < RECIPES; i++) {
        Py_VISIT(own->recipe[i].mask);
        for (int k = 0; k < VIEW_PARTS; k++) { Part *part = &own->recipe[i].parts[k]; Py_VISIT(part->value); Py_VISIT(part->yes); Py_VISIT(part->no); }
    }
    return 0;
}

static int target_clear(PyObject *self) {
    Target *own = (Target *)self;
#define CLEAR(name) Py_CLEAR(own->name);
    EACH_OBJECT(CLEAR)
#undef CLEAR
    if (own->record) clear_record(own->record);
    if (own->later) clear_later(own->later);
    if (own->step) clear_step(own->step);
    Py_CLEAR(own->layout); Py_CLEAR(own->usual.call); Py_CLEAR(own->usual.names); Py_CLEAR(own->usual.only);
    for (int i = 0; i < SPECIAL; i++) { Py_CLEAR(own->special[i].call); Py_CLEAR(own->special[i].names); Py_CLEAR(own->special[i].only); }
    for (int i = 0; i < RECIPES; i++) {
        Py_CLEAR(own->recipe[i].mask);
        for (int k = 0; k < VIEW_PARTS; k++) { Part *part = &own->recipe[i].parts[k]; Py_CLEAR(part->value); Py_CLEAR(part->yes); Py_CLEAR(part->no); }
    }
    return 0;
}

static void target_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    target_clear(self);
    PyMem_Free(((Target *)self)->record);
    PyMem_Free(((Target *)self)->later);
    PyMem_Free(((Target *)self)->step);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject Target_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dispatch_calls_native._front.Target",
    .tp_doc = "How the runner of one mask is run, made of a spec.",
    .tp_basicsize = sizeof(Target), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = target_new,
    .tp_traverse = target_traverse, .tp_clear = target_clear, .tp_dealloc = target_dealloc,
};

/* ---- Plans -------------------------------------------------------------------------------------------------------- */

/* key: an object with the mask, of the tensors, by which it is found soonest; index: the table's own key, which is found there
 * without a comparison: the mask, or the pair of it and a state of the context, and its hash. */
typedef struct { Mask mask; PyObject *key, *state, *index; Target *target; Py_hash_t hash; } Slot;

struct Plan {
    PyObject_HEAD
    int count, positional, star, next, layouts, last_is_number;
    Mask modes; /* keys that the context may not include */
    PyObject *table, *masked, *numbers, *alone, *plain, *elsewhere, *make_target;
    PyObject *types; /* class of arrays -> their mask; NULL where the function takes none */
    Layout *layout[LAYOUTS];
    Parameter parameter[MOST];
    Slot slot[SLOTS];
};

static PyTypeObject Plan_Type;

int take_parameter(PyObject *spec, Parameter *to) {
    PyObject *name, *value, *one;
    if (!PyArg_ParseTuple(spec, "UiiiiOO", &name, &to->kind, &to->is_optional, &to->is_required, &to->by_name, &value, &one)) return -1;
    to->name = Py_NewRef(name);
    PyUnicode_InternInPlace(&to->name);
    to->value = Py_NewRef(value);
    to->one = one == Py_None ? NULL : Py_NewRef(one);
    return 0;
}

static PyObject *plan_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *spec, *parameters = NULL, *layouts = NULL, *modes = NULL;
    if (!PyArg_ParseTuple(args, "O!:Plan", &PyDict_Type, &spec)) return NULL;
    Plan *made = (Plan *)cls->tp_alloc(cls, 0);
    if (!made) return NULL;
    int bad = take_object(spec, "parameters", &parameters) || take_object(spec, "layouts", &layouts) || take_object(spec, "modes", &modes)
        || take_object(spec, "table", &made->table) || take_object(spec, "masked", &made->masked) || take_object(spec, "numbers", &made->numbers)
        || take_object(spec, "alone", &made->alone) || take_object(spec, "plain", &made->plain) || take_object(spec, "elsewhere", &made->elsewhere) || take_object(spec, "make_target", &made->make_target) || take_object(spec, "types", &made->types)
        || take_int(spec, "positional", &made->positional) || take_int(spec, "star", &made->star);
    if (!bad) {
        bad = !parameters || !PyTuple_Check(parameters) || PyTuple_GET_SIZE(parameters) > MOST || !PyTuple_GET_SIZE(parameters)
            || !layouts || !PyTuple_Check(layouts) || PyTuple_GET_SIZE(layouts) > LAYOUTS || !modes
            || !made->table || !PyDict_Check(made->table) || !made->masked || !PyDict_Check(made->masked) || (made->types && !PyDict_Check(made->types))
            || !made->make_target || made->positional < 1 || made->positional > PyTuple_GET_SIZE(parameters) || made->star >= made->positional;
        if (bad) PyErr_SetString(PyExc_ValueError, "a plan's spec is not one that this front takes");
    }
    if (!bad) {
        made->modes = PyLong_AsUnsignedLongLong(modes);
        bad = made->modes == (Mask)-1 && PyErr_Occurred();
    }
    for (Py_ssize_t i = 0; !bad && i < PyTuple_GET_SIZE(layouts); i++) {
        PyObject *each = PyTuple_GET_ITEM(layouts, i);
        if (Py_TYPE(each) != &Layout_Type) { PyErr_SetString(PyExc_TypeError, "no layout"); bad = 1; break; }
        made->layout[made->layouts++] = (Layout *)Py_NewRef(each);
    }
    for (Py_ssize_t i = 0; !bad && i < PyTuple_GET_SIZE(parameters); i++) {
        if (take_parameter(PyTuple_GET_ITEM(parameters, i), &made->parameter[i])) { bad = 1; break; }
        made->count = (int)i + 1;
    }
    Py_XDECREF(parameters); Py_XDECREF(layouts); Py_XDECREF(modes);
    if (bad) { Py_DECREF(made); return NULL; }
    made->last_is_number = made->elsewhere && made->parameter[made->positional - 1].kind > OPTIONAL_LIST;
    return (PyObject *)made;
}

static int plan_traverse(PyObject *self, visitproc visit, void *arg) {
    Plan *own = (Plan *)self;
    for (int i = 0; i < MOST; i++) { Py_VISIT(own->parameter[i].value); Py_VISIT(own->parameter[i].one); }
    for (int i = 0; i < SLOTS; i++) { Py_VISIT(own->slot[i].target); Py_VISIT(own->slot[i].state); Py_VISIT(own->slot[i].index); }
    for (int i = 0; i < LAYOUTS; i++) Py_VISIT(own->layout[i]);
    Py_VISIT(own->table); Py_VISIT(own->masked); Py_VISIT(own->numbers); Py_VISIT(own->alone); Py_VISIT(own->plain); Py_VISIT(own->elsewhere);
    Py_VISIT(own->make_target); Py_VISIT(own->types);
    return 0;
}

static void drop_targets(Plan *own) {
    for (int i = 0; i < SLOTS; i++) {
        Slot before = own->slot[i];
        own->slot[i] = (Slot){0};
        Py_XDECREF(before.key); Py_XDECREF(before.state); Py_XDECREF(before.index); Py_XDECREF(before.target);
    }
}

static int plan_clear(PyObject *self) {
    Plan *own = (Plan *)self;
    for (int i = 0; i < MOST; i++) { Py_CLEAR(own->parameter[i].name); Py_CLEAR(own->parameter[i].value); Py_CLEAR(own->parameter[i].one); }
    drop_targets(own);
    for (int i = 0; i < LAYOUTS; i++) Py_CLEAR(own->layout[i]);
    Py_CLEAR(own->table); Py_CLEAR(own->masked); Py_CLEAR(own->numbers); Py_CLEAR(own->alone); Py_CLEAR(own->plain); Py_CLEAR(own->elsewhere);
    Py_CLEAR(own->make_target); Py_CLEAR(own->types);
    return 0;
}

static void plan_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    plan_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject Plan_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dispatch_calls_native._front.Plan",
    .tp_doc = "How the arguments of a function are written, made of a spec.",
    .tp_basicsize = sizeof(Plan), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = plan_new,
    .tp_traverse = plan_traverse, .tp_clear = plan_clear, .tp_dealloc = plan_dealloc,
};

/* ---- Fronts ------------------------------------------------------------------------------------------------------- */

static int are_ints(PyObject *items) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++) if (!is_int(PySequence_Fast_GET_ITEM(items, i))) return 0;
    return 1;
}

/* Check a list of ints: 1 where it is one as it stands, 2 where `*made` replaces it, 0 for others, -1 for an error. */
static int check_ints(Parameter *parameter, PyObject *value, PyObject **made) {
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) return are_ints(value);
    if (parameter->one && is_int(value)) {
        int is_tuple = PyTuple_CheckExact(parameter->one);
        Py_ssize_t length = PySequence_Fast_GET_SIZE(parameter->one);
        if (!(*made = is_tuple ? PyTuple_New(length) : PyList_New(length))) return -1;
        for (Py_ssize_t i = 0; i < length; i++)
            if (is_tuple) PyTuple_SET_ITEM(*made, i, Py_NewRef(value)); else PyList_SET_ITEM(*made, i, Py_NewRef(value));
        return 2;
    }
    /* A shape, which is a tuple of another type. */
    if (!PyTuple_Check(value) || Py_TYPE(value)->tp_iter != PyTuple_Type.tp_iter || !are_ints(value)) return 0;
    Py_ssize_t size = PyTuple_GET_SIZE(value);
    if (!(*made = PyTuple_New(size))) return -1;
    for (Py_ssize_t i = 0; i < size; i++) PyTuple_SET_ITEM(*made, i, Py_NewRef(PyTuple_GET_ITEM(value, i)));
    return 2;
}

/* Check a value that is not a tensor as the generated lines do, with the answers of `check_ints`. */
int check_value(Parameter *parameter, PyObject *value, PyObject **made) {
    if (value == Py_None) return parameter->is_optional && parameter->kind != INTS && parameter->kind != OTHER;
    switch (parameter->kind) {
        case INT: return is_int(value);
        case BOOL: return PyBool_Check(value);
        case FLOAT: {
            int overflow;
            if (PyFloat_CheckExact(value)) return 1;
            if (!PyLong_CheckExact(value)) return 0;
            long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
            if (overflow || whole > (1LL << 53) || whole < -(1LL << 53)) return 0;
            return (*made = PyFloat_FromDouble((double)whole)) ? 2 : -1;
        }
        case SCALAR: return PyFloat_CheckExact(value) || PyBool_Check(value) || is_int(value);
        case INTS: return check_ints(parameter, value, made);
        case DEVICE: return (PyObject *)Py_TYPE(value) == device_type;
        case ANY: return 1;
        case SCALAR_TYPE: {
            PyObject *name = _PyType_Lookup(Py_TYPE(value), s_schema_type);
            return name && PyUnicode_CheckExact(name) && PyUnicode_Compare(name, s_scalar_type) == 0;
        }
    }
    return 0;
}

/* Return the layout of a tensor that the plan takes, or NULL. */
static inline Layout *find_layout(Plan *plan, PyObject *object) {
    for (int i = 0; i < plan->layouts; i++) if (Py_TYPE(object) == plan->layout[i]->type) return plan->layout[i];
    for (int i = 0; i < plan->layouts; i++) {
        if (!is_tensor(plan->layout[i], object)) continue;
        /* A class of the program may override the function; those that cannot are known. */
        if (plan->plain) {
            int found = PySequence_Contains(plan->plain, (PyObject *)Py_TYPE(object));
            if (found < 0) PyErr_Clear();
            if (found != 1) return NULL;
        }
        return plan->layout[i];
    }
    return NULL;
}

/* The masks of a call's tensors: one object for all, or the union of several; `layout` is NULL for arrays alone. */
typedef struct { Layout *layout; PyObject *only; Mask mask; int is_mixed, is_raw; } Masks; /* only: held */

static int read_mask(PyObject *object, Mask *mask) {
    Mask found = PyLong_AsUnsignedLongLong(object);
    if (found == (Mask)-1 && PyErr_Occurred()) { PyErr_Clear(); return 0; }
    *mask |= found;
    return 1;
}

/* Return the mask of an array's class, borrowed, or NULL. */
static PyObject *find_type_mask(Plan *plan, Masks *masks, PyObject *object) {
    if (!plan->types || masks->layout) return NULL;
    PyObject *own = PyDict_GetItemWithError(plan->types, (PyObject *)Py_TYPE(object));
    if (!own && PyErr_Occurred()) PyErr_Clear();
    if (own) masks->is_raw = 1;
    return own;
}

/* Add a tensor's mask; 0 where the object is none that the plan takes. */
static int add_mask(Plan *plan, Masks *masks, PyObject *object) {
    Layout *layout = masks->layout && Py_TYPE(object) == masks->layout->type ? masks->layout : NULL;
    PyObject *own = NULL;
    if (!layout && (plan->layouts == 0 || Py_TYPE(object) != plan->layout[0]->type)) own = find_type_mask(plan, masks, object);
    if (!own) {
        if (!layout) layout = find_layout(plan, object);
        if (!layout || masks->is_raw || (masks->layout && masks->layout != layout)) return 0;
        own = AT(object, layout->mask);
    }
    if (!own || !PyLong_CheckExact(own)) return 0;
    masks->layout = layout;
    if (!masks->only) { masks->only = Py_NewRef(own); return 1; }
    if (masks->only == own && !masks->is_mixed) return 1;
    if (!masks->is_mixed) {
        masks->is_mixed = 1;
        if (!read_mask(masks->only, &masks->mask)) return 0;
    }
    return read_mask(own, &masks->mask);
}

/* Bind what stands in `values`, NULL where nothing was given: 1, 0 where Python serves the call, or -1 for an error. */
static int bind(Plan *plan, PyObject **values, PyObject **own, int *owned, Masks *masks) {
    for (int i = 0; i < plan->count; i++) {
        Parameter *parameter = &plan->parameter[i];
        PyObject *value = values[i];
        if (!value) {
            if (parameter->is_required) return 0;
            values[i] = parameter->value;
            continue;
        }
        if (!parameter->is_required && value == parameter->value) continue;
        switch (parameter->kind) {
            case OPTIONAL_TENSOR: if (value == Py_None) break; /* fall through */
            case TENSOR: if (!add_mask(plan, masks, value)) return 0; break;
            case LIST: case OPTIONAL_LIST:
                if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return 0;
                for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(value); k++) {
                    PyObject *item = PySequence_Fast_GET_ITEM(value, k);
                    if (item == Py_None && parameter->kind == OPTIONAL_LIST) continue;
                    Py_INCREF(item);
                    int is_good = add_mask(plan, masks, item);
                    Py_DECREF(item);
                    if (!is_good) return 0;
                }
                break;
            default: {
                PyObject *made = NULL;
                int is_good = check_value(parameter, value, &made);
                if (is_good < 1) return is_good;
                if (is_good == 2) values[i] = own[(*owned)++] = made;
            }
        }
    }
    if (plan->last_is_number) {
        int found = PySequence_Contains(plan->elsewhere, (PyObject *)Py_TYPE(values[plan->positional - 1]));
        if (found) return found < 0 ? -1 : 0;
    }
    return masks->only != NULL;
}

/* Return the key of a table that equals another object, as a new reference; that object where there is none. */
static PyObject *find_own_key(PyObject *table, PyObject *key) {
    PyObject *own, *value;
    Py_ssize_t at = 0;
    Py_hash_t hash = PyObject_Hash(key);
    while (hash != -1 && PyDict_Next(table, &at, &own, &value)) {
        if (Py_TYPE(own) != Py_TYPE(key) || PyObject_Hash(own) != hash) continue;
        Py_INCREF(own);
        if (PyObject_RichCompareBool(own, key, Py_EQ) > 0) return own;
        Py_DECREF(own);
        break; /* another of the same hash, or an error */
    }
    PyErr_Clear();
    return Py_NewRef(key);
}

/* Return the target of a runner, made at first need, as a new reference; NULL without an error where Python serves the call. */
static Target *find_target(Plan *plan, Mask mask, PyObject *key, PyObject *state, PyObject *index, PyObject *runner) {
    for (int i = 0; i < SLOTS; i++) {
        Slot *slot = &plan->slot[i];
        if (slot->target && slot->target->runner == runner && slot->mask == mask) return (Target *)Py_NewRef(slot->target);
    }
    if (!plan->make_target) return NULL; /* the collector has cleared the plan */
    PyObject *made = PyObject_CallFunctionObjArgs(plan->make_target, key, runner, NULL);
    if (!made) return NULL; /* an interrupt, too, goes on to the caller */
    if (Py_TYPE(made) != &Target_Type) { Py_DECREF(made); return NULL; }
    Target *target = (Target *)made;
    if (target->runner != runner || target->count != plan->count) {
        Py_DECREF(made); /* Python serves the call */
        return NULL;
    }
    Py_hash_t hash = PyObject_Hash(index);
    if (hash == -1) { Py_DECREF(made); return NULL; }
    PyObject *own = find_own_key(state == Py_None ? plan->table : plan->masked, index);
    int at = -1;
    for (int i = 0; i < SLOTS && at < 0; i++) if (!plan->slot[i].target) at = i;
    if (at < 0) { at = plan->next; plan->next = (plan->next + 1) % SLOTS; }
    Slot before = plan->slot[at];
    plan->slot[at] = (Slot){mask, Py_NewRef(key), Py_NewRef(state), own, (Target *)Py_NewRef(made), hash};
    Py_XDECREF(before.key); Py_XDECREF(before.state); Py_XDECREF(before.index); Py_XDECREF(before.target);
    return target;
}

PyObject *take_error(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

void set_error(PyObject *error) { /* takes the reference over */
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error);
#else
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), error, PyException_GetTraceback(error));
#endif
}

/* Raise the present error again through the frames that the generated functions would have, which leave out what they do. */
void raise_again(Target *target, int is_native) {
    PyObject *error = take_error();
    if (!error) return;
    PyObject *throw = PyObject_CallOneArg(target->thrower, is_native ? Py_True : Py_False);
    PyObject *none = throw ? PyObject_CallOneArg(throw, error) : NULL;
    if (none) { /* it has raised nothing */
        Py_DECREF(none);
        set_error(Py_NewRef(error));
    }
    Py_XDECREF(throw);
    Py_DECREF(error);
}

/* Return whether the context includes a mode that may override the function. */
static int has_mode(Plan *plan, PyObject *state) {
    Mask included = 0;
    if (!plan->modes) return 0;
    if (!PyTuple_Check(state) || PyTuple_GET_SIZE(state) != 2 || !PyLong_Check(PyTuple_GET_ITEM(state, 0))) return 1;
    included = PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(state, 0));
    return (included & plan->modes) != 0;
}

/* Return the slot of a call's masks, if there is one, for any state or for this one. */
static inline Slot *find_slot(Plan *plan, Masks *masks, PyObject *state) {
    for (int i = 0; i < SLOTS; i++) {
        Slot *slot = &plan->slot[i];
        int is_same = masks->is_mixed ? slot->mask == masks->mask : slot->key == masks->only;
        if (is_same && slot->key && (!state || slot->state == state)) return slot;
    }
    return NULL;
}

/* Return the runner of a call, held; the mask, and the key that it was found by in a table, which are held, too. */
static PyObject *find_runner(Plan *plan, Masks *masks, PyObject *state, PyObject **key, PyObject **index) {
    Slot *slot = find_slot(plan, masks, state);
    if (slot) {
        *key = Py_NewRef(slot->key);
        *index = Py_NewRef(slot->index);
        masks->mask = slot->mask;
        return Py_XNewRef(_PyDict_GetItem_KnownHash(state == Py_None ? plan->table : plan->masked, *index, slot->hash));
    } else {
        if (!masks->is_mixed && !read_mask(masks->only, &masks->mask)) return NULL;
        if (!masks->mask) return NULL;
        *key = masks->is_mixed ? PyLong_FromUnsignedLongLong(masks->mask) : Py_NewRef(masks->only);
        if (*key) *index = state == Py_None ? Py_NewRef(*key) : PyTuple_Pack(2, *key, state);
        if (!*index) return NULL;
    }
    return Py_XNewRef(PyDict_GetItemWithError(state == Py_None ? plan->table : plan->masked, *index));
}

/* Serve a call that is bound; `*is_served` is 0 where Python does, before anything was done. */
static PyObject *serve(Plan *plan, PyObject **values, Masks *masks, PyObject *state, int *is_served) {
    PyObject *key = NULL, *index = NULL, *result = NULL, *runner = find_runner(plan, masks, state, &key, &index);
    Target *target = runner ? find_target(plan, masks->mask, key, state, index, runner) : NULL;
    Py_XDECREF(key);
    Py_XDECREF(index);
    Py_XDECREF(runner);
    if (!target || target->way == ASIDE) {
        *is_served = PyErr_Occurred() != NULL;
        Py_XDECREF(target);
        return NULL;
    }
    int is_native = target->way == BODY && target->layout == masks->layout;
    if (is_native) result = run_body(target, values);
    else if (target->way == RECORD && target->layout == masks->layout) result = run_record(target, values, &is_native);
    else if (target->way == LATER && target->layout == masks->layout) result = run_later(target, values, state);
    else if (target->way == HANDLE) result = run_mode(target, values, state, &is_native);
    else result = PyObject_Vectorcall(target->runner, values, target->count, NULL);
    if (!result) raise_again(target, is_native);
    Py_DECREF(target);
    return result;
}

/* Find the plan, made at the first call for the frontends that there are: 1, 0 where there is none, -1 for an error. */
static int find_plan(Front *front) {
    long number = frontends;
    if (!front->make_plan) return 0;
    PyObject *made = PyObject_CallNoArgs(front->make_plan);
    if (!made) return -1;
    if (Py_TYPE(made) != &Plan_Type && Py_TYPE(made) != &Factory_Type) Py_CLEAR(made);
    Plan *before = front->plan;
    front->plan = (Plan *)made;
    front->frontends = number;
    Py_XDECREF(before);
    return front->plan != NULL;
}

static PyObject *front_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    Front *front = (Front *)self;
    PyObject *python = front->python;
    if (!is_on) return PyObject_Vectorcall(python, args, flags, names);
    int has_plan = front->frontends == frontends ? front->plan != NULL : find_plan(front);
    if (has_plan < 0) return NULL;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    if (!has_plan) return PyObject_Vectorcall(python, args, flags, names);
    if (Py_TYPE(front->plan) == &Factory_Type) {
        PyObject *masks = NULL;
        if (PyContextVar_Get(state_var, NULL, &masks) < 0) return NULL;
        int is_plain = masks == Py_None;
        Py_DECREF(masks);
        return is_plain ? call_factory((PyObject *)front->plan, python, args, flags, names) : PyObject_Vectorcall(python, args, flags, names);
    }
    if (!given) return PyObject_Vectorcall(python, args, flags, names);

    Plan *plan = (Plan *)Py_NewRef(front->plan);
    PyObject *stack[MOST + 2], **values = stack + 1, *own[MOST + 1], *state = NULL, *result = NULL;
    Masks masks = {NULL, NULL, 0, 0, 0};
    int owned = 0, is_served = 0;
    if (PyContextVar_Get(state_var, NULL, &state) < 0) { is_served = 1; goto done; }
    if (state != Py_None && has_mode(plan, state)) goto done;
    if (!names) {
        /* Calls that another function serves. */
        PyObject *other = NULL;
        if (given == 2 && plan->numbers && (PyFloat_CheckExact(args[1]) || PyLong_CheckExact(args[1]))) other = plan->numbers;
        else if (given == 1 && plan->alone) other = plan->alone;
        if (other) {
            /* One of a class that overrides is asked for by Python. */
            for (int i = 0; i < plan->layouts; i++) is_served |= Py_TYPE(args[0]) == plan->layout[i]->type;
            if (is_served) result = PyObject_Vectorcall(other, args, given, NULL);
            goto done;
        }
    }
    Py_ssize_t count = given;
    for (int i = 0; i < plan->count; i++) values[i] = NULL;
    if (plan->star >= 0) {
        Py_ssize_t rest = given - plan->star;
        if (rest < 1 || names) goto done;
        if (rest > 1 || PyLong_CheckExact(args[plan->star])) {
            PyObject *items = PyTuple_New(rest);
            if (!items) { is_served = 1; goto done; }
            for (Py_ssize_t i = 0; i < rest; i++) PyTuple_SET_ITEM(items, i, Py_NewRef(args[plan->star + i]));
            values[plan->star] = own[owned++] = items;
            count = plan->star;
        } else if (!PyTuple_Check(args[plan->star]) && !PyList_Check(args[plan->star])) goto done;
    }
    if (count > plan->positional) goto done;
    for (Py_ssize_t i = 0; i < count; i++) values[i] = args[i];
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        int at = 0;
        while (at < plan->count && plan->parameter[at].name != PyTuple_GET_ITEM(names, i)) at++;
        if (at == plan->count || values[at]) goto done;
        values[at] = args[given + i];
    }
    int is_bound = bind(plan, values, own, &owned, &masks);
    if (is_bound < 0) is_served = 1;
    if (is_bound > 0) {
        is_served = 1;
        result = serve(plan, values, &masks, state, &is_served);
    }
done:
    while (owned) { --owned; Py_DECREF(own[owned]); }
    Py_XDECREF(masks.only);
    Py_XDECREF(state);
    Py_DECREF(plan);
    return is_served ? result : PyObject_Vectorcall(python, args, flags, names);
}

static PyObject *front_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *python, *make_plan;
    if (!PyArg_ParseTuple(args, "O!O:Front", &PyFunction_Type, &python, &make_plan)) return NULL;
    if (!state_var) { PyErr_SetString(PyExc_RuntimeError, "the core has not said what to use"); return NULL; }
    Front *made = (Front *)cls->tp_alloc(cls, 0);
    if (!made) return NULL;
    made->vectorcall = front_call;
    made->python = Py_NewRef(python);
    made->make_plan = Py_NewRef(make_plan);
    made->frontends = -1;
    return (PyObject *)made;
}

int front_traverse(PyObject *self, visitproc visit, void *arg) {
    Front *own = (Front *)self;
    Py_VISIT(own->python); Py_VISIT(own->make_plan); Py_VISIT(own->plan);
    return 0;
}

int front_clear(PyObject *self) {
    Front *own = (Front *)self;
    own->frontends = -1; /* a call in a finalizer goes to Python */
    Py_CLEAR(own->plan);
    Py_CLEAR(own->make_plan);
    return 0;
}

void front_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    if (((Front *)self)->weak) PyObject_ClearWeakRefs(self);
    front_clear(self);
    Py_CLEAR(((Front *)self)->python);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *front_get(PyObject *self, PyObject *instance, PyObject *owner) {
    return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

/* But for calls it is the Python function: attributes are that one's. */
static PyObject *front_getattro(PyObject *self, PyObject *name) {
    int own = PyDict_Contains(Front_Type.tp_dict, name);
    /* What every object answers of itself: whether it is another one, and its hash. */
    if (!own) own = PyUnicode_CompareWithASCIIString(name, "__eq__") == 0 || PyUnicode_CompareWithASCIIString(name, "__ne__") == 0 || PyUnicode_CompareWithASCIIString(name, "__hash__") == 0;
    if (own < 0) return NULL;
    return own ? PyObject_GenericGetAttr(self, name) : PyObject_GetAttr(((Front *)self)->python, name);
}

static int front_setattro(PyObject *self, PyObject *name, PyObject *value) {
    return PyObject_SetAttr(((Front *)self)->python, name, value);
}

static PyObject *front_repr(PyObject *self) { return PyObject_Repr(((Front *)self)->python); }

/* Pickled, and copied, as a function is: by its name. */
static PyObject *front_reduce(PyObject *self, PyObject *protocol) {
    return PyObject_GetAttrString(((Front *)self)->python, "__qualname__");
}

static PyObject *front_class(PyObject *self, void *closure) { return Py_NewRef((PyObject *)&PyFunction_Type); }

static PyObject *front_attribute(PyObject *self, void *name) { return PyObject_GetAttrString(((Front *)self)->python, name); }

static int front_set_attribute(PyObject *self, PyObject *value, void *name) {
    return PyObject_SetAttrString(((Front *)self)->python, name, value);
}

static PyMethodDef front_methods[] = {
    {"__reduce__", front_reduce, METH_NOARGS, NULL},
    {"__reduce_ex__", front_reduce, METH_O, NULL},
    {NULL},
};

/* `inspect.getattr_static`, by which protocols are checked from Python 3.12 on, looks at the dictionary. */
PyGetSetDef front_getset[] = {
    {"__class__", front_class, NULL, NULL, NULL},
    {"__dict__", front_attribute, NULL, NULL, "__dict__"},
    {"__doc__", front_attribute, front_set_attribute, NULL, "__doc__"},
    {NULL},
};

PyTypeObject Front_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dispatch_calls_native._front.Front", .tp_basicsize = sizeof(Front),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = front_new, .tp_call = PyVectorcall_Call, .tp_vectorcall_offset = offsetof(Front, vectorcall),
    .tp_weaklistoffset = offsetof(Front, weak), .tp_descr_get = front_get, .tp_getattro = front_getattro,
    .tp_setattro = front_setattro, .tp_repr = front_repr, .tp_methods = front_methods, .tp_getset = front_getset,
    .tp_traverse = front_traverse, .tp_clear = front_clear, .tp_dealloc = front_dealloc,
};

/* ---- The module --------------------------------------------------------------------------------------------------- */

static PyObject *use(PyObject *module, PyObject *args) {
    PyObject *state, *device;
    if (!PyArg_ParseTuple(args, "O!O!:use", &PyContextVar_Type, &state, &PyType_Type, &device)) return NULL;
    if (state_var && state_var != state) { /* of another interpreter, or of another copy of the core */
        PyErr_SetString(PyExc_ImportError, "it serves another copy of dispatch-core");
        return NULL;
    }
    Py_XSETREF(state_var, Py_NewRef(state));
    Py_XSETREF(device_type, Py_NewRef(device));
    Py_RETURN_NONE;
}

static PyObject *serve_calls(PyObject *module, PyObject *on) {
    int yes = PyObject_IsTrue(on), before = is_on;
    if (yes < 0) return NULL;
    is_on = yes;
    return PyBool_FromLong(before);
}

static PyObject *renew(PyObject *module, PyObject *none) {
    frontends++;
    Py_RETURN_NONE;
}

static int check_front(PyObject *object) {
    if (PyObject_TypeCheck(object, &Front_Type)) return 0;
    PyErr_SetString(PyExc_TypeError, "not a front");
    return -1;
}

static PyObject *forget(PyObject *module, PyObject *object) {
    if (check_front(object)) return NULL;
    Front *front = (Front *)object;
    Plan *before = front->plan;
    front->plan = NULL;
    front->frontends = -1;
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

static PyObject *forget_targets(PyObject *module, PyObject *object) {
    if (check_front(object)) return NULL;
    Plan *plan = ((Front *)object)->plan;
    if (plan && Py_TYPE(plan) == &Factory_Type) forget_factory((PyObject *)plan);
    else if (plan) {
        Py_INCREF(plan);
        drop_targets(plan);
        Py_DECREF(plan);
    }
    Py_RETURN_NONE;
}

/* Return the ways of the targets that a front has. */
static PyObject *list_ways(PyObject *module, PyObject *object) {
    if (check_front(object)) return NULL;
    Plan *plan = ((Front *)object)->plan;
    if (plan && Py_TYPE(plan) == &Factory_Type) return target_of_factory((PyObject *)plan) ? Py_BuildValue("[i]", BODY) : PyList_New(0);
    PyObject *made = PyList_New(0);
    for (int i = 0; made && plan && i < SLOTS; i++) {
        if (!plan->slot[i].target) continue;
        PyObject *way = PyLong_FromLong(plan->slot[i].target->way);
        if (!way || PyList_Append(made, way) < 0) Py_CLEAR(made);
        Py_XDECREF(way);
    }
    return made;
}

static PyObject *python_of(PyObject *module, PyObject *object) {
    return check_front(object) ? NULL : Py_NewRef(((Front *)object)->python);
}

static PyObject *raise_error(PyObject *module, PyObject *error) {
    if (!PyExceptionInstance_Check(error)) { PyErr_SetString(PyExc_TypeError, "not an error"); return NULL; }
    set_error(Py_NewRef(error));
    return NULL;
}

static PyMethodDef methods[] = {
    {"use", use, METH_VARARGS, "Take over the context variable of masks, and the class of devices."},
    {"serve", serve_calls, METH_O, "Serve calls, or leave all of them to Python; return what was so before."},
    {"renew", renew, METH_NOARGS, "Make the plans of all fronts again: there are other frontends."},
    {"forget", forget, METH_O, "Make the plan of a front again at its next call."},
    {"forget_targets", forget_targets, METH_O, "Make the targets of a front again."},
    {"list_ways", list_ways, METH_O, "Return the ways of a front's targets: 0 left to Python, 1 a call of the runner, 2 the kernel's, 3 recorded for backward, 4 in a pipeline, 5 handled by a mode."},
    {"python_of", python_of, METH_O, "Return the Python function of a front."},
    {"raise_error", raise_error, METH_O, "Raise an error with the traceback and the context that it has."},
    {NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "dispatch_calls_native._front", .m_doc = "The compiled front of calls.", .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__front(void) {
    struct { PyObject **to; const char *text; } names[] = {
        {&s_mask, "_dispatch_mask"}, {&s_data, "_dispatch_data"}, {&s_schema_type, "__schema_type__"}, {&s_scalar_type, "ScalarType"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!*names[i].to && !(*names[i].to = PyUnicode_InternFromString(names[i].text))) return NULL;
    }
    PyTypeObject *types[] = {&Layout_Type, &Target_Type, &Plan_Type, &Front_Type};
    const char *labels[] = {"Layout", "Target", "Plan", "Front"};
    PyObject *module = PyModule_Create(&definition);
    for (int i = 0; module && i < 4; i++) {
        if (PyType_Ready(types[i]) < 0 || PyModule_AddObjectRef(module, labels[i], (PyObject *)types[i]) < 0) Py_CLEAR(module);
    }
    if (module && (begin_recording() < 0 || begin_pipelines() < 0 || begin_modes() < 0 || add_questions(module) < 0 || add_factories(module) < 0 || add_lending(module) < 0 || add_guards(module) < 0 || add_backward(module) < 0)) Py_CLEAR(module);
    if (module && (PyModule_AddIntConstant(module, "LAYOUT", LAYOUT) < 0 || PyModule_AddIntConstant(module, "MOST", MOST) < 0)) Py_CLEAR(module);
    return module;
}
