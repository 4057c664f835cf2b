"""People at the playground, in a real browser."""

import io
import json
import re
from contextlib import redirect_stdout

import matplotlib
import numpy as np
import pytest

from tests.play.conftest import STATIC, RunningServer, Visitor

BLUE, ORANGE = [(-1, -1), (1, 1)], [(-1, 1), (1, -1)]
LEFT, RIGHT = [(-1.2, 0.5), (-0.8, -0.4), (-1.5, 0)], [(1.2, 0.4), (0.9, -0.5), (1.4, 0)]


def draw(visitor, blue, orange):
    """Points of both classes; orange is left chosen."""
    visitor.press("1").add(*blue).press("2").add(*orange)
    return visitor.settle()


def points_of(visitor):
    """What is drawn, as the browser exports it."""
    with visitor.page.expect_download() as waiting:
        visitor.click("#export")
    text = waiting.value.path().read_text()
    return [line.split(",") for line in text.splitlines()[1:]], text


# -- drawing ---------------------------------------------------------------------------------------


def test_the_page_opens_with_a_picture_and_asks_nobody_else(visit, server):
    visitor = visit()
    asked = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    visitor.page.on("websocket", lambda socket: asked.append(socket.url))
    visitor.open()
    here = f"127.0.0.1:{server.port}/{server.token}/"
    assert len(asked) > 8
    assert [url for url in asked if url.partition("://")[2][: len(here)] != here] == []
    assert visitor.n_points == 120
    assert "Optimal" in visitor.page.inner_text(".certificate")


def test_the_whole_page_is_small():
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < 200_000


def test_xor_drawn_by_hand_has_no_error_with_a_polynomial_kernel(visit):
    visitor = draw(visit(start="svc"), BLUE, ORANGE)
    visitor.set("kernel", "linear")
    assert visitor.fact("fact_error").startswith(("50.0 %", "25.0 %"))
    visitor.set("kernel", "poly")
    assert visitor.fact("fact_error") == "0.0 % (0/4)"
    assert visitor.fact("fact_free") == "4"
    assert "no point is on the wrong side" in visitor.sentence


def test_a_click_of_the_incremental_machine_is_one_exact_update(visit):
    visitor = draw(visit(start="incremental"), LEFT, RIGHT)
    before = visitor.picture()
    visitor.add((-0.2, 0.1)).settle()
    said = visitor.fact("update")
    assert re.search(r"1 learned, 0 forgotten; iterations: \d+, set changes: \d+; \d+", said), said
    assert "became" in visitor.sentence
    assert visitor.picture() != before


def test_erasing_a_support_vector_moves_the_boundary(visit):
    visitor = draw(visit(start="incremental"), LEFT, RIGHT)
    before = visitor.picture()
    visitor.press("e").add((-0.8, -0.4)).settle()
    assert visitor.n_points == 5
    assert "0 learned, 1 forgotten" in visitor.fact("update")
    assert "a support vector was erased" in visitor.sentence.lower()
    assert visitor.picture() != before


def test_dragging_a_point_learns_it_anew_and_forgets_where_it_was(visit):
    visitor = draw(visit(start="incremental"), LEFT, RIGHT)
    margin = visitor.fact("fact_margin")
    visitor.drag((0.9, -0.5), (0.6, -0.45), (0.1, -0.3)).settle()
    assert visitor.n_points == 6
    assert re.search(r"(\d) learned, \1 forgotten", visitor.fact("update"))
    assert visitor.fact("fact_margin") != margin
    assert ["0.1", "-0.3"] in [
        [f"{float(x):.1f}", f"{float(y):.1f}"] for x, y, _ in points_of(visitor)[0]
    ]


def test_the_right_button_adds_the_other_class_and_shift_click_removes(visit):
    visitor = visit(start="svc").press("1").add((-1, 0)).add((1, 0), button="right").settle()
    assert sorted(row[2] for row in points_of(visitor)[0]) == ["1", "2"]
    visitor.page.keyboard.down("Shift")
    visitor.add((1, 0))
    visitor.page.keyboard.up("Shift")
    visitor.settle()
    assert visitor.n_points == 1
    assert "two classes" in visitor.page.inner_text(".note")


def test_a_stroke_of_the_brush_is_undone_as_a_whole_and_done_again(visit):
    visitor = draw(visit(start="svc"), LEFT, RIGHT)
    visitor.press("b").drag((-1, 1), (-0.5, 1.2), (0.5, 1.2), (1, 1)).settle()
    many = visitor.n_points
    assert many > 8
    assert visitor.click("#undo").settle().n_points == 6
    assert visitor.press("Control+Shift+z").settle().n_points == many
    assert visitor.press("Control+z").settle().n_points == 6


