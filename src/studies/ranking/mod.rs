//! The study of rankings: does the private set's own kind come first, how sure is one repeat,
//! and how often does a private selection find the best?
//!
//! Half of Fashion-MNIST plays the private part, or half of the X-rays. Candidates are that half
//! itself, the other half, digits, other images, the other half inverted, and noise; pixels are in
//! [−1, 1]. A repeat is a row of scores with its own weights, labels and batches.
//!
//! | module | holds |
//! |---|---|
//! | [`families`] | the images |
//! | [`networks`] | whether other networks give the same order, and all pairs of datasets |
//! | [`training`] | distances and gradients while a network is trained |
//! | [`utility`] | the accuracy of private training with the candidates, compared with their scores |
//! | this | orders, their certainty, private selection |

pub mod families;
pub mod networks;
pub mod training;
pub mod utility;

use std::sync::{Arc, Mutex, PoisonError};

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::grid::{Grid, GridTask, Harvest};
use super::table::{ExpectedMean, SeedValues, StudyTable, TableRow};
use crate::data::Dataset;
use crate::data::SecretOrder;
use crate::error::Result;
use crate::numeric::Vector;
use crate::privacy::accountant::calibrate;
use crate::privacy::{Private, Spender, Target};
use crate::rank::Repeat;
use crate::rank::{
    Candidate, PrivateDirection, PrivateRanking, PrivateSelection, ProbeModel, RankingSettings,
    RankingSetup, Selector, Supply,
};
use families::{Cast, Images};
use halflight_privacy_inside::openings::OpenSpender;

const PIXELS: usize = 784;
/// The private images as a candidate.
const ITSELF: &str = "itself";
/// Families of the same kind as the private images; chance decides which of them is first.
const OWN: [&str; 2] = [ITSELF, "disjoint half"];
/// Noise draws of a private selection.
const DRAWS: usize = 200;
/// Ways to find the best privately: by a selection, or by one direction.
const WAYS: [(Option<Selector>, &str); 3] = [
    (Some(Selector::PermuteAndFlip), "permute-and-flip"),
    (Some(Selector::Exponential), "exponential mechanism"),
    (None, "one direction (Bingham)"),
];

/// The material of the study.
pub struct RankingStudy {
    private: Arc<Dataset>,
    test: Dataset,
    candidates: Vec<Candidate>,
    pub settings: RankingSettings,
    pub repeats: usize,
    /// k of every row.
    rows: Vec<(String, usize)>,
    setups: Vec<Mutex<RankingSetup>>,
}

const ENERGY: &str = "energy";

/// The score, where larger is better.
type Goodness = fn(&(f64, f64)) -> f64;

/// The scores of one repeat: energy and distance of every candidate.
pub type CandidateScores = Vec<(f64, f64)>;

impl RankingStudy {
    pub fn new(
        images: Images<'_>,
        model: ProbeModel,
        batch: usize,
        repeats: usize,
        seed: u64,
    ) -> Result<(Self, Vec<String>)> {
        let Cast { private, test, candidates, missing } =
            Cast::new(images, &mut ChaCha20Rng::seed_from_u64(seed))?;
        let candidates: Vec<Candidate> = candidates
            .into_iter()
            .map(|data| Candidate { name: data.name.clone(), data: Ok(data.into()) })
            .collect();
        let settings = RankingSettings { model, batch, repeats, seed, ..Default::default() };
        let classes = classes(&private);
        let rows = [9, 16, 18].map(|k| {
            let words = if k % group(classes) == 0 { "a multiple of C − 1" } else { "cuts" };
            (format!("k = {k}, {words}"), k)
        });
        let setups = rows
            .iter()
            .map(|(_, k)| {
                let settings = RankingSettings { directions: *k, ..settings.clone() };
                let bounds = private.bounds;
                let shape = (private.len(), PIXELS);
                let setup =
                    RankingSetup::new(&settings, candidates.clone(), shape, Some(classes), bounds)?;
                // Rows that should show the effect of a cut get it.
                Ok(Mutex::new(setup.with_directions(*k)))
            })
            .collect::<Result<_>>()?;
        let (rows, private) = (rows.to_vec(), Arc::new(private));
        Ok((Self { private, test, candidates, settings, repeats, rows, setups }, missing))
    }

    pub fn names(&self) -> Vec<&str> {
        self.candidates.iter().map(|candidate| candidate.name.as_str()).collect()
    }

