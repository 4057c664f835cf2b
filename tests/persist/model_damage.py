"""Ways to damage model files: their bytes, and what they say, sealed anew."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import numpy as np

from lindero.persist.container import pack
from lindero.persist.registry import all_kinds

KINDS = tuple(all_kinds())

NASTY: list[Any] = [
    None, True, False, 0, 1, 2, -1, 3, 127, 2**31 - 1, 2**31, -(2**63), 2**63, 10**30, 10**400, 0.5,
    -0.0, 1e308, 5e-324, "", "x", "linear", "precomputed", "rbf", "gaussian", "\ud800", "a" * 3000,
    [], {}, [[]], {"x": 1}, {"tuple": []}, {"dict": []}, {"dict": [[[], 1]]}, {"float": "7ff8"},
    {"float": "7ff0000000000000"}, {"float": "7ff8000000000001"}, {"bytes": "0g"},
    {"scalar": {"dtype": "float64", "value": 1.0}}, {"scalar": {"dtype": "int8", "value": 999}},
    {"scalar": {"dtype": "datetime64[s]", "value": 5}}, {"scalar": {"dtype": "object", "value": 1}},
    {"things": {"shape": [1], "values": ["a"]}}, {"things": {"shape": [10**9], "values": []}},
    {"texts": {"shape": [1], "width": 2**20, "values": ["a"]}}, {"status": "OPTIMAL"},
    {"status": "__class__"}, {"object": 0}, {"object": 10**6}, {"object": -1}, {"array": 0},
    {"array": 10**6}, {"array": -1}, {"array": 1.0}, {"array": True}, {"import": "os.system"},
    {"tuple": [1, 2]}, {"tuple": [{"array": 0}, {"array": 1}]},
]  # fmt: skip

NUMBERS = [0, 1, -1, 2, 5, 63, 127, -128, 255, 2**31 - 1, -(2**31), 2**62, np.nan, np.inf, 1e300]
LENGTHS = [0, 1, 2, 3, 10**6, 10**9, 2**31, 2**40, 2**63, -1]


# -- bytes ----------------------------------------------------------------------------------------


def flip(data: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(data)
    for place in rng.integers(0, len(damaged), rng.integers(1, 6)):
        damaged[place] = rng.integers(0, 256)
    return bytes(damaged)


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(len(data))]


def insert(data: bytes, rng: np.random.Generator) -> bytes:
    place = rng.integers(len(data))
    return data[:place] + rng.bytes(int(rng.integers(1, 40))) + data[place:]


def header_length(data: bytes, rng: np.random.Generator) -> bytes:
    length = int(rng.choice([0, 1, 7, 8, len(data), len(data) - 8, 2**31, 2**63 - 1]))
    return length.to_bytes(8, "little") + data[8:]


def header_text(data: bytes, rng: np.random.Generator) -> bytes:
    """Another shape, place or type of an array, or version of the format."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    name = str(rng.choice(list(header)))
    entry = header[name]
    if name == "__metadata__":
        about = json.loads(entry["lindero"])
        about[str(rng.choice(["format_version", "sha256"]))] = NASTY[rng.integers(len(NASTY))]
        entry["lindero"] = json.dumps(about)
    else:
        key = str(rng.choice(["dtype", "shape", "data_offsets"]))
        choices = [["F64", "I64", "BOOL", "BF16", "C64", "X"], LENGTHS, LENGTHS]
        among = choices[["dtype", "shape", "data_offsets"].index(key)]
        chosen = among[rng.integers(len(among))]
        entry[key] = chosen if key == "dtype" else [chosen] * int(rng.integers(0, 4))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


BYTES = {
    "bytes flipped": flip,
    "cut short": cut,
    "bytes inserted": insert,
    "length of the header": header_length,
    "text of the header": header_text,
}


# -- what they say --------------------------------------------------------------------------------

Places = list[tuple[Any, Any]]


def _places(root: Any) -> Places:
    """Every place of a document: what holds it, and its key or number there."""
    found: Places = []
    nodes = [root]
    while nodes:
        node = nodes.pop()
        items = list(node.items() if isinstance(node, dict) else enumerate(node))
        found += [(node, key) for key, _ in items]
        nodes += [value for _, value in items if isinstance(value, (dict, list))]
    return found


