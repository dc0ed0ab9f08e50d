"""Seconds of one PLD accounting call of Google's dp-accounting, one line per case.

    pip install dp-accounting==0.6.0
    python accounting.py SIGMA,RATE,STEPS,DELTA ...
"""

import sys
import time

from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant


def epsilon(sigma, rate, steps, delta):
    accountant = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-4)
    event = dp_event.GaussianDpEvent(sigma)
    if rate < 1:
        event = dp_event.PoissonSampledDpEvent(rate, event)
    accountant.compose(event, int(steps))
    return accountant.get_epsilon(delta)


for case in sys.argv[1:]:
    sigma, rate, steps, delta = map(float, case.split(","))
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        epsilon(sigma, rate, steps, delta)
        best = min(best, time.perf_counter() - start)
    print(best, flush=True)