    pub fn header(&self, missing: &[String]) -> Vec<String> {
        let mut header = vec![
            format!(
                "{} private images of {PIXELS} pixels, m = {}, {} repeats, {}",
                self.private.len(),
                self.settings.batch,
                self.repeats,
                self.settings.model.words()
            ),
            "nothing here is private: the \"private\" images are public ones".to_owned(),
            "itself and its disjoint half are of the same kind: which of the two comes first is \
             chance, that one of them does is not"
                .to_owned(),
            "Otherwise than in the paper: halves of Fashion-MNIST and the images at hand in place of \
             CIFAR and SVHN, with --x-rays halves of PneumoniaMNIST in place of ChestX-ray14 and \
             HAM10000, and k a multiple of C − 1 in place of 16. Table 5 \
             compares networks that train here, in place of pretrained ones; figures 1 and 3 show the \
             ranking's own network, in place of ResNet20."
                .to_owned(),
        ];
        if !missing.is_empty() {
            header.push(format!("not found, left out: {}", missing.join(", ")));
        }
        header
    }

    /// A row per k, a column for all candidates, a seed per repeat.
    pub fn grid(&self) -> Grid {
        let seeds: Vec<u64> = (0..self.repeats as u64).collect();
        Grid::new(self.rows.iter().map(|(words, _)| words), ["scores"], &seeds)
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<CandidateScores>> {
        let mut setup = self.setups[place.row].lock().unwrap_or_else(PoisonError::into_inner);
        let round = setup.round(place.repetition as usize)?;
        let repeat = Repeat::of(&round, &Supply::Ready(Arc::clone(&self.private)), setup.batch)?;
        let scores = repeat.scores.iter().map(|score| {
            score.as_ref().map_or((f64::NAN, f64::NAN), |score| (score.energy, score.distance))
        });
        Ok(Some(scores.collect()))
    }

    pub fn tables(&self, harvest: &Harvest<CandidateScores>) -> Vec<StudyTable> {
        let mut tables = vec![self.orders(harvest)];
        for (row, (words, _)) in self.rows.iter().enumerate() {
            let rows = self.names().into_iter().enumerate().map(|(candidate, name)| {
                let picks: [Goodness; 2] = [|score| score.0, |score| score.1];
                let of =
                    |pick: Goodness| harvest.of(row, 0).map(move |scores| pick(&scores[candidate]));
                TableRow::new(name, picks.map(of))
            });
            tables.push(StudyTable::new(
                format!("Scores at {words}"),
                ["energy", "distance"],
                rows,
            ));
        }
        tables
    }

    /// Every score of every row of the grid: its name, the row, and its value for a candidate,
    /// where larger is better.
    fn score_rows(&self) -> impl Iterator<Item = (String, usize, Goodness)> {
        let scores: [(&str, Goodness); 2] =
            [(ENERGY, |score| score.0), ("distance", |score| -score.1)];
        self.rows.iter().enumerate().flat_map(move |(row, (words, _))| {
            scores.map(|(what, pick)| (format!("{what}, {words}"), row, pick))
        })
    }

    /// The mean score of every candidate over the repeats.
    fn means(&self, harvest: &Harvest<CandidateScores>, row: usize, pick: Goodness) -> Vec<f64> {
        let count = harvest.of(row, 0).count().max(1) as f64;
        let mean =
            |at: usize| harvest.of(row, 0).map(|scores| pick(&scores[at])).sum::<f64>() / count;
        (0..self.candidates.len()).map(mean).collect()
    }

    /// How often the private set itself is first, how often its own kind, and how certain one
    /// repeat's order is.
    fn orders(&self, harvest: &Harvest<CandidateScores>) -> StudyTable {
        let mut rows = Vec::new();
        // The goals are for ten classes.
        let goals = classes(&self.private) == 10;
        for (label, row, pick) in self.score_rows() {
            let k = self.rows[row].1;
            let repeats: Vec<Vec<f64>> =
                harvest.of(row, 0).map(|scores| scores.iter().map(pick).collect()).collect();
            let names = self.names();
            let first = |who: &[&str]| {
                let first = repeats.iter().filter(|goods| who.contains(&names[best(goods)]));
                first.count() as f64 / repeats.len().max(1) as f64
            };
            let mean = self.means(harvest, row, pick);
            let taus: Vec<f64> = repeats.iter().map(|goods| kendall(goods, &mean)).collect();
            let wanted = (goals && k == 9).then_some(ExpectedMean::AtLeast(0.9));
            let sure = goals && k.is_multiple_of(9) && label.starts_with(ENERGY);
            let tau = sure.then_some(ExpectedMean::AtLeast(0.95));
            rows.push(TableRow {
                label,
                cells: vec![
                    SeedValues { samples: vec![first(&[ITSELF])], wanted: None },
                    SeedValues { samples: vec![first(&OWN)], wanted },
                    SeedValues { samples: taus, wanted: tau },
                ],
            });
        }
        let columns = ["itself first", "own kind first", "Kendall τ of one repeat"];
        StudyTable::new("Orders", columns, rows)
    }

    /// How often a private selection, of all candidates but the private images themselves,
    /// finds the best.
    pub fn selections(&self, repeats: usize) -> Result<StudyTable> {
        let cases = [(2000, 0.5, Some(0.95)), (300, 2.0, Some(0.9)), (300, 0.5, None)];
        let mut rows: Vec<TableRow> =
            WAYS.map(|(_, label)| TableRow { label: label.to_owned(), cells: Vec::new() }).into();
        let mut columns = Vec::new();
        for (records, epsilon, wanted) in cases {
            let records = records.min(self.private.len());
            columns.push(format!("n = {records}, ε = {epsilon}"));
            for (row, (way, _)) in rows.iter_mut().zip(WAYS) {
                let share = self.found(records, epsilon, way, repeats)?;
                // The direction has no goal; it is there for comparison.
                let wanted = way.and(wanted).map(ExpectedMean::AtLeast);
                row.cells.push(SeedValues { samples: vec![share], wanted });
            }
        }
        let title = format!("Best found privately, share of {DRAWS} draws");
        Ok(StudyTable::new(title, columns, rows))
    }

    /// The share of draws that give the winner without noise: by a selection, or by the share of
    /// one direction in its span.
    pub fn found(
        &self,
        records: usize,
        epsilon: f64,
        way: Option<Selector>,
        repeats: usize,
    ) -> Result<f64> {
        let private = Private::new(Supply::from(self.private.records(0, records)));
        let candidates: Vec<Candidate> =
            self.candidates.iter().filter(|it| it.name != ITSELF).cloned().collect();
        let bounds = self.private.bounds;
        let settings = RankingSettings { directions: 9, ..self.settings.clone() };
        let setup = |candidates| {
            let classes = Some(classes(&self.private));
            RankingSetup::new(&settings, candidates, (records, PIXELS), classes, bounds)
        };
        let names: Vec<String> = candidates.iter().map(|it| it.name.clone()).collect();
        let selector = way.unwrap_or_default();
        let scored = setup(candidates.clone())?;
        // The data of a study are public: nothing is hidden.
        let known = (records, SecretOrder::KNOWN);
        let mut selection = PrivateSelection::new(selector, scored, repeats, &private, known);
        while !selection.step()?.done {}
        let noiseless = crate::privacy::Calibrated::noiseless(&[selection.plan()?], 1e-6);
        let winner = selection.draw(&mut Spender::rehearsal(&noiseless, 0))?;
        let mut direction = PrivateDirection::new(setup(candidates)?, &private, known)?;
        direction.step()?;
        let plan = if way.is_some() { selection.plan() } else { direction.plan() }?;
        let calibrated = calibrate(&[plan], Target { epsilon, delta: 1e-6 })?;
        let mut found = 0;
        for seed in 0..DRAWS as u64 {
            let mut spender = Spender::rehearsal(&calibrated, seed);
            let named = if way.is_some() {
                selection.draw(&mut spender)?.into_inner()
            } else {
                let shares = direction.draw(&mut spender)?.into_inner();
                let shares: Vec<f64> = shares.into_iter().map(Option::unwrap_or_default).collect();
                names[best(&shares)].clone()
            };
            found += usize::from(named == *winner.get());
        }
        Ok(found as f64 / DRAWS as f64)
    }
}

/// C
fn classes(data: &Dataset) -> usize {
    data.classes.as_ref().map_or(0, |classes| classes.names.len())
}

/// C − 1: the eigenvalues of gradients at random labels come in groups of so many.
fn group(classes: usize) -> usize {
    classes.saturating_sub(1).max(1)
}

fn best(goods: &[f64]) -> usize {
    (0..goods.len()).fold(0, |best, next| if goods[next] > goods[best] { next } else { best })
}

/// Spearman's ρ of two series: the correlation of their ranks, with equal numbers sharing one; 0 if
/// one series is constant.
pub fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |numbers: &[f64]| -> Vec<f64> {
        let rank = |x: &f64| {
            let (mut below, mut equal) = (0.0, 0.0);
            for other in numbers {
                below += f64::from(u8::from(other < x));
                equal += f64::from(u8::from(other == x));
            }
            below + (equal - numbers.len() as f64) / 2.0
        };
        numbers.iter().map(rank).collect()
    };
    // Minus half of their number, so that they sum to 0.
    let (a, b) = (Vector::from_vec(ranks(a)), Vector::from_vec(ranks(b)));
    let scale = (a.norm_squared() * b.norm_squared()).sqrt();
    if scale > 0.0 { a.dot(&b) / scale } else { 0.0 }
}

