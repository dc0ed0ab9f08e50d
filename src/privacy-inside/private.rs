//! The boundary: everything that makes, opens or changes the standing of a value.
//!
//! * [`Private`] values can be transformed but not seen. The type has no
//!   `Debug`, `Display`, `Serialize`, `PartialEq`, `Deref` or getter.
//! * [`Released`] values left the private data through an accounted mechanism.
//! * [`CuratorOnly`] values were computed without noise and may be seen only by the person at the
//!   keyboard, while the view is not sealed.
//!
//! # Every opening
//!
//! An opening is a method of a trait in [`crate::openings`]. Only crates that name
//! `halflight-privacy-inside` in their Cargo.toml can use one, and `tests/whole/boundary.rs` holds the
//! list of these crates. "Insiders" below are their code.
//!
//! | opening | who may call it | what passes | what holds it |
//! |---|---|---|---|
//! | [`Private::transform`], [`Private::try_transform`] | everybody | nothing: the result stays private | `fn` pointers capture nothing; a failure is a [`PrivateFault`]: fixed words |
//! | [`OpenPrivate::map_unseen`], `map_usable`, `try_map` | insiders | nothing, but see below | `Fn + Sync`: no captured `Cell` or `RefCell` |
//! | [`OpenPrivate::together`] | insiders | nothing: the result stays private | – |
//! | [`OpenPrivate::release_gaussian`] and the other releases, `select` | insiders | a noisy value | the [`Spender`]: ledger first, sensitivity from the plan, the query clipped to its [`Reach`], nothing that is not finite |
//! | [`OpenPrivate::curator`] | insiders | an exact value, marked [`CuratorOnly`] | an open [`Watch`], which remembers that it was used; the ledger records it |
//! | [`CuratorOnly::reveal`] | who holds an open [`Watch`] | the exact value | [`OpenWatch::open`] is for insiders: `halflight-engine` gives watches to whoever is at the keyboard |
//! | [`CuratorOnly::compute`], `compute_with`, `zip` | everybody | nothing: the result stays the curator's | a `fn` pointer captures nothing |
//! | [`OpenCuratorOnly::map`], [`OpenMissing::transpose`] | insiders | nothing; whether there is a value | reviews |
//! | `Released::new` | this crate | – | called by the mechanisms, after the draw |
//! | [`OpenReleased::of_public`] | insiders | a value as released | the value is of public data alone |
//! | [`Released::transform`] | everybody | post-processing | a `fn` pointer captures nothing, so nothing exact gets in |
//! | [`OpenReleased::map`], `and` | insiders | post-processing with public data beside it | the audit: the same released values on entirely different private data must give the same model and the same measures, bit for bit |
//! | [`crate::openings::OpenSpender`], [`crate::openings::OpenRepeats`] | insiders | – | only events that the ledger granted; noise scales from [`calibrate`](crate::accountant::calibrate) |
//! | `Measure::public` | `halflight-methods` | a number as *public* | what public predictors lose on public records, and examples for tests |
//! | `PublicRecords::once` | everybody | nothing: the notes are about public records and a setting | a `fn` pointer captures nothing; only plans call it, which have no private records |
//!
//! The guide's page `looks` lists every call that looks at private records outside a mechanism, with
//! what it decides and who can see that. `tests/whole/boundary.rs` keeps the list complete.
//!
//! # What remains
//!
//! Types cannot rule out the following, which is left to reviews, tests and the operating system:
//!
//! * *Among insiders* a closure over private data may capture anything `Sync` (a mutex, an atomic),
//!   print, write a file or use a `static`. `tests/whole/boundary.rs` forbids all of these words in
//!   the layers that see records (`methods`, `advice/rank`, `evaluation`, `model`).
//! * *Outside*, a `fn` pointer can do the same with its own `static` or with a file. It sees values
//!   that its own program wrapped, or those of an assembled run.
//! * Files that nobody called private are read as they are: `halflight predict FILE` and
//!   `data inspect FILE` have their rows without any of these types.
//! * `try_map` passes on an error that the closure made. The callers are the preparation of tables
//!   (`engine::assembly`, `engine::ranking`), whose errors name file, line and column, and rankings,
//!   which prepare the records of large tables when they need them. Everything else uses
//!   `try_transform` or `map_usable`, whose failures are [`PrivateFault`]s.
//! * `Released::map` and `and` rely on the method that the rest is public. The audit checks this
//!   for every method.
//! * Kernels that sum over all records in one pass (profiled and weighted methods, moments) clip
//!   each record inside. The mechanism bounds only their whole sum. Tests against slow sums, record
//!   by record, and the audit check that each record is clipped.
//! * Whether a run failed, how long it took and how much memory it used depend on private data.
//! * `unsafe` code of other crates, a debugger, another program of the same user.
//!
//! What does not compile without these openings is in `halflight_privacy`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::mechanism::PoissonSample;
use super::query::{ClippedSum, Reach};
use super::release::{Direction, Gaussian, Laplace, Release, SampledSum, Selection};
use super::spender::Spender;
use crate::error::{Error, Result};
use crate::numeric::Matrix;

