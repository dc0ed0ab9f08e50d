//! The only way from private to released: announce in the ledger, compute, clip, draw, keep.
//!
//! This module handles the cost of a draw and who is told about it. [`draws`] holds the kinds of
//! draws.

mod draws;
mod open_runs;
mod repeats;

use super::accountant::{Calibrated, Event, Mechanism, QueryKind};
use super::ledger::{Grant, Ledger, RunId, RunOutcome, Unfinished};
use super::mechanism::{NoiseGenerator, PoissonSample};
use super::private::Watch;
use super::release::{Release, ReleaseKind};
use super::tape::{Departure, Draw, Tape};
use super::transcript::Transcript;
use crate::error::{Error, ErrorKind, Result};
use crate::exchange::Exchange;
use crate::faults::{Fault, planted};
use halflight_dp::blind::is_blind;
use open_runs::SharedRun;

/// The largest number of blocks in which a run's draws of one event are announced. Each costs one
/// synced line in the ledger.
const BLOCKS_PER_EVENT: u64 = 20;

pub use open_runs::{Settled, settle_all};
pub use repeats::{OpenRepeats, RepeatsLeft};

/// Draws the noise of one granted run, announcing each block of draws in the
/// ledger first. Dropping it without [`Spender::settle`] leaves the whole grant
/// charged.
pub struct Spender {
    account: DrawListener,
    generator: NoiseGenerator,
    events: Vec<Event>,
    /// The prefix of the labels of the current plan's events.
    scope: String,
    announced: Vec<u64>,
    drawn: Vec<u64>,
    /// Where released values are kept, so that the run can be resumed.
    transcript: Option<Transcript>,
    /// Draws of an earlier program whose values are lost: spent for nothing.
    lost: Vec<u64>,
    /// The run asked for a draw that it could have had, if none had been lost.
    ran_out: bool,
    /// The ledger could not be written, so a draw was not made.
    unannounced: bool,
    /// The draws of a rehearsal that is audited.
    tape: Option<Tape>,
    /// The other sites of a joint run.
    exchange: Option<Box<dyn Exchange>>,
    /// The exchange with them failed, so the joint value of a release is missing.
    paused: bool,
    /// Why the sites do not go on together.
    parted: Option<Error>,
}

/// The input of a mechanism.
struct MechanismInput {
    exact: Vec<f64>,
    members: Vec<usize>,
    overreached: bool,
}

/// Where draws are announced.
enum DrawListener {
    Ledger(SharedRun),
    /// The ledger counted every draw when it granted the run: a task of a sweep, which may run far
    /// from the ledger.
    Carried,
    /// Nowhere: public data play the private role.
    Rehearsal,
}

impl Spender {
    fn with_account(account: DrawListener, events: Vec<Event>, generator: NoiseGenerator) -> Self {
        let none = vec![0; events.len()];
        let announced = match account {
            DrawListener::Carried => events.iter().map(|event| event.count).collect(),
            DrawListener::Ledger(_) | DrawListener::Rehearsal => none.clone(),
        };
        Self {
            account,
            generator,
            events,
            scope: String::new(),
            announced,
            drawn: none.clone(),
            transcript: None,
            lost: none,
            ran_out: false,
            unannounced: false,
            tape: None,
            exchange: None,
            paused: false,
            parted: None,
        }
    }

    /// Noise scale of a planned release, as the method gets it: σ, b, or the scale of a selection.
    /// Of a joint release it is the scale of what all sites released.
    pub fn scale<K: ReleaseKind>(&self, release: &Release<K>) -> Result<f64> {
        let (index, mechanism) = self.planned(release)?;
        let label = &self.events[index].label;
        match &self.exchange {
            Some(exchange) if exchange.joins(label) => exchange.scale(label),
            _ => Ok(mechanism.noise.scale),
        }
    }

    /// Draws so far, per event: the spending if the run ends here.
    pub fn drawn(&self) -> Vec<Event> {
        let spent = self.events.iter().zip(&self.drawn).filter(|(_, drawn)| **drawn > 0);
        spent.map(|(event, drawn)| Event { count: *drawn, ..event.clone() }).collect()
    }

    /// How often each event was drawn, lost draws included.
    pub fn counts(&self) -> &[u64] {
        &self.drawn
    }

    /// Whether the next draw was made by an earlier program and is returned again.
    pub fn is_replaying(&self) -> bool {
        self.transcript.as_ref().is_some_and(Transcript::is_replaying)
    }

    /// The total number of draws that were spent and whose values are lost.
    pub fn lost(&self) -> u64 {
        self.lost.iter().sum()
    }

    /// Whether the run ended because of [`Self::lost`] draws and has nothing left.
    pub fn ran_out(&self) -> bool {
        self.ran_out
    }

