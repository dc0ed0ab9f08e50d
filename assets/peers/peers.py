#!/usr/bin/env python3
"""Runs other people's private learners on a public split of Adult, and keeps their scores.

    python3 assets/peers/peers.py DIR [--seeds 3] [--only mst,dp-ebm] [--clone PATH] [--data adult]

makes a virtual environment in DIR, installs the pinned packages of requirements.txt there, takes
data and mechanisms from the repository of private-pgm, and writes

    DIR/about.json                                   label, task, columns of numbers, epsilons, delta
    DIR/split-<seed>/{public,private,held_out}.csv   the records of each split
    DIR/peers.csv                                    a line for each peer, seed and epsilon

Lines that stand in DIR/peers.csv are not made again. `halflight-studies correction --peers DIR`
runs our methods on the same records and prints all in one table.

The data are adult_pub025_01: 3 238 public records that were sampled with a bias, and 32 384 private
ones, all of them discretised. A split holds out a fifth of the private records for the scores. With
--data adult they are all 48 842 records of Adult, and with --data abalone those of UCI's abalone.data
(--abalone FILE), at the epsilons of S-GBDT; there a twentieth of the records that are not held out is
public. With --data acs, edad or we they are those of surrogate-public-data, where --candidate names one of
several public tables, most of them written by language models. The
synthesizers make records, from which boosted trees learn, with and without the public records.
None of the code below is part of halflight's program, and none of the peers' code is in this
repository.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

REPOSITORY = "https://github.com/ryan112358/private-pgm"
COMMIT = "4d2b3c566b148da3ef800ce76e6189c548f2da22"
TAB_PE = "https://github.com/microsoft/DPSDA"
TAB_PE_COMMIT = "9078c67995499e6769113780200bbf1d788d3d60"
SURROGATES = "https://github.com/shlomihod/surrogate-public-data"
SURROGATES_COMMIT = "34b379cac1ee3669891136c2ddd8f9876a389d84"
# The private table, its label, the value that is told from all others, and the columns in order.
SURVEYS = {
    "acs": ("massachusetts_upsampled", "OWN_RENT", 1, ["PINCP_DECILE", "EDU"]),
    "edad": ("2023", "MOVI_21_1", 2, ["EDAD", "ESTUDIO"]),
    "we": ("2023", "how_long_have_you_worked_for_your_current_employer", 1, []),
}
LABEL = "income>50K"
# Codes that are in order; the others are categories.
NUMBERS = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
ABALONE = ["sex", "length", "diameter", "height", "whole", "shucked", "viscera", "shell", "rings"]
EPSILONS = {"adult_pub025_01": [0.5, 1.0, 2.0], "adult": [0.07, 0.54], "abalone": [0.15, 0.54]}
EPSILONS |= {name: [0.5, 1.0, 2.0] for name in SURVEYS}
PUBLIC = 0.05
DELTA = 1e-5
HELD_OUT = 0.2
FIELDS = [
    "peer", "epsilon", "seed", "accuracy", "auc", "log_loss", "r2", "seconds", "neighbours", "version",
]
ADD = "add or remove one"
REPLACE = "replace one"
# Settings that take minutes for each run; with --full, those of the authors, which take hours.
SMALL = {"megabytes": 1.0, "iterations": 200, "aim_rounds": 30, "jam_rounds": 12, "jam_degree": 2}
FULL = {"megabytes": 80, "iterations": 1000, "aim_rounds": None, "jam_rounds": 30, "jam_degree": 3}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="names of peers, with commas between them")
    parser.add_argument("--clone", default=REPOSITORY, help="a clone of private-pgm")
    parser.add_argument("--tab-pe", default=TAB_PE, help="a clone of DPSDA, which has Tab-PE")
    parser.add_argument("--data", default="adult_pub025_01", choices=list(EPSILONS))
    parser.add_argument("--abalone", type=Path, help="abalone.data of UCI")
    parser.add_argument("--surrogates", default=SURROGATES, help="a clone of surrogate-public-data")
    parser.add_argument("--candidate", default="csv-claude", help="the public table of acs, edad or we")
    parser.add_argument("--full", action="store_true", help="the authors' sizes of AIM and JAM: hours")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.inside:
        return prepare(given)
    sys.path.insert(0, str(given.directory / "private-pgm" / "mechanisms"))
    if given.data == "abalone":
        globals().update(LABEL=ABALONE[-1], NUMBERS=ABALONE[1:-1])
    if given.data in SURVEYS:
        globals().update(LABEL=SURVEYS[given.data][1], NUMBERS=SURVEYS[given.data][3])
    epsilons = EPSILONS[given.data]
    about = {"label": LABEL, "numbers": NUMBERS, "epsilons": epsilons, "delta": DELTA}
    about["task"] = "regression" if is_regression() else "classification"
    (given.directory / "about.json").write_text(json.dumps(about))
    names = [name for name in given.only.split(",") if name] or list(PEERS)
    for seed in range(given.seeds):
        split = make_split(given, seed)
        split["sizes"] = FULL if given.full else SMALL
        for name in names:
            for epsilon in epsilons[: 1 if name in WITHOUT_PRIVACY else None]:
                measure(given.directory / "peers.csv", split, name, seed, epsilon)


def prepare(given):
    """Makes the environment and the clone, and goes on inside of them."""
    place = given.directory
    place.mkdir(parents=True, exist_ok=True)
    python = place / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(place / "venv", with_pip=True)
        wanted = Path(__file__).with_name("requirements.txt")
        subprocess.check_call([python, "-m", "pip", "install", "-q", "-r", wanted])
    wanted = [("private-pgm", given.clone, COMMIT), ("DPSDA", given.tab_pe, TAB_PE_COMMIT)]
    surveys = ("surrogate-public-data", given.surrogates, SURROGATES_COMMIT)
    for name, repository, commit in [surveys] if given.data in SURVEYS else wanted:
        clone = place / name
        if not clone.exists():
            subprocess.check_call(["git", "clone", "-q", repository, clone])
            subprocess.check_call(["git", "-C", clone, "checkout", "-q", commit])
            if repository != given.surrogates:
                subprocess.check_call([python, "-m", "pip", "install", "-q", "--no-deps", clone])
    os.execv(python, [str(python), *sys.argv, "--inside"])


def make_split(given, seed):
    """Writes the records of a split, and returns them by name."""
    import numpy as np
    import pandas as pd

    source, name = given.directory / "private-pgm" / "data", given.data
    apart = name == "adult_pub025_01" or name in SURVEYS
    domain = source / f"{name}-domain.json"
    if name in SURVEYS:
        source, domain = given.directory / "surrogate-public-data", None
        private = survey(source / "ydnpd/datasets/data" / name / f"{SURVEYS[name][0]}.csv", name)
    elif apart:
        source, domain = source / name, source / name / f"{name}-domain.json"
        private = pd.read_csv(source / "priv.csv")
    elif name == "adult":
        private = pd.read_csv(source / "adult.csv")
    else:
        private = pd.read_csv(given.abalone, names=ABALONE)
        private["sex"] = private["sex"].map({"F": 0, "I": 1, "M": 2})
    order = np.random.default_rng(seed).permutation(len(private))
    held = int(HELD_OUT * len(private))
    shown = held if apart else held + int(PUBLIC * (len(private) - held))
    held_out, public, private = (
        private.iloc[part].reset_index(drop=True) for part in np.split(order, [held, shown])
    )
    if name in SURVEYS:
        places = [source / "llm_datasets", source / "ydnpd/datasets/data"]
        files = [place / name / f"{given.candidate}.csv" for place in places]
        public = survey(next(file for file in files if file.exists()), name)[private.columns]
    elif apart:
        public = pd.read_csv(source / "pub.csv")[private.columns]
    parts = {"public": public, "held_out": held_out, "private": private}
    place = given.directory / f"split-{seed}"
    place.mkdir(exist_ok=True)
    for name, part in parts.items():
        if not (place / f"{name}.csv").exists():
            part.to_csv(place / f"{name}.csv", index=False)
    parts["domain"] = domain
    return parts


def survey(file, name):
    """The records of a survey, with 1 for the label's value that is told from the others."""
    import pandas as pd

    records = pd.read_csv(file)
    _, label, told, _ = SURVEYS[name]
    records[label] = (records[label] == told).astype(int)
    return records


