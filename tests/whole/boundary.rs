//! What the types cannot rule out inside the crate: the layers that see private records have
//! nowhere to put them. See "What remains" in `src/privacy/private.rs`.

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
const HARMLESS: [&str; 4] = [
    "use std::sync::{Mutex, PoisonError};",
    "let found = Mutex::new(Vec::new());",
    "let rooms = Mutex::new(Vec::new());",
    "let watch = Watch::open();\n        let mut ranking",
];

/// Openings of the boundary, and how often code outside tests may use them where.
const COUNTED: [(&str, &str, usize); 6] = [
    ("Watch::open()", "src/privacy/private.rs", 0),
    ("Released::new", "src/privacy/private.rs", 5),
    ("Released::new", "src/adapt", 0),
    // What public predictors lose on public records.
    ("Measure::public(", "src/adapt", 1),
    // What is noted of public records, by functions that capture nothing.
    (".once(", "src/adapt", 7),
    (".once(", "src/engine", 1),
];

fn files(below: &Path) -> Vec<PathBuf> {
    if below.is_file() {
        return vec![below.to_path_buf()];
    }
    let entries = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| files(&path)).filter(|path| path.extension().is_some()).collect()
}

/// Its lines up to the tests, without comments.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.contains(": Spec = Spec"));
    let lines = lines.map(|line| line.split("//").next().unwrap_or_default());
    lines.map(|line| line.replace("&'static ", "") + "\n").collect()
}

#[test]
fn layers_that_see_private_records_have_no_place_to_put_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let layers = ["adapt", "rank", "model", "evaluation", "engine/choice/decision.rs"];
    for layer in layers {
        let layer = format!("src/{layer}");
        for file in files(&root.join(layer)) {
            // Whole files that are tests; and the ranking of public data in the private role.
            if ["example.rs", "papers_setup.rs"].iter().any(|name| file.ends_with(name)) {
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

/// What is wrong is said there; which command or key helps is for the interfaces to say.
#[test]
fn the_privacy_layer_knows_no_commands_and_no_keys() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in files(&root.join("src/privacy")).iter().filter(|it| !it.ends_with("tests.rs")) {
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
    for file in files(Path::new("src")) {
        let name = file.display().to_string();
        // The place itself, and what only tests use.
        let is_test = name.ends_with("tests.rs")
            || ["null_records.rs", "unordered.rs"].iter().any(|it| name.ends_with(it));
        let is_code = file.extension().is_some_and(|ending| ending == "rs");
        if name.starts_with("src/files/") || is_test || !is_code {
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
