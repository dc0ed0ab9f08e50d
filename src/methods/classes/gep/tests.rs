use std::collections::BTreeMap;

use super::*;
use crate::data::Dataset;
use crate::model::gradients::Contribution;
use crate::privacy::ClippedSum;
use crate::privacy::accountant::QueryKind;
use crate::trial::{RehearsalNoise, Trial};
use crate::{Value, example};
use halflight_testing as golden;

fn of_rows(rows: &Matrix) -> Gradients {
    let columns = rows.transpose();
    Gradients { losses: vec![0.0; columns.ncols()], layers: vec![Contribution::Formed(columns)] }
}

fn settings(pairs: &[(&str, f64)]) -> BTreeMap<String, Value> {
    pairs.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x))).collect()
}

#[test]
fn the_subspace_and_a_step_agree_with_the_reference() {
    let golden = golden::gsd();
    let (private, public) =
        (of_rows(&golden.rows("subspace.A")), of_rows(&golden.rows("subspace.B")));
    let mut anchor = Anchor::default();
    for _ in 0..10 {
        // Each time it continues from its earlier place.
        anchor = Anchor::of(&public, 2, anchor).unwrap();
    }
    let projector = &anchor.basis * anchor.basis.transpose();
    golden::assert_close(&projector, &golden.rows("gep_step.projector"), 1e-9);
    let (s1, s2) = (golden.number("gep_step.S1"), golden.number("gep_step.S2"));
    let split = ContributionSplit::new(s1, s2, 0.5);
    let inside = private.project(&anchor.basis);
    let squares = private.squared_norms();
    for (i, square) in squares.iter().enumerate() {
        let within = inside.column(i).norm_squared();
        let (one, two) = split.factors(*square, within);
        let wanted = |entry: &str| golden.vector(&format!("gep_step.{entry}"))[i];
        assert!((within.sqrt() - wanted("embedding_norms")).abs() < 1e-9);
        assert!(((square - within).sqrt() - wanted("residual_norms")).abs() < 1e-9);
        assert!((one - wanted("clip1")).abs() < 1e-9 && (two - wanted("clip2")).abs() < 1e-9);
    }
    let mut sum = ClippedSum::new(6, 1.0);
    sum.add(&split.embed(&anchor.basis, &private), squares.len(), f64::INFINITY);
    let sum = sum.finish();
    let mean = split.gradient(&anchor.basis, &sum) / squares.len() as f64;
    golden::assert_near(&mean, &golden.vector("gep_step.v_hat"), 1e-9);
    let next = golden.vector("gep_step.theta") - golden.number("gep_step.eta") * mean;
    golden::assert_near(&next, &golden.vector("gep_step.theta_next"), 1e-9);
}

/// The lines of algorithm 4, for two directions and one finite ε: the basis by a singular value
/// decomposition, rows clipped one by one, and the noise σ times each clip norm.
#[test]
fn the_printed_step_is_that_of_the_paper() {
    let golden = golden::gsd();
    let (rows, public) = (golden.rows("subspace.A"), golden.rows("subspace.B"));
    let (s1, s2, steps, n) = (0.4, 0.15, 7_u64, rows.nrows());
    let target = Target { epsilon: 2.0, delta: 1e-5 };
    let normals = example::normals(&mut example::generator(9), 2 + rows.ncols());

    let mut anchor = Anchor::default();
    for _ in 0..10 {
        anchor = Anchor::of(&of_rows(&public), 2, anchor).unwrap();
    }
    let split = ContributionSplit::new(s1, s2, 0.5);
    let mut sum = ClippedSum::new(2 + rows.ncols(), 1.0);
    let private = of_rows(&rows);
    sum.add(&split.embed(&anchor.basis, &private), n, f64::INFINITY);
    let noise = printed_noise(target, steps);
    let noisy: Vec<f64> =
        sum.finish().iter().zip(normals.iter()).map(|(part, z)| part + noise * z).collect();
    let ours = split.gradient(&anchor.basis, &noisy) / n as f64;

    let sigma = 2.0 * (2.0 * 7.0 * (1e5_f64).ln()).sqrt() / 2.0;
    let decomposed = public.clone().svd(false, true);
    let v = decomposed.v_t.unwrap().rows(0, 2).into_owned();
    // The same noise, in the axes of this basis.
    let turned = &v * &anchor.basis * normals.rows(0, 2);
    let (mut w, mut r) = (sigma * s1 * turned, sigma * s2 * normals.rows(2, rows.ncols()));
    for row in rows.row_iter() {
        let inside = &v * row.transpose();
        let outside = row.transpose() - v.transpose() * &inside;
        w += &inside * (s1 / inside.norm()).min(1.0);
        r += &outside * (s2 / outside.norm()).min(1.0);
    }
    let printed = (v.transpose() * w + r) / n as f64;
    golden::assert_near(&ours, &printed, 1e-8);
}

