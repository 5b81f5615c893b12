//! `teamkeep config show` and `teamkeep policy show`: the active configuration.

use std::process::ExitCode;

use serde_json::{Value as Json, json};

use super::Part;
use crate::commands::needs;
use crate::commands::policy::wants;
use crate::commands::problems::{counted, report};
use crate::commands::read_context::{print, print_json};
use crate::config::keys::KEYS;
use crate::config::{Effective, Files, Origin, TrustState, layers};
use crate::context::Context;
use crate::error::Result;
use crate::ui::escape;

/// Arguments of both.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// An active value.
struct Row {
    path: String,
    value: Json,
    origin: Origin,
}

/// Prints each key of a part, its value and its origin.
///
/// # Errors
/// When `TEAMKEEP_CONFIG` cannot be used, or stdout cannot be written.
pub fn run(context: &Context, args: &Args, part: Part) -> Result<ExitCode> {
    context.check_config_path()?;
    let files = context.policy_files();
    let mut effective = layers::load(&files);
    let unasked = needs::unasked(context, &effective.config.rule)?;
    if args.json {
        effective.problems.extend(unasked);
        print_json(context, &object(&files, &effective, part))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(context, &text(&effective, part))?;
    report(context, &unasked);
    if !effective.problems.is_empty() {
        let found = counted(&effective.problems);
        context.ui.warn(format!("{found} in the configuration files; see: {}", part.check()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Every key of the part, then the items of its lists, such as the checks and rules that run.
fn rows(effective: &Effective, part: Part) -> Vec<Row> {
    let keys = || KEYS.iter().filter(|key| part.holds(key.path));
    let plain = keys().filter(|key| !key.path.contains("[]"));
    let mut rows: Vec<Row> = plain
        .map(|key| {
            let default = || key.default.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            let set = effective.settings.get(key.path);
            Row {
                path: key.path.to_owned(),
                value: set.map_or_else(default, |set| set.value.clone()),
                origin: effective.origin(key.path).clone(),
            }
        })
        .collect();
    let mut items = Vec::new();
    let mut lists: Vec<&str> = keys().filter_map(|key| Some(key.path.split_once("[].")?.0)).collect();
    lists.dedup();
    for list in lists {
        for place in 0.. {
            let below = format!("{list}[{place}].");
            // In the order of the table of keys.
            let keys = KEYS.iter().filter_map(|key| key.path.strip_prefix(list)?.strip_prefix("[]."));
            let found = keys.filter_map(|name| effective.settings.get_key_value(&format!("{below}{name}")));
            let before = items.len();
            items.extend(found.map(|(path, set)| Row {
                path: path.clone(),
                value: set.value.clone(),
                origin: set.origin.clone(),
            }));
            if items.len() == before {
                break;
            }
        }
    }
    rows.extend(items);
    rows
}

fn text(effective: &Effective, part: Part) -> String {
    let rows: Vec<[String; 3]> = rows(effective, part)
        .into_iter()
        .map(|row| {
            [row.path, row.value.to_string(), row.origin.place()].map(|cell| escape(&cell).into_owned())
        })
        .collect();
    let width = |column: usize, most: usize| {
        rows.iter().map(|row| row[column].chars().count()).filter(|width| *width <= most).max().unwrap_or(0)
    };
    let (paths, values) = (width(0, 60), width(1, 30));
    let mut text = String::new();
    for [path, value, place] in &rows {
        text.push_str(&format!("{path:paths$}  {value:values$}  {place}\n"));
    }
    if let Some(project) = &effective.project {
        let why = match project.standing {
            TrustState::Nothing | TrustState::Trusted => return text,
            TrustState::Untrusted => "not trusted",
            TrustState::Changed => "changed after it was trusted",
        };
        let path = escape(&project.path.display().to_string()).into_owned();
        text.push_str(&format!("\nignored: {path} is {why} (teamkeep policy trust)\n"));
        text.push_str(&wants(project));
    }
    text
}

fn object(files: &Files, effective: &Effective, part: Part) -> Json {
    let settings: Vec<Json> = rows(effective, part)
        .into_iter()
        .map(|row| json!({"key": row.path, "value": row.value, "origin": row.origin}))
        .collect();
    let project = effective.project.as_ref().map(|project| {
        let checks: Vec<&str> = project.checks.iter().map(|check| check.run.as_str()).collect();
        let rules: Vec<&str> = project.rules.iter().map(|rule| rule.name.as_str()).collect();
        json!({
            "path": project.path, "hash": project.hash, "standing": project.standing,
            "checks": checks, "rules": rules,
        })
    });
    json!({
        "v": 1,
        "files": {"user": files.user, "project": files.project},
        "settings": settings,
        "project": project,
        "problems": effective.problems,
    })
}
