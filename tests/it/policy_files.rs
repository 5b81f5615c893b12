//! Policy files: what is wrong with them, and what two of them mean together.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use teamkeep::config::check::check;
use teamkeep::config::source::Source;
use teamkeep::config::trust::{Trust, name_of};
use teamkeep::config::{Code, Config, Effective, Files, Layer, Mode, OnError, Origin, Standing, layers};
use teamkeep::payload::{JUDGED, KNOWN};
use teamkeep::response::Answer;
use tempfile::TempDir;

/// A user's file and a project with one.
struct Place {
    dir: TempDir,
    files: Files,
}

impl Place {
    fn new(user: &str, project: &str) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("project/.claude")).unwrap();
        std::fs::create_dir_all(at("keep")).unwrap();
        let files = Files {
            user: at("user.toml"),
            project: Some(at("project/.claude/teamkeep.toml")),
            trust: at("keep/trust.json"),
        };
        let place = Place { dir, files };
        if !user.is_empty() {
            std::fs::write(&place.files.user, user).unwrap();
        }
        if !project.is_empty() {
            std::fs::write(place.project(), project).unwrap();
        }
        place
    }

    fn project(&self) -> &Path {
        self.files.project.as_deref().unwrap()
    }

    fn load(&self) -> Effective {
        layers::load(&self.files)
    }

    fn trust(&self) {
        let project = self.load().project.unwrap();
        Trust::change(&self.files.trust, |files| files.insert(project.name, project.hash)).unwrap();
    }
}

fn codes(effective: &Effective) -> Vec<&'static str> {
    effective.problems.iter().map(|problem| problem.code.name()).collect()
}

/// `line:column code` of each problem of a text.
fn found(text: &str) -> Vec<String> {
    let problems = check(&Source::new(Path::new("x.toml"), text)).problems;
    let place = |at: Option<(usize, usize)>| at.map(|(line, column)| format!("{line}:{column}")).unwrap();
    problems.iter().map(|problem| format!("{} {}", place(problem.at), problem.code.name())).collect()
}

#[test]
fn all_problems_of_a_file_are_found_at_once_each_at_its_place() {
    let text = r#"top = 1
[log]
keep = "90"
keep_size = "1 GiB"
segment-size = "1 TiB"
[policy]
max-blocks = -3
on-error = "alow"
premature-shutdown = 3
[policy.team-size]
mode = true
models = ["a", "[b", 3]
[[policy.completion-check.check]]
subject = ""
timeout = "soon"
[[rule]]
name = "a"
action = "block"
events = ["PreToolUs", "SubagentStart"]
match = { "tool_input" = "x", "/a" = "/(/", "/b" = 4, "/c" = "/x{9999}/" }
[[rule]]
name = "a"
action = "deny"
[[rule]]
name = "b"
action = "warn"
events = ["stop"]
tools = ["Bash"]
"#;
    assert_eq!(
        found(text),
        [
            "1:1 unknown-key",
            "3:8 bad-duration",
            "4:1 unknown-key",
            "5:16 bad-size",
            "7:14 bad-number",
            "8:12 bad-value",
            "9:1 wrong-type",
            "11:8 wrong-type",
            "12:16 bad-glob",
            "12:22 wrong-type",
            "13:1 missing-key",
            "14:11 bad-glob",
            "15:11 bad-duration",
            "18:10 missing-reason",
            "19:11 unknown-event",
            "19:24 never-matches",
            "20:11 bad-pointer",
            "20:38 bad-regex",
            "20:52 wrong-type",
            "20:62 large-regex",
            "22:8 duplicate-rule",
            "23:10 bad-value",
            "28:9 never-matches",
        ]
    );
}

#[test]
fn a_syntax_error_stands_alone_and_a_double_key_does_not() {
    assert_eq!(found("a = \n[policy\nx = 1\n"), ["1:5 syntax", "2:8 syntax"]);
    assert_eq!(
        found("[log]\nkeep = \"1d\"\nkeep = \"2d\"\n[hook]\nslow = 3\n"),
        ["3:1 duplicate-key", "5:8 wrong-type"]
    );
    assert_eq!(found("\u{feff}[log]\nü = 1\n"), ["2:1 unknown-key"].map(|_| "2:1 syntax"));
}

#[test]
fn a_gate_that_may_never_block_is_an_error() {
    for zero in ["0", "0x0", "+0"] {
        assert_eq!(found(&format!("[policy]\nmax-blocks = {zero}\n")), ["2:14 bad-value"], "{zero}");
    }
    assert_eq!(found("[policy]\nmax-blocks = 1\n[policy.team-size]\nmost = 0\n"), [""; 0]);
}

#[test]
fn a_quoted_name_with_dots_is_no_path() {
    for text in ["\"policy.on-error\" = \"block\"", "\"rule[]\" = 1", "[\"log.keep\"]", "\"\" = 1"] {
        assert_eq!(
            found(text),
            [format!("1:{} unknown-key", if text.starts_with('[') { 2 } else { 1 })],
            "{text}"
        );
    }
}

#[test]
fn a_flood_of_problems_is_cut() {
    assert_eq!(found(&"[[rule]]\n".repeat(50_000)).len(), 100);
    let line = format!("rule = [{}]", "{},".repeat(50_000));
    assert_eq!(found(&line).len(), 100);
}

#[test]
fn a_bad_file_is_one_clear_problem_and_the_defaults_stand() {
    let place = Place::new("", "");
    let at = |name: &str| place.dir.path().join(name);
    symlink(at("loop"), at("loop")).unwrap();
    std::fs::create_dir(at("dir")).unwrap();
    std::fs::write(at("huge"), "#".repeat((1 << 20) + 1)).unwrap();
    std::fs::write(at("bytes"), b"\xff").unwrap();
    std::fs::write(at("syntax"), "[policy\n").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RWXU).unwrap();
    for (name, code) in [
        ("loop", Code::Unreadable),
        ("dir", Code::Unreadable),
        ("pipe", Code::Unreadable),
        ("huge", Code::TooLarge),
        ("bytes", Code::NotUtf8),
        ("syntax", Code::Syntax),
    ] {
        for user in [true, false] {
            let mut files = place.files.clone();
            if user {
                files.user = at(name)
            } else {
                files.project = Some(at(name))
            }
            let effective = layers::load(&files);
            assert_eq!(effective.config, Config::default(), "{name}");
            assert_eq!(effective.problems.len(), 1, "{name}: {:?}", effective.problems);
            let problem = &effective.problems[0];
            assert_eq!(problem.code, code, "{name}");
            assert!(problem.to_string().starts_with(&at(name).display().to_string()), "{problem}");
            assert!(effective.is_broken());
        }
    }
}

#[test]
fn a_file_that_may_not_be_read_is_a_problem_and_a_missing_one_is_none() {
    let place = Place::new("[hook]\nwatch = false\n", "");
    assert!(!place.load().config.hook.watch && place.load().problems.is_empty());
    std::fs::set_permissions(&place.files.user, std::fs::Permissions::from_mode(0o000)).unwrap();
    // To root every file is open.
    if std::fs::read(&place.files.user).is_err() {
        assert_eq!(codes(&place.load()), ["unreadable"]);
    }
    std::fs::remove_file(&place.files.user).unwrap();
    std::fs::remove_dir_all(place.dir.path().join("project")).unwrap();
    std::fs::write(place.dir.path().join("project"), "a file").unwrap();
    let effective = place.load();
    assert!(effective.problems.is_empty() && effective.settings.is_empty(), "{:?}", effective.problems);
}

#[test]
fn a_broken_file_of_the_user_still_says_what_happens_when_the_policy_fails() {
    let place = Place::new("[policy]\non-error = \"block\"\nmax-blocks = \"x\"\n[log]\nkeep = \"1d\"\n", "");
    let effective = place.load();
    assert_eq!(codes(&effective), ["wrong-type"]);
    assert_eq!(effective.config.policy.on_error, OnError::Block);
    assert_eq!(effective.config.log, Config::default().log);
    let place = Place::new("[policy]\non-error = \"block\"\n[log]\nkeep = \n", "");
    assert_eq!(place.load().config.policy.on_error, OnError::Block);
}

#[test]
fn a_project_can_tighten() {
    let place = Place::new(
        "[policy.premature-shutdown]\nexempt = [\"bob\", \"eve\"]\n[policy.team-size]\nmost = 5\nmodels = [\"claude-*\"]\n",
        r#"[policy]
on-error = "block"
[policy.premature-shutdown]
pending = true
exempt = ["eve"]
without-tasks = "block"
[policy.idle-with-work]
mode = "block"
[policy.team-size]
most = 3
mode = "warn"
agent-types = ["Explore"]
models = ["claude-opus-4"]
"#,
    );
    let effective = place.load();
    assert_eq!(effective.problems, []);
    let policy = &effective.config.policy;
    assert_eq!(policy.on_error, OnError::Block);
    assert!(policy.premature_shutdown.pending);
    assert_eq!(policy.premature_shutdown.exempt, ["eve"]);
    assert_eq!(policy.premature_shutdown.without_tasks, Mode::Block);
    assert_eq!(policy.idle_with_work.mode, Mode::Block);
    assert_eq!((policy.team_size.most, policy.team_size.mode), (3, Mode::Warn));
    assert_eq!(policy.team_size.agent_types, ["Explore"]);
    assert_eq!(policy.team_size.models, ["claude-opus-4"]);
    let origin = effective.origin("policy.idle-with-work.mode");
    assert_eq!((origin.layer, origin.line), (Layer::Project, Some(8)));
    assert_eq!(effective.origin("policy.max-blocks"), &Origin::DEFAULT);
}

#[test]
fn a_project_cannot_loosen_and_the_rest_of_its_file_stands() {
    let user = r#"[policy]
on-error = "block"
[policy.premature-shutdown]
pending = true
exempt = ["bob"]
[policy.team-size]
mode = "block"
most = 5
agent-types = ["Explore"]
models = ["claude-*"]
[policy.idle-with-work]
mode = "block"
"#;
    let project = r#"[log]
keep = "1d"
[policy]
on-error = "allow"
max-blocks = 1
[policy.premature-shutdown]
mode = "warn"
pending = false
exempt = ["bob", "eve"]
[policy.team-size]
mode = "off"
most = 0
agent-types = []
models = ["*", "gpt", "claude-a*", "claude-b"]
[policy.idle-with-work]
mode = "warn"
waiting-key = "x"
[policy.lead-stops-early]
mode = "block"
"#;
    let (alone, both) = (Place::new(user, "").load(), Place::new(user, project).load());
    let mut expected = alone.config.clone();
    expected.policy.lead_stops_early.mode = Mode::Block;
    expected.policy.team_size.models = vec!["claude-b".to_owned()];
    assert_eq!(both.config, expected);
    assert_eq!(
        codes(&both),
        [
            "not-in-project",
            "would-loosen",
            "not-in-project",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "not-in-project",
        ]
    );
    assert!(!both.is_broken());
}

#[test]
fn a_list_of_what_is_allowed_of_which_nothing_is_left_does_not_allow_everything() {
    let user = "[policy.team-size]\nmodels = [\"claude-*\"]\n";
    for project in ["[]", "[\"gpt\"]", "[\"*\"]"] {
        let place = Place::new(user, &format!("[policy.team-size]\nmodels = {project}\n"));
        let effective = place.load();
        assert_eq!(effective.config.policy.team_size.models, ["claude-*"], "{project}");
        assert_eq!(codes(&effective), ["would-loosen"]);
    }
}

const RUNS: &str = r#"[[policy.completion-check.check]]
run = "make check"
[[rule]]
name = "theirs"
action = "block"
reason = "no"
"#;

#[test]
fn what_a_project_wants_to_run_waits_for_trust_and_again_when_the_file_changes() {
    let user = r#"[[policy.completion-check.check]]
run = "true"
[[rule]]
name = "mine"
action = "warn"
"#;
    let place = Place::new(user, RUNS);
    let count = |effective: &Effective| {
        (effective.config.policy.completion_check.check.len(), effective.config.rule.len())
    };
    let before = place.load();
    assert_eq!((count(&before), codes(&before)), ((1, 1), vec!["untrusted"]));
    assert_eq!(before.project.as_ref().unwrap().standing, Standing::Untrusted);
    assert_eq!(before.project.as_ref().unwrap().rules[0].name, "theirs");

    place.trust();
    let trusted = place.load();
    assert_eq!((count(&trusted), codes(&trusted)), ((2, 2), vec![]));
    let rules: Vec<&str> = trusted.config.rule.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(rules, ["mine", "theirs"]);
    assert_eq!(trusted.config.rule[1].place, format!("{}:4", place.project().display()));
    assert_eq!(trusted.config.policy.completion_check.check[1].run, "make check");
    let mode = std::fs::metadata(&place.files.trust).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);

    std::fs::write(place.project(), format!("{RUNS}\n")).unwrap();
    let changed = place.load();
    assert_eq!((count(&changed), codes(&changed)), ((1, 1), vec!["untrusted"]));
    assert_eq!(changed.project.unwrap().standing, Standing::Changed);
}

#[test]
fn trust_in_one_project_is_none_in_a_copy_of_it() {
    let (place, copy) = (Place::new("", RUNS), Place::new("", RUNS));
    place.trust();
    let mut files = copy.files.clone();
    files.trust.clone_from(&place.files.trust);
    assert_eq!(layers::load(&files).project.unwrap().standing, Standing::Untrusted);
    let link = place.dir.path().join("link");
    symlink(place.dir.path().join("project"), &link).unwrap();
    files.project = Some(link.join(".claude/teamkeep.toml"));
    assert_eq!(layers::load(&files).project.unwrap().standing, Standing::Trusted, "another way to it");
}

#[test]
fn a_trust_store_that_is_not_ours_alone_trusts_nothing() {
    let place = Place::new("", RUNS);
    place.trust();
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(&place.files.trust, open).unwrap();
    assert_eq!(codes(&place.load()), ["bad-trust", "untrusted"]);
    for broken in ["", "[]", "{\"v\": 2, \"files\": {}}", "\u{0}"] {
        std::fs::remove_file(&place.files.trust).unwrap();
        std::fs::write(&place.files.trust, broken).unwrap();
        assert_eq!(codes(&place.load()), ["bad-trust", "untrusted"], "{broken:?}");
        assert!(Trust::change(&place.files.trust, |_| ()).is_err(), "it is not written over");
    }
    assert_eq!(place.load().config.rule, []);
}

#[test]
fn a_project_s_rule_cannot_take_the_place_of_the_user_s() {
    let user = "[[rule]]\nname = \"theirs\"\naction = \"warn\"\n";
    let place = Place::new(user, RUNS);
    place.trust();
    let effective = place.load();
    assert_eq!(codes(&effective), ["rule-name-taken"]);
    assert_eq!(effective.config.rule.len(), 1);
    assert_eq!(effective.config.rule[0].action, Mode::Warn);
}

#[test]
fn the_user_s_file_is_no_project_s_file_even_where_it_stands_in_one() {
    let mut place = Place::new("", "[log]\nkeep = \"1d\"\n[policy.protect-lead]\nmode = \"off\"\n");
    place.files.user = place.project().to_path_buf();
    let effective = place.load();
    assert_eq!(effective.problems, []);
    assert_eq!(effective.config.policy.protect_lead.mode, Mode::Off);
}

#[test]
fn a_broken_file_of_a_project_is_left_out_whole() {
    let place = Place::new("", "[policy]\non-error = \"block\"\nnonsense = 1\n");
    let effective = place.load();
    assert_eq!((effective.config, effective.problems.len()), (Config::default(), 1));
}

#[test]
fn a_file_outside_any_project_is_named_as_it_is() {
    assert_eq!(
        name_of(Path::new("/nowhere/.claude/teamkeep.toml")),
        Path::new("/nowhere/.claude/teamkeep.toml")
    );
}

#[test]
fn the_events_that_a_rule_may_name_are_those_that_can_be_held_back() {
    for (kind, name, _) in KNOWN {
        assert_eq!(JUDGED.contains(kind), Answer::block(*kind, "no").exit == 2, "{name}");
    }
}

/// Something like a policy file.
fn like_a_policy() -> impl Strategy<Value = String> {
    let table = prop::sample::select(vec![
        "[policy]",
        "[policy.team-size]",
        "[[rule]]",
        "[[policy.completion-check.check]]",
        "[policy.rule]",
        "[log]",
        "[policy.premature-shutdown]",
    ]);
    let name = prop::sample::select(vec![
        "mode",
        "max-blocks",
        "on-error",
        "most",
        "models",
        "exempt",
        "pending",
        "name",
        "action",
        "reason",
        "events",
        "tools",
        "match",
        "run",
        "timeout",
        "subject",
        "keep",
        "check",
    ]);
    let value = prop::sample::select(vec![
        "\"block\"",
        "\"warn\"",
        "\"off\"",
        "3",
        "0",
        "-1",
        "4294967296",
        "0x10",
        "1_000",
        "true",
        "1.5",
        "[]",
        "[\"a*\"]",
        "[1]",
        "\"2m\"",
        "\"\"",
        "{}",
        "{ \"/a\" = \"/b+/\" }",
        "{ \"/a\" = 1 }",
        "[\"Stop\"]",
        "1979-05-27",
        "[{}]",
        "{ mode = \"off\" }",
    ]);
    let line = prop_oneof![
        2 => table.prop_map(str::to_owned),
        5 => (name, value).prop_map(|(name, value)| format!("{name} = {value}")),
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_passes_the_check_can_be_built_and_what_does_not_is_refused(text in like_a_policy()) {
        let sound = check(&Source::new(Path::new("x"), &text)).is_sound();
        prop_assert_eq!(sound, Config::parse(&text, Path::new("x")).is_ok(), "{}", text);
    }

    #[test]
    fn nothing_in_a_file_makes_the_check_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = check(&Source::new(Path::new("x"), &text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_project_never_loosens(user in like_a_policy(), project in like_a_policy()) {
        let (alone, both) = (Place::new(&user, "").load(), Place::new(&user, &project).load());
        let (before, after) = (&alone.config.policy, &both.config.policy);
        prop_assert!(after.on_error >= before.on_error && after.max_blocks == before.max_blocks);
        let (was, is) = (&before.premature_shutdown, &after.premature_shutdown);
        prop_assert!(is.mode >= was.mode && is.pending >= was.pending && is.open_turn >= was.open_turn);
        prop_assert!(is.exempt.iter().all(|name| was.exempt.contains(name)));
        let (was, is) = (&before.team_size, &after.team_size);
        prop_assert!(is.mode >= was.mode && is.most.wrapping_sub(1) <= was.most.wrapping_sub(1));
        prop_assert!(was.models.is_empty() || !is.models.is_empty());
        prop_assert_eq!(&before.completion_check.check, &after.completion_check.check);
        prop_assert_eq!(&alone.config.rule, &both.config.rule);
        prop_assert_eq!(&alone.config.log, &both.config.log);
    }
}

#[test]
fn a_problem_is_spelled_in_json_with_its_code() {
    let problems = check(&Source::new(Path::new("x"), "a = 1")).problems;
    let json: Value = serde_json::to_value(&problems[0]).unwrap();
    assert_eq!((json["code"].as_str(), json["at"][0].as_u64()), (Some("unknown-key"), Some(1)));
}

#[test]
fn only_the_user_s_own_rule_on_a_tool_lasts() {
    let rule = |name: &str, more: &str| {
        format!("[[rule]]\nname = \"{name}\"\naction = \"block\"\nreason = \"no\"\nlasting = true\n{more}")
    };
    let place = Place::new(&rule("user", ""), &rule("project", ""));
    assert_eq!(codes(&place.load()), ["not-in-project", "untrusted"]);
    place.trust();
    let effective = place.load();
    assert_eq!(codes(&effective), ["not-in-project"]);
    let lasting: Vec<_> = effective.config.rule.iter().map(|rule| (&*rule.name, rule.lasting)).collect();
    assert_eq!(lasting, [("user", true), ("project", false)]);
    assert_eq!(found(&rule("a", "events = [\"Stop\"]\n")), ["5:11 useless-key"]);
    assert_eq!(found(&rule("a", "events = [\"Stop\", \"PreToolUse\"]\n")), [] as [&str; 0]);
    let warns = rule("a", "").replace("\"block\"", "\"warn\"");
    assert_eq!(found(&warns), ["5:11 useless-key"]);
}
