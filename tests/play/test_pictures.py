"""What panels show is what the machines of the library say of the same points."""

import io
import json
import re
from contextlib import redirect_stdout

import matplotlib
import numpy as np
import pytest

import lindero.svm
from lindero.play.machines import MACHINES
from lindero.play.panel import Panel, RefusalError, find_leads, write_script
from lindero.play.presets import PRESETS
from lindero.play.protocol import read_frame, read_request, write_frame

VIEW = [-2.0, 2.0, -2.0, 2.0]
N = 24


def make_request(points, *machines, **more):
    """As the page sends it."""
    message = {
        "kind": "picture", "sequence": 1, "points": points, "view": VIEW, "resolution": N,
        "machines": [
            dict(zip(("name", "parameters", "on_path"), m, strict=False)) for m in machines
        ],
        **more,
    }  # fmt: skip
    return read_request(json.dumps(message))


def show(panel, request, place=0):
    facts = panel.show(request, request.machines[place])
    return facts, panel.draw(request, request.resolution)


def look(request):
    """The facts of a picture that can be sent, or why there is none."""
    try:
        facts, arrays = show(Panel(), request)
    except RefusalError as refusal:
        return None, refusal
    _, back = read_frame(write_frame(facts, arrays))
    assert all(np.isfinite(block).all() for block in back.values())
    return facts, None


def grid(view=VIEW):
    across, up = np.linspace(*view[:2], N), np.linspace(*view[2:], N)
    return np.column_stack([np.tile(across, N), np.repeat(up, N)])


def cloud(n=40, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = (0.7 * random.normal(size=(n, 2)) + np.where(y[:, None] == 1, 0.5, -0.5)).round(3)
    return [[k, *X[k].tolist(), int(y[k]), -1] for k in range(n)]


def columns(points):
    return np.array([p[1:3] for p in points], dtype=float), np.array([p[3] for p in points])


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_svc_is_that_of_the_library(kernel, C):
    points = cloud()
    facts, arrays = show(
        Panel(), make_request(points, ("svc", {"kernel": kernel, "C": C, "gamma": 0.5}))
    )
    X, y = columns(points)
    given = {"degree": 2, "coef0": 1.0} if kernel == "poly" else {}
    model = lindero.svm.SVC(C=C, kernel=kernel, gamma=0.5, **given).fit(X, y)
    np.testing.assert_allclose(
        arrays["value"].ravel(), model.decision_function(grid()), rtol=1e-6, atol=1e-6
    )
    assert facts["wrong"] == np.flatnonzero(model.predict(X) != y).tolist()
    assert sorted(facts["free"] + facts["bounded"]) == sorted(model.support_.tolist())
    if kernel == "linear":
        assert facts["margin"] == pytest.approx(1.0 / np.linalg.norm(model.coef_))


def test_the_incremental_machine_follows_whatever_is_drawn_exactly():
    random = np.random.default_rng(3)
    points, panel = cloud(30), Panel()
    chosen = ("incremental", {"C": 5.0, "gamma": 0.8, "cost_second": 3.0})
    kinds = set()
    for step in range(60):
        kind = ("add", "erase", "move", "turn")[random.integers(4)]
        points = [list(p) for p in points]
        k = int(random.integers(len(points)))
        if kind == "add":
            x, y = random.normal(size=2).round(3).tolist()
            points.append([100 + step, x, y, int(random.integers(2)), -1])
        elif kind == "erase":
            points.pop(k)
        elif kind == "move":
            points[k][1:3] = random.normal(size=2).round(3).tolist()
        else:
            points[k][3] = 1 - points[k][3]
        facts, arrays = show(panel, make_request(points, chosen))
        if step:
            assert facts["exact"]["from_scratch"] is False
            assert facts["exact"]["microseconds"] > 0.0
            kinds.add((facts["exact"]["learned"], facts["exact"]["forgotten"]))
    assert kinds == {(1, 0), (0, 1), (1, 1), (0, 0)}
    anew_facts, anew = show(Panel(), make_request(points, chosen))
    np.testing.assert_allclose(arrays["value"], anew["value"], atol=1e-7)
    assert sorted(facts["free"]) == sorted(anew_facts["free"])
    assert sorted(facts["bounded"]) == sorted(anew_facts["bounded"])


def test_a_hard_margin_that_fails_on_the_way_is_found_again():
    panel, hard = Panel(), ("incremental", {"C": "inf", "kernel": "linear"})
    apart = [[0, -1.0, 0.0, 0, -1], [1, 1.0, 0.0, 1, -1], [2, 1.5, 0.0, 1, -1]]
    assert show(panel, make_request(apart, hard))[0]["wrong"] == []
    mixed = [*apart, [3, 1.2, 0.0, 0, -1]]
    with pytest.raises(RefusalError) as error:
        show(panel, make_request(mixed, hard))
    assert error.value.code == "not_separable"
    assert show(panel, make_request(apart, hard))[0]["margin"] == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["svc", "incremental", "cost-sensitive"])
