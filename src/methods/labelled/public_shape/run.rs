//! The rounds of a run.

use super::base::Rivals;
use super::features::Ground;
use super::labels::Labels;
use super::query::{Asked, Question};
use super::rounds::Rounds;
use crate::ColumnCorrection;
use crate::prelude::*;
use crate::privacy::openings::{OpenPrivate, OpenReleased};
use crate::problem::UNLABELLED;

pub(super) struct Adaptation {
    pub query: Question,
    pub release: Release<Gaussian>,
    /// The release that chooses the base, if it is worth its price.
    pub choice: Option<Release<Gaussian>>,
    pub rounds: u64,
    /// The data to learn from, until they are used.
    pub lesson: Option<(Problem, Private<Bounded>)>,
    /// The state after the lesson.
    pub state: Option<State>,
    pub index: u64,
}

pub(super) struct State {
    private: Private<Asked>,
    rounds: Rounds,
    model: Option<Released<Model>>,
    columns: Option<Released<Vec<ColumnCorrection>>>,
}

impl Adaptation {
    fn learn(
        &mut self,
        problem: &Problem,
        private: &Private<Bounded>,
        spender: &mut Spender,
    ) -> Result<Step> {
        let (query, sigma) = (self.query, spender.scale(&self.release)?);
        let (taught, usual) = super::lesson(&problem.public, problem.seed)?;
        let mut ground = Ground::clone(&*usual);
        let mut chosen = None;
        let records = problem.shape.joint_records();
        if let Some(release) = self.choice {
            let rivals = Rivals::of(&taught, &usual.labels);
            let reach = Reach::Ball(1.0);
            let released = private.release_gaussian(spender, release, &reach, |data| {
                rivals.ask(&usual.shape, data)
            })?;
            let base = rivals.best(released.get(), spender.scale(&release)?, records);
            if let Some(base) = base {
                ground = super::ground_on(problem, &taught, &base)?;
            }
            chosen = Some(released);
        }
        let ground = ground.weighed(sigma / (self.rounds as f64).sqrt());
        let shape = &ground.shape;
        // Only the disk can fail here, besides.
        let private = private.try_map(|data| {
            let labels = Labels::of(data).map_err(|_| UNLABELLED)?;
            let (seen, persons) = (shape.see_in_parts(&data.features)?, data.persons.clone());
            Ok(Asked { seen, labels, persons })
        })?;
        let loss = ground.labels.mean_loss(&shape.corrected(&ground.seen));
        let persons =
            if query.sharp { persons_among(&ground.compared, problem) } else { Vec::new() };
        let rounds = Rounds::new(ground, query, sigma, records, persons);
        self.state = Some(State { private, rounds, model: None, columns: None });
        self.index = 1;
        // The loss of a base that private records chose says something of them.
        let measures = vec![match chosen {
            Some(released) => Measure::released(Series::PublicLoss, released.and(loss)),
            None => Measure::public(Series::PublicLoss, loss),
        }];
        Ok(Step { index: 1, total: self.rounds + 1, phase: "learn", measures, done: false })
    }

