"""What the tests share: the program under test, a home of their own, small data."""

from __future__ import annotations

import atexit
import importlib.util
import os
import tempfile
import unittest
from pathlib import Path

HOME = tempfile.TemporaryDirectory(prefix="halflight-tests-")
atexit.register(HOME.cleanup)
# Nobody's own configuration is read or written.
os.environ["XDG_CONFIG_HOME"] = os.path.join(HOME.name, "config")
os.environ["XDG_STATE_HOME"] = os.path.join(HOME.name, "state")

ROOT = Path(__file__).resolve().parents[3]


def has(*packages: str) -> bool:
    return all(importlib.util.find_spec(package) is not None for package in packages)


def needs(*packages: str):
    """Skips a test where these are not installed."""
    return unittest.skipUnless(has(*packages), f"needs {' and '.join(packages)}")


class Case(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="halflight-test-")
        self.addCleanup(directory.cleanup)
        self.here = Path(directory.name)


def rows(count: int, shift: float, seed: int) -> str:
    """A table of two numbers and a label that is nearly their sum and more, as CSV."""
    import random

    chance = random.Random(seed)
    lines = ["a,b,label"]
    for _ in range(count):
        a, b = chance.gauss(shift, 1), chance.gauss(0, 1)
        lines.append(f"{a:.6f},{b:.6f},{a + b + 2 * shift + chance.gauss(0, 0.1):.6f}")
    return "\n".join(lines) + "\n"


def study(folder: Path):
    """A saved session with one private and two public datasets."""
    import halflight

    folder.mkdir(parents=True, exist_ok=True)
    for name, shift, seed in [("ours", 0.5, 1), ("near", 0.3, 2), ("far", -1.0, 3)]:
        (folder / f"{name}.csv").write_text(rows(400, shift, seed))
    session = halflight.Session("a study")
    session.add_private("ours", "ours.csv", label="label", budget=(4, 1e-5))
    session.add_public("near", "near.csv", label="label")
    session.add_public("far", "far.csv", label="label")
    session.add_plan(
        "first",
        "profiled_cnvx_adap",
        private="ours",
        public=["near", "far"],
        epsilon=1,
        settings={"steps": 40},
        evaluation=True,
    )
    session.save(folder / "session.ron")
    return session
