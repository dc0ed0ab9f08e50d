//! The standing of a number, fixed in the type system.
//!
//! * [`Private`] values can be transformed but not seen. The type has no
//!   `Debug`, `Display`, `Serialize`, `PartialEq`, `Deref` or getter.
//! * [`Released`] values left the private data through an accounted mechanism.
//! * [`CuratorOnly`] values were computed without noise and are for the eyes of
//!   the person at the keyboard, while the view is not sealed.
//!
//! Printing private data does not compile:
//!
//! ```compile_fail,E0277
//! let ages = halflight::privacy::Private::new(vec![61.0, 47.0]);
//! println!("{:?}", ages);
//! ```
//!
//! neither does serialising them,
//!
//! ```compile_fail,E0277
//! let ages = halflight::privacy::Private::new(vec![61.0, 47.0]);
//! serde_json::to_string(&ages);
//! ```
//!
//! comparing them,
//!
//! ```compile_fail,E0369
//! let ages = halflight::privacy::Private::new(vec![61.0, 47.0]);
//! let same = ages == ages;
//! ```
//!
//! or making a released number up:
//!
//! ```compile_fail,E0624
//! let fake = halflight::privacy::Released::new(61.0);
//! ```
//!
//! while transforming them does:
//!
//! ```
//! let ages = halflight::privacy::Private::new(vec![61.0, 47.0]);
//! let decades = ages.map(|ages| ages.iter().map(|age| age / 10.0).collect::<Vec<f64>>());
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::mechanism::PoissonSample;
use super::spender::Spender;
use crate::error::Result;
use crate::numeric::Matrix;

/// Data of people who did not agree to be seen.
pub struct Private<T>(Arc<T>);

impl<T> Private<T> {
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// A further handle on the same private data; nothing is copied.
    pub fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Transforms without looking: the result stays private. `Fn`, not `FnMut`,
    /// so that a closure cannot casually carry something out.
    pub fn map<U>(&self, transform: impl Fn(&T) -> U) -> Private<U> {
        Private::new(transform(&self.0))
    }

    /// Like [`Self::map`] for transformations that can fail. The error is the
    /// curator's to see: it may name a row of the file, so it must never be
    /// written to an export.
    pub fn try_map<U>(&self, transform: impl Fn(&T) -> Result<U>) -> Result<Private<U>> {
        transform(&self.0).map(Private::new)
    }

    /// Like [`Self::try_map`] for a transformation that takes the value over: what nobody
    /// else holds is not copied.
    pub fn try_into_map<U>(self, transform: impl Fn(T) -> Result<U>) -> Result<Private<U>>
    where
        T: Clone,
    {
        transform(Arc::unwrap_or_clone(self.0)).map(Private::new)
    }

    /// Releases a vector with Gaussian noise. `release` names one of the
    /// releases that the run's plan announced: sensitivity, scale and count
    /// come from there, so what is drawn is what was accounted for. The spender
    /// writes the ledger before any noise is drawn.
    pub fn release_gaussian(
        &self,
        spender: &mut Spender,
        release: &str,
        query: impl Fn(&T) -> Vec<f64>,
    ) -> Result<Released<Vec<f64>>> {
        spender.gaussian(release, || query(&self.0)).map(Released::new)
    }

    /// The same on a Poisson sample of the records, drawn here and anew each time, at the rate
    /// that the plan announced. `records` counts them; `query` sums the contributions of the
    /// sample's members, each clipped to the planned sensitivity. The sample is secret, like
    /// the data.
    pub fn release_subsampled_gaussian(
        &self,
        spender: &mut Spender,
        release: &str,
        records: impl Fn(&T) -> usize,
        query: impl Fn(&T, &PoissonSample) -> Vec<f64>,
    ) -> Result<Released<Vec<f64>>> {
        let records = records(&self.0);
        spender
            .subsampled_gaussian(release, records, |sample| query(&self.0, sample))
            .map(Released::new)
    }

    /// Releases a vector with Laplace noise, as [`Self::release_gaussian`] does with Gaussian.
    pub fn release_laplace(
        &self,
        spender: &mut Spender,
        release: &str,
        query: impl Fn(&T) -> Vec<f64>,
    ) -> Result<Released<Vec<f64>>> {
        spender.laplace(release, || query(&self.0)).map(Released::new)
    }

