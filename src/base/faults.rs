//! Planted faults that our tests must find, in places where they would do harm.
//!
//! | list | what finds them |
//! |---|---|
//! | [`Fault::ALL`]: mechanisms and methods | the audit, `tests/audit.rs` |
//! | [`Fault::LEAKS`]: private facts that get out past the mechanisms | whole commands on neighbouring tables, `tests/whole/neighbours.rs` |
//! | [`Fault::BY_PLACE`]: choices among private rows by their place | the roles of rows over many secrets, `src/engine/unordered.rs` |
//!
//! They exist only in builds with the feature `planted-faults`, which is never on by default;
//! without it [`planted`] is a constant and every fault is compiled out. One fault at a time is
//! chosen at run time: by `plant` in this process, or by the environment variable
//! `HALFLIGHT_PLANTED` (`HALFLIGHT_PLANTED=CountInName`) in a program that a test starts.

/// Defines the faults in groups, and a list of each group.
macro_rules! faults {
    ($($(#[$of:meta])* $list:ident { $($(#[$what:meta])* $fault:ident,)* })*) => {
        /// The planted fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Fault {
            $($($(#[$what])* $fault,)*)*
        }

        impl Fault {
            $($(#[$of])* pub const $list: [Self; [$(Self::$fault),*].len()] = [$(Self::$fault),*];)*
        }
    };
}

faults! {
    /// What the audit must find.
    ALL {
        /// Gaussian noise of half the scale.
        HalfNoise,
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
    /// What the comparison of whole commands must find.
    LEAKS {
        /// A ranking leaves out public data that hold a private row.
        DroppedCandidate,
        /// The name of a run says how many private rows are unusable.
        CountInName,
        /// So does a message of a sealed run.
        CountInMessage,
        /// So does a sentence of the certificate.
        SentenceInCertificate,
        /// The length of a model file depends on the private rows.
        LengthOfModel,
        /// The order of a model's columns depends on the private rows.
        OrderOfColumns,
        /// A run fails because of a private row.
        ExitCode,
        /// A file to pass on exists only for some private tables.
        FileForSome,
        /// The certificate names the digest of the private rows, without a key.
        PlainDigest,
        /// The private rows decide what the public predictor is.
        PublicModelByPrivate,
        /// The private rows decide which public rows are held out.
        PublicSplitByPrivate,
    }
    /// What the comparison of rows' roles must find.
    BY_PLACE {
        /// Rows are held out by their place and a public seed.
        SplitByPlace,
        /// Rows are sampled by their place and a public seed.
        SampleByPlace,
        /// The rows that are kept of each person follow from their place.
        KeptByPlace,
    }
}

#[cfg(feature = "planted-faults")]
static PLANTED: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

/// The fault that the environment names.
#[cfg(feature = "planted-faults")]
static NAMED: std::sync::LazyLock<Option<Fault>> = std::sync::LazyLock::new(|| {
    let name = std::env::var("HALFLIGHT_PLANTED").ok()?;
    let mut all = [&Fault::ALL[..], &Fault::LEAKS, &Fault::BY_PLACE].into_iter().flatten();
    all.find(|fault| format!("{fault:?}") == name).copied()
});

/// Plants one fault in this process, or none.
#[cfg(feature = "planted-faults")]
pub fn plant(fault: Option<Fault>) {
    let number = fault.map_or(0, |fault| fault as u8 + 1);
    PLANTED.store(number, std::sync::atomic::Ordering::SeqCst);
}

#[cfg(feature = "planted-faults")]
pub fn planted(fault: Fault) -> bool {
    PLANTED.load(std::sync::atomic::Ordering::SeqCst) == fault as u8 + 1 || *NAMED == Some(fault)
}

#[cfg(not(feature = "planted-faults"))]
#[allow(clippy::inline_always)]
#[inline(always)]
pub const fn planted(_: Fault) -> bool {
    false
}
