"""Counts against rows counted one at a time, by themselves and merged."""

import json
import os
import pickle
import subprocess
import sys
import tracemalloc
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes.counts import counting
from lindero.bayes.counts import counts as counts_module
from lindero.bayes.counts.counting import CodedRows, CountingPass, group_attributes
from lindero.bayes.counts.counts import Counts
from tests.naive.counts import family_table

#: Names of numbers of values: few, so that attributes are counted in groups; many, so that not.
CARDS = {
    "binary": [2] * 9,
    "mixed": [3, 1, 5, 2, 4, 2, 3],
    "wide": [40, 2, 300, 3, 2, 25],
    "one": [4],
}


def rows(cards, n_classes, n_rows=500, seed=0, missing=True, dtype=None):
    """Random codes and classes; every value may occur, and missing ones if asked for."""
    rng = np.random.default_rng(seed)
    dtype = dtype or (np.uint8 if max(cards) + 1 <= 255 else np.uint16)
    codes = np.stack([rng.integers(0 if missing else 1, r + 1, n_rows) for r in cards])
    return codes.astype(dtype), np.array(cards), rng.integers(0, n_classes, n_rows)


def count_singles(codes, cards, y, n_classes, weights=None, n_threads=None, **given):
    coded = CodedRows(codes, cards, y, n_classes, weights)
    return counts_module.count_singles(coded, n_threads, **given)


def count_pairs(codes, cards, y, n_classes, weights=None, n_threads=None, **given):
    coded = CodedRows(codes, cards, y, n_classes, weights)
    return counts_module.count_pairs(coded, n_threads, **given)


def count_families(codes, cards, y, n_classes, families, weights=None, n_threads=None, **given):
    coded = CodedRows(codes, cards, y, n_classes, weights)
    return counts_module.count_families(coded, families, n_threads, **given)


def assert_same_counts(one, other):
    """Bit for bit."""
    assert one.n_classes == other.n_classes
    assert_array_equal(one.cards, other.cards)
    assert_array_equal(one.of_class, other.of_class)
    assert_array_equal(one.singles, other.singles)
    assert_array_equal(one.pairs, other.pairs)


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", CARDS)
def test_every_table_is_that_of_rows_counted_one_at_a_time(kind, n_classes, missing):
    codes, cards, y = rows(CARDS[kind], n_classes, missing=missing)
    counts = count_pairs(codes, cards, y, n_classes)
    assert_array_equal(counts.of_class, np.bincount(y))
    for i in range(len(cards)):
        assert_array_equal(counts.single(i), family_table(codes, cards, y, n_classes, (i,)))
    for i, j in combinations(range(len(cards)), 2):
        expected = family_table(codes, cards, y, n_classes, (i, j))
        assert_array_equal(counts.pair(i, j), expected)
        assert_array_equal(counts.pair(j, i), expected.transpose(1, 0, 2))


@pytest.mark.parametrize("kind", CARDS)
def test_weights_are_added_in_place_of_ones(kind):
    codes, cards, y = rows(CARDS[kind], 3, seed=1)
    weights = np.random.default_rng(2).random(len(y))
    counts = count_pairs(codes, cards, y, 3, weights)
    alone = count_singles(codes, cards, y, 3, weights)
    assert_allclose(counts.of_class, np.bincount(y, weights), rtol=1e-13)
    for i in range(len(cards)):
        expected = family_table(codes, cards, y, 3, (i,), weights)
        assert_allclose(counts.single(i), expected, rtol=1e-13)
        assert_allclose(alone.single(i), expected, rtol=1e-13)
    for i, j in combinations(range(len(cards)), 2):
        expected = family_table(codes, cards, y, 3, (i, j), weights)
        assert_allclose(counts.pair(i, j), expected, rtol=1e-13)


@pytest.mark.parametrize("kind", CARDS)
def test_whole_weights_are_repeated_rows_bit_for_bit(kind):
    codes, cards, y = rows(CARDS[kind], 3, seed=3)
    times = np.random.default_rng(4).integers(0, 4, len(y))
    repeated = count_pairs(np.repeat(codes, times, axis=1), cards, np.repeat(y, times), 3)
    assert_same_counts(count_pairs(codes, cards, y, 3, times.astype(float)), repeated)