#[test]
fn as_printed_takes_all_records_and_the_certificate_has_what_is_proved() {
    let target = Target { epsilon: 1.0, delta: 1e-5 };
    let mut given = settings(&[("basis", 4.0), ("steps", 12.0), ("learning_rate", 0.5)]);
    given.insert("mode".to_owned(), Value::Text("as_printed".to_owned()));
    let done = rehearse("gep", given.clone(), RehearsalNoise::For(target));
    let guarantee = &done.calibrated.guarantee();
    assert_eq!(guarantee.adjacency, Adjacency::ZeroOut);
    // μ = ε/(2√log(1/δ)) = 0.147.
    assert!((0.4..0.7).contains(&guarantee.epsilon), "{}", guarantee.epsilon);
    let event = &done.calibrated.events()[0];
    let QueryKind::SampledSum { rate } = event.mechanism.query.kind else { panic!() };
    assert_eq!((rate, event.count), (1.0, 12));
    let (shape, public, _) = example::two_classes(5, 80, 300, 2);
    for (key, number) in [
        ("batch", 60.0),
        ("share", 0.7),
        ("momentum", 0.5),
        ("average", 0.5),
        ("refresh", 3.0),
        ("clip_residual", 0.0),
    ] {
        let mut given = given.clone();
        given.insert(key.to_owned(), Value::Number(number));
        let error = example::plan(METHOD, &given, &shape, &public).unwrap_err();
        let key = if key == "clip_residual" { "clip S₂" } else { key };
        assert!(error.what().contains(key), "{error}");
        given.remove("mode");
        example::plan(METHOD, &given, &shape, &public).unwrap();
    }
}

#[test]
fn public_gradients_with_too_few_directions_leave_columns_of_zeros() {
    let mut generator = example::generator(3);
    let one = example::normals(&mut generator, 9);
    let two = example::normals(&mut generator, 9);
    let rows = Matrix::from_fn(12, 9, |i, j| one[j] * i as f64 + two[j]);
    let anchor = Anchor::of(&of_rows(&rows), 5, Anchor::default()).unwrap();
    let norms: Vec<f64> = anchor.basis.column_iter().map(|column| column.norm()).collect();
    assert_eq!(norms.iter().filter(|norm| (*norm - 1.0).abs() < 1e-12).count(), 2, "{norms:?}");
    assert_eq!(norms.iter().filter(|norm| **norm < 1e-12).count(), 3, "{norms:?}");
    assert!((anchor.energy - 1.0).abs() < 1e-9);
}

#[test]
fn one_record_adds_at_most_a_vector_of_length_one() {
    let mut generator = example::generator(5);
    for scale in [1e-3, 1.0, 1e6] {
        let rows = Matrix::from_fn(40, 30, |_, _| scale * example::normals(&mut generator, 1)[0]);
        let gradients = of_rows(&rows);
        let anchor = Anchor::of(&gradients, 6, Anchor::default()).unwrap();
        for residual in [0.0, 0.3] {
            let split = ContributionSplit::new(0.8, residual, 0.5);
            for i in 0..40 {
                let one = of_rows(&rows.rows(i, 1).into_owned());
                // In a run the mechanism clips at 1; here only the method clips.
                let mut sum = ClippedSum::new(if residual > 0.0 { 36 } else { 6 }, f64::INFINITY);
                let embeddings = split.embed(&anchor.basis, &one);
                sum.add(&embeddings, 1, f64::INFINITY);
                let length = Vector::from_vec(sum.finish()).norm();
                let rounding = split.rounding(1, 6, 30);
                assert!(length <= 1.0 + rounding, "{scale} {i}: {length}");
                // The norm by which the mechanism clips is the vector's, up to the slack.
                let claimed = Contributions::squared_norms(&embeddings)[0].sqrt();
                assert!((claimed - length).abs() < 1e-5, "{scale} {i}: {claimed} {length}");
                assert!(scale < 1.0 || length > 0.99, "{scale} {i}: {length}");
            }
        }
    }
}

/// Neighbours: a sample with a record, and the same with the record blank. Records that are
/// clipped in both parts attain the sensitivity.
#[test]
fn leaving_a_record_blank_moves_a_step_by_the_sensitivity_and_no_further() {
    let mut generator = example::generator(6);
    let rows = Matrix::from_fn(60, 30, |_, _| 3.0 * example::normals(&mut generator, 1)[0]);
    let anchor = Anchor::of(&of_rows(&rows), 6, Anchor::default()).unwrap();
    for (share, residual) in [(0.5, 0.3), (0.9, 0.1), (0.5, 0.0)] {
        let split = ContributionSplit::new(0.8, residual, share).of_sizes(6, 30);
        let numbers = if residual > 0.0 { 36 } else { 6 };
        let sum = |rows: &Matrix| {
            let mut sum = ClippedSum::new(numbers, f64::INFINITY);
            let gradients = of_rows(rows);
            sum.add(&split.embed(&anchor.basis, &gradients), rows.nrows(), f64::INFINITY);
            Vector::from_vec(sum.finish())
        };
        let whole = sum(&rows);
        let sensitivity = 1.0 + split.rounding(60, 6, 30);
        for blank in 0..60 {
            let moved = (&whole - sum(&rows.clone().remove_row(blank))).norm();
            assert!(moved <= sensitivity && moved > 0.99, "{share} {blank}: {moved}");
        }
    }
}

#[test]
fn more_numbers_and_directions_leave_more_slack_for_their_rounding() {
    assert_eq!(residual_slack(5, 50), RESIDUAL_SLACK);
    let many = residual_slack(100, 200_000);
    assert!((6e-9..9e-9).contains(&many), "{many}");
}

#[test]
fn the_plan_announces_vectors_of_length_one() {
    let (shape, public, _) = example::two_classes(6, 60, 400, 2);
    let given = settings(&[("basis", 5.0), ("batch", 40.0), ("steps", 20.0)]);
    let plan = example::plan(METHOD, &given, &shape, &public).unwrap();
    let [release] = plan.releases.as_slice() else { panic!() };
    let QueryKind::SampledSum { rate } = release.query.kind else { panic!() };
    let l2_sensitivity = release.query.sensitivity;
    assert!((1.0..1.0001).contains(&l2_sensitivity), "{l2_sensitivity}");
    assert_eq!((rate, release.count, release.adjacency), (0.1, 20, Adjacency::ZeroOut));
}

fn rehearse(
    method: &str,
    settings: BTreeMap<String, Value>,
    noise: RehearsalNoise,
) -> crate::trial::Tried {
    let (_, public, private) = example::two_classes(5, 80, 300, 2);
    let (public, private) = (&public, &private);
    Trial { settings, ..Trial::new(method, public, private, noise, 4) }.run().unwrap()
}

