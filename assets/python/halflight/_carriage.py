"""Brings arrays and sessions to the program so that nobody else can read them.

On Linux they travel in memory: a file without a name, which is gone when the last program that has
it open ends, however it ends. Elsewhere they are files that only their owner can read, in a
directory that only the owner can enter; it is removed in the end, also after an error or Ctrl-C.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from types import TracebackType
from typing import BinaryIO, Callable, Optional, Type

from .errors import HalflightError


def has_memory_files() -> bool:
    return hasattr(os, "memfd_create") and os.path.isdir("/dev/fd")


class Carriage:
    """`with Carriage() as carriage:` and `carriage.bring(name, write, what)` gives the path to name.

    An error that leaves the block names the argument that a file came from, and not its path.
    """

    def __init__(self) -> None:
        self.descriptors: list[int] = []
        self._directory: Optional[str] = None
        self._brought: dict[str, str] = {}

    def __enter__(self) -> Carriage:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        while self.descriptors:
            os.close(self.descriptors.pop())
        if self._directory is not None:
            shutil.rmtree(self._directory)
            self._directory = None
        if isinstance(error, HalflightError):
            text = str(error)
            for path, what in self._brought.items():
                text = re.sub(re.escape(path) + r"(?!\d)", lambda _: what, text)
            error.args = (text,)

    def bring(self, name: str, write: Callable[[BinaryIO], None], what: str) -> str:
        """Lets `write` fill a new file, and returns the path under which the program finds it.

        `what` names it in an error, such as: the table passed as `data`.
        """
        path = self._bring(name, write)
        self._brought[path] = what
        return path

    def _bring(self, name: str, write: Callable[[BinaryIO], None]) -> str:
        if has_memory_files():
            descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
            self.descriptors.append(descriptor)
            with os.fdopen(os.dup(descriptor), "wb") as file:
                write(file)
            return f"/dev/fd/{descriptor}"
        if self._directory is None:
            # Its mode is 0700.
            self._directory = tempfile.mkdtemp(prefix="halflight-")
        path = os.path.join(self._directory, name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            write(file)
        return path