    /// Whether its ledger is elsewhere, so that it cannot be resumed.
    pub fn is_carried(&self) -> bool {
        matches!(self.account, DrawListener::Carried)
    }

    /// Whether a released value could not be kept, so that nobody has seen it, a draw could not be
    /// announced, so that it was not made, or the other sites' values are missing.
    pub fn is_broken(&self) -> bool {
        let unkept = self.transcript.as_ref().is_some_and(Transcript::is_broken);
        self.unannounced || self.paused || unkept
    }

    /// Why the sites of a joint run did not go on together, if they did not.
    pub fn parted(&self) -> Option<&Error> {
        self.parted.as_ref()
    }

    /// Settles a run that is over: only its draws stay charged.
    pub fn settle(mut self, outcome: RunOutcome, peeked: bool) -> Result<()> {
        // Told first: a program that dies after that says it again when the run is resumed.
        let told = self.exchange.as_mut().map_or(Ok(()), |exchange| exchange.end());
        match &self.account {
            DrawListener::Ledger(open) => open.lock()?.settle(&self.drawn, outcome, peeked)?,
            DrawListener::Carried | DrawListener::Rehearsal => {}
        }
        told
    }

    /// How many words of its generator the run has used. Each draw advances it, so that no noise is
    /// used twice.
    pub fn noise_words(&self) -> u64 {
        self.generator.words()
    }

    /// The value of one more draw of event `index`, of `planned` numbers. Where sites release
    /// together it is their joint value, and this site's own one is drawn and kept before.
    fn once(
        &mut self,
        index: usize,
        planned: u64,
        query: impl FnOnce(&mut Self) -> Result<MechanismInput>,
        perturb: impl FnOnce(&mut Self, &[f64]) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        let label = self.events[index].label.clone();
        if !self.exchange.as_ref().is_some_and(|exchange| exchange.joins(&label)) {
            return self.own(index, planned, query, perturb);
        }
        self.with_others(|exchange| exchange.begin())?;
        let own = if self.exchange.as_ref().is_some_and(|exchange| exchange.has_one_noise()) {
            self.hidden(index, planned, query)?
        } else {
            self.own(index, planned, query, perturb)?
        };
        self.with_others(|exchange| exchange.join(&label, &own))?.ok_or_else(|| {
            Error::failed(format!("the release '{label}' has no sites that join it"))
        })
    }

    /// This site's part of a value with one noise for all: a masked one, which is on the disk before it
    /// travels. A mask must never hide two values.
    fn hidden(
        &mut self,
        index: usize,
        planned: u64,
        query: impl FnOnce(&mut Self) -> Result<MechanismInput>,
    ) -> Result<Vec<f64>> {
        let label = self.events[index].label.clone();
        let is_new = !self.is_replaying();
        let hidden = self.own(index, planned, query, |spender, exact| {
            let share = spender.with_others(|exchange| exchange.share(&label))?;
            let share = share.ok_or_else(|| Error::failed("no other sites share the noise"))?;
            share.seal(&mut spender.generator, exact)
        })?;
        if is_new && let Some(transcript) = &mut self.transcript {
            transcript.sync()?;
        }
        Ok(hidden)
    }

    /// Asks the exchange, if there is one, and notes what an error means for the run.
    fn with_others<T>(
        &mut self,
        ask: impl FnOnce(&mut dyn Exchange) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(exchange) = &mut self.exchange else { return Ok(None) };
        ask(exchange.as_mut()).map(Some).inspect_err(|error| {
            let parted = error.kind() == ErrorKind::Refused;
            (self.paused, self.ran_out) = (!parted, self.ran_out || parted);
            self.parted = parted.then(|| error.clone());
        })
    }

    /// This site's value of one more draw: the one that was released before the run was resumed, or
    /// a new one, which is kept before anybody sees it.
    fn own(
        &mut self,
        index: usize,
        planned: u64,
        query: impl FnOnce(&mut Self) -> Result<MechanismInput>,
        perturb: impl FnOnce(&mut Self, &[f64]) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        if let Some(transcript) = &mut self.transcript
            && let Some(released) = transcript.recorded(index)?
        {
            return Ok(released);
        }
        let MechanismInput { exact, members, overreached } = self.compute(index, planned, query)?;
        let released = match self.before()? {
            Some(draw) => draw.released.clone(),
            None => self.fresh(index, &exact, perturb)?,
        };
        if let Some(transcript) = &mut self.transcript {
            transcript.append(index, &released)?;
        }
        if let Some(tape) = &mut self.tape {
            let released = released.clone();
            tape.draws.push(Draw { event: index, exact, released, members, overreached });
        }
        Ok(released)
    }

