//! `halflight audit`: without a fault it finds nothing, and it finds every planted one.

use halflight::audit::{Audited, Effort, audit, subject};

fn corner(methods: &[&str]) -> Vec<Audited> {
    let methods: Vec<String> = methods.iter().map(|id| (*id).to_owned()).collect();
    let subjects = subject::built_in(&methods, false).unwrap_or_else(|error| panic!("{error}"));
    subjects.iter().map(|subject| audit(subject, Effort::CORNER)).collect()
}

fn findings(audits: &[Audited]) -> Vec<String> {
    let of = |audited: &Audited| {
        let subject = audited.subject.clone();
        audited.findings.iter().map(move |finding| format!("{subject}: {finding}")).collect()
    };
    audits.iter().flat_map(|audited| -> Vec<String> { of(audited) }).collect()
}

/// One test, for the fault is the whole process's.
#[test]
fn every_planted_fault_is_found_and_without_one_nothing_is() {
    let sound = corner(&[]);
    assert!(sound.len() >= 14, "{}", sound.len());
    assert_eq!(findings(&sound), Vec::<String>::new());
    for audited in &sound {
        for moved in &audited.releases {
            assert!(moved.largest > 0.0 && moved.largest <= 1.0 + 1e-9, "{audited:?}");
        }
    }
    #[cfg(feature = "planted-faults")]
    planted::all();
}

#[cfg(feature = "planted-faults")]
mod planted {
    use halflight::faults::{Fault, plant};

    use super::{corner, findings};

    pub fn all() {
        let mut missed = Vec::new();
        for fault in Fault::ALL {
            let start = std::time::Instant::now();
            plant(Some(fault));
            let found = findings(&corner(&[]));
            plant(None);
            println!("{fault:?} ({:.1?}): {:?}", start.elapsed(), found.first());
            if found.is_empty() {
                missed.push(fault);
            }
        }
        assert!(missed.is_empty(), "not found: {missed:?}");
    }
}
