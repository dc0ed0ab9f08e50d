//! `halflight watch`: follows the runs of other processes by their files.
//!
//! | module | holds |
//! |---|---|
//! | this one | the watched runs, and their steering |
//! | [`lines`] | changes as lines for people and for programs |
//! | [`trainers`] | the same for other trainers' files |

mod lines;
mod trainers;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{open, print_line};
use crate::error::{Error, Result};
use crate::session::archive::{MISSING, NOT_BEGUN, UNSEEN, state_words};
use crate::session::follow::{Follower, Place};
use crate::session::steering::{self, SteeringRequest};
use crate::session::trainer;

/// Watch runs that other processes carry out: here, in a sweep, on another machine.
///
/// In a terminal the interface opens on them. With --plain or --json, or elsewhere, every change
/// is a line: public and released numbers only. A run that is named is followed to its end, and
/// a workspace until you stop it. Watching writes nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight watch
  halflight watch .halflight/runs/RUN --plain
  halflight watch /shared/sweep --once
  halflight watch session.ron --json
  halflight watch .halflight/runs/RUN --stop
  halflight watch .halflight/runs/RUN --once --tensorboard logs
  halflight watch events.jsonl
  ssh -t host halflight watch /shared/sweep")]
#[expect(clippy::struct_excessive_bools, reason = "each is a word on the command line")]
pub struct WatchCommand {
    /// A session, a directory with runs, a sweep, a run or its name, or the steps of another
    /// trainer (`halflight schema steps`) [default: this directory].
    places: Vec<PathBuf>,

    /// Print a line for each change.
    #[arg(long)]
    plain: bool,

    /// Print each change and each step as a line of JSON.
    #[arg(long, conflicts_with = "plain")]
    json: bool,

    /// Print the state of everything once, and end.
    #[arg(long)]
    once: bool,

    /// Write public and released numbers as event files for TensorBoard into this directory, too.
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<PathBuf>,

    /// Pause the run, or all tasks of a sweep that are at work.
    #[arg(long, group = "steer")]
    pause: bool,

    /// Let a paused run go on.
    #[arg(long, group = "steer")]
    go_on: bool,

    /// End the run after its step: it settles what it drew and keeps its model so far.
    #[arg(long, group = "steer")]
    stop: bool,

    /// At most this many steps per second; 0 is as fast as possible.
    #[arg(long, group = "steer", value_name = "STEPS")]
    pace: Option<f64>,
}

impl WatchCommand {
    pub fn execute(&self) -> Result<()> {
        if let Some(request) = self.request() {
            self.steer(request)?;
            if !(self.plain || self.json || self.once) {
                return Ok(());
            }
        }
        let in_lines = self.plain || self.json || self.once || self.tensorboard.is_some();
        if in_lines || !std::io::stdout().is_terminal() {
            let form = if self.json { lines::Form::Json } else { lines::Form::Plain };
            let named = self.named();
            let (trainers, others): (Vec<&Path>, Vec<&Path>) =
                named.iter().map(PathBuf::as_path).partition(|path| trainer::is_one(path));
            if !trainers.is_empty() {
                if let Some(other) = others.first() {
                    let cure =
                        "follow runs and the files of other trainers by commands of their own";
                    let error = Error::usage("this is not a trainer's file").cure(cure);
                    return Err(error.at(other.display().to_string()));
                }
                if self.tensorboard.is_some() {
                    return Err(Error::usage("--tensorboard is for runs of halflight")
                        .cure("leave it out: the trainer can write its own events"));
                }
                return trainers::follow(&trainers, form, self.once);
            }
            let tensorboard = self.tensorboard.as_deref();
            let options = lines::WatchOptions { form, once: self.once, tensorboard };
            return lines::follow(self.places()?, options);
        }
        let mut runs = self.named();
        for path in runs.iter().filter(|path| trainer::is_one(path)) {
            let (trainer, _) = trainer::Trainer::of_file(path)?;
            trainer.trouble().map_or(Ok(()), |it| Err(it.at(path.display().to_string())))?;
        }
        runs.retain(|path| !trainer::is_one(path));
        runs.iter().try_for_each(|path| Place::of(path).map(|_| ()))?;
        open::watch(self.named())
    }

    fn named(&self) -> Vec<PathBuf> {
        if self.places.is_empty() { vec![PathBuf::from(".")] } else { self.places.clone() }
    }

    fn places(&self) -> Result<Vec<Place>> {
        self.named().iter().map(|path| Place::of(path)).collect()
    }

    fn request(&self) -> Option<SteeringRequest> {
        let pace = self.pace.map(|pace| SteeringRequest::Pace((pace != 0.0).then_some(pace)));
        pace.or(self.stop.then_some(SteeringRequest::Stop))
            .or(self.pause.then_some(SteeringRequest::Pause))
            .or(self.go_on.then_some(SteeringRequest::GoOn))
    }

    fn steer(&self, request: SteeringRequest) -> Result<()> {
        let places = self.places()?;
        if self.places.is_empty() || places.iter().any(|it| matches!(it, Place::Workspace(_))) {
            return Err(Error::usage("which run is meant?").cure(
                "name the directory of one run, or of a sweep; `halflight watch --once` lists them",
            ));
        }
        let runs = Follower::new(places, false).read()?;
        let works = |word: &str| matches!(word, MISSING | UNSEEN);
        let (at_work, over): (Vec<_>, Vec<_>) =
            runs.into_iter().partition(|run| run.is_alive() || works(&run.outcome));
        if at_work.is_empty() {
            let word = over.first().map_or(NOT_BEGUN, |run| state_words(&run.outcome));
            return Err(Error::refused(format!("nothing is under way here: {word}"))
                .cure("`halflight watch --once` shows the state of every run"));
        }
        for run in at_work {
            let process = steering::ask(&run.directory, request)?;
            let what = match request {
                SteeringRequest::Pause => "to wait",
                SteeringRequest::GoOn => "to go on",
                SteeringRequest::Stop => "to stop; it settles what it drew",
                SteeringRequest::Pace(_) => "to change its pace",
            };
            print_line(&format!("asked {process} {what}: {}", lines::name(&run)))?;
        }
        Ok(())
    }
}
