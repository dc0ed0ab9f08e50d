//! The synthetic source and target of the papers on unlabelled adaptation.
