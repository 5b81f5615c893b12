//! The JSON Schema of `teamkeep.toml`.

use serde_json::{Map, Value as Json, json};

use super::keys::Kind::{
    Count, Duration, Events, Glob, Globs, Names, Patterns, Percent, Picks, Price, Regex, Size, Switch, Text,
    Times, Words,
};
use super::keys::{Key, Place, names};
use teamkeep_model::payload::KNOWN;

/// The JSON Schema of the whole file.
pub fn schema() -> Json {
    let mut root =
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "teamkeep.toml"});
    extend(&mut root, table_schema(""));
    root
}

fn extend(schema: &mut Json, more: Json) {
    if let (Json::Object(schema), Json::Object(more)) = (schema, more) {
        schema.extend(more);
    }
}

fn table_schema(path: &str) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for name in names(path) {
        let below = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let schema = match Place::at(&below) {
            Some(Place::Value(key)) => {
                if key.default.is_none() {
                    required.push(name);
                }
                key_schema(key)
            }
            Some(Place::List) => json!({"type": "array", "items": table_schema(&format!("{below}[]"))}),
            Some(Place::Table) | None => table_schema(&below),
        };
        properties.insert(name.to_owned(), schema);
    }
    let mut schema = json!({"type": "object", "additionalProperties": false, "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn key_schema(key: &Key) -> Json {
    let mut schema = json!({"description": key.doc()});
    if let Some(default) = key.default.and_then(|text| serde_json::from_str::<Json>(text).ok()) {
        schema["default"] = default;
    }
    let list = |item: Json| json!({"type": "array", "items": item});
    let kind = match key.kind {
        Switch => json!({"type": "boolean"}),
        Count => json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
        Times => json!({"type": "integer", "minimum": 1, "maximum": u32::MAX}),
        Percent => json!({"type": "string", "pattern": "^([0-9]+%|never)$"}),
        Price => json!({"type": "number", "minimum": 0, "maximum": 1_000_000}),
        Size => json!({"type": "string", "pattern": "^\\s*[0-9.]+\\s*([kKmMgG][iI]?)?[bB]\\s*$"}),
        Duration => json!({"type": "string", "pattern": "^\\s*([0-9.]+(ms|s|m|h|d))+([0-9.]+)?\\s*$"}),
        Words(words) => json!({"enum": words}),
        Text => json!({"type": "string"}),
        Glob | Regex => json!({"type": "string", "minLength": 1}),
        Picks(words) => list(json!({"enum": words})),
        Names => list(json!({"type": "string"})),
        Globs => list(json!({"type": "string", "minLength": 1})),
        Events => list(json!({"enum": KNOWN.iter().flat_map(|row| [row.1, row.2]).collect::<Vec<_>>()})),
        Patterns => json!({
            "type": "object",
            "propertyNames": {"pattern": "^/"},
            "additionalProperties": {"type": "string", "minLength": 1},
        }),
    };
    extend(&mut schema, kind);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TEMPLATE;
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
        assert_eq!(flaw_of(&crate::tests::with_examples()), None);
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
            let source = crate::source::Source::new(std::path::Path::new("x"), bad);
            assert!(!crate::check::check(&source).is_sound, "{bad}");
        }
    }
}
