use std::path::Path;
use std::slice::from_ref;

use super::*;
use crate::NoiseSource;
use crate::accountant::{
    Adjacency, Allotment, Noise, PlannedRelease, Query, QueryKind, Repeats, Target, best_of,
    calibrate,
};
use crate::ledger::{Budget, DatasetRecord, Grant, RowOrder, RunState};
use crate::mechanism::{DiscreteGaussian, DiscreteLaplace, NoisyMaximum};
use crate::numeric::Matrix;
use crate::openings::{OpenPrivate, OpenReleased, OpenWatch};
use crate::{
    ClippedSum, Direction, Gaussian, Laplace, Private, Reach, Released, Rule, SampledSum, Selection,
};

pub(super) const TARGET: Target = Target { epsilon: 1.0, delta: 1e-6 };
pub(super) const WIDE: Reach = Reach::Ball(100.0);

pub(super) fn planned(label: &'static str, query: Query, count: u64) -> PlannedRelease {
    PlannedRelease {
        label,
        what: format!("the {label}"),
        query,
        count,
        noise: Allotment::Share(1.0),
        adjacency: Adjacency::ZeroOut,
        held_out: false,
    }
}

/// A release of every kind, five draws each.
fn every_kind() -> Vec<PlannedRelease> {
    let select = |rule| QueryKind::Selection(rule).query(1.0, 3);
    vec![
        planned("gaussian", QueryKind::Gaussian.query(1.0, 2), 5),
        planned("subsampled", QueryKind::SampledSum { rate: 0.5 }.query(1.0, 2), 5),
        planned("laplace", QueryKind::Laplace.query(1.0, 2), 5),
        planned("selection", select(Rule::Exponential), 5),
        planned("flipped selection", select(Rule::PermuteAndFlip), 5),
        planned("noisy selection", select(Rule::NoisyMaximum), 5),
        planned("direction", QueryKind::Direction.query(1.0, 2), 5),
    ]
}

/// Gives every event of `calibrated` a noise that can be drawn.
fn with_noise(calibrated: &Calibrated) -> Calibrated {
    let gaussian = DiscreteGaussian::at_least(1.0).unwrap();
    let laplace = DiscreteLaplace::at_least(1.0).unwrap();
    let mut events = calibrated.events().to_vec();
    for event in &mut events {
        event.mechanism.noise = match event.mechanism.query.kind {
            QueryKind::Gaussian | QueryKind::SampledSum { .. } => {
                Noise { scale: gaussian.sigma(), grid: gaussian.grid() }
            }
            QueryKind::Laplace => Noise { scale: laplace.scale(), grid: laplace.grid() },
            QueryKind::Selection(Rule::NoisyMaximum) => {
                Noise::ideal(NoisyMaximum::at_least(1.0).unwrap().scale())
            }
            QueryKind::Selection(_) | QueryKind::Direction => Noise::ideal(1.0),
            QueryKind::Pure | QueryKind::Repeated(_) => unreachable!(),
        };
    }
    Calibrated::of_events(calibrated.target(), events).unwrap()
}

pub(super) fn data() -> Private<Vec<f64>> {
    Private::new(vec![0.25, -0.125, 3.0, 0.5])
}

pub(super) fn gaussian(label: &'static str, numbers: usize) -> Release<Gaussian> {
    Release::new(label, Gaussian { sensitivity: 1.0, numbers })
}

fn sampled(numbers: usize) -> Release<SampledSum> {
    Release::new("subsampled", SampledSum { sensitivity: 1.0, numbers, rate: 0.5 })
}

fn selection(label: &'static str) -> Release<Selection> {
    let (rule, range) = match label {
        "flipped selection" => (Rule::PermuteAndFlip, 1.0),
        "noisy selection" => (Rule::NoisyMaximum, 2.0),
        _ => (Rule::Exponential, 1.0),
    };
    Release::new(label, Selection { rule, range, candidates: 3 })
}

