//! `halflight explain SESSION`: what theory says of the plans of a session.

use serde_json::Value;

use crate::{program, schema};

/// What the program prints in a directory.
fn printed(here: &std::path::Path, arguments: &[&str]) -> String {
    let done = program::halflight().current_dir(here).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_session_is_explained_by_theory_and_the_corollarys_pace_is_what_theory_takes() {
    let place = tempfile::tempdir().unwrap();
    let here = place.path();
    let text = include_str!("../../assets/synthetic/session.ron");
    let json = |text: &str| -> Value {
        std::fs::write(here.join("session.ron"), text).unwrap();
        let value = serde_json::from_str(&printed(here, &["explain", "session.ron", "--json"]));
        let value: Value = value.unwrap();
        let described = serde_json::from_str(&printed(here, &["schema", "explain"])).unwrap();
        assert_eq!(schema::flaw(&described, &value), None);
        value
    };
    let plain = json(text);
    assert!(!plain["plans"].as_array().unwrap().is_empty());
    for method in ["frank_wolfe", "two_stage_frank_wolfe", "mirror_descent"] {
        let found = json(&with_method(text, method, "\"pace\": \"theory\""));
        let lines = found["plans"][0]["theory"].as_array().unwrap();
        let of = |what: &str| lines.iter().find(|line| line["what"] == what).unwrap();
        let asked = of("rounds K")["asked"].as_f64().unwrap();
        assert_eq!(of("rounds K")["used"].as_f64().unwrap(), asked.round().max(1.0), "{method}");
        if method != "frank_wolfe" {
            assert_eq!(of("temperature μ")["used"], of("temperature μ")["asked"], "{method}");
        }
        let unknown = lines.iter().filter(|line| line["kind"] == "not_computed");
        assert!(unknown.count() >= 3, "{method}");
    }
    let both = with_method(text, "mirror_descent", "\"pace\": \"theory\", \"rounds\": 10");
    std::fs::write(here.join("session.ron"), both).unwrap();
    let refused =
        program::halflight().current_dir(here).args(["explain", "session.ron"]).output().unwrap();
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && error.contains("takes no 'rounds'"), "{error}");
}

/// The session with another method, and these settings.
fn with_method(text: &str, method: &str, settings: &str) -> String {
    let (moment, own) = ("\"moment_release\"", "settings: {\"goal\": \"joint\", \"lambda\": 1.0}");
    assert!(text.contains(moment) && text.contains(own));
    let text = text.replace(moment, &format!("\"{method}\""));
    text.replace(own, &format!("settings: {{{settings}}}"))
}
