//! `teamkeep install`: adds the hooks to a settings file of Claude Code.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::clock;
use crate::commands::needs;
use crate::commands::settings_target::{SettingsTarget, edit_error, show, warn_custom_hooks};
use crate::context::Context;
use crate::error::Result;
use crate::settings::change::{Change, hooks};
use crate::settings::client::{self, ClientVersion};
use crate::settings::command::{HookProgram, quoted};
use crate::settings::document;
use crate::settings::entries;
use crate::settings::error::read_strict;
use crate::settings::file::SettingsFile;
use crate::settings::install_record::{Record, Records};
use crate::settings::installed_hooks;
use crate::settings::plan;
use crate::settings::version::{FIRST_WITH_TEAMS, Version};

/// Arguments of `teamkeep install`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    place: SettingsTarget,
    /// Program that the hooks run, instead of this one: a path, or `teamkeep` to find it in PATH
    #[arg(long, value_name = "PATH")]
    command: Option<String>,
    /// Version of Claude Code, instead of running `claude --version`
    #[arg(long, value_name = "X.Y.Z")]
    client_version: Option<Version>,
}

const EXAMPLES: &str = "Examples:
  teamkeep install --dry-run
  teamkeep install --scope project";

impl Args {
    /// The arguments for an install into the user settings, with Claude Code's version if it is known.
    pub fn for_user(client_version: Option<Version>) -> Args {
        Args { place: SettingsTarget::of_user(), command: None, client_version }
    }
}

/// Adds the hooks.
///
/// # Errors
/// The settings cannot be read, edited or written. They are unchanged then.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    add(context, args).map(|_| ExitCode::SUCCESS)
}

/// Adds the hooks; whether there was anything to add.
///
/// # Errors
/// As [`run`].
pub fn add(context: &Context, args: &Args) -> Result<bool> {
    let program = match &args.command {
        Some(command) => HookProgram::named(command)?,
        None => HookProgram::running(&context.env)?,
    };
    let client = match args.client_version {
        Some(version) => ClientVersion::Known(version),
        None => client::ask(&context.env, &context.paths, |waiting| context.ui.eprint_line(waiting)),
    };
    let records = Records::at(context.paths.installs());
    let _lock = if args.place.dry_run { None } else { Some(records.lock()?) };
    let file = args.place.read(context)?;
    if !args.place.dry_run {
        file.sweep();
    }
    let before = installed_hooks::found(file.bytes());
    let needs = needs::of_policy(context, &before)?;
    let wanted = entries::wanted(&client, &program, &before, &needs)?;
    // Hooks that only newer versions support are kept if Claude Code's version is unknown.
    let spared = matches!(client, ClientVersion::Unknown(_))
        && wanted != entries::wanted(&client, &program, &[], &needs)?;
    let unasked = if spared {
        "the installed hooks are unchanged".to_owned()
    } else {
        format!("installing only the {} hooks that every version with agent teams supports", wanted.len())
    };
    let after = plan::with_hooks(file.bytes(), &wanted).map_err(|cause| edit_error(&file, cause))?;
    let flaw = read_strict(&after).err();
    let changes = after != file.bytes();
    let new = NewContent {
        context,
        records: &records,
        file: &file,
        after: &after,
        program: &program,
        client: &client,
    };
    if !changes {
        // If Claude Code ignores the file, the warning is printed below.
        if flaw.is_none() {
            context.ui.eprint_line(&format!(
                "nothing to do: {} already has all {}",
                file.path.display(),
                hooks(wanted.len())
            ));
        }
        let known = records.find(&file.real);
        let is_news = known.is_none_or(|known| args.place.is_of_project() && !known.left(file.bytes()));
        if !args.place.dry_run && is_news {
            // The hooks may be somebody else's. From now on they are this user's, and the plugin leaves their events
            // to them.
            let _ = new.remember();
        }
    } else if args.place.dry_run {
        show(context, &file, &after)?;
    } else {
        let kept = new.write()?;
        context.ui.eprint_line(&Change::between(&before, &wanted).describe(&file.path.display().to_string()));
        let whom = if spared { String::new() } else { format!(", for {}", name(&client)) };
        context.ui.eprint_line(&format!("each runs {} hook{whom}", quoted(program.as_str())));
        if let Some(kept) = kept {
            context.ui.eprint_line(&format!("backup: {}", kept.display()));
        }
        context.ui.eprint_line(&format!("to undo: {}", args.place.command(context, "uninstall", &file)));
        if args.place.is_shared() && !program.is_bare() {
            context
                .ui
                .eprint_line("note: this shared file now contains a path that is specific to this machine");
            let again = args.place.command(context, "install", &file);
            context.ui.eprint_line(&format!(
                "hint: to call teamkeep by name from PATH: {again} --command teamkeep"
            ));
        }
    }
    if let Some(obstacle) = program.unrunnable_reason(&context.env) {
        context.ui.eprint_line(&format!("warning: {obstacle}"));
    }
    new.advise(args, &unasked)?;
    needs::tell(context, &needs, &wanted)?;
    warn_custom_hooks(context, &file, &after, true);
    if let Some(flaw) = flaw {
        // The file had this flaw before, so this install did not fail.
        context.ui.eprint_line(&format!("warning: the hooks in {} do not run: {flaw}", file.path.display()));
        context.ui.eprint_line(&format!("hint: {}", flaw.edit(&file.path)));
    }
    Ok(changes)
}