/// Draws as if a release had been planned as this kind.
fn query(kind: &str, spender: &mut Spender, label: &'static str) -> Result<Released<Vec<f64>>> {
    let data = data();
    match kind {
        "gaussian" => {
            data.release_gaussian(spender, gaussian(label, 2), &WIDE, |data| data[..2].to_vec())
        }
        "subsampled" => {
            let kind = SampledSum { sensitivity: 1.0, numbers: 2, rate: 0.5 };
            let release = Release::new(label, kind);
            data.release_sampled_sum(spender, release, Vec::len, |data, s, sum| {
                let first: f64 = s.members().iter().map(|i| data[*i]).sum();
                let count = s.members().len();
                sum.add_fused(&[first / 8.0, count as f64 / 2.0], count);
            })
        }
        "laplace" => {
            let release = Release::new(label, Laplace { sensitivity: 1.0, numbers: 2 });
            data.release_laplace(spender, release, &WIDE, |data| data[..2].to_vec())
        }
        "direction" => {
            let release = Release::new(label, Direction { range: 1.0, dimension: 2 });
            data.release_direction(spender, release, &WIDE, |data| {
                Matrix::from_column_slice(2, 2, data)
            })
        }
        _ => data
            .select(spender, selection(label), &WIDE, |data| data[1..].to_vec())
            .map(|winner| winner.map(|winner| vec![winner as f64])),
    }
}

#[test]
fn every_kind_is_drawn_as_often_as_planned_and_no_other_way() {
    let calibrated = with_noise(&Calibrated::noiseless(&every_kind(), 1e-6));
    let mut spender = Spender::rehearsal(&calibrated, 1);
    for label in every_kind().iter().map(|release| release.label) {
        for other in ["gaussian", "subsampled", "laplace", "selection", "direction"] {
            if !label.ends_with(other) {
                let before = spender.noise_words();
                let error = query(other, &mut spender, label).unwrap_err().to_string();
                assert!(error.contains("planned with other noise"), "{label}: {error}");
                assert_eq!(spender.noise_words(), before);
            }
        }
        for _ in 0..5 {
            let before = spender.noise_words();
            query(label, &mut spender, label).unwrap();
            assert!(spender.noise_words() > before);
        }
        let error = query(label, &mut spender, label).unwrap_err().to_string();
        assert!(error.contains("asked for once more"), "{error}");
    }
    assert_eq!(spender.drawn(), calibrated.events());
    assert!(query("gaussian", &mut spender, "unheard-of").is_err());
    spender.settle(RunOutcome::Finished, false).unwrap();
}

#[test]
fn rehearsals_without_noise_are_exact_and_select_the_first_of_the_largest() {
    let calibrated = Calibrated::noiseless(&every_kind(), 1e-6);
    let mut spender = Spender::rehearsal(&calibrated, 1);
    let mut get = |label: &'static str| query(label, &mut spender, label).unwrap().into_inner();
    assert_eq!(get("gaussian"), [0.25, -0.125]);
    assert_eq!(get("laplace"), [0.25, -0.125]);
    assert_eq!(get("selection"), [1.0]);
    assert_eq!(get("noisy selection"), [1.0]);
    // Of the lower triangle of [.25, 3; −.125, .5], symmetric or not.
    let axis = get("direction");
    assert!((axis[0] / axis[1] + 0.414_213_56).abs() < 1e-6, "{axis:?}");
    assert_eq!((2.0 * get("subsampled")[1]).fract(), 0.0);
    let ties = |(): &()| vec![0.0, 7.0, 7.0];
    let ties = Private::new(()).select(&mut spender, selection("selection"), &WIDE, ties);
    assert_eq!(ties.unwrap().into_inner(), 1);
}

