//! What the guide says is true: its paths exist, its links lead somewhere, and its commands run.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::{program, support};

/// Blocks that need more than this machine, by their pages.
const ELSEWHERE: [(&str, &str); 8] = [
    ("clusters", "needs a Slurm cluster"),
    ("clusters", "needs a Slurm cluster"),
    ("sharing", "needs a key"),
    ("sites", "needs three sites"),
    ("sites", "needs a shared disk"),
    ("sites", "needs Flower at each site and at a server"),
    ("sites", "needs NVFlare at each site and at a server"),
    ("watching", "needs another machine"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/guide")
}

/// The pages below a folder, by name.
fn pages(below: &Path) -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "md") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            pages.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    pages.sort();
    pages
}

struct Block {
    /// What stands behind `sh`: nothing where it can run anywhere.
    needs: Option<String>,
    lines: String,
}

/// The fenced blocks of a page that a shell runs.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(word)) if word == "sh" || word.starts_with("sh ") => {
                let needs = word.strip_prefix("sh elsewhere: ").map(str::to_owned);
                assert!(word == "sh" || needs.is_some(), "{line}");
                open = Some(Block { needs, lines: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => writeln!(block.lines, "{line}").unwrap(),
            _ => {}
        }
    }
    blocks
}

fn halflight(arguments: &[&str]) -> Output {
    program::halflight().args(arguments).output().unwrap()
}

#[test]
fn every_path_in_the_guide_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = |name: &str| std::fs::read_to_string(root.join("assets/guide").join(name)).unwrap();
    let pages = page("code.md") + &page("contributing.md") + &page("items.md");
    let is_path = |word: &&str| {
        ["src/", "tests/", "assets/"].iter().any(|folder| word.starts_with(folder))
            && !word.contains([' ', '*'])
    };
    let paths: Vec<&str> = pages.split('`').skip(1).step_by(2).filter(is_path).collect();
    assert!(paths.len() > 60, "{paths:?}");
    for path in paths {
        assert!(root.join(path).exists(), "{path}");
    }
}

#[test]
fn every_link_of_readme_and_guide_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let own = pages(&folder()).into_iter().map(|(name, text)| (name, text, folder()));
    let proofs = folder().join("proofs");
    let proofs = pages(&proofs).into_iter().map(|(name, text)| (name, text, proofs.clone()));
    let all = own.chain(proofs).chain([("README".to_owned(), readme, root.to_owned())]);
    let mut count = 0;
    for (name, text, place) in all {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap();
            if path.is_empty() || path.starts_with("http") || path.contains(char::is_whitespace) {
                continue;
            }
            assert!(place.join(path).exists(), "{name} links to {link}");
            count += 1;
        }
    }
    assert!(count > 100, "{count} links");
}

#[test]
fn the_program_carries_every_page_and_shows_it() {
    let list = String::from_utf8(halflight(&["guide"]).stdout).unwrap();
    let proofs = String::from_utf8(halflight(&["guide", "proofs"]).stdout).unwrap();
    for (name, text) in pages(&folder()) {
        assert!(list.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}:\n{list}");
        let source = halflight(&["guide", &name, "--markdown"]).stdout;
        assert!(String::from_utf8(source).unwrap() == text, "{name} is another page");
        let shown = String::from_utf8(halflight(&["guide", &name]).stdout).unwrap();
        let title = text.lines().next().unwrap().trim_start_matches("# ");
        assert!(shown.starts_with(&title.chars().take(20).collect::<String>()), "{shown}");
        assert!(!shown.contains('\u{1b}') && !shown.contains("]("), "{shown}");
    }
    for (name, _) in pages(&folder().join("proofs")) {
        assert!(proofs.contains(&format!("proofs/{name}")), "{name}:\n{proofs}");
    }
}

