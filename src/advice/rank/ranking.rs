//! Repeats one by one: the scores of every candidate, for the curator alone.

use std::time::{Duration, Instant};

use super::blind_spots::{self, PrivateSide};
use super::candidate_line::Alongside;
use super::candidates::RankingSetup;
use super::comparison::Comparison;
use super::records::Supply;
use super::repeat::Repeat;
use super::settings::RankingSettings;
use crate::error::{Error, Result};
use crate::privacy::openings::{OpenCuratorOnly, OpenPrivate, OpenWatch};
use crate::privacy::{CuratorOnly, Private, Watch};

/// A ranking in progress: first the differences that gradients cannot see, then repeats.
pub struct Ranking {
    setup: RankingSetup,
    settings: RankingSettings,
    private: Private<Supply>,
    /// Made when the first candidate is compared with it.
    side: Option<Private<PrivateSide>>,
    repeats: Vec<CuratorOnly<Repeat>>,
    /// `None` if the watch was sealed meanwhile.
    alongside: Vec<Option<CuratorOnly<Alongside>>>,
}

/// The report of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankStep {
    /// Counts from 1.
    pub index: usize,
    pub total: usize,
    /// `GSD, repeat 3 of 10`, or the current candidate.
    pub words: String,
    pub done: bool,
}

impl RankStep {
    pub(super) fn repeat(index: usize, total: usize) -> Self {
        Self { index, total, words: format!("repeat {index} of {total}"), done: index == total }
    }
}

impl Ranking {
    pub fn new(settings: &RankingSettings, setup: RankingSetup, private: Private<Supply>) -> Self {
        let settings = settings.clone();
        let (repeats, alongside) = (Vec::new(), Vec::new());
        Self { setup, settings, private, side: None, repeats, alongside }
    }

    /// All repeats with public data in the private role, so nothing is private.
    pub fn of_public(
        settings: &RankingSettings,
        setup: RankingSetup,
        data: Supply,
    ) -> Result<Option<Comparison>> {
        let watch = Watch::open();
        let mut ranking = Self::new(settings, setup, Private::new(data));
        for _ in 0..settings.repeats {
            ranking.repeat(&watch)?;
        }
        let table = ranking.comparison(&watch);
        Ok(table.and_then(|table| table.reveal(&watch).cloned()))
    }

    /// About how long all steps take: one model and one repeat are timed, with the records of a
    /// candidate in the private role. `None` without candidates.
    pub fn time_of_public(
        settings: &RankingSettings,
        setup: RankingSetup,
    ) -> Result<Option<Duration>> {
        let first = setup.candidates.iter().find_map(|it| it.data.as_ref().ok().cloned());
        let Some(data) = first else { return Ok(None) };
        let watch = Watch::open();
        let mut ranking = Self::new(settings, setup, Private::new(data));
        let start = Instant::now();
        ranking.step(&watch)?;
        let models = start.elapsed().mul_f64(ranking.setup.candidates.len() as f64);
        let start = Instant::now();
        ranking.repeat(&watch)?;
        Ok(Some(models + start.elapsed().mul_f64(settings.repeats as f64)))
    }

    /// The other measures of every candidate, with public data in the private role.
    pub fn alongside_of_public(
        settings: &RankingSettings,
        setup: RankingSetup,
        data: Supply,
    ) -> Result<Vec<Alongside>> {
        let watch = Watch::open();
        let mut ranking = Self::new(settings, setup, Private::new(data));
        while ranking.alongside.len() < ranking.setup.candidates.len() {
            ranking.step(&watch)?;
        }
        let of = |found: &Option<CuratorOnly<Alongside>>| found.as_ref()?.reveal(&watch).cloned();
        Ok(ranking.alongside.iter().map(|found| of(found).unwrap_or_default()).collect())
    }

    pub fn setup(&self) -> &RankingSetup {
        &self.setup
    }

    /// The total number of steps.
    pub fn total(&self) -> usize {
        self.settings.repeats + self.setup.candidates.len()
    }

