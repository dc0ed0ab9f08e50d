//! Numbers for people: axes, short notations, charts as SVG. No domain words, no files.
//!
//! | module | holds |
//! |---|---|
//! | [`axis`] | the range of an axis and the positions of its labels |
//! | [`bars`] | histograms in lines of text, numbers below each other |
//! | [`number`] | numbers and durations in few characters |
//! | [`chart`] | line, scatter and bar charts with error bars, side by side, as SVG |
//! | [`svg`] | common parts of all our SVGs |

pub mod axis;
pub mod bars;
pub mod chart;
pub mod number;
pub mod svg;

pub use axis::Scale;
pub use chart::{AxisSide, ChartSeries, Figure, Mark, Panel, Point};
