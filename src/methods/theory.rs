//! What the theorems of the papers ask of a plan, and what they then promise.
//!
//! Everything here is made of public quantities: the numbers of records, the declared bounds, the
//! target, the settings and the public records. A term that needs private records is named with the
//! reason. Formulas are those of the papers as printed, also where their constants are generous;
//! every probability of failure is [`FAILURE`].
//!
//! | formulas | paper |
//! |---|---|
//! | [`UnlabelledSizes`] | [Bassily, Mohri, Suresh 2023](halflight_base::bibliography) |
//! | [`WeightedSizes`] | [Bassily, Cortes, Mao, Mohri 2024](halflight_base::bibliography) |
//! | [`ProjectedSizes`] | [Pinto, Hu, Yang, Sanyal 2023](halflight_base::bibliography) |
//! | [`direction_records`] | [Gu, Kamath, Wu 2023](halflight_base::bibliography) |

use crate::mode::refuse_given;
use crate::prelude::*;

/// β of the papers: the probability with which a bound may fail.
pub const FAILURE: f64 = 0.05;
/// The share of wrong answers for which the number of labelled records of PILLAR is stated.
pub const WRONG_ANSWERS: f64 = 0.1;
/// ρ: how near to the exact distance that of a released direction has to be.
pub const CLOSENESS: f64 = 0.1;

/// The most rounds that a setting allows.
const MOST_ROUNDS: f64 = 100_000.0;

/// What a theorem says about one quantity of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct TheoryLine {
    /// Name of the quantity, with its symbol.
    pub what: &'static str,
    pub theorem: &'static str,
    pub says: Says,
}

/// The statement of a theorem, in numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Says {
    /// The choice for which the theorem holds, and the one of the plan.
    Takes { asked: f64, used: f64 },
    /// The least number for which the theorem holds, and the one of the plan.
    AtLeast { asked: f64, used: f64 },
    /// A bound of the theorem's conditions, and the value of the plan.
    Below { most: f64, used: f64 },
    /// A bound, and the largest value that the quantity can have anyway.
    Bound { value: f64, largest: f64 },
    /// The reason why a term is not computed.
    NotComputed(&'static str),
}

impl Says {
    /// Whether the theorem holds for the plan and says more than is known without it. `None` for a
    /// choice and for a term that is not computed.
    pub fn tells(self) -> Option<bool> {
        match self {
            Self::AtLeast { asked, used } => Some(used >= asked),
            Self::Below { most, used } => Some(used < most),
            Self::Bound { value, largest } => Some(value < largest),
            Self::Takes { .. } | Self::NotComputed(_) => None,
        }
    }
}

fn line(what: &'static str, theorem: &'static str, says: Says) -> TheoryLine {
    TheoryLine { what, theorem, says }
}

choices! {
    /// Whose rounds, temperature and steps a method takes.
    pub enum Pace {
        /// Rounds, temperature and steps of the settings.
        Own = "own",
        /// Rounds, temperature and steps of the paper's corollary.
        Theory = "theory",
    }
}

pub(super) const PACE: Setting<Pace> = Pace::or(Pace::Own).named("pace", "").help(
    "theory takes the rounds, the temperature and the steps for which the paper's corollary is \
     proved. They are meant for very many records, and seldom good. own takes those below.",
);

impl Pace {
    /// Refuses settings that the corollary fixes itself.
    pub(super) fn fixes(self, spec: &Spec, settings: &Settings, keys: &[&str]) -> Result<()> {
        if self == Self::Own {
            return Ok(());
        }
        refuse_given(spec, settings, keys, "pace: \"theory\"", "pace: \"own\"")
    }
}

/// The sizes and bounds of a method that weights public records for unlabelled private ones.
#[derive(Debug, Clone, Copy)]
pub struct UnlabelledSizes {
    /// n
    pub private_records: f64,
    /// m
    pub public_records: f64,
    /// d
    pub features: f64,
    /// r
    pub norm: f64,
    /// r̂², that of the longest public record
    pub square: f64,
    /// Λ
    pub radius: f64,
    /// Y
    pub label: f64,
    /// λ
    pub weight_ridge: f64,
    pub target: Target,
}

