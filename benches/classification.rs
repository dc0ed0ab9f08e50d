//! `cargo bench --bench classification`: one DP-SGD step without its noise, of softmax
//! regression and of the probe network, beside numpy and JAX as an expert would use them, in f64
//! (in which we compute) and in f32 (in which private records are kept); with the memory that ours
//! takes, against that of all per-example gradients.
//!
//! The peers are asked through `python3`, or the interpreter that `PYTHON` names; without one only
//! our own times are printed. If a peer is quicker, the bench ends with an error.
#![allow(clippy::unwrap_used)]

#[path = "peers/mod.rs"]
mod peers;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use halflight::data::{Bounds, Classes, Dataset};
use halflight::methods::classes::sampled::{
    Examples, SampledLoss, SampledObjective, TrainedParameters,
};
use halflight::model::{Architecture, Classifier, Volume};
use halflight::numeric::Matrix;
use halflight::numeric::columns::Singles;
use peak_alloc::PeakAlloc;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const BATCH: usize = 512;
const PIXELS: usize = 784;

fn main() {
    halflight::memory::use_again();
    let image = Volume { channels: 1, height: 28, width: 28 };
    let mut generator = ChaCha20Rng::seed_from_u64(1);
    let features = Matrix::from_fn(PIXELS, 2 * BATCH, |_, _| -> f64 {
        let normal: f64 = StandardNormal.sample(&mut generator);
        normal / 28.0
    });
    let names = (0..10).map(|class| class.to_string()).collect();
    let classes = Classes { of: (0..2 * BATCH as u32).map(|i| i % 10).collect(), names };
    let records = Dataset {
        name: "records".to_owned(),
        features: Singles::from(&features),
        feature_names: Vec::new(),
        target: None,
        classes: Some(classes),
        bounds: Bounds { feature_norm: 1.0, label: 1.0 },
        clipped: 0,
        persons: None,
    };
    let records = Examples::new(Arc::new(records), 10).unwrap();
    let members: Vec<usize> = (0..2 * BATCH).step_by(2).collect();
    let objective = SampledObjective {
        loss: SampledLoss::CrossEntropy,
        trained: TrainedParameters::Everything,
    };
    let mut behind = peers::Behind::default();
    for (name, architecture, rounds) in [
        ("softmax", Architecture::linear(PIXELS, 10), 2000),
        ("probe", Architecture::probe(image, 10), 8),
    ] {
        let architecture = architecture.unwrap();
        let parameters = architecture.initial(&mut generator);
        let model = Classifier::new(architecture, parameters).unwrap();
        let (mut best, before) = (f64::INFINITY, MEMORY.current_usage());
        MEMORY.reset_peak_usage();
        for _ in 0..rounds {
            let start = Instant::now();
            black_box(objective.clipped_sum(&model, black_box(&records), &members, 1.0).unwrap());
            best = best.min(start.elapsed().as_secs_f64());
        }
        let memory = (MEMORY.peak_usage() - before) as f64 / 1e6;
        let all = (BATCH * model.parameters().len() * 8) as f64 / 1e6;
        println!("{name}: {:.2} ms, {memory:.1} MB; all gradients: {all:.1} MB", 1e3 * best);
        behind.tell(name, &peers::seconds("classification.py", &[name]), best);
    }
    behind.end();
}
