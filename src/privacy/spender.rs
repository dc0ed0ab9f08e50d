//! The only way from private to released: announce in the ledger, compute, clip, draw, keep.

use super::accountant::{Calibrated, Event, Mechanism};
use super::ledger::{Ledger, Outcome, RunId, Unfinished};
use super::mechanism::direction::leading_direction;
use super::mechanism::selection::largest;
use super::mechanism::{
    DirectionMechanism, DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, NoiseGenerator,
    NoisyMaximum, PermuteAndFlip, PoissonSample,
};
use super::query::{ClippedSum, Reach};
use super::release::{Direction, Gaussian, Laplace, Release, ReleaseKind, SampledSum, Selection};
use super::tape::{Draw, History, Tape};
use super::transcript::Transcript;
use crate::error::{Error, Kind, Result};
use crate::faults::{Fault, planted};
use crate::numeric::Matrix;

/// How many blocks a run's draws of one event are announced in, at most: each
/// costs one synced line in the ledger.
const BLOCKS_PER_EVENT: u64 = 20;

/// Draws the noise of one granted run, announcing each block of draws in the
/// ledger first. Dropping it without [`Spender::settle`] leaves the whole grant
/// charged.
pub struct Spender {
    account: Account,
    generator: NoiseGenerator,
    events: Vec<Event>,
    announced: Vec<u64>,
    drawn: Vec<u64>,
    /// Where released values are kept, so that the run can be resumed.
    transcript: Option<Transcript>,
    /// Draws that an earlier program made and whose values are lost: spent for nothing.
    lost: Vec<u64>,
    /// The run asked for a draw that it would have, had none been lost.
    ran_out: bool,
    /// The ledger could not be written, so a draw was not made.
    unannounced: bool,
    /// Of a rehearsal that is audited.
    tape: Tape,
    history: History,
}

/// What a mechanism works on.
#[derive(Default)]
struct Query {
    exact: Vec<f64>,
    members: Vec<usize>,
    overreached: bool,
}

/// Who is told of the draws.
enum Account {
    Ledger {
        ledger: Box<Ledger>,
        run: RunId,
    },
    /// The ledger was told of every draw when it granted the run: one task of a sweep,
    /// which may be far from it.
    Carried,
    /// Nobody: public data play the private part.
    Rehearsal,
}

impl Spender {
    /// For a run that the ledger has granted with exactly these events; refused otherwise.
    pub(crate) fn new(
        mut ledger: Ledger,
        run: RunId,
        calibrated: &Calibrated,
        generator: NoiseGenerator,
    ) -> Result<Self> {
        let book = ledger.book()?;
        if book.run(&run).is_none_or(|known| known.grant.events != calibrated.events) {
            return Err(Error::refused(format!(
                "the ledger has not granted run '{}' with this noise",
                run.0
            )));
        }
        let account = Account::Ledger { ledger: Box::new(ledger), run };
        Ok(Self::with_account(account, calibrated.events.clone(), generator))
    }

    /// For a run all of whose draws were announced in the ledger when it was granted:
    /// whoever carries the grant away settles it later. Nothing is written here but
    /// the transcript.
    pub(crate) fn carried(
        calibrated: &Calibrated,
        transcript: Transcript,
        generator: NoiseGenerator,
    ) -> Self {
        Self::with_account(Account::Carried, calibrated.events.clone(), generator)
            .keeping(transcript)
    }

    /// For a run whose program died. What its transcript holds is handed out again, without
    /// a look at private data and without noise. Draws that were made and whose values are
    /// lost stay spent: they are missing at the end. Everything after that is drawn from
    /// `generator`, which must be a new one.
    pub(crate) fn resumed(
        ledger: Ledger,
        unfinished: Unfinished,
        transcript: Transcript,
        generator: NoiseGenerator,
    ) -> Result<Self> {
        let Unfinished { grant, reserved, drawn, .. } = unfinished;
        let kept = transcript.counts(grant.events.len())?;
        let lost: Option<Vec<u64>> =
            drawn.iter().zip(&kept).map(|(drawn, kept)| drawn.checked_sub(*kept)).collect();
        let lost = lost.ok_or_else(|| {
            Error::refused(format!(
                "the transcript of '{}' holds draws that the ledger does not know",
                grant.run.0
            ))
            .cure("was the ledger restored from a copy? Then settle the run and start it again")
        })?;
        let account = Account::Ledger { ledger: Box::new(ledger), run: grant.run };
        let mut spender = Self::with_account(account, grant.events, generator).keeping(transcript);
        (spender.announced, spender.drawn, spender.lost) = (reserved, drawn, lost);
        spender.tally()?;
        Ok(spender)
    }

    /// Keeps what is released, so that the run can be resumed.
    pub(crate) fn keeping(mut self, transcript: Transcript) -> Self {
        self.transcript = Some(transcript);
        self
    }

    fn with_account(account: Account, events: Vec<Event>, generator: NoiseGenerator) -> Self {
        let none = vec![0; events.len()];
        let (announced, drawn, lost) = match account {
            Account::Carried => {
                let all = events.iter().map(|event| event.count).collect();
                (all, none.clone(), none)
            }
            _ => (none.clone(), none.clone(), none),
        };
        let (transcript, ran_out, tape) = (None, false, Tape::Off);
        let history = History::default();
        Self {
            account,
            generator,
            events,
            announced,
            drawn,
            transcript,
            lost,
            ran_out,
            unannounced: false,
            tape,
            history,
        }
    }