    /// Releases a vector along one direction u, the larger uᵀAu of the symmetric matrix A that
    /// `query` makes the likelier. Its length says nothing.
    pub fn release_direction(
        &self,
        spender: &mut Spender,
        release: &str,
        query: impl Fn(&T) -> Matrix,
    ) -> Result<Released<Vec<f64>>> {
        spender.direction(release, || query(&self.0)).map(Released::new)
    }

    /// Releases one of the candidates, the larger its score the likelier, by the
    /// mechanism that the plan announced: exponential, or a noisy maximum where a
    /// paper prints it. The scores themselves stay private.
    pub fn select(
        &self,
        spender: &mut Spender,
        release: &str,
        scores: impl Fn(&T) -> Vec<f64>,
    ) -> Result<Released<usize>> {
        spender.select(release, || scores(&self.0)).map(Released::new)
    }

    /// Computes a number for the curator's eyes. Sealed watches compute nothing.
    pub fn curator<U>(&self, watch: &Watch, look: impl Fn(&T) -> U) -> Option<CuratorOnly<U>> {
        if watch.is_sealed() {
            return None;
        }
        watch.peeked.store(true, Ordering::Relaxed);
        Some(CuratorOnly(look(&self.0)))
    }
}

/// A value that left the private data through an accounted mechanism, or was
/// computed from such values (and public data) alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Released<T>(T);

impl<T> Released<T> {
    /// Only mechanisms make released values.
    pub(in crate::privacy) fn new(value: T) -> Self {
        Self(value)
    }

    pub fn get(&self) -> &T {
        &self.0
    }

    pub fn into_inner(self) -> T {
        self.0
    }

    /// Post-processing: costs nothing, because `transform` sees no private data.
    pub fn map<U>(self, transform: impl FnOnce(T) -> U) -> Released<U> {
        Released(transform(self.0))
    }
}

/// An exact number about private data, for the curator. It has no `Serialize`
/// and no `Display`; [`Self::reveal`] needs an unsealed [`Watch`].
#[derive(Clone)]
pub struct CuratorOnly<T>(T);

impl<T> CuratorOnly<T> {
    pub fn reveal(&self, watch: &Watch) -> Option<&T> {
        (!watch.is_sealed()).then_some(&self.0)
    }

    pub fn map<U>(self, transform: impl FnOnce(T) -> U) -> CuratorOnly<U> {
        CuratorOnly(transform(self.0))
    }

    /// Two exact numbers as one.
    pub fn zip<U>(self, other: CuratorOnly<U>) -> CuratorOnly<(T, U)> {
        CuratorOnly((self.0, other.0))
    }
}

impl<T> CuratorOnly<Option<T>> {
    /// A missing exact number is as good as none.
    pub fn transpose(self) -> Option<CuratorOnly<T>> {
        self.0.map(CuratorOnly)
    }
}

impl<T> std::fmt::Debug for CuratorOnly<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CuratorOnly(◆)")
    }
}

/// Whether somebody may be looking at exact numbers, and whether they have been.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    sealed: Arc<AtomicBool>,
    peeked: Arc<AtomicBool>,
}

impl Watch {
    /// Exact numbers are computed and may be shown.
    pub fn open() -> Self {
        Self::default()
    }

    /// No exact number is computed or shown.
    pub fn sealed() -> Self {
        let watch = Self::default();
        watch.seal(true);
        watch
    }

    /// A watch of its own for one run: sealed and unsealed together with this
    /// one, but remembering only its own run's peeks.
    pub fn for_run(&self) -> Self {
        Self { sealed: Arc::clone(&self.sealed), peeked: Arc::default() }
    }

    pub fn seal(&self, sealed: bool) {
        self.sealed.store(sealed, Ordering::Relaxed);
    }

    pub fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Relaxed)
    }

    /// True once any exact number was computed under this watch: the ledger
    /// records it, because whoever saw it may have acted on it.
    pub fn has_peeked(&self) -> bool {
        self.peeked.load(Ordering::Relaxed)
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
}
