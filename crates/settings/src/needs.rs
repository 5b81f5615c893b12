//! The table of hooks: the events and tools that need one, for the recorder, the gates and the rules. The policy adds tools to
//! those of every install: no other tool waits for a hook. And the matchers that name them in the settings.

use super::hook_command::HookEntry;
use teamkeep_config::{Config, Files, Gate, Mode, Rule, everywhere};
use teamkeep_model::payload::{EventKind, KNOWN};

/// The condition of a hook that needs only git commands in Bash. Claude Code compares it with each command of a line, and
/// calls the hook for every line that it cannot read. Before 2.1.85 it ignores conditions. `git *` would not match
/// `sudo git push` or `/usr/bin/git push` (2.1.177, 2.1.330).
pub const GIT_CONDITION: &str = "Bash(*git *)";
/// The tools that change a file.
const EDITING: &[&str] = &["Edit", "MultiEdit", "NotebookEdit", "Write"];
/// The tools that change a team.
const TEAM: &[&str] =
    &["TeamCreate", "TeamDelete", "SendMessage", "Agent", "Task", "TaskCreate", "TaskUpdate", "TaskStop"];

/// The events of every install, in the order in which they are written. The plugin has the same hooks, in several files for
/// versions of Claude Code that know only some.
pub const EVENTS: &[EventKind] = &[
    EventKind::SessionStart,
    EventKind::SessionEnd,
    EventKind::UserPromptSubmit,
    EventKind::PermissionRequest,
    EventKind::PreToolUse,
    EventKind::PreSkillShellCommand,
    EventKind::PostToolUse,
    EventKind::SubagentStart,
    EventKind::SubagentStop,
    EventKind::TeammateIdle,
    EventKind::TaskCreated,
    EventKind::TaskCompleted,
    EventKind::Stop,
    EventKind::StopFailure,
    EventKind::PreCompact,
    EventKind::FileChanged,
    EventKind::Notification,
];

/// The tools of an event for which every install has a hook.
fn builtin_tools(event: EventKind) -> Tools {
    match event {
        // Leaving a worktree can delete it with the work in it.
        EventKind::PreToolUse => Tools::named(&[TEAM, &["ExitWorktree"]].concat()),
        EventKind::PostToolUse => Tools::named(TEAM),
        _ => Tools::All,
    }
}

/// The hooks that are needed, in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    hooks: Vec<Need>,
}

/// The tools for which a hook must run at an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    pub event: EventKind,
    /// The permission rule in `if`: only these calls of the tools need it.
    pub condition: Option<&'static str>,
    pub tools: Tools,
}

impl Needs {
    /// The needs of the recorder and the gates, without rules.
    pub fn builtin() -> Needs {
        let mut needs = Needs { hooks: Vec::new() };
        EVENTS.iter().for_each(|event| needs.add(*event, builtin_tools(*event), None));
        needs
    }