#[test]
fn every_poisson_sample_of_a_release_is_another() {
    let plan = [planned("subsampled", sampled(1000).query(), 2)];
    let calibrated = Calibrated::noiseless(&plan, 1e-6);
    let mut spender = Spender::rehearsal(&calibrated, 1);
    let mut memberships = || {
        let membership = |(): &(), sample: &PoissonSample, sum: &mut ClippedSum| {
            let mut mask = vec![0.0; 1000];
            for member in sample.members() {
                mask[*member] = 1.0;
            }
            sum.add_fused(&mask, sample.members().len());
        };
        Private::new(())
            .release_sampled_sum(&mut spender, sampled(1000), |()| 1000, membership)
            .unwrap()
            .into_inner()
    };
    let (first, second) = (memberships(), memberships());
    let both = first.iter().zip(&second).filter(|(a, b)| **a == 1.0 && **b == 1.0).count();
    assert!((150..350).contains(&both), "{both}");
}

#[test]
fn scores_that_are_no_numbers_say_nothing_and_a_wrong_count_of_them_is_refused() {
    let calibrated = Calibrated::noiseless(&every_kind(), 1e-6);
    let mut spender = Spender::rehearsal(&calibrated, 1);
    let reach = Reach::between(-5.0, 5.0, 3);
    let mut select = |scores: Vec<f64>| {
        let release = selection("selection");
        let selected = Private::new(scores).select(&mut spender, release, &reach, Vec::clone);
        selected.map(Released::into_inner).map_err(|error| error.to_string())
    };
    assert_eq!(select(vec![-1.0, f64::NAN, -2.0]), Ok(1));
    assert_eq!(select(vec![f64::INFINITY, -1.0, 0.5]), Ok(2));
    assert!(select(vec![0.0, 1.0]).unwrap_err().contains("announced 3 numbers"));
    assert_eq!(spender.noise_words(), 0);
}

#[test]
fn a_query_beyond_its_reach_is_clipped_before_the_noise_and_noticed_by_an_audit() {
    let calibrated = with_noise(&Calibrated::noiseless(&every_kind(), 1e-6));
    let released = |value: f64, before: Option<Vec<Draw>>| {
        let history = Departure { before, ..Departure::default() };
        let mut spender = Spender::audited(&calibrated, 1, history);
        let data = Private::new(vec![value, 0.0]);
        let reach = Reach::Ball(1.0);
        let release = gaussian("gaussian", 2);
        data.release_gaussian(&mut spender, release, &reach, Vec::clone).unwrap();
        spender.into_draws()
    };
    let wild = released(1e9, None);
    assert!(wild[0].overreached && (wild[0].exact[0] - 1.0).abs() < 1e-5);
    let tame = released(0.5, Some(wild.clone()));
    assert!(!tame[0].overreached && tame[0].exact[0] == 0.5);
    assert_eq!(tame[0].released, wild[0].released);
}

#[test]
fn a_run_draws_only_with_the_noise_that_its_ledger_granted() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, run, calibrated) = granted(directory.path());
    let mut events = calibrated.events().to_vec();
    events[0].mechanism.noise.scale *= 0.5;
    let calibrated = Calibrated::of_events(TARGET, events).unwrap();
    let generator = NoiseGenerator::insecure_from_seed(1);
    let error = Spender::new(ledger, run, &calibrated, generator).unwrap_err();
    assert!(error.what().contains("has not granted"), "{error}");
}

#[test]
fn a_run_draws_only_from_the_source_that_its_ledger_was_told() {
    let directory = tempfile::tempdir().unwrap();
    let (_, run, calibrated) = granted(directory.path());
    for generator in [NoiseGenerator::insecure_from_seed(2), NoiseGenerator::from_os().unwrap()] {
        let ledger = Ledger::open(directory.path()).unwrap();
        let error = Spender::new(ledger, run.clone(), &calibrated, generator).unwrap_err();
        assert!(error.what().contains("has not granted"), "{error}");
    }
}

/// A ledger in `directory` that has granted fifty draws of a mean to the run `r`.
fn granted(directory: &Path) -> (Ledger, RunId, Calibrated) {
    let plan = [planned("mean", QueryKind::Gaussian.query(1.0, 1), 50)];
    granted_to_draw(directory, calibrate(&plan, TARGET).unwrap())
}

