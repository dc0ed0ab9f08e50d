"""One repeat of a ranking with two datasets in numpy, by the explicit Gram route, and one thin
SVD of a fifth of the rows, scaled up. Prints one line of JSON.

The gradients of the network with one hidden layer are written out by broadcasting; those of
the probe by im2col and matrix products per example, as the project's are.

With `whole FOLDER K`: the distance of the span of the probe's gradients of 0.npy to those of
1.npy, 2.npy, ... by thin SVDs of the gradients themselves, with the weights and labels there.
"""
import json
import os
import sys
import time

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

M, D, C, K = 2000, 784, 10, 18
rng = np.random.default_rng(1)


def softmax_deltas(z, y):
    e = np.exp(z - z.max(1, keepdims=True))
    e /= e.sum(1, keepdims=True)
    e[np.arange(len(y)), y] -= 1
    return e


def outer(delta, inputs):
    g = delta[:, :, None] * inputs[:, None, :]
    return np.concatenate([g.reshape(len(g), -1), delta], 1)


def mlp(x, y, w):
    w1, b1, w2, b2 = w
    h = np.maximum(x @ w1.T + b1, 0)
    d2 = softmax_deltas(h @ w2.T + b2, y)
    d1 = (d2 @ w2) * (h > 0)
    return np.concatenate([outer(d1, x), outer(d2, h)], 1)


def patches(maps, k):
    """c×h×w to positions × (c·k·k), stride 1."""
    v = sliding_window_view(maps, (k, k), axis=(1, 2))
    return np.ascontiguousarray(v.transpose(1, 2, 0, 3, 4)).reshape(v.shape[1] * v.shape[2], -1)


def pool(maps):
    c, h, w = maps.shape
    h2, w2 = h // 2, w // 2
    v = maps[:, : 2 * h2, : 2 * w2].reshape(c, h2, 2, w2, 2).transpose(0, 1, 3, 2, 4)
    v = v.reshape(c, h2, w2, 4)
    at = v.argmax(3)
    return np.take_along_axis(v, at[..., None], 3)[..., 0], at


def unpool(delta, at, shape):
    c, h2, w2 = delta.shape
    v = np.zeros((c, h2, w2, 4))
    np.put_along_axis(v, at[..., None], delta[..., None], 3)
    maps = np.zeros(shape)
    v = v.reshape(c, h2, w2, 2, 2).transpose(0, 1, 3, 2, 4).reshape(c, 2 * h2, 2 * w2)
    maps[:, : 2 * h2, : 2 * w2] = v
    return maps


def probe(x, y, w):
    w1, b1, w2, b2, w3, b3 = w
    rows = np.empty((len(x), 22010))
    for i in range(len(x)):
        p1 = patches(x[i].reshape(1, 28, 28), 8)
        c1 = (p1 @ w1.T + b1).T.reshape(64, 21, 21)
        m1, a1 = pool(c1)
        p2 = patches(m1, 4)
        c2 = (p2 @ w2.T + b2).T.reshape(16, 7, 7)
        m2, a2 = pool(c2)
        f = m2.reshape(1, -1)
        d3 = softmax_deltas(f @ w3.T + b3, y[i : i + 1])
        e2 = unpool((d3 @ w3).reshape(16, 3, 3), a2, (16, 7, 7)).reshape(16, -1)
        back = (e2.T @ w2).reshape(7, 7, 64, 4, 4)
        e1 = np.zeros((64, 10, 10))
        for r in range(4):
            for s in range(4):
                e1[:, r : r + 7, s : s + 7] += back[:, :, :, r, s].transpose(2, 0, 1)
        e1 = unpool(e1, a1, (64, 21, 21)).reshape(64, -1)
        rows[i] = np.concatenate([
            (e1 @ p1).ravel(), e1.sum(1), (e2 @ p2).ravel(), e2.sum(1), (d3.T @ f).ravel(), d3[0],
        ])
    return rows


def score(a, b):
    """Distance and energy through the three Gram matrices."""
    kaa, kbb, kab = a @ a.T, b @ b.T, a @ b.T
    la, ua = np.linalg.eigh(kaa)
    lb, ub = np.linalg.eigh(kbb)
    ua, ub = ua[:, -K:] / np.sqrt(la[-K:]), ub[:, -K:] / np.sqrt(lb[-K:])
    cosines = np.linalg.svd(ua.T @ kab @ ub, compute_uv=False)
    energy = (np.square(kab @ ub).sum()) / np.trace(kaa)
    return np.sqrt(max(0, K - np.square(cosines).sum()) / K), energy


def span(rows, k):
    """The leading right singular vectors, as rows."""
    return np.linalg.svd(rows, full_matrices=False)[2][:k]


def whole(folder, k):
    """What one repeat of a ranking takes and gives, every dataset's gradients by themselves."""
    load = lambda name: np.load(os.path.join(folder, name))
    flat, y = load("weights.npy"), load("labels.npy").astype(int)
    weights = []
    for shape in [(64, 64), (64,), (16, 1024), (16,), (C, 144), (C,)]:
        size = int(np.prod(shape))
        weights.append(flat[:size].reshape(shape))
        flat = flat[size:]
    count = sum(name[0].isdigit() for name in os.listdir(folder))
    images = [load(f"{i}.npy") for i in range(count)]
    start = time.perf_counter()
    private, *others = (span(probe(x, y, weights), k) for x in images)
    cosines = [np.linalg.svd(private @ other.T, compute_uv=False) for other in others]
    distances = [float(np.sqrt(max(0, k - np.square(c).sum()) / k)) for c in cosines]
    return {"seconds": time.perf_counter() - start, "distances": distances}


if sys.argv[1] == "whole":
    print(json.dumps(whole(sys.argv[2], int(sys.argv[3]))))
    sys.exit()

u = lambda *s: rng.uniform(-1, 1, s) / np.sqrt(np.prod(s[1:]))
if sys.argv[1] == "mlp":
    weights, gradients = (u(38, D), u(1, 38)[0], u(C, 38), u(1, C)[0]), mlp
else:
    weights = (u(64, 64), u(1, 64)[0], u(16, 1024), u(1, 16)[0], u(C, 144), u(1, C)[0])
    gradients = probe
grid = np.stack(np.meshgrid(np.arange(28), np.arange(28), indexing="ij"), -1).reshape(-1, 2)
waves = np.cos(grid @ np.stack([np.sin(np.arange(40) * 0.07), np.cos(np.arange(40) * 0.11)]))
data = [
    (rng.standard_normal((M, 40)) / (1 + np.arange(40))) @ waves.T
    + 0.1 * rng.standard_normal((M, D))
    for _ in range(2)
]
y = np.arange(M) * 7 % C
best = float("inf")
for _ in range(2):
    start = time.perf_counter()
    a, b = (gradients(x, y, weights) for x in data)
    score(a, b)
    best = min(best, time.perf_counter() - start)
# A thin SVD of n × p costs n²p: a fifth of the rows takes a twenty-fifth.
start = time.perf_counter()
np.linalg.svd(a[: M // 5], full_matrices=False)
svd = 2 * 25 * (time.perf_counter() - start)
print(json.dumps({"gram": best, "svd": svd}))
