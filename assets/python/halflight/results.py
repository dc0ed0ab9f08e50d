"""What the program found, as objects. They hold public and released numbers; exact numbers about
private data are in them only where a call says `include_curator=True`."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

from . import _pictures

if TYPE_CHECKING:
    from .model import Model

__all__ = [
    "Accounted",
    "Advice",
    "Guarantee",
    "Interval",
    "Progress",
    "Ranking",
    "Rehearsal",
    "ReleasedScore",
    "RunResult",
]


#: A picture with more curves is hard to read.
_MOST_CURVES = 6


def rounded_up(number: float, digits: int = 4) -> str:
    """An ε as it may be told: never less than it is."""
    scale = 10.0**digits
    return f"{math.ceil(number * scale) / scale:.{digits}f}"


def table(rows: Sequence[tuple[str, Any]], title: str = "") -> str:
    """Two columns in HTML."""
    head = f"<caption><b>{html.escape(title)}</b></caption>" if title else ""
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
        for name, value in rows
    )
    return f"<table>{head}{body}</table>"


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ): what noise guarantees to each record, or person."""

    #: A proven upper bound; None where nothing is guaranteed.
    epsilon: Optional[float]
    #: The true ε is at least this.
    epsilon_lower: Optional[float]
    delta: float
    #: `replace_one` or `zero_out`: the change of the data that the noise hides.
    adjacency: str
    #: Which bound decided, in words.
    bound: str
    #: `fixed_plan` or `adaptive`: also what was chosen after seeing earlier outputs.
    covers: str

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Guarantee:
        return cls(*(value[name] for name in cls.__dataclass_fields__))

    @classmethod
    def maybe(cls, value: Optional[Mapping[str, Any]]) -> Optional[Guarantee]:
        return None if value is None else cls.of(value)

    def __str__(self) -> str:
        if self.epsilon is None:
            return "no guarantee"
        how = self.adjacency.replace("_", "-")
        return f"ε {rounded_up(self.epsilon)} at δ {self.delta:g} ({how})"


@dataclass(frozen=True)
class Accounted:
    """An answer of the accountant."""

    #: The number of steps, or the name of the plan.
    of: str
    guarantee: Guarantee
    #: With `target_epsilon`: the least noise.
    sigma: Optional[float] = None
    #: The same for a plan: a factor on its noise.
    factor: Optional[float] = None

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> Accounted:
        guarantee = Guarantee.of(value["guarantee"])
        return cls(value["of"], guarantee, value.get("sigma"), value.get("factor"))

    @property
    def epsilon(self) -> Optional[float]:
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        return self.guarantee.delta

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [("steps", self.of), ("guarantee", self.guarantee)]
        rows += [("σ", self.sigma)] if self.sigma is not None else []
        rows += [("factor", self.factor)] if self.factor is not None else []
        return table(rows)


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    run: str
    step: int
    #: Steps in all, so far as that is known.
    of: int
    phase: str
    #: Of everything drawn so far.
    epsilon: float
    done: bool

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> Optional[Progress]:
        if line.get("kind") != "step":
            return None
        return cls(
            line["run"],
            line["step"],
            line["of"],
            line.get("phase", ""),
            line["epsilon"],
            line.get("done", False),
        )


