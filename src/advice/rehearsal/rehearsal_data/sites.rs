//! Public records in the role of several sites.
//!
//! The acting records of a case are dealt to the sites at random, so that all sites are alike. Or this
//! site plays with the records of one group, such as a dataset, and the other sites with those of other
//! groups. The plan runs at this site alone, and at all sites together through the exchange of a joint
//! run within one process: every site adds its own noise to each release, or a share of one noise.

use std::collections::HashSet;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::{MOST_ACTING, PUBLIC_SEED, RehearsalData, Set, TRAINING_SHARE, actors_of};
use crate::error::{Error, Result};
use crate::evaluation::Scoring;
use crate::methods;
use crate::methods::baselines::public_only;
use crate::privacy::Target;
use crate::privacy::exchange::check_colluding;
use crate::rehearsal::case::{Case, CaseKind};
use crate::rehearsal::{ErrorMeasure, Player, RehearsalNoise, Split, Trial};

/// With fewer records a site cannot run any method.
const FEWEST_RECORDS: usize = 20;

/// How the records of the other sites compare with those of this site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherSites {
    /// All sites have records of one kind.
    Alike,
    /// The sites differ from each other as the public datasets do.
    Unlike,
}

/// A case in which several sites play.
#[derive(Debug)]
pub struct SitesScene {
    /// The case with the records of all sites.
    case: usize,
    /// The case of this site.
    pub of: usize,
    /// How the other sites compare with this site.
    pub others: OtherSites,
    /// The rows of each group that plays other sites; empty if all sites share one group.
    groups: Vec<HashSet<usize>>,
    /// This scene plays in one of so many repetitions: which one, and how many.
    turn: (u64, u64),
}

/// The errors of one trial on held-out records of this site.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlayedSites {
    /// The error of public data alone.
    pub public_alone: f64,
    /// The error of this site's own run.
    pub alone: f64,
    /// The error of the run of all sites together, each with its own noise.
    pub together: f64,
    /// The error of that run with one noise for all, for which three sites are needed.
    pub one_noise: Option<f64>,
}

/// Public records that play several sites.
pub struct SitesRehearsal {
    data: RehearsalData,
    /// The training records or persons of each site, those of this site first.
    records: Vec<usize>,
    pub scenes: Vec<SitesScene>,
}

/// Who plays which site.
struct Cast {
    /// The records of the actors at each site.
    trained: Vec<Vec<Vec<usize>>>,
    /// For each site, the factor for ε: see [`RehearsalData::scale`].
    factors: Vec<f64>,
    /// The held-out actors of this site.
    evaluating: Vec<Vec<usize>>,
}

impl SitesRehearsal {
    /// Every scene that the cases offer. `others` are the numbers of training records or persons of the
    /// other sites.
    pub fn new(mut data: RehearsalData, others: &[usize]) -> Self {
        let records = [&[data.private.records], others].concat();
        let cases = data.cases.clone();
        let alike = (0..cases.len()).map(|case| SitesScene {
            case,
            of: case,
            others: OtherSites::Alike,
            groups: Vec::new(),
            turn: (0, 1),
        });
        let mut scenes: Vec<SitesScene> = alike.collect();
        for (of, own) in cases.iter().enumerate() {
            let apart = groups_apart(&cases, of);
            let turns = apart.len();
            // One group at least stays public.
            let playing = others.len().min(turns.saturating_sub(1));
            for turn in (0..turns).filter(|_| playing > 0) {
                let groups: Vec<&Case> =
                    apart.iter().cycle().skip(turn).take(playing).copied().collect();
                let Some(case) = of_groups(own, &groups, data.whose.as_deref()) else { continue };
                scenes.push(SitesScene {
                    case: data.cases.len(),
                    of,
                    others: OtherSites::Unlike,
                    groups: groups
                        .iter()
                        .map(|group| group.acting.iter().copied().collect())
                        .collect(),
                    turn: (turn as u64, turns as u64),
                });
                data.actors.push(actors_of(&case, data.whose.as_deref()));
                data.sets.push(Mutex::new(None));
                data.cases.push(case);
            }
        }
        Self { data, records, scenes }
    }

