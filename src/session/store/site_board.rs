//! The sites of a joint run: how far each came, for whom it waits, and what its releases cost it.
//!
//! All of it follows from the signed messages in the exchange folder and from the joint certificate. Of a
//! site whose program died, nothing but its silence is known.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub use halflight_exchange::SiteState;
use halflight_exchange::{BoardReader, Pinned, SiteProgress};
use serde::Deserialize;
use serde_json::{Value, json};

use super::resumption::{JOINT, SITES};
use crate::error::Result;
use crate::files::words::harmless;
use crate::privacy::accountant::{Composition, round_up};
use crate::privacy::{Event, Guarantee};

/// Longer names and reasons are cut.
const LONGEST: usize = 200;

/// A site that waits for less than this is not said to wait.
const STUCK: Duration = Duration::from_secs(2);

/// One site of a joint run that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteLine {
    pub name: String,
    /// Whether the run is that of this site.
    pub is_own: bool,
    pub state: SiteState,
    /// The number of its releases, and of those planned; 0 before that is known.
    pub releases: u64,
    pub of: u64,
    /// The last release that counts it, if the others went on without it.
    pub left_after: Option<u64>,
    /// The ε of its releases so far for its own records, and the ε that it has reserved.
    pub epsilon: Option<(f64, f64)>,
    /// The sites whose next message it waits for.
    pub waits_for: Vec<String>,
    /// When its last message was written, by the clock of the disk.
    pub wrote: Option<SystemTime>,
    /// Whether this site has been silent for longer than the sites wait.
    pub is_overdue: bool,
}

/// How a site stands beside its number of releases: whom it waits for, whether it left, ended or is overdue.
pub type SiteStanding = (SiteState, Option<u64>, Vec<String>, bool);

/// The part of a joint certificate that the board needs.
#[derive(Default, Deserialize)]
struct JointExcerpt {
    sites: Vec<SiteExcerpt>,
    #[serde(default)]
    left_after_release: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct SiteExcerpt {
    name: String,
    guarantee: Option<Guarantee>,
    mechanisms: Vec<Event>,
}

/// Reads the board of a run again and again.
#[derive(Debug)]
pub struct SiteBoard {
    directory: PathBuf,
    pinned: Pinned,
    reader: BoardReader,
    shown: Vec<SiteLine>,
}

impl SiteBoard {
    /// The board of the run in this directory, if it is a joint one whose folder can be read.
    pub fn open(directory: &Path) -> Option<Self> {
        let pinned: Pinned = serde_json::from_slice(&fs::read(directory.join(SITES)).ok()?).ok()?;
        let reader = BoardReader::open(&pinned).ok()?;
        Some(Self { directory: directory.to_path_buf(), pinned, reader, shown: Vec::new() })
    }