def _chosen(document: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    # What the estimator and its objects say is more worth damaging than notes.
    roots = [document[name] for name in ("estimator", "objects", "arrays") if document[name]]
    places = _places(roots[rng.integers(len(roots))])
    return places[rng.integers(len(places))]


def other_value(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    holder, key = _chosen(document, rng)
    # A copy: what is damaged next must not be what the others hold.
    holder[key] = copy.deepcopy(NASTY[rng.integers(len(NASTY))])


def swapped_values(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    one, two = _chosen(document, rng), _chosen(document, rng)
    text = json.dumps([one[0][one[1]], two[0][two[1]]])
    two[0][two[1]], one[0][one[1]] = json.loads(text)


def other_reference(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    """Another array or object in the place of one: also a later one, and the one it is in."""
    places = _places([document["estimator"], document["objects"]])
    places = [(holder, key) for holder, key in places if key in ("array", "object")]
    if places:
        holder, key = places[rng.integers(len(places))]
        holder[key] = int(rng.integers(0, len(document[f"{key}s"]) + 1))


def without_item(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    holder, key = _chosen(document, rng)
    del holder[key]


def item_twice(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    holder, key = _chosen(document, rng)
    if isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[key + "_"] = holder[key]


def other_name(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    holder, key = _chosen(document, rng)
    if isinstance(holder, dict):
        names = ["predict", "__class__", "__dict__", "_validate_params", "classes_", "x y", ""]
        holder[names[rng.integers(len(names))]] = holder.pop(key)


def other_kind(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    entries = [document["estimator"], *document["objects"]]
    entry = entries[rng.integers(len(entries))]
    entry["kind"] = KINDS[rng.integers(len(KINDS))].name


def deep(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    holder, key = _chosen(document, rng)
    depth = int(rng.choice([20, 30, 150]))
    for _ in range(depth):
        holder[key] = {"tuple": [holder[key]]} if rng.random() < 0.5 else [holder[key]]


def _one(arrays: list[Any], rng: np.random.Generator) -> int:
    return int(rng.integers(len(arrays)))


def other_numbers(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    """Numbers out of range in an array: indices, counts, values."""
    if not arrays:
        return
    k = _one(arrays, rng)
    array = arrays[k] = arrays[k].copy()
    value = NUMBERS[rng.integers(len(NUMBERS))]
    value = value if array.dtype.kind == "f" or np.isfinite(value) else 7
    with np.errstate(over="ignore", invalid="ignore"):
        value = np.asarray(value).astype(array.dtype)
        if array.size:
            where = slice(None) if rng.random() < 0.3 else rng.integers(0, array.size)
            array.reshape(-1)[where] = value


def other_size(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    """An array with more or fewer numbers, or another shape, as its entry says or not."""
    if not arrays:
        return
    k = _one(arrays, rng)
    flat = arrays[k].reshape(-1)
    ways = [
        lambda: flat[:-1],
        lambda: np.concatenate([flat, flat]),
        lambda: flat.reshape(-1, 1),
        lambda: flat.reshape(1, 1, -1),
        lambda: flat[:0],
        lambda: np.empty((0, 10**9), dtype=flat.dtype),
        lambda: np.ascontiguousarray(arrays[k].T),
        lambda: np.zeros((3, 4, 5), dtype=flat.dtype),
    ]
    arrays[k] = np.ascontiguousarray(ways[rng.integers(len(ways))]())
    if rng.random() < 0.9:
        document["arrays"][k] = {
            "dtype": document["arrays"][k]["dtype"], "shape": list(arrays[k].shape),
        }  # fmt: skip


def other_type(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    if not arrays:
        return
    k = _one(arrays, rng)
    names = ["int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "bool"]
    with np.errstate(all="ignore"):
        arrays[k] = arrays[k].astype(names[rng.integers(len(names))])
    document["arrays"][k] = {"dtype": arrays[k].dtype.name, "shape": list(arrays[k].shape)}


def said_otherwise(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    """An entry that declares what is not there."""
    if arrays:
        entry = document["arrays"][_one(arrays, rng)]
        names = ["dtype", "shape", "order"]
        values = [
            ["datetime64[s]", "S3", "S9999999", "object", "V8", "float64", "<U4", "datetime64[xs]"],
            [[LENGTHS[rng.integers(len(LENGTHS))]] * int(rng.integers(0, 4))],
            ["F", "C", "x"],
        ]
        at = rng.integers(3)
        entry[names[at]] = values[at][rng.integers(len(values[at]))]


def lost_array(document: Any, arrays: list[Any], rng: np.random.Generator) -> None:
    if arrays:
        del arrays[_one(arrays, rng)]
        if rng.random() < 0.5:
            del document["arrays"][-1]


MEANINGS = {
    "another value": other_value,
    "values swapped": swapped_values,
    "another reference": other_reference,
    "an item less": without_item,
    "an item twice": item_twice,
    "another name": other_name,
    "another kind": other_kind,
    "nested deep": deep,
    "numbers out of range": other_numbers,
    "an array of another size": other_size,
    "an array of another type": other_type,
    "an array said to be another": said_otherwise,
    "an array lost": lost_array,
}


def damaged(
    sound: tuple[bytes, str, list[Any]], kind: str, times: int, rng: np.random.Generator
) -> bytes:
    """A file damaged so many times in one way; `sound` is its bytes, document and arrays."""
    data, text, arrays = sound
    if kind in BYTES:
        for _ in range(times):
            data = BYTES[kind](data, rng) or data
        return data
    document, arrays = json.loads(text), list(arrays)
    for _ in range(times):
        # What is damaged already may have no place left to be damaged.
        with suppress(KeyError, IndexError, TypeError, ValueError, AttributeError):
            MEANINGS[kind](document, arrays, rng)
    return pack(document, arrays)
