//! The template, the schema and the check agree, and the layers are loaded and cached.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::check::{Checked, Validation, check, validate};
use super::layers::{Effective, load, load_cached, read_cache};
use super::settings::build;
#[cfg(unix)]
use super::source::Code;
use super::source::Source;
use super::{Config, Files, Origin, Setting, Settings, TEMPLATE};
use serde_json::Value as Json;
use teamkeep_system::error::Error;

/// The configuration with this organization's and this user's or project's file.
pub(super) fn loaded(organization: &str, user: &str, project: &str) -> Effective {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    load(&Files {
        organization: Some(file("organization.toml", organization)),
        user: file("teamkeep.toml", user),
        project: Some(file("project.toml", project)),
        cache: dir.path().join("policy/.understood"),
        ..Files::default()
    })
}

fn check_text(text: &str) -> Checked {
    check(&Source::new(Path::new("teamkeep.toml"), text))
}

/// The template with its examples enabled.
pub(super) fn with_examples() -> String {
    let lines = TEMPLATE.lines().map(|line| match line.strip_prefix('#') {
        Some(example) if !example.starts_with(' ') => example,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn template_examples_are_valid() {
    let source = Source::new(Path::new("default.toml"), &with_examples());
    assert_eq!(check(&source).problems, []);
    let config = Config::parse(&source.text, &source.path).unwrap();
    assert_eq!((config.rule.len(), config.policy.completion_check.check.len()), (1, 1));
    let line = source.text.lines().position(|line| line.starts_with("name = \"no-force")).unwrap() + 1;
    assert_eq!(config.rule[0].file_line, format!("default.toml:{line}"));
}

#[test]
fn privacy_pattern_needs_a_unique_name_and_a_nonempty_match() {
    let wrong = |text: &str| -> Vec<String> {
        let source = Source::new(Path::new("teamkeep.toml"), text);
        check(&source)
            .problems
            .iter()
            .map(|problem| format!("{}: {}", problem.code.name(), problem.message))
            .collect()
    };
    let pattern =
        |name: &str, regex: &str| format!("[[privacy.pattern]]\nname = \"{name}\"\nregex = \"{regex}\"\n");
    assert!(wrong(&(pattern("a", "x+") + &pattern("b", "y"))).is_empty());
    assert_eq!(wrong(&(pattern("a", "x") + &pattern("a", "y"))), ["bad-value: duplicate pattern name \"a\""]);
    for name in ["", "a b", "a]", "home"] {
        assert_eq!(wrong(&pattern(name, "x")), [format!("bad-value: invalid pattern name {name:?}")]);
    }
    assert_eq!(
        wrong(&pattern("a", "x*")),
        ["bad-regex: `privacy.pattern[0].regex`: \"x*\" matches the empty string"]
    );
    assert!(wrong(&pattern("a", "("))[0].starts_with("bad-regex: "));
    assert_eq!(
        wrong("[privacy]\nredact = [\"emails\"]\n"),
        [
            "bad-value: `privacy.redact`: invalid value \"emails\"; expected one of \"private-key\", \"api-key\", \"token\", \"secret\", \"email\", \"home\""
        ]
    );
}

#[test]
fn regular_expressions_are_compiled_only_by_a_complete_check() {
    let text = "[[privacy.pattern]]\nname = \"x\"\nregex = \"(\"\n\n[[rule]]\nname = \"x\"\naction = \"warn\"\nmatch = { \"/a\" = \"/(/\" }\n";
    let source = Source::new(Path::new("teamkeep.toml"), text);
    assert_eq!(validate(&source, Validation::WithoutRegexes).problems, []);
    let codes: Vec<&str> = check(&source).problems.iter().map(|problem| problem.code.name()).collect();
    assert_eq!(codes, ["bad-regex", "bad-regex"]);
}

#[test]
fn a_hint_names_a_mode_only_where_there_is_one() {
    let hint = |text: &str| error_of(text).hints.first().cloned();
    assert_eq!(hint("[policy]\nmax-blocks = 0\n").unwrap(), "to turn the gate off, set its mode to \"off\"");
    assert_eq!(hint("[incidents]\nping-pong = 0\n"), None);
}

fn error_of(text: &str) -> Error {
    Config::parse(text, Path::new("teamkeep.toml")).unwrap_err()
}

#[test]
fn the_template_is_the_default() {
    assert_eq!(Config::parse(TEMPLATE, Path::new("default.toml")).unwrap(), Config::default());
    assert_eq!(Config::parse("", Path::new("empty")).unwrap(), Config::default());
}

#[test]
fn error_names_position_key_and_suggestion() {
    let error = error_of("[log]\n# more\n  keep_size = \"1 GiB\"\n");
    assert_eq!(error.to_string(), "cannot use the configuration teamkeep.toml:3:3: unknown key `keep_size`");
    assert_eq!(error.hints, ["did you mean `keep-size`?"]);
    let error = error_of("[polity]\n");
    assert_eq!(error.hints, ["did you mean `policy`?"]);
    for elsewhere in ["max-blocks = 3\n", "[team-size]\n"] {
        let name = elsewhere.trim_start_matches('[').split([' ', ']']).next().unwrap();
        assert_eq!(error_of(elsewhere).hints[0], format!("did you mean `policy.{name}`?"));
    }
    let hints = error_of("[[policy.rule]]\nname = \"a\"\n").hints;
    assert_eq!(hints, ["did you mean `[[rule]]`?"]);
    for (text, what) in [
        ("rule = 3\n", "`rule`: expected tables, `[[rule]]`, found an integer"),
        ("[rule]\n", "`rule`: expected tables, `[[rule]]`, found a table"),
        ("policy = 3\n", "`policy`: expected a table, `[policy]`, found an integer"),
        ("[hook]\nslow = 3\n", "`hook.slow`: expected a duration such as \"90d\", found an integer"),
        ("[hook]\nwatch = \"yes\"\n", "`hook.watch`: expected a boolean, found a string"),
        ("[policy]\nmax-blocks = 1.5\n", "`policy.max-blocks`: expected an integer, found a float"),
        ("[policy.budget]\nmode = { block = 1 }\n", "`policy.budget.mode`: expected a string, found a table"),
        ("[policy.budget]\nmode = true\n", "`policy.budget.mode`: expected a string, found a boolean"),
        (
            "[context]\nafter = \"clear\"\n",
            "`context.after`: expected a list such as [\"a\", \"b\"], found a string",
        ),
        ("[log]\nkeep = 2026-11-01\n", "`log.keep`: expected a duration such as \"90d\", found a date"),
    ] {
        let error = error_of(text).to_string();
        assert!(error.ends_with(what), "{text}: {error}");
    }
    let error = error_of("[log]\nkeep = \"90\"\n");
    assert_eq!(
        error.to_string(),
        "cannot use the configuration teamkeep.toml:2:8: `log.keep`: invalid duration \"90\"; expected a value such as \"90d\" or \"1m30s\""
    );
    let error = error_of("[archive]\non-failure = \"explode\"\n");
    assert_eq!(
        error.to_string(),
        "cannot use the configuration teamkeep.toml:2:14: `archive.on-failure`: invalid value \"explode\"; expected one of \"warn\", \"block\""
    );
    assert!(error_of("[log]\nkeep = \n").to_string().contains("teamkeep.toml:2:"));
}

#[cfg(unix)]
#[test]
fn any_file_at_the_path_yields_a_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("teamkeep.toml");
    let load_user = |path: &Path| Config::load(&Files { user: path.to_path_buf(), ..Files::default() });
    assert!(load_user(&path).1.is_none(), "a missing file is fine");
    std::fs::write(&path, "\u{feff}[hook]\nwatch = false\n").unwrap();
    assert!(!load_user(&path).0.hook.watch);
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(!load_user(&link).0.hook.watch, "a linked file is followed");

    let at = |name: &str| dir.path().join(name);
    symlink("loop", at("loop")).unwrap();
    std::fs::create_dir(at("dir")).unwrap();
    std::fs::write(at("huge"), " ".repeat((1 << 20) + 1)).unwrap();
    std::fs::write(at("bytes"), b"\xff").unwrap();
    std::fs::write(at("syntax"), "[policy\n").unwrap();
    for (name, code, why) in [
        ("loop", Code::Unreadable, "Too many levels of symbolic links"),
        ("dir", Code::Unreadable, "dir is not a regular file"),
        ("huge", Code::TooLarge, "huge is larger than "),
        ("bytes", Code::NotUtf8, "is not valid UTF-8"),
        ("syntax", Code::Syntax, ""),
    ] {
        let user = Files { user: at(name), ..Files::default() };
        let project = Files { user: at("none"), project: Some(at(name)), ..Files::default() };
        for files in [&user, &project] {
            let effective = load(files);
            assert_eq!((&effective.config, effective.is_broken()), (&Config::default(), true), "{name}");
            let [problem] = &effective.problems[..] else { panic!("{name}: {:?}", effective.problems) };
            assert_eq!(problem.code, code, "{name}");
            let shown = problem.to_string();
            assert_eq!(problem.hint.as_deref(), (name == "bytes").then_some("save the file as UTF-8"));
            assert!(shown.starts_with(at(name).to_str().unwrap()) && shown.contains(why), "{shown}");
        }
        let error = load_user(&user.user).1.unwrap().to_string();
        assert!(error.starts_with("cannot ") && error.contains(why), "{error}");
    }
}

#[test]
fn a_byte_order_mark_and_the_line_breaks_of_windows_change_nothing() {
    let long =
        "[[rule]]\nname = \"long\"\nevents = [\"Stop\"]\naction = \"warn\"\nreason = \"\"\"one\ntwo\"\"\"\n";
    let (user, project) = (RULES.to_owned() + long, PROJECT.to_owned() + "[log]\nkeep = 3\n");
    let loaded = |change: &dyn Fn(&str) -> String| {
        let effective = loaded(&change("[hook]\nwatch = false\n"), &change(&user), &change(&project));
        let problems: Vec<_> = effective.problems.iter().map(|one| (one.code.name(), one.at)).collect();
        assert_eq!(problems.len(), 2, "{problems:?}");
        let lines =
            effective.config.rule.iter().map(|rule| rule.file_line.rsplit_once(':').unwrap().1.to_owned());
        let lines: Vec<String> = lines.collect();
        let reasons: Vec<_> = effective.config.rule.iter().map(|rule| rule.reason.clone()).collect();
        (problems, lines, reasons, effective.config.hook, effective.config.policy.max_blocks)
    };
    let plain = loaded(&str::to_owned);
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(loaded(&crlf), plain);
    assert_eq!(loaded(&|text| format!("\u{feff}{text}")), plain);
    assert_eq!(loaded(&|text| format!("\u{feff}{}", crlf(text))), plain);
}

const RULES: &str = "[hook]\nslow = \"2s\"\n[policy]\nmax-blocks = 5\n[[rule]]\nname = \"no-push\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\nmatch = { \"/tool_input/command\" = \"git push*\" }\n";

fn files(dir: &Path) -> (Files, PathBuf) {
    let project = Some(dir.join("project.toml"));
    let cache = dir.join("policy/cache.json");
    let organization = Some(dir.join("organization.toml"));
    let files = Files {
        organization,
        user: dir.join("teamkeep.toml"),
        project,
        trust: dir.join("trust.json"),
        cache,
    };
    (files.clone(), files.cache)
}

#[test]
fn valid_file_is_cached_with_equal_result() {
    let dir = tempfile::tempdir().unwrap();
    let (files, cache) = files(dir.path());
    std::fs::write(&files.user, RULES).unwrap();
    let first = load_cached(&files);
    assert!(read_cache(&cache, "another").is_none());
    let hash = format!("{} {}", blake3::hash(RULES.as_bytes()).to_hex(), files.user.display());
    assert_eq!(read_cache(&cache, &hash).unwrap(), first.config);
    assert_eq!(load_cached(&files).config, load(&files).config);
    assert!(
        first.config.rule[0].file_line.ends_with("teamkeep.toml:6"),
        "{}",
        first.config.rule[0].file_line
    );
}

#[test]
fn changed_file_project_file_and_damaged_cache_are_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let (files, cache) = files(dir.path());
    std::fs::write(&files.user, RULES).unwrap();
    load_cached(&files);
    std::fs::write(&files.user, RULES.replace("= 5", "= 6")).unwrap();
    assert_eq!(load_cached(&files).config.policy.max_blocks, 6);
    std::fs::write(files.project.as_deref().unwrap(), "[polity]\n").unwrap();
    assert!(load_cached(&files).is_broken());
    std::fs::remove_file(files.project.as_deref().unwrap()).unwrap();
    std::fs::write(&cache, "{half").unwrap();
    assert_eq!(load_cached(&files).config.policy.max_blocks, 6);
    std::fs::write(&files.user, "[polity]\n").unwrap();
    for _ in 0..2 {
        assert!(load_cached(&files).is_broken(), "reported each time");
    }
}
const PROJECT: &str = "[[rule]]\nname = \"theirs\"\naction = \"block\"\nreason = \"no\"\nmatch = { \"/tool_input/command\" = \"/(/\" }\n";

#[test]
fn hook_call_does_not_compile_project_expressions_and_keeps_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let (files, cache) = files(dir.path());
    std::fs::write(&files.user, RULES).unwrap();
    std::fs::write(files.project.as_deref().unwrap(), PROJECT).unwrap();
    let codes = |effective: &Effective| -> Vec<&str> {
        effective.problems.iter().map(|problem| problem.code.name()).collect()
    };
    for _ in 0..2 {
        let effective = load_cached(&files);
        assert_eq!(codes(&effective), ["untrusted"]);
        assert_eq!((effective.config.rule.len(), effective.config.policy.max_blocks), (1, 5));
        let hash = format!("{} {}", blake3::hash(RULES.as_bytes()).to_hex(), files.user.display());
        assert!(read_cache(&cache, &hash).is_some(), "the user's file is understood once");
    }
    assert_eq!(codes(&load(&files)), ["bad-regex"], "a command says what a call does not look at");
    let large = "# \n".repeat(22_000);
    std::fs::write(files.project.as_deref().unwrap(), large).unwrap();
    assert_eq!(codes(&load_cached(&files)), ["too-large"]);
    assert_eq!(codes(&load(&files)), ["too-large"]);
}

#[cfg(unix)]
#[test]
fn inaccessible_project_file_does_not_count_as_missing() {
    let dir = tempfile::tempdir().unwrap();
    let (mut files, _) = files(dir.path());
    std::fs::write(&files.user, RULES).unwrap();
    symlink("loop", dir.path().join("loop")).unwrap();
    files.project = Some(dir.path().join("loop/teamkeep.toml"));
    for _ in 0..2 {
        assert!(load_cached(&files).is_broken());
    }
    files.project = Some(files.user.join("teamkeep.toml"));
    assert!(!load_cached(&files).is_broken(), "below a file there is none");
}
#[cfg(unix)]
#[test]
fn broken_link_does_not_count_as_missing() {
    let dir = tempfile::tempdir().unwrap();
    let (mut files, _) = files(dir.path());
    let link = |name: &str| symlink("nowhere", dir.path().join(name)).unwrap();
    for name in ["project.toml", ".claude"] {
        link(name);
    }
    for project in ["project.toml", ".claude/teamkeep.toml"] {
        files.project = Some(dir.path().join(project));
        for user in ["", RULES] {
            std::fs::write(&files.user, user).unwrap();
            let problem = &load_cached(&files).problems[0];
            assert_eq!((problem.code.name(), problem.is_error()), ("unreadable", true), "{project}");
        }
    }
    files.project = None;
    std::fs::remove_file(&files.user).unwrap();
    link("teamkeep.toml");
    let problem = &load_cached(&files).problems[0];
    assert!(problem.message.ends_with("teamkeep.toml is a broken link"), "{}", problem.message);
    assert!(load(&files).is_broken() && Config::load(&files).1.is_some());
}

#[test]
fn each_value_outside_of_a_documented_range_is_rejected_and_each_limit_is_not() {
    let price = |value: &str| format!("[[report.price]]\nmodel = \"*\"\ninput = {value}\n");
    let limit = |key: &str| format!("[[policy.budget.limit]]\nper = \"run\"\n{key}\n");
    let part = |value: &str| limit(&format!("tokens = 1\nwarn-at = \"{value}\""));
    let check =
        |timeout: &str| format!("[[policy.completion-check.check]]\nrun = \"x\"\ntimeout = {timeout}\n");
    let name =
        |length: usize| format!("[ship]\norganization = \"{0}\"\nhost = \"{0}\"\n", "x".repeat(length));
    let expression =
        |repeats: usize| format!("[[privacy.pattern]]\nname = \"x\"\nregex = '\\w{{{repeats}}}'\n");
    let set = |table: &str, value: &str| format!("[{table}]\n{value}\n");
    for (text, is_valid) in [
        (set("policy", "max-blocks = 1"), true),
        (set("policy", "max-blocks = 0"), false),
        (set("policy", "max-blocks = 4294967295"), true),
        (set("policy", "max-blocks = 4294967296"), false),
        (set("policy", "max-blocks = -1"), false),
        (set("incidents", "ping-pong = 1"), true),
        (set("incidents", "ping-pong = 0"), false),
        (set("policy.team-size", "most = 0"), true),
        (set("policy.team-size", "most = -1"), false),
        (set("ship", "interval = \"1m\""), true),
        (set("ship", "interval = \"59s\""), false),
        (set("log", "keep = \"-1d\""), false),
        (set("log", "keep-size = \"-1 B\""), false),
        (price("0"), true),
        (price("-0.01"), false),
        (price("1000000"), true),
        (price("1000001"), false),
        (price("nan"), false),
        (limit("usd = 1000000"), true),
        (limit("usd = 1000001"), false),
        (limit("usd = 0"), false),
        (limit("tokens = 1"), true),
        (limit("tokens = 0"), false),
        (part("1%"), true),
        (part("0%"), false),
        (part("1000%"), true),
        (part("1001%"), false),
        (check("\"1ms\""), true),
        (check("\"0s\""), false),
        (name(64), true),
        (name(65), false),
        (expression(1_000), true),
        (expression(5_000), false),
    ] {
        let checked = check_text(&text);
        assert_eq!(checked.is_sound, is_valid, "{text}: {:?}", checked.problems);
    }
    for (written, counts_as) in [("1 B", 500), ("500 B", 500), ("9 KB", 9_000), ("1 GiB", 9_000)] {
        let config = loaded("", &set("context", &format!("size = \"{written}\"")), "").config;
        assert_eq!(config.context.max_bytes(), counts_as, "{written}");
    }
}

#[test]
fn tenth_rule_follows_the_second() {
    let mut settings = Settings::new();
    for place in 0..12 {
        for (key, value) in [("name", format!("r{place}")), ("action", "warn".to_owned())] {
            let setting = Setting { value: Json::from(value), origin: Origin::DEFAULT };
            settings.insert(format!("rule[{place}].{key}"), setting);
        }
    }
    let names: Vec<String> = build(&settings).unwrap().rule.into_iter().map(|rule| rule.name).collect();
    assert_eq!(names, (0..12).map(|place| format!("r{place}")).collect::<Vec<_>>());
}
