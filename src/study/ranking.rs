//! The study of rankings: does the private set's own kind come first, how sure is one repeat,
//! and how often does a private selection find the best?
//!
//! Half of Fashion-MNIST plays the private part. Candidates are that half itself, the other
//! half, digits, other images, the other half inverted, and noise; pixels are in [−1, 1]. A
//! repeat is a row of scores with its own weights, labels and batches.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};

use super::grid::{Grid, Harvest, Place};
use super::table::{Cell, Content, Row, Table, Wanted};
use crate::data::images::{Shape, resized, square};
use crate::data::read::{Reading, Unwatched, read, read_bytes};
use crate::data::table::Column;
use crate::data::{self, Bounds, Classes, Dataset};
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::privacy::accountant::calibrate;
use crate::privacy::{Private, Spender, Target};
use crate::rank::ranking::Repeat;
use crate::rank::{
    Candidate, Lineup, PrivateRanking, PrivateSelection, ProbeModel, RankingSettings, Selector,
};

const SIZE: Shape = (1, 28, 28);
const PIXELS: usize = 784;
const CLASSES: usize = 10;
/// Families whose place is expected to be the first.
const OWN: [&str; 2] = ["itself", "disjoint half"];
/// Noise draws of a private selection.
const DRAWS: usize = 200;

/// What is looked for where; the first two columns say how it is named in a directory.
const ELSEWHERE: [(&str, &str, &[&str]); 5] = [
    ("digits (MNIST)", "mnist/t10k-images-idx3-ubyte.gz", &[]),
    ("digits (8×8)", "optdigits/optdigits_8x8.csv.gz", &[]),
    ("photographs (CIFAR-10)", "cifar10_part/cifar10_train_first2000.bin.gz", &[]),
    ("digits on photographs", "mnist_m_made/mnist_m_made_2k_1k.npz", &["train_images"]),
    ("X-rays", "pneumonia_mnist/pneumoniamnist.npz", &["train_images"]),
];

/// What the study works on.
pub struct Study {
    private: Dataset,
    candidates: Vec<Candidate>,
    pub settings: RankingSettings,
    pub repeats: usize,
    /// k of every row.
    rows: Vec<(String, usize)>,
    lineups: Vec<Mutex<Lineup>>,
}

/// The scores of one repeat: energy and distance of every candidate.
pub type Scores = Vec<(f64, f64)>;