/// The rounds, the temperature and the step of a corollary. Two-stage Frank–Wolfe has steps
/// 3/(k + 2) instead of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// K
    pub rounds: f64,
    /// μ in absolute units
    pub temperature: f64,
    /// η
    pub step: Option<f64>,
}

impl Choice {
    /// K as a number of rounds that a run can take.
    pub(super) fn whole_rounds(&self) -> u64 {
        self.rounds.round().clamp(1.0, MOST_ROUNDS) as u64
    }
}

const COROLLARY_2: &str = "corollary 2 of Bassily, Mohri and Suresh";
const COROLLARY_3: &str = "corollary 3 of Bassily, Mohri and Suresh";
const COROLLARY_4: &str = "corollary 4 of Bassily, Mohri and Suresh";
const THEOREM_10: &str = "theorem 10 of Bassily, Mohri and Suresh";
const THEOREM_11: &str = "theorem 11 of Bassily, Mohri and Suresh";
const BOUND_1: &str = "bound (1) of Bassily, Mohri and Suresh";
const ROUNDS: &str = "rounds K";
const STEP: &str = "step size η";
const TEMPERATURE: &str = "temperature μ";
const KNOWN_TERMS: &str = "known terms of the learning bound together";

impl UnlabelledSizes {
    /// A problem of the methods for unlabelled private records.
    pub(super) fn of(
        shape: &ProblemShape,
        square: f64,
        radius: f64,
        weight_ridge: f64,
        target: Target,
    ) -> Self {
        Self {
            private_records: shape.private_records as f64,
            public_records: shape.public_records as f64,
            features: shape.dimension as f64,
            norm: shape.bounds.feature_norm,
            square,
            radius,
            label: shape.bounds.label,
            weight_ridge,
            target,
        }
    }

    /// ln(1/δ)
    fn chance(&self) -> f64 {
        (1.0 / self.target.delta).ln()
    }

    /// εn
    fn strength(&self) -> f64 {
        self.target.epsilon * self.private_records
    }

    /// ln(mn/β)
    fn pairs(&self) -> f64 {
        (self.public_records * self.private_records / FAILURE).ln()
    }

    /// ln(m + n)
    fn all(&self) -> f64 {
        (self.public_records + self.private_records).ln()
    }

    /// K and η of corollary 2, at this μ: algorithm 1.
    pub fn single_stage(&self, temperature: f64) -> Choice {
        let length = self.radius * self.square.sqrt();
        let residual = length + self.label;
        let smooth = (1.0 + 2.0 * temperature * self.square).sqrt();
        let rounds = self.strength() * residual * smooth
            / (4.0
                * length
                * self.norm.powi(2)
                * temperature
                * self.pairs()
                * self.chance().sqrt());
        let step = 2_f64.sqrt() * residual / (length * smooth * rounds.sqrt());
        Choice { rounds, temperature, step: Some(step) }
    }

    /// The bound of corollary 2 on the stationarity gap, with ln(1/δ) to the power ¼ as it follows
    /// from theorem 4.
    pub fn single_stage_gap(&self, temperature: f64) -> f64 {
        let length = self.radius * self.square.sqrt();
        let inner = (length + self.label) * temperature * self.pairs() * self.chance().sqrt();
        32.0 * (1.0 + 2.0 * temperature * self.square).powf(0.25)
            * length.powf(1.5)
            * self.norm
            * inner.sqrt()
            / self.strength().sqrt()
    }

    /// The largest possible stationarity gap of algorithm 1's objective, D_qγ_q + D_wγ_w.
    fn largest_gap(&self) -> f64 {
        let (length, norm) = (self.radius * self.square.sqrt(), self.square.sqrt());
        let residual = length + self.label;
        2.0 * (residual.powi(2) + 4.0 * length.powi(2)) + 4.0 * self.radius * residual * norm
    }

    /// K and μ of corollary 3: algorithm 2.
    pub fn two_stage(&self) -> Choice {
        let rounds = self.square.powf(2.0 / 3.0) * self.strength().powf(2.0 / 3.0)
            / (3.0
                * self.norm.powf(4.0 / 3.0)
                * self.chance().cbrt()
                * (self.private_records.ln() * self.pairs()).powf(2.0 / 3.0));
        let temperature = (rounds * self.all() / (8.0 * self.square.powi(2))).sqrt();
        Choice { rounds, temperature, step: None }
    }