    /// The error of one candidate's own model, or one repeat. Errors come first, so the table is in
    /// its order from the beginning. Needs an open watch, because all numbers here are exact.
    pub fn step(&mut self, watch: &Watch) -> Result<RankStep> {
        if watch.is_sealed() {
            return Err(Error::refused(
                "the view is sealed: this ranking shows exact numbers only",
            )
            .cure("unseal it (v), or select privately (--private EPSILON)"));
        }
        let words = if let Some(candidate) = self.setup.candidates.get(self.alongside.len()) {
            let words = format!("the error of {}'s own model", candidate.name);
            let side = match self.side.take() {
                Some(known) => known,
                None => self.private.try_map(|data| PrivateSide::of(data, &self.settings))?,
            };
            let side = self.side.insert(side);
            let found = blind_spots::of(candidate, &self.setup, &self.settings, side, watch)?;
            self.alongside.push(found);
            words
        } else {
            self.repeat(watch)?;
            format!("GSD, repeat {} of {}", self.repeats.len(), self.settings.repeats)
        };
        let index = self.repeats.len() + self.alongside.len();
        let total = self.total();
        Ok(RankStep { index, total, words, done: index == total })
    }

    fn repeat(&mut self, watch: &Watch) -> Result<()> {
        let round = self.setup.round(self.repeats.len())?;
        let repeat = self.private.try_map(|data| Repeat::of(&round, data, self.setup.batch))?;
        self.repeats.extend(repeat.curator(watch, Clone::clone));
        Ok(())
    }

