//! Several sites, one model: real processes that meet in a folder.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chance::Dice;
use crate::support::Screen;
use crate::{chance, program};

const NAMES: [&str; 3] = ["A", "B", "C"];
const TEN: [&str; 10] = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"];
/// Releases of the plan.
const STEPS: usize = 12;

/// The rides of one season at each site, and those of autumn in public.
fn session(site: &str, rows: usize, columns: &str, plan: &str) -> String {
    let season = 1 + TEN.iter().position(|name| *name == site).unwrap() % 3;
    format!(
        "(version: 1, datasets: [
  (name: \"rides of {site}\", role: private, source: builtin(\"bikeshare\"), label: \"bikers\",
   filter: \"season == {season}\", columns: only([{columns}]), sample: (rows: {rows})),
  (name: \"autumn\", role: public, source: builtin(\"bikeshare\"), label: \"bikers\",
   filter: \"season == 4\", columns: only([{columns}]), sample: (rows: 200))],
  budgets: {{\"rides of {site}\": (epsilon: 90.0, delta: 1e-3)}},
  plans: [(name: \"bikes\", private: \"rides of {site}\", public: [\"autumn\"],
    target: (epsilon: 1.0, delta: 1e-5), seed: 1, {plan})])"
    )
}

const COLUMNS: &str = "\"hr\", \"temp\", \"hum\"";

fn target_only() -> String {
    format!("method: \"target_only\", settings: {{\"steps\": {STEPS}}}")
}

/// Several sites, each a user of its own, and their exchange folder.
struct Sites {
    folder: tempfile::TempDir,
    names: &'static [&'static str],
    /// Options of every site.
    options: Vec<String>,
}

impl Sites {
    fn new() -> Self {
        Self::of(&NAMES)
    }

    fn of(names: &'static [&'static str]) -> Self {
        let sites = Self { folder: tempfile::tempdir().unwrap(), names, options: Vec::new() };
        for (name, rows) in names.iter().zip([300, 150, 450].into_iter().cycle()) {
            std::fs::create_dir_all(sites.at(name)).unwrap();
            sites.write(name, &session(name, rows, COLUMNS, &target_only()));
        }
        sites.empty_exchange();
        sites
    }

    /// A new exchange folder, which only the user can write to.
    fn empty_exchange(&self) {
        let folder = self.exchange();
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn exchange(&self) -> PathBuf {
        self.at("exchange")
    }

    fn write(&self, name: &str, session: &str) {
        std::fs::write(self.at(name).join("s.ron"), session).unwrap();
    }

    fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = program::halflight();
        program::configure(&mut command, &self.at(name).join("config"));
        command.env("XDG_STATE_HOME", self.at(name).join("state"));
        command.args(arguments).current_dir(self.at(name));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn site(&self, name: &str, further: &[&str]) -> Command {
        let timeout =
            if further.contains(&"--timeout") { vec![] } else { vec!["--timeout", "60s"] };
        let names = self.names.join(",");
        let meet = ["--exchange", "../exchange", "--name", name, "--sites", &names, "--sealed"];
        let all: Vec<&str> = ["site", "s.ron"]
            .into_iter()
            .chain(meet)
            .chain(timeout)
            .chain(self.options.iter().map(String::as_str))
            .chain(further.to_vec())
            .collect();
        self.command(name, &all)
    }

    /// Starts all sites at once, and waits for their ends.
    fn run(&self, further: &[&str]) -> Vec<Output> {
        let started: Vec<Child> =
            self.names.iter().map(|name| self.site(name, further).spawn().unwrap()).collect();
        started.into_iter().map(|child| child.wait_with_output().unwrap()).collect()
    }

    /// Sites that have one noise, and know the fingerprint that each prints for the others.
    fn with_one_noise(self) -> Self {
        self.with_one_noise_of(|sites, name| sites.site(name, &["--one-noise"]))
    }

    /// As [`Self::with_one_noise`], of sites that do what this command does.
    fn with_one_noise_of(mut self, command: impl Fn(&Self, &str) -> Command) -> Self {
        let key = |name: &&str| {
            let text = said(&command(&self, name).output().unwrap());
            assert!(text.contains("one noise for all needs the fingerprints"), "{text}");
            let (_, rest) = text.split_once(": key ").unwrap();
            format!("{name}={}", &rest[..19])
        };
        let keys: Vec<String> = self.names.iter().map(key).collect();
        self.options = vec!["--one-noise".to_owned(), "--trust".to_owned(), keys.join(",")];
        self
    }

    /// The directory of the newest run of a site, if it has one.
    fn run_of(&self, name: &str) -> Option<PathBuf> {
        let runs = std::fs::read_dir(self.at(name).join(".halflight/runs")).ok()?;
        runs.map(|run| run.unwrap().path()).max()
    }

    fn model(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.run_of(name).unwrap().join("model.ron")).unwrap();
        let model: &str = text.split("preparation").next().unwrap();
        model.to_owned()
    }

    fn ledger(&self, name: &str) -> Vec<Value> {
        let output = self.command(name, &["ledger", "--json"]).output().unwrap();
        let book: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(book["damaged"], false, "{book:#}");
        let accounts = book["accounts"].as_array().unwrap();
        accounts.iter().flat_map(|account| account["runs"].as_array().unwrap().clone()).collect()
    }

    /// The releases that a site sent, in order.
    fn sent(&self, name: &str) -> Vec<Vec<u8>> {
        let entries = std::fs::read_dir(self.exchange()).unwrap();
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|file| {
                let file = file.file_name().unwrap().to_str().unwrap();
                file.contains("-release-") && file.ends_with(&format!("-{name}"))
            })
            .collect();
        files.sort();
        files.into_iter().map(|file| body(&std::fs::read(file).unwrap())).collect()
    }

    /// The releases in a site's transcript, in order, by its documented format.
    fn released(&self, name: &str) -> Vec<Vec<u8>> {
        let bytes = std::fs::read(self.run_of(name).unwrap().join("transcript")).unwrap();
        let mut rest = bytes.strip_prefix(b"halflight transcript 1\n").unwrap();
        let mut frames = Vec::new();
        while rest.len() >= 16 {
            let length = 8 * u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
            let Some(numbers) = rest.get(8..8 + length) else { break };
            frames.push(numbers.to_vec());
            rest = rest.get(16 + length..).unwrap_or_default();
        }
        frames
    }
}

