//! Which network is trained, from which start, and on which part of the features.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::fields::{NetworkChoice, NetworkSettings};
use super::{SampledLoss, SampledObjective};
use crate::model::layer::Dense;
use crate::model::layer::Layer;
use crate::model::{Activation, Architecture, Volume};
use crate::numeric::columns::sum_of_squares;
use crate::prelude::*;

// Every purpose has a stream of its own from the public seed.

/// The stream of the seed for first weights.
pub const FIRST_WEIGHTS: u64 = 1;
const RANDOM_PROJECTION: u64 = 2;
/// The stream of the seed for batches of public records.
pub const PUBLIC_BATCHES: u64 = 3;
/// The stream of the seed for the records that span the anchor subspace.
pub const ANCHORS: u64 = 4;
/// The stream of the seed for the first low-rank additions.
pub const ADAPTERS: u64 = 5;

/// A model ready to be trained.
#[derive(Debug, Clone)]
pub struct Design {
    /// Features are multiplied by this before anything else.
    pub scale: f64,
    /// Layers that stay fixed.
    pub frozen: Option<Classifier>,
    /// Layers that are trained, with their first parameters.
    pub model: Classifier,
    /// The minimised loss, and the trained parameters.
    pub objective: SampledObjective,
}

impl Design {
    /// The frozen and the trained layers together, on unscaled features. Scores trained with the
    /// hinge loss are margins, in units of ζ.
    pub fn whole(&self, mut trained: Vec<f64>) -> Result<Classifier> {
        let mut head = self.model.architecture().clone();
        if let SampledLoss::Hinge(zeta) = self.objective.loss {
            let last = head.layers().last().map_or(0, Layer::parameters);
            let first = trained.len() - last;
            for parameter in &mut trained[first..] {
                *parameter /= zeta;
            }
            head = head.then(&Architecture::new(vec![Layer::Margins(head.outputs())])?)?;
        }
        let (architecture, mut parameters) = match &self.frozen {
            None => (head, trained),
            Some(frozen) => (
                frozen.architecture().then(&head)?,
                [frozen.parameters(), trained.as_slice()].concat(),
            ),
        };
        // The scale goes into the first weights.
        let first = architecture.layers().iter().find_map(Layer::weight_shape);
        let weights: usize = first.map_or(0, |shape| shape.iter().product());
        for weight in &mut parameters[..weights] {
            *weight *= self.scale;
        }
        Classifier::new(architecture, parameters)
    }
}

/// A generator of public randomness: one stream of the seed for each purpose.
pub fn generator(seed: u64, purpose: u64) -> ChaCha20Rng {
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    generator.set_stream(purpose);
    generator
}

/// The network that the settings choose, for this many inputs.
pub fn network(
    shape: &ProblemShape,
    chosen: NetworkSettings,
    inputs: usize,
) -> Result<Architecture> {
    let outputs = classes(shape)?;
    match chosen.model {
        NetworkChoice::Softmax => Architecture::unbiased(inputs, outputs),
        NetworkChoice::HiddenLayer => {
            Architecture::perceptron(inputs, chosen.units as usize, outputs, Activation::Tanh)
        }
        NetworkChoice::ProbeCnn => Architecture::probe(image(chosen, inputs)?, outputs),
        NetworkChoice::Table7a => Architecture::table_7a(image(chosen, inputs)?, outputs),
    }
}

/// The number of classes.
pub fn classes(shape: &ProblemShape) -> Result<usize> {
    match shape.classes.len() {
        0 | 1 => Err(Error::failed("there are fewer than two classes to tell apart")
            .cure("declare the `classes` of the private dataset, or choose its label column")),
        classes => Ok(classes),
    }
}

/// Reads a feature vector as an image.
fn image(chosen: NetworkSettings, features: usize) -> Result<Volume> {
    let channels = chosen.channels as usize;
    let plane = features / channels;
    let side = plane.isqrt();
    let (height, width) = match chosen.height.map(|height| height as usize) {
        Some(height) => (height, plane / height),
        None => (side, side),
    };
    let volume = Volume { channels, height, width };
    if volume.size() == features && features > 0 {
        return Ok(volume);
    }
    let constant = volume.size() + 1 == features;
    let cure = if constant {
        "set `intercept: false` in the plan's preparation if one of them is the constant, which is \
         not a pixel; or set the number of channels and the height"
    } else {
        "set the number of channels and the height, or choose another model"
    };
    Err(Error::usage(format!(
        "records of {features} features are not images of {volume} ({} pixels)",
        volume.size()
    ))
    .cure(cure))
}

/// The factor for features that gives public records an average norm of 1, or of √d for a network,
/// whose inputs should be about 1 each.
pub fn scale(public: &PublicData, network: &Architecture) -> f64 {
    let mean_square = sum_of_squares(&public.features) / public.len() as f64;
    let unit = if mean_square > 0.0 { mean_square.sqrt() } else { public.bounds.feature_norm };
    let length = if network.layers().len() > 1 { (public.dimension() as f64).sqrt() } else { 1.0 };
    length / unit
}

/// First parameters: zeros for softmax regression, whose loss is convex, otherwise random.
pub fn first(architecture: Architecture, seed: u64) -> Result<Classifier> {
    let parameters = if architecture.layers().len() == 1 {
        vec![0.0; architecture.parameters()]
    } else {
        architecture.initial(&mut generator(seed, FIRST_WEIGHTS))
    };
    Classifier::new(architecture, parameters)
}

/// A random projection after Johnson and Lindenstrauss: it keeps lengths on average.
pub fn random_projection(inputs: usize, outputs: usize, seed: u64) -> Result<Classifier> {
    let mut generator = generator(seed, RANDOM_PROJECTION);
    let width = 1.0 / (outputs as f64).sqrt();
    let weights = (0..inputs * outputs).map(|_| {
        let normal: f64 = StandardNormal.sample(&mut generator);
        width * normal
    });
    let layer = Layer::Linear(Dense { inputs, outputs });
    Classifier::new(Architecture::new(vec![layer])?, weights.collect())
}

/// Remarks about a network's shape for data of this size.
pub fn remarks(network: &Architecture) -> Vec<String> {
    if network.layers().len() == 1 { Vec::new() } else { vec![network.words()] }
}
