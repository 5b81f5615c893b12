//! Tests of the change of a settings file.

use super::*;
use teamkeep_model::payload::EventKind;

/// Two entries; one has a matcher.
fn few() -> Vec<HookEntry> {
    let program = HookProgram::named("/bin/teamkeep").unwrap();
    let client = ClientVersion::Known(Version(2, 1, 138));
    let mut few = wanted(&client, &program, &[], &Needs::builtin());
    few.retain(|entry| ["Stop", "PreToolUse"].contains(&entry.event.as_str()));
    few[0].group["matcher"] = "Agent".into();
    few
}

fn installed(before: &str) -> String {
    let after = String::from_utf8(with_hooks(before.as_bytes(), &few()).unwrap()).unwrap();
    let twice = with_hooks(after.as_bytes(), &few()).unwrap();
    assert_eq!(String::from_utf8(twice).unwrap(), after, "twice is once");
    if !before.trim().is_empty() {
        let back = without_hooks(after.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), before, "and back again");
    }
    after
}

#[cfg_attr(windows, ignore = "uses Unix paths")]
#[test]
fn empty_file_and_empty_object_become_handwritten_layout() {
    let by_hand = r#"{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Agent",
        "hooks": [
          {
            "type": "command",
            "command": "/bin/teamkeep hook pre-tool-use",
            "timeout": 10
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/bin/teamkeep hook stop",
            "timeout": 10
          }
        ]
      }
    ]
  }
}
"#;
    assert_eq!(installed("{}\n"), by_hand);
    assert_eq!(installed(""), by_hand);
    assert_eq!(installed(" \n"), by_hand);
    assert_eq!(installed("{}"), by_hand.trim_end());
}

#[cfg_attr(windows, ignore = "uses Unix paths")]
#[test]
fn hooks_are_appended_in_the_layout_of_the_file() {
    let before = "{\r\n\t// mine\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{\"hooks\": []} // why\r\n\t\t],\r\n\t},\r\n\t\"z\": 1\r\n}";
    insta::assert_snapshot!(installed(before).replace("\r\n", "␍\n"), @r#"
        {␍
        	// mine␍
        	"hooks": {␍
        		"Stop": [␍
        			{"hooks": []}, // why␍
        			{␍
        				"hooks": [␍
        					{␍
        						"type": "command",␍
        						"command": "/bin/teamkeep hook stop",␍
        						"timeout": 10␍
        					}␍
        				]␍
        			}␍
        		],␍
        		"PreToolUse": [␍
        			{␍
        				"matcher": "Agent",␍
        				"hooks": [␍
        					{␍
        						"type": "command",␍
        						"command": "/bin/teamkeep hook pre-tool-use",␍
        						"timeout": 10␍
        					}␍
        				]␍
        			}␍
        		],␍
        	},␍
        	"z": 1␍
        }
        "#);
}

#[test]
fn existing_empty_containers_are_restored() {
    for before in [
        "{\"hooks\": {}}",
        "{ \"hooks\" : { } }",
        "{\n  \"hooks\": {\n  }\n}\n",
        "{\"hooks\": {\"Stop\": []}}",
        "{\"hooks\": {\"Stop\": [ ], \"PreToolUse\": [\n]}}",
        "{\"hooks\": {\"Stop\": [ /* none */ ], \"Other\": [],}}",
        "{\"hooks\": { // none\n}}",
        "{\n}",
        "{\n\n}\n\n",
        "{ // nothing here\n}",
        "{ /* nothing here */ }",
        "\u{feff}{\"a\": [1, 2, {}],}\n",
        "// head\n{\"a\": 1 /* one */ , /* two */ // three\n}\n// tail",
        "{\"a\":1}",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}",
    ] {
        installed(before);
    }
}

