//! What the curator decides about a ledger that lacks something, and how it is written anew.

use std::path::PathBuf;

use super::super::chain::{ChainReading, Link};
use super::super::elsewhere;
use super::super::entry::{AccountId, Entry};
use super::{Ledger, Turn, now};
use crate::error::{Error, Result};
use crate::secret::Secret;

impl Ledger {
    /// The curator accepts that an account has no total, and continues.
    pub fn accept(&mut self, account: &AccountId, why: &str) -> Result<()> {
        let mut turn = self.begin_without_traces()?;
        let account = self.present_id(account)?;
        self.write(&mut turn, &Entry::Accept { account, why: why.to_owned() })
    }

    /// The curator continues without a lost secret: see [`Entry::SecretLost`].
    pub fn accept_lost_secret(&mut self, key: &str, why: &str) -> Result<()> {
        if self.secret.as_ref().is_some_and(|secret| secret.id() == key) {
            return Err(Error::usage(format!("{key} is not lost: it is this user's secret")));
        }
        let mut turn = self.begin_without_traces()?;
        self.write(&mut turn, &Entry::SecretLost { key: key.to_owned(), why: why.to_owned() })
    }

    /// Sets a damaged ledger aside and continues with its good prefix. The new ledger says for ever
    /// that lines are missing, and charges the draws that certificates of lost runs prove.
    pub fn repair(&mut self) -> Result<PathBuf> {
        let lock = self.disk.lock()?;
        self.reading = ChainReading::default();
        self.catch_up()?;
        let mut note = self.note();
        let Some(flaw) = self.flaw_or_traces(note.as_ref(), true)? else {
            return Err(Error::usage("the ledger is not damaged: there is nothing to repair")
                .at(self.path().display().to_string()));
        };
        let (mut ahead, mut text, time) = (self.reading.good_prefix(), String::new(), now());
        ahead.put(time.clone(), &flaw.entry(), &mut text)?;
        for trace in &flaw.traces {
            for entry in trace.entries(ahead.book()) {
                ahead.put(time.clone(), &entry, &mut text)?;
            }
        }
        // Before the repair: a program that dies in between leaves a ledger that still needs one.
        if self.reading.first().is_none()
            && let Some(witness) = &mut self.witness
        {
            witness.retire(&self.disk.remains()?, &ahead.head());
        }
        let aside = self.disk.replace(&lock, &self.reading, &Link { text, head: ahead.head() })?;
        self.catch_up()?;
        self.remember(note.as_mut(), true);
        self.tell_of_all();
        drop((lock, note));
        // The file set aside is as plain as the ledger was.
        self.renew()?;
        Ok(aside)
    }

    /// Rewrites the whole ledger with keyed fingerprints instead of plain ones, after a first line
    /// that says so. One rename replaces the old file, and no copy of it stays. A program killed in
    /// between leaves either the old chain or the new one.
    pub(super) fn rewrite(&mut self, turn: &mut Turn, secret: &Secret) -> Result<()> {
        let old = self.reading.head();
        let entry = Entry::Rewritten {
            lines: old.seq,
            head: old.hash.clone(),
            key: secret.id(),
            why: "fingerprints of private data are kept under the user's secret now".to_owned(),
        };
        let change = |entry: Entry| match entry {
            Entry::Dataset { account, dataset } => {
                Entry::Dataset { account, dataset: dataset.under(secret) }
            }
            // There is one more line before it.
            Entry::Damage { lost_after, lost_until, why, traces } => {
                let lost_until = lost_until.map(|line| line + 1);
                Entry::Damage { lost_after: lost_after + 1, lost_until, why, traces }
            }
            other => other,
        };
        let bytes = self.disk.good(&self.reading)?;
        let (reading, text) = self.reading.rewritten(&bytes, (now(), &entry), change)?;
        let cover = |text: &str| secret.covered(text).into_owned();
        self.disk.rewrite(&turn.lock, &old, &text, &reading.head(), &cover)?;
        if let (Some(witness), Some(first)) = (&self.witness, self.reading.first()) {
            elsewhere::forget(witness.directory(), first);
        }
        self.reading = reading;
        self.tell_of_all();
        // It has another first line, so another note. The old note now asks for a line that no copy
        // of the old ledger has, so no copy can be continued.
        let head = self.reading.head();
        if let (Some(witness), Some(note)) = (&mut self.witness, &mut turn.note) {
            witness.write(note, &head, true);
        }
        turn.note = self.note();
        self.remember(turn.note.as_mut(), true);
        Ok(())
    }
}
