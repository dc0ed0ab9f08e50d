//! Several sites, one model or one ranking: how a job takes part in a joint run.
//!
//! A site [greets](greet) the others once everything that it can check alone is checked. The number
//! of records of all sites is known then, so a run plans again, and the site [agrees](Greeted::agree)
//! on the noise of every release. Only then does it ask its ledger. What it releases travels through a
//! [`Meeting`], and a joint certificate says at the end what holds for whom.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::assembly::Proposal;
use super::control::Control;
use super::job::Job;
use crate::data::Preparation;
use crate::error::{Doing as _, Error, Result};
use crate::files;
use crate::methods::{JointShape, STEPS_VERSION};
use crate::privacy::accountant::Composition;
use crate::privacy::accountant::{QueryKind, delta_words, round_up};
use crate::privacy::exchange::{
    Exchange, Mask, OneNoise, Share, Site, check_colluding, joint_scale, joint_value,
};
use crate::privacy::ledger::{RunId, SharedNoise, sha256};
use crate::privacy::{Adjacency, Calibrated, Event, Guarantee, NoiseSource, Target};
use crate::session::resumption::{JOINT, MASKS, SITES};
use crate::session::{Loaded, PlanDefinition, Workspace};

pub use halflight_exchange::Place;
use halflight_exchange::folder::Folder;
pub use halflight_exchange::place::{time, trusted};
use halflight_exchange::{Hello, MaskKey, Meeting, Pinned, SiteKey, hexadecimal};

/// What a site will release, and its guarantee for its own records.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    site: Site,
    /// `None` if its noise is not secret.
    guarantee: Option<Guarantee>,
    mechanisms: Vec<Event>,
}

/// The site's key in short form, which people compare.
fn fingerprint(workspace: &Workspace) -> Result<String> {
    Ok(SiteKey::find(workspace.folder())?.public().fingerprint())
}

/// Says who takes part, before a site waits for the others.
pub fn announcement(place: &Place, workspace: &Workspace) -> Result<String> {
    Ok(format!(
        "site {} of {}: key {}; waiting for the others in {}",
        place.name,
        place.sites.join(", "),
        fingerprint(workspace)?,
        place.folder.display()
    ))
}

/// Refuses what can be seen to be wrong before any data are read.
pub fn checked(place: Place) -> Result<Place> {
    let place = place.checked()?;
    if let Some(number) = place.may_collude {
        check_colluding(place.sites.len(), number)?;
    }
    Folder::open(&place.folder)?.check_new(&place.name)?;
    Ok(place)
}

/// Where the joint run in this directory meets the other sites.
pub fn place_of(directory: &Path) -> Option<Place> {
    let pinned: Pinned =
        serde_json::from_slice(&std::fs::read(directory.join(SITES)).ok()?).ok()?;
    Some(pinned.place)
}

/// Refuses one noise for all where this site does not know the keys of all others.
pub fn check_trust(place: &Place, workspace: &Workspace) -> Result<()> {
    place.check_trust(SiteKey::find(workspace.folder())?.public())
}

/// The sites that add one noise together, for the ledger.
pub(super) fn one_noise(place: Option<&Place>) -> Option<SharedNoise> {
    let (place, sites) = (place?, place?.sites.len());
    place.may_collude.map(|may_collude| SharedNoise { sites, may_collude })
}

/// Tells the others that this site ends before it was granted anything.
pub(super) fn say_stopped(workspace: &Workspace, place: &Place) {
    if let Ok(key) = SiteKey::find(workspace.folder()) {
        // The others notice by their timeout if it cannot be told.
        let _ = Meeting::stop(place, &key);
    }
}

/// A site that has met the others and knows how many records they have.
pub(super) struct Greeted(Meeting);

/// What the sites do together.
#[derive(Debug, Clone, Copy)]
pub(super) enum JointKind {
    Run,
    Ranking,
}

/// What a site wants to release together with the others.
pub(super) struct JointPlan<'a> {
    pub kind: JointKind,
    pub run: &'a RunId,
    pub noise: NoiseSource,
    pub calibrated: &'a Calibrated,
    /// The labels of its releases that are joined.
    pub joined: Vec<&'a str>,
    /// The file of the joint certificate.
    pub file: PathBuf,
}

/// The exchange of a run, and what its certificate says.
pub(super) struct JointRun {
    pub exchange: Box<dyn Exchange>,
    /// The names of the other sites.
    pub others: Vec<String>,
    /// With one noise for all: how many sites may put together what they know.
    pub may_collude: Option<usize>,
    pinned: Pinned,
}