/// Data of people who did not agree to be seen.
pub struct Private<T>(Arc<T>);

impl<T> Private<T> {
    /// Wraps a value: from here on nobody sees it.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// Another handle on the same private data; nothing is copied.
    pub fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Transforms without looking: the result stays private. A `fn` pointer captures nothing,
    /// so it has no way to carry something out.
    pub fn transform<U>(&self, transform: fn(&T) -> U) -> Private<U> {
        Private::new(transform(&self.0))
    }

    /// Like [`Self::transform`] for transformations that can fail, with errors that reveal nothing
    /// about the data.
    pub fn try_transform<U>(
        &self,
        transform: fn(&T) -> std::result::Result<U, PrivateFault>,
    ) -> Result<Private<U>> {
        self.map_usable(transform)
    }
}

/// The way from the methods of [`OpenPrivate`] to the value. Only this file has a key:
///
/// ```compile_fail,E0308
/// use halflight_privacy_inside::openings::OpenPrivate;
///
/// fn look<P: OpenPrivate<u8>>(private: &P) -> u8 {
///     **private.inside(())
/// }
/// ```
mod inside {
    pub struct Key(pub(super) ());

    pub trait Inside<T> {
        fn inside(&self, key: Key) -> &std::sync::Arc<T>;
    }
}

const KEY: inside::Key = inside::Key(());

impl<T> inside::Inside<T> for Private<T> {
    fn inside(&self, _: inside::Key) -> &Arc<T> {
        &self.0
    }
}

/// Openings of [`Private`]: closures over private data, and releases.
pub trait OpenPrivate<T>: Sized + inside::Inside<T> {
    /// Several private values as one; nothing is seen and nothing is copied.
    fn together(all: &[Self]) -> Private<Vec<Arc<T>>> {
        Private::new(all.iter().map(|one| Arc::clone(one.inside(KEY))).collect())
    }

    /// Transforms without looking. `Fn + Sync`, so that a closure cannot easily carry something
    /// out: neither `FnMut` nor a captured cell is possible.
    fn map_unseen<U>(&self, transform: impl Fn(&T) -> U + Sync) -> Private<U> {
        Private::new(transform(self.inside(KEY)))
    }

    /// Like [`Self::map_unseen`] for transformations that can fail.
    fn map_usable<U>(
        &self,
        transform: impl Fn(&T) -> std::result::Result<U, PrivateFault> + Sync,
    ) -> Result<Private<U>> {
        Ok(Private::new(transform(self.inside(KEY))?))
    }

    /// Like [`Self::map_unseen`] for tables and exact rankings, whose errors name lines and columns.
    fn try_map<U>(&self, transform: impl Fn(&T) -> Result<U> + Sync) -> Result<Private<U>> {
        transform(self.inside(KEY)).map(Private::new)
    }

    /// Releases a vector with Gaussian noise. `release` was announced in the run's plan: scale and
    /// count come from there, so the draw matches the accounting. The spender writes to the ledger
    /// before any noise is drawn, and clips the query to `reach`.
    fn release_gaussian(
        &self,
        spender: &mut Spender,
        release: Release<Gaussian>,
        reach: &Reach,
        query: impl Fn(&T) -> Vec<f64>,
    ) -> Result<Released<Vec<f64>>> {
        spender.gaussian(release, reach, || query(self.inside(KEY))).map(Released::new)
    }

    /// Releases a sum over a Poisson sample of the records, newly drawn each time at the rate that
    /// the plan announced. `records` counts them; `query` adds the contributions of the sample's
    /// members to a sum that clips each. The sample is secret, like the data.
    fn release_sampled_sum(
        &self,
        spender: &mut Spender,
        release: Release<SampledSum>,
        records: impl Fn(&T) -> usize,
        query: impl Fn(&T, &PoissonSample, &mut ClippedSum),
    ) -> Result<Released<Vec<f64>>> {
        let value = self.inside(KEY);
        let add = |sample: &PoissonSample, sum: &mut ClippedSum| query(value, sample, sum);
        spender.sampled_sum(release, records(value), add).map(Released::new)
    }

    /// Releases a vector with Laplace noise, like [`Self::release_gaussian`] with Gaussian noise.
    fn release_laplace(
        &self,
        spender: &mut Spender,
        release: Release<Laplace>,
        reach: &Reach,
        query: impl Fn(&T) -> Vec<f64>,
    ) -> Result<Released<Vec<f64>>> {
        spender.laplace(release, reach, || query(self.inside(KEY))).map(Released::new)
    }

