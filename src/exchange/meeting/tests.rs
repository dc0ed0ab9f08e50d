//! Sites that meet, each in a thread of its own.

use std::path::Path;
use std::thread::{ScopedJoinHandle, scope};
use std::time::Instant;

use super::*;
use crate::board::Pinned;
use crate::error::ErrorKind;

const NAMES: [&str; 3] = ["A", "B", "C"];

fn place(folder: &Path, name: &str, without_missing: bool) -> Place {
    Place {
        folder: folder.join("exchange"),
        name: name.to_owned(),
        sites: NAMES.map(str::to_owned).into(),
        timeout: Duration::from_secs(20),
        without_missing,
        may_collude: None,
        trusted: BTreeMap::new(),
    }
}

fn key(folder: &Path, name: &str) -> SiteKey {
    SiteKey::find(&folder.join(name)).unwrap()
}

fn greet(place: Place, folder: &Path, plan: &str) -> Result<Meeting> {
    let key = key(folder, &place.name);
    let common = BTreeMap::from([("plan".to_owned(), plan.to_owned())]);
    let masks = place.may_collude.map(|_| masks(folder, &place.name));
    let public = masks.as_ref().map(MaskKey::public);
    let hello = Hello { key: key.public(), masks: public, records: 100, common };
    let meeting = Meeting::greet(place, key, hello, Box::new(|| false), &mut |_| ())?;
    match masks {
        Some(masks) => meeting.with_mask_key(masks),
        None => Ok(meeting),
    }
}

#[test]
fn a_site_that_says_the_key_of_another_one_is_refused() {
    let directory = folder();
    let copied = masks(directory.path(), "A").public();
    let refused = at_all(|name| {
        let place = sharing(directory.path(), name);
        let key = key(directory.path(), name);
        let own = masks(directory.path(), name).public();
        let said = if name == "C" { copied.clone() } else { own };
        let (masks, common) = (Some(said), BTreeMap::new());
        let hello = Hello { key: key.public(), masks, records: 100, common };
        Meeting::greet(place, key, hello, Box::new(|| false), &mut |_| ()).err().unwrap()
    });
    for error in refused {
        assert!(error.what().contains("sites 'A' and 'C' say the same key for masks"), "{error}");
    }
}

fn masks(folder: &Path, name: &str) -> MaskKey {
    MaskKey::find(&folder.join(format!("{name}-masks.key"))).unwrap()
}

/// Does the same at every site at once.
fn at_all<T: Send>(each: impl Fn(&'static str) -> T + Sync) -> Vec<T> {
    scope(|scope| {
        let each = &each;
        let threads = NAMES.map(|name| scope.spawn(move || each(name)));
        threads.map(ScopedJoinHandle::join).map(|done| done.unwrap()).into()
    })
}

fn folder() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("exchange")).unwrap();
    directory
}

/// The number that a site releases.
fn value(name: &str, number: u64) -> Vec<f64> {
    vec![f64::from(name.as_bytes()[0]) + number as f64 / 8.0, -0.0]
}

fn meet(directory: &Path, without_missing: bool) -> Vec<Meeting> {
    at_all(|name| {
        let mut meeting = greet(place(directory, name, without_missing), directory, "one").unwrap();
        let terms = meeting.agree(&name.to_owned()).unwrap();
        assert_eq!(terms, NAMES);
        meeting.begin("all").unwrap();
        meeting
    })
}

#[test]
fn all_sites_get_the_values_of_all_in_the_same_order() {
    let directory = folder();
    let meetings = meet(directory.path(), false);
    assert!(meetings.iter().all(|meeting| meeting.protocol() == meetings[0].protocol()));
    scope(|scope| {
        for mut meeting in meetings {
            scope.spawn(move || {
                for number in 1..=20 {
                    let own = value(&meeting.place().name, number);
                    let all = meeting.join("mean", &own).unwrap();
                    assert_eq!(all, NAMES.map(|name| value(name, number)));
                }
                meeting.end().unwrap();
            });
        }
    });
    // One folder holds one run.
    let error = greet(place(directory.path(), "A", false), directory.path(), "one");
    assert!(error.err().unwrap().what().contains("an earlier run"));
}

