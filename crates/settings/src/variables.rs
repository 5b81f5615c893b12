//! The variables under `env` that enable agent teams and task tools: `install --enable-teams` adds them, and `uninstall`
//! removes those that it added.

use jsonc_parser::cst::{CstObject, CstObjectProp};
use serde_json::{Map, Value};

use crate::document::{Document, lenient_data, parse, text_of};
use crate::edit::{self, Blanks, Container, Layout, property};
use crate::install_records::AddedVariables;

/// Enables agent teams.
pub const TEAMS: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";
/// Enables the task tools.
pub const TASKS: &str = "CLAUDE_CODE_ENABLE_TODO_TOOLS";
/// The value that is added.
const ON: &str = "1";

/// Whether Claude Code takes this value as on.
pub fn is_on(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// The value of a variable in settings, as text.
pub fn value(settings: &Value, name: &str) -> Option<String> {
    Some(match settings.get("env")?.get(name)? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

/// The content with both variables, and those that had to be added. One that has a value keeps it.
///
/// # Errors
/// The reason why this file cannot be edited.
pub fn enable(content: &[u8]) -> Result<(Vec<u8>, AddedVariables), String> {
    let (bom, text) = text_of(content)?;
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let document = parse(text)?;
    document.first_extension().map_err(|error| error.cause())?;
    let before = document.data();
    let env = env_of(&document)?;
    let missing = [TEAMS, TASKS].into_iter().filter(|name| value(&before, name).is_none());
    let added = AddedVariables { names: missing.map(str::to_owned).collect(), with_env: env.is_none() };
    if added.names.is_empty() {
        return Ok((content.to_vec(), AddedVariables::default()));
    }
    let layout = Layout::of(&document);
    let container = Container::of(env.clone().unwrap_or_else(|| document.settings.clone()));
    let indent = layout.item_indent(&container);
    let values: Map<String, Value> = added.names.iter().map(|name| (name.clone(), ON.into())).collect();
    let items = match env {
        Some(_) => values.iter().map(|(name, value)| property(name, &value.to_string())).collect(),
        None => vec![property("env", &layout.render(&Value::Object(values), &indent))],
    };
    container.append(items, &layout, &indent);
    let after = document.root.to_string();
    let now = parse(&after)?.data();
    if unchanged(&added, &now).names != added.names || others(now, &added) != others(before, &added) {
        return Err("the change would have altered other settings".to_owned());
    }
    Ok((format!("{bom}{after}").into_bytes(), added))
}

/// The content without the added variables that still have their value.
///
/// # Errors
/// The reason why this file cannot be edited.
pub fn remove(content: &[u8], added: &AddedVariables) -> Result<Vec<u8>, String> {
    let added = &still_set(added, content);
    if added.names.is_empty() {
        return Ok(content.to_vec());
    }
    let (bom, text) = text_of(content)?;
    let expected = others(parse(text)?.data(), added);
    let is_right = |now: Value| {
        let is_gone = added.names.iter().all(|name| value(&now, name).is_none());
        is_gone && others(now, added) == expected
    };
    let after = edit::cut(text, |document, blanks| cut(document, added, blanks), is_right);
    let after = after.ok_or("removing the variables would alter other settings")?;
    Ok(format!("{bom}{after}").into_bytes())
}

/// Those of the added variables that still have their value in this content. The others are the user's now.
pub fn still_set(added: &AddedVariables, content: &[u8]) -> AddedVariables {
    unchanged(added, &lenient_data(content))
}

fn unchanged(added: &AddedVariables, settings: &Value) -> AddedVariables {
    let is_unchanged =
        |name: &&String| settings.get("env").and_then(|env| env.get(*name)) == Some(&ON.into());
    AddedVariables { names: added.names.iter().filter(is_unchanged).cloned().collect(), ..*added }
}

/// Removes them, and an `env` that was added with them and has nothing else.
fn cut(document: &Document, added: &AddedVariables, blanks: Blanks) {
    let Ok(Some(env)) = env_of(document) else { return };
    let name_of = |one: &CstObjectProp| one.decoded_name().unwrap_or_default();
    let gone: Vec<bool> = env.properties().iter().map(|one| added.names.contains(&name_of(one))).collect();
    let env = Container::of(env);
    if added.with_env && !gone.contains(&false) && env.has_no_comment() {
        let properties = document.settings.properties();
        let gone: Vec<bool> = properties.iter().map(|one| name_of(one) == "env").collect();
        Container::of(document.settings.clone()).remove_from_settings(&gone, blanks);
    } else {
        env.remove(&gone, blanks);
    }
}

/// The settings without these variables, and without an `env` that has no others.
fn others(mut settings: Value, added: &AddedVariables) -> Value {
    let Some(env) = settings.get_mut("env").and_then(Value::as_object_mut) else { return settings };
    env.retain(|name, _| !added.names.contains(name));
    if env.is_empty()
        && let Some(settings) = settings.as_object_mut()
    {
        settings.shift_remove("env");
    }
    settings
}

fn env_of(document: &Document) -> Result<Option<CstObject>, String> {
    let properties = document.settings.properties();
    let mut found = properties.iter().filter(|one| one.decoded_name().as_deref() == Some("env"));
    let Some(property) = found.next() else { return Ok(None) };
    if found.next().is_some() {
        return Err("it has the key `env` twice".to_owned());
    }
    property.object_value().map(Some).ok_or_else(|| "its `env` is not an object".to_owned())
}
