//! Which layers a model has.
//!
//! Four families: softmax or linear regression, a network with one hidden layer, and two small
//! convolutional networks of Gu, Kamath and Wu, *Choosing Public Datasets for Private Machine
//! Learning via Gradient Subspace Distance*. Both are printed for one size of image. For another
//! size, strides and filters are adapted by the rules below, and [`Architecture::words`] describes
//! the result.

use rand::Rng;
use rand_distr::{Distribution, StandardUniform};
use serde::{Deserialize, Serialize};

use super::convolution::{Convolution, Pool, Volume, places};
use super::layer::{Activation, Dense, Layer};
use crate::error::{Error, Result};

/// The side of the probe's last maps on the 224 × 224 images for which it was printed.
const PROBE_SIDE: usize = 3;

/// Layers, each with the output of the one before as its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Layer>", into = "Vec<Layer>")]
pub struct Architecture {
    layers: Vec<Layer>,
}

impl Architecture {
    /// Refuses layers that do not fit together.
    pub fn new(layers: Vec<Layer>) -> Result<Self> {
        let mismatch = layers.windows(2).position(|pair| pair[0].outputs() != pair[1].inputs());
        if let Some(at) = mismatch {
            return Err(Error::failed(format!(
                "layer {} of the model gives {} numbers and layer {} takes {}",
                at + 1,
                layers[at].outputs(),
                at + 2,
                layers[at + 1].inputs()
            )));
        }
        if layers.is_empty() || layers.iter().any(|layer| layer.inputs() * layer.outputs() == 0) {
            return Err(Error::failed("a layer of the model takes or gives nothing")
                .cure("check its number of features, units and classes"));
        }
        Ok(Self { layers })
    }

    /// Softmax regression, or linear regression with one output.
    pub fn linear(inputs: usize, outputs: usize) -> Result<Self> {
        Self::new(vec![Layer::Dense(Dense { inputs, outputs })])
    }

    /// Softmax regression whose features already contain a constant, or need none.
    pub fn unbiased(inputs: usize, outputs: usize) -> Result<Self> {
        Self::new(vec![Layer::Linear(Dense { inputs, outputs })])
    }

    /// One hidden layer.
    pub fn perceptron(
        inputs: usize,
        units: usize,
        outputs: usize,
        activation: Activation,
    ) -> Result<Self> {
        Self::new(vec![
            Layer::Dense(Dense { inputs, outputs: units }),
            Layer::Activation(activation, units),
            Layer::Dense(Dense { inputs: units, outputs }),
        ])
    }

    /// The paper's probe: 64 filters of 8 × 8 in steps of 5, pooling by 2, 16 filters of 4 × 4 in
    /// steps of 3, pooling by 2, linear. On 224 × 224 the linear layer has 144 inputs. The steps
    /// are the largest for which at least as many inputs are left. On smaller images (under 28
    /// × 28) they are 1 and the filters' sides are halved until they fit.
    pub fn probe(image: Volume, outputs: usize) -> Result<Self> {
        let side = image.height.min(image.width);
        let left = |first: (usize, usize), second: (usize, usize)| {
            let maps = places(places(side, first.0, first.1), 2, 2);
            places(places(maps, second.0, second.1), 2, 2)
        };
        let steps = (1..=5).flat_map(|first| (1..=3).map(move |second| (first, second)));
        let fitting = steps.filter(|(a, b)| left((8, *a), (4, *b)) >= PROBE_SIDE);
        let widest = fitting.max_by_key(|(a, b)| (a * b, *a));
        let (first, second) = match widest {
            Some((a, b)) => ((8, a), (4, b)),
            None => [(8, 4), (4, 2), (2, 2), (2, 1), (1, 1)]
                .map(|(a, b)| ((a, 1), (b, 1)))
                .into_iter()
                .find(|(a, b)| left(*a, *b) >= 1)
                .ok_or_else(|| too_small(image))?,
        };
        let mut layers = Vec::new();
        let maps = convolve(&mut layers, image, 64, first, 0);
        let maps = pool(&mut layers, maps, 2);
        let maps = convolve(&mut layers, maps, 16, second, 0);
        let maps = pool(&mut layers, maps, 2);
        layers.push(Layer::Dense(Dense { inputs: maps.size(), outputs }));
        Self::new(layers)
    }