def test_clearing_says_what_to_do_and_can_be_undone(visit):
    visitor = visit().click("#clear").settle()
    assert visitor.n_points == 0
    assert "Draw points of two classes" in visitor.page.inner_text(".note")
    assert visitor.click("#undo").settle().n_points == 120
    assert not visitor.page.is_visible(".note")


def test_jitter_moves_every_point_and_none_far(visit):
    visitor = draw(visit(start="svc"), LEFT, RIGHT)
    before = np.array(points_of(visitor)[0], dtype=float)
    visitor.press("j").settle()
    after = np.array(points_of(visitor)[0], dtype=float)
    moved = np.abs(after - before)[:, :2]
    assert (moved.max(axis=1) > 0).all()
    assert moved.max() <= 0.061


# -- machines --------------------------------------------------------------------------------------


def test_a_hard_margin_that_cannot_be_is_said_to_be_so(visit):
    visitor = draw(visit(start="svc"), BLUE, ORANGE).set("kernel", "linear")
    visitor.page.check("[data-endless=C]")
    visitor.settle()
    assert "keeps all points on their side" in visitor.page.inner_text(".note")
    visitor.set("kernel", "poly")
    assert not visitor.page.is_visible(".note")
    assert visitor.fact("fact_error") == "0.0 % (0/4)"


def test_costs_move_the_boundary_away_from_the_dear_class(visit):
    visitor = visit().preset("costs")
    plain = visitor.fact("fact_error", 0)
    assert visitor.fact("fact_error", 1) != plain
    before = visitor.picture(1)
    visitor.set("cost_second", 0, place=1)
    assert visitor.fact("fact_error", 1) == plain
    assert visitor.picture(1) != before


def test_the_time_slider_turns_the_line(visit):
    visitor = visit().preset("rotating")
    last = visitor.picture()
    assert visitor.page.inner_text(".time output") == "200 of 200"
    assert visitor.fact("fact_error", 0).startswith("0.0 %")
    visitor.page.locator("[data-panel='0'] [data-time]").fill("60")
    assert visitor.page.wait_for_selector("text='61 of 200'")
    middle = visitor.picture()
    visitor.page.focus("[data-panel='0'] [data-time]")
    visitor.press("Home")
    assert visitor.page.wait_for_selector("text='1 of 200'")
    assert len({last, middle, visitor.picture()}) == 3


def test_play_goes_through_time_and_stops(visit):
    visitor = visit().preset("rotating")
    visitor.page.evaluate("""() => {
      const output = document.querySelector(".time output");
      window.seen = [];
      new MutationObserver(() => window.seen.push(parseInt(output.textContent)))
        .observe(output, { childList: true, characterData: true, subtree: true });
    }""")
    visitor.click("[data-panel='0'] [data-play]")
    visitor.page.wait_for_selector("[data-play]:text('Pause')")
    visitor.page.wait_for_selector("[data-play]:text('Play')")
    seen = visitor.page.evaluate("() => window.seen")
    assert seen == sorted(seen)
    assert len(set(seen)) > 3
    assert seen[-1] == 200


def test_a_regression_has_a_tube(visit):
    visitor = visit().preset("sine")
    outside = int(visitor.fact("fact_outside"))
    assert 0 < outside < 60
    visitor.set("epsilon", 0)
    assert int(visitor.fact("fact_outside")) + int(visitor.fact("fact_on_edge")) == 60
    visitor.add((0.1, 1.8)).settle()
    assert visitor.n_points == 61


def test_bayesian_networks_are_drawn_with_their_arcs(visit):
    visitor = visit().preset("tax")
    assert "nothing else does" in visitor.page.inner_text("figcaption >> nth=1")
    before = visitor.picture()
    visitor.set("third", "second")
    assert visitor.picture() != before  # those with a refund are honest
    visitor.preset("xor").choose_machine("naive-bayes")
    assert float(visitor.fact("fact_error").split()[0]) > 20
    visitor.choose_machine("tan").set("numbers", "quantile")
    visitor.set("parts", 0)
    assert "besides: x → y" in visitor.page.inner_text("figcaption >> nth=1")
    assert float(visitor.fact("fact_error").split()[0]) < 20
    generative = float(visitor.fact("fact_log_loss"))
    visitor.set("learning", "discriminative")
    assert int(visitor.fact("fact_passes")) > 1
    assert float(visitor.fact("fact_log_loss")) <= generative


