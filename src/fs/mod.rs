//! File system primitives: private directories, atomic writes, locks with a time limit, bounded reads.

mod append;
mod atomic;
mod clean_temp;
mod json_file;
mod json_journal;
mod lock;
mod overwrite;
mod permissions;
mod read;
mod rlimit;
mod stamp;
mod sync;
mod with_path;

pub use append::{Appender, append_line};
pub use atomic::{Draft, beside, write_atomic};
pub use clean_temp::{remove_temp_files, sweep_beside};
pub use json_file::{Content, Damage, Document, Flaw, JsonFile, Layout};
pub use json_journal::{JsonJournal, LastVersion};
pub use lock::{Lock, LockBudget, held_error, is_blocked_by_other_file, lock, lock_of};
pub use overwrite::overwrite_in_place;
pub use permissions::{PRIVATE_DIR, PRIVATE_FILE, make_private_dir, open_private, private_dir, set_umask};
pub use read::{Read, open_regular, read_linked, read_prefix, read_regular, read_stable};
pub use rlimit::ignore_sigxfsz;
pub use stamp::Stamp;
pub use sync::{sync_dir, sync_file};
pub use with_path::with_path;
