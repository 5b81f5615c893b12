//! `teamkeep uninstall`: removes the hooks from a settings file.

use std::process::ExitCode;

use crate::commands::settings_target::{SettingsTarget, edit_error, show, warn_custom_hooks};
use crate::context::Context;
use crate::error::Result;
use crate::fs::Lock;
use crate::settings::change::hooks;
use crate::settings::file::SettingsFile;
use crate::settings::install_record::{Record, Records};
use crate::settings::installed_hooks;
use crate::settings::plan;

/// Arguments of `teamkeep uninstall`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    place: SettingsTarget,
}

const EXAMPLES: &str = "Examples:
  teamkeep uninstall
  teamkeep uninstall --scope project --yes";

/// Removes the hooks.
///
/// # Errors
/// The settings cannot be read, edited or written. They are unchanged then.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let records = Records::at(context.paths.installs());
    let _lock = if args.place.dry_run { None } else { lock(context, &records)? };
    let file = args.place.read(context)?;
    let record = records.find(&file.real).filter(|record| record.left(file.bytes()));
    let (after, exact) = before_us(&records, &file, record.as_ref())?;
    let path = file.path.display();
    if after == file.content {
        context.ui.eprint_line(&format!("nothing to do: {path} has no teamkeep hooks"));
    } else if args.place.dry_run {
        show(context, &file, after.as_deref().unwrap_or_default())?;
    } else {
        // A store that is not writable must not prevent an uninstall.
        let kept = records.keep(&file.real, file.bytes());
        let count = hooks(installed_hooks::count(file.bytes()));
        match &after {
            Some(content) => {
                file.replace(content)?;
                let how = if exact { "; restored its previous content" } else { "" };
                context.ui.eprint_line(&format!("removed {count} from {path}{how}"));
            }
            None => {
                file.remove()?;
                context
                    .ui
                    .eprint_line(&format!("removed {path} with its {count} (install had created the file)"));
                if record.is_some_and(|record| record.made_directory)
                    && let Some(directory) = file.real.parent()
                {
                    // Removes only an empty directory.
                    let _ = std::fs::remove_dir(directory);
                }
            }
        }
        match kept {
            Ok((_, kept)) => context.ui.eprint_line(&format!("backup: {}", kept.display())),
            Err(error) => context.ui.eprint_line(&format!("note: no backup was kept: {error}")),
        }
        if let Err(error) = records.forget(&file.real) {
            context.ui.eprint_line(&format!("note: cannot delete the install record: {error}"));
        }
    }
    if let Some(content) = &after {
        warn_custom_hooks(context, &file, content, false);
    }
    Ok(ExitCode::SUCCESS)
}

/// Locks out other installs. If the store is not writable, there is no lock.
fn lock(context: &Context, records: &Records) -> Result<Option<Lock>> {
    match records.try_lock() {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(records.busy()),
        Err(error) => {
            context.ui.eprint_line(&format!("note: cannot write the install records: {error}"));
            Ok(None)
        }
    }
}

/// The content to restore: the exact previous content (and `true`) if nothing else changed since the install, else the
/// present content without teamkeep's hooks, or none for a file that install created.
fn before_us(
    records: &Records,
    file: &SettingsFile,
    record: Option<&Record>,
) -> Result<(Option<Vec<u8>>, bool)> {
    let Some(content) = &file.content else { return Ok((None, true)) };
    match record.map(|record| record.original.as_deref().map(|original| records.kept(&file.real, original))) {
        Some(None) => Ok((None, true)),
        Some(Some(Some(kept))) => Ok((Some(kept), true)),
        None | Some(Some(None)) => {
            let without = plan::without_hooks(content).map_err(|cause| edit_error(file, cause))?;
            Ok((Some(without), false))
        }
    }
}
