#!/usr/bin/env python3
"""Algorithms 1 and 2 of Bassily, Mohri and Suresh on the data of their section 7, in numpy.

Written from the paper alone: it shares no code with halflight, and `cargo run --release -p halflight-studies -- discrepancy`
is held against it. Prints the distance of second moments and 10^4 times the squared error, means and
standard deviations over seeds. Algorithm 1 twice: with the choices' noise in the gaps, as printed,
and with noise of their own, as in halflight.

    python3 assets/printed.py [SEEDS]
"""
import sys

import numpy as np

D, M, K, MU, LAMBDA, DELTA, RADIUS = 10, 1000, 1000, 10.0, 0.001, 1 / 8000, 1.0


def draw(count, source, rng):
    """Features in the unit ball, and labels."""
    alternating = np.where(np.arange(D) % 2 == 0, -1.0, 1.0)
    like_target = rng.random(count) < (0.25 if source else 1.0)
    centres = np.where(like_target[:, None], alternating, 1.0) / np.sqrt(2 * D)
    x = centres + rng.standard_normal((count, D)) / np.sqrt(9 * D)
    z = x.sum(1) / np.sqrt(D)
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1), np.where(z > 0, z, z / 2)


def slopes(moment, x):
    """The gradient of the smoothed discrepancy in the weights of x."""
    values, vectors = np.linalg.eigh(moment)
    top = np.abs(values).max()
    up, down = np.exp(MU * (values - top)), np.exp(MU * (-values - top))
    return -((x @ vectors) ** 2) @ ((up - down) / (up.sum() + down.sum()))


def two_stage(x, y, target, noise, rng):
    q = np.full(M, 1 / M)
    for k in range(1, K):  # the last choice is made in vain
        gradient = slopes(target - x.T @ (x * q[:, None]), x) + LAMBDA * q
        chosen = np.argmin(gradient + rng.laplace(0, noise, M))
        step = 3 / (k + 2)
        q *= 1 - step
        q[chosen] += step
    weighted = x * q[:, None]
    return q, np.linalg.solve(x.T @ weighted + 1e-5 * np.eye(D), weighted.T @ y)


def single_stage(x, y, target, noise, rng, reuse):
    noise *= 8 * RADIUS**2
    longest, largest = np.linalg.norm(x, axis=1).max(), np.abs(y).max()
    residual = RADIUS * longest + largest
    lipschitz = 2 * (residual**2 + 4 * RADIUS**2 * longest**2) + 2 * RADIUS * 2 * residual * longest
    smooth = 4 * 4 * RADIUS**2 * MU * longest**4 + 4 * RADIUS**2 * longest**2
    smooth += 2 * 2 * longest * residual * 2 * 2 * RADIUS
    step = min(1.0, np.sqrt(2 * lipschitz / (smooth * K)))
    q, w, best = np.full(M, 1 / M), np.zeros(D), (np.inf, None, None)
    for _ in range(K):
        errors = x @ w - y
        gradient = errors**2 + 4 * RADIUS**2 * slopes(target - x.T @ (x * q[:, None]), x)
        drawn = rng.laplace(0, noise, M)
        chosen = np.argmin(gradient + drawn)
        if reuse:
            gap = gradient @ q - gradient[chosen] - drawn[chosen]
        else:
            gap = gradient @ q - gradient.min() + rng.laplace(0, noise)
        downhill = -2 * x.T @ (q * errors)
        vertex = RADIUS * downhill / np.linalg.norm(downhill)
        gap += downhill @ (vertex - w)
        if gap < best[0]:
            best = (gap, q.copy(), w.copy())
        q *= 1 - step
        q[chosen] += step
        w = (1 - step) * w + step * vertex
    return best[1:]


def run(algorithm, n, epsilon, seed):
    rng = np.random.default_rng(seed)
    (x, y), (private, _), (unseen, truth) = (draw(*it, rng) for it in ((M, True), (n, False), (8000, False)))
    target = private.T @ private / n
    longest = np.linalg.norm(x, axis=1).max()
    noise = 4 * MU * longest**2 * np.sqrt(2 * K * np.log(1 / DELTA)) / (n * epsilon)
    q, w = algorithm(x, y, target, noise, rng)
    return np.linalg.norm(target - x.T @ (x * q[:, None]), 2), 1e4 * np.mean((unseen @ w - truth) ** 2)


if __name__ == "__main__":
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 16)
    for title, algorithm in {
        "algorithm 2": two_stage,
        "algorithm 1, as printed": lambda *it: single_stage(*it, reuse=True),
        "algorithm 1, noise of their own": lambda *it: single_stage(*it, reuse=False),
    }.items():
        for n, epsilon in ((n, epsilon) for n in (1000, 8000) for epsilon in (1, 4, 16, np.inf)):
            found = np.array([run(algorithm, n, epsilon, seed) for seed in seeds])
            (norm, error), (of_norm, of_error) = found.mean(0), found.std(0)
            print(f"{title:32} n={n} ε={epsilon:<4} ‖M‖ {norm:.4f} ± {of_norm:.4f}  error {error:.2f} ± {of_error:.2f}", flush=True)
