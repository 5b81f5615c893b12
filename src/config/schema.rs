//! The JSON Schema of `teamkeep.toml`, derived from the table of keys.

use serde_json::{Map, Value as Json, json};

use super::keys::{Key, Kind, Place, names};
use crate::payload::KNOWN;

/// The schema of the whole file.
pub fn schema() -> Json {
    let mut root = table("");
    let mut all = Map::new();
    all.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    all.insert("title".to_owned(), json!("teamkeep.toml"));
    if let Some(root) = root.as_object_mut() {
        all.append(root);
    }
    Json::Object(all)
}

fn table(path: &str) -> Json {
    let mut properties = Map::new();
    let mut needed = Vec::new();
    for name in names(path) {
        let below = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let schema = match Place::at(&below) {
            Some(Place::Value(key)) => {
                if key.default.is_none() {
                    needed.push(name);
                }
                value(key)
            }
            Some(Place::List) => json!({"type": "array", "items": table(&format!("{below}[]"))}),
            Some(Place::Table) | None => table(&below),
        };
        properties.insert(name.to_owned(), schema);
    }
    let mut schema = json!({"type": "object", "additionalProperties": false, "properties": properties});
    if !needed.is_empty() {
        schema["required"] = json!(needed);
    }
    schema
}

fn value(key: &Key) -> Json {
    let mut schema = Map::new();
    schema.insert("description".to_owned(), json!(key.doc));
    if let Some(default) = key.default.and_then(|text| serde_json::from_str::<Json>(text).ok()) {
        schema.insert("default".to_owned(), default);
    }
    if let Json::Object(mut kind) = of_kind(key.kind) {
        schema.append(&mut kind);
    }
    Json::Object(schema)
}

fn of_kind(kind: Kind) -> Json {
    let texts = |item: Json| json!({"type": "array", "items": item});
    match kind {
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Count => json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
        Kind::Times => json!({"type": "integer", "minimum": 1, "maximum": u32::MAX}),
        Kind::Price => json!({"type": "number", "minimum": 0, "maximum": 1_000_000}),
        Kind::Size => {
            json!({"type": "string", "pattern": "^\\s*[0-9.]+\\s*([kKmMgG][iI]?)?[bB]\\s*$"})
        }
        Kind::Duration => {
            json!({"type": "string", "pattern": "^\\s*([0-9.]+(ms|s|m|h|d))+([0-9.]+)?\\s*$"})
        }
        Kind::Words(words) => json!({"enum": words}),
        Kind::Text => json!({"type": "string"}),
        Kind::Regex => json!({"type": "string", "minLength": 1}),
        Kind::Picks(words) => texts(json!({"enum": words})),
        Kind::Glob => json!({"type": "string", "minLength": 1}),
        Kind::Names => texts(json!({"type": "string"})),
        Kind::Globs => texts(json!({"type": "string", "minLength": 1})),
        Kind::Events => {
            let known = KNOWN.iter();
            texts(json!({"enum": known.flat_map(|row| [row.1, row.2]).collect::<Vec<_>>()}))
        }
        Kind::Patterns => json!({
            "type": "object",
            "propertyNames": {"pattern": "^/"},
            "additionalProperties": {"type": "string", "minLength": 1},
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TEMPLATE;
    use toml::de::{DeTable, DeValue};

    /// Validates with the part of JSON Schema that this schema uses.
    fn flaw(schema: &Json, value: &DeValue<'_>, at: &str) -> Option<String> {
        let no = |what: &str| Some(format!("{at}: {what}"));
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            return if words.iter().any(|word| word.as_str() == value.as_str()) { None } else { no("word") };
        }
        let kind = schema["type"].as_str().unwrap();
        match (kind, value) {
            ("boolean", DeValue::Boolean(_)) => None,
            ("integer", DeValue::Integer(number)) => {
                let least = schema["minimum"].as_i64().unwrap();
                (number.as_str().parse::<i64>().unwrap() < least).then(|| at.to_owned())
            }
            ("number", DeValue::Integer(_) | DeValue::Float(_)) => None,
            ("string", DeValue::String(text)) => {
                let pattern =
                    schema.get("pattern").map(|p| regex_lite::Regex::new(p.as_str().unwrap()).unwrap());
                let short = schema.get("minLength").is_some() && text.is_empty();
                let bad = short || pattern.is_some_and(|pattern| !pattern.is_match(text));
                if bad { no("pattern") } else { None }
            }
            ("array", DeValue::Array(list)) => {
                list.iter().find_map(|item| flaw(&schema["items"], item.get_ref(), &format!("{at}[]")))
            }
            ("object", DeValue::Table(table)) => {
                let missing = schema.get("required").and_then(Json::as_array).into_iter().flatten();
                let missing = missing.filter_map(Json::as_str).find(|name| !table.contains_key(*name));
                missing.and_then(&no).or_else(|| {
                    table.iter().find_map(|(name, value)| {
                        let known = schema.get("properties").and_then(|all| all.get(name.get_ref().as_ref()));
                        match known.unwrap_or(&schema["additionalProperties"]) {
                            Json::Bool(_) => no(name.get_ref()),
                            known => flaw(known, value.get_ref(), &format!("{at}.{}", name.get_ref())),
                        }
                    })
                })
            }
            _ => no("type"),
        }
    }

    fn flaw_of(text: &str) -> Option<String> {
        flaw(&schema(), &DeValue::Table(DeTable::parse(text).unwrap().into_inner()), "")
    }

    #[test]
    fn template_and_examples_match_the_schema() {
        assert_eq!(flaw_of(TEMPLATE), None);
        assert_eq!(flaw_of(&crate::config::tests::with_examples()), None);
    }

    #[test]
    fn schema_rejects_what_validation_rejects() {
        for bad in [
            "[polity]\n",
            "[log]\nkeep = \"90\"\n",
            "[log]\nkeep = 90\n",
            "[log]\nkeep-size = \"1 TiB\"\n",
            "[policy]\nmax-blocks = -1\n",
            "[policy]\nmax-blocks = 0\n",
            "[policy.protect-lead]\nmode = \"hard\"\n",
            "[policy.team-size]\nmodels = [1]\n",
            "[[policy.completion-check.check]]\nsubject = \"x\"\n",
            "[[rule]]\nname = \"x\"\n",
            "[privacy]\nredact = [\"keys\"]\n",
            "[[privacy.pattern]]\nname = \"x\"\n",
            "[[privacy.pattern]]\nname = \"x\"\nregex = \"\"\n",
            "[[rule]]\nname = \"x\"\naction = \"off\"\n",
            "[[rule]]\nname = \"x\"\naction = \"warn\"\nmatch = { \"/a\" = \"\" }\n",
        ] {
            assert!(flaw_of(bad).is_some(), "{bad}");
            let source = crate::config::source::Source::new(std::path::Path::new("x"), bad);
            assert!(!crate::config::check::check(&source).is_sound(), "{bad}");
        }
    }
}
