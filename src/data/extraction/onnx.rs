//! Networks in ONNX files, run by `tract`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use tract_onnx::prelude::*;

use super::RunnableNetwork;
use crate::error::{Error, Result};

pub(super) struct OnnxNetwork {
    plan: Arc<TypedRunnableModel>,
    /// The shape of one input.
    shape: Vec<usize>,
    origin: String,
}

/// A damaged file can make the library panic, which is treated like any other error.
fn unless_it_panics<T>(work: impl FnOnce() -> TractResult<T>) -> TractResult<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(TractError::msg("the file makes no sense to the ONNX library")))
}

impl OnnxNetwork {
    /// For inputs of this shape, one at a time.
    pub fn read(path: &Path, bytes: &[u8], shape: &[usize], output: Option<&str>) -> Result<Self> {
        let origin = path.display().to_string();
        let shape: Vec<usize> = [1].iter().chain(shape).copied().collect();
        let broken = |what: &str, error: &TractError| {
            // The innermost reason is the most informative one.
            let reason = error.chain().last().map(ToString::to_string).unwrap_or_default();
            Error::failed(format!("{what}: {reason}")).at(path.display().to_string())
        };
        let read = || onnx().model_for_read(&mut &*bytes);
        let mut model = unless_it_panics(read).map_err(|error| {
            broken("this is not an ONNX network", &error)
                .cure("give an ONNX file, opset 9 to 18; a git-lfs pointer must be fetched first")
        })?;
        if let Some(output) = output {
            model = model.with_outputs_by_name([output]).map_err(|error| {
                broken(&format!("the network has no output '{output}'"), &error)
                    .cure("leave `output` out for the first one")
            })?;
        }
        let fits = |model: InferenceModel| {
            model
                .with_input_fact(0, f32::fact(shape.as_slice()).into())?
                .into_optimized()?
                .into_runnable()
        };
        let plan = unless_it_panics(|| fits(model)).map_err(|error| {
            broken(&format!("the network does not take inputs of the shape {shape:?}"), &error)
                .cure("give `input` (channels, height, width) as its documentation says")
        })?;
        Ok(Self { plan, shape, origin })
    }
}

impl RunnableNetwork for OnnxNetwork {
    fn run(&self, input: Vec<f32>) -> Result<Vec<f32>> {
        let run = || -> TractResult<Vec<f32>> {
            let input = Tensor::from_shape(&self.shape, &input)?;
            let outputs = self.plan.run(tvec!(input.into()))?;
            let output = outputs.first().ok_or_else(|| TractError::msg("it has no output"))?;
            let output = output.cast_to::<f32>()?;
            Ok(output.to_plain_array_view::<f32>()?.iter().copied().collect())
        };
        unless_it_panics(run).map_err(|error| {
            Error::failed(format!("the network failed: {error}")).at(self.origin.clone())
        })
    }
}

#[cfg(test)]
#[path = "../../../tests/support/chance.rs"]
mod chance;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::chance::{Dice, damage, is_long};
    use super::*;

    /// Damaged copies; in the long test fifty times as many.
    const COPIES: u64 = 2000;

    /// A field of a protocol buffer that holds bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2];
        let mut length = bytes.len();
        while length >= 128 {
            out.push(length as u8 | 128);
            length >>= 7;
        }
        out.push(length as u8);
        out.extend(bytes);
        out
    }

    fn number(field: u8, value: u8) -> Vec<u8> {
        vec![field << 3, value]
    }

    /// A tensor's name, element type and shape; `None` is an open dimension.
    fn value(name: &str, shape: [Option<u8>; 2]) -> Vec<u8> {
        let dimensions = shape.map(|dimension| {
            let inside = dimension.map_or_else(|| field(2, b"n"), |size| number(1, size));
            field(1, &inside)
        });
        let tensor = [number(1, 1), field(2, &dimensions.concat())].concat();
        [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
    }

    /// y = relu(x·w) for 2 × 3 weights w, and before it "sums" x·w.
    fn network() -> Vec<u8> {
        let weights: Vec<u8> =
            [1.0_f32, 0.0, -1.0, 2.0, 1.0, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let weights =
            [number(1, 2), number(1, 3), number(2, 1), field(8, b"w"), field(9, &weights)];
        let node = |inputs: &[&str], output: &str, operation: &str| {
            let inputs: Vec<u8> =
                inputs.iter().flat_map(|input| field(1, input.as_bytes())).collect();
            [inputs, field(2, output.as_bytes()), field(4, operation.as_bytes())].concat()
        };
        let graph = [
            field(1, &node(&["x", "w"], "sums", "MatMul")),
            field(1, &node(&["sums"], "y", "Relu")),
            field(2, b"tiny"),
            field(5, &weights.concat()),
            field(11, &value("x", [None, Some(2)])),
            field(12, &value("y", [None, Some(3)])),
            field(12, &value("sums", [None, Some(3)])),
        ];
        let opset = [field(1, b""), number(2, 13)].concat();
        [number(1, 8), field(7, &graph.concat()), field(8, &opset)].concat()
    }

    #[test]
    fn a_network_computes_what_its_file_says() {
        let path = Path::new("tiny.onnx");
        let run = |output| {
            let network = OnnxNetwork::read(path, &network(), &[2], output).unwrap();
            network.run(vec![3.0, -1.0]).unwrap()
        };
        assert_eq!(run(None), [1.0, 0.0, 0.0]);
        assert_eq!(run(Some("sums")), [1.0, -1.0, -3.0]);
    }

    #[test]
    fn broken_files_wrong_shapes_and_unknown_outputs_are_errors_that_name_the_file() {
        let path = Path::new("tiny.onnx");
        let pointer = b"version https://git-lfs.github.com/spec/v1\n";
        for (bytes, shape, output) in [
            (pointer.to_vec(), vec![2], None),
            (network()[..60].to_vec(), vec![2], None),
            (network(), vec![5], None),
            (network(), vec![2], Some("features")),
        ] {
            let error = OnnxNetwork::read(path, &bytes, &shape, output).err().unwrap();
            assert!(error.to_string().contains("tiny.onnx"), "{error}");
        }
    }

    #[test]
    fn damaged_networks_are_read_or_refused_without_a_panic_and_soon() {
        let (path, whole) = (Path::new("tiny.onnx"), network());
        let seed = Dice::of_the_seed("networks").next();
        let copies = if is_long() { 50 * COPIES } else { COPIES };
        let (mut ran, mut longest) = (0, Duration::ZERO);
        for copy in 0..copies {
            let mut dice = Dice::new(seed.wrapping_add(copy), "network");
            let damaged = damage(&whole, &whole, &mut dice);
            let begun = Instant::now();
            match OnnxNetwork::read(path, &damaged, &[2], None) {
                Ok(network) => {
                    ran += u64::from(network.run(vec![3.0, -1.0]).is_ok());
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains("tiny.onnx") && text.contains("what to do"), "{text}");
                }
            }
            longest = longest.max(begun.elapsed());
        }
        println!("{copies} damaged copies of a network, {ran} ran, the longest in {longest:?}");
        assert!(ran > copies / 100 && longest < Duration::from_secs(2), "{ran} {longest:?}");
    }
}
