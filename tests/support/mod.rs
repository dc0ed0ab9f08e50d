//! A pseudo-terminal around the real binary, and a screen to read.

#![allow(dead_code)] // not every test needs all of it

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Long enough for a loaded machine; a passing test never waits for it.
const PATIENCE: Duration = Duration::from_mins(1);

/// In the environment of a program on a terminal that is light.
pub const LIGHT: (&str, &str) = ("BACKGROUND_OF_TEST", "light");

/// In the environment of a program on a terminal that says it is kitty and takes images.
pub const KITTY: (&str, &str) = ("TERM", "xterm-kitty");

pub struct Screen {
    parser: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
    writer: Arc<Mutex<Option<Box<dyn Write + Send>>>>,
    master: Option<Box<dyn MasterPty + Send>>,
    plug: Arc<AtomicBool>,
    pub child: Box<dyn Child + Send + Sync>,
}

impl Screen {
    /// Starts `halflight ARGUMENTS` in `directory` on a terminal of this size.
    pub fn start(directory: &Path, arguments: &[&str], columns: u16, rows: u16) -> Self {
        Self::start_with(directory, arguments, columns, rows, &[])
    }

    pub fn start_with(
        directory: &Path,
        arguments: &[&str],
        columns: u16,
        rows: u16,
        environment: &[(&str, &str)],
    ) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_halflight"));
        command.args(arguments);
        Self::spawn(command, directory, columns, rows, environment)
    }

    /// In a shell with job control, which runs the script; in it, `"$0" demo` is the program.
    pub fn start_in_shell(directory: &Path, script: &str, columns: u16, rows: u16) -> Self {
        let mut command = CommandBuilder::new("bash");
        command.args(["-m", "-c", script, env!("CARGO_BIN_EXE_halflight")]);
        Self::spawn(command, directory, columns, rows, &[])
    }

    fn spawn(
        mut command: CommandBuilder,
        directory: &Path,
        columns: u16,
        rows: u16,
        environment: &[(&str, &str)],
    ) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        command.cwd(directory);
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        command.env("TMPDIR", directory);
        // Nobody's own configuration, and no trace in it.
        command.env("XDG_CONFIG_HOME", directory.join("config"));
        command.env("XDG_STATE_HOME", directory.join("state"));
        command.env_remove("NO_COLOR");
        for (name, value) in environment {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let parser = Arc::new(Mutex::new(vt100::Parser::new(cells(rows), cells(columns), 0)));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let unplugged = Arc::new(AtomicBool::new(false));
        let plug = Arc::clone(&unplugged);
        let (screen, bytes) = (Arc::clone(&parser), Arc::clone(&raw));
        let writer = Arc::new(Mutex::new(Some(pair.master.take_writer().unwrap())));
        let answerer = Arc::clone(&writer);
        let [is_light, is_kitty] = [LIGHT, KITTY].map(|it| environment.contains(&it));
        std::thread::spawn(move || {
            let (mut buffer, mut shown) = ([0; 8192], 0);
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                if unplugged.load(Ordering::Relaxed) {
                    return;
                }
                // Like every terminal it says what it is, and a light one its colours.
                let asked = |question: &[u8]| {
                    buffer[..read].windows(question.len()).any(|it| it == question)
                };
                let colours = [
                    ("\x1b]10;?", "10;rgb:0000/0000/0000"),
                    ("\x1b]11;?", "11;rgb:ffff/ffff/ffff"),
                ];
                let colours =
                    colours.into_iter().filter(|(it, _)| is_light && asked(it.as_bytes()));
                let mut answer = String::new();
                for (_, colour) in colours {
                    answer += "\x1b]";
                    answer += colour;
                    answer += "\x1b\\";
                }
                answer +=
                    if is_kitty && asked(b"\x1b[>q") { "\x1bP>|kitty(0.41.2)\x1b\\" } else { "" };
                answer += if is_kitty && asked(b",a=q,") { "\x1b_Gi=31;OK\x1b\\" } else { "" };
                answer += if asked(b"\x1b[c") { "\x1b[?62c" } else { "" };
                if let Some(writer) = answerer.lock().unwrap().as_mut() {
                    let _ = writer.write_all(answer.as_bytes());
                }
                let mut bytes = bytes.lock().unwrap();
                bytes.extend_from_slice(&buffer[..read]);
                let whole = end_of_whole_frames(&bytes).max(shown);
                screen.lock().unwrap().process(&bytes[shown..whole]);
                shown = whole;
            }
            // A program that was killed has shown what it wrote.
            screen.lock().unwrap().process(&bytes.lock().unwrap()[shown..]);
        });
        Self { parser, raw, writer, master: Some(pair.master), plug, child }
    }

    pub fn text(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    /// Everything the program wrote, escape sequences included.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.raw.lock().unwrap()).into_owned()
    }

    pub fn press(&mut self, keys: &str) {
        let mut writer = self.writer.lock().unwrap();
        let writer = writer.as_mut().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Presses keys that may end the program; returns whether it was still there to read them.
    pub fn may_press(&mut self, keys: &str) -> bool {
        let is_there = self.child.try_wait().unwrap().is_none();
        is_there && self.writer.lock().unwrap().as_mut().unwrap().write_all(keys.as_bytes()).is_ok()
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// The terminal vanishes while the program draws on it, as when its window is closed.
    pub fn unplug(&mut self) {
        self.plug.store(true, Ordering::Relaxed);
        *self.writer.lock().unwrap() = None;
        self.master = None;
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.parser.lock().unwrap().screen_mut().set_size(cells(rows), cells(columns));
        self.master.as_ref().unwrap().resize(size).unwrap();
    }

    /// Column and row of a text on the screen, both from 0.
    pub fn find(&self, wanted: &str) -> (u16, u16) {
        self.wait_for(wanted);
        let text = self.text();
        let mut lines = text.lines().enumerate();
        let (row, line) = lines.find(|(_, line)| line.contains(wanted)).unwrap();
        let before = &line[..line.find(wanted).unwrap()];
        (before.chars().count() as u16, row as u16)
    }

    /// One mouse event: a button of the SGR protocol, pressed or released.
    pub fn mouse(&mut self, button: u8, column: u16, row: u16, pressed: bool) {
        let end = if pressed { 'M' } else { 'm' };
        self.press(&format!("\x1b[<{button};{};{}{end}", column + 1, row + 1));
    }

    /// Clicks on a text that stands on the screen.
    pub fn click(&mut self, wanted: &str) {
        let (column, row) = self.find(wanted);
        self.mouse(0, column, row, true);
        self.mouse(0, column, row, false);
    }

    pub fn wait_for(&self, wanted: &str) {
        self.wait_until(&format!("'{wanted}'"), |text| text.contains(wanted));
    }

    /// For what computes, on a slow machine.
    pub fn wait_long_for(&self, wanted: &str) {
        self.wait(&format!("'{wanted}'"), 5 * PATIENCE, |text| text.contains(wanted));
    }

    pub fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        self.wait(what, PATIENCE, holds);
    }

    fn wait(&self, what: &str, at_most: Duration, holds: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !holds(&self.text()) {
            assert!(
                start.elapsed() < at_most,
                "waited for {what} in vain; the screen shows:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end of the program; its exit code.
    pub fn wait_for_end(&mut self) -> u32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // What it wrote last may still be on its way.
                std::thread::sleep(Duration::from_millis(50));
                return status.exit_code();
            }
            assert!(
                start.elapsed() < PATIENCE,
                "the program did not end; the screen shows:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Was the terminal given back: main screen, cursor, mouse and paste as before?
    /// What the program wrote last may still be on its way here.
    pub fn assert_restored(&self) {
        let end = Instant::now() + Duration::from_secs(5);
        while let Some(flaw) = self.not_restored() {
            assert!(Instant::now() < end, "{flaw}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn not_restored(&self) -> Option<String> {
        let raw = self.raw();
        let switches = [
            ("\x1b[?1049h", "\x1b[?1049l", "alternate screen"),
            ("\x1b[?1000h", "\x1b[?1000l", "mouse"),
            ("\x1b[?2004h", "\x1b[?2004l", "bracketed paste"),
            ("\x1b[?25l", "\x1b[?25h", "cursor"),
        ];
        let left = raw.rfind("\x1b[?1049l").unwrap_or_default();
        if !raw[..left].ends_with("\x1b[2J") {
            return Some("the alternate screen was not cleared".to_owned());
        }
        switches.into_iter().find_map(|(on, off, what)| {
            let (on, off) = (raw.rfind(on), raw.rfind(off));
            if on.is_none() {
                return Some(format!("{what} was never switched"));
            }
            (off <= on).then(|| format!("{what} was not restored"))
        })
    }
}

/// Like terminals that know synchronized updates, the screen shows no frame before its end.
fn end_of_whole_frames(bytes: &[u8]) -> usize {
    let last = |wanted: &[u8]| bytes.windows(wanted.len()).rposition(|it| it == wanted);
    let (begin, end) = (b"\x1b[?2026h", b"\x1b[?2026l");
    match last(begin) {
        Some(at) if last(end) < Some(at) => at,
        _ => {
            let is_begun = |it: &usize| bytes.ends_with(&begin[..*it]);
            bytes.len() - (1..begin.len()).rev().find(is_begun).unwrap_or_default()
        }
    }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
