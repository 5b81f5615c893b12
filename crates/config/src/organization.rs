//! The organization's file: the base of every user's configuration on the machine. Users and projects can only tighten the
//! keys that it fixes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::Gate;
use super::check::{Validation, validate};
use super::kinds::{FilePath, ListOf, ValueKind as _, below_home, plain};
use super::project::{EXCLUDE_PROJECTS, ProjectRule, apply_override, renumbered, without_taken_rules};
use super::settings::{Entry, Layer, Settings, parse, words};
use super::source::{self, Code, Problem, Read, Source};
use teamkeep_system::{fs, os};

/// The organization's file. An environment variable cannot name another one: users could then avoid it.
pub const ORGANIZATION_FILE: &str = os::ORGANIZATION_FILE;
/// The most names in a path of a table.
const MAX_PATH_NAMES: usize = 4;
/// The table that only the organization's file can have.
const TABLE: &str = "organization.";
/// Keys on which every gate depends. They are fixed together with any gate, or a user could loosen it by them: a gate
/// allows after `max-blocks`, and cannot evaluate a payload or a team that was not read.
const USED_BY_GATES: [&str; 5] = [
    "policy.max-blocks",
    "hook.largest-input",
    "hook.stdin-patience",
    "archive.largest-file",
    "archive.longest-look",
];
/// The patterns of texts that are sent redacted. They are fixed together with the privacy of what is sent.
const USED_BY_SHIPPING: &str = "privacy.redact";
/// The prices by which limits in money are evaluated. They are fixed together with the limits.
const USED_BY_LIMITS: &str = "report.price";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Organization {
    /// Keys and tables that others can only make stricter.
    #[serde(with = "ListOf::<KeyOrTable>")]
    pub fixed: Vec<String>,
    /// Whether pauses and allowances of users apply to fixed gates.
    pub allow_pauses: bool,
    /// Where each user's store is to be; empty if it can be anywhere.
    #[serde(with = "FilePath")]
    pub store: String,
}

impl Organization {
    /// The gates that users cannot pause.
    pub fn unpausable(&self) -> Vec<Gate> {
        Gate::ALL.into_iter().filter(|gate| !self.allow_pauses && self.fixes_gate(*gate)).collect()
    }

    /// Whether it fixes any gate.
    pub fn fixes_gates(&self) -> bool {
        Gate::ALL.into_iter().any(|gate| self.fixes_gate(gate))
    }

    /// Where the store is to be; `None` if it can be anywhere.
    pub fn store_path(&self, home: Option<&Path>) -> Option<PathBuf> {
        below_home(&self.store, home)
    }

    fn fixes_gate(&self, gate: Gate) -> bool {
        match gate {
            Gate::Rule => self.names("rule"),
            gate => self.names(&format!("policy.{}.mode", gate.name())),
        }
    }

    /// Whether it fixes the key with this path: `fixed` names it, or what it names depends on the key.
    fn fixes(&self, path: &str) -> bool {
        self.names(path)
            || (USED_BY_GATES.contains(&path) && self.fixes_gates())
            || (path == USED_BY_SHIPPING && self.names("ship.privacy"))
            || (is_in(path, USED_BY_LIMITS) && self.names("policy.budget.limit"))
    }

    /// Whether `fixed` names the key with this path, or its table.
    fn names(&self, path: &str) -> bool {
        self.fixed.iter().any(|fixed| is_in(path, fixed))
    }
}

kinds! {
    KeyOrTable(String): "a string", {"type": "string"},
        |text| match is_known(text) {
            true => plain(text),
            false => Err(format!("unknown key or table {text:?}").into()),
        },
        String::clone;
}

/// Whether there is a key or a table at this path: a value of no type there is not an unknown field, and not in another
/// value than a table. Lists are fixed as a whole.
fn is_known(path: &str) -> bool {
    let tree = path.rsplit('.').take(MAX_PATH_NAMES).fold(Json::Null, |below, name| json!({ name: below }));
    let error = parse(&tree).map_or_else(|error| error.to_string(), |_| String::new());
    !error.starts_with("unknown field") && !error.starts_with("invalid type: map")
}

