//! The plugin's hooks next to those in the settings: each event is recorded and judged once.

use std::borrow::Cow;

use serde::Deserialize;

use super::Recorder;
use crate::payload;
use crate::settings::plugin_dedupe::{HookEvent, settings_cover_event};

/// The fields of a payload that a hook's matcher in the settings uses.
#[derive(Default, Deserialize)]
struct Call<'a> {
    #[serde(default, borrow)]
    hook_event_name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tool_name: Option<Cow<'a, str>>,
}

/// Whether a hook in the settings records the event, so that the plugin's hook skips it. `asked` is the event on the
/// command line.
pub(super) fn should_skip(input: &[u8], asked: Option<&str>, recorder: &Recorder) -> bool {
    let call: Call<'_> = serde_json::from_slice(input).unwrap_or_default();
    let named = call.hook_event_name.as_deref().or(asked);
    let event = named.map_or("", |named| match payload::Kind::named(named) {
        payload::Kind::Unknown => named,
        kind => kind.name(),
    });
    // The plugin's script adds the event if Claude Code passes `args` to it.
    let knows_args = asked.is_some();
    let occasion = HookEvent { event, tool: call.tool_name.as_deref(), knows_args };
    let project = recorder.env.project_dir();
    settings_cover_event(occasion, &recorder.env, &recorder.paths, project.as_deref())
}
