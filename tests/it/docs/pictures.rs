//! The pictures of docs/pictures: real output of the program in a terminal of fixed size, rendered as SVG.
//! `TEAMKEEP_GENERATE=1 cargo test --test it pictures` writes them.

use std::path::Path;

use anstyle::RgbColor;
use anstyle_svg::{Palette, Term};
use serde_json::Value;
use teamkeep_model::time::{self, Timestamp};

use crate::support::reenact::Trace;
use crate::support::sandbox::{START, Sandbox};
use crate::support::terminal;
use crate::watch::{Watcher, recording};

/// The width of the terminal: on a phone, a wider picture cannot be read.
const COLUMNS: u16 = 60;

/// The number of rows of `watch`.
const ROWS: u16 = 22;

/// The minutes of the recorded run that the cast shows.
const FRAMES: [i64; 7] = [4, 8, 15, 22, 37, 46, 53];

/// A policy file with four mistakes.
const MISTAKES: &str = r#"[policy.premature-shutdown]
mode = "deny"
exemptt = ["scout"]

[log]
keep = "90 days"

[[rule]]
name = "no-force-push"
tools = ["Bash"]
match = { "/tool_input/command" = "/git push.*--force/" }
action = "block"
"#;

const fn rgb(hex: u32) -> RgbColor {
    RgbColor((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

/// The colors of a terminal: 16 of the palette, text, background.
struct Theme([u32; 16], u32, u32);

const LIGHT: Theme = Theme(
    [
        0x24292f, 0xb3261e, 0x116329, 0x7d4e00, 0x0550ae, 0x8250df, 0x1b7c83, 0x57606a, 0x57606a, 0xcf222e,
        0x1a7f37, 0x8a5a00, 0x0969da, 0x8250df, 0x1b7c83, 0x24292f,
    ],
    0x1f2328,
    0xf6f8fa,
);
const DARK: Theme = Theme(
    [
        0x484f58, 0xff7b72, 0x3fb950, 0xd29922, 0x58a6ff, 0xbc8cff, 0x39c5cf, 0xb1bac4, 0x8b949e, 0xffa198,
        0x56d364, 0xe3b341, 0x79c0ff, 0xd2a8ff, 0x56d4dd, 0xf0f6fc,
    ],
    0xe6edf3,
    0x161b22,
);

impl Theme {
    fn render(&self, ansi: &str) -> String {
        let term = Term::new().palette(Palette(self.0.map(rgb)));
        term.fg_color(rgb(self.1).into())
            .bg_color(rgb(self.2).into())
            .min_width_px(540)
            .render_svg(ansi)
            .replace("opacity: 0.4", "opacity: 0.7")
    }
}

/// One SVG that is light or dark as the reader's system is.
fn picture(ansi: &str, title: &str) -> String {
    in_themes([&LIGHT, &DARK], ansi, title)
}

fn in_themes(themes: [&Theme; 2], ansi: &str, title: &str) -> String {
    let [light, dark] = themes.map(|theme| theme.render(ansi));
    let colors: Vec<&str> = dark
        .lines()
        .skip_while(|line| !line.contains("<style>"))
        .skip(1)
        .take_while(|line| line.starts_with("    .") && line.ends_with('}'))
        .collect();
    let media =
        format!("    @media (prefers-color-scheme: dark) {{\n{}\n    }}\n  </style>", colors.join("\n"));
    let (head, rest) = light.split_once(">\n").unwrap();
    let size =
        |name: &str| head.split_once(&format!("{name}=\"")).unwrap().1.split("px").next().unwrap().to_owned();
    let head = format!(
        "{head} viewBox=\"0 0 {} {}\" role=\"img\">\n  <title>{title}</title>",
        size("width"),
        size("height")
    );
    format!("{head}\n{}", rest.replacen("  </style>", &media, 1))
}

/// How long a frame of a cast is shown, in seconds.
const FRAME_SECONDS: usize = 2;

/// Screens one after the other in one SVG. Where motion is not wanted, the last one is shown.
fn cast(frames: &[String], title: &str) -> String {
    let all = picture(&frames.concat(), title);
    let one = |frame: &String| {
        let svg = picture(frame, title);
        let (_, text) = svg.split_once("  <text").unwrap();
        format!("<text{}", text.split_once("</svg>").unwrap().0.trim_end())
    };
    let seconds = frames.len() * FRAME_SECONDS;
    let mut style = format!(
        "    .frame {{ opacity: 0; animation: frame {seconds}s step-end infinite }}\n    \
         @keyframes frame {{ 0% {{ opacity: 1 }} {:.3}% {{ opacity: 0 }} }}\n",
        100.0 / frames.len() as f64
    );
    let mut groups = String::new();
    for (place, frame) in frames.iter().enumerate() {
        style += &format!("    .frame-{place} {{ animation-delay: {}s }}\n", place * FRAME_SECONDS);
        groups += &format!("  <g class=\"frame frame-{place}\">\n  {}\n  </g>\n", one(frame));
    }
    style += &format!(
        "    @media (prefers-reduced-motion: reduce) {{ .frame {{ animation: none }} .frame-{} {{ opacity: 1 }} }}\n  </style>",
        frames.len() - 1
    );
    // Its height is that of the highest frame, and not of all.
    let rows = frames.iter().map(|frame| frame.lines().count()).max().unwrap();
    let tallest = frames.iter().find(|frame| frame.lines().count() == rows).unwrap();
    let sized = picture(tallest, title);
    let (head, _) = sized.split_once('\n').unwrap();
    let (_, rest) = all.split_once('\n').unwrap();
    let (before, _) = rest.split_once("  <text").unwrap();
    format!("{head}\n{}{groups}</svg>\n", before.replacen("  </style>", &style, 1))
}

/// Runs a command on a terminal, and returns the screen with the command as it is typed.
fn screen(sandbox: &Sandbox, typed: &str) -> String {
    let args: Vec<&str> = typed.split(' ').skip(1).collect();
    let mut command = sandbox.command(&args);
    command.envs([("TERM", "xterm-256color"), ("TZ", "UTC"), ("PAGER", "cat")]);
    let text = terminal::output(&mut command, COLUMNS);
    prompt(typed) + &text.trim_end().replace(&sandbox.home().display().to_string(), "~") + "\n"
}

fn prompt(typed: &str) -> String {
    format!("\u{1b}[1;32m$\u{1b}[0m \u{1b}[1m{typed}\u{1b}[0m\n")
}

/// A block in the screen of Claude Code, which `scripts/pictures.sh` captures. Its reason is the one of this block of the same kind.
fn block(reason: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/screens/block.ansi");
    let screen = std::fs::read_to_string(path).unwrap();
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = squeezed(&anstream::adapter::strip_str(&screen).to_string());
    let subject = regex::Regex::new("\"[^\"]*\"").unwrap();
    let reason = squeezed(&subject.replace(reason, "\"Review the parser\""));
    assert!(shown.contains(&reason), "{shown}\nis stale: scripts/pictures.sh; it has not: {reason}");
    screen
}

/// A text with a fixed size of the store: the real one depends on the length of the scratch directory's path.
fn sized(text: &str) -> String {
    regex::Regex::new(r"[0-9.]+ [KMk]i?B").unwrap().replace_all(text, "78 KB").into_owned()
}

/// A step without the process of Claude Code: the recorded one has ended, and with it the team.
fn unled(mut step: Value) -> Value {
    step["env"].as_object_mut().unwrap().remove("CLAUDE_PID");
    let files = step["write"].as_object_mut().into_iter().flatten();
    for (_, text) in files.filter(|(path, _)| path.ends_with("/config.json")) {
        // One that was read while it was written is no JSON, and stays.
        if let Ok(Value::Object(mut config)) = serde_json::from_str(text.as_str().unwrap()) {
            config.remove("leadProcess");
            *text = Value::Object(config).to_string().into();
        }
    }
    step
}

/// When a recorded run begins: its first hook call writes the configuration with the time of the team's creation.
fn began(text: &str) -> &'static str {
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let mut files = first["write"].as_object().unwrap().iter();
    let config = files.find(|(path, _)| path.ends_with("/config.json")).unwrap().1.as_str().unwrap();
    let config: Value = serde_json::from_str(config).unwrap();
    let began = Timestamp::from_millis(config["createdAt"].as_i64().unwrap()).unwrap();
    began.to_string().leak()
}

/// The beginning of an output: this many parts that blank lines separate.
fn first_tables(text: &str, count: usize) -> String {
    let parts: Vec<&str> = text.split("\n\n").collect();
    assert!(parts.len() > count, "{text}");
    parts[..count].join("\n\n") + "\n\n\u{1b}[2m…\u{1b}[0m\n"
}

/// Writes the report's page for scripts/pictures.sh, which takes a picture of it.
fn page(sandbox: &Sandbox) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pictures");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("report.html");
    let result = sandbox.run(&["report", "--format", "html", "--force", "-o", file.to_str().unwrap()]);
    assert_eq!(result.code, Some(0), "{result:?}");
}

/// The run with the default policy: the screens while it runs and afterwards, each with its file name and title.
fn screens() -> Vec<(&'static str, &'static str, String)> {
    let text = teamkeep::demo::bundled().unwrap();
    let sandbox = Sandbox::judging();
    let (mut screens, mut blocked) = (Vec::new(), 0);
    let (mut frames, mut due) = (Vec::new(), FRAMES.iter().peekable());
    let began = began(&text);
    for line in text.lines() {
        let step = unled(serde_json::from_str(line).unwrap());
        let trace = Trace { steps: vec![step], truth: Value::Null, began };
        let (_, result) = trace.answers(&sandbox).remove(0);
        let at = time::parse(&trace.at(&trace.steps[0])).unwrap();
        sandbox.set_clock((at - time::parse(START).unwrap()).num_milliseconds() + 2_000);
        let minute = trace.steps[0]["at_ms"].as_i64().unwrap() / 60_000;
        if due.next_if(|due| **due <= minute).is_some() {
            let board = Watcher::new(recording(&sandbox, at), at).drawn(COLUMNS, ROWS).join("\n");
            frames.push(prompt("teamkeep watch") + &board + "\n");
        }
        if result.code == Some(2) && screens.is_empty() {
            blocked = trace.steps[0]["at_ms"].as_i64().unwrap() / 1_000;
            screens.push(("block", "A blocked shutdown in Claude Code", block(&result.err)));
            let status = sized(&screen(&sandbox, "teamkeep status"));
            screens.push(("status", "teamkeep status", status));
            let board = Watcher::new(recording(&sandbox, at), at).drawn(COLUMNS, ROWS).join("\n");
            screens.push(("watch", "teamkeep watch", prompt("teamkeep watch") + &board + "\n"));
        }
    }
    sandbox.finish();
    screens.push(("cast", "teamkeep watch while a team works, and a teammate stalls", frames.join("\u{0}")));
    let log = format!("teamkeep log --since +{}s", blocked - 600);
    screens.push(("log", "teamkeep log", screen(&sandbox, &log)));
    screens.push(("report", "teamkeep report", first_tables(&screen(&sandbox, "teamkeep report"), 3)));
    if std::env::var_os("TEAMKEEP_GENERATE").is_some() {
        page(&sandbox);
    }
    let config = sandbox.home().join(".config/teamkeep");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("teamkeep.toml"), MISTAKES).unwrap();
    screens.push(("config-check", "teamkeep config check", screen(&sandbox, "teamkeep config check")));
    screens
}

#[test]
fn pictures_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures");
    let screens = screens();
    assert_eq!(screens.len(), 7);
    for (name, title, ansi) in screens {
        let frames: Vec<String> = ansi.split('\u{0}').map(str::to_owned).collect();
        let svg = match name {
            "cast" => cast(&frames, title),
            // Claude Code has its own colors, for a dark terminal.
            "block" => in_themes([&DARK, &DARK], &ansi, title),
            _ => picture(&ansi, title),
        };
        let path = root.join(format!("{name}.svg"));
        if std::env::var_os("TEAMKEEP_GENERATE").is_some() {
            std::fs::create_dir_all(&root).unwrap();
            std::fs::write(&path, &svg).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == svg,
            "docs/pictures/{name}.svg is stale: TEAMKEEP_GENERATE=1 cargo test --test it pictures"
        );
    }
}
