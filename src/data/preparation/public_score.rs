//! The score of a public predictor, as further features of a record.
//!
//! The predictor was made of public records alone, or it is a model that was released. So a record's
//! score is a function of that record and of constants, like its other features, and it is centred,
//! scaled and bounded like them. The bound on the norm of the whole record comes after it. Therefore
//! no sensitivity changes.
//!
//! Public records that trained the predictor get the scores of predictors that had not seen them
//! ([`Preparation::apply_scored`]): otherwise the score would seem better than it is for others.

use serde::{Deserialize, Serialize};

use super::encoding::{Coded, Encoding};
use super::recipe::{RecipeScore, ScoreRecipe};
use super::scale::Standardisation;
use super::{FeatureScaling, LARGEST, Preparation, WIDE, declared_norm, gaps};
use crate::column::Column;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::numeric::Matrix;
use crate::numeric::projection::shrink_factor;
use crate::{Dataset, Missing, PreparationSettings, Table};

/// A score is no further than this many standard deviations from its public mean.
pub const WIDEST: f64 = 2.5;

/// The name of the feature.
const NAME: &str = "public score";

/// The places of each public predictor's scores among features with these names.
pub fn score_places(names: &[String]) -> Vec<Vec<usize>> {
    let mut all: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let rest = name.strip_prefix('(').and_then(|name| name.strip_prefix(NAME));
        let Some(rest) = rest.and_then(|rest| rest.strip_suffix(')')) else { continue };
        let number = rest.trim_start().split(' ').next();
        let number = number.and_then(|number| number.parse().ok()).unwrap_or(1);
        match all.last_mut() {
            Some((own, places)) if *own == number => places.push(at),
            _ => all.push((number, vec![at])),
        }
    }
    all.into_iter().map(|(_, places)| places).collect()
}

/// Where the score comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScoreSource {
    /// A model of the standardised features, before they are bounded.
    Trained(Model),
    /// A model with its own preparation of raw rows.
    Earlier { model: Model, preparation: Box<Preparation> },
    /// A column that holds the score.
    Column(ScoreColumn),
}

/// A column of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreColumn(Encoding);

impl ScoreColumn {
    /// The public mean stands in for a missing number.
    pub fn of(public: &Table, column: &str, missing: Missing) -> Result<Self> {
        if !matches!(public.column(column)?, Column::Numbers(_)) {
            return Err(Error::usage(format!(
                "column '{column}' does not hold a number in every row"
            ))
            .at(public.origin.clone())
            .cure("name a column of numbers in `public_predictor: column(…)`"));
        }
        let scale = Standardisation::IDENTITY;
        let column = column.to_owned();
        let encoding = Encoding::Number { column: column.clone(), scale };
        let read = encoding.read(public, gaps(missing)).map_err(|error| {
            let cure = "fill the gap with your model; or say `missing` in all datasets: public_mean \
                takes the public mean for it, and drop leaves such rows out";
            error.within("the column of the public predictor, `public_predictor: column(…)`").cure(cure)
        });
        let Coded::Numbers(numbers) = read? else {
            return Err(Error::failed(format!("column '{column}' does not hold numbers")));
        };
        let fill = Standardisation::standard(numbers.iter().copied()).fill;
        Ok(Self(Encoding::Number { column, scale: Standardisation { fill, ..scale } }))
    }
}

/// A source of scores, and the public constants that bound them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublicScore {
    source: ScoreSource,
    /// The public mean of each score.
    centre: Vec<f64>,
    /// Public deviation of all scores together; 0 if they are all the same and tell nothing.
    width: f64,
    /// The size of the features, in units of the standardised ones.
    scale: f64,
    /// A score is no further than this many deviations from its mean.
    #[serde(default = "widest", skip_serializing_if = "is_widest")]
    limit: f64,
}