impl Study {
    /// On the images inside the program, or on those of a directory.
    pub fn new(
        data: Option<&Path>,
        model: ProbeModel,
        batch: usize,
        repeats: usize,
        seed: u64,
    ) -> Result<(Self, Vec<String>)> {
        let (fashion, mut others, missing) = families(data)?;
        let mut generator = ChaCha20Rng::seed_from_u64(seed);
        let mut order: Vec<usize> = (0..fashion.ncols()).collect();
        order.shuffle(&mut generator);
        let (ours, rest) = order.split_at(order.len() / 2);
        let private = dataset("private", fashion.select_columns(ours));
        let half = fashion.select_columns(rest);
        others.insert(0, ("inverted".to_owned(), -&half));
        others.insert(0, ("disjoint half".to_owned(), half));
        others.insert(0, ("itself".to_owned(), private.features.clone()));
        let noise = Matrix::from_fn(PIXELS, 2000, |_, _| StandardNormal.sample(&mut generator));
        others.push(("noise".to_owned(), noise));
        let candidates: Vec<Candidate> = others
            .into_iter()
            .map(|(name, features)| Candidate { data: Ok(dataset(&name, features)), name })
            .collect();
        let settings = RankingSettings { model, batch, repeats, seed, ..Default::default() };
        let rows = [9, 16, 18].map(|k| {
            let words = if k % (CLASSES - 1) == 0 { "a multiple of C − 1" } else { "cuts" };
            (format!("k = {k}, {words}"), k)
        });
        let lineups = rows
            .iter()
            .map(|(_, k)| {
                let settings = RankingSettings { directions: *k, ..settings.clone() };
                let bounds = private.bounds;
                let shape = (private.len(), PIXELS);
                let lineup =
                    Lineup::new(&settings, candidates.clone(), shape, Some(CLASSES), bounds)?;
                // Rows that are to show what a cut does get it.
                Ok(Mutex::new(lineup.with_directions(*k)))
            })
            .collect::<Result<_>>()?;
        let rows = rows.to_vec();
        Ok((Self { private, candidates, settings, repeats, rows, lineups }, missing))
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
        ];
        if !missing.is_empty() {
            header.push(format!("not found, left out: {}", missing.join(", ")));
        }
        header
    }

    /// A row per k, a column for all candidates, a seed per repeat.
    pub fn grid(&self) -> Grid {
        Grid {
            rows: self.rows.iter().map(|(words, _)| words.clone()).collect(),
            columns: vec!["scores".to_owned()],
            seeds: (0..self.repeats as u64).collect(),
        }
    }

    pub fn measure(&self, place: Place<'_>) -> Result<Option<Scores>> {
        let mut lineup = self.lineups[place.row].lock().unwrap_or_else(PoisonError::into_inner);
        let round = lineup.round(place.repetition as usize)?;
        let repeat = Repeat::of(&round, &self.private, lineup.batch())?;
        let scores = repeat.scores.iter().map(|score| {
            score.as_ref().map_or((f64::NAN, f64::NAN), |score| (score.energy, score.distance))
        });
        Ok(Some(scores.collect()))
    }

    pub fn tables(&self, harvest: &Harvest<Scores>) -> Vec<Table> {
        let mut tables = vec![self.orders(harvest)];
        for (row, (words, _)) in self.rows.iter().enumerate() {
            let of = |pick: fn(&(f64, f64)) -> f64, candidate: usize| -> Cell {
                let samples: Vec<f64> =
                    harvest.of(row, 0).map(|scores| pick(&scores[candidate])).collect();
                Cell::of(samples)
            };
            let rows = self.names().into_iter().enumerate().map(|(candidate, name)| Row {
                label: name.to_owned(),
                cells: vec![of(|score| score.0, candidate), of(|score| score.1, candidate)],
            });
            tables.push(Table {
                title: format!("Scores at {words}"),
                columns: vec!["energy".to_owned(), "distance".to_owned()],
                rows: rows.collect(),
                content: Content::Measurements,
            });
        }
        tables
    }

    /// How often its own kind is first, and how sure one repeat's order is.
    fn orders(&self, harvest: &Harvest<Scores>) -> Table {
        let mut rows = Vec::new();
        for (row, (words, k)) in self.rows.iter().enumerate() {
            let matched = k.is_multiple_of(CLASSES - 1);
            for (what, pick) in [
                ("energy", (|score: &(f64, f64)| score.0) as fn(&(f64, f64)) -> f64),
                ("distance", |score| -score.1),
            ] {
                let repeats: Vec<Vec<f64>> =
                    harvest.of(row, 0).map(|scores| scores.iter().map(pick).collect()).collect();
                let names = self.names();
                let first = repeats.iter().filter(|goods| OWN.contains(&names[best(goods)]));
                let share = first.count() as f64 / repeats.len().max(1) as f64;
                let mean: Vec<f64> = (0..names.len())
                    .map(|j| repeats.iter().map(|goods| goods[j]).sum::<f64>())
                    .collect();
                let taus: Vec<f64> = repeats.iter().map(|goods| kendall(goods, &mean)).collect();
                let wanted = (*k == CLASSES - 1).then_some(Wanted::AtLeast(0.9));
                let tau = (matched && what == "energy").then_some(Wanted::AtLeast(0.95));
                rows.push(Row {
                    label: format!("{what}, {words}"),
                    cells: vec![
                        Cell { samples: vec![share], wanted },
                        Cell { samples: taus, wanted: tau },
                    ],
                });
            }
        }
        Table {
            title: "Orders".to_owned(),
            columns: vec!["own kind first".to_owned(), "Kendall τ of one repeat".to_owned()],
            rows,
            content: Content::Measurements,
        }
    }

    /// How often a private selection, of all candidates but the private images themselves,
    /// finds the best.
    pub fn selections(&self, repeats: usize) -> Result<Table> {
        let cases = [(2000, 0.5, Some(0.95)), (300, 2.0, Some(0.9)), (300, 0.5, None)];
        let mut rows: Vec<Row> = [Selector::PermuteAndFlip, Selector::Exponential]
            .map(|selector| Row { label: words(selector).to_owned(), cells: Vec::new() })
            .into();
        let mut columns = Vec::new();
        for (records, epsilon, wanted) in cases {
            let records = records.min(self.private.len());
            columns.push(format!("n = {records}, ε = {epsilon}"));
            for (row, selector) in
                rows.iter_mut().zip([Selector::PermuteAndFlip, Selector::Exponential])
            {
                let share = self.found(records, epsilon, selector, repeats)?;
                let wanted = wanted.map(Wanted::AtLeast);
                row.cells.push(Cell { samples: vec![share], wanted });
            }
        }
        let title = format!("Best found privately, share of {DRAWS} draws");
        Ok(Table { title, content: Content::Measurements, columns, rows })
    }

    /// The share of draws that give the winner without noise.
    pub fn found(
        &self,
        records: usize,
        epsilon: f64,
        selector: Selector,
        repeats: usize,
    ) -> Result<f64> {
        let private = Private::new(Arc::new(self.private.records(0, records)));
        let candidates: Vec<Candidate> =
            self.candidates.iter().filter(|it| it.name != "itself").cloned().collect();
        let bounds = self.private.bounds;
        let settings = RankingSettings { directions: 9, ..self.settings.clone() };
        let lineup = Lineup::new(&settings, candidates, (records, PIXELS), Some(CLASSES), bounds)?;
        let mut work = PrivateSelection::new(selector, lineup, repeats, &private, records);
        let plan = [work.plan()?];
        while !work.step()?.done {}
        let noiseless = crate::privacy::Calibrated::noiseless(&plan, 1e-6);
        let best = work.draw(&mut Spender::rehearsal(&noiseless, 0))?;
        let calibrated = calibrate(&plan, Target { epsilon, delta: 1e-6 })?;
        let mut found = 0;
        for seed in 0..DRAWS as u64 {
            let mut spender = Spender::rehearsal(&calibrated, seed);
            found += usize::from(work.draw(&mut spender)? == best);
        }
        Ok(found as f64 / DRAWS as f64)
    }
}

