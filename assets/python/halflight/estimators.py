"""Estimators for scikit-learn that learn from private records, with public ones beside them.

Each `fit` is a run of the program under the ledger that `ledger` names: its ε is charged to the
account of these records, and fitting again adds to it. Every fit draws new noise, from the
operating system's random numbers, so two fits differ.
"""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted
from sklearn.utils.validation import column_or_1d, validate_data

from . import _arrays, ron
from ._carriage import Carriage
from .errors import BudgetRefused, UsageError
from .ledger import Ledger
from .model import Model
from .session import Session, _run

__all__ = ["PrivateClassifier", "PrivateRegressor"]

_LABEL, _PERSON, _MATRIX = "label", "person", "x"

#: What becomes of a gap in a row to predict: every row gets a prediction.
_GAPS = "public_mean"

#: The program needs so many private records at least.
_FEWEST = 20

#: Rows of the stand-in where there are no public data, and more for each feature.
_STAND_IN_ROWS, _STAND_IN_MORE = 64, 4


class _PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    _classifies = False

    def _fit(
        self,
        X: Any,
        labels: Any,
        classes: Sequence[str],
        public_labels: Any,
        persons: Any,
    ) -> None:
        if len(labels) < _FEWEST:
            raise UsageError(
                f"n_samples={len(labels)} private records, and {_FEWEST} are needed at least"
            )
        ledger = self._ledger()
        names = getattr(self, "feature_names_in_", None)
        rows = X if names is not None else np.asarray(X)
        private = self._columns(rows, names)
        if self.public is None:
            public = self._stand_in(private, len(classes))
        else:
            public_X = self.public[0]
            public = self._columns(public_X, names)
            check_consistent_length(public_X, public_labels)
            if names is None and public[_MATRIX].shape[1] != private[_MATRIX].shape[1]:
                raise UsageError(
                    f"the public records have {public[_MATRIX].shape[1]} features, and the private "
                    f"ones {private[_MATRIX].shape[1]}\n  what to do: give both the same columns"
                )
            public[self._free(public, _LABEL)] = public_labels
        label = self._free(private, _LABEL)
        private[label] = labels
        fields: dict[str, Any] = {"label": label}
        if classes:
            fields["task"] = "classification"
            fields["classes"] = list(classes)
        of_persons: dict[str, Any] = {}
        if persons is not None:
            person = self._free(private, _PERSON)
            private[person] = np.array([str(it) for it in column_or_1d(persons)])
            of_persons["unit"] = person
            if self.most_records is not None:
                of_persons["most_records"] = int(self.most_records)
        with Carriage() as carriage:
            session = Session(type(self).__name__)
            ours = carriage.bring(
                "private.npz", _arrays.writer(private), "the private table passed as `X`"
            )
            theirs = carriage.bring(
                "public.npz", _arrays.writer(public), "the table passed as `public`"
            )
            session.add_private(
                self.data_name, ours, budget=self.budget, **fields, **of_persons
            )
            session.add_public("public", theirs, **fields)
            session.add_plan(
                "fit",
                self._method(len(classes)),
                private=self.data_name,
                public="public",
                epsilon=self.epsilon,
                delta=self.delta,
                settings=self.settings,
                seed=0 if self.random_state is None else int(self.random_state),
                evaluation=bool(self.release_score),
                holdout=float(self.holdout),
                preparation=self._preparation(),
            )
            text = session.to_ron()
            file = carriage.bring(
                "session.ron", lambda it: _write(it, text), "the session of this fit"
            )
            arguments = ["run", file, "--workspace", ledger.place]
            try:
                [result] = _run(arguments, self.progress, False, carriage.descriptors)
            except BudgetRefused as error:
                raise self._with_cure(error) from None
        self.run_ = result
        self.guarantee_ = result.guarantee
        self.released_score_ = result.score
        # The whole model, so that a fitted estimator can be pickled and taken elsewhere.
        self.model_text_ = result.model().text

    def _ledger(self) -> Ledger:
        if self.ledger is None:
            raise UsageError(
                f"{type(self).__name__} needs a ledger: a directory of yours in which all that is "
                "spent on these records adds up\n"
                f"  what to do: {type(self).__name__}(ledger='study', …); keep it as long as the "
                "records"
            )
        ledger = self.ledger if isinstance(self.ledger, Ledger) else Ledger(self.ledger)
        ledger.place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return ledger

    def _with_cure(self, error: BudgetRefused) -> BudgetRefused:
        if "no budget" not in str(error) or self.budget is not None:
            return error
        return BudgetRefused(
            f"{error}\n  from Python: budget=(epsilon, delta) says what these records may cost, ever"
        )

    def _columns(self, X: Any, names: Any) -> dict[str, Any]:
        if names is not None:
            return _arrays.columns_of(X, [str(name) for name in names])
        matrix = check_array(X, ensure_all_finite=False, dtype="numeric")
        return {_MATRIX: matrix.astype(float)}

    @staticmethod
    def _free(columns: Mapping[str, Any], name: str) -> str:
        while name in columns:
            name += "_"
        return name

    def _stand_in(self, private: Mapping[str, Any], classes: int) -> dict[str, Any]:
        """Rows spread evenly over the declared ranges, where there are no public data: scales come
        from them, and nothing else is learned."""
        if self.feature_range is None:
            raise UsageError(
                "without public data the range of the features must be declared: it may not be "
                "read off private records\n"
                "  what to do: public=(X, y), or feature_range=(low, high)"
            )
        chance = np.random.default_rng(0)
        widths = [np.shape(column)[1] if np.ndim(column) == 2 else 1 for column in private.values()]
        count = _STAND_IN_ROWS + _STAND_IN_MORE * max(sum(widths), classes)
        low, high = (np.broadcast_to(it, sum(widths)).astype(float) for it in self.feature_range)
        if not np.all(low < high):
            raise UsageError("feature_range needs a low end below its high end for every feature")
        drawn = chance.uniform(low, high, size=(count, sum(widths)))
        columns: dict[str, Any] = {}
        at = 0
        for (name, column), width in zip(private.items(), widths):
            if np.asarray(column).dtype.kind not in "biuf":
                raise UsageError(
                    f"the column '{name}' is text, and without public data its values are not "
                    "known\n  what to do: public=(X, y), or numbers for its values"
                )
            part = drawn[:, at : at + width]
            columns[name] = part if np.ndim(column) == 2 else part[:, 0]
            at += width
        columns[self._free(columns, _LABEL)] = self._stand_in_labels(chance, count)
        return columns

    def _model(self) -> Model:
        check_is_fitted(self, "model_text_")
        return Model.of_text(self.model_text_)

    def _rows(self, X: Any) -> Any:
        """Rows to predict, checked against those of `fit`."""
        check_is_fitted(self, "model_text_")
        names = getattr(self, "feature_names_in_", None)
        if names is not None and _arrays.is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            return X
        array = validate_data(
            self, X, reset=False, dtype="numeric", ensure_all_finite="allow-nan"
        )
        return array.astype(float)

    def _check(self, X: Any) -> Any:
        if _arrays.is_frame(X) and all(isinstance(name, str) for name in X.columns):
            validate_data(self, X, skip_check_array=True)
            return X
        # A private record that cannot be used stops nothing and counts as a record of zeros.
        return validate_data(self, X, ensure_all_finite=False, dtype="numeric")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


