"""Predicts with the files of a model alone and compares: an independent reading of what
travels with a model. Arguments: model.safetensors, data (CSV), predictions (CSV)."""

import csv
import json
import math
import sys

import safetensors

model_file, data_file, predictions_file = sys.argv[1:]

# The three lines of the README:
with safetensors.safe_open(model_file, "numpy") as model:
    tensors = {name: model.get_tensor(name) for name in model.keys()}
    about = json.loads(model.metadata()["halflight"])
if about["kind"] == "linear":
    print(dict(zip(about["features"], tensors["weights"])))

preparation = about["preparation"]


def standardised(x, scale):
    return (x - scale["centre"]) / scale["width"] / preparation["unit"]


def same(a, b):
    try:
        return float(a) == float(b)
    except ValueError:
        return a == b


def features(row):
    out = []
    for encoding in preparation["encodings"]:
        if "number" in encoding:
            number = encoding["number"]
            out.append(standardised(float(row[number["column"]]), number["scale"]))
        else:
            category = encoding["category"]
            cell, values = row[category["column"]], category["values"]
            known = [same(cell, value) for value in values]
            for hot, scale in zip(known + [not any(known)], category["scales"]):
                out.append(standardised(float(hot), scale))
    norm, bound = math.hypot(*out), preparation["feature_norm"]
    if norm > bound:
        out = [x * bound / norm for x in out]
    if preparation["intercept"]:
        out = [x / math.sqrt(2) for x in out + [bound / preparation.get("room", 1.0)]]
    return out


def shorten(numbers, limit):
    norm = math.hypot(*numbers)
    return [x * limit / norm for x in numbers] if norm > limit else list(numbers)


def walk(name, root, x):
    """The nodes of one tree from the root to the leaf of x."""
    part = {key: tensors[f"{name}.{key}"] for key in ("feature", "threshold", "left", "right")}
    node, path = 0, [0]
    while part["feature"][root + node] >= 0:
        low = x[int(part["feature"][root + node])] <= part["threshold"][root + node]
        node = int((part["left"] if low else part["right"])[root + node])
        path.append(node)
    return path


def predictor_scores(x):
    scores, k = [], 0
    while True:
        name = f"predictor.{k}"
        if f"{name}.linear" in tensors:
            weights = tensors[f"{name}.linear"][0]
            short = shorten(x, float(tensors[f"{name}.radius"][0]))
            scores.append(sum(a * b for a, b in zip(short, weights)) + weights[-1])
        elif f"{name}.forest.base" in tensors:
            value, score = tensors[f"{name}.forest.value"], tensors[f"{name}.forest.base"][0]
            for root in map(int, tensors[f"{name}.forest.roots"]):
                score += value[root + walk(f"{name}.forest", root, x)[-1]]
            scores.append(score)
        else:
            return scores
        k += 1


def effects(name, x, count):
    forest = f"predictor.{int(tensors[f'{name}.predictor'][0])}.forest"
    value, feature = tensors[f"{forest}.value"], tensors[f"{forest}.feature"]
    groups, out = tensors[f"{name}.groups"], [0.0] * count
    for root in map(int, tensors[f"{forest}.roots"]):
        path = walk(forest, root, x)
        for node, child in zip(path, path[1:]):
            group = int(groups[int(feature[root + node])])
            out[group] += value[root + child] - value[root + node]
    return out


def shape(x):
    """A public shape with its correction, for one score."""
    scores = predictor_scores(x)
    base = sum(a * b for a, b in zip(tensors["base"], scores))
    seen, k = [], 0
    while f"block.{k}.kind" in tensors:
        name = f"block.{k}"
        centre, width = tensors[f"{name}.centre"], tensors[f"{name}.width"]
        kind = int(tensors[f"{name}.kind"][0])
        if kind == 0:
            raw = [1.0]
        elif kind == 1:
            raw = [sum(a * b for a, b in zip(tensors[f"{name}.mixture"], scores))]
        elif kind == 2:
            raw = x
        elif kind == 3:
            raw = [sum(a * b for a, b in zip(row, x)) for row in tensors[f"{name}.directions"]]
        elif kind == 4:
            raw = effects(name, x, len(centre))
        else:
            raw, slots = [0.0] * len(centre), tensors[f"{name}.slots"]
            for node in walk(f"{name}.tree", 0, x)[1:]:
                if slots[node] >= 0:
                    raw[int(slots[node])] = 1.0
        block = [(r - c) / w if w > 0 else 0.0 for r, c, w in zip(raw, centre, width)]
        block = shorten(block, float(tensors[f"{name}.limit"][0]))
        seen += [b * float(tensors[f"{name}.scale"][0]) for b in block]
        k += 1
    seen = shorten(seen, 1.0)
    return base + sum(a * float(b) for a, b in zip(seen, tensors["correction"].ravel()))


def linear(x):
    assert len(x) == len(tensors["weights"]) == len(about["features"])
    return sum(a * b for a, b in zip(x, tensors["weights"]))


score = {"linear": linear, "shape": shape}[about["kind"]]
label = preparation["labels"]["number"]["scale"]
worst, rows = 0.0, 0
with open(data_file) as data, open(predictions_file) as predictions:
    for row, told in zip(csv.DictReader(data), csv.DictReader(predictions), strict=True):
        expected = label["centre"] + label["width"] * score(features(row))
        worst = max(worst, abs(expected - float(told["prediction"])))
        rows += 1
print(f"{rows} rows, largest difference {worst:.3g}")
assert rows > 0 and worst < 1e-6, worst
