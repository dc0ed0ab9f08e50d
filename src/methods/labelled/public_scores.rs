//! The linear scores of public records, where methods for classes start.
//!
//! How strongly their weights are held near zero is chosen by public records that they have not
//! seen: each of three folds is left out, and each third of the records along their first principal
//! component. Prepared columns are divided by their own spread, which makes the column of a rare
//! category long. So the ridge is tried on the weights as they are, and on weights that count the
//! more, the more of a column's spread comes from few records.

use crate::labelled::public_shape;
use crate::labelled::records::{several_classes, signs};
use crate::model::{Shrinkage, logistic, softmax};
use crate::numeric::columns::score_of;
use crate::numeric::parallel;
use crate::numeric::principal::Principal;
use crate::prelude::*;

/// The ridge where there are too few records, or too many features, for a choice.
pub const USUAL_RIDGE: f64 = 1e-4;
/// The ridges that are compared, the strongest first: each search starts from the last solution.
const RIDGES: [f64; 4] = [1e-3, 1e-4, 1e-5, 1e-6];
const PARTS: usize = 3;
const MOST_COMPARED: usize = 4000;
/// The most multiplications for a second moment of the compared records, of which the comparison
/// takes about a hundred: a few seconds.
const WORK: f64 = 1e8;
/// A solution that is only compared with others may miss the least loss by this.
const ROUGH: f64 = 1e-6;
/// A solution that is used. Of wide records, such as pictures, all digits take most of the time.
const EXACT: f64 = 1e-20;
const EXACT_OF_WIDE: f64 = 1e-9;

/// The classes that scores tell apart.
enum ScoredClasses<'a> {
    Two(Vec<f64>),
    Several(&'a [u32], usize),
}

impl<'a> ScoredClasses<'a> {
    fn of(public: &'a PublicData) -> Result<Self> {
        Ok(match (several_classes(public)?, &public.classes) {
            (count @ 3.., Some(known)) => Self::Several(&known.of, count),
            _ => Self::Two(signs(public)?),
        })
    }

    fn scores(&self) -> usize {
        match self {
            Self::Two(_) => 1,
            Self::Several(_, count) => *count,
        }
    }

    fn solution(
        &self,
        features: &Doubles,
        shrinkage: &Shrinkage,
        first: Vector,
        within: f64,
    ) -> Option<Vector> {
        match self {
            Self::Two(signs) => logistic::solution(features, signs, shrinkage, first, within),
            Self::Several(of, count) => {
                softmax::solution(features, (of, *count), shrinkage, first, within)
            }
        }
    }

    fn mean_loss(&self, features: &Doubles, w: &Vector) -> f64 {
        let mut sum = 0.0;
        let mut slopes = vec![0.0; self.scores()];
        features.each(|at, x| {
            sum += match self {
                Self::Two(signs) => logistic::loss(signs[at] * score_of(x, w)),
                Self::Several(of, _) => {
                    softmax::loss_and_slopes(x, of[at] as usize, w.as_slice(), &mut slopes)
                }
            };
        });
        sum / features.count() as f64
    }
}

/// The weights with the least loss of the public records: a row for each score. A `ridge` of 0 is
/// chosen.
pub fn public_solution(public: &PublicData, ridge: f64) -> Result<Vector> {
    let shrinkage = if ridge > 0.0 { ridge.into() } else { chosen(public)? };
    let classes = ScoredClasses::of(public)?;
    let first = Vector::zeros(classes.scores() * public.dimension());
    let is_wide = public_shape::is_wide(public.dimension(), classes.scores());
    let within = if is_wide { EXACT_OF_WIDE } else { EXACT };
    classes.solution(&public.features, &shrinkage, first, within).ok_or_else(|| {
        Error::failed(format!("the public dataset '{}' determines no logistic model", public.name))
            .cure("raise the ridge if the method has one, or drop columns that say the same")
    })
}

/// The ridge by which [`public_solution`] is kept: one that would be chosen is [`USUAL_RIDGE`] where nothing
/// is compared, as with pictures. Then a method that names this ridge shares what was learned.
pub fn kept_ridge(public: &PublicData, ridge: f64) -> Result<f64> {
    let is_usual = ridge == 0.0 && compared(public)?.is_none();
    Ok(if is_usual { USUAL_RIDGE } else { ridge })
}

