"""Finds the halflight program, runs it, and reads what it prints.

Results come as JSON on standard output. Standard error has notes, errors, and the lines of JSON
that `--progress json` asks for.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from typing import IO, Any, Callable, Mapping, Optional, Sequence, Union

from .errors import (
    BudgetRefused,
    HalflightError,
    Interrupted,
    ProgramDied,
    ProgramFailed,
    ProgramNotFound,
    UsageError,
)

#: Names the program, if it is not the one in the wheel.
VARIABLE = "HALFLIGHT"

_ERRORS = {1: ProgramFailed, 2: UsageError, 3: BudgetRefused, 130: Interrupted}

#: Exact numbers about private data are marked with this; they stay out of every object.
CURATOR = "◆"

Arguments = Sequence[Union[str, "os.PathLike[str]", int, float]]
Listener = Callable[[Mapping[str, Any]], None]
Reader = Callable[[str], None]


def find() -> str:
    """The path of the program: what `HALFLIGHT` names, else the one that came with this package,
    else the one on `PATH`."""
    named = os.environ.get(VARIABLE)
    if named:
        if shutil.which(named):
            return named
        raise ProgramNotFound(
            f"{VARIABLE} is set to {named}, and no program is there\n"
            f"  what to do: set {VARIABLE} to the path of the program, or unset it"
        )
    name = "halflight.exe" if os.name == "nt" else "halflight"
    beside = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    if hasattr(sysconfig, "get_preferred_scheme"):
        beside.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    for folder in beside:
        if folder and os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    found = shutil.which("halflight")
    if found:
        return found
    raise ProgramNotFound(
        "the halflight program is not installed\n"
        "  what to do: pip install halflight, or set "
        f"{VARIABLE} to the path of a program that you built"
    )


def call(
    arguments: Arguments,
    *,
    listen: Optional[Listener] = None,
    read: Optional[Reader] = None,
    descriptors: Sequence[int] = (),
) -> Any:
    """Runs the program and returns what it printed, as JSON.

    `listen` gets each line of progress, `read` each other line of standard error that holds no
    exact number. Ctrl-C is passed on to the program once, so that a run ends after its step and
    settles what it drew.
    """
    command = [find(), *(str(argument) for argument in arguments)]
    apart: dict[str, Any] = {}
    if os.name == "nt":
        apart["creationflags"] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    else:
        # A terminal sends Ctrl-C to the whole group, and a second signal ends a run at once.
        apart["start_new_session"] = True
        apart["pass_fds"] = tuple(descriptors)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            **apart,
        )
    except OSError as error:
        raise _cannot_start(command[0], error) from error
    said: list[str] = []
    results: list[str] = []
    readers = [
        threading.Thread(target=_read_results, args=(process.stdout, results), daemon=True),
        threading.Thread(target=_hear, args=(process.stderr, said, listen, read), daemon=True),
    ]
    for reader in readers:
        reader.start()
    try:
        process.wait()
    except BaseException:
        _stop(process)
        raise
    finally:
        for reader in readers:
            reader.join()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if process.returncode != 0:
        raise _error(process.returncode, said)
    text = "".join(results)
    return json.loads(text) if text.strip() else None


def _stop(process: "subprocess.Popen[str]") -> None:
    """Asks the program to end, and waits until it has. A second Ctrl-C ends it at once."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)
    try:
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise


def _read_results(stream: IO[str], results: list[str]) -> None:
    results.append(stream.read())


def _hear(
    stream: IO[str], said: list[str], listen: Optional[Listener], read: Optional[Reader]
) -> None:
    for line in stream:
        line = line.rstrip("\n")
        if line.startswith("{"):
            try:
                moment = json.loads(line)
            except ValueError:
                moment = None
            if isinstance(moment, dict):
                _tell(listen, moment)
                continue
        said.append(line)
        if CURATOR not in line:
            _tell(read, line)


def _tell(listener: Optional[Callable[[Any], None]], what: Any) -> None:
    """A listener that fails does not stop the run: what was drawn is spent in any case."""
    if listener is None:
        return
    try:
        listener(what)
    except Exception:
        sys.excepthook(*sys.exc_info())


def _error(code: int, said: Sequence[str]) -> HalflightError:
    starts = [at for at, line in enumerate(said) if line.startswith("error: ")]
    lines = list(said[starts[-1] :]) if starts else list(said[-5:])
    # A cell of a private file may stand in an error; it is for a terminal alone.
    text = "\n".join(line for line in lines if CURATOR not in line)
    text = text[len("error: ") :] if text.startswith("error: ") else text
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return ProgramDied(
            f"halflight was ended by {name}: what it had announced in the ledger counts as spent\n"
            "  what to do: `halflight ledger` lists a run that can go on"
        )
    return _ERRORS.get(code, ProgramFailed)(text or f"halflight ended with exit code {code}")


def _cannot_start(program: str, error: OSError) -> HalflightError:
    return ProgramNotFound(
        f"cannot start {program}: {error.strerror}\n"
        "  what to do: pip install --force-reinstall halflight; on an old system use the static "
        f"program and set {VARIABLE} to its path"
    )