@pytest.mark.parametrize("C", [0.02, 0.7, 30.0, 900.0])
def test_a_machine_on_its_path_is_the_machine_fitted(name, C):
    points, panel = cloud(), Panel()
    given = {"C": C, "gamma": 0.7}
    request = make_request(points, (name, given, True), kind="path")
    found = panel.find_path(request, request.machines[0])
    assert len(found["bends"]) > 20
    facts, arrays = show(panel, make_request(points, (name, given, True)))
    plain_facts, plain = show(Panel(), make_request(points, (name, given)))
    assert facts["on_path"] is True
    shift = 0.0
    if not plain_facts["free"]:  # any constant between two ends is optimal then
        shift = (arrays["value"] - plain["value"]).mean()
    np.testing.assert_allclose(arrays["value"], plain["value"] + shift, atol=2e-4)
    assert facts["wrong"] == plain_facts["wrong"] or shift
    assert facts["margins"] == pytest.approx(plain_facts["margins"])
    assert facts["margin"] == pytest.approx(plain_facts["margin"], rel=1e-3)
    assert sorted(facts["bounded"]) == sorted(plain_facts["bounded"])


def test_what_a_machine_warns_of_is_shown():
    request = make_request(cloud(), ("svc", {"kernel": "sigmoid", "gamma": 5.0}))
    facts, _ = show(Panel(), request)
    assert "not positive semi-definite" in facts["warnings"][0]
    assert facts["certificate"]["optimal"] is False
    assert show(Panel(), make_request(cloud(), ("svc", {})))[0]["warnings"] == []


def test_a_kernel_without_a_path_is_refused_with_the_reason():
    request = make_request(cloud(), ("svc", {"kernel": "sigmoid", "gamma": 5.0}, True), kind="path")
    with pytest.raises(RefusalError) as error:
        Panel().find_path(request, request.machines[0])
    assert re.search("path in C|positive semi-definite", error.value.values["message"])


@pytest.mark.parametrize("name", ["svc", "incremental", "naive-bayes", "svr", "adaptive"])
def test_without_a_point_is_a_picture_that_never_had_it(name):
    points, panel = cloud(), Panel()
    _, arrays = show(panel, make_request(points, (name, {}), without=7, leave_one_out=True))
    fewer = [p for p in points if p[0] != 7]
    _, others = show(Panel(), make_request(fewer, (name, {})))
    assert len(others) > 0
    for key, values in others.items():
        np.testing.assert_allclose(arrays[f"without_{key}"], values, atol=1e-6)


def test_the_error_of_leaving_each_point_out_is_that_of_refitting():
    points = cloud(24)
    X, y = columns(points)
    wrong = 0
    for k in range(24):
        kept = np.arange(24) != k
        model = lindero.svm.SVC(C=1.0, gamma=1.0).fit(X[kept], y[kept])
        wrong += int(model.predict(X[k : k + 1])[0] != y[k])
    for name in ("svc", "incremental"):
        facts, _ = show(Panel(), make_request(points, (name, {}), leave_one_out=True))
        assert facts["left_out_error"] == pytest.approx(wrong / 24)


