//! The list of methods.

use super::baselines::public_only;
use super::classes::{adadps, dp_sgd, gep, pillar, pretraining};
use super::labelled::{
    cnvx_adap, ncnvx_adap, profiled_cnvx_adap, profiled_logistic, public_shape, target_only,
};
use super::unlabelled::{frank_wolfe, mirror_descent, moment_release};
use super::{Method, Spec};
use crate::data::Task;
use crate::data::names::{hint_or_all, nearest};
use crate::error::{Error, Result};
use crate::privacy::ledger::Grant;

/// All methods, in the order of the Plan screen.
pub fn methods() -> &'static [&'static Method] {
    &[
        public_shape::NUMBERS,
        public_shape::CLASSES,
        profiled_cnvx_adap::METHOD,
        moment_release::METHOD,
        frank_wolfe::SINGLE_STAGE,
        frank_wolfe::TWO_STAGE,
        mirror_descent::METHOD,
        profiled_logistic::METHOD,
        cnvx_adap::METHOD,
        ncnvx_adap::METHOD,
        target_only::NUMBERS,
        target_only::CLASSES,
        dp_sgd::METHOD,
        pillar::METHOD,
        gep::METHOD,
        adadps::METHOD,
        pretraining::METHOD,
        public_only::NUMBERS,
        public_only::CLASSES,
    ]
}

/// The name of a method; other ids keep their name.
pub fn name_of(id: &str) -> &str {
    method(id).map_or(id, |method| method.spec().name)
}

/// What a method learns: a number or a class.
pub fn task_of(id: &str) -> Option<Task> {
    method(id).ok().map(|method| method.spec().task)
}

/// The method of a grant in plain words, and where its noise came from if that is known. A grant may be
/// no training.
pub fn name_in(grant: &Grant) -> String {
    let name = match grant.method.as_str() {
        "private_errors" => "private ranking by errors",
        "private_table" => "private ranking by a table",
        "private_selection" => "private ranking, the best name",
        "private_direction" => "private ranking by a direction",
        id => name_of(id),
    };
    grant.method_words().replacen(&grant.method, name, 1)
}

/// The method called `id`.
pub fn method(id: &str) -> Result<&'static Method> {
    methods().iter().copied().find(|method| method.spec().id == id).ok_or_else(|| {
        let known: Vec<_> = methods().iter().map(|method| method.spec().id).collect();
        Error::usage(format!("there is no method '{id}'")).cure(hint_or_all(
            id,
            &known,
            "choose one of",
        ))
    })
}

/// The ids of the methods in a list with commas. Each may be an id, a name, or the beginning of just
/// one of these, in small or capital letters. Names have commas, too. Of the methods with one name
/// that of the task is meant.
pub fn named(list: &str, task: Option<Task>) -> Result<Vec<&'static str>> {
    let parts: Vec<&str> = list.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < parts.len() {
        let longest = (at + 1..=parts.len()).rev();
        let mut joined =
            longest.filter_map(|end| Some((end, meant(&parts[at..end].join(", "), task).ok()?)));
        let (end, id) = match joined.next() {
            Some(known) => known,
            None => (at + 1, meant(parts[at], task)?),
        };
        found.push(id);
        at = end;
    }
    Ok(found)
}

