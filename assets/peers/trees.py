#!/usr/bin/env python3
"""Compares our public predictors with scikit-learn's and LightGBM's trees, on shifts.

    cargo run --release -p halflight-studies -- correction --trees DIR --data DATASETS
    python3 assets/peers/trees.py DIR

The first command writes the records of 26 shifts and our predictions. The second makes a virtual
environment in DIR, installs the packages of requirements.txt and LightGBM there, teaches their trees
the same public records, and prints for each shift the error on target records that no predictor
saw: mean squared error of numbers, logarithmic loss of classes, in percent of the error of the best
constant answer of the public records. Less is better.

Their trees have a learning rate of .05, categories as categories, and as many rounds as do best on a
fifth of the public records; the number of leaves, 8 or 31, is chosen there, too.
"""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

LIGHTGBM = "lightgbm==4.7.0"
LEAVES = [8, 31]


def main():
    directory = Path(sys.argv[1])
    if "--inside" not in sys.argv:
        return prepare(directory)
    import numpy as np
    import pandas as pd

    lines = {}
    for folder in sorted(path.parent for path in directory.glob("*/ours.csv")):
        lines[folder.name] = shift(folder)
        print(folder.name, file=sys.stderr, flush=True)
    table = pd.DataFrame(lines).T
    table.loc["geometric mean"] = np.exp(np.log(table).mean())
    table.columns = [f"{name} %" for name in table.columns]
    print(table.round(1).to_markdown())


def prepare(directory):
    """Makes the environment, and goes on inside of it."""
    python = directory / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(directory / "venv", with_pip=True)
        wanted = Path(__file__).with_name("requirements.txt").read_text().splitlines()
        pinned = [line for line in wanted if line.startswith(("numpy", "pandas", "scikit", "scipy"))]
        packages = [*pinned, LIGHTGBM, "tabulate"]
        subprocess.check_call([python, "-m", "pip", "install", "-q", *packages])
    os.execv(python, [str(python), *sys.argv, "--inside"])


def shift(folder):
    """The errors of all predictors on one shift."""
    import pandas as pd

    about = json.loads((folder / "about.json").read_text())
    public, held_out = (pd.read_csv(folder / f"{name}.csv") for name in ("public", "held_out"))
    label, classes = about["label"], about["task"] == "classification"
    for name in public.columns.drop(label):
        if name in about["categories"] or not pd.api.types.is_numeric_dtype(public[name]):
            known = sorted(set(public[name].dropna().astype(str)))
            for table in (public, held_out):
                cells = table[name].astype(str)
                cells = cells.where(cells.isin(known))
                table[name] = pd.Categorical(cells, categories=known)
    truth = held_out[label].to_numpy()
    constant = constant_answer(public[label], truth, classes)
    unit = error(constant, truth, classes)
    ours = pd.read_csv(folder / "ours.csv")
    found = {name: error(ours[name], truth, classes) for name in ours.columns}
    for name, learner in (("scikit-learn", scikit), ("LightGBM", lightgbm)):
        answers = learn(learner, public, held_out, label, classes)
        found[name] = error(answers, truth, classes)
    return {name: 100 * value / unit for name, value in found.items()}


def constant_answer(labels, truth, classes):
    import numpy as np

    if not classes:
        return np.full(len(truth), labels.mean())
    shares = labels.value_counts(normalize=True)
    return np.array([shares.get(one, 1e-6) for one in truth])


def error(answers, truth, classes):
    """The mean squared error, or the logarithmic loss of the probabilities of the true classes."""
    import numpy as np

    answers = np.asarray(answers, float)
    if classes:
        return float(-np.log(answers.clip(1e-6, 1)).mean())
    return float(((answers - truth) ** 2).mean())


def learn(learner, public, held_out, label, classes):
    """Answers of trees whose rounds and leaves do best on a fifth of the public records."""
    from sklearn.model_selection import train_test_split

    stratify = public[label] if classes else None
    taught, judges = train_test_split(public, test_size=0.2, random_state=0, stratify=stratify)
    tried = []
    for leaves in LEAVES:
        model, loss, rounds = learner(taught, judges, label, classes, leaves)
        tried.append((loss, leaves, rounds))
    _, leaves, rounds = min(tried)
    model = learner(public, None, label, classes, leaves, rounds)[0]
    return predict(model, held_out, label, classes)


def predict(model, records, label, classes):
    inputs = records.drop(columns=[label])
    if not classes:
        return model.predict(inputs)
    place = {name: at for at, name in enumerate(model.classes_)}
    told = model.predict_proba(inputs)
    return [told[row, place[name]] if name in place else 0 for row, name in enumerate(records[label])]


def scikit(taught, judges, label, classes, leaves, rounds=None):
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    make = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = make(
        learning_rate=0.05, max_iter=rounds or 600, max_leaf_nodes=leaves, early_stopping=False,
        categorical_features="from_dtype", random_state=0,
    )
    inputs = taught.drop(columns=[label])
    model.fit(inputs, taught[label])
    if judges is None:
        return model, None, rounds
    there, truth = judges.drop(columns=[label]), judges[label].to_numpy()
    if classes:
        place = {name: at for at, name in enumerate(model.classes_)}
        own = np.array([place[name] for name in truth])
        stages = (told[np.arange(len(own)), own] for told in model.staged_predict_proba(there))
    else:
        stages = model.staged_predict(there)
    losses = [error(told, truth, classes) for told in stages]
    best = int(np.argmin(losses))
    return model, losses[best], best + 1


def lightgbm(taught, judges, label, classes, leaves, rounds=None):
    import lightgbm

    make = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    model = make(
        learning_rate=0.05, n_estimators=rounds or 600, num_leaves=leaves, n_jobs=1,
        random_state=0, verbose=-1,
    )
    inputs = taught.drop(columns=[label])
    if judges is None:
        model.fit(inputs, taught[label])
        return model, None, rounds
    there = (judges.drop(columns=[label]), judges[label])
    stop = lightgbm.early_stopping(100, verbose=False)
    model.fit(inputs, taught[label], eval_set=[there], callbacks=[stop])
    loss = next(iter(next(iter(model.best_score_.values())).values()))
    return model, loss, model.best_iteration_


if __name__ == "__main__":
    main()
