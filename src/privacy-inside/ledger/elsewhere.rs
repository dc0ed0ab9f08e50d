//! What this user's other ledgers charged on the same records.
//!
//! Every workspace has a ledger of its own. So a file that is used in two workspaces is charged in
//! both, and neither total holds the other. Whoever removes a ledger begins again at 0. Therefore
//! *cards* lie beside what this user's programs remember of a ledger ([`super::witness`]): one for
//! each file and each selection of rows that a ledger knows, with the place of the ledger and the
//! total of the account. Other ledgers read them, and say so beside their own total. Nothing is
//! refused, because somebody may have good reasons for two ledgers, and budgets hold for one.
//!
//! `ROWS.HASH.card` is named by the hash of a keyed fingerprint and by that of the ledger's first
//! line. So cards are found by their names, and a ledger that was moved writes its own cards again.
//! Data that come with the program have no secrets and are left out.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::account::Account;
use super::book::Book;
use super::chain::{ChainReading, sha256};
use super::entry::{DatasetRecord, SharedNoise};
use super::total::TotalStanding;
use crate::accountant::{delta_words, round_up};
use crate::files::{self, step};

/// The charges on the same records in another ledger of this user, as its card states them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChargedElsewhere {
    /// The folder of that ledger.
    pub folder: PathBuf,
    /// Whether the other ledger is still there. The card does not say it.
    #[serde(skip)]
    pub is_there: bool,
    /// The total there, or the known part of it.
    pub epsilon: f64,
    /// Whether more may have been spent.
    pub at_least: bool,
    /// The δ at which it is stated.
    pub delta: f64,
    /// On which conditions the total there holds. Cards of earlier builds do not say it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub conditions: BTreeSet<SharedNoise>,
    /// Whom it protects. Cards of earlier builds do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whom: Option<String>,
}

impl ChargedElsewhere {
    /// What to say beside a total of the same records, for the curator; nothing if there are none.
    pub fn note(account: &Account) -> Option<String> {
        let all = &account.elsewhere;
        let (folder, spent) = (Self::most(all)?.folder.display(), Self::sum(account));
        let gone = all.iter().filter(|it| !it.is_there).count();
        let removed = "What was drawn stays drawn";
        let moved = "if that ledger was moved, work where it is now";
        Some(match (all.len(), gone) {
            (1, 0) => format!(
                "the same records were also charged in another ledger, {folder}: {spent}. This \
                 total does not include it, and each budget is for one ledger"
            ),
            (1, _) => format!(
                "the same records were also charged in a ledger that is not at {folder} any more: \
                 {spent}. This total does not include it. {removed}; {moved}"
            ),
            (many, 0) => format!(
                "the same records were also charged in {many} other ledgers, together {spent}; \
                 most in {folder}. This total does not include them, and each budget is for one \
                 ledger"
            ),
            (many, gone) => format!(
                "the same records were also charged in {many} other ledgers, of which {gone} \
                 cannot be found any more: together {spent}; most in {folder}. This total does not \
                 include them. {removed}"
            ),
        })
    }

    /// A note on all charges elsewhere for everybody: without a path.
    pub fn note_for_others(account: &Account) -> Option<String> {
        let spent = Self::sum(account);
        match account.elsewhere.len() {
            0 => None,
            1 => Some(format!(
                "what another ledger of the same user charged on these records: {spent}"
            )),
            many => Some(format!(
                "what {many} other ledgers of the same user charged on these records: {spent}"
            )),
        }
    }

    fn most(all: &[Self]) -> Option<&Self> {
        all.iter().max_by(|one, other| one.epsilon.total_cmp(&other.epsilon))
    }

    /// The charges of all other ledgers: ε and δ of several guarantees add up. Where they protect others
    /// than the account does, it is said whom.
    fn sum(account: &Account) -> String {
        let all = &account.elsewhere;
        let least = if all.iter().any(|it| it.at_least) { "at least " } else { "" };
        let epsilon: f64 = all.iter().map(|it| it.epsilon).sum();
        let delta: f64 = all.iter().map(|it| it.delta).sum();
        let (own, unknown) = (account.whom(), "whom an earlier build did not note");
        let whom = all.iter().map(|it| it.whom.as_deref().unwrap_or(unknown));
        let whom: BTreeSet<&str> = whom.filter(|it| *it != own).collect();
        let whom = whom.into_iter().collect::<Vec<_>>().join(" or ");
        let whom = if whom.is_empty() { whom } else { format!(" for {whom}") };
        let conditions = Self::conditions(all);
        format!("{least}ε {} at δ {}{whom}{conditions}", round_up(epsilon, 4), delta_words(delta))
    }

