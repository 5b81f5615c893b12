//! What a user's policy file and a project's mean together: a project tightens, and never loosens.

use teamkeep_config::{Config, Layer, Mode, OnError, Origin};

use super::policy_dirs::{Place, codes};

#[test]
fn a_project_can_tighten_the_policy() {
    let place = Place::new(
        "[policy.premature-shutdown]\nexempt = [\"bob\", \"eve\"]\n[policy.team-size]\nmost = 5\nmodels = [\"claude-*\"]\n",
        r#"[policy]
on-error = "block"
[policy.premature-shutdown]
pending = true
exempt = ["eve"]
without-tasks = "block"
[policy.idle-with-work]
mode = "block"
[policy.team-size]
most = 3
mode = "warn"
agent-types = ["Explore"]
models = ["claude-opus-4"]
"#,
    );
    let effective = place.load();
    assert_eq!(effective.problems, []);
    let policy = &effective.config.policy;
    assert_eq!(policy.on_error, OnError::Block);
    assert!(policy.premature_shutdown.pending);
    assert_eq!(policy.premature_shutdown.exempt, ["eve"]);
    assert_eq!(policy.premature_shutdown.without_tasks, Mode::Block);
    assert_eq!(policy.idle_with_work.mode, Mode::Block);
    assert_eq!((policy.team_size.most, policy.team_size.mode), (3, Mode::Warn));
    assert_eq!(policy.team_size.agent_types, ["Explore"]);
    assert_eq!(policy.team_size.models, ["claude-opus-4"]);
    let origin = effective.origin("policy.idle-with-work.mode");
    assert_eq!((origin.layer, origin.line), (Layer::Project, Some(8)));
    assert_eq!(effective.origin("policy.max-blocks"), &Origin::DEFAULT);
}

#[test]
fn a_project_cannot_loosen_the_policy_and_the_rest_of_its_file_applies() {
    let user = r#"[policy]
on-error = "block"
[policy.premature-shutdown]
pending = true
exempt = ["bob"]
[policy.team-size]
mode = "block"
most = 5
agent-types = ["Explore"]
models = ["claude-*"]
[policy.idle-with-work]
mode = "block"
"#;
    let project = r#"[log]
keep = "1d"
[policy]
on-error = "allow"
max-blocks = 1
[policy.premature-shutdown]
mode = "warn"
pending = false
exempt = ["bob", "eve"]
[policy.team-size]
mode = "off"
most = 0
agent-types = []
models = ["*", "gpt", "claude-a*", "claude-b"]
[policy.idle-with-work]
mode = "warn"
waiting-key = "x"
[policy.lead-stops-early]
mode = "block"
"#;
    let (alone, both) = (Place::new(user, "").load(), Place::new(user, project).load());
    let mut expected = alone.config.clone();
    expected.policy.lead_stops_early.mode = Mode::Block;
    expected.policy.team_size.models = vec!["claude-b".to_owned()];
    assert_eq!(both.config, expected);
    assert_eq!(
        codes(&both),
        [
            "not-in-project",
            "would-loosen",
            "not-in-project",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "would-loosen",
            "not-in-project",
        ]
    );
    assert!(!both.is_broken());
}

#[test]
fn an_exempt_name_that_only_a_project_has_is_reported_and_ignored() {
    let exempt = |names: &str| format!("[policy.premature-shutdown]\nexempt = [{names}]\n");
    let effective = Place::new(&exempt("\"bob\""), &exempt("\"eve\"")).load();
    assert_eq!(codes(&effective), ["would-loosen"]);
    assert!(effective.config.policy.premature_shutdown.exempt.is_empty());
}

#[test]
fn an_allow_list_that_becomes_empty_allows_nothing() {
    let user = "[policy.team-size]\nmodels = [\"claude-*\"]\n";
    for project in ["[]", "[\"gpt\"]", "[\"*\"]"] {
        let place = Place::new(user, &format!("[policy.team-size]\nmodels = {project}\n"));
        let effective = place.load();
        assert_eq!(effective.config.policy.team_size.models, ["claude-*"], "{project}");
        assert_eq!(codes(&effective), ["would-loosen"]);
    }
}

#[test]
fn the_user_file_is_not_a_project_file_even_inside_a_project() {
    let mut place = Place::new("", "[log]\nkeep = \"1d\"\n[policy.protect-lead]\nmode = \"off\"\n");
    place.files.user = place.project().to_path_buf();
    let effective = place.load();
    assert_eq!(effective.problems, []);
    assert_eq!(effective.config.policy.protect_lead.mode, Mode::Off);
}

#[test]
fn a_broken_project_file_is_ignored_except_for_its_on_error() {
    let place = Place::new(
        "",
        "[policy]\nprotect-lead = { mode = \"block\" }\nteam-size = { mode = \"block\" }\nnonsense = 1\n",
    );
    let effective = place.load();
    assert_eq!((effective.config, effective.problems.len()), (Config::default(), 1));
    let place =
        Place::new("", "[policy]\non-error = \"block\"\nteam-size = { mode = \"block\" }\nnonsense = 1\n");
    let effective = place.load();
    let mut expected = Config::default();
    expected.policy.on_error = OnError::Block;
    assert_eq!((effective.config, effective.problems.len()), (expected, 1));
}
