//! Private rows that the ledger knows, in datasets that are said to be public.
//!
//! A private file is easily opened as public by mistake, or as a copy under another name. The ledger
//! knows its rows, so that nothing of them has to be shown before a plan refuses them. That an account
//! of the ledger has these rows depends on all of them, and every refusal of a plan says it to
//! everybody; how many rows these are is exact and not said here.

use std::time::Duration;

use super::dataset::Loaded;
use super::workspace::Workspace;
use crate::data::overlap::Overlap;
use crate::error::{Error, Result};
use crate::privacy::Secret;
use crate::privacy::ledger::{AccountId, Book, DatasetRecord};

/// How long a ledger is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// Rows of an account in a dataset that is said to be public.
#[derive(Debug, Clone)]
pub struct KnownRows {
    pub account: AccountId,
    /// How many these are; if they are not [`Overlap::shared`], it may be by chance.
    pub overlap: Overlap,
}

/// The accounts that have rows of a dataset that is said to be public and that nobody vouches for.
pub fn in_accounts(public: &Loaded, book: &Book, secret: &Secret) -> Vec<KnownRows> {
    if public.definition.declared_public {
        return Vec::new();
    }
    let view = public.definition.fingerprint.as_ref().map(|plain| secret.fingerprint(plain));
    for account in &book.accounts {
        let mut known = account.datasets.iter();
        // The same rows, or the whole file from which they were selected.
        let same = |known: &&DatasetRecord| {
            [&known.view, &known.content].into_iter().any(|it| Some(it) == view.as_ref())
        };
        if let Some(known) = known.find(same) {
            let rows = known.rows.min(public.rows as u64);
            let overlap = Overlap { share: 1.0, rows, shared: true, copied: true };
            return vec![KnownRows { account: account.id.clone(), overlap }];
        }
    }
    let Some(rows) = public.sketch(secret) else { return Vec::new() };
    let found = book.overlaps(rows).into_iter();
    found.map(|(account, overlap)| KnownRows { account, overlap }).collect()
}

/// What is wrong with a dataset that is said to be public and has rows of an account.
pub fn words(public: &Loaded, book: &Book, account: &AccountId) -> String {
    let known = book.account(account).and_then(|account| account.datasets.first());
    let known = known.map_or_else(String::new, |known| format!(" ('{}')", known.name));
    let name = &public.definition.name;
    format!(
        "'{name}' is declared public and holds rows of the private account {}{known}",
        account.0
    )
}

/// What can be done about private rows in this public dataset.
pub fn cure(public: &Loaded) -> String {
    format!(
        "declare '{0}' private, or take these rows out of it; if they were published meanwhile, \
         write `declared_public: true` on '{0}': the certificate will say so",
        public.definition.name
    )
}

/// The accounts of a ledger, asked about several datasets.
pub struct KnownAccounts(Result<Option<(Book, Secret)>>);

impl KnownAccounts {
    /// The accounts of a workspace, read once.
    pub fn of(workspace: &Workspace) -> Self {
        let asked = || {
            if !workspace.folder().is_dir() {
                return Ok(None);
            }
            // A machine that died may hold it for ever.
            let book = workspace.existing_ledger()?.glance(PATIENCE)?.map_err(|holder| {
                Error::failed(format!("the ledger is held by {holder}"))
                    .cure("read the dataset again later")
            })?;
            if book.accounts.is_empty() {
                return Ok(None);
            }
            let secret = workspace.secret()?.secret;
            Ok(Some((book, secret)))
        };
        Self(asked())
    }

    /// Whether there is nothing to compare with.
    pub fn is_empty(&self) -> bool {
        matches!(self.0, Ok(None))
    }

    /// Why nobody can say of any dataset that it is not one of the ledger's: some of these are under the
    /// secret of somebody else. Every plan is refused then. That is no reason to hide public data, and one
    /// not to hand on numbers of them.
    pub fn unknown(&self) -> Option<Error> {
        let (book, secret) = self.0.as_ref().ok()?.as_ref()?;
        book.check_secret(secret).err()
    }

    /// Why nothing of a dataset that is said to be public is shown or used: the ledger knows its rows
    /// as private ones, or cannot be asked.
    pub fn refusal(&self, public: &Loaded) -> Option<Error> {
        if public.record.is_some() || public.definition.declared_public {
            return None;
        }
        let (book, secret) = match &self.0 {
            Ok(known) => known.as_ref()?,
            Err(error) => {
                let name = &public.definition.name;
                let part = format!("nobody can say whether rows of '{name}' are private");
                return Some(error.clone().within(&part));
            }
        };
        let mut found = in_accounts(public, book, secret).into_iter();
        let found = found.find(|it| it.overlap.shared)?;
        Some(Error::refused(words(public, book, &found.account)).cure(cure(public)))
    }
}
