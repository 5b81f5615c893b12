//! The time zone of times that people read and write. It is UTC until [`use_local`] is called, which a hook call does not
//! do: it reads no zone file.

use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, Days, FixedOffset, Local, MappedLocalTime, NaiveDateTime, TimeZone};

use super::Time;

/// Whether the zone is that of `TZ` or of the system.
static IS_LOCAL: AtomicBool = AtomicBool::new(false);

/// Uses the time zone of `TZ`, or of the system, from now on.
pub fn use_local() {
    IS_LOCAL.store(true, Ordering::Relaxed);
}

/// Whether times are in UTC because no other zone was asked for.
pub fn is_utc() -> bool {
    !IS_LOCAL.load(Ordering::Relaxed)
}

/// A time in the zone.
pub fn local(time: Time) -> DateTime<FixedOffset> {
    if is_utc() { time.fixed_offset() } else { time.with_timezone(&Local).fixed_offset() }
}

/// A time for people: `2026-02-03 05:05:06 +01:00`, or `2026-02-03 04:05:06 UTC`.
pub fn moment(time: Time) -> String {
    format!("{} {}", local(time).format("%Y-%m-%d %H:%M:%S"), offset(time))
}

/// [`moment`] of a time formatted by [`stamp`](super::stamp); an invalid time is returned unchanged.
pub fn moment_of(stamped: &str) -> String {
    super::parse(stamped).map_or_else(|| stamped.to_owned(), moment)
}

/// The zone's offset at a time: `UTC` or `+01:00`.
pub fn offset(time: Time) -> String {
    let local = local(time);
    if local.offset().local_minus_utc() == 0 { "UTC".to_owned() } else { local.format("%:z").to_string() }
}

/// The time at which clocks in the zone show `naive`: the first of two, or for a time that they skip, the time with the
/// offset from before the change. `None` if it is out of range.
pub fn resolve(naive: NaiveDateTime) -> Option<Time> {
    if is_utc() {
        return Some(naive.and_utc());
    }
    match Local.from_local_datetime(&naive) {
        MappedLocalTime::Single(time) => Some(time.to_utc()),
        MappedLocalTime::Ambiguous(one, other) => Some(one.min(other).to_utc()),
        MappedLocalTime::None => {
            let day_before = naive.checked_sub_days(Days::new(1))?;
            let before = Local.from_local_datetime(&day_before).earliest()?;
            Some(naive.checked_sub_offset(*before.offset())?.and_utc())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn the_zone_is_utc_unless_the_command_line_asks_for_another() {
        let time = parse("2026-02-03T04:05:06.789Z").unwrap();
        assert_eq!(moment(time), "2026-02-03 04:05:06 UTC");
        assert_eq!(resolve(time.naive_utc()), Some(time));
        assert_eq!(
            (moment_of("2026-02-03T05:05:06+01:00"), moment_of("noon")),
            (moment(time), "noon".into())
        );
    }
}
