//! Profiled CnvxAdap: closed-form weights, noise on the gradient alone.
