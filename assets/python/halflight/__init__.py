"""Private domain adaptation: `halflight` from Python.

This package calls the program of the same name, which comes with it, and reads its results.

>>> import halflight
>>> halflight.account(sigma=1.1, q=0.004, steps=15000, delta=1e-5).epsilon
>>> session = halflight.Session.load("session.ron")
>>> session.rehearse()          # costs no privacy
>>> [result] = session.run()
>>> result.model().predict(rows)

Nothing here needs another package, but arrays need numpy, and `PrivateRegressor` and
`PrivateClassifier` scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._program import find as program
from .accounting import account
from .errors import (
    BudgetRefused,
    HalflightError,
    Interrupted,
    ProgramDied,
    ProgramFailed,
    ProgramNotFound,
    UsageError,
)
from .ledger import Ledger, LedgerAccount, LedgerRun
from .model import Model
from .results import (
    Accounted,
    Advice,
    Guarantee,
    Interval,
    Progress,
    Ranking,
    Rehearsal,
    ReleasedScore,
    RunResult,
)
from .session import Session, builtin, rank, rehearse, resume

if TYPE_CHECKING:
    from .estimators import PrivateClassifier, PrivateRegressor

__all__ = [
    "Accounted",
    "Advice",
    "BudgetRefused",
    "Guarantee",
    "HalflightError",
    "Interrupted",
    "Interval",
    "Ledger",
    "LedgerAccount",
    "LedgerRun",
    "Model",
    "PrivateClassifier",
    "PrivateRegressor",
    "ProgramDied",
    "ProgramFailed",
    "ProgramNotFound",
    "Progress",
    "Ranking",
    "Rehearsal",
    "ReleasedScore",
    "RunResult",
    "Session",
    "UsageError",
    "account",
    "builtin",
    "program",
    "rank",
    "rehearse",
    "resume",
]

_ESTIMATORS = {"PrivateClassifier", "PrivateRegressor"}


def __getattr__(name: str) -> Any:
    # scikit-learn is not needed for the rest.
    if name in _ESTIMATORS:
        try:
            from . import estimators
        except ImportError as error:
            raise ImportError(
                f"{name} needs scikit-learn 1.6 or later\n  what to do: pip install -U scikit-learn"
            ) from error
        return getattr(estimators, name)
    raise AttributeError(f"module 'halflight' has no attribute '{name}'")
