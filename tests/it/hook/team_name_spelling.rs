//! Teams whose name is not that of their directory: before 2.1.178 the client spells one name in two ways.

use serde_json::{Value, json};

use crate::store::run_sandbox::{ONE, TWO, rows};
use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

/// As the client has it, as its configuration's directory has it, as its inboxes' directory has it.
const SPELLED: [(&str, &str, &str); 2] =
    [("Docs_Team v2", "docs-team-v2", "Docs_Team-v2"), ("Ferry", "ferry", "Ferry")];

/// A team of remy, as the client makes it: what stands in `called` is all that its payloads say.
fn make(lead: &Lead<'_>, (called, dir, _): (&str, &str, &str), created: i64) {
    let config = json!({"name": called, "createdAt": created, "leadSessionId": lead.session, "members": [
        {"name": "team-lead", "joinedAt": created},
        {"name": "remy", "joinedAt": created, "prompt": "Write"}]});
    let input = json!({"team_name": called});
    lead.before("make", "TeamCreate", &input, json!({}));
    lead.sandbox.write(&format!("teams/{dir}/config.json"), config);
    let path = lead.sandbox.client(&format!("teams/{dir}/config.json"));
    lead.after("make", "TeamCreate", &input, json!({"team_name": called, "team_file_path": path}), json!({}));
}

/// The lead tells remy something, and the inbox beside the team's directory holds it with what it held before.
fn tell(lead: &Lead<'_>, beside: &str, id: &str, text: &str, mail: &mut Vec<Value>) {
    let input = json!({"type": "message", "recipient": "remy", "content": text});
    lead.before(id, "SendMessage", &input, json!({}));
    mail.push(json!({"from": "team-lead", "text": text, "timestamp": lead.sandbox.last(), "read": true}));
    lead.sandbox.write(&format!("teams/{beside}/inboxes/remy.json"), json!(mail));
    lead.after(id, "SendMessage", &input, json!({"success": true}), json!({}));
}

fn delete(lead: &Lead<'_>, (called, dir, _): (&str, &str, &str)) {
    lead.before("drop", "TeamDelete", &json!({}), json!({}));
    lead.sandbox.remove_dir(&format!("teams/{dir}"));
    lead.after("drop", "TeamDelete", &json!({}), json!({"success": true, "team_name": called}), json!({}));
}

fn messages(entries: &[Value]) -> Vec<(&str, Vec<&str>)> {
    let told = entries.iter().filter(|entry| entry["kind"] == "message");
    let sources =
        |entry: &Value| -> Vec<String> { serde_json::from_value(entry["sources"].clone()).unwrap() };
    told.map(|entry| {
        assert_eq!(sources(entry), ["hook", "inbox"]);
        (
            entry["text"].as_str().unwrap(),
            vec![entry["actor"].as_str().unwrap(), entry["to"].as_str().unwrap()],
        )
    })
    .collect()
}

#[test]
fn a_team_that_the_client_spells_in_two_ways_is_one_run_with_all_its_files() {
    // The directory is also found with the other spelling where names of files have no case.
    for spelled in
        SPELLED.into_iter().filter(|(called, dir, _)| cfg!(unix) || !called.eq_ignore_ascii_case(dir))
    {
        let (called, dir, beside) = spelled;
        let sandbox = Sandbox::new();
        let lead = Lead::named(&sandbox, ONE, dir);
        lead.start("startup");
        make(&lead, spelled, 1_770_000_000_000);
        let mut mail = Vec::new();
        tell(&lead, beside, "t1", "hello", &mut mail);
        sandbox.write(
            &format!("tasks/{beside}/1.json"),
            json!({"id": "1", "subject": "Write", "status": "pending"}),
        );
        let idle = json!({"teammate_name": "remy", "team_name": called});
        lead.hook("TeammateIdle", idle);
        let teams = sandbox.teams();
        assert_eq!((rows(&teams, "team"), teams[0]["tasks"].clone()), (vec![&json!(called)], json!(1)));
        let logged = sandbox.log();
        let last = logged.last().unwrap();
        assert_eq!((&last["team"], &last["run"]), (&json!(dir), &teams[0]["run"]));
        assert_eq!((&last["actor"]["name"], &last["actor"]["kind"]), (&json!("remy"), &json!("teammate")));
        assert_eq!(messages(&sandbox.replay(called)), [("hello", vec!["team-lead", "remy"])]);
        let shown = sandbox.show(&[called]);
        assert_eq!(shown["tasks"]["1"]["subject"], "Write");
        assert_eq!(shown["inboxes"]["remy"][0]["text"], "hello");
        for name in [called, dir] {
            assert!(!sandbox.printed(&["log", "--raw", "--team", name]).is_empty());
            assert!(sandbox.printed(&["log", name]).contains(&format!("created the team: {called}")));
        }
        delete(&lead, spelled);
        let teams = sandbox.teams();
        assert_eq!(rows(&teams, "ended_by"), [&json!("team-delete")], "{teams:?}");
        assert!(sandbox.printed(&["verify"]).contains("no damage found"));
    }
}

