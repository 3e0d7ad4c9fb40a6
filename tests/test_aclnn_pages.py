"""The readers of the toolkit's pages and sources, on a page and sources of a few lines."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("dispatch_backend_npu", reason="the readers use the npu backend's table")
pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]

PAGE = """# aclnnRelu&aclnnInplaceRelu

## 产品支持情况

<!-- npu="950" id1 -->
- <term>Ascend 950</term>:不支持
<!-- end id1 -->
<!-- npu="A3,910b,910" id2 -->
- <term>A2</term>、<term>A3</term>、<term>910</term>\uff1a支持
<!-- end id2 -->

## 函数原型

## aclnnReluGetWorkspaceSize

- **参数说明:**
  <table><tr><th>参数名</th><th>描述</th><th>数据类型</th></tr>
  <tr><td rowspan="2">self(aclTensor*)</td><td>FLOAT</td><td rowspan="2">FLOAT、FLOAT16、BFLOAT16、UINT16</td></tr>
  <tr><td>INT8</td></tr>
  <tr><td>out</td><td>-</td><td>{out}</td></tr></table>

{blocks}

- **返回值:**

  <!-- npu="910b" id9 -->
  不支持FLOAT。
  <!-- end id9 -->

## aclnnRelu
"""

SOURCE = """
#include "lists.h"
namespace {
static bool IsNew(void) {
    auto version = GetCurrentPlatformInfo().GetSocVersion();
    return version >= SocVersion::ASCEND910B && version <= SocVersion::ASCEND910E;
}
static const std::initializer_list<DataType>& GetList(NpuArch arch) {
    static const std::map<NpuArch, std::initializer_list<DataType>> lists = {
        {NpuArch::DAV_1001, OLD}, {NpuArch::DAV_2201, NEW}};
    auto found = lists.find(arch);
    if (found == lists.end()) { return OLD; }
    return found->second;
}
static bool CheckDtypeValid(const aclTensor* self, const aclTensor* out, DataType& result) {
    OP_CHECK_DTYPE_NOT_SUPPORT(self, GetList(GetCurrentPlatformInfo().GetCurNpuArch()), return false);
    OP_CHECK_DTYPE_NOT_SAME(self, out, return false);
    result = IsNew() ? self->GetDataType() : op::PromoteType(self->GetDataType(), out->GetDataType());
    return true;
}
}
static aclnnStatus CheckParams(const aclTensor* self, const aclTensor* out, const aclTensorList* more, int64_t dim) {
    DataType result = DataType::DT_UNDEFINED;
    CHECK_RET(CheckDtypeValid(self, out, result), ACLNN_ERR_PARAM_INVALID);
    if (result == op::DataType::DT_INT8) {
        OP_LOGE(ACLNN_ERR_PARAM_INVALID, "a message; with a semicolon");
        return ACLNN_ERR_PARAM_INVALID;
    }
    if (dim < 0) { return ACLNN_ERR_PARAM_INVALID; }
    for (size_t i = 0; i < more->Size(); i++) {
        OP_CHECK_DTYPE_NOT_SUPPORT((*more)[i], NEW, return ACLNN_ERR_PARAM_INVALID);
    }
    switch (GetCurrentPlatformInfo().GetCurNpuArch()) {
        case NpuArch::DAV_2201:
        case NpuArch::DAV_3510: break;
        default: OP_CHECK(!CheckType(result, {op::DataType::DT_INT32}), OP_LOGE(1, "no"), return ACLNN_ERR_PARAM_INVALID);
    }
    return ACLNN_SUCCESS;
}
aclnnStatus aclnnTwiceGetWorkspaceSize(const aclTensor* self, const aclTensorList* more, int64_t dim, aclTensor* out) {
    auto ret = CheckParams(self, out, more, dim);
    CHECK_RET(ret == ACLNN_SUCCESS, ret);
    return ACLNN_SUCCESS;
}
"""
LISTS = """
static const std::initializer_list<op::DataType> OLD = {
    op::DataType::DT_FLOAT, op::DataType::DT_INT32, op::DataType::DT_INT8};
static const std::initializer_list<op::DataType> NEW = {
    op::DataType::DT_FLOAT, op::DataType::DT_INT32, op::DataType::DT_INT8, op::DataType::DT_BF16};
"""


@pytest.fixture
def pages(monkeypatch):
    """The module that reads pages."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    yield importlib.import_module("read_aclnn_pages")
    for name in ("read_aclnn_pages", "read_aclnn_sources"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("out", "blocks", "expected"),
    [
        ("FLOAT", "", {"910": "Float Half BFloat16; Float", "910B": "Float Half BFloat16; Float"}),
        ("与self一致", "", {"910": "Float Half BFloat16; Float Half BFloat16"}),
        (
            "与self一致",
            '<!-- npu="910" id7 -->\n- <term>910</term>:不支持BFLOAT16数据类型。\n<!-- end id7 -->',
            {"910": "Float Half; Float Half", "910B": "Float Half BFloat16; Float Half BFloat16"},
        ),
        (
            "FLOAT、INT64",
            '<!-- npu="910" id7 -->\n- <term>910</term>:数据类型支持FLOAT16、FLOAT。\n<!-- end id7 -->',
            {"910": "Float Half; Float", "910B": "Float Half BFloat16; Float Long"},
        ),
        (
            "FLOAT",
            '<!-- npu="A3" id7 -->\n- <term>A3</term>:self额外支持INT8,out数据类型额外支持BOOL、INT16。\n<!-- end id7 -->',
            {"910_93": "Float Half BFloat16 Char; Float Short Bool", "910B": "Float Half BFloat16; Float"},
        ),
        (
            "FLOAT、BOOL",
            '<!-- npu="910b" id7 -->\nself不支持FLOAT16;out不支持BOOL。当self为BFLOAT16时,不支持FLOAT。\n<!-- end id7 -->',
            {"910B": "Float BFloat16; Float", "910": "Float Half BFloat16; Float Bool"},
        ),
    ],
)
def test_a_page_gives_the_types_of_each_argument_on_each_family(pages, tmp_path, out, blocks, expected):
    folder = tmp_path / "relu" / "docs"
    folder.mkdir(parents=True)
    (folder / "aclnnRelu&aclnnInplaceRelu.md").write_text(PAGE.format(out=out, blocks=blocks), encoding="utf-8")
    page = pages.Page("aclnnRelu", pages.pages([tmp_path])["aclnnRelu"])
    assert page.chips == ["910_93", "910B", "910"]
    found = page.read()
    for chip, types in expected.items():
        assert [found[name][chip] for name in ("self", "out")] == [frozenset(each.split()) for each in types.split(";")]
    assert "950" not in found["self"]


