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
//!
//! With [`OneNoise`] each site adds a share of the noise to nᵢvᵢ, as whole numbers, and [hides](Share) it
//! under masks that cancel in the sum of all sites. Only that sum can be read. It has the noise that
//! each site was charged for even without the shares of t sites.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use rand::rngs::ChaCha20Rng;
use rand::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::accountant::{Event, Noise};
use super::mechanism::{DiscreteGaussian, NoiseGenerator, NoiseShare};
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

    /// Whether all sites add one noise together.
    fn has_one_noise(&self) -> bool {
        false
    }

    /// What this site adds to its value of the next release, if all sites add one noise together.
    fn share(&mut self, label: &str) -> Result<Share> {
        Err(Error::failed(format!("the noise of '{label}' is not shared")))
    }

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
        square += (weight * site.scale(label)?).powi(2);
    }
    Ok(square.sqrt())
}

/// What a site adds to its value of a release: a share of the noise, and masks that cancel in the sum of
/// all sites.
#[derive(Debug)]
pub struct Share {
    noise: NoiseShare,
    masks: Vec<Mask>,
}

/// A stream that two sites know, for one release: one of them adds it, the other one subtracts it.
#[derive(Clone)]
pub struct Mask {
    /// The key of the stream.
    pub key: [u8; 32],
    /// Whether this site adds it.
    pub adds: bool,
}

/// Sums are counted modulo 2¹⁰⁶: a number travels as two whole numbers below 2⁵³, each exactly a double.
const HALF: u32 = 53;
const LOW: u128 = (1 << HALF) - 1;
const MODULUS: u128 = 1 << (2 * HALF);
/// More sites are refused: their sum might be larger than the modulus.
const MOST_SITES: usize = 1000;

impl Share {
    /// A share of a site that knows a mask with each other one.
    pub fn new(noise: NoiseShare, masks: Vec<Mask>) -> Self {
        Self { noise, masks }
    }

    /// The numbers that travel: weighted, rounded, with this share of the noise, and hidden.
    pub fn seal(&self, generator: &mut NoiseGenerator, exact: &[f64]) -> Result<Vec<f64>> {
        let noisy = self.noise.perturb(generator, exact)?;
        let mut hidden: Vec<u128> = noisy.into_iter().map(|number| number as u128).collect();
        for mask in &self.masks {
            let mut stream = ChaCha20Rng::from_seed(mask.key);
            for number in &mut hidden {
                let word = u128::from(stream.next_u64()) << 64 | u128::from(stream.next_u64());
                let added = if mask.adds { word } else { word.wrapping_neg() };
                *number = number.wrapping_add(added);
            }
        }
        Ok(hidden.iter().flat_map(|it| [(it & LOW) as f64, (it >> HALF & LOW) as f64]).collect())
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mask").field("adds", &self.adds).finish_non_exhaustive()
    }
}

/// One noise for all sites: how large each share is, and what the sum of all means.
///
/// Site i was charged for noise of scale σᵢ on a mean over nᵢ records, which is nᵢσᵢ on its sum. Each of S
/// sites adds a share of max nᵢσᵢ/√(S − t). The S − t sites that tell nobody their share then hide every
/// site's sum by as much as it was charged for.
#[derive(Debug, Clone)]
pub struct OneNoise {
    sites: Vec<Site>,
    may_collude: usize,
}

impl OneNoise {
    /// The noise of these sites, of which so many may put together what they know. Refused if
    /// nothing would be gained, or if a share cannot be drawn.
    pub fn new(sites: &[Site], may_collude: usize) -> Result<Self> {
        check_colluding(sites.len(), may_collude)?;
        let all = Self { sites: sites.to_vec(), may_collude };
        for label in sites.iter().flat_map(|site| site.scales.keys()) {
            all.noise(label, &sites[0])?;
        }
        Ok(all)
    }

    /// The share of a site in the noise of a release.
    pub fn noise(&self, label: &str, own: &Site) -> Result<NoiseShare> {
        let scale = |site: &Site| Ok((site.records as u64, site.scale(label)?));
        let scales: Vec<(u64, f64)> = self.sites.iter().map(scale).collect::<Result<_>>()?;
        let exponent = NoiseShare::common_grid(scales.iter().copied())?;
        let charged = scales.iter().map(|(records, sigma)| *records as f64 * sigma);
        // Rounded up, so that the root of the squares is not less.
        let charged = charged.fold(0.0, f64::max) * (1.0 + 8.0 * f64::EPSILON);
        let adding = (self.sites.len() - self.may_collude) as f64;
        NoiseShare::at_least(charged / adding.sqrt(), exponent, own.records as u64)
    }

