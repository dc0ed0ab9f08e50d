//! Which trials a rehearsal leaves out, because they would not change its advice.
//!
//! Trials are played in rounds. Methods whose error in the rounds before is too far above the best
//! one's have no trials in the next round.

use super::advice::TrialResult;

/// Rounds of trials, of which not all are needed everywhere. After them come those that only a deep
/// rehearsal plays.
pub const ROUNDS: usize = 4;

/// Of few records, every method is tried so often at the plan's ε before some of them fall behind.
const FIRST: u64 = 2;

/// Of few records, every trial at another ε is played so often.
const ELSEWHERE: u64 = 2;

/// Of few records, other settings of the advised method are tried so often.
const SETTINGS: u64 = 4;

/// Why trials are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinning {
    /// A deep rehearsal plays all of them.
    Deep,
    /// Each method once at the plan's ε, then at the other ε, then with other records and other noise.
    Usual,
    /// Chance decides much where few records play, so trials at the plan's ε are repeated before those at
    /// other ε.
    Few,
    /// With wide records every trial takes long, and most of all a method's first one in each case. So each
    /// method plays in one case at the plan's ε, and those near the best one there in the other cases.
    /// Then come the other ε, and at the plan's ε other records and other noise.
    Wide,
}

impl Thinning {
    /// The trials of each round, and at the end those that only a deep rehearsal plays.
    pub fn rounds(self, all: Vec<TrialResult>, epsilon: f64) -> Vec<Vec<TrialResult>> {
        let mut rounds = vec![Vec::new(); ROUNDS + 1];
        for trial in all {
            rounds[self.round_of(&trial, epsilon)].push(trial);
        }
        rounds
    }

    fn round_of(self, trial: &TrialResult, epsilon: f64) -> usize {
        let is_elsewhere = trial.epsilon.is_some_and(|other| other != epsilon);
        match (self, is_elsewhere, trial.repetition) {
            (Self::Deep, ..) => 0,
            (Self::Usual, is_elsewhere, 0) => usize::from(is_elsewhere),
            (Self::Wide, false, 0) => usize::from(trial.case > 0),
            (Self::Usual, ..) | (Self::Wide, true, 0) => 2,
            (Self::Wide, false, _) => 3,
            (Self::Few, false, repetition) => usize::from(repetition >= FIRST),
            (Self::Few, true, repetition) if repetition < ELSEWHERE => 2,
            (Self::Wide | Self::Few, true, _) => ROUNDS,
        }
    }

    /// How far a method may be behind the best one after the rounds before and still be tried in this
    /// one, as a factor of the error; `None` if that does not matter. A single trial at one ε says less
    /// than one at each.
    pub(super) fn behind(self, round: usize) -> Option<f64> {
        match (self, round) {
            (Self::Deep, _) | (_, 0) => None,
            (Self::Usual | Self::Few | Self::Wide, 1) => Some(1.2),
            (Self::Usual | Self::Few, _) | (Self::Wide, 2) => Some(1.08),
            (Self::Wide, _) => Some(1.03),
        }
    }

    /// So many methods play in this round, however far they are behind: the best one shows where it begins
    /// to help, and a single case says too little of which of the first three is the best.
    pub(super) fn fewest(self, round: usize) -> usize {
        if (self, round) == (Self::Wide, 1) { 3 } else { 1 }
    }

    /// How often other settings of the advised method are tried.
    pub fn repetitions_of_settings(self, repetitions: u64) -> u64 {
        if self == Self::Few { repetitions.min(SETTINGS) } else { repetitions }
    }
}
