//! The thread that follows the runs of a workspace for an interface, and the runs elsewhere that
//! the user watches.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::messages::{TrainerSteps, WorkerReport};
use super::report_queue::ReportQueue;
use crate::error::Result;
use crate::session::Workspace;
use crate::session::follow::{Follower, Place};
use crate::session::trainer::{self, Trainer};

/// The sender of requests to the thread, which ends with it.
pub(super) struct Following(Sender<FollowRequest>);

enum FollowRequest {
    /// Read everything again, and follow this workspace from now on.
    Read(Workspace),
    /// Follow the runs of these places, too.
    Watch(Vec<PathBuf>),
}

impl Following {
    /// Nothing is read before it is requested.
    pub fn start(reports: Arc<ReportQueue>) -> Self {
        let (sender, inbox) = channel();
        thread::spawn(move || serve(&inbox, &reports));
        Self(sender)
    }

    pub fn read(&self, workspace: &Workspace) {
        let _ = self.0.send(FollowRequest::Read(workspace.clone()));
    }

    pub fn watch(&self, places: Vec<PathBuf>) {
        let _ = self.0.send(FollowRequest::Watch(places));
    }
}

/// The time between two looks at a trainer's file.
const TRAINER_INTERVAL: Duration = Duration::from_millis(500);
/// Drawing the new data takes less than this.
const FRAME_TIME: Duration = Duration::from_millis(60);
/// An error of reading is reported once.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

fn serve(inbox: &Receiver<FollowRequest>, reports: &ReportQueue) {
    let (mut watched, mut follower): (Vec<PathBuf>, Option<Follower>) = (Vec::new(), None);
    let mut trainers: Vec<(Trainer, Vec<(f64, f64)>)> = Vec::new();
    loop {
        let is_trained = trainers.iter().any(|(trainer, _)| trainer.end.is_none());
        let pause = follower.as_ref().map_or(LONGEST_WAIT, Follower::pause);
        match inbox.recv_timeout(if is_trained { pause.min(TRAINER_INTERVAL) } else { pause }) {
            Ok(FollowRequest::Watch(places)) => {
                let (files, others): (Vec<PathBuf>, _) =
                    places.into_iter().partition(|path| trainer::is_one(path));
                watched = others;
                trainers = files.iter().map(|it| (Trainer::new(it), Vec::new())).collect();
            }
            Ok(FollowRequest::Read(workspace)) => {
                let read = follow(&workspace, &watched).and_then(|mut fresh| {
                    // At first there should be something to see soon.
                    if follower.is_none()
                        && let Some(heads) = fresh.heads()?
                    {
                        reports.put(WorkerReport::Archive(heads));
                        // The steps keep all processors busy, so the picture comes first.
                        thread::sleep(FRAME_TIME);
                    }
                    reports.put(WorkerReport::Archive(fresh.read()?));
                    Ok(fresh)
                });
                match read {
                    Ok(fresh) => follower = Some(fresh),
                    Err(error) => reports.put(WorkerReport::Trouble(error)),
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                // Files that cannot be read now may be readable later.
                if let Some(Ok(news)) = follower.as_mut().map(Follower::look)
                    && !news.is_nothing()
                {
                    reports.put(WorkerReport::Followed(Box::new(news)));
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
        for (trainer, computed) in &mut trainers {
            if trainer.read().is_ok_and(|has_grown| has_grown) {
                reports.put(WorkerReport::Trained(Box::new(trained(trainer, computed))));
            }
        }
    }
}

fn trained(trainer: &Trainer, computed: &mut Vec<(f64, f64)>) -> TrainerSteps {
    let account = trainer.account();
    let x = trainer.step as f64;
    computed.retain(|point| point.0 < x);
    let ours = account.ours.map(|ours| ours.epsilon);
    computed.extend(ours.map(|epsilon| (x, epsilon)));
    TrainerSteps {
        path: trainer.path().to_path_buf(),
        name: trainer.name(),
        trainer: trainer.trainer(),
        step: trainer.step,
        of: trainer.of(),
        delta: trainer.delta(),
        metrics: trainer.metrics.clone(),
        claimed: trainer.claimed.clone(),
        computed: computed.clone(),
        ours,
        verdict: account.verdict,
        is_too_low: account.is_too_low,
        wrote: trainer.written(),
        end: trainer.end.clone(),
    }
}

fn follow(workspace: &Workspace, watched: &[PathBuf]) -> Result<Follower> {
    let named = watched.iter().map(|path| Place::of(path)).collect::<Result<Vec<Place>>>()?;
    // A board shows the tasks of its sweeps, and nothing else.
    let is_board = !named.is_empty() && named.iter().all(|it| matches!(it, Place::Sweep(_)));
    let mut places = Vec::new();
    if !is_board {
        places.push(Place::Workspace(workspace.clone()));
    }
    let is_own = |place: &Place| matches!(place, Place::Workspace(other) if other == workspace);
    places.extend(named.into_iter().filter(|place| !is_own(place)));
    Ok(Follower::new(places, true))
}