#[test]
fn with_a_full_basis_and_no_residual_it_is_dp_sgd_in_the_rotated_basis() {
    let own = || Value::Text("own".to_owned());
    let common = [("steps", 15.0), ("batch", 60.0), ("learning_rate", 0.7)];
    let mut ours = settings(&common);
    // Five features and two classes: gradients have five directions, because the slopes of two
    // scores add up to zero.
    ours.extend(settings(&[("basis", 10.0), ("clip_embedding", 0.3), ("clip_residual", 0.0)]));
    ours.insert("anchor_labels".to_owned(), own());
    let mut theirs = settings(&common);
    theirs.extend(settings(&[("clip", 0.3)]));
    let noise = RehearsalNoise::None(example::TARGET);
    let parameters = |done: crate::trial::Tried| match done.model {
        Model::Classifier(model) => Vector::from_column_slice(model.parameters()),
        _ => panic!("another model"),
    };
    let gep = rehearse("gep", ours.clone(), noise);
    let energy = gep.series(Series::ExactSubspaceEnergy);
    assert!(energy.iter().all(|(_, share)| (share - 1.0).abs() < 1e-9), "{energy:?}");
    // DP-SGD scores in single precision.
    golden::assert_near(&parameters(gep), &parameters(rehearse("dp_sgd", theirs, noise)), 1e-7);
    // The noise is also the same: as many numbers, the same σ relative to the clip norm.
    let target = Target { epsilon: 1.0, delta: 1e-5 };
    let sigma = |method, settings| {
        let done: crate::trial::Tried = rehearse(method, settings, RehearsalNoise::For(target));
        done.calibrated.events()[0].mechanism.noise.scale
    };
    let mut theirs = settings(&common);
    theirs.extend(settings(&[("clip", 1.0)]));
    let (one, other) = (sigma("gep", ours), sigma("dp_sgd", theirs));
    assert!((one / other - 1.0).abs() < 1e-6, "{one} {other}");
}

#[test]
fn with_a_fair_budget_it_learns_from_random_anchor_labels() {
    let (_, public, private) = example::two_classes(8, 200, 3000, 2);
    let public = Dataset { classes: None, ..public };
    let given = settings(&[("basis", 8.0), ("batch", 500.0)]);
    let noise = RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-5 });
    let done = Trial { settings: given, ..Trial::new(SPEC.id, &public, &private, noise, 4) };
    let done = done.run().unwrap();
    let classes = done.model.classes(&private.features).unwrap();
    let truth = &private.classes.as_ref().unwrap().of;
    let right = classes.iter().zip(truth).filter(|(one, other)| one == other).count();
    assert!(right > 2300, "{right}");
    let energy = done.series(Series::SubspaceEnergy);
    assert!(energy.len() == 30 && energy.iter().all(|(_, share)| *share > 0.8), "{energy:?}");
}

#[test]
fn what_does_not_fit_is_refused_with_both_sizes() {
    let (shape, public, _) = example::two_classes(6, 60, 400, 2);
    let refusal = |pairs: &[(&str, f64)], labels: &str, public: &Dataset| {
        let mut given = settings(pairs);
        given.insert("anchor_labels".to_owned(), Value::Text(labels.to_owned()));
        example::plan(METHOD, &given, &shape, public).unwrap_err().to_string()
    };
    let error = refusal(&[("basis", 13.0)], "random", &public);
    assert!(error.contains("13 directions") && error.contains("12 numbers"), "{error}");
    let error = refusal(&[("basis", 70.0)], "random", &public);
    assert!(error.contains("70 directions") && error.contains("60 public"), "{error}");
    let error = refusal(&[("basis", 5.0), ("anchors", 61.0)], "random", &public);
    assert!(error.contains("61 anchors") && error.contains("60 public"), "{error}");
    let unlabelled = Dataset { classes: None, ..public.clone() };
    let error = refusal(&[("basis", 5.0)], "own", &unlabelled);
    assert!(error.contains("0 classes of its own") && error.contains("have 2"), "{error}");
}