#[test]
fn sites_with_other_plans_are_refused_with_what_differs_and_whose() {
    let directory = folder();
    let refused = at_all(|name| {
        let plan = if name == "B" { "ten rounds" } else { "three rounds" };
        greet(place(directory.path(), name, false), directory.path(), plan).err().unwrap()
    });
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.what().contains("plan: ten rounds at B; three rounds at A, C"), "{error}");
    }
}

#[test]
fn a_hello_of_somebody_who_means_harm_is_refused_and_shown_without_harm() {
    for (records, plan, what) in
        [(0, "one", "an impossible number of records"), (100, "\x1b[2J", "plan: ?[2J at C")]
    {
        let directory = folder();
        let folder = Folder::open(&directory.path().join("exchange")).unwrap();
        let key = key(directory.path(), "C");
        let common = BTreeMap::from([("plan".to_owned(), plan.to_owned())]);
        let hello = Hello { key: key.public(), masks: None, records, common };
        let body = to_json(&hello).unwrap();
        let header = header(Kind::Hello, "C", "", 0, "", body.len());
        folder.replace("hello-C", &Message { header, body }.seal(&key).unwrap()).unwrap();
        let others = scope(|scope| {
            let greet = |name| {
                let directory = directory.path();
                scope.spawn(move || {
                    greet(place(directory, name, false), directory, "one").err().unwrap()
                })
            };
            ["A", "B"].map(greet).map(|thread| thread.join().unwrap())
        });
        for error in others {
            assert!(error.what().contains(what), "{error}");
        }
    }
}

#[test]
fn names_that_are_no_files_and_lists_without_this_site_are_refused() {
    let checked = |name: &str, sites: &[&str]| {
        let sites = sites.iter().map(|site| (*site).to_owned()).collect();
        let place = Place { name: name.to_owned(), sites, ..place(Path::new("."), "A", false) };
        place.checked()
    };
    assert_eq!(checked("B", &["C", "B"]).unwrap().sites, ["B", "C"]);
    for (name, sites) in
        [("A", &["A"][..]), ("A", &["B", "C"]), ("A", &["A", "A"]), ("../A", &["../A", "B"])]
    {
        assert!(checked(name, sites).is_err(), "{name} {sites:?}");
    }
}

