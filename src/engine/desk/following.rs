//! The thread that follows the runs of a workspace for an interface, and those that the user
//! watches elsewhere.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

use super::Tray;
use super::messages::Report;
use crate::error::Result;
use crate::session::Workspace;
use crate::session::follow::{Follower, Place};

/// The clerk's end of it. The thread ends with it.
pub(super) struct Following(Sender<Errand>);

enum Errand {
    /// Read everything again; of this workspace from now on.
    Read(Workspace),
    /// Runs of these places, too.
    Watch(Vec<PathBuf>),
}

impl Following {
    /// Nothing is read before it is asked for.
    pub fn start(tray: Arc<Tray>) -> Self {
        let (sender, inbox) = channel();
        thread::spawn(move || serve(&inbox, &tray));
        Self(sender)
    }

    pub fn read(&self, workspace: &Workspace) {
        let _ = self.0.send(Errand::Read(workspace.clone()));
    }

    pub fn watch(&self, places: Vec<PathBuf>) {
        let _ = self.0.send(Errand::Watch(places));
    }
}

fn serve(inbox: &Receiver<Errand>, tray: &Tray) {
    let (mut watched, mut follower): (Vec<PathBuf>, Option<Follower>) = (Vec::new(), None);
    loop {
        let errand = match &follower {
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(follower) => inbox.recv_timeout(follower.pause()),
        };
        match errand {
            Ok(Errand::Watch(places)) => watched = places,
            Ok(Errand::Read(workspace)) => match read(&workspace, &watched) {
                Ok((fresh, report)) => {
                    follower = Some(fresh);
                    tray.put(report);
                }
                Err(error) => tray.put(Report::Trouble(error)),
            },
            Err(RecvTimeoutError::Timeout) => {
                // What cannot be read now may be read later.
                if let Some(Ok(news)) = follower.as_mut().map(Follower::look)
                    && !news.is_nothing()
                {
                    tray.put(Report::Followed(Box::new(news)));
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn read(workspace: &Workspace, watched: &[PathBuf]) -> Result<(Follower, Report)> {
    let mut places = vec![Place::Workspace(workspace.clone())];
    for path in watched {
        match Place::of(path)? {
            Place::Workspace(other) if other == *workspace => {}
            place => places.push(place),
        }
    }
    let mut follower = Follower::new(places, true);
    let runs = follower.read()?;
    Ok((follower, Report::Archive(runs)))
}
