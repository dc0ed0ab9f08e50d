"""Relays the files of each site to the others until all have ended."""

from __future__ import annotations

import time
from logging import INFO, WARNING

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.common.logger import log
from flwr.serverapp import Grid, ServerApp

from .relay import Relay

app = ServerApp()
# The pause between two looks for answers, in seconds.
PAUSE = 0.05
# A node that takes this many seconds longer than it was asked to wait holds up no other one.
GRACE = 15.0


def ask(grid: Grid, relay: Relay, node: int) -> tuple[str, tuple[int, set[str]]]:
    """Sends a node what it does not have. Returns the message's name, the node and the files."""
    about = ConfigRecord({"sites": relay.sites, "known": sorted(relay.files)})
    files = ConfigRecord()
    files.update(relay.news(node))
    content = RecordDict({"about": about, "files": files})
    message = Message(content, dst_node_id=node, message_type="query")
    (name,) = grid.push_messages([message])
    return name, (node, set(files))


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    relay = Relay(name.strip() for name in str(config["sites"]).split(","))
    wait = float(str(config["patience"])) + GRACE
    until = time.monotonic() + 60 * float(str(config["minutes"]))
    asked: dict[str, tuple[int, set[str]]] = {}
    while not relay.is_over():
        if time.monotonic() > until:
            raise TimeoutError(f"the sites have not ended after {config['minutes']} minutes")
        busy = {node for node, _ in asked.values()}
        now = dict(ask(grid, relay, node) for node in grid.get_node_ids() if node not in busy)
        asked.update(now)
        end = time.monotonic() + wait
        time.sleep(PAUSE if now else 1)
        while asked and time.monotonic() < end:
            for reply in grid.pull_messages(list(asked)):
                node, given = asked.pop(reply.metadata.reply_to_message_id)
                if reply.has_error():
                    log(WARNING, "node %s: %s", node, reply.error.reason)
                    continue
                about, files = (reply.content.config_records[it] for it in ("about", "files"))
                relay.hear(node, str(about["site"]), given, files)
            if not now.keys() & asked.keys():
                break
            time.sleep(PAUSE)
    log(INFO, "all sites have ended: %s messages were carried", len(relay.files))
