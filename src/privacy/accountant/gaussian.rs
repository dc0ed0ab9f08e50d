//! Closed form of Gaussian differential privacy.
