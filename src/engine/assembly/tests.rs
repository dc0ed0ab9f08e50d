use super::*;
use crate::evaluation::Loss;
use crate::privacy::openings::OpenWatch;
use crate::session::{Workspace, dataset};

/// Thirty records each, the public ones with `more` words in their definition.
fn assembled(method: &str, settings: &str, classes: &str, more: &str) -> Result<Assembly> {
    let directory = tempfile::tempdir().unwrap();
    let table = |label: &str, kinds: &[&str], shift: usize| {
        let rows = (0..40).map(|i| {
            let x = ((i * 7 + shift) % 11) as f64 / 10.0;
            format!("{x},{},{}\n", (i + shift) % 5, kinds[i % kinds.len()])
        });
        format!("a,b,{label}\n{}", rows.collect::<String>())
    };
    let write = |name: &str, text: String| {
        std::fs::write(directory.path().join(name), text).unwrap();
    };
    write("private.csv", table("kind", &["cat", "dog"], 1));
    write("public.csv", table("colour", &["red", "green", "blue"], 3));
    let text = format!(
        "(version: 1, datasets: [
          (name: \"ours\", role: private, source: file(\"private.csv\"), label: \"kind\",
           task: classification{classes}),
          (name: \"theirs\", role: public, source: file(\"public.csv\"){more}),
        ], plans: [(name: \"first\", method: \"{method}\", private: \"ours\",
          public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5), settings: {{{settings}}})])"
    );
    first_plan(&text, directory.path())
}

/// The first plan of a session in this directory.
fn first_plan(session: &str, directory: &Path) -> Result<Assembly> {
    let session = Session::parse(session, "s.ron")?;
    let workspace = Workspace::of(directory)?;
    let loaded = session.datasets.iter().map(|data| dataset::load(data, &workspace));
    let loaded = loaded.collect::<Result<Vec<_>>>()?;
    let loaded: Vec<_> = loaded.iter().collect();
    assemble(&session, &session.plans[0], &loaded, &PreparedStore::default())
}

/// The warnings of a plan on these public rows, or the error; the private ones have no gaps.
fn told(public: impl Fn(usize) -> String) -> String {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, row: &dyn Fn(usize) -> String| {
        let rows: Vec<String> = (0..60).map(row).collect();
        let text = format!("a,b,kind\n{}\n", rows.join("\n"));
        std::fs::write(directory.path().join(name), text).unwrap();
    };
    write("private.csv", &|i| format!("0.{i}1,{},{}", i % 7, ["cat", "dog"][i % 2]));
    write("public.csv", &public);
    let dataset = |name: &str, role: &str, more: &str| {
        format!(
            "(name: \"{name}\", role: {role}, source: file(\"{role}.csv\"), label: \"kind\",
              task: classification{more})"
        )
    };
    let text = format!(
        "(version: 1, datasets: [{}, {}], plans: [(name: \"first\",
          method: \"public_shape_classes\", private: \"ours\", public: [\"theirs\"],
          target: (epsilon: 1.0, delta: 1e-5))])",
        dataset("ours", "private", ""),
        dataset("theirs", "public", ", missing: drop")
    );
    let session = Session::parse(&text, "s.ron").unwrap();
    let workspace = Workspace::of(directory.path()).unwrap();
    let loaded: Vec<Loaded> =
        session.datasets.iter().map(|it| dataset::load(it, &workspace).unwrap()).collect();
    let loaded: Vec<_> = loaded.iter().collect();
    match assemble(&session, &session.plans[0], &loaded, &PreparedStore::default()) {
        Ok(assembly) => assembly.proposal.warnings.join("; "),
        Err(error) => error.to_string(),
    }
}

