"""The estimators for scikit-learn."""

from __future__ import annotations

import pickle
import unittest
import warnings
from unittest import mock

from support import Case, has, needs

import halflight

if has("numpy", "pandas", "sklearn"):
    import numpy as np
    import pandas as pd


def shifted(count, shift, seed):
    chance = np.random.default_rng(seed)
    X = chance.normal(shift, 1, size=(count, 3))
    return X, X @ np.array([1.0, -2.0, 0.5 + shift]) + chance.normal(0, 0.1, size=count)


@needs("numpy", "pandas", "sklearn")
class Fits(Case):
    def setUp(self):
        super().setUp()
        self.X, self.y = shifted(600, 0.0, 1)
        self.public = shifted(300, 0.3, 2)
        self.common = {"ledger": self.here / "study", "budget": (4, 1e-5)}

    def test_a_regressor_learns_and_its_epsilon_is_in_the_ledger(self):
        model = halflight.PrivateRegressor(public=self.public, release_score=True, **self.common)
        model.fit(self.X, self.y)
        self.assertGreater(model.score(self.X, self.y), 0.95)
        self.assertLessEqual(model.guarantee_.epsilon, 1)
        self.assertEqual(model.released_score_.records, 120)
        account = halflight.Ledger(self.here / "study").account("private")
        once = account.spent.epsilon
        # The same records in another order are the same records.
        model.fit(self.X[::-1], self.y[::-1])
        account = halflight.Ledger(self.here / "study").account("private")
        self.assertEqual(len(account.runs), 2)
        self.assertGreater(account.spent.epsilon, once)

    def test_the_budget_refuses_in_the_programs_words(self):
        model = halflight.PrivateRegressor(
            public=self.public, epsilon=3.5, ledger=self.here / "study", budget=(4, 1e-5)
        )
        model.fit(self.X, self.y)
        with self.assertRaisesRegex(halflight.BudgetRefused, "what to do"):
            model.fit(self.X, self.y)

    def test_without_ledger_budget_ranges_or_classes_it_refuses_with_the_cure(self):
        regressor = halflight.PrivateRegressor
        for model, flaw in [
            (regressor(public=self.public), "needs a ledger"),
            (regressor(public=self.public, ledger=self.here), r"budget=\(epsilon, delta\)"),
            (regressor(ledger=self.here, label_range=(0, 1)), "feature_range"),
            (regressor(ledger=self.here, feature_range=(0, 1)), "label_range"),
            (halflight.PrivateClassifier(ledger=self.here, feature_range=(0, 1)), "classes="),
            (regressor(public=(self.X[:, :2], self.y), **self.common), "2 features, and the priv"),
            (regressor(public=(self.X, self.y[1:]), **self.common), "inconsistent"),
        ]:
            with self.assertRaisesRegex((halflight.HalflightError, ValueError), flaw):
                model.fit(self.X, (self.y > 0).astype(int))

    def test_without_public_data_declared_ranges_are_enough(self):
        model = halflight.PrivateRegressor(
            feature_range=(-4, 4), label_range=(-8, 8), epsilon=2, **self.common
        )
        self.assertGreater(model.fit(self.X, self.y).score(self.X, self.y), 0.7)

    def test_a_classifier_has_classes_of_any_type_and_probabilities(self):
        labels = np.where(self.y > 0, "high", "low")
        public = (self.public[0], np.where(self.public[1] > 0, "high", "low"))
        model = halflight.PrivateClassifier(public=public, **self.common)
        model.fit(self.X, labels)
        self.assertEqual(list(model.classes_), ["high", "low"])
        self.assertGreater(model.score(self.X, labels), 0.9)
        told = model.predict_proba(self.X)
        np.testing.assert_allclose(told.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[told.argmax(axis=1)], model.predict(self.X))

    def test_a_private_label_that_is_no_class_stops_nothing(self):
        labels = np.where(self.y > 0, 1, 0)
        public = (self.public[0], np.where(self.public[1] > 0, 1, 0))
        labels[0] = 7
        model = halflight.PrivateClassifier(public=public, **self.common).fit(self.X, labels)
        self.assertEqual(list(model.classes_), [0, 1])

    def test_gaps_in_private_records_and_labels_stop_nothing(self):
        self.X[0, 0], self.X[1, 1], self.y[2] = np.nan, np.inf, np.nan
        model = halflight.PrivateRegressor(public=self.public, **self.common)
        model.fit(self.X, self.y)
        self.assertTrue(np.isfinite(model.predict(self.X[2:])).all())

    def test_frames_with_categories_keep_their_names(self):
        def frame(X):
            table = pd.DataFrame(X, columns=["age", "dose", "label"])
            table["ward"] = np.where(X[:, 0] > 0, "north", "south")
            return table

        public = (frame(self.public[0]), self.public[1])
        model = halflight.PrivateRegressor(public=public, **self.common)
        model.fit(frame(self.X), pd.Series(self.y))
        self.assertEqual(list(model.feature_names_in_), ["age", "dose", "label", "ward"])
        told = model.predict(frame(self.X))
        np.testing.assert_allclose(model.predict(frame(self.X)[::-1])[::-1], told)
        with self.assertRaisesRegex(ValueError, "feature names"):
            model.predict(frame(self.X).rename(columns={"age": "years"}))

    def test_persons_are_protected_whole(self):
        model = halflight.PrivateRegressor(public=self.public, most_records=4, **self.common)
        model.fit(self.X, self.y, persons=np.arange(600) // 3)
        self.assertEqual(model.run_.certificate()["unit"], "person")

    def test_a_fitted_estimator_is_pickled_with_its_model(self):
        model = halflight.PrivateRegressor(public=self.public, **self.common).fit(self.X, self.y)
        told = model.predict(self.X)
        again = pickle.loads(pickle.dumps(model))
        import shutil

        shutil.rmtree(self.here / "study")
        np.testing.assert_array_equal(again.predict(self.X), told)

    def test_it_works_in_a_pipeline_and_a_grid_whose_epsilon_adds_up(self):
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer

        model = halflight.PrivateRegressor(public=self.public, epsilon=0.3, **self.common)
        pipeline = make_pipeline(FunctionTransformer(), model)
        grid = GridSearchCV(pipeline, {"privateregressor__holdout": [0.1, 0.2]}, cv=2)
        grid.fit(self.X, self.y)
        accounts = halflight.Ledger(self.here / "study").accounts()
        self.assertEqual(sum(len(account.runs) for account in accounts), 5)

    def test_nothing_private_is_left_in_files_of_the_ledger_or_in_the_estimator(self):
        marked = 0.1234567890123
        self.X[5, 1] = marked
        model = halflight.PrivateRegressor(public=self.public, **self.common).fit(self.X, self.y)
        for path in self.here.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"0.123456789", path.read_bytes(), path)
        self.assertNotIn("0.123456789", repr(vars(model)["run_"]))
        self.assertNotIn(b"0.123456789", pickle.dumps(model))
        self.assertIsNone(model.run_.curator_only)

    def test_files_are_removed_also_when_a_fit_is_interrupted(self):
        import tempfile

        from halflight import _carriage, _program

        seen = []

        def interrupted(arguments, **_):
            seen.extend((self.here / "temporary").iterdir())
            raise KeyboardInterrupt

        (self.here / "temporary").mkdir()
        on_disk = mock.patch.object(_carriage, "has_memory_files", lambda: False)
        there = mock.patch.object(tempfile, "tempdir", str(self.here / "temporary"))
        model = halflight.PrivateRegressor(public=self.public, **self.common)
        with on_disk, there:
            with mock.patch.object(_program, "call", interrupted):
                with self.assertRaises(KeyboardInterrupt):
                    model.fit(self.X, self.y)
            self.assertEqual(len(seen), 1)
            self.assertEqual(list((self.here / "temporary").iterdir()), [])
            # And without an interruption the disk serves as well as memory.
            self.assertGreater(model.fit(self.X, self.y).score(self.X, self.y), 0.9)
            self.assertEqual(list((self.here / "temporary").iterdir()), [])


