"""Sequences labelled as wholes: a linear machine of tokens and transitions."""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lindero.models.chain import MOST_LABELS, ChainMachine, SequenceRows
from lindero.notebook import link_documentation, write_card
from lindero.problems.structured import ChainProblem
from lindero.runtime.arrays import Array
from lindero.solvers.frank_wolfe import FrankWolfeSolver
from lindero.solvers.solution import Callback, Limits
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.svm.progress import reporting
from lindero.svm.sequences import (
    Sequences,
    has_text,
    measure_labels,
    open_frame,
    read_labels,
    read_sequences,
)
from lindero.svm.structured_models import read_costs
from lindero.svm.structured_svc import conclude_fit, require_moderate_rows
from lindero.svm.token_hasher import TokenHasher
from lindero.transaction import fitting_aside
from lindero.validation import (
    encode_known_labels,
    find_classes,
    keep_parameters,
    read_new_table,
    read_training_table,
    require_labels,
    validate_parameters,
)


class ChainSVC(BaseEstimator):  # type: ignore[misc]
    """Labels the tokens of sequences, each sequence as a whole, with a certificate.

    A labelling scores the weights of its tokens' features for their labels, of each pair of
    neighbouring labels, and of the first and the last label. Training minimises ½‖w‖² plus C times
    the sum, over sequences, of how much the best wrong labelling comes too near: the right one
    should score more than any other by as much as that one costs.

    Parameters
    ----------
    C : float, default=0.1
        Penalty of violations, for each sequence.
    loss : "hamming" or array-like of shape (n_classes, n_classes), default="hamming"
        What a wrong label costs: 1, or a matrix with a row for each right label and a column for
        each given one, in the order of `classes_`, with zeros on its diagonal.
    transitions : bool, default=True
        Whether neighbouring, first and last labels have weights. Without, each token is labelled
        by itself.
    tol : float, default=0.01
        Fitting stops when the duality gap is at most this share of the objective: no weights can
        have an objective that is lower by more.
    hasher : TokenHasher, default=None
        How words become features; None is ``TokenHasher()``. Numbers are taken as they are.
    max_iter : int, default=-1
        Limit on sweeps, in each of which as many sequences are visited as there are; -1 is none.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress`; returning True stops fitting.

    Attributes
    ----------
    certificate_ : Certificate
        Primal and dual objective, sweeps, seconds and why fitting stopped.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (n_classes, n_columns)
        Weights of the features in `columns_`, for each label.
    columns_ : ndarray of shape (n_columns,)
        Features that had a value other than zero in training; others have no weight.
    transition_coef_ : ndarray of shape (n_classes, n_classes)
        Weights of pairs of neighbouring labels, the former in rows.
    start_coef_, end_coef_ : ndarray of shape (n_classes,)
        Weights of labels at the beginning and at the end.
    hasher_ : TokenHasher or None
        What turns words into features; None where rows are numbers.
    n_iter_ : int
        Sweeps.
    fit_status_ : int
        0 if the gap is within `tol`, 1 otherwise.
    n_features_in_ : int
        Number of columns of tokens seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of these columns, where X had any.

    See Also
    --------
    StructuredSVC : The same for any structure.
    TokenHasher : The features of words.
    lindero.data.load : Reads files of CoNLL, a token a line.

    References
    ----------
    B. Taskar, C. Guestrin and D. Koller, "Max-margin Markov networks", NIPS 2003.

    Y. Altun, I. Tsochantaridis and T. Hofmann, "Hidden Markov support vector machines", ICML 2003.

    S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe
    optimization for structural SVMs", ICML 2013.

    Examples
    --------
    >>> from lindero.svm import ChainSVC
    >>> sentences = [["the", "cat", "sleeps"], ["a", "dog", "barks"], ["the", "dog", "sleeps"]]
    >>> tags = [["DET", "NOUN", "VERB"]] * 3
    >>> model = ChainSVC(C=1.0).fit(sentences, tags)
    >>> [labels.tolist() for labels in model.predict([["a", "cat", "barks"]])]
    [['DET', 'NOUN', 'VERB']]
    >>> model.certificate_.duality_gap <= 0.01 * model.certificate_.primal
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0.0, np.inf, closed="neither")],
        "loss": [StrOptions({"hamming"}), "array-like"],
        "transitions": ["boolean"],
        "tol": [Interval(Real, 0.0, 1.0, closed="neither")],
        "hasher": [TokenHasher, None],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        **{
            name: KERNEL_MACHINE_CONSTRAINTS[name] for name in ("time_limit", "verbose", "callback")
        },
    }

    _validate_params = validate_parameters
    _html_repr = write_card
    _get_doc_link = link_documentation
    _fitted_state = ("_weights",)

    #: What checks of tables ask for.
    kernel: ClassVar[str] = "linear"

    def __init__(
        self,
        *,
        C: float = 0.1,
        loss: Any = "hamming",
        transitions: bool = True,
        tol: float = 0.01,
        hasher: TokenHasher | None = None,
        max_iter: int = -1,
        time_limit: float | None = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, lengths: Any = None) -> ChainSVC:
        """Fit to labelled sequences.

        Parameters
        ----------
        X : list of tables, or a table of shape (n_tokens, n_features)
            A table (dense, sparse, or words with further columns) for each sequence; or all tokens
            below each other. A list of words is a sentence, too.
        y : list of array-like, or array-like of shape (n_tokens,)
            The label of each token.
        lengths : array-like of int, default=None
            Tokens of each sequence, where X is one table; None is one sequence.

        Returns
        -------
        self : ChainSVC
            The fitted estimator: as it was if fit fails, with the best model so far on Ctrl-C.
        """
        with fitting_aside(self) as attempt:
            attempt.interrupted = attempt.estimator._fit(X, y, lengths)
        return self

    def _fit(self, X: Any, y: Any, lengths: Any) -> bool:
        """Set all fitted attributes; whether the fit was interrupted."""
        begun = time.perf_counter()
        sequences = read_sequences(X, lengths)
        labels = read_labels(y, sequences)
        require_labels(labels)
        tokens = sequences.tokens
        self.hasher_ = None
        if has_text(tokens):
            self.hasher_ = self.hasher or TokenHasher()
            tokens = self._hash(tokens, sequences.lengths, first=True)
        else:
            tokens = read_training_table(self, tokens, labels)[0]
        self.classes_, codes = find_classes(labels)
        if len(self.classes_) > MOST_LABELS:
            raise ValueError(
                f"y has {len(self.classes_)} different labels, but at most {MOST_LABELS} are "
                "supported. Are they classes, or numbers?"
            )
        table = sp.csr_array(tokens)
        require_moderate_rows(table)
        self.columns_ = np.unique(table.indices[table.data != 0.0]).astype(np.int32)
        rows = self._take_rows(table, sequences)
        costs = read_costs(None if isinstance(self.loss, str) else self.loss, self.classes_)
        problem = ChainProblem(rows, codes.astype(np.int16), costs, self.C, bool(self.transitions))
        with reporting(bool(self.verbose), self.callback) as callback:
            max_iter = None if self.max_iter < 0 else self.max_iter
            limits = Limits(max_iter, self.time_limit, callback)
            solution = FrankWolfeSolver(self.tol).solve(problem, limits)
        self._weights = solution.weights
        return conclude_fit(self, solution, limits, begun)

    def _hash(self, tokens: Any, lengths: Array, first: bool = False) -> Any:
        """Rows of words, of as many columns as in training."""
        frame = open_frame(tokens)
        if frame is not None:
            tokens = np.array([column.to_list() for column in frame.iter_columns()], object).T
        width = np.shape(tokens)[1] if isinstance(tokens, np.ndarray) and tokens.ndim == 2 else 1
        if not isinstance(tokens, np.ndarray) and not isinstance(tokens[0], str):
            width = len(tokens[0])
        if first:
            self.n_features_in_ = int(width)
            if frame is not None:
                self.feature_names_in_ = np.array(frame.columns, dtype=object)
        elif width != self.n_features_in_:
            raise ValueError(
                f"Tokens have {width} columns, but {type(self).__name__} was fitted to tokens with "
                f"{self.n_features_in_}."
            )
        assert self.hasher_ is not None
        return self.hasher_.transform(tokens, lengths)

    def _take_rows(self, table: Any, sequences: Sequences) -> SequenceRows:
        """Rows of the columns that have weights."""
        place = np.full(table.shape[1], -1, dtype=np.int32)
        place[self.columns_] = np.arange(len(self.columns_), dtype=np.int32)
        indices = place[table.indices]
        kept = indices >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])
        taken = (table.data[kept], indices[kept], ends[table.indptr])
        return SequenceRows(
            np.ascontiguousarray(taken[0], dtype=np.float64), taken[1], taken[2].astype(np.int64),
            sequences.bounds, len(self.columns_),
        )  # fmt: skip

    def _read(self, X: Any, lengths: Any) -> tuple[SequenceRows, Sequences]:
        """New sequences as rows."""
        check_is_fitted(self)
        sequences = read_sequences(X, lengths)
        tokens = sequences.tokens
        if self.hasher_ is not None:
            tokens = self._hash(tokens, sequences.lengths)
        else:
            tokens = read_new_table(self, tokens)
        return self._take_rows(sp.csr_array(tokens), sequences), sequences

    @property
    def _machine(self) -> ChainMachine:
        return ChainMachine(self._weights, len(self.columns_), bool(self._is_linked))

    @property
    def _is_linked(self) -> bool:
        return len(self._weights) > len(self.columns_)

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The labelling of the largest score, for each sequence.

        Parameters
        ----------
        X : list of tables, or a table of shape (n_tokens, n_features)
            Sequences, as in `fit`.
        lengths : array-like of int, default=None
            Tokens of each sequence, where X is one table; None is one sequence.

        Returns
        -------
        labels : list of ndarray, or ndarray of shape (n_tokens,)
            A label for each token, in a list if X was one.
        """
        rows, sequences = self._read(X, lengths)
        codes, _ = self._machine.predict(rows)
        return sequences.divide(self.classes_[codes])

    def predict_top(self, X: Any, k: int = 5, lengths: Any = None) -> list[Any]:
        """The k labellings of the largest scores, for each sequence.

        Parameters
        ----------
        X : list of tables, or a table of shape (n_tokens, n_features)
            Sequences, as in `fit`.
        k : int, default=5
            How many; fewer where there are no more.
        lengths : array-like of int, default=None
            Tokens of each sequence, where X is one table; None is one sequence.

        Returns
        -------
        best : list of (ndarray of shape (k, n_tokens_of_sequence), ndarray of shape (k,))
            Labellings in rows, the best first, and their scores. These are no probabilities.
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ValueError(f"k must be a whole number of at least 1; it is {k!r}.")
        rows, _ = self._read(X, lengths)
        found = (self._machine.predict_top(rows, i, int(k)) for i in range(rows.n_sequences))
        return [(self.classes_[codes], scores) for codes, scores in found]

    def score(self, X: Any, y: Any, lengths: Any = None, measure: str = "hamming") -> float:
        """How well predicted labels agree with the right ones.

        Parameters
        ----------
        X : list of tables, or a table of shape (n_tokens, n_features)
            Sequences, as in `fit`.
        y : list of array-like, or array-like of shape (n_tokens,)
            The right labels. Labels that were not in training count as errors.
        lengths : array-like of int, default=None
            Tokens of each sequence, where X is one table; None is one sequence.
        measure : {"hamming", "sequences", "chunks"}, default="hamming"
            The share of tokens, or of whole sequences, that are right; or the F1 of chunks, for
            labels such as B-NP, I-NP and O, as in the evaluation of CoNLL.

        Returns
        -------
        score : float
            Between 0 and 1.
        """
        known = ("hamming", "sequences", "chunks")
        if measure not in known:
            raise ValueError(f"measure must be one of {', '.join(known)}; it is {measure!r}.")
        rows, sequences = self._read(X, lengths)
        right = read_labels(y, sequences)
        require_labels(right)
        codes, _ = self._machine.predict(rows)
        found = self.classes_[codes]
        if right.dtype.kind != found.dtype.kind and "U" in (right.dtype.kind, found.dtype.kind):
            encode_known_labels(right, self.classes_)  # says what is wrong
        return measure_labels(measure, right, found, sequences.bounds)

    @property
    def coef_(self) -> Array:
        """Weights of features, a row for each label."""
        return self._weights[: len(self.columns_)].T

    @property
    def transition_coef_(self) -> Array:
        """Weights of pairs of neighbouring labels."""
        begin, n_labels = len(self.columns_), len(self.classes_)
        if not self._is_linked:
            return np.zeros((n_labels, n_labels))
        return self._weights[begin : begin + n_labels]

    @property
    def start_coef_(self) -> Array:
        """Weights of first labels."""
        return self._weights[-2] if self._is_linked else np.zeros(len(self.classes_))

    @property
    def end_coef_(self) -> Array:
        """Weights of last labels."""
        return self._weights[-1] if self._is_linked else np.zeros(len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
