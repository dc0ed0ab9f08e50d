//! Rehearses a joint run: public records play this site and the others, so that nothing is spent.
//! The results are kept in the workspace.

use std::sync::Arc;

use super::job::Job;
use super::rehearse::{Rehearsed, name_of, rehearsed, trust};
use crate::data::Table;
use crate::error::{Error, Result};
use crate::methods;
use crate::rehearsal::joining::{Joining, JoiningResults};
use crate::rehearsal::{Played, PlayedSites, SitesRehearsal};
use crate::session::Loaded;
use crate::session::notebook::{Notebook, TrialKey};

/// A request to rehearse a joint run.
#[derive(Debug, Clone)]
pub struct JoiningJob {
    /// The run of this site.
    pub run: Job,
    /// The numbers of records or persons of the other sites, those that are held out included.
    pub others: Vec<usize>,
    /// Further ε besides the plan's own.
    pub epsilons: Vec<f64>,
    /// `None`: as many as the number of records requires.
    pub repetitions: Option<u64>,
}

/// The players of a scene, in the notebook.
const PLAYERS: [&str; 4] = ["public data alone", "alone", "together", "together, one noise"];

/// Rehearses until everything is done or stopped. `tell` hears how many of how many scenes were played.
pub fn rehearse(job: &JoiningJob, tell: &mut dyn FnMut(usize, usize)) -> Result<Joining> {
    let plan = &job.run.plan;
    if !methods::method(&plan.method)?.spec().joins {
        let what = format!("several sites cannot run '{}' together", plan.method);
        return Err(Error::usage(what).cure(super::sites::which_join()));
    }
    let Rehearsed { private, data, .. } = rehearsed(&job.run, &job.epsilons)?;
    let epsilons = if job.epsilons.is_empty() {
        vec![plan.target.epsilon]
    } else {
        data.terms.epsilons.clone()
    };
    let trust = data.trust().and(trust(&job.run, None, private, &data)?);
    let wide = data.is_wide().then(|| data.few_of_wide());
    let (cases, usual) = wide.unwrap_or((data.cases.len(), data.repetitions()));
    let repetitions = job.repetitions.unwrap_or(usual);
    let trained = |rows: &usize| {
        let all = rows - Table::holdout_rows(*rows, plan.holdout);
        plan.private_records.map_or(all, |most| most.min(all))
    };
    let data = SitesRehearsal::new(data, &job.others.iter().map(trained).collect::<Vec<_>>());
    let loaded: Vec<&Loaded> = job.run.datasets.iter().map(Arc::as_ref).collect();
    let mut notebook = Notebook::open(&job.run.workspace, &name_of(plan, &loaded)?)?;
    let player = plan.player();
    let mut results = JoiningResults::default();
    let mut entries = Vec::new();
    for repetition in 0..repetitions {
        let playing = data.playing(repetition).filter(|scene| data.scenes[*scene].of < cases);
        let each = playing.flat_map(|scene| (0..epsilons.len()).map(move |at| (scene, at)));
        entries.extend(each.map(|(scene, at)| (repetition, scene, at)));
    }
    // The plan's own ε comes first.
    entries.sort_by_key(|(repetition, _, at)| (*repetition, epsilons[*at] != plan.target.epsilon));
    for (done, (repetition, scene, at)) in entries.iter().copied().enumerate() {
        if job.run.control.is_stopped() {
            break;
        }
        tell(done, entries.len());
        let key = |who: &str| TrialKey {
            scene: data.name(scene),
            player: format!("{} {who}", player.id()),
            repetition,
            epsilon: Some(epsilons[at]),
        };
        let known = PLAYERS.map(|who| notebook.find(&key(who)).map(|played| played.loss));
        let others = data.scenes[scene].others;
        let is_known = known[3].is_some() || !data.has_one_noise();
        let played = if let [Some(public_alone), Some(alone), Some(together), one_noise] = known
            && is_known
        {
            PlayedSites { public_alone, alone, together, one_noise }
        } else {
            match data.play(scene, &player, repetition, epsilons[at]) {
                Ok(played) => {
                    let losses = [played.public_alone, played.alone, played.together];
                    let losses = losses.into_iter().chain(played.one_noise);
                    for (who, loss) in PLAYERS.into_iter().zip(losses) {
                        notebook.note(key(who), Played::of_loss(loss))?;
                    }
                    played
                }
                Err(error) => {
                    results.fail(others, error.what());
                    continue;
                }
            }
        };
        results.add(at, (others, data.scenes[scene].of), played);
    }
    let joining = results.sum_up(&data, &epsilons, &trust);
    if joining.lines.is_empty() && !job.run.control.is_stopped() {
        return Err(Error::refused(joining.notes.join(" "))
            .cure("add public records, or try it with fewer or smaller sites"));
    }
    Ok(joining)
}
