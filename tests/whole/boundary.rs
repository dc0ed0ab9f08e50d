//! What the types cannot rule out inside the crate: the layers that see private records have
//! nowhere to put them. See "What remains" in `src/privacy-inside/private.rs`. And every call that looks at
//! private records outside a mechanism has a line in `assets/guide/looks.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Ways to keep or show something beside the result of a closure.
const WAYS_OUT: [&str; 15] = [
    "unsafe ",
    "static ",
    "thread_local!",
    "Mutex",
    "RwLock",
    "Cell<",
    "OnceLock",
    "LazyLock",
    "Atomic",
    "mpsc",
    "println!",
    "eprint",
    "dbg!",
    "std::fs",
    "Watch::open",
];

/// Constants, the gradients of public candidates, and the ranking of public data in the
/// private role.
const HARMLESS: [&str; 3] = [
    "use std::sync::{Mutex, PoisonError};",
    "let rooms = Mutex::new(Vec::new());",
    "let watch = Watch::open();\n        let mut ranking",
];

/// Openings of the boundary, and how often code outside tests may use them where.
const COUNTED: [(&str, &str, usize); 6] = [
    ("Watch::open()", "src/privacy-inside/private.rs", 0),
    ("Released::new", "src/privacy-inside/private.rs", 5),
    ("Released::new", "src/methods", 0),
    // What public predictors lose on public records, and made-up numbers of examples for tests.
    ("Measure::public(", "src/methods", 2),
    // What is noted of public records, by functions that capture nothing.
    (".once(", "src/methods", 9),
    (".once(", "src/engine", 0),
];

fn files(below: &Path) -> Vec<PathBuf> {
    if below.is_file() {
        return vec![below.to_path_buf()];
    }
    let entries = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| files(&path)).filter(|path| path.extension().is_some()).collect()
}

/// Notes and results of somebody's work have no place there.
#[test]
fn the_top_level_has_only_what_the_readme_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = std::process::Command::new("git").arg("ls-files").current_dir(root).output();
    let Some(listed) = listed.ok().filter(|it| it.status.success()) else {
        println!("LEFT OUT: this is no working copy of git");
        return;
    };
    let listed = String::from_utf8(listed.stdout).unwrap();
    let top = listed.lines().filter_map(|it| it.split('/').next());
    let top: BTreeSet<&str> = top.filter(|it| !it.starts_with('.')).collect();
    let wanted = ["Cargo.lock", "Cargo.toml", "LICENSE", "README.md", "assets", "benches", "src"];
    assert_eq!(top, wanted.into_iter().chain(["tests"]).collect());
}

fn is_rust(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "rs")
}

/// Lines of a file up to the tests, without comments.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let mut marks = text.match_indices("#[cfg(test)]\n");
    let begins_tests = |(at, mark): &(usize, &str)| {
        let line = text[at + mark.len()..].lines().next().unwrap_or_default();
        line.contains("mod ") && line.ends_with('{')
    };
    let end = marks.find(begins_tests).map_or(text.len(), |(at, _)| at);
    let lines = text[..end].lines().filter(|line| !line.contains(": Spec = Spec"));
    let lines = lines.map(|line| line.split("//").next().unwrap_or_default());
    lines.map(|line| line.replace("&'static ", "") + "\n").collect()
}