/// Meets the other sites of a job, whose proposal is that of a site alone.
pub(super) fn greet(
    job: &Job,
    place: &Place,
    proposal: &Proposal,
    tell: &mut dyn FnMut(String),
) -> Result<Greeted> {
    check_method(job, proposal)?;
    let records = proposal.problem.shape.private_records;
    meet(place, (&job.workspace, &job.control), records, common(job, proposal)?, tell)
}

/// Meets the other sites. `common` must be the same at all of them.
pub(super) fn meet(
    place: &Place,
    (workspace, control): (&Workspace, &Control),
    records: usize,
    common: BTreeMap<String, String>,
    tell: &mut dyn FnMut(String),
) -> Result<Greeted> {
    let key = SiteKey::find(workspace.folder())?;
    // A site that starts again says hello with the same key as before, until a run has taken it.
    let masks = place.may_collude.map(|_| MaskKey::find(&workspace.folder().join(MASKS)));
    let masks = masks.transpose()?;
    let public = masks.as_ref().map(MaskKey::public);
    let hello = Hello { key: key.public(), masks: public, records, common };
    let mut waits_for = |missing: &str| tell(format!("waiting for {missing}"));
    let meeting = Meeting::greet(place.clone(), key, hello, is_stopped(control), &mut waits_for)?;
    match masks {
        Some(masks) => meeting.with_mask_key(masks).map(Greeted),
        None => Ok(Greeted(meeting)),
    }
}

/// Meets the sites of the run in this directory again, if it is a joint one.
pub(super) fn again(job: &Job, directory: &Path) -> Result<Option<Greeted>> {
    let path = directory.join(SITES);
    let Some(text) = std::fs::read(&path).if_there().doing("read the sites", &path)? else {
        return Ok(None);
    };
    let run = directory.file_name().unwrap_or_default().to_string_lossy();
    let cured_at = |error: Error, path: &Path| {
        let own = error.cure_text().unwrap_or("bring the file back from a copy, or settle the run");
        let cure = format!("{own}: `halflight ledger settle {run}`");
        error.at(path.display().to_string()).cure(cure)
    };
    let cured = |error| cured_at(error, &path);
    let unread =
        |why: String| cured(Error::failed(format!("the sites of the run cannot be read: {why}")));
    let pinned: Pinned =
        serde_json::from_slice(&text).map_err(|error| unread(error.to_string()))?;
    let hellos = pinned.files().map_err(|error| unread(error.what().to_owned()))?;
    let key = SiteKey::find(job.workspace.folder())?;
    let said = (pinned.protocol.as_str(), hellos);
    match Meeting::again(pinned.place.clone(), key, said, is_stopped(&job.control)) {
        Err(error) if error.place().is_none() => Err(cured(error)),
        Ok(meeting) if pinned.place.may_collude.is_some() => {
            let path = directory.join(MASKS);
            // A program that died before it took the key has left it where it was.
            let untaken = job.workspace.folder().join(MASKS);
            let at = if path.exists() { &path } else { &untaken };
            let met = MaskKey::read(at).and_then(|key| meeting.with_mask_key(key));
            let met = met.and_then(|meeting| {
                if at == &untaken {
                    move_key(&untaken, &path).doing("take the key of the masks", &untaken)?;
                }
                Ok(Some(Greeted(meeting)))
            });
            met.map_err(|error| cured_at(error, &path))
        }
        meeting => meeting.map(|meeting| Some(Greeted(meeting))),
    }
}

fn is_stopped(control: &Control) -> Box<dyn Fn() -> bool + Send> {
    let control = control.clone();
    Box::new(move || control.is_stopped() || control.is_left())
}

/// Refuses methods and plans whose releases are not means that can be joined.
fn check_method(job: &Job, proposal: &Proposal) -> Result<()> {
    check_plan(&job.plan)?;
    let releases = &proposal.prepared.plan().releases;
    if let Some(other) = releases.iter().find(|it| it.query.kind != QueryKind::Gaussian) {
        let what = format!("several sites cannot join the release '{}'", other.label);
        return Err(Error::usage(what).cure(which_join()));
    }
    if proposal.lineage.is_some() { Err(alone_only()) } else { Ok(()) }
}

