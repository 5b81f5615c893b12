//! Names in every spelling that some version of Claude Code understands.

use serde_json::json;

use super::scene::{Scene, after, approve, ask, before, lead, mate};
use crate::Decision::{self, Block};

/// bob, my-agent and carol; the first two are working.
fn scene() -> Scene {
    let mut scene = Scene::with(&[("1", "in_progress", "bob", &[]), ("2", "in_progress", "my-agent", &[])]);
    scene.team.members = ["team-lead", "bob", "my-agent", "carol"].map(str::to_owned).into();
    scene
}

fn asked(scene: &mut Scene, word: &str) -> Vec<(&'static str, Decision)> {
    scene.codes(&lead(), &before("SendMessage", ask(word)))
}

fn stopped(scene: &mut Scene, word: &str) -> Vec<(&'static str, Decision)> {
    scene.codes(&lead(), &before("TaskStop", json!({"task_id": word})))
}

#[test]
fn no_spelling_of_the_name_stops_a_busy_member() {
    let mut scene = scene();
    for word in [
        "BOB",
        " bob",
        "\tbob",
        "bob\u{a0}",
        "b\u{200b}ob",
        "bob\u{ad}",
        "\u{2066}bob",
        "\u{feff}bob",
        "ｂｏｂ",
        "𝐛𝐨𝐛",
        "ⓑⓞⓑ",
        "bob\u{e0001}",
        "b\u{180e}ob",
        "bob\u{fffd}",
        "b\u{0}ob",
        "＠bob",
        "bob＠parser-team",
        "\u{200b}@bob",
        "My Agent",
        "my\u{a0}agent",
        "my\u{feff}agent",
        "MY  AGENT",
        "my\u{200b}-agent",
        "my－agent",
    ] {
        assert_eq!(asked(&mut scene, word), [("shutdown-of-busy-teammate", Block)], "{word:?}");
        assert_eq!(stopped(&mut scene, word), [("stop-of-busy-teammate", Block)], "{word:?}");
    }
}

#[test]
fn a_request_reaches_a_member_by_its_inbox_name() {
    let mut scene = scene();
    for word in ["my.agent", "my/agent", "my.agent@parser-team"] {
        assert_eq!(asked(&mut scene, word), [("shutdown-of-busy-teammate", Block)], "{word:?}");
    }
    for word in ["my-", "my-a", "my", "bob.", "bоb", "b-b", "bobby", "bob [d19019]"] {
        assert_eq!(asked(&mut scene, word), [("shutdown-of-absent-teammate", Decision::Warn)], "{word:?}");
    }
}

#[test]
fn one_name_may_fold_to_a_member_and_be_the_inbox_of_another() {
    let mut scene = scene();
    scene.team.members.push("myagent".to_owned());
    assert_eq!(asked(&mut scene, "my\u{ad}agent"), [("shutdown-of-busy-teammate", Block)]);
    assert!(asked(&mut scene, "myagent").is_empty());
}

#[test]
fn of_two_members_that_fold_alike_the_exact_name_is_used() {
    let mut scene = scene();
    scene.team.members.push("Bob".to_owned());
    assert!(asked(&mut scene, "Bob").is_empty() && stopped(&mut scene, "Bob").is_empty());
    assert_eq!(asked(&mut scene, "BOB").len(), 1, "the first of them");
    scene.policy.premature_shutdown.exempt = vec!["Bob".to_owned()];
    assert_eq!(asked(&mut scene, "bob").len(), 1, "the other one is exempt");
    scene.policy.premature_shutdown.exempt = vec!["BO\u{200b}B".to_owned()];
    assert!(asked(&mut scene, "bob").is_empty());
}

#[test]
fn an_owner_with_invisible_characters_is_the_member() {
    for owner in ["carol\u{200b}", "\u{2066}Carol\u{2069}", "ｃａｒｏｌ", "@carol\u{ad}", "carol\u{fe0f}"]
    {
        let mut scene = Scene::with(&[("1", "in_progress", owner, &[])]);
        assert_eq!(asked(&mut scene, "carol"), [("shutdown-of-busy-teammate", Block)], "{owner:?}");
        assert!(asked(&mut scene, "bob").is_empty(), "{owner:?}");
    }
}

#[test]
fn the_lead_is_protected_in_every_spelling() {
    let mut scene = scene();
    for word in [
        "team-lead",
        "TEAM-LEAD",
        "team-lead\u{200b}",
        "team lead",
        "Team\u{a0}Lead",
        "ｔｅａｍ-lead",
        "team.lead",
        "team-lead@parser-team",
        "@team-lead",
    ] {
        assert_eq!(asked(&mut scene, word), [("shutdown-of-lead", Block)], "{word:?}");
    }
    let answer = before("SendMessage", approve("TEAM-lead\u{200b}"));
    assert_eq!(scene.codes(&mate("carol"), &answer), [("shutdown-approved-by-lead", Block)]);
}

#[test]
fn a_message_to_another_spelling_reaches_the_member() {
    let mut scene = scene();
    scene.says(&mate("my-agent"), "team-lead", "Hello");
    scene.happens(&lead(), &after("SendMessage", ask("my.agent")));
    assert!(scene.team.ledger.of("my-agent").stopping);
    scene.happens(&lead(), &after("TaskStop", json!({"task_id": "My Agent"})));
    assert!(scene.team.ledger.has_left("my-agent"));
}

#[test]
fn another_spelling_of_a_member_that_left_is_not_a_member_of_its_own() {
    let mut scene = scene();
    let works = before("TaskList", json!({}));
    let stop = |name: &str| after("TaskStop", json!({"task_id": name}));
    scene.happens(&mate("bob"), &works);
    scene.happens(&lead(), &stop("bob"));
    scene.says(&lead(), "Bob", "Are you there?");
    scene.happens(&mate("bob"), &works);
    scene.happens(&lead(), &stop("Bob"));
    assert!(scene.team.ledger.has_left("bob"));
}
