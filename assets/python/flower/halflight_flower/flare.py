"""The same with NVFlare: a job that brings the files of each site to the others.

    python -m halflight_flower.flare JOB COUNT

writes the job into the folder JOB. NVFlare's own commands submit it, and it begins when COUNT clients are
there. Sites have the names of the clients. Each says in the environment of its client where its exchange
folder is.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from nvflare.collab import CollabRecipe, collab

from .relay import Relay, answer

# Where the exchange folder of a site is; `{site}` stands for its name.
FOLDER = "HALFLIGHT_EXCHANGE"
# How long a site waits for its next message before it answers with none, in seconds.
PATIENCE = 5.0
# A site that takes this many seconds longer does not answer.
GRACE = 30.0
# The server stops after this time, in seconds, whatever the sites do.
LONGEST = 24 * 3600.0


@collab.publish
def exchange(sites: list[str], known: list[str], files: dict[str, bytes]) -> dict[str, bytes]:
    """Takes the files that are new here, and returns those of this site that are not known."""
    site: str = collab.site_name
    folder = Path(os.environ[FOLDER].format(site=site))
    return answer(folder, site, sites, known, files, PATIENCE)


@collab.main
def carry() -> None:
    """Asks all sites at once, again and again, until all have ended."""
    sites = [client.name for client in collab.clients]
    relay, until = Relay(sites), time.monotonic() + LONGEST
    while not relay.is_over():
        if time.monotonic() > until:
            raise TimeoutError(f"the sites have not ended after {LONGEST / 3600} hours")
        known, news = sorted(relay.files), {}
        for node in range(len(sites)):
            news.update(relay.news(node))
        answers = collab.clients(timeout=PATIENCE + GRACE).exchange(sites, known, news)
        for site, new in answers:
            relay.hear(sites.index(site), site, news, new)
        for site, error in answers.failures.items():
            print(f"site {site}: {error}", file=sys.stderr)
            time.sleep(1)


def job(count: int) -> CollabRecipe:
    """The job, which begins when this many sites are there."""
    this = sys.modules["halflight_flower.flare"]
    return CollabRecipe("halflight", server=this, client=this, min_clients=count)


if __name__ == "__main__":
    import halflight_flower.flare

    halflight_flower.flare.job(int(sys.argv[2])).export(sys.argv[1])