/// The most records on which ridges are compared; `None` if they are too few.
fn compared(public: &PublicData) -> Result<Option<usize>> {
    let (classes, dimension) = (ScoredClasses::of(public)?.scores(), public.dimension());
    let most = (WORK / (classes * dimension * dimension) as f64) as usize;
    let most = most.min(MOST_COMPARED);
    // As many as thinning leaves.
    let step = public.len().div_ceil(most.max(1)).max(1);
    Ok((public.len().div_ceil(step) > 4 * classes * dimension).then_some(most))
}

/// The ridge, and the sizes of weights, that predict best what they have not seen.
fn chosen(public: &PublicData) -> Result<Shrinkage> {
    let Some(count) = compared(public)? else { return Ok(USUAL_RIDGE.into()) };
    let some = public.thinned(0, count);
    let Some(regions) = regions(&some) else { return Ok(USUAL_RIDGE.into()) };
    let folds: Vec<usize> = (0..some.len()).map(|i| i % PARTS).collect();
    let sizes = [None, Some(rarities(&some.features))];
    // Each part without which all is learned, with each kind of size.
    let jobs: Vec<_> = [&folds, &regions]
        .into_iter()
        .flat_map(|of| (0..PARTS).map(move |part| (of, part)))
        .flat_map(|job| sizes.iter().map(move |sizes| (job, sizes)))
        .collect();
    let losses = parallel::share_out_for_results(jobs.len(), parallel::threads(), |at| {
        let ((of, part), sizes) = jobs[at];
        let (left, taught) = (0..some.len()).partition::<Vec<_>, _>(|i| of[*i] == part);
        losses(&some.select(&taught), &some.select(&left), sizes.as_ref())
    });
    let mut best = (f64::INFINITY, USUAL_RIDGE, 0);
    for (kind, _) in sizes.iter().enumerate() {
        for (at, ridge) in RIDGES.into_iter().enumerate() {
            let all = losses.iter().skip(kind).step_by(sizes.len());
            let loss = all.map(|losses| losses[at]).sum();
            if loss < best.0 {
                best = (loss, ridge, kind);
            }
        }
    }
    let (_, ridge, kind) = best;
    Ok(Shrinkage { ridge, sizes: sizes.into_iter().nth(kind).flatten() })
}

/// The loss on the records that were left out, for each ridge: infinite if one of the two sides has
/// too few classes.
fn losses(taught: &PublicData, left: &PublicData, sizes: Option<&Vector>) -> [f64; RIDGES.len()] {
    let mut losses = [f64::INFINITY; RIDGES.len()];
    let (Ok(classes), Ok(judges)) = (ScoredClasses::of(taught), ScoredClasses::of(left)) else {
        return [0.0; RIDGES.len()];
    };
    let mut w = Vector::zeros(classes.scores() * taught.dimension());
    for (loss, ridge) in losses.iter_mut().zip(RIDGES) {
        let shrinkage = Shrinkage { ridge, sizes: sizes.cloned() };
        let found = classes.solution(&taught.features, &shrinkage, w.clone(), ROUGH);
        let Some(found) = found else { break };
        *loss = judges.mean_loss(&left.features, &found);
        w = found;
    }
    losses
}

/// The third of each record along the first principal component.
fn regions(some: &PublicData) -> Option<Vec<usize>> {
    let (_, principal) = Principal::centred(&some.features, 1)?;
    let direction = principal.directions.column_iter().next()?.into_owned();
    let places = some.features.map_each(|x| score_of(x, &direction));
    let mut order: Vec<usize> = (0..some.len()).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
    let mut regions = vec![0; some.len()];
    for (rank, record) in order.into_iter().enumerate() {
        regions[record] = rank * PARTS / some.len();
    }
    Some(regions)
}

