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
    weights, about = model.get_tensor("weights"), json.loads(model.metadata()["halflight"])
print(dict(zip(about["features"], weights)))

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
        out = [x / math.sqrt(2) for x in out + [bound]]
    return out


label = preparation["labels"]["number"]["scale"]
worst, rows = 0.0, 0
with open(data_file) as data, open(predictions_file) as predictions:
    for row, told in zip(csv.DictReader(data), csv.DictReader(predictions), strict=True):
        x = features(row)
        assert len(x) == len(weights) == len(about["features"])
        expected = label["centre"] + label["width"] * sum(a * b for a, b in zip(x, weights))
        worst = max(worst, abs(expected - float(told["prediction"])))
        rows += 1
print(f"{rows} rows, largest difference {worst:.3g}")
assert rows > 0 and worst < 1e-6, worst
