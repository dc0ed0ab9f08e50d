//! The session file: one RON value, `version: 1`.
//!
//! | module | holds |
//! |---|---|
//! | [`ranking`] | the settings for ranking the public datasets, and the datasets that they mean |
//! | `syntax` | what is wrong with a session file that cannot be read |
//! | [`plan_field`] | the fields of a plan under the names that people read |
//! | [`plan_name`] | the name of a plan until its user names it |
//! | [`changes`] | the differences between two versions of a session |

pub mod changes;
pub mod plan_field;
pub mod plan_name;
pub mod ranking;
mod syntax;

use std::collections::BTreeMap;
use std::path::Path;

use ron::extensions::Extensions;
use ron::ser::PrettyConfig;
use serde::{Deserialize, Serialize};

use crate::data::names::hint_or_all;
use crate::data::{DatasetDefinition, PreparationSettings, Role};
use crate::error::{Error, Result};
use crate::evaluation::{Evaluation, Loss, Pay};
use crate::files;
use crate::methods::baselines::public_only;
use crate::methods::{self, PublicPredictor, Settings, Spec, Value};
use crate::privacy::Target;
use crate::privacy::ledger::Budget;
use crate::rehearsal::player::Player;
use crate::store::Workspace;

pub use self::ranking::RankingDefinition;

pub const VERSION: u32 = 1;

/// Everything a colleague needs to repeat the work, except the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    pub version: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default)]
    pub datasets: Vec<DatasetDefinition>,
    /// Budgets of private datasets, by name. They open an account that has none
    /// yet; once the ledger holds a budget, the ledger decides.
    #[serde(default)]
    pub budgets: BTreeMap<String, Budget>,
    #[serde(default)]
    pub plans: Vec<PlanDefinition>,
    /// How the public datasets are ranked.
    #[serde(default, skip_serializing_if = "RankingDefinition::is_default")]
    pub ranking: RankingDefinition,
    /// Whether no exact number about private data is computed or shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sealed: bool,
}

/// The setting of a method that says whom the promise protects.
const NEIGHBOURS: &str = "neighbours";

/// One run to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanDefinition {
    pub name: String,
    pub method: String,
    /// Name of the private dataset.
    pub private: String,
    /// Names of the public datasets it is adapted from, pooled.
    pub public: Vec<String>,
    pub target: Target,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Value>,
    #[serde(default)]
    pub preparation: PreparationSettings,
    /// Share of the records of each side that only evaluate.
    #[serde(default = "default_holdout")]
    pub holdout: f64,
    /// How many records of each side train, chosen by the seed; by default all that are not held
    /// out. With the same seed, a larger plan includes the records of a smaller one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_records: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_records: Option<usize>,
    /// The score of the model on held-out private records that the run releases; none without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// A private dataset of other records that scores the model instead of held-out ones. It pays
    /// from an account of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The seed of the hold-out split and of everything else that is not noise.
    #[serde(default)]
    pub seed: u64,
    /// Run directory or `model.ron` of an earlier run from whose model training starts, relative
    /// to the session file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// A model of public records whose score becomes a further feature of every record.
    #[serde(default, skip_serializing_if = "PublicPredictor::is_none")]
    pub public_predictor: PublicPredictor,
    /// The user vouches that the starting model, or that of the public predictor, was trained
    /// without private data; the certificate repeats this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start_is_public: bool,
    /// Allows δ ≥ 1/n, where publishing single records would satisfy the guarantee.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_large_delta: bool,
}

impl PlanDefinition {
    /// Changes the method: the settings of the old method have no meaning for it, and its noise may
    /// cover no score.
    pub fn take_method(&mut self, id: &str) {
        id.clone_into(&mut self.method);
        self.settings.clear();
        let spec = methods::method(id).ok().map(methods::Method::spec);
        if spec.is_some_and(|spec| spec.check_predictor(&self.public_predictor).is_err()) {
            self.public_predictor = PublicPredictor::None;
        }
        let covers = spec.is_some_and(|spec| spec.covers_scores);
        if !covers && self.evaluation.is_some_and(|asked| asked.pay == Pay::Covered) {
            self.evaluation = None;
        }
    }

