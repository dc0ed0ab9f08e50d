//! The power fails after any step of a command.
//!
//! The steps of a command are recorded as they are carried out. From them follows what a disk may
//! hold after a failure at each moment, by POSIX: the content of a file is certain as it was when
//! the file was last synced, a name in a folder as it was when the folder was. Whatever came
//! later is there, or not, or in part: each write and each name for itself, in any order; a
//! write may be torn, or its place filled with zeros.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::chance::{Dice, is_long};
use crate::failpoints::{Scene, scenes};
use crate::invariants::{self as must, Drawn};
use crate::place::{said, words};

/// Disks that `cargo test` looks at.
const FEW: usize = 200;
/// Of each moment in the long test, beside the one with nothing and the one with everything.
const DISKS: usize = 20;

/// Changes that are not certain, of which every choice is tried: 2⁸ disks.
const MOST_OPEN: usize = 8;

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Cut(usize),
}

impl Change {
    fn make(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write(at, bytes) => {
                content.resize(content.len().max(at + bytes.len()), 0);
                content[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Self::Cut(length) => content.resize(*length, 0),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Content {
    certain: Vec<u8>,
    since: Vec<Change>,
}

impl Content {
    fn now(&self) -> Vec<u8> {
        let mut content = self.certain.clone();
        self.since.iter().for_each(|change| change.make(&mut content));
        content
    }
}

/// What stands under a name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Entry {
    Folder,
    File(usize),
}

type Names = BTreeMap<PathBuf, Entry>;

/// Paths with what they hold; a folder holds nothing.
type Found = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// One change of the names in a folder; a `None` is taken away.
#[derive(Debug, Clone)]
struct Renaming(Vec<(PathBuf, Option<Entry>)>);

#[derive(Debug, Clone, Default)]
struct Disk {
    top: PathBuf,
    files: Vec<Content>,
    now: Names,
    certain: Names,
    since: Vec<Renaming>,
}

impl Disk {
    /// A disk on which all of this has been for long.
    fn of(top: &Path) -> Self {
        let mut disk = Self { top: top.to_owned(), ..Self::default() };
        for path in must::all(top) {
            let entry = if path.is_dir() {
                Entry::Folder
            } else {
                let certain = fs::read(&path).unwrap();
                disk.files.push(Content { certain, since: Vec::new() });
                Entry::File(disk.files.len() - 1)
            };
            disk.certain.insert(path, entry);
        }
        disk.now = disk.certain.clone();
        disk
    }

    fn rename(&mut self, changes: Vec<(PathBuf, Option<Entry>)>) {
        for (path, entry) in &changes {
            match entry {
                Some(entry) => self.now.insert(path.clone(), *entry),
                None => self.now.remove(path),
            };
        }
        self.since.push(Renaming(changes));
    }

    fn new_file(&mut self, path: &Path, certain: Vec<u8>) {
        self.files.push(Content { certain: Vec::new(), since: vec![Change::Write(0, certain)] });
        self.rename(vec![(path.to_owned(), Some(Entry::File(self.files.len() - 1)))]);
    }

    fn file(&mut self, path: &Path) -> Option<&mut Content> {
        match self.now.get(path) {
            Some(Entry::File(file)) => Some(&mut self.files[*file]),
            _ => None,
        }
    }

    /// Takes a recorded step.
    fn take(&mut self, step: &Value) {
        if step["done"] != true {
            return;
        }
        let path = |key: &str| PathBuf::from(step[key].as_str().unwrap_or_default());
        let (from, to) = (path("path"), path("to"));
        if !from.starts_with(&self.top) {
            return;
        }
        match step["step"].as_str().unwrap() {
            "open" if step["new"] == true => self.new_file(&from, Vec::new()),
            "make_folder" => {
                let missing = from.ancestors().take_while(|it| *it != self.top);
                let missing: Vec<&Path> =
                    missing.filter(|it| !self.now.contains_key(*it)).collect();
                for folder in missing.into_iter().rev() {
                    self.rename(vec![(folder.to_owned(), Some(Entry::Folder))]);
                }
            }
            "write" => {
                let bytes = STANDARD.decode(step["bytes"].as_str().unwrap()).unwrap();
                let at = step["at"].as_u64().unwrap() as usize;
                self.file(&from).unwrap().since.push(Change::Write(at, bytes));
            }
            "cut" => {
                let length = step["to"].as_u64().unwrap() as usize;
                self.file(&from).unwrap().since.push(Change::Cut(length));
            }
            "sync" => {
                let file = self.file(&from).unwrap();
                *file = Content { certain: file.now(), since: Vec::new() };
            }
            "sync_folder" => {
                let is_here = |change: &Renaming| {
                    change.0.iter().any(|(path, _)| path.parent() == Some(&from))
                };
                let (here, elsewhere) =
                    std::mem::take(&mut self.since).into_iter().partition(is_here);
                self.since = elsewhere;
                let here: Vec<Renaming> = here;
                for change in &here {
                    put(&mut self.certain, change);
                }
            }
            "rename" => {
                let moved: Vec<_> =
                    self.now.iter().filter(|(path, _)| path.starts_with(&from)).collect();
                let changes = moved.into_iter().flat_map(|(path, entry)| {
                    let below = path.strip_prefix(&from).unwrap();
                    let name =
                        if below.as_os_str().is_empty() { to.clone() } else { to.join(below) };
                    [(path.clone(), None), (name, Some(*entry))]
                });
                let changes = changes.collect();
                self.rename(changes);
            }
            "link" => {
                let entry = self.now.get(&from).copied();
                self.rename(vec![(to, entry)]);
            }
            "copy" => {
                let content = self.file(&from).unwrap().now();
                self.new_file(&to, content);
            }
            "remove" | "remove_folder" => {
                let gone = self.now.keys().filter(|path| path.starts_with(&from));
                let gone = gone.map(|path| (path.clone(), None)).collect();
                self.rename(gone);
            }
            _ => {}
        }
    }

    /// What may be found after a failure now.
    fn after_a_failure(&self, luck: Luck, dice: &mut Dice) -> Found {
        let names = luck.choose(&self.since, dice);
        self.found(&names, |file| luck.content(&self.files[file], dice))
    }

    /// What is found where these names reached the disk, and files have this content.
    fn found(&self, since: &[Renaming], mut content: impl FnMut(usize) -> Vec<u8>) -> Found {
        let mut names = self.certain.clone();
        for change in since {
            put(&mut names, change);
        }
        let mut contents = BTreeMap::new();
        let mut found = BTreeMap::new();
        for (path, entry) in &names {
            // A name needs the folder that it stands in.
            let above = path.ancestors().skip(1).take_while(|it| *it != self.top);
            if above.into_iter().any(|folder| !names.contains_key(folder)) {
                continue;
            }
            let content = match entry {
                Entry::Folder => None,
                Entry::File(file) => {
                    Some(contents.entry(*file).or_insert_with(|| content(*file)).clone())
                }
            };
            found.insert(path.clone(), content);
        }
        found
    }

    /// Everything that may be found now, but for torn writes: every choice among the changes that
    /// are not certain. `None` where there are too many of them.
    fn every(&self) -> Option<BTreeSet<Found>> {
        let open: usize = self.files.iter().map(|file| file.since.len()).sum();
        let open = open + self.since.len();
        if open > MOST_OPEN {
            return None;
        }
        let one = |choice: usize| {
            let mut bits = (0..open).map(|bit| choice >> bit & 1 == 1);
            let mut is_there = || bits.next().unwrap_or(false);
            let names: Vec<Renaming> = self.since.iter().filter(|_| is_there()).cloned().collect();
            let contents: Vec<Vec<u8>> = self
                .files
                .iter()
                .map(|file| {
                    let mut content = file.certain.clone();
                    let made = file.since.iter().filter(|_| is_there());
                    made.for_each(|change| change.make(&mut content));
                    content
                })
                .collect();
            self.found(&names, |file| contents[file].clone())
        };
        Some((0..1 << open).map(one).collect())
    }
}

fn put(names: &mut Names, change: &Renaming) {
    for (path, entry) in &change.0 {
        match entry {
            Some(entry) => names.insert(path.clone(), *entry),
            None => names.remove(path),
        };
    }
}

/// How much of what is not certain reached the disk.
#[derive(Debug, Clone, Copy)]
enum Luck {
    Nothing,
    Everything,
    /// The first so many changes.
    Some,
    /// Any of them.
    Any,
}

impl Luck {
    fn choose<T: Clone>(self, changes: &[T], dice: &mut Dice) -> Vec<T> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Everything => changes.to_vec(),
            Self::Some => changes[..dice.below(changes.len() + 1)].to_vec(),
            Self::Any => changes.iter().filter(|_| dice.below(2) == 0).cloned().collect(),
        }
    }

    fn content(self, file: &Content, dice: &mut Dice) -> Vec<u8> {
        let mut content = file.certain.clone();
        for change in self.choose(&file.since, dice) {
            match change {
                Change::Write(at, bytes) if matches!(self, Self::Any) => {
                    let kept = dice.below(bytes.len() + 1);
                    match dice.below(4) {
                        // The length is on the disk, and not the rest of the bytes.
                        0 => Change::Write(
                            at,
                            [&bytes[..kept], &vec![0; bytes.len() - kept]].concat(),
                        ),
                        1 => Change::Write(at, bytes[..kept].to_vec()),
                        _ => Change::Write(at, bytes),
                    }
                    .make(&mut content);
                }
                change => change.make(&mut content),
            }
        }
        content
    }
}

/// Draws that were made before a step, as the marks of runs and their transcripts were written.
fn count(step: &Value, drawn: &mut Drawn) {
    let path = PathBuf::from(step["path"].as_str().unwrap_or_default());
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if step["step"] != "write" {
        return;
    }
    let bytes = STANDARD.decode(step["bytes"].as_str().unwrap()).unwrap();
    if let Some(run) = name.strip_suffix(".lock").filter(|run| *run != "ledger") {
        let text = String::from_utf8(bytes).unwrap();
        let counts = text.split_whitespace().skip(1).map(|count| count.parse().unwrap());
        drawn.insert(run.to_owned(), counts.collect());
    } else if name == "transcript" && path.to_string_lossy().contains("/sweep/") {
        // Its program keeps no mark: each frame is a draw.
        let run = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        if !bytes.starts_with(b"halflight") {
            let event = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
            let counts = drawn.entry(run).or_default();
            counts.resize(counts.len().max(event + 1), 0);
            counts[event] += 1;
        }
    }
}

#[test]
fn whenever_the_power_fails_every_draw_stays_charged() {
    let seed = Dice::of_the_seed("power loss").next();
    let scenes = scenes();
    let moments: Vec<Vec<Value>> =
        scenes.iter().map(|it| it.place.begin().steps(&it.command)).collect();
    let all: usize = moments.iter().map(Vec::len).sum();
    let (disks, whole, next) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let broken = Mutex::new(Vec::new());
    let work = || {
        while let Some((scene, steps)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            scenes.get(index).zip(moments.get(index))
        } {
            let mut dice = Dice::new(seed, scene.name);
            let mut disk = Disk::of(scene.place.begin().top());
            let mut drawn = must::drawn(&scene.place);
            for (at, step) in steps.iter().enumerate() {
                disk.take(step);
                count(step, &mut drawn);
                let look = |found: &Found, what: &str, dice: &mut Dice| {
                    // What becomes of a run afterwards takes a program, and with it time.
                    let goes_on = dice.below(if is_long() { 10 } else { 40 }) == 0;
                    let looked = AssertUnwindSafe(|| fail(scene, found, &drawn, goes_on));
                    if catch_unwind(looked).is_err() {
                        let after = format!("{} after step {}: {what}", scene.name, at + 1);
                        broken.lock().unwrap().push(after);
                    }
                    disks.fetch_add(1, Ordering::Relaxed);
                };
                for luck in lots(&mut dice, all) {
                    let found = disk.after_a_failure(luck, &mut dice);
                    look(&found, &format!("{luck:?}"), &mut dice);
                }
                // A short command in full, and in the long test all of them where they are.
                if (is_long() || scene.name == "budget")
                    && let Some(every) = disk.every()
                {
                    whole.fetch_add(1, Ordering::Relaxed);
                    for found in &every {
                        look(found, "every choice", &mut dice);
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| drop([scope.spawn(work), scope.spawn(work)]));
    let (disks, whole) = (disks.into_inner(), whole.into_inner());
    println!("{all} moments, {disks} disks; {whole} moments in full");
    let broken = broken.into_inner().unwrap();
    assert!(broken.is_empty(), "what must hold does not: {broken:#?}");
    assert!(disks > FEW / 2 && whole > 0);
}

/// The disks to be looked at after one step.
fn lots(dice: &mut Dice, moments: usize) -> Vec<Luck> {
    if is_long() {
        let some = (0..DISKS).map(|lot| if lot % 4 == 0 { Luck::Some } else { Luck::Any });
        [Luck::Nothing, Luck::Everything].into_iter().chain(some).collect()
    } else if dice.below(moments) < FEW {
        vec![[Luck::Nothing, Luck::Everything, Luck::Some, Luck::Any][dice.below(4)]]
    } else {
        Vec::new()
    }
}

/// Looks at what is found when the machine starts again.
fn fail(scene: &Scene, found: &Found, drawn: &Drawn, goes_on: bool) {
    let place = &scene.place;
    place.clear();
    for (path, content) in found {
        let mode = match content {
            None => {
                fs::create_dir_all(path).unwrap();
                0o700
            }
            Some(bytes) => {
                fs::write(path, of_another_start(bytes)).unwrap();
                0o600
            }
        };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    if matches!(scene.name, "repair" | "renew") {
        let known = must::book(place);
        if known.damaged {
            place.succeeds(&words("ledger repair"));
        }
    } else {
        must::nothing_is_lost(place, drawn);
    }
    if goes_on {
        for run in must::open_runs(place) {
            let resumed = place.run(&words(&format!("run --resume .halflight/runs/{run}")));
            assert!(!said(&resumed).contains("panicked"), "{}", said(&resumed));
            if !resumed.status.success() {
                place.succeeds(&words(&format!("ledger settle {run}")));
            }
        }
        must::nothing_is_lost(place, drawn);
    }
}

/// The machine was started again since: notes that were not synced are not to be trusted.
fn of_another_start(bytes: &[u8]) -> Vec<u8> {
    let Ok(boot) = fs::read_to_string("/proc/sys/kernel/random/boot_id") else {
        return bytes.to_vec();
    };
    match bytes.strip_prefix(boot.trim().as_bytes()) {
        Some(rest) => [&vec![b'0'; boot.trim().len()][..], rest].concat(),
        None => bytes.to_vec(),
    }
}
