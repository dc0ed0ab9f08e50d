//! Moment release: the target moment once under noise, everything else as post-processing.