@dataclass(frozen=True)
class Interval:
    """A released number with the range that holds the truth in 95 of 100 cases."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: Mapping[str, float]) -> Interval:
        return cls(value["value"], value["low"], value["high"])

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True)
class ReleasedScore:
    """How good a model is on private records that did not train it; it may be told."""

    records: int
    #: `absolute`, `squared` or `wrong`: what counts as an error.
    loss: str
    error: Interval
    #: The same of the best predictor from public data alone.
    public_alone: Optional[Interval]
    difference: Optional[Interval]
    #: Everything that the program prints of it.
    details: Mapping[str, Any] = field(repr=False, default_factory=dict)
    #: Where the plan asks for the share of every class: the mean over the classes of right answers.
    balanced_accuracy: Optional[Interval] = None
    #: Of two classes, where the plan asks for it.
    auc: Optional[Interval] = None

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> ReleasedScore:
        def maybe(name: str) -> Optional[Interval]:
            found = value.get(name)
            return None if found is None else Interval.of(found)

        return cls(
            value["records"],
            value.get("loss", "wrong"),
            Interval.of(value["error"]),
            maybe("public_alone"),
            maybe("difference"),
            value,
            maybe("balanced_accuracy"),
            maybe("auc"),
        )


@dataclass(frozen=True)
class RunResult:
    """What a run released, and what it guarantees."""

    run: str
    plan: str
    method: str
    #: `finished`, `stopped`, `failed` or `abandoned`.
    outcome: str
    guarantee: Optional[Guarantee]
    #: Of the model, where it started from that of earlier runs on the same private data.
    guarantee_with_start: Optional[Guarantee]
    score: Optional[ReleasedScore]
    private_records: int
    public_records: int
    steps: int
    seconds: float
    #: Where its files lie: model, certificate, report.
    directory: Path
    #: Errors on held-out public records: `model` and `source_only`.
    public_error: Mapping[str, Optional[float]]
    #: Exact errors on held-out private records; None unless they were asked for by name.
    curator_only: Optional[Mapping[str, Optional[float]]] = None
    #: What the program remarked while it worked.
    notes: tuple[str, ...] = ()
    #: The same models on the same public records, each with all of its scores under their own names,
    #: such as `mean_absolute_error`, or `error_rate`, `balanced_accuracy` and `auc`.
    public_measures: Mapping[str, Optional[Mapping[str, Optional[float]]]] = field(
        default_factory=dict
    )
    #: The same on held-out private records, exact; None unless they were asked for by name.
    curator_only_measures: Optional[Mapping[str, Optional[Mapping[str, Optional[float]]]]] = None

    @classmethod
    def of(cls, value: Mapping[str, Any], notes: Sequence[str] = ()) -> RunResult:
        score = value.get("score")
        return cls(
            run=value["run"],
            plan=value["plan"],
            method=value["method"],
            outcome=value["outcome"],
            guarantee=Guarantee.maybe(value["guarantee"]),
            guarantee_with_start=Guarantee.maybe(value["guarantee_with_start"]),
            score=None if score is None else ReleasedScore.of(score),
            private_records=value["private_records"],
            public_records=value["public_records"],
            steps=value["steps"],
            seconds=value["seconds"],
            directory=Path(value["directory"]),
            public_error=value["public_rmse"],
            curator_only=value.get("curator_only_private_rmse"),
            notes=tuple(notes),
            public_measures=value["public_measures"],
            curator_only_measures=value.get("curator_only_private_measures"),
        )

    def model(self) -> Model:
        """The trained model."""
        from .model import Model

        return Model(self.directory)

    def certificate(self) -> Any:
        """What is promised to the people in the data, as the certificate's JSON."""
        import json

        return json.loads((self.directory / "certificate.json").read_text(encoding="utf-8"))

    def report(self) -> str:
        """The report, a page of HTML with released and public numbers only."""
        return (self.directory / "report.html").read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [
            ("outcome", f"{self.outcome}, {self.steps} steps in {self.seconds:.1f} s"),
            ("method", self.method),
            ("guarantee", self.guarantee or "none"),
            ("private records", self.private_records),
        ]
        if self.score is not None:
            rows.append(("released error", self.score.error))
            if self.score.public_alone is not None:
                rows.append(("public data alone", self.score.public_alone))
        summary = table(rows, self.plan)
        if not (self.directory / "report.html").is_file():
            return summary
        # In a frame of its own, the page's style stays its own; it has no script.
        page = html.escape(self.report(), quote=True)
        frame = "width:100%;height:40em;border:0"
        return f'{summary}<iframe sandbox srcdoc="{page}" style="{frame}"></iframe>'


