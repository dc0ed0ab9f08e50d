//! Undo and redo of changes to the session.

use crate::session::Session;

/// The number of remembered changes.
const DEPTH: usize = 200;

#[derive(Debug, Default)]
pub struct History {
    past: Vec<Session>,
    future: Vec<Session>,
    /// The current session.
    present: Session,
}

impl History {
    pub fn new(session: &Session) -> Self {
        Self { present: session.clone(), ..Self::default() }
    }

    /// The last noted session.
    pub fn present(&self) -> &Session {
        &self.present
    }

    /// Notes the session after a change.
    pub fn note(&mut self, session: &Session) {
        if *session == self.present {
            return;
        }
        self.past.push(std::mem::replace(&mut self.present, session.clone()));
        self.future.clear();
        if self.past.len() > DEPTH {
            self.past.remove(0);
        }
    }

    pub fn undo(&mut self) -> Option<&Session> {
        let before = self.past.pop()?;
        self.future.push(std::mem::replace(&mut self.present, before));
        Some(&self.present)
    }

    pub fn redo(&mut self) -> Option<&Session> {
        let after = self.future.pop()?;
        self.past.push(std::mem::replace(&mut self.present, after));
        Some(&self.present)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Session {
        Session { name: name.to_owned(), ..Session::default() }
    }

    #[test]
    fn what_was_undone_can_be_done_again_until_something_else_is_done() {
        let mut history = History::new(&named("a"));
        history.note(&named("b"));
        history.note(&named("b"));
        history.note(&named("c"));
        assert_eq!(history.undo().unwrap().name, "b");
        assert_eq!(history.undo().unwrap().name, "a");
        assert!(history.undo().is_none());
        assert_eq!(history.redo().unwrap().name, "b");
        history.note(&named("d"));
        assert!(history.redo().is_none());
        assert_eq!(history.undo().unwrap().name, "b");
    }
}
