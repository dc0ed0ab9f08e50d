//! `halflight doctor`: made to be pasted where strangers read it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{program, schema};

fn doctor(home: &Path, workspace: &Path, environment: &[(&str, &str)]) -> Command {
    let mut command = program::halflight();
    command.current_dir(workspace).env("HOME", home).env("TMPDIR", home);
    for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "LC_ALL", "LC_CTYPE", "LANG", "TERM"] {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied()).arg("doctor");
    command
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_prints_what_its_schema_says_and_names_nobody() {
    let home = tempfile::Builder::new().prefix("anna-the-curator").tempdir().unwrap();
    let study = home.path().join("hiv-patients");
    std::fs::create_dir(&study).unwrap();
    std::fs::write(study.join("secret-visits.csv"), "a,b\n1,2\n").unwrap();
    let session = "(version: 1, datasets: [(name: \"hospital-of-anna\", role: private, \
                   source: file(\"secret-visits.csv\"))])";
    std::fs::write(study.join("session.ron"), session).unwrap();

    let proxy = ("HTTPS_PROXY", "http://anna:password@proxy");
    let text = said(&mut doctor(home.path(), &study, &[proxy]));
    let json = said(doctor(home.path(), &study, &[proxy]).arg("--json"));
    for told in [&text, &json] {
        for private in ["anna", "hiv", "visits", "password", "session.ron"] {
            assert!(!told.contains(private), "'{private}' stands in:\n{told}");
        }
        assert!(told.contains(env!("CARGO_PKG_VERSION")) && told.contains("HTTPS_PROXY"));
        assert!(told.contains("~/*/.halflight"), "{told}");
    }
    let described = program::halflight().args(["schema", "doctor"]).output().unwrap();
    let described: Value = serde_json::from_slice(&described.stdout).unwrap();
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(schema::flaw(&described, &value), None);
    assert_eq!(value["workspace"]["locks"], "works");
    let left: Vec<_> = std::fs::read_dir(&study).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn no_terminal_a_read_only_home_and_a_poor_locale_are_problems_with_a_cure() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let poor =
        [("LC_ALL", "C"), ("XDG_CONFIG_HOME", "/proc/none"), ("XDG_STATE_HOME", "/proc/none")];
    let text = said(&mut doctor(here, here, &poor));
    for wanted in
        ["there is no terminal", "ssh -t", "no UTF-8", "the configuration cannot be written"]
    {
        assert!(text.contains(wanted), "{wanted} is missing in:\n{text}");
    }
    let problems = text.lines().filter(|line| line.starts_with("problem: ")).count();
    let cures = text.lines().filter(|line| line.starts_with("  what to do: ")).count();
    assert_eq!(problems, cures);
    let rich = said(&mut doctor(here, here, &[("LC_ALL", "C.UTF-8"), ("TERM", "xterm")]));
    assert!(!rich.contains("UTF-8, so") && !rich.contains("configuration cannot"), "{rich}");
}
