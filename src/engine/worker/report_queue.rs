//! Holds reports until the interface takes them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::messages::WorkerReport;

/// Where reports wait. `wake` is called when the first one arrives.
pub(super) struct ReportQueue {
    reports: Mutex<Vec<WorkerReport>>,
    awake: AtomicBool,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl ReportQueue {
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { reports: Mutex::default(), awake: AtomicBool::new(false), wake: Box::new(wake) }
    }

    pub fn put(&self, report: WorkerReport) {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
        if !self.awake.swap(true, Ordering::AcqRel) {
            (self.wake)();
        }
    }

    pub fn take(&self) -> Vec<WorkerReport> {
        self.awake.store(false, Ordering::Release);
        std::mem::take(&mut *self.reports.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