    /// The public predictors that public data alone get: those of a method with predictors of its own. A
    /// finished model they always get, because its gains are none of the plan's.
    pub fn given_predictor(&self) -> PublicPredictor {
        let wanted = &self.public_predictor;
        if methods::method(&self.method).is_ok_and(|it| it.spec().has_own_predictor) {
            return wanted.clone();
        }
        wanted.model().map_or(PublicPredictor::None, |path| PublicPredictor::Model(path.to_owned()))
    }

    /// Whether the plan uses the dataset of this name.
    pub fn uses(&self, name: &str) -> bool {
        self.private == name
            || self.public.iter().any(|public| public == name)
            || self.test.as_deref() == Some(name)
    }

    /// The score on held-out records that the run itself pays for.
    pub fn own_score(&self) -> Option<Evaluation> {
        self.evaluation.filter(|_| self.test.is_none())
    }

    /// The error of numbers by which the plan is judged: that of its score.
    pub fn loss(&self) -> Loss {
        self.evaluation.unwrap_or_default().loss
    }

    /// The plan with the paths of its models made absolute.
    pub fn resolved(&self, workspace: &Workspace) -> Self {
        let absolute = |path: &String| workspace.resolve(path).display().to_string();
        let model = |path: &str| workspace.resolve(path).display().to_string();
        let public_predictor = self.public_predictor.with_models(&model);
        Self { start: self.start.as_ref().map(absolute), public_predictor, ..self.clone() }
    }

    /// The plan as a player of rehearsals.
    pub fn player(&self) -> Player {
        Player::of_plan(&self.method, &self.settings, &self.public_predictor)
    }

    /// Whether a run of the plan spends anything. A model of public data alone does not, unless its
    /// score on private records is released.
    pub fn spends(&self) -> bool {
        self.player().spends() || self.evaluation.is_some()
    }

    /// Takes over the method and the settings of a player; false if no plan can have them. Whom the plan
    /// protects stays as the user chose it, where the method leaves the choice.
    pub fn take_player(&mut self, player: &Player) -> bool {
        let id = match player {
            Player::Method { id, .. } => id.as_str(),
            Player::PublicOnly => {
                public_only::id_for(methods::task_of(&self.method).unwrap_or_default())
            }
            Player::NoPrivacy => return false,
        };
        let (settings, predictor) = player.settings();
        let kept = self.settings.remove_entry(NEIGHBOURS);
        self.take_method(id);
        self.settings = settings;
        let spec = methods::method(id).ok().map(methods::Method::spec);
        if spec.is_some_and(|spec| spec.field(NEIGHBOURS).is_some()) {
            self.settings.remove(NEIGHBOURS);
            self.settings.extend(kept);
        }
        // What is given to a method with predictors of its own is no setting of the player.
        if !methods::method(id).is_ok_and(|method| method.spec().has_own_predictor) {
            self.public_predictor = predictor;
        }
        true
    }
}

fn default_holdout() -> f64 {
    0.2
}

impl Default for Session {
    fn default() -> Self {
        let (datasets, budgets, plans) = (Vec::new(), BTreeMap::new(), Vec::new());
        let (name, ranking) = (String::new(), RankingDefinition::default());
        Self { version: VERSION, name, datasets, budgets, plans, ranking, sealed: false }
    }
}

impl Session {
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => {
                Error::failed("this is not a text file in UTF-8, so not a session")
                    .at(path.display().to_string())
                    .cure("if it is a session, save it again in UTF-8 with your editor")
            }
            _ => Error::io("read", path, &error),
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads a session; `origin` is named in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self> {
        let session: Self =
            options().from_str(text).map_err(|error| syntax::refusal(&error, text, origin))?;
        if session.version != VERSION {
            return Err(Error::failed(format!("the session has version {}", session.version))
                .at(origin)
                .cure(format!("this halflight reads version {VERSION}; use a matching release")));
        }
        session.check().map_err(|error| error.at(origin))?;
        Ok(session)
    }