#[test]
fn rows_left_out_for_their_gaps_are_named_where_the_others_will_not_do() {
    let kind = |i: usize| ["cat", "dog"][i % 2];
    let gaps = |i: usize| if i.is_multiple_of(2) { String::new() } else { format!("0.{i}3") };
    let error = told(|i| format!("{},{},{}", gaps(i), i % 5, kind(i)));
    for wanted in ["`missing: drop`", "of the 30 public rows", "label 'kind' is the same"] {
        assert!(error.contains(wanted), "{wanted}: {error}");
    }
}

#[test]
fn a_column_that_tells_the_public_label_is_warned_of_before_a_run() {
    let kind = |i: usize| ["cat", "dog"][i % 2];
    let warned = told(|i| format!("0.{i}3,{},{}", 4 + i % 2, kind(i)));
    assert!(warned.contains("column 'b' alone tells the label 'kind'"), "{warned}");
    let calm = told(|i| format!("0.{i}3,{},{}", i % 5, kind(i)));
    assert!(!calm.contains("alone tells"), "{calm}");
}

const DECLARED: &str = ", classes: [\"cat\", \"dog\", \"fish\"]";
const COLOURS: &str = ", label: \"colour\", task: classification";

#[test]
fn public_records_with_classes_of_their_own_keep_them_and_tell_nothing_of_the_private_ones() {
    let found = assembled("pretraining", "", DECLARED, COLOURS).unwrap();
    assert_eq!(found.proposal.problem.shape.classes, ["cat", "dog", "fish"]);
    let own = found.proposal.problem.public.classes.as_ref().unwrap();
    assert_eq!(own.names, ["blue", "green", "red"]);
    assert_eq!(own.of.len(), found.proposal.problem.public.len());
    assert_eq!(found.proposal.problem.public.feature_names, ["a", "b", "(intercept)"]);
    assert_eq!(found.proposal.preparation.class_names(), ["cat", "dog", "fish"]);
    assert!(found.proposal.public_holdout.classes.is_none());
    assert!(found.private_holdout.is_some());
    // Two units of each of three classes, and their biases.
    let settings = "\"units\": 2";
    let found = assembled("pretraining", settings, DECLARED, COLOURS).unwrap();
    assert_eq!(
        found.proposal.calibrated.events()[0].mechanism.query.size_words().split(' ').next(),
        Some("9")
    );
}

#[test]
fn a_model_of_other_classes_is_no_reference_and_that_of_the_private_records_stays() {
    use crate::evaluator::Evaluator;
    use crate::privacy::Watch;
    let found = assembled("pretraining", "", DECLARED, COLOURS).unwrap();
    let watch = Watch::open();
    let Proposal { preparation, judging, public_holdout, .. } = &found.proposal;
    let private = found.private_holdout.as_ref();
    let evaluator = Evaluator::new((preparation, judging), public_holdout, private, &watch);
    assert!(found.proposal.public_alone().is_none());
    let baselines = evaluator.comparing(&found.proposal.problem.shape, &found.private)();
    let scores = evaluator.scores(None, &baselines, Loss::default());
    assert!(scores.source_only.is_none() && scores.source_only_on_public.is_none());
    let wrong = scores.target_only.unwrap();
    assert!((0.0..=1.0).contains(&wrong.reveal(&watch).unwrap().error));
}