#[test]
fn layers_that_see_private_records_have_no_place_to_put_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let layers = ["methods", "advice/rank", "model", "evaluation", "engine/choice/decision.rs"];
    for layer in layers {
        let layer = format!("src/{layer}");
        for file in files(&root.join(layer)) {
            // Whole files that are tests, and public data in the private role.
            if ["example.rs", "papers_setup.rs", "trial.rs"].iter().any(|name| file.ends_with(name))
            {
                continue;
            }
            let mut code = code(&file);
            for harmless in HARMLESS {
                code = code.replace(harmless, "");
            }
            let ways = WAYS_OUT.iter().filter(|way| code.contains(**way));
            found.extend(ways.map(|way| format!("{}: {way}", file.display())));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_openings_are_where_the_boundary_lists_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (opening, place, times) in COUNTED {
        let all: String = files(&root.join(place)).iter().map(|file| code(file)).collect();
        assert_eq!(all.matches(opening).count(), times, "{opening} in {place}");
    }
}

/// Code outside `src/methods` that names methods: those that a study compares or an audit scores, the
/// second computation of a certificate's words, and values that are called like a method.
const NAMES_METHODS: [&str; 7] = [
    "src/advice/audit/subject.rs",
    "src/cli/methods.rs",
    "src/studies/commands",
    "src/cli/run.rs",
    "src/advice/rehearsal/player.rs",
    "src/studies",
    "src/verify/wording.rs",
];

/// Facts of a method are in its `Spec`, so a new one is one file and one line in the registry.
#[test]
fn no_code_outside_the_methods_lists_them_by_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = files(&root.join("src"));
    let tests = files_of_tests(&all);
    let elsewhere = |file: &&PathBuf| {
        let harmless = NAMES_METHODS.iter().any(|place| file.starts_with(root.join(place)));
        is_rust(file)
            && !harmless
            && !tests.contains(*file)
            && !file.starts_with(root.join("src/methods"))
    };
    for file in all.iter().filter(elsewhere) {
        let code = code(file);
        for id in halflight::methods::methods().iter().map(|method| method.spec().id) {
            assert!(!code.contains(&format!("\"{id}\"")), "{}: {id}", file.display());
        }
    }
}

/// Ways to let a run draw.
const GRANTS: [&str; 7] = [
    "Grant {",
    "ledger.grant(",
    "ledger.grant_carried(",
    "ledger.admits(",
    "Spender::new(",
    "Spender::carried(",
    "Spender::resumed(",
];

/// A rule about spending then needs to be written only once.
#[test]
fn runs_are_granted_and_get_their_spender_in_one_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = files(&root.join("src"));
    let tests = files_of_tests(&all);
    let mut found = BTreeMap::new();
    for file in all.iter().filter(|file| is_rust(file) && !tests.contains(*file)) {
        let name = file.strip_prefix(root).unwrap().display().to_string();
        // The ledger reads grants, and says how they are written.
        if name.starts_with("src/privacy-inside/") {
            continue;
        }
        for line in code(file).lines() {
            for way in GRANTS.iter().filter(|way| times(line, way) > 0) {
                found.entry(*way).or_insert_with(Vec::new).push(name.clone());
            }
        }
    }
    let files: BTreeSet<&String> = found.values().flatten().collect();
    assert!(files.into_iter().eq(["src/engine/spend.rs"]), "{found:#?}");
    assert_eq!(found.len(), GRANTS.len(), "{found:#?}");
    // A spender without a ledger is for public data alone: pictures, and measuring how long a run takes.
    let of = |way: &str| {
        let engine = all.iter().filter(|it| it.starts_with(root.join("src/engine")) && is_rust(it));
        let used = engine.filter(|it| !tests.contains(*it) && code(it).contains(way));
        used.map(|it| it.file_name().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(of("Spender::rehearsal("), ["spend.rs", "timing.rs"].map(Into::into).into());
    assert_eq!(of("Spend::for_pictures("), ["seeded_run.rs"].map(Into::into).into());
}

/// Crates whose code may use the openings of the boundary. The interface and the commands are not
/// among them; the studies play with public data in the private role.
const INSIDE: [&str; 7] =
    ["advice", "engine", "evaluation", "methods", "privacy", "session", "studies"];

/// The crates below `src`, with their Cargo.toml. Of the program itself, the name is empty.
fn manifests() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = std::fs::read_dir(root.join("src")).unwrap().map(|it| it.unwrap().path());
    let crates = folders.filter(|folder| folder.join("Cargo.toml").exists());
    let named = crates.map(|folder| (folder.file_name().unwrap().display().to_string(), folder));
    let all = named.chain([(String::new(), root.to_owned())]);
    all.map(|(name, folder)| (name, std::fs::read_to_string(folder.join("Cargo.toml")).unwrap()))
        .collect()
}

/// The crates of this repository that one of them names, without those for tests alone.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let tables = manifest
        .split("\n[")
        .filter(|table| table.starts_with("dependencies]") || table.ends_with(".dependencies]"));
    let lines = tables.flat_map(str::lines).filter_map(|line| line.strip_prefix("halflight-"));
    lines.map(|line| line.split(['.', ' ']).next().unwrap().to_owned()).collect()
}