/// Refuses plans that several sites cannot run together, as far as the plan alone says it.
pub fn check_plan(plan: &PlanDefinition) -> Result<()> {
    let spec = crate::methods::method(&plan.method)?.spec();
    if !spec.joins {
        let what = format!("several sites cannot run '{}' together", spec.id);
        return Err(Error::usage(what).cure(which_join()));
    }
    if plan.start.is_some() || plan.test.is_some() { Err(alone_only()) } else { Ok(()) }
}

fn alone_only() -> Error {
    Error::usage("a joint run starts from no earlier model, and scores its own held-out records")
        .cure("leave `start`, `test` and models of earlier runs out of the plan")
}

/// The methods that several sites can run together.
pub(super) fn which_join() -> String {
    let joins = crate::methods::methods().iter().map(|method| method.spec());
    let joins: Vec<&str> = joins.filter(|spec| spec.joins).map(|spec| spec.id).collect();
    format!("take one of {}, without samples of records", joins.join(", "))
}

/// What must be the same at all sites of a run. All of it is public.
fn common(job: &Job, proposal: &Proposal) -> Result<BTreeMap<String, String>> {
    let plan = &job.plan;
    let shape = &proposal.problem.shape;
    let adjacency = proposal.calibrated.guarantee().adjacency;
    let publics: Vec<&Loaded> = job.publics();
    let promised = (plan.target, adjacency);
    let mut all = common_of_all(JointKind::Run, promised, &proposal.preparation)?;
    let own = [
        ("method", plan.method.clone()),
        ("seed", plan.seed.to_string()),
        ("share held out", plan.holdout.to_string()),
        ("public records to use", words(plan.public_records.as_ref())),
        ("score", json!(plan.evaluation).to_string()),
        ("public predictor", words(plan.public_predictor.words(&plan.public).as_ref())),
        ("public records", shape.public_records.to_string()),
        ("most records of a person", shape.most_records.to_string()),
    ];
    all.extend(own.map(|(name, value)| (name.to_owned(), value)));
    for (key, value) in job.session.check_plan(plan)?.iter() {
        all.insert(format!("setting {key}"), value.to_string());
    }
    for (number, public) in (1..).zip(publics) {
        all.insert(format!("public dataset {number}"), rows_of(public));
    }
    Ok(all)
}

/// What must be the same at all sites whatever they do together. All of it is public.
pub(super) fn common_of_all(
    kind: JointKind,
    (target, adjacency): (Target, Adjacency),
    preparation: &Preparation,
) -> Result<BTreeMap<String, String>> {
    let text = serde_json::to_vec(preparation)
        .map_err(|error| Error::failed(format!("the preparation cannot be written: {error}")))?;
    let all = [
        ("what the sites do", kind.word().to_owned()),
        ("version of halflight", env!("CARGO_PKG_VERSION").to_owned()),
        ("version of the methods", STEPS_VERSION.to_string()),
        ("ε", target.epsilon.to_string()),
        ("δ", target.delta.to_string()),
        ("neighbours", adjacency.words().to_owned()),
        ("label", preparation.label_name().to_owned()),
        ("classes", preparation.class_names().join(", ")),
        ("features", preparation.feature_names().join(", ")),
        ("preparation", sha256(&text)),
    ];
    Ok(all.map(|(name, value)| (name.to_owned(), value)).into())
}

/// The digest of the rows of a public dataset.
pub(super) fn rows_of(public: &Loaded) -> String {
    public.definition.fingerprint.clone().unwrap_or_default()
}

fn words(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}

impl Greeted {
    /// The sites, as far as a plan depends on them.
    pub fn shape(&self) -> JointShape {
        let records: Vec<usize> = self.0.hellos().map(|(_, hello)| hello.records).collect();
        let may_collude = self.0.place().may_collude;
        JointShape { sites: records.len(), records: records.iter().sum(), may_collude }
    }

    /// What to say of each site before anything is spent.
    pub fn notes(&self) -> Vec<String> {
        let note = |(name, hello): (&str, &Hello)| {
            let own = if name == self.0.place().name { " (this one)" } else { "" };
            format!("site {name}{own}: {} records, key {}", hello.records, hello.key.fingerprint())
        };
        let one_noise = one_noise(Some(self.0.place())).map(|it| {
            let condition = SharedNoise::conditions([it]);
            format!(
                "one noise for all: the ε of each site holds {}",
                condition.trim_start_matches(", ")
            )
        });
        let several = "nobody checks whether somebody has records at several sites: `joint.json` says what \
                       holds then";
        self.0.hellos().map(note).chain(one_noise).chain([several.to_owned()]).collect()
    }

