"""The accountant by itself."""

from __future__ import annotations

import os
from typing import Optional, Sequence, Union, overload

from . import _program
from .results import Accounted

__all__ = ["account"]


@overload
def account(
    *,
    sigma: Optional[float] = ...,
    laplace: Optional[float] = ...,
    selection: Optional[float] = ...,
    plan: Optional[Union[str, "os.PathLike[str]"]] = ...,
    q: float = ...,
    steps: int = ...,
    delta: Optional[float] = ...,
    target_epsilon: Optional[float] = ...,
    adjacency: Optional[str] = ...,
) -> Accounted: ...


@overload
def account(
    *,
    sigma: Optional[float] = ...,
    laplace: Optional[float] = ...,
    selection: Optional[float] = ...,
    plan: Optional[Union[str, "os.PathLike[str]"]] = ...,
    q: float = ...,
    steps: Sequence[int],
    delta: Optional[float] = ...,
    target_epsilon: Optional[float] = ...,
    adjacency: Optional[str] = ...,
) -> list[Accounted]: ...


def account(
    *,
    sigma: Optional[float] = None,
    laplace: Optional[float] = None,
    selection: Optional[float] = None,
    plan: Optional[Union[str, "os.PathLike[str]"]] = None,
    q: float = 1.0,
    steps: Union[int, Sequence[int]] = 1,
    delta: Optional[float] = None,
    target_epsilon: Optional[float] = None,
    adjacency: Optional[str] = None,
) -> Union[Accounted, list[Accounted]]:
    """What this noise guarantees, or with `target_epsilon` the least noise for that ε.

    Noise is relative to the sensitivity: `sigma` is the standard deviation of Gaussian noise,
    `laplace` the scale of Laplace noise, `selection` the ε of an exponential mechanism, and `plan`
    a file with a list of mechanisms. `q` is the probability with which every record is in a step.
    Several `steps` give a list.

    >>> account(sigma=1.1, q=0.004, steps=15000, delta=1e-5).epsilon
    """
    arguments: list[Union[str, float, "os.PathLike[str]"]] = ["account", "--json"]
    options = {
        "--sigma": sigma,
        "--laplace": laplace,
        "--selection": selection,
        "--plan": plan,
        "--delta": delta,
        "--target-epsilon": target_epsilon,
        "--adjacency": None if adjacency is None else adjacency.replace("_", "-"),
    }
    for name, value in options.items():
        if value is not None:
            arguments += [name, value]
    alone = isinstance(steps, int) or not hasattr(steps, "__iter__")
    counts = [steps] if alone else list(steps)  # type: ignore[arg-type]
    if plan is None:
        arguments += ["--q", q, "--steps", ",".join(str(count) for count in counts)]
    answers = [Accounted.of_json(value) for value in _program.call(arguments)["answers"]]
    return answers[0] if alone else answers