fn granted_to_draw(directory: &Path, calibrated: Calibrated) -> (Ledger, RunId, Calibrated) {
    let mut ledger = Ledger::open(directory).unwrap();
    let text = |text: &str| text.to_owned();
    let record = DatasetRecord {
        name: text("hospital"),
        origin: text("/hospital.csv"),
        content: text("c"),
        view: text("v"),
        rows: 1000,
        ..DatasetRecord::default()
    };
    let account = ledger.register(&record).unwrap();
    ledger.set_budget(&account, Budget::new(2.0, 1e-5)).unwrap();
    let run = RunId(text("r"));
    let grant = Grant {
        run: run.clone(),
        account,
        method: text("moment-release"),
        target: TARGET,
        events: calibrated.events().to_vec(),
        allow_large_delta: false,
        noise: NoiseSource::Seeded(1),
        unit: None,
        order: RowOrder::Secret,
        one_noise: None,
    };
    ledger.grant(grant).unwrap();
    (ledger, run, calibrated)
}

#[test]
fn the_ledger_knows_of_a_draw_before_it_is_made_and_without_it_nothing_is_computed() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, run, calibrated) = granted(directory.path());
    let lines = || {
        let text = std::fs::read_to_string(directory.path().join("ledger.jsonl")).unwrap();
        text.lines().count()
    };
    let before = lines();
    // The handle that draws may be another one than that which got the grant, but not beside it.
    drop(ledger);
    let second = Ledger::open(directory.path()).unwrap();
    let generator = NoiseGenerator::insecure_from_seed(1);
    let mut spender = Spender::new(second, run.clone(), &calibrated, generator).unwrap();
    let data = Private::new(1.0);
    // Fifty draws in blocks of three: every first of three finds one more line.
    for draw in 0..9 {
        let seen = |value: &f64| {
            assert_eq!(lines(), before + 1 + draw / 3);
            vec![*value]
        };
        data.release_gaussian(&mut spender, gaussian("mean", 1), &WIDE, seen).unwrap();
    }
    let mut other = Ledger::open(directory.path()).unwrap();
    other.settle(&run, &[9], RunOutcome::Stopped, false).unwrap();
    let words = spender.noise_words();
    let never = |_: &f64| -> Vec<f64> { panic!("computed without a reservation") };
    assert!(data.release_gaussian(&mut spender, gaussian("mean", 1), &WIDE, never).is_err());
    assert_eq!(spender.noise_words(), words);
    assert_eq!(spender.drawn()[0].count, 9);
}

/// Another site that releases 100 each time, and what this one was seen to have done before.
struct Other {
    directory: std::path::PathBuf,
    /// Own values that travelled.
    sent: std::sync::Arc<std::sync::Mutex<Vec<f64>>>,
    answer: Result<f64>,
}

impl Other {
    fn lines(&self) -> usize {
        std::fs::read_to_string(self.directory.join("ledger.jsonl")).unwrap().lines().count()
    }
}

impl Exchange for Other {
    fn joins(&self, label: &str) -> bool {
        label == "mean"
    }

    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    fn scale(&self, _: &str) -> Result<f64> {
        Ok(7.0)
    }