    /// The paper's Table 7a: 16 filters of 8 × 8 in steps of 2 with a frame of 3, pooling by 2 in
    /// steps of 1, 32 filters of 4 × 4 in steps of 2, pooling again, 32 units, linear; relu
    /// between. On 28 × 28 it has 26 010 parameters with 10 classes. On smaller images the second
    /// convolution has steps of 1, or both do.
    pub fn table_7a(image: Volume, outputs: usize) -> Result<Self> {
        let side = image.height.min(image.width);
        let left = |(first, second): &(usize, usize)| {
            let maps = places(places(side + 6, 8, *first), 2, 1);
            places(places(maps, 4, *second), 2, 1)
        };
        let steps = [(2, 2), (2, 1), (1, 1)].into_iter().find(|steps| left(steps) >= 1);
        let (first, second) = steps.ok_or_else(|| too_small(image))?;
        let mut layers = Vec::new();
        let maps = convolve(&mut layers, image, 16, (8, first), 3);
        rectify(&mut layers, maps);
        let maps = pool(&mut layers, maps, 1);
        let maps = convolve(&mut layers, maps, 32, (4, second), 0);
        rectify(&mut layers, maps);
        let maps = pool(&mut layers, maps, 1);
        layers.push(Layer::Dense(Dense { inputs: maps.size(), outputs: 32 }));
        layers.push(Layer::Activation(Activation::Relu, 32));
        layers.push(Layer::Dense(Dense { inputs: 32, outputs }));
        Self::new(layers)
    }

    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, Layer::inputs)
    }

    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, Layer::outputs)
    }

    /// p
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(Layer::parameters).sum()
    }

    /// The number of layers with parameters.
    pub fn trained_layers(&self) -> usize {
        self.layers.iter().filter(|layer| layer.parameters() > 0).count()
    }

    /// The positions of the parameters of some layers, counted among those with parameters.
    pub fn positions_of(&self, chosen: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut end = 0;
        let trained = self.layers.iter().map(Layer::parameters).filter(|count| *count > 0);
        let positions = trained.enumerate().flat_map(|(index, count)| {
            end += count;
            if chosen(index) { end - count..end } else { end..end }
        });
        positions.collect()
    }

    /// The positions of the biases and of the whole last layer among the parameters.
    pub fn fine_positions(&self) -> Vec<usize> {
        let mut end = 0;
        let last = self.layers.len() - 1;
        let layers = self.layers.iter().enumerate().flat_map(|(index, layer)| {
            let own = layer.parameters();
            end += own;
            let fine = if index == last { own } else { layer.biases() };
            end - fine..end
        });
        layers.collect()
    }

    /// The layers before number `at` and those from it on: the former can be evaluated once and
    /// stay fixed while the latter, a model by itself, is trained. The parameters are split in the
    /// same way.
    pub fn split_at(&self, at: usize) -> Result<(Self, Self)> {
        let at = at.min(self.layers.len());
        Ok((Self::new(self.layers[..at].to_vec())?, Self::new(self.layers[at..].to_vec())?))
    }

    /// Whether the scores are margins of each class against the rest, without probabilities.
    pub fn tells_margins(&self) -> bool {
        matches!(self.layers.last(), Some(Layer::Margins(_)))
    }

    /// These layers, without a final layer that declares the scores to be margins.
    pub fn without_margins(&self) -> Self {
        let mut layers = self.layers.clone();
        if self.tells_margins() && layers.len() > 1 {
            layers.pop();
        }
        Self { layers }
    }

    /// These layers, then those of `next`.
    pub fn then(&self, next: &Self) -> Result<Self> {
        Self::new([self.layers.as_slice(), next.layers.as_slice()].concat())
    }

    /// First weights and biases: uniform within ±1/√inputs for each unit.
    pub fn initial(&self, generator: &mut impl Rng) -> Vec<f64> {
        let mut parameters = Vec::with_capacity(self.parameters());
        for layer in &self.layers {
            let Some(shape) = layer.weight_shape() else { continue };
            let inputs: usize = shape[1..].iter().product();
            let bound = 1.0 / (inputs as f64).sqrt();
            parameters.extend((0..layer.parameters()).map(|_| {
                let share: f64 = StandardUniform.sample(generator);
                bound * (2.0 * share - 1.0)
            }));
        }
        parameters
    }

    /// Layers of the architecture in words, with their actual sizes.
    pub fn words(&self) -> String {
        let words: Vec<String> = self.layers.iter().map(layer_words).collect();
        format!("{} inputs → {}", self.inputs(), words.join(" → "))
    }
}

impl TryFrom<Vec<Layer>> for Architecture {
    type Error = Error;

    fn try_from(layers: Vec<Layer>) -> Result<Self> {
        Self::new(layers)
    }
}

impl From<Architecture> for Vec<Layer> {
    fn from(architecture: Architecture) -> Self {
        architecture.layers
    }
}

fn convolve(
    layers: &mut Vec<Layer>,
    input: Volume,
    filters: usize,
    (kernel, stride): (usize, usize),
    padding: usize,
) -> Volume {
    let convolution = Convolution { input, filters, kernel, stride, padding };
    layers.push(Layer::Convolution(convolution));
    convolution.output()
}

fn pool(layers: &mut Vec<Layer>, input: Volume, stride: usize) -> Volume {
    let pool = Pool { input, window: 2, stride };
    layers.push(Layer::MaxPool(pool));
    pool.output()
}

fn rectify(layers: &mut Vec<Layer>, maps: Volume) {
    layers.push(Layer::Activation(Activation::Relu, maps.size()));
}

fn layer_words(layer: &Layer) -> String {
    match layer {
        Layer::Dense(dense) | Layer::Linear(dense) => format!("linear {}", dense.outputs),
        Layer::Convolution(convolution) => {
            let Convolution { filters, kernel, stride, .. } = convolution;
            format!("conv {filters}@{kernel}×{kernel}/{stride}: {}", convolution.output())
        }
        Layer::MaxPool(pool) => format!("pool {}: {}", pool.window, pool.output()),
        Layer::Normalise(_) => "unit length".to_owned(),
        Layer::Activation(activation, _) => activation.words().to_owned(),
        Layer::Margins(_) => "margins".to_owned(),
    }
}

fn too_small(image: Volume) -> Error {
    Error::failed(format!("images of {image} are too small for this network"))
        .cure("choose softmax regression or a network with one hidden layer")
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::ChaCha20Rng;

    use super::*;

    fn image(channels: usize, height: usize, width: usize) -> Volume {
        Volume { channels, height, width }
    }

    #[test]
    fn the_papers_networks_have_the_papers_sizes() {
        let probe = Architecture::probe(image(1, 28, 28), 10).unwrap();
        assert_eq!(probe.parameters(), 22_010);
        assert!(probe.words().contains("conv 64@8×8/1: 64×21×21"), "{}", probe.words());
        let printed = Architecture::probe(image(3, 224, 224), 2).unwrap();
        assert!(printed.words().contains("conv 64@8×8/5: 64×44×44"), "{}", printed.words());
        assert!(printed.words().contains("conv 16@4×4/3: 16×7×7"), "{}", printed.words());
        assert_eq!(printed.layers().last().unwrap().inputs(), 144);
        assert_eq!(Architecture::table_7a(image(1, 28, 28), 10).unwrap().parameters(), 26_010);
        let perceptron = Architecture::perceptron(784, 38, 10, Activation::Tanh).unwrap();
        assert_eq!(perceptron.parameters(), 30_220);
    }

    #[test]
    fn every_size_of_image_gets_a_network_or_a_reason_why_not() {
        for side in 1..70 {
            for build in [Architecture::probe, Architecture::table_7a] {
                match build(image(3, side, side + 1), 4) {
                    Ok(network) => {
                        assert_eq!(network.inputs(), 3 * side * (side + 1));
                        assert_eq!(network.outputs(), 4);
                    }
                    Err(error) => {
                        assert!(side < 8, "{side}: {error}");
                        assert!(error.to_string().contains("too small"), "{error}");
                    }
                }
            }
        }
    }

    #[test]
    fn layers_that_do_not_fit_are_refused_also_when_read() {
        let two = |a, b| {
            let dense = |inputs, outputs| Layer::Dense(Dense { inputs, outputs });
            Architecture::new(vec![dense(3, a), dense(b, 2)])
        };
        assert!(two(4, 5).unwrap_err().to_string().contains("layer 1 of the model gives 4"));
        assert!(two(0, 0).is_err());
        assert!(Architecture::new(Vec::new()).is_err());
        let good = two(4, 4).unwrap();
        let text = ron::to_string(&good).unwrap();
        assert_eq!(ron::from_str::<Architecture>(&text).unwrap(), good);
        assert!(ron::from_str::<Architecture>(&text.replacen('4', "5", 1)).is_err());
        let (before, after) = good.split_at(1).unwrap();
        assert_eq!((before.outputs(), after.inputs()), (4, 4));
    }

    #[test]
    fn first_weights_repeat_with_their_seed_and_stay_within_their_bound() {
        let network = Architecture::perceptron(100, 5, 3, Activation::Relu).unwrap();
        let draw = |seed| network.initial(&mut ChaCha20Rng::seed_from_u64(seed));
        let weights = draw(7);
        assert_eq!(weights.len(), network.parameters());
        assert_eq!(weights, draw(7));
        assert_ne!(weights, draw(8));
        let largest = weights[..500].iter().fold(0.0_f64, |most, weight| most.max(weight.abs()));
        assert!(largest <= 0.1 && largest > 0.098, "{largest}");
    }
}