class PrivateRegressor(RegressorMixin, _PrivateEstimator):  # type: ignore[misc]
    """Predicts numbers, learned from private records under (ε, δ)-differential privacy.

    Parameters
    ----------
    public : (X, y), optional
        Public records with the same columns. Scales come from them, and a first model.
        Without them `feature_range` and `label_range` must be declared.
    epsilon, delta : float
        What one fit may cost.
    ledger : str, path or Ledger
        Your directory in which all that is spent on these records adds up. It must outlive the
        process: no temporary directory.
    budget : (epsilon, delta), optional
        What these records may cost, ever. It opens their account; afterwards the ledger decides.
    feature_range : (low, high), optional
        The declared ends of all features, or of each; for fits without public data.
    label_range : (low, high), optional
        The declared lowest and highest label; otherwise the public labels say it.
    method : str, optional
        A method of `halflight methods`: `public_shape` with public data, else `target_only`.
    settings : dict, optional
        Settings of the method.
    holdout : float
        The share of the records that does not train.
    release_score : bool
        Also release how good the model is on the records held out: `released_score_`.
    most_records : int, optional
        With `fit(X, y, persons=…)`: so many records of one person are used at most.
    data_name : str
        The name of the private records in ledger and report.
    random_state : int, optional
        Seeds what is not noise, such as which records are held out.
    progress : bool
        A line on standard error says how far the fit is.

    Attributes
    ----------
    guarantee_, released_score_, run_ : what the run guarantees and released, and all of it.
    """

    def __init__(
        self,
        public: Optional[tuple[Any, Any]] = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        ledger: Union[None, str, "os.PathLike[str]", Ledger] = None,
        budget: Optional[tuple[float, float]] = None,
        feature_range: Optional[tuple[Any, Any]] = None,
        label_range: Optional[tuple[float, float]] = None,
        method: Optional[str] = None,
        settings: Optional[Mapping[str, Any]] = None,
        holdout: float = 0.2,
        release_score: bool = False,
        most_records: Optional[int] = None,
        data_name: str = "private",
        random_state: Optional[int] = None,
        progress: bool = False,
    ) -> None:
        self.public = public
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger
        self.budget = budget
        self.feature_range = feature_range
        self.label_range = label_range
        self.method = method
        self.settings = settings
        self.holdout = holdout
        self.release_score = release_score
        self.most_records = most_records
        self.data_name = data_name
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, persons: Any = None) -> PrivateRegressor:
        """Trains on private records. `persons` says whose record each is: then all records of one
        person are protected together."""
        if y is None:
            raise UsageError("requires y to be passed, but the target y is None")
        X = self._check(X)
        labels = _numbers(y)
        check_consistent_length(X, labels)
        public_labels = None if self.public is None else _numbers(self.public[1])
        if self.public is None and self.label_range is None:
            raise UsageError(
                "without public data the range of the labels must be declared: it may not be read "
                "off private records\n  what to do: public=(X, y), or label_range=(low, high)"
            )
        self._fit(X, labels, (), public_labels, persons)
        return self

    def predict(self, X: Any) -> Any:
        """Predicts; a prediction for a private row is as private as the row."""
        return np.asarray(self._model().predict(self._rows(X), missing=_GAPS), dtype=float)

    def _method(self, classes: int) -> str:
        return self.method or ("target_only" if self.public is None else "public_shape")

    def _preparation(self) -> ron.Struct:
        labels: Any = ron.Name("public")
        if self.label_range is not None:
            low, high = self.label_range
            labels = ron.Tagged("declared", (float(low), float(high)))
        return ron.Struct(features=ron.Name("public"), labels=labels, intercept=True)

    def _stand_in_labels(self, chance: Any, count: int) -> Any:
        low, high = self.label_range  # type: ignore[misc]
        return chance.uniform(low, high, size=count)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Noise: with a small ε or few records no model is good.
        tags.regressor_tags.poor_score = True
        return tags


