//! The guide: the pages of `assets/guide`, which the program carries, by topic.

pub mod render;

use crate::data::names::nearest;

/// One page.
#[derive(Debug)]
pub struct Topic {
    pub name: &'static str,
    /// What it is about, in a line.
    pub about: &'static str,
    /// Markdown.
    pub text: &'static str,
}

macro_rules! topics {
    ($($name:literal: $about:literal,)*) => {
        &[$(Topic {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../assets/guide/", $name, ".md")),
        }),*]
    };
}

/// In the best order for reading.
pub const TOPICS: &[Topic] = topics! {
    "tutorial": "ten minutes inside the interface, step by step",
    "epsilon": "choosing ε and δ: what the numbers mean, and where to begin",
    "methods": "choosing a method: which one for which data, and what to expect",
    "own": "bring your own model: predictions of any public model as a base",
    "ranking": "reading the ranking: which public data fit",
    "rehearsals": "trying methods on public data, for free",
    "scores": "how good a model is, released with noise; choosing among plans",
    "budgets": "budgets over months: the ledger, accounts, settling, repairing",
    "guarantee": "what is and is not guaranteed, and who is trusted with what",
    "persons": "people and rows: protecting all records of one person together",
    "sharing": "certificates, models, predictions and reports for others",
    "watching": "following runs of other processes",
    "sites": "several hospitals, one model: nothing but releases travels",
    "trainers": "Opacus, JAX-privacy and others: watched, checked and charged",
    "clusters": "sweeps, Slurm, disks that machines share, runs that die",
    "files": "files and formats: data, sessions, and what halflight writes",
    "opacus": "coming from Opacus: the same words, and what is different",
    "install": "packages, completions, and what to do when something is missing",
    "python": "from Python: accounts, sessions, runs, scikit-learn estimators",
    "commands": "all commands, and what they print",
    "screens": "the screens, all keys, and the configuration",
    "words": "what screens, reports and commands mean by their words",
    "limits": "known limits",
    "papers": "the methods as their papers print them, and what differs",
    "items": "the papers item by item: where it is in the code, and whether it is as printed",
    "speed": "how long things take, beside numpy, pandas and others",
    "code": "how the program is built, and how to add to it",
    "contributing": "how to work on the code: the loop, snapshots, what to add where",
    "measured": "what was measured of the code, when, and at which commit",
    "looks": "where code looks at private records, and who can see what it decides",
    "changes": "what has changed, by date",
};

/// A page for each mechanism, for the accountant, and for each method.
pub const PROOFS: &[Topic] = topics! {
    "proofs/accountant": "what the accountant adds up: plans, held-out records, budgets",
    "proofs/grid": "rounding to a grid, exact noise, and what is clipped",
    "proofs/gaussian": "Gaussian noise",
    "proofs/sampling": "Gaussian noise on a Poisson sample",
    "proofs/laplace": "Laplace noise",
    "proofs/exponential": "the exponential mechanism",
    "proofs/permute_and_flip": "permute-and-flip",
    "proofs/noisy_maximum": "the largest noisy score",
    "proofs/direction": "one private direction",
    "proofs/repeats": "the best of a random number of repeats",
    "proofs/public_shape": "public_shape, public_shape_classes: public model, corrected",
    "proofs/profiled_cnvx_adap": "profiled_cnvx_adap: linear, weighted by fit",
    "proofs/profiled_logistic": "profiled_logistic: logistic, weighted by fit",
    "proofs/target_only": "target_only, target_only_logistic: private records alone",
    "proofs/moment_release": "moment_release: public records re-weighted",
    "proofs/frank_wolfe": "frank_wolfe, two_stage_frank_wolfe: re-weighted record by record",
    "proofs/mirror_descent": "mirror_descent: re-weighted by gradients",
    "proofs/cnvx_adap": "cnvx_adap: linear, a weight per record",
    "proofs/ncnvx_adap": "ncnvx_adap: classes, a weight per record",
    "proofs/dp_sgd": "dp_sgd: private records alone, on samples",
    "proofs/pillar": "pillar: private, on public directions",
    "proofs/gep": "gep: noise where public gradients point",
    "proofs/adadps": "adadps: noise in coordinates that public gradients make even",
    "proofs/pretraining": "pretraining: public first, then private",
    "proofs/public_only": "public_only, public_only_classes: public data alone",
    "proofs/ranking": "private rankings: errors, the winner, the table, a direction",
    "proofs/order": "tables have no order",
    "proofs/scores": "scores that may be shared",
    "proofs/choices": "choosing among plans",
    "proofs/count": "the number of records",
    "proofs/several_sites": "several sites with one model",
};

fn all() -> impl Iterator<Item = &'static Topic> {
    TOPICS.iter().chain(PROOFS)
}

/// The page of this name; a proof is also found without its folder.
pub fn find(name: &str) -> Option<&'static Topic> {
    let wanted = name.trim().trim_end_matches(".md").to_lowercase();
    let named = |topic: &&Topic| topic.name == wanted;
    all().find(named).or_else(|| {
        let proof = format!("proofs/{wanted}");
        PROOFS.iter().find(|topic| topic.name == proof)
    })
}

/// Pages whose names or subjects are similar to a word.
pub fn near(name: &str) -> Vec<&'static str> {
    let wanted = name.trim().to_lowercase();
    let tells = |topic: &&Topic| {
        wanted.chars().count() > 2
            && (topic.name.contains(&wanted) || topic.about.to_lowercase().contains(&wanted))
    };
    let mut found: Vec<&str> = all().filter(tells).map(|topic| topic.name).collect();
    let names: Vec<String> = all().map(|topic| topic.name.to_owned()).collect();
    for close in nearest(&wanted, &names) {
        let topic = all().map(|topic| topic.name).find(|name| *name == close);
        found.extend(topic.filter(|name| !found.contains(name)));
    }
    found.truncate(4);
    found
}

/// The page to which a link of the guide leads.
pub fn topic_of_link(place: &str) -> Option<&'static str> {
    let place = place.split('#').next()?.trim_start_matches("./").trim_start_matches("../");
    let name = place.strip_suffix(".md")?;
    find(name).map(|topic| topic.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_name_and_wrong_names_lead_to_near_ones() {
        assert_eq!(find("Epsilon").unwrap().name, "epsilon");
        assert_eq!(find("public_shape").unwrap().name, "proofs/public_shape");
        assert_eq!(find("proofs/gaussian.md").unwrap().name, "proofs/gaussian");
        assert!(find("nothing").is_none());
        assert!(near("epsilom").contains(&"epsilon"));
        assert!(near("slurm").contains(&"clusters"));
        assert!(near("qqqqqq").is_empty());
    }

    #[test]
    fn every_method_has_a_proof() {
        for method in crate::methods::methods() {
            let (id, page) = (method.spec().id, format!("proofs/{}", method.spec().proof()));
            assert!(
                find(&page).is_some_and(|found| found.name == page),
                "{id} has no proof page: write assets/guide/{page}.md and list it in \
                 src/tui/guide/mod.rs"
            );
        }
    }
}