#[test]
fn later_user_changes_are_preserved() {
    let mut after = installed("{\n  \"a\": 1\n}\n");
    after = after.replace("\"a\": 1,\n", "\"a\": 2, // two\n\n");
    after = after.replace("  }\n}\n", "  }, // ours\n  \"b\": 3\n}\n");
    after = after.replace("\"Stop\": [\n", "\"Stop\": [\n      {\"hooks\": [{\"command\": \"mine\"}]},\n");
    let back = without_hooks(after.as_bytes()).unwrap();
    insta::assert_snapshot!(String::from_utf8(back).unwrap(), @r#"
        {
          "a": 2, // two

          "hooks": {
            "Stop": [
              {"hooks": [{"command": "mine"}]}
            ]
          }, // ours
          "b": 3
        }
        "#);
}

#[test]
fn reformatted_file_is_cleaned_completely() {
    let settings: Value = serde_json::from_str(&installed("{\"a\": 1}")).unwrap();
    let back = without_hooks(settings.to_string().as_bytes()).unwrap();
    assert_eq!(String::from_utf8(back).unwrap(), "{\"a\":1}");
    let only: Value = serde_json::from_str(&installed("{}")).unwrap();
    assert_eq!(without_hooks(only.to_string().as_bytes()).unwrap(), b"{}");
}

#[test]
fn comment_before_removed_hooks_does_not_swallow_what_follows() {
    let text =
        "{\"a\": 1, // mine\n\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"teamkeep hook stop\"}]}]}}";
    let back = without_hooks(text.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(back).unwrap(), "{\"a\": 1 // mine\n}");
}

#[test]
fn older_install_is_replaced_and_other_hooks_stay() {
    let before = r#"{"hooks": {"Stop": [{"hooks": [
            {"command": "first"}, {"command": "'/old place/teamkeep' hook stop"}, {"command": "last"}]}],
            "Gone": [{"hooks": [{"command": "/old/teamkeep", "args": ["hook", "notification"]}]}]}}"#;
    let after: Value = serde_json::from_slice(&with_hooks(before.as_bytes(), &few()).unwrap()).unwrap();
    assert_eq!(ours(&after).len(), 2);
    let stop = serde_json::json!([{"hooks": [{"command": "first"}, {"command": "last"}]}, few()[1].group]);
    assert_eq!(after["hooks"]["Stop"], stop);
    assert_eq!(after["hooks"].get("Gone"), None);
}

#[test]
fn existing_hooks_stay_unchanged_in_any_order() {
    let group = |entry: &HookEntry| entry.group.to_string();
    let few = few();
    let text = format!(
        "{{\"hooks\":{{\"Stop\":[{}], \"PreToolUse\":[{}]}}, // ours\n \"b\": 1}}",
        group(&few[1]),
        group(&few[0])
    );
    assert_eq!(with_hooks(text.as_bytes(), &few).unwrap(), text.as_bytes());
}

fn builtin() -> Needs {
    Needs::builtin()
}

fn events(client: ClientVersion) -> Vec<String> {
    let program = HookProgram::named("/bin/teamkeep").unwrap();
    wanted(&client, &program, &[], &builtin()).into_iter().map(|entry| entry.event).collect()
}

fn known(version: Version) -> Vec<String> {
    events(ClientVersion::Known(version))
}

#[test]
fn every_late_event_has_a_hook() {
    for (event, _) in crate::version::SINCE {
        assert!(EVENTS.contains(&EventKind::named(event)), "{event}");
    }
}

#[test]
fn client_gets_only_the_events_that_it_has() {
    assert_eq!(known(Version(2, 1, 332)).len(), 17);
    assert_eq!(known(Version(2, 1, 331)).len(), 16);
    assert_eq!(known(Version(2, 1, 84)).len(), 16);
    assert!(!known(Version(2, 1, 83)).contains(&"TaskCreated".to_owned()));
    assert!(known(Version(2, 1, 83)).contains(&"FileChanged".to_owned()));
    assert!(!known(Version(2, 1, 82)).contains(&"FileChanged".to_owned()));
    assert!(!known(Version(2, 1, 77)).contains(&"StopFailure".to_owned()));
    assert!(known(Version(2, 1, 33)).contains(&"TeammateIdle".to_owned()));
    assert_eq!(known(Version(2, 1, 32)).len(), 11);
    assert!(!known(Version(2, 0, 42)).contains(&"SubagentStart".to_owned()));
    assert_eq!(unknown_to(Version(2, 1, 83)), ["PreSkillShellCommand", "TaskCreated"]);
}

#[cfg_attr(windows, ignore = "uses Unix paths")]
#[test]
fn unknown_client_gets_the_events_of_all_versions_in_the_old_form() {
    let unknown = ClientVersion::Unknown("it is asleep".to_owned());
    assert_eq!(events(unknown.clone()), known(FIRST_WITH_TEAMS));
    let program = HookProgram::named("/bin/teamkeep").unwrap();
    let entries = wanted(&unknown, &program, &[], &builtin());
    assert_eq!(entries[0].group["hooks"][0]["command"], "/bin/teamkeep hook session-start");
    assert_eq!(entries[0].group["hooks"][0].get("args"), None);
}

