//! Copies of one message that differ: another name's file, another's words, a delivery too many.

use serde_json::{Value, json};

use super::messages::{SESSION, mail, sources, team};
use crate::support::client_files::{Lead, only};
use crate::support::sandbox::Sandbox;

#[test]
fn message_to_a_name_invalid_as_file_name_is_shown_once() {
    for (names, owner) in [(vec!["al.an", "Zoë K."], "al.an"), (vec!["al.an", "al-an"], "al-an")] {
        let sandbox = Sandbox::new();
        let lead = Lead::of(&sandbox, SESSION);
        lead.roster(1_000, &names);
        lead.start("startup");
        for (id, to, file) in [("u1", names[0], "al-an"), ("u2", names[1], "Zo--K-")] {
            let file = if to == "al-an" { to } else { file };
            let input = json!({"to": to, "message": format!("to {to}")});
            lead.before(id, "SendMessage", &input, json!({}));
            lead.inbox(file, json!([mail("team-lead", &format!("to {to}"), &sandbox.last())]));
            lead.after(id, "SendMessage", &input, json!({"success": true}), json!({}));
        }
        let entries = sandbox.replay("latest");
        let told: Vec<&Value> = entries.iter().filter(|entry| entry["kind"] == "message").collect();
        assert_eq!(told.iter().map(|entry| &entry["to"]).collect::<Vec<_>>(), names, "{told:?}");
        assert!(told.iter().all(|entry| sources(entry) == ["hook", "inbox"]), "{told:?}");
        for moment in [&[][..], &["--at", "+1h"]] {
            let shown = sandbox.show(&[&["latest"], moment].concat());
            assert!(shown["inboxes"][owner][0]["text"].is_string(), "{shown}");
        }
    }
}

#[test]
fn approval_delivered_twice_is_shown_once() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let request = "shutdown-1@alice";
    let approved = json!({"type": "shutdown_approved", "requestId": request, "from": "alice"});
    let result = format!("<teammate-message teammate_id=\"alice\">\n{approved}\n</teammate-message>");
    let answer = json!({"type": "shutdown_response", "request_id": request, "approve": true});
    let input = json!({"to": "team-lead", "message": answer});
    let alice = json!({"agent_id": "aalice-1", "agent_type": "alice"});
    lead.before("u1", "SendMessage", &input, alice.clone());
    lead.after("u1", "SendMessage", &input, json!({"success": true}), alice);
    for _ in 0..2 {
        lead.says("user", json!(result));
        lead.hook("Stop", json!({}));
    }
    let entries = sandbox.replay("latest");
    let told = only(&entries, "shutdown-approved");
    assert_eq!((&told["actor"], sources(told)), (&json!("alice"), vec!["hook", "transcript"]));
}

#[test]
fn plan_response_is_shown_once_and_apart_from_the_automatic_approval() {
    for (approves, word, words) in
        [(false, "Add tests", "[Plan Rejected] Add tests"), (true, "Go", "[Plan Approved] Go")]
    {
        let sandbox = Sandbox::new();
        let lead = team(&sandbox);
        let request = "plan_approval-1@alice@parser";
        let notice = |approved: bool, feedback: &str| {
            let mut notice =
                json!({"type": "plan_approval_response", "requestId": request, "approved": approved});
            if !feedback.is_empty() {
                notice["feedback"] = json!(feedback);
            }
            notice.to_string()
        };
        // The client approves by itself (2.1.177, where permissions are bypassed), and then the lead answers.
        let mut waiting = vec![mail("team-lead", &notice(true, ""), &sandbox.last())];
        lead.inbox("alice", json!(waiting));
        lead.hook("Stop", json!({}));
        let answer = json!({"type": "plan_approval_response", "request_id": request, "approve": approves, "feedback": word});
        let input = json!({"to": "alice", "message": answer});
        lead.before("u1", "SendMessage", &input, json!({}));
        waiting.push(mail("team-lead", &notice(approves, word), &sandbox.last()));
        lead.inbox("alice", json!(waiting));
        let words = ["[Plan Approved] You can now proceed with implementation", words];
        let heard = words.map(|words| {
            let result =
                format!("<teammate-message teammate_id=\"team-lead\">\n{words}\n</teammate-message>");
            json!({"type": "user", "timestamp": sandbox.last(), "message": {"content": result}}).to_string()
        });
        sandbox.write(
            &format!("projects/-home-dev-parser/{SESSION}/subagents/agent-a1.jsonl"),
            heard.join("\n") + "\n",
        );
        lead.after("u1", "SendMessage", &input, json!({"success": true}), json!({}));
        lead.hook("SubagentStart", json!({"agent_id": "a1", "agent_type": "alice"}));
        let entries = sandbox.replay("latest");
        let told: Vec<_> = (entries.iter().filter(|entry| entry["kind"] == "message"))
            .map(|entry| {
                let what = (&entry["actor"], &entry["text"], &entry["approve"]);
                (what, entry.get("automatic"), sources(entry))
            })
            .collect();
        assert_eq!(
            told,
            [
                (
                    (&json!("client"), &json!(""), &json!(true)),
                    Some(&json!(true)),
                    vec!["inbox", "transcript"]
                ),
                (
                    (&json!("team-lead"), &json!(word), &json!(approves)),
                    None,
                    vec!["hook", "inbox", "transcript"]
                ),
            ]
        );
        let told = sandbox.printed(&["log", "--kind", "message"]);
        assert!(told.contains("Claude Code approved the plan of alice\n"), "{told}");
    }
}