class PrivateClassifier(ClassifierMixin, _PrivateEstimator):  # type: ignore[misc]
    """Tells classes apart, learned from private records under (ε, δ)-differential privacy.

    Parameters are those of `PrivateRegressor`, with `classes` in place of `label_range`:

    classes : sequence, or "as fitted", optional
        The classes. Otherwise the public labels say them. "as fitted" takes those of the private
        labels: then everybody may know which classes occur among them. A private label that is
        none of the classes counts as a record of zeros.
    method : str, optional
        `public_shape_classes` with public data, else `dp_sgd`.
    """

    _classifies = True

    def __init__(
        self,
        public: Optional[tuple[Any, Any]] = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        ledger: Union[None, str, "os.PathLike[str]", Ledger] = None,
        budget: Optional[tuple[float, float]] = None,
        feature_range: Optional[tuple[Any, Any]] = None,
        classes: Union[None, str, Sequence[Any]] = None,
        method: Optional[str] = None,
        settings: Optional[Mapping[str, Any]] = None,
        holdout: float = 0.2,
        release_score: bool = False,
        most_records: Optional[int] = None,
        data_name: str = "private",
        random_state: Optional[int] = None,
        progress: bool = False,
    ) -> None:
        self.public = public
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger
        self.budget = budget
        self.feature_range = feature_range
        self.classes = classes
        self.method = method
        self.settings = settings
        self.holdout = holdout
        self.release_score = release_score
        self.most_records = most_records
        self.data_name = data_name
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, persons: Any = None) -> PrivateClassifier:
        """Trains on private records. `persons` says whose record each is: then all records of one
        person are protected together."""
        if y is None:
            raise UsageError("requires y to be passed, but the target y is None")
        X = self._check(X)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_ = self._declared(y)
        if len(self.classes_) < 2:
            raise UsageError(
                "a classifier needs two classes at least, and there is 1 class\n"
                "  what to do: name all classes that may occur: classes=[…]"
            )
        # By number: names of any type go through text and come back.
        names = [str(at) for at in range(len(self.classes_))]
        public_labels = None if self.public is None else self._numbered(self.public[1])
        self._fit(X, self._numbered(y), names, public_labels, persons)
        return self

    def predict(self, X: Any) -> Any:
        """Predicts; a prediction for a private row is as private as the row."""
        told = self._model().predict(self._rows(X), missing=_GAPS)
        return self.classes_[np.asarray(told).astype(int)]

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, in the order of `classes_`."""
        model = self._model()
        told = np.asarray(model.predict_proba(self._rows(X), missing=_GAPS), dtype=float)
        order = [model.classes.index(str(at)) for at in range(len(self.classes_))]
        return told[:, order]

    def _declared(self, y: Any) -> Any:
        if isinstance(self.classes, str):
            if self.classes != "as fitted":
                raise UsageError("classes is a list of classes, or the words 'as fitted'")
            return np.unique(y)
        if self.classes is not None:
            return np.unique(np.asarray(self.classes))
        if self.public is None:
            raise UsageError(
                "without public data the classes must be declared: they may not be read off "
                "private labels\n  what to do: public=(X, y), or classes=[…]"
            )
        return np.unique(column_or_1d(self.public[1]))

    def _numbered(self, labels: Any) -> Any:
        labels = column_or_1d(labels)
        at = np.clip(np.searchsorted(self.classes_, labels), 0, len(self.classes_) - 1)
        known = self.classes_[at] == labels
        # The program counts what is no class as a record of zeros.
        return np.where(known, at.astype(str), "none of the classes")

    def _method(self, classes: int) -> str:
        return self.method or ("dp_sgd" if self.public is None else "public_shape_classes")

    def _preparation(self) -> ron.Struct:
        public = ron.Name("public")
        return ron.Struct(features=public, labels=public, intercept=True)

    def _stand_in_labels(self, chance: Any, count: int) -> Any:
        return (np.arange(count) % len(self.classes_)).astype(str)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _numbers(labels: Any) -> Any:
    labels = column_or_1d(labels, warn=True)
    if labels.dtype.kind not in "biuf":
        labels = labels.astype(float)
    return labels


def _write(file: Any, text: str) -> None:
    file.write(text.encode("utf-8"))