    /// The scale of the noise of one share in each release, in units of the sum.
    pub fn shares(&self) -> Result<BTreeMap<String, f64>> {
        let labels = self.sites.first().into_iter().flat_map(|site| site.scales.keys());
        let share =
            |label: &String| Ok((label.clone(), self.noise(label, &self.sites[0])?.sigma()));
        labels.map(share).collect()
    }

    /// What a site drew if only its own share of the noise is unknown: these events with less noise.
    pub fn alone(&self, site: &Site, events: &[Event]) -> Result<Vec<Event>> {
        let alone = |event: &Event| {
            let mut event = event.clone();
            if site.scales.contains_key(&event.label) {
                let share = self.noise(&event.label, site)?.sigma();
                // Rounded down by more than a grid rounds it up.
                let sigma = share / site.records as f64 * (1.0 - 2.0_f64.powi(-27));
                let noise = DiscreteGaussian::at_least(sigma)?;
                event.mechanism.noise = Noise { scale: noise.sigma(), grid: noise.grid() };
            }
            Ok(event)
        };
        events.iter().map(alone).collect()
    }

    /// What all sites drew of somebody who has records at each of them, given the events of each: one noise
    /// hides the sum of all that this person's records move.
    pub fn together(&self, events: &[&[Event]]) -> Result<Vec<Event>> {
        let mut all = Vec::new();
        for (at, (site, own)) in self.sites.iter().zip(events).enumerate() {
            for event in *own {
                // Somebody may be held out at one site and train at another one.
                let mut event = Event { held_out: false, ..event.clone() };
                if !site.scales.contains_key(&event.label) {
                    event.label = format!("{}: {}", site.name, event.label);
                    all.push(event);
                } else if at == 0 {
                    let same = self.sites.iter().zip(events).map(|(site, own)| {
                        let found = own.iter().find(|it| it.label == event.label)?;
                        let sensitivity = found.mechanism.query.sensitivity;
                        (found.count == event.count).then_some(site.records as f64 * sensitivity)
                    });
                    let moved: Option<f64> = same.sum();
                    let moved = moved.ok_or_else(|| {
                        Error::refused(format!(
                            "the sites do not release '{}' equally often",
                            event.label
                        ))
                    })?;
                    let adding = (self.sites.len() - self.may_collude) as f64;
                    let sigma = self.noise(&event.label, site)?.sigma() * adding.sqrt();
                    let noise = DiscreteGaussian::at_least(sigma * (1.0 - 2.0_f64.powi(-27)))?;
                    event.mechanism.query.sensitivity = moved * (1.0 + 1000.0 * f64::EPSILON);
                    event.mechanism.noise = Noise { scale: noise.sigma(), grid: noise.grid() };
                    all.push(event);
                }
            }
        }
        Ok(all)
    }

    /// The scale of the noise in the joint value of a release.
    pub fn scale(&self, label: &str) -> Result<f64> {
        let share = self.noise(label, &self.sites[0])?.sigma();
        Ok(share * (self.sites.len() as f64).sqrt() / self.records())
    }

    /// The mean over all records, from what all sites [sealed](Share::seal).
    pub fn joint_value(&self, label: &str, values: &[Vec<f64>]) -> Result<Vec<f64>> {
        let mut sum = vec![0_u128; values.first().map_or(0, Vec::len) / 2];
        for (site, own) in self.sites.iter().zip(values) {
            let (halves, rest) = own.as_chunks::<2>();
            let is_half = |half: &f64| half.fract() == 0.0 && (0.0..=LOW as f64).contains(half);
            if halves.len() != sum.len() || !rest.is_empty() || !own.iter().all(is_half) {
                return Err(Error::failed(format!(
                    "a message of site '{}' is refused: it holds no hidden numbers",
                    site.name
                )));
            }
            for (sum, [low, high]) in sum.iter_mut().zip(halves) {
                *sum = sum.wrapping_add(*low as u128 + ((*high as u128) << HALF));
            }
        }
        if values.len() != self.sites.len() {
            return Err(Error::failed("the noise of all is not whole without each site"));
        }
        let grid = self.noise(label, &self.sites[0])?.grid();
        let mean = |sum: u128| {
            let sum = sum % MODULUS;
            let signed = sum as i128 - if sum < MODULUS / 2 { 0 } else { MODULUS as i128 };
            signed as f64 * grid / self.records()
        };
        Ok(sum.into_iter().map(mean).collect())
    }

