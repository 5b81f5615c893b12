//! Before 2.1.69, tool events of teammates and subagents have no agent id, so that a call without one may be anyone's.
//! Seen with 2.1.47; seen with the id in 2.1.177 and 2.1.328.

/// Whether tool events of this version name the agent: without an agent id, the actor is the lead.
pub fn names_agents(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next()) >= (2, 1, 69)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(names_agents("2.1.69") && names_agents("2.1.328") && names_agents("3.0"));
        assert!(!names_agents("2.1.47") && !names_agents("2.1") && !names_agents("nonsense"));
    }
}
