//! Whether noise could be drawn as a file lists it. Gaussian and Laplace noise are whole numbers of
//! steps of a grid; `assets/guide/proofs/grid.md` says what the analysis needs of both.

use serde_json::Value;

/// A scale has this many steps of its grid.
const STEPS: std::ops::RangeInclusive<f64> = 268_435_456.0..=536_870_912.0;
/// The largest Σ count·coordinates·(grid/σ)² of Gaussian noise for which its cost is proven: 2⁻¹⁰.
const MOST_GRIDS: f64 = 1.0 / 1024.0;
/// More coordinates are no whole numbers of a double.
const MOST_COORDINATES: f64 = 9e15;

/// Faults of the noise of these events, and Σ count·coordinates·(grid/σ)² of the Gaussian ones.
#[derive(Debug, Default)]
pub struct NoiseCheck {
    pub faults: Vec<String>,
    pub grids: f64,
}

impl NoiseCheck {
    /// Checks the events of runs that drew their noise here. What other trainers claim is ideal.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut check = Self::default();
        for event in events {
            check.take(event);
        }
        if check.grids.is_nan() || check.grids > MOST_GRIDS {
            check.faults.push(format!(
                "count·coordinates·(grid/σ)² of all mechanisms is {:e}, and what a grid costs is \
                 proven up to 2^-10 only",
                check.grids
            ));
        }
        check
    }

    fn take(&mut self, event: &Value) {
        let label = event["label"].as_str().unwrap_or("without a label");
        let mechanism = event["mechanism"].as_object();
        // An odd one is an error where its loss is computed.
        let Some((name, it)) = mechanism.and_then(|object| object.iter().next()) else { return };
        let number = |key: &str| it[key].as_f64().unwrap_or(f64::NAN);
        let mut fault = |what: String| self.faults.push(format!("mechanism '{label}': {what}"));
        let (size, scale) = match name.as_str() {
            "laplace" => ("coordinates", "scale"),
            "gaussian" | "subsampled_gaussian" | "repeated_gaussian" => ("coordinates", "sigma"),
            "direction" => ("dimension", ""),
            "selection" | "permute_and_flip" | "noisy_selection" => ("candidates", ""),
            _ => return,
        };
        let numbers = number(size);
        if !(1.0..=MOST_COORDINATES).contains(&numbers) || numbers.fract() != 0.0 {
            fault(format!("`{size}` is {numbers}, and must be a whole number of at least 1"));
            return;
        }
        if scale.is_empty() {
            return;
        }
        let what = event["what"].as_str().unwrap_or_default();
        let told = numbers_told(what);
        let sum: f64 = told.iter().sum();
        if !told.is_empty() && sum != numbers && !told.contains(&numbers) {
            fault(format!("`what` does not speak of {numbers} numbers, as `coordinates` says"));
        }
        let (scale, grid) = (number(scale), number("grid"));
        let steps = scale / grid;
        let is_power = grid > 0.0 && grid.is_normal() && grid.to_bits().trailing_zeros() >= 52;
        if !is_power || !STEPS.contains(&steps) || steps.fract() != 0.0 {
            fault(format!(
                "its scale {scale} on a grid of {grid} was never drawn: a scale is a whole number \
                 of steps between 2^28 and 2^29, and the grid is a power of two"
            ));
            return;
        }
        let moved = if name == "laplace" { numbers } else { numbers.sqrt() } * grid;
        let sensitivity = number("sensitivity");
        // The best of repeats stands for all candidates, whose own events had the slack.
        if name != "repeated_gaussian" && sensitivity < moved * (1.0 - 1e-9) {
            fault(format!(
                "rounding {numbers} numbers to its grid moves them by up to {moved:e}, and its \
                 sensitivity is {sensitivity:e}"
            ));
        }
        if name != "laplace" {
            let count = event["count"].as_f64().unwrap_or(f64::NAN);
            let times = if name == "repeated_gaussian" { 3.0 + number("shape") } else { 1.0 };
            self.grids += times * count * numbers / (steps * steps);
        }
    }
}

/// Every n of "n numbers" in a text.
fn numbers_told(text: &str) -> Vec<f64> {
    let before = text.match_indices(" numbers").map(|(at, _)| &text[..at]);
    let digits = before.map(|text| text.rsplit(|it: char| !it.is_ascii_digit()).next());
    digits.filter_map(|digits| digits?.parse().ok()).collect()
}

/// The ε of ideal noise that becomes `epsilon` on grids of this sum.
pub fn ideal(epsilon: f64, grids: f64) -> f64 {
    (epsilon - 128.0 * grids) / (1.0 + grids / 5.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(kind: &str, scale: &str, change: &[(&str, Value)]) -> Vec<String> {
        let grid = (-28_f64).exp2();
        let mut it = json!({"sensitivity": 1.0, "grid": 4.0 * grid, "coordinates": 3});
        it[scale] = json!(4.0);
        for (key, value) in change {
            it[key] = value.clone();
        }
        let what = "a sum of 3 numbers in each step";
        let event = json!({"label": "sum", "what": what, "count": 7, "mechanism": {kind: it}});
        NoiseCheck::of([&event]).faults
    }

    #[test]
    fn noise_that_nobody_can_draw_and_coordinates_that_are_not_proven_are_faults() {
        for (kind, scale) in
            [("gaussian", "sigma"), ("subsampled_gaussian", "sigma"), ("laplace", "scale")]
        {
            assert_eq!(faults(kind, scale, &[]), [""; 0]);
            let coarse = [("grid", json!(1)), (scale, json!(0.03)), ("coordinates", json!(3))];
            assert!(faults(kind, scale, &coarse)[0].contains("never drawn"));
            for (key, value) in [
                ("grid", json!(0.0)),
                ("grid", json!(3.0 / 268_435_456.0)),
                ("grid", Value::Null),
                (scale, json!(4.1)),
                (scale, json!(16.0)),
                ("coordinates", json!(0)),
                ("coordinates", json!(2.5)),
                ("coordinates", json!(4)),
                ("coordinates", json!(1e9)),
                ("sensitivity", json!(1e-12)),
            ] {
                assert!(
                    !faults(kind, scale, &[(key, value.clone())]).is_empty(),
                    "{kind} {key} {value}"
                );
            }
        }
        let many = json!({"label": "s", "count": 1e9 as u64, "mechanism": {"gaussian":
            {"sensitivity": 1.0, "sigma": 1.0, "grid": (-28_f64).exp2(), "coordinates": 1e9 as u64}}});
        assert!(NoiseCheck::of([&many]).faults[0].contains("2^-10 only"));
    }
}
