//! Reports in a real browser, where one is installed: nothing scrolls sideways, and it prints.

use std::path::Path;
use std::process::{Command, Output};

use crate::program;

/// Names under which the browser may be installed.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Shows every report at three widths, and lists what is wider than its place.
const PAGE: &str = r#"<html><body><script>
(async () => {
  const found = [];
  for (const width of [390, 1000, 1280]) for (const file of ["released.html", "exact.html", "one.html"]) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width: ${width}px; height: 3000px; border: 0`;
    frame.src = file;
    document.body.appendChild(frame);
    await new Promise(done => frame.onload = done);
    const page = frame.contentDocument;
    for (const part of page.querySelectorAll("*"))
      if (part.clientWidth > 0 && part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).display != "inline")
        found.push(`${file} at ${width}: ${part.tagName} ${part.className} is ${part.scrollWidth} wide`);
    found.push(`${file} at ${width}: seen ${page.querySelectorAll("section").length}`);
    frame.remove();
  }
  const told = document.createElement("pre");
  told.textContent = "FOUND " + found.join("; ");
  document.body.appendChild(told);
})();
</script></body></html>"#;

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    program::halflight().args(arguments).current_dir(directory).output().unwrap()
}

#[test]
fn nothing_in_a_report_scrolls_sideways_and_it_prints() {
    let installed = |name: &&&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let Some(browser) = BROWSERS.iter().find(installed) else {
        println!("no browser is installed: the report was not looked at");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let demo = halflight(place.path(), &["demo", "--plain", "--workspace", "kept"]);
    assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    let kept = place.path().join("kept");
    let runs = std::fs::read_dir(kept.join(".halflight/runs")).unwrap();
    let run = runs.flatten().next().unwrap().path().display().to_string();
    for arguments in [
        vec![".halflight", "--output", "released.html"],
        vec![".halflight", "--output", "exact.html", "--include-curator"],
        vec![&run, "--output", "one.html"],
    ] {
        let made = halflight(&kept, &[vec!["report"], arguments].concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    std::fs::write(kept.join("frames.html"), PAGE).unwrap();
    let profile = format!("--user-data-dir={}", place.path().join("profile").display());
    let browse = |arguments: &[&str]| {
        let usual = ["--headless", "--no-sandbox", "--disable-gpu", &profile];
        Command::new(browser).args(usual).args(arguments).output().unwrap()
    };
    let address = |file: &str| format!("file://{}", kept.join(file).display());
    let seen = browse(&[
        "--disable-web-security",
        "--allow-file-access-from-files",
        "--virtual-time-budget=20000",
        "--dump-dom",
        &address("frames.html"),
    ]);
    let seen = String::from_utf8_lossy(&seen.stdout).into_owned();
    let found = seen.split("FOUND").last().unwrap_or_default();
    assert_eq!(found.matches(": seen ").count(), 9, "{seen}");
    assert!(!found.contains(" wide"), "{found}");
    let paper = kept.join("paper.pdf");
    let printed = format!("--print-to-pdf={}", paper.display());
    browse(&[&printed, &address("released.html")]);
    assert!(std::fs::read(&paper).is_ok_and(|bytes| bytes.starts_with(b"%PDF")));
}
