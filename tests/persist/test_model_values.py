"""Values come back from the JSON of model files exactly as they were, or are refused by name."""

import json
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from lindero.errors import ModelFileError
from lindero.persist.values import ValueReader, ValueWriter
from lindero.solvers.solution import Status
from tests.naming import steady


def through_json(value):
    """A value written, turned into text and back, and read."""
    writer = ValueWriter()
    text = json.dumps(writer.value(value, "the value"), allow_nan=False)
    document = {"arrays": writer.array_entries, "objects": writer.objects}
    return ValueReader(document, writer.arrays).value(json.loads(text))


PLAIN = [
    None, True, False, 0, -1, 2**64 - 1, -(2**63), 0.1, -0.0, 5e-324, 1e308, "", "ñ \ud800 \x00",
    b"\x00a", [], [1, [2.0, ["three"]]], (), (1, (2, [3])), {}, {"a": 1, 2: (3, 4), (5, 6): None},
    Status.TIME_LIMIT, np.float64(0.1), np.int8(-3), np.bool_(True), np.str_("text"),
    np.bytes_(b"ab"), np.datetime64("2024-02-29T12:00", "us"), np.timedelta64(5, "D"),
    np.datetime64("NaT", "s"), np.float32(0.1),
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values(value):
    back = through_json(value)
    assert type(back) is type(value)
    assert repr(back) == repr(value)


@pytest.mark.parametrize("bits", ["7ff0000000000000", "fff0000000000000", "7ff8000000000001"])
def test_numbers_that_are_not_finite_keep_their_bits(bits):
    number = struct.unpack(">d", bytes.fromhex(bits))[0]
    assert struct.pack(">d", through_json(number)).hex() == bits


ARRAYS = [
    np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(24).reshape(2, 3, 4)[:, ::2], np.array([], dtype=np.int8), np.zeros((0, 5)),
    np.array(3.5), np.array([True, False]), np.array([np.nan, np.inf, -0.0]),
    np.array(["a", "longer", ""]), np.array([["x"], ["y"]]), np.array([b"ab", b"c"]),
    np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"), np.array([1, 2], dtype=">i4"),
    np.array(["a", None, 3, 2.5, True], dtype=object), np.float16([1.5]), np.uint64([2**64 - 1]),
    np.array([5, 7], dtype="timedelta64[25s]"),
]  # fmt: skip


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays(array):
    back = through_json(array)
    assert back.shape == array.shape
    assert back.dtype == array.dtype.newbyteorder("=")
    assert repr(back.tolist()) == repr(array.tolist())
    if array.flags.f_contiguous != array.flags.c_contiguous:
        assert back.flags.f_contiguous == array.flags.f_contiguous


@given(
    arrays_of.arrays(
        dtype=st.one_of(
            arrays_of.integer_dtypes(), arrays_of.unsigned_integer_dtypes(),
            arrays_of.floating_dtypes(sizes=(16, 32, 64)), arrays_of.boolean_dtypes(),
            arrays_of.unicode_string_dtypes(max_len=5), arrays_of.byte_string_dtypes(max_len=5),
        ),
        shape=arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)  # fmt: skip
def test_any_array(array):
    back = through_json(array)
    native = array.astype(array.dtype.newbyteorder("="))
    assert (back.shape, back.dtype) == (native.shape, native.dtype)
    assert back.tobytes() == native.tobytes()


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix])
def test_sparse_arrays(kind):
    matrix = kind(np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.0]]))
    back = through_json(matrix)
    assert type(back) is kind
    np.testing.assert_array_equal(back.toarray(), matrix.toarray())
    np.testing.assert_array_equal(back.indices, matrix.indices)


def test_other_sparse_formats_come_back_as_csr():
    back = through_json(sp.coo_array(np.eye(3)))
    assert back.format == "csr"
    np.testing.assert_array_equal(back.toarray(), np.eye(3))


def test_masked_arrays():
    masked = np.ma.MaskedArray([1.0, 2.0], mask=[False, True])
    back = through_json(masked)
    np.testing.assert_array_equal(back.mask, masked.mask)
    np.testing.assert_array_equal(back.data, masked.data)


def test_room_for_text_that_is_not_there_is_left_out():
    back = through_json(np.array(["a", "b"], dtype="<U100000"))
    assert back.tolist() == ["a", "b"]
    assert back.dtype.itemsize < 10_000


def test_an_array_that_is_met_twice_is_one_array_again():
    array = np.arange(3)
    one, two, three = through_json([array, (array,), array.copy()])
    assert one is two[0]
    assert one is not three


def test_a_value_nested_too_deep_is_refused():
    deep = []
    for _ in range(40):
        deep = [deep]
    with pytest.raises(TypeError, match="nested more than 24 deep"):
        through_json(deep)