    /// The bound of theorem 10 on how far the smoothed discrepancy ends above the least.
    pub fn two_stage_excess(&self, choice: Choice) -> f64 {
        let Choice { rounds, temperature, .. } = choice;
        let smooth = 2.0 * (temperature * self.square.powi(2) + self.weight_ridge) / rounds;
        let draws = (self.public_records * rounds / FAILURE).ln();
        let noise = 8.0
            * temperature
            * self.norm.powi(2)
            * self.square
            * (2.0 * rounds * self.chance()).sqrt()
            * rounds.ln()
            * draws
            / self.strength();
        smooth + noise
    }

    /// K of theorem 11 and μ of corollary 4, or K at a given μ, with the step of algorithm 3.
    pub fn mirror_descent(&self, temperature: Option<f64>) -> Choice {
        let steepest = self.square + self.weight_ridge;
        let entries = (2.0 * self.public_records / FAILURE).ln();
        let temperature = temperature.unwrap_or_else(|| {
            self.strength().sqrt() * self.all().powf(0.25)
                / (4.0
                    * self.norm
                    * self.square.sqrt()
                    * (steepest * entries).sqrt()
                    * (self.public_records * self.chance()).powf(0.25))
        });
        let rounds = (steepest * self.strength()).powi(2)
            / (128.0
                * (temperature * self.square * self.norm.powi(2)).powi(2)
                * self.public_records
                * entries
                * self.chance());
        let step = 2.0 / steepest * (self.public_records.ln() / rounds).sqrt();
        Choice { rounds, temperature, step: Some(step) }
    }

    /// The bound of theorem 11 on how far the smoothed discrepancy ends above the least.
    pub fn mirror_descent_excess(&self, temperature: f64) -> f64 {
        let entries = (2.0 * self.public_records / FAILURE).ln();
        46.0 * (self.weight_ridge + self.square)
            * temperature
            * self.norm.powi(2)
            * self.square
            * entries
            * (self.public_records * self.chance()).sqrt()
            / self.strength()
    }

    /// The most by which ‖M(q)‖ can be above its least value, as no eigenvalue of M is larger.
    fn largest_excess(&self) -> f64 {
        self.square.max(self.norm.powi(2))
    }

    /// What corollary 2 says of a plan with these rounds, this temperature and step.
    pub(super) fn says_of_single_stage(&self, used: Choice) -> Vec<TheoryLine> {
        let asked = self.single_stage(used.temperature);
        let gap = self.single_stage_gap(used.temperature);
        let balanced = self.strength().powf(2.0 / 7.0) / self.norm.powi(2);
        let mut lines = vec![
            rounds(COROLLARY_2, asked, used),
            line(
                TEMPERATURE,
                "section 5 of Bassily, Mohri and Suresh, (εn)^(2/7) up to logarithms",
                Says::Takes { asked: balanced, used: used.temperature },
            ),
        ];
        lines.extend(step(COROLLARY_2, asked, used));
        let largest = self.largest_gap();
        lines.push(line("stationarity gap", COROLLARY_2, Says::Bound { value: gap, largest }));
        lines.extend(self.learning_bound(Some(used.temperature)));
        lines
    }

    /// What corollary 3 says of a plan with these rounds and this temperature.
    pub(super) fn says_of_two_stage(&self, used: Choice) -> Vec<TheoryLine> {
        let asked = self.two_stage();
        // The bound has a factor ln K.
        let value = self.two_stage_excess(Choice { rounds: asked.rounds.max(2.0), ..asked });
        self.says_of_excess(asked, used, (COROLLARY_3, COROLLARY_3), (THEOREM_10, value))
    }

    /// What theorem 11 and corollary 4 say of a plan with these rounds, this temperature and step.
    pub(super) fn says_of_mirror_descent(&self, used: Choice) -> Vec<TheoryLine> {
        let asked = self.mirror_descent(None);
        let value = self.mirror_descent_excess(asked.temperature);
        self.says_of_excess(asked, used, (THEOREM_11, COROLLARY_4), (THEOREM_11, value))
    }