    /// The training records or persons of each site, those of this site first.
    pub fn records(&self) -> &[usize] {
        &self.records
    }

    /// Whether there are enough sites for one noise.
    pub fn has_one_noise(&self) -> bool {
        check_colluding(self.records.len(), 1).is_ok()
    }

    /// A name for a scene and the numbers of records of all sites, which no other scene has.
    pub fn name(&self, scene: usize) -> String {
        let SitesScene { case, others, .. } = &self.scenes[scene];
        format!("{}; sites {others:?} {:?}", self.data.cases[*case].name(), self.records)
    }

    /// The error that is compared.
    pub fn measure(&self) -> ErrorMeasure {
        self.data.measure()
    }

    /// The scenes that play in a repetition.
    pub fn playing(&self, repetition: u64) -> impl Iterator<Item = usize> {
        let plays = move |scene: &SitesScene| repetition % scene.turn.1 == scene.turn.0;
        self.scenes.iter().enumerate().filter_map(move |(at, scene)| plays(scene).then_some(at))
    }

    /// Plays a scene: public data alone, the plan at this site alone, and the plan at all sites together.
    pub fn play(
        &self,
        scene: usize,
        player: &Player,
        repetition: u64,
        epsilon: f64,
    ) -> Result<PlayedSites> {
        let Player::Method { id, .. } = player else {
            return Err(Error::usage("public data alone are the same at all sites"));
        };
        let (data, scene) = (&self.data, &self.scenes[scene]);
        let set = data.set(scene.case)?;
        let cast = self.cast(scene, &set, repetition)?;
        let (side, settings) = (data.side(&set, player)?, player.settings().0);
        let splits = cast.trained.iter().map(|own| data.split_of(&side, own, &cast.evaluating));
        let splits: Vec<Split> = splits.collect::<Result<_>>()?;
        let target = |factor: f64| Target { epsilon: epsilon * factor, delta: data.terms.delta };
        let spec = methods::method(id)?.spec();
        let scorings = cast.factors.iter().map(|it| data.terms.score_of(spec, target(*it).epsilon));
        let scorings: Vec<Option<Scoring>> = scorings.collect();
        let seed = data.noise_seed(scene.case, player, repetition, epsilon);
        let sites = (0_u64..).zip(&splits).zip(cast.factors.iter().zip(&scorings));
        let trials = sites.map(|((site, split), (factor, scoring))| {
            let noise = RehearsalNoise::For(target(*factor));
            let trial = split.trial(id, noise, seed.wrapping_add(site));
            Trial { settings: settings.clone(), paid: scoring.as_ref(), ..trial }
        });
        let trials: Vec<Trial> = trials.collect();
        let alone = trials[0].run_sealed()?.model;
        let joint = |may_collude| {
            let mut models = Trial::run_together(&trials, may_collude)?;
            splits[0].loss(&models.swap_remove(0).model, data.measure())
        };
        let together = joint(None)?;
        let one_noise = self.has_one_noise().then(|| joint(Some(1))).transpose()?;
        let side = data.side(&set, &Player::PublicOnly)?;
        let public = data.split_of(&side, &cast.trained[0], &cast.evaluating)?;
        let alone_there = public_only::predictor(&public.public, PUBLIC_SEED)?;
        let public_alone = public.loss(&alone_there, data.measure())?;
        let alone = splits[0].loss(&alone, data.measure())?;
        Ok(PlayedSites { public_alone, alone, together, one_noise })
    }

