//! The papers that halflight implements or is compared with. Modules cite them by the names of
//! these items.
//!
//! Formulas and constants are taken from them, never their wording. Where a printed constant is too
//! small for its claim, the module that uses it says so and proves another.

/// Weights of public records from private, unlabelled ones: `halflight_methods::unlabelled::frank_wolfe` (its
/// algorithms 1 and 2), `halflight_methods::unlabelled::mirror_descent` (algorithm 3), and the synthetic setup
/// of `halflight_studies::discrepancy`.
pub const PRINCIPLED_ADAPTATION: &str = "\
    Raef Bassily, Mehryar Mohri, Ananda Theertha Suresh: Principled Approaches for Private \
    Adaptation from a Public Source (2023)";

/// Weights of public and labelled private records: `halflight_methods::labelled::cnvx_adap` and its
/// successor, `halflight_methods::labelled::profiled_cnvx_adap`.
pub const ADAPTATION_WITH_GUARANTEES: &str = "\
    Raef Bassily, Corinna Cortes, Anqi Mao, Mehryar Mohri: Differentially Private Domain \
    Adaptation with Theoretical Guarantees (2024)";

/// The gradient subspace distance of `halflight_advice::rank`.
pub const GRADIENT_SUBSPACE_DISTANCE: &str = "\
    Xin Gu, Gautam Kamath, Zhiwei Steven Wu: Choosing Public Datasets for Private Machine \
    Learning via Gradient Subspace Distance (2023)";

/// The comparator `halflight_advice::rank::task2vec`.
pub const TASK_EMBEDDING: &str = "\
    Alessandro Achille, Michael Lam, Rahul Tewari, Avinash Ravichandran, Subhransu Maji, Charless \
    Fowlkes, Stefano Soatto, Pietro Perona: Task2Vec: Task Embedding for Meta-Learning (2019)";

/// `halflight_methods::classes::pillar`.
pub const PILLAR: &str = "\
    Francesco Pinto, Yaxi Hu, Fanny Yang, Amartya Sanyal: PILLAR: How to make semi-private \
    learning more effective (2023)";

/// `halflight_methods::classes::gep`.
pub const GRADIENT_EMBEDDING: &str = "\
    Da Yu, Huishuai Zhang, Wei Chen, Tie-Yan Liu: Do Not Let Privacy Overbill Utility: \
    Gradient Embedding Perturbation for Private Learning (2021)";

/// `halflight_methods::classes::adadps`.
pub const PRIVATE_PRECONDITIONING: &str = "\
    Tian Li, Manzil Zaheer, Sashank J. Reddi, Virginia Smith: Private Adaptive Optimization with \
    Side Information (2022)";

/// The low-rank additions of `halflight_model::adapters`.
pub const LOW_RANK_ADAPTATION: &str = "\
    Edward J. Hu, Yelong Shen, Phillip Wallis, Zeyuan Allen-Zhu, Yuanzhi Li, Shean Wang, Lu Wang, \
    Weizhu Chen: LoRA: Low-Rank Adaptation of Large Language Models (2022)";

/// `halflight_methods::classes::dp_sgd`.
pub const PRIVATE_DESCENT: &str = "\
    Martín Abadi, Andy Chu, Ian Goodfellow, H. Brendan McMahan, Ilya Mironov, Kunal Talwar, Li \
    Zhang: Deep Learning with Differential Privacy (2016)";

/// The audit of one run, `halflight_advice::audit`.
pub const AUDIT_OF_ONE_RUN: &str = "\
    Thomas Steinke, Milad Nasr, Matthew Jagielski: Privacy Auditing with One (1) Training Run \
    (2023)";
