//! `report` in all formats, `status`, and how output looks.

pub mod contents;
pub mod failed_turns;
pub mod html;
pub mod html_axe;
pub mod html_keys;
pub mod html_marks;
pub mod html_moments;
pub mod html_pointer;
pub mod html_start;
pub mod html_text;
pub mod html_use;
pub mod incident_kinds;
pub mod incidents;
pub mod incidents_degraded;
pub mod lost_tasks;
pub mod one_source;
pub mod plan_waits;
pub mod resolved_incidents;
pub mod spending_props;
pub mod status;
pub mod terminal_width;
pub mod times;
pub mod unsafe_text;
pub mod verdict_lines;
pub mod wording;
