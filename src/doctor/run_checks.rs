//! Runs all checks in order.

use super::facts::Facts;
use super::finding::{Finding, Health};
use super::{
    answer, client, client_flags, duplicate_hooks, enabled, events, hooks, lists, matcher, policy, program,
    record, store, teams, versions,
};
use crate::config::Problem;
use crate::error::Result;

/// Runs all checks without changing anything: the hooks' program is tested with a temporary store. `misnamed` is the
/// problem with the name of the configuration file.
///
/// # Errors
/// A directory of the store cannot be read.
pub fn run_checks(facts: &Facts<'_>, misnamed: Option<&Problem>) -> Result<Health> {
    let named = program::named(facts);
    let mut findings: Vec<Finding> = vec![client::check(&facts.asked, facts.env)];
    findings.extend(events::check(facts));
    findings.push(client_flags::teams(facts));
    findings.push(client_flags::tasks(facts));
    findings.extend(enabled::settings(&facts.layers));
    findings.extend(enabled::hooks(facts));
    findings.push(hooks::installed(facts));
    findings.push(hooks::complete(facts)?);
    findings.push(duplicate_hooks::check(facts));
    findings.extend(matcher::check(facts));
    findings.push(hooks::budget(facts));
    findings.extend(program::check(facts, &named));
    findings.extend(answer::check(facts, &named));
    findings.push(program::search_path(facts));
    findings.push(versions::check(facts, &named));
    findings.push(policy::files(facts, misnamed));
    findings.push(policy::trust(facts));
    findings.extend(policy::asked(facts)?);
    findings.push(store::private(facts));
    findings.push(store::writable(facts));
    findings.push(store::free_space(facts));
    findings.push(record::last_event(facts));
    findings.push(record::newest_run(facts));
    findings.push(record::failures(facts));
    findings.push(lists::check(facts));
    findings.push(lists::files(facts));
    findings.push(teams::check(facts));
    Ok(Health { findings })
}
