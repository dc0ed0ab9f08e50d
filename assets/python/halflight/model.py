"""Trained models, which predict on raw rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Optional, Union

from . import _arrays, _program, ron
from ._carriage import Carriage
from .errors import UsageError

__all__ = ["Model"]

Path_ = Union[str, "os.PathLike[str]"]


class Model:
    """The model of a run: give it raw rows. Scales and categories travel with it.

    A prediction says something about its row: those of private rows are as private as the rows.
    """

    def __init__(self, path: Path_) -> None:
        place = Path(path)
        place = place / "model.ron" if place.is_dir() else place
        try:
            #: The model as it stands in `model.ron`.
            self.text = place.read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{place}: there is no model: {error.strerror}\n"
                "  what to do: name the directory of a run that has ended, or its model.ron"
            ) from error
        self._understand(str(place))

    @classmethod
    def of_text(cls, text: str) -> Model:
        """The model that stands in a `model.ron`."""
        model = cls.__new__(cls)
        model.text = text
        model._understand("model")
        return model

    def _understand(self, origin: str) -> None:
        about = ron.loads(self.text, origin)
        #: What the model is, such as `linear` or `shape`.
        self.kind: str = about["kind"]
        preparation = about["preparation"]
        encodings = preparation["encodings"]
        #: The columns that it needs, in order.
        self.columns: list[str] = [encoding.value["column"] for encoding in encodings]
        # One array of vectors, as a model has it that was trained on a matrix.
        self._takes_matrix = [encoding.name for encoding in encodings] == ["vector"]
        labels = preparation["labels"]
        #: The classes, in order; empty where it predicts numbers.
        self.classes: list[str] = []
        #: The column that it predicts.
        self.label: str = ""
        if isinstance(labels, ron.Tagged) and isinstance(labels.value, ron.Struct):
            self.label = labels.value.get("column", "")
            classes = labels.value.get("names")
            self.classes = [str(it) for it in classes] if isinstance(classes, list) else []

    def predict(self, data: Any, *, missing: Optional[str] = None) -> Any:
        """Predictions for the rows of an array, a frame or a file.

        An array gives an array, a frame a series with the same index, a file a list. `missing` says
        what becomes of rows that lack a value: `refuse` predicts nothing at all, `drop` gives them
        NaN or None, `public_mean` puts the public mean of the column in. Without it the model's
        own rule holds.
        """
        return self._like(data, self._columns(data, missing)["prediction"], "prediction")

    def predict_proba(self, data: Any, *, missing: Optional[str] = None) -> Any:
        """The probability of each class, in the order of `classes`."""
        told = self._columns(data, missing)
        names = [name for name in told if name.startswith("probability_")]
        if not names:
            raise UsageError("this model has no probabilities: it predicts numbers or margins")
        if _is_path(data):
            return {name.removeprefix("probability_"): told[name] for name in names}
        np = _arrays.numpy()
        array = np.array([told[name] for name in names], dtype=float).T
        if not _arrays.is_frame(data):
            return array
        import pandas

        classes = [name.removeprefix("probability_") for name in names]
        return pandas.DataFrame(array, index=data.index, columns=classes)

    def _columns(self, data: Any, missing: Optional[str]) -> Any:
        more = [] if missing is None else ["--missing", missing.replace("_", "-")]
        with Carriage() as carriage:
            model = carriage.bring("model.ron", lambda file: _fill(file, self.text), "the model")
            if _is_path(data):
                rows: Any = data
            else:
                columns = self._arrays(data)
                rows = carriage.bring(
                    "rows.npz", _arrays.writer(columns), "the table passed as `data`"
                )
            value = _program.call(
                ["predict", model, rows, "--json", "--quiet", *more],
                descriptors=carriage.descriptors,
            )
        return value["columns"]

    def _arrays(self, data: Any) -> dict[str, Any]:
        if self._takes_matrix:
            return {self.columns[0]: _arrays.numpy().asarray(data)}
        return _arrays.columns_of(data, self.columns)

    def _like(self, data: Any, told: list[Any], name: str) -> Any:
        if _is_path(data):
            return told
        np = _arrays.numpy()
        array = np.array(told, dtype=object if self.classes else float)
        if self.classes:
            array = array if any(value is None for value in told) else array.astype(str)
        if not _arrays.is_frame(data):
            return array
        import pandas

        return pandas.Series(array, index=data.index, name=self.label or name)


def _fill(file: Any, text: str) -> None:
    file.write(text.encode("utf-8"))


def _is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