    /// Writes only what can be opened again.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.check().map_err(|error| error.within("not saved"))?;
        files::write_keeping_previous(path, self.to_ron()?.as_bytes())
    }

    pub fn to_ron(&self) -> Result<String> {
        Ok(to_ron(self)? + "\n")
    }

    pub fn dataset(&self, name: &str) -> Result<&DatasetDefinition> {
        find(&self.datasets, "dataset", name, |dataset| &dataset.name)
    }

    pub fn plan(&self, name: &str) -> Result<&PlanDefinition> {
        find(&self.plans, "plan", name, |plan| &plan.name)
    }

    /// Checks that names are unique and refer to something, and that settings are in range.
    pub fn check(&self) -> Result<()> {
        for (index, dataset) in self.datasets.iter().enumerate() {
            if dataset.name.trim().is_empty() {
                return Err(Error::usage(format!("dataset number {} has no name", index + 1)));
            }
            if self.datasets[..index].iter().any(|other| other.name == dataset.name) {
                return Err(Error::usage(format!("two datasets are called '{}'", dataset.name))
                    .cure("rename one of them"));
            }
            dataset.check()?;
        }
        for (index, plan) in self.plans.iter().enumerate() {
            if self.plans[..index].iter().any(|other| other.name == plan.name) {
                return Err(Error::usage(format!("two plans are called '{}'", plan.name))
                    .cure("rename one of them"));
            }
            self.check_plan(plan)
                .map_err(|error| error.within(&format!("plan '{}'", plan.name)))?;
        }
        self.ranking.check(self)?;
        for name in self.budgets.keys() {
            self.dataset(name)?;
        }
        Ok(())
    }

    /// Everything about a plan that can be checked without data.
    pub fn check_plan(&self, plan: &PlanDefinition) -> Result<Settings> {
        let private = self.dataset(&plan.private)?;
        if private.role != Role::Private {
            return Err(Error::usage(format!("'{}' is not a private dataset", plan.private))
                .cure("give it the role private, or choose another one"));
        }
        if plan.public.is_empty() {
            return Err(Error::usage("no public dataset is chosen")
                .cure("choose at least one public dataset to adapt from"));
        }
        for name in &plan.public {
            if self.dataset(name)?.role != Role::Public {
                return Err(Error::usage(format!(
                    "'{name}' is private, and is listed among the public data"
                ))
                .cure("choose public datasets only"));
            }
        }
        if plan.holdout != 0.0 && !(0.05..=0.9).contains(&plan.holdout) {
            return Err(Error::usage(format!("the hold-out share is {}", plan.holdout))
                .cure("give a number from 0.05 to 0.9, or 0 to train on all records"));
        }
        if let Some(evaluation) = &plan.evaluation {
            evaluation.check()?;
        }
        if let Some(test) = &plan.test {
            self.check_test(plan, private, test)?;
        }
        let spec = methods::method(&plan.method)?.spec();
        if plan.start.is_some() && !spec.starts_from_a_model {
            return Err(Error::usage(format!("{} does not start from a model", spec.id))
                .cure("leave `start` out, or choose the method pretraining"));
        }
        if !plan.public_predictor.is_none() {
            plan.public_predictor.check()?;
            spec.check_predictor(&plan.public_predictor)?;
            if plan.start.is_some() {
                return Err(Error::usage(
                    "a plan that starts from a model takes over its public predictor, and no other",
                )
                .cure("leave `public_predictor` or `start` out"));
            }
        }
        // Labels of public records that a method does not use may be of any kind.
        let publics = plan.public.iter().filter(|_| spec.needs_public_labels);
        for name in publics.chain([&plan.private]) {
            check_task(self.dataset(name)?, spec)?;
        }
        spec.check(&plan.settings)
    }

    /// The records that score a model instead of held-out ones.
    fn check_test(
        &self,
        plan: &PlanDefinition,
        private: &DatasetDefinition,
        name: &str,
    ) -> Result<()> {
        let test = self.dataset(name)?;
        if test.role != Role::Private {
            return Err(Error::usage(format!("the test dataset '{name}' is public")).cure(
                "give it the role private; `halflight predict --score --public` scores a \
                       model on public records, without noise",
            ));
        }
        if name == plan.private {
            return Err(Error::usage(format!("'{name}' both trains and tests")).cure(
                "leave `test` out and hold records out, or name a dataset of other records",
            ));
        }
        if test.label.is_none() || (&test.label, test.task) != (&private.label, private.task) {
            return Err(Error::usage(format!(
                "the test dataset '{name}' has no label like that of '{}'",
                plan.private
            ))
            .cure("give both the same label column and task"));
        }
        match plan.evaluation.map(|asked| asked.pay) {
            Some(Pay::Epsilon(_)) => Ok(()),
            _ => Err(Error::usage(format!(
                "what the score may cost the records of '{name}' is not said"
            ))
            .cure("give it an ε: `evaluation: (pay: epsilon(0.5))`")),
        }
    }
}

