"""Writes the steps of a trainer for `halflight watch FILE`, which draws them and checks its epsilon.

No dependency but Python 3.8. The format is one JSON value a line: `halflight schema steps`.

    from steps import Steps, subsampled_gaussian

    with Steps("events.jsonl", delta=1e-5, adjacency="add_remove", name="cifar",
               trainer="opacus 1.5", of=400) as steps:
        for number in range(1, 401):
            loss = train_one_step()
            steps.step(number, {"loss": loss}, [subsampled_gaussian(1.1, 0.004)], epsilon=claim())

Whole loops for Opacus, JAX-privacy and Flower: `halflight guide trainers`.

Several draws between two lines are one entry with a count: subsampled_gaussian(1.1, 0.004, 50).
A loader that shuffles and cuts batches does not sample in this sense, and no epsilon for samples
holds for it.
"""

import json
import math
import os
import secrets


def gaussian(noise_multiplier, count=1):
    """Noise on an answer from all records; its deviation over the sensitivity."""
    return {"mechanism": "gaussian", "noise_multiplier": noise_multiplier, "count": count}


def subsampled_gaussian(noise_multiplier, sampling_rate, count=1):
    """Noise on the sum over a Poisson sample; its deviation over the clip norm."""
    return {
        "mechanism": "subsampled_gaussian",
        "noise_multiplier": noise_multiplier,
        "sampling_rate": sampling_rate,
        "count": count,
    }


def laplace(noise_multiplier, count=1):
    """Laplace noise; its scale over the sensitivity."""
    return {"mechanism": "laplace", "noise_multiplier": noise_multiplier, "count": count}


def pure(epsilon, count=1):
    """Anything that is epsilon-differentially private by itself."""
    return {"mechanism": "pure", "epsilon": epsilon, "count": count}


class Steps:
    """A file of steps, for the owner alone; a line is written at once.

    Where all records of a person are protected together, unit names the column that says whose
    record a row is.
    """

    def __init__(self, path, delta, adjacency, name="", trainer="", of=0, unit=None):
        if adjacency not in ("add_remove", "replace_one", "zero_out"):
            raise ValueError("adjacency is add_remove, replace_one or zero_out")
        if not 0 < delta < 1:
            raise ValueError("delta lies between 0 and 1")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        self._file = os.open(path, flags, 0o600)
        self._last = 0
        # A ledger knows the training by its id, however often the file is charged.
        head = {
            "halflight": "steps 1", "id": secrets.token_hex(8), "name": name, "trainer": trainer,
            "of": of, "delta": delta, "adjacency": adjacency,
        }
        if unit is not None:
            head["unit"] = unit
        self._write(head)

    def step(self, number, metrics=None, drawn=(), epsilon=None):
        """One step: metrics by name, what was drawn since the step before, epsilon so far."""
        if number <= self._last:
            raise ValueError(f"step {number} comes after step {self._last}")
        self._last = number
        line = {"step": number, "metrics": {k: _number(v) for k, v in (metrics or {}).items()},
                "drawn": list(drawn)}
        if epsilon is not None and math.isfinite(epsilon):
            line["epsilon"] = float(epsilon)
        self._write(line)

    def end(self, word="finished"):
        """The last line."""
        if self._file is not None:
            self._write({"end": word})
            os.close(self._file)
            self._file = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.end("finished" if kind is None else "failed")

    def _write(self, line):
        text = json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n"
        os.write(self._file, text.encode())


def _number(value):
    value = float(value)
    return value if math.isfinite(value) else None
