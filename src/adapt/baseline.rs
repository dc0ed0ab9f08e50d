//! Source-only and target-only: what a private model is compared with.
