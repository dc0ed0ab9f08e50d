//! Reads files with a progress bar.

use std::ops::ControlFlow;

use super::progress::ProgressLine;
use crate::data::read;

/// Smaller files are read too quickly for a bar to be seen.
const WORTH_A_BAR: u64 = 16 << 20;
const MEBIBYTE: u64 = 1 << 20;

/// Shows the progress of reading files, one after another.
#[derive(Default)]
pub struct Watched {
    shown: Option<(u64, ProgressLine)>,
}

impl read::ReadingProgress for Watched {
    fn advance(&mut self, read: u64, of: u64) -> ControlFlow<()> {
        let other = self.shown.as_ref().is_some_and(|(size, _)| *size != of);
        if other || read >= of {
            self.shown = None;
        }
        if of >= WORTH_A_BAR && read < of {
            let (_, progress) = self.shown.get_or_insert_with(|| {
                (of, ProgressLine::new("reading, MiB", (of / MEBIBYTE) as usize))
            });
            progress.tell((read / MEBIBYTE) as usize);
        }
        ControlFlow::Continue(())
    }
}
