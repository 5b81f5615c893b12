//! `teamkeep uninstall`: takes the hooks out of a settings file again.

use std::process::ExitCode;

use crate::commands::place::{Place, cannot_edit, show, tell_theirs};
use crate::context::Context;
use crate::error::Result;
use crate::fs::Lock;
use crate::settings::change::hooks;
use crate::settings::file::SettingsFile;
use crate::settings::found;
use crate::settings::plan;
use crate::settings::record::{Record, Records};

/// Arguments of `teamkeep uninstall`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    place: Place,
}

const EXAMPLES: &str = "Examples:
  teamkeep uninstall
  teamkeep uninstall --scope project --yes";

/// Takes the hooks out.
///
/// # Errors
/// When the settings cannot be read, edited or written; then they are as they were.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let records = Records::at(context.paths.installs());
    let _lock = if args.place.dry_run { None } else { lock(context, &records)? };
    let file = args.place.read(context)?;
    let record = records.find(&file.real).filter(|record| record.left(file.bytes()));
    let (after, exact) = before_us(&records, &file, record.as_ref())?;
    let path = file.path.display();
    if after == file.content {
        context.ui.say(&format!("nothing to do: {path} has no hooks of ours"));
    } else if args.place.dry_run {
        show(context, &file, after.as_deref().unwrap_or_default())?;
    } else {
        // Whoever wants to leave must not be kept by a record that cannot be written.
        let kept = records.keep(&file.real, file.bytes());
        let count = hooks(found::count(file.bytes()));
        match &after {
            Some(content) => {
                file.replace(content)?;
                let how = if exact { "; the file is as it was before" } else { "" };
                context.ui.say(&format!("removed {count} from {path}{how}"));
            }
            None => {
                file.remove()?;
                context.ui.say(&format!("removed {path}, which install had made, with its {count}"));
                if record.is_some_and(|record| record.made_directory)
                    && let Some(directory) = file.real.parent()
                {
                    // Only an empty directory can be removed this way; what somebody put there since stays.
                    let _ = std::fs::remove_dir(directory);
                }
            }
        }
        match kept {
            Ok((_, kept)) => context.ui.say(&format!("the file with the hooks: {}", kept.display())),
            Err(error) => context.ui.say(&format!("note: the file with the hooks was not kept: {error}")),
        }
        if let Err(error) = records.forget(&file.real) {
            context.ui.say(&format!("note: what is remembered of the install stays: {error}"));
        }
    }
    if let Some(content) = &after {
        tell_theirs(context, &file, content, false);
    }
    Ok(ExitCode::SUCCESS)
}

/// Keeps other installs out. Where the record cannot be written there is nothing to keep them out with.
fn lock(context: &Context, records: &Records) -> Result<Option<Lock>> {
    match records.try_lock() {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(records.busy()),
        Err(error) => {
            context.ui.say(&format!("note: what is remembered of installs cannot be written: {error}"));
            Ok(None)
        }
    }
}

/// The content to give back: exactly the one of before (and `true`) where nothing else changed since, else
/// the present one without ours; none at all for a file that install made.
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
            let without = plan::without_ours(content).map_err(|cause| cannot_edit(file, cause))?;
            Ok((Some(without), false))
        }
    }
}
