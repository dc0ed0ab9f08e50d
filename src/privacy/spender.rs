//! The only way from private to released.

use super::accountant::{Calibrated, Event, Mechanism};
use super::ledger::{Ledger, Outcome, RunId};
use super::mechanism::selection::largest;
use super::mechanism::{
    DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, NoiseGenerator, NoisyMaximum,
    PermuteAndFlip, PoissonSample,
};
use crate::error::{Error, Result};

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
}

/// Who is told of the draws.
enum Account {
    Ledger {
        ledger: Box<Ledger>,
        run: RunId,
    },
    /// Nobody: public data play the private part.
    Rehearsal,
}

impl Spender {
    /// For a run that the ledger has granted with exactly these events.
    pub fn new(
        ledger: Ledger,
        run: RunId,
        calibrated: &Calibrated,
        generator: NoiseGenerator,
    ) -> Self {
        let events = calibrated.events.clone();
        let none = vec![0; events.len()];
        let account = Account::Ledger { ledger: Box::new(ledger), run };
        Self { account, generator, announced: none.clone(), drawn: none, events }
    }

    /// For studies in which *public* data play the private part, such as
    /// `halflight reproduce`: nothing is written to a ledger, the noise comes from a
    /// seed so that a table can be repeated, and there may be none at all
    /// ([`Calibrated::noiseless`]). What comes out is not private.
    pub(crate) fn rehearsal(calibrated: &Calibrated, seed: u64) -> Self {
        let events = calibrated.events.clone();
        let none = vec![0; events.len()];
        Self {
            account: Account::Rehearsal,
            generator: NoiseGenerator::insecure_from_seed(seed),
            announced: none.clone(),
            drawn: none,
            events,
        }
    }

    /// Noise scale of a planned release: σ, b, or the scale of a selection.
    pub fn scale(&self, release: &str) -> Result<f64> {
        Ok(self.events[self.find(release)?].mechanism.scale())
    }

    /// Draws so far, per event: what is spent if the run ends here.
    pub fn drawn(&self) -> Vec<Event> {
        let spent = self.events.iter().zip(&self.drawn).filter(|(_, drawn)| **drawn > 0);
        spent.map(|(event, drawn)| Event { count: *drawn, ..event.clone() }).collect()
    }

    /// The run is over: only what was drawn stays charged.
    pub fn settle(mut self, outcome: Outcome, peeked: bool) -> Result<()> {
        match &mut self.account {
            Account::Ledger { ledger, run } => ledger.settle(run, &self.drawn, outcome, peeked),
            Account::Rehearsal => Ok(()),
        }
    }

    /// How many words of its generator the run has used: each draw moves on, so that no noise
    /// is used twice.
    pub fn noise_words(&self) -> u64 {
        self.generator.words()
    }

    pub(super) fn gaussian(
        &mut self,
        release: &str,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(release)?;
        let Mechanism::Gaussian { sigma, grid, coordinates, .. } = self.events[index].mechanism
        else {
            return Err(planned_otherwise(release));
        };
        let noise = self.noise(sigma, || DiscreteGaussian::from_event(sigma, grid))?;
        let exact = self.compute(index, coordinates, |_| Ok(exact()))?;
        match noise {
            Some(noise) => noise.perturb(&mut self.generator, &exact),
            None => Ok(exact),
        }
    }

    pub(super) fn subsampled_gaussian(
        &mut self,
        release: &str,
        records: usize,
        exact: impl FnOnce(&PoissonSample) -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(release)?;
        let Mechanism::SubsampledGaussian { sigma, grid, coordinates, rate, .. } =
            self.events[index].mechanism
        else {
            return Err(planned_otherwise(release));
        };
        let noise = self.noise(sigma, || DiscreteGaussian::from_event(sigma, grid))?;
        let exact = self.compute(index, coordinates, |generator| {
            Ok(exact(&PoissonSample::draw(generator, rate, records)?))
        })?;
        match noise {
            Some(noise) => noise.perturb(&mut self.generator, &exact),
            None => Ok(exact),
        }
    }

    pub(super) fn laplace(
        &mut self,
        release: &str,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(release)?;
        let Mechanism::Laplace { scale, grid, coordinates, .. } = self.events[index].mechanism
        else {
            return Err(planned_otherwise(release));
        };
        let noise = self.noise(scale, || DiscreteLaplace::from_event(scale, grid))?;
        let exact = self.compute(index, coordinates, |_| Ok(exact()))?;
        match noise {
            Some(noise) => noise.perturb(&mut self.generator, &exact),
            None => Ok(exact),
        }
    }

