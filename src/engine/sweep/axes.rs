//! The values that a sweep varies: `epsilon=0.5,1,2`, `seed=0..9`, `steps=20,40`, `method=a,b`.

use crate::error::{Error, Result};
use crate::methods::{self, Method, PublicPredictor, public_predictor};
use crate::session::{PlanDefinition, Session, plan_field};

/// More tasks are usually a mistake.
pub const MOST_TASKS: usize = 10_000;

/// A field of the plan and the values that it takes in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepAxis {
    pub key: String,
    pub values: Vec<String>,
}

/// One plan of a sweep, and its difference from the others.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepVariant {
    pub plan: PlanDefinition,
    pub values: Vec<(String, String)>,
}

impl SweepAxis {
    /// Reads `KEY=VALUE,VALUE,…` or `KEY=FIRST..LAST`, both ends included.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong =
            |what: String| Error::usage(what).cure("write it like epsilon=0.5,1,2 or seed=0..9");
        let (key, list) = text
            .split_once('=')
            .ok_or_else(|| wrong(format!("'{text}' names no values to try")))?;
        let mut values = Vec::new();
        for part in list.split(',').map(str::trim) {
            let ends = part.split_once("..").map(|(first, last)| (first.parse(), last.parse()));
            match ends {
                None if part.is_empty() => {
                    return Err(wrong(format!("there is an empty value in '{text}'")));
                }
                None => values.push(part.to_owned()),
                Some((Ok(first), Ok(last))) if first <= last => {
                    let last: u64 = last;
                    if last - first >= MOST_TASKS as u64 {
                        return Err(wrong(format!("'{part}' are more than {MOST_TASKS} values")));
                    }
                    values.extend((first..=last).map(|value: u64| value.to_string()));
                }
                Some(_) => {
                    return Err(wrong(format!("'{part}' is not a range of whole numbers")));
                }
            }
        }
        Ok(Self { key: key.trim().to_owned(), values })
    }
}

