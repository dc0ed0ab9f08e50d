//! Settings that several methods share, and the values that follow from them.

use super::optimiser::OptimiserKind;
use super::rounding;
use crate::prelude::*;

/// The default average number of records in a sample.
const USUAL_BATCH: usize = 512;

choices! {
    pub enum NetworkChoice {
        Softmax = "softmax",
        HiddenLayer = "hidden_layer",
        ProbeCnn = "probe_cnn",
        Table7a = "table_7a",
    }
}

settings! {
    /// The settings of the trained network.
    pub struct NetworkSettings {
        /// The kind of network.
        model: NetworkChoice = NetworkChoice::or(NetworkChoice::Softmax).named("model", "").help(
            "softmax: softmax regression. hidden_layer: one hidden layer of tanh units. For \
             images: probe_cnn, a small convolutional network; table_7a, the larger one of the \
             paper of the ranking.",
        ),
        /// Units of a hidden layer.
        units: u64 = whole(1, 10_000, 32).named("hidden units", "")
            .help("Of the network with a hidden layer."),
        /// Channels of an image.
        channels: u64 = whole(1, 64, 1).named("image channels", "").help(
            "Of the convolutional network: 1 for grey images, 3 for colours, one channel after \
             the other.",
        ),
        /// Rows of an image; by default it is square.
        height: Option<u64> = automatic_whole(10_000.0).named("image height", "pixels")
            .help("Of the convolutional network. Automatic takes square images."),
    }
}

settings! {
    /// The settings of its steps.
    pub struct StepSettings {
        /// How many steps are taken.
        steps: u64 = steps(100_000, 400),
        /// The average number of records in a sample.
        batch: Option<u64> = automatic_whole(1e7).named("batch", "records").help(
            "Private records that a step uses on average: each is drawn with probability \
             batch/n. Automatic takes 512, or all if there are fewer.",
        ),
        /// The rate; by default the one of [`super::step_length`].
        learning_rate: Option<f64> = automatic(1e6).named("learning rate", "").help(
            "Step along the noisy mean gradient. Automatic follows the plan: the less noise its \
             steps gather, the longer they are.",
        ),
        /// The part of the last step that is repeated.
        momentum: f64 = real(0.0, 0.999, 0.0).named("momentum", "").help(
            "Share of the last step that the next one keeps; lower a learning rate of your own \
             with it.",
        ),
        /// The way from gradients to steps.
        optimiser: OptimiserKind =
            OptimiserKind::or(OptimiserKind::Descent).named("optimiser", "").help(
                "sgd: steps along the noisy gradient. adam: each number's step is divided by the \
                 usual size of its noisy gradients, and momentum is 0.9 where it is 0. Neither costs \
                 any privacy.",
            ),
        /// The share of the last steps whose mean is the model.
        average: f64 = real(0.0, 1.0, 0.25).named("averaged tail", "share of steps").help(
            "The model is the mean of this share of the steps, counted from the last; 0 takes \
             the last step alone.",
        ),
    }
}

/// The bound on a gradient.
pub const CLIP: Setting<f64> = real(1e-6, 1e6, 0.5).named("clip C", "norm of gradient").help(
    "Every record's gradient is clipped to this norm. Noise grows with it; under most gradients' \
     length it makes records that are learned already count for less.",
);

/// The setting of [`StepSettings::steps`], and of other methods that descend by noisy gradients.
pub const fn steps(most: u64, default: u64) -> Setting<u64> {
    whole(1, most, default).named("steps T", "gradients").help(
        "Noisy gradient steps. The noise per step grows with the square root of their number.",
    )
}

/// The average number of records in a sample, if the settings give it.
pub fn members_on_average(shape: &ProblemShape, wanted: Option<u64>) -> Result<Option<usize>> {
    let all = shape.private_records;
    match wanted.map(|wanted| wanted as usize) {
        Some(wanted) if wanted > all => Err(Error::usage(format!(
            "a batch of {wanted} records is more than the {all} private training records"
        ))
        .cure(format!("choose a batch of at most {all}, or 0 for automatic"))),
        wanted => Ok(wanted),
    }
}

/// The average number of records in a sample, as given or the default.
pub fn batch(shape: &ProblemShape, wanted: Option<u64>) -> Result<usize> {
    let usual = USUAL_BATCH.min(shape.private_records);
    Ok(members_on_average(shape, wanted)?.unwrap_or(usual))
}

/// The clipped sum of each step.
#[derive(Debug, Clone, Copy)]
pub struct Sum {
    /// The clipped sums, one for each step.
    pub release: Release<SampledSum>,
    /// The bound on a gradient.
    pub clip: f64,
    /// The average number of records in a sample.
    pub batch: usize,
    /// How the steps are taken.
    pub course: StepSettings,
}

/// A plan of one clipped sum of gradients in each step, of so many trained parameters.
pub fn plan_of_sum(
    shape: &ProblemShape,
    course: StepSettings,
    clip: f64,
    numbers: usize,
) -> Result<(Plan, Sum)> {
    let (batch, n) = (batch(shape, course.batch)?, shape.private_records);
    let sensitivity = clip * (1.0 + rounding(n, numbers));
    let rate = batch as f64 / n as f64;
    let release = Release::new(GRADIENT, SampledSum { sensitivity, numbers, rate });
    let what = format!(
        "the sum of clipped gradients over a Poisson sample of about {batch} records, \
         {numbers} numbers in each step"
    );
    let share = Allotment::Share(1.0);
    let gradient = release.announced(what, course.steps, share, Adjacency::ZeroOut);
    let plan = Plan::new(vec![gradient], course.steps, clip * batch as f64);
    Ok((plan, Sum { release, clip, batch, course }))
}
