//! What public records teach by themselves: learned once for all runs on them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;

/// Shared by the runs of one problem on the same public records. What is learned must depend
/// on these records alone; where folds are drawn at random, the first run's seed draws them.
#[derive(Clone, Default)]
pub struct Lessons(Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Lessons {
    /// What was learned before, or else what `teach` makes. Who asks meanwhile waits.
    pub fn learn<T: Any + Send + Sync>(&self, teach: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&TypeId::of::<T>()).cloned();
        if let Some(lesson) = found.and_then(|lesson| lesson.downcast().ok()) {
            return Ok(lesson);
        }
        let lesson = Arc::new(teach()?);
        known.insert(TypeId::of::<T>(), lesson.clone());
        Ok(lesson)
    }
}

impl std::fmt::Debug for Lessons {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lessons")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_lesson_is_learned_once_and_a_failure_is_none() {
        let lessons = Lessons::default();
        let again = lessons.clone();
        assert!(lessons.learn::<u32>(|| Err(Error::failed("no"))).is_err());
        assert_eq!(*lessons.learn(|| Ok(1_u32)).unwrap(), 1);
        assert_eq!(*again.learn(|| Ok(2_u32)).unwrap(), 1);
        assert_eq!(*again.learn(|| Ok(3_u64)).unwrap(), 3);
    }
}
