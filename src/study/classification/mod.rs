//! The studies of classification with public features and gradients: PILLAR over k, GEP over
//! its basis, both over ε and over candidate public sets.
//!
//! One part of a labelled dataset plays the private records, another the public ones. The measure
//! is the share of right answers on its test records, in %. Candidates stand in for the public
//! records; they have no labels.
//!
//! | module | holds |
//! |---|---|
//! | [`figures`] | the plots |
//! | [`material`] | the images and features |
//! | this | the trials on them, and the tables |

mod figures;
pub mod material;

use std::collections::BTreeMap;

pub use material::Material;

use super::grid::{Grid, GridTask, Harvest};
use super::table::{ExpectedMean, SeedValues, StudyTable, TableContent, TableRow};
use crate::adapt::Value;
use crate::error::Result;
use crate::evaluation::{FurtherScores, Measured};
use crate::numeric::principal::Principal;
use crate::privacy::Target;
use crate::rehearsal::{RehearsalNoise, Trial};

pub const DELTA: f64 = 1e-5;
/// A very large ε, for the plan of a run without noise.
const PLENTY: f64 = 1e3;

/// One of the two studies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichStudy {
    Pillar,
    Gep,
}

/// A row of the tables.
#[derive(Debug, Clone)]
struct ClassificationRow {
    title: String,
    method: &'static str,
    settings: BTreeMap<String, Value>,
    /// The index of a candidate that replaces public records of the same kind.
    candidate: Option<usize>,
}

/// The trials on one dataset.
#[derive(Debug)]
pub struct ClassificationStudy {
    subject: WhichStudy,
    material: Material,
    entries: Vec<ClassificationRow>,
    epsilons: Vec<f64>,
    seeds: Vec<u64>,
    /// k of the table of explained energy.
    components: Vec<usize>,
}