    /// The sites, if anything changed since the last call.
    pub fn look(&mut self) -> Option<Vec<SiteLine>> {
        let joint = fs::read(self.directory.join(JOINT)).ok();
        let joint: Option<JointExcerpt> = joint.and_then(|it| serde_json::from_slice(&it).ok());
        let joint = joint.unwrap_or_default();
        let lines = lines(self.reader.look(), &joint, &self.pinned);
        let has_changed = lines != self.shown;
        self.shown.clone_from(&lines);
        has_changed.then_some(lines)
    }
}

fn lines(sites: &[SiteProgress], joint: &JointExcerpt, pinned: &Pinned) -> Vec<SiteLine> {
    let left = |site: &SiteProgress| joint.left_after_release.get(&site.name).copied();
    let is_going = |site: &&SiteProgress| {
        left(site).is_none() && matches!(site.state, SiteState::Going | SiteState::NotReady)
    };
    // A site that is not ready comes before one that has released nothing.
    let place = |site: &SiteProgress| (site.state == SiteState::Going, site.releases);
    let last = sites.iter().filter(is_going).map(place).min();
    let behind = sites.iter().filter(is_going).filter(|site| Some(place(site)) == last);
    let behind: Vec<String> = behind.map(|site| harmless(&site.name, LONGEST)).collect();
    let line = |site: &SiteProgress| {
        let excerpt = joint.sites.iter().find(|it| it.name == site.name);
        // A score is of held-out records, and is not joined.
        let planned = excerpt.map_or(0, |it| {
            it.mechanisms.iter().filter(|event| !event.held_out).map(|event| event.count).sum()
        });
        let waits = is_going(&site) && Some(place(site)) != last;
        let silent = site.wrote.and_then(|wrote| wrote.elapsed().ok());
        SiteLine {
            name: harmless(&site.name, LONGEST),
            is_own: site.name == pinned.place.name,
            state: site.state.clone(),
            releases: site.releases,
            of: planned,
            left_after: left(site),
            epsilon: excerpt.and_then(|it| epsilon(it, &site.drawn).ok().flatten()),
            waits_for: if waits { behind.clone() } else { Vec::new() },
            wrote: site.wrote,
            is_overdue: is_going(&site)
                && !waits
                && silent.is_some_and(|silent| silent > pinned.place.timeout),
        }
    };
    sites.iter().map(line).collect()
}

/// The ε of what a site released, and of its whole plan. `None` if its noise is not secret.
fn epsilon(site: &SiteExcerpt, drawn: &BTreeMap<String, u64>) -> Result<Option<(f64, f64)>> {
    let Some(whole) = &site.guarantee else { return Ok(None) };
    let drawn: Vec<Event> = site
        .mechanisms
        .iter()
        .filter_map(|event| Some(Event { count: *drawn.get(&event.label)?, ..event.clone() }))
        .collect();
    if drawn.is_empty() {
        return Ok(Some((0.0, whole.epsilon)));
    }
    let so_far = Composition::of(&drawn)?.gate(whole.delta)?;
    Ok(Some((so_far.epsilon.min(whole.epsilon), whole.epsilon)))
}

impl SiteLine {
    /// `B: release 4 of 12, last message 14 s ago, ε 0.38 of 1`
    pub fn words(&self) -> String {
        let own = if self.is_own { " (this site)" } else { "" };
        let s = if self.releases == 1 { "" } else { "s" };
        let of = if self.of == 0 { String::new() } else { format!(" of {}", self.of) };
        let state = match (&self.state, self.left_after) {
            (_, Some(last)) => format!("left out after release {last}"),
            (SiteState::NotReady, _) => "not ready".to_owned(),
            (SiteState::Going, _) if self.releases == 0 => "ready".to_owned(),
            (SiteState::Going, _) => format!("release {}{of}", self.releases),
            (SiteState::Ended, _) => format!("ended after {} release{s}", self.releases),
            (SiteState::Refused(why), _) => {
                format!("a message of it is refused: {}", harmless(why, LONGEST))
            }
        };
        let mut parts = vec![state];
        let age = self.silent().map(age);
        if self.is_stuck() {
            let age = age.map(|age| format!(" for {age}")).unwrap_or_default();
            parts.push(format!("waits for {}{age}", self.waits_for.join(", ")));
        } else if self.is_overdue {
            let age = age.map(|age| format!(" for {age}")).unwrap_or_default();
            parts.push(format!("silent{age}, longer than the others wait"));
        } else if self.state == SiteState::Going && self.left_after.is_none() {
            parts.extend(age.map(|age| match age.as_str() {
                "0 s" | "1 s" => "last message just now".to_owned(),
                age => format!("last message {age} ago"),
            }));
        }
        let stays = if self.left_after.is_some() { " stays charged" } else { "" };
        parts.extend(self.epsilon.map(|(so_far, whole)| {
            format!("ε {} of {}{stays}", round_up(so_far, 3), round_up(whole, 3))
        }));
        format!("{}{own}: {}", self.name, parts.join(", "))
    }

    /// The time since its last message, if the disk's clock tells it.
    fn silent(&self) -> Option<Duration> {
        self.wrote.and_then(|wrote| wrote.elapsed().ok())
    }

    /// Whether this site waits for others longer than a step usually takes.
    pub fn is_stuck(&self) -> bool {
        !self.waits_for.is_empty() && self.silent().is_none_or(|silent| silent >= STUCK)
    }

    /// What matters beside numbers of releases: who waits for whom, who left or ended.
    pub fn standing(&self) -> SiteStanding {
        let waits_for = if self.is_stuck() { self.waits_for.clone() } else { Vec::new() };
        (self.state.clone(), self.left_after, waits_for, self.is_overdue)
    }