    /// Releases a vector along one direction u; a larger uᵀAu of the symmetric matrix A from
    /// `query` makes it likelier. Its length has no meaning.
    fn release_direction(
        &self,
        spender: &mut Spender,
        release: Release<Direction>,
        reach: &Reach,
        query: impl Fn(&T) -> Matrix,
    ) -> Result<Released<Vec<f64>>> {
        spender.direction(release, reach, || query(self.inside(KEY))).map(Released::new)
    }

    /// Releases one of the candidates; a larger score makes it likelier. The plan announced the
    /// mechanism: exponential, or a noisy maximum where a paper prints it. The scores themselves
    /// stay private.
    fn select(
        &self,
        spender: &mut Spender,
        release: Release<Selection>,
        reach: &Reach,
        scores: impl Fn(&T) -> Vec<f64>,
    ) -> Result<Released<usize>> {
        spender.select(release, reach, || scores(self.inside(KEY))).map(Released::new)
    }

    /// A planted fault: no other build has such an opening.
    #[cfg(feature = "planted-faults")]
    fn stolen<U: Default>(&self, look: impl Fn(&T) -> U) -> U {
        look(self.inside(KEY))
    }

    /// Nothing: only builds with planted faults have this opening.
    #[cfg(not(feature = "planted-faults"))]
    fn stolen<U: Default>(&self, _: impl Fn(&T) -> U) -> U {
        U::default()
    }

    /// Computes a number for the curator's eyes. Sealed watches compute nothing.
    fn curator<U>(&self, watch: &Watch, look: impl Fn(&T) -> U) -> Option<CuratorOnly<U>> {
        if watch.is_sealed() {
            return None;
        }
        watch.peeked.store(true, Ordering::Relaxed);
        Some(CuratorOnly(look(self.inside(KEY))))
    }
}

impl<T> OpenPrivate<T> for Private<T> {}

/// Why private data cannot be used: fixed words, never content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrivateFault {
    what: &'static str,
    cure: &'static str,
}

impl PrivateFault {
    /// A fault of the data as a whole.
    pub const fn new(what: &'static str, cure: &'static str) -> Self {
        Self { what, cure }
    }
}

impl From<PrivateFault> for Error {
    fn from(fault: PrivateFault) -> Self {
        Self::failed(fault.what).cure(fault.cure)
    }
}

/// A value that left the private data through an accounted mechanism, or was computed only from
/// such values and public data.
#[derive(Debug, Clone, PartialEq)]
pub struct Released<T>(T);

impl<T> Released<T> {
    /// Only mechanisms make released values.
    pub(crate) fn new(value: T) -> Self {
        Self(value)
    }

    /// The value.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// The value by itself.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// Post-processing of this value alone: a `fn` pointer captures nothing.
    pub fn transform<U>(self, transform: fn(T) -> U) -> Released<U> {
        Released(transform(self.0))
    }
}

/// Openings of [`Released`]: what counts as released without a draw of its own.
pub trait OpenReleased<T>: Sized {
    /// `made` was computed from public data alone: nothing had to be released for it.
    fn of_public(made: T) -> Self;

    /// Post-processing: costs nothing, because `transform` sees this value, earlier released
    /// ones and public data alone.
    fn map<U>(self, transform: impl FnOnce(T) -> U) -> Released<U>;

    /// `made` was computed from this value, earlier released ones and public data alone.
    fn and<U>(&self, made: U) -> Released<U>;
}

impl<T> OpenReleased<T> for Released<T> {
    fn of_public(made: T) -> Self {
        Self(made)
    }

    fn map<U>(self, transform: impl FnOnce(T) -> U) -> Released<U> {
        Released(transform(self.0))
    }

    #[allow(clippy::unused_self)] // the witness that something was released
    fn and<U>(&self, made: U) -> Released<U> {
        Released(made)
    }
}

/// An exact number about private data, for the curator. It has no `Serialize`
/// and no `Display`; [`Self::reveal`] needs an unsealed [`Watch`].
#[derive(Clone)]
pub struct CuratorOnly<T>(T);

impl<T> CuratorOnly<T> {
    /// The value, for the holder of an open watch.
    pub fn reveal(&self, watch: &Watch) -> Option<&T> {
        (!watch.is_sealed()).then_some(&self.0)
    }

    /// Computes from the exact number, for the curator as well. A `fn` pointer captures nothing.
    pub fn compute<U>(self, compute: fn(T) -> U) -> CuratorOnly<U> {
        CuratorOnly(compute(self.0))
    }

