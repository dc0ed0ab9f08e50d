//! The picture of the Plan screen: the form on the left, the cost on the right.

use super::cost::costs;
use super::expect::expectations;
use super::form::{FormField, PlanField};
use super::{COST, FIELDS, PlanScreen, QUEUE};
use crate::canvas::{
    Canvas, Fill, Length, Line, ListHit, Rect, Span, bold, in_columns, in_rows, longest, scrolled,
    wrapped_lines,
};
use crate::context::Context;
use crate::methods;
use crate::notice::one_line;
use crate::rehearsal::advice::capital;
use crate::screen::data::in_datasets;
use crate::session::PlanDefinition;
use crate::widgets::shortened;
use crate::widgets::text_field::TextFieldView;

/// With this width there is room for a third column.
const WIDE: u16 = 160;

/// The least number of lines for the help, so that the form seldom moves.
const LEAST_HELP: u16 = 3;

/// The least height of the picture of the label.
const LEAST_LABEL: u16 = 7;

/// The shown plan, and how it is shown.
#[derive(Clone, Copy)]
struct Shown<'a> {
    screen: &'a PlanScreen,
    context: &'a Context,
    plan: &'a PlanDefinition,
}

pub fn view(screen: &PlanScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let Some(plan) = context.shown_plan() else {
        let words = "No plan yet. A plan needs one private and one public dataset: press 1 to mark \
                     them, then n here.";
        canvas.empty_box(area, "Plan", &[words]);
        return;
    };
    let shown = Shown { screen, context, plan };
    match canvas.alone {
        Some(FIELDS) => return form(shown, canvas, area),
        Some(QUEUE) => return queued(screen, context, canvas, area),
        Some(COST) => return cost_or_expectations(shown, canvas, area),
        _ => {}
    }
    let is_wide = area.width >= WIDE;
    let third = if is_wide && is_rehearsed(shown) { (area.width / 3).min(72) } else { 0 };
    let form_width = form_width(screen, plan, area.width);
    let [left, rest] = canvas.two_columns("plan.form", area, form_width);
    let [middle, right] = canvas.two_columns("plan.expect", rest, rest.width.saturating_sub(third));
    form_and_label(shown, canvas, left);
    let middle = if is_wide && third == 0 { around_costs(shown, canvas, middle) } else { middle };
    let queue_rows = match context.queue.plans.len() as u16 {
        0 => 0,
        count => (count + 2).min((middle.height / 3).max(3)),
    };
    let [cost, queue] =
        canvas.two_rows("plan.queue", middle, middle.height.saturating_sub(queue_rows));
    if third > 0 {
        costs(screen, context, canvas, cost, true);
        beside_costs(shown, canvas, right);
    } else if is_wide {
        costs(screen, context, canvas, cost, true);
    } else {
        cost_or_expectations(shown, canvas, cost);
    }
    if queue_rows > 0 {
        queued(screen, context, canvas, queue);
    }
}

/// Long values get more room if there is some.
fn form_width(screen: &PlanScreen, plan: &PlanDefinition, room: u16) -> u16 {
    let least = if room >= 120 { 62 } else { 42 };
    let lines = screen.lines(plan);
    let fields = lines.iter().flatten();
    let names = longest(fields.clone().map(|field| field.name()));
    let values = longest(fields.map(|field| value_of(*field, plan)));
    // Marks, arrows and borders take eight.
    (names + values + 8).clamp(least, least.max(room * 2 / 5))
}

/// The value of a field in the form.
fn value_of(field: PlanField, plan: &PlanDefinition) -> String {
    let value = match field {
        PlanField::Method => methods::name_of(&plan.method).to_owned(),
        field => field.value(plan),
    };
    format!("{value} {}", field.unit(&value)).trim().to_owned()
}

/// Whether there is something to expect of the shown plan, or soon will be.
fn is_rehearsed(Shown { context, plan, .. }: Shown) -> bool {
    let rehearsal = &context.rehearsal;
    let known = rehearsal.work.is_some() || rehearsal.progress.is_some();
    known && rehearsal.fits(plan)
}

