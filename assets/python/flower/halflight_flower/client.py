"""At each site: exchanges what its folder has for what the folders of the others have."""

from __future__ import annotations

from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from .relay import answer

app = ClientApp()


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
    patience = float(str(context.run_config["patience"]))
    about, files = ConfigRecord({"site": site}), ConfigRecord()
    files.update(answer(folder, site, sites, known, asked["files"], patience))
    return Message(RecordDict({"about": about, "files": files}), reply_to=message)


def names(value: object) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []
