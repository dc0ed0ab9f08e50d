//! A session's settings for ranking its public datasets.

use serde::{Deserialize, Serialize};

use super::{PlanDefinition, Session};
use crate::data::{PreparationSettings, Role, Task};
use crate::error::{Error, Result};
use crate::methods;
use crate::model::Activation;
use crate::privacy::Target;
use crate::rank::{ProbeModel, RankingMechanism, RankingSettings};

/// Every field has a default: a session need not mention ranking.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RankingDefinition {
    /// Name of the private dataset; by default that of the first plan, or the first private one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<String>,
    /// Names of the candidates; all public datasets if this is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub public: Vec<String>,
    /// How features are brought into bounds: best as in the later plan. The intercept is left out,
    /// because the models have one.
    pub preparation: PreparationSettings,
    /// Bring images of another size to that of the private ones (grey where channels differ).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resize: bool,
    pub settings: RankingSettings,
    /// What a private ranking releases; by default the errors where there are labels, else the name
    /// of the best dataset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<RankingMechanism>,
    /// ε of a private ranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// δ of a private ranking; by default that of the private dataset's budget, or 10⁻⁶.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
}

impl RankingDefinition {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Follows a plan: its private dataset, its scaling, and gradients of its model. A network gets
    /// the units of the plan's settings.
    pub fn follow(&mut self, plan: &PlanDefinition) -> Result<()> {
        let settings = methods::method(&plan.method)?.spec().check(&plan.settings)?;
        self.private = Some(plan.private.clone());
        self.preparation = plan.preparation.clone();
        let units = settings.iter().find(|(key, _)| *key == "units").map(|(_, value)| value);
        self.settings.model = match units {
            Some(methods::Value::Number(units)) => {
                ProbeModel::Perceptron(*units as usize, Activation::Tanh)
            }
            _ => ProbeModel::Linear,
        };
        Ok(())
    }

    /// The model whose gradients are compared, in words: a linear one depends on the label.
    pub fn model_words(&self, session: &Session) -> String {
        let private = self.private_name(session).ok().and_then(|name| session.dataset(name).ok());
        let task = private.filter(|it| it.label.is_some()).map(|it| it.task);
        match (self.settings.model, task) {
            (ProbeModel::Linear, Some(Task::Regression)) => "linear regression".to_owned(),
            (ProbeModel::Linear, None) => "a linear model".to_owned(),
            (model, _) => model.words(),
        }
    }

    pub(super) fn check(&self, session: &Session) -> Result<()> {
        let role = |name: &String, role: Role| -> Result<()> {
            if session.dataset(name)?.role == role {
                return Ok(());
            }
            let (is, wanted) = match role {
                Role::Public => ("private", "public"),
                Role::Private => ("public", "private"),
            };
            Err(Error::usage(format!("'{name}' is {is}, and the ranking wants it {wanted}"))
                .cure("name another dataset in `ranking`, or change its role"))
        };
        self.private.iter().try_for_each(|name| role(name, Role::Private))?;
        self.public.iter().try_for_each(|name| role(name, Role::Public))?;
        if let Some(epsilon) = self.epsilon {
            Target::new(epsilon, self.delta(session))?;
        }
        self.settings.check()
    }

    /// What a private ranking releases.
    pub fn mechanism(&self, session: &Session) -> RankingMechanism {
        self.mechanism.unwrap_or(if self.has_labels(session) {
            RankingMechanism::Errors
        } else {
            RankingMechanism::PermuteAndFlip
        })
    }

    /// δ of a private ranking.
    pub fn delta(&self, session: &Session) -> f64 {
        let private = self.private_name(session).ok();
        let budget = private.and_then(|name| session.budgets.get(name));
        self.delta.or(budget.map(|budget| budget.delta)).unwrap_or(1e-6)
    }

    /// The name of the private dataset.
    pub fn private_name<'a>(&'a self, session: &'a Session) -> Result<&'a str> {
        let of_plan = session.plans.first().map(|plan| plan.private.as_str());
        let first = session.datasets.iter().find(|dataset| dataset.role == Role::Private);
        let named = self.private.as_deref().or(of_plan);
        named.or(first.map(|dataset| dataset.name.as_str())).ok_or_else(|| {
            Error::usage("the session has no private dataset to rank for")
                .cure("give one the role private")
        })
    }

    /// Whether the errors of the candidates' own models can be computed: both sides have labels.
    pub fn has_labels(&self, session: &Session) -> bool {
        let labelled = |name: &str| session.dataset(name).is_ok_and(|it| it.label.is_some());
        self.private_name(session).is_ok_and(labelled)
            && self.public_names(session).into_iter().filter(|name| labelled(name)).count() > 1
    }

    /// The names of the candidates.
    pub fn public_names<'a>(&'a self, session: &'a Session) -> Vec<&'a str> {
        if !self.public.is_empty() {
            return self.public.iter().map(String::as_str).collect();
        }
        let public = session.datasets.iter().filter(|dataset| dataset.role == Role::Public);
        public.map(|dataset| dataset.name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;

    #[test]
    fn following_a_plan_takes_its_scaling_and_its_model() {
        let mut session = demo::session("bikeshare").unwrap();
        let mut plan = session.plans[0].clone();
        plan.preparation.features = crate::data::preparation::FeatureScaling::Declared(2.0);
        session.ranking.follow(&plan).unwrap();
        assert_eq!(session.ranking.preparation, plan.preparation);
        assert_eq!(session.ranking.settings.model, ProbeModel::Linear);
        session.check().unwrap();
        plan.method = "ncnvx_adap".to_owned();
        plan.settings = [("units".to_owned(), methods::Value::Number(7.0))].into();
        session.ranking.follow(&plan).unwrap();
        let network = ProbeModel::Perceptron(7, Activation::Tanh);
        assert_eq!(session.ranking.settings.model, network);
        plan.method = "nothing".to_owned();
        assert!(session.ranking.follow(&plan).is_err());
    }

    #[test]
    fn a_session_without_a_word_on_ranking_ranks_all_its_public_datasets() {
        let mut session = demo::session("bikeshare").unwrap();
        assert!(session.ranking.is_default() && !session.to_ron().unwrap().contains("ranking"));
        let private = session.ranking.private_name(&session).unwrap().to_owned();
        assert_eq!(private, session.plans[0].private);
        let all = session.ranking.public_names(&session).len();
        assert_eq!(all, session.datasets.iter().filter(|it| it.role == Role::Public).count());

        session.ranking.settings.repeats = 5;
        session.ranking.private = Some(private.clone());
        let text = session.to_ron().unwrap();
        assert_eq!(Session::parse(&text, "s").unwrap(), session);

        session.ranking.public = vec![private];
        assert!(session.check().unwrap_err().to_string().contains("wants it public"));
        session.ranking = RankingDefinition::default();
        session.ranking.settings.repeats = 1;
        assert!(session.check().is_err());
    }
}
