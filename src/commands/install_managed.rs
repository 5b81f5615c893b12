//! `teamkeep install --scope managed`: adds the hooks to Claude Code's managed settings, for every user of the machine.
//!
//! The hooks are those of every install and those that the organization's configuration needs. Users' configurations do not
//! count: the result must be the same on each machine.

use std::path::{Path, PathBuf};
use teamkeep_model::words::count;

use super::installation::{
    NewContent, SettingsTarget, edit_error, print_diff, print_hooks_of_policy, print_unsupported,
};
use super::output;
use teamkeep_config::{Files, ORGANIZATION_FILE, layers};
use teamkeep_settings::document::{check_strict, lenient_data};
use teamkeep_settings::file::SettingsFile;
use teamkeep_settings::install_records::AddedVariables;
use teamkeep_settings::layer::{ONLY_MANAGED, SettingsLayer, SettingsScope, drop_in_file, managed_files};
use teamkeep_settings::managed::{PublicAccess, is_in_home, obstacle, weakness};
use teamkeep_settings::needs::Needs;
use teamkeep_settings::plan::{self};
use teamkeep_settings::program::HookProgram;
use teamkeep_settings::version::{ClientVersion, FIRST_WITH_DROP_INS, Version};
use teamkeep_settings::{hook_command, managed};
use teamkeep_system::command::{HOOK_NAME, file_of, quoted};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::os;
use teamkeep_terminal::Context;

#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for --scope managed")]
pub struct ManagedArgs {
    /// Let Claude Code run no other hooks than those of managed settings (`allowManagedHooksOnly`)
    #[arg(long)]
    managed_hooks_only: bool,
    /// Run the hooks for every tool, so that rules of users are evaluated, too
    #[arg(long)]
    all_tools: bool,
    /// Print the settings without writing them, for a tool that installs them
    #[arg(long, conflicts_with = "dry_run")]
    print: bool,
    /// The organization's configuration, instead of the installed one
    #[arg(long, value_name = "FILE")]
    organization: Option<PathBuf>,
}

impl ManagedArgs {
    /// The first of these options that is given.
    pub fn given(&self) -> Option<&'static str> {
        let options = [
            (self.managed_hooks_only, "--managed-hooks-only"),
            (self.all_tools, "--all-tools"),
            (self.print, "--print"),
            (self.organization.is_some(), "--organization"),
        ];
        options.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }
}

/// Adds the hooks; whether there was anything to add.
pub fn add(
    context: &Context,
    (target, options): (&SettingsTarget, &ManagedArgs),
    program: &HookProgram,
    client: ClientVersion,
) -> Result<bool> {
    let print = |line: String| context.ui.eprint_line(&line);
    let version = known(&client)?;
    let needs = needs(options)?;
    let wanted = plan::wanted(&client, program, &[], &needs);
    let with_hooks = |content: &[u8]| match options.managed_hooks_only {
        true => managed::with_only_managed(content).and_then(|content| plan::with_hooks(&content, &wanted)),
        false => plan::with_hooks(content, &wanted),
    };
    if options.print {
        let settings = with_hooks(b"").map_err(|cause| Error::caused("cannot create the settings", cause))?;
        output::print_json_text(context, &String::from_utf8_lossy(&settings))?;
        warn_of_program(context, program);
        return Ok(false);
    }
    if !target.dry_run {
        managed::check_root().map_err(|error| error.hint("to print the settings instead: --print"))?;
    }
    let records = if target.dry_run { managed::known_records() } else { managed::records()? };
    let _lock = if target.dry_run { None } else { Some(records.lock()?) };
    let file = managed::file_for(version)?;
    check_file(&file, options)?;
    if !target.dry_run {
        file.sweep();
    }
    let path = file.path.display();
    let before = hook_command::ours(&lenient_data(file.bytes()));
    let after = with_hooks(file.bytes()).map_err(|cause| edit_error(&file, cause))?;
    let is_changed = after != file.bytes();
    let added = &AddedVariables::default();
    let new = NewContent { context, records: &records, file: &file, after: &after, added };
    if !is_changed {
        print(format!("nothing to do: {path} already has all {}", count(wanted.len(), "hook")));
    } else if target.dry_run {
        print_diff(context, &file, &after)?;
    } else {
        let backup = new.write(Some(program), &client)?;
        print(plan::describe(&before, &wanted, &path.to_string()));
        print(format!("each runs {}, for Claude Code {version} and later", program.call()));
        if let Some(backup) = backup {
            print(format!("backup: {}", backup.display()));
        }
        print(format!("to undo: {}", target.command(context, "uninstall", &file)));
    }
    if lenient_data(&after).get(ONLY_MANAGED) == Some(&true.into()) {
        print(format!("note: only hooks of managed settings run: `{ONLY_MANAGED}` in {path}"));
    }
    print_unsupported(context, version);
    print_hooks_of_policy(context, &needs, &wanted);
    warn_of_program(context, program);
    warn_of_files(context);
    Ok(is_changed)
}

