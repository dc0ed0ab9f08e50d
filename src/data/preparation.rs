//! From columns to bounded features.