    fn says_of_excess(
        &self,
        asked: Choice,
        used: Choice,
        (of_rounds, of_temperature): (&'static str, &'static str),
        (theorem, excess): (&'static str, f64),
    ) -> Vec<TheoryLine> {
        let (value, used_value) = (asked.temperature, used.temperature);
        let mut lines = vec![
            rounds(of_rounds, asked, used),
            line(TEMPERATURE, of_temperature, Says::Takes { asked: value, used: used_value }),
        ];
        lines.extend(step(of_rounds, asked, used));
        let smoothing =
            (2.0 * (self.public_records + self.private_records).min(self.features)).ln();
        lines.push(line(
            "‖M(q)‖ above the least, at the choices of the theorem",
            theorem,
            Says::Bound {
                value: excess + smoothing / asked.temperature,
                largest: self.largest_excess(),
            },
        ));
        lines.extend(self.learning_bound(None));
        lines
    }

    /// The terms of the learning bound. `temperature` is that of an objective whose value stands
    /// for the first two terms.
    pub(super) fn learning_bound(&self, temperature: Option<f64>) -> Vec<TheoryLine> {
        let length = self.radius * self.norm;
        let largest = (length + self.label).powi(2);
        let models = 2.0 * largest * length / self.private_records.sqrt();
        let chance = largest * ((1.0 / FAILURE).ln() / (2.0 * self.private_records)).sqrt();
        let smoothing = temperature.map(|temperature| 2.0 * self.all() / temperature);
        let bound = |value: f64| Says::Bound { value, largest };
        let mut lines = vec![
            line("size of the models' class, 2MR", BOUND_1, bound(models)),
            line("chance of the sample, M√(ln(1/β)/2n)", BOUND_1, bound(chance)),
        ];
        lines.extend(
            smoothing.map(|term| line("smoothing, 2ln(m + n)/μ", COROLLARY_2, bound(term))),
        );
        let known = models + chance + smoothing.unwrap_or(0.0);
        lines.extend([
            line(KNOWN_TERMS, BOUND_1, bound(known)),
            line(
                "weighted loss of the model",
                BOUND_1,
                Says::NotComputed("it follows from the weights and the model of a run"),
            ),
            line(
                "discrepancy 4Λ²‖M(q)‖",
                BOUND_1,
                Says::NotComputed("it depends on the private records"),
            ),
            line(
                "difference of the labels, η_H",
                BOUND_1,
                Says::NotComputed("it depends on private labels, which nobody has"),
            ),
        ]);
        lines
    }
}

fn rounds(theorem: &'static str, asked: Choice, used: Choice) -> TheoryLine {
    line(ROUNDS, theorem, Says::Takes { asked: asked.rounds, used: used.rounds })
}

fn step(theorem: &'static str, asked: Choice, used: Choice) -> Option<TheoryLine> {
    let (asked, used) = (asked.step?, used.step?);
    Some(line(STEP, theorem, Says::Takes { asked, used }))
}

/// The sizes and bounds of a method that learns a weight for every record.
#[derive(Debug, Clone, Copy)]
pub struct WeightedSizes {
    /// n
    pub private_records: f64,
    /// m
    pub public_records: f64,
    /// d: the number of parameters
    pub parameters: f64,
    /// α
    pub alpha: f64,
    /// Λ
    pub radius: f64,
    /// B
    pub loss: f64,
    /// G
    pub gradient: f64,
    /// κ₁ + κ₂ + κ_∞, or λ₁ + λ₂ + λ_∞
    pub pulls: f64,
    pub target: Target,
}

const THEOREM_4_2: &str = "theorem 4.2 of Bassily, Cortes, Mao and Mohri";
const THEOREM_5_2: &str = "theorem 5.2 of Bassily, Cortes, Mao and Mohri";
const THEOREM_B_1: &str = "theorem B.1 of Bassily, Cortes, Mao and Mohri";

impl WeightedSizes {
    /// The least T of theorem 4.2.
    pub fn convex_steps(&self) -> f64 {
        let (m, n, rest) = (self.public_records, self.private_records, 1.0 - self.alpha);
        let precision = self.target.epsilon.powi(2) / (1.0 / self.target.delta).ln();
        let ratio = ((self.loss + self.pulls) / self.loss).powi(2);
        let model = n.powi(2) * precision / (self.parameters * rest.powi(2));
        let weights = ratio * precision;
        1_f64.max(model).max(weights).max(weights * (n / m).powi(3))
    }