/// Kendall's τ of two orders without ties: pairs in the same order minus those in the other,
/// divided by all pairs.
pub fn kendall(a: &[f64], b: &[f64]) -> f64 {
    let (mut agreed, mut pairs) = (0.0, 0.0);
    for i in 0..a.len() {
        for j in 0..i {
            pairs += 1.0;
            agreed += ((a[i] - a[j]) * (b[i] - b[j])).signum();
        }
    }
    agreed / f64::max(pairs, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Activation;

    /// Leaves these candidates, and ranks them by so many directions.
    fn keep_only(study: &mut RankingStudy, names: &[&str], directions: usize) {
        study.candidates.retain(|it| names.contains(&&*it.name));
        let settings = RankingSettings { directions, ..study.settings.clone() };
        let (shape, bounds) = ((study.private.len(), PIXELS), study.private.bounds);
        let classes = Some(classes(&study.private));
        for setup in &mut study.setups {
            let candidates = study.candidates.clone();
            let ranked = RankingSetup::new(&settings, candidates, shape, classes, bounds).unwrap();
            *setup = Mutex::new(ranked);
        }
    }

    #[test]
    fn fashion_comes_first_for_fashion_in_the_order_of_every_repeat() {
        let model = ProbeModel::Perceptron(16, Activation::Relu);
        let (study, missing) = RankingStudy::new(Images::Inside, model, 200, 4, 1).unwrap();
        assert!(missing.is_empty());
        assert!(study.names().len() >= 6);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let harvest =
            study.grid().run(2, &stop, &mut |_| {}, |place| study.measure(place)).unwrap();
        let orders = study.orders(&harvest);
        let row = orders.row("energy, k = 9, a multiple of C − 1").unwrap();
        assert_eq!(row.mean(1), Some(1.0));
        assert!(row.mean(0).unwrap() <= 1.0);
        assert!(row.mean(2).unwrap() > 0.85);
        let tables = study.tables(&harvest);
        assert!(tables.iter().all(|table| !table.text().contains("NaN")));
    }

    #[test]
    fn the_order_of_the_scores_is_held_against_that_of_the_accuracies() {
        let model = ProbeModel::Perceptron(8, Activation::Relu);
        let (mut study, _) = RankingStudy::new(Images::Inside, model, 100, 2, 1).unwrap();
        study.private = Arc::new(study.private.records(0, 300));
        keep_only(&mut study, &["disjoint half", "inverted", "noise"], 9);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let scores = study.grid().run(2, &stop, &mut |_| {}, |place| study.measure(place)).unwrap();
        let trials = utility::UtilityTrials::new(&study, 1, 200).unwrap();
        let found = trials.grid().run(2, &stop, &mut |_| {}, |p| trials.measure(p)).unwrap();
        let [accuracies, correlations] = trials.tables(&scores, &found).unwrap();
        let columns = ["energy, k = 18", "distance, k = 18", "discrepancy", "error", "Task2Vec"];
        for (at, name) in columns.into_iter().enumerate() {
            assert!(accuracies.columns[at].starts_with(name), "{:?}", accuracies.columns);
            assert!(accuracies.row("disjoint half").unwrap().mean(at).unwrap().is_finite());
        }
        let of = |row: &str, column: usize| accuracies.row(row).unwrap().mean(5 + column);
        let pretrained = of("disjoint half", 2).unwrap();
        assert!(pretrained > 50.0 && pretrained > of("noise", 2).unwrap() + 10.0);
        assert!(of("no public images: DP-SGD", 0).unwrap() > 0.0);
        assert_eq!(of("no public images: DP-SGD", 1), None);
        assert_eq!(correlations.rows.len(), 9);
        for row in &correlations.rows {
            for column in 0..3 {
                let mean = row.mean(column).unwrap();
                assert!((-1.0..=1.0).contains(&mean), "{}: {mean}", row.label);
            }
        }
    }

    #[test]
    fn two_private_classes_are_judged_by_auc() {
        let model = ProbeModel::Perceptron(8, Activation::Relu);
        let (mut study, _) = RankingStudy::new(Images::Inside, model, 100, 2, 1).unwrap();
        let shoes = |data: &Dataset| {
            let mut data = data.clone();
            let classes = data.classes.as_mut().unwrap();
            classes.of.iter_mut().for_each(|class| *class = u32::from([5, 7, 9].contains(class)));
            classes.names = vec!["no shoe".to_owned(), "shoe".to_owned()];
            data
        };
        study.private = Arc::new(shoes(&study.private.records(0, 300)));
        study.test = shoes(&study.test);
        keep_only(&mut study, &["disjoint half"], 18);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let scores = study.grid().run(2, &stop, &mut |_| {}, |place| study.measure(place)).unwrap();
        let trials = utility::UtilityTrials::new(&study, 1, 200).unwrap();
        let found = trials.grid().run(2, &stop, &mut |_| {}, |p| trials.measure(p)).unwrap();
        let [table, _] = trials.tables(&scores, &found).unwrap();
        assert!(table.title.contains("AUC"), "{}", table.title);
        let reached = table.row("disjoint half").unwrap().mean(7).unwrap();
        assert!((80.0..=100.0).contains(&reached), "{reached}");
        let orders = study.orders(&scores);
        assert!(orders.rows.iter().all(|row| row.cells.iter().all(|cell| cell.wanted.is_none())));
    }

    #[test]
    fn other_networks_pairs_and_training_are_compared_by_the_same_distances() {
        let model = ProbeModel::Perceptron(8, Activation::Relu);
        let (mut study, _) = RankingStudy::new(Images::Inside, model, 100, 2, 1).unwrap();
        keep_only(&mut study, &[ITSELF, "disjoint half", "noise"], 18);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let networks = study.of_networks(2).unwrap();
        let harvest =
            networks.grid().run(2, &stop, &mut |_| {}, |place| networks.measure(place)).unwrap();
        let table = networks.transfer(&harvest);
        assert_eq!((table.columns.len(), table.rows.len()), (5, 4));
        assert_eq!(table.rows[3].mean(0), Some(1.0));
        for network in 0..5 {
            let distance = |name: &str| table.row(name).unwrap().mean(network).unwrap();
            assert!(distance("disjoint half") < distance("noise"), "{}", table.columns[network]);
        }

        let pairs = study.all_pairs(2).unwrap();
        let at = |row: &str, column: &str| {
            let column = pairs.columns.iter().position(|it| it == column).unwrap();
            pairs.row(row).unwrap().mean(column).unwrap()
        };
        assert_eq!(at("noise", "noise"), 0.0);
        assert!((at(ITSELF, "noise") - at("noise", ITSELF)).abs() < 1e-9);
        assert!(at("private images", "disjoint half") < at("private images", "noise"));

        let training = training::TrainingStudy::new(&study, true, 1);
        let found =
            training.grid().run(1, &stop, &mut |_| {}, |place| training.measure(place)).unwrap();
        let [distances, energies] = training.tables(&found);
        let order = distances.rows.last().unwrap();
        assert_eq!((order.mean(0), distances.columns.len()), (Some(1.0), 3));
        for row in &distances.rows[..3] {
            assert!((0..3).all(|at| (0.0..=1.0).contains(&row.mean(at).unwrap())), "{}", row.label);
        }
        for row in &energies.rows {
            let shares: Vec<f64> = (0..6).map(|at| row.mean(at).unwrap()).collect();
            assert!(shares.is_sorted() && shares[5] > 99.9, "{shares:?}");
        }
        assert!(distances.title.contains("% right answers"), "{}", distances.title);
        let figures = training.figures(&found);
        assert!(figures.iter().all(|(_, figure)| figure.svg().contains("</svg>")));
        assert_eq!(figures[0].1.panels[0].series.len(), 3);
    }

    #[test]
    fn spearmans_correlation_is_that_of_ranks() {
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[1.0, 10.0, 11.0]), 1.0);
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[3.0, 2.0, -9.0]), -1.0);
        assert_eq!(spearman(&[1.0, 2.0], &[5.0, 5.0]), 0.0);
        // scipy.stats.spearmanr
        let found = spearman(&[1.0, 2.0, 2.0, 4.0, 5.0], &[2.0, 1.0, 4.0, 3.0, 5.0]);
        assert!((found - 0.666_885_928_855_350_3).abs() < 1e-12, "{found}");
    }

    #[test]
    fn kendalls_tau_counts_pairs() {
        assert_eq!(kendall(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]), 1.0);
        assert_eq!(kendall(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0);
        assert!((kendall(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]) - 1.0 / 3.0).abs() < 1e-15);
    }
}