    fn join(&mut self, _: &str, own: &[f64]) -> Result<Vec<f64>> {
        let kept = std::fs::read(self.directory.join("t")).unwrap();
        assert!(self.lines() > 3, "the draw is announced");
        let at = kept.windows(8).any(|bytes| *bytes == own[0].to_le_bytes());
        assert!(at, "the value is in the transcript before it travels");
        self.sent.lock().unwrap().push(own[0]);
        self.answer.clone().map(|theirs| vec![own[0] + theirs])
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_joint_release_is_charged_drawn_and_kept_before_it_travels() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, run, calibrated) = granted(directory.path());
    let transcript = Transcript::create(&directory.path().join("t"), &run).unwrap();
    let generator = NoiseGenerator::insecure_from_seed(1);
    let sent = std::sync::Arc::<std::sync::Mutex<Vec<f64>>>::default();
    let other = |answer| {
        let directory = directory.path().to_path_buf();
        Box::new(Other { directory, sent: sent.clone(), answer })
    };
    let spender = Spender::new(ledger, run.clone(), &calibrated, generator).unwrap();
    let mut spender = spender.keeping(transcript).joining(other(Ok(100.0))).unwrap();
    assert_eq!(spender.scale(&gaussian("mean", 1)).unwrap(), 7.0, "the noise of the joint value");
    let first = draw(&mut spender).unwrap();
    assert_eq!(first, sent.lock().unwrap()[0] + 100.0);
    // The others are missing: the value is kept and charged, and the run can be resumed.
    spender.exchange = Some(other(Err(Error::failed("nobody is there"))));
    assert!(draw(&mut spender).is_err() && spender.is_broken() && !spender.ran_out());
    assert_eq!(spender.counts(), [2]);
    drop(spender);
    let mut ledger = Ledger::open(directory.path()).unwrap();
    let unfinished = ledger.resume(&run).unwrap();
    let transcript = Transcript::reopen(&directory.path().join("t"), &run).unwrap();
    let generator = NoiseGenerator::insecure_from_seed(9);
    let spender = Spender::resumed(ledger, unfinished, transcript, generator).unwrap();
    let mut spender = spender.joining(other(Ok(100.0))).unwrap();
    assert_eq!(draw(&mut spender).unwrap(), first, "the joint value is read again");
    draw(&mut spender).unwrap();
    assert_eq!(spender.noise_words(), 0, "both values were drawn before");
    let values = sent.lock().unwrap().clone();
    assert!(values[0] == values[2] && values[1] == values[3], "{values:?}");
    // The sites do not go on together: this is the end of the run, with its model so far.
    spender.exchange = Some(other(Err(Error::refused("they went on without"))));
    assert!(draw(&mut spender).is_err() && spender.ran_out() && !spender.is_broken());
    assert!(spender.parted().unwrap().what().contains("went on without"));
    assert_eq!(spender.counts(), [3]);
}

#[test]
fn only_means_with_gaussian_noise_are_joined() {
    let calibrated = Calibrated::noiseless(&every_kind(), 1e-6);
    let scales = |label: &str| [(label.to_owned(), 1.0)].into();
    for event in calibrated.events() {
        let label = event.label.as_str();
        let site =
            crate::exchange::Site { name: label.to_owned(), records: 9, scales: scales(label) };
        let seat = crate::exchange::meeting(&[site], None).pop().unwrap();
        let joined = Spender::rehearsal(&calibrated, 1).joining(seat);
        assert_eq!(joined.is_ok(), label == "gaussian", "{label}");
    }
}

/// Fifty draws planned, `before` of them made by a program that died.
struct Death {
    directory: tempfile::TempDir,
    run: RunId,
    released: Vec<f64>,
}

impl Death {
    fn after(before: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (ledger, run, calibrated) = granted(directory.path());
        let transcript = Transcript::create(&directory.path().join("t"), &run).unwrap();
        let generator = NoiseGenerator::insecure_from_seed(1);
        let spender = Spender::new(ledger, run.clone(), &calibrated, generator).unwrap();
        let mut spender = spender.keeping(transcript);
        let released = (0..before).map(|_| draw(&mut spender).unwrap()).collect();
        Self { directory, run, released }
    }

    fn resume(&self, seed: u64) -> Spender {
        let mut ledger = Ledger::open(self.directory.path()).unwrap();
        let unfinished = ledger.resume(&self.run).unwrap();
        let path = self.directory.path().join("t");
        let transcript = Transcript::reopen(&path, &self.run).unwrap();
        let generator = NoiseGenerator::insecure_from_seed(seed);
        Spender::resumed(ledger, unfinished, transcript, generator).unwrap()
    }

    /// Loses the last frame, of one number.
    fn lose_one(&self) {
        let path = self.directory.path().join("t");
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() - 3).unwrap();
    }

    /// Repeats the earlier draws, without looking at the data and without noise.
    fn replay(&self, spender: &mut Spender, kept: usize) {
        for expected in &self.released[..kept] {
            let never = |_: &f64| -> Vec<f64> { panic!("looked at private data") };
            let value = Private::new(1.0)
                .release_gaussian(spender, gaussian("mean", 1), &WIDE, never)
                .unwrap();
            assert_eq!(value.get()[0].to_bits(), expected.to_bits());
        }
        assert_eq!(spender.noise_words(), 0, "noise was drawn for a value that was known");
        assert!(!spender.is_replaying());
    }
}

