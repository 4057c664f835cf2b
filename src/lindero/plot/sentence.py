"""A tagged sentence as a picture: words in their chunks, and where other labels were right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.plot.style import find_style, take_axes
from lindero.svm.sequences import find_chunks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Letters of a line, and the least room for a word.
_LINE, _LEAST = 76, 4


@dataclass(repr=False)
class SentenceDisplay:
    """Words of a sentence with their labels; chunks, where labels are such, are boxes.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere.

    Parameters
    ----------
    words : list of str
        The words.
    labels : list of str
        Their labels.
    right : list of str or None, default=None
        The right labels: words labelled otherwise are marked.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    lindero.svm.ChainSVC : The machine that labels sentences.
    BoundaryDisplay : The decision boundary over two features.

    Examples
    --------
    >>> from lindero.plot import SentenceDisplay
    >>> from lindero.svm import ChainSVC
    >>> sentences = [["the", "cat", "sleeps"], ["a", "dog", "barks"]]
    >>> model = ChainSVC().fit(sentences, [["B-NP", "I-NP", "B-VP"]] * 2)
    >>> SentenceDisplay.from_estimator(model, ["the", "dog", "barks"]).labels
    ['B-NP', 'I-NP', 'B-VP']
    """

    words: list[str]
    labels: list[str]
    right: list[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        sentence: Sequence[Any],
        right: Sequence[Any] | None = None,
        *,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> SentenceDisplay:
        """Label a sentence and draw it.

        Parameters
        ----------
        estimator : ChainSVC
            Fitted to words.
        sentence : sequence of str, or of sequences of str
            Words, or words with the further columns of training.
        right : sequence of str, default=None
            The right labels, where they are known.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : SentenceDisplay
        """
        labels = [str(label) for label in estimator.predict([list(sentence)])[0]]
        words = [token if isinstance(token, str) else str(token[0]) for token in sentence]
        known = None if right is None else [str(label) for label in right]
        if known is not None and len(known) != len(words):
            raise ValueError(
                f"right has {len(known)} labels, but the sentence has {len(words)} words."
            )
        return cls(words, labels, known).plot(ax=ax, theme=theme)

    def plot(self, *, ax: Axes | None = None, theme: str | None = None) -> SentenceDisplay:
        """Draw the sentence, in as many lines as it needs.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : SentenceDisplay
        """
        style, ax = find_style(theme), take_axes(ax)
        from matplotlib.patches import FancyBboxPatch

        bad = style.colour(3)  # wrong words are bold, too
        places = self._place_words()
        chunks = sorted(find_chunks(self.labels, np.array([0, len(self.labels)])))
        kinds = list(dict.fromkeys(kind for *_, kind in chunks))
        for first, stop, kind in chunks:
            colour = style.colour(kinds.index(kind))
            for line in sorted({places[t][0] for t in range(first, stop)}):
                of_line = [t for t in range(first, stop) if places[t][0] == line]
                left = places[of_line[0]][1] - 0.4
                wide = places[of_line[-1]][1] + places[of_line[-1]][2] + 0.4 - left
                box = FancyBboxPatch(
                    (left, -line - 0.18), wide, 0.36, boxstyle="round,pad=0,rounding_size=0.12",
                    mutation_aspect=0.1, facecolor=colour, edgecolor=colour, alpha=0.22,
                )  # fmt: skip
                ax.add_patch(box)
                ax.text(left, -line + 0.22, kind, color=colour, fontsize=7.5, weight="bold")
        for t, (word, (line, left, wide)) in enumerate(zip(self.words, places, strict=True)):
            wrong = self.right is not None and self.right[t] != self.labels[t]
            middle = left + wide / 2
            colour = bad if wrong else style.ink
            ax.text(
                middle, -line, word, ha="center", va="center", fontsize=10, color=colour,
                weight="bold" if wrong else "normal",
            )  # fmt: skip
            told = self.labels[t]
            if wrong and self.right is not None:
                told += f" (is {self.right[t]})"
            plain = not wrong
            ax.text(
                middle, -line - 0.28, told, ha="center", va="center", fontsize=6,
                color=style.ink if plain else bad, alpha=0.65 if plain else 1.0,
                weight="normal" if plain else "bold",
            )  # fmt: skip
        ax.set_xlim(-1, _LINE + 1)
        ax.set_ylim(-places[-1][0] - 0.6, 0.6)
        ax.set_axis_off()
        ax.figure.set_facecolor(style.paper)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _place_words(self) -> list[tuple[int, float, float]]:
        """Line, left end and width of each word, in letters."""
        places, line, left = [], 0, 0.0
        for t, (word, label) in enumerate(zip(self.words, self.labels, strict=True)):
            wide = float(max(_LEAST, len(word), 0.65 * len(label)))
            if self.right is not None and self.right[t] != label:
                wide = max(wide, 0.65 * (len(label) + len(self.right[t]) + 6))
            if left and left + wide > _LINE:
                line, left = line + 1, 0.0
            places.append((line, left, wide))
            left += wide + 1.6
        return places
