//! A certificate is true only if everything that its release depends on is in it, and only what
//! may leave leaves.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::program;

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    program::halflight().args(arguments).current_dir(directory).output().unwrap()
}

fn text(output: &Output) -> String {
    let all = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&all).into_owned()
}

/// Records with a class that depends on two numbers, no two files alike.
fn cases(path: &Path, rows: u64, seed: u64) {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut file = "age,dose,ill\n".to_owned();
    for _ in 0..rows {
        let (age, dose) = (40.0 + 40.0 * next(), 4.0 * next());
        let ill = if age / 60.0 + dose / 4.0 > 1.5 { "yes" } else { "no" };
        writeln!(file, "{age:.3},{dose:.4},{ill}").unwrap();
    }
    std::fs::write(path, file).unwrap();
}

fn session(here: &Path, name: &str, plan: &str) {
    let dataset = |name: &str, role: &str| {
        format!(
            "(name: \"{name}\", role: {role}, source: file(\"{name}.csv\"), label: \"ill\", \
             task: classification)"
        )
    };
    let text = format!(
        "(version: 1, datasets: [{}, {}, {}],
          budgets: {{\"ours\": (epsilon: 9.0, delta: 1e-6), \"theirs\": (epsilon: 9.0, delta: 1e-6)}},
          plans: [({plan}, public: [\"open\"])])",
        dataset("ours", "private"),
        dataset("theirs", "private"),
        dataset("open", "public"),
    );
    std::fs::write(here.join(name), text).unwrap();
}

fn first(private: &str) -> String {
    format!(
        "name: \"first\", method: \"dp_sgd\", private: \"{private}\", \
         target: (epsilon: 2.0, delta: 1e-6), settings: {{\"steps\": 8, \"batch\": 30}}"
    )
}

fn then(private: &str, start: &str) -> String {
    format!(
        "name: \"then\", method: \"pretraining\", private: \"{private}\", \
         target: (epsilon: 0.5, delta: 1e-6), settings: {{\"steps\": 3, \"batch\": 30}}, {start}"
    )
}

/// A workspace with three files of records.
fn workspace() -> tempfile::TempDir {
    let here = tempfile::tempdir().unwrap();
    for (name, seed) in [("ours", 1), ("theirs", 2), ("open", 3)] {
        cases(&here.path().join(format!("{name}.csv")), 120, seed);
    }
    here
}

/// Runs a plan; its directory, or what was said.
fn run(here: &Path, plan: &str, more: &[&str]) -> Result<PathBuf, String> {
    session(here, "s.ron", plan);
    let output = halflight(here, &[&["run", "s.ron", "--json"], more].concat());
    if !output.status.success() {
        return Err(text(&output));
    }
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    Ok(PathBuf::from(result["runs"][0]["directory"].as_str().unwrap()))
}

fn certificate(run: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(run.join("certificate.json")).unwrap()).unwrap()
}

fn from(run: &Path) -> String {
    format!("start: \"{}\"", run.display())
}

#[test]
fn a_model_without_a_guarantee_is_not_laundered_by_training_it_further() {
    let directory = workspace();
    let here = directory.path();
    let insecure = run(here, &first("ours"), &["--insecure-noise-seed", "7"]).unwrap();
    // Whatever else stands in the way, it must not be the budget.
    let _ = halflight(here, &["ledger", "accept", &account(here, "ours")]);
    for private in ["ours", "theirs"] {
        let refused = run(here, &then(private, &from(&insecure)), &[]).unwrap_err();
        assert!(refused.contains("has no guarantee"), "{refused}");
    }
    // Also not under another name, or without its certificate.
    let copy = here.join("copy");
    std::fs::create_dir(&copy).unwrap();
    for file in ["model.ron", "model.safetensors"] {
        std::fs::copy(insecure.join(file), copy.join(file)).unwrap();
    }
    let refused = run(here, &then("ours", &from(&copy)), &[]).unwrap_err();
    assert!(refused.contains("no certificate beside it"), "{refused}");
    // Nor if somebody declares it public: the model itself says what its noise was.
    for start in ["start", "public_predictor"] {
        let plan = from(&copy).replace("start", start);
        let plan = match start {
            "start" => then("ours", &format!("{plan}, start_is_public: true")),
            _ => format!(
                "name: \"on\", method: \"profiled_logistic\", private: \"ours\", public_predictor: \
                 model(\"{}\"), start_is_public: true, target: (epsilon: 0.5, delta: 1e-6)",
                copy.join("model.ron").display()
            ),
        };
        let refused = run(here, &plan, &[]).unwrap_err();
        assert!(refused.contains("came from a known seed"), "{refused}");
    }
}

#[test]
fn whatever_is_made_of_a_run_with_known_noise_says_so() {
    let directory = workspace();
    let here = directory.path();
    let insecure = run(here, &first("ours"), &["--insecure-noise-seed", "7"]).unwrap();
    let page = std::fs::read_to_string(insecure.join("report.html")).unwrap();
    assert!(page.contains("The noise is known") && page.contains("NO GUARANTEE"), "{page}");
    assert!(!page.contains("Released numbers only") && !page.contains("from the operating system"));
    let copy = here.join("copy");
    std::fs::create_dir(&copy).unwrap();
    for file in ["model.ron", "model.safetensors"] {
        let bytes = std::fs::read(insecure.join(file)).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains("known_seed"), "{file}");
        std::fs::write(copy.join(file), bytes).unwrap();
    }
    session(here, "s.ron", &first("theirs"));
    for model in [&insecure, &copy] {
        let model = model.to_str().unwrap();
        let output = halflight(here, &["predict", model, "open.csv", "--json"]);
        assert!(output.status.success(), "{}", text(&output));
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(told["warning"].as_str().unwrap().contains("known seed"), "{told:#}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("came from a known seed"));
        let refused = halflight(here, &["export", model, "-o", "m.onnx"]);
        assert!(text(&refused).contains("no guarantee") && !here.join("m.onnx").exists());
        let more = ["s.ron", "--dataset", "theirs", "--epsilon", "0.5", "--json"];
        let told = halflight(here, &[&["score", model][..], &more].concat());
        assert!(text(&told).contains("came from a known seed"), "{}", text(&told));
    }
    let said = text(&halflight(here, &["report", insecure.to_str().unwrap(), "-o", "q.html"]));
    assert!(said.contains("nothing is protected"), "{said}");
}

fn account(here: &Path, dataset: &str) -> String {
    let ledger: Value =
        serde_json::from_slice(&halflight(here, &["ledger", "--json"]).stdout).unwrap();
    let accounts = ledger["accounts"].as_array().unwrap();
    let known = accounts.iter().find(|it| it.to_string().contains(&format!("\"{dataset}\"")));
    known.unwrap()["account"].as_str().unwrap().to_owned()
}

#[test]
fn a_start_from_the_same_account_counts_both_runs() {
    let directory = workspace();
    let here = directory.path();
    let one = run(here, &first("ours"), &[]).unwrap();
    let two = run(here, &then("ours", &from(&one)), &[]).unwrap();
    let (alone, both) = (certificate(&one), certificate(&two));
    let epsilon = |value: &Value| value["epsilon"].as_f64().unwrap();
    assert!(epsilon(&both["of_this_run"]) <= 0.5);
    assert!(epsilon(&both["guarantee"]) > epsilon(&alone["guarantee"]), "{both:#}");
    let line = &both["ledger_line"];
    let ledger = std::fs::read_to_string(here.join(".halflight/ledger.jsonl")).unwrap();
    let granted = ledger.lines().nth(line["seq"].as_u64().unwrap() as usize - 1).unwrap();
    assert!(granted.contains(line["hash"].as_str().unwrap()) && granted.contains("\"grant\""));
    let statement = both["statement"].as_str().unwrap();
    let name = one.file_name().unwrap().to_str().unwrap();
    assert!(statement.contains(name) && statement.contains("same private data"), "{statement}");
    assert!(!both["assumption"].as_str().unwrap().contains("public records first"));
    // A third run counts all three, and a report on the last two counts the first as well.
    let three = run(here, &then("ours", &from(&two)), &[]).unwrap();
    let all = certificate(&three);
    assert!(epsilon(&all["guarantee"]) > epsilon(&both["guarantee"]));
    assert_eq!(all["start"]["runs"].as_array().unwrap().len(), 2);
    let runs = [two.to_str().unwrap(), three.to_str().unwrap()];
    let output = halflight(here, &["report", runs[0], runs[1], "-o", "r.html", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sum = epsilon(&report["together"][0]["guarantee"]);
    assert!((sum - epsilon(&all["guarantee"])).abs() < 1e-9, "{report:#}");
}

#[test]
fn a_start_from_another_account_states_what_both_are_promised() {
    let directory = workspace();
    let here = directory.path();
    let theirs = run(here, &first("theirs"), &[]).unwrap();
    let ours = run(here, &then("ours", &from(&theirs)), &[]).unwrap();
    let (first, second) = (certificate(&theirs), certificate(&ours));
    assert!(second["guarantee"]["epsilon"].as_f64().unwrap() <= 0.5);
    assert!(second["of_this_run"].is_null());
    let also = second["also"][0].as_str().unwrap();
    assert!(also.contains(first["account"].as_str().unwrap()), "{also}");
    assert!(also.contains("must add the two up"), "{also}");
    let page = std::fs::read_to_string(ours.join("report.html")).unwrap();
    assert!(page.contains("must add the two up"));
}

#[test]
fn a_certificate_that_does_not_fit_its_model_or_its_noise_is_noticed() {
    let directory = workspace();
    let here = directory.path();
    let one = run(here, &first("ours"), &[]).unwrap();
    let path = one.join("certificate.json");
    let sound = std::fs::read_to_string(&path).unwrap();
    let model = std::fs::read_to_string(one.join("model.ron")).unwrap();
    let refused = |what: &str| {
        let said = run(here, &then("ours", &from(&one)), &[]).unwrap_err();
        assert!(said.contains(what) && said.contains("start_is_public"), "{what}: {said}");
    };
    let mut edited: Value = serde_json::from_str(&sound).unwrap();
    edited["guarantee"]["epsilon"] = 0.01.into();
    std::fs::write(&path, edited.to_string()).unwrap();
    refused("the noise that it lists gives at least");
    edited["mechanisms"][0]["count"] = 1.into();
    std::fs::write(&path, edited.to_string()).unwrap();
    refused("the ledger say different things");
    std::fs::write(&path, &sound).unwrap();
    std::fs::write(one.join("model.ron"), model.replacen("version: 1", "version:  1", 1)).unwrap();
    refused("for another model");
    std::fs::write(one.join("model.ron"), &model).unwrap();
    std::fs::remove_file(&path).unwrap();
    refused("no certificate beside it");
    // What the user vouches for is taken, and the certificate repeats it.
    let plan = then("ours", &format!("{}, start_is_public: true", from(&one)));
    let declared = run(here, &plan, &[]).unwrap();
    let said = certificate(&declared)["taken_as_public"].to_string();
    assert!(said.contains("declared it public") && said.contains("SHA-256"), "{said}");
    std::fs::remove_dir_all(&one).unwrap();
    let gone = run(here, &then("ours", &from(&one)), &[]).unwrap_err();
    assert!(gone.contains("read the starting model"), "{gone}");
}

#[test]
fn a_run_of_the_first_version_is_a_start_as_long_as_its_ledger_knows_it() {
    let directory = workspace();
    let here = directory.path();
    let earlier = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/written_by_0_1");
    let copy = here.join("earlier");
    copy_all(&earlier, &copy);
    let runs = copy.join(".halflight/runs");
    let named = |part: &str| {
        let mut all: Vec<PathBuf> =
            std::fs::read_dir(&runs).unwrap().map(|it| it.unwrap().path()).collect();
        all.sort();
        all.into_iter().find(|path| path.to_string_lossy().contains(part)).unwrap()
    };
    let old = named("dp_sgd");
    let outbox = shared(&copy, &old);
    let told = certificate(&outbox).to_string();
    assert!(
        !told.contains("acc-") && told.contains("does not say whether there were earlier looks"),
        "{told}"
    );
    assert!(halflight(here, &["verify", outbox.to_str().unwrap()]).status.success());
    let ours = run(here, &then("ours", &from(&old)), &[]).unwrap();
    assert!(certificate(&ours)["also"][0].as_str().unwrap().contains("acc-d472ecde3d"));
    // Where an earlier run started from stands in its run.ron.
    let further = named("pretraining");
    let repeat = std::fs::read_to_string(further.join("run.ron")).unwrap();
    let place = |root: &str| repeat.replace("/tmp/fx/hospital", root);
    std::fs::write(further.join("run.ron"), place(copy.to_str().unwrap())).unwrap();
    let both = run(here, &then("ours", &from(&further)), &[]).unwrap();
    assert_eq!(certificate(&both)["start"]["runs"].as_array().unwrap().len(), 2);
    std::fs::write(further.join("run.ron"), place("/nowhere")).unwrap();
    let gone = run(here, &then("ours", &from(&further)), &[]).unwrap_err();
    assert!(gone.contains("read the starting model"), "{gone}");
    std::fs::remove_file(copy.join(".halflight/ledger.jsonl")).unwrap();
    std::fs::remove_file(copy.join(".halflight/ledger.head")).unwrap();
    let unknown = run(here, &then("ours", &from(&old)), &[]).unwrap_err();
    assert!(unknown.contains("no ledger beside it knows the run"), "{unknown}");
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn earlier_looks_at_exact_numbers_stand_in_the_certificate() {
    let directory = workspace();
    let here = directory.path();
    cases(&here.join("second.csv"), 120, 9);
    let before = run(here, &first("ours"), &[]).unwrap();
    let said = |run: &Path| certificate(run)["not_covered"].to_string();
    assert!(said(&before).contains("knew of no such look"));
    let text = std::fs::read_to_string(here.join("s.ron")).unwrap();
    let second = "datasets: [(name: \"second\", role: public, source: file(\"second.csv\"), \
                  label: \"ill\", task: classification), ";
    std::fs::write(here.join("rank.ron"), text.replacen("datasets: [", second, 1)).unwrap();
    let ranked = halflight(here, &["rank", "rank.ron", "--repeats", "2"]);
    assert!(ranked.status.success(), "{}", String::from_utf8_lossy(&ranked.stderr));
    let after = run(here, &first("ours"), &[]).unwrap();
    // The first run was not sealed, so it is a look as well.
    assert!(said(&after).contains("knew of 2 such looks"), "{}", said(&after));
    assert!(said(&after).contains("public datasets ranked by exact numbers"));
}

#[test]
fn what_other_ledgers_charged_on_the_same_records_is_told_even_of_removed_ones() {
    let (one, two) = (workspace(), workspace());
    // No other test uses these rows.
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos().into();
    cases(&one.path().join("ours.csv"), 120, seed);
    cases(&two.path().join("ours.csv"), 120, seed);
    let told = |here: &Path| {
        session(here, "s.ron", &first("ours"));
        let output = halflight(here, &["run", "s.ron", "--dry-run"]);
        assert!(output.status.success(), "{}", text(&output));
        text(&output)
    };
    assert!(!told(one.path()).contains("same records"));
    let first_run = run(one.path(), &first("ours"), &[]).unwrap();
    assert!(!certificate(&first_run)["not_covered"].to_string().contains("another ledger"));
    let (folder, before) = (one.path().canonicalize().unwrap(), told(two.path()));
    let folder = folder.join(".halflight").display().to_string();
    assert!(before.contains(&format!("another ledger, {folder}: ε ")), "{before}");
    let second_run = run(two.path(), &first("ours"), &[]).unwrap();
    let limits = certificate(&second_run)["not_covered"].to_string();
    assert!(limits.contains("another ledger of the same user charged on these records: ε "));
    assert!(!limits.contains(".halflight"), "{limits}");
    let ledger = text(&halflight(two.path(), &["ledger"]));
    assert!(ledger.contains(&format!("another ledger, {folder}")), "{ledger}");
    drop(one);
    let after = told(two.path());
    assert!(after.contains(&format!("not at {folder} any more: ε ")), "{after}");
}

#[cfg(unix)]
#[test]
fn a_workspace_is_its_owners_alone_and_only_what_may_leave_is_shared() {
    use std::os::unix::fs::PermissionsExt;
    let directory = workspace();
    let here = directory.path();
    session(here, "s.ron", &first("ours"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "umask 000; exec \"$0\" run s.ron"]).arg(env!("CARGO_BIN_EXE_halflight"));
    let done = program::apart(&mut shell).current_dir(here).output().unwrap();
    assert!(done.status.success(), "{}", text(&done));
    let mut open = Vec::new();
    let mut folders = vec![here.join(".halflight")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()) {
            if path.metadata().unwrap().permissions().mode() & 0o077 != 0 {
                open.push(path.clone());
            }
            if path.is_dir() {
                folders.push(path);
            }
        }
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o077, 0);
    }
    assert!(open.is_empty(), "others may read {open:?}");

    let run = std::fs::read_dir(here.join(".halflight/runs")).unwrap().next().unwrap().unwrap();
    let shared = halflight(here, &["share", run.path().to_str().unwrap()]);
    assert!(shared.status.success(), "{}", text(&shared));
    let outbox = here.join("outbox").join(run.file_name());
    let mut names: Vec<String> = std::fs::read_dir(&outbox)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected =
        ["certificate.json", "events.jsonl", "model.ron", "model.safetensors", "report.html"];
    assert_eq!(names, expected);
    assert!(
        text(&halflight(here, &["share", run.path().to_str().unwrap()]))
            .contains("is there already")
    );
    // The model that left predicts.
    let out = here.join("p.csv");
    let model = outbox.to_str().unwrap();
    let predicted = halflight(here, &["predict", model, "open.csv", "-o", out.to_str().unwrap()]);
    assert!(predicted.status.success(), "{}", text(&predicted));
    // An exact number that got into the events does not leave.
    let events = run.path().join("events.jsonl");
    let line =
        "{\"step\":9,\"values\":{\"private_error\":{\"value\":1,\"standing\":\"curator\"}}}\n";
    let tampered = std::fs::read_to_string(&events).unwrap() + line;
    std::fs::write(&events, tampered).unwrap();
    let refused = halflight(here, &["share", run.path().to_str().unwrap(), "--into", "again"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused));
}

#[test]
fn a_shared_certificate_is_signed_with_the_key_that_the_user_names() {
    let directory = workspace();
    let here = directory.path();
    let config = here.join("config/halflight");
    std::fs::create_dir_all(&config).unwrap();
    let key = here.join("key");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "curator", "-f"])
        .arg(&key)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: there is no ssh-keygen here");
        return;
    }
    let directory = run(here, &first("ours"), &[]).unwrap();
    let share = |sign_with: &Path| {
        let text = format!("(sign_with: \"{}\")", sign_with.display());
        std::fs::write(config.join("config.ron"), text).unwrap();
        let mut command = program::halflight();
        command.env("XDG_CONFIG_HOME", here.join("config"));
        command.args(["share", directory.to_str().unwrap()]).current_dir(here).output().unwrap()
    };
    let outbox = here.join("outbox").join(directory.file_name().unwrap());
    let missing = share(&here.join("no-key"));
    assert!(text(&missing).contains("sign_with") && !outbox.exists(), "{}", text(&missing));
    let done = share(&key);
    assert!(
        done.status.success() && text(&done).contains("certificate.json.sig"),
        "{}",
        text(&done)
    );
    let public = std::fs::read_to_string(here.join("key.pub")).unwrap();
    std::fs::write(here.join("signers"), format!("curator {public}")).unwrap();
    let check = |document: &[u8]| {
        use std::io::Write as _;
        let mut child = std::process::Command::new("ssh-keygen")
            .args(["-Y", "verify", "-n", "halflight-certificate", "-I", "curator", "-f"])
            .arg(here.join("signers"))
            .arg("-s")
            .arg(outbox.join("certificate.json.sig"))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(document).unwrap();
        child.wait().unwrap().success()
    };
    let sound = std::fs::read(outbox.join("certificate.json")).unwrap();
    assert!(check(&sound) && !check(&std::fs::read(directory.join("certificate.json")).unwrap()));
    assert!(!check(&[sound.as_slice(), b" "].concat()));
}

/// The field that an edit changes, and the edit.
type Edit<'a> = (&'a str, &'a dyn Fn(&mut Value));

/// In a workspace the ledger bears a certificate out, or not.
#[test]
fn a_certificate_that_says_other_things_than_the_ledger_granted_is_not_verified() {
    let directory = workspace();
    let here = directory.path();
    let one = run(here, &first("ours"), &[]).unwrap();
    let (path, sound) = (one.join("certificate.json"), certificate(&one));
    let verified = |it: &Value| {
        std::fs::write(&path, it.to_string()).unwrap();
        let output = halflight(here, &["verify", one.to_str().unwrap()]);
        (output.status.success(), text(&output))
    };
    assert!(verified(&sound).0, "{}", verified(&sound).1);
    let edits: [Edit; 10] = [
        // The settled run drew more.
        ("mechanisms", &|it| it["mechanisms"][0]["count"] = 1.into()),
        ("person", &|it| it["person"] = "patient".into()),
        ("order", &|it| it["order"] = "by_place".into()),
        ("may_collude", &|it| it["may_collude"] = 1.into()),
        ("account", &|it| it["account"] = "acc-0000000000".into()),
        ("method", &|it| it["method"] = "target_only".into()),
        ("target", &|it| it["target"]["epsilon"] = 5.into()),
        ("ledger_line", &|it| it["ledger_line"]["seq"] = 1.into()),
        ("ledger_line", &|it| drop(it.as_object_mut().unwrap().remove("ledger_line"))),
        ("mechanisms", &|it| {
            let event = &mut it["mechanisms"][0]["mechanism"]["subsampled_gaussian"];
            event["sensitivity"] = (0.5 * event["sensitivity"].as_f64().unwrap()).into();
        }),
    ];
    for (name, edit) in edits {
        let mut it = sound.clone();
        edit(&mut it);
        let (holds, said) = verified(&it);
        let wanted = format!("`{name}` is not what the ledger");
        assert!(!holds && said.contains(&wanted), "{name}: {said}");
    }
}

/// Verifies a copy for others as it is, with the words of earlier versions, and not with other words.
fn the_limits_are_told_in_known_words(here: &Path, copy: &Path) {
    let verifies = || halflight(here, &["verify", copy.to_str().unwrap()]).status.success();
    let [now, before, until] = [
        "this copy does not say whether there were earlier looks of this kind: the curator's own copy \
         lists them. Where a report shows a ranking of the public data, one by exact numbers was such a \
         look, and one whose numbers were released with noise was not",
        "this copy leaves out earlier looks of this kind, if there were any: the curator's own copy \
         lists them. A ranking whose numbers were released with noise is no such look",
        "whether there was such a look before this run is not told here, and the curator's own copy \
         of the certificate says it",
    ];
    let path = copy.join("certificate.json");
    let sound = std::fs::read_to_string(&path).unwrap();
    let other = "there was no such look before this run";
    for (words, is_known) in [(now, true), (before, true), (until, true), (other, false)] {
        std::fs::write(&path, sound.replace(now, words)).unwrap();
        assert_eq!(verifies(), is_known, "{words}: {sound}");
    }
    assert!(sound.contains(now), "{sound}");
    std::fs::write(&path, sound).unwrap();
}

fn shared(here: &Path, run: &Path) -> PathBuf {
    let output = halflight(here, &["share", run.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output));
    here.join("outbox").join(run.file_name().unwrap())
}

/// The rows of `theirs` are those of `ours`, as far as they are in the first half.
fn in_common(here: &Path) {
    let rows = |name: &str| std::fs::read_to_string(here.join(name)).unwrap();
    let (ours, theirs) = (rows("ours.csv"), rows("theirs.csv"));
    let mixed = ours.lines().take(61).chain(theirs.lines().skip(61));
    std::fs::write(here.join("theirs.csv"), mixed.collect::<Vec<_>>().join("\n") + "\n").unwrap();
}

#[test]
fn what_is_shared_does_not_tell_which_data_have_rows_in_common() {
    let directory = workspace();
    let here = directory.path();
    in_common(here);
    let one = run(here, &first("ours"), &[]).unwrap();
    let two = run(here, &first("theirs"), &[]).unwrap();
    let account = certificate(&one)["account"].clone();
    assert_eq!(account, certificate(&two)["account"]);
    let name = one.file_name().unwrap().to_str().unwrap();
    assert!(certificate(&two)["not_covered"].to_string().contains(name), "a look of another run");
    let copies = [shared(here, &one), shared(here, &two)];
    for file in std::fs::read_dir(&copies[1]).unwrap().map(|it| it.unwrap().path()) {
        let bytes = std::fs::read(&file).unwrap();
        let said = String::from_utf8_lossy(&bytes);
        for told in [account.as_str().unwrap(), "\"seq\"", name, "acc-"] {
            assert!(!said.contains(told), "{} tells {told}", file.display());
        }
    }
    let [mut first_copy, mut second_copy] = [certificate(&copies[0]), certificate(&copies[1])];
    assert!(first_copy["account"].is_string() && first_copy["account"] != second_copy["account"]);
    for copy in [&mut first_copy, &mut second_copy] {
        for own in ["run", "account", "model", "guarantee", "statement", "mechanisms"] {
            copy.as_object_mut().unwrap().remove(own);
        }
    }
    assert_eq!(first_copy["not_covered"], second_copy["not_covered"]);
    for copy in &copies {
        let checked = halflight(here, &["verify", copy.to_str().unwrap()]);
        assert!(checked.status.success(), "{}", text(&checked));
    }
    // Reports: each run alone, and both together.
    let runs = [one.to_str().unwrap(), two.to_str().unwrap()];
    let output = halflight(here, &["report", runs[0], runs[1], "-o", "r.html", "--json"]);
    let page = std::fs::read_to_string(here.join("r.html")).unwrap();
    assert!(!page.contains("acc-") && !text(&output).contains("acc-"), "{}", text(&output));
    let alone = std::fs::read_to_string(two.join("report.html")).unwrap();
    assert!(!alone.contains("acc-") && !alone.contains(name));
}

#[test]
fn a_shared_model_is_recognised_by_the_ledger_of_its_run_and_by_no_other() {
    let directory = workspace();
    let here = directory.path();
    let one = run(here, &first("ours"), &[]).unwrap();
    let copy = shared(here, &one);
    the_limits_are_told_in_known_words(here, &copy);
    // Where its run is known, its noise counts.
    let two = run(here, &then("ours", &from(&copy)), &[]).unwrap();
    let both = certificate(&two);
    assert_eq!(both["start"]["runs"][0]["account"], both["account"]);
    assert!(both["of_this_run"].is_object(), "{both:#}");
    let score = |here: &Path, model: &Path| {
        let more = ["s.ron", "--dataset", "ours", "--epsilon", "0.5", "--json"];
        halflight(here, &[&["score", model.to_str().unwrap()][..], &more].concat())
    };
    let refused = score(here, &copy);
    assert!(text(&refused).contains("trained on records of 'ours'"), "{}", text(&refused));
    // Sums over one account can be checked in what is shared of the second run, too.
    let second = shared(here, &two);
    let told = certificate(&second);
    assert_eq!(told["start"]["runs"][0]["account"], told["account"]);
    assert!(told["account"] != certificate(&copy)["account"] && !told.to_string().contains("acc-"));
    assert!(halflight(here, &["verify", second.to_str().unwrap()]).status.success());
    // Elsewhere nobody knows, and that is said.
    let other = workspace();
    let (there, sent) = (other.path(), other.path().join("sent"));
    copy_all(&copy, &sent);
    session(there, "s.ron", &then("theirs", &from(&sent)));
    let output = halflight(there, &["run", "s.ron"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("nobody here can tell whether"), "{}", text(&output));
    let told = score(there, &sent);
    assert!(told.status.success(), "{}", text(&told));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(told["caveat"].as_str().unwrap().contains("the score is too good"), "{told:#}");
    assert!(told.get("account").is_none());
    std::fs::remove_file(sent.join("certificate.json")).unwrap();
    let told = score(there, &sent);
    assert!(text(&told).contains("there is no certificate beside the model"), "{}", text(&told));
}

/// A certificate names the pages that prove its releases, and the program shows them.
#[test]
fn a_certificate_names_its_proofs() {
    let here = workspace();
    let run = run(here.path(), &first("ours"), &[]).unwrap();
    let proofs = certificate(&run)["proofs"].clone();
    let proofs: Vec<&str> = proofs.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(proofs, ["halflight guide proofs/dp_sgd", "halflight guide proofs/accountant"]);
    for proof in proofs {
        let words: Vec<&str> = proof.split(' ').skip(1).collect();
        let shown = text(&halflight(here.path(), &words));
        assert!(shown.starts_with("Proof: ") && shown.contains("Statement"), "{shown}");
    }
}
