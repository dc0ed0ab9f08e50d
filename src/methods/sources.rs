//! One weight for all records of a public dataset.
//!
//! The weights are functions of public records, of models that were released, and of public choices.
//! So they change no sensitivity.

use serde::{Deserialize, Serialize};

use super::spec::{FieldKind, Setting, Value};
use crate::plot::number::{compact, percent};
use crate::prelude::*;

/// The most public datasets with a chosen weight.
const MOST: usize = 8;

const NONE: &str = "none";
const LEARNED: &str = "learned";

/// How the public datasets of a plan are weighted against each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SourceWeights {
    /// The datasets are pooled: every record has a weight of its own.
    None,
    /// All records of a dataset have one weight, which follows their mean loss.
    Learned,
    /// All records of a dataset have this share of their largest weight.
    Given(GivenWeights),
}

/// One number for each public dataset, in the order of the plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GivenWeights {
    count: usize,
    of: [f64; MOST],
}

/// The records of one public dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedSource {
    /// Places of the dataset's records among the public records.
    pub members: Vec<usize>,
    /// The chosen weight, if it is not learned.
    pub given: Option<f64>,
}

/// How much the records of a public dataset count in a model. It follows from released values and
/// public records, so it is released.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceWeight {
    pub dataset: String,
    /// Number of the dataset's training records.
    pub records: usize,
    /// The mean weight of a record, relative to that of the dataset with the largest.
    pub weight: f64,
    /// The part of all public weight that its records have together.
    pub share: f64,
}

/// The weights of several public datasets with these names; none of a single one, or where a method
/// uses none of them.
pub fn source_weights(
    names: &[String],
    public: &PublicRecords,
    weights: &Released<Vec<f64>>,
) -> Vec<SourceWeight> {
    let (groups, weights) = (public.by_dataset(), weights.get());
    if names.len() < 2 || groups.len() != names.len() || weights.len() != public.len() {
        return Vec::new();
    }
    let sum = |members: &Vec<usize>| members.iter().map(|at| weights[*at]).sum::<f64>();
    let mean = |members: &Vec<usize>| sum(members) / members.len().max(1) as f64;
    let (largest, all) =
        (groups.iter().map(mean).fold(0.0, f64::max), groups.iter().map(sum).sum::<f64>());
    if largest <= 0.0 {
        return Vec::new();
    }
    names
        .iter()
        .zip(&groups)
        .map(|(dataset, members)| SourceWeight {
            dataset: dataset.clone(),
            records: members.len(),
            weight: mean(members) / largest,
            share: sum(members) / all,
        })
        .collect()
}

/// The weights in one sentence; `None` if there are none.
pub fn source_words(sources: &[SourceWeight]) -> Option<String> {
    let words = |it: &SourceWeight| {
        format!("{} {} a record, {} in all", it.dataset, compact(it.weight), percent(it.share))
    };
    let words: Vec<String> = sources.iter().map(words).collect();
    (!words.is_empty()).then(|| format!("weights of the public data: {}", words.join("; ")))
}

impl SourceWeights {
    /// The values in words.
    pub const RANGE: &str = "none, learned, or a number above 0 and up to 1 for each public dataset, \
                             with spaces between them";
    pub const DEFAULT: &str = NONE;

    /// Reads `none`, `learned`, or `1 0.5`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            NONE => return Some(Self::None),
            LEARNED => return Some(Self::Learned),
            _ => {}
        }
        let mut given = GivenWeights { count: 0, of: [1.0; MOST] };
        for word in text.split_whitespace() {
            let weight = word.parse().ok().filter(|weight| *weight > 0.0 && *weight <= 1.0)?;
            *given.of.get_mut(given.count)? = weight;
            given.count += 1;
        }
        (given.count > 0).then_some(Self::Given(given))
    }

    /// The datasets with their weights; none if they are pooled.
    pub fn sources(self, public: &PublicRecords) -> Result<Vec<WeightedSource>> {
        if self == Self::None {
            return Ok(Vec::new());
        }
        let groups = public.by_dataset();
        if let Self::Given(given) = self
            && given.count != groups.len()
        {
            return Err(Error::usage(format!(
                "the weights in `source_weights` ({}) and the public datasets of the plan ({}) differ \
                 in number",
                given.count,
                groups.len()
            ))
            .cure("give one number for each, in the order of the plan"));
        }
        let source = |(index, members)| {
            let given = if let Self::Given(given) = self { Some(given.of[index]) } else { None };
            WeightedSource { members, given }
        };
        // A dataset may have no record among those in use.
        Ok(groups.into_iter().enumerate().map(source).filter(|it| !it.members.is_empty()).collect())
    }
}