/// A process that has to end in the middle of a draw: the run is settled from outside, its draws
/// count, and the draw under way is dropped.
#[test]
fn a_run_that_is_settled_from_outside_draws_no_more_and_keeps_what_it_drew() {
    for watch in [None, Some(Watch::open()), Some(Watch::sealed())] {
        let directory = tempfile::tempdir().unwrap();
        let (ledger, run, calibrated) = granted(directory.path());
        let generator = NoiseGenerator::insecure_from_seed(1);
        let mut spender = Spender::new(ledger, run.clone(), &calibrated, generator).unwrap();
        if let Some(watch) = &watch {
            spender = spender.watched(watch, false).unwrap();
        }
        for _ in 0..2 {
            draw(&mut spender).unwrap();
        }
        let DrawListener::Ledger(open) = &spender.account else { unreachable!() };
        let open = open.clone();
        let words = spender.noise_words();
        let query = |_: &f64| {
            let kept = open_runs::settle_these(from_ref(&open), from_ref(&run));
            assert!(kept.settled.is_empty() && kept.open.is_empty());
            let ended = open_runs::settle_these(from_ref(&open), &[]);
            assert_eq!(ended.settled, vec![run.clone()]);
            vec![0.0]
        };
        let data = Private::new(1.0);
        let error = data.release_gaussian(&mut spender, gaussian("mean", 1), &WIDE, query);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(spender.noise_words(), words, "noise was drawn after the end");
        assert!(open_runs::settle_these(&[open], &[]).settled.is_empty());
        assert!(spender.settle(RunOutcome::Finished, false).is_err());
        // Nobody can continue it, and nobody can abandon it again.
        let mut ledger = Ledger::open(directory.path()).unwrap();
        let resumed = ledger.resume(&run).unwrap_err().to_string();
        assert!(resumed.contains("is settled: it may draw nothing more"), "{resumed}");
        let settled = ledger.abandon(&run).unwrap_err().to_string();
        assert!(settled.contains("is settled already"), "{settled}");
        let book = ledger.book().unwrap();
        let record = book.run(&run).unwrap();
        assert_eq!(record.charged.iter().sum::<u64>(), 2);
        // If no watch was given, somebody may have looked.
        let (outcome, peeked) = (RunOutcome::Stopped, watch.is_none());
        assert_eq!(record.state, RunState::Settled { outcome, peeked });
    }
}

fn draw(spender: &mut Spender) -> Result<f64> {
    let value =
        Private::new(1.0)
            .release_gaussian(spender, gaussian("mean", 1), &WIDE, |value| vec![*value])?;
    Ok(value.into_inner()[0])
}

#[test]
fn a_resumed_run_repeats_what_was_released_and_draws_the_rest_from_new_noise() {
    let death = Death::after(10);
    let mut spender = death.resume(2);
    assert_eq!((spender.lost(), spender.counts()), (0, &[10][..]));
    death.replay(&mut spender, 10);
    let mut all = death.released.clone();
    for _ in 10..50 {
        let before = spender.noise_words();
        all.push(draw(&mut spender).unwrap());
        assert!(spender.noise_words() > before);
    }
    assert!(draw(&mut spender).is_err() && !spender.ran_out());
    all.sort_by(f64::total_cmp);
    all.dedup();
    assert_eq!(all.len(), 50, "noise was used twice");
    spender.settle(RunOutcome::Finished, false).unwrap();
    let book = Ledger::open(death.directory.path()).unwrap().book().unwrap();
    assert_eq!(book.run(&death.run).unwrap().charged, [50]);
}

