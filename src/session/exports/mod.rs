//! What leaves a workspace, and what is made of it elsewhere.
//!
//! | module | holds |
//! |---|---|
//! | [`model_file`] | a model on disk: numbers, preparation, names of columns |
//! | [`prediction`] | the predictions of a model on disk for the rows of a table |
//! | [`onnx`] | a model with its preparation as an ONNX file |
//! | [`outbox`] | the files of a run that may leave the workspace |
//! | [`named`] | what may be replaced at a path that the user named |
//! | [`tensorboard`] | steps as an event file that TensorBoard reads |
//! | `wire` | protocol buffers, of which ONNX and event files consist |
//!
//! Neither the store nor the statements need an export.

pub mod model_file;
pub mod named;
pub mod onnx;
pub mod outbox;
pub mod prediction;
pub mod tensorboard;
mod wire;

pub use model_file::SavedModel;
pub use prediction::Predictions;
