//! `halflight export RUN -o model.onnx`: a model for other programs.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{messages, print_result};
use crate::error::{Error, Result};
use crate::files;
use crate::session::named::{self, Replace};
use crate::session::{SavedModel, archive, onnx, outbox};

/// Write the model of a run as an ONNX file, for other programs.
///
/// The file holds the preparation too: it takes raw columns, one input for each, and gives what
/// `halflight predict` gives. Forests and convolutions are computed in single precision there, so
/// the last digits differ. Only you can read the file, as with the model. The model of a run without
/// a guarantee is refused.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight export .halflight/runs/RUN -o model.onnx
  halflight export model.ron -o model.onnx --json")]
pub struct Export {
    /// Run: its directory, its name in this workspace or that of its plan; or a model.ron.
    model: PathBuf,

    /// Write the model here.
    #[arg(short, long, value_name = "FILE", default_value = "model.onnx")]
    output: PathBuf,

    /// Overwrite the output file.
    #[arg(long)]
    force: bool,

    /// Print inputs and outputs as JSON.
    #[arg(long)]
    json: bool,
}

impl Export {
    pub fn execute(&self) -> Result<()> {
        if self.output.extension().is_none_or(|extension| extension != "onnx") {
            return Err(Error::usage("the only form to export to is ONNX")
                .at(self.output.display().to_string())
                .cure("give the file a name that ends in .onnx"));
        }
        let run = archive::run_named(&self.model)?;
        named::check(&self.output, Replace::Forced(self.force), &named::data_at(&run))?;
        let model = SavedModel::open(&run)?;
        model.remarks.iter().for_each(messages::note);
        outbox::refuse_model(&model)?;
        let exported = onnx::export(&model)?;
        files::write_private(&self.output, &exported.bytes)?;
        let value = || {
            json!({
                "model": model.path,
                "kind": model.model.kind(),
                "output": self.output,
                "bytes": exported.bytes.len(),
                "inputs": exported.inputs,
                "outputs": exported.outputs,
            })
        };
        print_result(self.json, value, || words(&self.output, &exported))
    }
}

fn words(output: &Path, exported: &onnx::Exported) -> String {
    let count = exported.inputs.len();
    let columns = if count == 1 { "one column".to_owned() } else { format!("{count} columns") };
    format!("{}: takes {columns}, gives {}", output.display(), exported.outputs.join(" and "))
}
