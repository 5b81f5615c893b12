//! One origin of time: a run's times count from its first hook call, wherever they are told.

use serde_json::json;

use crate::support::client_files::{Lead, count, only};
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// A lead that has lived for hours before it makes a team, which lasts three seconds.
fn late_team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::named(sandbox, SESSION, "parser-team");
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "something else"}));
    lead.hook("Stop", json!({"last_assistant_message": "That is done."}));
    sandbox.set_clock(7_200_000);
    lead.hook("UserPromptSubmit", json!({"prompt": "make a team"}));
    sandbox.set_clock(7_205_640);
    lead.roster(1_000, &["alice"]);
    lead.tool("u1", "TeamCreate", &json!({}), json!({"team_name": "parser-team"}));
    lead.hook("Stop", json!({"last_assistant_message": "The team is made."}));
    lead.erase();
    lead.end("other");
    lead
}

#[test]
fn relative_times_start_at_the_first_hook_call_in_all_outputs() {
    let sandbox = Sandbox::new();
    late_team(&sandbox);
    let run = &sandbox.teams()[0];
    assert_eq!(run["started_at"], "2026-02-03T06:05:11.640Z");
    let told = sandbox.printed(&["log"]);
    assert!(told.contains("2026-02-03 06:05:11 UTC, lasted 3 s, ended by session-end"), "{told}");
    assert!(told.contains("   -5.6s team-lead   started a turn: make a team\n"), "{told}");
    assert!(told.contains("    2.0s team-lead   ended the turn: The team is made.\n"), "{told}");
    let listed = sandbox.printed(&["teams"]);
    assert!(listed.contains(" 3 s "), "not since 1970: {listed}");
    let before = sandbox.show(&["--at", "+0s"]);
    assert_eq!(before["at"], run["started_at"]);
}

#[test]
fn run_shows_earlier_sessions_of_its_lead_and_the_prompt_that_created_the_team() {
    let sandbox = Sandbox::new();
    late_team(&sandbox);
    let entries = sandbox.replay("latest");
    assert_eq!(only(&entries, "session-started")["at"], "2026-02-03T04:05:06.000Z");
    assert_eq!(only(&entries, "turn-started")["text"], "make a team");
    assert_eq!(only(&entries, "turn-ended")["text"], "The team is made.");
    assert_eq!(count(&entries, "session-ended"), 1);
    assert!(sandbox.printed(&["log"]).contains("-2h00m05s team-lead   started a session (startup)\n"));
}

#[test]
fn time_outside_the_run_is_reported() {
    let sandbox = Sandbox::new();
    late_team(&sandbox);
    let result = |at: &str| {
        let result = sandbox.run(&["show", "--at", at]);
        assert_eq!(result.code, Some(0), "{result:?}");
        result.err
    };
    assert_eq!(result("2026-02-03T06:05:11Z"), "the run starts at 2026-02-03 06:05:11 UTC\n");
    assert_eq!(result("+1h"), "the run had ended at 2026-02-03 06:05:14 UTC (+3.0s)\n");
    assert_eq!((result("+0s"), result("+3s")), (String::new(), String::new()));
    let age = result("1m");
    assert!(age.ends_with("\n1m means 1m ago; for the time since the start of the run, use +1m\n"), "{age}");
}
