//! What a run inherits from its starting model, or from a finished model that is its public
//! predictor.
//!
//! A run that starts from the model of another run passes that run's weights on. So its certificate
//! must state what those weights depend on: the noise of their own training, and that of the runs
//! before them. This module finds this out, and refuses a model if it cannot:
//!
//! | the model | what happens |
//! |---|---|
//! | of a run with a matching certificate and a guarantee | its statement goes into the new certificate |
//! | of a run without a guarantee (a known seed for its noise) | refused |
//! | without a certificate, or with one for other weights or other noise | refused |
//! | that the user declares public (`start_is_public: true`) | accepted, and the certificate says who declared what |

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::certificate::{self, Certificate};
use super::file::Session;
use super::model_file;
use super::workspace::Workspace;
use crate::error::{Error, Result};
use crate::privacy::accountant::{Composition, counted, round_up};
use crate::privacy::ledger::{AccountId, Book, RowOrder, RunId, RunState, sha256};
use crate::privacy::{Event, Guarantee};

/// More runs in a row than anybody makes, so that a circle of files ends.
const LONGEST: usize = 64;

/// A run whose released model a later run started from, directly or through others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ancestor {
    pub run: RunId,
    /// The account of its private dataset; an alias if only a shared certificate is known.
    pub account: AccountId,
    pub method: String,
    /// Number of private training records of the run, or persons.
    pub records: usize,
    /// The columns that identify the person of a row, where persons are protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The guarantee of its own draws.
    pub guarantee: Guarantee,
    pub mechanisms: Vec<Event>,
    /// Whether exact numbers could be seen during the run.
    pub peeked: bool,
    /// How it chose among private rows at random.
    #[serde(default, skip_serializing_if = "RowOrder::is_by_place")]
    pub order: RowOrder,
}

/// A starting model that somebody vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredPublic {
    /// Name of its file or run, without the folders above it.
    pub name: String,
    /// SHA-256 of its `model.ron`.
    pub sha256: String,
}

/// Everything that a starting model depends on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Lineage {
    /// The runs, the nearest first.
    pub runs: Vec<Ancestor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_public: Option<DeclaredPublic>,
}

impl Lineage {
    /// The lineage of the model at `path`, a run directory or its `model.ron`.
    pub fn of(path: &Path, declared_public: bool) -> Result<Self> {
        if declared_public {
            return Ok(Self { runs: Vec::new(), declared_public: Some(declared(path)?) });
        }
        let mut runs = Vec::new();
        let mut next = Some(path.to_path_buf());
        while let Some(path) = next.take() {
            if runs.len() >= LONGEST {
                return Err(unknown("its runs start from each other in a circle", &path));
            }
            let certificate = certificate_for(&path)?;
            let earlier = certificate.start.clone();
            if let (None, 1) = (&earlier, certificate.format) {
                // Certificates of the first version do not state what a run started from.
                next = start_of_first_version(&path)?;
            }
            runs.push(ancestor(certificate, &path)?);
            if let Some(earlier) = earlier {
                runs.extend(earlier.runs);
                return Ok(Self { runs, declared_public: earlier.declared_public });
            }
        }
        Ok(Self { runs, declared_public: None })
    }

    /// Whether a shared certificate hides an account from this workspace.
    fn has_aliases(&self) -> bool {
        self.runs.iter().any(|run| run.account.is_alias())
    }

    /// Puts the accounts of this workspace's ledger in place of aliases, as far as it knows the
    /// runs. Returns a remark for the curator if it does not know all of them.
    pub fn take_names(&mut self, workspace: &Workspace) -> Result<Option<String>> {
        if !self.has_aliases() {
            return Ok(None);
        }
        let book = workspace.book()?;
        let known = |run: &Ancestor| {
            let account = book.account_of_run(&run.run)?;
            run.account.is_alias().then(|| (run.account.clone(), account.id.clone()))
        };
        let known: Vec<_> = self.runs.iter().filter_map(known).collect();
        for (alias, account) in known {
            for run in self.runs.iter_mut().filter(|run| run.account == alias) {
                run.account = account.clone();
            }
        }
        Ok(self.has_aliases().then(|| {
            "nobody here can tell whether the earlier model learned from records of your private \
             data, because its shared certificate does not name its account: if it did, the ε of \
             both runs add up for them, and a score of held-out records is too good"
                .to_owned()
        }))
    }

    /// A remark for the curator before the run, for the Plan screen and the log.
    pub fn note(&self) -> String {
        let public = self.declared_public.as_ref().map(|it| {
            format!("the earlier model '{}' counts as public because you declared it so", it.name)
        });
        let runs = self.runs.iter().map(|it| {
            format!("run {} (ε {}, {})", it.run.0, round_up(it.guarantee.epsilon, 4), it.account.0)
        });
        let runs: Vec<String> = runs.collect();
        let runs = (!runs.is_empty()).then(|| {
            format!(
                "the plan builds on the model of {}: the certificate counts that in",
                runs.join(", which builds on ")
            )
        });
        runs.into_iter().chain(public).collect::<Vec<_>>().join("; ")
    }
}

