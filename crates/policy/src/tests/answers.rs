//! The final texts of turns as reports.

use serde_json::json;

use super::scene::{Scene, after, approve, ask, before, idle, lead, mate};
use crate::Decision;
use teamkeep_config::Mode;

/// A team without tasks, in which Claude Code delivers answers or does not. bob has an instruction.
fn instructed(delivers_answers: bool) -> Scene {
    let mut scene = Scene::with(&[]);
    scene.team.delivers_answers = delivers_answers;
    scene.policy.report_before_idle.mode = Mode::Block;
    scene.says(&lead(), "bob", "Review the parser.");
    scene
}

fn turn(scene: &mut Scene, event: &str, answer: &str) {
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStart"}));
    scene.happens(&mate("bob"), &json!({"hook_event_name": event, "last_assistant_message": answer}));
}

fn idles(scene: &mut Scene) -> Vec<(&'static str, Decision)> {
    scene.codes(&mate("bob"), &idle("bob"))
}

fn request(scene: &mut Scene) -> Option<(&'static str, Decision, String)> {
    let found = scene.judge(&lead(), &before("SendMessage", ask("bob"))).pop()?;
    Some((found.code, found.decision, found.text()))
}

fn reason(scene: &mut Scene) -> String {
    request(scene).map(|(.., reason)| reason).unwrap_or_default()
}

#[test]
fn a_delivered_answer_is_a_report_at_idle_and_is_quoted_at_a_shutdown_request() {
    for event in ["SubagentStop", "Stop"] {
        let mut scene = instructed(true);
        turn(&mut scene, event, "I will go on later.");
        assert!(idles(&mut scene).is_empty(), "{event}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(reason(&mut scene), @r#"Warning: a shutdown request to bob, who sent no message in the last turn. The final answer: "I will go on later." If the work is not complete, send an instruction with SendMessage instead."#);
        }
        scene.policy.premature_shutdown.without_tasks = Mode::Block;
        assert_eq!(request(&mut scene).unwrap().1, Decision::Warn, "a report is not blocked");
        let stop = before("TaskStop", json!({"task_id": "bob"}));
        assert_eq!(scene.codes(&lead(), &stop), [("stop-after-answer", Decision::Warn)]);
        assert!(scene.codes(&mate("bob"), &before("SendMessage", approve("bob"))).is_empty());
        scene.policy.premature_shutdown.without_tasks = Mode::Off;
        assert!(request(&mut scene).is_none());
    }
}

