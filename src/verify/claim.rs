//! A number that a file states, next to the recomputed one.

use serde_json::{Value, json};

use super::curve::{self, EpsilonAtDelta};
use super::loss::Draws;

/// How far, relatively, a statement may be below the recomputed ε, because of quadrature and
/// blurring.
pub const TOLERANCE: f64 = 1e-3;
/// A statement this much larger than needed is correct, but loose.
pub const LOOSE: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimVerdict {
    Holds,
    /// Holds, but a smaller value could be stated.
    Loose,
    /// The second path cannot decide: the statement is between its bounds.
    Open,
    /// The mechanisms reveal more than the file states.
    TooSmall,
    /// True for a plan fixed in advance, but stated for choices by earlier outputs.
    NotForChoices,
}

impl ClaimVerdict {
    pub fn is_false(self) -> bool {
        matches!(self, Self::TooSmall | Self::NotForChoices)
    }

    /// The name in files, and what it means.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Holds => ("holds", "it holds"),
            Self::Loose => ("loose", "it holds, and a smaller ε would hold too"),
            Self::Open => ("open", "it may hold: this path has only bounds here"),
            Self::TooSmall => ("too_small", "IT DOES NOT HOLD"),
            Self::NotForChoices => (
                "not_for_choices",
                "IT DOES NOT HOLD if later releases were chosen after seeing earlier ones",
            ),
        }
    }
}

/// One number of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileClaim {
    /// Place of the number in the file.
    pub name: String,
    pub says: f64,
    pub delta: f64,
    pub gives: EpsilonAtDelta,
    pub verdict: ClaimVerdict,
}

impl FileClaim {
    /// `choices`: whether it is also stated for events that were chosen by earlier outputs. `grids`:
    /// the sum of a [`super::noise::NoiseCheck`], for what drawn noise reveals more than ideal noise.
    pub fn check(
        name: String,
        says: f64,
        delta: f64,
        list: &[Draws],
        grids: f64,
        choices: bool,
    ) -> Self {
        let gives = curve::epsilon(list, delta);
        let room = super::noise::ideal(says * (1.0 + TOLERANCE) + 1e-9, grids);
        let verdict = if room < gives.least {
            ClaimVerdict::TooSmall
        } else if choices && !curve::admits(list, room, delta) {
            ClaimVerdict::NotForChoices
        } else if room < gives.most {
            ClaimVerdict::Open
        } else {
            let needed = if choices { curve::epsilon_of_choices(list, delta) } else { gives.most };
            if says > needed * (1.0 + LOOSE) + 1e-6 {
                ClaimVerdict::Loose
            } else {
                ClaimVerdict::Holds
            }
        };
        Self { name, says, delta, gives, verdict }
    }

    pub fn words(&self) -> String {
        let Self { name, says, delta, gives, .. } = self;
        let given = if gives.is_known() {
            format!("{:.6}", gives.most)
        } else {
            format!("{:.6} to {:.6}", gives.least, gives.most)
        };
        let (how, (_, end)) = (gives.how, self.verdict.words());
        // A claim that also holds for releases chosen after seeing others is larger.
        let is_of_choices = gives.is_known() && *says > gives.most * (1.0 + LOOSE) + 1e-6;
        let is_of_choices = is_of_choices && self.verdict == ClaimVerdict::Holds;
        let fixed = if is_of_choices { " for releases fixed in advance" } else { "" };
        format!(
            "{name} says ε = {says:.6} at δ = {delta:e}; its mechanisms give {given}{fixed} ({how}): {end}"
        )
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "says": self.says,
            "delta": self.delta,
            // JSON has no infinity.
            "gives": { "at_least": self.gives.least, "at_most": self.gives.most, "how": self.gives.how },
            "verdict": self.verdict.words().0,
            "words": self.words(),
        })
    }
}

/// The findings about a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileReport {
    pub file: String,
    /// `certificate` or `ledger`.
    pub kind: &'static str,
    pub claims: Vec<FileClaim>,
    /// Faults of the file, apart from numbers.
    pub faults: Vec<String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl FileReport {
    pub fn new(file: &str, kind: &'static str) -> Self {
        let (claims, faults, notes) = (Vec::new(), Vec::new(), Vec::new());
        Self { file: file.to_owned(), kind, claims, faults, notes }
    }

    pub fn fault(&mut self, what: impl Into<String>) {
        self.faults.push(what.into());
    }

    pub fn note(&mut self, what: impl Into<String>) {
        self.notes.push(what.into());
    }

    pub fn holds(&self) -> bool {
        self.faults.is_empty() && !self.claims.iter().any(|claim| claim.verdict.is_false())
    }

    pub fn text(&self) -> String {
        let claims = self.claims.iter().map(FileClaim::words);
        let faults = self.faults.iter().map(|fault| format!("WRONG: {fault}"));
        let notes = self.notes.iter().map(|note| format!("note: {note}"));
        let end = if self.holds() {
            format!("every statement of this {} that can be checked holds", self.kind)
        } else {
            format!("this {} says what its contents do not bear out", self.kind)
        };
        let lines = claims.chain(faults).chain(notes).chain([end]);
        lines.map(|line| format!("{}: {line}", self.file)).collect::<Vec<_>>().join("\n")
    }

    pub fn json(&self) -> Value {
        json!({
            "file": self.file,
            "kind": self.kind,
            "holds": self.holds(),
            "numbers": self.claims.iter().map(FileClaim::json).collect::<Vec<_>>(),
            "faults": self.faults,
            "notes": self.notes,
        })
    }
}
