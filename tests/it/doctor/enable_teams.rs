//! `teamkeep doctor --fix`, which enables agent teams if the user confirms it.

use std::io::Write;

use insta::assert_snapshot;

use crate::doctor::checks::{TEAMS, one};
use crate::support::install_home::Home;
#[cfg(unix)]
use crate::support::terminal::Terminal;

fn without_teams() -> Home {
    let home = Home::with("{}\n");
    home.ok("install");
    home
}

#[test]
fn fix_enables_agent_teams_only_if_confirmed() {
    let home = without_teams();
    let before = home.read();
    assert_snapshot!(one(&home, "agent-teams"), @"warn: agent teams are off: CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS is not set => teamkeep install --enable-teams");
    home.run("doctor --fix");
    assert_eq!(home.read(), before);
    assert_snapshot!(home.run("doctor --fix --yes").err, @"
    set CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS and CLAUDE_CODE_ENABLE_TODO_TOOLS to 1 in ~/.claude/settings.json
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: teamkeep uninstall
    ");
    assert!(one(&home, "agent-teams").starts_with("ok: ") && one(&home, "task-tools").starts_with("ok: "));
    home.ok("uninstall");
    assert_eq!(home.read(), "{}\n");
    assert_eq!(home.run("doctor --yes").code, Some(64));
}

#[cfg(unix)]
#[test]
fn fix_asks_on_a_terminal() {
    for (answer, is_enabled) in [("y\n", true), ("n\n", false), ("\n", false)] {
        let home = without_teams();
        let mut terminal = Terminal::of(home.command("doctor --fix"));
        terminal.master.write_all(answer.as_bytes()).unwrap();
        let err = terminal.end().err;
        assert!(err.contains("enable agent teams in ") && err.contains("? [y/N] "), "{err}");
        assert_eq!(home.read().contains("AGENT_TEAMS"), is_enabled, "{answer:?}: {err}");
    }
}

#[test]
fn a_file_that_disables_agent_teams_is_named_and_unchanged() {
    let home = Home::with(&TEAMS.replace("\"1\"", "\"0\""));
    home.ok("install");
    let before = home.read();
    assert_snapshot!(one(&home, "agent-teams"), @r#"warn: agent teams are off: CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS is "0" in ~/.claude/settings.json => set "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1" under "env" in ~/.claude/settings.json"#);
    home.run("doctor --fix --yes");
    assert_eq!(home.read(), before);
}

#[test]
fn hooks_elsewhere_get_no_others_beside_them() {
    let home = Home::with("{}\n");
    std::fs::create_dir_all(home.at("project/.claude")).unwrap();
    let run = |line: &str| {
        let mut command = home.command(line);
        command.env("CLAUDE_PROJECT_DIR", home.at("project")).output().unwrap()
    };
    run("install --scope project");
    let out = String::from_utf8(run("doctor").stdout).unwrap();
    assert!(out.contains("hint: teamkeep doctor --fix --yes\n"), "{out}");
    run("doctor --fix --yes");
    assert_eq!(home.read(), TEAMS);
}
