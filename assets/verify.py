#!/usr/bin/env python3
"""A third opinion on a certificate.json or ledger.jsonl of halflight: python3 verify.py FILE

The epsilon of the listed mechanisms is computed again, by closed forms, Renyi divergences and a contour integral. What
is more than 0.1 % too small does not hold; the exit code is then 1. Of a ledger the hash of every line is checked, too."""
import hashlib, json, math, re, statistics, sys, numpy as np
TOLERANCE, LOOSE, NORMAL = 1e-3, 0.02, ("gaussian", "sampled", "repeated")
LIMITS = ("what other runs and releases on", "the choice of this run", "bounds, filters or category lists", "what is true of the",
    "public data that depend on", "how long the run took")  # what no certificate covers
# 1/x of an order x + 1 is a (sqrt(1 + e) - 1) + b e + c with e = epsilon/Lambda; its part.
ORDERS = ((1, 0, 0, .3), (1.5, 0, 0, .2), (2, 0, 0, .15), (0, 1, 1 / 64, .1), (0, 1, 1 / 16, .1), (0, 1, .166666, .15))
def kind(event):  # (name, size, sampling rate, replace-one)
    (name, it), = event["mechanism"].items()
    replaced = {"replace_one": True, "zero_out": False}[event["adjacency"]]
    if name in ("gaussian", "subsampled_gaussian"):
        mu, rate = it["sensitivity"] / it["sigma"], it.get("rate", 1.0)
        if name == "gaussian" or rate == 1: return "gaussian", mu * (2 if replaced and name != "gaussian" else 1), 1.0, replaced
        return "sampled", mu, rate, replaced
    if name == "repeated_gaussian":  # The best of many repeats: epsilon rises by c, delta by a factor.
        mu, eta, stop = it["sensitivity"] / it["sigma"], it["shape"], it["stop"]
        mean = (1 - stop) / stop / (-math.log(stop) if eta == 0 else (1 - stop ** eta) / eta)
        c = (1 + eta) * solve(lambda rho: (1 - stop) * gaussian_delta(mu, rho) <= stop * math.expm1(rho))
        return "repeated", mu, (c, math.log(mean)), replaced
    if name in ("laplace", "noisy_selection"): return "laplace", it["sensitivity"] / it["scale"] * (2 if name != "laplace" else 1), 1.0, False
    size = it["epsilon"] if name == "pure" else it["range"] / it["scale"]
    return {"selection": "range", "direction": "range", "permute_and_flip": "pure", "pure": "pure"}[name], size, 1.0, False
def draws(events, counts=None):
    """Every mechanism of one run, and how often it was drawn. A record is in training or held out, so Gaussian noise on
    held-out records counts for what that of training does not cover."""
    parts, square = [], {True: 0, False: 0}
    for event, count in zip(events, counts or [event["count"] for event in events]):
        it, apart, gaussian = kind(event), event.get("held_out", False), "gaussian" in event["mechanism"]
        if not (isinstance(count, int) and count >= 0 and math.isfinite(it[1])): raise ValueError("odd count or noise")
        if gaussian: square[apart] += count * it[1] ** 2
        if count and it[1] > 0 and not (apart and gaussian): parts.append((it, count))
    rest = square[True] - square[False]
    return parts + ([(("gaussian", math.sqrt(rest), 1.0, True), 1)] if rest > 1e-9 * square[False] else [])
def together(runs):  # every mechanism once
    return list({it: sum(n for other, n in sum(runs, []) if other == it) for it, _ in sum(runs, [])}.items())
def integral(size, rate, replaced, x, frequency, there):
    """Losses, weights and log E e^{xL} of a Gaussian mechanism on a sample, by trapezoids."""
    step = min(.2, .3 / size / (1 + .3 * size * math.sqrt(x)), 1.5 / (frequency * size + 1))
    low = -10 if replaced or there else -10 - x * size
    high = 10 + (2 * x + 1) * size if replaced else 10 + (x + 1) * size if there else 10
    if (high - low) / step > 60000: return None
    z = np.arange(low, high, step)
    mixture = lambda z: np.logaddexp(math.log1p(-rate), math.log(rate) + size * z - size * size / 2)
    loss = mixture(z) - mixture(-z) if replaced else mixture(z) if there else -mixture(z)
    weight = (mixture(z) if replaced or there else 0) - z * z / 2 + x * loss
    weight, top = np.exp(weight - weight.max()), weight.max()
    kept, total = weight > 1e-20 * weight.sum(), weight.sum()
    return loss[kept], weight[kept] / total, top + math.log(total * step / math.sqrt(2 * math.pi))
