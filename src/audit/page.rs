//! An audit as one page: no script, nothing from the net.

use std::fmt::Write;

use super::Audited;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem;color-scheme:light dark}table{border-collapse:collapse;width:100%}\
td,th{border-bottom:1px solid #8884;padding:.3rem .6rem;text-align:left}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.bad{font-weight:bold}";

pub fn page(audits: &[Audited]) -> String {
    let wrong = audits.iter().filter(|audited| !audited.findings.is_empty()).count();
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>halflight audit</title>\
         <style>{STYLE}</style><h1>Audit</h1><p>halflight {}. Public data played the private \
         part. {}</p><table><tr><th>subject<th>release<th class=n>largest change / announced\
         <th class=n>ε shown, many runs<th class=n>ε shown, one run<th class=n>ε claimed</tr>",
        env!("CARGO_PKG_VERSION"),
        match wrong {
            0 => "Nothing exceeds what is claimed.".to_owned(),
            wrong => format!("<span class=bad>{wrong} of {} exceed a claim.</span>", audits.len()),
        },
    );
    for audited in audits {
        let (many, one) = audited.shown.map_or_else(Default::default, |shown| {
            (format!("{:.3}", shown.many_runs), format!("{:.3}", shown.one_run))
        });
        for (index, moved) in audited.releases.iter().enumerate() {
            let first = |text: &str| if index == 0 { escaped(text) } else { String::new() };
            let _ = write!(
                out,
                "<tr><td>{}<td>{}<td class=n>{:.4}<td class=n>{}<td class=n>{}<td class=n>{}</tr>",
                first(&audited.subject),
                escaped(&moved.release),
                moved.largest,
                first(&many),
                first(&one),
                first(&format!("{:.3} at δ = {}", audited.claimed, audited.delta)),
            );
        }
        for finding in &audited.findings {
            let _ = write!(
                out,
                "<tr><td>{}<td colspan=5 class=bad>{}</tr>",
                escaped(&audited.subject),
                escaped(finding)
            );
        }
    }
    out + "</table></html>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