def measure(file, split, name, seed, epsilon):
    """Runs a peer and adds its lines to the file."""
    import numpy as np

    made = set()
    if file.exists():
        with file.open() as lines:
            made = {(one["peer"], one["epsilon"], one["seed"]) for one in csv.DictReader(lines)}
    work, titles, neighbours, package = PEERS[name]
    shown = "" if name in WITHOUT_PRIVACY else str(epsilon)
    if all((title, shown, str(seed)) in made for title in titles):
        return
    np.random.seed(1000 * seed + int(100 * epsilon))
    began = time.time()
    found = work(split, epsilon, seed)
    seconds = time.time() - began
    truth = split["held_out"][LABEL].to_numpy()
    new = not file.exists()
    with file.open("a", newline="") as lines:
        writer = csv.DictWriter(lines, FIELDS)
        if new:
            writer.writeheader()
        for title, p in zip(titles, found):
            line = scores(truth, p) | {
                "peer": title, "epsilon": shown, "seed": seed, "seconds": round(seconds, 1),
                "neighbours": neighbours, "version": version(package),
            }
            writer.writerow(line)
            print(line, flush=True)


def version(package):
    from importlib.metadata import version as of

    commits = {"mbi": f"private-pgm {COMMIT[:8]}", "pe": f"DPSDA {TAB_PE_COMMIT[:8]}"}
    return commits.get(package) or f"{package} {of(package)}"


def scores(truth, p):
    from sklearn.metrics import log_loss, r2_score, roc_auc_score

    if is_regression():
        return {"r2": round(float(r2_score(truth, p)), 5)}
    return {
        "accuracy": round(float(((p > 0.5) == truth).mean()), 5),
        "auc": round(float(roc_auc_score(truth, p)), 5),
        "log_loss": round(float(log_loss(truth, p.clip(1e-6, 1 - 1e-6))), 5),
    }


def is_regression():
    return LABEL == ABALONE[-1]


def features(records):
    return records.drop(columns=[LABEL])


def trees(records, split, seed):
    """Probabilities, or numbers, of boosted trees that learn from these records."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    columns = features(records).columns
    make = HistGradientBoostingRegressor if is_regression() else HistGradientBoostingClassifier
    learner = make(
        learning_rate=0.05, max_leaf_nodes=15, max_iter=400, early_stopping=True,
        categorical_features=[name not in NUMBERS for name in columns], random_state=seed,
    )
    learner.fit(features(records), records[LABEL].astype(int))
    if is_regression():
        return learner.predict(features(split["held_out"]))
    return learner.predict_proba(features(split["held_out"]))[:, 1]


def logistic(records, split, _seed):
    """Probabilities of a logistic regression whose strength is cross-validated."""
    learner = logistic_pipeline(records)
    return learner.predict_proba(features(split["held_out"]))[:, 1]


def logistic_pipeline(records):
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline

    learner = make_pipeline(one_hot(records), LogisticRegressionCV(
        Cs=8, max_iter=3000, scoring="neg_log_loss", l1_ratios=(0,), use_legacy_attributes=False
    ))
    return learner.fit(features(records), records[LABEL])


def one_hot(records):
    """Turns categories into columns of 0 and 1, and gives numbers the spread 1."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    categories = [name for name in features(records).columns if name not in NUMBERS]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer((encoder, categories), (StandardScaler(), NUMBERS))


def of_public(learner):
    return lambda split, _, seed: [learner(split["public"], split, seed)]


def of_both(split, _, seed):
    import pandas as pd

    return [trees(pd.concat([split["private"], split["public"]]), split, seed)]


def with_records(synthetic, split, seed):
    """Trees of synthetic records, and of synthetic and public ones."""
    import pandas as pd

    synthetic = synthetic[split["public"].columns].astype(int)
    both = pd.concat([synthetic, split["public"]])
    return [trees(synthetic, split, seed), trees(both, split, seed)]


def datasets(split):
    from mbi import Dataset, Domain

    domain = Domain.fromdict(json.loads(split["domain"].read_text()))
    return [Dataset(split[part][list(domain.attrs)], domain) for part in ("private", "public")]


def as_frame(synthetic):
    import pandas as pd

    if hasattr(synthetic, "df"):
        return synthetic.df
    return pd.DataFrame({name: synthetic.to_dict()[name] for name in synthetic.domain})


def mst(split, epsilon, seed):
    from mst import MST

    return with_records(as_frame(MST(datasets(split)[0], epsilon, DELTA)), split, seed)


def workload(domain, degree):
    """All marginals of so many columns with at most 10 000 cells; with the label, they count double."""
    import itertools

    every = itertools.combinations(domain, degree)
    every = [columns for columns in every if domain.size(columns) <= 10_000]
    return [(columns, 2.0 if LABEL in columns else 1.0) for columns in every]


def aim(split, epsilon, seed):
    from aim import AIM

    private, _ = datasets(split)
    sizes = split["sizes"]
    mechanism = AIM(
        epsilon, DELTA, rounds=sizes["aim_rounds"], max_model_size=sizes["megabytes"],
        max_iters=sizes["iterations"],
    )
    _, synthetic = mechanism.run(private, workload(private.domain, 2))
    return with_records(as_frame(synthetic), split, seed)


def jam(split, epsilon, seed):
    from jam import JAM

    private, public = datasets(split)
    sizes = split["sizes"]
    mechanism = JAM(
        epsilon, DELTA, rounds=sizes["jam_rounds"], size_limit=sizes["megabytes"],
        optim_iters=sizes["iterations"],
    )
    marginals = [columns for columns, _ in workload(private.domain, sizes["jam_degree"])]
    _, synthetic = mechanism.run(private, public, marginals)
    return with_records(as_frame(synthetic), split, seed)


class Absent:
    """Stands in for what the package of Tab-PE imports for pictures and texts, none of which runs here."""

    NAMES = {"azure", "cleanfid", "fld", "openai", "tenacity", "torchvision"}

    def find_spec(self, name, path=None, target=None):
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.NAMES else None

    def create_module(self, spec):
        from unittest.mock import MagicMock

        return MagicMock()

    def exec_module(self, module):
        module.__path__ = []


def tab_pe(split, epsilon, seed):
    """Private evolution of tables, with the settings of its authors' example on Adult."""
    import tempfile

    import pandas as pd
    import torch

    sys.meta_path.insert(0, Absent())
    import pe.constant.data as pe
    from pe.api import TabularAPI
    from pe.data import TabularColumnType, TabularCSV
    from pe.embedding import TabularEmbedding
    from pe.histogram import NearestNeighbors
    from pe.population import CompositePopulation, PEPopulation
    from pe.runner import PE

    torch.set_num_threads(1)
    rounds, domain = 30, json.loads(split["domain"].read_text())
    columns = [name for name in features(split["private"]).columns]
    of = {
        "cat_columns": [name for name in columns if name not in NUMBERS], "int_columns": NUMBERS,
        "float_columns": [], "label_columns": [LABEL],
    }
    with tempfile.TemporaryDirectory() as place:
        records, metadata = Path(place) / "private.csv", Path(place) / "metadata.json"
        split["private"].to_csv(records, index=False)
        metadata.write_text(json.dumps(of))
        private = TabularCSV(str(records), str(metadata))
    # Bounds of the private columns are those of the public domain.
    info = {
        name: {"min": 0, "max": domain[name] - 1, "type": TabularColumnType.INTEGER}
        if name in NUMBERS
        else {"categories": list(range(domain[name])), "type": TabularColumnType.CATEGORICAL}
        for name in of["cat_columns"] + NUMBERS
    }
    api = TabularAPI(
        info=info, mutation_rate_init=0.5, mutation_rate_final=0.01, decay_type="polynomial", gamma=0.2,
        num_iterations=rounds,
    )
    first = PEPopulation(
        api=api, initial_variation_api_fold=0, next_variation_api_fold=1, keep_selected=False,
        selection_mode="sample", histogram_threshold=0,
    )
    then = PEPopulation(
        api=api, initial_variation_api_fold=3, next_variation_api_fold=3, keep_selected=True,
        selection_mode="rank",
    )
    histogram = NearestNeighbors(
        embedding=TabularEmbedding(info=info), mode="L2", lookahead_degree=0, backend="torch"
    )
    population = CompositePopulation(populations=[first] * 5 + [then] * (rounds - 5))
    found = PE(priv_data=private, population=population, histogram=histogram).run(
        num_samples_schedule=[1000] * rounds, delta=DELTA, epsilon=epsilon, save_checkpoint=False
    )
    rows = found.data_frame
    rows = rows[rows[pe.VARIATION_API_FOLD_ID_COLUMN_NAME] == -1]
    synthetic = pd.DataFrame(rows[pe.TABULAR_DATA_COLUMN_NAME].tolist(), columns=list(info))
    synthetic[LABEL] = rows[pe.LABEL_ID_COLUMN_NAME].to_numpy()
    return with_records(synthetic, split, seed)