/// In a terminal a long page goes through the pager, laid out for the terminal's width; a short one
/// does not.
#[cfg(unix)]
#[test]
fn long_pages_go_through_the_pager_of_the_user() {
    let directory = tempfile::tempdir().unwrap();
    let start = |topic: &str, pager: &str| {
        let pager = [("PAGER", pager)];
        support::Screen::start_with(directory.path(), &["guide", topic], 70, 20, &pager)
    };
    let mut screen = start("screens", "head -n 3");
    assert_eq!(screen.wait_for_end(), 0);
    assert!(screen.text().contains("The screens and their keys"), "{}", screen.text());
    assert!(!screen.text().contains("Keys\n"), "{}", screen.text());
    assert!(screen.raw().contains("\x1b[1;33m"), "headings have a colour");
    // A pager that is not there is done without.
    let mut screen = start("screens", "no-such-pager");
    assert_eq!(screen.wait_for_end(), 0);
    assert!(screen.text().contains("allow runs although"), "{}", screen.text());
    assert!(screen.text().lines().all(|line| line.chars().count() <= 70), "{}", screen.text());
}

#[test]
fn an_unknown_page_is_an_error_that_names_near_ones() {
    for (wrong, right) in [("epsilom", "epsilon"), ("slurm", "clusters"), ("ledger", "budgets")] {
        let output = halflight(&["guide", wrong]);
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(words.contains(right), "{words}");
    }
    let words = String::from_utf8(halflight(&["guide", "qqqqqqqq"]).stderr).unwrap();
    assert!(words.contains("`halflight guide` lists the pages"), "{words}");
}

/// A proof says which tests attain its bounds and which reference numbers check it. They exist.
#[test]
fn every_test_that_a_proof_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for (name, text) in pages(&folder().join("proofs")) {
        for part in ["## Statement", "## Adjacency", "## Proof", "## What is rounded", "## Tests"] {
            // The accountant's page has a part for each of its statements instead.
            let several = name == "accountant";
            assert!(several || text.contains(part), "{name} lacks {part}");
        }
        // Neighbours are the same everywhere: tables have no order.
        let relation = text.split("## Adjacency").nth(1).unwrap().split("\n## ").next().unwrap();
        assert!(name == "order" || relation.contains("[order](order.md)"), "{name}: {relation}");
        let mut named = 0;
        for item in text.split("\n- `").skip(1) {
            let item = item.split("\n\n").next().unwrap();
            let words: Vec<&str> = item.split('`').step_by(2).collect();
            let Some(file) = words
                .first()
                .filter(|word| Path::new(word).extension().is_some_and(|ending| ending == "rs"))
            else {
                continue;
            };
            let code = std::fs::read_to_string(root.join(file))
                .unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
            let tests = words[1..]
                .iter()
                .filter(|word| word.matches('_').count() > 1 && !word.contains(['/', '.', ':']));
            for test in tests {
                assert!(code.contains(&format!("fn {test}(")), "{name}: no {test} in {file}");
                named += 1;
            }
        }
        assert!(named > 0, "{name} names no test");
        count += named;
    }
    assert!(count > 100, "{count} tests are named");
}

#[test]
fn what_cannot_run_here_is_a_short_list() {
    let all = pages(&folder());
    let found: Vec<(&str, String)> = all
        .iter()
        .flat_map(|(name, text)| blocks(text).into_iter().map(move |it| (name.as_str(), it)))
        .filter_map(|(name, block)| Some((name, block.needs?)))
        .collect();
    let wanted = ELSEWHERE.map(|(name, needs)| (name, needs.to_owned()));
    assert_eq!(found, wanted);
}

/// Every page has a copy of the practice files to itself.
#[cfg(unix)]
#[test]
fn every_command_of_the_guide_runs() {
    let binary = Path::new(env!("CARGO_BIN_EXE_halflight"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let mut run = BTreeSet::new();
    for (name, text) in pages(&folder()) {
        let script: String = blocks(&text)
            .iter()
            .filter(|it| it.needs.is_none())
            .map(|it| it.lines.as_str())
            .collect();
        if script.is_empty() {
            continue;
        }
        let start = std::time::Instant::now();
        let directory = tempfile::tempdir().unwrap();
        let practice = directory.path().join("practice");
        let written = program::halflight().args(["demo", "--files"]).arg(&practice).output();
        assert!(written.unwrap().status.success());
        let output = program::shell()
            .args(["-eu", "-c", &script])
            .current_dir(&practice)
            .env("PATH", &path)
            .env("TMPDIR", directory.path())
            .env("HOME", directory.path())
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}:\n{script}\n{said}\n{words}");
        println!("{name}: {:.1} s", start.elapsed().as_secs_f64());
        run.insert(name);
    }
    assert!(run.len() >= 10, "{run:?}");
}
