//! Random commands, checked against a small model of what may be spent.
//!
//! The model knows for each run what was planned, what was really drawn, and whether it was
//! settled. After every command the ledger must charge at least this: exactly the draws of a run
//! that ended well, everything for an open run. A released value always comes back unchanged. Where
//! lines of the ledger were lost, it must say so for ever.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

#[path = "../../../tests/support/chance.rs"]
mod chance;

use chance::{Dice, is_long};

use super::tests::{TARGET, WIDE, data, gaussian, planned};
use super::*;
use crate::accountant::{Composition, QueryKind, calibrate};
use crate::ledger::{
    AccountId, Budget, Claim, DatasetRecord, ReadSoFar, RowOrder, RunState, claimed_name,
};
use crate::openings::OpenPrivate;
use crate::{NoiseSource, Target};

const SEQUENCES: u64 = 200;
const COMMANDS: usize = 14;
const LABELS: [&str; 2] = ["first", "second"];
const DELTA: f64 = 1e-5;

/// The state of the program that executes a run.
enum Life {
    Alive(Box<Spender>),
    /// The program that executes the run died.
    Dead,
    /// The run is settled: by its own program (`true`) or by somebody else.
    Over(bool),
}

struct MachineModel {
    id: RunId,
    planned: Vec<u64>,
    drawn: Vec<u64>,
    life: Life,
    /// Reserved with others, and executed without the ledger.
    carried: bool,
    released: Vec<(usize, Vec<f64>)>,
}

/// A training elsewhere that writes a line for each of its draws.
struct Training {
    id: RunId,
    lines: Vec<u8>,
    /// Charged so far.
    charged: u64,
}

impl Training {
    fn event(count: u64) -> Event {
        Event { count, ..plans()[1].events()[0].clone() }
    }

    fn claim(&self, account: &AccountId) -> Claim {
        Claim {
            run: self.id.clone(),
            account: account.clone(),
            trainer: "another".to_owned(),
            says: None,
            delta: DELTA,
            events: vec![Self::event(self.lines.len() as u64 / 2)],
            unit: None,
            file: ReadSoFar::of(&self.lines),
        }
    }
}

struct World {
    place: tempfile::TempDir,
    account: AccountId,
    runs: Vec<MachineModel>,
    trainings: Vec<Training>,
    budget: f64,
    /// Lines were lost, so runs may be unknown, and settled ones may be open again.
    damaged: bool,
    /// An older copy of the ledger's files, and its number of lines.
    copy: Option<(Vec<u8>, Vec<u8>)>,
    count: usize,
    said: Vec<String>,
}

/// Two plans, the second of which costs more.
fn plans() -> &'static [Calibrated; 2] {
    static PLANS: OnceLock<[Calibrated; 2]> = OnceLock::new();
    PLANS.get_or_init(|| {
        [(3, 1.0), (30, 2.0)].map(|(count, epsilon)| {
            let plan = LABELS.map(|label| planned(label, QueryKind::Gaussian.query(1.0, 2), count));
            calibrate(&plan, Target { epsilon, ..TARGET }).unwrap()
        })
    })
}