fn widest() -> f64 {
    WIDEST
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_widest(limit: &f64) -> bool {
    *limit == WIDEST
}

impl ScoreSource {
    fn count(&self) -> usize {
        match self {
            Self::Trained(model) | Self::Earlier { model, .. } => model.score_count(),
            Self::Column(_) => 1,
        }
    }

    fn columns(&self) -> Vec<&Encoding> {
        match self {
            Self::Trained(_) => Vec::new(),
            Self::Earlier { preparation, .. } => preparation.all_encodings(),
            Self::Column(ScoreColumn(encoding)) => vec![encoding],
        }
    }

    fn is_sound(&self, inputs: usize) -> bool {
        match self {
            Self::Trained(model) => model.inputs() == inputs,
            Self::Earlier { model, preparation } => {
                model.inputs() == preparation.dimension() && preparation.check().is_ok()
            }
            Self::Column(ScoreColumn(encoding)) => encoding.scales().len() == 1,
        }
    }
}

/// Several scores say how far apart classes are; their mean says nothing.
fn centred(mut scores: Matrix) -> Matrix {
    if scores.nrows() > 1 {
        for mut column in scores.column_iter_mut() {
            let mean = column.mean();
            column.add_scalar_mut(-mean);
        }
    }
    scores
}

impl PublicScore {
    fn fit(source: ScoreSource, scores: &Matrix) -> Self {
        let scores = centred(scores.clone());
        let records = scores.ncols().max(1) as f64;
        let centre: Vec<f64> = scores.row_iter().map(|row| row.sum() / records).collect();
        let mut square = 0.0;
        for column in scores.column_iter() {
            square += column.iter().zip(&centre).map(|(x, mean)| (x - mean).powi(2)).sum::<f64>();
        }
        let deviation = (square / records).sqrt();
        let largest = scores.amax();
        let width =
            if deviation > 1e-9 * largest && deviation.is_finite() { deviation } else { 0.0 };
        let centre = if width > 0.0 { centre } else { vec![0.0; centre.len()] };
        Self { source, centre, width, scale: 1.0, limit: WIDEST }
    }

    /// Bounded features of scores, in units of the standardised ones. Their norm is at most the limit
    /// times the scale.
    fn features(&self, scores: Matrix) -> Matrix {
        let mut scores = centred(scores);
        for mut column in scores.column_iter_mut() {
            for (score, centre) in column.iter_mut().zip(&self.centre) {
                *score = if self.width > 0.0 { (*score - centre) / self.width } else { 0.0 };
                if !score.is_finite() {
                    *score = 0.0;
                }
            }
            let factor = self.scale * shrink_factor(column.norm(), self.limit);
            column *= factor;
        }
        scores
    }

    pub fn count(&self) -> usize {
        self.centre.len()
    }

    /// The names of the features, `at` being the place among several predictors.
    pub fn names(&self, at: usize, classes: &[String]) -> Vec<String> {
        let name = if at == 0 { NAME.to_owned() } else { format!("{NAME} {}", at + 1) };
        match self.count() {
            1 => vec![format!("({name})")],
            count => (0..count)
                .map(|class| {
                    let class = classes.get(class).map_or("", String::as_str);
                    format!("({name} of {class})")
                })
                .collect(),
        }
    }

    pub fn columns(&self) -> Vec<&Encoding> {
        self.source.columns()
    }

    pub fn set_missing(&mut self, missing: Missing) {
        if let ScoreSource::Earlier { preparation, .. } = &mut self.source {
            preparation.set_missing(missing);
        }
    }

    pub fn is_sound(&self, inputs: usize) -> bool {
        let numbers = self.centre.iter().chain([&self.width, &self.scale, &self.limit]);
        numbers.into_iter().all(|number| number.is_finite())
            && self.width >= 0.0
            && self.source.count() == self.count()
            && self.source.is_sound(inputs)
    }

    pub fn recipe(&self) -> Result<RecipeScore> {
        let from = match &self.source {
            ScoreSource::Trained(model) => ScoreRecipe::Features(model.clone()),
            ScoreSource::Earlier { model, preparation } => {
                ScoreRecipe::Rows(model.clone(), Box::new(preparation.recipe()?))
            }
            ScoreSource::Column(ScoreColumn(encoding)) => ScoreRecipe::Column {
                name: encoding.column().to_owned(),
                fill: encoding.scales().first().map_or(0.0, |scale| scale.fill),
            },
        };
        Ok(RecipeScore {
            from,
            centre: self.centre.clone(),
            factor: if self.width > 0.0 { 1.0 / self.width } else { 0.0 },
            limit: self.limit,
            scale: self.scale,
        })
    }
}

/// Gives the scores of the rows of a table whose standardised features these are, from a row on.
pub(super) type Scorer<'a> = Box<dyn Fn(&Matrix, usize) -> Matrix + 'a>;

impl PublicScore {
    pub fn scorer<'a>(&'a self, table: &'a Table, missing: Missing) -> Result<Scorer<'a>> {
        Ok(match &self.source {
            ScoreSource::Trained(model) => Box::new(|standard, _| model.scores(standard)),
            ScoreSource::Earlier { model, preparation } => {
                let coded = preparation.coded(table)?;
                Box::new(move |standard, first| {
                    let mut features = Matrix::zeros(preparation.dimension(), standard.ncols());
                    preparation.fill(&coded, first, &mut features, None);
                    model.scores(&features)
                })
            }
            ScoreSource::Column(ScoreColumn(encoding)) => {
                let scale = encoding.scales().first().copied();
                let scale = scale.unwrap_or(Standardisation::IDENTITY);
                let coded = encoding.read(table, gaps(missing))?;
                Box::new(move |standard, first| {
                    let score = |at| scale.apply(coded.value(first + at, 0));
                    Matrix::from_fn(1, standard.ncols(), |_, at| score(at).clamp(-LARGEST, LARGEST))
                })
            }
        })
    }
}

impl Preparation {
    pub(super) fn all_scores(&self) -> impl Iterator<Item = &PublicScore> {
        self.score.iter().chain(&self.further_scores)
    }

    /// The places of scores that are the same for all public records.
    pub fn idle_scores(&self) -> impl Iterator<Item = usize> {
        let all = self.all_scores().enumerate();
        all.filter(|(_, score)| score.width == 0.0).map(|(at, _)| at)
    }

    /// The columns that a row needs, each once.
    pub(super) fn all_encodings(&self) -> Vec<&Encoding> {
        let mut all: Vec<&Encoding> = self.encodings.iter().collect();
        for more in self.all_scores().flat_map(PublicScore::columns) {
            if !all.iter().any(|it| it.column() == more.column()) {
                all.push(more);
            }
        }
        all
    }

    /// The names of these columns.
    pub fn needed_columns(&self) -> Vec<&str> {
        self.all_encodings().into_iter().map(Encoding::column).collect()
    }

    /// The preparation for a table with other names of its columns.
    #[must_use]
    pub fn with_columns_called(mut self, here: &dyn Fn(&str) -> String) -> Self {
        for encoding in &mut self.encodings {
            let name = here(encoding.column());
            encoding.rename(name);
        }
        for score in self.score.iter_mut().chain(&mut self.further_scores) {
            match &mut score.source {
                ScoreSource::Trained(_) => {}
                ScoreSource::Earlier { preparation, .. } => {
                    **preparation = (**preparation).clone().with_columns_called(here);
                }
                ScoreSource::Column(ScoreColumn(encoding)) => {
                    let name = here(encoding.column());
                    encoding.rename(name);
                }
            }
        }
        self
    }

    pub(super) fn set_missing(&mut self, missing: Missing) {
        self.missing = missing;
        for score in self.score.iter_mut().chain(&mut self.further_scores) {
            score.set_missing(missing);
        }
    }

    /// Standardised features of complete rows, before they are bounded: what a predictor learns
    /// from.
    pub fn standardised(&self, table: &Table) -> Result<Matrix> {
        self.fits(table, false)?;
        let coded = self.coded(table)?;
        Ok(self.standard(&coded, 0, table.rows()))
    }

    /// The scores that a source gives the rows of a table, as they are.
    pub fn scores_of(&self, source: &ScoreSource, table: &Table) -> Result<Matrix> {
        let score = PublicScore {
            source: source.clone(),
            centre: vec![0.0; source.count()],
            width: 0.0,
            scale: 1.0,
            limit: WIDEST,
        };
        let scorer = score.scorer(table, self.missing)?;
        Ok(scorer(&self.standardised(table)?, 0))
    }

    /// The preparation with scores whose constants come from these public rows and their scores,
    /// which are out of fold where a predictor was trained on them: those of the sources below each
    /// other.
    pub fn with_scores(
        &self,
        sources: Vec<ScoreSource>,
        public: &Table,
        scores: &Matrix,
        settings: &PreparationSettings,
    ) -> Result<Self> {
        let mut preparation = self.clone();
        // One deviation of a score is as long as the other features of a usual record together, and
        // so are several scores together. Of a quarter, a half, one and two times that, one had the
        // least geometric mean of errors on wind, bikeshare, wine and german (`halflight-studies
        // predictor`).
        let length = match settings.features {
            FeatureScaling::Public => self.unit,
            FeatureScaling::Declared(norm) => declared_norm(norm)? / WIDEST,
        } / (sources.len().max(1) as f64).sqrt();
        let mut fitted = Vec::new();
        let mut squares: Vec<f64> = match settings.features {
            FeatureScaling::Public => {
                self.standardised(public)?.column_iter().map(|it| it.norm_squared()).collect()
            }
            FeatureScaling::Declared(_) => Vec::new(),
        };
        let mut first = 0;
        for source in sources {
            let count = source.count();
            let own = scores.rows(first, count).into_owned();
            let mut score = PublicScore { scale: length, ..PublicScore::fit(source, &own) };
            if self.is_wide() {
                score.limit = WIDEST * WIDE;
            }
            let features = score.features(own);
            for (square, more) in squares.iter_mut().zip(features.column_iter()) {
                *square += more.norm_squared();
            }
            score.set_missing(self.missing);
            fitted.push(score);
            first += count;
        }
        if !squares.is_empty() {
            preparation.unit = super::usual_norm(squares);
        }
        let mut fitted = fitted.into_iter();
        (preparation.score, preparation.further_scores) = (fitted.next(), fitted.collect());
        Ok(preparation)
    }

    /// [`Self::apply`] for public rows that trained the predictor, with scores from predictors that
    /// had not seen them.
    pub fn apply_scored(
        &self,
        table: &Table,
        name: &str,
        with_label: bool,
        scores: &Matrix,
    ) -> Result<Dataset> {
        self.apply_with(table, (name, with_label), Some(scores))
    }

    /// The features of all scores for rows with these standardised features.
    pub(super) fn score_features(
        &self,
        scorers: &[Scorer<'_>],
        standard: &Matrix,
        first: usize,
        given: Option<&Matrix>,
    ) -> Matrix {
        let count = self.all_scores().map(PublicScore::count).sum();
        let mut features = Matrix::zeros(count, standard.ncols());
        let mut place = 0;
        for (score, scorer) in self.all_scores().zip(scorers) {
            let raw = match given {
                Some(given) => {
                    given.view((place, first), (score.count(), standard.ncols())).into_owned()
                }
                None => scorer(standard, first),
            };
            let own = score.features(raw) / self.unit;
            features.rows_mut(place, score.count()).copy_from(&own);
            place += score.count();
        }
        features
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_score_passes_its_bound_and_scores_that_are_all_the_same_tell_nothing() {
        let made = |scores: &Matrix| {
            let column = Encoding::Number { column: "s".into(), scale: Standardisation::IDENTITY };
            let source = ScoreSource::Column(ScoreColumn(column));
            PublicScore { scale: 0.3, ..PublicScore::fit(source, scores) }
        };
        let public = Matrix::from_fn(3, 50, |row, at| ((row * 7 + at * 5) % 11) as f64);
        let score = made(&public);
        assert_eq!(score.count(), 3);
        let wild = [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e300, -1e300, 1e9, 0.0];
        for (k, one) in wild.into_iter().enumerate() {
            for other in wild {
                let scores = Matrix::from_column_slice(3, 1, &[one, other, k as f64]);
                let norm = score.features(scores).column(0).norm();
                assert!(norm <= 0.3 * WIDEST * (1.0 + 1e-12), "{one} {other}: {norm}");
            }
        }
        let far = score.features(Matrix::from_column_slice(3, 1, &[1e9, 0.0, 0.0]));
        assert!(far.column(0).norm() > 0.3 * WIDEST * (1.0 - 1e-9), "the bound is attained");
        let same = made(&Matrix::from_element(1, 50, 7.0));
        assert_eq!(same.features(Matrix::from_element(1, 2, 8.0)), Matrix::zeros(1, 2));
        let classes = ["a".to_owned(), "2 of b".to_owned(), "c".to_owned()];
        let one = made(&public.rows(0, 1).into_owned());
        let names = [vec!["x".into()], score.names(0, &classes), one.names(1, &[])].concat();
        assert_eq!(score_places(&names), [vec![1, 2, 3], vec![4]]);
        assert!(score_places(&["public score".into(), "(intercept)".into()]).is_empty());
    }
}