/// The root of E x⁴ / (E x²)² of each column: 1 if every record has as much of its spread, and
/// 1/√share for a category that this share of the records has.
fn rarities(features: &Doubles) -> Vector {
    let mut squares = Vector::zeros(features.dimension());
    let mut fourths = squares.clone();
    features.each(|_, x| {
        for ((square, fourth), x) in squares.iter_mut().zip(&mut fourths).zip(x) {
            *square += x.powi(2);
            *fourth += x.powi(4);
        }
    });
    let count = features.count() as f64;
    let rarity = |square: f64, fourth: f64| {
        if square > 0.0 { (count * fourth).sqrt() / square } else { 1.0 }
    };
    squares.zip_map(&fourths, rarity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Bounds, Classes};
    use crate::example;

    /// Records of one category each, in columns that are divided by their own spread and short as
    /// those of a wide table, with a column of ones.
    fn categories(of: &[usize], second: impl Fn(usize, usize) -> bool) -> PublicData {
        let kinds = of.iter().max().unwrap() + 1;
        let share = |kind| of.iter().filter(|it| **it == kind).count() as f64 / of.len() as f64;
        let shares: Vec<f64> = (0..kinds).map(share).collect();
        let unit = 30.0;
        let features =
            Matrix::from_fn(kinds + 1, of.len(), |kind, record| match shares.get(kind) {
                Some(share) => {
                    let own = f64::from(of[record] == kind);
                    (own - share) / (share * (1.0 - share)).sqrt() / unit
                }
                None => 0.5_f64.sqrt(),
            });
        let classes = of.iter().enumerate().map(|(at, kind)| u32::from(second(at, *kind)));
        let names = vec!["no".to_owned(), "yes".to_owned()];
        let bounds = Bounds { feature_norm: 9.0, label: 1.0 };
        let data = Dataset::unlabelled("made".to_owned(), features, bounds);
        Dataset { classes: Some(Classes { of: classes.collect(), names }), ..data }.into()
    }

    fn loss(of: &PublicData, w: &Vector) -> f64 {
        ScoredClasses::of(of).unwrap().mean_loss(&of.features, w)
    }

    #[test]
    fn categories_that_tell_the_classes_apart_get_a_weaker_ridge() {
        let of: Vec<usize> = (0..2400).map(|i| i % 40).collect();
        // A tenth of each category is in the other class.
        let second =
            |at: usize, kind: usize| kind.is_multiple_of(2) != (at / 40).is_multiple_of(10);
        let public = categories(&of, second);
        assert!(chosen(&public).unwrap().ridge <= 1e-5);
        let [ours, usual] = [0.0, USUAL_RIDGE].map(|it| public_solution(&public, it).unwrap());
        assert!(loss(&public, &ours) < 0.9 * loss(&public, &usual));
    }

    #[test]
    fn rare_categories_that_tell_nothing_are_held_nearer_to_zero() {
        // Two large categories and forty of a few records each, whose classes are arbitrary.
        let of: Vec<usize> =
            (0..1200).map(|i| if i % 4 < 3 { i % 2 } else { 2 + (i / 4) % 40 }).collect();
        let arbitrary = |at: usize| (43_758.5 * (12.99 * at as f64).sin()).rem_euclid(1.0);
        let second = |at: usize, kind: usize| match kind {
            0 | 1 => (kind == 0) != (arbitrary(at) < 0.15),
            _ => arbitrary(at) < 0.5,
        };
        let public = categories(&of, second);
        assert!(chosen(&public).unwrap().sizes.is_some());
    }

    #[test]
    fn few_records_for_their_features_leave_the_usual_ridge() {
        let (_, public, _) = example::two_classes(6, 24, 20, 1);
        let public: PublicData = public.into();
        assert_eq!(chosen(&public).unwrap(), USUAL_RIDGE.into());
        assert_eq!(kept_ridge(&public, 0.0).unwrap(), USUAL_RIDGE);
        assert_eq!(kept_ridge(&public, 0.5).unwrap(), 0.5);
        let (_, public, _) = example::two_classes(6, 300, 20, 1);
        let public: PublicData = public.into();
        assert_ne!(chosen(&public).unwrap(), USUAL_RIDGE.into());
        assert_eq!(kept_ridge(&public, 0.0).unwrap(), 0.0);
    }

    #[test]
    fn the_choice_is_the_same_on_any_number_of_threads_and_serves_three_classes() {
        let (_, public, _) = example::three_classes(6, 600, 20, 1);
        let public = public.into();
        let solution = |threads| parallel::with_threads(threads, || public_solution(&public, 0.0));
        let w = solution(1).unwrap();
        assert_eq!(w.len(), 18);
        assert_eq!(w, solution(2).unwrap());
        assert!(loss(&public, &w) <= loss(&public, &Vector::zeros(18)));
    }
}