def test_unlabelled_points_get_labels_from_the_transductive_machine(visit):
    visitor = visit().preset("few-labels")
    assert visitor.fact("fact_error", 0) == "0.0 % (0/8)"
    assert visitor.fact("fact_unused", 1) == "142"
    before = visitor.picture(0)
    visitor.press("0").add((1.8, -1.8)).settle()
    assert visitor.fact("fact_unused", 1) == "143"
    assert visitor.picture(0) != before


def test_three_classes_are_for_machines_that_can_tell_them_apart(visit):
    visitor = draw(visit(start="svc"), LEFT, RIGHT)
    visitor.press("3").add((0, 1.5), (0.2, 1.2), (-0.2, 1.4)).settle()
    assert visitor.fact("fact_error") == "0.0 % (0/9)"
    visitor.choose_machine("incremental")
    assert "two classes apart" in visitor.page.inner_text(".note")
    assert visitor.choose_machine("naive-bayes").fact("fact_error") == "0.0 % (0/9)"


def test_every_preset_is_a_picture(visit):
    visitor = visit()
    names = visitor.page.eval_on_selector_all("#preset option", "all => all.map(o => o.value)")
    assert len(names) == 10
    for name in reversed(names):
        visitor.preset(name)
        assert visitor.n_points >= 10
        for place in range(visitor.page.locator(".panel").count()):
            assert not visitor.page.locator(".note").nth(place).is_visible()
            kind = "fact_mean_error" if name == "sine" else "fact_error"
            assert visitor.fact(kind, place)


# -- insight ---------------------------------------------------------------------------------------


def test_two_machines_stand_side_by_side_on_the_same_points(visit):
    visitor = draw(visit(start="svc"), BLUE, ORANGE).set("kernel", "poly")
    visitor.press("t").settle()
    visitor.choose_machine("naive-bayes", 1)
    assert visitor.fact("fact_error", 0) == "0.0 % (0/4)"
    assert visitor.fact("fact_error", 1) != "0.0 % (0/4)"
    visitor.page.mouse.click(*visitor.spot(0, 1.5, 1))
    assert visitor.settle().n_points == 5
    assert visitor.fact("fact_error", 0).endswith("/5)")
    boxes = [visitor.page.locator(".panel").nth(k).bounding_box() for k in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] < boxes[1]["x"]


def test_leaving_one_out_shows_the_boundary_without_the_point_under_the_cursor(visit):
    visitor = draw(visit(start="incremental"), LEFT, RIGHT)
    before = visitor.press("l").settle().picture()
    assert visitor.fact("fact_left_out") == "0.0 %"
    visitor.page.mouse.move(*visitor.spot(-0.8, -0.4))
    visitor.settle()
    assert "dashed line" in visitor.sentence
    assert visitor.picture() != before
    visitor.page.mouse.move(*visitor.spot(0, -1.9))
    visitor.settle()
    assert visitor.picture() == before
    assert visitor.n_points == 6


def test_the_slider_of_c_goes_along_the_exact_path(visit):
    visitor = visit().preset("moons").choose_machine("svc")
    exact = [visitor.set("C", place).fact("fact_margin") for place in (60, 200)]
    visitor.page.check("[data-path]")
    visitor.page.wait_for_selector("text=/\\d+ bends: \\d+ below/")
    visitor.settle()
    assert int(re.search(r"(\d+) bends", visitor.page.inner_text(".path"))[1]) > 50
    along = [visitor.set("C", place).fact("fact_margin") for place in (60, 200)]
    assert "exact path" in visitor.page.inner_text(".certificate")
    assert along == exact
    visitor.add((-1.8, -1.8)).settle()
    visitor.page.wait_for_selector("text=/\\d+ bends: \\d+ below/")


def test_the_sentence_says_what_a_click_did(visit):
    visitor = draw(visit(start="svc"), LEFT, RIGHT)
    visitor.add((0.1, 0)).settle()
    assert re.search(r"became (a )?support vectors?", visitor.sentence)
    assert re.search(r"margin (shrank|grew) from [\d.]+ to [\d.]+", visitor.sentence)


# -- keeping it ------------------------------------------------------------------------------------


def test_the_address_keeps_the_picture(visit):
    visitor = draw(visit(start="svc"), LEFT, RIGHT).set("kernel", "poly")
    rows, _ = points_of(visitor)
    visitor.page.wait_for_selector(
        f"body[data-kept='{visitor.page.get_attribute('body', 'data-revision')}']"
    )
    other = visit(visitor.page.url)
    assert points_of(other)[0] == rows
    assert other.page.input_value("[data-parameter=kernel]") == "poly"
    assert other.fact("fact_margin") == visitor.fact("fact_margin")