fn find<'a, T>(
    all: &'a [T],
    what: &str,
    wanted: &str,
    name: impl Fn(&T) -> &String,
) -> Result<&'a T> {
    all.iter().find(|it| name(it) == wanted).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|it| name(it).as_str()).collect();
        Error::usage(format!("there is no {what} '{wanted}' in the session")).cure(hint_or_all(
            wanted,
            &known,
            &format!("its {what}s are"),
        ))
    })
}

/// A method that learns numbers cannot learn classes. Records without labels fit any.
fn check_task(dataset: &DatasetDefinition, spec: &Spec) -> Result<()> {
    if dataset.label.is_none() || dataset.task == spec.task {
        return Ok(());
    }
    let specs = methods::methods().iter().map(|method| method.spec());
    let fitting: Vec<_> =
        specs.filter(|spec| spec.task == dataset.task).map(|spec| spec.id).collect();
    let choice = match fitting.as_slice() {
        [] => String::new(),
        fitting => format!("choose a method for it ({}), or ", fitting.join(", ")),
    };
    Err(Error::usage(format!(
        "{} is a method for {}, and dataset '{}' is a {}",
        spec.id, spec.task, dataset.name, dataset.task
    ))
    .cure(format!("{choice}set `task: {}` on the dataset", spec.task)))
}

/// The value in the format of a session file.
pub fn to_ron<T: Serialize>(value: &T) -> Result<String> {
    let pretty = PrettyConfig::new()
        .extensions(Extensions::IMPLICIT_SOME)
        .indentor("  ")
        .depth_limit(6)
        .compact_arrays(true);
    options()
        .to_string_pretty(value, pretty)
        .map_err(|error| Error::failed(format!("the session cannot be written: {error}")))
}

/// The value of this text, if it has one.
pub fn of_ron<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    options().from_str(text).ok()
}