/// On a wide terminal: the expected result, and the plans of the session.
fn beside_costs(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let rows = plan_rows(shown, area);
    let [above, below] = canvas.two_rows("plan.plans", area, area.height.saturating_sub(rows));
    expectations(shown.context, canvas, above, None);
    plans(shown, canvas, below);
}

/// On a wide terminal before a rehearsal: how to get one, and the plans of the session. Returns the rest
/// of the area.
fn around_costs(shown: Shown, canvas: &mut Canvas, area: Rect) -> Rect {
    let rows = plan_rows(shown, area);
    let [above, middle, below] = in_rows(area, [Length(3), Fill(1), Length(rows)]);
    let words = if shown.context.rehearsed(shown.plan).is_some() {
        "The plan alone was rehearsed, see Cost: r compares it with the other methods, for free."
    } else {
        "Not rehearsed yet: r shows the error to expect, for free."
    };
    canvas.empty_box(above, "What to expect", &[words]);
    plans(shown, canvas, below);
    middle
}

/// The height of the list of plans.
fn plan_rows(shown: Shown, area: Rect) -> u16 {
    (shown.context.session.plans.len() as u16 + 3).min(area.height / 3)
}

fn plans(Shown { screen, context, .. }: Shown, canvas: &mut Canvas, area: Rect) {
    let plans = &context.session.plans;
    let inner = canvas.boxed(area, "Plans · [ ] change, m marks, p chooses");
    let row = |index: usize| {
        let plan = &plans[index];
        let mark = if screen.marked.contains(&plan.name) { "*" } else { " " };
        vec![Line::raw(mark), Line::raw(plan.name.clone()), Line::raw(asks_for(plan))]
    };
    let widths = vec![Length(1), Fill(1), Length(14)];
    let header = ["", "plan", "asks for"].map(Line::raw).to_vec();
    canvas.table(inner, (header, widths), (plans.len(), Some(context.plan.index)), row);
}

fn cost_or_expectations(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let Shown { screen, context, plan } = shown;
    if context.rehearsal.shown && context.rehearsal.fits(plan) {
        expectations(context, canvas, area, Some(screen.cost));
    } else {
        costs(screen, context, canvas, area, false);
    }
}

/// The form, and below it the label in the datasets of the plan if there is room.
fn form_and_label(shown: Shown, canvas: &mut Canvas, area: Rect) {
    let Shown { screen, context, plan } = shown;
    let label = context.session.dataset(&plan.private).ok().and_then(|it| it.label.as_ref());
    // Borders and help beside the fields.
    let needed = screen.lines(plan).len() as u16 + 2 + LEAST_HELP + 1;
    let all_read = plan.public.iter().all(|name| context.loaded(name).is_some());
    let picture = match label {
        Some(_) if all_read && area.height >= needed + LEAST_LABEL => area.height - needed,
        _ => 0,
    };
    let [above, below] = canvas.two_rows("plan.label", area, area.height - picture);
    form(shown, canvas, above);
    if let Some(label) = label.filter(|_| below.height > 0) {
        let wanted = |name: &str| plan.private == name || plan.public.iter().any(|it| it == name);
        in_datasets(label, &wanted, context, canvas, below);
    }
}

