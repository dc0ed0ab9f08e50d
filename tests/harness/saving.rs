//! The interface saves a session, and is stopped at every step of it.

use std::fs;

use crate::chance::{Dice, is_long};
use crate::invariants as must;
use crate::place::{Place, words};
use crate::support::Screen;

/// Points that `cargo test` tries.
const FEW: usize = 8;

/// Opens the session, saves it and leaves; what the screen said of it, if the program lived.
fn save(place: &Place, variables: &[(&str, &str)]) -> Option<String> {
    let [config, state] =
        ["config", "state"].map(|name| place.top().join(name).display().to_string());
    let own = [("XDG_CONFIG_HOME", config.as_str()), ("XDG_STATE_HOME", state.as_str())];
    let variables = [&own[..], variables].concat();
    let mut screen = Screen::start_with(&place.work(), &["session.ron"], 100, 30, &variables);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 3);
    screen.press("\x13");
    let said = |text: &str| text.contains("saved session.ron") || text.contains("error:");
    while !said(&screen.text()) {
        if screen.has_ended() {
            return None;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let text = screen.text();
    // What it remembers of itself is written at the end, and may be what fails.
    screen.may_press("q");
    let code = screen.wait_for_end();
    assert!(!screen.raw().contains("panicked"), "{}", screen.raw());
    let died = variables.iter().any(|(_, how)| how.starts_with("crash") || how.starts_with("tear"));
    if code == 0 || !died {
        assert_eq!(code, 0, "{text}");
        screen.assert_restored();
    }
    Some(text)
}

#[test]
fn a_session_that_is_saved_from_the_interface_is_the_old_one_or_the_new_one() {
    let mut place = Place::new();
    let path = place.work().join("session.ron");
    let old = fs::read_to_string(&path).unwrap();
    // The user's secret is there from now on.
    save(&place, &[]);
    let new = fs::read_to_string(&path).unwrap();
    assert_ne!(old, new);
    fs::write(&path, &old).unwrap();
    fs::remove_file(path.with_extension("ron.previous")).unwrap();
    fs::remove_dir_all(place.top().join("state")).unwrap();
    place.keep();

    let record = place.top().join("steps");
    save(&place, &[("HALFLIGHT_TEST_STEPS", record.to_str().unwrap())]).unwrap();
    let steps = fs::read_to_string(record).unwrap();
    let first = steps.lines().position(|step| step.contains("session.ron")).unwrap();
    let kinds = ["crash", "fail", "full", "tear"];
    let mut points: Vec<String> = (first + 1..=steps.lines().count())
        .flat_map(|at| kinds.map(|kind| format!("{kind}:{at}")))
        .collect();
    assert!(points.len() > 40, "{steps}");
    Dice::of_the_seed("saving").shuffle(&mut points);
    let all = points.len();
    points.truncate(if is_long() { usize::MAX } else { FEW });
    for point in &points {
        let said = save(place.begin(), &[("HALFLIGHT_TEST_STOP", point)]);
        let now = fs::read_to_string(&path).unwrap();
        assert!(now == old || now == new, "{point}: {now}");
        let previous = fs::read_to_string(path.with_extension("ron.previous"));
        assert!(previous.is_ok_and(|it| it == old) || now == old, "{point}: the old one is lost");
        match said {
            Some(said) if said.contains("saved session.ron") => assert_eq!(now, new, "{point}"),
            // Its name may be new, and not yet certain.
            Some(said) => assert!(said.contains("error:"), "{point}: {said}"),
            None => assert!(!point.starts_with('f'), "{point}: it died"),
        }
        must::private_files_are_private(&place);
        save(&place, &[]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), new, "{point}");
        must::nothing_is_left_behind(&place, &words("run session.ron --plan first"));
    }
    println!("{} of {all} points of saving", points.len());
}