impl ClassificationRow {
    fn new(title: impl Into<String>, method: &'static str, numbers: &[(&str, f64)]) -> Self {
        let settings = numbers.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x)));
        Self { title: title.into(), method, settings: settings.collect(), candidate: None }
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.settings.insert(key.to_owned(), value);
        self
    }

    fn on(mut self, candidate: usize) -> Self {
        self.candidate = Some(candidate);
        self
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

impl ClassificationStudy {
    pub fn new(subject: WhichStudy, material: Material, quick: bool, seeds: u64) -> Self {
        let mut study = Self {
            subject,
            entries: Vec::new(),
            epsilons: Vec::new(),
            seeds: (0..seeds).collect(),
            components: Vec::new(),
            material,
        };
        match subject {
            WhichStudy::Pillar => study.pillar(quick),
            WhichStudy::Gep => study.gep(quick),
        }
        study
    }

    fn pillar(&mut self, quick: bool) {
        let dimension = self.material.dimension();
        let few: &[usize] = if quick { &[10, 40] } else { &[5, 10, 20, 40, 80, 160] };
        self.components = few.iter().copied().filter(|k| *k < dimension).collect();
        self.epsilons = if quick { vec![0.1, 0.7] } else { vec![0.1, 0.3, 0.7] };
        self.epsilons.push(f64::INFINITY);
        let pillar = |title: String, components: usize| {
            ClassificationRow::new(title, "pillar", &[("components", components as f64)])
        };
        for k in &self.components {
            self.entries.push(pillar(format!("k = {k}"), *k));
        }
        // All directions that can be learned if there are fewer public records than features, or
        // all.
        let all = dimension.min(self.material.public.saturating_sub(1).max(1));
        let all = if self.material.public < dimension { all } else { dimension };
        self.entries.push(pillar(format!("k = {all}, all directions"), all));
        self.entries
            .push(pillar("k = 40, not centred".to_owned(), 40).with("centre", Value::Flag(false)));
        self.entries.push(pillar("k = 40, hinge loss".to_owned(), 40).with("loss", text("hinge")));
        let candidates = self.material.candidates.iter().enumerate();
        let candidates =
            candidates.map(|(at, (name, _))| pillar(format!("k = 40, public: {name}"), 40).on(at));
        self.entries.extend(candidates);
    }

    fn gep(&mut self, quick: bool) {
        self.epsilons = if quick { vec![0.5] } else { vec![0.1, 0.5, 2.0] };
        let batch = (self.material.private / 4).max(256) as f64;
        let gep = |title: String, basis: f64| {
            ClassificationRow::new(title, "gep", &[("basis", basis), ("batch", batch)])
        };
        let short = [("steps", 30.0), ("batch", batch)];
        self.entries.push(ClassificationRow::new("DP-SGD, 400 steps", "dp_sgd", &[]));
        self.entries.push(ClassificationRow::new("DP-SGD, 30 steps", "dp_sgd", &short));
        for basis in if quick { vec![50.0] } else { vec![20.0, 50.0, 100.0, 200.0] } {
            self.entries.push(gep(format!("GEP, k = {basis}"), basis));
        }
        self.entries.push(
            gep("GEP, k = 50, no residual".to_owned(), 50.0)
                .with("clip_residual", Value::Number(0.0)),
        );
        self.entries.push(
            gep("GEP, k = 50, own anchor labels".to_owned(), 50.0)
                .with("anchor_labels", text("own")),
        );
        let candidates = self.material.candidates.iter().enumerate();
        let candidates = candidates
            .map(|(at, (name, _))| gep(format!("GEP, k = 50, public: {name}"), 50.0).on(at));
        self.entries.extend(candidates);
    }

    pub fn name(&self) -> &'static str {
        self.material.name
    }

    pub fn grid(&self) -> Grid {
        Grid {
            rows: self.entries.iter().map(|entry| entry.title.clone()).collect(),
            columns: self.epsilons.iter().map(|epsilon| column(*epsilon)).collect(),
            seeds: self.seeds.clone(),
        }
    }

    /// Scores on the test records.
    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<Measured>> {
        let (entry, epsilon) = (&self.entries[place.row], self.epsilons[place.column]);
        let (own, private) = self.material.split(place.repetition);
        let public = match entry.candidate {
            Some(at) => &self.material.candidates[at].1,
            None => &own,
        };
        let noise = if epsilon.is_finite() {
            RehearsalNoise::For(Target { epsilon, delta: DELTA })
        } else {
            RehearsalNoise::None(Target { epsilon: PLENTY, delta: DELTA })
        };
        let rehearsal = Trial {
            settings: entry.settings.clone(),
            ..Trial::new(entry.method, public, &private, noise, place.seed())
        };
        rehearsal.run_sealed()?.measured(&self.material.test).map(Some)
    }

    pub fn tables(&self, harvest: &Harvest<Measured>) -> Vec<StudyTable> {
        let further = FurtherScores::DRAWN
            .iter()
            .enumerate()
            .map(|(at, what)| self.table(harvest, what, |it: &Measured| it.further.drawn()[at]));
        let further = further.filter(StudyTable::has_any);
        let explained = self.explained();
        std::iter::once(self.answers(harvest)).chain(explained).chain(further).collect()
    }

    /// Right answers, with the goals.
    fn answers(&self, harvest: &Harvest<Measured>) -> StudyTable {
        let right = |it: &Measured| Some(it.right_in_percent());
        let mut table = self.table(harvest, "right answers, %", right);
        self.want(&mut table);
        table
    }

    /// One score of every row.
    fn table(
        &self,
        harvest: &Harvest<Measured>,
        what: &str,
        of: impl Fn(&Measured) -> Option<f64>,
    ) -> StudyTable {
        let cell = |row, column| SeedValues::of(harvest.of(row, column).filter_map(&of).collect());
        let rows = self.entries.iter().enumerate().map(|(row, entry)| TableRow {
            label: entry.title.clone(),
            cells: (0..self.epsilons.len()).map(|column| cell(row, column)).collect(),
        });
        let Material { name, private, public, .. } = &self.material;
        StudyTable {
            title: format!(
                "{name} · {private} private records, {public} public · {what} on {} test records \
                 · δ = {DELTA:e}",
                self.material.test.len()
            ),
            content: TableContent::Measurements,
            columns: self.epsilons.iter().map(|epsilon| column(*epsilon)).collect(),
            rows: rows.collect(),
        }
    }

    /// Sets the goals of the table, for nine thousand private images.
    fn want(&self, table: &mut StudyTable) {
        if self.subject != WhichStudy::Pillar
            || self.material.private != 9000
            || self.material.dimension() != 784
        {
            return;
        }
        let wanted = |at: usize, tenth: f64, most: f64| match self.epsilons[at] {
            0.1 => Some(ExpectedMean::AtLeast(tenth)),
            0.7 => Some(ExpectedMean::AtLeast(most)),
            _ => None,
        };
        for label in ["k = 40", "k = 80"] {
            table.want(label, |at| wanted(at, 70.0, 78.0));
        }
        table.want("k = 784, all directions", |at| {
            if self.epsilons[at].is_infinite() {
                Some(ExpectedMean::AtLeast(82.0))
            } else {
                wanted(at, 68.0, 77.0)
            }
        });
    }

    /// The share of the public energy that every k keeps, for the first split.
    fn explained(&self) -> Option<StudyTable> {
        if self.components.is_empty() {
            return None;
        }
        let (public, _) = self.material.split(*self.seeds.first()?);
        let sets = std::iter::once(("the same kind", &public.features)).chain(
            self.material.candidates.iter().map(|(name, data)| (name.as_str(), &data.features)),
        );
        let rows = sets.filter_map(|(name, features)| {
            let (_, principal) = Principal::centred(features, 0)?;
            let cell = |k: &usize| SeedValues::of(vec![100.0 * principal.explained(*k)]);
            Some(TableRow {
                label: name.to_owned(),
                cells: self.components.iter().map(cell).collect(),
            })
        });
        Some(StudyTable {
            title: format!(
                "{} · energy of the public records that k directions keep, %",
                self.name()
            ),
            content: TableContent::Measurements,
            columns: self.components.iter().map(|k| format!("k = {k}")).collect(),
            rows: rows.collect(),
        })
    }
}

