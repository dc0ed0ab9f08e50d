"""The ledger of a workspace: what was spent on whose records."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence, Union

from . import _program
from .errors import ProgramFailed, UsageError
from .results import Guarantee

__all__ = ["Ledger", "LedgerAccount", "LedgerRun"]


@dataclass(frozen=True)
class LedgerRun:
    """What one run bought."""

    run: str
    time: str
    method: str
    state: str
    spent: Optional[Guarantee]


@dataclass(frozen=True)
class LedgerAccount:
    """The records of one private dataset, and what they have cost."""

    account: str
    #: The names under which the ledger knows it.
    datasets: str
    #: ε and δ that may be spent, ever; None where no budget is set.
    budget: Optional[tuple[float, float]]
    spent: Optional[Guarantee]
    #: The same in words; none of them may be left out.
    total: str
    #: What one more run may cost.
    largest_epsilon: Optional[float]
    runs: Sequence[LedgerRun]

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> LedgerAccount:
        budget = value["budget"]
        runs = [
            LedgerRun(
                run["run"],
                run["time"],
                run["method"],
                run["state"],
                Guarantee.maybe(run["spent"]),
            )
            for run in value["runs"]
        ]
        return cls(
            value["account"],
            value["datasets"],
            None if budget is None else (budget["epsilon"], budget["delta"]),
            Guarantee.maybe(value["spent"]),
            value["total"],
            value["largest_epsilon"],
            runs,
        )


class Ledger:
    """The ledger in a directory of yours: keep it as long as the private records exist.

    Whatever is spent on the same records adds up here, whoever spends it: this package, the
    interface, or a command.
    """

    def __init__(self, place: Union[str, "os.PathLike[str]"]) -> None:
        if not os.fspath(place):
            raise UsageError("the place of the ledger is empty: name a directory")
        self.place = Path(place)

    def __repr__(self) -> str:
        return f"Ledger({str(self.place)!r})"

    def __fspath__(self) -> str:
        return str(self.place)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and other.place == self.place

    def __hash__(self) -> int:
        return hash(self.place)

    def accounts(self) -> list[LedgerAccount]:
        """One for each private dataset; none where nothing was spent yet."""
        if not self.place.is_dir():
            return []
        value = self._call("show")
        return [LedgerAccount.of(account) for account in value["accounts"]]

    def account(self, name: str) -> LedgerAccount:
        """The account with this key, or of the dataset with this name."""
        known = self.accounts()
        for account in known:
            if name in (account.account, account.datasets, *account.datasets.split(", ")):
                return account
        there = ", ".join(f"{it.account} ({it.datasets})" for it in known) or "none"
        raise UsageError(f"the ledger in {self.place} has no account '{name}'; there are: {there}")

    def set_budget(
        self, account: str, epsilon: float, delta: float, *, allow_large_delta: bool = False
    ) -> LedgerAccount:
        """Sets what an account may spend, ever. δ must be below 1/n."""
        more = ["--allow-large-delta"] if allow_large_delta else []
        key = self.account(account).account
        self._call("budget", key, epsilon, delta, *more)
        return self.account(key)

    def verify(self) -> bool:
        """Whether every line and every run directory agree; `False` if the ledger is damaged, was
        rolled back or replaced."""
        try:
            self._call("verify")
        except ProgramFailed:
            return False
        return True

    def _call(self, word: str, *arguments: Union[str, float]) -> Any:
        return _program.call(
            ["ledger", word, *arguments, "--workspace", self.place, "--json", "--quiet"]
        )

    def _repr_html_(self) -> str:
        head = "<tr><th>account</th><th>datasets</th><th>spent</th><th>budget</th><th>runs</th></tr>"
        body = ""
        for account in self.accounts():
            budget = account.budget
            told = "none" if budget is None else f"ε {budget[0]:g} at δ {budget[1]:g}"
            cells = (account.account, account.datasets, account.total, told, len(account.runs))
            body += "<tr>" + "".join(f"<td>{html.escape(str(it))}</td>" for it in cells) + "</tr>"
        return f"<table>{head}{body}</table>"