    /// Agrees with the other sites on the releases of a run.
    pub fn agree_on_run(
        self,
        job: &Job,
        proposal: &Proposal,
        run: &RunId,
        noise: NoiseSource,
    ) -> Result<JointRun> {
        let planned = &proposal.prepared.plan().releases;
        self.agree(JointPlan {
            kind: JointKind::Run,
            run,
            noise,
            calibrated: &proposal.calibrated,
            joined: planned.iter().map(|release| release.label).collect(),
            file: job.workspace.run_directory(run).join(JOINT),
        })
    }

    /// Agrees with the other sites on the noise of every release. Nothing is spent if they do not.
    pub fn agree(self, plan: JointPlan) -> Result<JointRun> {
        let Self(meeting) = self;
        let events = plan.calibrated.events();
        let name = meeting.place().name.clone();
        let records = meeting.hellos().find(|(site, _)| *site == name).map(|(_, it)| it.records);
        let scales = scales(events, &plan.joined);
        let own = Terms {
            site: Site { records: records.unwrap_or_default(), name, scales },
            guarantee: plan.noise.is_secret().then(|| plan.calibrated.guarantee().clone()),
            mechanisms: events.to_vec(),
        };
        let terms: Vec<Terms> = meeting.agree(&own)?;
        let may_collude = meeting.place().may_collude;
        let said = meeting.hellos().map(|(name, hello)| (name, hello.records));
        let said: Vec<(&str, usize)> = said.collect();
        check_terms(&terms, &said, (&own, &plan.joined), may_collude.is_some())?;
        let sites: Vec<Site> = terms.iter().map(|terms| terms.site.clone()).collect();
        let one_noise = may_collude.map(|number| OneNoise::new(&sites, number)).transpose()?;
        let mut certificate = certificate(&meeting, &terms, (plan.kind, plan.run));
        if let (Some(all), Some(number)) = (&one_noise, may_collude) {
            state_one_noise(&mut certificate, &terms, (all, number))?;
        }
        let own_name = &meeting.place().name;
        let others = meeting.hellos().map(|(name, _)| name).filter(|name| name != own_name);
        let pinned = Pinned {
            place: meeting.place().clone(),
            protocol: meeting.protocol().to_owned(),
            hellos: meeting.files().iter().map(|file| hexadecimal(file)).collect(),
        };
        Ok(JointRun {
            others: others.map(str::to_owned).collect(),
            may_collude,
            pinned,
            exchange: Box::new(FolderExchange {
                certificate,
                file: plan.file,
                sites,
                one_noise,
                own: own.site,
                meeting,
            }),
        })
    }
}

/// The scale of the noise in each joint release.
fn scales(events: &[Event], joined: &[&str]) -> BTreeMap<String, f64> {
    let joint = events.iter().filter(|event| joined.contains(&event.label.as_str()));
    joint.map(|event| (event.label.clone(), event.mechanism.noise.scale)).collect()
}

/// Refuses terms of other sites, records or releases than those of this run. All sites sign the mechanisms, so
/// the noise of all must follow from these alone.
fn check_terms(
    terms: &[Terms],
    said: &[(&str, usize)],
    (own, joined): (&Terms, &[&str]),
    have_one_noise: bool,
) -> Result<()> {
    for (Terms { site, mechanisms, .. }, (name, records)) in terms.iter().zip(said) {
        let is_same = site.name == *name && site.records == *records;
        let is_signed = site.scales == scales(mechanisms, joined);
        if !is_same || !is_signed || !site.scales.keys().eq(own.site.scales.keys()) {
            return Err(Error::refused(format!("site '{name}' plans other releases"))
                .cure("run the same program at all sites; nothing was spent"));
        }
    }
    let (known, secret): (Vec<&Terms>, Vec<&Terms>) =
        terms.iter().partition(|terms| terms.guarantee.is_none());
    match known.first() {
        Some(known) if have_one_noise && !secret.is_empty() => Err(Error::refused(format!(
            "the noise of site '{}' is known, so the one noise of all would hide less than is promised",
            known.site.name
        ))
        .cure("start it with secret noise; nothing was spent")),
        _ => Ok(()),
    }
}

