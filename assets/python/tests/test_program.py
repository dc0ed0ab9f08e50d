"""The program is found, called, and its errors are told. Needs nothing but Python."""

from __future__ import annotations

import os
import subprocess
import sys
from unittest import mock

from support import ROOT, Case

import halflight
from halflight import _program, ron


class Finding(Case):
    def test_a_variable_names_the_program_and_a_wrong_one_is_an_error_with_a_cure(self):
        with mock.patch.dict(os.environ, {"HALFLIGHT": "/nowhere/halflight"}):
            with self.assertRaises(halflight.ProgramNotFound) as caught:
                halflight.program()
        self.assertIn("/nowhere/halflight", str(caught.exception))
        self.assertIn("what to do", str(caught.exception))

    def test_the_path_is_looked_at_last_and_nothing_found_says_how_to_install(self):
        place = self.here / "halflight"
        place.write_text("#!/bin/sh\n")
        place.chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": str(self.here)}):
            del os.environ["HALFLIGHT"]
            with mock.patch.object(_program.sysconfig, "get_path", lambda *_: str(self.here / "x")):
                with mock.patch.object(_program.sys, "executable", str(self.here / "x/python")):
                    self.assertEqual(halflight.program(), str(place))
                    place.unlink()
                    with self.assertRaisesRegex(halflight.ProgramNotFound, "pip install"):
                        halflight.program()

    def test_a_program_for_another_system_cannot_be_started_and_says_so(self):
        place = self.here / "halflight"
        place.write_bytes(b"\x7fELF of another machine")
        place.chmod(0o755)
        with mock.patch.dict(os.environ, {"HALFLIGHT": str(place)}):
            with self.assertRaisesRegex(halflight.ProgramNotFound, "cannot start"):
                halflight.account(sigma=1)

    def test_without_numpy_the_package_imports_and_the_accountant_works(self):
        code = (
            "import sys\n"
            "for name in ('numpy', 'pandas', 'sklearn'): sys.modules[name] = None\n"
            "import halflight\n"
            "print(halflight.account(sigma=20).epsilon)\n"
            "try: halflight.PrivateRegressor\n"
            "except ImportError as error: print(error)\n"
        )
        path = os.pathsep.join([str(ROOT / "assets" / "python"), os.environ.get("PYTHONPATH", "")])
        told = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            check=True,
            encoding="utf-8",
        ).stdout
        self.assertIn("0.18921", told)
        self.assertIn("pip install -U scikit-learn", told)


class Errors(Case):
    def test_usage_is_an_error_in_the_programs_own_words(self):
        with self.assertRaisesRegex(halflight.UsageError, "σ"):
            halflight.account(sigma=0)
        with self.assertRaises(ValueError):
            halflight.account(sigma=1, steps=0)

    def test_exit_codes_are_exceptions(self):
        for code, kind in [
            (1, halflight.ProgramFailed),
            (2, halflight.UsageError),
            (3, halflight.BudgetRefused),
            (130, halflight.Interrupted),
            (-9, halflight.ProgramDied),
        ]:
            error = _program._error(code, ["note: x", "error: no budget", "  what to do: set one"])
            self.assertIs(type(error), kind)
            if code > 0:
                self.assertEqual(str(error), "no budget\n  what to do: set one")

    def test_what_is_for_the_curator_stands_in_no_error(self):
        error = _program._error(1, ["error: line 3 is no number", "  it says 'HIV' ◆"])
        self.assertNotIn("HIV", str(error))


class Accounting(Case):
    def test_it_agrees_with_the_reference(self):
        # tests/golden/accounting.json, case p003.
        answer = halflight.account(sigma=1.801, steps=55, delta=1e-8)
        self.assertAlmostEqual(answer.epsilon, 30.958253394, places=5)
        self.assertLessEqual(answer.guarantee.epsilon_lower, answer.epsilon)
        found = halflight.account(target_epsilon=30.958253395, steps=55, delta=1e-8)
        self.assertAlmostEqual(found.sigma, 1.801, places=4)

    def test_several_steps_are_a_list(self):
        answers = halflight.account(sigma=20, steps=[10, 100])
        self.assertEqual([answer.of for answer in answers], ["10", "100"])
        self.assertLess(answers[0].epsilon, answers[1].epsilon)
        self.assertIn("guarantee", answers[0]._repr_html_())

    def test_an_epsilon_is_never_told_as_less_than_it_is(self):
        told = halflight.Guarantee(0.12340001, 0.1, 1e-6, "zero_out", "x", "fixed_plan")
        self.assertIn("0.1235", str(told))


class Ron(Case):
    def test_every_session_of_the_project_survives_reading_and_writing(self):
        paths = [*ROOT.glob("assets/*/*.ron"), *ROOT.glob("tests/sessions/**/*.ron")]
        self.assertGreater(len(paths), 3)
        for path in paths:
            value = ron.loads(path.read_text(encoding="utf-8"), str(path))
            self.assertEqual(ron.loads(ron.dumps(value)), value, path)

    def test_values_of_every_kind(self):
        text = r"""
            /* a comment */ #![enable(implicit_some)]
            (a: Some(-1.5e3), b: None, c: [true, false], // another
             d: {"k\n\u{e9}\"": ("x", 2)}, e: sparse(file: "f", width: 1_000), f: r#"a"b"#,
             g: inf, h: 'c', i: zero_out, j: declared(0.0, 1.0), k: ())
        """
        value = ron.loads(text)
        self.assertEqual(value["a"], -1500.0)
        self.assertEqual(value["d"], {'k\né"': ("x", 2)})
        self.assertEqual(value["e"], ron.Tagged("sparse", ron.Struct(file="f", width=1000)))
        self.assertEqual((value["f"], value["h"]), ('a"b', "c"))
        self.assertEqual(value["i"], ron.Name("zero_out"))
        self.assertEqual(ron.loads(ron.dumps(value)), value)

    def test_flaws_are_told_with_line_and_column(self):
        for text, flaw in [
            ("(a: 1,\n b 2)", "x:2:4: ':' is missing"),
            ('("abc', "has no end"),
            ("(a: 1) 2", "after the end"),
            ("(a: )", "a value is missing"),
            ('("\\q")', "means nothing"),
        ]:
            with self.assertRaises(halflight.UsageError) as caught:
                ron.loads(text, "x")
            self.assertIn(flaw, str(caught.exception))
