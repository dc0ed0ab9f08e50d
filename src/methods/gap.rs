//! The stationarity gap of each family of methods: how far a step is from a point that no step
//! improves. The families measure it in different ways, so each has a name of its own.

use crate::Series;

/// The stationarity gap of a method, for the chart of a run and for the guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Title of the chart.
    pub title: &'static str,
    /// The formula.
    pub formula: &'static str,
    /// What is released and what is exact, and how it compares with the papers; or why there is
    /// none.
    pub about: &'static str,
    /// What steps have of it, each with its name in the chart.
    pub series: &'static [(Series, &'static str)],
}

const RELEASED: (Series, &str) = (Series::StationarityGap, "released");
const NOISE: (Series, &str) = (Series::NoiseGap, "noise alone");
const EXACT: (Series, &str) = (Series::ExactStationarityGap, "exact");

impl Gap {
    /// For methods that take no private step.
    pub const NONE: Self = Self {
        title: "stationarity gap",
        formula: "none",
        about: "No private step is taken: the model of the public records is the answer.",
        series: &[],
    };

    /// For corrections from released means of errors.
    pub const SLOPE_LEFT: Self = Self {
        title: "stationarity gap: slope that is left",
        formula: "‖mean of error × features‖ at the model that a round asked, next to σ√p",
        about: "Released, for free: it is computed from the statistics of each round. Noise alone \
                would give σ√p for p numbers. Where both are equal, another round finds nothing.",
        series: &[RELEASED, NOISE],
    };

    /// For descents on an objective without constraints.
    pub const GRADIENT: Self = Self {
        title: "stationarity gap: gradient norm",
        formula: "‖∇F‖",
        about: "Released, from the noisy gradient of the step, next to σ√p, the norm of its noise \
                alone: where both are equal, the steps follow noise. Exact (◆) without the noise.",
        series: &[RELEASED, NOISE, EXACT],
    };

    /// For descents on weights and model under constraints.
    pub const GRADIENT_MAPPING: Self = Self {
        title: "stationarity gap: gradient mapping",
        formula: "β‖z − proj(z − ∇F(z)/β)‖ over the model and the weights v = cu",
        about: "Released, and exact (◆). The paper states 𝒢 in its own weights u. Here weights are \
                scaled by c, so that one step size fits both parts, and β is that of the step: the \
                two are zero at the same points.",
        series: &[RELEASED, EXACT],
    };

    /// For searches for weights on the simplex, by an exact private moment.
    pub const FRANK_WOLFE: Self = Self {
        title: "stationarity gap: Frank–Wolfe gap",
        formula: "max over s of ⟨∇F(q), q − s⟩, plus the model's part",
        about: "As in the paper (its Definition 1). Exact (◆), and released with noise: mirror \
                descent computes it from the gradient of the step, for free; Frank–Wolfe releases \
                it at up to twelve rounds, for 2 % of the budget. Where the model is a part of the \
                search, its part is known without private records.",
        series: &[RELEASED, NOISE, (Series::ModelGap, "model's part"), EXACT],
    };

    /// For searches for weights on the simplex, by a released moment.
    pub const FRANK_WOLFE_OF_RELEASE: Self = Self {
        title: "stationarity gap: Frank–Wolfe gap",
        formula: "max over s of ⟨∇F(q), q − s⟩",
        about: "Released: of the objective with the noisy moment, so the search can end at zero. \
                What noise in the moment costs is not in it.",
        series: &[RELEASED],
    };

    /// For steps on noisy samples of clipped gradients.
    pub const SAMPLE: Self = Self {
        title: "norm of one noisy sample's gradient",
        formula: "‖mean of clipped gradients of a sample, with noise‖",
        about: "Released. It is no stationarity gap: noise and sampling keep it from falling. The \
                loss on public records shows better whether training goes on.",
        series: &[
            RELEASED,
            (Series::GradientMedian, "median record"),
            (Series::GradientTail, "90 % of records"),
        ],
    };
}

#[cfg(test)]
mod tests {
    use crate::methods;

    #[test]
    fn the_guide_has_the_gap_of_every_method() {
        let page = include_str!("../../assets/guide/methods.md");
        for spec in methods().iter().map(|method| method.spec()) {
            let row = page.lines().find(|line| {
                line.starts_with("| ")
                    && line.contains(&format!("`{}`", spec.id))
                    && line.contains(spec.gap.title)
            });
            let row = row.unwrap_or_else(|| panic!("{}: {}", spec.id, spec.gap.title));
            assert!(row.contains(spec.gap.formula), "{row}\nlacks {}", spec.gap.formula);
            assert!(row.contains(spec.gap.about), "{row}\nlacks {}", spec.gap.about);
        }
    }
}
