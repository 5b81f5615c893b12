//! What holds for anything like a policy file.

use std::path::Path;

use proptest::prelude::*;
use teamkeep_config::Config;
use teamkeep_config::check::check;
use teamkeep_config::source::Source;

use super::policy_dirs::Place;

/// Something like a policy file.
fn like_a_policy() -> impl Strategy<Value = String> {
    let table = prop::sample::select(vec![
        "[policy]",
        "[policy.team-size]",
        "[[rule]]",
        "[[policy.completion-check.check]]",
        "[policy.rule]",
        "[log]",
        "[policy.premature-shutdown]",
    ]);
    let name = prop::sample::select(vec![
        "mode",
        "max-blocks",
        "on-error",
        "most",
        "models",
        "exempt",
        "pending",
        "name",
        "action",
        "reason",
        "events",
        "tools",
        "match",
        "run",
        "timeout",
        "subject",
        "keep",
        "check",
    ]);
    let value = prop::sample::select(vec![
        "\"block\"",
        "\"warn\"",
        "\"off\"",
        "3",
        "0",
        "-1",
        "4294967296",
        "0x10",
        "1_000",
        "true",
        "1.5",
        "[]",
        "[\"a*\"]",
        "[1]",
        "\"2m\"",
        "\"\"",
        "{}",
        "{ \"/a\" = \"/b+/\" }",
        "{ \"/a\" = 1 }",
        "[\"Stop\"]",
        "1979-05-27",
        "[{}]",
        "{ mode = \"off\" }",
    ]);
    let line = prop_oneof![
        2 => table.prop_map(str::to_owned),
        5 => (name, value).prop_map(|(name, value)| format!("{name} = {value}")),
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_passes_the_check_can_be_built_and_what_does_not_is_refused(text in like_a_policy()) {
        let sound = check(&Source::new(Path::new("x"), &text)).is_sound;
        prop_assert_eq!(sound, Config::parse(&text, Path::new("x")).is_ok(), "{}", text);
    }

    #[test]
    fn nothing_in_a_file_makes_the_check_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = check(&Source::new(Path::new("x"), &text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_project_never_loosens(user in like_a_policy(), project in like_a_policy()) {
        let (alone, both) = (Place::new(&user, "").load(), Place::new(&user, &project).load());
        let (before, after) = (&alone.config.policy, &both.config.policy);
        prop_assert!(after.on_error >= before.on_error && after.max_blocks == before.max_blocks);
        let (was, is) = (&before.premature_shutdown, &after.premature_shutdown);
        prop_assert!(is.mode >= was.mode && is.pending >= was.pending && is.open_turn >= was.open_turn);
        prop_assert!(is.exempt.iter().all(|name| was.exempt.contains(name)));
        let (was, is) = (&before.team_size, &after.team_size);
        prop_assert!(is.mode >= was.mode && is.most.wrapping_sub(1) <= was.most.wrapping_sub(1));
        prop_assert!(was.models.is_empty() || !is.models.is_empty());
        prop_assert_eq!(&before.completion_check.check, &after.completion_check.check);
        prop_assert_eq!(&alone.config.rule, &both.config.rule);
        prop_assert_eq!(&alone.config.log, &both.config.log);
    }
}