    fn records(&self) -> f64 {
        self.sites.iter().map(|site| site.records).sum::<usize>() as f64
    }
}

/// Refuses numbers of sites with which one noise would not be less than each site's own.
pub fn check_colluding(sites: usize, may_collude: usize) -> Result<()> {
    if may_collude >= 1 && sites.saturating_sub(may_collude) >= 2 && sites <= MOST_SITES {
        return Ok(());
    }
    Err(Error::usage(format!(
        "of {sites} sites {may_collude} cannot be allowed to put together what they know"
    ))
    .cure(format!(
        "take 3 to {MOST_SITES} sites, and a number from 1 (each site knows its own share of the noise) \
         to two less than there are sites"
    )))
}

impl Site {
    fn scale(&self, label: &str) -> Result<f64> {
        self.scales.get(label).copied().ok_or_else(|| {
            Error::failed(format!("site '{}' does not plan the release '{label}'", self.name))
        })
    }
}

fn weights(sites: &[&Site]) -> impl Iterator<Item = f64> {
    let all: usize = sites.iter().map(|site| site.records).sum();
    sites.iter().map(move |site| site.records as f64 / all as f64)
}

/// The exchange between sites of one process: each takes its steps in a thread of its own.
struct Seat {
    sites: Vec<Site>,
    one_noise: Option<OneNoise>,
    own: usize,
    releases: u64,
    to: Vec<Sender<Vec<f64>>>,
    from: Vec<Receiver<Vec<f64>>>,
}

