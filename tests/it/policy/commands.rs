//! `teamkeep policy` and `teamkeep config`, as a person uses them.

use crate::support::install_home::Home;

const RUNS: &str = r#"[policy.idle-with-work]
mode = "block"
[[policy.completion-check.check]]
run = "make check"
subject = "*parser*"
[[rule]]
name = "no-force"
action = "block"
reason = "Ask the lead."
events = ["PreToolUse"]
match = { "/tool_input/command" = "/--force/" }
"#;

fn project(home: &Home, text: &str) {
    std::fs::write(home.at(".claude/teamkeep.toml"), text).unwrap();
}

fn user(home: &Home, text: &str) {
    std::fs::create_dir_all(home.at(".config/teamkeep")).unwrap();
    std::fs::write(home.at(".config/teamkeep/teamkeep.toml"), text).unwrap();
}

#[test]
#[cfg_attr(windows, ignore = "no variable names the place of a file of the user")]
fn without_a_file_the_defaults_apply() {
    let home = Home::new();
    assert_eq!(home.ok("config check").out, "no configuration file; the defaults apply\n");
    assert_eq!(
        home.ok("config path").out,
        "organization  /etc/teamkeep/teamkeep.toml  (does not exist)\n\
         user          ~/.config/teamkeep/teamkeep.toml  (does not exist)\n\
         project       ~/.claude/teamkeep.toml  (does not exist)\n"
    );
    let shown = home.ok("config show policy").out;
    assert!(shown.lines().all(|line| line.ends_with("  default")), "{shown}");
    assert!(home.everything().keys().all(|path| !path.ends_with("trust.json")));
}

#[test]
#[cfg_attr(windows, ignore = "no variable names the place of a file of the user")]
fn init_replaces_a_file_only_with_force() {
    let home = Home::new();
    home.ok("config init");
    assert_eq!(home.ok("config check").out, "no problems in ~/.config/teamkeep/teamkeep.toml\n");
    user(&home, "[policy]\nmax-blocks = 1\n");
    let refused = home.run("config init");
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    assert!(refused.err.contains("already") && refused.err.contains("--force"), "{}", refused.err);
    let kept = std::fs::read_to_string(home.at(".config/teamkeep/teamkeep.toml")).unwrap();
    assert_eq!(kept, "[policy]\nmax-blocks = 1\n");
    home.ok("config init --force");
    let written = std::fs::read_to_string(home.at(".config/teamkeep/teamkeep.toml")).unwrap();
    let keys = |text: &str| text.lines().filter(|line| line.contains(" = ")).count();
    assert_eq!(keys(&written), keys(teamkeep_config::TEMPLATE));
    let sets = |line: &&str| !line.is_empty() && !line.starts_with(['#', '[']);
    assert_eq!(written.lines().find(sets), None);
    assert_eq!(home.ok("config show").out, "", "it sets nothing");
    let changed = written.replace("#max-blocks = 3", "max-blocks = 5");
    user(&home, &changed);
    assert!(home.ok("config show").out.starts_with("policy.max-blocks  5  "));
}

