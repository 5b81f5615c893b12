//! `teamkeep policy show`: what is in force.

use std::process::ExitCode;

use serde_json::{Value as Json, json};

use super::{counted, report};
use crate::commands::needs;
use crate::commands::reading::{print, print_json};
use crate::config::keys::KEYS;
use crate::config::{Effective, Files, Origin, Standing, layers};
use crate::context::Context;
use crate::error::Result;
use crate::ui::escape;

/// Arguments of `teamkeep policy show`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// One JSON object, for programs
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep policy show
  teamkeep policy show --json | jq -r '.settings[] | [.key, .origin.layer] | @tsv'";

/// A value in force.
struct Row {
    path: String,
    value: Json,
    origin: Origin,
}

/// Runs it.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let files = context.policy_files();
    let mut effective = layers::load(&files);
    let unasked = needs::unasked(context, &effective.config.rule)?;
    if args.json {
        effective.problems.extend(unasked);
        print_json(context, &object(&files, &effective))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(context, &text(&effective))?;
    report(context, &unasked);
    if !effective.problems.is_empty() {
        let found = counted(&effective.problems);
        context.ui.say(&format!("teamkeep: {found} in the policy's files: teamkeep policy check"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Every key of the policy, and then the checks and rules that run.
fn rows(effective: &Effective) -> Vec<Row> {
    let plain = KEYS.iter().filter(|key| key.path.starts_with("policy.") && !key.path.contains("[]"));
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
    for list in ["policy.completion-check.check", "rule"] {
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

fn text(effective: &Effective) -> String {
    let rows: Vec<[String; 3]> = rows(effective)
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
            Standing::Nothing | Standing::Trusted => return text,
            Standing::Untrusted => "not trusted",
            Standing::Changed => "changed since it was trusted",
        };
        let path = escape(&project.path.display().to_string()).into_owned();
        text.push_str(&format!("\nleft out, {path} is {why} (teamkeep policy trust):\n"));
        text.push_str(&super::trust::wants(project));
    }
    text
}

fn object(files: &Files, effective: &Effective) -> Json {
    let settings: Vec<Json> = rows(effective)
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
