//! Nothing to build: a package without a build script has no features of macros to ask for.

fn main() {}