    /// The line for programs.
    pub fn json(&self) -> Value {
        let state = match (&self.state, self.left_after) {
            (_, Some(_)) => "left",
            (SiteState::NotReady, _) => "not ready",
            (SiteState::Going, _) if !self.waits_for.is_empty() => "waiting",
            (SiteState::Going, _) => "going",
            (SiteState::Ended, _) => "ended",
            (SiteState::Refused(_), _) => "refused",
        };
        json!({
            "site": self.name,
            "own": self.is_own,
            "state": state,
            "release": self.releases,
            "of": self.of,
            "left_after_release": self.left_after,
            "epsilon": self.epsilon.map(|it| it.0),
            "epsilon_reserved": self.epsilon.map(|it| it.1),
            "waits_for": self.waits_for,
            "seconds_since_a_message": self.silent().map(|it| it.as_secs_f64()),
            "overdue": self.is_overdue,
        })
    }
}

/// A time in its largest unit, such as `14 s`.
fn age(since: Duration) -> String {
    match since.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7199 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::accountant::{Adjacency, Coverage, Noise, QueryKind};

    fn event(label: &str, count: u64, held_out: bool) -> Event {
        Event {
            label: label.to_owned(),
            what: label.to_owned(),
            mechanism: QueryKind::Gaussian.query(0.1, 1).with(Noise::ideal(1.0)),
            count,
            adjacency: Adjacency::ReplaceOne,
            held_out,
        }
    }

    /// B released less than A, C was left out and D is not ready.
    #[test]
    fn the_site_that_is_behind_is_waited_for_and_what_each_released_is_counted() {
        let place = serde_json::json!({
            "folder": "/x", "name": "A", "sites": ["A", "B", "C", "D"],
            "timeout": {"secs": 60, "nanos": 0}, "without_missing": true,
        });
        let pinned = serde_json::json!({"place": place, "protocol": "p", "hellos": []});
        let pinned: Pinned = serde_json::from_value(pinned).unwrap();
        let mechanisms =
            vec![event("slope", 10, false), event("level", 2, false), event("score", 1, true)];
        let whole = Composition::of(&mechanisms).unwrap().guarantee(1e-5).unwrap();
        assert_eq!((whole.covers, whole.adjacency), (Coverage::FixedPlan, Adjacency::ReplaceOne));
        let excerpt = |name: &str| SiteExcerpt {
            name: name.to_owned(),
            guarantee: Some(whole.clone()),
            mechanisms: mechanisms.clone(),
        };
        let joint = JointExcerpt {
            sites: ["A", "B", "C"].map(excerpt).into(),
            left_after_release: BTreeMap::from([("C".to_owned(), 3)]),
        };
        let ago = |seconds| SystemTime::now().checked_sub(Duration::from_secs(seconds));
        let site = |name: &str, state, releases, seconds| SiteProgress {
            name: name.to_owned(),
            state,
            releases,
            drawn: BTreeMap::from([("slope".to_owned(), releases)])
                .into_iter()
                .filter(|it| it.1 > 0)
                .collect(),
            wrote: ago(seconds),
        };
        let mut sites = vec![
            site("A", SiteState::Going, 5, 130),
            site("B", SiteState::Going, 4, 300),
            site("C", SiteState::Going, 3, 900),
        ];
        let seen = lines(&sites, &joint, &pinned);
        let words: Vec<String> = seen.iter().map(SiteLine::words).collect();
        assert!(
            words[0].starts_with("A (this site): release 5 of 12, waits for B for 2 min, ε "),
            "{}",
            words[0]
        );
        let silent = "B: release 4 of 12, silent for 5 min, longer than the others wait, ε ";
        assert!(words[1].starts_with(silent), "{}", words[1]);
        assert!(
            words[2].starts_with("C: left out after release 3, ε ")
                && words[2].ends_with(" stays charged")
        );
        let epsilon = |at: usize| seen[at].epsilon.unwrap();
        assert!(epsilon(0).0 > epsilon(1).0 && epsilon(1).0 > epsilon(2).0 && epsilon(2).0 > 0.0);
        assert!(seen.iter().all(|line| line.epsilon.unwrap().1 == whole.epsilon));
        // All slopes are drawn: the levels and the score are not.
        sites[0].drawn.insert("slope".to_owned(), 10);
        let slopes = Composition::of(&[event("slope", 10, false)]).unwrap().gate(1e-5).unwrap();
        assert_eq!(
            lines(&sites, &joint, &pinned)[0].epsilon.unwrap().0,
            slopes.epsilon.min(whole.epsilon)
        );
        sites.push(site("D", SiteState::NotReady, 0, 0));
        sites[0] = site("A", SiteState::Going, 0, 200);
        let seen = lines(&sites, &JointExcerpt::default(), &pinned);
        assert_eq!((&seen[0].waits_for, seen[0].of), (&vec!["D".to_owned()], 0));
        assert_eq!(seen[3].words(), "D: not ready");
        assert_eq!(seen[0].words(), "A (this site): ready, waits for D for 3 min");
    }
}