    /// For studies in which *public* data play the private part, such as
    /// `halflight reproduce`: nothing is written to a ledger, the noise comes from a
    /// seed so that a table can be repeated, and there may be none at all
    /// ([`Calibrated::noiseless`]). What comes out is not private.
    pub(crate) fn rehearsal(calibrated: &Calibrated, seed: u64) -> Self {
        let generator = NoiseGenerator::insecure_from_seed(seed);
        Self::with_account(Account::Rehearsal, calibrated.events.clone(), generator)
    }

    /// A rehearsal whose draws are kept, or one that sees the samples and released values of
    /// an earlier one.
    pub(crate) fn audited(calibrated: &Calibrated, seed: u64, mut history: History) -> Self {
        let seed = if planted(Fault::SeedReuse) { 0 } else { seed };
        let mut spender = Self::rehearsal(calibrated, seed);
        spender.tape = match history.before.take() {
            Some(before) => Tape::Against { before, now: Vec::new() },
            None => Tape::Recording(Vec::new()),
        };
        spender.history = history;
        spender
    }

    /// Whether it would draw an event once more than planned: never, an audit hopes.
    pub(crate) fn exceeds_its_plan(&mut self) -> bool {
        (0..self.events.len()).any(|index| {
            self.drawn[index] >= self.events[index].count && self.announce(index).is_ok()
        })
    }

    /// The draws of an audited rehearsal.
    pub(crate) fn into_draws(self) -> Vec<Draw> {
        self.tape.into_draws()
    }

    /// Noise scale of a planned release: σ, b, or the scale of a selection.
    pub fn scale<K: ReleaseKind>(&self, release: &Release<K>) -> Result<f64> {
        Ok(self.events[self.find(release)?].mechanism.scale())
    }

    /// Draws so far, per event: what is spent if the run ends here.
    pub fn drawn(&self) -> Vec<Event> {
        let spent = self.events.iter().zip(&self.drawn).filter(|(_, drawn)| **drawn > 0);
        spent.map(|(event, drawn)| Event { count: *drawn, ..event.clone() }).collect()
    }

    /// How often each event was drawn, lost draws included.
    pub fn counts(&self) -> &[u64] {
        &self.drawn
    }

    /// Whether the next draw was made by an earlier program and is handed out again.
    pub fn is_replaying(&self) -> bool {
        self.transcript.as_ref().is_some_and(Transcript::is_replaying)
    }

    /// Draws that were spent and whose values are lost, in all.
    pub fn lost(&self) -> u64 {
        self.lost.iter().sum()
    }

    /// The run ended because of [`Self::lost`] draws: there is nothing more for it.
    pub fn ran_out(&self) -> bool {
        self.ran_out
    }

    /// Its ledger is elsewhere: it cannot be resumed.
    pub fn is_carried(&self) -> bool {
        matches!(self.account, Account::Carried)
    }

    /// A released value could not be kept, so nobody has seen it, or a draw could not be
    /// announced, so it was not made.
    pub fn is_broken(&self) -> bool {
        self.unannounced || self.transcript.as_ref().is_some_and(Transcript::is_broken)
    }

    /// The run is over: only what was drawn stays charged.
    pub fn settle(mut self, outcome: Outcome, peeked: bool) -> Result<()> {
        match &mut self.account {
            Account::Ledger { ledger, run } => ledger.settle(run, &self.drawn, outcome, peeked),
            Account::Carried | Account::Rehearsal => Ok(()),
        }
    }

    /// How many words of its generator the run has used: each draw moves on, so that no noise
    /// is used twice.
    pub fn noise_words(&self) -> u64 {
        self.generator.words()
    }

    pub(super) fn gaussian(
        &mut self,
        release: Release<Gaussian>,
        reach: &Reach,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(&release)?;
        let Mechanism::Gaussian { sigma, grid, coordinates, sensitivity } =
            self.events[index].mechanism
        else {
            return Err(planned_otherwise(release.label()));
        };
        let query = |_: &mut Self| Ok(clipped(exact(), reach, sensitivity));
        self.once(index, coordinates, query, |spender, exact| {
            if planted(Fault::LaplaceForGaussian) {
                let noise = DiscreteLaplace::at_least(sigma / 2.0_f64.sqrt())?;
                return noise.perturb(&mut spender.generator, exact);
            }
            if planted(Fault::HalfNoise) {
                let noise = DiscreteGaussian::at_least(0.5 * sigma)?;
                return noise.perturb(&mut spender.generator, exact);
            }
            match spender.noise(sigma, || DiscreteGaussian::from_event(sigma, grid))? {
                Some(noise) => noise.perturb(&mut spender.generator, exact),
                None => Ok(exact.to_vec()),
            }
        })
    }