    /// Deals the acting records. If there are too few of them, every site gets fewer in proportion.
    fn cast(&self, scene: &SitesScene, set: &Set, repetition: u64) -> Result<Cast> {
        let groups = &scene.groups;
        let mut pools: Vec<Vec<Vec<usize>>> = vec![Vec::new(); groups.len() + 1];
        for own in self.data.shuffled(set, repetition) {
            let group = groups.iter().position(|group| own.iter().any(|row| group.contains(row)));
            pools[group.map_or(0, |group| group + 1)].push(own);
        }
        let pool_of = |site: usize| match site {
            0 => 0,
            _ if groups.is_empty() => 0,
            other => 1 + (other - 1) % groups.len(),
        };
        let mut wanted = vec![0; pools.len()];
        for (site, records) in self.records.iter().enumerate() {
            wanted[pool_of(site)] += records;
        }
        let room = |pool: usize| {
            let share = if pool == 0 { TRAINING_SHARE } else { 1.0 };
            (share * pools[pool].len() as f64).floor()
        };
        let all: usize = self.records.iter().sum();
        let fewer = (0..pools.len()).map(|pool| wanted[pool] as f64 / room(pool));
        let fewer = fewer.fold((all as f64 / MOST_ACTING as f64).max(1.0), f64::max);
        let mut cast = Cast { trained: Vec::new(), factors: Vec::new(), evaluating: Vec::new() };
        for (site, records) in self.records.iter().enumerate() {
            let count = (*records as f64 / fewer) as usize;
            if count < FEWEST_RECORDS {
                return Err(Error::refused(format!(
                    "too few public records play the sites: a site would have {count}, and \
                     {FEWEST_RECORDS} are needed"
                )));
            }
            cast.trained.push(pools[pool_of(site)].drain(..count).collect());
            cast.factors.push(*records as f64 / count as f64);
        }
        cast.evaluating = pools.swap_remove(0);
        Ok(cast)
    }
}

/// Datasets, and values of a column that tells public from private records, which share no row with the
/// acting records of this case or with each other.
fn groups_apart(cases: &[Case], of: usize) -> Vec<&Case> {
    let mut taken: HashSet<usize> = cases[of].acting.iter().copied().collect();
    let mut found = Vec::new();
    for case in cases.iter().filter(|case| case.kind != CaseKind::Slice) {
        if case.acting.iter().all(|row| !taken.contains(row)) {
            taken.extend(&case.acting);
            found.push(case);
        }
    }
    found
}

