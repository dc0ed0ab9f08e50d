"""One DP-SGD step without its noise: gather the batch, clip every record's gradient, add up.

    python classification.py MODEL

MODEL is `softmax` (784 features, 10 classes, biases) or `probe` (conv 64@8x8, pool 2, conv 16@4x4,
pool 2, linear on 28 x 28). Prints one JSON object: the seconds of each peer that is installed, the
least of several rounds. Each is written as somebody would who needs it fast:

- softmax: the gradient of a record is the product of its slopes and its features, so its length is
  the product of theirs, and the clipped sum is one product of two matrices. No record's gradient is
  ever made.
- the network, numpy: the gradients of all records by batched products of patches and slopes.
- the network, JAX: `vmap` of `grad` under `jit`, in blocks, which is faster than all at once.
"""
import json
import os
import sys
import time

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

BATCH = 512
CLIP = 1.0
BLOCKS = (16, 64)
# A step that takes longer than this, in seconds, is timed once. Compiling it is a small part then.
SLOW = 10
rng = np.random.default_rng(1)
RECORDS = rng.standard_normal((2 * BATCH, 784)) / 28
CLASSES = np.arange(2 * BATCH) % 10
MEMBERS = np.arange(0, 2 * BATCH, 2)
SHAPES = [(64, 64), (64,), (16, 1024), (16,), (10, 144), (10,)]
WEIGHTS = [rng.standard_normal(s) / np.sqrt(s[-1]) for s in SHAPES]


def best(step, rounds):
    start = time.perf_counter()
    step()
    seconds = time.perf_counter() - start
    if seconds > SLOW:
        return seconds
    seconds = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        step()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds


# numpy