/// Checks that every user can run the program. Users have different search paths, so only a path will do.
pub fn check_program(program: HookProgram) -> Result<HookProgram> {
    if program.is_bare() {
        let example = Path::new(os::PROGRAMS_DIR).join(file_of(HOOK_NAME));
        return Err(Error::usage(
            "managed settings need the path of the program: each user has another PATH",
        )
        .hint(format!("name it: --command {}", quoted(&example.to_string_lossy()))));
    }
    Ok(program)
}

/// The version of Claude Code. Users may have several, and root none.
fn known(client: &ClientVersion) -> Result<Version> {
    match client {
        ClientVersion::Known(version) => Ok(*version),
        ClientVersion::Unknown(why) => {
            Err(Error::caused("cannot determine the version of Claude Code", why.clone())
                .hint("set the oldest version that users of this machine have: --client-version X.Y.Z"))
        }
    }
}

/// The hooks that the organization's configuration needs.
fn needs(options: &ManagedArgs) -> Result<Needs> {
    let file = options.organization.clone().unwrap_or_else(|| ORGANIZATION_FILE.into());
    if options.organization.is_some() && !file.exists() {
        return Err(Error::new(format!("cannot read {}: no such file", file.display())));
    }
    let organization = layers::load(&Files { organization: Some(file), ..Files::default() });
    if let Some(error) = organization.error() {
        return Err(error.hint("nothing was changed; fix the organization's configuration first"));
    }
    let mut needs = Needs::of([&organization.config]);
    if options.all_tools {
        needs.add_all_tools();
    }
    Ok(needs)
}

/// Checks that Claude Code can read the file, and that teamkeep may set what it is to set.
fn check_file(file: &SettingsFile, options: &ManagedArgs) -> Result<()> {
    let path = file.path.display();
    if let Err(flaw) = check_strict(file.bytes()) {
        return Err(Error::caused(format!("cannot edit {path}"), flaw.to_string())
            .hint("nothing was changed; newer versions of Claude Code do not start with this file")
            .hint(flaw.edit(&file.path)));
    }
    if options.managed_hooks_only && file.path != drop_in_file() {
        let what = format!("cannot set `{ONLY_MANAGED}` in {path}, which is not teamkeep's file");
        return Err(Error::new(what).hint(format!(
            "nothing was changed; set it there yourself, or, if all users have Claude Code {FIRST_WITH_DROP_INS} or later, \
             first remove the hooks from that file: teamkeep uninstall --scope managed"
        )));
    }
    Ok(())
}

/// Warns if a user cannot run the program, or can replace it.
fn warn_of_program(context: &Context, program: &HookProgram) {
    let path = Path::new(program.as_str());
    let mut warnings = Vec::new();
    if is_in_home(path, context.env.home.as_deref()) {
        warnings.push(format!("{} is in a home directory", path.display()));
    }
    if !path.exists() {
        warnings.push(format!("{} does not exist here; hooks fail where it does not exist", path.display()));
    } else {
        warnings.extend(
            obstacle(path, PublicAccess::Execute).map(|why| format!("some users cannot run it: {why}")),
        );
        warnings.extend(weakness(path).map(|why| format!("users can replace it: {why}")));
    }
    if warnings.is_empty() {
        return;
    }
    warnings.iter().for_each(|warning| context.ui.warn(warning));
    context.ui.hint(format!(
        "install the program where only root can write, such as {}, and name it with --command",
        os::PROGRAMS_DIR
    ));
}

/// Warns of managed settings that Claude Code cannot read.
fn warn_of_files(context: &Context) {
    for path in managed_files() {
        let layer = SettingsLayer::read(SettingsScope::Managed, &path);
        if layer.is_lost() {
            let path = path.display();
            context.ui.warn(format!("Claude Code cannot read {path}; newer versions do not start with it"));
        }
    }
}
