"""Runs an exported model with onnxruntime and compares it with `halflight predict`.
Arguments: model.onnx, data (CSV, may be packed), predictions (CSV)."""

import csv
import gzip
import json
import math
import sys

import numpy
import onnxruntime

model_file, data_file, predictions_file = sys.argv[1:]


def rows_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="") as file:
        head, *rows = csv.reader(file)
    # An empty line is one empty cell.
    return [dict(zip(head, row or [""])) for row in rows]


session = onnxruntime.InferenceSession(model_file, providers=["CPUExecutionProvider"])
about = json.loads(session.get_modelmeta().custom_metadata_map["halflight"])
data, told = rows_of(data_file), rows_of(predictions_file)
assert len(data) == len(told) > 0, (len(data), len(told))

fed = {}
for column in about["columns"]:
    cells = [row[column["column"]] for row in data]
    if "texts" in column:
        fed[column["column"]] = numpy.array(cells, dtype=object).reshape(-1, 1)
    else:
        numbers = [float(cell) if cell else math.nan for cell in cells]
        fed[column["column"]] = numpy.array(numbers).reshape(-1, 1)
names = [output.name for output in session.get_outputs()]
out = dict(zip(names, session.run(None, fed)))

gaps, worst = 0, 0.0
for at, row in enumerate(told):
    if row["prediction"] == "":
        gaps += 1
        if "prediction" in out:
            assert math.isnan(out["prediction"][at, 0]), (at, out["prediction"][at])
        else:
            assert out["label"][at] == "", (at, out["label"][at])
    elif "prediction" in out:
        told_number = float(row["prediction"])
        scale = max(1.0, abs(told_number))
        worst = max(worst, abs(out["prediction"][at, 0] - told_number) / scale)
    else:
        shares = [row.get(f"probability_{name}") for name in about["classes"]]
        if "probabilities" in out:
            found = out["probabilities"][at]
            worst = max(worst, max(abs(a - float(b)) for a, b in zip(found, shares, strict=True)))
            # A tie may fall either way in single precision.
            ordered = sorted(found)
            decided = ordered[-1] - ordered[-2] > 1e-5
        else:
            assert "scores" in out and not any(shares)
            ordered = sorted(out["scores"][at])
            decided = ordered[-1] - ordered[-2] > 1e-5
        assert not decided or out["label"][at] == row["prediction"], (at, out["label"][at], row)
print(f"{len(told)} rows, {gaps} gaps, largest difference {worst:.3g}")
assert worst < 1e-5, worst