def test_an_address_that_means_nothing_is_as_good_as_none(visit, server):
    visitor = visit(f"{server.address}#nonsense")
    for part in ("AAAA", "%00", "q1ZKVLJSMFSqBQA", "A" * 100_000):
        visitor.page.evaluate("part => { location.hash = part; }", part)
    assert visitor.settle().n_points == 120
    assert visitor.preset("xor").n_points == 48


def test_points_go_out_as_csv_and_come_back(visit, tmp_path):
    visitor = draw(visit(start="svc"), LEFT, RIGHT).press("0").add((0, 1)).settle()
    rows, text = points_of(visitor)
    path = tmp_path / "points.csv"
    path.write_text(text)
    visitor.click("#clear").settle()
    before = visitor.page.get_attribute("body", "data-revision")
    visitor.page.set_input_files("#file", path)
    visitor.page.wait_for_selector(f"body:not([data-revision='{before}'])")
    assert points_of(visitor.settle())[0] == rows
    path.write_text("x;y;class\n1,5;2;yes\n2;3,5;no\n")
    visitor.page.set_input_files("#file", path)
    visitor.page.wait_for_selector("#count:text('2 points')")
    assert sorted(points_of(visitor.settle())[0]) == [["1.5", "2", "2"], ["2", "3.5", "1"]]
    path.write_text("x,y\n1,2\n3,what\n")
    visitor.page.set_input_files("#file", path)
    visitor.page.wait_for_selector("#sentence:text('Row 2')")
    path.write_text("\n".join("1,2" for _ in range(2001)))
    visitor.page.set_input_files("#file", path)
    visitor.page.wait_for_selector("#sentence:text('more than 2000')")


def test_copied_code_reproduces_the_picture(visit):
    matplotlib.use("Agg")
    visitor = visit()
    for preset in ("xor", "costs", "rotating", "sine", "tax", "few-labels"):
        run_copied_code(visitor, preset)


def run_copied_code(visitor, preset):
    visitor.preset(preset)
    shown = visitor.fact("fact_mean_error" if preset == "sine" else "fact_error")
    visitor.click("#script")
    visitor.page.wait_for_selector("#code[open]")
    code = visitor.page.input_value("#code-text").split("import numpy as np\n")[1]
    names, printed = {}, io.StringIO()
    with redirect_stdout(printed):
        exec(compile("import numpy as np\n" + code, preset, "exec"), names)
    matplotlib.pyplot.close("all")
    if preset == "sine":
        assert float(re.search(r"mean error ([\d.]+)", printed.getvalue())[1]) == pytest.approx(
            float(shown), abs=1e-3
        )
    else:
        wrong = re.search(r"(\d+) of \d+ points", printed.getvalue())[1]
        assert f"({wrong}/" in shown
    visitor.click("#code-close")


# -- everybody -------------------------------------------------------------------------------------


def test_everything_can_be_done_with_the_keyboard(visit):
    visitor = visit(start="svc")
    page = visitor.page
    page.focus("#two")
    for _ in range(12):
        visitor.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "CANVAS":
            break
    assert page.evaluate("document.activeElement.matches('.plane canvas:focus-visible')")
    visitor.press("1", "Shift+ArrowLeft", "Enter", "2", "Shift+ArrowRight", "Shift+ArrowRight")
    visitor.press("Enter").settle()
    assert visitor.n_points == 2
    assert visitor.fact("fact_error") == "0.0 % (0/2)"
    assert sorted(points_of(visitor)[0]) == [["-0.5", "0", "1"], ["0.5", "0", "2"]]
    page.focus(".plane canvas")
    visitor.press("Shift+ArrowRight", "m")
    assert "arrows move it" in page.inner_text("#spoken")
    visitor.press("ArrowRight", "ArrowUp", "m").settle()
    assert ["0.5625", "0.0625", "2"] in points_of(visitor)[0]
    page.focus(".plane canvas")
    visitor.press("Control+z").settle()
    assert ["0.5", "0", "2"] in points_of(visitor)[0]
    page.focus(".plane canvas")
    visitor.press("Shift+ArrowLeft", "Delete").settle()
    assert visitor.n_points == 1
    page.focus("[role=radiogroup] [aria-checked=true]")
    visitor.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.labelOf") == "2"


