//! What a terminal of so many columns shows.

use anstream::adapter::strip_str;
use serde_json::json;
use teamkeep::view::{self, RawLogView};
use teamkeep_config::Config;
use teamkeep_history::report::RunSummary;
use teamkeep_history::timeline::merge;
use teamkeep_model::time;
use unicode_width::UnicodeWidthStr;

use crate::support::client_files::Lead;
use crate::support::sandbox::{START, Sandbox};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";

/// A team of eight, and a session that only starts a subagent.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let names = ["alice", "bob", "carol", "dave", "erin", "frank", "grace"];
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_770_091_200_000, &names);
    lead.start("startup");
    lead.tool("u1", "SendMessage", &json!({"to": "bob", "message": "hi"}), json!({"success": true}));
    lead.erase();
    lead.end("other");
    let alone = Lead::of(&sandbox, TWO);
    alone.start("startup");
    alone.hook("SubagentStart", json!({"agent_id": "a1", "agent_type": "Explore"}));
    sandbox.finish();
    sandbox
}

/// A run that was completed, one that ended with open work, and one that is running.
fn several() -> Sandbox {
    let sandbox = Sandbox::new();
    for (number, status) in [(1, "completed"), (2, "pending")] {
        let lead = Lead::of(&sandbox, &ONE.replace("aaaaaaaa", &format!("aaaaaaa{number}")));
        lead.roster(1_770_091_200_000 + number, &["bob"]);
        lead.start("startup");
        if number == 1 {
            lead.hook("UserPromptSubmit", json!({"prompt": TITLE}));
        }
        lead.task("1", "pending", None);
        lead.hook("Stop", json!({}));
        lead.task("1", status, Some("bob"));
        lead.hook("Stop", json!({}));
        lead.end("other");
    }
    let lead = Lead::named(&sandbox, TWO, "parser-team");
    lead.roster(1_770_091_300_000, &["bob"]);
    lead.start("startup");
    sandbox.finish();
    sandbox
}

const TITLE: &str =
    "Write, review and fuzz a parser for the 本 grammar, and keep each of the old tests green";

fn runs(columns: Option<usize>) -> String {
    listed(&several(), columns)
}

fn listed(sandbox: &Sandbox, columns: Option<usize>) -> String {
    let library = sandbox.library();
    let opened = library.open_runs(&library.runs.iter().collect::<Vec<_>>()).unwrap();
    let now = time::parse(START).unwrap() + chrono::TimeDelta::hours(2);
    let row = |data| RunSummary::of(data, &merge(data), &Config::default(), now);
    let rows: Vec<RunSummary> = opened.runs.iter().map(row).collect();
    strip_str(&view::runs(&rows, &library.ids(), rows.len() + 4, now, columns).to_terminal(columns))
        .to_string()
}

#[test]
fn wide_terminal_shows_each_title_in_full() {
    insta::assert_snapshot!(runs(None), @"
      RUN  TITLE                                                                                    TASKS INCIDENTS   DURATION     AGE
    ✓ 49f4 Write, review and fuzz a parser for the 本 grammar, and keep each of the old tests green   1/1                  4 s 1 h ago
    ○ ec3b Task 1                                                                                     0/1 1 medium         3 s 1 h ago
    ● 02ea parser-team                                                                                              1 h 59 min     now
    3 of 7 runs
    ");
}

#[test]
fn titles_are_cut_at_80_columns() {
    let told = runs(Some(80));
    assert!(told.lines().all(|line| line.width() <= 80));
    insta::assert_snapshot!(told, @"
      RUN  TITLE                            TASKS INCIDENTS   DURATION     AGE
    ✓ 49f4 Write, review and fuzz a parser…   1/1                  4 s 1 h ago
    ○ ec3b Task 1                             0/1 1 medium         3 s 1 h ago
    ● 02ea parser-team                                      1 h 59 min     now
    3 of 7 runs
    ");
}

#[test]
fn the_last_columns_are_left_out_at_40_columns() {
    let told = runs(Some(40));
    assert!(told.lines().all(|line| line.width() <= 40));
    insta::assert_snapshot!(told, @"
      RUN  TITLE        TASKS INCIDENTS
    ✓ 49f4 Write, revi…   1/1
    ○ ec3b Task 1         0/1 1 medium
    ● 02ea parser-team
    3 of 7 runs
    ");
}

#[test]
fn replay_heading_wraps_at_the_terminal_width() {
    let sandbox = sandbox();
    let library = sandbox.library();
    let opened = library.open_runs(&[library.find("session-aaaaaaaa").unwrap()]).unwrap();
    let heading = |columns: usize| {
        let told = view::heading(&opened.runs[0], &merge(&opened.runs[0])).to_terminal(Some(columns));
        let told = strip_str(&told).to_string();
        told.lines().take_while(|line| !line.starts_with("  ")).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(heading(80), @"
    session-aaaaaaaa 5c96e77ac67bdca0
    2026-02-03 04:05:06 UTC, lasted 3 s, ended by session-end
    8 members, 0 tasks, 1 message; team-lead, alice, bob, carol, dave, erin, frank,
    grace
    ");
    insta::assert_snapshot!(heading(40), @"
    session-aaaaaaaa 5c96e77ac67bdca0
    2026-02-03 04:05:06 UTC, lasted 3 s,
    ended by session-end
    8 members, 0 tasks,
    1 message; team-lead, alice, bob, carol,
    dave, erin, frank, grace
    ");
}

#[test]
fn run_without_a_team_is_shown_without_zero_counts() {
    let told = sandbox().printed(&["log", "latest"]);
    assert!(told.contains("8 members, 0 tasks, 1 message; team-lead, alice"), "{told}");
    let sandbox = Sandbox::new();
    let alone = Lead::of(&sandbox, TWO);
    alone.start("startup");
    alone.hook("SubagentStart", json!({"agent_id": "a1", "agent_type": "Explore"}));
    let told = sandbox.printed(&["log"]);
    assert_eq!(told.lines().nth(1), Some("2026-02-03 04:05:07 UTC, running"));
    assert!(told.lines().nth(2).unwrap().ends_with("started a session (startup)"), "{told}");
    let shown = sandbox.printed(&["show"]);
    assert!(shown.ends_with("\na session without a team; `log` shows what it did\n"), "{shown}");
}

#[test]
fn log_shows_message_texts_at_80_and_40_columns() {
    let sandbox = sandbox();
    let log = |columns: usize| {
        let mut view = RawLogView::default();
        view.columns = Some(columns);
        let mut out = Vec::new();
        for event in sandbox.log().iter().take(3) {
            view.write(&mut out, &serde_json::from_value(event.clone()).unwrap()).unwrap();
        }
        strip_str(&String::from_utf8(out).unwrap()).to_string()
    };
    insta::assert_snapshot!(log(80), @r#"
    2026-02-03 UTC
    04:05:06.000 SessionStart     team-lead  startup session-aaaaaaaa
    04:05:07.000 PreToolUse       team-lead  SendMessage → bob "hi" session-aaaaaaaa
    04:05:08.000 PostToolUse      team-lead  SendMessage → bob "hi" session-aaaaaaaa
    "#);
    insta::assert_snapshot!(log(40), @r#"
    2026-02-03 UTC
    04:05:06 SessionStart     team-lead
      startup session-aaaaaaaa
    04:05:07 PreToolUse       team-lead
      SendMessage → bob "hi"
      session-aaaaaaaa
    04:05:08 PostToolUse      team-lead
      SendMessage → bob "hi"
      session-aaaaaaaa
    "#);
}