    /// One of the candidates, the larger its score the likelier.
    pub(super) fn select(
        &mut self,
        release: &str,
        scores: impl FnOnce() -> Vec<f64>,
    ) -> Result<usize> {
        let index = self.find(release)?;
        match self.events[index].mechanism {
            Mechanism::Selection { scale, candidates, .. } => {
                let noise = self.noise(scale, || ExponentialMechanism::with_scale(scale))?;
                let scores = self.compute(index, candidates, |_| Ok(scores()))?;
                match noise {
                    Some(noise) => noise.select(&mut self.generator, &scores),
                    None => largest(&scores),
                }
            }
            Mechanism::PermuteAndFlip { scale, candidates, .. } => {
                let noise = self.noise(scale, || PermuteAndFlip::with_scale(scale))?;
                let scores = self.compute(index, candidates, |_| Ok(scores()))?;
                match noise {
                    Some(noise) => noise.select(&mut self.generator, &scores),
                    None => largest(&scores),
                }
            }
            Mechanism::NoisySelection { scale, candidates, .. } => {
                let noise = self.noise(scale, || NoisyMaximum::from_event(scale))?;
                let scores = self.compute(index, candidates, |_| Ok(scores()))?;
                match noise {
                    Some(noise) => noise.select(&mut self.generator, &scores),
                    None => largest(&scores),
                }
            }
            _ => Err(planned_otherwise(release)),
        }
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
        exact: impl FnOnce(&mut NoiseGenerator) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        self.announce(index)?;
        let exact = exact(&mut self.generator)?;
        if exact.len() as u64 != planned {
            return Err(Error::failed(format!(
                "release '{}' announced {planned} numbers and computed {}",
                self.events[index].label,
                exact.len()
            )));
        }
        self.drawn[index] += 1;
        Ok(exact)
    }

    /// Makes sure that one more draw of event `index` is in the ledger.
    fn announce(&mut self, index: usize) -> Result<()> {
        let planned = self.events[index].count;
        if self.drawn[index] == planned {
            return Err(Error::refused(format!(
                "release '{}' was planned {planned} times and is asked for once more",
                self.events[index].label
            )));
        }
        if self.drawn[index] == self.announced[index] {
            let block = planned.div_ceil(BLOCKS_PER_EVENT).min(planned - self.announced[index]);
            if let Account::Ledger { ledger, run } = &mut self.account {
                ledger.reserve(run, index, block)?;
            }
            self.announced[index] += block;
        }
        Ok(())
    }

    fn find(&self, release: &str) -> Result<usize> {
        self.events
            .iter()
            .position(|event| event.label == release)
            .ok_or_else(|| Error::refused(format!("release '{release}' is not in the run's plan")))
    }
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
    use super::*;
    use crate::privacy::accountant::{
        Adjacency, Allotment, PlannedMechanism, PlannedRelease, Target, calibrate,
    };
    use crate::privacy::ledger::{Budget, DatasetRecord, Grant};
    use crate::privacy::mechanism::{DiscreteLaplace, NoisyMaximum};
    use crate::privacy::{Private, Released};