/// The header of a study's tables for the reader.
pub fn header(subject: WhichStudy, missing: &[&str]) -> Vec<String> {
    let mut header = vec![match subject {
        WhichStudy::Pillar => {
            "PILLAR: DP-SGD on the principal directions of public records. 'All directions' is a \
             rotation of the centred records, so no projection at all. At ε = ∞ there is no noise."
        }
        WhichStudy::Gep => {
            "GEP against DP-SGD: softmax regression, GEP in thirty steps of a quarter of the \
             records. Where nothing is said the public records are of the same kind and the \
             anchors' labels are random."
        }
    }
    .to_owned()];
    header.push(
        "Guarantees are for zero-out neighbours. Settings are the methods' defaults; learning \
         rates and clip norms were chosen on MNIST, with an eye on Fashion-MNIST: its tables are \
         no blind check."
            .to_owned(),
    );
    header.extend(super::not_found(missing));
    header
}

fn column(epsilon: f64) -> String {
    if epsilon.is_finite() { format!("ε={epsilon}") } else { "ε=∞".to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn the_built_in_digits_are_learned_better_on_their_own_directions_than_on_noise() {
        let (materials, missing) = material::load(None).unwrap();
        assert_eq!(missing, ["features_cifar10_lite0"]);
        let names: Vec<_> = materials.iter().map(|material| material.name).collect();
        assert_eq!(names, ["Fashion-MNIST", "optdigits"]);
        let digits = materials.into_iter().next_back().unwrap();
        let mut study = ClassificationStudy::new(WhichStudy::Pillar, digits, true, 1);
        // If noise costs seven points, three standard deviations of either.
        study.epsilons = vec![0.7];
        study.entries.retain(|entry| ["k = 10", "k = 40, public: noise"].contains(&&*entry.title));
        let stop = AtomicBool::new(false);
        let harvest = study.grid().run(1, &stop, &mut |_| {}, |p| study.measure(p)).unwrap();
        let tables = study.tables(&harvest);
        let own = tables[0].row("k = 10").unwrap().mean(0).unwrap();
        assert!(own > 75.0, "{own}");
        assert!(own > tables[0].row("k = 40, public: noise").unwrap().mean(0).unwrap());
        // The plots show the same, by k and not by ε.
        let figures = study.figures(&harvest);
        let names: Vec<&str> = figures.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["pillar-optdigits.svg", "explained-optdigits.svg"]);
        let curve = &figures[0].1.panels[0].series[0];
        assert_eq!((&*curve.name, curve.points[0].x, curve.points[0].y), ("ε=0.7", 10.0, own));
        let kept = tables[1].row("the same kind").unwrap();
        assert!(kept.mean(0).unwrap() > 60.0);
        assert!(kept.mean(1).unwrap() > kept.mean(0).unwrap());
    }

    #[test]
    fn splits_are_disjoint_and_fixed_by_their_seed() {
        let (materials, _) = material::load(None).unwrap();
        for material in materials {
            let (public, private) = material.split(3);
            assert_eq!((public.len(), private.len()), (material.public, material.private));
            assert_eq!(material.split(3).1, private);
            assert_ne!(material.split(4).1, private);
        }
    }
}
