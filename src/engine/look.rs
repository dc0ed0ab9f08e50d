//! Records looks at exact numbers of private data in every ledger that knows the data.
//!
//! The ledger beside a file or a session need not be the one that is charged for its rows. So the
//! given workspaces are asked, that of the current folder, and every other ledger that this user's
//! programs remember. No ledger is created for a look. What is seen is shown only after every one of
//! these ledgers has noted it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::data::{DatasetDefinition, Role, Source};
use crate::error::{Doing, Error, Result};
use crate::privacy::Watch;
use crate::privacy::ledger::{AccountId, Book, DatasetRecord, RunId, elsewhere};
use crate::privacy::openings::OpenWatch;
use crate::session::certificate::Certificate;
use crate::session::dataset::canonical;
use crate::session::preferences::UserDirectories;
use crate::session::{Loaded, Workspace, dataset, secret};

/// A look, and the accounts in whose ledgers it belongs.
pub struct Look<'a> {
    what: &'a str,
    ledgers: Vec<AskedLedger>,
}

/// A ledger that may know the rows.
struct AskedLedger {
    workspace: Workspace,
    book: Book,
    /// Whether somebody named its workspace.
    is_named: bool,
    /// The accounts that note the look.
    accounts: BTreeSet<AccountId>,
}

/// Records a look at a loaded private dataset before it happens.
pub fn note(loaded: &Loaded, workspace: &Workspace, what: &str) -> Result<()> {
    if loaded.record.is_none() {
        return Ok(());
    }
    let mut look = Look::new(what, &[])?;
    look.at(loaded, workspace)?;
    look.write()
}

/// Notes a look at a file that is in no session but may be private.
pub fn note_file(
    path: &Path,
    workspace: &Workspace,
    source: impl FnOnce(String) -> Source,
    what: &str,
) -> Result<()> {
    let mut look = Look::new(what, &[workspace])?;
    look.at_file(path, source)?;
    look.write()
}

/// The view of the user at the keyboard: open, unless the user asked for a sealed one.
pub fn view(sealed: bool) -> Watch {
    if sealed { Watch::sealed() } else { Watch::open() }
}

/// Seals a view, or opens it again.
pub fn seal(view: &Watch, sealed: bool) {
    view.seal(sealed);
}

impl<'a> Look<'a> {
    /// Opens every ledger that may know the rows.
    pub fn new(what: &'a str, named: &[&Workspace]) -> Result<Self> {
        let mut look = Self { what, ledgers: Vec::new() };
        for workspace in named {
            look.ask((*workspace).clone(), true)?;
        }
        look.ask(Workspace::of(Path::new("."))?, true)?;
        let memory = UserDirectories::of_environment().map(|places| places.ledgers());
        for folder in memory.map(|memory| elsewhere::ledgers(&memory)).unwrap_or_default() {
            let workspace = Workspace::with_folder(&folder, &folder);
            match look.ask(workspace, false) {
                // It was removed meanwhile.
                Err(_) if !folder.is_dir() => {}
                asked => asked?,
            }
        }
        Ok(look)
    }

    fn ask(&mut self, workspace: Workspace, is_named: bool) -> Result<()> {
        let real = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let folder = real(workspace.folder());
        let is_known = self.ledgers.iter().any(|it| real(it.workspace.folder()) == folder);
        if is_known || !workspace.folder().is_dir() {
            return Ok(());
        }
        let book = workspace.book().map_err(not_noted)?;
        if !book.accounts.is_empty() {
            let accounts = BTreeSet::new();
            self.ledgers.push(AskedLedger { workspace, book, is_named, accounts });
        }
        Ok(())
    }

    /// Adds the accounts of a private dataset that was loaded in this workspace.
    pub fn at(&mut self, loaded: &Loaded, workspace: &Workspace) -> Result<()> {
        if loaded.record.is_none() {
            return Ok(());
        }
        self.ask(workspace.clone(), true)?;
        for file in loaded.definition.source.files() {
            self.ask(Workspace::of_session(&workspace.resolve(file))?, true)?;
        }
        self.find(&loaded.definition, workspace.base(), Some(loaded))
    }

