//! Planted faults that the audit must find, in places where they would do harm.
//!
//! They exist only in builds with the feature `planted-faults`, which is never on by default;
//! without it [`planted`] is a constant and every fault is compiled out. One fault at a time is
//! chosen at run time.

/// The planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// Gaussian noise of half the scale.
    HalfNoise = 1,
    /// No contribution is clipped, by method or mechanism.
    ForgottenClip,
    /// A mean over half of the number of records.
    WrongCountOfRecords,
    /// Every draw of a run has the same noise.
    ReusedNoise,
    /// Labels are not clipped.
    UnclippedLabel,
    /// Every run has the same seed of noise.
    SeedReuse,
    /// Samples of a fixed size.
    FixedSample,
    /// The part of a gradient outside the subspace is neither clipped nor counted.
    MissingResidual,
    /// Values are rounded to a coarse grid after they were clipped.
    CoarseRounding,
    /// The change of a matrix in spectral norm instead of Frobenius.
    WrongNorm,
    /// One draw more than announced.
    OnceMore,
    /// The plan announces one draw less than the run makes.
    WrongCountOfDraws,
    /// Records that are not finite are kept.
    NonFinite,
    /// Only the first number gets noise.
    OneCoordinate,
    /// Samples from a seed that everybody knows.
    KnownSample,
    /// A released value is returned again instead of a new one.
    StaleTranscript,
    /// A selection at half its scale.
    SelectionScale,
    /// Laplace noise with the Gaussian's variance.
    LaplaceForGaussian,
    /// A constant of the method is taken from the private records.
    PrivateStatistic,
    /// Weighted gradients that are not clipped.
    UnclippedWeights,
}

impl Fault {
    pub const ALL: [Self; 20] = [
        Self::HalfNoise,
        Self::ForgottenClip,
        Self::WrongCountOfRecords,
        Self::ReusedNoise,
        Self::UnclippedLabel,
        Self::SeedReuse,
        Self::FixedSample,
        Self::MissingResidual,
        Self::CoarseRounding,
        Self::WrongNorm,
        Self::OnceMore,
        Self::WrongCountOfDraws,
        Self::NonFinite,
        Self::OneCoordinate,
        Self::KnownSample,
        Self::StaleTranscript,
        Self::SelectionScale,
        Self::LaplaceForGaussian,
        Self::PrivateStatistic,
        Self::UnclippedWeights,
    ];
}

#[cfg(feature = "planted-faults")]
static PLANTED: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

/// Plants one fault in this process, or none.
#[cfg(feature = "planted-faults")]
pub fn plant(fault: Option<Fault>) {
    let number = fault.map_or(0, |fault| fault as u8);
    PLANTED.store(number, std::sync::atomic::Ordering::SeqCst);
}

#[cfg(feature = "planted-faults")]
pub(crate) fn planted(fault: Fault) -> bool {
    PLANTED.load(std::sync::atomic::Ordering::SeqCst) == fault as u8
}

#[cfg(not(feature = "planted-faults"))]
#[allow(clippy::inline_always)]
#[inline(always)]
pub(crate) const fn planted(_: Fault) -> bool {
    false
}
