"""Networks: their layout, what arcs tell, and tables on demand."""

import itertools

import numpy as np
import pandas as pd
import pytest

from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier, StructuralTM
from lindero.plot import NetworkDisplay
from lindero.plot.network import lay_out, measure_strengths

pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def weather():
    """Four columns, of which wet follows sky, and wind tells nothing."""
    rng = np.random.default_rng(0)
    sky = rng.integers(0, 3, 400)
    wet = np.where(rng.random(400) < 0.9, sky == 2, rng.random(400) < 0.5)
    warm = rng.random(400) < 0.3 + 0.2 * (sky == 0)
    y = np.where(rng.random(400) < 0.85, (sky == 0) & warm, rng.random(400) < 0.5)
    names = np.array(["sun", "clouds", "rain"])
    X = pd.DataFrame({"sky": names[sky], "wet": wet, "warm": warm, "wind": rng.random(400) < 0.5})
    return X, np.where(y, "out", "in")


def test_parents_stand_above_their_children():
    nodes = list("abcdefg")
    arcs = [("a", "b"), ("a", "c"), ("b", "d"), ("a", "d"), ("c", "e"), ("f", "e")]
    layout = lay_out(nodes, arcs)
    assert set(layout.places) == set(nodes)
    for parent, child in arcs:
        assert layout.places[parent][1] < layout.places[child][1]
    assert len(layout.bends["a", "d"]) == 1
    # f stands just above its child, and no two nodes in one place.
    assert layout.places["f"][1] == layout.places["c"][1]
    assert len(set(layout.places.values())) == len(nodes)
    assert lay_out(nodes, arcs) == layout


def test_crossings_are_untangled():
    arcs = [("a", "z"), ("b", "y"), ("c", "x")]
    places = lay_out(list("abcxyz"), arcs).places
    order = sorted("xyz", key=lambda node: places[node][0])
    above = sorted("abc", key=lambda node: places[node][0])
    partner = {child: parent for parent, child in arcs}
    assert [partner[node] for node in order] == above


def test_wide_layers_are_cut_into_rows_and_cycles_are_refused():
    nodes = [f"n{k}" for k in range(30)]
    layout = lay_out(["root", *nodes], [("root", node) for node in nodes], widest=6)
    rows = {y for _, y in layout.places.values()}
    assert len(rows) == 6
    for y in rows:
        assert sum(place[1] == y for place in layout.places.values()) <= 6
    with pytest.raises(ValueError, match="cycle"):
        lay_out(["a", "b"], [("a", "b"), ("b", "a")])


def find_joint(network):
    """The whole joint table, by enumeration: (values of each attribute…, classes)."""
    model = network.network
    sizes = [max(1, int(card)) for card in model.cards]
    joint = np.zeros((*sizes, model.n_classes))
    for where in itertools.product(*(range(size) for size in joint.shape)):
        *codes, c = where
        log = model.log_prior[c]
        for i, above in enumerate(model.parents):
            at = (*(codes[p] for p in above), codes[i], c if model.with_class[i] else 0)
            log += model.log_tables[i][at]
        joint[where] = np.exp(log)
    return joint


def tell(joint, x, parent, given):
    """Conditional mutual information in bits, by its definition."""
    axes = tuple(k for k in range(joint.ndim) if k not in (x, parent, *given))
    table = joint.sum(axis=axes, keepdims=True)
    of_given = table.sum(axis=(x, parent), keepdims=True)
    ratio = table * of_given / (table.sum(axis=x, keepdims=True) * table.sum(parent, keepdims=True))
    return float((table * np.log2(ratio)).sum())


@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), KDB(k=2)], ids=["nb", "tan", "kdb"])
def test_the_strength_of_an_arc_is_the_information_that_the_network_holds(model, weather):
    network = model.fit(*weather).network_
    joint = find_joint(network)
    assert joint.sum() == pytest.approx(1.0)
    strengths = measure_strengths(network)
    assert set(strengths) == set(network.arcs)
    place = {name: k for k, name in enumerate([*network.names, network.class_name])}
    for (parent, child), bits in strengths.items():
        others = [p for p, c in network.arcs if c == child and p != parent]
        given = [place[other] for other in others]
        expected = tell(joint, place[child], place[parent], given)
        assert bits == pytest.approx(expected, abs=1e-9), (parent, child)


@pytest.mark.parametrize(
    "model", [NaiveBayes(), TAN(), KDB(k=2), NetworkClassifier(arcs=[("sky", "wet")]),
              StructuralTM()], ids=lambda model: type(model).__name__
)  # fmt: skip
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_network_is_drawn_with_all_its_arcs(model, theme, weather):
    model.fit(*weather)
    display = NetworkDisplay.from_estimator(model, theme=theme)
    assert set(display.arrows_) == set(model.network_.arcs)
    used = {name for arc in model.network_.arcs for name in arc}
    assert used <= set(display.boxes_)
    texts = {text.get_text().replace("\n", "") for text in display.ax_.texts}
    assert used <= texts
    widest = max(display.arrows_.values(), key=lambda arrow: arrow.get_linewidth())
    strongest = max(display.strengths, key=display.strengths.get)
    assert display.arrows_[strongest] is widest