    fn ask(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step> {
        let query = self.query;
        let state = self.state.as_mut().ok_or_else(|| {
            Error::failed("the run has nothing to learn from").cure("start it again")
        })?;
        let (clip, length) = (state.rounds.clip, state.rounds.length);
        let correction = state.rounds.flat();
        let reach = Reach::Ball(query.longest());
        let released =
            state.private.release_gaussian(spender, self.release, &reach, |private| {
                query.ask(private, correction.as_slice(), clip, length)
            })?;
        // A site that is gone takes its noise with it.
        state.rounds.sigma = spender.scale(&self.release)?;
        state.rounds.hear(released.get());
        let shape = state.rounds.shape();
        let ground = &state.rounds.ground;
        let public_loss = ground.labels.mean_loss(&shape.corrected(&ground.seen));
        let mut measures = vec![Measure::released(Series::PublicLoss, released.and(public_loss))];
        let told = |(series, size)| Measure::released(series, released.and(size));
        measures.extend(state.rounds.sizes().into_iter().map(told));
        if let Some([gap, noise]) = state.rounds.gap() {
            measures.extend([(Series::StationarityGap, gap), (Series::NoiseGap, noise)].map(told));
        }
        let exact = |private: &Asked| private.labels.mean_loss(&shape.corrected(&private.seen));
        if let Some(exact) = state.private.curator(watch, exact) {
            measures.push(Measure::curator(Series::PrivateLoss, exact));
        }
        state.model = Some(released.and(Model::Shape(shape)));
        state.columns = Some(released.and(state.rounds.by_column()));
        self.index += 1;
        let (index, total) = (self.index, self.rounds + 1);
        Ok(Step { index, total, phase: "correct", measures, done: index == total })
    }
}

/// For each public person, the positions of their records among the compared ones, at most as many
/// as a private person may have.
fn persons_among(compared: &[u32], problem: &Problem) -> Vec<Vec<usize>> {
    let Some(persons) = problem.public.persons() else { return Vec::new() };
    let place = |record: usize| compared.partition_point(|other| (*other as usize) < record);
    let own = |own: std::ops::Range<usize>| -> Vec<usize> {
        (place(own.start)..place(own.end)).take(problem.shape.most_records).collect()
    };
    persons.iter().map(own).filter(|own| !own.is_empty()).collect()
}

impl Run for Adaptation {
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step> {
        match self.lesson.take() {
            Some((problem, private)) => self.learn(&problem, &private, spender),
            None => self.ask(spender, watch),
        }
    }

    fn model(&self) -> Option<Released<Model>> {
        self.state.as_ref()?.model.clone()
    }