    const TARGET: Target = Target { epsilon: 1.0, delta: 1e-6 };

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
            Gaussian, Laplace, NoisySelection, PermuteAndFlip, Selection, SubsampledGaussian,
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
                Mechanism::Selection { scale, .. } | Mechanism::PermuteAndFlip { scale, .. } => {
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

    fn query(kind: &str, spender: &mut Spender, label: &str) -> Result<Released<Vec<f64>>> {
        let data = data();
        match kind {
            "gaussian" => data.release_gaussian(spender, label, |data| data[..2].to_vec()),
            "subsampled" => {
                data.release_subsampled_gaussian(spender, label, Vec::len, |data, s| {
                    vec![s.members().iter().map(|i| data[*i]).sum(), s.members().len() as f64]
                })
            }
            "laplace" => data.release_laplace(spender, label, |data| data[..2].to_vec()),
            _ => data
                .select(spender, label, |data| data[1..].to_vec())
                .map(|winner| winner.map(|winner| vec![winner as f64])),
        }
    }

    #[test]
    fn every_kind_is_drawn_as_often_as_planned_and_no_other_way() {
        let calibrated = with_noise(Calibrated::noiseless(&every_kind(), 1e-6));
        let labels: Vec<String> = calibrated.events.iter().map(|e| e.label.clone()).collect();
        let mut spender = Spender::rehearsal(&calibrated, 1);
        for label in &labels {
            for other in ["gaussian", "subsampled", "laplace", "selection"] {
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
        let mut get = |label: &str| query(label, &mut spender, label).unwrap().into_inner();
        assert_eq!(get("gaussian"), [0.25, -0.125]);
        assert_eq!(get("laplace"), [0.25, -0.125]);
        assert_eq!(get("selection"), [1.0]);
        assert_eq!(get("noisy selection"), [1.0]);
        assert_eq!(get("subsampled")[1].fract(), 0.0);
        let ties = Private::new(()).select(&mut spender, "selection", |()| vec![0.0, 7.0, 7.0]);
        assert_eq!(ties.unwrap().into_inner(), 1);
    }

    #[test]
    fn every_poisson_sample_of_a_release_is_another() {
        let calibrated = Calibrated::noiseless(
            &[planned(
                "subsampled",
                PlannedMechanism::SubsampledGaussian {
                    l2_sensitivity: 1.0,
                    coordinates: 1000,
                    rate: 0.5,
                },
                2,
            )],
            1e-6,
        );
        let mut spender = Spender::rehearsal(&calibrated, 1);
        let mut memberships = || {
            let membership = |(): &(), sample: &PoissonSample| {
                let mut mask = vec![0.0; sample.population()];
                for member in sample.members() {
                    mask[*member] = 1.0;
                }
                mask
            };
            Private::new(())
                .release_subsampled_gaussian(&mut spender, "subsampled", |()| 1000, membership)
                .unwrap()
                .into_inner()
        };
        let (first, second) = (memberships(), memberships());
        let both = first.iter().zip(&second).filter(|(a, b)| **a == 1.0 && **b == 1.0).count();
        assert!((150..350).contains(&both), "{both}");
    }

    #[test]
    fn a_selection_refuses_scores_that_are_no_numbers_and_a_wrong_count_of_them() {
        let calibrated = with_noise(Calibrated::noiseless(&every_kind(), 1e-6));
        let mut spender = Spender::rehearsal(&calibrated, 1);
        let mut select = |scores: Vec<f64>| {
            let selected = Private::new(scores).select(&mut spender, "selection", Vec::clone);
            selected.map(Released::into_inner).unwrap_err().to_string()
        };
        assert!(select(vec![0.0, f64::NAN, 1.0]).contains("candidate 2 is NaN"));
        assert!(select(vec![0.0, 1.0]).contains("announced 3 numbers and computed 2"));
        assert_eq!(spender.noise_words(), 0);
    }

    #[test]
    fn the_ledger_knows_of_a_draw_before_it_is_made_and_without_it_nothing_is_computed() {
        let directory = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(directory.path()).unwrap();
        let text = |text: &str| text.to_owned();
        let record = DatasetRecord {
            name: text("hospital"),
            origin: text("/hospital.csv"),
            content: text("c"),
            view: text("v"),
            rows: 1000,
        };
        let account = ledger.register(&record).unwrap();
        ledger.set_budget(&account, Budget { epsilon: 2.0, delta: 1e-5 }).unwrap();
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
        };
        ledger.grant(grant).unwrap();
        let lines = || {
            let text = std::fs::read_to_string(directory.path().join("ledger.jsonl")).unwrap();
            text.lines().count()
        };
        let before = lines();
        let second = Ledger::open(directory.path()).unwrap();
        let generator = NoiseGenerator::insecure_from_seed(1);
        let mut spender = Spender::new(second, run.clone(), &calibrated, generator);
        let data = Private::new(1.0);
        // Fifty draws in blocks of three: every first of three finds one more line.
        for draw in 0..9 {
            let seen = |value: &f64| {
                assert_eq!(lines(), before + 1 + draw / 3);
                vec![*value]
            };
            data.release_gaussian(&mut spender, "mean", seen).unwrap();
        }
        ledger.settle(&run, &[9], Outcome::Stopped, false).unwrap();
        let words = spender.noise_words();
        let never = |_: &f64| -> Vec<f64> { panic!("computed without a reservation") };
        assert!(data.release_gaussian(&mut spender, "mean", never).is_err());
        assert_eq!(spender.noise_words(), words);
        assert_eq!(spender.drawn()[0].count, 9);
    }
}
