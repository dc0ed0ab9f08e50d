"""What can go wrong, as exceptions with the program's own words."""

from __future__ import annotations

__all__ = [
    "BudgetRefused",
    "HalflightError",
    "Interrupted",
    "ProgramDied",
    "ProgramFailed",
    "ProgramNotFound",
    "UsageError",
]


class HalflightError(Exception):
    """Something went wrong. Its text says what, where, and what to do."""


class ProgramFailed(HalflightError):
    """The work itself failed (exit code 1)."""


class UsageError(HalflightError, ValueError):
    """The request makes no sense (exit code 2, or found before the program was started)."""


class BudgetRefused(HalflightError):
    """The privacy budget or a privacy rule refuses it (exit code 3). Nothing was spent."""


class Interrupted(HalflightError):
    """A signal from elsewhere stopped the program (exit code 130)."""


class ProgramDied(HalflightError):
    """The program was killed. What it had announced in the ledger counts as spent."""


class ProgramNotFound(HalflightError, FileNotFoundError):
    """There is no halflight program."""