    /// The part of theorem 4.2's bound that the model's steps have, Λ√((G² + dσ₁²)/T).
    pub fn convex_excess(&self, steps: f64) -> f64 {
        let sensitivity = 2.0 * (1.0 - self.alpha) * self.gradient / self.private_records;
        let chance = (3.0 / self.target.delta).ln();
        let noise = 2.0 * sensitivity * (steps * chance).sqrt() / self.target.epsilon;
        let square = self.gradient.powi(2) + self.parameters * noise.powi(2);
        self.radius * (square / steps).sqrt()
    }

    /// T of theorem 5.2, for the smoothness β̄ and the bound M on the objective.
    pub fn smooth_steps(&self, smoothness: f64, objective: f64) -> f64 {
        let (n, rest) = (self.private_records, 1.0 - self.alpha);
        let noise = 40.0 * self.gradient.powi(2) * self.parameters * n + (rest * self.loss).powi(2);
        let chance = (2.0 / self.target.delta).ln();
        (smoothness * objective).sqrt() * self.target.epsilon * n.powf(1.5)
            / (rest * (chance * noise).sqrt())
    }

    /// The bound of theorem 5.2 on the mean square of the gradient mapping.
    pub fn smooth_mapping(&self, smoothness: f64, objective: f64) -> f64 {
        let (n, rest) = (self.private_records, 1.0 - self.alpha);
        let noise = 2.0 * 10_f64.sqrt() * self.gradient * self.parameters.sqrt() / n
            + rest * self.loss / n.powf(1.5);
        16.0 * rest * (smoothness * objective * (2.0 / self.target.delta).ln()).sqrt() * noise
            / self.target.epsilon
    }

    /// The largest square of the gradient mapping, by lemma 4.1.
    fn largest_mapping(&self) -> f64 {
        let all = self.loss + self.pulls;
        let public = self.alpha.powi(2) * (self.loss + all) / self.public_records.powf(1.5);
        let private = (1.0 - self.alpha).powi(2) * all / self.private_records.powf(1.5);
        self.gradient.powi(2) + public.powi(2) + private.powi(2)
    }

    /// What theorem 4.2 says of a plan with these steps.
    pub(super) fn says_of_convex(&self, steps: u64) -> Vec<TheoryLine> {
        let used = steps as f64;
        let mut lines = vec![
            line("steps T", THEOREM_4_2, Says::AtLeast { asked: self.convex_steps(), used }),
            line(
                "objective above the least: the model's part, at the plan's steps",
                THEOREM_4_2,
                Says::Bound { value: self.convex_excess(used), largest: self.loss },
            ),
            line(
                "objective above the least: the weights' part",
                THEOREM_4_2,
                Says::NotComputed(
                    "it grows with the distance of the first weights from the best ones, which \
                     depends on the private records",
                ),
            ),
        ];
        lines.extend(self.learning_bound(true));
        lines
    }

    /// What theorem 5.2 says of a plan with these steps. `single` tells whether the learner has one
    /// linear score.
    pub(super) fn says_of_smooth(
        &self,
        steps: u64,
        (smoothness, objective): (Option<f64>, f64),
        single: bool,
    ) -> Vec<TheoryLine> {
        let mut lines = match smoothness {
            Some(smoothness) => vec![
                line(
                    "steps T",
                    THEOREM_5_2,
                    Says::Takes {
                        asked: self.smooth_steps(smoothness, objective),
                        used: steps as f64,
                    },
                ),
                line(
                    "square of the gradient mapping, at the theorem's steps",
                    THEOREM_5_2,
                    Says::Bound {
                        value: self.smooth_mapping(smoothness, objective),
                        largest: self.largest_mapping(),
                    },
                ),
            ],
            None => vec![line(
                "steps T",
                THEOREM_5_2,
                Says::NotComputed("the smoothness β̄ of a network's loss is not known"),
            )],
        };
        lines.extend(self.learning_bound(single));
        lines
    }