#[test]
fn check_prints_to_stdout_and_reads_files_that_other_commands_reject() {
    let home = Home::new();
    user(&home, "[log]\nkeep = \"90\"\n[polcy]\n[policy]\non-error = \"\\u001b[31m\"\n");
    let result = home.run("config check");
    assert_eq!(result.code, Some(1));
    insta::assert_snapshot!(result.out, @r#"
    error[bad-duration]: `log.keep`: invalid duration "90"; expected a value such as "90d" or "1m30s"
     --> ~/.config/teamkeep/teamkeep.toml:2:8
      |
    2 | keep = "90"
      |        ^^^^

    error[unknown-key]: unknown key `polcy`
     --> ~/.config/teamkeep/teamkeep.toml:3:2
      |
    3 | [polcy]
      |  ^^^^^
      |
      = hint: did you mean `policy`?

    error[bad-value]: `policy.on-error`: invalid value "\u{1b}[31m"; expected one of "allow", "block"
     --> ~/.config/teamkeep/teamkeep.toml:5:12
      |
    5 | on-error = "\u001b[31m"
      |            ^^^^^^^^^^^^

    3 errors
    "#);
    assert_eq!(home.run("config check").out, result.out, "an error in any table disables the policy");
    assert_eq!(home.run("export latest --redact -o x").code, Some(1));
    for line in ["config show policy", "config path", "config schema"] {
        home.ok(line);
    }
}

#[test]
fn check_rejects_a_mistyped_variable_and_init_does_not() {
    let home = Home::new();
    let path = home.at("typo/teamkeep.toml");
    let run = |line: &str| home.command(line).env("TEAMKEEP_CONFIG", &path).output().unwrap();
    let out = |output: &std::process::Output| String::from_utf8(output.stdout.clone()).unwrap();
    let result = run("config check");
    assert_eq!(result.status.code(), Some(1));
    let start = "error[unreadable]: TEAMKEEP_CONFIG names a file that does not exist\n";
    assert!(out(&result).starts_with(start) && out(&result).ends_with("\n1 error\n"), "{}", out(&result));
    assert!(out(&result).contains(&format!("--> {}\n", path.display())), "{}", out(&result));
    let error = format!("error: TEAMKEEP_CONFIG names {}, which does not exist\nhint: ", path.display());
    let test = "policy test v328-gc";
    for line in [
        "config show policy",
        "config show policy --all --json",
        "config show",
        "config path",
        "policy trust",
        test,
    ] {
        let result = run(line);
        let err = String::from_utf8_lossy(&result.stderr).into_owned();
        assert!(result.status.code() == Some(1) && err.starts_with(&error), "{line}: {err}");
        assert!(result.stdout.is_empty() || line == "config path", "{line}");
    }
    assert!(run("config init").status.success());
    let result = run("config check");
    assert_eq!(
        (result.status.code(), out(&result)),
        (Some(0), format!("no problems in {}\n", path.display()))
    );
}

#[test]
fn check_takes_other_files() {
    let home = Home::new();
    std::fs::write(home.at("good.toml"), "[policy]\n").unwrap();
    std::fs::write(home.at("bad.toml"), "[policy]\nmax-blocks = true\n").unwrap();
    assert_eq!(home.ok("config check good.toml").out, "no problems in good.toml\n");
    let result = home.run("config check good.toml bad.toml none.toml");
    assert_eq!(result.code, Some(1));
    insta::assert_snapshot!(result.out, @r"
    error[wrong-type]: `policy.max-blocks`: expected an integer, found a boolean
     --> bad.toml:2:14
      |
    2 | max-blocks = true
      |              ^^^^

    error[unreadable]: no such file
    --> none.toml

    2 errors
    ");
    let organization = "[organization]\nfixed = [\"policy\"]\n";
    std::fs::write(home.at("new.toml"), organization).unwrap();
    assert_eq!(home.ok("config check new.toml").out, "no problems in new.toml\n");
    std::fs::write(home.at("new.toml"), organization.replace("policy", "rule[]")).unwrap();
    let result = home.run("config check new.toml");
    assert!(result.out.contains("unknown key or table \"rule[]\""), "{}", result.out);
    project(&home, "[policy]\nmax-blocks = 9\n");
    let result = home.ok("config check .claude/teamkeep.toml");
    assert!(result.out.contains("warning[not-in-project]"), "{}", result.out);
}

#[test]
fn trust_shows_the_commands_and_asks() {
    let home = Home::new();
    project(&home, RUNS);
    let shown = home.ok("config show policy");
    assert!(shown.out.contains("policy.idle-with-work.mode  \"block\"  ~/.claude/teamkeep.toml:2\n"));
    assert!(shown.out.contains("ignored: ~/.claude/teamkeep.toml is not trusted"), "{}", shown.out);
    let asked = home.run("policy trust");
    assert_eq!(asked.code, Some(1));
    insta::assert_snapshot!(asked.out, @r#"
    ~/.claude/teamkeep.toml has 1 check and 1 rule to trust:
      check  sh -c "make check", subject "*parser*"
      rule   "no-force" blocks, events ["PreToolUse"], "/tool_input/command" = "/--force/", reason "Ask the lead."
    "#);
    assert!(asked.err.contains("stdin is not a terminal"), "{}", asked.err);
    assert_eq!(home.ok("policy trust --list").err, "no project is trusted\n");

    home.ok("policy trust --yes");
    let shown = home.ok("config show policy").out;
    assert!(shown.contains("rule[0].name") && !shown.contains("ignored"), "{shown}");
    assert!(home.ok("policy trust").err.contains("already trusted"));
    assert!(home.ok("policy trust --list").out.ends_with("  ~/.claude/teamkeep.toml  (unchanged)\n"));

    project(&home, &RUNS.replace("make check", "make evil"));
    assert!(home.ok("policy trust --list").out.contains("(changed since trusted: disabled)"));
    assert!(home.ok("config check").out.contains("warning[untrusted]"));
    let asked = home.run("policy trust");
    assert!(
        asked.out.contains("which changed after it was trusted, has 1 check and 1 rule to trust"),
        "{}",
        asked.out
    );

    home.ok("policy trust --remove");
    assert_eq!(home.ok("policy trust --list").err, "no project is trusted\n");
}

#[test]
fn a_project_without_commands_or_with_errors_cannot_be_trusted() {
    let home = Home::new();
    let result = home.run("policy trust --yes");
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("no such file: ~/.claude/teamkeep.toml"), "{}", result.err);
    project(&home, "[policy.idle-with-work]\nmode = \"block\"\n");
    assert!(home.ok("policy trust --yes").err.contains("no checks and no rules to trust"));
    project(&home, &format!("{RUNS}nonsense = 1\n"));
    let result = home.run("policy trust --yes --project .");
    assert_eq!(result.code, Some(1));
    assert!(
        result.out.contains("unknown-key") && result.err.contains("cannot trust"),
        "{} {}",
        result.out,
        result.err
    );
}

#[test]
fn text_of_a_project_file_is_escaped_for_the_terminal() {
    let home = Home::new();
    project(&home, "[[policy.completion-check.check]]\nrun = \"true\\u001b[2K\\u202e\\nrm -rf ~\"\n");
    let asked = home.run("policy trust");
    assert!(asked.out.contains(r#"sh -c "true\u{1b}[2K\u{202e}\nrm -rf ~""#), "{}", asked.out);
    for line in ["config show policy", "config check"] {
        assert!(!home.ok(line).out.contains(['\u{1b}', '\u{202e}']), "{line}");
    }
}

#[test]
fn policy_show_has_json_output() {
    let home = Home::new();
    user(&home, "[policy]\nmax-blocks = 5\n");
    project(&home, RUNS);
    let json: serde_json::Value =
        serde_json::from_str(&home.ok("config show policy --all --json").out).unwrap();
    assert_eq!(json["v"], 1);
    let of = |key: &str| {
        json["settings"].as_array().unwrap().iter().find(|setting| setting["key"] == key).unwrap().clone()
    };
    assert_eq!(
        (&of("policy.max-blocks")["value"], &of("policy.max-blocks")["origin"]["layer"]),
        (&5.into(), &"user".into())
    );
    assert_eq!(of("policy.idle-with-work.mode")["origin"]["line"], 2);
    assert_eq!(of("policy.on-error")["origin"]["layer"], "default");
    assert_eq!(json["project"]["standing"], "untrusted");
    assert_eq!(json["problems"][0]["code"], "untrusted");
}

#[test]
fn the_policy_is_one_table_of_the_configuration() {
    let home = Home::new();
    user(
        &home,
        "[log]\nkeep = \"7d\"\n[policy]\nmax-blocks = 5\n[[report.price]]\nmodel = \"*\"\ninput = 1.5\n",
    );
    project(&home, "[log]\nkeep = \"1d\"\n");
    let json = |line: &str| -> serde_json::Value { serde_json::from_str(&home.ok(line).out).unwrap() };
    let (whole, policy) = (json("config show --all --json"), json("config show policy --all --json"));
    let settings = |json: &serde_json::Value| json["settings"].as_array().unwrap().clone();
    let is_policy = |one: &serde_json::Value| one["key"].as_str().unwrap().starts_with("policy.");
    let filtered: Vec<_> = settings(&whole).into_iter().filter(is_policy).collect();
    assert_eq!(settings(&policy), filtered);
    let names = |json: &serde_json::Value| json.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&whole), names(&policy));
    let shown = home.ok("config show --all").out;
    for line in [
        "log.keep  \"7d\"  ~/.config/teamkeep/teamkeep.toml:2",
        "report.price[0].input  1.5",
        "hook.watch  true  default",
    ] {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert!(shown.lines().any(|one| words(one).starts_with(&words(line))), "{line}: {shown}");
    }
    let checked = home.ok("config check").out;
    assert!(checked.contains("warning[not-in-project]: `log.keep`"), "{checked}");
    let set = home.ok("config show").out;
    assert!(set.contains("policy.max-blocks") && !set.contains("hook.watch"), "{set}");
    assert!(!home.ok("config show log").out.contains("policy.max-blocks"));
    let unknown = home.run("config show polcy");
    assert!(unknown.code == Some(64) && unknown.err.contains("did you mean \"policy\""), "{}", unknown.err);
}
