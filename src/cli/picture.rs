//! `halflight picture`: screens as SVG, for the README.

use clap::Args;

use crate::error::Result;

#[derive(Debug, Args)]
pub struct Picture {}

impl Picture {
    pub fn execute(&self) -> Result<()> {
        Ok(())
    }
}
