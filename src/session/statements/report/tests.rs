use std::fs;

use super::*;
use crate::certificate::{AccountStanding, Facts, TakenAsPublic};
use crate::demo;
use crate::evaluation::Score;
use crate::privacy::accountant::{Adjacency, Composition, Coverage, Noise, QueryKind};
use crate::privacy::ledger::AccountId;
use crate::privacy::ledger::{RunId, RunOutcome};
use crate::privacy::openings::OpenWatch;
use crate::privacy::{Event, NoiseSource, Target};
use halflight_testing::elements;

const EXACT: &str = "7654.3";
const REMARK: &str = "the exact error was lovely";

/// The directory of a run as it would be after a run at this ε.
fn run(place: &Path, number: u32, epsilon: f64) -> PathBuf {
    let name = format!("20260101-12000{number}-profiled_cnvx_adap-00");
    let directory = place.join(FOLDER).join("runs").join(&name);
    fs::create_dir_all(&directory).unwrap();
    let mut session = demo::session("bikeshare").unwrap();
    session.plans.truncate(1);
    session.plans[0].target.epsilon = epsilon;
    session.plans[0].name = format!("winter <{number}>");
    for dataset in &mut session.datasets {
        dataset.source = crate::data::Source::File("/home/someone/secret/bikes.csv".into());
    }
    session.save(&directory.join("run.ron")).unwrap();
    let line = |step: u32| {
        let error = 100.0 / f64::from(step);
        format!(
            "{{\"step\":{step},\"of\":3,\"phase\":\"a\",\"epsilon\":{},\"values\":{{\"public_error\":\
             {{\"value\":{error},\"standing\":\"released\"}},\"public_absolute_error\":\
             {{\"value\":24.125,\"standing\":\"released\"}}}}}}\n",
            epsilon * f64::from(step) / 3.0
        )
    };
    fs::write(directory.join("events.jsonl"), (1..=3).map(line).collect::<String>()).unwrap();
    let exact = format!(
        "{{\"step\":3,\"values\":{{\"private_error\":{EXACT},\"private_absolute_error\":5432.1}}}}\n\
         {{\"step\":3,\"values\":{{}},\"errors\":{{\"task\":\"regression\",\"model\":{EXACT},\
         \"further\":{{\"model\":{{\"mean_absolute_error\":5432.1}}}}}}}}\n"
    );
    fs::write(directory.join("curator.jsonl"), exact).unwrap();
    fs::write(directory.join("tag.txt"), REMARK).unwrap();
    let mechanism = QueryKind::Gaussian.query(1.0, 7).with(Noise::ideal(4.0 / epsilon));
    let certificate = Certificate::of(Facts {
        run: RunId(name),
        account: AccountId("acc-1".into()),
        method: "profiled_cnvx_adap".into(),
        outcome: RunOutcome::Finished,
        records: 1654,
        target: Target { epsilon, delta: 1e-6 },
        guarantee: Guarantee {
            epsilon,
            epsilon_lower: epsilon,
            delta: 1e-6,
            adjacency: Adjacency::ReplaceOne,
            covers: Coverage::FixedPlan,
            bound: "exact Gaussian (GDP)".into(),
        },
        mechanisms: vec![Event {
            label: "gradient".into(),
            what: "a gradient".into(),
            mechanism,
            count: 3,
            adjacency: Adjacency::ReplaceOne,
            held_out: false,
        }],
        peeked: number == 1,
        allow_large_delta: false,
        noise: NoiseSource::Secret,
        unit: None,
        sites: Vec::new(),
        may_collude: None,
        lineage: None,
        taken_as_public: TakenAsPublic::default(),
        standing: AccountStanding::default(),
        rehearsed: None,
        model: None,
        score: None,
        source_weights: Vec::new(),
        chosen: None,
    })
    .unwrap();
    let text = serde_json::to_string(&certificate).unwrap();
    fs::write(directory.join("certificate.json"), text).unwrap();
    directory
}

