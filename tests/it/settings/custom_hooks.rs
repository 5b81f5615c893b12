//! Lines of the user's own that call this program: known, told, and never touched.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::doctor::checks::one;
use crate::support::install_home::Home;
use crate::support::programs::editor;

/// What somebody may have written that is not what `install` writes.
const OWN: [&str; 7] = [
    "teamkeep hook stop && ./my-gate.sh",
    "teamkeep hook stop; ./mine",
    "teamkeep hook stop | tee -a log",
    "teamkeep hook stop > /dev/null && ./mine",
    "/opt/x/teamkeep hook notes --sync",
    "~/bin/teamkeep hook stop",
    "TEAMKEEP_HOME=/srv/tk teamkeep hook stop",
];

fn settings(lines: &[&str]) -> String {
    let hooks: Vec<Value> = lines.iter().map(|line| json!({"type": "command", "command": line})).collect();
    format!("{{\n  \"hooks\": {{\n    \"Stop\": [{{\"hooks\": {}}}]\n  }}\n}}\n", json!(hooks))
}

#[test]
fn custom_hook_lines_survive_all_commands() {
    for line in OWN {
        let before = settings(&[line]);
        let home = Home::with(&before);
        for done in ["doctor --fix", "uninstall"] {
            home.run(done);
            assert_eq!(home.read(), before, "{done}: {line}");
        }
        home.ok("install");
        assert!(home.read().contains(line));
        home.run("doctor --fix");
        assert!(home.read().contains(line));
        home.ok("install --command teamkeep");
        home.ok("uninstall");
        assert_eq!(home.read(), before, "{line}");
        std::fs::remove_dir_all(home.at(".local/share/teamkeep/installs")).unwrap();
        home.ok("install");
        std::fs::remove_dir_all(home.at(".local/share/teamkeep/installs")).unwrap();
        home.ok("uninstall");
        assert_eq!(home.read(), before, "without any memory: {line}");
    }
}

#[test]
fn install_and_uninstall_report_custom_hook_lines() {
    let home = Home::with(&settings(&OWN[..1]));
    assert_snapshot!(home.ok("install").err, @"
    installed 17 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep-hook, for Claude Code 2.1.332
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: teamkeep uninstall
    note: left unchanged: your Stop hook also calls teamkeep: `teamkeep hook stop && ./my-gate.sh`
    hint: remove teamkeep from that hook in ~/.claude/settings.json; otherwise its events are recorded twice
    ");
    assert_snapshot!(home.ok("install").err, @r#"
    nothing to do: ~/.claude/settings.json already has all 17 hooks
    note: left unchanged: your Stop hook also calls teamkeep: `teamkeep hook stop && ./my-gate.sh`
    hint: remove teamkeep from that hook in ~/.claude/settings.json; otherwise its events are recorded twice
    "#);
    assert_snapshot!(one(&home, "hooks-twice").replace(&editor(None), "EDIT"), @"bad: teamkeep is called twice at Stop: ~/bin/teamkeep-hook, `teamkeep hook stop && ./my-gate.sh` (in ~/.claude/settings.json) => EDIT ~/.claude/settings.json  # remove teamkeep from that command");
    assert_snapshot!(home.ok("uninstall").err, @r#"
    removed 17 hooks from ~/.claude/settings.json; restored its previous content
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    note: left unchanged: your Stop hook also calls teamkeep: `teamkeep hook stop && ./my-gate.sh`
    "#);
    assert_snapshot!(home.ok("uninstall").err, @r#"
    nothing to do: ~/.claude/settings.json has no teamkeep hooks
    note: left unchanged: your Stop hook also calls teamkeep: `teamkeep hook stop && ./my-gate.sh`
    "#);
    home.write(&settings(&OWN));
    assert_snapshot!(home.ok("uninstall").err, @r#"
    nothing to do: ~/.claude/settings.json has no teamkeep hooks
    note: left unchanged: your Stop hook also calls teamkeep: `teamkeep hook stop && ./my-gate.sh`
    note: left unchanged: your Stop hook also calls teamkeep: `teamkeep hook stop; ./mine`
    note: left unchanged: your Stop hook also calls teamkeep: `teamkeep hook stop | tee -a log`
    note: left unchanged: your Stop hook also calls teamkeep: `teamkeep hook stop > /dev/null && ./mine`
    note: left unchanged: your Stop hook also calls teamkeep: `/opt/x/teamkeep hook notes --sync`
    note: and 2 more
    "#);
}

#[test]
fn doctor_fix_adds_no_hooks_if_only_custom_hooks_exist() {
    let home = Home::with(&settings(&OWN[..1]));
    assert_snapshot!(one(&home, "hooks-installed"), @"ok: 1 custom hook in ~/.claude/settings.json");
    assert_snapshot!(one(&home, "hooks-twice"), @"ok: no event calls teamkeep twice");
    let before = home.read();
    home.run("doctor --fix");
    assert_eq!(home.read(), before);
}

#[test]
fn doctor_does_not_report_a_fix_that_install_did_not_make() {
    let home = Home::with(&settings(&OWN[..1]));
    home.ok("install");
    let result = home.run("doctor --fix --json");
    let told: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(told["fixed"], json!([]), "{}", result.err);
}