    /// The terms of the learning bound at the first weights, with these as the reference weights.
    fn learning_bound(&self, single: bool) -> Vec<TheoryLine> {
        let (m, n) = (self.public_records, self.private_records);
        let (public, private) = (self.alpha / m, (1.0 - self.alpha) / n);
        let length = (m * public.powi(2) + n * private.powi(2)).sqrt();
        let chance = self.loss * length * ((2.0 / FAILURE).ln() / 2.0).sqrt();
        let models = 2.0 * public.max(private) * (m + n).sqrt() * self.gradient * self.radius;
        let bound = |value: f64| Says::Bound { value, largest: self.loss };
        let of_models = if single {
            bound(models)
        } else {
            Says::NotComputed("the paper's inequality is for a loss of one linear score")
        };
        let known = chance + if single { models } else { 0.0 };
        vec![
            line("size of the models' class, 2R_q", THEOREM_B_1, of_models),
            line("chance of the samples, B‖q‖√(ln(2/β)/2)", THEOREM_B_1, bound(chance)),
            line(KNOWN_TERMS, THEOREM_B_1, bound(known)),
            line(
                "weighted loss, and α times the discrepancy",
                THEOREM_B_1,
                Says::NotComputed("they depend on the private records"),
            ),
        ]
    }
}

/// The sizes of private training on public directions.
#[derive(Debug, Clone, Copy)]
pub struct ProjectedSizes {
    /// k
    pub directions: f64,
    /// γ
    pub margin: f64,
    /// ξ_k
    pub outside: f64,
    /// Δ_k, for records of norm 1
    pub eigengap: f64,
    pub epsilon: f64,
}

const THEOREM_1: &str = "theorem 1 of Pinto, Hu, Yang and Sanyal";

impl ProjectedSizes {
    /// n^U: the least number of public records.
    pub fn public_records(&self) -> f64 {
        let chance = 1.0 + ((2.0 / FAILURE).ln() / 2.0).sqrt();
        1600.0 * chance.powi(2) / (self.margin * self.eigengap).powi(2)
    }

    /// ζ = γ(1 − ξ − γ/10)
    pub fn scale(&self) -> f64 {
        self.margin * (1.0 - self.outside - 0.1 * self.margin)
    }

    /// √k/(αεζ): n^L without the logarithms that the paper leaves open.
    pub fn private_records(&self) -> f64 {
        self.directions.sqrt() / (WRONG_ANSWERS * self.epsilon * self.scale())
    }