/// Whether a path is this key, or in this table or list.
fn is_in(path: &str, table: &str) -> bool {
    path.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Adds the values of the user's file. They replace those of the organization, except that fixed ones only become stricter.
/// Items of lists are added behind those of the organization.
pub(super) fn add_user(
    settings: &mut Settings,
    entries: Vec<Entry>,
    source: &Source,
    problems: &mut Vec<Problem>,
) {
    let organization = Organization {
        fixed: settings
            .get("organization.fixed")
            .into_iter()
            .flat_map(|fixed| words(&fixed.value))
            .map(str::to_owned)
            .collect(),
        ..Organization::default()
    };
    let report = |entry: &Entry, code, message: String| source.problem(code, entry.span.clone(), message);
    let (items, values): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.path.contains('['));
    for entry in values {
        if entry.path.starts_with(TABLE) {
            let message = format!("only {ORGANIZATION_FILE} can set `{}`", entry.path);
            problems.push(report(&entry, Code::NotInUserFile, message));
        } else if organization.fixes(&entry.path) || entry.path == EXCLUDE_PROJECTS {
            apply_override(settings, &entry, source, Layer::User, problems);
        } else {
            settings.insert(entry.path.clone(), entry.setting(source, Layer::User));
        }
    }
    let mut added = without_taken_rules(&items, settings, source, problems);
    added.retain(|entry| {
        let is_addable =
            ProjectRule::of(&entry.path) == ProjectRule::Added || !organization.fixes(&entry.path);
        let list = entry.path.split('[').next().unwrap_or_default();
        let problem = || report(entry, Code::WouldLoosen, format!("the organization has fixed `{list}`"));
        problems.extend((!is_addable).then(problem));
        is_addable
    });
    let added = renumbered(&added, settings, source, Layer::User);
    settings.extend(added);
    problems.sort_by_key(|problem| problem.at.unwrap_or((usize::MAX, 0)));
}

/// The last valid content of the organization's file, stored by a hook call. It applies while the file is broken.
pub(super) fn last_valid(copy: &Path, file: &Path, validation: Validation) -> Option<(Source, Vec<Entry>)> {
    let mut source = source::read(copy, source::MAX_BYTES).ok()??.source;
    source.path = file.to_path_buf();
    // Another version of the program may have stored it.
    let checked = validate(&source, validation);
    checked.is_sound.then_some((source, checked.entries))
}