/// Every combination of the values, the first axis slowest; each is checked against the
/// ranges of its fields.
pub fn variants(
    session: &Session,
    base: &PlanDefinition,
    axes: &[SweepAxis],
) -> Result<Vec<SweepVariant>> {
    for (index, axis) in axes.iter().enumerate() {
        if axes[..index].iter().any(|other| other.key == axis.key) {
            return Err(Error::usage(format!("'{}' is varied twice", axis.key))
                .cure("give all its values in one list"));
        }
    }
    let count = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
    let count = count.filter(|count| *count <= MOST_TASKS).ok_or_else(|| {
        Error::usage(format!("these are more than {MOST_TASKS} tasks")).cure("give fewer values")
    })?;
    let mut combinations = vec![Vec::new()];
    for axis in axes {
        let with_axis = |known: &Vec<(String, String)>| {
            let all = axis.values.iter().map(|value| (axis.key.clone(), value.clone()));
            all.map(|value| [&known[..], &[value]].concat()).collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(with_axis).collect();
    }
    let mut variants: Vec<SweepVariant> = Vec::with_capacity(count);
    for values in combinations {
        let plan = varied(base, &values)?;
        session.check_plan(&plan).map_err(|error| error.within(&plan.name))?;
        if variants.iter().any(|other| other.plan == plan) {
            return Err(Error::usage(format!("'{}' is there twice", plan.name))
                .cure("name each value once; a sweep over `seed` repeats a plan"));
        }
        variants.push(SweepVariant { plan, values });
    }
    Ok(variants)
}

fn varied(base: &PlanDefinition, values: &[(String, String)]) -> Result<PlanDefinition> {
    let mut plan = base.clone();
    // The method decides the meaning of the other fields.
    if let Some((_, id)) = values.iter().find(|(key, _)| key == "method") {
        let spec = methods::method(id)?.spec();
        plan.method.clone_from(id);
        plan.settings.retain(|key, value| {
            spec.field(key).is_some_and(|field| field.kind.parse(&value.to_string()).is_some())
        });
    }
    let method = methods::method(&plan.method)?;
    for (key, text) in values {
        set(&mut plan, method, key, text)?;
    }
    let what: Vec<String> = values.iter().map(|(key, value)| format!("{key}={value}")).collect();
    plan.name = format!("{} · {}", base.name, what.join(" "));
    Ok(plan)
}

fn set(plan: &mut PlanDefinition, method: &Method, key: &str, text: &str) -> Result<()> {
    let wrong = |range: &str| {
        Error::usage(format!("'{text}' is not a value of {key}")).cure(format!("give {range}"))
    };
    match key {
        "method" => {}
        "epsilon" => plan.target = plan.target.with_epsilon(text)?,
        "delta" => plan.target = plan.target.with_delta(text)?,
        public_predictor::KEY => plan.public_predictor = PublicPredictor::parse(text)?,
        "private_records" => plan.private_records = plan_field::count(text)?,
        "public_records" => plan.public_records = plan_field::count(text)?,
        "seed" => {
            plan.seed = text.parse().map_err(|_| wrong("a whole number, 0 or more"))?;
        }
        _ => {
            let spec = method.spec();
            let field = spec.field(key).ok_or_else(|| {
                let known: Vec<_> = spec.fields.iter().map(|field| field.key).collect();
                Error::usage(format!("method {} has no setting '{key}'", spec.id)).cure(format!(
                    "vary `method` or its settings ({}); a sweep also varies epsilon, delta, seed, \
                     private_records, public_records and public_predictor",
                    known.join(", ")
                ))
            })?;
            let value = field.kind.parse(text).ok_or_else(|| wrong(&field.kind.range()))?;
            plan.settings.insert(key.to_owned(), value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::demo;

    fn swept(axes: &[&str]) -> Result<Vec<SweepVariant>> {
        let session = demo::session("bikeshare").unwrap();
        let axes = axes.iter().map(|axis| SweepAxis::parse(axis)).collect::<Result<Vec<_>>>()?;
        variants(&session, &session.plans[1], &axes)
    }

    fn refusal(axes: &[&str]) -> String {
        swept(axes).unwrap_err().to_string()
    }

    #[test]
    fn every_combination_comes_once_and_the_first_axis_is_the_slowest() {
        let found = swept(&["epsilon=0.5,1,2", "seed=0..9", "steps=20,40"]).unwrap();
        assert_eq!(found.len(), 60);
        let first = &found[0];
        assert!(first.plan.name.ends_with("epsilon=0.5 seed=0 steps=20"), "{}", first.plan.name);
        assert_eq!((found[1].plan.seed, found[2].plan.seed, found[59].plan.seed), (0, 1, 9));
        assert_eq!(found[59].plan.target.epsilon, 2.0);
        assert_eq!(found[59].values[0], ("epsilon".to_owned(), "2".to_owned()));
        assert_eq!(swept(&[]).unwrap().len(), 1);
    }

    #[test]
    fn values_out_of_range_and_unknown_fields_are_refused_with_what_fits() {
        assert!(refusal(&["epsilon=0.5,-1"]).contains("above 0 and at most 10000"));
        assert!(refusal(&["delta=1"]).contains("δ must be above 0"));
        assert!(refusal(&["seed=1.5"]).contains("whole number"));
        assert!(refusal(&["steps=20,2.5"]).contains("a whole number up to"));
        assert!(refusal(&["stepz=20"]).contains("steps"));
        assert!(refusal(&["method=unheard_of"]).contains("choose one of"));
        assert!(refusal(&["seed=3..1"]).contains("not a range"));
        assert!(refusal(&["seed=0..99999"]).contains("more than 10000"));
        assert!(
            refusal(&["seed=0..199", "epsilon=1,2", "delta=1e-5,1e-6,1e-7", "alpha=2..20"])
                .contains("more than 10000 tasks")
        );
        assert!(refusal(&["seed=1,1"]).contains("twice"));
        assert!(refusal(&["seed=1", "seed=2"]).contains("twice"));
        assert!(refusal(&["seed"]).contains("seed=0..9"));
        assert!(refusal(&["seed=1,,2"]).contains("empty value"));
    }

    #[test]
    fn a_swept_method_keeps_the_settings_that_fit_it_and_needs_every_swept_field() {
        let found = swept(&["method=profiled_cnvx_adap,moment_release"]).unwrap();
        assert_eq!(found[1].plan.method, "moment_release");
        assert!(
            refusal(&["steps=20", "method=profiled_cnvx_adap,moment_release"])
                .contains("moment_release has no setting 'steps'")
        );
    }
}