    /// A new value, with noise that no draw had before.
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
        match self.tape.as_ref().and_then(|tape| tape.last(index)) {
            Some(last) if planted(Fault::StaleTranscript) => Ok(last),
            _ => Ok(released),
        }
    }

    /// The draw of an earlier rehearsal that an audit follows.
    fn before(&self) -> Result<Option<&Draw>> {
        self.tape.as_ref().map_or(Ok(None), Tape::next)
    }

    /// A new Poisson sample; in an audit the one from its history.
    fn sample(&mut self, index: usize, rate: f64, records: usize) -> Result<PoissonSample> {
        let mut sample = match self.before()? {
            Some(draw) => PoissonSample::again(draw.members.clone()),
            None if planted(Fault::KnownSample) => {
                let mut known = NoiseGenerator::insecure_from_seed(self.drawn[index]);
                PoissonSample::draw(&mut known, rate, records)?
            }
            None => PoissonSample::draw(&mut self.generator, rate, records)?,
        };
        if planted(Fault::FixedSample) && self.before()?.is_none() {
            let size = (rate * records as f64).round() as usize;
            let first = sample.members().first().map_or(0, |first| 7 * first);
            let mut members: Vec<usize> = (0..size).map(|i| (first + 11 * i) % records).collect();
            members.sort_unstable();
            sample = PoissonSample::again(members);
        }
        if let Some(tape) = &self.tape {
            let members = tape.departure.members(sample.members().to_vec());
            sample = PoissonSample::again(members);
        }
        Ok(sample)
    }

    /// Computes the exact value for one more draw of event `index`, once the draw is in the ledger.
    /// From here on it counts as drawn.
    fn compute(
        &mut self,
        index: usize,
        planned: u64,
        query: impl FnOnce(&mut Self) -> Result<MechanismInput>,
    ) -> Result<MechanismInput> {
        self.announce(index)?;
        let mut query = query(self)?;
        if is_blind() {
            query.exact.fill(0.0);
        }
        // The error does not tell how many it computed instead, because this may depend on the
        // data.
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

    /// Notes the draws so far for a program that resumes the run.
    fn tally(&self) -> Result<()> {
        match &self.account {
            DrawListener::Ledger(open) => open.lock()?.note(&self.drawn, self.transcript.is_some()),
            DrawListener::Carried | DrawListener::Rehearsal => Ok(()),
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
                .cure("start the run again: it needs a budget of its own"));
            }
            return Err(Error::refused(format!(
                "release '{label}' was planned {planned} times and is asked for once more"
            )));
        }
        if self.drawn[index] == self.announced[index] {
            let left = planned.saturating_sub(self.announced[index]);
            let block = planned.div_ceil(BLOCKS_PER_EVENT).min(left);
            if let DrawListener::Ledger(open) = &self.account {
                let mut open = open.lock()?;
                // The values of a block are durable before the next one is announced.
                self.transcript.as_mut().map_or(Ok(()), Transcript::sync)?;
                if let Err(error) = open.reserve(index, block) {
                    // The disk may be full, say: the run can continue when there is room again.
                    self.unannounced =
                        error.kind() == ErrorKind::Failed && self.transcript.is_some();
                    return Err(error);
                }
            }
            self.announced[index] += block;
        }
        Ok(())
    }

    /// The event of a planned release, which must match its handle.
    fn planned<K: ReleaseKind>(&self, release: &Release<K>) -> Result<(usize, Mechanism)> {
        let label = format!("{}{}", self.scope, release.label());
        let index =
            self.events.iter().position(|event| event.label == label).ok_or_else(|| {
                Error::refused(format!("release '{label}' is not in the run's plan"))
            })?;
        let mechanism = self.events[index].mechanism;
        if mechanism.carries_out(&release.query()) {
            Ok((index, mechanism))
        } else {
            Err(Error::refused(format!("release '{label}' was planned with other noise")))
        }
    }
}

/// Openings of [`Spender`]: who may draw, for which run, and with which noise.
pub trait OpenSpender: Sized {
    /// For a run that the ledger has granted with exactly these events and noise from the
    /// generator's source; otherwise refused.
    fn new(
        ledger: Ledger,
        run: RunId,
        calibrated: &Calibrated,
        generator: NoiseGenerator,
    ) -> Result<Self>;

    /// For a run under this watch, in which exact numbers may have been seen `before`.
    fn watched(self, watch: &Watch, before: bool) -> Result<Self>;

    /// For a run whose draws were all announced in the ledger when it was granted; it is settled
    /// later, when its result is collected. Only the transcript is written here.
    fn carried(calibrated: &Calibrated, transcript: Transcript, generator: NoiseGenerator) -> Self;

