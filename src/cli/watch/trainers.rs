//! The steps of other trainers as lines, with our accountant's view of their claims.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::lines::{Form, Printed, finish, say, time};
use crate::error::{Doing as _, Result};
use crate::plot::number::four_digits;
use crate::privacy::accountant::round_up;
use crate::session::follow::{unread_words, wrote_words};
use crate::session::trainer::{NoiseRelation, Trainer, TrainerCost};

/// The time between two looks at a file. Computing an ε takes a moment.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// Follows these files until each reports its end. With `once`, only reports their state.
pub fn follow(paths: &[&Path], form: Form, once: bool) -> Result<()> {
    finish(print_all(paths, form, once))
}

fn print_all(paths: &[&Path], form: Form, once: bool) -> Printed {
    let mut trainers: Vec<Trainer> = paths.iter().map(|path| Trainer::new(path)).collect();
    loop {
        for trainer in &mut trainers {
            let has_grown = trainer.read().doing("read the trainer's steps", trainer.path())?;
            if let Some(trouble) = trainer.trouble() {
                return Err(trouble.at(trainer.path().display().to_string()).into());
            }
            if has_grown {
                tell(trainer, form)?;
            }
        }
        if once || trainers.iter().all(|trainer| trainer.end.is_some()) {
            return Ok(());
        }
        std::thread::sleep(READ_INTERVAL);
    }
}

fn tell(trainer: &Trainer, form: Form) -> Printed {
    let account = trainer.account();
    match form {
        Form::Plain => say(&format!("{} {}", time(), words(trainer, &account))),
        Form::Json => say(&value(trainer, &account).to_string()),
    }
}

fn words(trainer: &Trainer, account: &TrainerCost) -> String {
    let mut parts = vec![format!("step {} of {}", trainer.step, trainer.of())];
    for (name, points) in &trainer.metrics {
        parts.extend(points.last().map(|(_, y)| format!("{name} {}", four_digits(*y))));
    }
    if let Some(ours) = &account.ours {
        parts.push(format!("ε {} computed", round_up(ours.epsilon, 4)));
    }
    if let Some((claimed, _)) = &account.claimed {
        parts.push(format!("ε {} claimed", round_up(*claimed, 4)));
    }
    if let (Some(delta), Some(neighbours)) = (trainer.delta(), trainer.neighbours()) {
        parts.push(format!("δ {delta:e}, {} neighbours", neighbours.words()));
    }
    parts.push(account.verdict.clone());
    if trainer.skipped > 0 {
        parts.push(unread_words(trainer.skipped));
    }
    parts.push(trainer.end.clone().unwrap_or_else(|| wrote_words(trainer.written())));
    format!("{} {}", trainer.words(), parts.join(", "))
}

fn value(trainer: &Trainer, account: &TrainerCost) -> Value {
    let last = |points: &Vec<(f64, f64)>| points.last().map(|point| json!(point.1));
    let metrics: Map<String, Value> = trainer
        .metrics
        .iter()
        .filter_map(|(name, points)| Some((name.clone(), last(points)?)))
        .collect();
    json!({
        "kind": "trainer", "run": trainer.name(), "trainer": trainer.trainer(),
        "step": trainer.step, "of": trainer.of(), "values": metrics,
        "epsilon": account.ours.as_ref().map(|it| it.epsilon),
        "epsilon_at_least": account.ours.as_ref().map(|it| it.epsilon_lower),
        "claimed_epsilon": account.claimed.as_ref().map(|it| it.0),
        "delta": trainer.delta(),
        "neighbours": trainer.neighbours().map(NoiseRelation::words),
        "verdict": account.verdict, "claim_is_too_low": account.is_too_low,
        "lines_passed_over": trainer.skipped,
        "state": trainer.end.as_deref().unwrap_or("running"),
    })
}
