//! The papers that halflight implements or is compared with. Modules cite them by the names of
//! these items.
//!
//! Formulas and constants are taken from them, never their wording. Where a printed constant is too
//! small for its claim, the module that uses it says so and proves another.

/// A paper as it is cited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    pub authors: &'static str,
    pub title: &'static str,
    pub year: u16,
}

/// Weights of public records from private, unlabelled ones: `halflight_methods::unlabelled::frank_wolfe` (its
/// algorithms 1 and 2), `halflight_methods::unlabelled::mirror_descent` (algorithm 3), and the synthetic setup
/// of `halflight_studies::discrepancy`.
pub const PRINCIPLED_ADAPTATION: Paper = Paper {
    authors: "Raef Bassily, Mehryar Mohri, Ananda Theertha Suresh",
    title: "Principled Approaches for Private Adaptation from a Public Source",
    year: 2023,
};

/// Weights of public and labelled private records: `halflight_methods::labelled::cnvx_adap` and its
/// successor, `halflight_methods::labelled::profiled_cnvx_adap`.
pub const ADAPTATION_WITH_GUARANTEES: Paper = Paper {
    authors: "Raef Bassily, Corinna Cortes, Anqi Mao, Mehryar Mohri",
    title: "Differentially Private Domain Adaptation with Theoretical Guarantees",
    year: 2024,
};

/// The gradient subspace distance of `halflight_advice::rank`.
pub const GRADIENT_SUBSPACE_DISTANCE: Paper = Paper {
    authors: "Xin Gu, Gautam Kamath, Zhiwei Steven Wu",
    title: "Choosing Public Datasets for Private Machine Learning via Gradient Subspace Distance",
    year: 2023,
};

/// `halflight_methods::classes::pillar`.
pub const PILLAR: Paper = Paper {
    authors: "Francesco Pinto, Yaxi Hu, Fanny Yang, Amartya Sanyal",
    title: "PILLAR: How to make semi-private learning more effective",
    year: 2023,
};

/// `halflight_methods::classes::gep`.
pub const GRADIENT_EMBEDDING: Paper = Paper {
    authors: "Da Yu, Huishuai Zhang, Wei Chen, Tie-Yan Liu",
    title: "Do Not Let Privacy Overbill Utility: Gradient Embedding Perturbation for Private Learning",
    year: 2021,
};

/// `halflight_methods::classes::dp_sgd`.
pub const PRIVATE_DESCENT: Paper = Paper {
    authors: "Martín Abadi, Andy Chu, Ian Goodfellow, H. Brendan McMahan, Ilya Mironov, Kunal \
              Talwar, Li Zhang",
    title: "Deep Learning with Differential Privacy",
    year: 2016,
};

/// The audit of one run, `halflight_advice::audit`.
pub const AUDIT_OF_ONE_RUN: Paper = Paper {
    authors: "Thomas Steinke, Milad Nasr, Matthew Jagielski",
    title: "Privacy Auditing with One (1) Training Run",
    year: 2023,
};