def test_bars_stand_for_arcs_from_the_class_where_there_are_many():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = (y[:, None] ^ (rng.random((300, 12)) < np.linspace(0.1, 0.5, 12))).astype(str)
    model = TAN().fit(X, y)
    display = NetworkDisplay.from_estimator(model)
    assert not any(parent == "class" for parent, _ in display.arrows_)
    assert display.boxes_["class"].get_y() < min(
        box.get_y() for name, box in display.boxes_.items() if name != "class"
    )
    assert display.bars_["x0"].get_width() > 5 * display.bars_["x11"].get_width()
    assert "all depend on class" in display.ax_.get_title(loc="left")
    again = display.plot(class_arcs=True)
    assert set(again.arrows_) == set(model.network_.arcs)
    assert again.bars_ == {}


def test_attributes_without_arcs_between_them_are_read_in_lines():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = (y[:, None] ^ (rng.random((300, 20)) < 0.3)).astype(str)
    display = NetworkDisplay.from_estimator(NaiveBayes().fit(X, y))
    assert display.arrows_ == {}
    assert len(display.bars_) == 20
    places = display.layout_.places
    read = sorted(places, key=lambda name: (places[name][1], places[name][0]))
    assert read == ["class", *(f"x{k}" for k in range(20))]


def test_tables_are_written_on_demand(weather):
    model = TAN().fit(*weather)
    display = NetworkDisplay.from_estimator(model, tables=["wet", "class"])
    assert set(display.tables_) == {"wet", "class"}
    head, _titles, *lines = display.tables_["wet"].splitlines()
    assert head.startswith("P(wet | class")
    network = model.network_
    i = network.names.index("wet")
    count = 2 * int(np.prod([network.network.cards[p] for p in network.network.parents[i]]))
    assert len(lines) == count
    numbers = [sum(map(float, line.split()[-2:])) for line in lines]
    np.testing.assert_allclose(numbers, 1.0, atol=2e-3)
    shown = [text.get_text() for text in display.ax_.texts]
    assert "\n\n".join(display.tables_.values()) in shown
    with pytest.raises(ValueError, match="There is no table of 'snow'"):
        display.plot(tables=["snow"])


def test_long_tables_end_with_what_is_left_out():
    rng = np.random.default_rng(0)
    X = np.char.add("v", rng.integers(0, 30, (900, 2)).astype(str))
    display = NetworkDisplay.from_estimator(TAN().fit(X, X[:, 0] > "v2"), tables=["x1"])
    assert display.tables_["x1"].splitlines()[-1].startswith("… ")
    assert len(display.tables_["x1"].splitlines()) < 16


def test_gaussian_columns_are_dotted():
    X = np.random.default_rng(0).normal(size=(60, 1))
    display = NetworkDisplay.from_estimator(NaiveBayes(numeric="gaussian").fit(X, X[:, 0] > 0))
    assert display.beside == ["x0"]
    assert display.boxes_["x0"].get_linestyle() in (":", "dotted")
    assert ("class", "x0") in display.arrows_


def test_a_hundred_attributes_are_refused_with_advice_and_chosen_ones_drawn():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = (y[:, None] ^ (rng.random((200, 100)) < np.linspace(0.1, 0.5, 100))).astype(str)
    model = NaiveBayes().fit(X, y)
    with pytest.raises(ValueError, match=r"100 attributes.*most=20.*columns="):
        NetworkDisplay.from_estimator(model)
    display = NetworkDisplay.from_estimator(model, most=5)
    assert len(display.boxes_) == 6
    assert {int(name[1:]) < 30 for name in display.nodes[1:]} == {True}
    assert "95 columns not in the picture" in display.ax_.get_title(loc="left")
    display = NetworkDisplay.from_estimator(model, columns=["x7", "x3"])
    assert display.nodes == ["class", "x3", "x7"]
    with pytest.raises(ValueError, match="columns names"):
        NetworkDisplay.from_estimator(model, columns=["y"])


def test_averages_of_networks_and_other_machines_are_refused(weather):
    with pytest.raises(ValueError, match=r"AODE has no single network.*TAN"):
        NetworkDisplay.from_estimator(AODE().fit(*weather))


def test_a_network_of_a_file_is_drawn(weather):
    network = TAN().fit(*weather).network_
    display = NetworkDisplay.from_estimator(type(network).from_bif(network.to_bif()))
    assert set(display.arrows_) == set(network.arcs)
