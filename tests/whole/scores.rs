//! Scores that may be told: what they say, what they cost, and what is refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{program, schema};

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = program::halflight();
    command.args(arguments).current_dir(directory);
    command
}

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Winter rides, from the other seasons; plans are (name, method, evaluation, more).
fn bikes(directory: &Path, plans: &[(&str, &str, &str, &str)]) -> PathBuf {
    let columns = "label: \"bikers\", columns: only([\"hr\", \"workingday\", \"temp\", \"hum\"])";
    let plans = plans.iter().map(|(name, method, evaluation, more)| {
        format!(
            "(name: \"{name}\", method: \"{method}\", private: \"winter\", public: [\"rest\"], \
             target: (epsilon: 1.0, delta: 1e-5), {evaluation} {more}),"
        )
    });
    let text = format!(
        "(version: 1, datasets: [
          (name: \"winter\", role: private, source: builtin(\"bikeshare\"), {columns},
           filter: \"season == 1\"),
          (name: \"rest\", role: public, source: builtin(\"bikeshare\"), {columns},
           filter: \"season != 1\", sample: (rows: 600))],
         budgets: {{\"winter\": (epsilon: 9.0, delta: 1e-5)}}, plans: [{}])",
        plans.collect::<String>()
    );
    let path = directory.join("s.ron");
    std::fs::write(&path, text).unwrap();
    path
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

fn verified(directory: &Path, file: &str) {
    let output = halflight(directory, &["verify", file]);
    assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_score_stands_in_every_file_that_is_handed_on_and_costs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let method = "target_only";
    let range = "preparation: (labels: declared(0.0, 700.0)),";
    bikes(at, &[("plain", method, "", range), ("told", method, "evaluation: (),", range)]);
    let told = json(&halflight(at, &["run", "s.ron", "--json"]));
    assert_eq!(schema::flaw(&json(&halflight(at, &["schema", "run"])), &told), None);
    let runs = told["runs"].as_array().unwrap();
    assert!(runs[0].get("score").is_none(), "{}", runs[0]);
    let score = &runs[1]["score"];
    assert_eq!((&score["records"], &score["loss"]), (&414.into(), &"absolute".into()), "{score}");
    for name in ["error", "public_alone", "difference"] {
        let [low, value, high] = ["low", "value", "high"].map(|it| number(&score[name][it]));
        assert!(low < value && value < high, "{score}");
    }
    // Without the cap, from the declared range of the label.
    let ends = |of: &Value| ["low", "high"].map(|it| number(&of[it]));
    let (above, cap) = (ends(&score["above"]), number(&score["largest_error"]));
    assert!(above[0] >= 0.0 && above[1] > 0.0 && cap < 700.0 && score["bound"] == 700.0, "{score}");
    let ([low, high], [from, to]) = (ends(&score["error"]), ends(&score["uncapped"]));
    assert!(from == low && (to - high - above[1] * (700.0 - cap)).abs() < 1e-6, "{score}");
    // The same ε, to the last digit that is told.
    let epsilon = |run: &Value| number(&run["guarantee"]["epsilon"]);
    assert!((epsilon(&runs[0]) - epsilon(&runs[1])).abs() < 1e-6);
    let book = json(&halflight(at, &["ledger", "--json"]));
    let spent = number(&book["accounts"][0]["spent"]["epsilon"]);
    // Two Gaussian runs of ε = 1 each at δ = 1e-5: √2 times the μ, and no more.
    assert!((1.40..1.56).contains(&spent), "{book:#}");

    let folder = PathBuf::from(runs[1]["directory"].as_str().unwrap());
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let certificate: Value = serde_json::from_str(&read("certificate.json")).unwrap();
    assert_eq!(&certificate["score"], score);
    let mechanisms = certificate["mechanisms"].as_array().unwrap();
    assert_eq!(mechanisms.last().unwrap()["held_out"], true);
    assert!(certificate["covered"].to_string().contains("score on private records"));
    assert!(read("model.ron").contains("public_alone"));
    assert!(read("report.html").contains("How good the model is"));
    verified(at, &format!("{}/certificate.json", folder.display()));
    verified(at, ".halflight/ledger.jsonl");

    // A score that the noise of training does not cover is found.
    let mut forged = certificate.clone();
    let sigma = &mut forged["mechanisms"][mechanisms.len() - 1]["mechanism"]["gaussian"]["sigma"];
    *sigma = (0.5 * number(sigma)).into();
    std::fs::write(at.join("forged.json"), forged.to_string()).unwrap();
    assert!(!halflight(at, &["verify", "forged.json"]).status.success());
    let mut narrow = certificate.clone();
    narrow["score"]["uncapped"]["high"] = high.into();
    std::fs::write(at.join("narrow.json"), narrow.to_string()).unwrap();
    let refused = halflight(at, &["verify", "narrow.json"]);
    let said = String::from_utf8_lossy(&refused.stdout);
    assert!(!refused.status.success() && said.contains("`uncapped` is narrower"), "{said}");
    if let Ok(python) = Command::new("python3").args(["-c", "import numpy"]).output()
        && python.status.success()
    {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/verify.py");
        for (file, sound) in [
            (folder.join("certificate.json"), true),
            (at.join(".halflight/ledger.jsonl"), true),
            (at.join("forged.json"), false),
            (at.join("narrow.json"), false),
        ] {
            let status = Command::new("python3").arg(script).arg(&file).output().unwrap().status;
            assert_eq!(status.success(), sound, "{}", file.display());
        }
    }
}

#[test]
fn noise_that_is_no_secret_tells_no_score() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    bikes(at, &[("told", "target_only", "evaluation: (),", "")]);
    let told = json(&halflight(at, &["run", "s.ron", "--json", "--insecure-noise-seed", "7"]));
    let run = &told["runs"][0];
    assert!(run.get("score").is_none() && run["guarantee"].is_null(), "{run}");
    let folder = Path::new(run["directory"].as_str().unwrap());
    for file in ["certificate.json", "model.ron", "report.html"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(!text.contains("public_alone") && !text.contains("How good the model"), "{file}");
    }
}

#[test]
fn scores_are_as_close_to_the_exact_ones_as_they_say() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let seeds: Vec<(String, String)> =
        (1..=20).map(|seed| (format!("s{seed}"), format!("seed: {seed},"))).collect();
    let squared = "evaluation: (loss: squared, largest_error: 400.0),";
    let plans: Vec<_> = seeds
        .iter()
        .map(|(name, seed)| (name.as_str(), "target_only", squared, seed.as_str()))
        .collect();
    let path = bikes(at, &plans);
    let text = std::fs::read_to_string(&path).unwrap().replace("epsilon: 9.0", "epsilon: 90.0");
    std::fs::write(&path, text).unwrap();
    let told = json(&halflight(at, &["run", "s.ron", "--json", "--include-curator"]));
    let inside = told["runs"].as_array().unwrap().iter().filter(|run| {
        let exact = number(&run["curator_only_private_rmse"]["model"]);
        let error = &run["score"]["error"];
        number(&error["low"]) <= exact && exact <= number(&error["high"])
    });
    let inside = inside.count();
    // The interval is for all records like these and so wider than for the held-out ones alone.
    // One or two of a hundred miss it.
    assert!(inside >= 15, "{inside} of 20");
}

#[test]
fn a_limit_of_differences_changes_their_noise_and_not_their_size() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let asked = "evaluation: (largest_error: 400.0),";
    let path = bikes(at, &[("a", "public_shape", asked, ""), ("b", "public_shape", asked, "")]);
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace("epsilon: 9.0", "epsilon: 90.0");
    std::fs::write(&path, text.replace("epsilon: 1.0", "epsilon: 20.0")).unwrap();
    let told = json(&halflight(at, &["run", "s.ron", "--json", "--include-curator"]));
    for run in told["runs"].as_array().unwrap() {
        let exact = &run["curator_only_private_measures"];
        let [own, public] =
            ["model", "source_only"].map(|it| number(&exact[it]["mean_absolute_error"]));
        let score = &run["score"];
        assert!(number(&score["largest_difference"]) < 400.0, "{score}");
        // The noise is a small part of these ranges, most of which is the chance of the records.
        for (name, exact) in
            [("error", own), ("public_alone", public), ("difference", own - public)]
        {
            let [low, high] = ["low", "high"].map(|end| number(&score[name][end]));
            assert!(low <= exact && exact <= high, "{name}: {exact}, {score}");
        }
        assert!(number(&score["one_answer"]["low"]) > own, "{score}");
    }
}

/// Loans of the old, from those of the young.
fn loans(directory: &Path, method: &str, evaluation: &str, settings: &str) {
    let columns = "label: \"credit_risk\", task: classification, classes: [\"1\", \"2\"], \
                   columns: only([\"duration\", \"credit_amount\", \"installment_rate\", \"age\"])";
    let text = format!(
        "(version: 1, datasets: [
          (name: \"old\", role: private, source: builtin(\"german_credit\"), {columns},
           filter: \"age > 30\"),
          (name: \"young\", role: public, source: builtin(\"german_credit\"), {columns},
           filter: \"age <= 30\")],
         budgets: {{\"old\": (epsilon: 9.0, delta: 1e-5)}},
         plans: [(name: \"p\", method: \"{method}\", private: \"old\", public: [\"young\"],
           target: (epsilon: 4.0, delta: 1e-5), {evaluation} {settings})])"
    );
    std::fs::write(directory.join("s.ron"), text).unwrap();
}

#[test]
fn classes_are_scored_one_by_one_and_samples_are_paid_for() {
    for (method, pay, settings) in [
        ("target_only_logistic", "", ""),
        ("dp_sgd", "pay: share(0.1),", "settings: {\"steps\": 20}"),
        ("dp_sgd", "pay: epsilon(1.0),", "settings: {\"steps\": 20}"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let evaluation = format!("evaluation: ({pay} per_class: true, auc: true),");
        loans(directory.path(), method, &evaluation, settings);
        let told = json(&halflight(directory.path(), &["run", "s.ron", "--json"]));
        let run = &told["runs"][0];
        let score = &run["score"];
        assert_eq!(score["classes"].as_array().unwrap().len(), 2, "{score}");
        assert!(number(&run["guarantee"]["epsilon"]) <= 4.0 + 1e-9);
        let wrong = number(&score["error"]["value"]);
        // No gaps are to be expected, so nothing is said of them.
        assert!((0.0..=1.0).contains(&wrong) && score["usable"].is_null(), "{score}");
        let folder = run["directory"].as_str().unwrap();
        verified(directory.path(), &format!("{folder}/certificate.json"));
        verified(directory.path(), ".halflight/ledger.jsonl");
    }
}

#[test]
fn what_cannot_be_scored_is_refused_before_anything_is_spent() {
    let refused = |directory: &Path, wanted: &[&str]| {
        let output = halflight(directory, &["run", "s.ron"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{said}");
        for wanted in wanted {
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
        let ledger = std::fs::read_to_string(directory.join(".halflight/ledger.jsonl"));
        assert!(!ledger.unwrap_or_default().contains("\"grant\""), "{said}");
    };
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for (evaluation, more, wanted) in [
        ("evaluation: (pay: share(1.5)),", "", &["share of 1.5"][..]),
        ("evaluation: (pay: epsilon(1.0)),", "", &["nothing is left to train with"]),
        ("evaluation: (auc: true),", "", &["the label is a number"]),
        ("evaluation: (largest_error: -1.0),", "", &["largest error that counts is -1"]),
        ("evaluation: (most: 1),", "", &["most"]),
    ] {
        bikes(at, &[("p", "target_only", evaluation, more)]);
        refused(at, wanted);
    }
    // A sample has no noise that covers a score.
    loans(at, "dp_sgd", "evaluation: (),", "");
    refused(at, &["nothing covers a score", "share(0.1)"]);
    loans(at, "target_only_logistic", "evaluation: (loss: squared),", "");
    refused(at, &["for numbers"]);
    // Too few records: the sentence says how much they would leave open.
    bikes(at, &[("p", "target_only", "evaluation: (),", "holdout: 0.05,")]);
    let text = std::fs::read_to_string(at.join("s.ron")).unwrap();
    let few = text.replace("season == 1\"", "season == 1\", sample: (rows: 200)");
    std::fs::write(at.join("s.ron"), few).unwrap();
    refused(at, &["10 records are too few", "% of the largest error", "holdout"]);
}

#[test]
fn a_run_that_was_killed_tells_its_score_when_it_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    bikes(at, &[("p", "profiled_cnvx_adap", "evaluation: (),", "")]);
    let child = command(at, &["run", "s.ron", "--pace", "40"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.unwrap();
    let runs = at.join(".halflight/runs");
    let events = || {
        let run = std::fs::read_dir(&runs).ok()?.next()?.ok()?.path();
        std::fs::read_to_string(run.join("events.jsonl")).ok()
    };
    while events().is_none_or(|text| text.lines().count() < 5) {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    assert!(!run.join("certificate.json").exists());
    let told = json(&halflight(at, &["run", "--resume", run.to_str().unwrap(), "--json"]));
    assert!(told["runs"][0]["score"]["error"]["value"].is_number(), "{told}");
    verified(at, &format!("{}/certificate.json", run.display()));
    verified(at, ".halflight/ledger.jsonl");
}

#[test]
fn an_archived_model_is_scored_at_a_price_and_never_on_its_own_records() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let path = bikes(at, &[("p", "target_only", "", "")]);
    // Summer is scored below, and public data may not hold what the ledger knows as private then.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("season != 1", "season == 2", 1)).unwrap();
    let told = json(&halflight(at, &["run", "s.ron", "--json"]));
    let run = told["runs"][0]["directory"].as_str().unwrap();
    let own = json(&halflight(at, &["score", run, "--epsilon", "0.5", "--json", "-o", "own.json"]));
    assert_eq!(schema::flaw(&json(&halflight(at, &["schema", "score"])), &own), None);
    assert_eq!(own["score"]["records"], 414);
    assert!(own["score"]["public_alone"].is_object(), "{own}");
    // The run spent Gaussian noise, so the score has such noise, and adds the ε that was asked for.
    let epsilon = number(&told["runs"][0]["guarantee"]["epsilon"]);
    let account = json(&halflight(at, &["ledger", "--json"]))["accounts"][0].clone();
    let all = account["total"].as_str().unwrap().trim_start_matches("ε ").parse::<f64>().unwrap();
    assert!((all - epsilon - 0.5).abs() < 0.01, "{all} {epsilon}");
    assert!(number(&own["guarantee"]["epsilon"]) > 0.5, "{own}");
    verified(at, "own.json");
    let kept = std::fs::read_dir(at.join(".halflight/scores")).unwrap().next().unwrap().unwrap();
    assert_eq!(std::fs::read(kept.path()).unwrap(), std::fs::read(at.join("own.json")).unwrap());
    // Before anything is spent it says what to expect; a score that would say nothing is refused.
    let lines =
        || std::fs::read_to_string(at.join(".halflight/ledger.jsonl")).unwrap().lines().count();
    let before = lines();
    let said = |more: &[&str]| {
        let said = halflight(at, &[&["score", run, "--epsilon"], more].concat());
        (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    let (went, told) = said(&["0.3", "--dry-run"]);
    assert!(went && told.contains("will be accurate to about ±"), "{told}");
    let (went, told) = said(&["0.001"]);
    assert!(!went && told.contains("next to nothing, so nothing was spent"), "{told}");
    assert_eq!(lines(), before);
    // All records of the dataset, or of others of the same file.
    let text = std::fs::read_to_string(at.join("s.ron")).unwrap();
    let other = |filter: &str| {
        let session = text.replacen("season == 1", filter, 1);
        std::fs::write(at.join("o.ron"), session.split("plans:").next().unwrap().to_owned() + ")")
            .unwrap();
        let arguments = ["score", run, "o.ron", "--dataset", "winter", "--epsilon", "0.5"];
        halflight(at, &[&arguments[..], &["--largest-error", "300", "--json"]].concat())
    };
    for filter in ["season == 1", "season != 2"] {
        let refused = other(filter);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("was trained on records of 'winter'"), "{filter}: {said}");
    }
    let summer = json(&other("season == 3"));
    assert!(number(&summer["score"]["records"]) > 1000.0, "{summer}");
    let book = json(&halflight(at, &["ledger", "--json"]));
    let runs = book["accounts"][0]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3, "{book:#}");
    verified(at, ".halflight/ledger.jsonl");
    // The report shows both, and judges by the one on held-out records.
    halflight(at, &["report", run]);
    let page = std::fs::read_to_string(at.join("report.html")).unwrap();
    let wanted =
        ["ll spending on these records", "this score was paid for later", "on 'winter', alone"];
    assert!(wanted.iter().all(|it| page.contains(it)), "{page}");
    // What it says to cost is what the ledger counts, both scores included.
    let account = json(&halflight(at, &["ledger", "--json"]))["accounts"][0].clone();
    let sum = account["total"].as_str().unwrap().replacen("ε ", "ε = ", 1);
    assert!(
        page.contains("This run and the scores that were paid for later together cost"),
        "{page}"
    );
    assert!(page.contains(&sum), "{sum} {account:#}");
    // What was paid for is kept and told, even if the directory of the run takes nothing.
    let beside = at.join(run).join("scores");
    std::fs::remove_dir_all(&beside).unwrap();
    std::fs::write(&beside, "in the way").unwrap();
    let paid = json(&halflight(at, &["score", run, "--epsilon", "0.5", "--json"]));
    assert!(paid["score"]["error"]["value"].is_number(), "{paid}");
    let kept = std::fs::read_dir(at.join(".halflight/scores")).unwrap().count();
    assert_eq!(kept, 3, "one of each score");
    let broke = halflight(at, &["score", run, "--epsilon", "50"]);
    assert_eq!(broke.status.code(), Some(3), "{}", String::from_utf8_lossy(&broke.stderr));
}

#[test]
fn private_records_choose_one_plan_and_the_ledger_counts_all() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let path =
        bikes(at, &[("line", "target_only", "", ""), ("profiled", "profiled_cnvx_adap", "", "")]);
    let text = std::fs::read_to_string(&path).unwrap();
    let columns = "label: \"bikers\", columns: only([\"hr\", \"workingday\", \"temp\", \"hum\"])";
    let spring = format!(
        "datasets: [(name: \"spring\", role: public, source: builtin(\"bikeshare\"), {columns},
           filter: \"season == 2\", sample: (rows: 300)),"
    );
    let text = text.replacen("season != 1", "season == 3", 1).replacen("datasets: [", &spring, 1);
    std::fs::write(&path, text.replacen("[\"rest\"]", "[\"spring\"]", 1)).unwrap();
    let chosen = json(&halflight(at, &["choose", "s.ron", "--json"]));
    assert_eq!(schema::flaw(&json(&halflight(at, &["schema", "choose"])), &chosen), None);
    let candidates = chosen["candidates"].as_array().unwrap();
    let names: Vec<&str> = candidates.iter().map(|it| it["candidate"].as_str().unwrap()).collect();
    assert_eq!(names, ["line", "profiled", "public data alone"]);
    // Another than the first must have less.
    let error = |it: &Value| number(&it["error"]["value"]);
    let winner = candidates.iter().find(|it| it["candidate"] == chosen["winner"]).unwrap();
    assert!(error(winner) <= error(&candidates[0]));
    let epsilon = number(&chosen["guarantee"]["epsilon"]);
    assert!((0.995..=1.0).contains(&epsilon), "{epsilon}");
    let folder = chosen["directory"].as_str().unwrap();
    let read = |file: &str| std::fs::read_to_string(Path::new(folder).join(file)).unwrap();
    let certificate: Value = serde_json::from_str(&read("certificate.json")).unwrap();
    assert_eq!(certificate["chosen"]["winner"], chosen["winner"]);
    assert!(certificate["chosen"]["sentence"].to_string().contains("among 3 candidates"));
    // Both plans' public data are taken as public, whichever won.
    let public = certificate["taken_as_public"].to_string();
    assert!(public.contains("rest") && public.contains("spring"), "{public}");
    let labels: Vec<&str> = certificate["mechanisms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["label"].as_str().unwrap())
        .collect();
    assert!(labels.contains(&"choice") && labels.contains(&"score"), "{labels:?}");
    assert!(
        labels.iter().any(|it| it.starts_with("1: "))
            && labels.iter().any(|it| it.starts_with("2: "))
    );
    // Nothing of the losers but what was released of all.
    assert_eq!(read("events.jsonl"), "");
    assert_eq!(read("curator.jsonl"), "");
    assert!(read("report.html").contains("was chosen among 3 candidates"));
    verified(at, &format!("{folder}/certificate.json"));
    verified(at, ".halflight/ledger.jsonl");
    let predicted = halflight(at, &["score", folder, "--epsilon", "0.1"]);
    let said = String::from_utf8_lossy(&predicted.stderr).into_owned();
    assert!(said.contains("it is not clear which records are meant"), "{said}");
}

#[test]
fn many_plans_are_drawn_at_random_and_only_the_best_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let clip = |power: &str| format!("settings: {{\"clip\": {power}}}");
    let settings = ["0.5", "1.0", "2.0", "3.0", "4.0"].map(clip);
    let names = ["p", "q", "r", "s", "t"];
    let plans: Vec<(&str, &str, &str, &str)> = names
        .iter()
        .zip(&settings)
        .map(|(name, settings)| (*name, "target_only", "", settings.as_str()))
        .collect();
    bikes(at, &plans);
    let chosen = json(&halflight(at, &["choose", "s.ron", "--json"]));
    assert_eq!(schema::flaw(&json(&halflight(at, &["schema", "choose"])), &chosen), None);
    assert!(chosen["how"].to_string().contains("how often is secret"), "{chosen:#}");
    // The best of them, and public data alone; nothing of the others.
    let candidates = chosen["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 2);
    assert!(candidates.iter().any(|it| it["candidate"] == chosen["winner"]));
    let epsilon = number(&chosen["guarantee"]["epsilon"]);
    assert!((0.99..=1.0).contains(&epsilon), "{epsilon}");
    let folder = chosen["directory"].as_str().unwrap();
    let read = |file: &str| std::fs::read_to_string(Path::new(folder).join(file)).unwrap();
    let certificate: Value = serde_json::from_str(&read("certificate.json")).unwrap();
    let mechanisms = certificate["mechanisms"].as_array().unwrap();
    assert_eq!(mechanisms.len(), 1, "{mechanisms:?}");
    assert!(mechanisms[0]["mechanism"]["repeated_gaussian"].is_object());
    assert_eq!(read("events.jsonl"), "");
    assert_eq!(read("curator.jsonl"), "");
    verified(at, &format!("{folder}/certificate.json"));
    verified(at, ".halflight/ledger.jsonl");
    // Trained once each, all are told, and each training has less.
    let all = json(&halflight(at, &["choose", "s.ron", "--way", "all", "--json"]));
    assert_eq!(all["candidates"].as_array().unwrap().len(), 6);
    verified(at, ".halflight/ledger.jsonl");
    // Two plans are not worth repeats, unless somebody asks for them.
    let two = json(&halflight(at, &["choose", "s.ron", "--plans", "p,q", "--json"]));
    assert!(two["how"].to_string().contains("Each plan was trained once."));
    let asked = ["choose", "s.ron", "--plans", "p,q", "--way", "repeats", "--json"];
    let output = halflight(at, &asked);
    assert!(json(&output)["how"].to_string().contains("secret"));
    // Nothing tells which plans were trained, or how often.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let starts = ["read ", "granted as", "Plans were drawn", "each training gets"];
    let known = |line: &str| starts.iter().any(|start| line.starts_with(start));
    assert!(said.lines().all(known), "{said}");
}

#[test]
fn without_a_hold_out_all_records_train_and_others_may_score() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    bikes(at, &[("all", "target_only", "", "holdout: 0.0"), ("some", "target_only", "", "")]);
    let text = std::fs::read_to_string(at.join("s.ron")).unwrap();
    let columns = "label: \"bikers\", columns: only([\"hr\", \"workingday\", \"temp\", \"hum\"])";
    let other = format!(
        "datasets: [(name: \"autumn\", role: private, source: builtin(\"bikeshare\"), {columns},
           filter: \"season == 4\"),"
    );
    let text = text.replacen("season != 1", "season == 2", 1).replacen("datasets: [", &other, 1);
    let text =
        text.replacen("budgets: {", "budgets: {\"autumn\": (epsilon: 9.0, delta: 1e-5), ", 1);
    std::fs::write(at.join("s.ron"), text).unwrap();
    let output = halflight(at, &["run", "s.ron", "--json"]);
    let runs = json(&output);
    let records = |k: usize| runs["runs"][k]["private_records"].as_u64().unwrap();
    assert!(records(0) > records(1), "{runs:#}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no private record is held out"), "{said}");
    let folder = runs["runs"][0]["directory"].as_str().unwrap();
    let own = halflight(at, &["score", folder, "--epsilon", "0.5"]);
    let said = String::from_utf8_lossy(&own.stderr).into_owned();
    assert!(!own.status.success() && said.contains("held no record out"), "{said}");
    let scored = halflight(
        at,
        &[
            "score",
            folder,
            "s.ron",
            "--dataset",
            "autumn",
            "--epsilon",
            "0.5",
            "--largest-error",
            "400",
            "--json",
        ],
    );
    assert!(number(&json(&scored)["score"]["error"]["value"]) > 0.0);
    // A score needs records.
    let elsewhere = tempfile::tempdir().unwrap();
    let at = elsewhere.path();
    bikes(at, &[("p", "target_only", "evaluation: (),", "holdout: 0.0")]);
    let refused = halflight(at, &["run", "s.ron"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("no record is held out"), "{said}");
}

#[test]
fn a_killed_choice_counts_in_full_and_is_settled() {
    for way in ["all", "repeats"] {
        killed_choice(way);
    }
}

fn killed_choice(way: &str) {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    bikes(at, &[("a", "target_only", "", ""), ("b", "profiled_cnvx_adap", "", "")]);
    let child = command(at, &["choose", "s.ron", "--way", way, "--epsilon", "2", "--pace", "5"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.unwrap();
    let ledger = || std::fs::read_to_string(at.join(".halflight/ledger.jsonl")).unwrap_or_default();
    while !ledger().contains("\"block\"") {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let book = json(&halflight(at, &["ledger", "--json"]));
    assert!((number(&book["accounts"][0]["spent"]["epsilon"]) - 2.0).abs() < 1e-2, "{book:#}");
    let run =
        std::fs::read_dir(at.join(".halflight/runs")).unwrap().next().unwrap().unwrap().path();
    let resumed = halflight(at, &["run", "--resume", run.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert!(said.contains("cannot be resumed") && said.contains("ledger settle"), "{said}");
    let name = run.file_name().unwrap().to_str().unwrap();
    let settled = halflight(at, &["ledger", "settle", name]);
    assert!(settled.status.success(), "{}", String::from_utf8_lossy(&settled.stderr));
    verified(at, ".halflight/ledger.jsonl");
}

#[test]
fn what_cannot_be_chosen_is_refused_before_anything_is_spent() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let refused = |arguments: &[&str], wanted: &str| {
        let output = halflight(at, &[&["choose", "s.ron"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(wanted), "{wanted}: {said}");
        let ledger = std::fs::read_to_string(at.join(".halflight/ledger.jsonl"));
        assert!(!ledger.unwrap_or_default().contains("\"grant\""), "{said}");
    };
    bikes(at, &[("p", "target_only", "", ""), ("q", "target_only", "", "")]);
    refused(&["--plans", "p,r"], "there is no plan 'r'");
    refused(&["--plans", "p,p"], "is named twice");
    refused(&["--epsilon", "-1"], "unexpected argument");
    refused(&["--epsilon", "0"], "ε");
    refused(&["--epsilon", "20"], "overspend");
    let text = std::fs::read_to_string(at.join("s.ron")).unwrap();
    let two = text.replace("plans: [", "plans: []").split("plans: []").next().unwrap().to_owned();
    std::fs::write(at.join("s.ron"), two + "plans: [])").unwrap();
    refused(&[], "has no plan");
}

/// Two files of hours, of winter and of spring, and a run on the first one.
fn practice(at: &Path, holdout: &str) -> String {
    for (name, season, sample) in [("ours", "1", 500), ("rest", "3", 500)] {
        let whole = include_str!("../../assets/bikeshare/bikeshare.csv");
        let mut lines = whole.lines();
        let head = lines.next().unwrap();
        let place = head.split(',').position(|name| name == "season").unwrap();
        let rows = lines.filter(|line| line.split(',').nth(place) == Some(season));
        let rows: Vec<&str> = [head].into_iter().chain(rows.take(sample)).collect();
        std::fs::write(at.join(format!("{name}.csv")), rows.join("\n") + "\n").unwrap();
    }
    let dataset = |name: &str, role: &str| {
        format!(
            "(name: \"{name}\", role: {role}, source: file(\"{name}.csv\"), label: \"bikers\",
              columns: only([\"hr\", \"temp\", \"hum\"]))"
        )
    };
    let text = format!(
        "(version: 1, datasets: [{}, {}], budgets: {{\"ours\": (epsilon: 9.0, delta: 1e-5)}},
         plans: [(name: \"p\", method: \"target_only\", private: \"ours\", public: [\"rest\"],
           target: (epsilon: 1.0, delta: 1e-5), holdout: {holdout})])",
        dataset("ours", "private"),
        dataset("rest", "public")
    );
    std::fs::write(at.join("s.ron"), text).unwrap();
    let told = json(&halflight(at, &["run", "s.ron", "--json"]));
    told["runs"][0]["directory"].as_str().unwrap().to_owned()
}

#[test]
fn a_table_of_other_records_scores_a_model_that_trained_on_all_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let run = practice(at, "0.0");
    let score = |file: &str| {
        halflight(
            at,
            &["score", &run, file, "--epsilon", "0.5", "--largest-error", "300", "--json"],
        )
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let ours = std::fs::read_to_string(at.join("ours.csv")).unwrap();
    let whole = include_str!("../../assets/bikeshare/bikeshare.csv");
    let lines: Vec<&str> = whole.lines().collect();
    let table = |rows: &[&str]| [&lines[..1], rows].concat().join("\n") + "\n";
    let winter: Vec<&str> = ours.lines().skip(1).collect();
    let others = &lines[lines.len() - 300..];
    // Some of the rows that it was trained on, among others in another file.
    std::fs::write(at.join("mixed.csv"), table(&[&winter[..250], others].concat())).unwrap();
    let refused = score("mixed.csv");
    assert!(!refused.status.success() && said(&refused).contains("trained on records of 'mixed'"));
    std::fs::write(at.join("bare.csv"), "hr,temp,hum\n1,0.3,0.4\n").unwrap();
    let refused = score("bare.csv");
    assert!(!refused.status.success() && said(&refused).contains("bikers"), "{}", said(&refused));
    std::fs::write(at.join("few.csv"), table(&others[..12])).unwrap();
    let refused = said(&score("few.csv"));
    assert!(refused.contains("dataset 'few': 12 records are too few"), "{refused}");
    // No account without a budget.
    std::fs::write(at.join("other.csv"), table(others)).unwrap();
    let refused = said(&score("other.csv"));
    assert!(refused.contains("ledger budget "), "{refused}");
    let account = refused.split("ledger budget ").nth(1).and_then(|it| it.split(' ').next());
    let budget = halflight(at, &["ledger", "budget", account.unwrap(), "1", "1e-5"]);
    assert!(budget.status.success(), "{refused}");
    let told = json(&score("other.csv"));
    assert_eq!((&told["dataset"], &told["score"]["records"]), (&"other".into(), &300.into()));
    let book = json(&halflight(at, &["ledger", "--json"]));
    let accounts = book["accounts"].as_array().unwrap();
    let charged = |it: &&Value| it["runs"].to_string().contains(told["run"].as_str().unwrap());
    let own = accounts.iter().find(charged);
    assert_eq!(own.unwrap()["runs"].as_array().unwrap().len(), 1, "{book:#}");
    verified(at, ".halflight/ledger.jsonl");
}

/// A plan that trains on all of its records and is scored on those of another file.
#[test]
fn a_test_dataset_scores_a_run_and_pays_from_its_own_account() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    practice(at, "0.0");
    std::fs::remove_dir_all(at.join(".halflight")).unwrap();
    let whole = include_str!("../../assets/bikeshare/bikeshare.csv");
    let lines: Vec<&str> = whole.lines().collect();
    let ours = std::fs::read_to_string(at.join("ours.csv")).unwrap();
    let others = &lines[lines.len() - 300..];
    let write = |name: &str, rows: &[&str]| {
        let text = [&lines[..1], rows].concat().join("\n") + "\n";
        std::fs::write(at.join(name), text).unwrap();
    };
    write("clinic.csv", others);
    write("few.csv", &others[..12]);
    write("mixed.csv", &[&ours.lines().skip(1).take(250).collect::<Vec<_>>(), others].concat());
    let session = std::fs::read_to_string(at.join("s.ron")).unwrap();
    let plan = |test: &str, evaluation: &str, budget: &str| {
        let columns = "columns: only([\"hr\", \"temp\", \"hum\"])";
        let dataset = |(name, label): (&str, &str)| {
            format!(
                "(name: \"{name}\", role: private, source: file(\"{name}.csv\"), {label}{columns}), "
            )
        };
        let labelled = "label: \"bikers\", ";
        let named = [("clinic", labelled), ("few", labelled), ("mixed", labelled)];
        let more: String = named.into_iter().map(dataset).collect();
        let bare = dataset(("bare", "")).replace("bare.csv", "clinic.csv");
        let text = session.replacen("datasets: [", &format!("datasets: [{more}{bare}"), 1);
        let text = text.replacen("budgets: {", &format!("budgets: {{{budget}"), 1);
        let text =
            text.replace("holdout: 0.0", &format!("holdout: 0.0, test: \"{test}\", {evaluation}"));
        std::fs::write(at.join("s.ron"), text).unwrap();
    };
    let paid = "evaluation: (pay: epsilon(0.5), largest_error: 300),";
    let budget = "\"clinic\": (epsilon: 0.6, delta: 1e-5), \"mixed\": (epsilon: 9, delta: 1e-5), \
                  \"few\": (epsilon: 9, delta: 1e-5), ";
    for (test, evaluation, budget, wanted) in [
        ("clinic", "", budget, "not said"),
        ("clinic", "evaluation: (),", budget, "pay: epsilon(0.5)"),
        ("rest", paid, budget, "is public"),
        ("ours", paid, budget, "both trains and tests"),
        ("bare", paid, budget, "no label like that"),
        ("nobody", paid, budget, "no dataset 'nobody'"),
        ("few", paid, budget, "test dataset 'few': 12 records are too few"),
        ("mixed", paid, budget, "the score would be too good"),
        ("clinic", paid, "", "test dataset 'clinic'"),
        ("clinic", "evaluation: (pay: epsilon(0.7)),", budget, "overspend"),
    ] {
        plan(test, evaluation, budget);
        let refused = halflight(at, &["run", "s.ron"]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(wanted), "{test} {wanted}: {said}");
        let ledger = std::fs::read_to_string(at.join(".halflight/ledger.jsonl"));
        assert!(!ledger.unwrap_or_default().contains("\"grant\""), "{said}");
    }
    plan("clinic", paid, budget);
    let told = json(&halflight(at, &["run", "s.ron", "--json"]));
    assert_eq!(schema::flaw(&json(&halflight(at, &["schema", "run"])), &told), None);
    let run = &told["runs"][0];
    let elsewhere = &run["score"]["elsewhere"];
    assert_eq!((&elsewhere["dataset"], &run["score"]["records"]), (&"clinic".into(), &300.into()));
    assert!(
        number(&elsewhere["epsilon"]) <= 0.5 + 1e-9 && run["score"]["public_alone"].is_object()
    );
    let book = json(&halflight(at, &["ledger", "--json"]));
    for account in book["accounts"].as_array().unwrap() {
        let is_own = account["runs"].to_string().contains(elsewhere["run"].as_str().unwrap());
        let epsilon = if is_own { 0.5 } else { 1.0 };
        let spent = number(&account["spent"]["epsilon"]);
        assert!(spent <= epsilon + 1e-9 && spent > 0.9 * epsilon, "{account:#}");
        assert_eq!(account["runs"].as_array().unwrap().len(), 1, "{account:#}");
    }
    let folder = run["directory"].as_str().unwrap();
    let certificate = std::fs::read_to_string(format!("{folder}/certificate.json")).unwrap();
    assert!(!certificate.contains("held out of training"), "{certificate}");
    let report = halflight(at, &["report", folder, "--output", "report.html"]);
    assert!(report.status.success());
    let report = std::fs::read_to_string(at.join("report.html")).unwrap();
    assert!(report.contains("clinic") && !report.contains("acc-"), "{report}");
    let model = std::fs::read_to_string(format!("{folder}/model.ron")).unwrap();
    assert!(model.contains("clinic") && !model.contains("acc-"), "the model names an account");
    verified(at, &format!("{folder}/certificate.json"));
    verified(at, ".halflight/ledger.jsonl");
    // Once more, there is no room.
    let refused = halflight(at, &["run", "s.ron"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("overspend"), "{said}");
}

#[test]
fn plans_on_samples_are_candidates_and_the_choice_is_paid_for() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    loans(at, "dp_sgd", "", "settings: {\"steps\": 20}");
    let over = ["choose", "s.ron", "--over", "clip=0.5,0.8"];
    let repeats = halflight(at, &[&over[..], &["--way", "repeats"]].concat());
    let said = String::from_utf8_lossy(&repeats.stderr).into_owned();
    assert!(!repeats.status.success() && said.contains("--way all"), "{said}");
    let told = json(&halflight(at, &[&over[..], &["--json"]].concat()));
    assert_eq!(schema::flaw(&json(&halflight(at, &["schema", "choose"])), &told), None);
    assert_eq!(told["candidates"].as_array().unwrap().len(), 3, "{told:#}");
    let epsilon = number(&told["guarantee"]["epsilon"]);
    assert!(epsilon <= 4.0 + 1e-9 && epsilon > 3.8, "{told:#}");
    let folder = told["directory"].as_str().unwrap();
    verified(at, &format!("{folder}/certificate.json"));
    verified(at, ".halflight/ledger.jsonl");
}

#[test]
fn variants_of_one_plan_are_candidates_and_a_dry_run_spends_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    bikes(at, &[("line", "profiled_cnvx_adap", "", ""), ("other", "target_only", "", "")]);
    let choose = |over: &[&str]| {
        let output = halflight(at, &[&["choose", "s.ron", "--dry-run"], over].concat());
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let said = choose(&["--plans", "line", "--over", "steps=10,20"]);
    for wanted in ["line · steps=10, line · steps=20, public data alone", "nothing was spent"] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert!(choose(&["--over", "steps=10,20"]).contains("--over varies one plan"));
    let said = choose(&["--plans", "line", "--over", "epsilon=1,2"]);
    assert!(said.contains("have the same epsilon"), "{said}");
    assert!(!at.join(".halflight/ledger.jsonl").exists());
}