def test_arguments_in_a_list_have_blocks_of_their_own(pages):
    text = PAGE.split("- **参数说明:**", maxsplit=1)[0] + (
        "- self\uff08aclTensor*,计算输入):公式中的`self`,数据类型支持FLOAT、INT8。\n- out(aclTensor*,计算输出):无。\n"
        '<!-- npu="A3,910b" id7 -->\n- 数据类型支持FLOAT。\n<!-- end id7 -->\n- **返回值:**\n## aclnnRelu\n'
    )
    found = pages.Page("aclnnRelu", pages.unicodedata.normalize("NFKC", text)).read()
    assert found["self"] == dict.fromkeys(["910_93", "910B", "910"], frozenset({"Float", "Char"}))
    assert found["out"] == dict.fromkeys(["910_93", "910B"], frozenset({"Float"}))


def test_a_table_of_limits_denies_types_to_the_families_of_its_columns(pages):
    limits = """## 约束说明

<table><thead><tr><th>约束类型</th>
<!-- npu="A3,910b" id7 -->
<th>A2</th>
<!-- end id7 -->
<!-- npu="910" id8 -->
<th>910</th>
<!-- end id8 -->
</tr></thead>
<tr><th scope="row">self</th><td>self数据类型不支持UINT16。</td><td>self不支持BFLOAT16。仅支持FLOAT16。</td></tr>
<tr><th scope="row">dim约束</th><td colspan="2">不支持FLOAT16</td></tr></table>

## 调用示例
"""
    text = PAGE.format(out="BFLOAT16、FLOAT", blocks="").replace("Relu", "Softmax") + "\n" + limits
    found = pages.Page("aclnnSoftmax", text).read()
    assert found["self"]["910"] == {"Float", "Half"}
    assert found["self"]["910B"] == {"Float", "Half", "BFloat16"}
    assert found["out"] == dict.fromkeys(["910_93", "910B", "910"], frozenset({"BFloat16", "Float"}))


@pytest.mark.parametrize(
    ("argument", "chip", "taken"),
    [
        ("self", "910B", {"DT_FLOAT", "DT_INT32", "DT_BF16"}),
        ("self", "910", {"DT_FLOAT"}),
        ("self", "310P", {"DT_FLOAT"}),
        ("more", "910B", {"DT_FLOAT", "DT_INT32", "DT_INT8", "DT_BF16"}),
    ],
)
def test_a_source_refuses_what_each_way_through_it_refuses(pages, argument, chip, taken):
    sources = pages.Sources({"ops/twice.cpp": SOURCE, "ops/lists.h": LISTS})
    name = "aclnnTwiceGetWorkspaceSize"
    assert sources.parameters(name) == ["self", "more", "dim", "out"]
    kinds = {"DT_FLOAT", "DT_INT32", "DT_INT8", "DT_BF16", "DT_BOOL"}
    assert {kind for kind in kinds if not sources.refuses(name, ["self", "more", "out"], argument, kind, chip)} == taken
    with pytest.raises(ValueError, match="do not have aclnnThrice"):
        sources.parameters("aclnnThrice")


def test_types_of_one_witness_alone_are_doubtful(pages):
    page, source = frozenset({"Float", "Half"}), frozenset({"Float", "Double"})
    assert pages.weigh(page, source) == ({"Float"}, {"Half", "Double"})
    assert pages.weigh(page, None) == (page, frozenset())
    assert pages.weigh(None, source) == (source, frozenset())
    assert pages.weigh(None, None) is None
    assert pages.weigh(page, frozenset({"Bool"})) == (page, {"Bool"})


def test_a_table_of_products_and_the_definition_tell_the_chips_of_an_older_page(pages, tmp_path):
    folder = tmp_path / "relu" / "docs"
    folder.mkdir(parents=True)
    table = """|产品|是否支持|
|:---|:---:|
|<term>Atlas A3 训练系列产品/Atlas A3 推理系列产品</term>|      ×     |
|<term>Atlas A2 训练系列产品</term>|      √     |
|<term>Atlas 训练系列产品</term>|      √     |
"""
    head, _, rest = PAGE.partition("<!-- npu=")
    text = f"{head}{table}\n{rest[rest.index('## 函数原型') :]}".format(out="FLOAT", blocks="")
    (folder / "aclnnRelu&aclnnInplaceRelu.md").write_text(text, encoding="utf-8")

    def chips():
        return pages.Page("aclnnRelu", pages.pages([tmp_path])["aclnnRelu"]).chips

    assert sorted(chips()) == ["910", "910B"]
    definition = tmp_path / "relu" / "op_host" / "relu_def.cpp"
    definition.parent.mkdir()
    definition.write_text('this->AICore().AddConfig("ascend910_93", config);', encoding="utf-8")
    assert sorted(chips()) == ["910", "910B", "910_93"]
