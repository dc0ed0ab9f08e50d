"""The messages of a joint run as files: which there are, how they come into a folder, who has them.

Nobody here is trusted. What halflight makes of a file depends on the signature in it; here names are
checked, so that a file can be nothing but a message, and no message takes the place of another one.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

NAME = re.compile(
    r"(?:hello|stop|[0-9a-f]{8}-(?:terms|ready|end|(?:release|members)-[0-9]{6,18}))"
    r"-(?P<site>[A-Za-z0-9_-]{1,32})"
)
# The pause between two looks at a folder, in seconds.
PAUSE = 0.01
# A larger file is no message: this is room for 32 million numbers.
LARGEST = 1 << 28


class Refused(Exception):
    """A file is no message, or another one than the file of its name that is there."""


def site_of(name: str) -> str | None:
    """The site that writes a file of this name; None if it is no message."""
    found = NAME.fullmatch(name)
    return found["site"] if found else None


def check(name: str, contents: object, sites: Collection[str]) -> bytes:
    """Returns the contents of a file that one of these sites may have written."""
    if site_of(name) not in sites:
        raise Refused(f"{name!r} is not the name of a message of {', '.join(sites)}")
    if not isinstance(contents, bytes) or len(contents) > LARGEST:
        raise Refused(f"{name!r} is no message: it has no bytes, or more than {LARGEST}")
    return contents


def take(folder: Path, name: str, contents: bytes) -> None:
    """Puts a file into the folder, whole. A file with other contents stays there and is an error."""
    place, temporary = folder / name, folder / f".{name}.{secrets.token_hex(8)}"
    # The umask says who may read it: halflight may be another user.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link never replaces a file, as a rename would.
            os.link(temporary, place)
        except FileExistsError:
            if place.is_symlink() or place.read_bytes() != contents:
                raise Refused(f"{place} has other contents than what was sent") from None
    finally:
        os.unlink(temporary)


def own_files(folder: Path, site: str, known: Collection[str]) -> dict[str, bytes]:
    """Reads the messages of this site that are not known."""
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    new = [name for name in names if site_of(name) == site and name not in known]
    return {name: (folder / name).read_bytes() for name in new}


def answer(
    folder: Path,
    site: str,
    sites: Collection[str],
    known: Collection[str],
    files: Mapping[str, object],
    patience: float,
) -> dict[str, bytes]:
    """Takes the files that are new at a site, waits for one of its own, and returns those that are not known."""
    if site not in sites:
        raise Refused(f"this site, {site!r}, is not among {', '.join(sites)}")
    for name, contents in files.items():
        take(folder, name, check(name, contents, sites))
    until = time.monotonic() + patience
    while not (new := own_files(folder, site, known)) and time.monotonic() < until:
        time.sleep(PAUSE)
    return new


class Relay:
    """What the sites wrote so far, and which node has it."""

    def __init__(self, sites: Iterable[str]) -> None:
        self.sites = sorted(sites)
        self.files: dict[str, bytes] = {}
        self.nodes: dict[int, str] = {}
        self.has: dict[int, set[str]] = {}

    def news(self, node: int) -> dict[str, bytes]:
        """The files that this node does not have."""
        has = self.has.get(node, set())
        return {name: it for name, it in sorted(self.files.items()) if name not in has}

    def hear(self, node: int, site: str, given: Iterable[str], new: Mapping[str, object]) -> None:
        """Takes a node's answer: it has what was given, and sends new files of its own site."""
        files = {name: check(name, contents, [site]) for name, contents in new.items()}
        if site not in self.sites:
            raise Refused(f"{site!r} is not among the sites {', '.join(self.sites)}")
        for name, contents in files.items():
            if self.files.setdefault(name, contents) != contents:
                raise Refused(f"site {site!r} sends {name!r} with other contents than before")
        self.nodes[node] = site
        self.has.setdefault(node, set()).update(files, given)

    def is_over(self) -> bool:
        """Whether all sites have ended, and each of them knows it of the others."""
        ends = [name for name in self.files if re.match(r"stop-|[0-9a-f]{8}-end-", name)]
        ended = {site_of(name) for name in ends}
        told = {site for node, site in self.nodes.items() if not self.news(node)}
        return ended >= set(self.sites) and told >= set(self.sites)