@pytest.mark.parametrize("kind", CARDS)
def test_attributes_counted_alone_are_those_counted_with_pairs(kind):
    codes, cards, y = rows(CARDS[kind], 4, seed=5)
    alone, whole = count_singles(codes, cards, y, 4), count_pairs(codes, cards, y, 4)
    assert alone.pairs is None
    assert_array_equal(alone.singles, whole.singles)
    assert_array_equal(alone.of_class, whole.of_class)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32])
@pytest.mark.parametrize("label_dtype", [np.int32, np.intp])
def test_types_of_codes_and_classes_make_no_difference(dtype, label_dtype):
    codes, cards, y = rows([3, 60, 2, 2], 2, seed=6)
    given = count_pairs(codes.astype(dtype), cards, y.astype(label_dtype), 2)
    assert_same_counts(given, count_pairs(codes, cards, y, 2))


@pytest.mark.parametrize("kind", CARDS)
def test_families_of_any_size_are_counted(kind):
    codes, cards, y = rows(CARDS[kind], 3, seed=7)
    weights = np.random.default_rng(8).random(len(y))
    families = [(0,), tuple(range(len(cards)))[-2:], tuple(range(len(cards)))[:3][::-1], ()]
    for given in (None, weights):
        tables = count_families(codes, cards, y, 3, families, given)
        for family, table in zip(families, tables, strict=True):
            assert_allclose(table, family_table(codes, cards, y, 3, family, given), rtol=1e-13)