    /// Like [`Self::compute`], with something that is not exact.
    pub fn compute_with<A: Copy + 'static, U>(
        self,
        given: A,
        compute: fn(T, A) -> U,
    ) -> CuratorOnly<U> {
        CuratorOnly(compute(self.0, given))
    }

    /// Two exact numbers as one.
    pub fn zip<U>(self, other: CuratorOnly<U>) -> CuratorOnly<(T, U)> {
        CuratorOnly((self.0, other.0))
    }
}

/// Openings of [`CuratorOnly`]: exact numbers made from exact numbers.
pub trait OpenCuratorOnly<T>: Sized {
    /// Computes from the exact number, for the curator as well.
    fn map<U>(self, transform: impl FnOnce(T) -> U) -> CuratorOnly<U>;
}

impl<T> OpenCuratorOnly<T> for CuratorOnly<T> {
    fn map<U>(self, transform: impl FnOnce(T) -> U) -> CuratorOnly<U> {
        CuratorOnly(transform(self.0))
    }
}

/// The opening of an exact number that may be missing.
pub trait OpenMissing<T>: Sized {
    /// Turns a missing exact number into none.
    fn transpose(self) -> Option<CuratorOnly<T>>;
}

impl<T> OpenMissing<T> for CuratorOnly<Option<T>> {
    fn transpose(self) -> Option<CuratorOnly<T>> {
        self.0.map(CuratorOnly)
    }
}

impl<T> std::fmt::Debug for CuratorOnly<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CuratorOnly(◆)")
    }
}

/// Whether somebody may be looking at exact numbers, and whether they have been. Only insiders
/// make an open watch ([`OpenWatch::open`]).
#[derive(Debug, Clone)]
pub struct Watch {
    sealed: Arc<AtomicBool>,
    peeked: Arc<AtomicBool>,
}

impl Watch {
    /// No exact number is computed or shown.
    pub fn sealed() -> Self {
        Self { sealed: Arc::new(AtomicBool::new(true)), peeked: Arc::default() }
    }

    /// A watch for one run: it is sealed and unsealed together with this one, but remembers only
    /// its own run's peeks.
    #[must_use]
    pub fn for_run(&self) -> Self {
        Self { sealed: Arc::clone(&self.sealed), peeked: Arc::default() }
    }

    /// Whether nobody may look.
    pub fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Relaxed)
    }

    /// True once any exact number was computed under this watch. The ledger records this, because
    /// someone who saw it may have acted on it.
    pub fn has_peeked(&self) -> bool {
        self.peeked.load(Ordering::Relaxed)
    }
}

/// Openings of [`Watch`]: who may look.
pub trait OpenWatch: Sized {
    /// Exact numbers are computed and may be shown.
    fn open() -> Self;

    /// Seals the watch, or unseals it.
    fn seal(&self, sealed: bool);
}

impl OpenWatch for Watch {
    fn open() -> Self {
        Self { sealed: Arc::default(), peeked: Arc::default() }
    }

    fn seal(&self, sealed: bool) {
        self.sealed.store(sealed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use static_assertions::assert_not_impl_any;

    use super::*;

    assert_not_impl_any!(
        Private<Vec<f64>>: std::fmt::Debug, std::fmt::Display, serde::Serialize, PartialEq,
            PartialOrd, std::hash::Hash, std::ops::Deref, AsRef<Vec<f64>>, Into<Vec<f64>>,
            std::borrow::Borrow<Vec<f64>>, IntoIterator, Clone
    );
    assert_not_impl_any!(
        CuratorOnly<f64>: std::fmt::Display, serde::Serialize, PartialEq, PartialOrd,
            std::ops::Deref, AsRef<f64>, Into<f64>
    );
    assert_not_impl_any!(Watch: Default);

    #[test]
    fn a_sealed_watch_computes_nothing_and_shows_nothing() {
        let watch = Watch::open();
        let data = Private::new(vec![1.0, 2.0]);
        let total = data.curator(&watch, |v| v.iter().sum::<f64>()).unwrap();
        assert_eq!(total.reveal(&watch), Some(&3.0));
        watch.seal(true);
        assert_eq!(total.reveal(&watch), None);
        assert!(data.curator(&watch, Vec::len).is_none());
        assert!(watch.has_peeked());
        assert!(!Watch::sealed().has_peeked());
    }

    #[test]
    fn debug_of_a_curator_only_number_hides_it() {
        let shown = format!("{:?}", CuratorOnly(0.123_456));
        assert!(!shown.contains("0.12"), "{shown}");
    }

    #[test]
    fn a_fault_says_fixed_words_and_nothing_of_what() {
        let fault = PrivateFault::new("a label is missing", "fill it in");
        let data = Private::new(vec![61.5]);
        let error = data.map_usable(|_| Err::<(), _>(fault)).err().unwrap();
        assert_eq!((error.what(), error.place()), ("a label is missing", None));
        assert!(!error.to_string().contains("61"), "{error}");
    }
}