def moment(it, x, there=True, proven=False):
    """log E e^{xL} of one draw; of selections as much as is proven, or as their pair says."""
    name, size, rate, replaced = it
    if name == "sampled": return (integral(size, rate, replaced, x, 0, there) or [0, 0, math.inf])[2]
    if name == "gaussian": return x * (x + 1) * size * size / 2
    if name == "repeated":
        order = max(x, math.sqrt(2 * rate[1]) / size) if proven else x  # Divergences never fall with the order.
        return x * ((order + 1) * size * size / 2 + rate[0] + rate[1] / order)
    rest = math.exp(-(2 * x + 1) * size)
    if name == "laplace": return x * size + math.log((x + 1 + x * rest) / (2 * x + 1))
    if name == "range":
        pair = x * size + math.log((1 - rest) / ((2 * x + 1) * -math.expm1(-size)))
        return min(x * (x + 1) * size * size / 8, x * size) if proven else pair
    return x * size + math.log((1 + rest) / (1 + math.exp(-size)))
def along(it, x, t, there):  # E e^{(x + it)L} / E e^{xL} on the line
    name, size, rate, replaced = it
    if name == "sampled":
        if not (found := integral(size, rate, replaced, x, t[-1], there)) or len(found[0]) * len(t) > 3e8: return None
        parts = np.array_split(t, len(t) // 100 + 1)
        return np.concatenate([np.exp(1j * np.outer(part, found[0])) @ found[1] for part in parts])
    z, power = x + 1j * t, lambda a: np.exp(a - moment(it, x))
    if name == "gaussian": return power(z * (z + 1) * size * size / 2)
    if name == "repeated": return power(z * (z + 1) * size * size / 2 + z * rate[0] + rate[1])
    up, down = power(z * size), power(-(z + 1) * size)
    if name == "laplace": return ((z + 1) * up + z * down) / (2 * z + 1)
    if name == "range": return (up - down) / ((2 * z + 1) * -math.expm1(-size))
    return (up + down) / (1 + math.exp(-size))
def gaussian_delta(mu, epsilon):  # Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), both as tails
    first, second = (math.erfc((epsilon / mu + side * mu / 2) / math.sqrt(2)) / 2 for side in (-1, 1))
    return max(first - (math.exp(epsilon + math.log(second)) if second else 0), 0)
def solve(holds, high=1e-3, low=0):  # The least epsilon >= 0 of a condition that stays true
    if holds(0): return 0.0
    while not holds(high): high *= 2
    for _ in range(80): low, high = (low, it) if holds(it := (low + high) / 2) else (it, high)
    return high
def lowest(value):  # x and value at the least of a function with one valley
    best, width = min(np.arange(-4, 14, .35), key=(at := lambda place: value(math.exp(place)))), .35
    while (width := width / 2) > 5e-5: best = min((best, best - width, best + width), key=at)
    return math.exp(best), at(best)
def log_renyi(parts, x, epsilon, there=True):
    return sum(n * moment(it, x, there, True) for it, n in parts) - x * epsilon + x * math.log(x / (x + 1)) - math.log1p(x)
def contour(parts, delta, most, there):
    log_moment = lambda x: sum(count * moment(it, x, there) for it, count in parts)
    c, chernoff = lowest(lambda x: (log_moment(x) - math.log(delta)) / x + 1e-9 * x)
    low, middle, high = (log_moment(c * near) for near in (.99, 1, 1.01))
    step = min(.1 * c, .25 / math.sqrt(max((high - 2 * middle + low) / (.01 * c) ** 2, 1e-24)))
    def read(blur, count=256):
        while count < 40000:
            z = c + 1j * (t := step * np.arange(count))
            line = np.exp((z * z - c * c) * blur * blur / 2) / (z * (z + 1))
            for it, times in parts:
                if (ratio := along(it, c, t, there)) is None: return None
                line = line * np.abs(ratio) ** times * np.exp(1j * times * np.angle(ratio))
            end = np.nonzero(np.abs(line) > 1e-13 * abs(line[0]))[0][-1]
            if end < count * 7 / 8:
                size = lambda e: step / math.pi * math.exp(middle - c * e)
                value = lambda e: ((line * np.exp(-1j * t * e)).real.sum() - line[0].real / 2) * size(e)
                found = solve(lambda e: e >= most or value(e) <= delta)
                return found if found == 0 or found >= most or abs(value(found) / delta - 1) < 1e-3 else None
            count *= 3
        return None
    if (last := read(0.0)) is not None: return last
    blur, change = .02 * min(most, 1 / c), math.inf
    while change > 2e-5 and (found := read(blur)) is not None:
        change = abs(found - last) / found if last else math.inf
        last, blur = found, .4 * blur
    return last if change <= 5e-4 else None
def selections(size, count, delta, most, cells=12):
    """Selections of one size, each with the losses t and t - size for a t on a lattice, chosen by what came before."""
    step, half = size / cells, round(min(2 * most + size, size * count) * cells / size)
    at, t = step * np.arange(-half - cells, half + cells + 1), step * np.arange(cells + 1)
    now, p = np.maximum(-np.expm1(at), 0), np.expm1(t - size) / math.expm1(-size)
    for _ in range(count):
        below, above = (np.lib.stride_tricks.sliding_window_view(now[k:], cells + 1)[:2 * half + 1, ::-1] for k in (0, cells))
        now[cells:-cells] = (below * p + above * (1 - p)).max(axis=1)
    k = np.nonzero(now <= delta)[0][0]
    return max(math.log(np.interp(delta, now[[k, k - 1]], np.exp(at[[k, k - 1]]))), 0)
def epsilon(parts, delta):  # (least, most) of the epsilon that the list guarantees, fixed in advance
    if not parts: return 0.0, 0.0
    mu = math.sqrt(sum(count * it[1] ** 2 for it, count in parts))
    if all(it[0] == "gaussian" for it, _ in parts): return (solve(lambda e: gaussian_delta(mu, e) <= delta),) * 2
    renyi = lambda there: lowest(lambda x: (log_renyi(parts, x, 0, there) - math.log(delta)) / x)[1]
    most, least = max(min(renyi(True), pure := sum_of_pure(parts)), 0), 0.0
    (name, size, rate, replaced), count = parts[0]
    if len(parts) == 1 and count == 1 and name == "sampled" and not replaced:
        inner = lambda e: math.log1p(math.expm1(e) / rate) if e < 30 else e - math.log(rate)
        return (solve(lambda e: rate * gaussian_delta(size, inner(e)) <= delta),) * 2
    if all(it[0] in ("laplace", "pure") for it, _ in parts):  # All at their largest loss at once.
        p = math.prod((.5 if it[0] == "laplace" else 1 / (1 + math.exp(-it[1]))) ** count for it, count in parts)
        least = max(pure + math.log1p(-delta / p), 0) if delta < p else 0.0
    if name == "range" and len(parts) == 1 < count < 4000: return (min(most, selections(size, count, delta, most)),) * 2
    if most - least <= 2e-5 * most: return most, most
    worst = contour(parts, delta, most, True)
    largest = [-count * math.log1p(-it[2]) if it[0] == "sampled" else math.inf for it, count in parts]
    if worst is not None and any(it[0] == "sampled" and not it[3] for it, _ in parts) and sum(largest) > worst and renyi(False) > worst:
        worst = max(worst, contour(parts, delta, most, False) or math.inf)
    return (least, most) if worst in (None, math.inf) else (max(min(worst, most), least),) * 2
def sum_of_pure(parts): return sum(math.inf if it[0] in NORMAL else count * it[1] for it, count in parts)
def as_gaussian(name, size, rate, replaced):  # The Gaussian mechanism that tells as much: of a pure one, by total variation
    tail = math.exp(-size / 2) / 2 if name == "laplace" else 1 / (1 + math.exp(min(size, 700)))
    as_pure = -2 * statistics.NormalDist().inv_cdf(max(tail, 1e-300))
    return size * (1 + (name == "sampled" and replaced)) if name in NORMAL else as_pure
def admits(parts, e, delta):  # Whether a budget admits the list, whatever choice its events came in: see gate.rs
    if e <= 0 or sum_of_pure(parts) <= e: return e > 0 or not parts
    rest, scaled = .1 * delta, e / -math.log(.01 * delta)
    mu = math.sqrt(sum(count * as_gaussian(*it) ** 2 for it, count in parts))
    if all(it[0] != "repeated" for it, _ in parts) and gaussian_delta(mu, e) <= .9 * delta: return True
    order = lambda a, b, c: 1 / (a * (math.sqrt(1 + scaled) - 1) + b * scaled + c)
    return sum(math.exp(min(math.log(part * rest) - log_renyi(parts, order(*it), e), 700)) for *it, part in ORDERS) >= 1
def claim(name, says, delta, parts, choices=False):
    """Prints what a number says and what its mechanisms give; whether it holds."""
    (least, most), room = epsilon(parts, max(delta, 1e-300)), says * (1 + TOLERANCE) + 1e-9
    wrong = not room >= least or (choices and not admits(parts, room, delta))
    loose = says > (solve(lambda e: admits(parts, e, delta)) if choices else most) * (1 + LOOSE) + 1e-6
    end = "DOES NOT HOLD" if wrong else "open: only bounds" if room < most else "holds, loose" if loose else "holds"
    print(f"{name} says epsilon = {says:.6f} at delta = {delta:g}; its mechanisms give {least:.6f} to {most:.6f}: {end}")
    return not wrong
def drawable(events):  # A scale is 2^28 to 2^29 whole steps of a dyadic grid, and the sensitivity includes rounding to it
    grids = 0
    for event in events:
        (name, it), = event["mechanism"].items()
        if name not in ("gaussian", "subsampled_gaussian", "repeated_gaussian", "laplace"): continue
        d, grid, steps = it["coordinates"], it["grid"], it.get("sigma", it.get("scale")) / (it["grid"] or math.nan)
        told = [float(n) for n in re.findall(r"(\d+) numbers", event.get("what", ""))]
        moved = 0 if name == "repeated_gaussian" else grid * (d if name == "laplace" else math.sqrt(d))
        if not (grid > 0 and math.frexp(grid)[0] == .5 and 2 ** 28 <= steps <= 2 ** 29 and steps % 1 == 0): return False
        if d < 1 or it["sensitivity"] < moved * (1 - 1e-9) or told and d not in told + [sum(told)]: return False
        grids += 0 if name == "laplace" else event["count"] * d / steps ** 2
    return grids <= 2 ** -10
def words(it):  # The sentences that every certificate has, and those for records or persons
    unit, promise = ("a person who", "all records of one person had") if it.get("person") else ("a person with", "one of them had")
    peeked = not it.get("peeked") or any("(peeked)" in said for said in it["not_covered"])
    promised = not it["guarantee"] or not it["guarantee"]["epsilon"] or promise in it["statement"]
    return peeked and promised and all(any(said.startswith(begin) for said in it["not_covered"]) for begin in (unit, *LIMITS))
def narrow(it, power):  # The range of an error without its cap follows from the share of records above it and the bound of every error
    beyond = max(0, it["bound"] ** power - it["largest_error"] ** power) * it["above"]["high"]
    return it["uncapped"]["low"] > it["error"]["low"] * (1 + 1e-9) or it["uncapped"]["high"] ** power < (it["error"]["high"] ** power + beyond) * (1 - 1e-9)
def certificate(it):
    runs = (it.get("start") or {}).get("runs", [])
    if not drawable(sum([run["mechanisms"] for run in runs + [it]], [])): return print("this noise was never drawn")
    if it.get("kind") != "score" and not words(it): return print("a sentence is missing, or is about another unit")
    if "uncapped" in (score := it.get("score") or {}) and narrow(score, 1 + (score["loss"] == "squared")): return print("the range without the cap is too narrow")
    stated = [(f"start.runs[{i}].guarantee", run["guarantee"], together([draws(run["mechanisms"])])) for i, run in enumerate(runs)]
    same = [run for run in runs if run["account"] == it["account"]] or (runs if it.get("of_this_run") else [])
    stated.append(("of_this_run", it.get("of_this_run"), together([draws(it["mechanisms"])])))
    stated.append(("guarantee", it["guarantee"], together([draws(run["mechanisms"]) for run in same + [it]])))
    return all([claim(n, g["epsilon"], g["delta"], m, g.get("covers") == "adaptive") for n, g, m in stated if g])
def ledger(text):
    last, runs, budgets, tied = "0" * 64, {}, {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        body, _, seal = line.rpartition(b',"hash":"')
        it = json.loads(body + b"}")
        if seal != hashlib.sha256(body).hexdigest().encode() + b'"}' or it["seq"] != number or it["prev"] != last:
            return print(f"line {number} was changed, or lines are missing")
        last, it = seal[:64].decode(), it["entry"]; it = {"kind": "claimed", **it["claim"]} if it["kind"] == "corrected" else it
        if it["kind"] in ("grant", "recovered", "claimed"): runs[it["run"]] = [it["account"], it["events"], None]
        if it["kind"] == "settle": runs[it["run"]][2] = it["used"]
        if it["kind"] == "budget": budgets[it["account"]] = it["budget"]
        if it["kind"] == "tie": tied[it["from"]] = it["into"]
    home = lambda name: home(tied[name]) if name in tied else name
    here = [event for run, it in runs.items() if not run.startswith("claim-") for event in it[1]]
    if not drawable(here): return print("this noise was never drawn")
    held = lambda name: [draws(events, used) for account, events, used in runs.values() if home(account) == home(name)]
    chosen = lambda name: sum(map(bool, held(name))) > 1 or any(it[1] and home(it[0]) == home(name) for run, it in runs.items() if run.startswith("claim-"))
    return all([claim(f"budget of {name}", it["epsilon"], it["delta"], together(held(name)), chosen(name)) for name, it in budgets.items()])
if __name__ == "__main__":
    text = open(sys.argv[1], "rb").read()
    sys.exit(0 if (ledger(text) if text.startswith(b'{"seq":') else certificate(json.loads(text))) else 1)