#[test]
fn a_draw_whose_value_is_lost_stays_spent_and_is_missing_at_the_end() {
    let death = Death::after(10);
    death.lose_one();
    let mut spender = death.resume(2);
    assert_eq!((spender.lost(), spender.counts()), (1, &[10][..]));
    death.replay(&mut spender, 9);
    for _ in 10..50 {
        draw(&mut spender).unwrap();
    }
    let error = draw(&mut spender).unwrap_err().to_string();
    assert!(error.contains("1 of the 50 draws of 'mean'"), "{error}");
    assert!(spender.ran_out());
    // A second crash forgets nothing about the first.
    drop(spender);
    let again = death.resume(3);
    assert_eq!((again.lost(), again.counts()), (1, &[50][..]));
}

#[test]
fn after_a_restart_of_the_machine_all_that_was_announced_counts_as_drawn() {
    let death = Death::after(10);
    // The note of the draws belongs to this start of the machine; blocks are of three.
    let mark = death.directory.path().join("open/r.lock");
    let noted = std::fs::read_to_string(&mark).unwrap();
    assert!(noted.ends_with(" 00000000000000000010\n"), "{noted}");
    std::fs::write(&mark, noted.replace('-', "_")).unwrap();
    let mut spender = death.resume(2);
    assert_eq!((spender.lost(), spender.counts()), (2, &[12][..]));
    death.replay(&mut spender, 10);
    for _ in 12..50 {
        draw(&mut spender).unwrap();
    }
    assert!(draw(&mut spender).is_err() && spender.ran_out());
}

#[test]
fn two_programs_cannot_resume_one_run_and_an_older_ledger_is_noticed() {
    let death = Death::after(10);
    let spender = death.resume(2);
    let mut ledger = Ledger::open(death.directory.path()).unwrap();
    assert!(ledger.is_alive(&death.run));
    let error = ledger.resume(&death.run).unwrap_err();
    assert!(error.to_string().contains("still being carried out"), "{error}");
    drop(spender);
    assert!(!ledger.is_alive(&death.run));

    let mut unfinished = ledger.resume(&death.run).unwrap();
    unfinished.drawn = vec![9];
    let transcript = Transcript::reopen(&death.directory.path().join("t"), &death.run);
    let generator = NoiseGenerator::insecure_from_seed(2);
    let error = Spender::resumed(ledger, unfinished, transcript.unwrap(), generator);
    assert!(error.unwrap_err().to_string().contains("does not know"));
}

#[test]
fn repeats_are_in_the_ledger_before_the_first_and_no_repeat_draws_more_than_was_granted() {
    let plan = [planned("mean", QueryKind::Gaussian.query(1.0, 1), 1)];
    let one = calibrate(&plan, Target { epsilon: 0.3, ..TARGET }).unwrap();
    let law = Repeats { shape: 1, stop: 0.25 };
    let events = vec![best_of(law, "best", "the best".into(), &[one.events()]).unwrap()];
    let directory = tempfile::tempdir().unwrap();
    let all = Calibrated::of_events(TARGET, events).unwrap();
    let (ledger, run, all) = granted_to_draw(directory.path(), all);
    let generator = NoiseGenerator::insecure_from_seed(1);
    let mut spender = Spender::new(ledger, run, &all, generator).unwrap();
    let mut repeating = spender.repeating().unwrap();
    assert_eq!(spender.drawn().len(), 1);
    // The same noise for twice as many draws reveals more.
    let mut events = one.events().to_vec();
    events[0].count = 2;
    let more = Calibrated::of_events(TARGET, events).unwrap();
    let error = repeating.next(&more).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("more than was granted"), "{error}");
    let mut count = 0;
    while let Some(mut repeat) = repeating.next(&one).unwrap() {
        let mut draw =
            || data().release_gaussian(&mut repeat, gaussian("mean", 1), &WIDE, |it| vec![it[0]]);
        assert!(draw().is_ok() && draw().is_err());
        count += 1;
    }
    assert!(count >= 1);
    // They cannot be started again.
    assert!(spender.repeating().is_err());
    assert!((0..50).map(|_| spender.one_of(3)).all(|index| index < 3));
    spender.settle(RunOutcome::Finished, false).unwrap();
}
