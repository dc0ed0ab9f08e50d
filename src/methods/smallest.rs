//! One noisy gradient step: the smallest complete method.

use crate::prelude::*;
use crate::privacy::openings::{OpenPrivate, OpenReleased};

settings! {
    struct OneStepSettings {
        rate: f64 = real(0.0, 10.0, 1.0).named("rate", "")
            .help("How far the model goes along the released slope."),
    }
}

static SPEC: Spec = Spec {
    id: "one_step",
    name: "one step",
    paper: "One step",
    summary: "Linear regression by one noisy gradient step from zero.",
    line: "one noisy step",
    task: Task::Regression,
    fields: OneStepSettings::FIELDS,
    tries: &[("rate", &[0.3, 3.0])],
    ..Spec::DEFAULT
};

pub const METHOD: &Method = &Method { spec: &SPEC, plan };

#[allow(clippy::needless_pass_by_value)] // Methods that learn from its public data keep them.
fn plan(settings: &Settings, problem: Problem, _: Target) -> Result<(Plan, Start)> {
    let OneStepSettings { rate } = OneStepSettings::of(settings)?;
    let ProblemShape { dimension, private_records, most_records, bounds, .. } = problem.shape;
    // The longest gradient of one record, and so of one person, who counts as the mean of their
    // records; records are clipped to these bounds before they come here.
    let longest = bounds.label * bounds.feature_norm;
    let n = private_records as f64;
    let rounding = 1.0 + n * summation_error(private_records * most_records + 16);
    let sensitivity = 2.0 * longest / n * rounding;
    let slope = Release::new("slope", Gaussian { sensitivity, numbers: dimension });
    let what = format!("the mean of labels times features, {dimension} numbers once");
    let share = Allotment::Share(1.0);
    let announced = slope.announced(what, 1, share, Adjacency::ReplaceOne);
    let plan = Plan::new(vec![announced], 1, longest);
    let start: Start = Box::new(move |private, _noise| {
        Ok(Box::new(OneStepRun { rate, slope, longest, private, model: None }))
    });
    Ok((plan, start))
}

struct OneStepRun {
    rate: f64,
    slope: Release<Gaussian>,
    longest: f64,
    private: Private<Bounded>,
    model: Option<Released<Model>>,
}

fn mean_slope(data: &Bounded) -> Vec<f64> {
    let labels = data.target.as_deref().unwrap_or_default();
    // A person counts as the mean of their records.
    let shares = data.shares().unwrap_or_else(|| vec![1.0; labels.len()]);
    let mut sum = Vector::zeros(data.dimension());
    data.features.each(|record, features| {
        for (sum, x) in sum.iter_mut().zip(features) {
            *sum += shares[record] * labels[record] * x;
        }
    });
    (sum / data.protected() as f64).as_slice().to_vec()
}

impl Run for OneStepRun {
    fn step(&mut self, spender: &mut Spender, _: &Watch) -> Result<Step> {
        let reach = Reach::Ball(self.longest);
        let slope = self.private.release_gaussian(spender, self.slope, &reach, mean_slope)?;
        self.model = Some(slope.map(|slope| Model::from(self.rate * Vector::from_vec(slope))));
        Ok(Step { index: 1, total: 1, phase: "descend", measures: Vec::new(), done: true })
    }

    fn model(&self) -> Option<Released<Model>> {
        self.model.clone()
    }
}
