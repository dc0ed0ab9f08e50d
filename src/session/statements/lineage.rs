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
//! | of several sites together | refused: the new certificate could not say what holds for the others |
//! | without a certificate, or with one for other weights or other noise | refused |
//! | that the user declares public (`start_is_public: true`) | accepted, and the certificate says who declared what |

use std::path::Path;

use super::certificate::for_others::names_of_aliases;
use super::certificate::{self, Certificate};
pub use super::certificate::{Ancestor, DeclaredPublic, Lineage};
use crate::error::{Error, Result};
use crate::privacy::Event;
use crate::privacy::accountant::{Composition, round_up};
use crate::privacy::ledger::{Book, RunId, RunState, sha256};
use crate::store::run_directory::MODEL;
use crate::store::{Session, Workspace};

/// More runs in a row than anybody makes, so that a circle of files ends.
const LONGEST: usize = 64;

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
        let runs = self.runs.iter().map(|run| (&run.run, &run.account));
        for (alias, account) in names_of_aliases(runs, &book) {
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

/// The `model.ron` that a path means.
fn text_of(path: &Path) -> std::path::PathBuf {
    if path.is_dir() { path.join(MODEL) } else { path.to_path_buf() }
}

fn hash_of(path: &Path) -> Result<String> {
    let file = text_of(path);
    let bytes = std::fs::read(&file).map_err(|error| {
        Error::io("read the starting model", &file, &error)
            .cure("bring it back, or name another model in `start` or `public_predictor`")
    })?;
    Ok(sha256(&bytes))
}

fn declared(path: &Path) -> Result<DeclaredPublic> {
    let file = text_of(path);
    let named = if file.file_name().is_some_and(|name| name == MODEL) {
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
    if !certificate.other_sites.is_empty() {
        return Err(Error::refused(format!(
            "the model of run {} depends on records of other sites ({}), and a certificate of a run \
             that builds on it could not say what holds for them",
            certificate.run.0,
            certificate.other_sites.join(", ")
        ))
        .at(path.display().to_string())
        .cure("build on a model of one site, or train the joint one again"));
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
