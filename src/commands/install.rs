//! `teamkeep install`: adds the hooks to a settings file of Claude Code.

use super::install_managed::{self, ManagedArgs};
use super::installation::{
    NewContent, SettingsTarget, Skill, SkillChange, edit_error, list_custom_hooks, needed_hooks, print_diff,
    print_hooks_of_policy, print_unsupported, print_variables,
};
use teamkeep_model::words::count;
use teamkeep_settings::document::{check_strict, lenient_data};
use teamkeep_settings::file::SettingsFile;
use teamkeep_settings::install_records::{AddedVariables, InstallRecords};
use teamkeep_settings::plan::{self};
use teamkeep_settings::program::HookProgram;
use teamkeep_settings::version::{self, ClientVersion, Version};
use teamkeep_settings::{hook_command, variables};
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep install --dry-run
  teamkeep install --enable-teams
  teamkeep install --scope project
  sudo teamkeep install --scope managed --client-version 2.1.330")]
pub struct Args {
    #[command(flatten)]
    target: SettingsTarget,
    /// Program that the hooks run, instead of the teamkeep-hook beside this one: a path, or `teamkeep-hook` to find it in PATH
    #[arg(long, value_name = "PATH")]
    command: Option<String>,
    /// Also install the skill with which an agent looks up the state and the history of its team
    #[arg(long)]
    skills: bool,
    /// Also enable agent teams and task tools: set CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS and CLAUDE_CODE_ENABLE_TODO_TOOLS
    /// under `env` in the settings
    #[arg(long)]
    enable_teams: bool,
    /// Version of Claude Code, instead of running `claude --version`
    #[arg(long, value_name = "X.Y.Z")]
    client_version: Option<Version>,
    #[command(flatten)]
    managed: ManagedArgs,
}

impl Args {
    /// The arguments for an install into the user settings, with Claude Code's version if it is known.
    pub fn for_user(client_version: Option<Version>) -> Args {
        let (target, managed) = (SettingsTarget::of_user(), ManagedArgs::default());
        Args { target, command: None, skills: false, enable_teams: false, client_version, managed }
    }

    /// The program that the hooks run.
    fn program(&self, context: &Context) -> Result<HookProgram> {
        match &self.command {
            Some(command) => HookProgram::named(command),
            None => HookProgram::running(&context.env),
        }
    }

    /// The version of Claude Code, if it can be determined.
    fn client(&self, context: &Context) -> ClientVersion {
        match self.client_version {
            Some(version) => ClientVersion::Known(version),
            None => {
                version::probe(&context.env, &context.paths, |waiting| context.ui.eprint_line(waiting)).answer
            }
        }
    }

    /// Checks that the options fit the scope.
    fn check(&self) -> Result<()> {
        match (self.target.is_managed(), self.managed.given()) {
            (false, Some(option)) => Err(Error::usage(format!("{option} is an option of --scope managed"))),
            (true, _) if self.skills => {
                Err(Error::usage("--skills installs for one user, not with --scope managed"))
            }
            (true, _) if self.enable_teams => {
                Err(Error::usage("--enable-teams is for one user, not with --scope managed"))
            }
            _ => Ok(()),
        }
    }
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    add(context, args).map(|_| ())
}