fn form(Shown { screen, context, plan }: Shown, canvas: &mut Canvas, area: Rect) {
    let (theme, glyphs) = (canvas.theme, canvas.glyphs);
    let candidate = if screen.marked.contains(&plan.name) { " · candidate" } else { "" };
    let (number, count) = (context.plan.index + 1, context.session.plans.len());
    let label = context.session.dataset(&plan.private).ok().and_then(|it| it.label.as_ref());
    let predicts = label.map_or_else(String::new, |label| format!(" → {label}"));
    let title = format!("Plan {number}/{count}{predicts}{candidate}");
    let inner = canvas.pane(area, &title, FIELDS);
    let lines = screen.lines(plan);
    let selected_field = lines.get(screen.field).copied().flatten();
    let problem = screen.editing.as_ref().and_then(|editing| editing.problem.clone());
    let style = if problem.is_some() { theme.error } else { theme.muted };
    let help = problem.unwrap_or_else(|| match selected_field {
        Some(field) if screen.editing.is_some() => {
            format!("Enter takes it, Esc leaves it. {}", field.help())
        }
        Some(PlanField::Method) => about_method(plan),
        Some(field) if field.is_default(plan) => field.help(),
        Some(field) => format!("* is not the default; x puts the default back. {}", field.help()),
        None if screen.unfolded => "Enter folds the settings".to_owned(),
        None => "All other settings have their defaults. Enter shows them".to_owned(),
    });
    // The whole help is shown if it fits into a third of the form.
    let needed = wrapped_lines(&help, inner.width);
    let help_rows = needed.max(LEAST_HELP).min((inner.height / 3).max(LEAST_HELP));
    let [rows, below] = in_rows(inner, [Fill(1), Length(help_rows)]);

    let first = scrolled(screen.field, rows.height, lines.len());
    let selected = Some(screen.field);
    canvas.hits.lists.push(ListHit { area: rows, first, pane: FIELDS, selected });
    let names = longest(lines.iter().flatten().map(|field| field.name()));
    for (line, index) in rows.rows().zip(first..lines.len()) {
        let [name, value] = in_columns(line, [Length(names + 2), Fill(1)]);
        let chosen = index == screen.field;
        let Some(field) = lines[index] else {
            let text = match screen.folded(plan) {
                _ if screen.unfolded => " fewer settings".to_owned(),
                folded => format!(" {folded} further settings"),
            };
            let style = if chosen { theme.selection } else { theme.muted };
            canvas.line(Span::styled(text, style), line);
            continue;
        };
        let changed = if field.is_default(plan) { " " } else { "*" };
        let style = if chosen { bold(theme.text) } else { theme.muted };
        let title = field.name().trim_end_matches(" of this run");
        canvas.line(Line::styled(format!("{changed}{title}"), style), name);
        if let Some(editing) = screen.editing.as_ref().filter(|_| chosen) {
            let view = TextFieldView::new(&editing.text, theme, glyphs).focused(true);
            canvas.render(view, value);
            continue;
        }
        let text = value_of(field, plan);
        let style = if chosen { theme.selection } else { theme.text };
        let arrows = chosen && field.choices(&context.session).is_some();
        let room = usize::from(value.width);
        let text = match format!("← {text} →") {
            between if arrows && between.chars().count() <= room => between,
            _ => shortened(&text, value.width, "…"),
        };
        canvas.line(Span::styled(text, style), value);
    }

    canvas.wrapped(help, style, below);
}

/// The description of the chosen method.
fn about_method(plan: &PlanDefinition) -> String {
    match methods::method(&plan.method) {
        Ok(method) => {
            format!("{}.", capital(method.spec().line))
        }
        Err(error) => one_line(&error),
    }
}

/// Plans that wait for their turn.
fn queued(screen: &PlanScreen, context: &Context, canvas: &mut Canvas, area: Rect) {
    let state =
        if context.queue.working { "running: Q halts it" } else { "Q starts it, d removes" };
    let title = format!("Queue · {} · {state}", context.queue.plans.len());
    let inner = canvas.pane(area, &title, QUEUE);
    let row = |index: usize| {
        let plan = &context.queue.plans[index];
        vec![Line::raw(plan.name.clone()), Line::raw(asks_for(plan))]
    };
    let widths = vec![Fill(1), Length(14)];
    let selected = canvas.has_focus(QUEUE).then_some(screen.queued);
    let list = (QUEUE, context.queue.plans.len(), selected);
    canvas.list(inner, (Vec::new(), widths), list, row);
}

/// The spending for which a run of the plan asks.
fn asks_for(plan: &PlanDefinition) -> String {
    if plan.spends() {
        format!("ε {} δ {:e}", plan.target.epsilon, plan.target.delta)
    } else {
        "nothing".to_owned()
    }
}