#[test]
fn unknown_client_keeps_existing_hooks_and_their_form() {
    let unknown = ClientVersion::Unknown("it is asleep".to_owned());
    let (old, new) =
        (HookProgram::named("/old/teamkeep").unwrap(), HookProgram::named("/new/teamkeep").unwrap());
    for version in [Version(2, 1, 328), Version(2, 1, 100), Version(2, 1, 47)] {
        let there = wanted(&ClientVersion::Known(version), &old, &[], &builtin());
        assert_eq!(wanted(&unknown, &old, &there, &builtin()), there);
        let moved = wanted(&ClientVersion::Known(version), &new, &[], &builtin());
        assert_eq!(wanted(&unknown, &new, &there, &builtin()), moved);
    }
    let few = &wanted(&ClientVersion::Known(Version(2, 1, 328)), &old, &[], &builtin())[14..];
    let now = wanted(&unknown, &old, few, &builtin());
    assert_eq!(now.len(), 14, "what every client knows comes to the two that were there");
    assert!(now.iter().all(has_args), "in the form of the two");
}

#[cfg_attr(windows, ignore = "uses Unix paths")]
#[test]
fn args_are_written_since_2_1_139() {
    let program = HookProgram::named("/bin/teamkeep").unwrap();
    let of = |version| {
        wanted(&ClientVersion::Known(version), &program, &[], &builtin())[1].group["hooks"][0].clone()
    };
    let exec = of(Version(2, 1, 139));
    assert_eq!(exec["command"], "/bin/teamkeep");
    assert_eq!(exec["args"], serde_json::json!(["hook", "session-end"]));
    assert_eq!(of(Version(2, 1, 138))["command"], "/bin/teamkeep hook session-end");
}

fn entries(list: &[(&str, u32)]) -> Vec<HookEntry> {
    let entry =
        |(event, group): &(&str, u32)| HookEntry { event: (*event).to_owned(), group: (*group).into() };
    list.iter().map(entry).collect()
}

fn described(before: &[(&str, u32)], after: &[(&str, u32)]) -> String {
    describe(&entries(before), &entries(after), "settings.json")
}

#[test]
fn description_counts_every_hook_before_and_after() {
    assert_eq!(described(&[], &[("Stop", 1), ("Start", 1)]), "installed 2 hooks in settings.json");
    assert_eq!(
        described(&[("Stop", 1), ("Start", 1), ("Gone", 1)], &[("Stop", 2), ("Start", 2), ("New", 2)]),
        "replaced 2 hooks in settings.json, added 1: New, removed 1: Gone"
    );
    assert!(named(&["Stop"; EVENTS.len() + 4]).ends_with(", Stop and 4 more"));
    assert_eq!(described(&[("Stop", 1)], &[("Stop", 1), ("New", 1)]), "added 1 hook to settings.json: New");
    assert_eq!(
        described(&[("Stop", 1), ("Stop", 2), ("Stop", 1)], &[("Stop", 1)]),
        "removed 2 hooks from settings.json: Stop, Stop"
    );
}

#[test]
fn diff_shows_changes_with_context() {
    let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
    let after = "1\n2\n3\n4\n5 five\n6\n7\n8\n9\n10\n11\n12\n13\n";
    insta::assert_snapshot!(diff(before, after), @r"
        @@ -2,7 +2,7 @@
         2
         3
         4
        -5
        +5 five
         6
         7
         8
        @@ -10,3 +10,4 @@
         10
         11
         12
        +13
        ");
    assert_eq!(diff(before, before), "");
}

#[test]
fn diff_shows_a_new_or_removed_file_completely() {
    assert_eq!(diff("", "{\n}\n"), "@@ -0,0 +1,2 @@\n+{\n+}\n");
    assert_eq!(diff("{\n\t}\n", ""), "@@ -1,2 +0,0 @@\n-{\n-\t}\n");
    for end in ["\r", "\r\n"] {
        let [before, after] = ["{|1|}|", "{|2|}|"].map(|text| text.replace('|', end));
        assert_eq!(diff(&before, &after), "@@ -1,3 +1,3 @@\n {\n-1\n+2\n }\n", "{end:?}");
    }
}

#[test]
fn diff_escapes_terminal_sequences() {
    assert_eq!(diff("", "\u{1b}[2J"), "@@ -0,0 +1 @@\n+\\u{1b}[2J\n");
}
