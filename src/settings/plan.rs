//! Computes and checks the new text of a settings file before anything is written.

use serde_json::Value;

use crate::settings::document::{Document, text_of};
use crate::settings::edit;
use crate::settings::entries::Entry;
use crate::settings::hook_command;
use crate::settings::installed_hooks::ours;

/// The content with exactly these entries of teamkeep, each once; unchanged if that is already so.
///
/// # Errors
/// The reason why this file cannot be edited.
pub fn with_hooks(content: &[u8], wanted: &[Entry]) -> Result<Vec<u8>, String> {
    let (bom, text) = text_of(content)?;
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let before = parse(text)?;
    before.first_extension().map_err(|error| error.cause())?;
    let before = before.data();
    if has_exactly(&ours(&before), wanted) {
        return Ok(content.to_vec());
    }
    let after = edit::insert(&parse(&strip(text)?)?, wanted);
    let now = parse(&after)?.data();
    if !has_exactly(&ours(&now), wanted) || others(now) != others(before) {
        return Err("the change would have altered other settings".to_owned());
    }
    Ok(format!("{bom}{after}").into_bytes())
}

/// The content without teamkeep's entries.
///
/// # Errors
/// The reason why this file cannot be edited.
pub fn without_hooks(content: &[u8]) -> Result<Vec<u8>, String> {
    let (bom, text) = text_of(content)?;
    if text.trim().is_empty() {
        return Ok(content.to_vec());
    }
    Ok(format!("{bom}{}", strip(text)?).into_bytes())
}

/// Removes teamkeep's entries, with the blanks around them if the settings stay intact.
fn strip(text: &str) -> Result<String, String> {
    let expected = others(parse(text)?.data());
    let attempt = |tidy| {
        let after = edit::remove(&parse(text).ok()?, tidy);
        let now = parse(&after).ok()?.data();
        (ours(&now).is_empty() && others(now) == expected).then_some(after)
    };
    attempt(true)
        .or_else(|| attempt(false))
        .ok_or_else(|| "removing the hooks would alter other settings".to_owned())
}

fn parse(text: &str) -> Result<Document, String> {
    Document::parse(text).map_err(|error| error.cause())
}

fn has_exactly(found: &[Entry], wanted: &[Entry]) -> bool {
    found.len() == wanted.len() && wanted.iter().all(|entry| found.contains(entry))
}

/// The settings without teamkeep's commands and without empty containers among the hooks. Two states that are equal in
/// this differ only in teamkeep's hooks.
fn others(mut settings: Value) -> Value {
    let Some(events) = settings.get_mut("hooks").and_then(Value::as_object_mut) else {
        return settings;
    };
    for groups in events.values_mut().filter_map(Value::as_array_mut) {
        groups.retain_mut(|group| {
            let Some(hooks) = group.get_mut("hooks").and_then(Value::as_array_mut) else { return true };
            let before = hooks.len();
            hooks.retain(|hook| !hook_command::is_ours(hook));
            !hooks.is_empty() || before == 0
        });
    }
    events.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
    if events.is_empty()
        && let Some(settings) = settings.as_object_mut()
    {
        settings.shift_remove("hooks");
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::client::ClientVersion;
    use crate::settings::command::HookProgram;
    use crate::settings::entries;
    use crate::settings::installed_hooks::count;
    use crate::settings::needs::Needs;
    use crate::settings::version::Version;

    /// Two entries; one has a matcher.
    fn few() -> Vec<Entry> {
        let program = HookProgram::named("/bin/teamkeep").unwrap();
        let client = ClientVersion::Known(Version(2, 1, 138));
        let mut few = entries::wanted(&client, &program, &[], &Needs::builtin().unwrap()).unwrap();
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

    #[test]
    fn an_empty_file_and_an_empty_object_become_what_one_would_write_by_hand() {
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

    #[test]
    fn ours_come_behind_what_is_there_in_the_manner_of_the_file() {
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
    fn what_was_there_and_empty_is_there_and_empty_again() {
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
    fn what_the_user_changed_since_stays() {
        let mut after = installed("{\n  \"a\": 1\n}\n");
        after = after.replace("\"a\": 1,\n", "\"a\": 2, // two\n\n");
        after = after.replace("  }\n}\n", "  }, // ours\n  \"b\": 3\n}\n");
        after =
            after.replace("\"Stop\": [\n", "\"Stop\": [\n      {\"hooks\": [{\"command\": \"mine\"}]},\n");
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
    fn a_file_that_another_program_wrote_anew_is_left_without_a_trace_of_ours() {
        let settings: Value = serde_json::from_str(&installed("{\"a\": 1}")).unwrap();
        let back = without_hooks(settings.to_string().as_bytes()).unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), "{\"a\":1}");
        let only: Value = serde_json::from_str(&installed("{}")).unwrap();
        assert_eq!(without_hooks(only.to_string().as_bytes()).unwrap(), b"{}");
    }

    #[test]
    fn a_comment_before_ours_never_swallows_what_follows() {
        let text = "{\"a\": 1, // mine\n\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"teamkeep hook stop\"}]}]}}";
        let back = without_hooks(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), "{\"a\": 1 // mine\n}");
    }

    #[test]
    fn an_older_install_is_replaced_and_its_neighbours_stay() {
        let before = r#"{"hooks": {"Stop": [{"hooks": [
            {"command": "first"}, {"command": "'/old place/teamkeep' hook stop"}, {"command": "last"}]}],
            "Gone": [{"hooks": [{"command": "/old/teamkeep", "args": ["hook", "notification"]}]}]}}"#;
        let after: Value = serde_json::from_slice(&with_hooks(before.as_bytes(), &few()).unwrap()).unwrap();
        assert_eq!(count(after.to_string().as_bytes()), 2);
        let stop =
            serde_json::json!([{"hooks": [{"command": "first"}, {"command": "last"}]}, few()[1].group]);
        assert_eq!(after["hooks"]["Stop"], stop);
        assert_eq!(after["hooks"].get("Gone"), None);
    }

    #[test]
    fn what_is_already_so_is_left_as_it_is_wherever_it_stands() {
        let group = |entry: &Entry| entry.group.to_string();
        let few = few();
        let text = format!(
            "{{\"hooks\":{{\"Stop\":[{}], \"PreToolUse\":[{}]}}, // ours\n \"b\": 1}}",
            group(&few[1]),
            group(&few[0])
        );
        assert_eq!(with_hooks(text.as_bytes(), &few).unwrap(), text.as_bytes());
    }
}