def test_everything_has_a_name_and_text_can_be_read(visit):
    visitor = visit().preset("rotating")
    unnamed = visitor.page.evaluate("""() => {
      const named = (e) => e.getAttribute("aria-label") || e.textContent.trim() || e.title
        || [...(e.labels ?? [])].map((l) => l.textContent.trim()).join("");
      return [...document.querySelectorAll("button, select, input:not([hidden]), canvas[tabindex],"
        + " textarea, [role=img], [role=group], [role=radiogroup]")]
        .filter((e) => !named(e)).map((e) => e.outerHTML);
    }""")
    assert unnamed == []
    faint = visitor.page.evaluate("""() => {
      const parse = (c) => c.match(/[\\d.]+/g).map(Number);
      const light = ([r, g, b]) => {
        const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
      };
      const behind = (e) => {
        for (; e; e = e.parentElement) {
          const c = parse(getComputedStyle(e).backgroundColor);
          if (c.length === 3 || c[3] > 0.5) return c;
        }
        return [255, 255, 255];
      };
      const found = [];
      for (const e of document.querySelectorAll("body *")) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (!own || !e.checkVisibility() || e.disabled || e.closest("svg")) continue;
        const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) found.push([e.outerHTML.slice(0, 80), ratio]);
      }
      return found;
    }""")
    assert faint == []


def test_a_narrow_screen_and_a_finger_are_enough(visit):
    visitor = visit(
        viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True,
        device_scale_factor=2,
    )  # fmt: skip
    page = visitor.page
    for name in ("moons", "rotating", "tax"):
        visitor.preset(name)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    visitor.preset("moons")
    page.tap("[data-label-of='1']")
    page.touchscreen.tap(*visitor.spot(-1.7, -1.7))
    assert visitor.settle().n_points == 121
    small = page.evaluate("""() => [...document.querySelectorAll("button, select")]
      .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 36).length""")
    assert small == 0


def test_it_speaks_spanish(visit):
    visitor = visit(locale="es-AR")
    assert visitor.page.inner_text("#undo") == "Deshacer"
    assert "margen es 0," in visitor.sentence
    visitor.page.select_option("#language", "en")
    assert visitor.settle().page.inner_text("#undo") == "Undo"
    assert "margin is 0." in visitor.sentence
    left = visitor.page.evaluate("document.body.innerText")
    assert not re.search(r"\b(puntos|frontera|máquina)\b", left)


def test_both_languages_have_all_texts():
    texts = json.loads((STATIC / "texts.json").read_text(encoding="utf-8"))
    assert set(texts["en"]) == set(texts["es"])
    named = {name for text in texts.values() for name in text}
    for name in named:
        places = [set(re.findall(r"\{\w+\}", texts[k][name])) for k in ("en", "es")]
        assert places[0] == places[1], name
    used = set()
    for path in [*STATIC.glob("*.js"), STATIC / "index.html"]:
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(r"""(?:say\(|data-(?:text|title|label)=)"(\w+)\"""", text))
    assert len(used) > 40
    assert used - named == set()


def test_two_tabs_have_pictures_of_their_own(visit):
    one, two = visit(start="incremental"), visit(start="incremental")
    draw(one, LEFT, RIGHT)
    draw(two, BLUE, ORANGE)
    one.add((0.3, 0.8)).settle()
    two.add((0.2, 1.7)).settle()
    assert (one.n_points, two.n_points) == (7, 5)
    for visitor in (one, two):
        assert "1 learned, 0 forgotten" in visitor.fact("update")
        assert visitor.fact("fact_error").endswith(f"/{visitor.n_points})")


def test_a_server_that_is_started_again_is_found_with_nothing_lost(browser):
    running = RunningServer()
    context = browser.new_context(viewport={"width": 1280, "height": 950})
    try:
        visitor = Visitor(context.new_page(), running.address).open()
        visitor.choose_machine("svc").click("#clear")
        draw(visitor, LEFT, RIGHT)
        running.stop()
        visitor.page.wait_for_selector("body[data-connected=no]")
        assert "Start lindero play again" in visitor.page.inner_text("#connection")
        visitor.add((0, 1.5))
        running.start()
        other = Visitor(context.new_page(), running.address).open()  # as the command opens it
        assert other.n_points == 120
        visitor.page.wait_for_selector("body[data-connected=yes]")
        visitor.settle()
        assert visitor.n_points == 7
        assert visitor.fact("fact_error").endswith("/7)")
        assert visitor.add((0.1, 1.2)).settle().fact("fact_error").endswith("/8)")
    finally:
        context.close()
        running.stop()
