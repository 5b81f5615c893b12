//! The plugin's hooks beside those of the settings: each event is recorded and judged once.

use std::borrow::Cow;

use serde::Deserialize;

use crate::payload;
use crate::recorder::Recorder;
use crate::settings::beside::{Occasion, runs_beside};

/// What of a payload says whom the settings' hooks are for.
#[derive(Default, Deserialize)]
struct Call<'a> {
    #[serde(default, borrow)]
    hook_event_name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tool_name: Option<Cow<'a, str>>,
}

/// Whether the plugin's copy of a hook leaves the event to the one in the settings. `asked` is the event that the
/// command line names.
pub(super) fn leaves(input: &[u8], asked: Option<&str>, recorder: &Recorder) -> bool {
    let call: Call<'_> = serde_json::from_slice(input).unwrap_or_default();
    let named = call.hook_event_name.as_deref().or(asked);
    let event = named.map_or("", |named| match payload::Kind::named(named) {
        payload::Kind::Unknown => named,
        kind => kind.name(),
    });
    // The plugin's script adds the event where the client hands it its `args`.
    let knows_args = asked.is_some();
    let occasion = Occasion { event, tool: call.tool_name.as_deref(), knows_args };
    let project = recorder.env.project_dir();
    runs_beside(occasion, &recorder.env, &recorder.paths, project.as_deref())
}