#[test]
fn the_openings_are_named_by_crates_that_may_see_records() {
    let all = manifests();
    let names = |wanted: &str| {
        let named = all.iter().filter(|(_, manifest)| dependencies(manifest).contains(wanted));
        named.map(|(name, _)| name.clone()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names("privacy-inside"), INSIDE.map(str::to_owned).into());
    // Whoever passes the openings on opens the boundary for others.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in files(&root.join("src")).iter().filter(|file| is_rust(file)) {
        if file.starts_with(root.join("src/privacy-inside")) {
            continue;
        }
        let text = code(file);
        for passed in text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
            let modules = ["openings", "private", "spender", "tape", "*"];
            let parts = passed.split(|it: char| !(is_of_a_word(it) || it == '*'));
            let opens = |part: &str| modules.contains(&part) || part.starts_with("Open");
            let is_whole = passed.starts_with("halflight_privacy_inside as");
            let is_part =
                passed.starts_with("halflight_privacy_inside") && parts.clone().any(opens);
            assert!(!is_whole && !is_part, "{}: {passed}", file.display());
        }
    }
}

#[test]
fn what_verifies_depends_on_nothing_that_it_checks() {
    let all = manifests();
    let (_, manifest) = all.iter().find(|(name, _)| name == "verify").unwrap();
    assert_eq!(dependencies(manifest), ["base", "numeric"].map(str::to_owned).into());
    for (name, below) in
        [("base", vec![]), ("numeric", vec!["base"]), ("dp", vec!["base", "numeric"])]
    {
        let (_, manifest) = all.iter().find(|(it, _)| it == name).unwrap();
        let below: BTreeSet<String> = below.into_iter().map(str::to_owned).collect();
        assert_eq!(dependencies(manifest), below, "{name}");
    }
}

/// The names that follow `path` in some code, also in groups such as `{one, two::{a, b}}`.
fn names_after(code: &str, path: &str) -> BTreeSet<String> {
    let is_of_name = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    let name = |text: &str| text.trim_start().chars().take_while(is_of_name).collect();
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices(path) {
        let rest = &code[at + path.len()..];
        found.insert(name(rest));
        let mut depth = 0;
        for (at, letter) in rest.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            if depth == 1 && (letter == '{' || letter == ',') {
                found.insert(name(&rest[at + 1..]));
            }
        }
    }
    found
}

#[test]
fn the_store_needs_no_statements_and_statements_need_no_exports() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/session");
    let facade = code(&root.join("lib.rs"));
    let names = |folder: &str| {
        let all = names_after(&facade, &format!("pub use {folder}::"));
        all.into_iter().filter(|name| !name.is_empty()).chain([folder.to_owned()])
    };
    let exports: BTreeSet<String> = names("exports").collect();
    let both: BTreeSet<String> = exports.iter().cloned().chain(names("statements")).collect();
    assert!(exports.contains("SavedModel") && both.contains("certificate"), "{both:?}");
    for (folder, above) in [("store", both), ("statements", exports)] {
        for file in files(&root.join(folder)).iter().filter(|file| is_rust(file)) {
            let code = code(file);
            let used = ["crate::", "super::"].map(|path| names_after(&code, path));
            let found: Vec<_> = used.iter().flat_map(|used| used.intersection(&above)).collect();
            assert!(found.is_empty(), "{}: {found:?}", file.display());
        }
    }
}

/// What is wrong is said there; which command or key helps is for the interfaces to say.
#[test]
fn the_privacy_layer_knows_no_commands_and_no_keys() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let layers = ["src/privacy-inside", "src/dp"].map(|layer| files(&root.join(layer)));
    let layers = layers.iter().flatten().filter(|file| is_rust(file));
    // A test makes the mechanisms blind.
    for file in layers.filter(|file| !file.ends_with("tests.rs") && !file.ends_with("blind.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let strings = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in strings {
            for word in ["`halflight ", " screen", "--", "HALFLIGHT_"] {
                assert!(!line.contains(word), "{}: {line}", file.display());
            }
        }
    }
}

/// Ways to change a disk.
const CHANGES: [&str; 15] = [
    ".write_all(",
    ".sync_all(",
    ".sync_data(",
    ".set_len(",
    "fs::write(",
    "fs::rename(",
    "fs::copy(",
    "fs::hard_link(",
    "fs::create_dir",
    "fs::remove_",
    "File::create",
    ".create(true)",
    ".create_new(true)",
    ".append(true)",
    "DirBuilder::new",
];

