//! Several sites, one model: what happens between a release and the method that asked for it.
//!
//! Every site runs the same plan on private records of its own. A release is charged to the site's
//! ledger, gets the site's noise and is kept, as in any run. Then an [`Exchange`] takes it to the
//! other sites and returns the joint value, with which all of them go on. So what travels has been
//! released before it leaves.
//!
//! Site i of k releases vᵢ, a mean over its nᵢ records with noise of scale σᵢ. The joint value is
//! Σ wᵢvᵢ with wᵢ = nᵢ/Σn: the mean over the records of all sites, with noise of scale √Σ(wᵢσᵢ)².
//! Every site computes it in the same order, so that all get the same bits.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// One of the sites of a joint run, as all of them know it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// The name under which the others know it.
    pub name: String,
    /// The number of its training records or persons, which its plan takes as public.
    pub records: usize,
    /// The scale of its noise in each joint release, by label.
    pub scales: BTreeMap<String, f64>,
}

/// Takes releases to the other sites and returns what all of them released together.
pub trait Exchange: Send {
    /// Whether releases with this label are joint ones.
    fn joins(&self, label: &str) -> bool;

    /// Waits until every site is ready to draw. Called before each joint release is drawn.
    fn begin(&mut self) -> Result<()>;

    /// The scale of the noise in the joint value of a release.
    fn scale(&self, label: &str) -> Result<f64>;

    /// The joint value of the next release, of which this site released `own`. An error that is
    /// *refused* says that the sites do not go on together; after any other one the run can be
    /// resumed.
    fn join(&mut self, label: &str, own: &[f64]) -> Result<Vec<f64>>;

    /// Says to the other sites that this one draws no more.
    fn end(&mut self) -> Result<()>;
}

/// The weighted mean of what these sites released.
pub fn joint_value(sites: &[&Site], values: &[Vec<f64>]) -> Vec<f64> {
    let mut sum = vec![0.0; values.first().map_or(0, Vec::len)];
    for (weight, own) in weights(sites).zip(values) {
        for (sum, own) in sum.iter_mut().zip(own) {
            *sum += weight * own;
        }
    }
    sum
}

/// The scale of the noise in the weighted mean of a release at these sites.
pub fn joint_scale(sites: &[&Site], label: &str) -> Result<f64> {
    let mut square = 0.0;
    for (weight, site) in weights(sites).zip(sites) {
        let scale = site.scales.get(label).ok_or_else(|| {
            Error::failed(format!("site '{}' does not plan the release '{label}'", site.name))
        })?;
        square += (weight * scale).powi(2);
    }
    Ok(square.sqrt())
}

fn weights(sites: &[&Site]) -> impl Iterator<Item = f64> {
    let all: usize = sites.iter().map(|site| site.records).sum();
    sites.iter().map(move |site| site.records as f64 / all as f64)
}

/// The exchange between sites of one process: each takes its steps in a thread of its own.
struct Seat {
    sites: Vec<Site>,
    own: usize,
    to: Vec<Sender<Vec<f64>>>,
    from: Vec<Receiver<Vec<f64>>>,
}

/// An exchange for each of these sites, within this process: for public data that play the private
/// role of several sites. If one is dropped, the others end.
pub fn meeting(sites: &[Site]) -> Vec<Box<dyn Exchange>> {
    let mut seats: Vec<Seat> = (0..sites.len())
        .map(|own| Seat { sites: sites.to_vec(), own, to: Vec::new(), from: Vec::new() })
        .collect();
    for from in 0..sites.len() {
        for to in 0..sites.len() {
            let (sender, receiver) = channel();
            seats[from].to.push(sender);
            seats[to].from.push(receiver);
        }
    }
    seats.into_iter().map(|seat| Box::new(seat) as Box<dyn Exchange>).collect()
}

impl Exchange for Seat {
    fn joins(&self, label: &str) -> bool {
        self.sites[self.own].scales.contains_key(label)
    }

    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    fn scale(&self, label: &str) -> Result<f64> {
        joint_scale(&self.sites.iter().collect::<Vec<_>>(), label)
    }

    fn join(&mut self, _: &str, own: &[f64]) -> Result<Vec<f64>> {
        let gone = || Error::refused("another site of this process has ended");
        for to in &self.to {
            to.send(own.to_vec()).map_err(|_| gone())?;
        }
        let values: Result<Vec<_>> =
            self.from.iter().map(|from| from.recv().map_err(|_| gone())).collect();
        let values = values?;
        if values.iter().any(|value| value.len() != own.len()) {
            return Err(Error::failed("the sites of this process release different numbers"));
        }
        Ok(joint_value(&self.sites.iter().collect::<Vec<_>>(), &values))
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(name: &str, records: usize, scale: f64) -> Site {
        Site { name: name.to_owned(), records, scales: [("mean".to_owned(), scale)].into() }
    }

    #[test]
    fn the_joint_value_is_the_mean_over_all_records_and_its_noise_the_root_of_the_weighted_squares()
    {
        let (a, b) = (site("A", 300, 0.2), site("B", 100, 0.6));
        let values = vec![vec![1.0, 2.0], vec![5.0, -2.0]];
        assert_eq!(joint_value(&[&a, &b], &values), [2.0, 1.0]);
        let scale = joint_scale(&[&a, &b], "mean").unwrap();
        assert!((scale - (0.15_f64.powi(2) + 0.15_f64.powi(2)).sqrt()).abs() < 1e-15);
        assert_eq!(joint_scale(&[&b], "mean").unwrap(), 0.6);
        assert!(joint_scale(&[&a, &b], "other").unwrap_err().what().contains("'A'"));
    }

    #[test]
    fn sites_of_one_process_get_the_same_value_and_end_with_the_first_that_is_gone() {
        let sites = [site("A", 300, 0.2), site("B", 100, 0.6), site("C", 100, 0.6)];
        let seats = meeting(&sites);
        assert!(seats[0].joins("mean") && !seats[0].joins("other"));
        let joined: Vec<Result<Vec<f64>>> = std::thread::scope(|scope| {
            let take = |(number, mut seat): (usize, Box<dyn Exchange>)| {
                scope.spawn(move || {
                    let first = seat.join("mean", &[number as f64])?;
                    assert!((first[0] - 0.6).abs() < 1e-12);
                    if number == 2 { Ok(first) } else { seat.join("mean", &[1.0]) }
                })
            };
            let threads: Vec<_> = seats.into_iter().enumerate().map(take).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(joined[0].is_err() && joined[1].is_err() && joined[2].is_ok(), "{joined:?}");
    }
}