#[test]
fn files_left_by_a_team_do_not_belong_to_the_next_team_of_its_name() {
    let sandbox = Sandbox::new();
    let spelled = SPELLED[0];
    let lead = Lead::named(&sandbox, ONE, spelled.1);
    lead.start("startup");
    make(&lead, spelled, 1_770_000_000_000);
    let mut mail = Vec::new();
    tell(&lead, spelled.2, "t1", "hello", &mut mail);
    delete(&lead, spelled);
    Lead::named(&sandbox, TWO, "other").start("startup");
    assert_eq!(sandbox.teams().len(), 1, "inboxes that are left are no team");
    let now = teamkeep_model::time::parse(&sandbox.last()).unwrap().millis();
    make(&lead, spelled, now);
    tell(&lead, spelled.2, "t2", "hello again", &mut mail);
    assert_eq!(sandbox.teams().len(), 2);
    assert_eq!(messages(&sandbox.replay("latest")), [("hello again", vec!["team-lead", "remy"])]);
}

#[test]
fn a_tracker_in_the_other_list_does_not_hide_the_task_with_its_number() {
    let sandbox = Sandbox::new();
    let spelled = SPELLED[0];
    let lead = Lead::named(&sandbox, ONE, spelled.1);
    lead.start("startup");
    make(&lead, spelled, 1_770_000_000_000);
    let beside = format!("tasks/{}/1.json", spelled.2);
    sandbox.write(
        &beside,
        json!({"id": "1", "subject": "remy", "status": "in_progress", "metadata": {"_internal": true}}),
    );
    sandbox.write(
        &format!("tasks/{}/1.json", spelled.1),
        json!({"id": "1", "subject": "Write", "status": "pending"}),
    );
    lead.hook("Stop", json!({}));
    std::fs::remove_file(sandbox.client(&beside)).unwrap();
    lead.hook("Stop", json!({}));
    let told: Vec<Value> =
        sandbox.replay("latest").into_iter().filter(|entry| entry["task"].is_string()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["kind"], &told[0]["summary"]), (&json!("task-created"), &json!("Write")));
    assert_eq!(sandbox.show(&["latest"])["tasks"]["1"]["subject"], "Write");
}

#[test]
fn a_team_named_like_the_directory_of_another_is_a_separate_team() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "Parser_Team");
    lead.start("startup");
    lead.roster(1_000, &["remy"]);
    lead.hook("TeammateIdle", json!({"teammate_name": "remy", "team_name": "Parser_Team"}));
    assert_eq!(rows(&sandbox.teams(), "team"), [&json!("Parser_Team")]);
    lead.erase();
    lead.hook("TeammateIdle", json!({"teammate_name": "remy", "team_name": "Parser_Team"}));
    assert_eq!(rows(&sandbox.teams(), "team"), [&json!("Parser_Team")]);
}

#[test]
fn inboxes_without_a_team_start_no_run() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "default");
    lead.start("startup");
    lead.inbox("remy", json!([{"from": "team-lead", "text": "stop", "timestamp": sandbox.last()}]));
    lead.hook("Stop", json!({}));
    let path = sandbox.client(&format!("tasks/{ONE}/1.json"));
    sandbox.write(&format!("tasks/{ONE}/1.json"), json!({"id": "1", "subject": "Burn", "status": "pending"}));
    lead.hook("FileChanged", json!({"file_path": path, "event": "add"}));
    let path = sandbox.client("teams/default/inboxes/remy.json");
    lead.hook("FileChanged", json!({"file_path": path, "event": "change"}));
    assert_eq!(sandbox.teams(), Vec::<Value>::new());
    lead.roster(1_000, &["remy"]);
    lead.hook("Stop", json!({}));
    assert_eq!(rows(&sandbox.teams(), "team"), [&json!("default")], "a configuration makes it one");
}
