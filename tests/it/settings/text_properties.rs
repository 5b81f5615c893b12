//! Properties of the edit of a settings text, for texts of every kind.

use proptest::collection::vec;
use proptest::prelude::*;
use teamkeep_settings::document::{Document, lenient_data};
use teamkeep_settings::hook_command::{self, HookEntry};
use teamkeep_settings::needs::Needs;
use teamkeep_settings::plan;
use teamkeep_settings::program::HookProgram;
use teamkeep_settings::version::ClientVersion;

/// Writes a settings text by the choices that a row of random bytes makes.
pub struct Writer {
    choices: Vec<u8>,
    at: usize,
    newline: &'static str,
    unit: &'static str,
    comments: bool,
    depth: usize,
    out: String,
}

/// A random settings text that parses; strict JSON unless `comments`.
pub fn settings(choices: Vec<u8>, comments: bool) -> String {
    let mut writer =
        Writer { choices, at: 0, newline: "\n", unit: "  ", comments, depth: 0, out: String::new() };
    writer.newline = if writer.one_in(3) { "\r\n" } else { "\n" };
    writer.unit = ["  ", "\t", "    ", " ", ""][writer.choose(5)];
    if writer.one_in(8) {
        writer.out.push('\u{feff}');
    }
    writer.trivia();
    writer.root();
    writer.trivia();
    if writer.one_in(2) {
        writer.out.push_str(writer.newline);
    }
    writer.out
}

impl Writer {
    fn choose(&mut self, among: usize) -> usize {
        let byte = self.choices.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % among
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.choose(many) == many - 1
    }

    /// Blanks, line breaks and comments, or nothing.
    fn trivia(&mut self) {
        for _ in 0..self.choose(3) {
            match self.choose(6) {
                0 => self.line(),
                1 => self.out.push(' '),
                2 => self.out.push('\t'),
                3 if self.comments => self.out.push_str("/* \"hooks\": { */"),
                4 if self.comments => {
                    self.out.push_str("// it's, [\"so\"] }");
                    self.line();
                }
                _ => {}
            }
        }
    }

    fn line(&mut self) {
        self.out.push_str(self.newline);
        self.out.push_str(&self.unit.repeat(self.depth));
    }

    /// Items between brackets, laid out at random.
    fn items(&mut self, brackets: [char; 2], count: usize, item: &mut dyn FnMut(&mut Writer, usize)) {
        let lines = !self.one_in(3);
        self.out.push(brackets[0]);
        self.depth += 1;
        for index in 0..count {
            if lines {
                self.line();
            }
            self.trivia();
            item(self, index);
            self.trivia();
            if index + 1 < count || (self.comments && self.one_in(4)) {
                self.out.push(',');
            }
        }
        self.trivia();
        self.depth -= 1;
        if lines && (count > 0 || self.one_in(2)) {
            self.line();
        }
        self.out.push(brackets[1]);
    }

    fn key(&mut self, key: &str) {
        self.out.push_str(&format!("\"{key}\""));
        self.trivia();
        self.out.push(':');
        self.trivia();
    }

    fn root(&mut self) {
        let (count, hooks) = (self.choose(5), self.choose(3));
        self.items(['{', '}'], count, &mut |writer, index| {
            if index == hooks {
                writer.key("hooks");
                writer.hooks();
            } else {
                writer.key(["model", "env", "permissions", "ключ \\u0068 \\\"hooks\\\""][index]);
                writer.value();
            }
        });
    }

    fn hooks(&mut self) {
        const EVENTS: [&str; 6] =
            ["Stop", "PreToolUse", "SomethingElse", "SessionStart", "Notification", "X"];
        let (count, first) = (self.choose(4), self.choose(3));
        self.items(['{', '}'], count, &mut |writer, index| {
            writer.key(EVENTS[first + index]);
            let groups = writer.choose(3);
            writer.items(['[', ']'], groups, &mut |writer, _| writer.group());
        });
    }

    fn group(&mut self) {
        let matcher = self.choose(2);
        self.items(['{', '}'], matcher + 1, &mut |writer, index| {
            if index == 1 {
                writer.key("matcher");
                writer.out.push_str("\"Bash\"");
                return;
            }
            writer.key("hooks");
            let commands = writer.choose(3);
            writer.items(['[', ']'], commands, &mut |writer, _| {
                writer.items(['{', '}'], 2, &mut |writer, index| {
                    writer.key(["type", "command"][index]);
                    writer.out.push_str(["\"command\"", "\"echo teamkeep hook\""][index]);
                });
            });
        });
    }

    fn value(&mut self) {
        match self.choose(7) {
            0 => self.out.push_str("\"text, with [ and { and // and \\\\\\\" \""),
            1 => self.out.push_str("-1.50e+3"),
            2 => self.out.push_str("null"),
            3 => self.out.push_str("true"),
            4 => self.items(['[', ']'], 2, &mut |writer, _| writer.out.push('7')),
            5 => self.out.push_str("{}"),
            _ => self.items(['{', '}'], 1, &mut |writer, _| {
                writer.key("hooks");
                writer.value();
            }),
        }
    }
}

fn wanted(version: &str) -> Vec<HookEntry> {
    let program = HookProgram::named("/opt/team keep/teamkeep").unwrap();
    plan::wanted(&ClientVersion::Known(version.parse().unwrap()), &program, &[], &Needs::builtin())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn uninstall_restores_the_original_bytes(choices in vec(any::<u8>(), 0..300), comments: bool) {
        let before = settings(choices, comments);
        prop_assert!(Document::parse(before.trim_start_matches('\u{feff}')).is_ok(), "{before}");
        let wanted = wanted("2.1.332");
        let after = plan::with_hooks(before.as_bytes(), &wanted).unwrap();
        prop_assert_eq!(hook_command::ours(&lenient_data(&after)).len(), 17);
        let twice = plan::with_hooks(&after, &wanted).unwrap();
        prop_assert_eq!(text(&twice), text(&after), "twice is once");
        let back = plan::without_hooks(&after).unwrap();
        prop_assert_eq!(text(&back), &before, "out again");
        let none = plan::without_hooks(before.as_bytes()).unwrap();
        prop_assert_eq!(text(&none), &before, "nothing of ours, nothing to take");
    }

    #[test]
    fn install_preserves_every_byte_in_order(choices in vec(any::<u8>(), 0..300), comments: bool) {
        let before = settings(choices, comments);
        let after = plan::with_hooks(before.as_bytes(), &wanted("2.1.332")).unwrap();
        let mut rest = after.iter();
        prop_assert!(before.bytes().all(|byte| rest.any(|other| *other == byte)));
        let crlf = before.contains("\r\n");
        let bare = text(&after).replace("\r\n", "").contains('\n');
        prop_assert!(!crlf || !bare, "no bare line feed comes into a file that has none");
    }

    #[test]
    fn upgrade_and_fresh_install_give_the_same_result(choices in vec(any::<u8>(), 0..300), comments: bool) {
        let before = settings(choices, comments);
        let old = plan::with_hooks(before.as_bytes(), &wanted("2.1.47")).unwrap();
        let upgraded = plan::with_hooks(&old, &wanted("2.1.332")).unwrap();
        let fresh = plan::with_hooks(before.as_bytes(), &wanted("2.1.332")).unwrap();
        prop_assert_eq!(text(&upgraded), text(&fresh));
    }

    #[test]
    fn arbitrary_text_does_not_cause_a_panic(content in vec(any::<u8>(), 0..200), json in "[\\[\\]{}\",:/* \nhoks1]{0,60}") {
        for bytes in [content.as_slice(), json.as_bytes()] {
            let _ = plan::with_hooks(bytes, &wanted("2.1.332"));
            let _ = plan::without_hooks(bytes);
        }
    }
}