    /// On which conditions these totals hold.
    fn conditions(all: &[Self]) -> String {
        SharedNoise::conditions(all.iter().flat_map(|it| &it.conditions).copied())
    }
}

/// The cards that lie in a folder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cards {
    folder: PathBuf,
    /// Rows, ledger.
    names: Vec<(String, String)>,
}

impl Cards {
    /// Cards of other ledgers than the one with this first line.
    pub(super) fn of_others(folder: &Path, own: Option<&str>) -> Self {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (rows, ledger) = name.strip_suffix(END)?.split_once('.')?;
            (own != Some(ledger)).then(|| (rows.to_owned(), ledger.to_owned()))
        });
        let mut names: Vec<(String, String)> = named.collect();
        names.sort();
        Self { folder: folder.to_owned(), names }
    }

    /// The charges on records of these datasets, one for each ledger.
    pub(super) fn charges(&self, datasets: &[DatasetRecord]) -> Vec<ChargedElsewhere> {
        let mut found: Vec<(&str, ChargedElsewhere)> = Vec::new();
        let rows: Vec<String> = datasets.iter().flat_map(rows_of).collect();
        for (known, ledger) in self.names.iter().filter(|(known, _)| rows.contains(known)) {
            let Some(charged) = card(&self.folder, known, ledger) else { continue };
            // An account has a card for each of its fingerprints. Two ledgers that were removed from one
            // folder may have charged alike.
            if !found.iter().any(|it| it.0 == ledger && it.1 == charged) {
                found.push((ledger, charged));
            }
        }
        found.into_iter().map(|(_, charged)| charged).collect()
    }

    /// Adds to every account of a book what other ledgers charged on its records.
    pub(super) fn show_in(self, book: &mut Book) {
        for account in &mut book.accounts {
            account.elsewhere = self.charges(&account.datasets);
        }
        book.cards = self;
    }
}

