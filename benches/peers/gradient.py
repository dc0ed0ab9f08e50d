"""The weighted gradient of a squared loss, over all records at once.

    python gradient.py RECORDSxFEATURES

Prints one JSON object: the seconds of each peer that is installed, the least of several rounds.
numpy passes over the data twice; JAX compiles the same two products. Both in f64 and f32.
"""
import json
import os
import sys
import time

import numpy as np

n, d = map(int, sys.argv[1].split("x"))
ROOT, WEIGHT = 0.5, 1.0 / n


def best(step):
    step()
    seconds = float("inf")
    for _ in range(12):
        start = time.perf_counter()
        step()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds


def inputs(kind):
    x = np.random.default_rng(1).standard_normal((n, d), np.float32).astype(kind, copy=False)
    return x, np.full(d, 0.01, kind), np.zeros(n, kind)


def with_numpy(kind):
    x, w, y = inputs(kind)

    def step():
        residual = x @ w - y
        kept = np.minimum(1, ROOT / np.maximum(np.abs(residual), 1e-30))
        return x.T @ (2 * WEIGHT * kept * residual)

    return best(step)


def with_jax(jax, kind):
    jnp = jax.numpy
    x, w, y = map(jnp.asarray, inputs(kind))

    @jax.jit
    def step(x, w, y):
        residual = x @ w - y
        kept = jnp.minimum(1, ROOT / jnp.maximum(jnp.abs(residual), 1e-30))
        return (2 * WEIGHT * kept * residual) @ x

    return best(lambda: step(x, w, y).block_until_ready())


found = {}
for name, kind in (("f64", np.float64), ("f32", np.float32)):
    found[f"numpy {name}"] = with_numpy(kind)
    try:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
    except ImportError:
        continue
    jax.config.update("jax_enable_x64", True)
    found[f"JAX {name}"] = with_jax(jax, kind)
print(json.dumps(found))