/// The setting of the methods that weight public records.
pub const SOURCE_WEIGHTS: Setting<SourceWeights> =
    Setting::new(FieldKind::SourceWeights, |value| match value {
        Value::Text(text) => SourceWeights::parse(text),
        _ => None,
    })
    .named("source weights", "share of largest")
    .help(
        "Whether all records of a public dataset have the same weight. none: every record has its \
         own. learned: the weight of a dataset falls with the mean loss of its records. Numbers: \
         these weights, in the order of the plan's public data; they must be chosen without \
         looking at the private data.",
    );

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::privacy::openings::OpenReleased;

    #[test]
    fn words_and_numbers_are_read_and_nothing_else() {
        assert_eq!(SourceWeights::parse("none"), Some(SourceWeights::None));
        assert_eq!(SourceWeights::parse(" learned "), Some(SourceWeights::Learned));
        let Some(SourceWeights::Given(given)) = SourceWeights::parse("1  0.25") else { panic!() };
        assert_eq!((given.count, &given.of[..3]), (2, &[1.0, 0.25, 1.0][..]));
        for wrong in ["", "0", "1.5", "-1", "1, 0.5", "NaN", "pooled", &"1 ".repeat(MOST + 1)] {
            assert_eq!(SourceWeights::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn weights_of_records_are_told_by_dataset() {
        let (_, public, _) = example::shifted(2, 4, 20, 1);
        let public = PublicRecords::from(public).of_datasets(vec![0, 1, 0, 0], 2);
        let names = ["good", "bad"].map(str::to_owned);
        let released = |weights: [f64; 4]| Released::of_public(weights.to_vec());
        let found = source_weights(&names, &public, &released([0.4, 0.1, 0.4, 0.1]));
        assert_eq!((found[0].records, found[0].weight), (3, 1.0));
        assert!((found[1].weight - 0.1 / 0.3).abs() < 1e-12, "{found:?}");
        assert!((found[0].share - 0.9).abs() < 1e-12, "{found:?}");
        let words = source_words(&found).unwrap();
        assert_eq!(
            words,
            "weights of the public data: good 1 a record, 90.0 % in all; bad 0.333 a record, 10.0 % \
             in all"
        );
        assert!(source_weights(&names, &public, &released([0.0; 4])).is_empty());
        // One dataset is not weighed against others.
        assert!(source_weights(&names[..1], &public, &released([1.0; 4])).is_empty());
        assert_eq!(source_words(&[]), None);
    }

    #[test]
    fn every_dataset_gets_its_number_and_their_count_must_fit() {
        let (_, public, _) = example::shifted(2, 5, 20, 1);
        let public = PublicRecords::from(public);
        let of = |words: &str, public: &PublicRecords| {
            SourceWeights::parse(words).unwrap().sources(public)
        };
        assert!(of("none", &public).unwrap().is_empty());
        let [all] = of("learned", &public).unwrap().try_into().unwrap();
        assert_eq!(all, WeightedSource { members: (0..5).collect(), given: None });
        let mixed = public.of_datasets(vec![2, 0, 2, 0, 0], 3);
        let found = of("1 0.5 0.25", &mixed).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], WeightedSource { members: vec![1, 3, 4], given: Some(1.0) });
        assert_eq!(found[1], WeightedSource { members: vec![0, 2], given: Some(0.25) });
        let error = of("1 0.5", &mixed).unwrap_err();
        assert!(error.what().contains("(2)") && error.what().contains("(3) differ"), "{error}");
    }
}
