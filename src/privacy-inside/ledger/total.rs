//! The sum of everything on an account, and whether it may be called a total.

use std::collections::BTreeSet;

use super::account::{Account, Claims};
use super::delta;
use super::elsewhere::ChargedElsewhere;
use super::entry::SharedNoise;
use crate::accountant::{Guarantee, round_up};
use crate::error::Result;

/// What a number of spent privacy may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TotalStanding {
    /// Everything ever spent is at most this.
    AtMost,
    /// At most this, if the claims of other trainers are true.
    Claimed,
    /// This was spent, plus the contents of lost lines.
    AtLeast,
    /// No number can be given.
    Nothing,
}

impl TotalStanding {
    /// For programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::AtMost => "at_most",
            Self::Claimed => "claimed",
            Self::AtLeast => "at_least",
            Self::Nothing => "none",
        }
    }
}

/// The known spending.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    /// Whether the known spending may be called a total.
    pub standing: TotalStanding,
    /// The δ at which it is stated.
    pub delta: f64,
    /// The guarantee of all known spending; `None` if there is none.
    pub known: Option<Guarantee>,
    /// The part of it that rests on the word of others.
    pub claims: Option<Claims>,
    /// The reasons why it is not a total.
    pub missing: Vec<String>,
    /// A remark if the small number hides that δ covers something, or everything.
    pub remark: Option<String>,
    /// On which conditions it holds, where sites had one noise.
    pub conditions: BTreeSet<SharedNoise>,
    /// What other ledgers of the user charged on the same records, which is not in it.
    pub elsewhere: Option<String>,
}

impl Total {
    /// ε of the known spending.
    pub fn epsilon(&self) -> f64 {
        self.known.as_ref().map_or(0.0, |known| known.epsilon)
    }

    /// The words after "spent"; no part of them may be left out.
    pub fn words(&self) -> String {
        let epsilon =
            self.known.as_ref().map_or_else(|| "0".to_owned(), |it| round_up(it.epsilon, 4));
        let missing = self.missing.join("; and ");
        let words = match self.standing {
            TotalStanding::AtMost | TotalStanding::Claimed => format!("ε {epsilon}"),
            TotalStanding::AtLeast => format!("at least ε {epsilon}, plus {missing}"),
            TotalStanding::Nothing => format!("no total: {missing}"),
        };
        let claims = self.claims.as_ref().map(|claims| format!(" ({})", claims.words()));
        format!("{words}{}{}", claims.unwrap_or_default(), self.condition())
    }

    /// The condition behind its number; empty if there is none.
    pub fn condition(&self) -> String {
        SharedNoise::conditions(self.conditions.iter().copied())
    }

    /// What is not in it, behind all that is; empty if there is nothing.
    pub fn beside(&self) -> String {
        let beside = |elsewhere| format!(". Not in it: {elsewhere}");
        self.elsewhere.as_ref().map_or_else(String::new, beside)
    }
}

impl Account {
    /// The total of everything at this δ.
    pub fn total(&self, delta: f64) -> Result<Total> {
        let (known, claims) = (self.spent(delta)?, self.claims(delta)?);
        let (lost, noise): (Vec<_>, Vec<_>) =
            self.gaps().iter().partition(|gap| gap.hides_spending());
        let standing = match (noise.is_empty(), lost.is_empty()) {
            (false, _) => TotalStanding::Nothing,
            (true, false) => TotalStanding::AtLeast,
            (true, true) if claims.is_some() => TotalStanding::Claimed,
            (true, true) => TotalStanding::AtMost,
        };
        let mut missing: Vec<String> = noise.into_iter().map(super::Gap::missing).collect();
        missing.extend(lost.into_iter().map(super::Gap::missing));
        let remark = self.covered_by_delta(delta, known.as_ref())?;
        let conditions = self.conditions();
        let elsewhere = ChargedElsewhere::note_for_others(self);
        Ok(Total { standing, delta, known, claims, missing, remark, conditions, elsewhere })
    }

    /// An ε of 0, or a large δ, looks as if little had been spent. This gives ε at a small δ.
    fn covered_by_delta(&self, delta: f64, known: Option<&Guarantee>) -> Result<Option<String>> {
        let Some(known) = known else { return Ok(None) };
        let large = delta::is_large(delta, self.records());
        if !large && known.epsilon > 0.0 {
            return Ok(None);
        }
        let small = (0.1 * delta::limit(self.records())).min(1e-6);
        let epsilon = self.spent(small)?.map_or(0.0, |it| it.epsilon);
        let covers = if known.epsilon > 0.0 { "part of it" } else { "all of it" };
        Ok(Some(format!(
            "not free: δ = {delta} covers {covers}, and at δ = {small:e} it is ε {}",
            round_up(epsilon, 4)
        )))
    }
}