    /// For a run whose program died. The values in its transcript are returned again, without
    /// looking at private data and without noise. Draws whose values are lost stay spent: they are
    /// missing at the end. Everything after that is drawn from `generator`, which must be a new
    /// one.
    fn resumed(
        ledger: Ledger,
        unfinished: Unfinished,
        transcript: Transcript,
        generator: NoiseGenerator,
    ) -> Result<Self>;

    /// From here on a release is the event whose label is `scope` plus the release's own label.
    /// Each of several plans under one grant has its scope.
    fn enter(&mut self, scope: &str);

    /// Keeps released values, so that the run can be resumed.
    fn keeping(self, transcript: Transcript) -> Self;

    /// Takes part in a joint run. Only values with Gaussian noise from all records can be joined:
    /// otherwise refused.
    fn joining(self, exchange: Box<dyn Exchange>) -> Result<Self>;

    /// For studies in which *public* data play the private role, such as `halflight-studies`.
    /// Nothing is written to a ledger, the noise comes from a seed so that a table can be repeated,
    /// and there may be no noise at all ([`Calibrated::noiseless`]). The results are not private.
    fn rehearsal(calibrated: &Calibrated, seed: u64) -> Self;

    /// A rehearsal whose draws are kept, or one that sees the samples and released values of
    /// an earlier one.
    fn audited(calibrated: &Calibrated, seed: u64, departure: Departure) -> Self;

    /// Whether the spender would draw an event once more than planned, for an audit, which expects
    /// that it would not.
    fn exceeds_its_plan(&mut self) -> bool;

    /// The draws of an audited rehearsal.
    fn into_draws(self) -> Vec<Draw>;
}

impl OpenSpender for Spender {
    fn new(
        mut ledger: Ledger,
        run: RunId,
        calibrated: &Calibrated,
        generator: NoiseGenerator,
    ) -> Result<Self> {
        let book = ledger.book()?;
        let granted = |grant: &Grant| {
            grant.events == calibrated.events() && grant.noise == generator.source()
        };
        if !book.run(&run).is_some_and(|known| granted(&known.grant)) {
            return Err(Error::refused(format!(
                "the ledger has not granted run '{}' with this noise",
                run.0
            )));
        }
        let account = DrawListener::Ledger(SharedRun::new(ledger, run, calibrated.events().len()));
        Ok(Self::with_account(account, calibrated.events().to_vec(), generator))
    }

    fn watched(self, watch: &Watch, before: bool) -> Result<Self> {
        if let DrawListener::Ledger(open) = &self.account {
            open.watched(watch, before)?;
        }
        Ok(self)
    }

    fn carried(calibrated: &Calibrated, transcript: Transcript, generator: NoiseGenerator) -> Self {
        Self::with_account(DrawListener::Carried, calibrated.events().to_vec(), generator)
            .keeping(transcript)
    }

    fn resumed(
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
        let account = DrawListener::Ledger(SharedRun::new(ledger, grant.run, grant.events.len()));
        let mut spender = Self::with_account(account, grant.events, generator).keeping(transcript);
        (spender.announced, spender.drawn, spender.lost) = (reserved, drawn, lost);
        spender.tally()?;
        Ok(spender)
    }

    fn enter(&mut self, scope: &str) {
        scope.clone_into(&mut self.scope);
    }

    fn keeping(mut self, transcript: Transcript) -> Self {
        self.transcript = Some(transcript);
        self
    }

    fn joining(self, exchange: Box<dyn Exchange>) -> Result<Self> {
        let other = |event: &&Event| {
            exchange.joins(&event.label) && event.mechanism.query.kind != QueryKind::Gaussian
        };
        if let Some(event) = self.events.iter().find(other) {
            return Err(Error::refused(format!(
                "the release '{}' is no mean with Gaussian noise, and only such are joined",
                event.label
            )));
        }
        Ok(Self { exchange: Some(exchange), ..self })
    }

    fn rehearsal(calibrated: &Calibrated, seed: u64) -> Self {
        let generator = NoiseGenerator::insecure_from_seed(seed);
        Self::with_account(DrawListener::Rehearsal, calibrated.events().to_vec(), generator)
    }

    fn audited(calibrated: &Calibrated, seed: u64, departure: Departure) -> Self {
        let seed = if planted(Fault::SeedReuse) { 0 } else { seed };
        let tape = Some(Tape { departure, draws: Vec::new() });
        Self { tape, ..Self::rehearsal(calibrated, seed) }
    }

    fn exceeds_its_plan(&mut self) -> bool {
        (0..self.events.len()).any(|index| {
            self.drawn[index] >= self.events[index].count && self.announce(index).is_ok()
        })
    }

    fn into_draws(self) -> Vec<Draw> {
        self.tape.map_or_else(Vec::new, |tape| tape.draws)
    }
}

impl std::fmt::Debug for Spender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spender").field("drawn", &self.drawn).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod machine;
#[cfg(test)]
mod tests;
