"""One DP-SGD step in numpy: per-example gradients by einsum, clipped and summed.

Prints one line of JSON per model: softmax regression on 784 features with 10 classes, and the
probe network (conv 64@8x8, pool 2, conv 16@4x4, pool 2, linear) on 28 x 28.
"""
import json
import sys
import time

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

BATCH = 512
CLIP = 1.0
rng = np.random.default_rng(1)
x = rng.standard_normal((BATCH, 784)) / 28
y = np.arange(BATCH) % 10


def slopes(scores):
    e = np.exp(scores - scores.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    p[np.arange(BATCH), y] -= 1
    return p


def clipped_sum(gradients):
    squares = sum((g.reshape(BATCH, -1) ** 2).sum(1) for g in gradients)
    factors = np.minimum(1, CLIP / np.sqrt(squares))
    return [np.einsum("b,b...->...", factors, g) for g in gradients]


def softmax_step(w):
    delta = slopes(x @ w.T)
    return clipped_sum([np.einsum("bi,bj->bij", delta, x)])


def patches(images, kernel):
    # (batch, positions, channels * kernel * kernel)
    windows = sliding_window_view(images, (kernel, kernel), axis=(2, 3))
    b, c, h, w = windows.shape[:4]
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(b, h * w, c * kernel * kernel), (h, w)


def convolve(images, weights, bias, kernel):
    rows, (h, w) = patches(images, kernel)
    out = rows @ weights.T + bias
    return rows, out.transpose(0, 2, 1).reshape(len(images), -1, h, w)


def pool(maps):
    b, c, h, w = maps.shape
    cut = maps[:, :, : h // 2 * 2, : w // 2 * 2].reshape(b, c, h // 2, 2, w // 2, 2)
    out = cut.max((3, 5))
    return out, cut == out[:, :, :, None, :, None]


def unpool(delta, mask, shape):
    back = np.zeros(shape)
    b, c, h, w = delta.shape
    spread = (mask * delta[:, :, :, None, :, None]).reshape(b, c, 2 * h, 2 * w)
    back[:, :, : 2 * h, : 2 * w] = spread
    return back


def probe_step(w1, b1, w2, b2, w3, b3):
    images = x.reshape(BATCH, 1, 28, 28)
    rows1, maps1 = convolve(images, w1, b1, 8)
    small1, mask1 = pool(maps1)
    rows2, maps2 = convolve(small1, w2, b2, 4)
    small2, mask2 = pool(maps2)
    flat = small2.reshape(BATCH, -1)
    delta3 = slopes(flat @ w3.T + b3)
    delta2 = unpool((delta3 @ w3).reshape(small2.shape), mask2, maps2.shape)
    d2 = delta2.reshape(BATCH, 16, -1)
    g2 = np.einsum("bcp,bpd->bcd", d2, rows2)
    # Back through the second convolution: every patch adds to where it was taken.
    to = np.einsum("bcp,cd->bpd", d2, w2).reshape(BATCH, *maps2.shape[2:], 64, 4, 4)
    delta1 = np.zeros(small1.shape)
    h, w = maps2.shape[2:]
    for i in range(4):
        for j in range(4):
            delta1[:, :, i : i + h, j : j + w] += to[..., i, j].transpose(0, 3, 1, 2)
    d1 = unpool(delta1, mask1, maps1.shape).reshape(BATCH, 64, -1)
    g1 = np.einsum("bcp,bpd->bcd", d1, rows1)
    return clipped_sum(
        [g1, d1.sum(2), g2, d2.sum(2), np.einsum("bi,bj->bij", delta3, flat), delta3]
    )


def best(step, rounds):
    seconds = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        step()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds


for model in sys.argv[1:]:
    if model == "softmax":
        w = np.zeros((10, 784))
        seconds = best(lambda: softmax_step(w), 20)
    else:
        shapes = [(64, 64), (64,), (16, 1024), (16,), (10, 144), (10,)]
        weights = [rng.standard_normal(s) / np.sqrt(s[-1]) for s in shapes]
        seconds = best(lambda: probe_step(*weights), 3)
    print(json.dumps({"model": model, "seconds": seconds}))
