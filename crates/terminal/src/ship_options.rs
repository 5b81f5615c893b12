//! The options of `teamkeep ship`, which runs teamkeep-ship with the same ones.

/// The end of the help, here and in teamkeep-ship.
pub const EXAMPLES: &str = "\
Examples:
  # Show what would be sent, and send nothing
  teamkeep ship --dry-run

  # Send all new data, and show what each destination has
  teamkeep ship --once
  teamkeep ship status

  # Send only data from this date on, in this and later shipments
  teamkeep ship --once --since 2026-11-01

Destinations are set under [ship] in the configuration. The events of the log and the runs that have ended are sent.
The program teamkeep-ship must be installed: ./install.sh --with-ship.";

#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct SendArgs {
    /// Send all new data once, then exit; without this option, repeat every `ship.interval` until Ctrl-C
    #[arg(long)]
    pub once: bool,
    /// Exclude data that began before this time, in this and later shipments, until another --since
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Show what would be sent, and send nothing
    #[arg(long, conflicts_with = "once")]
    pub dry_run: bool,
    /// With --dry-run: print each row as one line of JSON
    #[arg(long, requires = "dry_run")]
    pub json: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, clap::Subcommand)]
pub enum ShipCommand {
    /// Show the sent and unsent data of each destination, and the last error
    #[command(
        after_help = "Examples:\n  teamkeep ship status\n  teamkeep ship status --json | jq '.destinations[].unsent_runs'"
    )]
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