/// Stores the content for [`last_valid`]. A failure is ignored.
pub(super) fn store_valid(copy: &Path, read: &Read) {
    let is_known = fs::read_regular(copy, source::MAX_BYTES)
        .is_ok_and(|(bytes, _)| bytes == read.source.text.as_bytes());
    if let (Some(dir), false) = (copy.parent(), is_known) {
        let _ = fs::private_dir(dir).and_then(|()| fs::write_atomic(copy, read.source.text.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::layers::{Effective, Files, load, load_cached};
    use super::super::{Mode, OnError, RecordMode};
    use super::*;

    const OURS: &str = "[organization]\nfixed = [\"policy.premature-shutdown\", \"privacy\", \"rule\"]\n\
        [policy]\nmax-blocks = 7\n[policy.premature-shutdown]\nmode = \"warn\"\nexempt = [\"bob\"]\n\
        [privacy]\nrecord = \"metadata\"\n[[rule]]\nname = \"no-push\"\naction = \"warn\"\nmatch = { \"/a\" = \"b\" }\n";

    /// The files of an organization and a user.
    fn files(dir: &Path, organization: &str, user: &str) -> Files {
        let path = |name: &str| dir.join(name);
        std::fs::write(path("organization.toml"), organization).unwrap();
        std::fs::write(path("teamkeep.toml"), user).unwrap();
        let organization = Some(path("organization.toml"));
        Files {
            organization,
            user: path("teamkeep.toml"),
            cache: path("policy/.understood"),
            ..Files::default()
        }
    }

    fn codes(effective: &Effective) -> Vec<&str> {
        effective.problems.iter().map(|problem| problem.code.name()).collect()
    }

    #[test]
    fn a_user_changes_what_is_not_fixed_and_tightens_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let user = "[policy]\non-error = \"block\"\nmax-blocks = 7\n[policy.premature-shutdown]\nmode = \"block\"\nexempt = []\n";
        let effective = load(&files(dir.path(), OURS, user));
        assert_eq!(codes(&effective), [""; 0]);
        let policy = &effective.config.policy;
        assert_eq!((policy.on_error, policy.premature_shutdown.mode), (OnError::Block, Mode::Block));
        assert!(policy.premature_shutdown.exempt.is_empty());
        assert_eq!(effective.origin("privacy.record").layer, Layer::Organization);
        assert_eq!(effective.origin("policy.premature-shutdown.mode").layer, Layer::User);
        assert_eq!(policy.unpausable, [Gate::PrematureShutdown, Gate::Rule]);
        let leave = OURS.replace("fixed =", "allow-pauses = true\nfixed =");
        assert!(load(&files(dir.path(), &leave, user)).config.policy.unpausable.is_empty());
    }

    #[test]
    fn a_user_cannot_loosen_what_is_fixed_in_any_way() {
        let dir = tempfile::tempdir().unwrap();
        for (user, code) in [
            ("[policy.premature-shutdown]\nmode = \"off\"", "would-loosen"),
            ("[policy.premature-shutdown]\nexempt = [\"bob\", \"eve\"]", "would-loosen"),
            ("[privacy]\nrecord = \"verbatim\"", "would-loosen"),
            ("[[privacy.pattern]]\nname = \"x\"\nregex = \"y\"", "would-loosen"),
            ("[policy]\nmax-blocks = 1", "would-loosen"),
            ("[hook]\nlargest-input = \"1 B\"", "would-loosen"),
            ("[hook]\nstdin-patience = \"0s\"", "would-loosen"),
            ("[organization]\nfixed = []", "not-in-user-file"),
            ("[organization]\nallow-pauses = true", "not-in-user-file"),
            ("[[rule]]\nname = \"no-push\"\naction = \"warn\"", "rule-name-taken"),
        ] {
            let effective = load(&files(dir.path(), OURS, user));
            assert!(codes(&effective).contains(&code), "{user}: {:?}", effective.problems);
            let alone = load(&files(dir.path(), OURS, ""));
            assert_eq!(effective.config, alone.config, "{user}");
        }
    }

    #[test]
    fn rules_of_the_user_follow_those_of_the_organization() {
        let dir = tempfile::tempdir().unwrap();
        let user =
            "[[rule]]\nname = \"no-push\"\naction = \"warn\"\n[[rule]]\nname = \"own\"\naction = \"warn\"\n";
        let effective = load(&files(dir.path(), OURS, user));
        let names: Vec<&str> = effective.config.rule.iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!(names, ["no-push", "own"]);
    }

    #[test]
    fn the_file_is_not_the_user_s_too() {
        let dir = tempfile::tempdir().unwrap();
        let both = files(dir.path(), OURS, "");
        let user = dir.path().join("organization.toml");
        assert_eq!(codes(&load(&Files { user, ..both })), [""; 0]);
    }

    #[test]
    fn a_project_s_rule_cannot_have_the_name_of_an_organization_s() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("project.toml"), "[[rule]]\nname = \"no-push\"\naction = \"warn\"\n")
            .unwrap();
        let project = Some(dir.path().join("project.toml"));
        let effective = load(&Files { project, ..files(dir.path(), OURS, "") });
        assert!(
            effective.problems[0].message.contains("in the organization's file"),
            "{:?}",
            effective.problems
        );
        assert_eq!(effective.config.rule.len(), 1);
    }

    #[test]
    fn a_hook_call_reads_both_files_again_when_one_changes() {
        let dir = tempfile::tempdir().unwrap();
        let both = files(dir.path(), OURS, "[policy]\non-error = \"block\"\n");
        for max in [7, 8, 9] {
            std::fs::write(dir.path().join("organization.toml"), OURS.replace("= 7", &format!("= {max}")))
                .unwrap();
            for _ in 0..2 {
                let effective = load_cached(&both);
                assert_eq!(effective.config, load(&both).config);
                assert_eq!(effective.config.policy.max_blocks, max);
                assert_eq!(effective.config.policy.unpausable.len(), 2);
            }
        }
        let only = Files { user: PathBuf::from("/nonexistent"), ..both };
        for _ in 0..2 {
            assert_eq!(load_cached(&only).config.privacy.record, RecordMode::Metadata);
        }
    }

    #[test]
    fn the_cache_of_a_user_cannot_replace_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let both = files(dir.path(), OURS, "[hook]\nwatch = false\n");
        let good = load_cached(&both).config;
        let mut cache: Json = serde_json::from_slice(&std::fs::read(&both.cache).unwrap()).unwrap();
        cache["config"] = serde_json::json!({});
        cache["places"] = serde_json::json!([]);
        std::fs::write(&both.cache, cache.to_string()).unwrap();
        assert_eq!(load_cached(&both).config, good);
        std::fs::remove_file(dir.path().join("organization.toml")).unwrap();
        load_cached(&both);
        // It cannot be read, and the hash of the cache is that of the user's file.
        std::fs::create_dir(dir.path().join("organization.toml")).unwrap();
        assert_eq!(codes(&load_cached(&both)), ["organization-broken"]);
    }

    #[test]
    fn prices_are_fixed_together_with_the_limits_in_money() {
        let dir = tempfile::tempdir().unwrap();
        let price = "[[report.price]]\nmodel = \"*\"\ninput = 0\n";
        let limit = "[[policy.budget.limit]]\nper = \"run\"\nusd = 5\n";
        for (fixed, prices) in [("policy.budget", 0), ("policy.budget.limit", 0), ("privacy", 1)] {
            let organization = format!("[organization]\nfixed = [\"{fixed}\"]\n{limit}");
            let effective = load(&files(dir.path(), &organization, price));
            assert_eq!(effective.config.report.price.len(), prices, "{fixed}: {:?}", effective.problems);
        }
    }

    #[test]
    fn the_last_valid_content_applies_while_the_file_is_broken() {
        let dir = tempfile::tempdir().unwrap();
        let both = files(dir.path(), OURS, "");
        let good = load_cached(&both).config;
        for broken in [
            "[polity]\n",
            "[organization]\nfixed = [\"polity\"]\n",
            "[organization]\nfixed = [\"rule[]\"]\n",
            "x = \"\u{0}",
        ] {
            std::fs::write(dir.path().join("organization.toml"), broken).unwrap();
            for _ in 0..2 {
                let effective = load_cached(&both);
                assert_eq!(codes(&effective), ["organization-broken"], "{broken}");
                assert!(!effective.is_broken());
                assert_eq!(
                    (&effective.config.policy, &effective.config.privacy),
                    (&good.policy, &good.privacy)
                );
            }
        }
        let unknown = Files { cache: dir.path().join("other/.understood"), ..both.clone() };
        assert!(load(&unknown).is_broken(), "never valid");
        let blocking = "[polity]\n[policy]\non-error = \"block\"\n";
        std::fs::write(dir.path().join("organization.toml"), blocking).unwrap();
        assert_eq!(load(&unknown).config.policy.on_error, OnError::Block);
        std::fs::remove_file(dir.path().join("organization.toml")).unwrap();
        assert_eq!(load_cached(&both).config, super::super::Config::default(), "no organization any more");
    }
}