    /// The needs with those of some configurations.
    pub fn of<'a>(configs: impl IntoIterator<Item = &'a Config>) -> Needs {
        let mut needs = Needs::builtin();
        for config in configs {
            let gates = Gate::ALL.into_iter().filter(|gate| gate.guards_files());
            for gate in gates.filter(|gate| gate.mode(&config.policy).is_some_and(|mode| mode != Mode::Off)) {
                needs.add_gate(gate);
            }
            config.rule.iter().for_each(|rule| needs.add_rule(rule));
        }
        needs
    }

    /// The needs in any session of this user: in each trusted project, and in the present one. Returns also whether some policy
    /// files cannot be read.
    pub fn of_user(files: &Files) -> (Needs, bool) {
        let all = everywhere(files);
        (Needs::of(&all.configs), all.is_partial)
    }

    /// These needs with the tools of installed hooks, in their order.
    pub fn beside(&self, installed: &[HookEntry]) -> Needs {
        let mut all = Needs { hooks: Vec::new() };
        all.add_entries(installed);
        self.hooks.iter().for_each(|need| all.add(need.event, need.tools.clone(), need.condition));
        all
    }

    /// Adds every tool at every event with tools.
    pub fn add_all_tools(&mut self) {
        for row in KNOWN.iter().filter(|row| row.0.has_tool()) {
            self.add(row.0, Tools::All, None);
        }
    }

    /// Adds what these hooks cover, if their matchers have a form that `install` writes.
    pub fn add_entries(&mut self, entries: &[HookEntry]) {
        for entry in entries {
            let event = KNOWN.iter().find(|row| row.1 == entry.event).map(|row| row.0);
            let (Some(event), Some(tools)) = (event, Tools::of_matcher(entry.matcher())) else { continue };
            match entry.hook().get("if").map(|condition| condition == GIT_CONDITION) {
                None => self.add(event, tools, None),
                Some(true) => self.add(event, tools, Some(GIT_CONDITION)),
                Some(false) => {}
            }
        }
    }

    fn add_gate(&mut self, gate: Gate) {
        let returned = EventKind::PostToolUse;
        self.add(returned, Tools::named(EDITING), None);
        if gate == Gate::EditCollision {
            self.add(EventKind::PreToolUse, Tools::named(EDITING), None);
            return self.add(returned, Tools::named(&["Read"]), None);
        }
        // A line that fails can have made a commit before.
        for event in [EventKind::PreToolUse, EventKind::PostToolUse, EventKind::PostToolUseFailure] {
            self.add(event, Tools::named(&["Bash"]), Some(GIT_CONDITION));
        }
    }

    /// A rule that names tools does not apply to events without tools.
    fn add_rule(&mut self, rule: &Rule) {
        let applies = |kind: EventKind| {
            rule.action != Mode::Off && rule.applies_to(kind) && (rule.tools.is_empty() || kind.has_tool())
        };
        for row in KNOWN.iter().filter(|row| applies(row.0)) {
            self.add(row.0, Tools::of_globs(&rule.tools), None);
        }
    }

    fn add(&mut self, event: EventKind, tools: Tools, condition: Option<&'static str>) {
        match self.hooks.iter_mut().find(|need| need.event == event && need.condition == condition) {
            Some(known) => known.tools.add(tools),
            None => self.hooks.push(Need { event, condition, tools }),
        }
    }

    /// The tools of an event; `None` if it does not need a hook.
    pub fn tools(&self, event: EventKind) -> Option<&Tools> {
        let mut hooks = self.hooks.iter().filter(|need| need.condition.is_none());
        hooks.find(|need| need.event == event).map(|need| &need.tools)
    }

    /// The hooks, without those with a condition for tools that need every call.
    pub fn hooks(&self) -> impl Iterator<Item = &Need> {
        let is_covered = |need: &Need| {
            let all = self.tools(need.event);
            need.condition.is_some() && all.is_some_and(|all| need.tools.beyond(all).is_empty())
        };
        self.hooks.iter().filter(move |need| !is_covered(need))
    }
}

impl Need {
    /// The matcher, if the event has one.
    pub fn matcher(&self) -> Option<String> {
        self.event.has_tool().then(|| self.tools.matcher())
    }
}

// The matchers of the entries.

/// Maximum number of stars in a pattern: each star multiplies the ways that a regular expression has to try.
const MAX_STARS: usize = 3;
/// The matcher for all tools.
const ALL: &str = "*";
/// Maximum length of a matcher in bytes: Claude Code would evaluate a long expression at each call. `*` replaces a longer one.
const MAX_MATCHER_BYTES: usize = 512;

/// The tools of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tools {
    All,
    /// These: names, or patterns in which `*` is any number of characters. In the order in which they are written.
    Some(Vec<String>),
}

impl Tools {
    /// The tools that the globs of a rule match. All tools without globs, and for a glob with other characters than those of
    /// names and `*`: the rule itself decides then.
    pub fn of_globs(globs: &[String]) -> Tools {
        let is_listed = |glob: &String| glob != ALL && is_pattern(glob);
        if globs.is_empty() || !globs.iter().all(is_listed) {
            return Tools::All;
        }
        let mut tools = Tools::Some(Vec::new());
        tools.add(Tools::Some(globs.to_vec()));
        tools
    }

