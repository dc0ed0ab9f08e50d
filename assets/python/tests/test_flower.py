"""The app that carries the messages of several sites, with Flower or NVFlare.

What needs them starts them on this machine: `pip install 'flwr[simulation]>=1.42'`, `pip install
'nvflare>=2.9'`. The number of sites is HALFLIGHT_SITES, or 3; with HALFLIGHT_ONE_NOISE they have one noise.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

from support import ROOT, Case, needs

import halflight

APP = ROOT / "assets" / "python" / "flower"
sys.path.insert(0, str(APP))
from halflight_flower import relay  # noqa: E402

RUN = "0123abcd-"


class Files(Case):
    def test_only_names_of_messages_are_taken(self):
        for name in ["hello-A", RUN + "terms-A", RUN + "release-000001-A", RUN + "members-000004-A"]:
            self.assertEqual(relay.site_of(name), "A", name)
        self.assertEqual(relay.site_of("hello-terms-A"), "terms-A")
        for name in [
            "../hello-A", "hello-A/x", "/hello-A", "hello-", "hello-A\n", "hello-..", ".hello-A", "site.key",
            "0123ABCD-end-A", "0123abc-end-A", RUN + "release-1-A", RUN + "draw-000001-A", "hello-é", "",
        ]:  # fmt: skip
            self.assertIsNone(relay.site_of(name), name)
        relay.check("hello-A", b"", ["A", "B"])
        for name, contents in [("hello-C", b""), ("hello-A", "words"), ("site.key", b"")]:
            with self.assertRaises(relay.Refused):
                relay.check(name, contents, ["A", "B"])
        with mock.patch.object(relay, "LARGEST", 3), self.assertRaises(relay.Refused):
            relay.check("hello-A", b"four", ["A"])

    def test_a_file_appears_whole_once_and_is_never_replaced(self):
        relay.take(self.here, "hello-A", b"one")
        relay.take(self.here, "hello-A", b"one")
        with self.assertRaisesRegex(relay.Refused, "hello-A has other contents"):
            relay.take(self.here, "hello-A", b"two")
        (self.here / "hello-B").symlink_to(self.here / "hello-A")
        with self.assertRaises(relay.Refused):
            relay.take(self.here, "hello-B", b"one")
        self.assertEqual((self.here / "hello-A").read_bytes(), b"one")
        self.assertEqual(sorted(os.listdir(self.here)), ["hello-A", "hello-B"])

    def test_a_site_sends_its_own_new_messages_and_nothing_else(self):
        for name in ["hello-A", "hello-B", ".hello-A", "site.key", RUN + "end-A"]:
            (self.here / name).write_bytes(b"it")
        self.assertEqual(relay.own_files(self.here, "A", ["hello-A"]), {RUN + "end-A": b"it"})


class Relaying(Case):
    def test_every_node_gets_what_it_lacks_and_the_end_is_known_to_all(self):
        it = relay.Relay(["B", "A"])
        it.hear(1, "A", [], {"hello-A": b"a"})
        self.assertEqual((it.news(1), it.news(2)), ({}, {"hello-A": b"a"}))
        it.hear(2, "B", ["hello-A"], {"hello-B": b"b", RUN + "end-B": b""})
        it.hear(1, "A", ["hello-B"], {"stop-A": b""})
        self.assertEqual(it.news(1), {RUN + "end-B": b""})
        self.assertFalse(it.is_over())
        it.hear(1, "A", [RUN + "end-B"], {})
        self.assertFalse(it.is_over())
        it.hear(2, "B", ["stop-A"], {})
        self.assertTrue(it.is_over())
        # A node that starts again has another number, and is given everything.
        self.assertEqual(len(it.news(3)), 4)

    def test_a_site_cannot_write_for_another_one_or_change_what_it_wrote(self):
        it = relay.Relay(["A", "B"])
        it.hear(1, "A", [], {"hello-A": b"a"})
        for site, name, contents in [
            ("B", "hello-A", b"a"), ("A", "hello-A", b"b"), ("C", "hello-C", b""), ("A", "../A", b""),
        ]:  # fmt: skip
            with self.assertRaises(relay.Refused):
                it.hear(1, site, [], {name: contents})
        self.assertEqual(it.files, {"hello-A": b"a"})


class Typed(Case):
    @needs("flwr", "mypy")
    def test_the_app_is_typed_throughout(self):
        cache = ["--cache-dir", str(self.here)]
        done = subprocess.run([sys.executable, "-m", "mypy", *cache], cwd=APP, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


def free_port() -> int:
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return int(it.getsockname()[1])


class Running(Case):
    """Sites as processes of their own, whose folders nothing but Flower or NVFlare joins."""

    def setUp(self) -> None:
        super().setUp()
        # NVFlare takes F for a truth value.
        self.names = list("ABCDEGHIJK"[: int(os.environ.get("HALFLIGHT_SITES", "3"))])
        self.env = {
            **os.environ, "FLWR_HOME": str(self.here / "flwr"), "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1", "HOME": str(self.here), "RAY_TMPDIR": "/tmp",
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
        }  # fmt: skip

    def start(self, name: str, command: list[str], folder: Path) -> subprocess.Popen[bytes]:
        log = (self.here / f"{name}.log").open("wb")
        it = subprocess.Popen(command, cwd=folder, env=self.env, stdout=log, stderr=subprocess.STDOUT)
        self.addCleanup(log.close)
        self.addCleanup(it.wait)
        self.addCleanup(it.terminate)
        return it

    def said(self, name: str) -> str:
        log = self.here / f"{name}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def wait_for(self, what, seconds: float, *logs: str) -> None:
        until = time.monotonic() + seconds
        while not what():
            if time.monotonic() > until:
                self.fail("\n".join(f"{log}: {self.said(log)[-1500:]}" for log in logs))
            time.sleep(0.1)

    def sites(self, kind: str, exchange) -> list[subprocess.Popen[bytes]]:
        """Starts `halflight site` for each, with its own table, key and noise, or with one noise for all."""
        commands = {}
        for number, name in enumerate(self.names, 1):
            folder = self.here / kind / name
            folder.mkdir(parents=True)
            exchange(name).mkdir(parents=True, exist_ok=True, mode=0o700)
            about = 'source: builtin("bikeshare"), label: "bikers", columns: only(["hr", "temp", "hum"])'
            own = f'filter: "season == {number % 3 + 1}", sample: (rows: {200 + 10 * number})'
            (folder / "s.ron").write_text(
                f'(version: 1, datasets: [(name: "own", role: private, {about}, {own}),'
                f' (name: "autumn", role: public, {about}, filter: "season == 4", sample: (rows: 200))],'
                ' budgets: {"own": (epsilon: 9.0, delta: 1e-3)},'
                ' plans: [(name: "bikes", method: "public_shape", private: "own", public: ["autumn"],'
                " target: (epsilon: 1.0, delta: 1e-5), seed: 1)])"
            )
            command = [halflight.program(), "site", "s.ron", "--exchange", str(exchange(name)), "--name", name]
            command += ["--sites", ",".join(self.names), "--sealed", "--insecure-noise-seed", str(number)]
            commands[name] = (command, folder)
        options = []
        if os.environ.get("HALFLIGHT_ONE_NOISE"):
            # Without the keys of the others each prints its own, and ends.
            ends = [
                subprocess.run([*command, "--one-noise"], cwd=folder, env=self.env, capture_output=True, text=True)
                for command, folder in commands.values()
            ]
            keys = [end.stderr.split(": key ")[1][:19] for end in ends]
            pairs = [f"{name}={key}" for name, key in zip(self.names, keys, strict=True)]
            options = ["--one-noise", "--trust", ",".join(pairs)]
        return [
            self.start(f"{kind}-{name}", [*command, *options], folder) for name, (command, folder) in commands.items()
        ]

    def ended(self, kind: str, sites: list[subprocess.Popen[bytes]]) -> list[str]:
        """Waits for all sites, and returns the models that they have."""
        logs = [f"{kind}-{name}" for name in self.names]
        self.wait_for(lambda: all(it.poll() is not None for it in sites), 1800, *logs, "run", "superlink")
        said = "\n".join(self.said(log)[-800:] for log in [*logs, "run"])
        self.assertEqual([it.returncode for it in sites], [0] * len(sites), said)
        runs = [next((self.here / kind / name).glob(".halflight/runs/*/model.ron")) for name in self.names]
        return [run.read_text().split("preparation")[0] for run in runs]

    def flower(self, kind: str, port: int, options: str, config: str) -> None:
        """Lets Flower carry the messages."""
        (self.here / "flwr").mkdir(exist_ok=True)
        superlink = f'[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
        (self.here / "flwr" / "config.toml").write_text(superlink + options)
        run = [os.path.join(os.path.dirname(sys.executable), "flwr"), "run", str(APP), "here", "--stream", "-c"]
        config += f' sites="{",".join(self.names)}" minutes=30'
        self.carry(kind, [*run, config], "all sites have ended")

    def carry(self, kind: str, command: list[str], end: str) -> None:
        """Lets a program carry the messages, and compares the models with those of a shared folder."""
        shared, began = self.here / "shared", time.monotonic()
        models = self.ended("folder", self.sites("folder", lambda _: shared))
        self.time("folder", shared, began)
        began = time.monotonic()
        carrier = self.start("run", command, self.here)
        exchange = self.here / "local"
        carried = self.ended(kind, self.sites(kind, lambda name: exchange / name))
        releases = self.time(kind, exchange / "A", began)
        self.assertEqual(set(models), set(models[:1]))
        self.assertEqual(set(carried), set(models), "the models are the same to the last bit")
        self.wait_for(lambda: end in self.said("run"), 60, "run")
        carrier.terminate()
        every = [{file.name: file.read_bytes() for file in (exchange / name).iterdir()} for name in self.names]
        self.assertEqual(every[0], every[-1])
        self.assertEqual(len(every[0]), len(self.names) * (releases + 4))

    def time(self, kind: str, folder: Path, began: float) -> int:
        """Prints how long the sites took, and returns the number of releases of each."""
        took = time.monotonic() - began
        times = sorted(file.stat().st_mtime for file in folder.glob("*-release-*-A"))
        within = f"{len(times)} releases within {times[-1] - times[0]:.1f} s"
        print(f"{kind}: {len(self.names)} sites, {within}, {took:.1f} s in all")
        return len(times)

    def superlink(self, *options: str) -> int:
        """Starts Flower's server, and returns its port."""
        port = free_port()
        command = ["flower-superlink", "--insecure", "--disable-runtime-dependency-installation", *options]
        self.start("superlink", [*command, "--port", str(port)], self.here)
        self.wait_for(lambda: "startup complete" in self.said("superlink"), 120, "superlink")
        return port

    @needs("flwr")
    def test_processes_on_this_machine_get_the_same_bits_as_in_one_folder(self):
        port = self.superlink()
        for name in self.names:
            node = f'site="{name}" exchange="{self.here / "local" / name}"'
            command = ["flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{port}"]
            command += ["--port", str(free_port()), "--node-config", node]
            self.start(f"{name}-node", command, self.here)
        for name in self.names:
            self.wait_for(lambda: "SuperNode ID" in self.said(f"{name}-node"), 120, f"{name}-node")
        self.flower("processes", port, "", "")

    @needs("flwr", "ray")
    def test_a_simulation_gets_the_same_bits_as_in_one_folder(self):
        count = len(self.names)
        options = (
            f"options.num-supernodes = {count}\noptions.backend.init-args.num-cpus = {count}\n"
            "options.backend.client-resources.num-cpus = 1\n"
        )
        port = self.superlink("--simulation")
        self.flower("simulation", port, options, f'simulated="{self.here / "local"}"')

    @needs("nvflare")
    def test_nvflare_gets_the_same_bits_as_in_one_folder(self):
        # A server and a client for each site, as processes of their own.
        self.env |= {
            "HALFLIGHT_EXCHANGE": f"{self.here}/local/{{site}}", "NVFLARE_POC_WORKSPACE": str(self.here / "poc"),
            "PYTHONPATH": str(APP),
        }  # fmt: skip
        (self.here / "poc.py").write_text(
            "from halflight_flower import flare\nfrom nvflare.recipe import PocEnv\n"
            f"run = flare.job({len(self.names)}).run(PocEnv(num_clients={len(self.names)}, clients={self.names}))\n"
            "run.get_result()\nprint('it ended with', run.get_status())\n"
        )
        self.carry("nvflare", [sys.executable, "poc.py"], "it ended with FINISHED:COMPLETED")