/// Adds the hooks; whether there was anything to add. The settings are unchanged after an error.
pub fn add(context: &Context, args: &Args) -> Result<bool> {
    let print = |line: String| context.ui.eprint_line(&line);
    let target = &args.target;
    args.check()?;
    if target.is_managed() {
        let program = install_managed::check_program(args.program(context)?)?;
        return install_managed::add(context, (target, &args.managed), &program, args.client(context));
    }
    if let Some(path) = target.covering_file(context) {
        print(format!("nothing to do: {} has teamkeep's hooks for every user", path.display()));
        print("hint: with hooks in two files, events are recorded twice; see: teamkeep doctor".to_owned());
        return if args.enable_teams { enable_teams(context, target) } else { Ok(false) };
    }
    let (program, client) = (args.program(context)?, args.client(context));
    let records = InstallRecords::at(context.paths.installs());
    let _lock = if target.dry_run { None } else { Some(records.lock()?) };
    let file = target.read(context)?;
    if !target.dry_run {
        file.sweep();
    }
    let path = file.path.display();
    let before = hook_command::ours(&lenient_data(file.bytes()));
    let is_updated = || records.find(&file.real).is_some_and(|record| record.skill.is_some());
    let skill = if args.skills || is_updated() { Some(Skill::beside(&file.real)?) } else { None };
    // A skill that the user has removed is installed only on request.
    let skill = skill.filter(|skill| args.skills || skill.exists());
    let needs = needed_hooks(context, &before);
    let wanted = plan::wanted(&client, &program, &before, &needs);
    // Hooks that only newer versions support are kept if Claude Code's version is unknown.
    let keeps_newer =
        matches!(client, ClientVersion::Unknown(_)) && wanted != plan::wanted(&client, &program, &[], &needs);
    let (content, added) = match args.enable_teams {
        true => variables::enable(file.bytes()).map_err(|cause| edit_error(&file, cause))?,
        false => (file.bytes().to_vec(), AddedVariables::default()),
    };
    let after = plan::with_hooks(&content, &wanted).map_err(|cause| edit_error(&file, cause))?;
    let flaw = check_strict(&after).err();
    let is_changed = after != file.bytes();
    let new = NewContent { context, records: &records, file: &file, after: &after, added: &added };
    if !is_changed {
        // If Claude Code ignores the file, the warning is printed below.
        if flaw.is_none() {
            print(format!("nothing to do: {path} already has all {}", count(wanted.len(), "hook")));
        }
        if !target.dry_run && records.find(&file.real).is_none() {
            // The hooks may be another user's. From now on they are this user's.
            let _ = new.remember(Some(&program), &client);
        }
    } else if target.dry_run {
        print_diff(context, &file, &after)?;
    } else {
        let backup = new.write(Some(&program), &client)?;
        print(match after == content {
            true => format!("{path} already has all {}", count(wanted.len(), "hook")),
            false => plan::describe(&before, &wanted, &path.to_string()),
        });
        let version = match &client {
            ClientVersion::Known(version) => format!(", for Claude Code {version}"),
            ClientVersion::Unknown(_) => String::new(),
        };
        print(format!("each runs {}{version}", program.call()));
        if let Some(backup) = backup {
            print(format!("backup: {}", backup.display()));
        }
        print(format!("to remove the hooks: {}", target.command(context, "uninstall", &file)));
        if target.is_shared() && !program.is_bare() {
            print("note: this shared file now contains a path that is specific to this machine".to_owned());
            let again = target.command(context, "install", &file);
            print(format!("hint: to call teamkeep by name from PATH: {again} --command teamkeep-hook"));
        }
    }
    if args.enable_teams && (!target.dry_run || added.is_empty()) {
        print_variables(context, &file, &after, &added);
    }
    if let Some(skill) = skill {
        add_skill(context, args, &records, (&file, &skill))?;
    }
    if let Some(obstacle) = program.unrunnable_reason(&context.env) {
        print(format!("warning: {obstacle}"));
    }
    match &client {
        ClientVersion::Unknown(why) => {
            let effect = match keeps_newer {
                true => "the installed hooks are unchanged".to_owned(),
                false => format!(
                    "the {} hooks are those that every version with agent teams supports",
                    wanted.len()
                ),
            };
            print(format!("note: {why}; {effect}"));
            let again = target.command(context, "install", &file);
            print(format!(
                "hint: run again when `claude --version` works: {again}; or pass --client-version X.Y.Z"
            ));
        }
        ClientVersion::Known(version) => print_unsupported(context, *version),
    }
    if lenient_data(&after).get("disableAllHooks") == Some(&true.into()) {
        print(format!("warning: no hook runs while `disableAllHooks` is true in {path}"));
    }
    print_hooks_of_policy(context, &needs, &wanted);
    if list_custom_hooks(context, &after) {
        print(format!(
            "hint: remove teamkeep from that hook in {path}; otherwise its events are recorded twice"
        ));
    }
    if let Some(flaw) = flaw {
        // The file had this flaw before, so this install did not fail.
        print(format!("warning: the hooks in {path} do not run: {flaw}"));
        print(format!("hint: {}", flaw.edit(&file.path)));
    }
    Ok(is_changed)
}

/// Adds only the variables that enable agent teams and task tools. Returns whether there was anything to add.
pub fn enable_teams(context: &Context, target: &SettingsTarget) -> Result<bool> {
    let records = InstallRecords::at(context.paths.installs());
    let _lock = if target.dry_run { None } else { Some(records.lock()?) };
    let file = target.read(context)?;
    let (after, added) = variables::enable(file.bytes()).map_err(|cause| edit_error(&file, cause))?;
    if added.is_empty() {
        print_variables(context, &file, &after, &added);
    } else if target.dry_run {
        print_diff(context, &file, &after)?;
    } else {
        let new = NewContent { context, records: &records, file: &file, after: &after, added: &added };
        // An earlier install may have recorded the version, which does not matter here.
        let backup = new.write(None, &ClientVersion::Unknown(String::new()))?;
        print_variables(context, &file, &after, &added);
        if let Some(backup) = backup {
            context.ui.eprint_line(&format!("backup: {}", backup.display()));
        }
        context.ui.eprint_line(&format!("to undo: {}", target.command(context, "uninstall", &file)));
    }
    Ok(!added.is_empty())
}

/// Writes the skill and records it.
fn add_skill(
    context: &Context,
    args: &Args,
    records: &InstallRecords,
    (file, skill): (&SettingsFile, &Skill),
) -> Result<()> {
    let record = records.find(&file.real);
    let path = skill.path.display();
    let change = skill.change(record.as_ref().and_then(|record| record.skill.as_deref()));
    let line = match change {
        SkillChange::Foreign => {
            format!("warning: {path} is left unchanged: teamkeep did not write it, or it was edited")
        }
        SkillChange::Written if args.target.dry_run => format!("would write the skill {path}"),
        SkillChange::Written => {
            skill.write()?;
            format!("wrote the skill {path}")
        }
        SkillChange::None | SkillChange::Removed => format!("nothing to do: the skill {path} is installed"),
    };
    context.ui.eprint_line(&line);
    if change == SkillChange::Foreign {
        let again = args.target.command(context, "install", file);
        context.ui.eprint_line(&format!("hint: to replace it, remove the file and run: {again} --skills"));
    }
    if let Some(mut record) = record.filter(|_| !args.target.dry_run && change != SkillChange::Foreign) {
        record.skill = Some(Skill::hash());
        records.write(&file.real, &record)?;
    }
    Ok(())
}
