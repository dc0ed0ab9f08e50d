//! `halflight explain WORD`: explains a word, or what theory says of a session's plans.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::run::RunCommand;
use super::{print_json, print_line, workspace_for};
use crate::engine::preview::preview;
use crate::error::{Error, Result};
use crate::glossary::{self, WORDS};
use crate::methods::theory::{Says, TheoryLine, says_of_direction};
use crate::session::Session;
use crate::theory;

/// Explain a word that screens, reports and commands use, or a session's plans by theory.
///
/// For a session file: what the theorems of the papers ask of each plan, beside what it uses, and
/// what they then promise. All of it comes from public quantities; nothing is spent.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight explain epsilon
  halflight explain 'error on public records'
  halflight explain
  halflight explain session.ron --plan 'winter from the other seasons'")]
pub struct Explain {
    /// The word, the name of a method, or that of one of its settings; without one all words
    /// are listed. Or a session file (.ron), for what theory says of its plans.
    word: Vec<String>,

    /// Only the plan of this name.
    #[arg(long)]
    plan: Option<String>,

    /// Print what theory says as JSON.
    #[arg(long)]
    json: bool,

    /// Directory of the workspace with the ledger and the runs [default: that of the session].
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

impl Explain {
    pub fn execute(&self) -> Result<()> {
        let word = self.word.join(" ");
        if let [file] = self.word.as_slice()
            && Path::new(file).extension().is_some_and(|extension| extension == "ron")
        {
            return self.theory(Path::new(file));
        }
        if self.plan.is_some() || self.json || self.workspace.is_some() {
            return Err(Error::usage("--plan, --json and --workspace are for a session file")
                .cure("write: halflight explain session.ron"));
        }
        if word.is_empty() {
            return WORDS.iter().try_for_each(|word| print_line(word.name));
        }
        let Some(found) = glossary::explain(&word) else {
            let near = glossary::near(&word);
            let cure = if near.is_empty() {
                "`halflight explain` lists all words".to_owned()
            } else {
                format!("perhaps one of: {}", near.join(", "))
            };
            return Err(Error::usage(format!("'{word}' is not explained")).cure(cure));
        };
        print_line(&format!("{}\n  {}", found.name, found.text))
    }

    /// What theory says of the plans of a session.
    fn theory(&self, file: &Path) -> Result<()> {
        let session = Session::open(file)?;
        let workspace = workspace_for(file, self.workspace.as_deref())?;
        let mut plans = Vec::new();
        for job in RunCommand::sealed(self.plan.clone()).jobs(&session, &workspace)? {
            let preview = preview(&job)?;
            let (plan, shape) = (&job.plan, &preview.shape);
            let mut lines = preview.releases.theory.clone();
            if !session.ranking.is_default() {
                let outputs = shape.classes.len().max(1);
                let network = session.ranking.settings.architecture(shape.dimension, outputs)?;
                let epsilon = session.ranking.epsilon.unwrap_or(plan.target.epsilon);
                let (parameters, n) = (network.parameters(), shape.private_records);
                lines.push(says_of_direction(parameters, epsilon, n));
            }
            if self.json {
                let lines: Vec<Value> = lines.iter().map(as_json).collect();
                plans.push(json!({ "plan": plan.name, "method": plan.method, "theory": lines }));
                continue;
            }
            let given = theory::given(shape, plan.target);
            print_line(&format!("plan '{}', {}, {given}", plan.name, plan.method))?;
            if lines.is_empty() {
                print_line(&format!("  {}", theory::NONE))?;
            }
            lines.iter().try_for_each(|line| print_line(&format!("  {}", theory::words(line))))?;
        }
        if self.json { print_json(&json!({ "plans": plans })) } else { Ok(()) }
    }
}

fn as_json(line: &TheoryLine) -> Value {
    let TheoryLine { what, theorem, says } = line;
    let mut value = match *says {
        Says::Takes { asked, used } => json!({ "kind": "takes", "asked": asked, "used": used }),
        Says::AtLeast { asked, used } => {
            json!({ "kind": "at_least", "asked": asked, "used": used })
        }
        Says::Below { most, used } => json!({ "kind": "below", "asked": most, "used": used }),
        Says::Bound { value, largest } => {
            json!({ "kind": "bound", "value": value, "largest": largest })
        }
        Says::NotComputed(why) => json!({ "kind": "not_computed", "why": why }),
    };
    (value["what"], value["theorem"]) = (json!(what), json!(theorem));
    if let Some(tells) = says.tells() {
        value["tells"] = json!(tells);
    }
    value
}