fn words(selector: Selector) -> &'static str {
    match selector {
        Selector::PermuteAndFlip => "permute-and-flip",
        Selector::Exponential => "exponential mechanism",
    }
}

fn best(goods: &[f64]) -> usize {
    (0..goods.len()).fold(0, |best, next| if goods[next] > goods[best] { next } else { best })
}

/// Kendall's τ of two orders without ties: pairs in the same order less those in the other,
/// of all pairs.
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

/// Pixels in [−1, 1], so a norm of at most √784; nothing is clipped.
fn dataset(name: &str, features: Matrix) -> Dataset {
    Dataset {
        name: name.to_owned(),
        classes: Some(Classes { of: vec![0; features.ncols()], names: Vec::new() }),
        feature_names: Vec::new(),
        features,
        target: None,
        bounds: Bounds { feature_norm: (PIXELS as f64).sqrt(), label: 1.0 },
        clipped: 0,
    }
}

type Family = (String, Matrix);

/// Fashion-MNIST, the other families, and what was not found.
fn families(data: Option<&Path>) -> Result<(Matrix, Vec<Family>, Vec<String>)> {
    let Some(directory) = data else {
        let inside = |name: &str, bytes: &[u8]| read_bytes(name, bytes, &Reading::Plain);
        let train = inside(
            "builtin:train2k-images-idx3-ubyte",
            include_bytes!("../../assets/fashion_mnist/train2k-images-idx3-ubyte.gz"),
        )?;
        let test = inside(
            "builtin:t1k-images-idx3-ubyte",
            include_bytes!("../../assets/fashion_mnist/t1k-images-idx3-ubyte.gz"),
        )?;
        let digits = inside(
            "builtin:optdigits_8x8.csv",
            include_bytes!("../../assets/optdigits/optdigits_8x8.csv.gz"),
        )?;
        let (train, test) = (images(&train, 2000)?, images(&test, 1000)?);
        let all: Vec<_> = train.column_iter().chain(test.column_iter()).collect();
        let upside_down = Matrix::from_fn(PIXELS, test.ncols(), |i, j| test[(PIXELS - 1 - i, j)]);
        let others = vec![
            ("digits (8×8)".to_owned(), images(&digits, usize::MAX)?),
            ("test images upside down".to_owned(), upside_down),
        ];
        return Ok((Matrix::from_columns(&all), others, Vec::new()));
    };
    let mut missing = Vec::new();
    let mut others = Vec::new();
    for (name, file, arrays) in ELSEWHERE {
        let path = directory.join(file);
        if !path.exists() {
            missing.push(name.to_owned());
            continue;
        }
        let reading = if arrays.is_empty() {
            Reading::Plain
        } else {
            Reading::Arrays(arrays.iter().map(|&name| name.to_owned()).collect())
        };
        let table = read(&path, &reading, &mut Unwatched)?;
        others.push((name.to_owned(), images(&table, 10_000)?));
    }
    let path = directory.join("fashion_mnist/train10k-images-idx3-ubyte.gz");
    let table = read(&path, &Reading::Plain, &mut Unwatched)?;
    Ok((images(&table, 10_000)?, others, missing))
}