/// An exchange for each of these sites, within this process: for public data that play the private
/// role of several sites. If one is dropped, the others end. With one noise for all its masks are known.
pub fn meeting(sites: &[Site], one_noise: Option<&OneNoise>) -> Vec<Box<dyn Exchange>> {
    let seat = |own| Seat {
        sites: sites.to_vec(),
        one_noise: one_noise.cloned(),
        own,
        releases: 0,
        to: Vec::new(),
        from: Vec::new(),
    };
    let mut seats: Vec<Seat> = (0..sites.len()).map(seat).collect();
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
        match &self.one_noise {
            Some(all) => all.scale(label),
            None => joint_scale(&self.sites.iter().collect::<Vec<_>>(), label),
        }
    }

    fn has_one_noise(&self) -> bool {
        self.one_noise.is_some()
    }

    fn share(&mut self, label: &str) -> Result<Share> {
        let all = self.one_noise.as_ref();
        let all = all.ok_or_else(|| Error::failed("each site adds its own noise"))?;
        let others = (0..self.sites.len()).filter(|other| *other != self.own);
        let mask = |other: usize| {
            let pair = [self.own.min(other), self.own.max(other)];
            let known = format!("{pair:?} {label} {}", self.releases);
            Mask { key: Sha256::digest(known).into(), adds: self.own < other }
        };
        Ok(Share::new(all.noise(label, &self.sites[self.own])?, others.map(mask).collect()))
    }

    fn join(&mut self, label: &str, own: &[f64]) -> Result<Vec<f64>> {
        self.releases += 1;
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
        match &self.one_noise {
            Some(all) => all.joint_value(label, &values),
            None => Ok(joint_value(&self.sites.iter().collect::<Vec<_>>(), &values)),
        }
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
        let seats = meeting(&sites, None);
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

    fn three() -> [Site; 3] {
        [site("A", 300, 0.2), site("B", 100, 0.6), site("C", 100, 0.6)]
    }

    /// What the sites get from one release, and what travels.
    fn released(value: f64, count: usize, seed: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
        let all = OneNoise::new(&three(), 1).unwrap();
        let mut seats = meeting(&three(), Some(&all));
        let sealed: Vec<Vec<f64>> = (0..)
            .zip(&mut seats)
            .map(|(site, seat)| {
                let mut generator = NoiseGenerator::insecure_from_seed(seed + site);
                seat.share("mean").unwrap().seal(&mut generator, &vec![value; count]).unwrap()
            })
            .collect();
        let joint = all.joint_value("mean", &sealed).unwrap();
        (sealed, joint)
    }

    #[test]
    fn masks_cancel_to_the_last_bit_and_the_mean_has_the_noise_of_all_shares() {
        let all = OneNoise::new(&three(), 1).unwrap();
        let count = 50_000;
        let (sealed, joint) = released(-0.75, count, 1);
        // The same noise, without masks.
        let bare = three().map(|site| Share::new(all.noise("mean", &site).unwrap(), Vec::new()));
        let unhidden: Vec<Vec<f64>> = (1..)
            .zip(&bare)
            .map(|(seed, share)| {
                let mut generator = NoiseGenerator::insecure_from_seed(seed);
                share.seal(&mut generator, &vec![-0.75; count]).unwrap()
            })
            .collect();
        assert_eq!(all.joint_value("mean", &unhidden).unwrap(), joint);
        assert!(sealed.iter().zip(&unhidden).all(|(one, other)| one != other));
        let squares = joint.iter().map(|it| (it + 0.75).powi(2)).sum::<f64>();
        let (spread, scale) = ((squares / count as f64).sqrt(), all.scale("mean").unwrap());
        assert!((spread / scale - 1.0).abs() < 5.0 / (2.0 * count as f64).sqrt(), "{spread}");
        // √(S − t) less than where each site adds its own.
        let own = joint_scale(&three().iter().collect::<Vec<_>>(), "mean").unwrap();
        assert!((own / scale - 2.0_f64.sqrt()).abs() < 1e-6, "{own} {scale}");
        // All but one share are as much as each site is charged for.
        let share = all.shares().unwrap()["mean"];
        assert!(
            three()
                .iter()
                .all(|it| { 2.0_f64.sqrt() * share >= it.records as f64 * it.scales["mean"] })
        );
    }

    #[test]
    fn the_sum_of_what_is_hidden_is_the_mean_over_all_records() {
        let sites = three().map(|site| Site {
            scales: [("mean".to_owned(), 1e-9 / site.records as f64)].into(),
            ..site
        });
        let all = OneNoise::new(&sites, 1).unwrap();
        let seats = meeting(&sites, Some(&all)).into_iter();
        let sealed = seats.zip([[1.0, 1e5], [5.0, 0.0], [-2.0, 0.0]]).map(|(mut seat, own)| {
            let mut generator = NoiseGenerator::insecure_from_seed(1);
            seat.share("mean").unwrap().seal(&mut generator, &own).unwrap()
        });
        let joint = all.joint_value("mean", &sealed.collect::<Vec<_>>()).unwrap();
        assert!((joint[0] - 1.2).abs() < 1e-9 && (joint[1] - 6e4).abs() < 1e-9, "{joint:?}");
    }

    #[test]
    fn what_one_site_sends_looks_the_same_whatever_its_value_is() {
        for value in [0.0, 1e6] {
            let (sealed, _) = released(value, 20_000, 7);
            for at in 0..2 {
                let halves = sealed[0].iter().skip(at).step_by(2);
                let sixteenth = halves.map(|it| (*it as u64) >> (HALF - 4));
                let mut seen = [0_u32; 16];
                sixteenth.for_each(|it| seen[it as usize] += 1);
                // A χ² of 15 degrees of freedom is above 60 once in three million.
                let square = |it: &u32| (f64::from(*it) - 1250.0).powi(2) / 1250.0;
                let chi: f64 = seen.iter().map(square).sum();
                assert!(chi < 60.0, "{value} {at}: {chi}");
            }
        }
    }

    #[test]
    fn a_sum_without_a_site_or_of_other_numbers_is_refused_and_so_is_noise_that_is_not_less() {
        let all = OneNoise::new(&three(), 1).unwrap();
        let (sealed, _) = released(1.0, 2, 3);
        assert!(all.joint_value("mean", &sealed[..2]).is_err());
        for wrong in [0.5, -1.0, 2.0_f64.powi(53)] {
            let mut changed = sealed.clone();
            changed[1][2] = wrong;
            let error = all.joint_value("mean", &changed).unwrap_err();
            assert!(error.what().contains("site 'B'"), "{error}");
        }
        for (sites, may_collude) in [(3, 0), (3, 2), (2, 1), (1001, 1)] {
            assert!(check_colluding(sites, may_collude).is_err(), "{sites} {may_collude}");
        }
        check_colluding(10, 8).unwrap();
    }
}
