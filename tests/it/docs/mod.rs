//! The command line, its help, the documentation and the language of all texts.

pub mod architecture;
pub mod command_line;
pub mod commands_reference;
pub mod completion;
pub mod demo;
pub mod examples;
pub mod help;
pub mod language;
pub mod language_phrases;
pub mod language_prose;
pub mod links;
pub mod live;
pub mod man;
pub mod name_suggestions;
pub mod package;
pub mod pages;
pub mod pictures;
pub mod reference;