def dp_ebm(split, epsilon, seed):
    """Additive trees on their own, and on top of the scores of public trees."""
    import warnings

    import numpy as np

    from interpret.privacy import DPExplainableBoostingClassifier

    warnings.filterwarnings("ignore")
    # Bounds of the private columns are those of the public domain.
    domain = json.loads(split["domain"].read_text())
    inputs = features(split["private"])
    kinds = ["continuous" if name in NUMBERS else "nominal" for name in inputs.columns]
    bounds = {name: (0, domain[name] - 1) for name in NUMBERS}
    held_out = split["held_out"]
    starts = [np.zeros(len(part)) for part in (inputs, held_out)]
    learned = [learned_scores(split, part, seed) for part in (split["private"], held_out)]
    found = []
    for start, there in (starts, learned):
        learner = DPExplainableBoostingClassifier(
            epsilon=epsilon, delta=DELTA, feature_types=kinds, privacy_bounds=bounds,
            random_state=seed, n_jobs=1,
        )
        learner.fit(inputs, split["private"][LABEL], init_score=start)
        found.append(learner.predict_proba(features(held_out), init_score=there)[:, 1])
    return found


def learned_scores(split, records, seed):
    """Log-odds that public trees give to these records."""
    import numpy as np

    p = trees(split["public"], split | {"held_out": records}, seed).clip(1e-4, 1 - 1e-4)
    return np.log(p / (1 - p))


# Longest gradients, and lengths of steps. Each of 80 steps draws a quarter of the records.
STEPS = [(longest, rate) for longest in (1, 4) for rate in (0.1, 0.5, 2, 8)]
SHARE, PASSES = 0.25, 20


def dp_sgd(split, epsilon, seed):
    """DP-SGD of Opacus from a logistic regression and from a small network of the public records."""
    import warnings

    import numpy as np
    import torch
    from sklearn.metrics import log_loss

    warnings.filterwarnings("ignore")
    torch.manual_seed(1000 * seed + int(100 * epsilon))
    torch.set_num_threads(1)
    draw = np.random.default_rng(seed)
    public, private = split["public"], split["private"]
    # Steps are chosen where public records play all roles, with a shift: the younger half teaches a
    # model; of the older one, a half, drawn as often as there are private records, is the private data,
    # and the other half judges.
    order, count = np.argsort(public["age"].to_numpy(), kind="stable"), len(public)
    taught, older = public.iloc[order[: count // 2]], order[count // 2 :]
    played, judges = (public.iloc[part] for part in np.array_split(draw.permutation(older), 2))
    played = played.iloc[draw.integers(len(played), size=len(private))]
    found = []
    for learner in (public_line, public_network):
        known = split.setdefault(learner.__name__, [learner(taught, seed), learner(public, seed)])
        (encoder, first), (whole, start) = known
        data = (encoder(played), labels(played))
        losses = []
        for steps in STEPS:
            model = descended(first, *data, epsilon, steps)
            told = answers(model, encoder(judges))
            losses.append((log_loss(labels(judges), told, labels=[0, 1]), steps))
        steps = min(losses)[1]
        print(learner.__name__, epsilon, steps, file=sys.stderr, flush=True)
        model = descended(start, whole(private), labels(private), epsilon, steps)
        found.append(answers(model, whole(split["held_out"])))
    return found


def descended(start, inputs, labels, epsilon, steps):
    """The model after DP-SGD on these records; its accountant is Opacus's default, that of PRVs."""
    import copy

    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    class Rows(TensorDataset):
        def __getitems__(self, rows):
            return self[rows]

    longest, rate = steps
    model = copy.deepcopy(start)
    data = Rows(torch.tensor(inputs), torch.tensor(labels))
    model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=rate),
        data_loader=DataLoader(data, batch_size=round(SHARE * len(data)), collate_fn=tuple),
        target_epsilon=epsilon, target_delta=DELTA, epochs=PASSES, max_grad_norm=longest,
    )
    for _ in range(PASSES):
        for records, truth in loader:
            optimizer.zero_grad()
            scores = model(records)[:, 0]
            torch.nn.functional.binary_cross_entropy_with_logits(scores, truth).backward()
            optimizer.step()
    return model


