//! Problems of configuration files, as commands print them.

use crate::config::Problem;
use crate::context::Context;
use crate::view;

/// The problems as text, each with its line and a hint.
pub fn text(context: &Context, problems: &[Problem]) -> String {
    view::problems(problems, context.ui.columns())
}

/// Prints problems to stderr.
pub fn report(context: &Context, problems: &[Problem]) {
    context.ui.print_err(&text(context, problems));
}

/// `2 errors and 1 warning`.
pub fn counted(problems: &[Problem]) -> String {
    let count = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        more => Some(format!("{more} {what}s")),
    };
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let all = [count(errors, "error"), count(problems.len() - errors, "warning")];
    all.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}
