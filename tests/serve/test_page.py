"""The page for people, in a real browser."""

import json
import re

import numpy as np
import pytest

from lindero.bayes import NaiveBayes
from lindero.serve import Client, OnlineStore
from lindero.svm import IncrementalSVC
from tests.serve.running import serving
from tests.serve.test_store import KERNEL, make_rows

TOKEN = "page-0123456789abcdefghijklmn"
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    X, y = make_rows(120)
    store = OnlineStore(
        tmp_path_factory.mktemp("page") / "store.db", IncrementalSVC(**KERNEL), name="fraud"
    )
    store.add("counts", NaiveBayes(numeric="gaussian"))
    ids = [EVIL, "17", *(f"card {i}" for i in range(118))]
    store.learn(X[:20], y[:20], ids=ids[:20], model="fraud")
    store.learn(X[:20], y[:20], model="counts")
    for i in range(20, 120):
        store.learn(X[i : i + 1], y[i : i + 1], ids=ids[i : i + 1], model="fraud")
    with serving(store, tokens=f"page read,forget {TOKEN}\nboard read {TOKEN}x") as server:
        yield server


@pytest.fixture(params=[1000, 360])
def page(request, browser, server):
    context = browser.new_context(viewport={"width": request.param, "height": 800})
    page = context.new_page()
    page.said, page.asked = [], []
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("console", lambda message: page.said.append(message.text))
    page.on("request", lambda asked: page.asked.append(asked.url))
    page.goto(server.url)
    page.wait_for_selector("#token-form:not([hidden])")
    yield page
    context.close()


def enter(page, token=TOKEN):
    page.fill("#token", token)
    page.click("#token-form button")


def show(page, model):
    enter(page)
    page.wait_for_selector("#main:not([hidden])")
    page.select_option("#model", model)
    kind = {"fraud": "IncrementalSVC", "counts": "NaiveBayes"}[model]
    page.wait_for_selector(f'#about:has-text("{kind}")')


def test_the_page_shows_what_the_server_says(page, server):
    show(page, "fraud")
    page.wait_for_selector("#certificate:text-is('Optimal')")
    with Client(server.url, token=TOKEN, model="fraud") as client:
        told = client.metrics()
    assert page.text_content("#score") == f"{100 * told['scores']['accuracy']:.1f} %"
    assert "of 100 rows" in page.text_content("#score-more")
    assert page.text_content("#drift") in ("Steady", "Better", "Worse")
    points = page.get_attribute("#curve polyline", "points").split()
    assert len(points) == len(told["curve"]) == 5
    heights = [float(point.split(",")[1]) for point in points]
    values = [point["value"] for point in told["curve"]]
    assert np.corrcoef(heights, values)[0, 1] < -0.999
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # Nothing but this server is asked, and nothing is said but that a token was wanted.
    assert all(url.startswith((server.url, "blob:")) for url in page.asked)
    assert all("401" in said for said in page.said), page.said
    # The token is nowhere but in the memory of the page.
    stored = "JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])"
    assert TOKEN not in page.evaluate(stored)
    assert TOKEN not in page.content()


def test_models_without_a_certificate_say_so(page):
    show(page, "counts")
    page.wait_for_selector("#certificate:text-is('None')")
    assert page.text_content("#drift") == "–"
    assert "no row was scored yet" in page.text_content("#score-more")
    assert page.query_selector("#curve polyline") is None


def test_an_unknown_token_lets_nobody_in(page):
    enter(page, "guessed")
    page.wait_for_selector("#state.bad")
    assert "not known" in page.text_content("#state")
    assert page.is_hidden("#main")


def test_a_row_is_forgotten_and_its_receipt_shown(page, server):
    show(page, "fraud")
    id = f"card {page.viewport_size['width'] % 97}"
    page.fill("#row", id)
    page.click("#forget-form button")
    assert json.dumps(id) in page.text_content("#question")
    page.click("#no")
    assert page.is_hidden("#confirm")
    page.click("#forget-form button")
    page.click("#yes")
    page.wait_for_selector("#receipt:not([hidden])")
    with Client(server.url, token=TOKEN, model="fraud") as client:
        receipt = client.receipts()[-1]
    assert receipt.ids == (id,)
    assert receipt.hash in page.text_content("#receipt-parts")
    with page.expect_download() as download:
        page.click("#receipt-file")
    assert json.loads(download.value.path().read_text())["hash"] == receipt.hash
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_is_refused_is_said_and_text_stays_text(page):
    show(page, "fraud")
    page.fill("#row", "17")  # a number, which no row has; the id is text
    page.click("#forget-form button")
    page.click("#yes")
    page.wait_for_selector("#refused:not(:empty)")
    assert re.search("no row with id", page.text_content("#refused"))
    page.fill("#row", EVIL)
    page.click("#forget-form button")
    assert EVIL in page.text_content("#question")
    assert page.query_selector("img") is None
    assert page.is_hidden("#receipt")


def test_a_token_that_only_reads_is_told_so(page):
    enter(page, TOKEN + "x")
    page.wait_for_selector("#main:not([hidden])")
    page.fill("#row", "card 1")
    page.click("#forget-form button")
    page.click("#yes")
    page.wait_for_selector("#refused:not(:empty)")
    assert "no right to forget" in page.text_content("#refused")