/// The joint guarantee of everything in these lists, even if later runs were chosen by earlier
/// ones.
pub(super) fn together<'a>(
    lists: impl IntoIterator<Item = &'a [Event]>,
    delta: f64,
) -> Result<Guarantee> {
    let all: Vec<Event> = lists.into_iter().flat_map(counted).collect();
    Composition::of(&all)?.gate(delta)
}

/// The `model.ron` that a path means.
fn text_of(path: &Path) -> std::path::PathBuf {
    if path.is_dir() { path.join(model_file::TEXT) } else { path.to_path_buf() }
}

fn hash_of(path: &Path) -> Result<String> {
    let file = text_of(path);
    let bytes = std::fs::read(&file).map_err(|error| {
        Error::io("read the starting model", &file, &error)
            .cure("bring it back, or name another model in `start`")
    })?;
    Ok(sha256(&bytes))
}

fn declared(path: &Path) -> Result<DeclaredPublic> {
    let file = text_of(path);
    let named = if file.file_name().is_some_and(|name| name == model_file::TEXT) {
        file.parent().and_then(Path::file_name)
    } else {
        file.file_name()
    };
    let name = named.unwrap_or_default().to_string_lossy().into_owned();
    Ok(DeclaredPublic { name, sha256: hash_of(path)? })
}

/// The certificate of the run that the model at `path` came from, checked against the model
/// and against the ledger beside it.
fn certificate_for(path: &Path) -> Result<Certificate> {
    let hash = hash_of(path)?;
    let file = text_of(path);
    let directory = file.parent().unwrap_or(Path::new("."));
    let mut certificate = Certificate::read(directory)?
        .ok_or_else(|| unknown("there is no certificate beside it", path))?;
    let book = Workspace::of(directory)?.book()?;
    certificate.take_names(&book);
    let record = known_to_ledger(&book, &certificate.run);
    match (&certificate.model, &record) {
        (Some(model), _) if *model != hash => {
            return Err(unknown("the certificate beside it is for another model", path));
        }
        // The first version did not record which model a certificate is for.
        (None, None) => {
            return Err(unknown(
                "its certificate does not say which model it is for, and no ledger beside it \
                 knows the run",
                path,
            ));
        }
        _ => {}
    }
    if certificate.guarantee.is_none() {
        return Err(Error::refused(format!(
            "the model of run {} has no guarantee, and training would hand its weights on",
            certificate.run.0
        ))
        .at(path.display().to_string())
        .cure("start from a model that has one, or leave `start` out"));
    }
    if let Some((method, drawn)) = record
        && (method != certificate.method || drawn != certificate.mechanisms)
    {
        return Err(unknown(
            "its certificate and the ledger say different things about its noise",
            path,
        ));
    }
    Ok(certificate)
}

/// A run in the ledger: its grant and its draws.
fn known_to_ledger(book: &Book, run: &RunId) -> Option<(String, Vec<Event>)> {
    // A record recovered from a certificate proves nothing about that certificate.
    let record =
        book.run(run).filter(|it| !matches!(it.state, RunState::Recovered | RunState::Claimed));
    record.map(|record| (record.grant.method_words(), record.charged_events()))
}

fn ancestor(certificate: Certificate, path: &Path) -> Result<Ancestor> {
    let own = certificate.of_this_run.or(certificate.guarantee);
    let own = own.ok_or_else(|| unknown("it has no guarantee", path))?;
    if !certificate.mechanisms.is_empty() {
        let proven = Composition::of(&certificate.mechanisms)?.guarantee(own.delta)?;
        // It must not be above the proven bound, and certainly not below the lower one.
        if own.epsilon < proven.epsilon_lower * (1.0 - 1e-6) {
            return Err(unknown(
                &format!(
                    "its certificate says ε = {}, and the noise that it lists gives at least {}",
                    own.epsilon, proven.epsilon_lower
                ),
                path,
            ));
        }
    }
    Ok(Ancestor {
        run: certificate.run,
        account: certificate.account,
        method: certificate.method,
        records: certificate.records,
        person: certificate.person,
        guarantee: own,
        mechanisms: certificate.mechanisms,
        peeked: certificate.peeked,
        order: certificate.order,
    })
}

/// The starting model of a run of the first version, from its `run.ron`.
fn start_of_first_version(path: &Path) -> Result<Option<std::path::PathBuf>> {
    let file = text_of(path);
    let repeat = file.with_file_name("run.ron");
    let session = Session::open(&repeat).map_err(|error| {
        unknown(&format!("nobody knows what its run started from ({})", error.what()), path)
    })?;
    let start = session.plans.first().and_then(|plan| plan.start.clone());
    Ok(start.map(|start| repeat.parent().unwrap_or(Path::new(".")).join(start)))
}

fn unknown(why: &str, path: &Path) -> Error {
    Error::refused(format!("nobody can tell what the starting model depends on: {why}"))
        .at(path.display().to_string())
        .cure(format!(
            "start from a run directory with its {}; only if the model was trained without \
             private data, set start_is_public: true in the plan, and the certificate will say so",
            certificate::FILE
        ))
}