impl World {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() {
            tempfile::tempdir_in(memory).unwrap()
        } else {
            tempfile::tempdir().unwrap()
        };
        std::fs::create_dir(place.path().join("work")).unwrap();
        let mut world = Self {
            place,
            account: AccountId(String::new()),
            runs: Vec::new(),
            trainings: Vec::new(),
            budget: 6.0,
            damaged: false,
            copy: None,
            count: 0,
            said: Vec::new(),
        };
        let text = |word: &str| word.to_owned();
        let record = DatasetRecord {
            name: text("hospital"),
            origin: text("/hospital.csv"),
            content: text("c"),
            view: text("v"),
            rows: 1000,
            ..DatasetRecord::default()
        };
        let mut ledger = world.ledger();
        world.account = ledger.register(&record).unwrap();
        ledger.set_budget(&world.account, Budget::new(world.budget, DELTA)).unwrap();
        world
    }

    fn work(&self) -> PathBuf {
        self.place.path().join("work")
    }

    fn ledger(&self) -> Ledger {
        Ledger::open_witnessed(&self.work(), &self.place.path().join("memory")).unwrap()
    }

    fn transcript(&self, run: &RunId) -> PathBuf {
        self.place.path().join(&run.0)
    }

    fn grant(&mut self, plan: &Calibrated) -> Grant {
        self.count += 1;
        Grant {
            run: RunId(format!("r{}", self.count)),
            account: self.account.clone(),
            method: "moment-release".to_owned(),
            target: plan.target(),
            events: plan.events().to_vec(),
            allow_large_delta: false,
            noise: NoiseSource::Secret,
            unit: None,
            order: RowOrder::Secret,
            one_noise: None,
        }
    }

    /// The least that is spent according to the model, with these further events.
    fn spent(&self, more: &[Event]) -> f64 {
        self.spent_where(more, |run| matches!(run.life, Life::Over(_)))
    }

    /// The most that may be spent: a run that somebody else settled counts for everything it
    /// announced.
    fn may_be_spent(&self, more: &[Event]) -> f64 {
        self.spent_where(more, |run| matches!(run.life, Life::Over(true)))
    }

    /// The draws of runs for which only these count, and the plans of all others.
    fn spent_where(&self, more: &[Event], only_drawn: fn(&MachineModel) -> bool) -> f64 {
        let events: Vec<Event> = self
            .runs
            .iter()
            .flat_map(|run| {
                let counts = if only_drawn(run) { &run.drawn } else { &run.planned };
                let plan = plans().iter().find(|plan| plan.events()[0].count == run.planned[0]);
                let events = plan.unwrap().events().iter().zip(counts);
                let drawn = events.filter(|(_, count)| **count > 0);
                drawn
                    .map(|(event, count)| Event { count: *count, ..event.clone() })
                    .collect::<Vec<_>>()
            })
            .chain(self.trainings.iter().map(|it| Training::event(it.charged)))
            .chain(more.iter().cloned())
            .filter(|event| event.count > 0)
            .collect();
        if events.is_empty() {
            return 0.0;
        }
        Composition::of(&events).unwrap().guarantee(DELTA).unwrap().epsilon
    }

    fn launch(&mut self, dice: &mut Dice) {
        let plan = &plans()[dice.below(2)];
        let many = [1, 1, 1, 2, 3][dice.below(5)];
        let grants: Vec<Grant> = (0..many).map(|_| self.grant(plan)).collect();
        let mut ledger = self.ledger();
        let granted = match grants.as_slice() {
            [only] => ledger.grant(only.clone()).map(|_| ()),
            grants => ledger.grant_carried(grants),
        };
        let all: Vec<Event> = grants.iter().flat_map(|grant| grant.events.clone()).collect();
        let Err(error) = granted else {
            // The ledger knows nothing about lost lines, and says so.
            let fits = self.spent(&all) <= self.budget * (1.0 + 1e-9);
            assert!(self.damaged || fits, "overspent");
            for grant in grants {
                let transcript = Transcript::create(&self.transcript(&grant.run), &grant.run);
                let (transcript, generator) =
                    (transcript.unwrap(), NoiseGenerator::from_os().unwrap());
                let carried = many > 1;
                let spender = if carried {
                    Spender::carried(plan, transcript, generator)
                } else {
                    Spender::new(self.ledger_or(&mut ledger), grant.run.clone(), plan, generator)
                        .unwrap()
                        .keeping(transcript)
                };
                self.runs.push(MachineModel {
                    id: grant.run,
                    planned: plan.events().iter().map(|event| event.count).collect(),
                    drawn: vec![0; plan.events().len()],
                    life: Life::Alive(Box::new(spender)),
                    carried,
                    released: Vec::new(),
                });
            }
            return;
        };
        // Runs that fit are not refused. Runs that are reserved together are added up less tightly.
        let share = if many > 1 { 0.8 } else { 0.99 };
        assert!(self.damaged || self.may_be_spent(&all) > share * self.budget, "{error}");
        self.said.push(error.to_string());
    }

    /// The handle that has the grant.
    fn ledger_or(&self, ledger: &mut Ledger) -> Ledger {
        std::mem::replace(ledger, self.ledger())
    }

    fn draw(&mut self, dice: &mut Dice) {
        let index = dice.below(self.runs.len());
        let damaged = self.damaged;
        let Some(run) = self.runs.get_mut(index) else { return };
        let Life::Alive(spender) = &mut run.life else { return };
        let event = dice.below(2);
        for _ in 0..=dice.below(8) {
            let label = LABELS[event];
            let value =
                data().release_gaussian(spender, gaussian(label, 2), &WIDE, |it| it[..2].to_vec());
            match value {
                Ok(value) => {
                    run.drawn[event] += 1;
                    assert!(run.drawn[event] <= run.planned[event], "drawn beyond the plan");
                    run.released.push((event, value.into_inner()));
                }
                Err(error) => {
                    let lost = spender.lost[event];
                    let ended = run.drawn[event] + lost >= run.planned[event];
                    assert!(damaged || ended, "{error}");
                    break;
                }
            }
        }
    }

    fn stop(&mut self, dice: &mut Dice) {
        let index = dice.below(self.runs.len());
        let mut ledger = self.ledger();
        let damaged = self.damaged;
        let Some(run) = self.runs.get_mut(index) else { return };
        let Life::Alive(spender) = std::mem::replace(&mut run.life, Life::Dead) else {
            return self.put_back(index);
        };
        let counts = spender.counts().to_vec();
        let mut settled = spender.settle(RunOutcome::Stopped, false);
        if run.carried {
            // Collected by a program that has the ledger.
            settled = ledger.settle(&run.id, &counts, RunOutcome::Stopped, false);
        }
        match settled {
            Ok(()) => run.life = Life::Over(true),
            Err(error) => assert!(damaged, "{error}"),
        }
    }

    /// There was nothing to stop: a run that is over stays over.
    fn put_back(&mut self, index: usize) {
        let book = self.ledger().book().unwrap();
        let run = &mut self.runs[index];
        let settled = book.run(&run.id).map(|record| record.state);
        if let Some(RunState::Settled { outcome, .. }) = settled {
            run.life = Life::Over(outcome == RunOutcome::Stopped);
        }
    }

    fn kill(&mut self, dice: &mut Dice) {
        let index = dice.below(self.runs.len());
        let Some(run) = self.runs.get_mut(index) else { return };
        if !matches!(run.life, Life::Alive(_)) {
            return;
        }
        run.life = Life::Dead;
        match dice.below(3) {
            // It was writing a released value.
            0 => {
                let path = self.place.path().join(&run.id.0);
                let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
                let length = file.metadata().unwrap().len();
                let torn = dice.below(40) as u64;
                let kept = length.saturating_sub(torn).max(Transcript::EMPTY);
                file.set_len(kept).unwrap();
                // One frame has two numbers.
                let frames = (kept - Transcript::EMPTY) / 32;
                run.released.truncate(frames as usize);
            }
            // It was writing a line.
            1 if !self.damaged => {
                let path = self.work().join("ledger.jsonl");
                let text = std::fs::read_to_string(&path).unwrap();
                std::fs::write(path, text + "{\"seq\":").unwrap();
            }
            _ => {}
        }
    }

    fn resume(&mut self, dice: &mut Dice) {
        let index = dice.below(self.runs.len());
        let mut ledger = self.ledger();
        let Some(run) = self.runs.get(index) else { return };
        let unfinished = ledger.resume(&run.id);
        let path = self.transcript(&run.id);
        let damaged = self.damaged;
        let run = &mut self.runs[index];
        let unfinished = match (unfinished, &run.life) {
            (Ok(unfinished), Life::Dead) => unfinished,
            (Ok(_), Life::Alive(_)) if run.carried => return,
            (Ok(_), Life::Over(_)) if damaged => return,
            (Ok(_), life) => panic!(
                "{} was resumed {}; after damage: {damaged}",
                run.id.0,
                if matches!(life, Life::Over(_)) { "after its end" } else { "while it was alive" }
            ),
            (Err(error), life) => {
                assert!(damaged || !matches!(life, Life::Dead), "{error}");
                return;
            }
        };
        if run.carried {
            return;
        }
        let transcript = Transcript::reopen(&path, &run.id).unwrap();
        let generator = NoiseGenerator::from_os().unwrap();
        let spender = Spender::resumed(ledger, unfinished, transcript, generator);
        let mut spender = match spender {
            Ok(spender) => spender,
            Err(error) => {
                assert!(damaged, "{error}");
                return;
            }
        };
        for (event, value) in &run.released {
            let never = |_: &Vec<f64>| -> Vec<f64> { panic!("looked at private data") };
            let again =
                data().release_gaussian(&mut spender, gaussian(LABELS[*event], 2), &WIDE, never);
            assert_eq!(again.unwrap().get(), value, "another value than was released");
        }
        assert!(!spender.is_replaying(), "there was more than was released");
        for (event, drawn) in run.drawn.iter_mut().enumerate() {
            assert!(spender.drawn[event] >= *drawn || damaged, "a draw was forgotten");
            *drawn = spender.drawn[event].max(*drawn);
        }
        run.life = Life::Alive(Box::new(spender));
    }

    /// Settled by somebody who finds the run, or who gives up a sweep.
    fn settle(&mut self, dice: &mut Dice) {
        let index = dice.below(self.runs.len());
        let mut ledger = self.ledger();
        let Some(run) = self.runs.get_mut(index) else { return };
        let alive = matches!(run.life, Life::Alive(_)) && !run.carried;
        match ledger.abandon(&run.id) {
            Ok(_) => {
                assert!(!alive || self.damaged, "settled while it was alive");
                if !matches!(run.life, Life::Over(_)) {
                    run.life = Life::Over(false);
                }
            }
            Err(error) => {
                let over = matches!(run.life, Life::Over(_));
                assert!(self.damaged || alive || over, "{error}");
            }
        }
    }

    /// A new training, one that has continued, or the same file again. No budget is asked.
    fn claim(&mut self, dice: &mut Dice) {
        let index = dice.below(self.trainings.len() + 1);
        if index == self.trainings.len() {
            let id = claimed_name(&format!("training {index}"));
            self.trainings.push(Training { id, lines: Vec::new(), charged: 0 });
        }
        let mut ledger = self.ledger();
        let training = &mut self.trainings[index];
        let more = dice.below(3).max(usize::from(training.lines.is_empty()));
        for _ in 0..more {
            training.lines.extend([b'a' + dice.below(26) as u8, b'\n']);
        }
        let claim = training.claim(&self.account);
        match ledger.claim(claim, &training.lines) {
            Ok(is_new) => {
                assert!(self.damaged || is_new == (more > 0), "charged twice, or not at all");
                training.charged = training.lines.len() as u64 / 2;
            }
            Err(error) => assert!(self.damaged, "{error}"),
        }
        // Lines that differ from the charged ones are refused.
        let mut forged = training.lines.clone();
        forged[0] ^= 1;
        let claim = Claim { file: ReadSoFar::of(&forged), ..training.claim(&self.account) };
        assert!(self.damaged || ledger.claim(claim, &forged).is_err(), "a forged file was charged");
    }

    fn budget(&mut self, dice: &mut Dice) {
        let budget = [2.0, 6.0, 20.0][dice.below(3)];
        match self.ledger().set_budget(&self.account, Budget::new(budget, DELTA)) {
            Ok(()) => self.budget = budget,
            Err(error) => assert!(self.damaged, "{error}"),
        }
    }

    /// A byte of the ledger changes, or its end is lost, or an older copy comes back.
    fn damage(&mut self, dice: &mut Dice) {
        let [ledger, head] = ["ledger.jsonl", "ledger.head"].map(|name| self.work().join(name));
        let mut bytes = std::fs::read(&ledger).unwrap();
        match dice.below(4) {
            0 => {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(7);
                std::fs::write(ledger, bytes).unwrap();
            }
            1 => {
                bytes.truncate(bytes.len() - 1 - dice.below(bytes.len() / 2));
                std::fs::write(ledger, bytes).unwrap();
            }
            _ => match self.copy.take() {
                Some((old, confirmed)) if whole_lines(&bytes) != whole_lines(&old) => {
                    std::fs::write(ledger, old).unwrap();
                    std::fs::write(head, confirmed).unwrap();
                }
                _ => {
                    self.copy = Some((bytes, std::fs::read(head).unwrap()));
                    return;
                }
            },
        }
        self.damaged = true;
        let book = self.ledger().book().unwrap();
        let torn = book.warnings.iter().any(|warning| warning.contains("unfinished line"));
        assert!(book.damaged || torn, "the damage was not noticed: {:?}", self.said);
        // Nothing more is granted until it is repaired.
        let grant = self.grant(&plans()[0]);
        assert!(!book.damaged || self.ledger().grant(grant).is_err());
        self.repair();
    }

    fn repair(&mut self) {
        let mut ledger = self.ledger();
        if !ledger.book().unwrap().damaged {
            assert!(ledger.repair().is_err(), "a whole ledger was repaired");
            return;
        }
        ledger.repair().unwrap();
        let book = ledger.book().unwrap();
        assert!(!book.damaged, "{:?}", book.warnings);
        assert!(!book.gaps.is_empty(), "the loss was forgotten");
        if book.account(&self.account).is_some() {
            ledger.accept(&self.account, "a test").unwrap();
        }
    }

    fn check(&self) {
        let book = self.ledger().book().unwrap();
        assert!(!book.damaged, "{:?}", book.warnings);
        for training in &self.trainings {
            let charged = book.run(&training.id).map_or(0, |record| record.charged[0]);
            let is_whole = charged == training.charged;
            assert!(is_whole || (self.damaged && !book.gaps.is_empty()), "a claim was forgotten");
        }
        for run in &self.runs {
            let Some(record) = book.run(&run.id) else {
                assert!(self.damaged && !book.gaps.is_empty(), "{} is lost", run.id.0);
                continue;
            };
            let charged = &record.charged;
            if self.damaged {
                // Lost lines stay lost, and the rest must not pass for everything.
                assert!(!book.gaps.is_empty() || covers(charged, &run.drawn));
                continue;
            }
            match run.life {
                Life::Over(true) => assert_eq!(*charged, run.drawn),
                Life::Over(false) => {
                    assert!(covers(charged, &run.drawn), "{charged:?} < {:?}", run.drawn);
                }
                _ => assert_eq!(*charged, run.planned),
            }
        }
    }
}