/// Where they may stand in one line with the step itself, or lead to no disk.
const PASSED: [&str; 5] = [
    "step::",
    "options.read(true).write(true).create(true).truncate(false);",
    "out.write_all(text)",
    "out.write_all(text.as_bytes())",
    "self.write_all(&mut turn, &entries)",
];

/// A test stops the program at each of these steps, or loses it with the power.
#[test]
fn whatever_changes_a_disk_passes_the_one_place_that_tests_can_stop() {
    let mut found = Vec::new();
    let all = files(Path::new("src"));
    let tests = files_of_tests(&all);
    for file in all {
        let name = file.display().to_string();
        // The place itself, and what only tests use.
        let is_test = tests.contains(&file);
        if name.starts_with("src/base/files/") || is_test || !is_rust(&file) {
            continue;
        }
        for line in code(&file).lines().take_while(|line| !line.contains("mod tests {")) {
            let changes = CHANGES.iter().any(|way| line.contains(way));
            if changes && !PASSED.iter().any(|way| line.contains(way)) {
                found.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "use `files::step`: {found:#?}");
}

/// Calls that look at private records outside a mechanism, or at a file that may be private.
const LOOKS: [&str; 54] = [
    // Of the types in `src/privacy-inside`.
    "Private::new",
    "Private::share",
    "Private::together",
    "Private::curator",
    "CuratorOnly::reveal",
    "map_unseen",
    "map_usable",
    "try_map",
    "try_transform",
    ".transform(",
    ".curator(",
    ".reveal(",
    ".share()",
    // Of readers and datasets.
    "TableReader::default",
    "TableReader::private",
    "read_for_columns",
    "read_plainly",
    "read_private_bytes",
    ".forgiving",
    "commonest(",
    "dataset::load",
    "load_watched",
    "lookup::glance",
    "FamilyFile::of",
    // Of tables.
    "Compatibility::between",
    "Inspection::of",
    "OrderOfRows::of",
    "Rows::of",
    "Sketch::of",
    "TableProfile::of",
    ".overlap(",
    ".overlaps(",
    "holds_rows",
    ".sketch(",
    "apply_private",
    "apply_to_private",
    "apply_to_private_rows_for_evaluation",
    "bounded_private_rows",
    ".private_rows(",
    "column_kinds",
    "column_named_like_its_values",
    "duplicated_rows",
    "family::dividers",
    "features::extracted",
    "identifiers::in_table",
    "is_mostly_numbers",
    "names_seem_a_record",
    "of_size",
    "persons::by_person",
    "rows_of_each",
    "share_a_person",
    "shares_a_record",
    "table.sample",
    "usable_rows",
];

/// The functions of `Private` and `CuratorOnly` that are mechanisms, or let nothing be seen.
const NO_LOOKS: [&str; 11] = [
    // A planted fault, of programs for tests alone.
    "stolen",
    "release_gaussian",
    "release_sampled_sum",
    "release_laplace",
    "release_direction",
    "select",
    // Of exact values, which stay exact.
    "compute",
    "compute_with",
    "map",
    "zip",
    "transpose",
];

/// Functions of other types that have the name of one of these.
const OTHERS: [(&str, &str); 1] = [("src/data/overlap/mod.rs", ".share()")];

/// How often each call is in a function.
type Calls = BTreeMap<String, usize>;

fn is_of_a_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// How often a line makes this call. A definition is none.
fn times(line: &str, call: &str) -> usize {
    let is_there = |(at, _): &(usize, &str)| {
        let (before, after) = (&line[..*at], &line[at + call.len()..]);
        let begins = !call.starts_with(is_of_a_word)
            || !(before.ends_with(is_of_a_word) || before.ends_with("fn "));
        begins && !(call.ends_with(is_of_a_word) && after.starts_with(is_of_a_word))
    };
    line.match_indices(call).filter(is_there).count()
}

/// The name of the function that begins in a line.
fn function(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let name: String = after.chars().take_while(|it| is_of_a_word(*it)).collect();
    (!before.ends_with(is_of_a_word) && !name.is_empty()).then_some(name)
}

/// Files that only tests use: `#[cfg(test)]` stands before their `mod name;`, or they are called so.
fn files_of_tests(all: &[PathBuf]) -> BTreeSet<PathBuf> {
    let is_test = |file: &&PathBuf| {
        let inside = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(file);
        let is_folder = |name: &str| inside.components().any(|part| part.as_os_str() == name);
        file.ends_with("tests.rs") || is_folder("tests") || is_folder("testing")
    };
    let mut found: BTreeSet<PathBuf> = all.iter().filter(is_test).cloned().collect();
    for file in all.iter().filter(|file| is_rust(file)) {
        let text = std::fs::read_to_string(file).unwrap();
        let module = file.with_extension("");
        let folder = if file.ends_with("mod.rs") || file.ends_with("lib.rs") {
            file.parent().unwrap()
        } else {
            &module
        };
        let text = text.replace("#[cfg(any(test, feature = \"testing\"))]", "#[cfg(test)]");
        for after in text.split("#[cfg(test)]\n").skip(1) {
            let line = after.lines().next().unwrap_or_default();
            if let Some((_, name)) = line.strip_suffix(';').and_then(|it| it.split_once("mod ")) {
                found.insert(folder.join(name).with_extension("rs"));
            }
        }
    }
    found
}

/// The looks of the code, by file and function.
fn looks_in_the_code() -> BTreeMap<(String, String), Calls> {
    let all = files(Path::new("src"));
    let tests = files_of_tests(&all);
    let mut found: BTreeMap<(String, String), Calls> = BTreeMap::new();
    for file in all.iter().filter(|file| is_rust(file) && !tests.contains(*file)) {
        let (name, code) = (file.display().to_string(), code(file));
        let mut inside = None;
        for line in code.lines() {
            inside = function(line).or(inside);
            let Some(inside) = inside.as_ref().filter(|_| !line.trim_start().starts_with("use "))
            else {
                continue;
            };
            for call in LOOKS {
                let count = times(line, call);
                if count > 0 && !OTHERS.contains(&(name.as_str(), call)) {
                    let calls = found.entry((name.clone(), inside.clone())).or_default();
                    *calls.entry(call.trim_matches(['.', '(', ')']).to_owned()).or_default() +=
                        count;
                }
            }
        }
    }
    found
}

/// The lines of `assets/guide/looks.md`, by file and function; without a function for whole files.
fn looks_in_the_guide() -> BTreeMap<(String, Option<String>), Calls> {
    let page = std::fs::read_to_string("assets/guide/looks.md").unwrap();
    let (mut folder, mut found) = ("", BTreeMap::new());
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            folder = heading.split('`').nth(1).unwrap_or_default();
        }
        let cells: Vec<&str> = line.split(" | ").collect();
        let Some(place) = cells[0].strip_prefix("| `").filter(|_| !folder.is_empty()) else {
            continue;
        };
        assert!(cells.len() == 5 && cells.iter().all(|it| !it.trim().is_empty()), "{line}");
        let (place, calls) = place.split_once(": ").expect(line);
        let place: Vec<&str> = place.split('`').collect();
        let key = (format!("{folder}/{}", place[0]), place.get(2).map(|it| (*it).to_owned()));
        let calls = calls.split(", ").map(|call| {
            let (name, times) = call.trim_start_matches('`').split_once('`').expect(line);
            let times = times.trim();
            (name.to_owned(), if times.is_empty() { 1 } else { times.parse().expect(line) })
        });
        assert!(found.insert(key, calls.collect()).is_none(), "two lines: {line}");
    }
    found
}