fn html(directories: &[PathBuf], watch: Watch) -> String {
    Report::read(directories, watch).unwrap().html().unwrap()
}

#[test]
fn a_report_holds_released_numbers_and_nothing_of_the_curators() {
    let place = tempfile::tempdir().unwrap();
    let page = html(&[run(place.path(), 1, 1.0)], Watch::sealed());
    for wanted in
        ["ε = 1 ", "33.33", "24.1", "1\u{202f}654", "winter &lt;1&gt;", "bikes.csv", "peeked"]
    {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
    assert!(page.contains("Released numbers only"));
    for secret in [
        "7654",
        "7.654k",
        "5432",
        "5.43k",
        REMARK,
        "◆",
        "/home/someone",
        "winter <1>",
        "error on private records",
        "mean absolute error on private records",
    ] {
        assert!(!page.contains(secret), "{secret} is there");
    }
}

#[test]
fn further_scores_stand_in_reports_of_one_run_and_of_several() {
    let place = tempfile::tempdir().unwrap();
    let runs = [run(place.path(), 1, 1.0), run(place.path(), 2, 2.0)];
    let one = html(&runs[..1], Watch::sealed());
    assert!(one.contains("mean absolute error on public records held out"), "{one}");
    assert!(one.contains("<b>mean absolute error</b>") && !one.contains("<b>AUC</b>"));
    let several = html(&runs, Watch::sealed());
    assert!(
        several.contains("<th scope=\"col\">mean absolute error on public records</th>"),
        "{several}"
    );
    assert!(
        !several.contains("5432") && !several.contains("5.43") && !several.contains("balanced")
    );
    let one = html(&runs[..1], Watch::open());
    for wanted in
        ["Mean absolute error 5.43k ◆.", "mean absolute error on private records held out"]
    {
        assert!(one.contains(wanted), "{wanted} is missing");
    }
    let several = html(&runs, Watch::open());
    assert!(several.contains("<th scope=\"col\">mean absolute error on private records ◆</th>"));
    assert!(several.contains("5.43"));
}

/// Names that people choose stay text.
#[test]
fn hostile_names_do_not_become_elements() {
    const HOSTILE: &str = "</p><script>alert(1)</script>\" onload='x' & <b>";
    let place = tempfile::tempdir().unwrap();
    let directory = run(place.path(), 1, 1.0);
    let mut session = Session::open(&directory.join("run.ron")).unwrap();
    session.budgets.clear();
    session.plans[0].name = HOSTILE.into();
    let (old, plan) = (session.plans[0].private.clone(), &mut session.plans[0]);
    plan.private = HOSTILE.into();
    for dataset in session.datasets.iter_mut().filter(|dataset| dataset.name == old) {
        dataset.name = HOSTILE.into();
        dataset.label = Some(HOSTILE.into());
        dataset.filter = Some("`<i>` = 1".into());
    }
    session.check().unwrap();
    session.save(&directory.join("run.ron")).unwrap();
    fs::write(directory.join("tag.txt"), HOSTILE).unwrap();
    for watch in [Watch::sealed(), Watch::open()] {
        let page = html(std::slice::from_ref(&directory), watch);
        assert!(page.contains("&lt;script&gt;alert(1)"), "it is told of");
        for element in ["<script", "<b>\"", "`<i>`", "\" onload"] {
            assert!(!page.contains(element), "{element}");
        }
    }
}

#[test]
fn a_report_with_the_curators_numbers_is_stamped() {
    let place = tempfile::tempdir().unwrap();
    let page = html(&[run(place.path(), 1, 1.0)], Watch::open());
    for wanted in ["7.654k ◆", REMARK, "Curator only · do not pass on", "◆ CURATOR ONLY"] {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
    assert!(!page.contains("Released numbers only") && page.contains("error on private records ◆"));
}

/// Checks that all elements are closed, and that nothing in the page refers to anything outside.
#[test]
fn a_report_is_whole_and_needs_nothing_beside_it() {
    let place = tempfile::tempdir().unwrap();
    let runs = [run(place.path(), 1, 1.0), run(place.path(), 2, 2.0)];
    for page in [html(&runs[..1], Watch::sealed()), html(&runs, Watch::open())] {
        let (head, rest) = page.split_once("<style>").unwrap();
        let (style, body) = rest.split_once("</style>").unwrap();
        // Elements without content need no end in HTML; in XML they do.
        let mut parts = head.trim_start_matches("<!DOCTYPE html>").split("<meta");
        let first = parts.next().unwrap().to_owned();
        let closed = parts.map(|part| format!("<meta{}", part.replacen('>', "/>", 1)));
        let head = first + &closed.collect::<String>();
        let all = elements(&format!("{head}{body}")).unwrap();
        for element in &all {
            let name = element.split([' ', '/']).next().unwrap();
            let stranger = ["script", "link", "img", "iframe", "object", "base", "a"];
            assert!(!stranger.contains(&name), "{element}");
            assert!(!element.contains("href") && !element.contains("src="), "{element}");
        }
        assert!(!style.contains("url(") && !style.contains("@import"));
        assert_eq!(
            page.matches("http").count(),
            page.matches("http://www.w3.org/2000/svg").count() + page.matches("http-equiv").count()
        );
        assert!(all.iter().filter(|element| element.starts_with("svg")).count() >= 2);
        assert!(!page.contains("NaN") && !page.contains("inf\""));
    }
}

#[test]
fn several_runs_are_told_apart_and_their_sum_is_that_of_the_gate() {
    let place = tempfile::tempdir().unwrap();
    let runs: Vec<PathBuf> = [0.5, 1.0, 1.0]
        .iter()
        .zip(1..)
        .map(|(epsilon, n)| run(place.path(), n, *epsilon))
        .collect();
    let report = Report::read(&runs, Watch::sealed()).unwrap();
    let together = report.together().unwrap();
    assert_eq!(together.len(), 1);
    assert_eq!(together[0].runs, ["A", "B", "C"]);
    // μ² = 3·((0.5/4)² + 2·(1/4)²), by hand.
    let sum = &together[0].guarantee;
    let mu = (3.0 * (0.125_f64.powi(2) + 2.0 * 0.25_f64.powi(2))).sqrt();
    let one = crate::example::gaussian(mu);
    let wanted = |delta| Composition::of([&one]).unwrap().gate(delta).unwrap().epsilon;
    // At the δ of the budget, as the ledger says it; without one, at that of the runs.
    assert_eq!(sum.delta, 1e-5);
    assert!((sum.epsilon / wanted(1e-5) - 1.0).abs() < 1e-9, "{}", sum.epsilon);
    let mut without = Report::read(&runs, Watch::sealed()).unwrap();
    without.runs[1].run.budget_delta = None;
    let sum = &without.together().unwrap()[0].guarantee;
    assert!((sum.epsilon / wanted(1e-6) - 1.0).abs() < 1e-9, "{}", sum.epsilon);
    let page = report.html().unwrap();
    for wanted in [
        "What differs",
        "ε of this run",
        "Runs A, B, C together cost",
        "B</b> <b class=\"letter\">C</b> <p>",
    ] {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
    // Only the first was watched, so its sentence has its letter.
    assert!(page.contains("(peeked) <b class=\"letter\">A</b>"));
}

/// So that a reader finds a run by its colour, even if a plot lacks some runs.
#[test]
fn a_run_has_one_colour_in_all_plots() {
    let place = tempfile::tempdir().unwrap();
    let runs: Vec<PathBuf> = (1..=3).map(|n| run(place.path(), n, 1.0)).collect();
    fs::write(runs[0].join("curator.jsonl"), "").unwrap();
    let report = Report::read(&runs, Watch::open()).unwrap();
    let figures = figures::figures(&report);
    let over_steps: Vec<_> = figures
        .iter()
        .filter(|figure| figure.panels[0].horizontal.label == "step")
        .map(|figure| {
            let series = figure.panels[0].series.iter();
            let names = series.map(|series| series.name.as_str()).take(3);
            (figure.title.as_str(), names.collect::<Vec<_>>())
        })
        .collect();
    let titles: Vec<&str> = over_steps.iter().map(|(title, _)| *title).collect();
    let wanted = [
        "Error on public records",
        "Error on private records ◆",
        "Mean absolute error on public records",
        "Mean absolute error on private records ◆",
        "Privacy spent",
    ];
    assert_eq!(titles, wanted);
    assert!(over_steps.iter().all(|(_, names)| *names == ["A", "B", "C"]), "{over_steps:?}");
    let utility = |paths: &[PathBuf]| {
        let report = Report::read(paths, Watch::open()).unwrap();
        let figures = figures::figures(&report).into_iter();
        let utility = figures.filter(|figure| figure.title.starts_with("Error against ε"));
        utility.map(|figure| figure.panels[0].series[0].points.len()).collect::<Vec<_>>()
    };
    assert!(utility(&runs).is_empty(), "all have the same ε");
    let other = [runs[0].clone(), runs[1].clone(), run(place.path(), 4, 2.0)];
    assert_eq!(utility(&other), [2, 2], "public and exact");
}

#[test]
fn a_run_without_a_certificate_is_told_of_and_counts_as_nothing_proven() {
    let place = tempfile::tempdir().unwrap();
    let open = run(place.path(), 1, 1.0);
    fs::remove_file(open.join("certificate.json")).unwrap();
    let page = html(&[open], Watch::sealed());
    assert!(page.contains("has no certificate"));
    assert!(!page.contains("neighbouring data"));
    let damaged = run(place.path(), 2, 1.0);
    fs::write(damaged.join("certificate.json"), "{").unwrap();
    let error = Report::read(&[damaged], Watch::sealed()).unwrap_err().to_string();
    assert!(error.contains("certificate.json: not a certificate"), "{error}");
}

#[test]
fn runs_are_found_by_directory_by_file_and_by_workspace() {
    let place = tempfile::tempdir().unwrap();
    let (first, second) = (run(place.path(), 1, 1.0), run(place.path(), 2, 1.0));
    assert_eq!(directories(&first).unwrap(), std::slice::from_ref(&first));
    assert_eq!(directories(&first.join("run.ron")).unwrap(), std::slice::from_ref(&first));
    assert_eq!(directories(place.path()).unwrap(), [first.clone(), second.clone()]);
    assert_eq!(directories(&place.path().join(FOLDER)).unwrap().len(), 2);
    assert!(directories(&place.path().join("nowhere")).is_err());
    assert!(Report::read(&[], Watch::sealed()).is_err());
    leave(&first).unwrap();
    assert!(fs::read_to_string(first.join(FILE)).unwrap().contains("Privacy report"));
}

/// Adds a released score to the certificate of a run.
fn with_score(directory: PathBuf, error: f64, public: f64, cap: f64) -> PathBuf {
    let around = |value: f64| Score { value, low: value - 2.0, high: value + 2.0 };
    let score = Scored {
        records: 400,
        loss: Some(crate::evaluation::Loss::Absolute),
        largest_error: Some(cap),
        error: around(error),
        public_alone: Some(around(public)),
        difference: Some(around(error - public)),
        ..Scored::default()
    };
    let path = directory.join("certificate.json");
    let mut certificate: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    certificate["score"] = serde_json::to_value(score).unwrap();
    fs::write(path, certificate.to_string()).unwrap();
    directory
}

#[test]
fn a_report_says_first_which_model_to_take_and_what_may_be_told() {
    let place = tempfile::tempdir().unwrap();
    let of =
        |number, error, public, cap| with_score(run(place.path(), number, 1.0), error, public, cap);
    let runs = [of(1, 58.0, 80.0, 140.0), of(2, 29.0, 75.0, 140.0)];
    let page = html(&runs, Watch::sealed());
    for words in [
        "<th>Take</th><td><b>run B (winter &lt;2&gt;) at ε 1: 61.3 % (58.7 to 64.0) less error than \
         public data alone (cap 140).</b>",
        "Error 29.0 (27.0 to 31.0) on 400 held-out records; ranges are 95 %. \
         50 % less error than run A (winter &lt;1&gt;); the ranges do not overlap.",
        "<th>Share</th><td>model and score with anybody. All spending on these records: at least ε",
    ] {
        assert!(page.contains(words) && !page.contains('◆'), "{words}\n{page}");
    }
    let caution = "not for choosing or telling";
    assert!(!page.contains(caution) && html(&runs, Watch::open()).contains(caution));
    let page = html(&runs[..1], Watch::sealed());
    let main = page.split("<main>").nth(1).unwrap();
    let answer = r#"<table class="answer"><tr><th>Take</th><td><b>this model at ε 1: 27.5 %"#;
    assert!(main.trim_start().starts_with(answer), "{main}");
}

#[test]
fn a_model_that_is_worse_than_one_answer_for_all_says_so_first() {
    let place = tempfile::tempdir().unwrap();
    let useless = |number| {
        let directory = with_score(run(place.path(), number, 1.0), 29.0, 75.0, 140.0);
        let path = directory.join("certificate.json");
        let text = fs::read_to_string(&path).unwrap();
        let mut certificate: serde_json::Value = serde_json::from_str(&text).unwrap();
        certificate["score"]["one_answer"] =
            serde_json::json!({"value": 20.0, "low": 18.0, "high": 22.0});
        certificate["score"]["foretold"] =
            serde_json::json!({"value": 0.1, "low": 0.0, "high": 0.4});
        fs::write(path, certificate.to_string()).unwrap();
        directory
    };
    let runs = [useless(1), useless(2)];
    let alarm = "is WORSE than one answer for all (public median): 20.0 (18.0 to 22.0)";
    for page in [html(&runs[..1], Watch::sealed()), html(&runs, Watch::sealed())] {
        let main = page.split("<main>").nth(1).unwrap();
        let text = main.find(alarm).unwrap_or_else(|| panic!("{page}"));
        // Nothing but the name of the run before it.
        assert!(text < 120 && main[..text].contains("<b>no model: "), "{text}: {main}");
    }
}

#[test]
fn letters_go_on_after_z() {
    let letters = [0, 25, 26, 27, 51, 52, 702].map(letter);
    assert_eq!(letters, ["A", "Z", "AA", "AB", "AZ", "BA", "AAA"]);
}

#[test]
fn rankings_beside_the_runs_are_told_of_and_exact_ones_shown_to_the_curator_alone() {
    let place = tempfile::tempdir().unwrap();
    let directory = run(place.path(), 1, 1.0);
    let rankings = place.path().join(FOLDER).join("rankings");
    fs::create_dir_all(&rankings).unwrap();
    let line = |name: &str, score: &str| {
        format!(
            r#"{{"name":"{name}","energy":{{"mean":{score},"deviation":0.0125}},
                "distance":null,"verdict":"verdict of {name}"}}"#
        )
    };
    let table = |account: &str, score: &str| {
        format!(
            r#"{{"account":"{account}","private":"winter","findings":{{"order":"energy",
                "lines":[{},{}],"floor":null,"ceiling":[{{"mean":0.01,"deviation":0.0}},
                {{"mean":0.99,"deviation":0.0}}],"verdict":"take <autumn>","repeats":10}}}}"#,
            line("autumn", score),
            line("spring", "0.125")
        )
    };
    let write = |name: &str, text: &str| fs::write(rankings.join(name), text).unwrap();
    write("20260101-110000-ranking-00.curator.json", &table("acc-1", "0.4444"));
    write("20260101-115900-ranking-00.curator.json", &table("acc-1", "0.76543"));
    write("20260101-115959-ranking-00.curator.json", &table("another", "0.3333"));
    // Data of another name with rows in common: one account, and nothing that a report may tell.
    let common = table("acc-1", "0.2222").replace("winter", "cousin");
    write("20260101-115958-ranking-00.curator.json", &common);
    write(
        "20260101-115800-permute_and_flip-00.json",
        r#"{"account":"acc-1","private":"winter","sites":["B","C"],"may_collude":1,"findings":{"guarantee":
            {"epsilon":0.5,"epsilon_lower":0.5,"delta":0.0,"adjacency":"replace_one",
            "covers":"fixed_plan","bound":"pure"},"winner":"autumn","table":null}}"#,
    );

    let page = html(std::slice::from_ref(&directory), Watch::sealed());
    for wanted in [
        "No guarantee covers a choice of data",
        "“autumn” was selected privately",
        "and the records of other sites (B, C), at",
        "), while at least 2 of 3 sites add their shares of the noise and tell nobody, and",
        "ε = 0.5",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    for unwanted in ["0.765", "verdict of", "take &lt;autumn&gt;", "cousin"] {
        assert!(!page.contains(unwanted), "{unwanted}");
    }
    let page = html(&[directory], Watch::open());
    for wanted in [
        "0.765 ± 0.009",
        "± 95 %: other repeats",
        "take &lt;autumn&gt;",
        "Public data by captured energy ◆",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    for unwanted in ["0.4444", "0.3333", "0.2222"] {
        assert!(!page.contains(unwanted), "{unwanted}");
    }
}

#[test]
fn a_run_that_was_rehearsed_shows_what_was_expected() {
    let place = tempfile::tempdir().unwrap();
    let directory = run(place.path(), 1, 1.0);
    let page = || html(std::slice::from_ref(&directory), Watch::sealed());
    assert!(!page().contains("What rehearsals predicted"));
    // As an earlier program wrote it: without weights and notes.
    let standing = |ratio: f64| {
        format!(r#"{{"ratio":{ratio},"least":{ratio},"most":{ratio},"best_in":1,"scenes":2}}"#)
    };
    let line = |player: &str, ratios: [f64; 2]| {
        let standings = ratios.map(standing).join(",");
        format!(r#"{{"player":{player},"standings":[{standings}],"failed":null}}"#)
    };
    let method = r#"{"Method":{"id":"public_shape","settings":{}}}"#;
    let lines = [line(r#""PublicOnly""#, [1.0; 2]), line(method, [1.07, 0.81])].join(",");
    let advice = format!(
        r#"{{"epsilons":[0.5,1.0],"at":1,"scenes":["a","b"],"lines":[{lines}],"choice":[0,1]}}"#
    );
    fs::write(directory.join("rehearsal.json"), advice.replace("[0,1]", "[0,7]")).unwrap();
    assert!(!page().contains("Error in rehearsals"), "damage is no advice");
    fs::write(directory.join("rehearsal.json"), advice).unwrap();
    // What the certificate does not promise is not promised here.
    for wanted in [
        "Error in rehearsals, over ε",
        "1.070",
        "0.810",
        "Nothing was promised of the plan that ran.",
        "public model, corrected (this plan)",
    ] {
        assert!(page().contains(wanted), "{wanted} is missing");
    }
    assert!(!page().contains("19 % less"), "{}", page());
    // The promise of the plan that ran is on the page once.
    let path = directory.join("certificate.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut certificate: serde_json::Value = serde_json::from_str(&text).unwrap();
    certificate["rehearsed"] = "A run should have 4 % to 60 % less error.".into();
    fs::write(path, certificate.to_string()).unwrap();
    assert_eq!(page().matches("A run should have").count(), 1);
    assert!(!page().contains("Nothing was promised"));
    // A run beside it that was not rehearsed is named.
    let other = run(place.path(), 2, 1.0);
    let page = html(&[directory.clone(), other], Watch::sealed());
    assert!(page.contains("Run B has no rehearsal of its own."), "{page}");
    assert!(!page.contains("Run A has no rehearsal"));
}