    /// Adds the accounts of a file that may be private.
    pub fn at_file(&mut self, path: &Path, source: impl FnOnce(String) -> Source) -> Result<()> {
        let path = std::path::absolute(path).doing("find the file", path)?;
        self.ask(Workspace::of_session(&path)?, true)?;
        let source = source(path.display().to_string());
        let definition = DatasetDefinition::new("file", Role::Private, source);
        self.find(&definition, Path::new("."), None)
    }

    /// Each secret gives the rows other fingerprints, so they are read once for each.
    fn find(
        &mut self,
        definition: &DatasetDefinition,
        base: &Path,
        loaded: Option<&Loaded>,
    ) -> Result<()> {
        let records = |loaded: &Loaded| -> Vec<DatasetRecord> {
            loaded.record.iter().chain(&loaded.parts).cloned().collect()
        };
        let mut read: Vec<Vec<DatasetRecord>> = loaded.map(records).into_iter().collect();
        for ledger in &mut self.ledgers {
            let folder = ledger.workspace.folder();
            let key = secret::find_existing(folder)?.map(|found| found.secret.id());
            let is_under = |it: &&Vec<DatasetRecord>| it.first().is_some_and(|it| it.key == key);
            let known = read.iter().find(is_under).cloned();
            let workspace = Workspace::with_folder(base, folder);
            let loaded = known.is_none().then(|| dataset::load(definition, &workspace));
            let records = match (known, loaded) {
                (Some(known), _) => known,
                (None, Some(Ok(loaded))) => records(&loaded),
                // The ledger may know the file as it is read in another way, with declared names or
                // width: then its path says whose rows these are.
                (None, _) => {
                    let files = definition.source.files().into_iter();
                    let paths: Vec<String> =
                        files.map(|file| canonical(&workspace.resolve(file))).collect();
                    let is_of = |it: &DatasetRecord| {
                        let mut own = it.origin.split(" + ");
                        own.any(|own| paths.iter().any(|path| path == own))
                    };
                    let all = ledger.book.accounts.iter();
                    let named = all.filter(|it| it.datasets.iter().any(is_of));
                    ledger.accounts.extend(named.map(|account| account.id.clone()));
                    continue;
                }
            };
            for account in records.iter().flat_map(|record| ledger.book.find_all(record)) {
                // Data that come with the program have no secrets, so only their own session tells.
                let tells =
                    ledger.is_named || account.datasets.iter().any(DatasetRecord::is_secret);
                if tells {
                    ledger.accounts.insert(account.id.clone());
                }
            }
            if !read.iter().any(|it| it == &records) {
                read.push(records);
            }
        }
        Ok(())
    }

    /// Adds the accounts that trained the model in this folder. Single rows are not recognised as
    /// those of an account, and the exact score of one training record tells about it. So every
    /// exact score of the model belongs there, unless its rows are said to be public.
    pub fn by_model(&mut self, folder: &Path) -> Result<()> {
        let mut trained = Vec::new();
        if let Some(certificate) = Certificate::read(folder)? {
            let starts = certificate.start.into_iter().flat_map(|start| start.runs);
            trained.extend(starts.map(|run| run.account));
            trained.push(certificate.account);
        }
        let run = folder.file_name().map(|name| RunId(name.to_string_lossy().into_owned()));
        for AskedLedger { book, accounts, .. } in &mut self.ledgers {
            let run = run.as_ref().and_then(|run| book.run(run));
            for id in run.map(|run| &run.grant.account).into_iter().chain(&trained) {
                accounts.extend(book.account(id).map(|account| account.id.clone()));
            }
        }
        Ok(())
    }

    /// Writes it into each of these ledgers. Nothing may be shown after an error.
    pub fn write(self) -> Result<()> {
        for AskedLedger { workspace, accounts, .. } in &self.ledgers {
            for account in accounts {
                let mut ledger = workspace.ledger().map_err(not_noted)?;
                ledger.record_unprotected(account, self.what).map_err(not_noted)?;
            }
        }
        Ok(())
    }
}

/// What is seen without a note would be missing in later certificates.
fn not_noted(error: Error) -> Error {
    let has_cure = error.cure_text().is_some();
    let error = error.within("a ledger that may know these rows cannot note the look");
    if has_cure {
        return error;
    }
    error.cure("make the ledger readable and writable for you, or look where it is")
}