    /// A sum over a sample of `records` records.
    pub(super) fn sampled_sum(
        &mut self,
        release: Release<SampledSum>,
        records: usize,
        add: impl FnOnce(&PoissonSample, &mut ClippedSum),
    ) -> Result<Vec<f64>> {
        let index = self.find(&release)?;
        let Mechanism::SubsampledGaussian { sigma, grid, coordinates, rate, sensitivity } =
            self.events[index].mechanism
        else {
            return Err(planned_otherwise(release.label()));
        };
        let query = |spender: &mut Self| {
            let sample = spender.sample(index, rate, records)?;
            let mut sum = ClippedSum::new(coordinates as usize, sensitivity);
            add(&sample, &mut sum);
            let overreached = sum.has_overreached();
            let members = if spender.tape.is_off() { Vec::new() } else { sample.members().into() };
            Ok(Query { exact: sum.finish(), members, overreached })
        };
        self.once(index, coordinates, query, |spender, exact| {
            if planted(Fault::LaplaceForGaussian) {
                let noise = DiscreteLaplace::at_least(sigma / 2.0_f64.sqrt())?;
                return noise.perturb(&mut spender.generator, exact);
            }
            if planted(Fault::HalfNoise) {
                let noise = DiscreteGaussian::at_least(0.5 * sigma)?;
                return noise.perturb(&mut spender.generator, exact);
            }
            match spender.noise(sigma, || DiscreteGaussian::from_event(sigma, grid))? {
                Some(noise) => noise.perturb(&mut spender.generator, exact),
                None => Ok(exact.to_vec()),
            }
        })
    }

    pub(super) fn laplace(
        &mut self,
        release: Release<Laplace>,
        reach: &Reach,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(&release)?;
        let Mechanism::Laplace { scale, grid, coordinates, sensitivity } =
            self.events[index].mechanism
        else {
            return Err(planned_otherwise(release.label()));
        };
        let query = |_: &mut Self| Ok(clipped(exact(), reach, sensitivity));
        self.once(index, coordinates, query, |spender, exact| {
            match spender.noise(scale, || DiscreteLaplace::from_event(scale, grid))? {
                Some(noise) => noise.perturb(&mut spender.generator, exact),
                None => Ok(exact.to_vec()),
            }
        })
    }

    /// A vector along one direction u, the larger uᵀAu of the matrix A the likelier.
    pub(super) fn direction(
        &mut self,
        release: Release<Direction>,
        reach: &Reach,
        exact: impl FnOnce() -> Matrix,
    ) -> Result<Vec<f64>> {
        let index = self.find(&release)?;
        let Mechanism::Direction { scale, dimension, range } = self.events[index].mechanism else {
            return Err(planned_otherwise(release.label()));
        };
        let query = |_: &mut Self| Ok(clipped(exact().as_slice().to_vec(), reach, range));
        self.once(index, dimension * dimension, query, |spender, exact| {
            let matrix = Matrix::from_column_slice(dimension as usize, dimension as usize, exact);
            match spender.noise(scale, || DirectionMechanism::with_scale(scale))? {
                Some(noise) => noise.draw(&mut spender.generator, &matrix),
                None => leading_direction(&matrix),
            }
        })
    }

    /// One of the candidates, the larger its score the likelier.
    pub(super) fn select(
        &mut self,
        release: Release<Selection>,
        reach: &Reach,
        scores: impl FnOnce() -> Vec<f64>,
    ) -> Result<usize> {
        let index = self.find(&release)?;
        let mechanism = self.events[index].mechanism;
        let (Mechanism::Selection { candidates, range, .. }
        | Mechanism::PermuteAndFlip { candidates, range, .. }
        | Mechanism::NoisySelection { candidates, sensitivity: range, .. }) = mechanism
        else {
            return Err(planned_otherwise(release.label()));
        };
        let query = |_: &mut Self| Ok(clipped(scores(), reach, range));
        let winner = self.once(index, candidates, query, |spender, scores| {
            let winner = match mechanism {
                Mechanism::Selection { scale, .. } => {
                    let scale = if planted(Fault::SelectionScale) { 0.5 * scale } else { scale };
                    match spender.noise(scale, || ExponentialMechanism::with_scale(scale))? {
                        Some(noise) => noise.select(&mut spender.generator, scores),
                        None => largest(scores),
                    }
                }
                Mechanism::PermuteAndFlip { scale, .. } => {
                    match spender.noise(scale, || PermuteAndFlip::with_scale(scale))? {
                        Some(noise) => noise.select(&mut spender.generator, scores),
                        None => largest(scores),
                    }
                }
                Mechanism::NoisySelection { scale, .. } => {
                    match spender.noise(scale, || NoisyMaximum::from_event(scale))? {
                        Some(noise) => noise.select(&mut spender.generator, scores),
                        None => largest(scores),
                    }
                }
                _ => Err(planned_otherwise(release.label())),
            };
            // A transcript holds numbers; every index is one exactly.
            winner.map(|winner| vec![winner as f64])
        })?;
        match winner.as_slice() {
            [winner] => Ok(*winner as usize),
            _ => Err(Error::refused(format!(
                "the transcript has no winner of '{}'",
                release.label()
            ))),
        }
    }

