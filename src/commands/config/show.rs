//! `teamkeep config show` and `teamkeep policy show`: the active configuration.

use serde_json::{Value as Json, json};

use super::{Part, counted, report};
use crate::commands::installation::uncovered_rules;
use crate::commands::output::JsonOption;
use crate::commands::policy::trust;
use crate::config::keys::KEYS;
use crate::config::{Effective, Files, Origin, TrustState, layers};
use crate::context::Context;
use crate::error::Result;
use crate::ui::escape;
use crate::view::{Document, plain};

/// Wider keys and values do not widen their columns.
const MAX_KEY_CHARS: usize = 60;
const MAX_VALUE_CHARS: usize = 30;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    output: JsonOption,
}

#[derive(serde::Serialize)]
struct Row<'a> {
    key: &'a str,
    value: Json,
    origin: &'a Origin,
}

/// Prints each key of a part, its value and its origin.
pub fn run(context: &Context, args: &Args, part: Part) -> Result<()> {
    context.check_config_path()?;
    let files = context.policy_files();
    let effective = layers::load(&files);
    let uncovered = uncovered_rules(context, &effective.config.rule)?;
    let rows = rows(&effective, part);
    let problems: Vec<_> = effective.problems.iter().chain(&uncovered).collect();
    let project = effective.project.as_ref().map(|project| {
        let checks: Vec<&str> = project.checks.iter().map(|check| check.run.as_str()).collect();
        let rules: Vec<&str> = project.rules.iter().map(|rule| rule.name.as_str()).collect();
        json!({
            "path": project.path, "hash": project.hash, "standing": project.standing,
            "checks": checks, "rules": rules,
        })
    });
    let Files { user, project: project_file, .. } = &files;
    let object = json!({
        "v": 1,
        "files": {"user": user, "project": project_file},
        "settings": rows,
        "project": project,
        "problems": problems,
    });
    args.output.print(context, &object, || document(&rows, &effective))?;
    if !args.output.json {
        report(context, &uncovered);
        if !effective.problems.is_empty() {
            let found = counted(&effective.problems);
            let command = part.check_command();
            context.ui.warn(format!("{found} in the configuration files; see: {command}"));
        }
    }
    Ok(())
}

/// Every key of the part, then the items of its lists, such as the checks and rules that run.
fn rows(effective: &Effective, part: Part) -> Vec<Row<'_>> {
    let keys = || KEYS.iter().filter(|key| part.contains(key.path));
    let single = keys().filter(|key| !key.path.contains("[]")).map(|key| {
        let default = || key.default.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let set = effective.settings.get(key.path);
        let value = set.map_or_else(default, |set| set.value.clone());
        Row { key: key.path, value, origin: effective.origin(key.path) }
    });
    let mut rows: Vec<Row<'_>> = single.collect();
    let mut lists: Vec<&str> = keys().filter_map(|key| Some(key.path.split_once("[].")?.0)).collect();
    lists.dedup();
    for list in lists {
        for index in 0.. {
            // In the order of the table of keys.
            let names = KEYS.iter().filter_map(|key| key.path.strip_prefix(list)?.strip_prefix("[]."));
            let set =
                names.filter_map(|name| effective.settings.get_key_value(&format!("{list}[{index}].{name}")));
            let before = rows.len();
            rows.extend(set.map(|(key, set)| Row { key, value: set.value.clone(), origin: &set.origin }));
            if rows.len() == before {
                break;
            }
        }
    }
    rows
}

fn document(rows: &[Row<'_>], effective: &Effective) -> Document {
    let mut document = Document::default();
    let cells = rows.iter().map(|row| {
        let cells = [row.key.to_owned(), row.value.to_string(), row.origin.place()];
        cells.map(|cell| escape(&cell).into_owned())
    });
    let cells: Vec<[String; 3]> = cells.collect();
    let width = |text: &String| text.chars().count();
    let widest = |column: usize, most: usize| {
        cells.iter().map(|row| width(&row[column])).filter(|width| *width <= most).max().unwrap_or(0)
    };
    let widths = [widest(0, MAX_KEY_CHARS), widest(1, MAX_VALUE_CHARS)];
    for [key, value, place] in &cells {
        let cell = |text: &String, column: usize| plain(text).width(widths[column].max(width(text)) + 1);
        document.line([cell(key, 0), cell(value, 1), plain(place)]);
    }
    if let Some(project) = &effective.project {
        let why = match project.standing {
            TrustState::Nothing | TrustState::Trusted => return document,
            TrustState::Untrusted => "not trusted",
            TrustState::Changed => "changed after it was trusted",
        };
        document.blank();
        document.paragraph(format!("ignored: {} is {why} (teamkeep policy trust)", project.path.display()));
        document.append(trust::wants(project));
    }
    document
}