/// The first images of a table, as 28 × 28 grey pixels in [−1, 1]: its widest column, or all
/// its columns but the last.
fn images(table: &data::Table, most: usize) -> Result<Matrix> {
    let rows = table.rows().min(most);
    let widest = table.columns.iter().max_by_key(|column| column.width());
    let columns: Vec<&Column> = match widest {
        Some(column @ Column::Vectors(_)) => vec![column],
        _ => table.columns.iter().take(table.columns.len().saturating_sub(1)).collect(),
    };
    let mut raw: Vec<Vec<f64>> = vec![Vec::new(); rows];
    for column in columns {
        for (row, image) in raw.iter_mut().enumerate() {
            match column {
                Column::Vectors(vectors) => image.extend(vectors.row(row).numbers()),
                Column::Numbers(numbers) => image.push(numbers[row]),
                Column::Text(_) => {}
            }
        }
    }
    let width = raw.first().map_or(0, Vec::len);
    let from = square(width).ok_or_else(|| {
        Error::failed(format!("{width} numbers are no square image")).at(table.origin.clone())
    })?;
    let largest = raw.iter().flatten().fold(0.0_f64, |most, pixel| most.max(*pixel)).max(1.0);
    // NumPy's layout of colours is pixel by pixel, CIFAR's channel by channel.
    let by_pixel = from.0 == 3 && table.origin.contains(".npz");
    let mut matrix = Matrix::zeros(PIXELS, rows);
    for (image, mut column) in raw.iter().zip(matrix.column_iter_mut()) {
        let grey: Vec<f64> = if by_pixel {
            image.chunks(3).map(|pixel| pixel.iter().sum::<f64>() / 3.0).collect()
        } else {
            image.clone()
        };
        let from = if by_pixel { (1, from.1, from.2) } else { from };
        for (slot, pixel) in column.iter_mut().zip(resized(&grey, from, SIZE)) {
            *slot = 2.0 * pixel / largest - 1.0;
        }
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Activation;

    #[test]
    fn fashion_comes_first_for_fashion_in_the_order_of_every_repeat() {
        let model = ProbeModel::Perceptron(16, Activation::Relu);
        let (study, missing) = Study::new(None, model, 200, 4, 1).unwrap();
        assert!(missing.is_empty());
        assert!(study.names().len() >= 6);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let harvest =
            study.grid().run(2, &stop, &mut |_| {}, |place| study.measure(place)).unwrap();
        let orders = study.orders(&harvest);
        let row = orders.row("energy, k = 9, a multiple of C − 1").unwrap();
        assert_eq!(row.mean(0), Some(1.0));
        assert!(row.mean(1).unwrap() > 0.85);
        let tables = study.tables(&harvest);
        assert!(tables.iter().all(|table| !table.text().contains("NaN")));
    }

    #[test]
    fn kendalls_tau_counts_pairs() {
        assert_eq!(kendall(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]), 1.0);
        assert_eq!(kendall(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0);
        assert!((kendall(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]) - 1.0 / 3.0).abs() < 1e-15);
    }
}