class OfAUser:
    pass


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (OfAUser(), "OfAUser"),
        ({1, 2}, "builtins.set"),
        (1 + 2j, "builtins.complex"),
        (np.array([1 + 2j]), "complex128"),
        (np.array([OfAUser()], dtype=object), r"the value\[0\]"),
        (lambda x: x, "holds no code"),
        (np.random.RandomState(0), "an integer"),
        (2**64, "65 bits"),
        ({"a": [OfAUser()]}, r"\['a'\]\[0\]"),
        (np.zeros(2, dtype=[("a", float)]), "cannot hold"),
    ],
    ids=steady,
)
def test_what_a_file_cannot_hold_is_refused_by_name(value, reason):
    with pytest.raises(TypeError, match=reason):
        through_json(value)


UNSOUND = [
    {}, {"a": 1, "b": 2}, {"unknown": 1}, {"float": 1}, {"float": "zz"}, {"float": "00"},
    {"tuple": 1}, {"dict": [1]}, {"dict": [[1, 2, 3]]}, {"dict": [[[], 1]]}, {"bytes": "xy"},
    {"array": 0}, {"array": -1}, {"array": "0"}, {"array": True}, {"object": 0}, {"object": None},
    {"texts": {"shape": [2], "width": 1, "values": ["a"]}},
    {"texts": {"shape": [1], "width": 1, "values": ["ab"]}},
    {"texts": {"shape": [1], "width": 1, "values": [1]}},
    {"texts": {"shape": [1], "width": 2**40, "values": ["a"]}},
    {"texts": {"shape": [1], "width": 2000, "values": ["a"]}},
    {"texts": {"shape": [-1], "width": 1, "values": ["a"]}},
    {"things": {"shape": [3], "values": [1]}}, {"things": {"shape": [1], "values": [[1]]}},
    {"scalar": {"dtype": "object", "value": 1}}, {"scalar": {"dtype": "int8", "value": 1000}},
    {"scalar": {"dtype": "float64", "value": "1"}}, {"scalar": {"dtype": "int64", "value": 1.5}},
    {"scalar": {"dtype": "datetime64[xx]", "value": 1}}, {"scalar": 5}, {"masked": {}},
    {"masked": {"data": 1, "mask": 2}}, {"sparse": {}}, {"status": "FINE"}, {"status": 3}, 10**400,
    2**64,
]  # fmt: skip


@pytest.mark.parametrize("value", UNSOUND, ids=lambda value: str(value)[:60])
def test_json_that_is_no_value_is_refused(value):
    reader = ValueReader({"arrays": [], "objects": []}, [])
    with pytest.raises(ModelFileError):
        reader.value(value)


SPARSE = {"format": "csr", "matrix": False, "shape": [2, 3]}


@pytest.mark.parametrize(
    ("data", "indices", "ends"),
    [
        ([1.0], [3], [0, 1, 1]),
        ([1.0], [-1], [0, 1, 1]),
        ([1.0], [0], [0, 2, 1]),
        ([1.0], [0], [1, 1, 1]),
        ([1.0], [0], [0, 1]),
        ([1.0, 2.0], [0], [0, 1, 1]),
        ([1.0], [0], [0, 1, 2]),
    ],
)
def test_a_sparse_array_whose_indices_lead_outside_is_refused(data, indices, ends):
    arrays = [np.array(data), np.array(indices), np.array(ends)]
    entries = [{"dtype": array.dtype.name, "shape": list(array.shape)} for array in arrays]
    reader = ValueReader({"arrays": entries, "objects": []}, arrays)
    value = {**SPARSE, "data": {"array": 0}, "indices": {"array": 1}, "indptr": {"array": 2}}
    with pytest.raises(ModelFileError, match="sparse"):
        reader.value({"sparse": value})


@pytest.mark.parametrize(
    "entry",
    [
        None, {}, {"dtype": "float64"}, {"dtype": "float32", "shape": [2]},
        {"dtype": "float64", "shape": [3]}, {"dtype": "object", "shape": [2]},
        {"dtype": "datetime64[s]", "shape": [2]}, {"dtype": "float64", "shape": [2**70]},
        {"dtype": "float64", "shape": [1] * 40}, {"dtype": "S8", "shape": [2]},
        {"dtype": "float64", "shape": [2.0]},
    ],
    ids=steady,
)  # fmt: skip
def test_an_entry_that_is_not_that_of_its_array_is_refused(entry):
    with pytest.raises(ModelFileError):
        ValueReader({"arrays": [entry], "objects": []}, [np.zeros(2)])


def test_truth_values_are_zeros_and_ones():
    odd = np.array([0, 1, 2], dtype=np.uint8).view(bool)
    with pytest.raises(ModelFileError, match="booleans"):
        ValueReader({"arrays": [{"dtype": "bool", "shape": [3]}], "objects": []}, [odd])


def test_an_object_cannot_refer_to_itself_or_to_later_ones():
    for number in (0, 1):
        objects = [{"kind": "Schema", "fields": {"columns": {"tuple": [{"object": number}]}}}] * 2
        with pytest.raises(ModelFileError, match="does not come before"):
            ValueReader({"arrays": [], "objects": objects}, [])