/// The numbers of a message, by its documented format.
fn body(bytes: &[u8]) -> Vec<u8> {
    let rest = bytes.strip_prefix(b"halflight exchange 1\n").unwrap();
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
    rest[end + 1..rest.len() - 64].to_vec()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// All sites have ended with the same model, and each ledger counts at least what travelled.
fn check_ended(sites: &Sites) {
    for name in sites.names {
        assert_eq!(sites.model(name), sites.model("A"), "the model of {name}");
        let released = sites.released(name);
        let sent = sites.sent(name);
        assert_eq!(sent, released[..sent.len()], "what {name} sent is what it released");
        let different: std::collections::HashSet<_> = released.iter().collect();
        assert_eq!(different.len(), released.len(), "a release of {name} came twice");
        let runs = sites.ledger(name);
        let charged = runs.iter().map(|run| run["charged"][0].as_u64().unwrap()).max().unwrap();
        assert!(charged >= sent.len() as u64, "{name}: {charged} charged, {} sent", sent.len());
    }
}

#[test]
fn three_sites_end_with_one_model_and_each_certificate_and_the_joint_one_hold() {
    let sites = Sites::new();
    for name in NAMES {
        let scored = target_only() + ", evaluation: ()";
        sites.write(name, &session(name, 450, COLUMNS, &scored));
    }
    for (name, output) in NAMES.iter().zip(sites.run(&[])) {
        let text = said(&output);
        assert!(output.status.success(), "{name}: {text}");
        assert!(text.contains(": key ") && text.contains("site B"), "{text}");
        let [met, granted] = [" records, key ", "granted as"].map(|it| text.find(it).unwrap());
        assert!(met < granted, "the keys are shown before anything is spent: {text}");
        assert!(text.contains("trained together with the sites "), "{text}");
        // Each site scores its own held-out records.
        assert!(!text.contains("no released score"), "{text}");
    }
    check_ended(&sites);
    for name in NAMES {
        assert_eq!(sites.sent(name).len(), STEPS);
        assert_eq!(sites.ledger(name).len(), 1);
        let run = sites.run_of(name).unwrap();
        for file in ["certificate.json", "joint.json"] {
            let path = run.join(file).display().to_string();
            let output = sites.command(name, &["verify", &path, "--json"]).output().unwrap();
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(report["holds"], true, "{report:#}");
        }
        let shared = sites.command(name, &["share", &run.display().to_string(), "--json"]).output();
        let shared: Value = serde_json::from_slice(&shared.unwrap().stdout).unwrap();
        let path = run.join("shown.html").display().to_string();
        let output =
            sites.command(name, &["report", &run.display().to_string(), "-o", &path]).output();
        let report = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{output:?}"));
        assert!(report.contains("It was trained together with the sites"));
        assert!(shared.to_string().contains("joint.json"), "{shared:#}");
        // Its model is not built on: a certificate could not say what holds for the others.
        let on_it = format!(
            "method: \"public_shape\", public_predictor: model(\"{}\")",
            run.join("model.ron").display()
        );
        sites.write(name, &session(name, 450, COLUMNS, &on_it));
        let output = sites.command(name, &["run", "s.ron", "--dry-run"]).output().unwrap();
        assert!(said(&output).contains("depends on records of other sites"), "{}", said(&output));
        // The certificate names the others, and cannot be made to forget them.
        let path = run.join("certificate.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut own: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(own["other_sites"].as_array().unwrap().len(), 2, "{own:#}");
        assert!(text.contains("the records of other sites, on which the model depends"), "{text}");
        own.as_object_mut().unwrap().remove("other_sites");
        std::fs::write(run.join("forged.json"), own.to_string()).unwrap();
        let forged = run.join("forged.json").display().to_string();
        let output = sites.command(name, &["verify", &forged, "--json"]).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["holds"], false, "{report:#}");
        let joint: Value =
            serde_json::from_slice(&std::fs::read(run.join("joint.json")).unwrap()).unwrap();
        assert_eq!(joint["sites"].as_array().unwrap().len(), 3, "{joint:#}");
        let several = joint["several"].as_str().unwrap();
        assert!(several.contains("δ = 3e-5"), "{several}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let key = sites.at(name).join(".halflight/site.key");
            assert_eq!(std::fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
    // The others and the folder see nothing of the names of files and accounts.
    let text = program::written(&sites.exchange(), "");
    for hidden in ["rides of", "acc-", ".halflight", "bikeshare"] {
        assert!(!text.contains(hidden), "{hidden}");
    }
}

#[test]
fn sites_that_do_not_fit_are_refused_before_anything_is_spent() {
    let sites = Sites::new();
    let spent = |name: &str| sites.ledger(name).len();
    // Another column at C.
    let other = "\"hr\", \"temp\", \"windspeed\"";
    sites.write("C", &session("C", 450, other, &target_only()));
    for output in sites.run(&[]) {
        let text = said(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(
            text.contains("features: ") && text.contains("windspeed") && text.contains(" at C")
        );
    }
    // Other settings.
    sites.empty_exchange();
    let other = target_only().replace("12", "13") + ", holdout: 0.3";
    sites.write("C", &session("C", 450, COLUMNS, &other));
    for output in sites.run(&[]) {
        let text = said(&output);
        assert!(text.contains("setting steps: 12 at A, B; 13 at C"), "{text}");
        assert!(text.contains("share held out: 0.2 at A, B; 0.3 at C"), "{text}");
    }
    // The budget does not suffice, and the others are told at once.
    let text = session("C", 450, COLUMNS, &target_only());
    sites.write("C", &text.replace("epsilon: 90.0", "epsilon: 0.5"));
    sites.empty_exchange();
    let outputs = sites.run(&["--timeout", "2m"]);
    for output in &outputs[..2] {
        let text = said(output);
        assert!(text.contains("site 'C' stopped before the start"), "{text}");
    }
    assert!(sites.exchange().join("stop-C").exists());
    // What a site refuses in its own data can depend on a single record, and nothing of it travels.
    sites.write("C", &session("C", 10, COLUMNS, &target_only()));
    sites.empty_exchange();
    let outputs = sites.run(&["--timeout", "2s"]);
    assert!(said(&outputs[2]).contains("at least 20 are needed"), "{}", said(&outputs[2]));
    for output in &outputs[..2] {
        assert!(said(output).contains("'C' did not say"), "{}", said(output));
    }
    let left = std::fs::read_dir(sites.exchange()).unwrap();
    assert!(left.flatten().all(|it| !it.file_name().to_string_lossy().ends_with("-C")));
    // A key that is not the trusted one.
    sites.write("C", &session("C", 450, COLUMNS, &target_only()));
    sites.empty_exchange();
    for (at, output) in sites.run(&["--trust", "B=0123-4567-89ab-cdef"]).iter().enumerate() {
        let text = said(output);
        assert_eq!(output.status.code(), Some(3), "{at}: {text}");
        assert!(text.contains("and 0123-4567-89ab-cdef is trusted"), "{text}");
    }
    // Methods whose releases are no means of all records.
    for (plan, what) in [
        ("method: \"profiled_cnvx_adap\"", "several sites cannot run 'profiled_cnvx_adap'"),
        (
            "method: \"target_only\", settings: {\"batch\": 50}",
            "cannot join the release 'gradient'",
        ),
    ] {
        sites.write("A", &session("A", 300, COLUMNS, plan));
        let output = sites.site("A", &[]).output().unwrap();
        assert!(said(&output).contains(what), "{}", said(&output));
        assert!(said(&output).contains("public_shape"), "the cure names what joins");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(sites.exchange(), open).unwrap();
        let output = sites.site("B", &[]).output().unwrap();
        assert!(said(&output).contains("everybody on this machine can write"), "{}", said(&output));
    }
    for name in NAMES {
        assert_eq!(spent(name), 0, "{name}");
    }
}

#[test]
fn other_classes_at_one_site_are_refused_with_their_names() {
    let sites = Sites::new();
    for (name, classes) in NAMES.into_iter().zip(["1\", \"2", "1\", \"2", "2\", \"1"]) {
        let session = format!(
            "(version: 1, datasets: [
  (name: \"own\", role: private, source: builtin(\"german_credit\"), label: \"credit_risk\",
   task: classification, classes: [\"{classes}\"], filter: \"age > 35\",
   columns: only([\"duration\", \"credit_amount\"])),
  (name: \"young\", role: public, source: builtin(\"german_credit\"), label: \"credit_risk\",
   task: classification, classes: [\"{classes}\"], filter: \"age <= 35\",
   columns: only([\"duration\", \"credit_amount\"]))],
  plans: [(name: \"credit\", method: \"target_only_logistic\", private: \"own\", public: [\"young\"],
    target: (epsilon: 1.0, delta: 1e-5))])"
        );
        sites.write(name, &session);
    }
    for output in sites.run(&[]) {
        let text = said(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("classes: 1, 2 at A, B; 2, 1 at C"), "{text}");
    }
}

#[test]
fn a_foreign_message_pauses_the_run_with_its_site_and_file_and_it_goes_on_without() {
    let sites = Sites::new();
    // A waits for B and C; somebody else writes the first release of C.
    let before = [sites.site("A", &[]), sites.site("B", &[])].map(|mut it| it.spawn().unwrap());
    let mut c = sites.site("C", &["--pace", "0.05"]).spawn().unwrap();
    let first = wait_for(|| {
        let mut entries = std::fs::read_dir(sites.exchange()).unwrap().map(|it| it.unwrap().path());
        entries.find(|file| file.display().to_string().ends_with("-release-000001-C"))
    });
    let forged = PathBuf::from(first.display().to_string().replace("000001", "000002"));
    let real = std::fs::read(first).unwrap();
    std::fs::write(&forged, real).unwrap();
    for output in before.map(|child| child.wait_with_output().unwrap()) {
        let text = said(&output);
        assert!(!output.status.success(), "{text}");
        assert!(text.contains("a message of site 'C' is refused: it belongs to another place"));
        assert!(text.contains("release-000002-C") && text.contains("--resume"), "{text}");
    }
    // Somebody changes what was agreed on, in the run's own file.
    let file = sites.run_of("A").unwrap().join("sites.json");
    let agreed = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        agreed.replace("\"without_missing\": false", "\"without_missing\": true"),
    )
    .unwrap();
    let text = said(&go_on(&sites, "A").output().unwrap());
    assert!(text.contains("what the sites agreed on was changed after the run began"), "{text}");
    std::fs::write(&file, agreed).unwrap();
    // C finds that its own place is taken, or dies before.
    let _ = c.kill();
    c.wait().unwrap();
    let _ = std::fs::remove_file(forged);
    resume_until_ended(&sites, &NAMES);
    check_ended(&sites);
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_mins(1), "nothing came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Resumes these sites together, or starts those that have no run yet, until all have ended.
fn resume_until_ended(sites: &Sites, names: &[&str]) {
    let started: Vec<(&str, Child)> = names
        .iter()
        .filter(|name| !has_ended(sites, name))
        .map(|name| (*name, go_on(sites, name).spawn().unwrap()))
        .collect();
    for (name, child) in started {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}: {}", said(&output));
    }
}

fn has_ended(sites: &Sites, name: &str) -> bool {
    sites.run_of(name).is_some_and(|run| run.join("certificate.json").exists())
        && sites.ledger(name).iter().any(|run| !run["state"].as_str().unwrap().starts_with("open"))
}

fn go_on(sites: &Sites, name: &str) -> Command {
    let open =
        sites.ledger(name).iter().any(|run| run["state"].as_str().unwrap().starts_with("open"));
    match sites.run_of(name).filter(|_| open) {
        Some(run) => sites.command(name, &["run", "--resume", &run.display().to_string()]),
        None => sites.site(name, &[]),
    }
}

#[test]
fn ten_sites_end_with_one_model_and_their_joint_certificate_holds() {
    let sites = Sites::of(&TEN);
    let began = Instant::now();
    for (name, output) in TEN.iter().zip(sites.run(&["--timeout", "5m"])) {
        assert!(output.status.success(), "{name}: {}", said(&output));
    }
    println!("ten sites: {STEPS} releases in {:.1} s", began.elapsed().as_secs_f64());
    check_ended(&sites);
    let path = sites.run_of("J").unwrap().join("joint.json").display().to_string();
    let output = sites.command("J", &["verify", &path, "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["holds"], true, "{report:#}");
}

/// Stops a site at its persistent steps, one after another, while the others wait for it. The long
/// form is a storm: all sites die at random steps, again and again, a thousand times in all; in every second
/// run they have one noise.
/// Site A is played with keys, and the others are commands. They have one noise.
#[test]
fn a_site_that_joins_from_the_interface_ends_with_the_model_of_the_others() {
    let sites = Sites::new().with_one_noise();
    let keys = sites.options.last().unwrap();
    let mut screen = Screen::start(&sites.at("A"), &["s.ron"], 120, 40);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    screen.press("3");
    screen.wait_for("can be launched");
    screen.press("J");
    screen.wait_for("exchange folder");
    let down = "\x1b[B";
    screen.press(&format!("{}{down}A{down}A,B,C{down} ", sites.exchange().display()));
    screen.wait_for("one for all");
    screen.press(&format!("{down}{keys}\r"));
    screen.wait_for("as site A, together with B, C in");
    screen.press("y");
    screen.wait_for("waiting for sites 'B', 'C'");
    assert!(screen.text().contains("site A of A, B, C: key "), "{}", screen.text());
    let others = ["B", "C"].map(|name| sites.site(name, &[]).spawn().unwrap());
    for (name, other) in ["B", "C"].iter().zip(others) {
        let output = other.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}: {}", said(&output));
    }
    screen.wait_for("guarantee: ε");
    let text = screen.text();
    assert!(text.contains("finished"), "{text}");
    check_ended(&sites);
    let joint = sites.run_of("A").unwrap().join("joint.json").display().to_string();
    let output = sites.command("A", &["verify", &joint]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    // The place of the last joint run is proposed, and its folder is refused before anything is asked.
    screen.press("3");
    screen.wait_for("can be launched");
    screen.press("J");
    screen.wait_for("A, B, C");
    screen.press("\r");
    screen.wait_for("-ready-A");
}

#[test]
fn site_deaths_at_any_step_end_with_one_model_and_no_release_uncounted() {
    let count = steps_of_a_site();
    let (mut deaths, mut runs) = (0, 0);
    if chance::is_long() {
        let mut dice = Dice::of_the_seed("site deaths");
        while deaths < 1000 {
            let sites = Sites::new();
            let sites = if runs % 2 == 0 { sites } else { sites.with_one_noise() };
            deaths += storm(&sites, &mut dice, count);
            runs += 1;
            println!("{deaths} deaths in {runs} joint runs; a site takes {count} steps");
        }
        return;
    }
    let each = count.div_ceil(8);
    for (at, victim) in NAMES.into_iter().enumerate() {
        for step in (1 + at * each / 3..=count).step_by(each) {
            deaths += usize::from(dies(&Sites::new(), victim, &format!("tear:{step}")));
        }
    }
    println!("{deaths} deaths; a site takes {count} steps");
    assert!(deaths > 18, "{deaths}");
}

/// Lets all sites of a run die at random steps and go on, checks how they ended, and counts deaths.
fn storm(sites: &Sites, dice: &mut Dice, count: usize) -> usize {
    let ways = NAMES.map(|_| {
        let way = |_| (["crash", "tear"][dice.below(2)], 1 + dice.below(count));
        (0..6).map(way).collect::<Vec<_>>()
    });
    let deaths = std::thread::scope(|scope| {
        let lives = NAMES.into_iter().zip(&ways).map(|(name, ways)| {
            scope.spawn(move || {
                let mut deaths = 0;
                loop {
                    let mut command = go_on(sites, name);
                    if let Some((kind, step)) = ways.get(deaths) {
                        command.env("HALFLIGHT_TEST_STOP", format!("{kind}:{step}"));
                    }
                    let output = command.output().unwrap();
                    let text = said(&output);
                    // A signal ended it.
                    if output.status.code().is_none() {
                        deaths += 1;
                        if has_ended(sites, name) {
                            return deaths;
                        }
                        continue;
                    }
                    // A draw that was lost ends the run of all earlier.
                    let shorter = text.contains("' ended after");
                    assert!(output.status.success() || shorter, "{name} with {ways:?}: {text}");
                    return deaths;
                }
            })
        });
        let lives: Vec<_> = lives.collect();
        lives.into_iter().map(|life| life.join().unwrap()).sum()
    });
    check_ended(sites);
    deaths
}

#[test]
fn sites_with_one_noise_send_nothing_but_masks_and_all_say_on_which_conditions() {
    let sites = Sites::new();
    for (name, rows) in NAMES.iter().zip([450, 600, 900]) {
        // Each site has a score of its own, too.
        let scored = target_only() + ", evaluation: ()";
        sites.write(name, &session(name, rows, COLUMNS, &scored));
    }
    let sites = sites.with_one_noise();
    let outputs = sites.run(&[]);
    for (name, output) in NAMES.iter().zip(&outputs) {
        assert!(output.status.success(), "{name}: {}", said(output));
    }
    check_ended(&sites);
    for name in NAMES {
        let run = sites.run_of(name).unwrap();
        assert!(!run.join("masks.key").exists(), "the key of the masks is gone");
        // Two whole numbers below 2⁵³ for each number.
        let sent = sites.sent(name);
        assert!(sent.len() == STEPS && sent.iter().all(|it| it.len() % 16 == 0), "{}", sent.len());
        let halves = sent.concat();
        let halves = halves.as_chunks::<8>().0.iter().map(|it| f64::from_le_bytes(*it));
        let halves: Vec<f64> = halves.collect();
        assert!(
            halves.iter().all(|half| half.fract() == 0.0 && (0.0..2_f64.powi(53)).contains(half))
        );
        let lower = halves.iter().filter(|half| **half < 2_f64.powi(52)).count() as f64;
        let count = halves.len() as f64;
        assert!((lower - count / 2.0).abs() < 3.0 * count.sqrt(), "{lower} of {count}");
        for file in ["certificate.json", "joint.json"] {
            let path = run.join(file);
            let verify = |path: &std::path::Path| -> bool {
                let path = path.display().to_string();
                let output = sites.command(name, &["verify", &path, "--json"]).output().unwrap();
                let report: Value = serde_json::from_slice(&output.stdout).unwrap();
                report["holds"].as_bool().unwrap()
            };
            assert!(verify(&path), "{name}: {file}");
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(
                text.contains("all sites have one noise") || text.contains("All sites have one")
            );
            let lowered = text.replace("\"may_collude\": 1", "\"may_collude\": 2");
            assert_ne!(lowered, text);
            std::fs::write(run.join("lowered.json"), lowered).unwrap();
            assert!(!verify(&run.join("lowered.json")), "{name}: {file}");
        }
        let joint: Value =
            serde_json::from_slice(&std::fs::read(run.join("joint.json")).unwrap()).unwrap();
        let own = |at: usize| joint["sites"][at]["guarantee"]["epsilon"].as_f64().unwrap();
        let alone = |at: usize| joint["sites"][at]["alone"]["epsilon"].as_f64().unwrap();
        assert!((0..3).all(|at| own(at) <= 1.0 && alone(at) > 1.2 && alone(at) < 1.6), "{joint:#}");
        let ledger = said(&sites.command(name, &["ledger"]).output().unwrap());
        let condition = "while at least 2 of 3 sites add their shares of the noise and tell nobody";
        assert!(ledger.contains(condition), "{ledger}");
    }
}

#[test]
fn one_noise_is_refused_where_sites_do_not_fit_and_nothing_is_spent() {
    let mut sites = Sites::new().with_one_noise();
    let text = said(&sites.site("A", &["--without-missing"]).output().unwrap());
    assert!(text.contains("--without-missing") && text.contains("cannot be used"), "{text}");
    for (number, wanted) in [("0", "of 3 sites 0 cannot"), ("2", "of 3 sites 2 cannot")] {
        let text = said(&sites.site("A", &["--may-collude", number]).output().unwrap());
        assert!(text.contains(wanted), "{text}");
    }
    // B adds its own noise.
    let [a, c] = ["A", "C"].map(|name| sites.site(name, &[]).spawn().unwrap());
    sites.options.clear();
    let b = sites.site("B", &[]).spawn().unwrap();
    for child in [a, b, c] {
        let output = child.wait_with_output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("noise: each site adds its own at B; one for all"), "{text}");
    }
    assert!(NAMES.iter().all(|name| sites.ledger(name).is_empty()));
}

/// A mask that hid two values would show their difference. So whatever step a site dies at, it sends the
/// same bytes again, even if what it sent has vanished from the folder.
#[test]
fn a_site_that_dies_sends_the_same_masked_bytes_again() {
    let steps = {
        let sites = Sites::new().with_one_noise();
        let record = sites.at("steps");
        let others = ["A", "C"].map(|name| sites.site(name, &[]).spawn().unwrap());
        let output = sites.site("B", &[]).env("HALFLIGHT_TEST_STEPS", &record).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        for mut child in others {
            assert!(child.wait().unwrap().success());
        }
        std::fs::read_to_string(record).unwrap()
    };
    let place = |part: &str| 1 + steps.lines().position(|line| line.contains(part)).unwrap();
    let (first, last) = (place("-release-000002-B"), place("-release-000003-B"));
    // What is sent was written to the disk, and synced, before.
    let of_transcript = |step: &str| {
        let part = format!("\"step\":\"{step}\"");
        let mut lines = steps.lines().take(last - 1).collect::<Vec<_>>().into_iter();
        1 + lines.rposition(|line| line.contains("/transcript\"") && line.contains(&part)).unwrap()
    };
    let (written, synced) = (of_transcript("write"), of_transcript("sync"));
    assert!(first < written && written < synced && synced < last, "{written} {synced} {last}");
    let mut again = 0;
    for step in written - 1..=last + 5 {
        let sites = Sites::new().with_one_noise();
        let waiting = ["A", "C"].map(|name| sites.site(name, &[]).spawn().unwrap());
        let stop = format!("crash:{step}");
        let output = sites.site("B", &[]).env("HALFLIGHT_TEST_STOP", stop).output().unwrap();
        assert!(!output.status.success(), "{step}");
        let sent = sites.sent("B");
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(sites.exchange()).unwrap().map(|it| it.unwrap().path()).collect();
        files.retain(|it| {
            let name = it.display().to_string();
            name.contains("-release-") && name.ends_with("-B")
        });
        files.sort();
        if let Some(newest) = files.last() {
            std::fs::remove_file(newest).unwrap();
        }
        resume_until_ended(&sites, &["B"]);
        for child in waiting {
            let text = said(&child.wait_with_output().unwrap());
            assert!(!text.contains("other contents"), "{step}: {text}");
        }
        check_ended(&sites);
        assert_eq!(sites.sent("B")[..sent.len()], sent, "{step}");
        again += usize::from(!sent.is_empty());
    }
    println!("{again} deaths");
    assert!(again > 3, "{again}");
    // Before a run has taken the key of the masks, the site that starts again says hello with the same one.
    let takes = |line: &str| line.contains("rename") && line.contains("/masks.key\"");
    let taken = 1 + steps.lines().position(takes).unwrap();
    for step in (4..=taken + 2).step_by(1 + taken / 6).chain([taken, taken + 1]) {
        assert!(dies(&Sites::new().with_one_noise(), "B", &format!("crash:{step}")), "{step}");
    }
    // Another key of the masks is refused.
    let sites = Sites::new().with_one_noise();
    let soon = ["--timeout", "3s"];
    let waiting = ["A", "C"].map(|name| sites.site(name, &soon).spawn().unwrap());
    let stop = format!("crash:{last}");
    sites.site("B", &[]).env("HALFLIGHT_TEST_STOP", stop).output().unwrap();
    let file = sites.run_of("B").unwrap().join("masks.key");
    assert_eq!(std::fs::read_to_string(&file).unwrap().len(), 65);
    std::fs::write(&file, "11".repeat(32)).unwrap();
    let text = said(&go_on(&sites, "B").output().unwrap());
    assert!(text.contains("not the one that the run began with"), "{text}");
    std::fs::remove_file(&file).unwrap();
    let text = said(&go_on(&sites, "B").output().unwrap());
    assert!(text.contains("the key of the masks") && text.contains("ledger settle"), "{text}");
    for child in waiting {
        child.wait_with_output().unwrap();
    }
    // A run that is given up needs its key no longer.
    let run = sites.run_of("A").unwrap();
    assert!(run.join("masks.key").exists());
    let name = run.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(sites.command("A", &["ledger", "settle", &name]).status().unwrap().success());
    assert!(!run.join("masks.key").exists());
}

/// Stops a site, lets it go on, and checks how all ended. Whether it died.
fn dies(sites: &Sites, victim: &str, stop: &str) -> bool {
    let others: Vec<&str> = NAMES.into_iter().filter(|name| *name != victim).collect();
    let waiting: Vec<Child> =
        others.iter().map(|name| sites.site(name, &[]).spawn().unwrap()).collect();
    let output = sites.site(victim, &[]).env("HALFLIGHT_TEST_STOP", stop).output().unwrap();
    resume_until_ended(sites, &[victim]);
    for child in waiting {
        let output = child.wait_with_output().unwrap();
        let text = said(&output);
        // A draw that was lost ends the run of all one step earlier.
        let shorter = text.contains(&format!("site '{victim}' ended after"));
        assert!(output.status.success() || shorter, "{victim} at {stop}: {text}");
    }
    check_ended(sites);
    !output.status.success()
}

/// The rides before noon of one season at each site, and those after noon of three seasons in public.
fn to_rank(site: &str, rows: usize, further: &str) -> String {
    let about = |when: &str, rows: usize| {
        format!(
            "source: builtin(\"bikeshare\"), label: \"bikers\", filter: \"{when}\",
   columns: only([{COLUMNS}]), sample: (rows: {rows})"
        )
    };
    let season = 1 + NAMES.iter().position(|name| *name == site).unwrap();
    let own = about(&format!("season == {season} and hr < 12"), rows);
    let public = |(name, season): (&str, usize)| {
        let rides = about(&format!("season == {season} and hr >= 12"), 200);
        format!("(name: \"{name}\", role: public, {rides}),")
    };
    let publics = [("spring", 2), ("summer", 3), ("winter", 1)].map(public).concat();
    format!(
        "(version: 1, datasets: [{publics} (name: \"rides of {site}\", role: private, {own})],
  budgets: {{\"rides of {site}\": (epsilon: 2.0, delta: 1e-3)}}, {further})"
    )
}

fn sites_to_rank() -> Sites {
    let sites = Sites::new();
    for (name, rows) in NAMES.into_iter().zip([300, 150, 450]) {
        sites.write(name, &to_rank(name, rows, ""));
    }
    sites
}

fn rank_at(sites: &Sites, name: &str, timeout: &str, further: &[&str]) -> Command {
    let meet = ["rank", "s.ron", "--private", "1", "--exchange", "../exchange", "--name", name];
    let all = [meet.as_slice(), &["--sites", "A,B,C", "--timeout", timeout], further].concat();
    let mut command = sites.command(name, &all);
    command.args(&sites.options);
    command
}

/// How many draws of its first release each run of a site is charged for.
fn charged(sites: &Sites, name: &str) -> Vec<u64> {
    let runs = sites.ledger(name);
    runs.iter().map(|run| run["charged"][0].as_u64().unwrap()).collect()
}

/// The noise is that of the sites that are left, and what was released stays charged.
#[test]
fn a_site_that_dies_at_its_release_spoils_a_ranking_or_is_left_out_of_it() {
    let sites = sites_to_rank();
    let start = |timeout: &str, further: &[&str], stop: Option<usize>| {
        let mut commands = NAMES.map(|name| rank_at(&sites, name, timeout, further));
        match stop {
            None => commands[2].env("HALFLIGHT_TEST_STEPS", sites.at("steps")),
            Some(step) => commands[2].env("HALFLIGHT_TEST_STOP", format!("crash:{step}")),
        };
        let started = commands.map(|mut it| it.spawn().unwrap());
        started.map(|child| child.wait_with_output().unwrap())
    };
    let deviation = |output: &Output| {
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        (told["errors"].clone(), told["errors"][0]["error"]["deviation"].as_f64().unwrap())
    };
    let whole = start("60s", &["--json"], None);
    let (_, of_all) = deviation(&whole[0]);
    let steps = std::fs::read_to_string(sites.at("steps")).unwrap();
    let at = 1 + steps.lines().position(|line| line.contains("-release-000001-C")).unwrap();

    std::fs::remove_dir_all(sites.at("C").join(".halflight")).unwrap();
    sites.empty_exchange();
    let outputs = start("3s", &[], Some(at));
    for output in &outputs[..2] {
        let text = said(output);
        assert!(text.contains("site 'C' did not say release 1 within 3s"), "{text}");
        assert!(text.contains("which stays charged; start all sites again"), "{text}");
    }
    assert!(charged(&sites, "A") == [1, 1] && charged(&sites, "C") == [1]);

    std::fs::remove_dir_all(sites.at("C").join(".halflight")).unwrap();
    for name in ["A", "B"] {
        std::fs::remove_dir_all(sites.at(name).join(".halflight")).unwrap();
    }
    sites.empty_exchange();
    let outputs = start("3s", &["--json", "--without-missing"], Some(at));
    assert!(outputs[0].status.success() && !outputs[2].status.success(), "{}", said(&outputs[0]));
    let (table, of_two) = deviation(&outputs[0]);
    assert_eq!(table, deviation(&outputs[1]).0);
    let times = of_two / of_all;
    assert!((times - (2.0_f64 / 3.0).sqrt() * 900.0 / 450.0).abs() < 1e-3, "{times}");
    let told: Value = serde_json::from_slice(&outputs[0].stdout).unwrap();
    let joint = std::fs::read(told["joint"].as_str().unwrap()).unwrap();
    let joint: Value = serde_json::from_slice(&joint).unwrap();
    assert_eq!(joint["left_after_release"], json!({"C": 0}), "{joint:#}");
}

#[test]
fn sites_that_rank_together_get_one_table_and_each_ledger_its_charge() {
    let sites = sites_to_rank();
    let rank = |name: &str, further: &[&str]| rank_at(&sites, name, "60s", further);
    let at_all = |further: &[&str]| -> Vec<Output> {
        let started = NAMES.map(|name| rank(name, further).spawn().unwrap());
        started.into_iter().map(|child| child.wait_with_output().unwrap()).collect()
    };
    let charged = |name: &str| charged(&sites, name);
    // Another candidate at C: all are told its name, and nothing is spent.
    let without = "ranking: (public: [\"spring\", \"winter\"])";
    sites.write("C", &to_rank("C", 450, without));
    for output in at_all(&[]) {
        let text = said(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(
            text.contains("public datasets: spring, summer, winter at A, B; spring, winter at C")
        );
        assert!(text.contains("public dataset 'summer': "), "{text}");
    }
    // A plan is no ranking, and only errors are joined.
    sites.empty_exchange();
    let text = said(&rank("A", &["--mechanism", "table"]).output().unwrap());
    assert!(text.contains("several sites rank together by errors alone"), "{text}");
    let text = said(
        &sites.command("A", &["rank", "s.ron", "--exchange", "../exchange"]).output().unwrap(),
    );
    assert!(text.contains("--private") && text.contains("--name"), "{text}");
    // Public rows are among the private ones of C: to the others it has not started.
    sites.write("C", &to_rank("C", 450, "").replace(" and hr < 12", ""));
    sites.empty_exchange();
    let started = NAMES.map(|name| rank_at(&sites, name, "3s", &[]).spawn().unwrap());
    let [a, _, c] = started.map(|child| said(&child.wait_with_output().unwrap()));
    assert!(c.contains("is private") || c.contains("private rows"), "{c}");
    assert!(a.contains("site 'C' did not say hello within 3s"), "{a}");
    let left = std::fs::read_dir(sites.exchange()).unwrap();
    assert!(left.flatten().all(|it| !it.file_name().to_string_lossy().ends_with("-C")));
    // The budget of C does not suffice: the others are told at once.
    sites.write("C", &to_rank("C", 450, "").replace("epsilon: 2.0", "epsilon: 0.5"));
    sites.empty_exchange();
    for output in &at_all(&[])[..2] {
        let text = said(output);
        assert!(text.contains("site 'C' stopped before the start"), "{text}");
    }
    assert!(NAMES.iter().all(|name| charged(name).is_empty()));

    // The ledger of C keeps its small budget, so another one begins.
    std::fs::remove_dir_all(sites.at("C").join(".halflight")).unwrap();
    sites.write("C", &to_rank("C", 450, ""));
    sites.empty_exchange();
    let outputs = at_all(&["--json"]);
    let told: Vec<Value> = NAMES
        .iter()
        .zip(&outputs)
        .map(|(name, output)| {
            let text = said(output);
            assert!(output.status.success(), "{name}: {text}");
            assert!(text.contains("site B") && text.contains(" records, key "), "{text}");
            serde_json::from_slice(&output.stdout).unwrap()
        })
        .collect();
    for (name, at) in NAMES.into_iter().zip(&told) {
        assert_eq!(at["errors"], told[0]["errors"], "one table, to the last bit");
        assert_eq!(at["errors"].as_array().unwrap().len(), 3, "{at:#}");
        assert_eq!((charged(name), sites.sent(name).len()), (vec![1], 1), "{name}");
        assert_eq!(at["other_sites"].as_array().unwrap().len(), 2, "{at:#}");
        let joint = at["joint"].as_str().unwrap();
        let output = sites.command(name, &["verify", joint, "--json"]).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["holds"], true, "{report:#}");
        let text = std::fs::read_to_string(joint).unwrap();
        assert!(text.contains("3 sites ranked public datasets together. "), "{text}");
        assert!(text.contains("at all of them, ε = 3 and"), "{text}");
        let lowered = joint.replace(".joint.", ".lowered.");
        std::fs::write(&lowered, text.replace("\"records\": 150", "\"records\": 1500")).unwrap();
        let output = sites.command(name, &["verify", &lowered, "--json"]).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["holds"], false, "{report:#}");
    }
    let noise = NAMES.map(|name| sites.sent(name));
    assert!(noise[0] != noise[1] && noise[1] != noise[2]);
    let text = program::written(&sites.exchange(), "");
    for hidden in ["rides of", "acc-", ".halflight", "bikeshare"] {
        assert!(!text.contains(hidden), "{hidden}");
    }
}

/// One noise is √2 times less than that of three sites of which each adds its own.
#[test]
fn sites_that_rank_with_one_noise_get_one_table_with_less_noise_and_each_ledger_its_charge() {
    let ranked = |sites: &Sites| -> Vec<Value> {
        let started = NAMES.map(|name| rank_at(sites, name, "60s", &["--json"]).spawn().unwrap());
        let read = |child: Child| {
            let output = child.wait_with_output().unwrap();
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)))
        };
        started.map(read).into()
    };
    let deviation = |told: &Value| told["errors"][0]["error"]["deviation"].as_f64().unwrap();
    let sites = sites_to_rank();
    let own = ranked(&sites);
    sites.empty_exchange();
    let sites =
        sites.with_one_noise_of(|sites, name| rank_at(sites, name, "60s", &["--one-noise"]));
    let all = ranked(&sites);
    let times = deviation(&own[0]) / deviation(&all[0]);
    assert!((times - 2.0_f64.sqrt()).abs() < 1e-3, "{times}");
    for (name, told) in NAMES.into_iter().zip(&all) {
        assert_eq!(told["errors"], all[0]["errors"], "{name}");
        assert_eq!(told["may_collude"], 1, "{told:#}");
        assert_eq!((charged(&sites, name), sites.sent(name).len()), (vec![1, 1], 1), "{name}");
        // Two whole numbers for each dataset and one more.
        assert_eq!(sites.sent(name)[0].len(), 4 * 16, "{name}");
        assert!(!sites.at(name).join(".halflight/masks.key").exists(), "no mask hides two values");
        let joint = told["joint"].as_str().unwrap();
        let output = sites.command(name, &["verify", joint, "--json"]).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["holds"], true, "{report:#}");
        let text = std::fs::read_to_string(joint).unwrap();
        assert!(text.contains("All sites have one noise"), "{text}");
    }
}

#[test]
fn of_sites_with_the_same_rows_it_is_said_that_nobody_checks_it() {
    let sites = Sites::new();
    let same = session("A", 300, COLUMNS, &target_only());
    sites.write("B", &same.replace("rides of A", "rides of B"));
    sites.write("A", &same);
    for output in sites.run(&[]) {
        let text = said(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("nobody checks whether somebody has records at several sites"));
    }
    let joint = std::fs::read_to_string(sites.run_of("A").unwrap().join("joint.json")).unwrap();
    assert!(joint.contains("at all of them, ε = 3 and"), "{joint}");
    check_ended(&sites);
}

/// How many steps a site takes that write to a disk.
fn steps_of_a_site() -> usize {
    let sites = Sites::new();
    let record = sites.at("steps");
    let others = [sites.site("A", &[]), sites.site("C", &[])].map(|mut it| it.spawn().unwrap());
    let output = sites.site("B", &[]).env("HALFLIGHT_TEST_STEPS", &record).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    for child in others {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    std::fs::read_to_string(record).unwrap().lines().count()
}

#[test]
fn without_a_missing_site_the_others_go_on_and_its_charge_stays() {
    let sites = Sites::new();
    let further = ["--without-missing", "--timeout", "6s"];
    let others = ["A", "B"].map(|name| sites.site(name, &further).spawn().unwrap());
    let slow = ["--without-missing", "--timeout", "6s", "--pace", "1"];
    let mut c = sites.site("C", &slow).spawn().unwrap();
    wait_for(|| (sites.sent("C").len() >= 3).then_some(()));
    c.kill().unwrap();
    c.wait().unwrap();
    for child in others {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
    assert_eq!(sites.model("A"), sites.model("B"));
    assert_eq!(sites.sent("A").len(), STEPS);
    let joint = std::fs::read(sites.run_of("A").unwrap().join("joint.json")).unwrap();
    let joint: Value = serde_json::from_slice(&joint).unwrap();
    let last = joint["left_after_release"]["C"].as_u64().unwrap();
    assert!((3..STEPS as u64).contains(&last), "{joint:#}");
    let output = go_on(&sites, "C").output().unwrap();
    assert!(said(&output).contains("went on without this one after release"), "{}", said(&output));
    let ledger = sites.ledger("C");
    assert!(ledger[0]["charged"][0].as_u64().unwrap() >= last, "{ledger:#?}");
    assert_ne!(ledger[0]["charged"], json!([STEPS]));
}

/// The sites on the board of a run, as programs read it.
fn board(sites: &Sites, at: &str) -> Vec<Value> {
    let Some(run) = sites.run_of(at) else { return Vec::new() };
    let watch = ["watch", &run.display().to_string(), "--once", "--json"];
    let output = sites.command(at, &watch).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["kind"] == "site").collect()
}

fn on_board(sites: &Sites, at: &str, name: &str, is: impl Fn(&Value) -> bool) -> Value {
    wait_for(|| board(sites, at).into_iter().find(|line| line["site"] == name && is(line)))
}

fn in_words(sites: &Sites, at: &str) -> String {
    let run = sites.run_of(at).unwrap().display().to_string();
    said(&sites.command(at, &["watch", &run, "--once", "--plain"]).output().unwrap())
}

#[test]
fn the_board_says_for_whom_a_site_waits_and_whom_the_others_left_out() {
    let sites = Sites::new();
    for name in NAMES {
        let long = "method: \"target_only\", settings: {\"steps\": 400}";
        sites.write(name, &session(name, 300, COLUMNS, long));
    }
    for (victim, further) in [
        ("B", ["--pace", "20", "--timeout", "5m"].as_slice()),
        ("C", &["--pace", "20", "--timeout", "6s", "--without-missing"]),
    ] {
        sites.empty_exchange();
        let mut started = NAMES.map(|name| sites.site(name, further).spawn().unwrap());
        wait_for(|| (sites.sent(victim).len() >= 3).then_some(()));
        let mut kill = |name: &str| {
            let at = NAMES.iter().position(|it| *it == name).unwrap();
            let _ = started[at].kill();
            started[at].wait().unwrap();
        };
        kill(victim);
        if victim == "B" {
            let own = on_board(&sites, "A", "A", |line| line["waits_for"] == json!(["B"]));
            let other = on_board(&sites, "A", "B", |line| line["state"] == "going");
            assert_eq!(own["release"].as_u64().unwrap(), other["release"].as_u64().unwrap() + 1);
            assert_eq!((&own["of"], &own["own"]), (&json!(400), &json!(true)));
            let epsilon = |line: &Value| line["epsilon"].as_f64().unwrap();
            assert!(0.0 < epsilon(&other) && epsilon(&other) < epsilon(&own), "{own} {other}");
            assert!(epsilon(&own) < own["epsilon_reserved"].as_f64().unwrap());
            assert!(own["epsilon_reserved"].as_f64().unwrap() <= 1.0);
            assert!(other["seconds_since_a_message"].as_f64().is_some());
            let text = wait_for(|| {
                Some(in_words(&sites, "A")).filter(|text| text.contains("waits for B"))
            });
            for words in
                ["    A (this site): release ", "waits for B", "    B: release ", " of 400, "]
            {
                assert!(text.contains(words), "{words}: {text}");
            }
        } else {
            let gone = on_board(&sites, "A", "C", |line| line["state"] == "left");
            assert!(gone["left_after_release"].as_u64().unwrap() >= 3, "{gone}");
            assert!(in_words(&sites, "A").contains("    C: left out after release "));
            assert!(in_words(&sites, "A").contains(" stays charged"));
            let other = on_board(&sites, "A", "B", |_| true);
            assert_eq!(other["left_after_release"], json!(null));
        }
        for name in NAMES {
            kill(name);
        }
    }
    // Of what is on the board nothing but the sites' names, states and numbers is there.
    let text = board(&sites, "A").iter().map(Value::to_string).collect::<String>();
    assert!(!text.contains("rides of"), "{text}");
}

#[test]
fn a_rehearsal_says_what_joining_brings_and_spends_nothing() {
    let sites = Sites::of(&["A"]);
    let season = |name: &str, season: usize| {
        format!(
            "(name: \"{name}\", role: public, source: builtin(\"bikeshare\"), label: \"bikers\",
             filter: \"season == {season}\", columns: only([{COLUMNS}])),"
        )
    };
    let seasons = [season("spring", 2), season("summer", 3), season("autumn", 4)].concat();
    let own = format!(
        "(version: 1, datasets: [{seasons}
  (name: \"winter\", role: private, source: builtin(\"bikeshare\"), label: \"bikers\",
   filter: \"season == 1\", columns: only([{COLUMNS}]), sample: (rows: 300))],
  plans: [(name: \"bikes\", private: \"winter\", public: [\"spring\", \"summer\", \"autumn\"],
    target: (epsilon: 1.0, delta: 1e-5), seed: 1, {})])",
        target_only()
    );
    sites.write("A", &own);
    let rehearse = |further: &[&str]| {
        let common = ["rehearse", "s.ron", "--joining", "150,450", "--repetitions", "2"];
        sites.command("A", &[common.as_slice(), further].concat()).output().unwrap()
    };
    let output = rehearse(&["--json"]);
    assert!(output.status.success(), "{}", said(&output));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["records"], json!([240, 120, 360]));
    let lines = told["joining"].as_array().unwrap();
    assert_eq!(lines.len(), 2, "{told:#}");
    for (line, others) in lines.iter().zip(["alike", "unlike"]) {
        assert_eq!((&line["others"], &line["rehearsals"]), (&json!(others), &json!(3)));
        let [alone, together, change] =
            ["alone", "together", "change"].map(|it| line[it]["mean"].as_f64().unwrap());
        assert!((together / alone / change - 1.0).abs() < 1e-9, "{line:#}");
    }
    // What was played once is not played again.
    let text = said(&rehearse(&[]));
    let first = told["sentences"][0].as_str().unwrap();
    assert!(first.starts_with("At ε 1 joining 2 other sites brings "), "{first}");
    assert!(text.lines().any(|line| line == first), "{text}");
    assert!(text.contains("sites that are alike: alone "), "{text}");
    assert!(text.contains(", with one noise "), "{text}");
    assert!(lines.iter().all(|line| line["one_noise"]["mean"].as_f64() > Some(0.0)), "{told:#}");
    assert!(!sites.at("A").join(".halflight/ledger.jsonl").exists());
    sites.write("A", &own.replace(&target_only(), "method: \"profiled_cnvx_adap\""));
    let text = said(&rehearse(&[]));
    assert!(text.contains("several sites cannot run 'profiled_cnvx_adap' together"), "{text}");
}
