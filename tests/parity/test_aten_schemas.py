"""The operators' schemas and tags against torch's own."""

import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

from dispatch_aten.operators import ATEN  # noqa: E402  # after the skip

TAGS = {
    "pointwise",
    "reduction",
    "inplace",
    "out",
    "inplace_view",
    "nondeterministic_seeded",
    "data_dependent_output",
    "dynamic_output_shape",
}


@pytest.mark.parametrize("operator", ATEN, ids=[operator.name for operator in ATEN])
def test_a_schema_and_its_tags_are_torchs(operator):
    packet, _, overload = operator.name.partition(".")
    theirs = getattr(getattr(torch.ops.aten, packet), overload or "default")
    assert f"aten::{operator.schema}" == str(theirs._schema)
    assert TAGS & set(operator.tags) == {
        tag for tag in map(str, theirs.tags) for tag in [tag.rpartition(".")[2]] if tag in TAGS
    }
