//! The papers that halflight implements or is compared with. Modules link to this list.
//!
//! Formulas and constants are taken from them, never their wording. Where a printed constant is too
//! small for its claim, the module that uses it says so and proves another.
//!
//! - Raef Bassily, Mehryar Mohri, Ananda Theertha Suresh: Principled Approaches for Private
//!   Adaptation from a Public Source (2023). Weights of public records from private, unlabelled
//!   ones: `halflight_methods::unlabelled::frank_wolfe` (its algorithms 1 and 2),
//!   `halflight_methods::unlabelled::mirror_descent` (algorithm 3), and the synthetic setup of
//!   `halflight_studies::discrepancy`.
//! - Raef Bassily, Corinna Cortes, Anqi Mao, Mehryar Mohri: Differentially Private Domain
//!   Adaptation with Theoretical Guarantees (2024). Weights of public and labelled private records:
//!   `halflight_methods::labelled::cnvx_adap` and its successor,
//!   `halflight_methods::labelled::profiled_cnvx_adap`.
//! - Xin Gu, Gautam Kamath, Zhiwei Steven Wu: Choosing Public Datasets for Private Machine Learning
//!   via Gradient Subspace Distance (2023). The gradient subspace distance of
//!   `halflight_advice::rank`.
//! - Alessandro Achille, Michael Lam, Rahul Tewari, Avinash Ravichandran, Subhransu Maji, Charless
//!   Fowlkes, Stefano Soatto, Pietro Perona: Task2Vec: Task Embedding for Meta-Learning (2019). The
//!   comparator `halflight_advice::rank::task2vec`.
//! - Francesco Pinto, Yaxi Hu, Fanny Yang, Amartya Sanyal: PILLAR: How to make semi-private
//!   learning more effective (2023). For `halflight_methods::classes::pillar`.
//! - Da Yu, Huishuai Zhang, Wei Chen, Tie-Yan Liu: Do Not Let Privacy Overbill Utility: Gradient
//!   Embedding Perturbation for Private Learning (2021). For `halflight_methods::classes::gep`.
//! - Tian Li, Manzil Zaheer, Sashank J. Reddi, Virginia Smith: Private Adaptive Optimization with
//!   Side Information (2022). For `halflight_methods::classes::adadps`.
//! - Edward J. Hu, Yelong Shen, Phillip Wallis, Zeyuan Allen-Zhu, Yuanzhi Li, Shean Wang, Lu Wang,
//!   Weizhu Chen: LoRA: Low-Rank Adaptation of Large Language Models (2022). The low-rank additions
//!   of `halflight_model::adapters`.
//! - Martín Abadi, Andy Chu, Ian Goodfellow, H. Brendan McMahan, Ilya Mironov, Kunal Talwar, Li
//!   Zhang: Deep Learning with Differential Privacy (2016). For `halflight_methods::classes::dp_sgd`.
//! - Thomas Steinke, Milad Nasr, Matthew Jagielski: Privacy Auditing with One (1) Training Run
//!   (2023). The audit of one run, `halflight_advice::audit`.