    /// What theorem 1 says of a plan with these numbers of records.
    pub(super) fn says(&self, shape: &ProblemShape) -> Vec<TheoryLine> {
        let (m, n) = (shape.public_records as f64, shape.private_records as f64);
        let (of_public, of_private) =
            ("public records n^U", "private records n^L, up to logarithms");
        if self.margin <= 0.0 || self.scale() <= 0.0 || self.eigengap <= 0.0 {
            let why = "the public classes have no margin in these directions, or no eigengap";
            let says = Says::NotComputed(why);
            return vec![line(of_public, THEOREM_1, says), line(of_private, THEOREM_1, says)];
        }
        vec![
            line(of_public, THEOREM_1, Says::AtLeast { asked: self.public_records(), used: m }),
            line(of_private, THEOREM_1, Says::AtLeast { asked: self.private_records(), used: n }),
            line(
                "ε, by 1/√k",
                THEOREM_1,
                Says::Below { most: 1.0 / self.directions.sqrt(), used: self.epsilon },
            ),
        ]
    }
}

/// What is said of theorem 1 on training in a public subspace of the gradients: no number.
pub(super) fn says_of_subspace() -> TheoryLine {
    let why = "its constants are not printed, and it needs the singular values of the private \
               gradients in every step";
    line("excess risk", "theorem 1 of Gu, Kamath and Wu", Says::NotComputed(why))
}

/// m of theorem 3: the private records that a released direction of gradients with this many
/// parameters needs, at this ε.
///
/// The largest eigenvalue λ₁ and its gap α are private. With gradients of norm c at most, λ₁ ≤ c²,
/// and the number falls with α ≤ λ₁ and rises with λ₁/α ≥ 1. So λ₁ = α = c² asks for least: no
/// gradients need fewer.
pub fn direction_records(parameters: f64, epsilon: f64) -> f64 {
    let square = CLOSENESS.powi(2);
    parameters / (epsilon * (1.0 - (1.0 - square).sqrt()))
        * (4.0 * (1.0 / FAILURE).ln() / parameters + 2.0 * (8.0 / square).ln())
}

/// What theorem 3 says of a ranking by one released direction of the gradients.
pub fn says_of_direction(parameters: usize, epsilon: f64, private_records: usize) -> TheoryLine {
    let asked = direction_records(parameters as f64, epsilon);
    let theorem = "theorem 3 of Gu, Kamath and Wu, with the best possible eigenvalues";
    line(
        "private records of a ranking by one released direction",
        theorem,
        Says::AtLeast { asked, used: private_records as f64 },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use halflight_testing as golden;

    #[test]
    fn every_formula_agrees_with_the_reference() {
        let golden = golden::theory();
        for case in ["small", "large"] {
            let number = |key: &str| golden.number(&format!("{case}.{key}"));
            let target = Target { epsilon: number("epsilon"), delta: number("delta") };
            let sizes = UnlabelledSizes {
                private_records: number("n"),
                public_records: number("m"),
                features: number("d"),
                norm: number("r"),
                square: number("r_hat").powi(2),
                radius: number("radius"),
                label: number("label"),
                weight_ridge: number("lambda"),
                target,
            };
            let weighted = WeightedSizes {
                private_records: number("n"),
                public_records: number("m"),
                parameters: number("d"),
                alpha: number("alpha"),
                radius: number("radius"),
                loss: number("loss"),
                gradient: number("gradient"),
                pulls: number("pulls"),
                target,
            };
            let projected = ProjectedSizes {
                directions: number("k"),
                margin: number("margin"),
                outside: number("outside"),
                eigengap: number("eigengap"),
                epsilon: number("epsilon"),
            };
            let mu = number("mu");
            let (one, two, three) =
                (sizes.single_stage(mu), sizes.two_stage(), sizes.mirror_descent(None));
            let (beta, objective) = (number("smoothness"), number("objective"));
            let lines = sizes.says_of_single_stage(one);
            let of = |lines: &[TheoryLine], what: &str| {
                let found = lines.iter().find(|line| line.what.starts_with(what)).unwrap();
                let Says::Bound { value, .. } = found.says else { panic!("{what}") };
                value
            };
            let convex = weighted.says_of_convex(60);
            for (key, ours) in [
                ("single.rounds", one.rounds),
                ("single.step", one.step.unwrap()),
                ("single.gap", sizes.single_stage_gap(mu)),
                ("single.largest_gap", sizes.largest_gap()),
                ("two.rounds", two.rounds),
                ("two.mu", two.temperature),
                ("two.excess", sizes.two_stage_excess(two)),
                ("mirror.rounds", three.rounds),
                ("mirror.mu", three.temperature),
                ("mirror.step", three.step.unwrap()),
                ("mirror.excess", sizes.mirror_descent_excess(three.temperature)),
                ("mirror.rounds_at_mu", sizes.mirror_descent(Some(mu)).rounds),
                ("bound.models", of(&lines, "size")),
                ("bound.chance", of(&lines, "chance")),
                ("bound.smoothing", of(&lines, "smoothing")),
                ("bound.known", of(&lines, "known")),
                ("convex.steps", weighted.convex_steps()),
                ("convex.excess", weighted.convex_excess(60.0)),
                ("convex.models", of(&convex, "size")),
                ("convex.chance", of(&convex, "chance")),
                ("smooth.steps", weighted.smooth_steps(beta, objective)),
                ("smooth.mapping", weighted.smooth_mapping(beta, objective)),
                ("smooth.largest", weighted.largest_mapping()),
                ("pillar.public", projected.public_records()),
                ("pillar.private", projected.private_records()),
                ("direction.records", direction_records(number("d"), target.epsilon)),
            ] {
                let theirs = number(key);
                assert!((ours / theirs - 1.0).abs() < 1e-10, "{case} {key}: {ours} {theirs}");
            }
        }
    }

    #[test]
    fn a_bound_tells_something_only_below_what_is_known_anyway() {
        let bound = |value| Says::Bound { value, largest: 1.0 };
        assert_eq!((bound(0.9).tells(), bound(1.0).tells()), (Some(true), Some(false)));
        let least = |asked| Says::AtLeast { asked, used: 5262.0 };
        assert_eq!((least(5262.0).tells(), least(1.2e6).tells()), (Some(true), Some(false)));
        assert_eq!(Says::Takes { asked: 1.0, used: 2.0 }.tells(), None);
    }
}