@dataclass(frozen=True)
class Ranking:
    """Which public datasets can stand in for the private one."""

    private: str
    #: Of a private ranking; None of one by exact numbers.
    guarantee: Optional[Guarantee]
    #: Released: the best dataset.
    winner: Optional[str]
    #: Released: how wrong every dataset's own model is on the private records, the least first.
    errors: Optional[Sequence[Mapping[str, Any]]]
    #: Released: every dataset's scores, the best first.
    released: Optional[Sequence[Mapping[str, Any]]]
    #: Released: what every dataset holds of one direction.
    direction: Optional[Sequence[Mapping[str, Any]]]
    left_out: Sequence[Mapping[str, str]]
    remarks: Sequence[str]
    #: Exact numbers; None unless they were asked for by name.
    curator_only: Optional[Mapping[str, Any]] = None

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Ranking:
        return cls(
            value["private"],
            Guarantee.maybe(value.get("guarantee")),
            value.get("winner"),
            value.get("errors"),
            value.get("released"),
            value.get("direction"),
            value["left_out"],
            value["remarks"],
            value.get("curator_only"),
        )

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [
            ("guarantee", self.guarantee or "none: by exact numbers, for the curator")
        ]
        if self.winner is not None:
            rows.append(("best stand-in", self.winner))
        if self.curator_only is not None:
            for dataset in self.curator_only["datasets"]:
                rows.append((f"{dataset['name']} ◆", dataset["verdict"]))
        remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in self.remarks)
        return table(rows, f"stand-ins for {self.private}") + self._picture() + remarks

    def _picture(self) -> str:
        """Bars with whiskers, as in the report: how near each dataset is to the private one."""

        def bar(dataset: Mapping[str, Any], score: Mapping[str, Any], mark: str) -> _pictures.Bar:
            return _pictures.Bar(str(dataset["name"]) + mark, score["mean"], score["deviation"])

        drawn = ""
        if self.errors is not None:
            known = [(it["name"], it["error"]) for it in self.errors if it["error"] is not None]
            rows = [_pictures.Bar(str(name), it["mean"], it["deviation"]) for name, it in known]
            drawn += _pictures.bars("error of its own model (less is better)", rows)
        if self.released is not None:
            rows = [bar(dataset, dataset["energy"], "") for dataset in self.released]
            drawn += _pictures.bars("captured energy (more is better)", rows)
        if self.direction is not None:
            rows = [bar(dataset, dataset["energy"], "") for dataset in self.direction]
            drawn += _pictures.bars("share of the released direction (more is better)", rows)
        if self.curator_only is not None:
            exact = self.curator_only
            rows = [
                bar(dataset, dataset["scores"]["distance"], " ◆")
                for dataset in exact["datasets"]
                if dataset["scores"] is not None
            ]
            for name, words in (("floor", "more private data"), ("ceiling", "noise")):
                if exact.get(name) is not None:
                    rows.append(bar({"name": words}, exact[name]["distance"], " ◆"))
            drawn += _pictures.bars("GSD ◆ (less is better)", rows)
        return drawn


@dataclass(frozen=True)
class Advice:
    """What rehearsals say of one ε."""

    epsilon: float
    #: The method to use; None where nothing is known.
    method: Optional[str]


@dataclass(frozen=True)
class Rehearsal:
    """What to expect of each method, found on public data: it costs no privacy."""

    plan: str
    advised: Sequence[Advice]
    #: Who played the private data.
    rehearsals: Sequence[str]
    #: Every method with its errors, relative to public data alone.
    players: Sequence[Mapping[str, Any]]
    sentences: Sequence[str]

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Rehearsal:
        pairs = zip(value["epsilons"], value["advised"])
        return cls(
            value["plan"],
            [Advice(epsilon, method) for epsilon, method in pairs],
            value["rehearsals"],
            value["players"],
            value["sentences"],
        )

    def _repr_html_(self) -> str:
        epsilons = [advice.epsilon for advice in self.advised]
        head = "".join(f"<th>ε {epsilon:g}</th>" for epsilon in epsilons)
        body = ""
        for player in self.players:
            cells = player["against_public_alone"]
            if any(cell is not None for cell in cells):
                told = "".join(
                    f"<td>{cell['ratio']:.3f}</td>" if cell else "<td></td>" for cell in cells
                )
                title = html.escape(str(player["title"]))
                body += f"<tr><th style='text-align:left'>{title}</th>{told}</tr>"
        said = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)
        title = "error, relative to public data alone (below 1 is better)"
        caption = f"<caption>{title}</caption>"
        numbers = f"<table>{caption}<tr><th></th>{head}</tr>{body}</table>"
        return numbers + self._picture(f"{title}, by ε") + said

    def _picture(self, title: str) -> str:
        """A curve for each of the best methods, over ε."""

        def ratios(player: Mapping[str, Any]) -> list[Optional[float]]:
            return [cell["ratio"] if cell else None for cell in player["against_public_alone"]]

        def least(player: Mapping[str, Any]) -> float:
            return min((ratio for ratio in ratios(player) if ratio is not None), default=math.inf)

        tried = [player for player in self.players if least(player) < math.inf]
        others = [player for player in tried if player["method"] != "public_only"]
        best = sorted(others, key=least)[:_MOST_CURVES]
        if not best:
            return ""
        curves = [_pictures.Curve(str(player["title"]), ratios(player)) for player in best]
        return _pictures.curves(title, [advice.epsilon for advice in self.advised], curves, 1.0)
