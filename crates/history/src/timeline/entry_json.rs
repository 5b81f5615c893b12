//! The JSON of an entry: one flat object.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::entry::{Entry, EntryKind};

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut json = FlatMap(out.serialize_map(None)?);
        json.put("at", &self.at)?;
        json.put("id", &self.id())?;
        json.put("kind", &self.kind())?;
        json.put("actor", &self.actor)?;
        match &self.kind {
            EntryKind::Task(task) => {
                json.put("task", &task.id)?;
                json.some("summary", &task.subject)?;
                json.some("from_status", &task.from)?;
                json.some("to_status", &task.to)?;
                json.put("owner", &task.owner)?;
            }
            EntryKind::Message(message) => {
                json.some("signed_as", &message.signed_as)?;
                json.some("to", &message.to)?;
                json.some("task", &message.task)?;
                json.some("summary", &message.summary)?;
                json.put("text", &message.text)?;
                json.some("answer", &message.answer.as_ref().map(|answer| &answer.text))?;
                json.put("message", &message.word)?;
                json.some("automatic", &message.automatic.then_some(true))?;
                json.some("unconfirmed", &message.unconfirmed.then_some(true))?;
                json.some("refusal", &message.refusal)?;
                json.some("request", &message.request)?;
                json.some("approve", &message.approve)?;
                json.some("of", &message.judged)?;
            }
            EntryKind::AgentStopped(stop) => {
                json.put("stopped", &stop.name)?;
                json.some("agent", &stop.agent)?;
            }
            _ => {
                json.some("summary", &self.summary())?;
                json.some("text", &self.text())?;
                json.some("agent", &self.agent())?;
            }
        }
        if let Some(verdict) = self.verdict() {
            json.put("decision", &verdict.decision)?;
            json.put("of", &verdict.judged)?;
            json.some("blocks", &verdict.blocks)?;
            json.some("paused", &verdict.paused.then_some(true))?;
            json.some("repeated", &verdict.repeated.then_some(true))?;
            json.some("ignored", &verdict.ignored.then_some(true))?;
        }
        json.put("sources", &self.sources)?;
        json.0.end()
    }
}

struct FlatMap<M>(M);

impl<M: SerializeMap> FlatMap<M> {
    fn put(&mut self, key: &'static str, value: &impl Serialize) -> Result<(), M::Error> {
        self.0.serialize_entry(key, value)
    }

    fn some(&mut self, key: &'static str, value: &Option<impl Serialize>) -> Result<(), M::Error> {
        value.as_ref().map_or(Ok(()), |value| self.put(key, value))
    }
}