#: What scikit-learn asks of estimators and no private one can do, and why.
EXCEPTIONS = {
    "check_fit_idempotent": "every fit draws new noise, or it would protect nobody",
    "check_supervised_y_2d": "it compares the predictions of two fits, whose noise differs",
    "check_n_features_in_after_fitting": "it has 15 records, and 20 are needed",
    "check_fit2d_1feature": "it has 10 records, and 20 are needed",
}
OF_REGRESSORS = {
    "check_regressor_data_not_an_array": EXCEPTIONS["check_supervised_y_2d"],
    "check_regressors_int": EXCEPTIONS["check_supervised_y_2d"],
    "check_regressors_no_decision_function": "it has 10 records, and 20 are needed",
}
OF_CLASSIFIERS = {
    "check_classifier_data_not_an_array": "it has 12 records, and 20 are needed",
}


@needs("numpy", "pandas", "sklearn")
class Checks(Case):
    def passes(self, estimator, exceptions):
        from sklearn.utils.estimator_checks import check_estimator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = check_estimator(
                estimator,
                expected_failed_checks={**EXCEPTIONS, **exceptions},
                on_fail=None,
                on_skip=None,
            )
        statuses = {result["check_name"]: result["status"] for result in told}
        failed = [
            (result["check_name"], str(result["exception"])[:300])
            for result in told
            if result["status"] == "failed"
        ]
        self.assertEqual(failed, [])
        # An exception that is none any more is taken off the list.
        for name in {**EXCEPTIONS, **exceptions}:
            self.assertEqual(statuses.get(name), "xfail", name)
        self.assertGreater(list(statuses.values()).count("passed"), 35)

    def test_a_regressor_passes_what_a_private_one_can(self):
        self.passes(
            halflight.PrivateRegressor(
                ledger=self.here,
                budget=(1e6, 1e-5),
                feature_range=(-5, 5),
                label_range=(-200, 200),
                epsilon=20,
                holdout=0.0,
            ),
            OF_REGRESSORS,
        )

    def test_a_classifier_passes_what_a_private_one_can(self):
        self.passes(
            halflight.PrivateClassifier(
                ledger=self.here,
                budget=(1e6, 1e-5),
                feature_range=(-5, 5),
                classes="as fitted",
                epsilon=20,
                holdout=0.0,
            ),
            OF_CLASSIFIERS,
        )


if __name__ == "__main__":
    unittest.main()