def slopes(scores, y):
    scores = scores - scores.max(1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(1, keepdims=True)
    scores[np.arange(len(y)), y] -= 1
    return scores


def numpy_softmax(kind):
    records, y = RECORDS.astype(kind), CLASSES[MEMBERS]
    w, b = np.zeros((10, 784), kind), np.zeros(10, kind)

    def step():
        x = records[MEMBERS]
        delta = slopes(x @ w.T + b, y)
        squares = np.einsum("ij,ij->i", delta, delta) * (np.einsum("ij,ij->i", x, x) + 1)
        delta *= np.minimum(1, CLIP / np.sqrt(squares))[:, None]
        return delta.T @ x, delta.sum(0)

    return best(step, 2000)


def patches(images, size):
    """(batch, channels * size * size, positions)"""
    windows = sliding_window_view(images, (size, size), axis=(2, 3))
    b, c, h, w = windows.shape[:4]
    return np.ascontiguousarray(windows.transpose(0, 1, 4, 5, 2, 3)).reshape(b, -1, h * w), (h, w)


def pool(maps):
    b, c, h, w = maps.shape
    cut = maps[:, :, : h // 2 * 2, : w // 2 * 2].reshape(b, c, h // 2, 2, w // 2, 2)
    out = cut.max((3, 5))
    return out, cut == out[:, :, :, None, :, None]


def unpool(delta, mask, shape):
    back = np.zeros(shape, delta.dtype)
    b, c, h, w = delta.shape
    spread = (mask * delta[:, :, :, None, :, None]).reshape(b, c, 2 * h, 2 * w)
    back[:, :, : 2 * h, : 2 * w] = spread
    return back


def numpy_probe(kind, block):
    records = RECORDS.astype(kind)
    w1, b1, w2, b2, w3, b3 = [w.astype(kind) for w in WEIGHTS]

    def part(members):
        images, y = records[members].reshape(-1, 1, 28, 28), CLASSES[members]
        count = len(y)
        rows1, (h1, v1) = patches(images, 8)
        maps1 = (w1 @ rows1 + b1[:, None]).reshape(count, 64, h1, v1)
        small1, mask1 = pool(maps1)
        rows2, (h2, v2) = patches(small1, 4)
        maps2 = (w2 @ rows2 + b2[:, None]).reshape(count, 16, h2, v2)
        small2, mask2 = pool(maps2)
        flat = small2.reshape(count, -1)
        delta3 = slopes(flat @ w3.T + b3, y)
        d2 = unpool((delta3 @ w3).reshape(small2.shape), mask2, maps2.shape).reshape(count, 16, -1)
        g2 = d2 @ rows2.transpose(0, 2, 1)
        # Back through the second convolution: every patch adds to where it was taken.
        to = (w2.T @ d2).reshape(count, 64, 4, 4, h2, v2)
        delta1 = np.zeros(small1.shape, kind)
        for i in range(4):
            for j in range(4):
                delta1[:, :, i : i + h2, j : j + v2] += to[:, :, i, j]
        d1 = unpool(delta1, mask1, maps1.shape).reshape(count, 64, -1)
        g1 = d1 @ rows1.transpose(0, 2, 1)
        s1, s2 = d1.sum(2), d2.sum(2)
        square = lambda g: np.einsum("bi,bi->b", g.reshape(count, -1), g.reshape(count, -1))
        squares = sum(map(square, (g1, s1, g2, s2))) + square(delta3) * (square(flat) + 1)
        factors = np.minimum(1, CLIP / np.sqrt(squares))
        third = factors[:, None] * delta3
        together = lambda g: (factors @ g.reshape(count, -1)).reshape(g.shape[1:])
        return [*map(together, (g1, s1, g2, s2)), third.T @ flat, third.sum(0)]

    def step():
        parts = [part(MEMBERS[i : i + block]) for i in range(0, BATCH, block)]
        return [sum(p) for p in zip(*parts)]

    return best(step, 3)


# JAX


def jax_softmax(jax, kind):
    jnp = jax.numpy
    records, y = jnp.asarray(RECORDS.astype(kind)), jnp.asarray(CLASSES)
    members = jnp.asarray(MEMBERS)
    w, b = jnp.zeros((10, 784), kind), jnp.zeros(10, kind)

    @jax.jit
    def step(w, b, members):
        x = records[members]
        delta = jax.nn.softmax(x @ w.T + b) - jax.nn.one_hot(y[members], 10, dtype=kind)
        squares = (delta**2).sum(1) * ((x**2).sum(1) + 1)
        delta = delta * jnp.minimum(1, CLIP / jnp.sqrt(squares))[:, None]
        return delta.T @ x, delta.sum(0)

    return best(lambda: jax.block_until_ready(step(w, b, members)), 2000)


def jax_probe(jax, kind, block):
    jnp, lax = jax.numpy, jax.lax
    records, y = jnp.asarray(RECORDS.astype(kind)), jnp.asarray(CLASSES)
    weights = [jnp.asarray(w.astype(kind)) for w in WEIGHTS]

    def pooled(maps):
        return lax.reduce_window(maps, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss(weights, image, label):
        w1, b1, w2, b2, w3, b3 = weights
        convolve = lambda maps, w: lax.conv(maps, w, (1, 1), "VALID")
        maps = convolve(image.reshape(1, 1, 28, 28), w1.reshape(64, 1, 8, 8))
        maps = pooled(maps + b1[None, :, None, None])
        maps = convolve(maps, w2.reshape(16, 64, 4, 4)) + b2[None, :, None, None]
        scores = pooled(maps).reshape(-1) @ w3.T + b3
        return -jax.nn.log_softmax(scores)[label]

    def clipped(weights, x, y):
        gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(weights, x, y)
        squares = sum((g.reshape(len(x), -1) ** 2).sum(1) for g in gradients)
        factors = jnp.minimum(1, CLIP / jnp.sqrt(squares))
        return [jnp.tensordot(factors, g, 1) for g in gradients]

    @jax.jit
    def step(weights, members):
        x, labels = records[members], y[members]
        parts = (x.reshape(-1, block, 784), labels.reshape(-1, block))

        def add(sums, part):
            return [s + g for s, g in zip(sums, clipped(weights, *part))], None

        return lax.scan(add, [jnp.zeros_like(w) for w in weights], parts)[0]

    members = jnp.asarray(MEMBERS)
    return best(lambda: jax.block_until_ready(step(weights, members)), 3)


def main(model):
    found = {}
    for name, kind in (("f64", np.float64), ("f32", np.float32)):
        if model == "softmax":
            found[f"numpy {name}"] = numpy_softmax(kind)
        else:
            found[f"numpy {name}"] = min(numpy_probe(kind, block) for block in BLOCKS)
    try:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
    except ImportError:
        jax = None
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
        for name, kind in (("f64", np.float64), ("f32", np.float32)):
            if model == "softmax":
                found[f"JAX {name}"] = jax_softmax(jax, kind)
            else:
                found[f"JAX {name}"] = min(jax_probe(jax, kind, block) for block in BLOCKS)
    print(json.dumps(found))


main(sys.argv[1])