/// The case in which these groups act too, with nobody on both sides. `None` if too little is left.
fn of_groups(own: &Case, groups: &[&Case], whose: Option<&[usize]>) -> Option<Case> {
    let others: HashSet<usize> = groups.iter().flat_map(|it| it.acting.iter().copied()).collect();
    let (more, public): (Vec<usize>, Vec<usize>) =
        own.public.iter().partition(|row| others.contains(*row));
    let mut acting = [own.acting.as_slice(), &more].concat();
    acting.sort_unstable();
    let names = groups.iter().map(|group| group.title.as_str()).collect::<Vec<_>>();
    let title = format!("{}, other sites {}", own.title, names.join(", "));
    let case = Case { title, kind: own.kind, acting, public };
    match whose {
        Some(whose) => case.of_persons(whose),
        None => Some(case),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, DatasetDefinition, PreparationSettings, Role, Source, Table};
    use crate::evaluation::Loss;
    use crate::methods::PublicPredictor;
    use crate::rehearsal::{Declared, RunTerms};

    /// Four datasets of 200 rows; the slope of each differs from that of the others by `apart`.
    fn data(records: usize, apart: f64) -> RehearsalData {
        let owners: Vec<usize> = (0..800).map(|row| row / 200).collect();
        let place = |row: usize| (row * 37 % 101) as f64 / 50.0 - 1.0;
        let noise = |row: usize| (row * 53 % 97) as f64 / 48.0 - 1.0;
        let label = |row: usize| (1.0 + apart * owners[row] as f64) * place(row) + 0.2 * noise(row);
        let columns = vec![
            Column::Numbers((0..800).map(place).collect()),
            Column::Numbers((0..800).map(label).collect()),
        ];
        let names = ["x", "y"].map(str::to_owned).to_vec();
        let table = Table::new("t.csv", names, columns, (0..800).collect()).unwrap();
        let source = Source::File("t.csv".to_owned());
        let mut definition = DatasetDefinition::new("t", Role::Public, source);
        definition.label = Some("y".to_owned());
        let declared = Declared { rows: records, records, definition: definition.clone() };
        let terms = RunTerms {
            delta: 1e-5,
            epsilons: vec![1.0],
            preparation: PreparationSettings::default(),
            seed: 1,
            public_records: None,
            loss: Loss::default(),
            score: None,
            given: PublicPredictor::None,
            earlier: None,
        };
        let datasets = ["a", "b", "c", "d"].map(str::to_owned);
        let owners = (owners.as_slice(), datasets.as_slice());
        RehearsalData::new(table, definition, declared, terms, owners, &[]).unwrap()
    }

    #[test]
    fn each_actor_plays_at_one_site_and_nobody_is_on_two_sides() {
        let sites = SitesRehearsal::new(data(60, 0.5), &[30, 90]);
        assert_eq!(sites.records(), [60, 30, 90]);
        let (mut alike, mut unlike) = (0, 0);
        for scene in &sites.scenes {
            let set = sites.data.set(scene.case).unwrap();
            let cast = sites.cast(scene, &set, 0).unwrap();
            let public: HashSet<usize> =
                sites.data.cases[scene.case].public.iter().copied().collect();
            let sides = cast.trained.iter().chain([&cast.evaluating]);
            let rows: Vec<usize> = sides.flatten().flatten().copied().collect();
            let different: HashSet<usize> = rows.iter().copied().collect();
            assert_eq!(different.len(), rows.len());
            assert!(public.is_disjoint(&different) && !public.is_empty());
            // The held-out records are of this site's kind, and so are those that it trains on.
            let kind = |own: &Vec<usize>| own[0] / 200;
            let own = kind(&cast.evaluating[0]);
            let of_kind = |all: &[Vec<usize>]| all.iter().all(|it| kind(it) == own);
            assert!(of_kind(&cast.evaluating) && of_kind(&cast.trained[0]));
            for (site, (trained, factor)) in cast.trained.iter().zip(&cast.factors).enumerate() {
                let wanted = sites.records[site] as f64;
                assert!((trained.len() as f64 * factor - wanted).abs() < 1e-9);
                match scene.others {
                    OtherSites::Alike => assert!(of_kind(trained)),
                    OtherSites::Unlike if site > 0 => {
                        assert!(trained.iter().all(|it| kind(it) != own));
                    }
                    OtherSites::Unlike => {}
                }
            }
            match scene.others {
                // 140 of 200 records train, and 180 are wanted.
                OtherSites::Alike => {
                    assert_eq!(cast.trained.iter().map(Vec::len).sum::<usize>(), 46 + 23 + 70);
                    alike += 1;
                }
                OtherSites::Unlike => {
                    assert_eq!(cast.trained.iter().map(Vec::len).collect::<Vec<_>>(), [60, 30, 90]);
                    unlike += 1;
                }
            }
        }
        // Each dataset plays this site, and any two neighbours of the other three the other sites.
        assert_eq!((alike, unlike), (4, 12));
        let small = SitesRehearsal::new(data(60, 0.5), &[1000]);
        let player = Player::method("target_only");
        let refused = small.play(0, &player, 0, 1.0).unwrap_err();
        assert!(refused.what().contains("too few public records"), "{refused}");
    }

    #[test]
    fn sites_that_are_alike_help_each_other_and_sites_that_differ_harm() {
        let sites = SitesRehearsal::new(data(40, 1.0), &[40, 40]);
        let player = Player::method("target_only");
        let mean = |others: OtherSites| {
            let (mut sum, mut count) = (0.0, 0.0);
            for repetition in 0..2 {
                let playing = sites.playing(repetition);
                for scene in playing.filter(|scene| sites.scenes[*scene].others == others) {
                    let played = sites.play(scene, &player, repetition, 2.0).unwrap();
                    assert_eq!(played, sites.play(scene, &player, repetition, 2.0).unwrap());
                    sum += (played.together / played.alone).ln();
                    count += 1.0;
                }
            }
            (sum / count, count)
        };
        let (alike, cases) = mean(OtherSites::Alike);
        assert!(alike < -0.1 && cases == 8.0, "{alike} in {cases}");
        let (unlike, cases) = mean(OtherSites::Unlike);
        assert!(unlike > alike + 0.1 && cases == 8.0, "{unlike} in {cases}");
    }
}
