"""Sessions, runs, ledgers, rankings and rehearsals. Needs nothing but Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from xml.etree import ElementTree

from support import ROOT, Case, study

import halflight


class Sessions(Case):
    def test_a_session_is_built_saved_and_loaded(self):
        session = study(self.here)
        again = halflight.Session.load(self.here / "session.ron")
        self.assertEqual(again.fields, session.fields)
        again.fields["name"] = "another"
        with self.assertRaisesRegex(halflight.UsageError, r"session\.save\(\)"):
            again.run()
        with self.assertRaisesRegex(halflight.UsageError, "save the session first"):
            halflight.Session().run()

    def test_a_run_tells_its_steps_and_nothing_exact(self):
        session = study(self.here)
        steps = []
        [result] = session.run(progress=steps.append)
        self.assertEqual([step.step for step in steps], list(range(1, 41)))
        self.assertTrue(steps[-1].done)
        self.assertEqual(steps[0].run, result.run)
        self.assertEqual(result.outcome, "finished")
        self.assertLessEqual(result.guarantee.epsilon, 1)
        self.assertEqual(result.score.records, 80)
        self.assertLess(result.score.error.low, result.score.error.high)
        self.assertIsNone(result.curator_only)
        self.assertIsNone(result.curator_only_measures)
        measures = result.public_measures["model"]
        self.assertEqual(measures["rmse"], result.public_error["model"])
        self.assertLessEqual(measures["mean_absolute_error"], measures["rmse"])
        # Sealed: no exact number was computed at all.
        self.assertEqual((result.directory / "curator.jsonl").read_text(), "")
        self.assertNotIn("◆", repr(result) + result._repr_html_())
        self.assertEqual(result.certificate()["outcome"], "finished")
        page = result._repr_html_()
        self.assertIn("<iframe", page)
        self.assertIn("&lt;svg", page)

    def test_exact_numbers_are_there_when_asked_for_by_name(self):
        [result] = study(self.here).run(progress=False, include_curator=True)
        self.assertGreater(result.curator_only["model"], 0)
        exact = result.curator_only_measures["model"]
        self.assertLessEqual(exact["mean_absolute_error"], exact["rmse"])

    def test_what_is_spent_adds_up_until_the_budget_refuses(self):
        session = study(self.here)
        session.run(progress=False)
        first = session.ledger.account("ours")
        session.run(progress=False)
        second = session.ledger.account("ours")
        self.assertEqual(len(second.runs), 2)
        self.assertGreater(second.spent.epsilon, first.spent.epsilon)
        self.assertEqual(second.budget, (4.0, 1e-5))
        self.assertTrue(session.ledger.verify())
        session.ledger.set_budget("ours", 1.5, 1e-5)
        with self.assertRaisesRegex(halflight.BudgetRefused, "what to do"):
            session.run(progress=False)
        self.assertIn("ours", session.ledger._repr_html_())
        self.assertEqual(len(session.ledger.account("ours").runs), 2)

    def test_a_ledger_that_was_changed_by_hand_is_found_out(self):
        session = study(self.here)
        session.run(progress=False)
        path = self.here / ".halflight" / "ledger.jsonl"
        path.write_text(path.read_text().replace('"epsilon":4', '"epsilon":9'))
        self.assertFalse(session.ledger.verify())

    def test_a_ledger_that_is_not_there_yet_is_empty(self):
        ledger = halflight.Ledger(self.here / "none")
        self.assertEqual(ledger.accounts(), [])
        with self.assertRaisesRegex(halflight.UsageError, "no account 'x'"):
            ledger.account("x")

    def test_ctrl_c_ends_a_run_after_its_step_and_settles_it(self):
        study(self.here)
        # Whoever starts these tests in the background may have Ctrl-C ignored.
        code = (
            "import halflight, signal, sys\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "session = halflight.Session.load('session.ron')\n"
            "session.run(pace=5, progress=lambda step: print(step.step, flush=True))\n"
        )
        process = self._python(code)
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=30)[1]
        self.assertIn("KeyboardInterrupt", said)
        [run] = halflight.Ledger(self.here).account("ours").runs
        self.assertEqual(run.state, "stopped")
        self.assertLess(run.spent.epsilon, 1)

    def test_a_run_whose_program_was_killed_goes_on(self):
        session = study(self.here)
        code = (
            "import halflight, sys\n"
            "session = halflight.Session.load('session.ron')\n"
            "try: session.run(pace=20, progress=lambda step: print(step.step, flush=True))\n"
            "except halflight.ProgramDied as error: print(error, file=sys.stderr)\n"
        )
        process = self._python(code)
        for _ in range(3):
            process.stdout.readline()
        [run] = (self.here / ".halflight" / "runs").iterdir()
        program = int((run / "process").read_text().split()[1])
        os.kill(program, signal.SIGKILL)
        said = process.communicate(timeout=30)[1]
        self.assertIn("counts as spent", said)
        result = halflight.resume(run, progress=False)
        self.assertEqual((result.outcome, result.steps), ("finished", 40))
        self.assertEqual(len(session.ledger.account("ours").runs), 1)

    def _python(self, code):
        path = os.pathsep.join([str(ROOT / "assets" / "python"), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=self.here,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        return process

    def test_a_model_predicts_the_rows_of_a_file(self):
        [result] = study(self.here).run(progress=False)
        model = result.model()
        self.assertEqual((model.kind, model.columns, model.label), ("linear", ["a", "b"], "label"))
        told = model.predict(self.here / "ours.csv")
        lines = (self.here / "ours.csv").read_text().splitlines()[1:]
        errors = [abs(float(line.split(",")[2]) - it) for line, it in zip(lines, told)]
        self.assertEqual(len(errors), 400)
        self.assertLess(sum(errors) / 400, 0.5)
        with self.assertRaisesRegex(halflight.UsageError, "there is no model"):
            halflight.Model(self.here)


class Advice(Case):
    def drawn(self, found):
        """The elements of each picture, once it has been read as XML."""
        parts = found._repr_html_().split("<svg")[1:]
        pictures = ["<svg" + part.split("</svg>")[0] + "</svg>" for part in parts]
        return [[it.tag.split("}")[1] for it in ElementTree.fromstring(p).iter()] for p in pictures]

    def test_a_ranking_is_private_or_exact_and_says_which(self):
        session = study(self.here)
        ranking = session.rank(epsilon=1, repeats=2)
        self.assertIn(ranking.winner, ["near", "far"])
        self.assertLessEqual(ranking.guarantee.epsilon, 1)
        self.assertIsNone(ranking.curator_only)
        self.assertIn(ranking.winner, ranking._repr_html_())
        [picture] = self.drawn(ranking)
        self.assertEqual(picture.count("rect"), 2)
        self.assertEqual(ranking.errors[0]["name"], ranking.winner)
        for dataset in ranking.errors:
            self.assertIn(f"{dataset['error']['mean']:.4f}", ranking._repr_html_())
        alone = session.rank(epsilon=1, repeats=2, mechanism="permute_and_flip")
        self.assertIsNone(alone.errors)
        self.assertEqual(self.drawn(alone), [])
        table = session.rank(epsilon=1, repeats=2, mechanism="table")
        [picture] = self.drawn(table)
        self.assertEqual(picture.count("rect"), 2)
        for dataset in table.released:
            self.assertIn(f"{dataset['energy']['mean']:.4f}", table._repr_html_())
        self.assertNotIn("◆", table._repr_html_())
        exact = session.rank(include_curator=True, repeats=2)
        self.assertEqual(len(exact.curator_only["datasets"]), 2)
        self.assertIsNone(exact.guarantee)
        # Both datasets, more private data, and noise.
        [picture] = self.drawn(exact)
        self.assertEqual(picture.count("rect"), 4)
        self.assertIn("◆", exact._repr_html_())
        with self.assertRaisesRegex(halflight.UsageError, "either private or exact"):
            session.rank()

    def test_a_rehearsal_advises_and_writes_a_session(self):
        session = study(self.here)
        out = self.here / "advised.ron"
        found = session.rehearse(
            epsilons=[4, 8], methods=["public_shape", "target_only"], repetitions=1, out=out
        )
        [picture] = self.drawn(found)
        # Both methods, and the private data without privacy.
        self.assertEqual(picture.count("polyline"), 3)
        # Methods that fall behind have no trials at the other ε.
        private = [it for it in found.players if it["method"] != "public_only"]
        told = sum(cell is not None for it in private for cell in it["against_public_alone"])
        self.assertEqual(picture.count("circle"), told)
        self.assertGreater(told, 3)
        self.assertIn(found.advised[0].method, ["public_shape", "target_only"])
        self.assertTrue(found.sentences)
        self.assertIn("ε 8", found._repr_html_())
        self.assertEqual(halflight.Session.load(out).fields["datasets"][0]["name"], "ours")
        self.assertEqual(session.ledger.accounts(), [])
