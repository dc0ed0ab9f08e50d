"""Arrays of numpy and frames of pandas, on their way to the program and back."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from unittest import mock

from support import Case, needs, study

import halflight
from halflight import _carriage


@needs("numpy", "pandas")
class Arrays(Case):
    def test_arrays_and_frames_are_predicted_as_the_file_is(self):
        import numpy as np
        import pandas as pd

        [result] = study(self.here).run(progress=False)
        model = result.model()
        frame = pd.read_csv(self.here / "far.csv").set_index(pd.RangeIndex(1000, 1400))
        told = model.predict(self.here / "far.csv")
        series = model.predict(frame)
        self.assertEqual((series.name, list(series.index)), ("label", list(frame.index)))
        np.testing.assert_allclose(series.to_numpy(), told, rtol=1e-12)
        np.testing.assert_allclose(model.predict(frame[["a", "b"]].to_numpy()), told, rtol=1e-12)
        with self.assertRaisesRegex(halflight.UsageError, "lack the columns b"):
            model.predict(frame[["a"]])
        with self.assertRaisesRegex(halflight.UsageError, "2 columns are needed"):
            model.predict(frame.to_numpy())
        with self.assertRaisesRegex(halflight.UsageError, "no probabilities"):
            model.predict_proba(frame)

    def test_a_gap_is_refused_or_filled_as_it_is_said(self):
        import numpy as np

        [result] = study(self.here).run(progress=False)
        rows = np.array([[0.1, 0.2], [np.nan, 0.2]])
        with self.assertRaises(halflight.HalflightError):
            result.model().predict(rows, missing="refuse")
        self.assertTrue(np.isfinite(result.model().predict(rows, missing="public_mean")).all())
        self.assertTrue(np.isnan(result.model().predict(rows, missing="drop"))[1])

    def test_columns_of_every_kind_become_numbers_or_text(self):
        import numpy as np
        import pandas as pd

        from halflight import _arrays

        for column, wanted in [
            ([1, 2], [1, 2]),
            ([1.5, np.inf], [1.5, np.nan]),
            (pd.Series([1, None], dtype="Int64"), [1.0, np.nan]),
            (pd.Series([True, False]), [True, False]),
            (pd.Series(["x", None]), ["x", ""]),
            (pd.Categorical(["u", "v"]), ["u", "v"]),
        ]:
            np.testing.assert_array_equal(_arrays.plain(column), np.array(wanted))
        with self.assertRaises(halflight.UsageError):
            _arrays.plain(np.array([1j]))


class Carriages(Case):
    def test_in_memory_there_is_no_file_that_could_be_left(self):
        if not _carriage.has_memory_files():
            self.skipTest("this system has no files in memory")
        with mock.patch.dict(os.environ, {"TMPDIR": str(self.here)}), _fresh_tempdir():
            with _carriage.Carriage() as carriage:
                path = carriage.bring("private.npz", lambda file: file.write(b"42"), "X")
                self.assertEqual(Path(path).read_bytes(), b"42")
                self.assertEqual(list(self.here.iterdir()), [])
            self.assertFalse(os.path.exists(path))

    def test_on_disk_a_file_is_its_owners_alone_and_goes_also_after_ctrl_c(self):
        on_disk = mock.patch.object(_carriage, "has_memory_files", lambda: False)
        with on_disk, mock.patch.dict(os.environ, {"TMPDIR": str(self.here)}), _fresh_tempdir():
            for error in (None, ValueError, KeyboardInterrupt):
                try:
                    with _carriage.Carriage() as carriage:
                        path = Path(carriage.bring("private.npz", lambda file: file.write(b"42"), "X"))
                        self.assertEqual(path.parent.parent, self.here)
                        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
                        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)
                        if error is not None:
                            raise error
                except (ValueError, KeyboardInterrupt):
                    pass
                self.assertEqual(list(self.here.iterdir()), [])

    def test_errors_name_the_argument_and_not_the_file_that_it_travelled_in(self):
        def fill(file):
            file.write(b"42")

        for in_memory in {_carriage.has_memory_files(), False}:
            with mock.patch.object(_carriage, "has_memory_files", lambda: in_memory):
                with self.assertRaises(halflight.UsageError) as caught:
                    with _carriage.Carriage() as carriage:
                        path = carriage.bring("private.npz", fill, "the table passed as `X`")
                        raise halflight.UsageError(f"a row of {path} is empty, as {path}: 3 says")
                said = "a row of the table passed as `X` is empty, as the table passed as `X`: 3 says"
                self.assertEqual(str(caught.exception), said)


def _fresh_tempdir():
    """Lets `tempfile` look at TMPDIR again."""
    return mock.patch.object(tempfile, "tempdir", None)
