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

use super::grid::{Grid, GridTask, Harvest, epsilon_columns};
use super::table::{ExpectedMean, StudyTable, TableRow};
use crate::data::Dataset;
use crate::error::Result;
use crate::evaluation::{FurtherScores, Measured};
use crate::methods::{ExplainedEnergy, Separation, Value};
use crate::numeric::principal::Principal;
use crate::privacy::Target;
use halflight_advice::rehearsal::{RehearsalNoise, Trial};

pub const DELTA: f64 = 1e-5;
/// The number of directions where there are fewer records.
const FEW: usize = 40;
/// The pixels of images for which the paper has the network of its table 7a.
const TABLE_7A: usize = 784;
/// The ε of the paper's table 2.
const TABLE_2: f64 = 2.0;
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
    group: RowGroup,
}

/// The table in which a row stands, and the share of the records that it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum RowGroup {
    Main,
    /// Fewer private records.
    Private(f64),
    /// Fewer public records.
    Public(f64),
    /// The paper's network, at the paper's ε.
    Table7a,
}

/// Whether rows of a group stand in a table.
type InTable = fn(RowGroup) -> bool;

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
        Self {
            title: title.into(),
            method,
            settings: settings.collect(),
            candidate: None,
            group: RowGroup::Main,
        }
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.settings.insert(key.to_owned(), value);
        self
    }

    fn of(mut self, group: RowGroup) -> Self {
        self.group = group;
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
        for k in &self.components {
            let projected = [("projection", *k as f64)];
            let title = format!("k = {k}, random directions (JL)");
            self.entries.push(ClassificationRow::new(title, "dp_sgd", &projected));
        }
        self.entries.push(ClassificationRow::new("DP-SGD on all features", "dp_sgd", &[]));
        self.entries
            .push(pillar("k = 40, not centred".to_owned(), 40).with("centre", Value::Flag(false)));
        self.entries.push(pillar("k = 40, hinge loss".to_owned(), 40).with("loss", text("hinge")));
        let batch = (self.material.private / 4).max(256) as f64;
        let gep = [("basis", 50.0), ("batch", batch)];
        self.entries.push(ClassificationRow::new("GEP, k = 50, 30 steps", "gep", &gep));
        self.entries.push(ClassificationRow::new("AdaDPS, public labels", "adadps", &[]));
        let adam = pillar("k = 40, steps by Adam".to_owned(), 40);
        self.entries.push(adam.with("optimiser", text("adam")));
        let several = pillar("k = 40, the best of 5 trainings (Noisy-SGD)".to_owned(), 40);
        self.entries.push(several.with("runs", Value::Number(5.0)));
        let printed = pillar("k = 40, as printed".to_owned(), 40);
        self.entries.push(printed.with("mode", text("as_printed")));
        let candidates = self.material.candidates.iter().enumerate();
        let candidates =
            candidates.map(|(at, (name, _))| pillar(format!("k = 40, public: {name}"), 40).on(at));
        self.entries.extend(candidates);
        let percent = |share: f64| 100.0 * share;
        let few = FEW.min(dimension - 1);
        let private: &[f64] = if quick { &[0.25] } else { &[0.05, 0.1, 0.25, 0.5, 0.75] };
        for share in private {
            let of = RowGroup::Private(*share);
            let words = format!("{} % of the private records", percent(*share));
            self.entries.push(pillar(format!("k = {few}, {words}"), few).of(of));
            self.entries.push(pillar(format!("k = {all}, all directions, {words}"), all).of(of));
        }
        let public: &[f64] = if quick { &[0.1, 1.0] } else { &[0.1, 0.5, 1.0] };
        for share in public {
            let k = few.min((share * self.material.public as f64) as usize / 2);
            let title = format!("k = {k}, {} % of the public records", percent(*share));
            self.entries.push(pillar(title, k).of(RowGroup::Public(*share)));
        }
    }

    fn gep(&mut self, quick: bool) {
        self.epsilons = if quick { vec![0.5, 2.0] } else { vec![0.1, 0.5, 2.0] };
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
        if self.material.dimension() == TABLE_7A {
            self.table_7a(quick, batch);
        }
    }

    /// The paper's network for Fashion-MNIST.
    fn table_7a(&mut self, quick: bool, batch: f64) {
        let of = |title: String, method: &'static str, numbers: &[(&str, f64)]| {
            let title = format!("Table 7a: {title}");
            let row = ClassificationRow::new(title, method, numbers);
            row.with("model", text("table_7a")).of(RowGroup::Table7a)
        };
        for steps in if quick { vec![30.0] } else { vec![30.0, 100.0, 300.0] } {
            let course = [("steps", steps), ("batch", batch)];
            self.entries.push(of(format!("DP-SGD, {steps} steps"), "dp_sgd", &course));
        }
        for basis in if quick { vec![50.0] } else { vec![16.0, 50.0, 100.0] } {
            let course = [("basis", basis), ("batch", batch)];
            self.entries.push(of(format!("GEP, k = {basis}"), "gep", &course));
        }
        // Its second convolution, between the first one and the layer of 32 units.
        let course = [("steps", 30.0), ("batch", batch), ("inner", 2.0), ("rank", 4.0)];
        for (words, trained) in [
            ("the last layer", "last"),
            ("an inner layer and the last", "inner"),
            ("adapters and the last layer", "adapters"),
            ("all layers", "all"),
        ] {
            let row = of(format!("pre-training, {words}"), "pretraining", &course);
            self.entries.push(row.with("trained", text(trained)));
        }
        if quick {
            return;
        }
        let fifty = [("basis", 50.0), ("batch", batch)];
        let long = [("basis", 50.0), ("batch", batch), ("steps", 100.0)];
        self.entries.push(of("GEP, k = 50, 100 steps".to_owned(), "gep", &long));
        let inside = of("GEP, k = 50, no residual".to_owned(), "gep", &fifty);
        self.entries.push(inside.with("clip_residual", Value::Number(0.0)));
        let own = of("GEP, k = 50, own anchor labels".to_owned(), "gep", &fifty);
        self.entries.push(own.with("anchor_labels", text("own")));
        for (at, (name, _)) in self.material.candidates.iter().enumerate() {
            self.entries.push(of(format!("GEP, k = 50, public: {name}"), "gep", &fifty).on(at));
        }
        let printed = of("GEP as printed, k = 16".to_owned(), "gep", &[("basis", 16.0)]);
        self.entries.push(printed.with("mode", text("as_printed")));
    }

    pub fn name(&self) -> &'static str {
        self.material.name
    }

    pub fn grid(&self) -> Grid {
        let rows = self.entries.iter().map(|entry| &entry.title);
        Grid::new(rows, epsilon_columns(&self.epsilons), &self.seeds)
    }

    /// Scores on the test records.
    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<Measured>> {
        let (entry, epsilon) = (&self.entries[place.row], self.epsilons[place.column]);
        if entry.group == RowGroup::Table7a && epsilon != TABLE_2 {
            return Ok(None);
        }
        let (mut own, mut private) = self.material.split(place.repetition);
        let part = |data: &Dataset, share: f64| {
            data.records(0, ((share * data.len() as f64).round() as usize).max(1))
        };
        match entry.group {
            RowGroup::Main | RowGroup::Table7a => {}
            RowGroup::Private(share) => private = part(&private, share),
            RowGroup::Public(share) => own = part(&own, share),
        }
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
        let further = FurtherScores::DRAWN.iter().enumerate().map(|(at, what)| {
            let chosen = |it| matches!(it, RowGroup::Main | RowGroup::Table7a);
            self.table_of(harvest, what, chosen, |it: &Measured| it.further.drawn()[at])
        });
        let further = further.filter(StudyTable::has_any);
        let others: [(&str, InTable); 3] = [
            ("Table 7a's network · right answers, %", |it| it == RowGroup::Table7a),
            ("fewer private records · right answers, %", |it| matches!(it, RowGroup::Private(_))),
            ("fewer public records · right answers, %", |it| matches!(it, RowGroup::Public(_))),
        ];
        let others = others.map(|(what, chosen)| {
            self.table_of(harvest, what, chosen, |it| Some(it.right_in_percent()))
        });
        let others = others.into_iter().filter(StudyTable::has_any);
        std::iter::once(self.answers(harvest))
            .chain(self.explained())
            .chain(self.separation())
            .chain(others)
            .chain(further)
            .collect()
    }

    /// Right answers, with the goals.
    fn answers(&self, harvest: &Harvest<Measured>) -> StudyTable {
        let right = |it: &Measured| Some(it.right_in_percent());
        let mut table = self.table(harvest, "right answers, %", right);
        self.want(&mut table);
        table
    }

    /// One score of every row of the main table.
    fn table(
        &self,
        harvest: &Harvest<Measured>,
        what: &str,
        of: impl Fn(&Measured) -> Option<f64>,
    ) -> StudyTable {
        self.table_of(harvest, what, |group| group == RowGroup::Main, of)
    }

    /// A table of some groups of rows.
    fn table_of(
        &self,
        harvest: &Harvest<Measured>,
        what: &str,
        chosen: impl Fn(RowGroup) -> bool,
        of: impl Fn(&Measured) -> Option<f64>,
    ) -> StudyTable {
        let rows = self.entries.iter().enumerate().filter(|(_, entry)| chosen(entry.group));
        let rows = rows.map(|(row, entry)| {
            let cell = |column| harvest.of(row, column).filter_map(&of);
            TableRow::new(&entry.title, (0..self.epsilons.len()).map(cell))
        });
        let Material { name, private, public, .. } = &self.material;
        let title = format!(
            "{name} · {private} private records, {public} public · {what} on {} test records \
             · δ = {DELTA:e}",
            self.material.test.len()
        );
        StudyTable::new(title, epsilon_columns(&self.epsilons), rows)
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
            let cells = self.components.iter().map(|k| [100.0 * principal.explained(*k)]);
            Some(TableRow::new(name, cells))
        });
        let title =
            format!("{} · energy of the public records that k directions keep, %", self.name());
        Some(StudyTable::new(title, self.components.iter().map(|k| format!("k = {k}")), rows))
    }

    /// What k directions of the labelled public records hold of the differences between classes, for
    /// the first split.
    fn separation(&self) -> Option<StudyTable> {
        if self.components.is_empty() {
            return None;
        }
        let (public, _) = self.material.split(*self.seeds.first()?);
        let found = Separation::of(&public.clone().into(), true).ok()??;
        let (_, principal) = Principal::centred(&public.features, 0)?;
        let shares = principal.shares();
        let explained = ExplainedEnergy { chosen: 0, shares, separation: None };
        let least = found.needed(found.advised())?;
        let row = |label: &str, value: &dyn Fn(usize) -> Option<f64>| {
            TableRow::new(label, self.components.iter().map(|k| value(*k)))
        };
        let title = format!(
            "{} · what k directions hold of the differences between public classes; the theorem \
             needs fewest private records at k = {}",
            self.name(),
            found.advised()
        );
        Some(StudyTable::new(
            title,
            self.components.iter().map(|k| format!("k = {k}")),
            [
                row("ξ", &|k| found.outside.get(k - 1).copied()),
                row("margin that a tenth miss", &|k| found.margins.get(k - 1).copied()),
                row("eigengap, of the largest eigenvalue", &|k| Some(explained.gap(k))),
                row("√k/(1 − ξ − γ/10), of the least", &|k| Some(found.needed(k)? / least)),
            ],
        ))
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
        match subject {
            WhichStudy::Pillar => {
                "Otherwise than in the paper: images of Fashion-MNIST and digits as pixels, and \
                 features of 4660 photographs of CIFAR-10 from one network; k from 5 to 160 of its 10 \
                 to 2048. JL is a random projection of features that are not centred. Table 2b is \
                 'fewer public records', figure 7 'fewer private records' and figure 3 'what k \
                 directions hold', by ridge solutions in place of support vector machines. GTSRB, \
                 Flower-16, DermNet and PCAM are not at hand. In place of the paper's chest X-rays there \
                 are those of children with 28 × 28 pixels, of two classes. Printed rows take 400 of \
                 the n² − 1 steps; the paper's tables are of DP-SGD, too. AdaDPS and GEP have default \
                 settings, where the paper searches thousands."
            }
            WhichStudy::Gep => {
                "Otherwise than in the paper's table 2 (ε = 2): at most a sixth of the images of Fashion-MNIST, \
                 steps on samples in rigorous mode, and no flowers, SVHN or CIFAR-100. Table 7a's \
                 network has a frame of 3 pixels and pools in steps of 1, by which it has the 26 010 \
                 parameters that the paper tells; the printed steps would give about 10 600. Pre-training \
                 is on as many labelled public images, in 20 passes; the paper starts from networks for \
                 ImageNet."
            }
        }
        .to_owned(),
    );
    header.push(
        "Guarantees are for zero-out neighbours. Settings are the methods' defaults; learning \
         rates and clip norms were chosen on MNIST, with an eye on Fashion-MNIST: its tables are \
         no blind check."
            .to_owned(),
    );
    header.extend(super::not_found(missing));
    header
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn the_built_in_digits_are_learned_better_on_their_own_directions_than_on_noise() {
        let (materials, missing) = material::load(None).unwrap();
        let files =
            ["features_cifar10_lite0/cifar10_lite0.npz", "pneumonia_mnist/pneumoniamnist.npz"];
        assert_eq!(missing, files);
        let names: Vec<_> = materials.iter().map(|material| material.name).collect();
        assert_eq!(names, ["Fashion-MNIST", "optdigits"]);
        let digits = materials.into_iter().next_back().unwrap();
        let mut study = ClassificationStudy::new(WhichStudy::Pillar, digits, true, 1);
        // If noise costs seven points, three standard deviations of either.
        study.epsilons = vec![0.7];
        let kept = [
            "k = 10",
            "k = 10, random directions (JL)",
            "k = 40, public: noise",
            "k = 40, 25 % of the private records",
            "k = 15, 10 % of the public records",
        ];
        study.entries.retain(|entry| kept.contains(&&*entry.title));
        assert_eq!(study.entries.len(), kept.len());
        let stop = AtomicBool::new(false);
        let harvest = study.grid().run(1, &stop, &mut |_| {}, |p| study.measure(p)).unwrap();
        let tables = study.tables(&harvest);
        let own = tables[0].row("k = 10").unwrap().mean(0).unwrap();
        assert!(own > 75.0, "{own}");
        assert!(own > tables[0].row("k = 40, public: noise").unwrap().mean(0).unwrap());
        let random = tables[0].row("k = 10, random directions (JL)").unwrap().mean(0).unwrap();
        assert!(own > random + 3.0, "{own} {random}");
        // Rows with fewer records have tables of their own, behind those of the directions.
        assert_eq!(tables[0].rows.len(), 3);
        let fewer = |what: &str| {
            let table = tables.iter().find(|table| table.title.contains(what)).unwrap();
            assert_eq!(table.rows.len(), 1);
            table.rows[0].mean(0).unwrap()
        };
        assert!(fewer("fewer private records") < own);
        assert!(fewer("fewer public records") > 50.0);
        let hold = &tables[2];
        assert!(hold.title.contains("between public classes"), "{}", hold.title);
        let outside = hold.row("ξ").unwrap();
        assert!(outside.mean(1).unwrap() < outside.mean(0).unwrap());
        // The plots show the same, by k and not by ε.
        let figures = study.figures(&harvest);
        let names: Vec<&str> = figures.iter().map(|(name, _)| &**name).collect();
        let files = [
            "pillar-optdigits.svg",
            "explained-optdigits.svg",
            "separation-optdigits.svg",
            "fewer-optdigits.svg",
        ];
        assert_eq!(names, files);
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