/// Without an unfinished line, under which nothing was drawn.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    bytes.rsplitn(2, |byte| *byte == b'\n').last().unwrap_or_default()
}

fn covers(charged: &[u64], drawn: &[u64]) -> bool {
    charged.iter().zip(drawn).all(|(charged, drawn)| charged >= drawn)
}

#[test]
fn whatever_is_done_in_whatever_order_nothing_is_spent_unseen() {
    let seed = Dice::of_the_seed("state machine").next();
    let sequences = if is_long() { 50 * SEQUENCES } else { SEQUENCES };
    let (mut done, mut drawn, mut damaged) = ([0_usize; 9], 0, 0);
    for number in 0..sequences {
        let mut dice = Dice::new(seed.wrapping_add(number), "sequence");
        let mut world = World::new();
        println!("sequence {number}");
        for _ in 0..COMMANDS {
            let command = [0, 0, 1, 1, 1, 1, 2, 3, 3, 4, 4, 5, 6, 7, 8][dice.below(15)];
            done[command] += 1;
            match command {
                0 => world.launch(&mut dice),
                1 => world.draw(&mut dice),
                2 => world.stop(&mut dice),
                3 => world.kill(&mut dice),
                4 => world.resume(&mut dice),
                5 => world.settle(&mut dice),
                6 => world.budget(&mut dice),
                8 => world.claim(&mut dice),
                // Not in every sequence, because afterwards fewer statements can be checked.
                _ if number % 4 == 0 => world.damage(&mut dice),
                _ => {}
            }
            world.check();
        }
        drawn += world.runs.iter().flat_map(|run| &run.drawn).sum::<u64>();
        damaged += usize::from(world.damaged);
    }
    println!("{sequences} sequences: {done:?} commands, {drawn} draws, {damaged} damaged");
    assert!(drawn > 3 * sequences && damaged as u64 > sequences / 50);
}
