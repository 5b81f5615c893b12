//! The forms of agent ids, in `agent_id` of payloads and in the file names of transcripts.

/// The form of an agent's id. No other code reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentId<'a> {
    /// `a<name>-<16 hex>`: a teammate in the lead's process, in all its turns. Seen with 2.1.328 and later.
    Named(&'a str),
    /// `a<16 hex>`: a plain subagent. In 2.1.47 and 2.1.177 also one turn of a teammate: each has a new id.
    Plain,
    /// `name@team`, which names a member in team files, or an unknown form.
    Other,
}

impl AgentId<'_> {
    pub fn parse(id: &str) -> AgentId<'_> {
        let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let Some(rest) = id.strip_prefix('a') else { return AgentId::Other };
        match rest.rsplit_once('-') {
            // A name can contain dashes and hexadecimal digits, so the number after the last dash counts.
            Some((name, number)) if is_hex(number) && !name.is_empty() => AgentId::Named(name),
            None if is_hex(rest) => AgentId::Plain,
            _ => AgentId::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_teammate_has_its_name_whatever_the_name_looks_like() {
        for name in ["alice", "a", "code-reviewer", "a-0123456789abcdef", "0123456789abcdef", "ärger"] {
            let id = format!("a{name}-7dfceaaaef47c69e");
            assert_eq!(AgentId::parse(&id), AgentId::Named(name));
        }
        assert_eq!(AgentId::parse("a53bab259a887ce37"), AgentId::Plain);
        for id in ["", "a", "a-7dfceaaaef47c69e", "alice@team", "aalice-", "aalice-x", "alice", "7dfc"] {
            assert_eq!(AgentId::parse(id), AgentId::Other, "{id:?}");
        }
    }
}