impl JointRun {
    /// Takes the key of the masks from all later runs, before the first draw: a mask must never hide two
    /// values. A run that can be resumed keeps it in its directory.
    pub fn take_masks(&self, workspace: &Workspace, directory: Option<&Path>) -> Result<()> {
        if self.may_collude.is_none() {
            return Ok(());
        }
        let from = workspace.folder().join(MASKS);
        let taken = match directory {
            Some(directory) => move_key(&from, &directory.join(MASKS)),
            None => files::step::remove(&from)
                .and_then(|()| files::step::sync_folder(workspace.folder())),
        };
        taken.doing("take the key of the masks", &from).map_err(|error| {
            error.cure(
                "another program of this site may have taken it: nothing was drawn here, so settle this run \
                 with `halflight ledger settle`, and start all sites again with an empty folder",
            )
        })
    }

    /// Notes where and with whom the run in this directory takes part.
    pub fn pin(&self, directory: &Path) -> Result<()> {
        let text = format!("{:#}\n", json!(self.pinned));
        files::write_private(&directory.join(SITES), text.as_bytes())
    }
}

/// Moves a key, of which two programs that try at once get one.
fn move_key(from: &Path, to: &Path) -> std::io::Result<()> {
    files::step::rename(from, to)?;
    [to, from].into_iter().filter_map(Path::parent).try_for_each(files::step::sync_folder)
}

/// The exchange of releases in a folder.
struct FolderExchange {
    meeting: Meeting,
    sites: Vec<Site>,
    one_noise: Option<OneNoise>,
    own: Site,
    /// The joint certificate and its file.
    certificate: Value,
    file: PathBuf,
}

impl FolderExchange {
    fn present(&self) -> Vec<&Site> {
        self.meeting.present().iter().map(|site| &self.sites[*site]).collect()
    }

    /// Writes the joint certificate, with the sites that were left out.
    fn keep(&mut self) -> Result<()> {
        let left = self.meeting.left().map(|(name, last)| (name.to_owned(), json!(last)));
        self.certificate["left_after_release"] = Value::Object(left.collect());
        files::write_private(&self.file, format!("{:#}\n", self.certificate).as_bytes())
    }
}

impl Exchange for FolderExchange {
    fn joins(&self, label: &str) -> bool {
        self.own.scales.contains_key(label)
    }

    fn begin(&mut self) -> Result<()> {
        if self.certificate.get(SIGNED).is_some() {
            return Ok(());
        }
        self.meeting.begin(&digest(&self.certificate))?;
        let signed = self.meeting.signed();
        let signed = signed.map(|(name, file)| (name.to_owned(), json!(hexadecimal(file))));
        self.certificate[SIGNED] = Value::Object(signed.collect());
        self.keep()
    }

    fn scale(&self, label: &str) -> Result<f64> {
        match &self.one_noise {
            Some(all) => all.scale(label),
            None => joint_scale(&self.present(), label),
        }
    }

    fn has_one_noise(&self) -> bool {
        self.one_noise.is_some()
    }

    fn share(&mut self, label: &str) -> Result<Share> {
        let all = self.one_noise.as_ref();
        let all = all.ok_or_else(|| Error::failed("each site adds its own noise"))?;
        let masks = self.meeting.masks()?.into_iter().map(|(key, adds)| Mask { key, adds });
        Ok(Share::new(all.noise(label, &self.own)?, masks.collect()))
    }

    fn join(&mut self, label: &str, own: &[f64]) -> Result<Vec<f64>> {
        let before = self.meeting.present().len();
        let values = self.meeting.join(label, own)?;
        if self.meeting.present().len() < before {
            self.keep()?;
        }
        match &self.one_noise {
            Some(all) => all.joint_value(label, &values),
            None => Ok(joint_value(&self.present(), &values)),
        }
    }

    fn end(&mut self) -> Result<()> {
        self.meeting.end()
    }
}

/// What holds for the records of which site. It counts everything that the sites planned to draw.
fn certificate(meeting: &Meeting, terms: &[Terms], (kind, run): (JointKind, &RunId)) -> Value {
    let sites: Vec<Value> = terms
        .iter()
        .zip(meeting.hellos())
        .map(|(terms, (name, hello))| {
            json!({
                "name": name,
                "key": hello.key,
                "records": hello.records,
                "guarantee": terms.guarantee,
                "mechanisms": terms.mechanisms,
            })
        })
        .collect();
    json!({
        "kind": kind.word(),
        "format": 1,
        "halflight": env!("CARGO_PKG_VERSION"),
        "site": meeting.place().name,
        "run": run,
        "protocol": meeting.protocol(),
        "sites": sites,
        "statement": statement(terms, kind),
        "several": several(terms),
        "seen": SEEN,
    })
}

