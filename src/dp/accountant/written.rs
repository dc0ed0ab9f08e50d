//! The written form of a mechanism in ledgers, certificates and plans, unchanged since the first
//! version: each kind has its own name, and its own words for sensitivity, scale and size.

use serde::{Deserialize, Serialize};

use super::event::{Mechanism, Noise, QueryKind, Rule};
use super::repeats::Repeats;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Written {
    /// [`QueryKind::Gaussian`]
    Gaussian { sensitivity: f64, sigma: f64, grid: f64, coordinates: u64 },
    /// [`QueryKind::SampledSum`]
    SubsampledGaussian { sensitivity: f64, sigma: f64, grid: f64, coordinates: u64, rate: f64 },
    /// [`QueryKind::Laplace`]
    Laplace { sensitivity: f64, scale: f64, grid: f64, coordinates: u64 },
    /// [`QueryKind::Selection`] by the exponential mechanism.
    Selection { range: f64, scale: f64, candidates: u64 },
    /// [`QueryKind::Selection`] by permute-and-flip.
    PermuteAndFlip { range: f64, scale: f64, candidates: u64 },
    /// [`QueryKind::Direction`]
    Direction { range: f64, scale: f64, dimension: u64 },
    /// [`QueryKind::Selection`] by the noisy maximum.
    NoisySelection { sensitivity: f64, scale: f64, candidates: u64 },
    /// [`QueryKind::Repeated`]
    RepeatedGaussian {
        sensitivity: f64,
        sigma: f64,
        grid: f64,
        coordinates: u64,
        shape: u32,
        stop: f64,
    },
    /// [`QueryKind::Pure`]
    Pure { epsilon: f64 },
}

impl From<Mechanism> for Written {
    fn from(mechanism: Mechanism) -> Self {
        let (sensitivity, size) = (mechanism.query.sensitivity, mechanism.query.size);
        let Noise { scale, grid } = mechanism.noise;
        let (range, coordinates, candidates) = (sensitivity, size, size);
        match mechanism.query.kind {
            QueryKind::Gaussian => Self::Gaussian { sensitivity, sigma: scale, grid, coordinates },
            QueryKind::SampledSum { rate } => {
                Self::SubsampledGaussian { sensitivity, sigma: scale, grid, coordinates, rate }
            }
            QueryKind::Laplace => Self::Laplace { sensitivity, scale, grid, coordinates },
            QueryKind::Selection(Rule::Exponential) => Self::Selection { range, scale, candidates },
            QueryKind::Selection(Rule::PermuteAndFlip) => {
                Self::PermuteAndFlip { range, scale, candidates }
            }
            QueryKind::Selection(Rule::NoisyMaximum) => {
                Self::NoisySelection { sensitivity, scale, candidates }
            }
            QueryKind::Repeated(Repeats { shape, stop }) => {
                Self::RepeatedGaussian { sensitivity, sigma: scale, grid, coordinates, shape, stop }
            }
            QueryKind::Direction => Self::Direction { range, scale, dimension: size },
            QueryKind::Pure => Self::Pure { epsilon: sensitivity / scale },
        }
    }
}

impl From<Written> for Mechanism {
    fn from(written: Written) -> Self {
        let of = |kind: QueryKind, sensitivity, size, scale, grid| {
            kind.query(sensitivity, size).with(Noise { scale, grid })
        };
        match written {
            Written::Gaussian { sensitivity, sigma, grid, coordinates } => {
                of(QueryKind::Gaussian, sensitivity, coordinates, sigma, grid)
            }
            Written::SubsampledGaussian { sensitivity, sigma, grid, coordinates, rate } => {
                of(QueryKind::SampledSum { rate }, sensitivity, coordinates, sigma, grid)
            }
            Written::Laplace { sensitivity, scale, grid, coordinates } => {
                of(QueryKind::Laplace, sensitivity, coordinates, scale, grid)
            }
            Written::Selection { range, scale, candidates } => {
                of(QueryKind::Selection(Rule::Exponential), range, candidates, scale, 0.0)
            }
            Written::PermuteAndFlip { range, scale, candidates } => {
                of(QueryKind::Selection(Rule::PermuteAndFlip), range, candidates, scale, 0.0)
            }
            Written::Direction { range, scale, dimension } => {
                of(QueryKind::Direction, range, dimension, scale, 0.0)
            }
            Written::NoisySelection { sensitivity, scale, candidates } => {
                of(QueryKind::Selection(Rule::NoisyMaximum), sensitivity, candidates, scale, 0.0)
            }
            Written::RepeatedGaussian { sensitivity, sigma, grid, coordinates, shape, stop } => {
                let kind = QueryKind::Repeated(Repeats { shape, stop });
                of(kind, sensitivity, coordinates, sigma, grid)
            }
            // Over a scale of 1, so that ε comes back to the last bit.
            Written::Pure { epsilon } => of(QueryKind::Pure, epsilon, 1, 1.0, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind, as written by earlier builds.
    const WRITTEN: [&str; 9] = [
        r#"{"gaussian":{"sensitivity":0.0012247446803080226,"sigma":0.017923791776411235,"grid":5.820766091346741e-11,"coordinates":3}}"#,
        r#"{"subsampled_gaussian":{"sensitivity":1.0,"sigma":2.5,"grid":0.0,"coordinates":5,"rate":0.1}}"#,
        r#"{"laplace":{"sensitivity":1.0,"scale":3.0,"grid":9.313225746154785e-10,"coordinates":5}}"#,
        r#"{"selection":{"range":0.2,"scale":1.0,"candidates":9}}"#,
        r#"{"permute_and_flip":{"range":0.05,"scale":1.0,"candidates":9}}"#,
        r#"{"direction":{"range":0.2,"scale":1.0,"dimension":9}}"#,
        r#"{"noisy_selection":{"sensitivity":0.03,"scale":1.0,"candidates":9}}"#,
        r#"{"pure":{"epsilon":0.1}}"#,
        r#"{"repeated_gaussian":{"sensitivity":0.14,"sigma":1.0,"grid":3.725290298461914e-9,"coordinates":7,"shape":2,"stop":0.125}}"#,
    ];

    #[test]
    fn what_was_written_before_is_read_and_written_again_byte_for_byte() {
        assert_eq!(WRITTEN.len(), QueryKind::one_of_each().len());
        let read = WRITTEN.map(|text| serde_json::from_str::<Mechanism>(text).unwrap());
        for (text, mechanism) in WRITTEN.iter().zip(&read) {
            assert_eq!(serde_json::to_string(mechanism).unwrap(), *text);
        }
        for (one, mechanism) in read.iter().enumerate() {
            let same = |other: &Mechanism| other.query.kind == mechanism.query.kind;
            assert_eq!(read.iter().position(same), Some(one), "two kinds are read as one");
        }
        let sampled = QueryKind::SampledSum { rate: 0.1 }.query(1.0, 5);
        assert_eq!(read[1], sampled.with(Noise::ideal(2.5)));
        let unknown = r#"{"selection":{"range":0.2,"scale":1.0,"candidates":9,"more":1}}"#;
        assert!(serde_json::from_str::<Mechanism>(unknown).is_err());
    }
}