    /// The tools with these names.
    pub fn named(names: &[&str]) -> Tools {
        Tools::Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// The tools of a matcher, if it has one of the forms that [`Tools::matcher`] writes.
    pub fn of_matcher(matcher: &str) -> Option<Tools> {
        if matcher.is_empty() || matcher == ALL {
            return Some(Tools::All);
        }
        let inner = matcher.strip_prefix("^(").and_then(|rest| rest.strip_suffix(")$"));
        let words: Vec<String> = match inner {
            Some(inner) => inner.split('|').map(|word| word.replace(".*", ALL)).collect(),
            None => matcher.split('|').map(str::to_owned).collect(),
        };
        let is_valid =
            |word: &String| !word.is_empty() && is_pattern(word) && (inner.is_some() || is_list(word));
        words.iter().all(is_valid).then_some(Tools::Some(words))
    }

    /// Adds the others to these.
    pub fn add(&mut self, others: Tools) {
        match (&mut *self, others) {
            (Tools::All, _) => {}
            (_, Tools::All) => *self = Tools::All,
            (Tools::Some(own), Tools::Some(others)) => {
                for other in others {
                    if !own.contains(&other) {
                        own.push(other);
                    }
                }
            }
        }
    }

    /// The tools of these that the others lack, for the user; none if the others are all tools.
    pub fn beyond(&self, others: &Tools) -> Vec<String> {
        match (self, others) {
            (_, Tools::All) => Vec::new(),
            (Tools::All, _) => vec!["every tool".to_owned()],
            (Tools::Some(own), Tools::Some(others)) => {
                own.iter().filter(|word| !others.contains(word)).cloned().collect()
            }
        }
    }

    /// The matcher: names separated by `|` if that is enough, else a regular expression for the whole name.
    pub fn matcher(&self) -> String {
        let Tools::Some(words) = self else { return ALL.to_owned() };
        let matcher = match words.iter().all(|word| !word.is_empty() && is_list(word)) {
            true => words.join("|"),
            false => format!("^({})$", words.join("|").replace(ALL, ".*")),
        };
        if matcher.len() > MAX_MATCHER_BYTES { ALL.to_owned() } else { matcher }
    }
}

/// Whether a glob has only plain characters and few stars.
fn is_pattern(glob: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-*".contains(c);
    glob.chars().all(is_plain) && glob.matches('*').count() <= MAX_STARS
}

/// Whether Claude Code compares a matcher with whole names.
fn is_list(matcher: &str) -> bool {
    matcher.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '|')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(globs: &[&str]) -> Tools {
        Tools::of_globs(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn names_become_a_list_and_patterns_one_expression() {
        for (globs, matcher) in [
            (&["Bash"][..], "Bash"),
            (&["Bash", "Edit", "Bash"], "Bash|Edit"),
            (&["Bash", "mcp__*"], "^(Bash|mcp__.*)$"),
            (&["mcp__a-b__push"], "^(mcp__a-b__push)$"),
            (&["Ba?h"], "*"),
            (&["[BE]*"], "*"),
            (&["N[!]a]b"], "*"),
            (&["x.y(z"], "*"),
            (&["a*b*c*d*e"], "*"),
            (&["Wörk"], "*"),
            (&[], "*"),
            (&["Bash", "*"], "*"),
        ] {
            assert_eq!(tools(globs).matcher(), matcher, "{globs:?}");
        }
        let many: Vec<String> = (0..99).map(|n| format!("mcp__server__{n}")).collect();
        assert_eq!(Tools::of_globs(&many).matcher(), "*", "what is too long for a list is all tools");
    }

    #[test]
    fn only_written_matchers_are_parsed() {
        for globs in [&["Bash"][..], &["Bash", "mcp__*"], &["mcp__a-b__push", "Edit"], &[]] {
            assert_eq!(Tools::of_matcher(&tools(globs).matcher()), Some(tools(globs)));
        }
        for other in ["^Ba", "Bash|", "a-b", "^(Ba+)$", "^(a|(b))$", "(Bash)", "^()$", ".*"] {
            assert_eq!(Tools::of_matcher(other), None, "{other}");
        }
    }
}