    fn columns(&self) -> Option<Released<Vec<ColumnCorrection>>> {
        self.state.as_ref()?.columns.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::data::Dataset;
    use crate::model::Model;
    use crate::numeric::{Matrix, Vector};
    use crate::privacy::Target;
    use crate::trial::{RehearsalNoise, Trial, Tried};
    use crate::{Series, Value, example};

    const ROUNDS: usize = 10;

    fn rehearse(
        public: &Dataset,
        private: &Dataset,
        noise: RehearsalNoise,
        neighbours: &str,
    ) -> Tried {
        let settings =
            BTreeMap::from([("neighbours".to_owned(), Value::Text(neighbours.to_owned()))]);
        let method = if public.classes.is_some() { "public_shape_classes" } else { "public_shape" };
        Trial { settings, ..Trial::new(method, public, private, noise, 3) }.run().unwrap()
    }

    fn loss(rehearsed: &Tried) -> f64 {
        rehearsed.series(Series::PrivateLoss).last().unwrap().1
    }

    #[test]
    fn at_a_large_epsilon_the_loss_is_that_of_no_noise_and_far_below_the_public_one() {
        let target = Target { epsilon: 100.0, delta: 1e-6 };
        let (_, public, private) = example::shifted(6, 1500, 3000, 2);
        let (_, open, closed) = example::two_classes(6, 1500, 3000, 2);
        for (public, private) in [(&public, &private), (&open, &closed)] {
            let exact = rehearse(public, private, RehearsalNoise::None(target), "replace_one");
            assert_eq!(exact.series(Series::PrivateLoss).len(), ROUNDS);
            for neighbours in ["replace_one", "zero_out"] {
                let noisy = rehearse(public, private, RehearsalNoise::For(target), neighbours);
                let (noisy, exact) = (loss(&noisy), loss(&exact));
                // The classes are nearly separable, so five rounds do not reach the least loss.
                let near = if public.classes.is_some() { 0.033 } else { 0.01 };
                assert!((noisy / exact - 1.0).abs() < near, "{neighbours}: {noisy} {exact}");
            }
            let Model::Shape(mut plain) = exact.model.clone() else { panic!("another model") };
            plain.correction.fill(0.0);
            let labels = super::Labels::of(private).unwrap();
            let public = labels.mean_loss(&plain.answers(&private.features));
            assert!(loss(&exact) < 0.9 * public, "{} {public}", loss(&exact));
        }
    }

    #[test]
    fn a_column_whose_effect_differs_has_the_largest_correction_and_noise_alone_has_none() {
        let (_, public, _) = example::shifted(6, 1500, 3000, 2);
        let mut private = public.clone();
        for (label, x) in
            private.target.as_mut().unwrap().iter_mut().zip(public.features.column_iter())
        {
            *label = (*label + 0.5 * x[2]).clamp(-1.0, 1.0);
        }
        let columns = |epsilon: f64| {
            let noise = RehearsalNoise::For(Target { epsilon, delta: 1e-6 });
            let columns = rehearse(&public, &private, noise, "replace_one").columns;
            let names: Vec<&String> = columns.iter().map(|it| &it.column).collect();
            assert_eq!(names, public.feature_names.iter().collect::<Vec<_>>());
            columns
                .into_iter()
                .map(|it| (it.size, it.times_noise))
                .collect::<(Vec<f64>, Vec<f64>)>()
        };
        let (found, times) = columns(10.0);
        let others = found.iter().enumerate().filter(|(at, _)| *at != 2).map(|(_, size)| *size);
        assert!(found[2] > 3.0 * others.fold(0.0, f64::max), "{found:?}");
        // The label moves by half of the column.
        let spread = public.features.row(2).variance().sqrt();
        assert!((found[2] / (0.5 * spread) - 1.0).abs() < 0.2, "{found:?} {spread}");
        // What the private records ask for is there, and it is far above the noise.
        assert!(times[2] > 5.0 && times.iter().all(|it| *it <= times[2]), "{times:?}");
        let (drowned, times) = columns(0.02);
        assert!(times.iter().all(|it| *it < 3.0), "{times:?}");
        assert!(drowned.iter().all(|size| *size < 0.1 * found[2]), "{drowned:?}");
    }

    #[test]
    fn the_gap_falls_where_there_is_signal_and_is_that_of_noise_where_there_is_none() {
        let (_, public, private) = example::shifted(6, 1500, 3000, 2);
        let (_, open, closed) = example::two_classes(6, 1500, 3000, 2);
        for (public, private) in [(&public, &private), (&open, &closed)] {
            let gaps = |epsilon| {
                let noise = RehearsalNoise::For(Target { epsilon, delta: 1e-6 });
                let rehearsed = rehearse(public, private, noise, "replace_one");
                let [gap, noise] = [Series::StationarityGap, Series::NoiseGap]
                    .map(|series| rehearsed.series(series).iter().map(|it| it.1).collect());
                let (gap, noise): (Vec<f64>, Vec<f64>) = (gap, noise);
                assert_eq!((gap.len(), noise.len()), (ROUNDS, ROUNDS));
                (gap, noise)
            };
            let (gap, noise) = gaps(100.0);
            assert!(gap[0] > 20.0 * noise[0], "{gap:?} {noise:?}");
            assert!(gap[ROUNDS - 1] < 0.3 * gap[0], "{gap:?}");
            let (gap, noise) = gaps(0.02);
            for (gap, noise) in gap.iter().zip(&noise) {
                assert!((gap / noise - 1.0).abs() < 0.5, "{gap} {noise}");
            }
        }
    }

    /// Labels, a column that follows them where `told`, a column without meaning, and scores.
    fn scored(records: usize, told: bool, scores: &[fn(f64, f64) -> f64], seed: u64) -> Dataset {
        let mut generator = example::generator(seed);
        let mut target = Vec::new();
        let mut features = Matrix::zeros(2 + scores.len(), records);
        for mut record in features.column_iter_mut() {
            // As many as for the most scores, so that all tables have the same other columns.
            let draws = example::normals(&mut generator, 12) * 0.2;
            let label = draws[0].clamp(-1.0, 1.0);
            record[0] = if told { label + 0.2 * draws[1] } else { draws[1] };
            record[1] = draws[2];
            for (at, score) in scores.iter().enumerate() {
                record[2 + at] = score(label, draws[4 + at]);
            }
            let norm = record.norm();
            record *= crate::numeric::projection::shrink_factor(norm, 1.0);
            target.push(label);
        }
        let mut data = example::labelled(features, target);
        for (at, name) in data.feature_names.iter_mut().skip(2).enumerate() {
            *name = if at == 0 {
                "(public score)".into()
            } else {
                format!("(public score {})", at + 1)
            };
        }
        data
    }

    fn base(rehearsed: &Tried) -> Vec<f64> {
        let Model::Shape(shape) = &rehearsed.model else { panic!("another model") };
        shape.base.clone()
    }

    #[test]
    fn a_column_of_the_user_is_the_base_where_all_that_contains_it_fails() {
        let noise = || RehearsalNoise::For(Target { epsilon: 2.0, delta: 1e-6 });
        let near: fn(f64, f64) -> f64 = |label, noise| label + 0.7 * noise;
        let run = |scores: &[fn(f64, f64) -> f64], told| {
            let (public, private) = (scored(1500, true, scores, 1), scored(3000, told, scores, 2));
            rehearse(&public, &private, noise(), "replace_one")
        };
        assert_eq!(base(&run(&[near], false))[4..], [1.0]);
        assert_eq!(base(&run(&[near], true))[4..], [0.0]);
        // The line through all, and the best three of eight: constants, other units, nothing but
        // noise.
        let zero: fn(f64, f64) -> f64 = |_, _| 0.0;
        let many = [zero, |_, noise| noise, |_, noise| -noise, |_, noise| 1e-6 * noise];
        let many = [&many[..], &[zero, |label, noise| 1e-3 * (label + 0.7 * noise), zero, zero]];
        let (with, without) = (run(&many.concat(), false), run(&[], false));
        let found = base(&with);
        assert_eq!((found.len(), found[4..].iter().sum::<f64>()), (8, 1.0));
        let losses = (loss(&with), loss(&without));
        assert!(losses.0 < 0.9 * losses.1, "{losses:?} {found:?}");
        let (with, without) = (run(&[zero], false), run(&[], false));
        assert_eq!(base(&with)[4..], [0.0]);
        assert!(loss(&with) < 1.02 * loss(&without), "{} {}", loss(&with), loss(&without));
    }

    #[test]
    fn where_every_base_loses_to_a_constant_the_answer_does_not() {
        let (_, public, mut private) = example::shifted(6, 1500, 3000, 2);
        for label in private.target.as_mut().unwrap() {
            *label *= -0.5;
        }
        let labels = Vector::from_vec(private.target.clone().unwrap());
        let (constant, mean) = (labels.variance(), labels.mean());
        let noise = RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-6 });
        let found = rehearse(&public, &private, noise, "replace_one");
        let Model::Shape(mut plain) = found.model.clone() else { panic!("another model") };
        plain.correction.fill(0.0);
        let base =
            super::Labels::of(&private).unwrap().mean_loss(&plain.answers(&private.features));
        assert!(base > 1.2 * constant, "{base} {constant} {mean}");
        assert!(loss(&found) < 0.9 * constant, "{} {constant}", loss(&found));
    }