    /// The value of one more draw of event `index`, of `planned` numbers: the one that was
    /// released before the run was resumed, or else a new one, which is kept before anybody
    /// sees it.
    fn once(
        &mut self,
        index: usize,
        planned: u64,
        query: impl FnOnce(&mut Self) -> Result<Query>,
        perturb: impl FnOnce(&mut Self, &[f64]) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        if let Some(transcript) = &mut self.transcript
            && let Some(released) = transcript.recorded(index)?
        {
            return Ok(released);
        }
        let Query { exact, members, overreached } = self.compute(index, planned, query)?;
        let released = match self.tape.next()? {
            Some(draw) => draw.released.clone(),
            None => self.fresh(index, &exact, perturb)?,
        };
        if let Some(transcript) = &mut self.transcript {
            transcript.append(index, &released)?;
        }
        if !self.tape.is_off() {
            let released = released.clone();
            self.tape.note(Draw { event: index, exact, released, members, overreached });
        }
        Ok(released)
    }

    /// A new value: noise that no draw had before.
    fn fresh(
        &mut self,
        index: usize,
        exact: &[f64],
        perturb: impl FnOnce(&mut Self, &[f64]) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        if planted(Fault::ReusedNoise) {
            self.generator = NoiseGenerator::insecure_from_seed(1);
        }
        let mut released = perturb(self, exact)?;
        if planted(Fault::OneCoordinate) {
            for (noisy, exact) in released.iter_mut().zip(exact).skip(1) {
                *noisy = *exact;
            }
        }
        match self.tape.last(index) {
            Some(last) if planted(Fault::StaleTranscript) => Ok(last),
            _ => Ok(released),
        }
    }

    /// A new Poisson sample; in an audit the one that its history asks for.
    fn sample(&mut self, index: usize, rate: f64, records: usize) -> Result<PoissonSample> {
        let mut sample = match self.tape.next()? {
            Some(draw) => PoissonSample::again(draw.members.clone(), records),
            None if planted(Fault::KnownSample) => {
                let mut known = NoiseGenerator::insecure_from_seed(self.drawn[index]);
                PoissonSample::draw(&mut known, rate, records)?
            }
            None => PoissonSample::draw(&mut self.generator, rate, records)?,
        };
        if planted(Fault::FixedSample) && self.tape.next()?.is_none() {
            let size = (rate * records as f64).round() as usize;
            let first = sample.members().first().map_or(0, |first| 7 * first);
            let mut members: Vec<usize> = (0..size).map(|i| (first + 11 * i) % records).collect();
            members.sort_unstable();
            sample = PoissonSample::again(members, records);
        }
        if !self.tape.is_off() {
            let members = self.history.members(sample.members().to_vec());
            sample = PoissonSample::again(members, records);
        }
        Ok(sample)
    }

    /// The noise of this scale. Only rehearsals may do without; a granted run never does.
    fn noise<N>(&self, scale: f64, noise: impl FnOnce() -> Result<N>) -> Result<Option<N>> {
        match self.account {
            Account::Rehearsal if scale == 0.0 => Ok(None),
            _ => noise().map(Some),
        }
    }

    /// Computes what one more draw of event `index` is about, once the draw is in the
    /// ledger. From here on it counts as drawn.
    fn compute(
        &mut self,
        index: usize,
        planned: u64,
        query: impl FnOnce(&mut Self) -> Result<Query>,
    ) -> Result<Query> {
        self.announce(index)?;
        let query = query(self)?;
        // How many it computed instead may depend on the data.
        if query.exact.len() as u64 != planned {
            return Err(Error::failed(format!(
                "release '{}' announced {planned} numbers and computed more or fewer",
                self.events[index].label
            )));
        }
        self.drawn[index] += 1;
        self.tally()?;
        Ok(query)
    }

    /// Notes the draws so far where a program that resumes the run will look.
    fn tally(&mut self) -> Result<()> {
        match &mut self.account {
            Account::Ledger { ledger, run } if self.transcript.is_some() => {
                ledger.tally(run, &self.drawn)
            }
            _ => Ok(()),
        }
    }

    /// Makes sure that one more draw of event `index` is in the ledger.
    fn announce(&mut self, index: usize) -> Result<()> {
        let planned = self.events[index].count;
        if self.drawn[index] >= planned && !planted(Fault::OnceMore) {
            let label = &self.events[index].label;
            if self.lost[index] > 0 {
                self.ran_out = true;
                return Err(Error::refused(format!(
                    "{} of the {planned} draws of '{label}' were made and lost when the run's \
                     program died; they stay spent, and none is left",
                    self.lost[index]
                ))
                .cure("start the run anew: it needs a budget of its own"));
            }
            return Err(Error::refused(format!(
                "release '{label}' was planned {planned} times and is asked for once more"
            )));
        }
        if self.drawn[index] == self.announced[index] {
            let left = planned.saturating_sub(self.announced[index]);
            let block = planned.div_ceil(BLOCKS_PER_EVENT).min(left);
            if let Account::Ledger { ledger, run } = &mut self.account {
                // What the block before gave is durable before the next one is announced.
                self.transcript.as_mut().map_or(Ok(()), Transcript::sync)?;
                if let Err(error) = ledger.reserve(run, index, block) {
                    // A full disk, say: the run can go on when there is room again.
                    self.unannounced = error.kind() == Kind::Failed && self.transcript.is_some();
                    return Err(error);
                }
            }
            self.announced[index] += block;
        }
        Ok(())
    }

