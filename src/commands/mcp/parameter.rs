//! The parameters of a tool: their types, and the words that each adds to the command line.

use std::ffi::OsString;

use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// A parameter of a tool.
pub struct Parameter {
    pub name: &'static str,
    pub place: Place,
    pub kind: Type,
    pub about: &'static str,
}

/// Where a value goes.
pub enum Place {
    /// The last argument of the command.
    Argument,
    /// The value of this option.
    Option(&'static str),
    /// The server applies it to the command's output.
    Server,
}

/// The type of a value. `fn` lists the words that are allowed.
pub enum Type {
    Text,
    Flag,
    /// An integer from 1 to this.
    Count(u64),
    Words(fn() -> Vec<String>),
}

impl Parameter {
    /// The words that a value adds to the command line; `None` for a value of another type. A value is never read as an
    /// option: it follows `=`.
    pub fn words(&self, value: &Value) -> Option<Vec<OsString>> {
        let texts = self.kind.texts(value)?;
        Some(match (&self.place, &self.kind) {
            (Place::Option(option), Type::Flag) => texts.iter().map(|_| option.into()).collect(),
            (Place::Option(option), _) => {
                texts.into_iter().map(|text| format!("{option}={text}").into()).collect()
            }
            (Place::Argument | Place::Server, _) => texts.into_iter().map(Into::into).collect(),
        })
    }
}

impl Type {
    /// The values on the command line. A flag that is not set has none.
    fn texts(&self, value: &Value) -> Option<Vec<String>> {
        let is_allowed = |words: &fn() -> Vec<String>, text: &str| words().iter().any(|word| word == text);
        match self {
            Type::Text => Some(vec![value.as_str()?.to_owned()]),
            Type::Flag => Some(value.as_bool()?.then(|| "true".to_owned()).into_iter().collect()),
            Type::Count(most) => {
                let count = value.as_u64().filter(|count| (1..=*most).contains(count))?;
                Some(vec![count.to_string()])
            }
            Type::Words(words) => value
                .as_array()?
                .iter()
                .map(|word| Some(word.as_str().filter(|word| is_allowed(words, word))?.to_owned()))
                .collect(),
        }
    }

    pub fn expected(&self) -> String {
        match self {
            Type::Text => "a string".to_owned(),
            Type::Flag => "true or false".to_owned(),
            Type::Count(most) => format!("an integer from 1 to {most}"),
            Type::Words(words) => format!("a list of {}", words().join(", ")),
        }
    }

    fn schema(&self) -> Value {
        match self {
            Type::Text => json!({"type": "string"}),
            Type::Flag => json!({"type": "boolean"}),
            Type::Count(most) => json!({"type": "integer", "minimum": 1, "maximum": most}),
            Type::Words(words) => {
                json!({"type": "array", "items": {"type": "string", "enum": words()}})
            }
        }
    }
}

/// The JSON Schema of a tool's parameters.
pub fn schema(parameters: &[Parameter], required: &[&str]) -> JsonObject {
    let property = |parameter: &Parameter| {
        let mut property = parameter.kind.schema();
        property["description"] = json!(parameter.about);
        (parameter.name.to_owned(), property)
    };
    let properties: JsonObject = parameters.iter().map(property).collect();
    let schema = [
        ("type", json!("object")),
        ("properties", Value::Object(properties)),
        ("required", json!(required)),
        ("additionalProperties", json!(false)),
    ];
    schema.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
