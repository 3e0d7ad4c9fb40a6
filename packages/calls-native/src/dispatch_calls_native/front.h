/* What the parts of the front share: layouts of tensors, and the object in the place of a function. See `_front.c`. */
#ifndef DISPATCH_FRONT_H
#define DISPATCH_FRONT_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#define MOST 14    /* arguments of an operator */
#define SLOTS 4    /* targets of a plan */
#define LAYOUTS 4  /* frontends of a plan */
#define SPECIAL 3  /* kernels for one value of an argument */
#define RESULTS 6
#define RECIPES 3  /* ways to make a view */
#define VIEW_PARTS 8    /* of the value of a view's attribute */

/* Kinds of parameters. */
enum { TENSOR = 1, OPTIONAL_TENSOR, LIST, OPTIONAL_LIST, INT, FLOAT, BOOL, SCALAR, INTS, SCALAR_TYPE, DEVICE, ANY, OTHER };
/* Ways to run a target; an aside is a runner whose calls Python serves. */
enum { ASIDE = 0, CALL, BODY, RECORD, LATER, HANDLE };
/* Kinds of results. */
enum { FRESH = 0, VIEW, WRITTEN, PLAIN, VIEWS };
/* Parts of the value of a view's attribute. */
enum { CONSTANT = 0, BASE, FIRST, CALLED, OPERATOR, REST, CHOICE, ATTRIBUTE, MADE };

typedef unsigned long long Mask;

#define AT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

typedef struct {
    PyObject_HEAD
    PyTypeObject *type, *known; /* known: the class derived from it that was met last, only ever compared */
    PyObject *mask_member, *data_member, *make; /* make: NULL where an object is made as object.__new__ does */
    Py_ssize_t mask, data;
    unsigned version; /* of the known class: any change of it or of its bases gives it another one */
} Layout;

/* How a kernel takes the arguments: those of the operator in another order, some of them by name. */
typedef struct {
    PyObject *call, *names;
    int index, positional; /* index: the argument that the kernel is called without, or -1 */
    PyObject *only;        /* its value */
    signed char order[MOST];
} Way;

typedef struct { int kind; PyObject *value, *yes, *no; } Part;

/* How a view of a tensor with one mask is made: a tensor with another mask and an attribute. */
typedef struct {
    Mask base; PyObject *mask;
    Py_ssize_t offset;
    int count, needs_tuple; /* of the same attribute of the base */
    Part parts[VIEW_PARTS];
} Recipe;

/* How a call is recorded for backward; see `recording.c`. */
typedef struct Record Record;
/* How a call is recorded in a pipeline; see `pipelines.c`. */
typedef struct Later Later;
/* How a mode handles a call; see `modes.c`. */
typedef struct Step Step;

typedef struct {
    PyObject_HEAD
    int way, count; /* count: of arguments */
    PyObject *runner, *thrower;
    Layout *layout;
    Way usual, special[SPECIAL];
    int specials, declines, is_short, itself, results, writes, recipes;
    PyObject *prefix, *below, *array_type, *coerce, *check_view, *mask, *rebind, *written, *op, *view, *views, *several, *as_list, *refuse;
    signed char tensors[MOST], kind[RESULTS], source[RESULTS], optional[RESULTS], write[MOST];
    Recipe recipe[RECIPES];
    Record *record; /* NULL for other ways */
    Later *later;   /* NULL for other ways */
    Step *step;     /* NULL for other ways */
} Target;

typedef struct { PyObject *name, *value, *one; int kind, is_optional, is_required, by_name; } Parameter;

typedef struct Plan Plan;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python, *make_plan, *weak;
    Plan *plan;
    long frontends; /* those that the plan is for; -1 before there was one */
} Front;

extern PyTypeObject Layout_Type, Target_Type, Front_Type, Factory_Type, Question_Type, Method_Type, Item_Type;
extern PyObject *s_mask, *s_data;
extern PyObject *state_var; /* the core's, of the context's masks */
extern int is_on;

