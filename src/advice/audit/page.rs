//! An audit as one page, without scripts or anything from the network.

use maud::{DOCTYPE, PreEscaped, html};

use super::Audited;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem;color-scheme:light dark}table{border-collapse:collapse;width:100%}\
td,th{border-bottom:1px solid #8884;padding:.3rem .6rem;text-align:left}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.bad{font-weight:bold}";

pub fn page(audits: &[Audited]) -> String {
    let wrong = audits.iter().filter(|audited| !audited.findings.is_empty()).count();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "halflight audit" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Audit" }
                p {
                    "halflight " (env!("CARGO_PKG_VERSION"))
                    ". Public data played the private part. "
                    @if wrong == 0 {
                        "Nothing exceeds what is claimed."
                    } @else {
                        span.bad { (wrong) " of " (audits.len()) " exceed a claim." }
                    }
                }
                table {
                    tr {
                        th { "subject" }
                        th { "release" }
                        th.n { "largest change / announced" }
                        th.n { "ε shown, many runs" }
                        th.n { "ε shown, one run" }
                        th.n { "ε claimed" }
                    }
                    @for audited in audits {
                        @for (index, moved) in audited.releases.iter().enumerate() {
                            // Values common to all releases are in the first line.
                            @let shown = audited.shown.filter(|_| index == 0);
                            tr {
                                td { @if index == 0 { (audited.subject) } }
                                td { (moved.release) }
                                td.n { (format!("{:.4}", moved.largest)) }
                                td.n {
                                    @if let Some(it) = shown { (format!("{:.3}", it.many_runs)) }
                                }
                                td.n {
                                    @if let Some(it) = shown { (format!("{:.3}", it.one_run)) }
                                }
                                td.n {
                                    @if index == 0 {
                                        (format!("{:.3}", audited.claimed)) " at δ = "
                                        (audited.delta)
                                    }
                                }
                            }
                        }
                        @for finding in &audited.findings {
                            tr { td { (audited.subject) } td.bad colspan="5" { (finding) } }
                        }
                    }
                }
            }
        }
        "\n"
    };
    page.into_string()
}