@pytest.fixture
def many_blocks(monkeypatch):
    """Blocks of few rows, and threads for any work."""
    monkeypatch.setattr(counting, "_BLOCK_ROWS", 97)
    monkeypatch.setattr(counting, "_THREAD_WORK", 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", CARDS)
def test_any_number_of_threads_counts_the_same(kind, weighted, many_blocks):
    codes, cards, y = rows(CARDS[kind], 3, n_rows=1000, seed=9)
    weights = np.random.default_rng(10).random(len(y)) if weighted else None
    one = count_pairs(codes, cards, y, 3, weights, n_threads=1)
    families = [(0,), tuple(range(len(cards)))[:3]]
    one_table, one_more = count_families(codes, cards, y, 3, families, weights, n_threads=1)
    for n_threads in (2, 5, None):
        assert_same_counts(count_pairs(codes, cards, y, 3, weights, n_threads), one)
        table, more = count_families(codes, cards, y, 3, families, weights, n_threads)
        assert_array_equal(table, one_table)
        assert_array_equal(more, one_more)


def test_blocks_of_rows_add_up_to_the_whole(many_blocks, monkeypatch):
    codes, cards, y = rows(CARDS["wide"], 3, n_rows=1000, seed=11)
    blocked = count_pairs(codes, cards, y, 3)
    monkeypatch.undo()
    assert_same_counts(blocked, count_pairs(codes, cards, y, 3))


def test_little_memory_for_joint_tables_makes_groups_smaller_and_counts_no_different(monkeypatch):
    codes, cards, y = rows([2] * 24, 2, n_rows=40_000, seed=12, missing=False)
    expected = count_pairs(codes, cards, y, 2)
    roomy = CountingPass(CodedRows(codes, cards, y, 2), True)
    monkeypatch.setattr(counting, "_JOINT_BYTES", 1)
    tight = CountingPass(CodedRows(codes, cards, y, 2), True)
    assert len(tight.groups) > len(roomy.groups)
    assert sum(table.nbytes for table in tight.joint) <= 2 * tight.pairs.nbytes
    assert_same_counts(count_pairs(codes, cards, y, 2), expected)


def test_groups_hold_every_narrow_attribute_once_within_their_size():
    radix = np.array([3, 90, 2, 5, 5, 1, 7, 2, 64, 65])
    groups, wide = group_attributes(np.zeros(10, np.int64), radix, 64)
    assert wide.tolist() == [1, 9]
    members = np.concatenate([group.members for group in groups])
    assert sorted(members.tolist()) == [0, 2, 3, 4, 5, 6, 7, 8]
    assert max(group.slots for group in groups) <= 64
    assert len(groups) < len(members)
    for group in groups:
        assert group.slots == np.prod(radix[group.members])
        assert len(np.unique(group.codes(radix), axis=1).T) == group.slots


@pytest.mark.parametrize("kind", CARDS)
@pytest.mark.parametrize("count", [count_singles, count_pairs])
def test_counts_of_parts_merge_into_those_of_the_whole(kind, count):
    codes, cards, y = rows(CARDS[kind], 3, seed=13)
    merged = count(codes[:, :0], cards, y[:0], 3)
    for part in np.split(np.arange(len(y)), [7, 200, 201]):
        merged = merged.merge(count(codes[:, part], cards, y[part], 3))
    assert_same_counts(merged, count(codes, cards, y, 3))


@pytest.mark.parametrize("count", [count_singles, count_pairs])
def test_values_that_a_part_did_not_know_are_merged_too(count):
    codes, cards, y = rows([5, 3, 300, 2], 2, seed=14)
    first = np.flatnonzero((codes[0] < 3) & (codes[2] < 250))
    second = np.setdiff1d(np.arange(len(y)), first)
    assert codes[0, second].max() == 5
    assert codes[2, first].max() < 250
    before = count(codes[:, first], [2, 3, 249, 2], y[first], 2)
    kept = before.singles.copy()
    after = count(codes[:, second], cards, y[second], 2)
    whole = count(codes, cards, y, 2)
    assert_same_counts(before.merge(after), whole)
    assert_same_counts(after.merge(before), whole)
    assert_array_equal(before.singles, kept)
    assert before.cards.tolist() == [2, 3, 249, 2]


def test_counts_of_no_rows_and_of_no_attributes_are_empty():
    none = count_pairs(np.empty((3, 0), np.uint8), [2, 3, 0], np.empty(0, np.intp), 2)
    assert none.pair(0, 1).shape == (3, 4, 2)
    assert not none.pairs.any()
    assert_array_equal(none.of_class, [0.0, 0.0])
    bare = count_pairs(np.empty((0, 4), np.uint8), [], np.array([0, 1, 1, 1]), 2)
    assert_array_equal(bare.of_class, [1.0, 3.0])
    assert bare.n_attributes == 0


def test_an_attribute_without_any_value_has_only_missing_ones():
    codes, y = np.array([[0, 0, 0], [1, 2, 0]], dtype=np.uint8), np.array([0, 1, 1])
    counts = count_pairs(codes, [0, 2], y, 2)
    assert_array_equal(counts.single(0), [[1.0, 2.0]])
    assert_array_equal(counts.pair(0, 1), family_table(codes, [0, 2], y, 2, (0, 1)))


def test_counts_survive_pickling():
    codes, cards, y = rows(CARDS["mixed"], 2, seed=15)
    counts = count_pairs(codes, cards, y, 2)
    again = pickle.loads(pickle.dumps(counts))
    assert_same_counts(again, counts)
    assert_array_equal(again.pair(2, 0), counts.pair(2, 0))


def test_codes_and_classes_without_a_slot_are_refused():
    codes, cards, y = rows(CARDS["mixed"], 2, seed=16)
    unseen = codes.copy()
    unseen[2, 17] = 6
    for count in (count_singles, count_pairs):
        with pytest.raises(ValueError, match=r"Attribute 2 has codes from 0 to 6, outside .* to 5"):
            count(unseen, cards, y, 2)
    negative = codes.astype(np.int32)
    negative[4, 0] = -1
    with pytest.raises(ValueError, match="Attribute 4 has codes from -1"):
        count_families(negative, cards, y, 2, [(4,)])
    with pytest.raises(ValueError, match="y has classes from 0 to 1, outside of 0 to 0"):
        count_pairs(codes, cards, y, 1)


@pytest.mark.parametrize("short", ["cards", "y", "weights"])
def test_arguments_of_other_lengths_are_refused(short):
    codes, cards, y = rows(CARDS["mixed"], 2, seed=17)
    given = {"cards": cards, "y": y, "weights": np.ones(len(y))}
    given[short] = given[short][:-1]
    with pytest.raises(ValueError, match=f"^{short} has {len(given[short])} entries"):
        count_pairs(codes, n_classes=2, **given)


def test_tables_too_large_for_memory_are_refused_by_name_before_anything_is_counted():
    codes, y = np.ones((3, 4), dtype=np.int32), np.zeros(4, dtype=np.intp)
    cards, names = [30_000, 3, 20_000], ["street", "sex", "town"]
    message = r"8.94 GiB, more than 2 GiB.*'street' \(30000 values\) and 'town' \(20000 values\)"
    room = r"0.12 GiB and what belongs to them another 1.9 GiB, more than 2 GiB"
    with pytest.raises(ValueError, match=message):
        count_pairs(codes, cards, y, 2, names=names)
    with pytest.raises(ValueError, match=r"'street' .* and 'town'"):
        count_families(codes, cards, y, 2, [(0, 1), (0, 2)], names=names)
    with pytest.raises(ValueError, match=r"column 0 \(30000 values\) and column 2"):
        count_pairs(codes, [3, 3, 20_000], y, 2).merge(count_pairs(codes, [30_000, 3, 3], y, 2))
    assert count_singles(codes, cards, y, 2).single(0)[1].tolist() == [4.0, 0.0]
    with pytest.raises(ValueError, match=room):
        count_pairs(codes, [4000, 3, 2000], y, 2, room=1.9 * 2**30)


def test_a_network_holds_its_families_several_times():
    """Counts of 0.6 GiB would fit, but not with what is made of them."""
    codes, y = np.ones((2, 4), dtype=np.int32), np.zeros(4, dtype=np.intp)
    message = r"take 0.603 GiB and their network another 1.81 GiB, more than 2 GiB"
    with pytest.raises(ValueError, match=message):
        count_families(codes, [9000, 4495], y, 2, [(0, 1)])


def test_counts_of_many_attributes_without_pairs_take_little_room():
    codes = np.random.default_rng(20).integers(0, 3, (4000, 6)).astype(np.uint8)
    y = np.array([0, 1, 0, 1, 0, 1])
    tracemalloc.start()
    counts = count_singles(codes, np.full(4000, 2), y, 2)
    assert counts.single(3999).sum() == 6.0
    assert counts.merge(counts).single(3999).sum() == 12.0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # a number for each pair would take 128e6


def test_counts_that_do_not_belong_together_are_not_merged():
    codes, cards, y = rows([2, 3], 2, seed=18)
    counts = count_pairs(codes, cards, y, 2)
    with pytest.raises(
        ValueError, match=r"2 attributes and 2 classes .* 2 attributes and 3 classes"
    ):
        counts.merge(count_pairs(codes, cards, y, 3))
    with pytest.raises(ValueError, match="count both with count_pairs"):
        counts.merge(count_singles(codes, cards, y, 2))
    with pytest.raises(ValueError, match="none smaller than before"):
        counts.grow(np.array([2, 2]))


def test_pairs_that_are_not_there_are_refused():
    codes, cards, y = rows([2, 3], 2, seed=19)
    counts = count_pairs(codes, cards, y, 2)
    with pytest.raises(ValueError, match="two different attributes, got 1 twice"):
        counts.pair(1, -1)
    with pytest.raises(IndexError):
        counts.pair(0, 2)
    with pytest.raises(ValueError, match="hold no pairs"):
        count_singles(codes, cards, y, 2).pair(0, 1)


PROGRAM = """
import json
import numba
from tests.bayes.test_counts import rows, count_pairs
codes, cards, y = rows([2, 3, 2, 40], 2, n_rows=60)
counts = count_pairs(codes, cards, y, 2)
print(json.dumps([numba.config.DISABLE_JIT, counts.singles.tolist(), counts.pairs.tolist()]))
"""


def test_plain_python_counts_the_same():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    disabled, singles, pairs = json.loads(run.stdout)
    codes, cards, y = rows([2, 3, 2, 40], 2, n_rows=60)
    assert disabled
    counts = count_pairs(codes, cards, y, 2)
    assert isinstance(counts, Counts)
    assert_array_equal(counts.singles, singles)
    assert_array_equal(counts.pairs, pairs)