#[test]
fn a_message_that_somebody_else_wrote_is_refused_with_its_site_and_file_until_it_is_gone() {
    let directory = folder();
    let mut meetings = meet(directory.path(), false);
    let folder = Folder::open(&directory.path().join("exchange")).unwrap();
    let mut b = meetings.remove(1);
    let own = value("B", 1);
    let of_a = value("A", 1).iter().flat_map(|it| it.to_le_bytes()).collect();
    meetings[0].send(Kind::Draw, 1, "mean", of_a).unwrap();
    let theirs = b.name(Kind::Draw, 1, "C");
    // Signed with another key than that of the site's hello.
    let forged = Meeting { key: key(directory.path(), "D"), ..meetings.remove(1) };
    let with = |numbers: &[f64], number: u64| {
        let body = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
        forged.message(Kind::Draw, number, "mean", body)
    };
    let real = key(directory.path(), "C");
    for (bytes, what) in [
        (with(&value("C", 1), 1).seal(&forged.key).unwrap(), "signature is not that"),
        (with(&value("C", 1), 2).seal(&real).unwrap(), "another place"),
        (with(&[1.0], 1).seal(&real).unwrap(), "1 numbers, and 2 are needed"),
        (with(&[1.0, f64::NAN], 1).seal(&real).unwrap(), "number 2 is not finite"),
        (b"words".to_vec(), "no message that this version reads"),
    ] {
        folder.replace(&theirs, &bytes).unwrap();
        let error = b.join("mean", &own).unwrap_err();
        assert!(error.what().contains("site 'C'") && error.what().contains(what), "{error}");
        assert!(error.place().unwrap().ends_with("release-000001-C"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Failed, "the run can be resumed");
    }
    // This site's own message was changed, too.
    folder.replace(&b.name(Kind::Draw, 1, "B"), b"words").unwrap();
    assert!(b.join("mean", &own).unwrap_err().what().contains("other contents"));
}

#[test]
fn what_was_agreed_on_cannot_be_changed_after_the_start() {
    let directory = folder();
    let meetings = meet(directory.path(), false);
    let protocol = meetings[0].protocol().to_owned();
    let again = |files: Vec<Vec<u8>>| {
        let place = place(directory.path(), "A", false);
        let said = (protocol.as_str(), files);
        Meeting::again(place, key(directory.path(), "A"), said, Box::new(|| false))
    };
    let mut files = meetings[0].files().to_vec();
    assert!(again(files.clone()).is_ok());
    // Whatever becomes of the folder.
    std::fs::write(directory.path().join("exchange/hello-C"), "words").unwrap();
    std::fs::remove_file(directory.path().join("exchange/hello-A")).unwrap();
    assert!(again(files.clone()).is_ok());
    assert!(again(files[..2].to_vec()).is_err());
    let said = (protocol.as_str(), files.clone());
    let other = place(directory.path(), "A", true);
    let error = Meeting::again(other, key(directory.path(), "A"), said, Box::new(|| false));
    assert!(error.err().unwrap().what().contains("was changed after the run began"));
    let last = files[2].len() - 1;
    files[2][last] ^= 1;
    let error = again(files).err().unwrap();
    assert!(error.what().contains("was changed after the run began"), "{error}");
}

/// A build of 30 November 2026, whose masks did not hold the names of the two sites, wrote the file.
#[test]
fn a_run_of_an_earlier_build_with_other_masks_is_refused_as_one() {
    let mut pinned: Pinned =
        serde_json::from_str(include_str!("sites_of_an_earlier_build.json")).unwrap();
    let directory = folder();
    pinned.place.folder = directory.path().join("exchange");
    let again = |place: Place| {
        let said = (pinned.protocol.as_str(), pinned.files().unwrap());
        let again = Meeting::again(place, key(directory.path(), "x"), said, Box::new(|| false));
        again.err().unwrap()
    };
    let error = again(pinned.place.clone());
    assert!(error.what().contains("an earlier build of halflight began this run"), "{error}");
    assert!(error.cure_text().unwrap().contains("settled this run"), "{error}");
    let error = again(Place { may_collude: Some(2), ..pinned.place.clone() });
    assert!(error.what().contains("was changed after the run began"), "{error}");
}

#[test]
fn two_sites_cannot_take_one_name() {
    let directory = folder();
    let soon = Place { timeout: Duration::from_millis(30), ..place(directory.path(), "A", false) };
    let error = greet(soon.clone(), directory.path(), "one").err().unwrap();
    assert!(error.what().contains("'B', 'C' did not say"), "{error}");
    // The same site may start again.
    let error = greet(soon.clone(), directory.path(), "two").err().unwrap();
    assert!(error.what().contains("'B', 'C' did not say"), "{error}");
    let elsewhere = folder();
    let error = greet(soon, elsewhere.path(), "one").err().unwrap();
    assert!(error.what().contains("another key"), "{error}");
}

#[test]
fn a_missing_site_is_named_when_the_time_is_over() {
    let directory = folder();
    let soon =
        |name| Place { timeout: Duration::from_millis(30), ..place(directory.path(), name, false) };
    let error = greet(soon("A"), directory.path(), "one").err().unwrap();
    assert!(error.what().contains("sites 'B', 'C' did not say"), "{error}");
    let mut meetings = meet(directory.path(), false);
    meetings[0].place = soon("A");
    let error = meetings[0].join("mean", &value("A", 1)).unwrap_err();
    assert!(error.what().contains("'B', 'C' did not say release 1"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Failed);
    // A site that has ended is not waited for.
    meetings[0].place.timeout = Duration::from_mins(10);
    for meeting in &meetings[1..] {
        meeting.end().unwrap();
    }
    let error = meetings[0].join("mean", &value("A", 1)).unwrap_err();
    assert!(error.what().contains("ended after 0 releases"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
}

#[test]
fn a_site_that_ends_before_the_start_is_not_waited_for() {
    let directory = folder();
    let began = Instant::now();
    let long =
        |name| Place { timeout: Duration::from_mins(2), ..place(directory.path(), name, false) };
    let ask = |wanted: &str| {
        let error = greet(long("A"), directory.path(), "one").err().unwrap();
        assert!(error.what().contains(wanted), "{error}");
        error.kind()
    };
    Meeting::stop(&long("C"), &key(directory.path(), "C")).unwrap();
    assert_eq!(ask("site 'C' stopped before the start"), ErrorKind::Refused);
    // Signed by nobody, or not with the key that is trusted.
    let file = directory.path().join("exchange/stop-C");
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(ask("a message of site 'C' is refused: its signature"), ErrorKind::Failed);
    Meeting::stop(&long("C"), &key(directory.path(), "other")).unwrap();
    let fingerprint = key(directory.path(), "C").public().fingerprint();
    let trusting = Place { trusted: [("C".to_owned(), fingerprint)].into(), ..long("A") };
    let error = greet(trusting, directory.path(), "one").err().unwrap();
    assert!(error.what().contains("is trusted"), "{error}");
    std::fs::remove_file(&file).unwrap();
    // A site that starts again takes back what it said, and one that stops later is heard, too.
    Meeting::stop(&long("A"), &key(directory.path(), "A")).unwrap();
    let soon = Place { timeout: Duration::from_millis(30), ..long("A") };
    let error = greet(soon, directory.path(), "one").err().unwrap();
    assert!(error.what().contains("did not say"), "{error}");
    assert!(!directory.path().join("exchange/stop-A").exists());
    let meetings = at_all(|name| greet(long(name), directory.path(), "one").unwrap());
    Meeting::stop(&long("B"), &key(directory.path(), "B")).unwrap();
    let error = meetings[0].agree(&"A".to_owned()).unwrap_err();
    assert!(error.what().contains("site 'B' stopped before the start"), "{error}");
    assert!(began.elapsed() < Duration::from_mins(2), "nobody waited for the timeout");
}

#[test]
fn another_key_than_the_trusted_one_is_refused() {
    let directory = folder();
    let fingerprint = |name| key(directory.path(), name).public().fingerprint();
    let trusting = |name, of| Place {
        trusted: [("B".to_owned(), fingerprint(of))].into(),
        ..place(directory.path(), name, false)
    };
    let greeted = at_all(|name| greet(trusting(name, "B"), directory.path(), "one").err());
    assert!(greeted.iter().all(Option::is_none), "{greeted:?}");
    let error = greet(trusting("A", "C"), directory.path(), "one").err().unwrap();
    assert!(error.what().contains(&format!("site 'B' has the key {}", fingerprint("B"))));
    assert_eq!(error.kind(), ErrorKind::Refused);
    let unknown = Place {
        trusted: [("D".to_owned(), fingerprint("B"))].into(),
        ..place(directory.path(), "A", false)
    };
    assert!(unknown.checked().unwrap_err().what().contains("'D' is not among"));
}

fn sharing(directory: &Path, name: &str) -> Place {
    let fingerprint = |name: &str| (name.to_owned(), key(directory, name).public().fingerprint());
    let trusted = NAMES.map(fingerprint).into();
    Place { may_collude: Some(1), trusted, ..place(directory, name, false) }
}

#[test]
fn sites_with_one_noise_have_masks_that_cancel_and_change_with_every_release() {
    let directory = folder();
    let meetings =
        at_all(|name| greet(sharing(directory.path(), name), directory.path(), "one").unwrap());
    let of_all = |meetings: &[Meeting]| -> Vec<Vec<([u8; 32], bool)>> {
        meetings.iter().map(|meeting| meeting.masks().unwrap()).collect()
    };
    let first = of_all(&meetings);
    assert_eq!(first[0][0].0, first[1][0].0);
    assert_eq!(first[0][1].0, first[2][0].0);
    assert_eq!(first[1][1].0, first[2][1].0);
    assert!(first[0].iter().all(|(_, adds)| *adds) && first[2].iter().all(|(_, adds)| !adds));
    let said = (meetings[0].protocol().to_owned(), meetings[0].files().to_vec());
    let joined = scope(|scope| {
        let join = |mut meeting: Meeting| {
            scope.spawn(move || {
                let own = value(&meeting.place().name, 1);
                meeting.join("mean", &own).unwrap();
                meeting
            })
        };
        let threads: Vec<_> = meetings.into_iter().map(join).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    let second = of_all(&joined);
    assert!(second.iter().flatten().all(|mask| !first.concat().contains(mask)));
    // A site that is resumed goes on with the key that it began with, and with no other one.
    let again = || {
        let said = (said.0.as_str(), said.1.clone());
        let place = sharing(directory.path(), "A");
        Meeting::again(place, key(directory.path(), "A"), said, Box::new(|| false)).unwrap()
    };
    assert!(again().masks().unwrap_err().what().contains("is gone"));
    let resumed = again().with_mask_key(masks(directory.path(), "A")).unwrap();
    assert_eq!(resumed.masks().unwrap(), first[0]);
    let error = again().with_mask_key(masks(directory.path(), "B")).err().unwrap();
    assert!(error.what().contains("not the one that the run began with"), "{error}");
}

#[test]
fn one_noise_is_refused_where_sites_disagree_are_not_known_or_may_be_left_out() {
    let directory = folder();
    let refused = at_all(|name| {
        let may_collude = (name != "B").then_some(1);
        let place = Place { may_collude, ..sharing(directory.path(), name) };
        greet(place, directory.path(), "one").err().unwrap()
    });
    for error in refused {
        let what = "noise: each site adds its own at B; one for all, masks of each pair by name, and 1 \
                    may collude at A, C";
        assert!(error.what().contains(what), "{error}");
    }
    let mut unknown = sharing(directory.path(), "A");
    unknown.trusted.remove("C");
    let own = key(directory.path(), "A").public();
    let error = unknown.check_trust(own).unwrap_err();
    assert!(error.what().contains("those of 'C' are missing"), "{error}");
    assert!(error.cure_text().unwrap().contains(&own.fingerprint()), "{error}");
    let error = greet(unknown, directory.path(), "one").err().unwrap();
    assert!(error.what().contains("those of 'C' are missing"), "{error}");
    let leaving = Place { without_missing: true, ..sharing(directory.path(), "A") };
    assert!(leaving.checked().unwrap_err().what().contains("cannot go on without one"));
}

#[test]
fn nobody_begins_with_a_site_that_signs_other_terms() {
    let directory = folder();
    let began = at_all(|name| {
        let mut meeting = greet(place(directory.path(), name, false), directory.path(), "one")?;
        meeting.begin(if name == "B" { "other" } else { "all" })
    });
    for began in began {
        assert!(began.unwrap_err().what().contains("it agrees to other terms"));
    }
}

/// A site that is resumed repeats its releases, as its transcript has them.
fn resume(
    directory: &Path,
    name: &str,
    said: &(String, Vec<Vec<u8>>),
    until: u64,
) -> Result<Meeting> {
    let place = place(directory, name, true);
    let said = (said.0.as_str(), said.1.clone());
    let mut meeting = Meeting::again(place, key(directory, name), said, Box::new(|| false))?;
    meeting.agree(&name.to_owned())?;
    meeting.begin("all")?;
    for number in 1..=until {
        meeting.join("mean", &value(name, number))?;
    }
    Ok(meeting)
}

#[test]
fn without_the_missing_site_the_others_agree_on_who_is_left_and_it_stays_out() {
    let directory = folder();
    let meetings = meet(directory.path(), true);
    let said = (meetings[0].protocol().to_owned(), meetings[0].files().to_vec());
    scope(|scope| {
        for mut meeting in meetings {
            scope.spawn(move || {
                let name = meeting.place().name.clone();
                for number in 1..=9 {
                    if name == "C" && number == 4 {
                        return;
                    }
                    if number == 4 {
                        meeting.place.timeout = Duration::from_secs(3);
                    }
                    let all = meeting.join("mean", &value(&name, number)).unwrap();
                    let there = if number < 4 { &NAMES[..] } else { &NAMES[..2] };
                    let wanted: Vec<_> = there.iter().map(|it| value(it, number)).collect();
                    assert_eq!(all, wanted);
                    meeting.place.timeout = Duration::from_secs(20);
                }
                assert_eq!(meeting.left().collect::<Vec<_>>(), [("C", 3)]);
            });
        }
    });
    // B resumes where it was, also through the release at which C was left out.
    let b = resume(directory.path(), "B", &said, 9).unwrap();
    assert_eq!(b.present(), [0, 1]);
    // C resumes, and is told that it is out; what it released before stays.
    let error = resume(directory.path(), "C", &said, 4).err().unwrap();
    assert!(error.what().contains("without this one after release 3"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
}

#[test]
fn sites_that_die_and_repeat_their_releases_mix_no_round() {
    let directory = folder();
    let meetings = meet(directory.path(), true);
    let said = (meetings[0].protocol().to_owned(), meetings[0].files().to_vec());
    drop(meetings);
    // A hundred deaths: every site goes through all releases again after each one.
    at_all(|name| {
        for number in 1..=34 {
            let mut meeting = resume(directory.path(), name, &said, number - 1).unwrap();
            let all = meeting.join("mean", &value(name, number)).unwrap();
            assert_eq!(all, NAMES.map(|it| value(it, number)));
        }
    });
}
