"""Writes a public model's predictions into a further column of each file, for `public_predictor`.

    python public_predictions.py --label bikers --public spring.csv summer.csv --private winter.csv \
        --leave-out season --out with_predictions

The model learns from public rows alone. A public row gets the prediction of a model that had not seen
its file (or its quarter of the rows, with one file); other rows get that of the model of all public
rows. So no private row has a part in any prediction, and halflight may take the column as public:

    public_predictor: column("prediction")

For two classes the column is the log-odds of the second class in alphabetical order; for more classes
there is a column for each but the first: `public_predictor: several([column("prediction_b"), …])`.

Any model with fit and predict (predict_proba for classes) will do. Here are scikit-learn's boosted
trees, and, where they are installed with their weights, LightGBM, TabICL and TabPFN.

Needs Python 3.9, pandas and scikit-learn. The copy of the private file is for its owner alone (mode
0600).
"""

import argparse
import os
import sys

import numpy as np
import pandas as pd

FOLDS = 4


def model(name, classes):
    if name == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        return kind(random_state=0)
    if name == "lightgbm":
        import lightgbm

        kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        return kind(random_state=0, verbose=-1)
    if name == "tabicl":
        import tabicl

        return tabicl.TabICLClassifier() if classes else tabicl.TabICLRegressor()
    import tabpfn

    return tabpfn.TabPFNClassifier() if classes else tabpfn.TabPFNRegressor()


def read(path):
    return pd.read_csv(path, sep=None, engine="python")


def as_it_is(path):
    """The cells as they are in the file, for its copy."""
    return pd.read_csv(path, sep=None, engine="python", dtype=str, keep_default_na=False)


def encoded(frames, label, left_out):
    """The features of all frames as numbers: a text is its place among the public texts."""
    public = pd.concat(frames["public"], ignore_index=True)
    columns = [name for name in public.columns if name not in {label, *left_out}]
    codes = {}
    for name in columns:
        if not pd.api.types.is_numeric_dtype(public[name]):
            codes[name] = {text: at for at, text in enumerate(sorted(public[name].dropna().unique()))}

    def numbers(frame):
        missing = [name for name in columns if name not in frame.columns]
        if missing:
            sys.exit(f"a file lacks the column {missing[0]!r}: leave it out (--leave-out) or add it")
        made = {
            name: frame[name].map(codes[name]) if name in codes else pd.to_numeric(frame[name], errors="coerce")
            for name in columns
        }
        return pd.DataFrame(made).to_numpy(dtype=float)

    return numbers


def parts(frames):
    """Which public rows are left out together: a file each, or quarters of one file."""
    if len(frames) > 1:
        return np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])
    order = np.random.default_rng(0).permutation(len(frames[0]))
    return order % FOLDS


def main():
    form = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    form.add_argument("--label", required=True, help="the column to predict")
    form.add_argument("--public", required=True, nargs="+", metavar="CSV")
    form.add_argument("--private", required=True, nargs="+", metavar="CSV")
    form.add_argument("--leave-out", nargs="*", default=[], metavar="COLUMN", help="no features")
    form.add_argument("--classes", action="store_true", help="the label names classes")
    form.add_argument("--model", default="boosting", choices=["boosting", "lightgbm", "tabicl", "tabpfn"])
    form.add_argument("--name", default="prediction", help="the name of the new column")
    form.add_argument("--out", required=True, metavar="DIR")
    asked = form.parse_args()

    frames = {"public": [read(path) for path in asked.public], "private": [read(path) for path in asked.private]}
    numbers = encoded(frames, asked.label, asked.leave_out)
    features = np.concatenate([numbers(frame) for frame in frames["public"]])
    labels = np.concatenate([frame[asked.label].to_numpy() for frame in frames["public"]])
    known = ~pd.isna(labels)
    classes = sorted(set(labels[known])) if asked.classes else None

    def scores(learner, rows):
        if classes is None:
            return learner.predict(rows).reshape(-1, 1)
        # A class that a part lacks has almost no probability there.
        shares = np.full((len(rows), len(classes)), 1e-6)
        for at, name in enumerate(learner.classes_):
            shares[:, classes.index(name)] = learner.predict_proba(rows)[:, at]
        logs = np.log(np.clip(shares, 1e-6, 1))
        return logs[:, 1:] - logs[:, :1]

    def learned(rows):
        learner = model(asked.model, asked.classes)
        rows = rows & known
        return learner.fit(features[rows], labels[rows] if asked.classes else labels[rows].astype(float))

    part = parts(frames["public"])
    print(f"learning {1 + len(np.unique(part))} times from {len(labels)} public rows", flush=True)
    unseen = np.zeros((len(labels), 1 if classes is None else len(classes) - 1))
    for one in np.unique(part):
        unseen[part == one] = scores(learned(part != one), features[part == one])
    whole = learned(np.ones(len(labels), dtype=bool))

    names = [asked.name]
    if classes is not None and len(classes) > 2:
        names = [f"{asked.name}_{name}" for name in classes[1:]]
    os.makedirs(asked.out, exist_ok=True)
    first = 0
    for path, frame, private in [
        *((path, frame, False) for path, frame in zip(asked.public, frames["public"])),
        *((path, frame, True) for path, frame in zip(asked.private, frames["private"])),
    ]:
        if set(names) & set(frame.columns):
            sys.exit(f"{path} has a column {names[0]!r} already: choose another --name")
        made = scores(whole, numbers(frame)) if private else unseen[first : first + len(frame)]
        first += 0 if private else len(frame)
        place = os.path.join(asked.out, os.path.basename(path))
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644)
        with os.fdopen(handle, "w", newline="") as file:
            # The label stays the last column, where halflight looks for it first.
            copy = as_it_is(path).assign(**dict(zip(names, made.T)))
            order = [name for name in copy.columns if name != asked.label]
            copy[order + [name for name in copy.columns if name == asked.label]].to_csv(file, index=False)
        print(place)


if __name__ == "__main__":
    main()