/// Says on which conditions the guarantees hold if all sites have one noise, and what is left without them.
fn state_one_noise(
    certificate: &mut Value,
    terms: &[Terms],
    (all, may_collude): (&OneNoise, usize),
) -> Result<()> {
    let shares = all.shares()?;
    let (mut alone, mut together) = (Vec::new(), Value::Null);
    for (at, terms) in terms.iter().enumerate() {
        let Some(promised) = &terms.guarantee else { continue };
        let mechanisms = all.alone(&terms.site, &terms.mechanisms)?;
        let found = Composition::of(&mechanisms)?.guarantee(promised.delta)?;
        // In four digits, so that it has the same bits at all sites.
        let epsilon = round_up(found.epsilon, 4);
        alone.push(format!("{}: ε = {epsilon}", terms.site.name));
        let epsilon: f64 = epsilon.parse().unwrap_or(f64::INFINITY);
        certificate["sites"][at]["alone"] =
            json!({"epsilon": epsilon, "delta": promised.delta, "mechanisms": mechanisms});
    }
    if let Some(delta) =
        terms.iter().map(|it| Some(it.guarantee.as_ref()?.delta)).sum::<Option<f64>>()
    {
        let events: Vec<&[Event]> = terms.iter().map(|it| it.mechanisms.as_slice()).collect();
        let (mechanisms, delta) = (all.together(&events)?, without_rounding(delta));
        let epsilon = round_up(Composition::of(&mechanisms)?.guarantee(delta)?.epsilon, 4);
        certificate["several"] = json!(format!(
            "One noise hides somebody with records at several sites, not one of each: at all of them, ε = \
             {epsilon} and δ = {}. Nobody has checked whether the same person has records at several sites.",
            delta_words(delta)
        ));
        let epsilon: f64 = epsilon.parse().unwrap_or(f64::INFINITY);
        together = json!({"epsilon": epsilon, "delta": delta, "mechanisms": mechanisms});
    }
    let alone = if alone.is_empty() { "NO GUARANTEE".to_owned() } else { alone.join("; ") };
    let adding = terms.len() - may_collude;
    certificate["one_noise"] = json!({
        "may_collude": may_collude,
        "shares": shares,
        "together": together,
        "words": format!(
            "All sites have one noise. The guarantees hold while at least {adding} of the {} sites add \
             their shares of it and tell them nobody, and while nobody can compute masks without their \
             keys (X25519, HKDF with SHA-256, ChaCha20). If all other sites put together what they know, \
             a site has its own share alone: {alone}, each at the δ of the guarantee.",
            terms.len(),
        ),
    });
    certificate["seen"] = json!(SEEN_OF_ONE_NOISE);
    Ok(())
}

/// The part of a joint certificate that holds each site's signature under the other parts.
const SIGNED: &str = "signed";
/// What differs from site to site.
const OWN: [&str; 3] = ["site", "run", "left_after_release"];

/// The digest of what a joint certificate says at all sites.
fn digest(certificate: &Value) -> String {
    let parts = certificate.as_object().into_iter().flatten();
    let common: BTreeMap<&String, &Value> =
        parts.filter(|(name, _)| !OWN.contains(&name.as_str())).collect();
    sha256(json!(common).to_string().as_bytes())
}

const SEEN: &str = "What a site sends to the others, and what everybody sees who can read the \
    exchange, was released before: it is counted here. Sites that put what they know together learn \
    no more than this about the records of another one.";

const SEEN_OF_ONE_NOISE: &str = "What a site sends to the others is hidden under masks. Who can read the \
    exchange learns the sum of all sites, with the noise that is counted here.";

impl JointKind {
    /// The name in files.
    fn word(self) -> &'static str {
        match self {
            Self::Run => "joint run",
            Self::Ranking => "joint ranking",
        }
    }

    /// What the sites did.
    fn done(self) -> &'static str {
        match self {
            Self::Run => "trained one model together",
            Self::Ranking => "ranked public datasets together",
        }
    }
}

fn statement(terms: &[Terms], kind: JointKind) -> String {
    let each = terms.iter().map(|Terms { site, guarantee, .. }| match guarantee {
        Some(it) => format!(
            "{} ({} records): ε = {} and δ = {} ({})",
            site.name,
            site.records,
            round_up(it.epsilon, 4),
            delta_words(it.delta),
            it.adjacency.words()
        ),
        None => {
            format!("{} ({} records): NO GUARANTEE, its noise is known", site.name, site.records)
        }
    });
    format!(
        "{} sites {}. Whoever has records at one of them is protected by (ε, δ)-differential privacy \
         with the numbers of this site. {}.",
        terms.len(),
        kind.done(),
        each.collect::<Vec<_>>().join("; ")
    )
}