fn options() -> ron::Options {
    ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::public_predictor;

    /// A session with a private and a public dataset, each with further fields.
    fn session(private: &str, public: &str) -> Result<Session> {
        let text = format!(
            "(version: 1, datasets: [
              (name: \"ours\", role: private, source: file(\"a.csv\"){private}),
              (name: \"theirs\", role: public, source: file(\"b.csv\"), label: \"y\"{public}),
            ], plans: [(name: \"first\", method: \"profiled_cnvx_adap\", private: \"ours\",
              public: [\"theirs\"], target: (epsilon: 1.0, delta: 1e-5))])"
        );
        Session::parse(&text, "s.ron")
    }

    #[test]
    fn an_earlier_copy_is_named_only_if_it_exists() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session.ron");
        std::fs::write(&path, "(version: 1, datasets: [[").unwrap();
        let cure = || Session::open(&path).unwrap_err().to_string();
        assert!(cure().contains("write ( before them"), "{}", cure());
        assert!(!cure().contains("previous"), "{}", cure());
        std::fs::write(directory.path().join("session.ron.previous"), "()").unwrap();
        assert!(cure().contains("session.ron.previous"), "{}", cure());
        std::fs::write(&path, "(version: 1, datasets: [(rol: private)])").unwrap();
        assert!(cure().contains("'rol' is not a field here"), "{}", cure());
        assert!(cure().contains("did you mean 'role'?"), "{}", cure());
    }

    fn refusal(private: &str, public: &str) -> String {
        session(private, public).unwrap_err().to_string()
    }

    #[test]
    fn a_plan_whose_method_has_another_task_is_refused_with_both_cures() {
        assert!(session(", label: \"y\"", "").is_ok());
        let error = refusal("", ", task: classification");
        assert!(
            error.contains(
                "plan 'first': profiled_cnvx_adap is a method for regression, and dataset \
                 'theirs' is a classification"
            ),
            "{error}"
        );
        assert!(error.contains("set `task: regression` on the dataset"), "{error}");
        assert!(refusal(", label: \"y\", task: classification", "").contains("'ours' is a class"));
        // Records without labels have no task.
        assert!(session(", task: classification", "").is_ok());
    }

    #[test]
    fn a_plan_has_a_public_predictor_only_where_it_says_so() {
        let plan_of = |more: &str| {
            let written = session("", "").unwrap().to_ron().unwrap();
            assert!(!written.contains("public_predictor"), "{written}");
            Session::parse(&written.replace("seed: 0", &format!("seed: 0{more}")), "s.ron")
        };
        assert!(plan_of("").unwrap().plans[0].public_predictor.is_none());
        let found = plan_of(", public_predictor: column(\"risk\")").unwrap();
        let asked = PublicPredictor::Column("risk".to_owned());
        assert_eq!(found.plans[0].public_predictor, asked);
        assert_eq!(Session::parse(&found.to_ron().unwrap(), "s.ron").unwrap(), found);
        let error = plan_of(", public_predictor: forest").unwrap_err().to_string();
        for wanted in ["s.ron:", "forest", public_predictor::IN_A_FILE] {
            assert!(error.contains(wanted), "{wanted}: {error}");
        }
        let mut plan = found.plans[0].clone();
        let player = plan.player();
        plan.public_predictor = PublicPredictor::None;
        assert!(plan.take_player(&player) && plan == found.plans[0]);
        // A method that trains trees itself keeps a column, and takes no trees.
        plan.take_method("public_shape");
        assert_eq!(plan.public_predictor, asked);
        assert!(plan.take_player(&plan.player()) && plan.public_predictor == asked);
        // Whom the plan protects is not the player's to change.
        let blanked = Value::Text("zero_out".to_owned());
        plan.settings.insert(NEIGHBOURS.to_owned(), blanked.clone());
        assert!(plan.take_player(&Player::method("public_shape")));
        assert_eq!(plan.settings.get(NEIGHBOURS), Some(&blanked));
        plan.take_method("public_shape");
        let several = PublicPredictor::parse("trees + column(risk)").unwrap();
        assert_eq!(several.to_string(), "trees + column(\"risk\")");
        plan.public_predictor = several.clone();
        let error = found.check_plan(&plan).unwrap_err().to_string();
        assert!(error.contains("trains trees and a linear model itself"), "{error}");
        plan.take_method("target_only");
        assert!(plan.public_predictor == several);
        plan.take_method("public_shape");
        assert!(plan.public_predictor.is_none());
        let texts = [
            "column(a) + column(a)",
            "trees + none",
            "model(a) + model(b)",
            "column(a) + column(b) + column(c) + column(d) + column(e) + column(f) + column(g) + \
             column(h) + column(i)",
        ];
        for text in texts {
            let error = PublicPredictor::parse(text).unwrap_err();
            assert!(error.to_string().contains("what to do"), "{text}: {error}");
        }
        let file = plan_of(", public_predictor: several([trees, column(\"risk\")])").unwrap();
        assert_eq!(file.plans[0].public_predictor, several);
        assert_eq!(Session::parse(&file.to_ron().unwrap(), "s.ron").unwrap(), file);
    }

    #[test]
    fn a_session_without_a_name_is_written_without_one() {
        let written = session("", "").unwrap().to_ron().unwrap();
        assert!(!written.contains("name: \"\""), "{written}");
        assert_eq!(Session::parse(&written, "s.ron").unwrap(), session("", "").unwrap());
    }

    #[test]
    fn definitions_that_contradict_themselves_are_refused_by_name() {
        let error = refusal("", ", classes: [\"no\", \"yes\"]");
        assert!(error.contains("dataset 'theirs': it lists classes"), "{error}");
        let error = refusal(", unknown_labels: count_as(\"no\")", "");
        assert!(error.contains("dataset 'ours': it lists classes"), "{error}");
        let task = ", task: classification, classes: [\"no\", \"yes\"]";
        let error = refusal(&format!("{task}, unknown_labels: count_as(\"never\")"), "");
        assert!(error.contains("count as 'never', which is not a class"), "{error}");
        let error = refusal(", task: classification, classes: [\"no\"]", "");
        assert!(error.contains("only one class"), "{error}");
    }
}
