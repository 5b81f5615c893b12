//! `teamkeep config`: the configuration files, the policy in them, and the notifications that they configure.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value as Json, json};

use super::installation::missing_hooks;
use super::output::{JsonOption, counted_problems, print, print_json, print_problems};
use super::policy::trust;
use crate::view::{self, Document, plain};
use teamkeep_config::schema::{Key, keys, schema};
use teamkeep_config::{
    Code, Effective, Files, ORGANIZATION_FILE, Origin, PROJECT_FILE, Problem, Setting, TEMPLATE, TrustState,
    layers, misnamed_file,
};
use teamkeep_model::unicode::escape;
use teamkeep_system::error::{self, Error, Result};
use teamkeep_system::fs;
use teamkeep_terminal::Context;

/// Wider keys and values do not widen their columns.
const MAX_KEY_CHARS: usize = 60;
const MAX_VALUE_CHARS: usize = 30;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Validate the configuration files
    #[command(
        after_help = "Examples:\n  teamkeep config check\n  teamkeep config check .claude/teamkeep.toml"
    )]
    Check(CheckArgs),
    /// Show what the configuration sets: each key, its value and origin
    #[command(
        after_help = "Examples:\n  teamkeep config show\n  teamkeep config show policy --all\n  teamkeep config show --json | jq -r '.settings[] | [.key, .origin.layer] | @tsv'"
    )]
    Show(ShowArgs),
    /// Send a test notification to the configured destinations
    TestNotify(super::notify::TestArgs),
    /// Print the paths of the configuration files
    #[command(
        after_help = "Examples:\n  teamkeep config path\n  teamkeep config path && teamkeep config check"
    )]
    Path,
    /// Create a configuration file with all keys and their defaults as comments
    #[command(after_help = "Examples:\n  teamkeep config init\n  teamkeep config init --force")]
    Init(InitArgs),
    /// Print the JSON Schema of the configuration file
    #[command(
        after_help = "Examples:\n  teamkeep config schema > teamkeep.schema.json\n  teamkeep config schema | jq '.properties.policy.properties | keys'"
    )]
    Schema,
}

#[derive(Debug, clap::Args)]
struct InitArgs {
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// Files to check, instead of the active ones; `.claude/teamkeep.toml` is checked as a project's file
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Runs a subcommand. None needs a valid configuration.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Check(args) => return check(context, args),
        Command::TestNotify(args) => return super::notify::test(&Context::new(context.ui)?, args),
        Command::Show(args) => show(context, args)?,
        Command::Path => print_paths(context)?,
        Command::Init(args) => init(context, args)?,
        Command::Schema => print_json(context, &schema())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the problems in these files, or in the active ones. Exit code 1 if there are errors.
fn check(context: &Context, args: &CheckArgs) -> Result<ExitCode> {
    let (problems, files) = match args.files.as_slice() {
        [] => active_problems(context)?,
        files => (files.iter().flat_map(|file| problems_of(context, file)).collect(), files.to_vec()),
    };
    let files: Vec<String> =
        files.iter().map(|file| escape(&file.display().to_string()).into_owned()).collect();
    let end = match (problems.is_empty(), files.is_empty()) {
        (true, true) => "no configuration file; the defaults apply".to_owned(),
        (true, false) => format!("no problems in {}", files.join(", ")),
        (false, _) => counted_problems(&problems),
    };
    print(context, &format!("{}{end}\n", view::problems(&problems, context.ui.columns())))?;
    Ok(ExitCode::from(u8::from(problems.iter().any(Problem::is_error))))
}

/// The problems of the active files, including rules that the hooks do not cover, and the files that exist.
fn active_problems(context: &Context) -> Result<(Vec<Problem>, Vec<PathBuf>)> {
    let files = context.policy_files();
    let effective = layers::load(&files);
    let mut problems = effective.problems;
    problems.extend(missing_hooks(context));
    if let Some(problem) = misnamed_file(&context.env) {
        problems.retain(|other| other.path != problem.path);
        problems.insert(0, problem);
    }
    let files = [files.organization, Some(files.user), files.project].into_iter().flatten();
    Ok((problems, files.filter(|path| path.symlink_metadata().is_ok()).collect()))
}

fn problems_of(context: &Context, file: &Path) -> Vec<Problem> {
    if file.symlink_metadata().is_err() {
        return vec![Problem::of_file(Code::Unreadable, file, "no such file")];
    }
    let files = context.policy_files();
    let files = match file.ends_with(PROJECT_FILE) {
        _ if is_for_organization(file, &files.user) => return effective_organization(file).problems,
        true => Files { project: Some(file.to_path_buf()), ..files },
        false => Files { user: file.to_path_buf(), project: None, ..files },
    };
    let mut problems = layers::load(&files).problems;
    problems.retain(|problem| problem.path == file);
    problems
}

/// Whether a file is the organization's, or is to become it: it has its table and is not the user's.
fn is_for_organization(file: &Path, user: &Path) -> bool {
    let is_same =
        |other: &Path| fs::canonicalize(file).ok().is_some_and(|it| fs::canonicalize(other).ok() == Some(it));
    let has_table =
        || effective_organization(file).settings.keys().any(|key| key.starts_with("organization."));
    is_same(Path::new(ORGANIZATION_FILE)) || (!is_same(user) && has_table())
}

/// Reads a file as the organization's, without the last valid content.
fn effective_organization(file: &Path) -> Effective {
    layers::load(&Files { organization: Some(file.to_path_buf()), ..Files::default() })
}

/// Prints the paths of the configuration files. Fails when `TEAMKEEP_CONFIG` cannot be used.
fn print_paths(context: &Context) -> Result<()> {
    let files = context.policy_files();
    let line = |layer: &str, path: &Path| {
        let state = if path.symlink_metadata().is_ok() { "exists" } else { "does not exist" };
        format!("{layer:12}  {}  ({state})\n", escape(&path.display().to_string()))
    };
    let project = files.project.as_ref().map(|project| line("project", project));
    let organization = files.organization.as_ref().map(|file| line("organization", file));
    let lines = [organization, Some(line("user", &files.user)), project];
    print(context, &lines.into_iter().flatten().collect::<String>())?;
    context.check_config_path()
}

fn init(context: &Context, args: &InitArgs) -> Result<()> {
    let path = &context.paths.config;
    if args.force {
        // A symlink is kept: the user stores the file elsewhere.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        fs::write_synced(&target, file_of_defaults().as_bytes())?;
    } else {
        let mut file = fs::create_private(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::new(format!("{} already exists", path.display()))
                .hint("to overwrite (loses your settings): teamkeep config init --force"),
            _ => Error::from(error),
        })?;
        file.write_all(file_of_defaults().as_bytes()).and_then(|()| file.sync_all())?;
    }
    context.ui.eprint_line(&format!(
        "wrote {}: every key with its default, as a comment; remove the # before those that you change",
        path.display()
    ));
    Ok(())
}

