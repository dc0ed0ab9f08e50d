"""Tables of numpy and pandas as files that the program reads: NPZ, an array for each column."""

from __future__ import annotations

from typing import Any, BinaryIO, Callable, Mapping, Sequence

from .errors import UsageError


def numpy() -> Any:
    """The package numpy, which only arrays need."""
    try:
        import numpy
    except ImportError as error:
        raise ImportError("arrays need numpy\n  what to do: pip install numpy") from error
    return numpy


def is_frame(data: Any) -> bool:
    """Whether this is a table with named columns, as those of pandas are."""
    return hasattr(data, "columns") and hasattr(data, "iloc")


def writer(columns: Mapping[str, Any]) -> Callable[[BinaryIO], None]:
    """Writes these columns as one NPZ file."""

    def write(file: BinaryIO) -> None:
        numpy().savez(file, **{name: plain(column) for name, column in columns.items()})

    if "file" in columns:
        raise UsageError("a column is called 'file', which numpy.savez keeps for itself: rename it")
    return write


def plain(column: Any) -> Any:
    """Numbers as they are, with NaN for what is none; everything else as text."""
    np = numpy()
    array = np.asarray(column)
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        return np.where(np.isfinite(array), array, np.nan) if array.dtype.kind == "f" else array
    if array.dtype.kind in "US":
        return array.astype(str)
    if array.dtype.kind in "cMmV":
        raise UsageError(f"a column of type {array.dtype} is neither numbers nor text")
    if all(_is_number(value) for value in array.ravel()):
        numbers = np.array([_number(value) for value in array.ravel()], dtype=float)
        return plain(numbers.reshape(array.shape))
    return np.array(["" if _is_gap(value) else str(value) for value in array])


def columns_of(data: Any, names: Sequence[str]) -> dict[str, Any]:
    """The columns of a frame, or of an array under these names."""
    if is_frame(data):
        missing = [name for name in names if name not in list(data.columns)]
        if missing:
            raise UsageError(f"the data lack the columns {', '.join(missing)}")
        return {name: data[name].to_numpy() for name in names}
    array = numpy().asarray(data)
    if array.ndim != 2 or array.shape[1] != len(names):
        shape = " × ".join(str(length) for length in array.shape)
        raise UsageError(f"the data are {shape}, and {len(names)} columns are needed")
    return {name: array[:, at] for at, name in enumerate(names)}


def _is_gap(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _is_number(value: Any) -> bool:
    import numbers

    return _is_gap(value) or isinstance(value, (numbers.Real, numpy().bool_))


def _number(value: Any) -> float:
    return float("nan") if _is_gap(value) else float(value)