def labels(records):
    return records[LABEL].to_numpy("float32")


def answers(model, inputs):
    import torch

    with torch.no_grad():
        return torch.sigmoid(model(torch.tensor(inputs)))[:, 0].numpy()


def public_line(records, seed):
    """An encoder of records, and a logistic regression of them as a layer."""
    learner = logistic_pipeline(records)
    return encoder_of(learner), layers([(learner[-1].coef_.T, learner[-1].intercept_)])


def public_network(records, seed):
    """An encoder of records, and a network with 32 units; its decay is cross-validated."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    network = MLPClassifier((32,), early_stopping=True, max_iter=200, random_state=seed)
    search = GridSearchCV(network, {"alpha": [0.1, 1, 10]}, scoring="neg_log_loss", cv=4)
    learner = make_pipeline(one_hot(records), search)
    network = learner.fit(features(records), records[LABEL])[-1].best_estimator_
    return encoder_of(learner), layers(list(zip(network.coefs_, network.intercepts_)))


def encoder_of(learner):
    return lambda records: learner[0].transform(features(records)).astype("float32")


def layers(weights):
    """Linear layers with these weights, and ReLU between them."""
    import torch

    modules = []
    for matrix, intercept in weights:
        layer = torch.nn.Linear(*matrix.shape)
        layer.weight.data = torch.tensor(matrix.T.astype("float32"))
        layer.bias.data = torch.tensor(intercept.astype("float32"))
        modules += [torch.nn.ReLU(), layer]
    return torch.nn.Sequential(*modules[1:])


def synthesizer(name):
    return [f"{name}, trees on its records", f"{name}, trees on its and the public records"]


WITHOUT_PRIVACY = {"public-trees", "public-logistic", "no-privacy"}
# The function, the titles of its lines, the neighbours, and the package with the version.
PEERS = {
    "public-trees": (of_public(trees), ["scikit-learn, public trees"], "", "scikit-learn"),
    "public-logistic": (of_public(logistic), ["scikit-learn, public logistic"], "", "scikit-learn"),
    "no-privacy": (of_both, ["scikit-learn, trees on all, no privacy"], "none", "scikit-learn"),
    "dp-ebm": (
        dp_ebm, ["DP-EBM", "DP-EBM on top of public trees"], ADD, "interpret-core",
    ),
    "dp-sgd": (
        dp_sgd,
        ["DP-SGD of Opacus, from public logistic", "DP-SGD of Opacus, from a public network"],
        ADD, "opacus",
    ),
    "tab-pe": (tab_pe, synthesizer("Tab-PE"), ADD, "pe"),
    "mst": (mst, synthesizer("MST"), ADD, "mbi"),
    "jam": (jam, synthesizer("JAM"), REPLACE, "mbi"),
    "aim": (aim, synthesizer("AIM"), ADD, "mbi"),
}

if __name__ == "__main__":
    main()