/// The file with each key commented out, so that it sets only what its user changes.
fn file_of_defaults() -> String {
    let is_key = |line: &str| !line.is_empty() && !line.starts_with(['#', '[']);
    TEMPLATE.lines().map(|line| format!("{}{line}\n", if is_key(line) { "#" } else { "" })).collect()
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Only this table or key, such as `policy` (with the rules) or `policy.idle-with-work`
    #[arg(value_name = "TABLE")]
    table: Option<String>,
    /// Include the keys that are not set, with their defaults
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    output: JsonOption,
}

#[derive(serde::Serialize)]
struct Row<'a> {
    key: &'a str,
    value: Json,
    origin: &'a Origin,
}

impl ShowArgs {
    /// Whether a key such as `policy.max-blocks` or `rule[0].name` is to be shown.
    fn selects(&self, key: &str) -> bool {
        let is_in = |wanted: &str| {
            key.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        self.table.as_deref().is_none_or(|wanted| is_in(wanted) || (wanted == "policy" && is_in("rule")))
    }

    fn check_table<'a>(&self, keys: &'a [Key]) -> Result<()> {
        let Some(wanted) = &self.table else { return Ok(()) };
        if keys.iter().any(|key| self.selects(&key.path)) {
            return Ok(());
        }
        let table = |key: &'a Key| key.path.split(['.', '[']).next().unwrap_or_default();
        let tables: BTreeSet<&str> = keys.iter().map(table).collect();
        Err(error::unknown("table", wanted, &Vec::from_iter(tables)).of_usage())
    }
}

/// Prints each key that is set, or every key, with its value and its origin.
fn show(context: &Context, args: &ShowArgs) -> Result<()> {
    let mut keys = keys();
    args.check_table(&keys)?;
    keys.retain(|key| args.selects(&key.path));
    context.check_config_path()?;
    let files = context.policy_files();
    let effective = layers::load(&files);
    let missing = missing_hooks(context);
    let rows = rows(&effective, &keys, args.all);
    let problems: Vec<_> = effective.problems.iter().chain(&missing).collect();
    let project = effective.project.as_ref().map(|project| {
        let checks: Vec<&str> = project.checks.iter().map(|check| check.run.as_str()).collect();
        let rules: Vec<&str> = project.rules.iter().map(|rule| rule.name.as_str()).collect();
        json!({
            "path": project.path, "hash": project.hash, "standing": project.standing,
            "checks": checks, "rules": rules,
        })
    });
    let Files { organization, user, project: project_file, .. } = &files;
    let object = json!({
        "v": 1,
        "files": {"organization": organization, "user": user, "project": project_file},
        "settings": rows,
        "project": project,
        "problems": problems,
    });
    args.output.print(context, &object, || document(&rows, &effective))?;
    if !args.output.json {
        if !args.all && context.ui.is_terminal() {
            let defaults =
                if rows.is_empty() { "every key has its default" } else { "other keys have their defaults" };
            context.ui.eprint_line(&format!("{defaults}: teamkeep config show --all"));
        }
        print_problems(context, &missing);
        if !effective.problems.is_empty() {
            let found = counted_problems(&effective.problems);
            context.ui.warn(format!("{found} in the configuration files; see: teamkeep config check"));
        }
    }
    Ok(())
}

/// The keys, then those of the items of lists, such as the checks and rules that run.
fn rows<'a>(effective: &'a Effective, keys: &'a [Key], all: bool) -> Vec<Row<'a>> {
    let set = |path: &str| effective.settings.get_key_value(path);
    let row =
        |(key, set): (&'a String, &'a Setting)| Row { key, value: set.value.clone(), origin: &set.origin };
    let mut rows = Vec::new();
    for key in keys.iter().filter(|key| !key.path.contains("[]")) {
        let default = || Row {
            key: &key.path,
            value: key.default().cloned().unwrap_or_default(),
            origin: &Origin::DEFAULT,
        };
        rows.extend(set(&key.path).map(row).or_else(|| all.then(default)));
    }
    let items: Vec<(&str, &str)> = keys.iter().filter_map(|key| key.path.split_once("[].")).collect();
    for list in items.chunk_by(|one, next| one.0 == next.0) {
        for index in 0.. {
            let before = rows.len();
            rows.extend(
                list.iter().filter_map(|(list, name)| set(&format!("{list}[{index}].{name}")).map(row)),
            );
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
        let cells = [row.key.to_owned(), row.value.to_string(), row.origin.location()];
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