    /// The event of a planned release, which must be accounted for as its handle says.
    fn find<K: ReleaseKind>(&self, release: &Release<K>) -> Result<usize> {
        let label = release.label();
        let index =
            self.events.iter().position(|event| event.label == label).ok_or_else(|| {
                Error::refused(format!("release '{label}' is not in the run's plan"))
            })?;
        if self.events[index].mechanism.carries_out(&release.mechanism()) {
            Ok(index)
        } else {
            Err(planned_otherwise(label))
        }
    }
}

/// The exact value of a query, put into its reach.
fn clipped(mut exact: Vec<f64>, reach: &Reach, sensitivity: f64) -> Query {
    let overreached = reach.clip(&mut exact, sensitivity);
    if planted(Fault::CoarseRounding) {
        let step = 0.7 * sensitivity;
        for number in &mut exact {
            *number = (*number / step).round() * step;
        }
    }
    Query { exact, members: Vec::new(), overreached }
}

fn planned_otherwise(release: &str) -> Error {
    Error::refused(format!("release '{release}' was planned with other noise"))
}

impl std::fmt::Debug for Spender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spender").field("drawn", &self.drawn).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::privacy::accountant::{
        Adjacency, Allotment, PlannedMechanism, PlannedRelease, Target, calibrate,
    };
    use crate::privacy::ledger::{Budget, DatasetRecord, Grant, Noise};
    use crate::privacy::mechanism::{DiscreteLaplace, NoisyMaximum};
    use crate::privacy::{Private, Released, Rule};

    const TARGET: Target = Target { epsilon: 1.0, delta: 1e-6 };
    const WIDE: Reach = Reach::Ball(100.0);

    fn planned(label: &'static str, mechanism: PlannedMechanism, count: u64) -> PlannedRelease {
        PlannedRelease {
            label,
            what: format!("the {label}"),
            mechanism,
            count,
            noise: Allotment::Share(1.0),
            adjacency: Adjacency::ZeroOut,
        }
    }

    /// A release of every kind, five draws each.
    fn every_kind() -> Vec<PlannedRelease> {
        use PlannedMechanism::{
            Direction, Gaussian, Laplace, NoisySelection, PermuteAndFlip, Selection,
            SubsampledGaussian,
        };
        let (coordinates, candidates) = (2, 3);
        vec![
            planned("gaussian", Gaussian { l2_sensitivity: 1.0, coordinates }, 5),
            planned(
                "subsampled",
                SubsampledGaussian { l2_sensitivity: 1.0, coordinates, rate: 0.5 },
                5,
            ),
            planned("laplace", Laplace { l1_sensitivity: 1.0, coordinates }, 5),
            planned("selection", Selection { range: 1.0, candidates }, 5),
            planned("flipped selection", PermuteAndFlip { range: 1.0, candidates }, 5),
            planned("noisy selection", NoisySelection { sensitivity: 1.0, candidates }, 5),
            planned("direction", Direction { range: 1.0, dimension: 2 }, 5),
        ]
    }

    /// The same events with a noise that can be drawn.
    fn with_noise(mut calibrated: Calibrated) -> Calibrated {
        let gaussian = DiscreteGaussian::at_least(1.0).unwrap();
        let laplace = DiscreteLaplace::at_least(1.0).unwrap();
        for event in &mut calibrated.events {
            match &mut event.mechanism {
                Mechanism::Gaussian { sigma, grid, .. }
                | Mechanism::SubsampledGaussian { sigma, grid, .. } => {
                    (*sigma, *grid) = (gaussian.sigma(), gaussian.grid());
                }
                Mechanism::Laplace { scale, grid, .. } => {
                    (*scale, *grid) = (laplace.scale(), laplace.grid());
                }
                Mechanism::Selection { scale, .. }
                | Mechanism::PermuteAndFlip { scale, .. }
                | Mechanism::Direction { scale, .. } => {
                    *scale = 1.0;
                }
                Mechanism::NoisySelection { scale, .. } => {
                    *scale = NoisyMaximum::at_least(1.0).unwrap().scale();
                }
                Mechanism::Pure { .. } => unreachable!(),
            }
        }
        calibrated
    }

    fn data() -> Private<Vec<f64>> {
        Private::new(vec![0.25, -0.125, 3.0, 0.5])
    }

    fn gaussian(label: &'static str, numbers: usize) -> Release<Gaussian> {
        Release::new(label, Gaussian { sensitivity: 1.0, numbers })
    }

    fn sampled(numbers: usize) -> Release<SampledSum> {
        Release::new("subsampled", SampledSum { sensitivity: 1.0, numbers, rate: 0.5 })
    }

    fn selection(label: &'static str) -> Release<Selection> {
        let (rule, range) = match label {
            "flipped selection" => (Rule::PermuteAndFlip, 1.0),
            "noisy selection" => (Rule::NoisyMaximum, 2.0),
            _ => (Rule::Exponential, 1.0),
        };
        Release::new(label, Selection { rule, range, candidates: 3 })
    }

    /// Draws as if a release had been planned as this kind.
    fn query(kind: &str, spender: &mut Spender, label: &'static str) -> Result<Released<Vec<f64>>> {
        let data = data();
        match kind {
            "gaussian" => {
                data.release_gaussian(spender, gaussian(label, 2), &WIDE, |data| data[..2].to_vec())
            }
            "subsampled" => {
                let kind = SampledSum { sensitivity: 1.0, numbers: 2, rate: 0.5 };
                let release = Release::new(label, kind);
                data.release_sampled_sum(spender, release, Vec::len, |data, s, sum| {
                    let first: f64 = s.members().iter().map(|i| data[*i]).sum();
                    let count = s.members().len();
                    sum.add_fused(&[first / 8.0, count as f64 / 2.0], count);
                })
            }
            "laplace" => {
                let release = Release::new(label, Laplace { sensitivity: 1.0, numbers: 2 });
                data.release_laplace(spender, release, &WIDE, |data| data[..2].to_vec())
            }
            "direction" => {
                let release = Release::new(label, Direction { range: 1.0, dimension: 2 });
                data.release_direction(spender, release, &WIDE, |data| {
                    Matrix::from_column_slice(2, 2, data)
                })
            }
            _ => data
                .select(spender, selection(label), &WIDE, |data| data[1..].to_vec())
                .map(|winner| winner.map(|winner| vec![winner as f64])),
        }
    }

    #[test]
    fn every_kind_is_drawn_as_often_as_planned_and_no_other_way() {
        let calibrated = with_noise(Calibrated::noiseless(&every_kind(), 1e-6));
        let mut spender = Spender::rehearsal(&calibrated, 1);
        for label in every_kind().iter().map(|release| release.label) {
            for other in ["gaussian", "subsampled", "laplace", "selection", "direction"] {
                if !label.ends_with(other) {
                    let before = spender.noise_words();
                    let error = query(other, &mut spender, label).unwrap_err().to_string();
                    assert!(error.contains("planned with other noise"), "{label}: {error}");
                    assert_eq!(spender.noise_words(), before);
                }
            }
            for _ in 0..5 {
                let before = spender.noise_words();
                query(label, &mut spender, label).unwrap();
                assert!(spender.noise_words() > before);
            }
            let error = query(label, &mut spender, label).unwrap_err().to_string();
            assert!(error.contains("asked for once more"), "{error}");
        }
        assert_eq!(spender.drawn(), calibrated.events);
        assert!(query("gaussian", &mut spender, "unheard-of").is_err());
        spender.settle(Outcome::Finished, false).unwrap();
    }

    #[test]
    fn rehearsals_without_noise_are_exact_and_select_the_first_of_the_largest() {
        let calibrated = Calibrated::noiseless(&every_kind(), 1e-6);
        let mut spender = Spender::rehearsal(&calibrated, 1);
        let mut get = |label: &'static str| query(label, &mut spender, label).unwrap().into_inner();
        assert_eq!(get("gaussian"), [0.25, -0.125]);
        assert_eq!(get("laplace"), [0.25, -0.125]);
        assert_eq!(get("selection"), [1.0]);
        assert_eq!(get("noisy selection"), [1.0]);
        // Of the lower triangle of [.25, 3; −.125, .5], symmetric or not.
        let axis = get("direction");
        assert!((axis[0] / axis[1] + 0.414_213_56).abs() < 1e-6, "{axis:?}");
        assert_eq!((2.0 * get("subsampled")[1]).fract(), 0.0);
        let ties = |(): &()| vec![0.0, 7.0, 7.0];
        let ties = Private::new(()).select(&mut spender, selection("selection"), &WIDE, ties);
        assert_eq!(ties.unwrap().into_inner(), 1);
    }

    #[test]
    fn every_poisson_sample_of_a_release_is_another() {
        let plan = [planned("subsampled", sampled(1000).mechanism(), 2)];
        let calibrated = Calibrated::noiseless(&plan, 1e-6);
        let mut spender = Spender::rehearsal(&calibrated, 1);
        let mut memberships = || {
            let membership = |(): &(), sample: &PoissonSample, sum: &mut ClippedSum| {
                let mut mask = vec![0.0; sample.population()];
                for member in sample.members() {
                    mask[*member] = 1.0;
                }
                sum.add_fused(&mask, sample.members().len());
            };
            Private::new(())
                .release_sampled_sum(&mut spender, sampled(1000), |()| 1000, membership)
                .unwrap()
                .into_inner()
        };
        let (first, second) = (memberships(), memberships());
        let both = first.iter().zip(&second).filter(|(a, b)| **a == 1.0 && **b == 1.0).count();
        assert!((150..350).contains(&both), "{both}");
    }

    #[test]
    fn scores_that_are_no_numbers_say_nothing_and_a_wrong_count_of_them_is_refused() {
        let calibrated = Calibrated::noiseless(&every_kind(), 1e-6);
        let mut spender = Spender::rehearsal(&calibrated, 1);
        let reach = Reach::between(-5.0, 5.0, 3);
        let mut select = |scores: Vec<f64>| {
            let release = selection("selection");
            let selected = Private::new(scores).select(&mut spender, release, &reach, Vec::clone);
            selected.map(Released::into_inner).map_err(|error| error.to_string())
        };
        assert_eq!(select(vec![-1.0, f64::NAN, -2.0]), Ok(1));
        assert_eq!(select(vec![f64::INFINITY, -1.0, 0.5]), Ok(2));
        assert!(select(vec![0.0, 1.0]).unwrap_err().contains("announced 3 numbers"));
        assert_eq!(spender.noise_words(), 0);
    }

    #[test]
    fn a_query_beyond_its_reach_is_clipped_before_the_noise_and_noticed_by_an_audit() {
        let calibrated = with_noise(Calibrated::noiseless(&every_kind(), 1e-6));
        let released = |value: f64, before: Option<Vec<Draw>>| {
            let history = History { before, ..History::default() };
            let mut spender = Spender::audited(&calibrated, 1, history);
            let data = Private::new(vec![value, 0.0]);
            let reach = Reach::Ball(1.0);
            let release = gaussian("gaussian", 2);
            data.release_gaussian(&mut spender, release, &reach, Vec::clone).unwrap();
            spender.into_draws()
        };
        let wild = released(1e9, None);
        assert!(wild[0].overreached && (wild[0].exact[0] - 1.0).abs() < 1e-5);
        let tame = released(0.5, Some(wild.clone()));
        assert!(!tame[0].overreached && tame[0].exact[0] == 0.5);
        assert_eq!(tame[0].released, wild[0].released);
    }

    #[test]
    fn a_run_draws_only_with_the_noise_that_its_ledger_granted() {
        let directory = tempfile::tempdir().unwrap();
        let (ledger, run, mut calibrated) = granted(directory.path());
        let Mechanism::Gaussian { sigma, .. } = &mut calibrated.events[0].mechanism else {
            panic!()
        };
        *sigma *= 0.5;
        let generator = NoiseGenerator::insecure_from_seed(1);
        let error = Spender::new(ledger, run, &calibrated, generator).unwrap_err();
        assert!(error.what().contains("has not granted"), "{error}");
    }

    /// A ledger in `directory` that has granted fifty draws of a mean to the run `r`.
    fn granted(directory: &Path) -> (Ledger, RunId, Calibrated) {
        let mut ledger = Ledger::open(directory).unwrap();
        let text = |text: &str| text.to_owned();
        let record = DatasetRecord {
            name: text("hospital"),
            origin: text("/hospital.csv"),
            content: text("c"),
            view: text("v"),
            rows: 1000,
            ..DatasetRecord::default()
        };
        let account = ledger.register(&record).unwrap();
        ledger.set_budget(&account, Budget::new(2.0, 1e-5)).unwrap();
        let gaussian = PlannedMechanism::Gaussian { l2_sensitivity: 1.0, coordinates: 1 };
        let plan = [planned("mean", gaussian, 50)];
        let calibrated = calibrate(&plan, TARGET).unwrap();
        let run = RunId(text("r"));
        let grant = Grant {
            run: run.clone(),
            account,
            method: text("moment-release"),
            target: TARGET,
            events: calibrated.events.clone(),
            allow_large_delta: false,
            noise: Noise::Secret,
        };
        ledger.grant(grant).unwrap();
        (ledger, run, calibrated)
    }

    #[test]
    fn the_ledger_knows_of_a_draw_before_it_is_made_and_without_it_nothing_is_computed() {
        let directory = tempfile::tempdir().unwrap();
        let (mut ledger, run, calibrated) = granted(directory.path());
        let lines = || {
            let text = std::fs::read_to_string(directory.path().join("ledger.jsonl")).unwrap();
            text.lines().count()
        };
        let before = lines();
        let second = Ledger::open(directory.path()).unwrap();
        let generator = NoiseGenerator::insecure_from_seed(1);
        let mut spender = Spender::new(second, run.clone(), &calibrated, generator).unwrap();
        let data = Private::new(1.0);
        // Fifty draws in blocks of three: every first of three finds one more line.
        for draw in 0..9 {
            let seen = |value: &f64| {
                assert_eq!(lines(), before + 1 + draw / 3);
                vec![*value]
            };
            data.release_gaussian(&mut spender, gaussian("mean", 1), &WIDE, seen).unwrap();
        }
        ledger.settle(&run, &[9], Outcome::Stopped, false).unwrap();
        let words = spender.noise_words();
        let never = |_: &f64| -> Vec<f64> { panic!("computed without a reservation") };
        assert!(data.release_gaussian(&mut spender, gaussian("mean", 1), &WIDE, never).is_err());
        assert_eq!(spender.noise_words(), words);
        assert_eq!(spender.drawn()[0].count, 9);
    }

    /// Fifty draws planned, `before` of them made by a program that died.
    struct Death {
        directory: tempfile::TempDir,
        run: RunId,
        released: Vec<f64>,
    }

    impl Death {
        fn after(before: usize) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let (ledger, run, calibrated) = granted(directory.path());
            let transcript = Transcript::create(&directory.path().join("t"), &run).unwrap();
            let generator = NoiseGenerator::insecure_from_seed(1);
            let spender = Spender::new(ledger, run.clone(), &calibrated, generator).unwrap();
            let mut spender = spender.keeping(transcript);
            let released = (0..before).map(|_| draw(&mut spender).unwrap()).collect();
            Self { directory, run, released }
        }

        fn resume(&self, seed: u64) -> Spender {
            let mut ledger = Ledger::open(self.directory.path()).unwrap();
            let unfinished = ledger.resume(&self.run).unwrap();
            let path = self.directory.path().join("t");
            let transcript = Transcript::reopen(&path, &self.run).unwrap();
            let generator = NoiseGenerator::insecure_from_seed(seed);
            Spender::resumed(ledger, unfinished, transcript, generator).unwrap()
        }

        /// Loses the last frame, of one number.
        fn lose_one(&self) {
            let path = self.directory.path().join("t");
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() - 3).unwrap();
        }

        /// Draws again what was drawn, without a look at the data and without noise.
        fn replay(&self, spender: &mut Spender, kept: usize) {
            for expected in &self.released[..kept] {
                let never = |_: &f64| -> Vec<f64> { panic!("looked at private data") };
                let value = Private::new(1.0)
                    .release_gaussian(spender, gaussian("mean", 1), &WIDE, never)
                    .unwrap();
                assert_eq!(value.get()[0].to_bits(), expected.to_bits());
            }
            assert_eq!(spender.noise_words(), 0, "noise was drawn for a value that was known");
            assert!(!spender.is_replaying());
        }
    }

    fn draw(spender: &mut Spender) -> Result<f64> {
        let value =
            Private::new(1.0)
                .release_gaussian(spender, gaussian("mean", 1), &WIDE, |value| vec![*value])?;
        Ok(value.into_inner()[0])
    }

    #[test]
    fn a_resumed_run_repeats_what_was_released_and_draws_the_rest_from_new_noise() {
        let death = Death::after(10);
        let mut spender = death.resume(2);
        assert_eq!((spender.lost(), spender.counts()), (0, &[10][..]));
        death.replay(&mut spender, 10);
        let mut all = death.released.clone();
        for _ in 10..50 {
            let before = spender.noise_words();
            all.push(draw(&mut spender).unwrap());
            assert!(spender.noise_words() > before);
        }
        assert!(draw(&mut spender).is_err() && !spender.ran_out());
        all.sort_by(f64::total_cmp);
        all.dedup();
        assert_eq!(all.len(), 50, "noise was used twice");
        spender.settle(Outcome::Finished, false).unwrap();
        let book = Ledger::open(death.directory.path()).unwrap().book().unwrap();
        assert_eq!(book.run(&death.run).unwrap().charged, [50]);
    }

    #[test]
    fn a_draw_whose_value_is_lost_stays_spent_and_is_missing_at_the_end() {
        let death = Death::after(10);
        death.lose_one();
        let mut spender = death.resume(2);
        assert_eq!((spender.lost(), spender.counts()), (1, &[10][..]));
        death.replay(&mut spender, 9);
        for _ in 10..50 {
            draw(&mut spender).unwrap();
        }
        let error = draw(&mut spender).unwrap_err().to_string();
        assert!(error.contains("1 of the 50 draws of 'mean'"), "{error}");
        assert!(spender.ran_out());
        // A second death forgets nothing of the first.
        drop(spender);
        let again = death.resume(3);
        assert_eq!((again.lost(), again.counts()), (1, &[50][..]));
    }

    #[test]
    fn after_a_restart_of_the_machine_all_that_was_announced_counts_as_drawn() {
        let death = Death::after(10);
        // The note of the draws belongs to this start of the machine; blocks are of three.
        let mark = death.directory.path().join("open/r.lock");
        let noted = std::fs::read_to_string(&mark).unwrap();
        assert!(noted.ends_with(" 00000000000000000010\n"), "{noted}");
        std::fs::write(&mark, noted.replace('-', "_")).unwrap();
        let mut spender = death.resume(2);
        assert_eq!((spender.lost(), spender.counts()), (2, &[12][..]));
        death.replay(&mut spender, 10);
        for _ in 12..50 {
            draw(&mut spender).unwrap();
        }
        assert!(draw(&mut spender).is_err() && spender.ran_out());
    }

    #[test]
    fn two_programs_cannot_resume_one_run_and_an_older_ledger_is_noticed() {
        let death = Death::after(10);
        let spender = death.resume(2);
        let mut ledger = Ledger::open(death.directory.path()).unwrap();
        assert!(ledger.is_alive(&death.run));
        let error = ledger.resume(&death.run).unwrap_err();
        assert!(error.to_string().contains("still being carried out"), "{error}");
        drop(spender);
        assert!(!ledger.is_alive(&death.run));

        let mut unfinished = ledger.resume(&death.run).unwrap();
        unfinished.drawn = vec![9];
        let transcript = Transcript::reopen(&death.directory.path().join("t"), &death.run);
        let generator = NoiseGenerator::insecure_from_seed(2);
        let error = Spender::resumed(ledger, unfinished, transcript.unwrap(), generator);
        assert!(error.unwrap_err().to_string().contains("does not know"));
    }
}
