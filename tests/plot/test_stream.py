"""Pictures of streams."""

from __future__ import annotations

import numpy as np
import pytest

from lindero.plot import StreamDisplay
from lindero.svm import AdaptiveSVC

plt = pytest.importorskip("matplotlib.pyplot")


def learn(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    y = np.where(np.arange(n_rows) < 600, X[:, 0] > 0, X[:, 0] < 0)
    return AdaptiveSVC().partial_fit(X, y)


def test_the_change_is_drawn_where_it_was():
    display = StreamDisplay.from_estimator(learn(1500))
    above, below = display.axes_
    assert list(display.rows) == [256, 512, 768, 1024, 1280]
    dashed = [line for line in above.lines if line.get_linestyle() == "--"]
    assert len(dashed) == 1
    assert abs(dashed[0].get_xdata()[0] - 600) < 20
    assert above.get_yscale() == "log"
    assert below.get_ylim()[0] == 0.0
    plt.close("all")


def test_it_is_drawn_again_on_given_axes():
    display = StreamDisplay.from_estimator(learn(600))
    _, axes = plt.subplots(2, 1)
    assert display.plot(axes=axes).axes_ == tuple(axes)
    plt.close("all")


def test_a_stream_that_is_too_short_is_refused():
    with pytest.raises(ValueError, match="too short"):
        StreamDisplay.from_estimator(learn(100))
    X = np.random.default_rng(0).normal(size=(30, 2))
    path = AdaptiveSVC(coupling=10.0).fit(X, X[:, 0] > 0)
    with pytest.raises(AttributeError, match="on a stream only"):
        StreamDisplay.from_estimator(path)