/// The folders of all ledgers that cards in this folder name, where they still are.
pub fn ledgers(memory: &Path) -> Vec<PathBuf> {
    let cards = Cards::of_others(memory, None);
    let mut found: Vec<(&str, PathBuf)> = Vec::new();
    for (rows, ledger) in &cards.names {
        if found.iter().any(|(known, _)| known == ledger) {
            continue;
        }
        if let Some(card) = card(memory, rows, ledger).filter(|card| card.is_there) {
            found.push((ledger, card.folder));
        }
    }
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// An unreadable card says nothing; the next charge writes it again.
fn card(memory: &Path, rows: &str, ledger: &str) -> Option<ChargedElsewhere> {
    let text = fs::read(path(memory, rows, ledger)).ok()?;
    let card: ChargedElsewhere = serde_json::from_slice(&text).ok()?;
    let is_there = first_line(&card.folder).as_deref() == Some(ledger);
    Some(ChargedElsewhere { is_there, ..card })
}

/// Writes the cards of an account. They help where they can be written; a failure is no error.
pub(super) fn tell(memory: &Path, ledger: &Path, reading: &ChainReading, account: &Account) {
    let Some(first) = reading.first() else { return };
    let largest = account.runs.iter().map(|run| run.grant.target.delta).fold(0.0, f64::max);
    let delta = account.budget.map_or(largest, |budget| budget.delta);
    let Ok(total) = account.total(delta) else { return };
    let folder = fs::canonicalize(ledger).unwrap_or_else(|_| ledger.to_owned());
    let at_least = matches!(total.standing, TotalStanding::AtLeast | TotalStanding::Nothing);
    let (epsilon, conditions, whom) = (total.epsilon(), total.conditions, Some(account.whom()));
    let is_there = true;
    let card = ChargedElsewhere { folder, is_there, epsilon, at_least, delta, conditions, whom };
    let Ok(text) = serde_json::to_vec(&card) else { return };
    for rows in account.datasets.iter().flat_map(rows_of) {
        let _ = files::write_private(&path(memory, &rows, first), &text);
    }
}

/// Removes the cards of a ledger that was written anew, with all of its charges, and has another first
/// line now. Those of one that lost lines stay: nobody else remembers what these charged.
pub(super) fn forget(memory: &Path, first: &str) {
    let cards = Cards::of_others(memory, None);
    for (rows, ledger) in cards.names.iter().filter(|(_, ledger)| ledger == first) {
        let _ = step::remove(&path(memory, rows, ledger));
    }
}

const END: &str = ".card";

fn path(memory: &Path, rows: &str, first: &str) -> PathBuf {
    memory.join(format!("{rows}.{first}{END}"))
}

/// Names for the file of a dataset and for its selected rows.
fn rows_of(dataset: &DatasetRecord) -> impl Iterator<Item = String> + use<> {
    let is_secret = dataset.is_secret() && !dataset.is_plain();
    let both = [&dataset.content, &dataset.view].map(|it| sha256(it.as_bytes())[..32].to_owned());
    both.into_iter().filter(move |_| is_secret)
}

/// The hash of the first line of the ledger in a folder.
fn first_line(folder: &Path) -> Option<String> {
    let mut line = String::new();
    BufReader::new(File::open(folder.join(super::disk::LEDGER)).ok()?).read_line(&mut line).ok()?;
    let (_, hash) = line.trim_end().strip_suffix("\"}")?.rsplit_once("\"hash\":\"")?;
    Some(hash.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::samples::{event, grant, record, run};
    use crate::ledger::{Budget, Entry, Grant, Ledger, RunOutcome};

    /// A ledger that charged a run on this dataset.
    fn charged(folder: &Path, memory: &Path, dataset: &DatasetRecord) -> Ledger {
        let mut ledger = Ledger::open_witnessed(folder, memory).unwrap();
        let account = ledger.register(dataset).unwrap();
        ledger.set_budget(&account, Budget::new(1.0, 1e-5)).unwrap();
        let Entry::Grant(grant) = grant("run", &account.0, vec![event(0.1, 2)]) else { panic!() };
        ledger.grant(grant).unwrap();
        ledger
    }

    fn dataset(name: &str) -> DatasetRecord {
        record(&format!("/data/{name}.csv"), &format!("content {name}"), &format!("view {name}"))
    }

    fn told(book: &Book) -> Vec<String> {
        book.accounts.iter().filter_map(ChargedElsewhere::note).collect()
    }

    #[test]
    fn two_ledgers_with_the_same_records_know_of_each_other_and_others_do_not() {
        let place = tempfile::tempdir().unwrap();
        let (one, two, memory) =
            (place.path().join("one"), place.path().join("two"), place.path().join("memory"));
        for folder in [&one, &two] {
            fs::create_dir(folder).unwrap();
        }
        let mut first = charged(&one, &memory, &dataset("a"));
        assert_eq!(told(&first.book().unwrap()), [""; 0]);
        let mut second = charged(&two, &memory, &dataset("a"));
        let words = told(&second.book().unwrap());
        assert_eq!(words.len(), 1);
        assert!(words[0].contains("one: ε ") && words[0].contains("another ledger"), "{words:?}");
        assert_eq!(told(&first.book().unwrap()).len(), 1);
        let account = second.book().unwrap().accounts[0].clone();
        let mut remarks = account.remarks(&account.total(1e-6).unwrap());
        assert!(remarks.any(|remark| remark.contains("does not include it")));
        // Only what was drawn stays charged.
        let other = |ledger: &mut Ledger| ledger.book().unwrap().accounts[0].elsewhere[0].epsilon;
        assert!(other(&mut second) > 0.0);
        first.settle(&run("run"), &[0], RunOutcome::Stopped, false).unwrap();
        assert_eq!(other(&mut second), 0.0);
        let mut third = Ledger::open_witnessed(&one, &memory).unwrap();
        third.register(&dataset("b")).unwrap();
        let book = third.book().unwrap();
        assert_eq!(book.accounts[1].elsewhere, []);
    }

    #[test]
    fn a_removed_ledger_is_remembered_and_a_moved_one_is_no_other() {
        let place = tempfile::tempdir().unwrap();
        let (folder, moved, memory) =
            (place.path().join("it"), place.path().join("moved"), place.path().join("memory"));
        fs::create_dir(&folder).unwrap();
        drop(charged(&folder, &memory, &dataset("a")));
        fs::rename(&folder, &moved).unwrap();
        let mut ledger = Ledger::open_witnessed(&moved, &memory).unwrap();
        assert_eq!(told(&ledger.book().unwrap()), [""; 0]);
        fs::remove_dir_all(&moved).unwrap();
        let book = Book::of_none(&memory);
        let unopened = Account::unopened(&dataset("a"), &book);
        let words = ChargedElsewhere::note(&unopened).unwrap();
        assert!(words.contains("not at"), "{words}");
        fs::create_dir(&folder).unwrap();
        let mut again = charged(&folder, &memory, &dataset("a"));
        let words = told(&again.book().unwrap());
        assert!(words[0].contains("any more: ε "), "{words:?}");
    }

    #[test]
    fn ledgers_that_were_removed_from_one_folder_count_each() {
        let place = tempfile::tempdir().unwrap();
        let (folder, memory) = (place.path().join("it"), place.path().join("memory"));
        for _ in 0..2 {
            fs::create_dir(&folder).unwrap();
            drop(charged(&folder, &memory, &dataset("a")));
            fs::remove_dir_all(&folder).unwrap();
        }
        let account = Account::unopened(&dataset("a"), &Book::of_none(&memory));
        assert_eq!(account.elsewhere.len(), 2);
        let note = ChargedElsewhere::note(&account).unwrap();
        assert!(note.contains("2 other ledgers, of which 2 cannot be found"), "{note}");
    }

    #[test]
    fn the_condition_of_one_noise_is_told_with_a_charge_and_earlier_cards_open() {
        let place = tempfile::tempdir().unwrap();
        let (folder, memory) = (place.path().join("it"), place.path().join("memory"));
        fs::create_dir(&folder).unwrap();
        let mut ledger = charged(&folder, &memory, &dataset("a"));
        let account = ledger.register(&dataset("a")).unwrap().0;
        let card = || {
            let account = Account::unopened(&dataset("a"), &Book::of_none(&memory));
            (
                ChargedElsewhere::note(&account).unwrap(),
                ChargedElsewhere::note_for_others(&account).unwrap(),
            )
        };
        let said = |condition: &str| {
            let (note, for_others) = card();
            note.contains(condition) && for_others.ends_with(condition)
        };
        let before = card();
        assert!(!said("without their keys"), "{before:?}");
        let Entry::Grant(grant) = grant("joint", &account, vec![event(0.1, 2)]) else { panic!() };
        let one_noise = Some(SharedNoise { sites: 10, may_collude: 3 });
        ledger.grant(Grant { one_noise, ..grant }).unwrap();
        let condition = ", while at least 7 of 10 sites add their shares of the noise and tell nobody, \
                         and nobody can compute masks without their keys";
        assert!(said(condition), "{:?}", card());
        // What drew nothing is on no condition, and a card is then as earlier builds wrote it.
        ledger.settle(&run("joint"), &[0], RunOutcome::Stopped, false).unwrap();
        assert_eq!(card(), before);
        for file in fs::read_dir(&memory).unwrap().flatten() {
            let is_card = file.file_name().to_string_lossy().ends_with(END);
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            assert!(!is_card || !text.contains("conditions"), "{text}");
        }
    }

    #[test]
    fn many_other_ledgers_are_one_note_with_their_sum() {
        let of = |epsilon, is_there| ChargedElsewhere {
            folder: PathBuf::from(format!("/{epsilon}")),
            is_there,
            epsilon,
            at_least: !is_there,
            delta: 1e-6,
            conditions: BTreeSet::new(),
            whom: Some("a single record".to_owned()),
        };
        let with = |all: &[ChargedElsewhere]| {
            let account = Account::unopened(&dataset("a"), &Book::default());
            Account { elsewhere: all.to_vec(), ..account }
        };
        let note = |all: &[ChargedElsewhere]| ChargedElsewhere::note(&with(all)).unwrap();
        let all = [of(1.5, true), of(2.5, true), of(0.5, true)];
        let together = "3 other ledgers, together ε 4.5 at δ 3e-6; most in /2.5";
        assert!(note(&all).contains(together), "{}", note(&all));
        let gone = note(&[of(1.5, true), of(2.5, false)]);
        assert!(gone.contains("2 other ledgers, of which 1"), "{gone}");
        assert!(gone.contains("together at least ε 4 at δ 2e-6; most in /2.5"), "{gone}");
        let others = ChargedElsewhere::note_for_others(&with(&all)).unwrap();
        assert!(others.contains("ε 4.5 at δ 3e-6") && !others.contains('/'), "{others}");
        assert_eq!(ChargedElsewhere::note(&with(&[])), None);
        // A sum for others than those that the account protects says so.
        let mut mixed = all;
        mixed[0].whom = None;
        mixed[1].whom = Some("persons (by 'patient')".to_owned());
        let mixed = note(&mixed);
        let whom = "at δ 3e-6 for persons (by 'patient') or whom an earlier build did not note";
        assert!(mixed.contains(whom), "{mixed}");
    }

    #[test]
    fn data_that_come_with_the_program_leave_no_card() {
        let place = tempfile::tempdir().unwrap();
        let memory = place.path().join("memory");
        let demo = DatasetRecord { origin: "builtin:demo".to_owned(), ..dataset("a") };
        drop(charged(place.path(), &memory, &demo));
        let book = Book::of_none(&memory);
        assert_eq!(Account::unopened(&demo, &book).elsewhere, []);
        assert_eq!(Account::unopened(&dataset("a"), &book).elsewhere, []);
    }
}