/// A new content of a settings file, before it is written.
#[derive(Clone, Copy)]
struct NewContent<'a> {
    context: &'a Context,
    records: &'a Records,
    file: &'a SettingsFile,
    after: &'a [u8],
    program: &'a HookProgram,
    client: &'a ClientVersion,
}

impl NewContent<'_> {
    /// Keeps a backup, replaces the file, and records the install. Returns the path of the backup.
    fn write(self) -> Result<Option<PathBuf>> {
        let NewContent { records, file, after, .. } = self;
        let earlier = records.find(&file.real);
        // The install record is written first: a record without its file is ignored, but a file without a record cannot be
        // restored exactly.
        let backup = self.remember()?;
        if let Err(error) = file.replace(after) {
            match earlier {
                Some(earlier) => records.write(&file.real, &earlier)?,
                None => records.forget(&file.real)?,
            }
            return Err(error);
        }
        Ok(backup)
    }

    /// Records the content before and after. Returns the path of the backup.
    fn remember(self) -> Result<Option<PathBuf>> {
        let NewContent { context, records, file, after, program, client } = self;
        let earlier = records.find(&file.real);
        let mut record = Record::new(clock::stamp(context.clock.now()), &file.path, after);
        program.as_str().clone_into(&mut record.command);
        record.client = match client {
            ClientVersion::Known(version) => Some(version.to_string()),
            // If the file is unchanged since the last install, its hooks are still those for that version.
            ClientVersion::Unknown(_) => earlier
                .as_ref()
                .filter(|earlier| earlier.left(file.bytes()))
                .and_then(|then| then.client.clone()),
        };
        let mut backup = None;
        if let Some(content) = &file.content {
            backup = Some(records.keep(&file.real, content)?.1);
            // After a repeated install, the content to restore is still the one before the first.
            match earlier.as_ref().filter(|earlier| earlier.left(content)) {
                Some(first) => {
                    record.original.clone_from(&first.original);
                    record.made_directory = first.made_directory;
                }
                None => {
                    let original = plan::without_hooks(content).map_err(|cause| edit_error(file, cause))?;
                    record.original = Some(records.keep(&file.real, &original)?.0);
                }
            }
        } else {
            record.made_directory = file.make_directory()?
                || file.real.parent().is_some_and(|directory| records.have_made(directory));
        }
        records.write(&file.real, &record)?;
        Ok(backup)
    }

    /// Prints notes about Claude Code and the file.
    fn advise(self, args: &Args, unasked: &str) -> Result<()> {
        let NewContent { context, file, after, client, .. } = self;
        let say = |line: &str| context.ui.eprint_line(line);
        match client {
            ClientVersion::Unknown(why) => {
                say(&format!("note: {why}; {unasked}"));
                let again = args.place.command(context, "install", file);
                say(&format!(
                    "hint: run again when `claude --version` works: {again}; or pass --client-version X.Y.Z"
                ));
            }
            ClientVersion::Known(version) => {
                let missing = entries::unknown_to(*version)?;
                if !missing.is_empty() {
                    say(&format!("note: Claude Code {version} does not support {}", missing.join(", ")));
                    say("hint: run install again after an upgrade of Claude Code");
                }
                if *version < FIRST_WITH_TEAMS {
                    say(&format!("note: agent teams need Claude Code {FIRST_WITH_TEAMS} or later"));
                }
            }
        }
        if document::no_hook_runs(after) {
            say(&format!("warning: no hook runs while `disableAllHooks` is true in {}", file.path.display()));
        }
        Ok(())
    }
}

fn name(client: &ClientVersion) -> String {
    match client {
        ClientVersion::Known(version) => format!("Claude Code {version}"),
        ClientVersion::Unknown(_) => "every version of Claude Code with agent teams".to_owned(),
    }
}
