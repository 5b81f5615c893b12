//! `teamkeep ship --dry-run`: the rows that would be sent, without sending them.

use std::collections::BTreeMap;
use std::io::Write;

use teamkeep_core::error::Result;
use teamkeep_core::store::shipping::Shipping;
use teamkeep_core::sys::clock::Timestamp;

use crate::delivery::Delivery;
use crate::outcome::RoundOutcome;
use crate::preview::Preview;
use crate::setup::Setup;
use crate::shipment::Shipper;

/// Prints the rows for each destination, with `json` each one in a line. Data that began before `since` is left out.
pub fn print(setup: &Setup, since: Option<Timestamp>, json: bool) -> Result<()> {
    let (mut state, _) = Shipping::of(&setup.context.paths).read()?;
    since.into_iter().for_each(|since| state.set_since(&setup.context.config.ship, since));
    let identity = setup.identity(&state)?;
    let preview =
        Preview { out: Box::new(setup.context.ui.json()), prints_rows: json, tables: BTreeMap::new() };
    let mut delivery = Delivery::Preview(preview);
    for destination in &state.configured(&setup.context.config.ship) {
        if let Delivery::Preview(preview) = &mut delivery
            && !json
        {
            let (kind, address) = (destination.kind.name(), &destination.address);
            let (organization, host) = (&identity.organization, &identity.host);
            writeln!(preview.out, "{kind} {address} (org={organization} host={host})")?;
        }
        let now = setup.context.clock.now();
        let shipper = Shipper { setup, lock: None, destination, identity: &identity, now };
        let mut round = RoundOutcome::default();
        shipper.ship(&state, &mut delivery, &mut round)?;
        round.notes.iter().for_each(|note| setup.context.ui.warn(note));
        round.errors.iter().for_each(|error| setup.context.ui.report(error));
        if let Delivery::Preview(preview) = &mut delivery {
            preview.print_tables()?;
        }
    }
    if let Delivery::Preview(preview) = &mut delivery {
        preview.out.flush()?;
    }
    Ok(())
}