/// The id of the method that a text means.
fn meant(text: &str, task: Option<Task>) -> Result<&'static str> {
    let specs = || methods().iter().map(|method| method.spec());
    let of_task = || specs().filter(|spec| task.is_none_or(|task| spec.task == task));
    if let Some(spec) = specs().find(|spec| spec.id == text) {
        let twin = of_task().find(|it| it.id == text || it.name == spec.name);
        let ids = || of_task().map(|it| it.id).collect::<Vec<_>>().join(", ");
        return twin.map(|it| it.id).ok_or_else(|| {
            Error::usage(format!("the method '{text}' is for {}, and this plan is not", spec.task))
                .cure(format!("choose one of: {}", ids()))
        });
    }
    let text = text.to_lowercase();
    let both = |spec: &Spec| [spec.id, spec.name].map(str::to_lowercase);
    if let Some(spec) = of_task().find(|spec| both(spec).contains(&text)) {
        return Ok(spec.id);
    }
    let begin: Vec<_> =
        of_task().filter(|spec| both(spec).iter().any(|it| it.starts_with(&text))).collect();
    match begin.as_slice() {
        [spec] => Ok(spec.id),
        [] => {
            let mut known: Vec<String> = of_task().flat_map(both).collect();
            if nearest(&text, &known).is_empty() {
                known = of_task().map(|spec| spec.id.to_owned()).collect();
            }
            let cure = hint_or_all(&text, &known, "choose one of");
            Err(Error::usage(format!("there is no method '{text}'")).cure(cure))
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|spec| spec.id).collect();
            Err(Error::usage(format!("several methods begin with '{text}'"))
                .cure(format!("choose one of: {}", ids.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::data::{Bounded, Dataset, Persons};
    use crate::numeric::Vector;
    use crate::privacy::openings::OpenSpender;
    use crate::privacy::tape::{Departure, Draw};
    use crate::privacy::{Adjacency, Calibrated, Private, Spender, Watch};
    use crate::{ProblemShape, example, smallest};

    #[test]
    fn a_method_is_named_by_its_id_or_its_name_or_the_beginning_of_one() {
        let (numbers, classes) = (Some(Task::Regression), Some(Task::Classification));
        for spec in methods().iter().map(|method| method.spec()) {
            for text in [spec.id.to_owned(), spec.name.to_owned(), spec.name.to_uppercase()] {
                assert_eq!(named(&text, Some(spec.task)).unwrap(), [spec.id], "{text}");
            }
        }
        let list = "Public model, corrected, target_only, linear, WEIGHTED by fit,";
        let ids = ["public_shape", "target_only", "profiled_cnvx_adap"];
        assert_eq!(named(list, numbers).unwrap(), ids);
        for text in ["public model", "public_shape"] {
            assert_eq!(named(text, classes).unwrap(), ["public_shape_classes"], "{text}");
        }
        let other = named("mirror_descent", classes).unwrap_err().to_string();
        assert!(other.contains("is for regression") && other.contains("public_shape_classes"));
        let error = |text: &str| named(text, numbers).unwrap_err().to_string();
        assert!(error("linear").contains("profiled_cnvx_adap, cnvx_adap"), "{}", error("linear"));
        assert!(error("public shap").contains("did you mean"), "{}", error("public shap"));
        assert!(error("target_only, alchemy").contains("no method 'alchemy'"));
        assert!(error("alchemy").contains("choose one of: public_shape, "));
    }

    #[test]
    fn every_method_is_proved_tried_and_in_the_guide() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/guide");
        let page = |name: &str| std::fs::read_to_string(format!("{guide}/{name}.md")).ok();
        let pages = ["methods", "persons"].map(|name| (name, page(name).unwrap()));
        for spec in methods().iter().map(|method| method.spec()) {
            let (id, proof) = (spec.id, spec.proof());
            let tried = spec.public_only || spec.tries_public_predictor || !spec.tries.is_empty();
            assert!(tried, "{id}: name in `tries` what a rehearsal should try");
            assert!(
                page(&format!("proofs/{proof}")).is_some(),
                "{id} has no proof page: write assets/guide/proofs/{proof}.md and list it in \
                 src/tui/guide/mod.rs"
            );
            for (name, text) in &pages {
                assert!(
                    text.contains(&format!("`{id}`")),
                    "{id}: say on the page {name} what it does"
                );
            }
            let table = pages[1].1.lines().filter(|line| line.starts_with('|'));
            assert!(
                table.into_iter().any(|line| line.contains(&format!("`{id}`"))),
                "{id}: say in the table of assets/guide/persons.md what a person adds"
            );
        }
    }

    /// The most records of a person here.
    const MOST: usize = 8;
    /// The persons, of whom all but the first have one record.
    const ALL: usize = 30;

    /// `data` with these records in the place of the first person.
    fn with_first(data: &Dataset, records: usize, [x, y]: [f64; 2], label: f64) -> Dataset {
        let rows: Vec<usize> = (0..records).chain(MOST..data.len()).collect();
        let mut data = data.select(&rows);
        let record =
            Vector::from_fn(data.dimension(), |k, _| [x, y].get(k).copied().unwrap_or(0.0));
        for k in 0..records {
            data.features.set_column(k, &record);
            if let Some(target) = &mut data.target {
                target[k] = label;
            }
            if let Some(classes) = &mut data.classes {
                classes.of[k] = u32::from(label > 0.0);
            }
        }
        let counts = std::iter::once(records).chain(std::iter::repeat_n(1, ALL - 1));
        Dataset { persons: Some(Persons::of_counts(counts).into()), ..data }
    }

    /// A part of the audit that takes seconds: one history, and another first person.
    #[test]
    fn an_opposite_person_moves_no_release_further_than_announced() {
        for method in methods().iter().copied().chain([smallest::METHOD]) {
            let spec = method.spec();
            if spec.public_only {
                continue;
            }
            let make = match spec.task {
                Task::Regression => example::shifted,
                Task::Classification => example::two_classes,
            };
            let (shape, public, mut private) = make(3, 40, ALL - 1 + MOST, 1);
            if !spec.needs_private_labels {
                (private.target, private.classes) = (None, None);
            }
            let shape = ProblemShape {
                private_records: ALL,
                most_records: MOST,
                joint: None,
                private_labels: spec.needs_private_labels,
                ..shape
            };
            let settings = spec.check(&spec.settings_for_few_records()).unwrap();
            let prepare = || {
                method
                    .prepare(&settings, example::problem(&shape, &public), example::TARGET)
                    .unwrap()
            };
            let noise = Calibrated::of_rough_noise(&prepare().plan().releases, 1e-3, 0.5).unwrap();
            let play = |data: Dataset, departure: Departure| -> Vec<Draw> {
                let mut spender = Spender::audited(&noise, 1, departure);
                let data = Private::new(Bounded::within(data, shape.bounds));
                let mut run = prepare().start(data, &noise).unwrap();
                run.drive(&mut spender, &Watch::sealed(), |_, _, _| Ok(())).unwrap();
                spender.into_draws()
            };
            let sampled = Departure { present: Some(0), ..Departure::default() };
            let history = play(with_first(&private, 1, [0.0, 0.0], 0.0), sampled);
            let again = |data, blank| {
                play(data, Departure { before: Some(history.clone()), blank, present: None })
            };
            let persons = [
                (1, [1.0, 0.0], 1.0),
                (1, [1.0, 0.0], -1.0),
                (MOST, [1.0, 0.0], -1.0),
                (MOST, [-1.0, 0.0], 1.0),
                (MOST, [0.0, 1.0], 1.0),
            ];
            let played = persons.map(|(records, record, label)| {
                again(with_first(&private, records, record, label), Vec::new())
            });
            let nobody = again(with_first(&private, 1, [0.0, 0.0], 0.0), vec![0]);
            for (one, other) in played
                .iter()
                .flat_map(|one| played.iter().chain([&nobody]).map(move |other| (one, other)))
            {
                let zeroed = std::ptr::eq(other, &raw const nobody);
                for (a, b) in one.iter().zip(other) {
                    let event = &noise.events()[a.event];
                    if zeroed == (event.adjacency == Adjacency::ZeroOut) {
                        let moved = a.moved(b, &event.mechanism.query);
                        assert!(moved <= 1.0 + 1e-9, "{}, {}: {moved}", spec.id, event.label);
                        assert!(!a.overreached, "{}, {}: clipped", spec.id, event.label);
                    }
                }
            }
        }
    }

    #[test]
    fn every_method_has_a_name_of_its_own_and_describes_itself() {
        let mut ids = BTreeSet::new();
        for spec in methods().iter().map(|method| method.spec()) {
            assert!(ids.insert(spec.id), "{} is there twice", spec.id);
            for text in [spec.id, spec.name, spec.paper, spec.summary, spec.line] {
                assert!(!text.is_empty(), "{}", spec.id);
            }
            assert!(spec.line.chars().count() <= 60, "{}", spec.id);
            for (variant, key, text) in spec.variants {
                let value = spec.field(key).and_then(|field| field.kind.parse(text));
                assert!(value.is_some(), "{}, {variant}", spec.id);
            }
        }
    }
}
