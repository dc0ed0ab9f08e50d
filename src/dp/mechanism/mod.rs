//! The noise itself, sampled exactly from a cryptographic generator.
//!
//! The noise drawn is exactly the noise accounted for. Every mechanism rounds its inputs to a grid,
//! and states how far this moves neighbours apart. Calibration adds that distance to the
//! sensitivity of an event. With Δ the planned sensitivity and d the number of coordinates:
//!
//! | event | noise of at least a wanted scale | the event's sensitivity is at least | read back by |
//! |---|---|---|---|
//! | `Gaussian`, `SampledSum` | [`DiscreteGaussian::at_least`] → `sigma()`, `grid()` | Δ₂ + [`sensitivity_slack`](DiscreteGaussian::sensitivity_slack)(d) = Δ₂ + grid·√d | `from_event(sigma, grid)` |
//! | `Laplace` | [`DiscreteLaplace::at_least`] → `scale()`, `grid()` | Δ₁ + [`sensitivity_slack`](DiscreteLaplace::sensitivity_slack)(d) = Δ₁ + grid·d | `from_event(scale, grid)` |
//! | `Selection(Exponential)` | any scale | range + [`ExponentialMechanism::range_slack`]`(scale)` = range + 3·2⁻⁴⁰·scale | `with_scale(scale)` |
//! | `Selection(PermuteAndFlip)` | any | range + [`range_slack`](PermuteAndFlip::range_slack)`(scale)` | `with_scale(scale)` |
//! | `Direction` | any | range + [`DirectionMechanism::range_slack`]`(scale, s)` = range + (4s + 2)·2⁻²⁷·scale | `with_scale(scale)` |
//! | `Selection(NoisyMaximum)` | [`NoisyMaximum::at_least`] → `scale()` | Δ + [`sensitivity_slack`](NoisyMaximum::sensitivity_slack)`()` = Δ + 1.5·grid ≤ Δ + 1.5·2⁻²⁸·scale | `from_event(scale)` |
//!
//! (all times 1 + 4·2⁻⁵² for the sum's own rounding). For a selection of ε₀ = range/scale this
//! means scale = range/(ε₀ − 3·2⁻⁴⁰). The rounded scores or numbers then differ by whole numbers of
//! grid steps, for which the discrete mechanisms have the stated guarantee exactly: ε₀ of the
//! exponential mechanism and its bounded range, ε₀ = 2Δ/scale of the noisy maximum, Δ₁/scale of the
//! Laplace, Δ₂²/2σ² zCDP of the Gaussian.
//!
//! There is no floating-point mode: at about 0.13 µs a number the exact samplers are fast enough
//! for rehearsals too (10⁸ numbers in 13 s), so studies use the same samplers as runs.

mod coin;
pub mod direction;
pub mod discrete_gaussian;
pub mod discrete_laplace;
pub mod generator;
mod grid;
pub mod poisson;
pub mod repeats;
pub mod selection;

pub use direction::DirectionMechanism;
pub use discrete_gaussian::{DiscreteGaussian, NoiseShare};
pub use discrete_laplace::DiscreteLaplace;
pub use generator::{NoiseGenerator, NoiseSource};
pub use poisson::PoissonSample;
pub use repeats::{number_of_repeats, one_of};
pub use selection::{ExponentialMechanism, NoisyMaximum, PermuteAndFlip};