/// A sum of δ without the last bits, which come from adding: 3e-5, not 3.0000000000000004e-5.
fn without_rounding(sum: f64) -> f64 {
    let short = (0..16).filter_map(|digits| format!("{sum:.digits$e}").parse().ok());
    short.into_iter().find(|short: &f64| *short >= sum * (1.0 - 1e-14)).unwrap_or(sum)
}

fn several(terms: &[Terms]) -> String {
    let all: Option<Vec<&Guarantee>> = terms.iter().map(|it| it.guarantee.as_ref()).collect();
    let sum = match all {
        Some(all) => format!(
            "at all of them, ε = {} and δ = {}",
            round_up(all.iter().map(|it| it.epsilon).sum(), 4),
            delta_words(without_rounding(all.iter().map(|it| it.delta).sum()))
        ),
        None => "at all of them, NO GUARANTEE".to_owned(),
    };
    format!(
        "Whoever has records at several sites adds up their ε and their δ: {sum}. Nobody has checked \
         whether the same person has records at several sites."
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread::scope;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::launch::execute_insecurely;
    use crate::model::Model;
    use crate::privacy::exchange::meeting;
    use crate::privacy::openings::OpenSpender as _;
    use crate::privacy::{Spender, Watch};
    use crate::session::{SavedModel, Session, dataset};

    const NAMES: [&str; 3] = ["A", "B", "C"];

    /// The rides of one season at each site, those of autumn in public.
    fn job(directory: &Path, name: &str, method: &str, season: usize) -> Job {
        let columns = "columns: only([\"hr\", \"temp\", \"hum\"])";
        let text = format!(
            "(version: 1, datasets: [
              (name: \"own\", role: private, source: builtin(\"bikeshare\"), label: \"bikers\",
               filter: \"season == {season}\", {columns}, sample: (rows: {rows})),
              (name: \"autumn\", role: public, source: builtin(\"bikeshare\"), label: \"bikers\",
               filter: \"season == 4\", {columns}, sample: (rows: 300))],
             budgets: {{\"own\": (epsilon: 8.0, delta: 1e-3)}},
             plans: [(name: \"plan\", method: \"{method}\", private: \"own\", public: [\"autumn\"],
               target: (epsilon: 1.0, delta: 1e-5), seed: 1)])",
            rows = 200 + 100 * season
        );
        let session = Session::parse(&text, "test").unwrap();
        let workspace = Workspace::fresh(&directory.join(name));
        let load = |it| Arc::new(dataset::load(it, &workspace).unwrap());
        let datasets = session.datasets.iter().map(load).collect();
        let plan = session.plans[0].clone();
        Job::new(session, plan, datasets, workspace)
    }

    fn jobs(directory: &Path, method: &str, may_collude: Option<usize>) -> Vec<Job> {
        let folder = directory.join("exchange");
        std::fs::create_dir(&folder).unwrap();
        let key = |name: &str| {
            let workspace = Workspace::fresh(&directory.join(name));
            (name.to_owned(), fingerprint(&workspace).unwrap())
        };
        let trusted: BTreeMap<String, String> = NAMES.map(key).into();
        let place = |name: &str| Place {
            folder: folder.clone(),
            name: name.to_owned(),
            sites: NAMES.map(str::to_owned).into(),
            timeout: Duration::from_mins(5),
            without_missing: false,
            may_collude,
            trusted: trusted.clone(),
        };
        let job = |(season, name)| Job {
            sites: Some(place(name)),
            ..job(directory, name, method, season)
        };
        (1..).zip(NAMES).map(job).collect()
    }

    /// The models of the sites if one process plays all of them, with noise from these seeds.
    fn in_one_process(jobs: &[Job], may_collude: Option<usize>) -> Vec<Model> {
        let jobs: Vec<Job> = jobs.iter().map(Job::in_known_order).collect();
        let alone = jobs.iter().map(|job| job.propose().unwrap().problem.shape.private_records);
        let records: Vec<usize> = alone.collect();
        let all = records.iter().sum();
        let joint = Some(JointShape { sites: jobs.len(), records: all, may_collude });
        let jobs = jobs.into_iter().map(|job| Job { joint, ..job });
        let assembled: Vec<_> = jobs.map(|job| job.assemble().unwrap()).collect();
        let sites: Vec<Site> = NAMES
            .iter()
            .zip(records)
            .zip(&assembled)
            .map(|((name, records), assembly)| {
                let events = assembly.proposal.calibrated.events().iter();
                let scales = events.map(|it| (it.label.clone(), it.mechanism.noise.scale));
                Site { name: (*name).to_owned(), records, scales: scales.collect() }
            })
            .collect();
        let one_noise = may_collude.map(|number| OneNoise::new(&sites, number).unwrap());
        scope(|scope| {
            let seats = assembled.into_iter().zip(meeting(&sites, one_noise.as_ref())).zip(1..);
            let threads: Vec<_> = seats
                .map(|((assembly, seat), seed)| {
                    scope.spawn(move || {
                        let noise = &assembly.proposal.calibrated;
                        let mut spender = Spender::rehearsal(noise, seed).joining(seat).unwrap();
                        let prepared = assembly.proposal.prepared;
                        let mut run = prepared.start(assembly.private, noise).unwrap();
                        let watch = Watch::sealed();
                        run.drive(&mut spender, &watch, |_, _, _| Ok(())).unwrap();
                        run.finish().unwrap().into_inner()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// A site's share and the steps in which it counts follow from `scales`, which nobody signs.
    #[test]
    fn terms_whose_scales_are_not_those_of_the_signed_mechanisms_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let jobs = jobs(directory.path(), "public_shape", Some(1));
        let made: Vec<Proposal> = jobs.iter().map(|job| job.propose().unwrap()).collect();
        let labels: Vec<&str> =
            made[0].prepared.plan().releases.iter().map(|release| release.label).collect();
        let terms = |(name, made): (&str, &Proposal)| {
            let mechanisms = made.calibrated.events().to_vec();
            let records = made.problem.shape.private_records;
            let scales = scales(&mechanisms, &labels);
            Terms {
                site: Site { name: name.to_owned(), records, scales },
                guarantee: Some(made.calibrated.guarantee().clone()),
                mechanisms,
            }
        };
        let make = || NAMES.into_iter().zip(&made).map(terms).collect::<Vec<Terms>>();
        let check = |terms: &[Terms], have_one_noise| {
            let own = make();
            let said: Vec<(&str, usize)> =
                own.iter().map(|it| (it.site.name.as_str(), it.site.records)).collect();
            check_terms(terms, &said, (&own[0], &labels), have_one_noise)
        };
        assert!(check(&make(), true).is_ok() && check(&make(), false).is_ok());
        for change in [0.5, 1.0 + f64::EPSILON, 2.0] {
            let mut changed = make();
            *changed[2].site.scales.values_mut().next().unwrap() *= change;
            let error = check(&changed, true).unwrap_err();
            assert!(error.what().contains("site 'C' plans other releases"), "{change}: {error}");
        }
        let mut fewer = make();
        fewer[1].site.records -= 1;
        assert!(check(&fewer, true).is_err());
        // A noise that is known is a share less; where all are known, nothing is promised.
        let mut known = make();
        known[1].guarantee = None;
        let error = check(&known, true).unwrap_err();
        assert!(error.what().contains("the noise of site 'B' is known"), "{error}");
        assert!(check(&known, false).is_ok());
        for terms in &mut known {
            terms.guarantee = None;
        }
        assert!(check(&known, true).is_ok());
    }

    #[test]
    fn sites_in_a_folder_get_the_same_bits_as_if_one_process_played_them() {
        let mut own_noise = Vec::new();
        for (method, may_collude) in
            [("public_shape", None), ("target_only", None), ("public_shape", Some(1))]
        {
            let directory = tempfile::tempdir().unwrap();
            let jobs = jobs(directory.path(), method, may_collude);
            let began = Instant::now();
            let models: Vec<Model> = scope(|scope| {
                let run = |(job, seed)| {
                    scope.spawn(move || execute_insecurely(job, seed, &mut |_| ()).unwrap())
                };
                let threads: Vec<_> = jobs.iter().zip(1..).map(run).collect();
                let summaries = threads.into_iter().map(|thread| thread.join().unwrap());
                summaries.map(|it| SavedModel::open(&it.directory).unwrap().model).collect()
            });
            println!("{method}: {:?}", began.elapsed());
            let played = in_one_process(&jobs, may_collude);
            assert!(!own_noise.contains(&models[0]), "one noise is another one");
            own_noise.push(models[0].clone());
            for site in &models {
                assert_eq!(*site, models[0], "{method}");
                assert!(*site == played[0] && played[0] == played[2], "{method}");
            }
        }
    }
}
