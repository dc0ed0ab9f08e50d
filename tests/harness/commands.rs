//! Random commands of the real program in one workspace, some of them stopped in the middle, and
//! changes of the data between them.
//!
//! `src/privacy-inside/spender/machine` does the same inside the library, against a model that knows what
//! must be charged to the last draw; here the whole program is between.

use std::fs;
use std::io::Write as _;

use crate::chance::{Dice, is_long};
use crate::invariants::{self as must, Drawn};
use crate::place::{Place, said, words};

/// Sequences that `cargo test` tries, and the long test.
const FEW: u64 = 6;
const MANY: u64 = 300;
const COMMANDS: usize = 10;

/// A workspace, and what happened in it.
struct World {
    place: Place,
    drawn: Drawn,
    /// The largest budget that any account had.
    budget: f64,
    /// Data changed since a run began, so that it may not go on.
    edited: bool,
    stopped: usize,
}

impl World {
    fn new() -> Self {
        let (place, drawn) = (Place::new(), Drawn::new());
        Self { place, drawn, budget: 40.0, edited: false, stopped: 0 }
    }

    /// A command that makes sense here, or nearly.
    fn command(&mut self, dice: &mut Dice) -> String {
        let runs: Vec<String> = must::book(&self.place)
            .accounts
            .iter()
            .flat_map(|account| &account.runs)
            .map(|run| run.grant.run.0.clone())
            .collect();
        let run = runs.get(dice.below(runs.len())).cloned().unwrap_or_else(|| "none".to_owned());
        let has_sweep = self.place.work().join("sweep/sweep.json").exists();
        match dice.below(16) {
            0..3 => "run session.ron --plan first".to_owned(),
            3 => "run session.ron --plan second".to_owned(),
            4 | 5 => format!("run --resume .halflight/runs/{run}"),
            6 => format!("ledger settle {run}"),
            7 => self.raise_budget(dice),
            8 if !has_sweep => must::SWEEP.to_owned(),
            8 | 9 if has_sweep => format!("sweep --task sweep/tasks/000{}", dice.below(2)),
            10 if has_sweep => "sweep --collect sweep".to_owned(),
            11 if has_sweep => "sweep --collect sweep --give-up".to_owned(),
            12 => "rank rank.ron --private 1 --mechanism table".to_owned(),
            13 => "choose session.ron --way all".to_owned(),
            14 => "ledger repair".to_owned(),
            15 => "tidy --yes".to_owned(),
            _ => "data count session.ron --dataset ours --epsilon 0.1 --write".to_owned(),
        }
    }

    fn raise_budget(&mut self, dice: &mut Dice) -> String {
        let accounts = must::book(&self.place).accounts;
        let Some(account) = accounts.get(dice.below(accounts.len())) else {
            return "ledger".to_owned();
        };
        let epsilon = [3.0, 20.0, 60.0][dice.below(3)];
        self.budget = self.budget.max(epsilon);
        format!("ledger budget {} {epsilon} 1e-5", account.id.0)
    }

    /// Another row, as when somebody goes on collecting.
    fn edit(&mut self, dice: &mut Dice) {
        let name = ["private.csv", "public.csv"][dice.below(2)];
        let path = self.place.work().join(name);
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        writeln!(file, "0.{},0.5,0.25,b", dice.below(1000)).unwrap();
        self.edited = true;
    }

    fn step(&mut self, dice: &mut Dice) {
        if dice.below(12) == 0 {
            return self.edit(dice);
        }
        let command = self.command(dice);
        let output = if dice.below(3) == 0 {
            let kind = ["crash", "fail", "full", "tear"][dice.below(4)];
            self.stopped += 1;
            self.place.stopped(&words(&command), &format!("{kind}:{}", 1 + dice.below(120)))
        } else {
            self.place.run(&words(&command))
        };
        let text = said(&output);
        println!("  {command}: {}", output.status);
        assert!(!text.contains("panicked") && !text.contains("crashed"), "{command}: {text}");
        let refused = matches!(output.status.code(), Some(1..=3));
        assert!(!refused || text.contains("error"), "{command} says not why: {text}");
        self.look();
    }

    fn look(&mut self) {
        for (run, counts) in must::drawn(&self.place) {
            let known = self.drawn.entry(run).or_default();
            known.resize(known.len().max(counts.len()), 0);
            known.iter_mut().zip(counts).for_each(|(known, count)| *known = count.max(*known));
        }
        must::private_files_are_private(&self.place);
        let book = must::nothing_is_lost(&self.place, &self.drawn);
        for account in &book.accounts {
            let spent = account.spent(1e-5).unwrap().map_or(0.0, |spent| spent.epsilon);
            assert!(spent <= self.budget * (1.0 + 1e-9), "{}: {spent} spent", account.id.0);
        }
    }

    fn end(&mut self) {
        must::open_runs_end(&self.place, self.edited);
        self.look();
        for account in must::book(&self.place).accounts {
            self.place.succeeds(&words(&format!("ledger budget {} 100 1e-5", account.id.0)));
        }
        must::nothing_is_left_behind(&self.place, &words("run session.ron --plan first"));
    }
}

#[test]
fn random_commands_of_the_whole_program_spend_nothing_unseen_and_leave_nothing() {
    let seed = Dice::of_the_seed("commands").next();
    let sequences = if is_long() { MANY } else { FEW };
    let (mut stopped, mut draws) = (0, 0);
    for number in 0..sequences {
        let mut dice = Dice::new(seed.wrapping_add(number), "sequence");
        let mut world = World::new();
        println!("sequence {number}");
        (0..COMMANDS).for_each(|_| world.step(&mut dice));
        world.end();
        stopped += world.stopped;
        draws += world.drawn.values().flatten().sum::<u64>();
    }
    println!("{sequences} sequences of {COMMANDS} commands, {stopped} stopped, {draws} draws");
    assert!(draws > sequences && stopped > 0);
}
