"""At each site: exchanges what its folder has for what the folders of the others have."""

from __future__ import annotations

import time
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from .relay import Refused, check, own_files, take

app = ClientApp()
# The pause between two looks at the folder, in seconds.
PAUSE = 0.01


def place(context: Context, sites: list[str]) -> tuple[str, Path]:
    """The name of this site and its folder. In a simulation, the folders are in one place."""
    node, simulated = context.node_config, str(context.run_config["simulated"])
    if simulated:
        site = sites[int(node["partition-id"])]
        return site, Path(simulated) / site
    return str(node["site"]), Path(str(node["exchange"]))


@app.query()
def exchange(message: Message, context: Context) -> Message:
    """Takes the files that are new here, waits for one of this site, and answers with its files."""
    asked = message.content.config_records
    sites, known = names(asked["about"]["sites"]), names(asked["about"]["known"])
    site, folder = place(context, sites)
    if site not in sites:
        raise Refused(f"this site, {site!r}, is not among {', '.join(sites)}")
    for name, contents in asked["files"].items():
        take(folder, name, check(name, contents, sites))
    until = time.monotonic() + float(str(context.run_config["patience"]))
    while not (new := own_files(folder, site, known)) and time.monotonic() < until:
        time.sleep(PAUSE)
    about, files = ConfigRecord({"site": site}), ConfigRecord()
    files.update(new)
    return Message(RecordDict({"about": about, "files": files}), reply_to=message)


def names(value: object) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []
