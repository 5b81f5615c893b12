//! `teamkeep doctor` on hooks and the program that they run.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::doctor::checks::{TEAMS, examined, of, one, well};
use crate::support::install_home::{Home, result};
use crate::support::programs::write_program;

/// Writes a program of this name that does this.
fn program(home: &Home, path: &str, script: &str) {
    std::fs::create_dir_all(home.at(path).parent().unwrap()).unwrap();
    write_program(&home.at(path), format!("#!/bin/sh\n{script}\n"));
}

#[test]
fn doctor_reports_disabled_hooks() {
    let home = well();
    home.write(&home.read().replacen('{', "{\n  \"disableAllHooks\": true,", 1));
    assert_snapshot!(one(&home, "hooks-enabled"), @"bad: no hook runs: `disableAllHooks` is true in ~/.claude/settings.json => remove `disableAllHooks` from ~/.claude/settings.json");
    let before = home.read();
    home.run("doctor --fix");
    assert_eq!(home.read(), before, "it is not ours");
}

#[test]
fn doctor_compares_the_hooks_with_those_that_install_writes_and_fixes_them() {
    let home = well();
    let installed = home.read();
    for (from, to, difference) in [
        ("|ExitWorktree", "", "different: PreToolUse"),
        ("\"timeout\": 30", "\"timeout\": 1", "different: SessionEnd"),
        ("\"TeammateIdle\"", "\"ConfigChange\"", "missing: TeammateIdle; different: ConfigChange"),
    ] {
        home.write(&installed.replacen(from, to, 1));
        let told = one(&home, "hooks-complete");
        let wanted = format!(
            "warn: the hooks in ~/.claude/settings.json are not those that `install` writes ({difference}) => teamkeep install"
        );
        assert_eq!(told, wanted);
        home.ok("doctor --fix");
        assert_eq!(home.read(), installed, "{difference}");
    }
}

#[test]
fn doctor_reports_two_different_hooks_for_one_event_but_not_duplicates() {
    let home = well();
    std::fs::create_dir_all(home.at("project/.claude")).unwrap();
    let run = |line: &str| {
        let mut command = home.command(line);
        result(home.dir.path(), command.env("CLAUDE_PROJECT_DIR", home.at("project")))
    };
    assert_eq!(run("install --scope local").code, Some(0));
    let told = run("doctor --verbose");
    assert!(told.out.contains("ok      hooks-twice "), "{}", told.out);
    assert!(
        told.out.contains("17 hooks in ~/project/.claude/settings.local.json; 17 hooks in ~/.claude"),
        "{}",
        told.out
    );
    assert_eq!(run("install --scope local --command teamkeep").code, Some(0));
    let told = run("doctor");
    assert_eq!(told.code, Some(1));
    let lines: Vec<&str> = told.out.lines().filter(|line| line.contains(" hooks-twice: ")).collect();
    assert_snapshot!(lines.join("\n"), @"
    error: hooks-twice: teamkeep is called twice at FileChanged and 16 more: ~/bin/teamkeep-hook, teamkeep (in ~/project/.claude/settings.local.json, ~/.claude/settings.json)
    ");
    assert!(told.out.contains("  hint: teamkeep uninstall\n"), "{}", told.out);
    assert_eq!(run("uninstall").code, Some(0));
    assert_eq!(run("doctor").code, Some(0));
}

#[test]
fn doctor_reports_plugin_with_settings_and_accepts_plugin_only() {
    let plugin = TEAMS.replacen('{', "{\n  \"enabledPlugins\": {\"teamkeep@somewhere\": true},", 1);
    let home = Home::with(&plugin);
    assert_eq!(one(&home, "hooks-installed"), "ok: the plugin teamkeep@somewhere");
    assert_eq!(examined(&home, "doctor --fix --json")["fixed"], serde_json::json!([]));
    assert_eq!(home.read(), plugin, "no hooks are missing");
    home.ok("install");
    assert_snapshot!(one(&home, "hooks-twice"), @"ok: the plugin teamkeep@somewhere and the hooks in the settings both run, and record each event once");
    home.write(&home.read().replace("\"teamkeep@somewhere\": true", "\"teamkeep@somewhere\": false"));
    assert!(one(&home, "hooks-twice").starts_with("ok: "));
}

/// A home with the plugin, and the program on no search path; `enabled` stands in the client's settings.
fn with_plugin() -> Home {
    let home =
        Home::with(&TEAMS.replacen('{', "{\n  \"enabledPlugins\": {\"teamkeep@somewhere\": true},", 1));
    std::fs::create_dir_all(home.at("elsewhere")).unwrap();
    for program in ["teamkeep", "teamkeep-hook"] {
        std::fs::rename(home.at("bin").join(program), home.at("elsewhere").join(program)).unwrap();
    }
    home
}

/// What `doctor` of the program elsewhere says of some checks, and its exit code.
fn elsewhere(home: &Home, codes: &[&str]) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(home.at("elsewhere/teamkeep"));
    command.args(["doctor", "--verbose"]).env_clear().current_dir(home.dir.path());
    let result = result(home.dir.path(), command.env("HOME", home.dir.path()).env("PATH", home.at("bin")));
    let is_of = |line: &str| {
        codes.iter().any(|code| {
            line.split_whitespace().nth(1).is_some_and(|word| word.trim_end_matches(':') == *code)
        })
    };
    let mut is_shown = false;
    let lines = result.out.lines().filter(|line| {
        // A hint belongs to the line above it.
        is_shown = is_of(line) || (is_shown && line.starts_with("  hint:"));
        is_shown
    });
    let lines: Vec<String> = lines.map(without_numbers).collect();
    (result.code, lines.join("\n"))
}