#[test]
fn an_answer_of_an_older_client_is_not_a_report_and_is_quoted_as_one_that_no_agent_received() {
    let mut scene = instructed(false);
    turn(&mut scene, "SubagentStop", "It is good.");
    assert_eq!(idles(&mut scene), [("idle-without-report", Decision::Block)]);
    insta::assert_snapshot!(reason(&mut scene), @r#"Warning: a shutdown request to bob, who has sent no report since the last instruction. No agent received its last answer: "It is good." Ask for a report with SendMessage and wait for it, then try again."#);
}

#[test]
fn a_blank_answer_is_not_a_report() {
    for blank in ["", " ", "\n\t \u{2003}\n"] {
        let mut scene = instructed(true);
        turn(&mut scene, "SubagentStop", blank);
        assert_eq!(idles(&mut scene).len(), 1, "{blank:?}");
        assert_eq!(request(&mut scene).unwrap().0, "shutdown-without-report", "{blank:?}");
    }
}

#[test]
fn a_teammate_with_an_answer_and_a_message_in_the_same_turn_is_not_warned_of() {
    let mut scene = instructed(true);
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStart"}));
    scene.says(&mate("bob"), "team-lead", "It is good.");
    scene.happens(
        &mate("bob"),
        &json!({"hook_event_name": "SubagentStop", "last_assistant_message": "Done."}),
    );
    assert!(idles(&mut scene).is_empty() && request(&mut scene).is_none());
    // Another turn without a message: only its answer shows whether it continues.
    turn(&mut scene, "SubagentStop", "I will go on later.");
    assert_eq!(request(&mut scene).unwrap().0, "shutdown-after-answer");
    // A later report makes it old, also if that turn has no answer.
    scene.says(&mate("team-lead"), "bob", "Finish it now.");
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStart"}));
    scene.says(&mate("bob"), "team-lead", "It is finished.");
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStop", "last_assistant_message": ""}));
    assert!(request(&mut scene).is_none());
}

#[test]
fn an_instruction_after_the_answer_needs_a_new_report() {
    let mut scene = instructed(true);
    turn(&mut scene, "SubagentStop", "It is good.");
    scene.says(&mate("alice"), "bob", "Look at the lexer, too.");
    assert_eq!(idles(&mut scene), [("idle-without-report", Decision::Block)]);
    insta::assert_snapshot!(reason(&mut scene), @r#"Warning: a shutdown request to bob, who has sent no report since the last instruction. The last answer before that instruction: "It is good." Ask for a report with SendMessage and wait for it, then try again."#);
    turn(&mut scene, "SubagentStop", "The lexer is good, too.");
    assert!(idles(&mut scene).is_empty());
}

#[test]
fn an_answer_of_a_turn_that_continues_after_a_blocked_idle_is_not_delivered() {
    let mut scene = instructed(true);
    turn(&mut scene, "SubagentStop", "Half of it is good.");
    scene.is_held_back(&mate("bob"), &idle("bob"));
    turn(&mut scene, "SubagentStop", "");
    assert_eq!(idles(&mut scene), [("idle-without-report", Decision::Block)]);
}

#[test]
fn a_delivered_answer_stays_a_report_when_a_later_idle_is_blocked() {
    for later in ["", "One more thing."] {
        let mut scene = instructed(true);
        turn(&mut scene, "SubagentStop", "The parser works.");
        scene.happens(&mate("bob"), &idle("bob"));
        turn(&mut scene, "SubagentStop", later);
        scene.is_held_back(&mate("bob"), &idle("bob"));
        turn(&mut scene, "SubagentStop", "");
        assert_eq!(idles(&mut scene), [], "{later:?}");
    }
}

#[test]
fn a_teammate_without_an_instruction_and_a_team_with_tasks_need_no_report() {
    let mut scene = instructed(true);
    scene.happens(
        &mate("carol"),
        &json!({"hook_event_name": "SubagentStop", "last_assistant_message": "Hello."}),
    );
    assert!(scene.judge(&lead(), &before("SendMessage", ask("carol"))).is_empty());
    turn(&mut scene, "SubagentStop", "It is good.");
    scene.happens(&lead(), &after("TaskCreate", json!({"subject": "Review"})));
    assert!(request(&mut scene).is_none());
}

#[test]
fn a_long_answer_with_lines_and_control_characters_is_one_short_escaped_line() {
    let mut scene = instructed(true);
    let answer =
        format!("Done.\n\n</system>\t\"ok\"\u{1b}[2J\u{202e} {}", "and more of it\r\n".repeat(9_000));
    turn(&mut scene, "SubagentStop", &answer);
    let reason = reason(&mut scene);
    assert!(
        reason.contains(r#"answer: "Done. ‹/system› \"ok\"\u{1b}[2J\u{202e} and more of it and"#),
        "{reason}"
    );
    assert!(reason.contains("…\" If the work is not complete") && reason.chars().count() < 400, "{reason}");
    assert!(!reason.contains(['\n', '\t', '\u{1b}', '\u{202e}', '<', '>']), "{reason}");
    let without_spaces = "x".repeat(1 << 20);
    turn(&mut scene, "SubagentStop", &without_spaces);
    let stored = serde_json::to_string(&scene.team.ledger).unwrap();
    assert!(stored.len() < 2_000, "{}", stored.len());
}

#[test]
fn without_the_texts_only_the_size_of_the_answer_is_shown() {
    let mut scene = instructed(true);
    turn(&mut scene, "SubagentStop", "A secret of bob.");
    scene.team.ledger.forget_texts();
    assert!(!serde_json::to_string(&scene.team.ledger).unwrap().contains("secret"));
    let reason = reason(&mut scene);
    assert!(reason.contains("The final answer: a text of 16 bytes. "), "{reason}");
}

#[test]
fn answers_do_not_change_the_state_of_the_work_that_the_loop_guard_counts() {
    let mut scene = instructed(true);
    let key = scene.team.key();
    turn(&mut scene, "SubagentStop", "It is good.");
    assert_eq!(scene.team.key(), key);
}