#[test]
fn an_incomplete_private_record_stays_as_one_of_zeros() {
    let directory = tempfile::tempdir().unwrap();
    let rows = |count: usize, gaps: bool| {
        let row = |i: usize| match i % 7 {
            3 if gaps => format!(",{},1\n", i % 5),
            _ => format!("{},{},{}\n", (i * 7 % 11) as f64 / 10.0, i % 5, i % 3),
        };
        format!("a,b,y\n{}", (0..count).map(row).collect::<String>())
    };
    std::fs::write(directory.path().join("ours.csv"), rows(210, true)).unwrap();
    std::fs::write(directory.path().join("theirs.csv"), rows(150, false)).unwrap();
    let text = "(version: 1, datasets: [
      (name: \"ours\", role: private, source: file(\"ours.csv\"), label: \"y\", missing: drop),
      (name: \"theirs\", role: public, source: file(\"theirs.csv\"), label: \"y\"),
    ], plans: [(name: \"first\", method: \"moment_release\", private: \"ours\",
      public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5))])";
    let session = Session::parse(text, "s.ron").unwrap();
    let workspace = Workspace::of(directory.path()).unwrap();
    let loaded = session.datasets.iter().map(|data| dataset::load(data, &workspace));
    let loaded = loaded.collect::<Result<Vec<_>>>().unwrap();
    let loaded: Vec<_> = loaded.iter().collect();
    let found = assemble(&session, &session.plans[0], &loaded, &PreparedStore::default());
    let found = found.unwrap();
    assert_eq!(found.proposal.problem.shape.private_records, 168);
    let watch = crate::privacy::Watch::open();
    let zeros = found.private.curator(&watch, |private| {
        let features = private.doubles().features;
        (private.len(), features.column_iter().filter(|x| x.norm() == 0.0).count())
    });
    // Of 210 records 30 have a gap; 168 of them are trained on.
    let (all, empty) = *zeros.unwrap().reveal(&watch).unwrap();
    assert!(all == 168 && (12..=30).contains(&empty), "{all} {empty}");
}

