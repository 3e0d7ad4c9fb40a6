from dispatch_aten.operators import ATEN, PRIMS
from dispatch_aten.variants import base_name, functional_of, inplace_of, is_inplace, is_out, out_of
from dispatch_core import FunctionSchema


def test_every_schema_parses_and_names_are_unique():
    for table in (ATEN, PRIMS):
        names = [str(FunctionSchema.parse(operator.schema).name) for operator in table]
        assert len(set(names)) == len(names)


def test_tags_agree_with_the_schemas():
    for operator in ATEN:
        schema = FunctionSchema.parse(operator.schema)
        written = [a for a in schema.arguments if a.alias is not None and a.alias.is_write]
        assert bool(written) == bool({"inplace", "out"} & set(operator.tags)), operator.name
        assert ("out" in operator.tags) == any(a.kwarg_only for a in written), operator.name


def test_every_out_overload_has_a_functional_one():
    for operator in ATEN:
        if "out" in operator.tags:
            assert functional_of(operator.name) is not None, operator.name
            assert is_out(operator.name)


def test_in_place_and_functional_overloads_find_each_other():
    for operator in ATEN:
        functional = functional_of(operator.name) if is_inplace(operator.name) else None
        if functional is not None:
            assert inplace_of(functional) == operator.name


def test_names_of_variants():
    assert functional_of("aten::pow_.Tensor") == "pow.Tensor_Tensor"
    assert functional_of("sum.IntList_out") == "sum.dim_IntList"
    assert functional_of("uniform_") == "uniform"
    assert functional_of("fill_diagonal_") is None
    assert functional_of("add.Tensor") is None
    assert inplace_of("sum") is None
    assert out_of("max.dim") == "max.dim_max"
    assert not is_inplace("__and__.Tensor")
    assert base_name("aten::div_.Tensor_mode") == "div_"


def test_there_are_operators_of_every_kind():
    tags = {tag for operator in ATEN for tag in operator.tags}
    assert tags == {
        "copy",
        "data_dependent_output",
        "dynamic_output_shape",
        "factory",
        "inplace",
        "inplace_view",
        "may_copy",
        "nondeterministic_seeded",
        "out",
        "pointwise",
        "reduction",
        "unknown_ok",
        "view",
    }