#[test]
fn the_guide_has_a_line_for_every_look_at_private_records() {
    const PAGE: &str = "assets/guide/looks.md";
    let listed = looks_in_the_guide();
    let mut faults = Vec::new();
    let mut found: BTreeMap<(String, Option<String>), Calls> = BTreeMap::new();
    for ((file, function), calls) in looks_in_the_code() {
        let of_function = (file.clone(), Some(function.clone()));
        let of_file = (file.clone(), None);
        let Some(key) = [of_function, of_file].into_iter().find(|key| listed.contains_key(key))
        else {
            faults.push(format!("{file}: `{function}` looks, by {calls:?}: add it to {PAGE}"));
            continue;
        };
        let all = found.entry(key).or_default();
        for (call, times) in calls {
            *all.entry(call).or_default() += times;
        }
    }
    for ((file, function), calls) in &listed {
        let now = found.remove(&(file.clone(), function.clone())).unwrap_or_default();
        if now != *calls {
            let place = function.as_deref().unwrap_or("the whole file");
            faults.push(format!(
                "{file}: {place} looks by {now:?}, and its line in {PAGE} says {calls:?}"
            ));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(listed.len() > 100, "{} lines", listed.len());
}

/// A new function of these types is a look, or it is said here why it is none.
#[test]
fn every_function_of_private_values_is_known_to_the_list_of_looks() {
    let code = code(Path::new("src/privacy-inside/private.rs"));
    // The openings are written in their trait.
    let (of_trait, of_type) =
        ("\npub trait OpenPrivate<T>", "\nimpl<T> OpenPrivate<T> for Private<T>");
    let code = code.replacen(of_trait, of_type, 1);
    let mut known: Vec<&str> = LOOKS.iter().map(|it| it.trim_matches(['.', '(', ')'])).collect();
    known.extend(NO_LOOKS);
    let mut count = 0;
    for block in code.split("\nimpl<T> ").skip(1) {
        let (head, body) = block.split_once('{').unwrap();
        let is_of_values = head.contains("Private<T>") || head.contains("CuratorOnly<");
        // Only this file has the key of `inside`.
        if !is_of_values || head.contains("Debug") || head.contains("Inside<T> for") {
            continue;
        }
        let body = body.split("\n}").next().unwrap();
        for name in body.lines().filter_map(function) {
            let is_known = known.iter().any(|it| it.rsplit("::").next() == Some(name.as_str()));
            assert!(is_known, "`{name}` is neither in LOOKS nor in NO_LOOKS");
            count += 1;
        }
    }
    assert!(count >= 16, "{count} functions");
}

/// Ways to write a file.
const WRITERS: [&str; 4] = ["files::write", "private_file(", "session.save(", ".save(&self"];

/// Files of code that write without [`halflight::session::named`], and where.
const OWN_PLACES: [(&str, &str); 4] = [
    ("src/cli/mod.rs", "files with names of the program, in a folder that the user named"),
    ("src/cli/tutorial.rs", "a folder that is new"),
    ("src/cli/job_array.rs", "a script in a folder of the workspace"),
    ("src/cli/data.rs", "the session itself, as `--write` says"),
];

/// A file that a person names is written only where nothing is lost.
#[test]
fn commands_and_the_interface_check_every_file_that_a_person_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for place in ["src/cli", "src/tui", "src/engine/worker", "src/engine/predict.rs"] {
        for file in files(&root.join(place)).into_iter().filter(|file| is_rust(file)) {
            let name = file.strip_prefix(root).unwrap().display().to_string();
            let code = code(&file);
            let is_known = OWN_PLACES.iter().any(|(known, _)| *known == name);
            if WRITERS.iter().any(|it| code.contains(it)) && !is_known {
                assert!(code.contains("named::check("), "{name} writes without `named::check`");
                found.push(name);
            }
        }
    }
    assert!(found.len() >= 7, "{found:?}");
}

/// The floors of the crates, from the top down: a crate stands one floor above the highest that it
/// uses. Behind each are the crates that it uses.
fn floors() -> String {
    let all: BTreeMap<String, BTreeSet<String>> = manifests()
        .into_iter()
        .map(|(name, manifest)| (name, dependencies(&manifest)))
        .filter(|(name, _)| name != "testing")
        .collect();
    fn floor(name: &str, all: &BTreeMap<String, BTreeSet<String>>) -> usize {
        // The studies use the program itself, which has no name of its own.
        let below = all[name].iter().map(|below| floor(below, all) + 1).max().unwrap_or(0);
        if name == "studies" { floor("", all) + 1 } else { below }
    }
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (name, below) in &all {
        let uses: Vec<&str> = below.iter().map(String::as_str).collect();
        let name_shown = if name.is_empty() { "the program" } else { name };
        lines.push((floor(name, &all), format!("{name_shown:<15} {}", uses.join(" "))));
    }
    lines.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let lines = lines.into_iter().map(|(floor, line)| format!("{floor:>2}  {}\n", line.trim_end()));
    lines.collect()
}

#[test]
fn the_guide_has_the_picture_of_the_floors() {
    let page = std::fs::read_to_string("assets/guide/code.md").unwrap();
    let floors = floors();
    assert!(page.contains(&format!("```text\n{floors}```")), "the picture is now:\n{floors}");
}

/// The packages that a selection of crates is tested with, each with its features. Cargo compiles a
/// package once for each set of features, and with it everything above.
fn packages(selection: &[&str]) -> BTreeSet<String> {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p} {f}"])
        .args(["--edges", "normal,build,dev,features"])
        .args(selection)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| line.trim_end_matches(" (*)").trim_end().to_owned());
    lines.filter(|line| line.contains(" v")).collect()
}