/// A plan on two built-in datasets, with everything that it is assembled from.
fn bikes() -> (Session, Vec<Loaded>) {
    let text = "(version: 1, datasets: [
      (name: \"ours\", role: private, source: builtin(\"bikeshare\"), label: \"bikers\",
       columns: only([\"temp\", \"hum\"]), filter: \"season == 1\"),
      (name: \"theirs\", role: public, source: builtin(\"bikeshare\"), label: \"bikers\",
       columns: only([\"temp\", \"hum\"]), filter: \"season != 1\"),
    ], plans: [(name: \"first\", method: \"moment_release\", private: \"ours\",
      public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5))])";
    let session = Session::parse(text, "s.ron").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::fresh(directory.path());
    let load = |data| dataset::load(data, &workspace).unwrap();
    let loaded = session.datasets.iter().map(load).collect();
    (session, loaded)
}

#[test]
fn records_are_prepared_again_only_where_another_plan_or_other_data_make_others() {
    let (session, loaded) = bikes();
    let store = PreparedStore::default();
    let proposed = |edit: &dyn Fn(&mut PlanDefinition), loaded: &[Loaded]| {
        let mut plan = session.plans[0].clone();
        edit(&mut plan);
        let loaded: Vec<_> = loaded.iter().collect();
        propose(&session, &plan, &loaded, &store).unwrap().records
    };
    let first = proposed(&|_| {}, &loaded);
    let same: [&dyn Fn(&mut PlanDefinition); 3] = [
        &|plan| plan.target.epsilon = 3.0,
        &|plan| plan.settings = [("lambda".to_owned(), methods::Value::Number(0.3))].into(),
        &|plan| plan.name = "second".to_owned(),
    ];
    for edit in same {
        assert!(Arc::ptr_eq(&first, &proposed(edit, &loaded)));
    }
    let others: [&dyn Fn(&mut PlanDefinition); 4] = [
        &|plan| plan.holdout = 0.3,
        &|plan| plan.seed = 5,
        &|plan| plan.public_predictor = PublicPredictor::Trees,
        &|plan| plan.method = "profiled_cnvx_adap".to_owned(),
    ];
    for edit in others {
        let before = proposed(&|_| {}, &loaded);
        assert!(!Arc::ptr_eq(&before, &proposed(edit, &loaded)));
    }
    // The same file, read again.
    let (_, again) = bikes();
    let before = proposed(&|_| {}, &loaded);
    assert!(!Arc::ptr_eq(&before, &proposed(&|_| {}, &again)));
    let before = proposed(&|_| {}, &again);
    store.clear();
    assert!(!Arc::ptr_eq(&before, &proposed(&|_| {}, &again)));
}

/// The preparation of a plan with public trees, and what its public records are, with these
/// private rows.
fn predicted(private: impl Fn(usize) -> String, more: &str) -> Result<Assembly> {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, row: &dyn Fn(usize) -> String| {
        let rows: Vec<String> = (0..200).map(row).collect();
        let text = format!("a,b,y\n{}\n", rows.join("\n"));
        std::fs::write(directory.path().join(name), text).unwrap();
    };
    let wave = |i: usize| (i as f64 * 0.7).sin();
    write("private.csv", &private);
    write("public.csv", &|i| format!("{},{},{}", wave(i), i % 5, (3.0 * wave(i)).cos()));
    let text = format!(
        "(version: 1, datasets: [
          (name: \"ours\", role: private, source: file(\"private.csv\"), label: \"y\"),
          (name: \"theirs\", role: public, source: file(\"public.csv\"), label: \"y\"),
        ], plans: [(name: \"first\", method: \"target_only\", private: \"ours\",
          public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5), {more})])"
    );
    first_plan(&text, directory.path())
}

#[test]
fn private_rows_cannot_change_the_public_predictor() {
    let trees = "public_predictor: trees";
    let one = predicted(|i| format!("0.1,{},{}", i % 3, i % 2), trees).unwrap();
    let other = predicted(|i| format!("{},9,{}", i * 7, i * i), trees).unwrap();
    assert!(one.proposal.preparation.recipe().unwrap().scores.len() == 1);
    assert_eq!(one.proposal.preparation, other.proposal.preparation);
    assert_eq!(one.proposal.problem.public.shared(), other.proposal.problem.public.shared());
    // Records that it was not trained on have its score, those of training do not.
    let names = ["a", "b", "(public score)", "(intercept)"];
    // Public data alone do not have the score.
    let judges = &one.proposal.public_holdout.feature_names;
    assert_eq!(judges[..4], names);
    assert_eq!(judges[4..], ["a", "b", "(intercept)"]);
    let words = one.proposal.taken_as_public.predictor.unwrap();
    assert!(words.contains("boosted trees trained on 'theirs' alone"), "{words}");
}

#[test]
fn a_column_that_is_the_score_is_no_other_feature_and_must_be_there() {
    let private = |i: usize| format!("{i},{},{}", i % 3, i % 2);
    let found = predicted(private, "public_predictor: column(\"b\")").unwrap();
    let names = ["a", "(public score)", "(intercept)"];
    assert_eq!(found.proposal.problem.public.feature_names, names);
    let idle =
        |found: Assembly| found.proposal.warnings.iter().any(|it| it.contains("says nothing"));
    assert!(!idle(found));
    let both = predicted(private, "public_predictor: several([trees, column(\"b\")])").unwrap();
    let names = ["a", "(public score)", "(public score 2)", "(intercept)"];
    assert_eq!(both.proposal.problem.public.feature_names, names);
    let words = both.proposal.taken_as_public.predictor.clone().unwrap();
    assert!(words.contains("boosted trees trained on 'theirs'") && words.contains("column 'b'"));
    let error = predicted(private, "public_predictor: column(\"c\")").unwrap_err().to_string();
    assert!(error.contains("no column 'c'") && error.contains("public.csv"), "{error}");
}

#[test]
fn a_public_file_that_does_not_fit_the_others_is_refused_before_anything_is_spent() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, label: &dyn Fn(usize) -> String| {
        let rows: Vec<String> = (0..200).map(|i| format!("{},{}", i % 7, label(i))).collect();
        let text = format!("a,y\n{}\n", rows.join("\n"));
        std::fs::write(directory.path().join(name), text).unwrap();
    };
    write("private.csv", &|i| (i % 2).to_string());
    write("public.csv", &|i| format!("yes{}", i % 2));
    let text = "(version: 1, datasets: [
          (name: \"ours\", role: private, source: file(\"private.csv\"), label: \"y\", task: classification),
          (name: \"theirs\", role: public, source: file(\"public.csv\"), label: \"y\", task: classification),
        ], plans: [(name: \"first\", method: \"public_shape_classes\", private: \"ours\",
          public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5))])";
    let error = first_plan(text, directory.path()).unwrap_err().to_string();
    assert!(error.contains("the label 'y' of 'theirs' is text"), "{error}");
    let declared =
        text.replace("task: classification", "classes: [\"0\", \"1\"], task: classification");
    let other = first_plan(&declared, directory.path()).unwrap_err().to_string();
    assert!(!other.contains("is text, and that of"), "{other}");
}