/* Return a member's descriptor, borrowed, and the place of its value. */
PyObject *find_member(PyTypeObject *type, PyObject *name, Py_ssize_t *offset);
PyObject *new_tensor(Layout *layout, PyObject *mask, PyObject *data);
PyObject *unwrap(Layout *layout, int kind, PyObject *value);
PyObject *pack(Target *target, PyObject **values, int without);
PyObject *run_body(Target *target, PyObject **values);
/* Reading specs, which are dictionaries. */
int take_object(PyObject *spec, const char *name, PyObject **to);
int take_int(PyObject *spec, const char *name, int *to);
int take_numbers(PyObject *spec, const char *name, signed char *to, int most, int limit, int *count);
int take_parameter(PyObject *spec, Parameter *to);
/* Check a value that is not a tensor: 1 where it is right as it stands, 2 where `*made` replaces it, 0 for others, -1 for an error. */
int check_value(Parameter *parameter, PyObject *value, PyObject **made);
/* Raise the present error again through the frames that the generated functions would have. */
void raise_again(Target *target, int is_native);
/* Return the present error, normalized, and take it away; raise it again, for which the reference is taken over. */
PyObject *take_error(void);
void set_error(PyObject *error);
/* Functions that are given no tensor, in `factories.c`. */
int add_factories(PyObject *module);
/* Return the object of a weak reference, as a new reference; NULL without an error where it lives no more. */
static inline PyObject *referent(PyObject *reference) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found;
    if (PyWeakref_GetRef(reference, &found) < 0) PyErr_Clear();
    return found;
#else
    PyObject *found = PyWeakref_GET_OBJECT(reference);
    return found == Py_None ? NULL : Py_NewRef(found);
#endif
}

/* Memory that crosses to the user, in `lending.c`. */
int add_lending(PyObject *module);
PyObject *call_factory(PyObject *factory, PyObject *python, PyObject *const *args, size_t flags, PyObject *names);
void forget_factory(PyObject *factory);
PyObject *target_of_factory(PyObject *factory);
/* Recording, in `recording.c`. */
int begin_recording(void);
int take_record(PyObject *spec, Target *target);
int traverse_record(Record *record, visitproc visit, void *arg);
void clear_record(Record *record);
PyObject *run_record(Target *target, PyObject **values, int *is_native);
/* Ready the type of `guards.c`, and add it. */
int add_guards(PyObject *module);
/* Recording in pipelines, in `pipelines.c`. */
int begin_pipelines(void);
int take_later(PyObject *spec, Target *target);
int traverse_later(Later *later, visitproc visit, void *arg);
void clear_later(Later *later);
PyObject *run_later(Target *target, PyObject **values, PyObject *state);
/* Calls that modes handle, in `modes.c`. */
int begin_modes(void);
int take_step(PyObject *spec, Target *target);
int traverse_step(Step *step, visitproc visit, void *arg);
void clear_step(Step *step);
PyObject *run_mode(Target *target, PyObject **values, PyObject *state, int *is_native);
/* Ready the types of `questions.c`, and add them to the module. */
int add_questions(PyObject *module);
/* Ready the type of `backward.c`, and add it. */
int add_backward(PyObject *module);
/* The parts of a front that types derived from it use. */
int front_traverse(PyObject *self, visitproc visit, void *arg);
int front_clear(PyObject *self);
void front_dealloc(PyObject *self);
extern PyGetSetDef front_getset[];
int is_kind_of_tensor(Layout *layout, PyTypeObject *type);

/* Return whether an object is a tensor whose two attributes are read as those of the class are. */
static inline int is_tensor(Layout *layout, PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    return type == layout->type || (type == layout->known && type->tp_version_tag == layout->version) || is_kind_of_tensor(layout, type);
}

/* Return the array of a tensor, as a new reference. */
static inline PyObject *array_of(Layout *layout, PyObject *tensor) {
    PyObject *data = Py_TYPE(tensor) == layout->type || is_tensor(layout, tensor) ? AT(tensor, layout->data) : NULL;
    return data ? Py_NewRef(data) : PyObject_GetAttr(tensor, s_data);
}

static inline int is_int(PyObject *value) {
    int overflow;
    if (!PyLong_CheckExact(value)) return 0;
    PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow;
}

#endif