/// So that a test of one crate uses what the tests of the others have compiled.
#[test]
fn every_crate_is_tested_with_the_features_of_all() {
    let all = packages(&["--workspace"]);
    for (name, _) in manifests() {
        // These build in seconds, and use few of the packages.
        if ["base", "exchange", "plot", "testing", "widgets"].contains(&&*name) {
            continue;
        }
        let name = if name.is_empty() { "halflight".into() } else { format!("halflight-{name}") };
        let own = format!("{name} v");
        let of_crate = packages(&["--package", &name]);
        let apart: Vec<_> =
            of_crate.difference(&all).filter(|line| !line.starts_with(&own)).collect();
        assert!(
            apart.is_empty(),
            "{name} is tested with other features: ask for those of the workspace in \
             src/testing/Cargo.toml: {apart:#?}"
        );
    }
}

/// A doc comment that begins so needs the item above, which an editor's hover does not show.
const OF_ANOTHER: [&str; 7] = ["The same", "Its", "Those", "Whether it", "Their", "It", "They"];

/// A number says whose it is and on what records: "public error" has meant five of them.
#[test]
fn no_text_calls_a_number_public_without_saying_of_what() {
    let numbers = ["error", "loss", "accuracy", "auc", "rmse", "mean absolute error"];
    let of = |whose: &str| numbers.map(|number| format!("{whose} {number}"));
    let bare = [&of("public")[..], &of("private"), &["best public".to_owned()]].concat();
    let is_bare = |line: &str| {
        let line = line.to_lowercase();
        bare.iter().any(|words| {
            let ends = line.match_indices(words).map(|(at, _)| at + words.len());
            ends.into_iter().any(|end| !line[end..].starts_with(char::is_alphanumeric))
        })
    };
    let all = files(Path::new("src"));
    let tests = files_of_tests(&all);
    let sources = all.iter().filter(|file| is_rust(file) && !tests.contains(*file));
    let mut texts: Vec<(&PathBuf, String)> = sources.map(|file| (file, code(file))).collect();
    let guide = files(Path::new("assets/guide"));
    // These two list the names of earlier versions.
    let pages = guide.iter().filter(|file| file.extension().is_some_and(|it| it == "md"));
    let pages = pages.filter(|file| !file.ends_with("words.md") && !file.ends_with("changes.md"));
    texts.extend(pages.map(|file| (file, std::fs::read_to_string(file).unwrap())));
    assert!(texts.len() > 300 && is_bare("least public error 3") && !is_bare("private losses"));
    let found = texts.iter().flat_map(|(file, text)| {
        let lines = text.lines().filter(|line| is_bare(line));
        lines.map(move |line| format!("{}: {line}", file.display()))
    });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// As where a text went over two lines of the source and was joined without its backslash.
#[test]
fn no_text_has_a_gap_in_it() {
    let has_gap = |line: &str| {
        let parts = line.split("     ").map(str::trim).filter(|part| !part.is_empty());
        let parts: Vec<&str> = parts.collect();
        parts.windows(2).any(|pair| {
            pair[0].ends_with(char::is_alphanumeric) && pair[1].starts_with(char::is_alphabetic)
        })
    };
    assert!(has_gap("\"larger than the                  smallest\"") && !has_gap("let x = 1;"));
    let all = files(Path::new("src"));
    let tests = files_of_tests(&all);
    let sources = all.iter().filter(|file| is_rust(file) && !tests.contains(*file));
    let found = sources.flat_map(|file| {
        let lines = code(file).lines().filter(|line| has_gap(line)).map(str::to_owned).collect();
        let lines: Vec<String> = lines;
        lines.into_iter().map(move |line| format!("{}: {line}", file.display()))
    });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_doc_comment_names_its_subject() {
    let mut found = Vec::new();
    for file in files(Path::new("src")).iter().filter(|file| is_rust(file)) {
        let (text, mut before) = (std::fs::read_to_string(file).unwrap(), "");
        for line in text.lines().map(str::trim) {
            let begins = |words: &&str| {
                let rest = line.strip_prefix("/// ").and_then(|line| line.strip_prefix(*words));
                rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            };
            if !before.starts_with("///") && OF_ANOTHER.iter().any(begins) {
                found.push(format!("{}: {line}", file.display()));
            }
            before = line;
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
