//! `halflight methods`: the methods and their settings.

use clap::Args;
use serde_json::json;

use super::{print_json, print_line};
use crate::error::Result;
use crate::methods;

/// List the adaptation methods and their settings.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight methods
  halflight methods profiled_cnvx_adap --json")]
pub struct Methods {
    /// Only this method.
    id: Option<String>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Methods {
    pub fn execute(&self) -> Result<()> {
        let methods = match &self.id {
            Some(id) => vec![methods::method(id)?],
            None => methods::methods().to_vec(),
        };
        if self.json {
            let list = methods.iter().map(|method| {
                let spec = method.spec();
                let fields = spec.fields.iter().map(|field| {
                    json!({
                        "key": field.key, "name": field.name, "unit": field.unit,
                        "help": field.help, "range": field.kind.range(),
                        "default": field.kind.default_value(),
                    })
                });
                json!({
                    "id": spec.id, "name": spec.name, "paper": spec.paper, "summary": spec.summary,
                    "task": spec.task,
                    "needs_private_labels": spec.needs_private_labels,
                    "needs_public_labels": spec.needs_public_labels,
                    "public_only": spec.public_only,
                    "settings": fields.collect::<Vec<_>>(),
                })
            });
            return print_json(&json!({ "methods": list.collect::<Vec<_>>() }));
        }
        for method in methods {
            let spec = method.spec();
            print_line(&format!("{} · {} (in papers: {})", spec.id, spec.name, spec.paper))?;
            print_line(&format!("  {}", spec.summary))?;
            print_line(match (spec.public_only, spec.needs_private_labels) {
                (true, _) => "  uses no private record: it spends nothing",
                (false, true) => "  needs labels on the private records",
                (false, false) => "  does not need labels on the private records",
            })?;
            if !spec.needs_public_labels {
                print_line("  takes public records without labels, or with others")?;
            }
            for field in spec.fields {
                print_line(&format!(
                    "    {:<16} {} {} ({}; default {})",
                    field.key,
                    field.help,
                    field.unit,
                    field.kind.range(),
                    field.kind.words(&field.kind.default_value())
                ))?;
            }
        }
        Ok(())
    }
}
