"""Sessions: datasets, budgets and plans in one file, and what is done with them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from . import _program, ron
from .errors import UsageError
from .ledger import Ledger
from .results import Progress, Ranking, Rehearsal, RunResult, rounded_up

__all__ = ["Session", "builtin", "rank", "rehearse", "resume"]

Path_ = Union[str, "os.PathLike[str]"]
Told = Union[bool, Callable[[Progress], None]]

#: Fields whose values are words, not strings.
_WORDS = {"task", "missing", "without_unit", "unknown_labels"}


def builtin(name: str) -> ron.Tagged:
    """A dataset that is inside the program, such as `bikeshare`."""
    return ron.Tagged("builtin", (name,))


class Session:
    """What is private, what is public, what may be spent, and the plans.

    >>> session = Session("a study")
    >>> session.add_private("ours", "visits.csv", label="days", budget=(4, 1e-5))
    >>> session.add_public("theirs", "published.csv", label="days")
    >>> session.add_plan("first", "public_shape", private="ours", public=["theirs"], epsilon=1)
    >>> session.save("study/session.ron")
    >>> [result] = session.run()

    The ledger and the runs lie beside the saved file.
    """

    def __init__(self, name: str = "") -> None:
        #: The fields of the file; what this class has no method for can be changed here.
        self.fields = ron.Struct(version=1, name=name, datasets=[], budgets={}, plans=[])
        #: Where it was saved or loaded.
        self.path: Optional[Path] = None

    @classmethod
    def load(cls, path: Path_) -> Session:
        """Reads a session file."""
        session = cls()
        fields = ron.loads(Path(path).read_text(encoding="utf-8"), str(path))
        if not isinstance(fields, ron.Struct):
            raise UsageError(f"{path}: this is not a session: it starts with (version: 1, …)")
        session.fields = fields
        session.path = Path(path)
        return session

    def to_ron(self) -> str:
        return ron.dumps(self.fields)

    def save(self, path: Optional[Path_] = None) -> Path:
        """Writes the session file, without `path` where it was before."""
        place = self.path if path is None else Path(path)
        if place is None:
            raise UsageError("where should the session be saved? session.save('session.ron')")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(self.to_ron(), encoding="utf-8")
        self.path = place
        return place

    def add_private(
        self,
        name: str,
        source: Union[Path_, ron.Tagged],
        *,
        label: Optional[str] = None,
        budget: Optional[tuple[float, float]] = None,
        **fields: Any,
    ) -> None:
        """Adds a private dataset. `budget` is the (ε, δ) that may be spent on its records, ever.

        Further fields are those of the session file: `filter`, `columns`, `categories`, `unit`,
        `task="classification"`, `classes` and others.
        """
        self._add(name, "private", source, label, fields)
        if budget is not None:
            epsilon, delta = budget
            budgets = self.fields.setdefault("budgets", {})
            budgets[name] = ron.Struct(epsilon=float(epsilon), delta=float(delta))

    def add_public(
        self,
        name: str,
        source: Union[Path_, ron.Tagged],
        *,
        label: Optional[str] = None,
        **fields: Any,
    ) -> None:
        """Adds a public dataset, which might stand in for the private one."""
        self._add(name, "public", source, label, fields)

    def add_plan(
        self,
        name: str,
        method: str,
        *,
        private: str,
        public: Union[str, Sequence[str]],
        epsilon: float,
        delta: float = 1e-6,
        settings: Optional[Mapping[str, Any]] = None,
        seed: int = 0,
        evaluation: bool = False,
        **fields: Any,
    ) -> None:
        """Adds a run to be made. With `evaluation` it also releases how good its model is."""
        plan = ron.Struct(
            name=name,
            method=method,
            private=private,
            public=[public] if isinstance(public, str) else list(public),
            target=ron.Struct(epsilon=float(epsilon), delta=float(delta)),
        )
        if settings:
            plan["settings"] = dict(settings)
        if evaluation:
            plan["evaluation"] = ron.Struct()
        plan["seed"] = seed
        plan.update(fields)
        self.fields.setdefault("plans", []).append(plan)

    def _add(
        self,
        name: str,
        role: str,
        source: Union[Path_, ron.Tagged],
        label: Optional[str],
        fields: Mapping[str, Any],
    ) -> None:
        if not isinstance(source, ron.Tagged):
            source = ron.Tagged("file", (os.fspath(source),))
        dataset = ron.Struct(name=name, role=ron.Name(role), source=source)
        if label is not None:
            dataset["label"] = label
        for key, value in fields.items():
            if key == "columns" and isinstance(value, (list, tuple)):
                value = ron.Tagged("only", (list(value),))
            is_word = key in _WORDS and isinstance(value, str)
            dataset[key] = ron.Name(value) if is_word else value
        self.fields.setdefault("datasets", []).append(dataset)

    def _saved(self) -> Path:
        if self.path is None:
            raise UsageError(
                "save the session first: its ledger and its runs lie beside the file\n"
                "  what to do: session.save('study/session.ron')"
            )
        if not self.path.is_file():
            raise UsageError(f"{self.path}: the session is gone\n  what to do: session.save()")
        if ron.loads(self.path.read_text(encoding="utf-8"), str(self.path)) != self.fields:
            raise UsageError(
                f"{self.path}: the session and its file differ\n"
                "  what to do: session.save(), or Session.load to take what the file says"
            )
        return self.path

    @property
    def ledger(self) -> Ledger:
        """The ledger beside the saved file."""
        return Ledger(self._saved().parent)

    def run(
        self,
        plan: Optional[str] = None,
        *,
        progress: Told = True,
        include_curator: bool = False,
        pace: Optional[float] = None,
    ) -> list[RunResult]:
        """Runs the plans, or one of them.

        `progress` is `True` for a line on standard error, or a function that hears of each step.
        Without `include_curator` the runs are sealed: no exact number about private data is
        computed at all.
        """
        arguments: list[Union[str, float, Path]] = ["run", self._saved()]
        if plan is not None:
            arguments += ["--plan", plan]
        if pace is not None:
            arguments += ["--pace", pace]
        return _run(arguments, progress, include_curator)

    def rank(self, **options: Any) -> Ranking:
        """See `halflight.rank`."""
        return rank(self, **options)

    def rehearse(self, plan: Optional[str] = None, **options: Any) -> Rehearsal:
        """See `halflight.rehearse`."""
        return rehearse(self, plan, **options)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.to_ron())}</pre>"


def resume(
    directory: Path_, *, progress: Told = True, include_curator: bool = False
) -> RunResult:
    """Goes on with a run whose program died; nothing is spent twice.

    `directory` is the run's own, below `.halflight/runs`. A run that was started sealed, as runs
    are from Python, stays so.
    """
    [result] = _run(["run", "--resume", directory], progress, include_curator)
    return result


def _run(
    arguments: list[Any],
    progress: Told,
    include_curator: bool,
    descriptors: Sequence[int] = (),
) -> list[RunResult]:
    arguments = [*arguments, "--json", "--progress", "json"]
    arguments.append("--include-curator" if include_curator else "--sealed")
    notes: list[str] = []
    show = _Line() if progress is True else progress

    def listen(line: Mapping[str, Any]) -> None:
        step = Progress.of_line(line)
        if step is not None and callable(show):
            show(step)

    def read(line: str) -> None:
        if line.strip().startswith("note: "):
            notes.append(line.strip()[len("note: ") :])

    value = _program.call(arguments, listen=listen, read=read, descriptors=descriptors)
    return [RunResult.of(run, notes) for run in value["runs"]]


class _Line:
    """Says how far a run is, in one line of standard error; one in ten where that is a file."""

    def __init__(self) -> None:
        self.told = -1
        self.overwrites = sys.stderr.isatty() or "ipykernel" in sys.modules

    def __call__(self, step: Progress) -> None:
        tenth = 10 * step.step // max(step.of, 1)
        if not (self.overwrites or step.done or tenth > self.told):
            return
        self.told = 0 if step.done else tenth
        text = f"step {step.step} of {step.of}, ε {rounded_up(step.epsilon)} so far"
        ending = "\n" if step.done or not self.overwrites else ""
        begin = "\r" if self.overwrites else ""
        print(begin + text, end=ending, file=sys.stderr, flush=True)


def rank(
    session: Union[Session, Path_],
    *,
    epsilon: Optional[float] = None,
    delta: Optional[float] = None,
    mechanism: Optional[str] = None,
    repeats: Optional[int] = None,
    include_curator: bool = False,
) -> Ranking:
    """Which public dataset can stand in for the private one?

    With `epsilon` the answer is private and paid for: how wrong each dataset's own model is, or
    without labels the best dataset; `mechanism` chooses another way, such as "table". With `include_curator=True` instead it is exact, for you
    alone; no ε covers it, and the ledger says so.
    """
    if (epsilon is None) != include_curator:
        raise UsageError(
            "a ranking is either private or exact\n  what to do: give epsilon=…, or "
            "include_curator=True for exact numbers, which no ε covers"
        )
    arguments: list[Any] = ["rank", _path(session), "--json", "--quiet"]
    options = {"--private": epsilon, "--delta": delta, "--repeats": repeats}
    for name, value in options.items():
        if value is not None:
            arguments += [name, value]
    if mechanism is not None:
        arguments += ["--mechanism", mechanism.replace("_", "-")]
    if include_curator:
        arguments.append("--include-curator")
    return Ranking.of(_program.call(arguments))


def rehearse(
    session: Union[Session, Path_],
    plan: Optional[str] = None,
    *,
    epsilons: Optional[Sequence[float]] = None,
    methods: Optional[Sequence[str]] = None,
    repetitions: Optional[int] = None,
    out: Optional[Path_] = None,
    progress: bool = False,
) -> Rehearsal:
    """Which method to use, and what to expect: tried on public data, so it costs no privacy.

    `out` is a file for the session with the advised method in the plan's place.
    """
    arguments: list[Any] = ["rehearse", _path(session), "--json"]
    if plan is not None:
        arguments += ["--plan", plan]
    if epsilons is not None:
        arguments += ["--over", "epsilon=" + ",".join(f"{float(it):g}" for it in epsilons)]
    if methods is not None:
        arguments += ["--methods", ",".join(methods)]
    if repetitions is not None:
        arguments += ["--repetitions", repetitions]
    if out is not None:
        arguments += ["--out", out]

    def read(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    return Rehearsal.of(_program.call(arguments, read=read if progress else None))


def _path(session: Union[Session, Path_]) -> Path:
    return session._saved() if isinstance(session, Session) else Path(session)