/// A line without its number of milliseconds.
fn without_numbers(line: &str) -> String {
    line.split_once(" in ")
        .filter(|(_, rest)| rest.ends_with(" ms"))
        .map_or(line, |(line, _)| line)
        .to_owned()
}

#[test]
fn doctor_reports_a_plugin_without_binary_and_how_to_build_it() {
    let home = with_plugin();
    let (code, told) = elsewhere(&home, &["hook-command", "hook-answer"]);
    assert_eq!(code, Some(1));
    assert_snapshot!(told, @"
    error: hook-command: the plugin teamkeep@somewhere finds no teamkeep program and records nothing (searched: its bin directory, PATH, ~/.local/bin)
      hint: ./install.sh --no-hooks  # in a clone of the plugin's repository
    skipped hook-answer      no program to test
    ");
    // The client notes where it has its plugins from.
    std::fs::create_dir_all(home.at(".claude/plugins")).unwrap();
    std::fs::create_dir_all(home.at("my clone")).unwrap();
    std::fs::write(home.at("my clone/install.sh"), "").unwrap();
    let note = serde_json::json!({"somewhere": {"installLocation": home.at("my clone")}});
    std::fs::write(home.at(".claude/plugins/known_marketplaces.json"), note.to_string()).unwrap();
    assert_snapshot!(elsewhere(&home, &["hook-command"]).1, @"
    error: hook-command: the plugin teamkeep@somewhere finds no teamkeep program and records nothing (searched: its bin directory, PATH, ~/.local/bin)
      hint: '~/my clone/install.sh' --no-hooks
    ");
}

#[test]
fn doctor_runs_the_plugin_binary_that_the_script_finds() {
    for place in [".claude/plugins/cache/somewhere/teamkeep/0.1.0/bin", "clone/plugin/bin", ".local/bin"] {
        let home = with_plugin();
        std::fs::create_dir_all(home.at(place)).unwrap();
        symlink(env!("CARGO_BIN_EXE_teamkeep"), home.at(place).join("teamkeep")).unwrap();
        std::fs::create_dir_all(home.at(".claude/plugins")).unwrap();
        let copy = home.at(".claude/plugins/cache/somewhere/teamkeep/0.1.0");
        let installed = serde_json::json!({"plugins": {"teamkeep@somewhere": [{"installPath": copy}]}});
        let known = serde_json::json!({"somewhere": {"installLocation": home.at("clone")}});
        for (name, note) in [("installed_plugins.json", installed), ("known_marketplaces.json", known)] {
            std::fs::write(home.at(".claude/plugins").join(name), note.to_string()).unwrap();
        }
        let (code, told) = elsewhere(&home, &["hook-command", "hook-answer"]);
        assert_eq!(
            told,
            format!(
                "ok      hook-command     the plugin teamkeep@somewhere runs ~/{place}/teamkeep\n\
                 ok      hook-answer      ~/{place}/teamkeep recorded and answered a test hook call"
            )
        );
        assert_eq!(code, Some(0));
    }
}

#[test]
fn doctor_does_not_run_a_binary_from_a_plugin_repository() {
    let home = with_plugin();
    program(&home, "clone/bin/teamkeep", "touch $0.ran");
    std::fs::create_dir_all(home.at(".claude/plugins")).unwrap();
    let known = serde_json::json!({"somewhere": {"installLocation": home.at("clone")}});
    std::fs::write(home.at(".claude/plugins/known_marketplaces.json"), known.to_string()).unwrap();
    assert_snapshot!(elsewhere(&home, &["hook-answer"]).1, @"skipped hook-answer      not tested: ~/clone/bin/teamkeep is outside Claude Code's copy of the plugin");
    assert!(!home.at("clone/bin/teamkeep.ran").exists());
}

#[test]
fn hints_are_valid_commands_for_any_program_name_and_path() {
    let home = Home::with(TEAMS);
    std::fs::create_dir_all(home.at("my tools")).unwrap();
    std::fs::rename(home.at("bin/teamkeep"), home.at("bin/none")).unwrap();
    symlink(env!("CARGO_BIN_EXE_teamkeep"), home.at("my tools/tk")).unwrap();
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new(words[0]);
        command.args(&words[1..]).env_clear().env("HOME", home.dir.path());
        result(home.dir.path(), command.env("PATH", format!("{}:/usr/bin:/bin", home.at("bin").display())))
    };
    let doctor = run(&[home.at("my tools/tk").to_str().unwrap(), "doctor"]);
    let hint = |code: &str| {
        let is_of = |line: &&str| line.contains(&format!(": {code}: "));
        let line = doctor.out.lines().skip_while(|line| !is_of(line)).nth(1).unwrap();
        line.strip_prefix("  hint: ").unwrap().to_owned()
    };
    assert_snapshot!(hint("search-path"), @"export PATH='~/my tools':$PATH  # to keep it, add this line to your shell profile");
    assert_snapshot!(hint("hooks-installed"), @"ln -s '~/my tools/tk' '~/my tools/teamkeep' && '~/my tools/teamkeep' install");
    let typed = hint("hooks-installed").replace('~', home.dir.path().to_str().unwrap());
    assert_eq!(run(&["/bin/sh", "-c", &typed]).code, Some(0));
    assert!(home.read().contains("my tools/teamkeep"), "{}", home.read());
    let doctor = run(&[home.at("my tools/tk").to_str().unwrap(), "doctor", "-v"]);
    assert!(
        doctor.out.contains("ok      hook-command     the hooks run ~/my tools/teamkeep\n"),
        "{}",
        doctor.out
    );
}

#[test]
fn doctor_reports_and_fixes_a_missing_program() {
    let home = Home::with(TEAMS);
    home.ok("install --command gone/teamkeep");
    let lines = [one(&home, "hook-command"), one(&home, "hook-answer"), one(&home, "search-path")];
    assert_snapshot!(lines.join("\n"), @"
    bad: hooks fail: ~/gone/teamkeep does not exist => teamkeep install
    unknown: no program to test
    ok: `teamkeep` is ~/bin/teamkeep
    ");
    let result = home.ok("doctor --fix --verbose");
    assert!(result.err.starts_with("replaced 17 hooks in ~/.claude/settings.json\n"), "{}", result.err);
    assert!(result.out.contains("the hooks run ~/bin/teamkeep-hook\n"), "{}", result.out);
}

#[test]
fn bare_program_name_fails_if_it_is_not_on_path() {
    let home = Home::with(TEAMS);
    home.ok("install --command teamkeep");
    std::fs::create_dir(home.at("other")).unwrap();
    symlink(home.at("bin/claude"), home.at("other/claude")).unwrap();
    std::fs::copy(home.at("bin/claude.says"), home.at("other/claude.says")).unwrap();
    let result = result(home.dir.path(), home.command("doctor").env("PATH", home.at("other")));
    assert_eq!(result.code, Some(1));
    let lines =
        result.out.lines().filter(|line| line.contains(" hook-command: ") || line.contains(" search-path: "));
    let lines: Vec<&str> = lines.collect();
    assert_snapshot!(lines.join("\n"), @"
    error: hook-command: hooks fail: they run `teamkeep`, which is not in PATH
    warning: search-path: `teamkeep` is not in PATH
    ");
}

#[test]
fn doctor_reports_how_a_program_fails() {
    for (script, why) in [
        ("exit 3", "ended a test hook call with exit code 3"),
        ("exit 2", "ended a test hook call with exit code 2"),
        ("echo hello", "printed output that is not a JSON object"),
        ("exit 0", "answered a test hook call, but recorded nothing"),
        ("sleep 60", "did not respond within 5 seconds"),
    ] {
        let home = Home::with(TEAMS);
        program(
            &home,
            "bad/teamkeep",
            &format!("[ \"$1\" = --version ] && exec echo teamkeep 9.9.9\nPATH=/usr/bin:/bin\n{script}"),
        );
        home.ok("install --command bad/teamkeep");
        let found = of(&home, "hook-answer");
        assert_eq!((found[0].0.as_str(), found.len()), ("bad", 1));
        assert_eq!(found[0].1, format!("~/bad/teamkeep {why}"));
    }
}

#[test]
fn doctor_reports_two_versions_with_their_numbers() {
    let home = Home::with(TEAMS);
    program(&home, "old/teamkeep", "echo teamkeep 0.0.9");
    home.ok("install --command old/teamkeep");
    let own = env!("CARGO_PKG_VERSION");
    let told = one(&home, "versions");
    assert!(told.starts_with("warn: two versions: "), "{told}");
    assert!(told.contains(&format!(" is {own}, ~/old/teamkeep is 0.0.9 => keep only the newest")), "{told}");
}

#[test]
fn doctor_does_not_run_programs_named_only_by_a_project() {
    let home = well();
    let project = home.at("project");
    program(&home, "project/teamkeep-hook", "echo run >> \"${0%/*}/was-run\"");
    std::fs::create_dir_all(project.join(".claude")).unwrap();
    let settings = home.read().replace(
        home.at("bin/teamkeep-hook").to_str().unwrap(),
        project.join("teamkeep-hook").to_str().unwrap(),
    );
    std::fs::write(project.join(".claude/settings.json"), settings).unwrap();
    let doctor = |line: &str| {
        let mut command = home.command(line);
        result(home.dir.path(), command.env("CLAUDE_PROJECT_DIR", &project))
    };
    doctor("doctor --fix -v");
    assert!(!project.join("was-run").exists());
    home.ok("uninstall");
    let result = doctor("doctor -v");
    assert!(
        result.out.contains("skipped hook-answer      not tested: ~/project/teamkeep-hook is named only in this project's settings"),
        "{}",
        result.out
    );
    assert!(!project.join("was-run").exists());
}

#[test]
fn doctor_checks_the_program_and_counts_custom_hooks_by_name() {
    let home = well();
    let own =
        "\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"teamkeep-hook stop; ./mine\"}]}, ";
    home.write(&home.read().replacen("\"Stop\": [", own, 1));
    assert_eq!(of(&home, "hook-command").len(), 1);
    assert_eq!(of(&home, "hook-answer").len(), 1);
    let installed = one(&home, "hooks-installed");
    assert_eq!(installed, "ok: 17 hooks and 1 custom hook in ~/.claude/settings.json");
}