def test_leads_of_three_classes_agree_with_predictions():
    random = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = random.normal(size=(60, 2)) + np.array([[0, 1], [1, -1], [-1, -1]])[y]
    model = lindero.svm.SVC(decision_function_shape="ovo").fit(X, y)
    leads = find_leads(model.decision_function(grid()))
    clear = leads.max(axis=0) > 0
    assert clear.mean() > 0.9
    assert (leads.argmax(axis=0) == model.predict(grid()))[clear].all()


@pytest.mark.parametrize("preset", list(PRESETS))
def test_code_of_every_preset_gives_the_same_predictions(preset):
    matplotlib.use("Agg")
    made = PRESETS[preset]()
    points = [[k, *p] for k, p in enumerate(made["points"])]
    machines = [(m["name"], m["parameters"]) for m in made["machines"]]
    request = make_request(
        points, *machines, view=made["view"], categories=bool((made["axes"] or {}).get("heights"))
    )
    for place, chosen in enumerate(request.machines):
        facts, arrays = show(Panel(), request, place)
        names = {}
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(write_script(request, chosen), preset, "exec"), names)
        matplotlib.pyplot.close("all")
        model, X = names["model"], grid(made["view"])
        if chosen.machine.family == "tube":
            across = np.linspace(*made["view"][:2], 241)[:, None]
            np.testing.assert_allclose(arrays["curve"], model.predict(across), atol=1e-9)
        elif chosen.machine.family == "moving":
            values = arrays["lines"] @ np.column_stack([X, np.ones(len(X))]).T
            for time in (0, 60, 199):
                own = model.predict(X, times=np.full(len(X), time))
                assert ((values[time] >= 0) == (own == 1)).all()
        else:
            if chosen.machine.family == "bayes" and preset == "tax":
                X = np.column_stack([X[:, 0], X[:, 1].round(), np.full(len(X), np.nan)])
            near = np.abs(arrays["value"].ravel()) < 1e-4
            told = (arrays["value"].ravel() >= 0).astype(int)
            assert (told == model.predict(X))[~near].all()
        if "wrong" in facts and chosen.machine.family != "tube":
            assert printed.getvalue().splitlines()[-1].startswith(f"{len(facts['wrong'])} of ")


@pytest.mark.parametrize("name", list(MACHINES))
def test_every_machine_says_in_a_word_why_it_shows_nothing(name):
    for points in ([], [[0, 0.0, 0.0, 0, -1]]):
        request = make_request(points, (name, {}))
        with pytest.raises(RefusalError) as error:
            Panel().show(request, request.machines[0])
        assert error.value.code in ("one_class", "few_points")
    heap = [[k, 0.5, 0.5, k % 2, -1] for k in range(6)]  # all at one place
    facts, said = look(make_request(heap, (name, {})))
    assert (facts and facts["labelled"] == 6) or len(said.values["message"]) > 20


def test_every_extreme_of_every_parameter_is_answered():
    points = cloud(20)
    for machine in MACHINES.values():
        for name, kind in machine.parameters.items():
            values = getattr(kind, "options", None) or (kind.low, kind.high)
            for value in [*values, *(["inf"] if getattr(kind, "endless", False) else [])]:
                given = {name: value} | ({"kernel": "poly"} if name in ("degree", "coef0") else {})
                request = make_request(points, (machine.name, given))
                facts, said = look(request)
                assert facts or said.code in ("not_separable", "refused"), (machine.name, given)


def test_frames_come_back_as_they_went():
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([np.inf, -1e300, np.nan])}
    header, back = read_frame(write_frame({"x": np.float64(np.nan), "é": [np.int64(3)]}, arrays))
    assert header["x"] is None
    assert header["é"] == [3]
    np.testing.assert_array_equal(back["a"], arrays["a"])
    assert np.isfinite(back["b"]).all()
