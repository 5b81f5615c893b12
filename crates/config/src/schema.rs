//! The JSON Schema of `teamkeep.toml` and the list of its keys. serde's model of the file is described by schemars; the
//! descriptions of keys are the comments of the template.

use schemars::generate::SchemaSettings;
use serde_json::{Value as Json, json};

use super::{Config, TEMPLATE};

/// A key of the file.
#[derive(Debug, Clone)]
pub struct Key {
    /// Its path with dots; `rule[].name` for a key of each `[[rule]]`.
    pub path: String,
    /// The JSON Schema of its value.
    pub schema: Json,
}

impl Key {
    /// Its default; `None` for a required key.
    pub fn default(&self) -> Option<&Json> {
        self.schema.get("default")
    }

    pub fn description(&self) -> &str {
        self.schema["description"].as_str().unwrap_or_default()
    }
}

/// Every key, in the order of the template.
pub fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    describe(&mut generated(), "", &mut keys);
    keys
}

/// The JSON Schema of the whole file.
pub fn schema() -> Json {
    let mut schema = generated();
    describe(&mut schema, "", &mut Vec::new());
    schema
}

fn generated() -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Config>().to_value();
    schema["title"] = json!("teamkeep.toml");
    schema
}

/// Adds the descriptions to the keys of this table, and the keys to the list. Only keys have a default and a description.
fn describe(table: &mut Json, path: &str, keys: &mut Vec<Key>) {
    if let Some(table) = table.as_object_mut() {
        table.retain(|name, _| name != "default" && name != "description");
    }
    let Some(properties) = table.get_mut("properties").and_then(Json::as_object_mut) else { return };
    for (name, value) in properties {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{name}");
        if value.get("properties").is_some() {
            describe(value, &path, keys);
        } else if value.pointer("/items/properties").is_some() {
            describe(&mut value["items"], &format!("{path}[]"), keys);
            *value = json!({"type": "array", "items": value["items"]});
        } else {
            value["description"] = json!(comment(&path));
            keys.push(Key { path, schema: value.clone() });
        }
    }
}

/// The comment before a key in the template.
fn comment(path: &str) -> String {
    let (mut table, mut comment) = (String::new(), Vec::new());
    for line in TEMPLATE.lines() {
        if let Some(words) = line.strip_prefix("# ") {
            comment.push(words);
            continue;
        }
        // Examples are behind `#` without a space.
        let line = line.strip_prefix('#').unwrap_or(line);
        if let Some(list) = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
            table = format!("{list}[].");
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = format!("{name}.");
        } else if let Some((name, _)) = line.split_once(" = ")
            && path.strip_prefix(table.as_str()) == Some(name)
        {
            return comment.join(" ");
        }
        comment.clear();
    }
    String::new()
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
    fn the_schema_accepts_every_unit_that_is_read() {
        for (key, units) in [
            ("keep", &["ms", "s", "m", "h", "d", "w"][..]),
            ("keep-size", &["B", "kB", "KiB", "MB", "MiB", "gb", "GiB"]),
        ] {
            for unit in units {
                let text = format!("[log]\n{key} = \"2{unit}\"\n");
                let source = crate::source::Source::new(std::path::Path::new("x"), &text);
                assert!(crate::check::check(&source).is_sound && flaw_of(&text).is_none(), "{text}");
            }
        }
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

    #[test]
    fn the_template_has_every_key_with_its_default() {
        let (mut table, mut found) = (String::new(), Vec::new());
        let (keys, text) = (keys(), crate::tests::with_examples());
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
                table = format!("{name}[]");
            } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                table = name.to_owned();
            } else if let Some((name, value)) = line.split_once(" = ").filter(|_| !line.starts_with("# ")) {
                let path = format!("{table}.{name}");
                let key = keys.iter().find(|key| key.path == path).unwrap_or_else(|| panic!("{path}"));
                assert_ne!(key.description(), "", "{path}");
                if !path.contains("[]") {
                    assert_eq!(serde_json::from_str::<Json>(value).ok().as_ref(), key.default(), "{path}");
                }
                found.push(path);
            }
        }
        assert_eq!(found, keys.iter().map(|key| key.path.as_str()).collect::<Vec<_>>());
    }
}