    #[test]
    fn where_public_labels_say_nothing_private_ones_are_asked_about_the_columns() {
        let (_, mut public, private) = example::shifted(6, 1500, 3000, 2);
        public.target.as_mut().unwrap().rotate_left(1);
        let noise = RehearsalNoise::For(Target { epsilon: 0.07, delta: 1e-6 });
        let found = rehearse(&public, &private, noise, "replace_one");
        let Model::Shape(mut plain) = found.model.clone() else { panic!("another model") };
        plain.correction.fill(0.0);
        let base =
            super::Labels::of(&private).unwrap().mean_loss(&plain.answers(&private.features));
        assert!(loss(&found) < 0.2 * base, "{} {base}", loss(&found));
    }

    #[test]
    fn less_noise_is_needed_where_a_record_may_only_be_missing() {
        let target = Target { epsilon: 1.0, delta: 1e-6 };
        let (_, public, private) = example::shifted(3, 200, 500, 4);
        let scale = |neighbours: &str| {
            let rehearsed = rehearse(&public, &private, RehearsalNoise::For(target), neighbours);
            assert!(rehearsed.calibrated.guarantee().epsilon <= 1.0);
            rehearsed.calibrated.events()[0].mechanism.noise.scale
        };
        assert!(scale("zero_out") < 0.7 * scale("replace_one"));
    }
}
