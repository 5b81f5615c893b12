//! `teamkeep install --enable-teams`: the variables under `env`, and that `uninstall` removes exactly them.

use insta::assert_snapshot;

use crate::support::install_home::Home;
use crate::support::programs::editor;

const TEAMS: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";
const TASKS: &str = "CLAUDE_CODE_ENABLE_TODO_TOOLS";

/// Settings, and the text after each change of them.
const UNDONE: &[&str] = &[
    "",
    "{}",
    "{ }\n",
    "\u{feff}{\"a\": [1, {}]}",
    "{\"env\": {}}",
    "{ \"env\" : { } }",
    "{\n  \"env\": {\n  }\n}\n",
    "{\"env\": {\"A\": \"1\"}}",
    "{\r\n    \"env\": {\r\n        \"A\": \"1\"\r\n    }\r\n}\r\n",
    "{\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t},\n\t\"z\": 1\n}",
    "{\n  \"env\": { // mine\n    \"A\": \"1\", // first\n    /* last */\n  },\n}\n",
    "{\"env\": {\"CLAUDE_CODE_ENABLE_TODO_TOOLS\": \"1\", \"A\": \"2\"}}",
];

#[test]
fn variables_are_added_and_removed_again_byte_by_byte() {
    for before in UNDONE {
        let home = Home::with(before);
        home.ok("install --enable-teams");
        let text = home.read();
        assert!(text.contains(&format!("\"{TEAMS}\": \"1\"")), "{text}");
        assert_eq!(text.matches(&format!("\"{TASKS}\": \"1\"")).count(), 1, "{text}");
        let again = home.ok("install --enable-teams");
        assert_eq!(home.read(), text, "{}", again.err);
        home.ok("uninstall");
        assert_eq!(home.read(), *before);
    }
}

#[test]
fn uninstall_removes_only_added_variables_from_a_changed_file() {
    for before in UNDONE.iter().filter(|before| before.len() > 4) {
        let home = Home::with(before);
        home.ok("install --enable-teams");
        let mine = |text: &str| text.replacen('{', "{\"mine\": 1,", 1);
        home.write(&mine(&home.read()));
        home.ok("uninstall");
        assert_eq!(home.read(), mine(before));
    }
    let home = Home::with("{\n  \"model\": \"opus\"\n}\n");
    home.ok("install");
    home.ok("install --enable-teams");
    home.write(&home.read().replace(&format!("\"{TASKS}\": \"1\""), &format!("\"{TASKS}\": \"0\"")));
    assert_snapshot!(home.ok("uninstall").err, @"
    removed 17 hooks and CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS from ~/.claude/settings.json
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    ");
    assert_snapshot!(home.read(), @r#"
    {
      "model": "opus",
      "env": {
        "CLAUDE_CODE_ENABLE_TODO_TOOLS": "0"
      }
    }
    "#);
}

#[test]
fn variables_get_the_layout_of_the_file() {
    let home = Home::with("{\n    \"model\": \"opus\",\n    \"env\": {\n        \"A\": \"1\"\n    }\n}\n");
    assert_snapshot!(home.ok("install --enable-teams").err, @"
    installed 17 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep-hook, for Claude Code 2.1.332
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: teamkeep uninstall
    set CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS and CLAUDE_CODE_ENABLE_TODO_TOOLS to 1 in ~/.claude/settings.json
    ");
    let text = home.read();
    assert_snapshot!(text.split(",\n    \"hooks\"").next().unwrap(), @r#"
    {
        "model": "opus",
        "env": {
            "A": "1",
            "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1",
            "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"
        }
    "#);
}

#[test]
fn another_value_is_kept_and_reported() {
    for value in ["\"0\"", "false", "\"off\"", "0"] {
        let before = format!("{{\"env\": {{\"{TEAMS}\": {value}}}}}");
        let home = Home::with(&before);
        let result = home.ok("install --enable-teams");
        assert!(home.read().contains(&format!("\"{TEAMS}\": {value}")), "{}", home.read());
        assert_eq!(home.json()["env"][TASKS], "1");
        if value == "\"0\"" {
            assert_snapshot!(result.err.replace(&editor(None), "EDIT"), @r#"
            installed 17 hooks in ~/.claude/settings.json
            each runs ~/bin/teamkeep-hook, for Claude Code 2.1.332
            backup: ~/.local/share/teamkeep/installs/#-#.bak
            to remove the hooks: teamkeep uninstall
            set CLAUDE_CODE_ENABLE_TODO_TOOLS to 1 in ~/.claude/settings.json
            note: left unchanged: CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS is "0" in ~/.claude/settings.json
            hint: to enable it, set it to "1" under `env`: EDIT ~/.claude/settings.json
            "#);
        }
        home.ok("uninstall");
        assert_eq!(home.read(), before);
    }
    for on in ["\"1\"", "\"true\"", "1", "true"] {
        let before = format!("{{\"env\": {{\"{TEAMS}\": {on}, \"{TASKS}\": {on}}}}}");
        let home = Home::with(&before);
        let result = home.ok("install --enable-teams");
        let line = "nothing to do: agent teams and task tools are enabled in ~/.claude/settings.json\n";
        assert!(result.err.contains(line) && !result.err.contains("note: "), "{}", result.err);
        home.ok("uninstall");
        assert_eq!(home.read(), before);
    }
}

#[test]
fn settings_without_a_usable_env_are_unchanged() {
    for (before, why) in [
        ("{\"env\": []}", "its `env` is not an object"),
        ("{\"env\": null}", "its `env` is not an object"),
        ("{\"env\": {}, \"env\": {}}", "it has the key `env` twice"),
        ("{\"a\": 1,, }", "line 1: "),
    ] {
        let home = Home::with(before);
        let result = home.run("install --enable-teams");
        assert_eq!((result.code, home.read().as_str()), (Some(1), before));
        let start = format!("error: cannot edit ~/.claude/settings.json: {why}");
        assert!(result.err.starts_with(&start), "{}", result.err);
    }
}

#[test]
fn variables_are_not_set_without_the_option_or_for_every_user() {
    let home = Home::with("{}");
    home.ok("install");
    assert!(home.json().get("env").is_none());
    let before = home.read();
    let dry = home.ok("install --enable-teams --dry-run");
    assert!(dry.out.contains(&format!("+    \"{TEAMS}\": \"1\"")), "{}", dry.out);
    assert_eq!(home.run("install --enable-teams --scope managed").code, Some(64));
    assert_eq!(home.read(), before);
}