#[test]
fn runs_share_the_records_and_what_is_not_asked_for_any_more_is_dropped() {
    let (session, loaded) = bikes();
    let loaded: Vec<_> = loaded.iter().collect();
    let store = PreparedStore::default();
    let mut plan = session.plans[0].clone();
    let assemble = |plan: &PlanDefinition| assemble(&session, plan, &loaded, &store).unwrap();
    let place = |found: &Assembly| {
        let watch = crate::privacy::Watch::open();
        let place =
            found.private.curator(&watch, |data| std::ptr::from_ref(&data.features) as usize);
        *place.unwrap().reveal(&watch).unwrap()
    };
    let first = assemble(&plan);
    plan.target.epsilon = 2.0;
    let second = assemble(&plan);
    assert_eq!(place(&first), place(&second));
    assert!(first.proposal.calibrated != second.proposal.calibrated);
    drop((first, second));
    let records = Arc::downgrade(&propose(&session, &plan, &loaded, &store).unwrap().records);
    assert!(records.upgrade().is_some(), "nothing is kept");
    plan.seed += 1;
    assemble(&plan);
    assert!(records.upgrade().is_none(), "two sets are kept");
}

#[test]
fn features_that_only_the_private_records_have_are_left_out_and_named() {
    let more = ", columns: only([\"a\"])";
    let found = assembled("pillar", "\"components\": 2", DECLARED, more).unwrap();
    assert_eq!(found.proposal.problem.public.feature_names, ["a", "(intercept)"]);
    let note = found.proposal.warnings.iter().find(|note| note.contains("not used")).unwrap();
    assert!(note.contains("'ours'") && note.contains("'b'"), "{note}");
    let more = ", columns: only([\"a\", \"b\"])";
    let found = assembled("pillar", "\"components\": 2", DECLARED, more).unwrap();
    assert!(!found.proposal.warnings.iter().any(|note| note.contains("not used")));
}

#[test]
fn public_records_need_no_label_where_their_features_are_all_that_is_used() {
    for more in ["", ", columns: except([\"colour\"])", ", label: \"b\""] {
        let columns = "\"components\": 2";
        let more = if more.is_empty() { ", columns: only([\"a\", \"b\"])" } else { more };
        let found = assembled("pillar", columns, DECLARED, more);
        let found = match (found, more.contains("label")) {
            (Ok(found), false) => found,
            // A colour that is a word is a feature that the private records lack.
            (Err(error), true) => {
                assert!(error.to_string().contains("colour"), "{error}");
                continue;
            }
            (other, _) => panic!("{more}: {other:?}"),
        };
        assert!(found.proposal.problem.public.classes.is_none());
        assert_eq!(found.proposal.problem.public.feature_names, ["a", "b", "(intercept)"]);
    }
    let error = assembled("dp_sgd", "", "", COLOURS).unwrap_err().to_string();
    assert!(error.contains("classes are not public") && error.contains("'ours'"), "{error}");
    let error = assembled("profiled_logistic", "", DECLARED, COLOURS).unwrap_err().to_string();
    assert!(error.contains("'kind' and the public one 'colour'"), "{error}");
    let own = "\"anchor_labels\": \"own\", \"basis\": 3";
    let error = assembled("gep", own, DECLARED, COLOURS).unwrap_err().to_string();
    assert!(error.contains("3 classes of its own"), "{error}");
}
