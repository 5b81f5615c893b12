//! `teamkeep config test-notify`: sends one notification to the destinations and prints the responses.

use std::process::ExitCode;

use crate::commands::catalog::redactor;
use crate::commands::output;
use crate::notify::{Destination, Notification};
use teamkeep_config::Notify;
use teamkeep_config::notify::check_url;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Send it to the destinations in the configuration
  teamkeep config test-notify

  # Try a destination before you configure it
  teamkeep config test-notify --url http://localhost:8080/teamkeep
  teamkeep config test-notify --command 'cat > notification.json'")]
pub struct Args {
    /// Address to post to, instead of the configured destinations
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Command to run, instead of the configured destinations
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let destinations = destinations(context, args)?;
    let (now, redactor) = (context.clock.now(), redactor(context, [])?);
    let body = Notification::example(now).body(&redactor)?;
    let mut is_sent = true;
    for destination in &destinations {
        match destination.send(&body, now) {
            Ok(response) => {
                output::print(context, &format!("sent to {}: {response}\n", destination.name()))?;
            }
            Err(error) => {
                is_sent = false;
                context.ui.report(&error.within(format!("cannot send to {}", destination.name())));
            }
        }
    }
    Ok(if is_sent { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn destinations(context: &Context, args: &Args) -> Result<Vec<Destination>> {
    let configured = &context.config.notify;
    let home = context.env.home.as_deref();
    let notify = match (&args.url, &args.command) {
        (None, None) => configured.clone(),
        (url, command) => Notify {
            url: url.clone().unwrap_or_default(),
            command: command.clone().unwrap_or_default(),
            ..configured.clone()
        },
    };
    check_url(&notify.url).map_err(|why| Error::usage(format!("invalid --url: {why}")))?;
    if !notify.is_configured() {
        return Err(Error::new("no destination is configured")
            .hint("set `command` or `url` under [notify] in the configuration file; to show its path: teamkeep config path")
            .hint("to try an address first: teamkeep config test-notify --url URL"));
    }
    Ok(Destination::all(&notify, home))
}
