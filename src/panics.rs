//! A bug of ours ends the process with one line, and with a code that blocks nobody.

/// The client lets a hook that ends with this code through.
pub const IN_A_HOOK: i32 = 1;
/// A bug in a command that a person runs.
pub const IN_A_COMMAND: i32 = 70;

/// Has a panic say what is wrong on one line and end the process with this code.
#[allow(clippy::exit, reason = "a panic cannot return, and its own codes mean something else to the client")]
pub fn end_with(code: i32) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        let words = panic.payload();
        let words = words
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| words.downcast_ref::<String>().map(String::as_str));
        crate::ui::screen::close();
        crate::ui::Ui.say(&format!("teamkeep: a bug{place}: {}", words.unwrap_or("no words")));
        std::process::exit(code);
    }));
}
