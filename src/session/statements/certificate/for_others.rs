//! The copy of a certificate that leaves the workspace.
//!
//! One account of the ledger holds all data with common rows, so whatever is the same in the
//! certificates of two runs because their account is the same tells that their data have rows in
//! common. The copy therefore has random names for accounts, drawn anew for each copy. It names no
//! line of the ledger, and nothing of the account's earlier history. Inside one copy, equal
//! accounts keep equal names, so sums over one account can still be checked.

use serde_json::json;

use super::words::Past;
use super::{Ancestor, Certificate};
use crate::error::Result;
use crate::privacy::ledger::{AccountId, Book, RunId};

/// The entry of the registry for decisions outside the guarantee.
const UNTOLD_LOOKS: &str = "not told here: the ledger of the curator knows";

impl Certificate {
    /// The certificate as others may have it.
    pub fn for_others(&self) -> Result<Self> {
        let mut copy = self.clone();
        for account in self.accounts() {
            copy.rename(account, &AccountId::alias()?);
        }
        copy.ledger_line = None;
        copy.not_covered = self.limits(self.numbers(), &Past::Untold);
        let looks = "/accounting/pre_processing_eda_hyperparameter_tuning";
        if let Some(looks) = copy.registry.pointer_mut(looks) {
            *looks = json!(UNTOLD_LOOKS);
        }
        // Earlier versions named the account that paid for a score.
        if let Some(elsewhere) = copy.score.as_mut().and_then(|it| it.elsewhere.as_mut()) {
            elsewhere.account = None;
        }
        Ok(copy)
    }

    /// The δ of its guarantee, and the ε of the run's own noise.
    fn numbers(&self) -> Option<(f64, f64)> {
        let all = self.guarantee.as_ref()?;
        Some((all.delta, self.of_this_run.as_ref().unwrap_or(all).epsilon))
    }

    /// Puts the names of this ledger in place of aliases, as far as the ledger knows the runs.
    pub(crate) fn take_names(&mut self, book: &Book) {
        let starts = self.start.iter().flat_map(|start| &start.runs);
        let named = [(&self.run, &self.account)].into_iter();
        let named = named.chain(starts.map(|run| (&run.run, &run.account)));
        for (alias, account) in names_of_aliases(named, book) {
            self.rename(&alias, &account);
        }
    }

    /// Every account that it names, once.
    pub(crate) fn accounts(&self) -> Vec<&AccountId> {
        let starts = self.start.iter().flat_map(|start| &start.runs);
        let mut all: Vec<&AccountId> = vec![&self.account];
        for Ancestor { account, .. } in starts {
            if !all.contains(&account) {
                all.push(account);
            }
        }
        all
    }

    /// Gives an account another name, also in sentences.
    pub(crate) fn rename(&mut self, from: &AccountId, into: &AccountId) {
        let starts = self.start.iter_mut().flat_map(|start| &mut start.runs);
        for account in std::iter::once(&mut self.account).chain(starts.map(|run| &mut run.account))
        {
            if account == from {
                *account = into.clone();
            }
        }
        for sentence in &mut self.also {
            *sentence = sentence
                .replace(&format!("of account {},", from.0), &format!("of account {},", into.0));
        }
    }
}

/// The aliases of these runs' accounts, with the names that a ledger has for them, as far as it knows
/// the runs.
pub fn names_of_aliases<'a>(
    runs: impl Iterator<Item = (&'a RunId, &'a AccountId)>,
    book: &Book,
) -> Vec<(AccountId, AccountId)> {
    runs.filter(|(_, account)| account.is_alias())
        .filter_map(|(run, alias)| Some((alias.clone(), book.account_of_run(run)?.id.clone())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{certified, facts};
    use super::super::{AccountStanding, Facts};
    use super::*;
    use crate::privacy::ledger::LedgerLine;
    use crate::privacy::ledger::RowOrder;

    fn of(account: &str, line: u64) -> Certificate {
        let standing = AccountStanding {
            line: Some(LedgerLine { seq: line, hash: "ab".repeat(32) }),
            looks: vec![format!("at nine: exact numbers were seen while run r{line} worked")],
            gaps: vec![format!("line {line} was lost")],
            claims: vec![format!("opacus with ε {line}")],
            elsewhere: Some(format!("what another ledger charged: ε {line}")),
            former: vec![AccountId("acc-0".into())],
        };
        certified(Facts { account: AccountId(account.into()), standing, ..facts(1.0, 1e-6) })
    }

    /// Two runs of one account and two of different ones must look alike.
    #[test]
    fn a_copy_for_others_tells_nothing_of_the_account_and_its_past() {
        let text = |it: &Certificate| serde_json::to_string(it).unwrap();
        let (one, two) = (of("acc-00000000aa", 17), of("acc-00000000aa", 18));
        let copies =
            [one.for_others().unwrap(), two.for_others().unwrap(), one.for_others().unwrap()];
        for copy in &copies {
            for told in
                ["acc-", "seq", "r17", "r18", "was lost", "opacus", "another ledger", "nine"]
            {
                assert!(!text(copy).contains(told), "{told}: {}", text(copy));
            }
            assert!(copy.account.is_alias(), "{:?}", copy.account);
        }
        assert!(copies[0].account != copies[1].account && copies[0].account != copies[2].account);
        // Nothing else depends on the account: the copies agree with that of an account without a past.
        let mut fresh = certified(facts(1.0, 1e-6)).for_others().unwrap();
        fresh.account = copies[0].account.clone();
        assert_eq!(text(&fresh), text(&copies[0]));
        // Whatever weakens this run itself is still said.
        let limits = &copies[0].not_covered;
        assert!(limits.iter().any(|it| it.contains("several records")), "{limits:?}");
        let watched = certified(Facts { peeked: true, ..facts(1.0, 0.01) }).for_others().unwrap();
        let limits = watched.not_covered.join("\n");
        assert!(limits.contains("(peeked)") && limits.contains("1/n"), "{limits}");
    }

    #[test]
    fn accounts_of_one_copy_stay_equal_or_different() {
        let mut it = of("acc-00000000aa", 17);
        let ancestor = |account: &str| Ancestor {
            run: it.run.clone(),
            account: AccountId(account.into()),
            method: "dp_sgd".into(),
            records: 9,
            person: None,
            guarantee: it.guarantee.clone().unwrap(),
            mechanisms: Vec::new(),
            peeked: false,
            order: RowOrder::Secret,
        };
        let runs = vec![ancestor("acc-00000000aa"), ancestor("acc-00000000bb")];
        it.also = vec!["9 records of account acc-00000000bb, in run".to_owned()];
        it.start = Some(crate::Lineage { runs, declared_public: None });
        let copy = it.for_others().unwrap();
        let runs = &copy.start.as_ref().unwrap().runs;
        assert!(runs[0].account == copy.account && runs[1].account != copy.account);
        assert!(copy.also[0].contains(&runs[1].account.0), "{:?}", copy.also);
        assert!(!serde_json::to_string(&copy).unwrap().contains("acc-"));
    }
}