    /// The table of the repeats so far; `None` before the second repeat, or under a sealed watch.
    pub fn comparison(&self, watch: &Watch) -> Option<CuratorOnly<Comparison>> {
        let repeats: Option<Vec<&Repeat>> =
            self.repeats.iter().map(|repeat| repeat.reveal(watch)).collect();
        let repeats = repeats?;
        if repeats.len() < 2 {
            return None;
        }
        let alongside = (0..self.setup.candidates.len()).map(|index| {
            let found = self.alongside.get(index)?.as_ref()?;
            found.reveal(watch).cloned()
        });
        let alongside: Vec<Option<Alongside>> = alongside.collect();
        let table = Comparison::of(&self.setup, &repeats, &alongside, self.settings.order);
        // Exact numbers in, exact numbers out, with the same standing.
        let first = self.repeats.first()?.clone();
        Some(first.map(|_| table))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::data::{Bounds, Classes, Dataset};
    use crate::numeric::Matrix;
    use crate::rank::candidate_line::CandidatePlace;
    use crate::rank::{Candidate, Comparison, ProbeModel};

    const DIMENSION: usize = 12;

    /// Records that vary along the first coordinates, turned towards others by `turned`.
    fn records(count: usize, turned: f64, seed: u64) -> Dataset {
        let mut generator = ChaCha20Rng::seed_from_u64(seed);
        let (sine, cosine) = turned.sin_cos();
        let mut features = Matrix::zeros(DIMENSION, count);
        for mut column in features.column_iter_mut() {
            for axis in 0..4 {
                let along: f64 = StandardNormal.sample(&mut generator);
                let along = (0.5 + 0.2 * along) / (1.0 + axis as f64);
                column[axis] = cosine * along;
                column[axis + 4] = sine * along;
            }
            for slot in column.iter_mut() {
                let noise: f64 = StandardNormal.sample(&mut generator);
                *slot += 0.02 * noise;
            }
        }
        Dataset {
            feature_names: (0..DIMENSION).map(|i| i.to_string()).collect(),
            classes: Some(Classes {
                of: (0..count as u32).map(|i| i % 3).collect(),
                names: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
            }),
            ..Dataset::unlabelled("d", features, Bounds { feature_norm: 1.0, label: 1.0 })
        }
    }

    fn candidate(name: &str, data: Dataset) -> Candidate {
        Candidate { name: name.to_owned(), data: Ok(data.into()) }
    }

    fn settings() -> RankingSettings {
        RankingSettings {
            batch: 60,
            repeats: 6,
            directions: 4,
            order: super::super::CandidateOrder::Energy,
            ..RankingSettings::default()
        }
    }

    fn rank(settings: &RankingSettings, candidates: Vec<Candidate>) -> Result<Comparison> {
        let bounds = Bounds { feature_norm: 1.0, label: 1.0 };
        let setup = RankingSetup::new(settings, candidates, (400, DIMENSION), Some(3), bounds)?;
        let watch = Watch::open();
        let mut ranking =
            Ranking::new(settings, setup, Private::new(Supply::from(records(400, 0.0, 1))));
        assert!(ranking.comparison(&watch).is_none());
        for index in 1..=ranking.total() {
            let step = ranking.step(&watch)?;
            assert_eq!((step.index, step.done), (index, index == ranking.total()));
        }
        let comparison = ranking.comparison(&watch).unwrap();
        let sealed = Watch::sealed();
        assert!(comparison.reveal(&sealed).is_none() && ranking.step(&sealed).is_err());
        Ok(comparison.reveal(&watch).unwrap().clone())
    }

    #[test]
    fn the_nearer_a_candidate_the_better_its_place() {
        for order in [super::super::CandidateOrder::Energy, super::super::CandidateOrder::Distance]
        {
            for model in [ProbeModel::Linear, settings().model] {
                let settings = RankingSettings { model, order, ..settings() };
                let table = rank(
                    &settings,
                    vec![
                        candidate("far", records(300, 1.4, 2)),
                        candidate("near", records(300, 0.3, 3)),
                        candidate("itself", records(300, 0.0, 4)),
                        candidate("middle", records(300, 0.8, 5)),
                    ],
                )
                .unwrap();
                let names: Vec<&str> = table.lines.iter().map(|line| line.name.as_str()).collect();
                assert_eq!(names, ["itself", "near", "middle", "far"]);
                assert!(table.lines[0].as_floor && !table.lines[3].as_floor);
                assert_eq!(table.lines[3].place, CandidatePlace::Behind);
                let energy =
                    |line: &super::super::CandidateLine| line.summary.as_ref().unwrap().energy.mean;
                assert!(energy(&table.lines[0]) > table.ceiling.energy.mean);
                assert!(table.verdict.starts_with("use itself"), "{}", table.verdict);
                // The second order has the same verdicts.
                if let Some(other) = &table.other {
                    assert_eq!(other.verdict, table.verdict);
                    for line in &other.lines {
                        let judged = table.lines.iter().find(|it| it.name == line.name).unwrap();
                        let of = |it: &super::super::CandidateLine| (it.place, it.as_noise);
                        assert_eq!((&line.verdict, of(line)), (&judged.verdict, of(judged)));
                    }
                }
                let discrepancy = |line: &super::super::CandidateLine| {
                    line.alongside.as_ref().unwrap().unlabelled.unwrap()
                };
                assert!(discrepancy(&table.lines[0]) < discrepancy(&table.lines[3]));
            }
        }
    }

    #[test]
    fn twins_cannot_be_told_apart() {
        let twins =
            vec![candidate("a", records(300, 0.3, 6)), candidate("b", records(300, 0.3, 7))];
        let table = rank(&settings(), twins).unwrap();
        assert!(matches!(table.lines[1].place, CandidatePlace::Tied(_)), "{:?}", table.lines[1]);
        assert!(table.verdict.contains("may be as good"), "{}", table.verdict);
    }

    #[test]
    fn broken_candidates_do_not_stop_the_others() {
        let mut missing = records(300, 0.0, 2);
        missing.features[(3, 7)] = f64::NAN;
        let mut wide = records(300, 0.0, 2);
        wide.features = Matrix::zeros(DIMENSION + 1, 300);
        let mut constant = records(300, 0.0, 2);
        constant.features.fill(0.25);
        let mut huge = records(300, 0.0, 2);
        huge.features.fill(1e300);
        let unreadable = Candidate {
            name: "unreadable".to_owned(),
            data: Err(Error::failed("the file is gone")),
        };
        let table = rank(
            &settings(),
            vec![
                candidate("missing", missing),
                candidate("wide", wide),
                candidate("few", records(3, 0.0, 2)),
                unreadable,
                candidate("constant", constant),
                candidate("huge", huge),
                candidate("good", records(300, 0.2, 3)),
                candidate("small", records(30, 0.2, 3)),
            ],
        )
        .unwrap();
        let line = |name: &str| table.lines.iter().find(|line| line.name == name).unwrap();
        for (name, words) in [
            ("missing", "not a finite number"),
            ("wide", "13 features"),
            ("few", "3 records"),
            ("unreadable", "gone"),
            ("huge", "finite"),
        ] {
            let line = line(name);
            assert_eq!(line.place, CandidatePlace::Broken, "{name}");
            assert!(line.verdict.contains(words), "{}", line.verdict);
        }
        assert_eq!(table.batch, 30);
        assert!(table.remarks.iter().any(|remark| remark.contains("'small' has no more records")));
        assert!(table.lines[0].name == "good" || table.lines[0].name == "small");
        // Constant features span few directions, and are ranked with these.
        assert!(
            table.remarks.iter().any(|remark| remark.starts_with("constant spans fewer than")),
            "{:?}",
            table.remarks
        );
        let numbers = line("constant").summary.as_ref().unwrap();
        assert!(numbers.energy.mean.is_finite() && numbers.distance.mean.is_finite());
    }

    #[test]
    fn repeats_are_the_same_with_the_same_seed_whatever_else_is_ranked() {
        let alone = rank(&settings(), vec![candidate("a", records(300, 0.3, 6))]).unwrap();
        let more: Vec<Candidate> = (0..40)
            .map(|i| candidate(&format!("n{i}"), records(100, 1.0, 100 + i)))
            .chain([candidate("a", records(300, 0.3, 6))])
            .collect();
        let among = rank(&settings(), more).unwrap();
        assert_eq!(alone.lines[0].summary, among.lines[0].summary);
    }

    #[test]
    fn private_records_that_are_all_the_same_are_told_to_the_curator_alone() {
        let bounds = Bounds { feature_norm: 1.0, label: 1.0 };
        let told = |private: Dataset| {
            let candidates = vec![candidate("a", records(300, 0.3, 6))];
            let setup =
                RankingSetup::new(&settings(), candidates, (400, DIMENSION), Some(3), bounds);
            let mut ranking =
                Ranking::new(&settings(), setup.unwrap(), Private::new(Supply::from(private)));
            let watch = Watch::open();
            while !ranking.step(&watch).unwrap().done {}
            // The remarks of a public setup must not depend on private records.
            assert!(ranking.setup().remarks().iter().all(|remark| !remark.contains("private")));
            let comparison = ranking.comparison(&watch).unwrap();
            comparison.reveal(&watch).unwrap().remarks.join("; ")
        };
        let mut same = records(400, 0.0, 1);
        same.features.fill(0.25);
        assert!(told(same).contains("all private records that were drawn are the same"));
        let mut few = records(400, 0.0, 1);
        for mut column in few.features.column_iter_mut() {
            let size = column[0];
            column.fill(0.0);
            column[0] = size;
        }
        // One feature and a bias, each against three classes of which two are free.
        let mut wide = settings();
        wide.model = ProbeModel::Linear;
        wide.directions = 6;
        let setup = RankingSetup::new(
            &wide,
            vec![candidate("a", records(300, 0.3, 6))],
            (400, DIMENSION),
            Some(3),
            bounds,
        );
        let mut ranking = Ranking::new(&wide, setup.unwrap(), Private::new(Supply::from(few)));
        let watch = Watch::open();
        while !ranking.step(&watch).unwrap().done {}
        let comparison = ranking.comparison(&watch).unwrap();
        let remarks = comparison.reveal(&watch).unwrap().remarks.join("; ");
        assert!(remarks.contains("span only 4 of k = 6 directions"), "{remarks}");
        assert!(!told(records(400, 0.0, 1)).contains("private"));
    }

    #[test]
    fn private_data_that_span_nothing_are_told_as_theirs() {
        let bounds = Bounds { feature_norm: 1.0, label: 1.0 };
        let candidates = vec![candidate("a", records(300, 0.3, 6))];
        let setup = RankingSetup::new(&settings(), candidates, (400, DIMENSION), Some(3), bounds);
        let mut nothing = records(400, 0.0, 1);
        nothing.features.fill(f64::NAN);
        let mut ranking =
            Ranking::new(&settings(), setup.unwrap(), Private::new(Supply::from(nothing)));
        ranking.step(&Watch::open()).unwrap();
        let error = ranking.step(&Watch::open()).unwrap_err().to_string();
        assert!(error.starts_with("private data: "), "{error}");
    }
}
